// The CHECK constraints that every table of jobs has from the install script. Call inside
// pg::call() only.
#pragma once

#include "pg/postgres.hpp"

namespace hipq::job {

// Whether a table has the CHECK constraints of hipq.job, as the script writes them, and no others.
// The answer is cached until the table changes.
bool has_own_checks_only(Relation relation);

// Call after an invalidation; InvalidOid: of all relations. Straight-line code.
void forget_checks(Oid relation) noexcept;

}  // namespace hipq::job
