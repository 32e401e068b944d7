// The hand of an executor: the jobs it has taken out of the line to run them one after the other,
// registered so that nobody else takes them.
#pragma once

#include "lanes/lane_table.hpp"

namespace hipq::lanes {

// A waiting job that a look at the line found.
struct JobInLine {
    std::int64_t id;
    int queue_id;
    pg::Time due;
    LaneRef lane;
    ItemPointerData place{};  // where its row stood then; not valid: unknown
    bool is_weighed = false;  // so that these are known:
    core::Weight weight = 0;
    std::uint64_t key = 0;  // core::throttle_key_hash()
    std::int64_t last_worker =
        0;  // the external worker that had it before its retry, where that is known
};

// Executor
// ----------------------------------------------------------------------------------------------

// How far a reservation came.
struct Reserved {
    std::size_t jobs;        // reserved
    std::size_t considered;  // of those given: the others have been left for want of room
};
// Reserves those of the jobs that nobody has in hand, in their order, until `reserved` is full, and
// writes them there. With hardly any room left in shared memory it is one at most. A suspect of a
// crash (flight/crash_cases.hpp) has to be the only one in `jobs`.
Reserved reserve_jobs(std::span<const JobInLine> jobs, std::span<JobInLine> reserved);

// Chooses reserved jobs to run next; they cannot be taken back any more. Leaves out those that have
// been taken back: returns how many are left, in their order, at the front of `jobs`.
std::size_t choose_jobs(std::span<JobInLine> jobs);

// Gives back what is not running. Returns whether there was anything: somebody else has to see to
// it then.
bool release_hand();

// Scheduler
// ----------------------------------------------------------------------------------------------

// What was found when looking after the hands of a database's executors.
struct HandsLook {
    bool took_back;  // jobs are in line again
    bool watch_on;   // some executor still has a hand
};
// Takes back the reserved jobs of executors whose current job has run for more than a moment.
HandsLook look_after_hands(pg::Time now);

// Everybody
// ----------------------------------------------------------------------------------------------

bool is_in_hand(Oid database, std::int64_t job_id);

// Says where jobs stand that leave a hand without having been finished. Needs the lock.
void return_to_line(const core::JobEntry &job) noexcept;

// Whether somebody who has it in hand has begun to claim it.
bool is_begun(Oid database, std::int64_t job_id);

// Whether its handler has been begun.
bool is_running(Oid database, std::int64_t job_id);

// Jobs in hand in the whole server.
std::size_t count_in_hand();

// Entries of the table of jobs in hand beyond those that are kept for executors with empty hands.
// Needs the lock.
std::size_t room_beyond_the_first(const core::JobTable &jobs);
// The same but for what is kept for workers. Needs the lock.
std::size_t room_for_hands(const core::JobTable &jobs);

}  // namespace hipq::lanes
