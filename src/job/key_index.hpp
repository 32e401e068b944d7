// Which indexes of a leaf have nothing to say of most of its rows: those over the keys of jobs that
// have one.
#pragma once

#include "pg/postgres.hpp"

namespace hipq::job {

// Whether rows without a key have no entry in this index, because its predicate says: job_key <>
// 'NONE'. `job_key` is the column's number. Remembered. The table has to be locked. PostgreSQL
// regime.
bool holds_keys_only(Oid index, AttrNumber job_key);

// After an invalidation; InvalidOid: of everything. Straight-line code.
void forget_key_index(Oid relation) noexcept;

}  // namespace hipq::job
