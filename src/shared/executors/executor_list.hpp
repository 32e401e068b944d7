// Whether one more job of a queue owner could be started now: which executors work for the owner,
// and whether it may have more.
#pragma once

#include "pg/clock.hpp"

#include <vector>

namespace hipq::executors {

struct ExecutorList {
    int own = 0;   // executors that work for the queue owner
    int idle = 0;  // those of them that have no job and will not leave
    int starting = 0;
    int requested = 0;
    bool has_place = false;     // one more may be started
    bool is_kept_back = false;  // no: the remaining places are kept for owners that have none
    bool stranger_gives_way =
        false;  // another owner's executor has been idle for a while, and leaves if asked to
};
ExecutorList executor_list_of(Oid database, Oid role);

// The progress of a queue owner's executors; it changes whenever one of them starts a job.
struct Progress {
    std::int64_t jobs_done = 0;  // by the executors that exist now
    pg::Time last_start{0};      // of the jobs that they run
    bool has_come_on(const Progress &before) const
    {
        return jobs_done > before.jobs_done || last_start > before.last_start;
    }
};
Progress progress_of(Oid database, Oid role);

// An executor that should soon act: it was requested or woken, or has jobs in flight that it has
// not claimed. If it stays in this state for long, something holds it up.
struct AboutToMove {
    Oid database;
    Oid role;
    bool has_prefetched;
    pg::Time since;  // by the real clock; possibly too early
};
std::vector<AboutToMove> executors_about_to_move();

}  // namespace hipq::executors
