// Whether one more job of a queue owner could be started at this moment: who works for it, and whether there may be more.
#pragma once

#include "shmem/registry.hpp"

namespace hipq::shmem {

struct Crew {
    int own = 0;   // executors that work for the queue owner,
    int idle = 0;  // those of them that have no job and stay
    int starting = 0;
    int requested = 0;
    int everywhere = 0;                // in the whole server
    bool stranger_makes_room = false;  // one of another owner has had nothing to do for a while, so it leaves when asked
};
Crew crew_of(Oid database, Oid role);

// How far the executors of a queue owner have come: whenever one has started a job this is something else.
struct Progress {
    std::int64_t jobs_done = 0;  // by those that are there
    pg::Time last_start{0};      // of what they run
    bool has_come_on(const Progress &before) const { return jobs_done > before.jobs_done || last_start > before.last_start; }
};
Progress progress_of(Oid database, Oid role);

// An executor that has jobs in hand and has run none for a while: something keeps it from claiming them.
struct IdleHand {
    Oid database;
    Oid role;
};
std::vector<IdleHand> idle_hands();

}  // namespace hipq::shmem
