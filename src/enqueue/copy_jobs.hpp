// Runs COPY into a queue's table without the guard trigger, which would keep COPY from writing many
// rows at once.
#pragma once

#include "pg/guard.hpp"

namespace hipq::enqueue {

// Runs an ordinary COPY of new jobs: into a queue's table, from the client or a file, with a list
// of columns that users may set. Returns false, with nothing done, if PostgreSQL must run it or
// report why it cannot be run. Call outside pg::call().
bool copy_jobs(const CopyStmt &statement, const char *source, QueryCompletion *completion);

}  // namespace hipq::enqueue
