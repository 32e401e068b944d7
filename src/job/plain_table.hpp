// Whether a leaf is as hipq makes it, so that rows may be written by calls of the access methods
// instead of SQL.
//
// What only SQL respects must not be there: triggers other than hipq's guard, further CHECK
// constraints, further or generated columns. Indexes may be whatever they are. (Statement triggers
// on the queue's table are meant for those who enqueue.) PostgreSQL regime.
#pragma once

#include "job/job_row.hpp"

namespace hipq::job {

bool is_plain(Relation leaf);

// A table of schema hipq; null if there is none.
Relation open_table(const char *name, LOCKMODE lock);

}  // namespace hipq::job
