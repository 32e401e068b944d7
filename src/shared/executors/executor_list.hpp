// Whether one more job of a queue owner could be started at this moment: who works for it, and
// whether there may be more.
#pragma once

namespace hipq::executors {

struct ExecutorList {
    int own = 0;   // executors that work for the queue owner,
    int idle = 0;  // those of them that have no job and stay
    int starting = 0;
    int requested = 0;
    bool has_place = false;  // one more may be started
    bool is_kept_back =
        false;  // it may not: the places that are left are kept for owners that have none
    bool stranger_gives_way =
        false;  // one of another owner has had nothing to do for a while, so it leaves when asked
};
ExecutorList executor_list_of(Oid database, Oid role);

// How far the executors of a queue owner have come: whenever one has started a job this is
// something else.
struct Progress {
    std::int64_t jobs_done = 0;  // by those that are there
    pg::Time last_start{0};      // of what they run
    bool has_come_on(const Progress &before) const
    {
        return jobs_done > before.jobs_done || last_start > before.last_start;
    }
};
Progress progress_of(Oid database, Oid role);

// An executor that somebody counts on, so that it is about to move: it was asked for, or woken, or
// has jobs in flight that it has not claimed. If it is so for long, something holds it up.
struct AboutToMove {
    Oid database;
    Oid role;
    bool has_prefetched;
    pg::Time since;  // by the real clock, or earlier
};
std::vector<AboutToMove> executors_about_to_move();

}  // namespace hipq::executors
