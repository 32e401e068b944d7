// Tells which indexes of a leaf have no entries for most of its rows: indexes over the keys of jobs
// that have one.
#pragma once

#include "pg/postgres.hpp"

namespace hipq::job {

// Whether rows without a key have no entry in this index, because its predicate is job_key <>
// 'NONE'. `job_key` is the number of the column. The answer is cached. The table must be locked.
// Call inside pg::call() only.
bool holds_keys_only(Oid index, AttrNumber job_key);

// Call after an invalidation; InvalidOid: of all relations. Straight-line code.
void forget_key_index(Oid relation) noexcept;

}  // namespace hipq::job
