// The prefetched batch of an executor: the jobs it has taken out of their lane to run them one
// after the other, registered so that nobody else takes them.
#pragma once

#include "shared/flight/crash_cases.hpp"
#include "shared/lanes/in_flight_table.hpp"
#include "shared/lanes/lane_table.hpp"

namespace hipq::lanes {

// A waiting job that a look at the lane found.
struct WaitingJob {
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
// Reserves those of the jobs that nobody has in flight, in their order, until `reserved` is full,
// and writes them there. With hardly any room left in shared memory it is one at most. A suspect of
// a crash (shared/flight/crash_cases.hpp) has to be the only one in `jobs`.
Reserved reserve_jobs(std::span<const WaitingJob> jobs, std::span<WaitingJob> reserved);

// Chooses reserved jobs to run next; they cannot be taken back any more. Leaves out those that have
// been taken back: returns how many are left, in their order, at the front of `jobs`.
std::size_t choose_jobs(std::span<WaitingJob> jobs);

// Gives back what is not running. Returns whether there was anything: somebody else has to see to
// it then.
bool release_prefetched();

// Everybody
// ----------------------------------------------------------------------------------------------

bool is_in_flight(Oid database, std::int64_t job_id);

// Says where jobs stand that leave a prefetched batch without having been finished. Needs the lock,
// exclusively.
void return_to_lane(const core::JobEntry &job) noexcept;

// Gives back the jobs of a holder that have come no further than a phase. Needs the lock,
// exclusively. Returns whether there was one.
bool return_up_to(core::JobPhase latest, core::JobTable &jobs, std::int32_t holder);

// Whether a job has to run alone; takes the lock if there are such jobs.
flight::Suspicion suspicion_of(Oid database, std::int64_t job_id);

// Whether somebody who has it in flight has begun to claim it.
bool is_begun(Oid database, std::int64_t job_id);

// Whether its handler has been begun; as a job of that queue.
bool is_running(Oid database, std::int64_t job_id);
bool is_running_in(Oid database, int queue_id, std::int64_t job_id);

// Jobs in flight in the whole server.
std::size_t count_in_flight();

// Entries of the table of jobs in flight beyond those that are kept for executors with empty
// batches. Needs the lock.
std::size_t entries_beyond_the_first(const core::JobTable &jobs);
// The same but for what is kept for workers. Needs the lock.
std::size_t entries_for_prefetch(const core::JobTable &jobs);

}  // namespace hipq::lanes
