// The tables of schema hipq by name, kept in mind, with what is asked of them for each job.
#pragma once

#include "pg/postgres.hpp"

namespace hipq::pg {

struct KnownTable {
    NameData name;
    Oid oid;
    Oid row_type;
};

// Null: there is none. What is returned is good until the next look at a catalogue. Whoever opens
// the table finds out whether it is still there. PostgreSQL regime.
KnownTable *known_table(const char *name);

// After an invalidation; InvalidOid: of everything. Straight-line code.
void forget_known_table(Oid relation) noexcept;

}  // namespace hipq::pg
