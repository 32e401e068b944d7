// Whether a leaf is as hipq creates it, so that rows can be written by calls of the access methods
// instead of SQL.
//
// The leaf must have nothing that only SQL respects: no triggers other than hipq's guard, no
// further CHECK constraints, no further or generated columns. Indexes may be of any kind.
// (Statement triggers on the queue's table are for enqueuers.) Call inside pg::call() only.
#pragma once

#include "job/job_row.hpp"

namespace hipq::job {

bool is_plain(Relation leaf);

// A table of schema hipq; null if it does not exist.
Relation open_table(const char *name, LOCKMODE lock);

}  // namespace hipq::job
