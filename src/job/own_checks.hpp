// The CHECK constraints that every table of jobs has from the install script. PostgreSQL regime.
#pragma once

#include "pg/postgres.hpp"

namespace hipq::job {

// Whether a table has the CHECK constraints of hipq.job, as the script writes them, and no others.
// The answer is kept until the table changes.
bool has_own_checks_only(Relation relation);

// After an invalidation; InvalidOid: of everything. Straight-line code.
void forget_checks(Oid relation) noexcept;

}  // namespace hipq::job
