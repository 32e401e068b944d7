// Lists the jobs whose handlers run in executors, for views.
#pragma once

#include "shared/executors/executor_slots.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::executors {

// A running job with the process that runs it.
struct RunningEntry {
    Oid database;
    int pid;
    memory::RunningJob job;
    pg::Time deadline;  // of its handler, by the real clock; infinity: none runs
};
std::vector<RunningEntry> list_running_jobs();

// The jobs of this database that were claimed by a row lock: their rows say that they wait.
std::vector<std::int64_t> jobs_claimed_by_lock();

}  // namespace hipq::executors
