// COPY into a queue's table without the guard trigger, which costs COPY its writing of many rows at
// once.
#pragma once

#include "pg/guard.hpp"

namespace hipq::enqueue {

// Does the ordinary COPY of new jobs: into a queue's table, from the client or a file, with a list
// of columns that users choose. False, and nothing is done: PostgreSQL has to do it, or to say why
// it cannot be done. C++ regime.
bool copy_jobs(const CopyStmt &statement, const char *source, QueryCompletion *completion);

}  // namespace hipq::enqueue
