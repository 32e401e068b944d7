// The prefetched batch of an executor: the jobs that it has taken out of their lane to run one
// after the other, registered so that no other process takes them.
#pragma once

#include "core/lanes/job_table.hpp"
#include "core/limits/limiter_name.hpp"
#include "shared/flight/crash_cases.hpp"
#include "shared/lanes/in_flight_table.hpp"
#include "shared/lanes/lane_table.hpp"

namespace hipq::lanes {

// A waiting job that was found by reading a lane.
struct WaitingJob {
    std::int64_t id;
    int queue_id;
    pg::Time due;
    LaneRef lane;
    ItemPointerData place{};  // where its row was then; not valid: unknown
    bool is_weighed = false;  // if true, the next two are known
    core::Weight weight = 0;
    std::uint64_t key = 0;         // core::throttle_key_hash()
    std::int64_t last_worker = 0;  // the external worker that had it before its retry, if known
    core::NextAttempt next{};
};

// Executor
// ----------------------------------------------------------------------------------------------

// How far a reservation got.
struct Reserved {
    std::size_t jobs;        // number of jobs reserved
    std::size_t considered;  // number of jobs considered; there was no room for the rest
};
// Reserves those of the jobs that no process has in flight, in their order, until `reserved` is
// full, and writes them there. If shared memory is almost full, it reserves one job at most. A
// suspect of a crash (shared/flight/crash_cases.hpp) must be the only one in `jobs`.
Reserved reserve_jobs(std::span<const WaitingJob> jobs, std::span<WaitingJob> reserved);

// Tells whether an external worker has this job, which was read in its lane, or is offered it. If
// the worker does not accept it, the job goes back into this lane.
bool is_with_worker_until_returned(const WaitingJob &job);

// Chooses reserved jobs to run next; other processes can no longer take them back. Skips jobs that
// were taken back. Returns the number of jobs left, which are at the front of `jobs`, in their
// order.
std::size_t choose_jobs(std::span<WaitingJob> jobs);

// Gives back all jobs that are not running. Returns whether there were any: then another process
// must take care of them.
bool release_prefetched();

// Any process
// ----------------------------------------------------------------------------------------------

bool is_in_flight(Oid database, std::int64_t job_id);

// Notes a job in its lane when no process has it any more; it is not worth a look before
// `not_before`. Needs the lock, exclusively.
void return_to_lane(const core::JobEntry &job,
                    pg::Time not_before = pg::Time{core::lane_start.time}) noexcept;

// Gives back the jobs of a holder whose phase is `latest` or earlier. Needs the lock, exclusively.
// Returns whether there were any.
bool return_up_to(core::JobPhase latest, core::JobTable &jobs, std::int32_t holder);

// Whether a job must run alone; takes the lock only if there are open crash cases.
flight::Suspicion suspicion_of(Oid database, std::int64_t job_id);

// Whether the process that has the job in flight has begun to claim it.
bool is_begun(Oid database, std::int64_t job_id);

// Whether the job's handler has been started; is_running_in() also checks the job's queue.
bool is_running(Oid database, std::int64_t job_id);
bool is_running_in(Oid database, int queue_id, std::int64_t job_id);

// The number of jobs in flight in the whole server.
std::size_t count_in_flight();

// How many entries of the table of jobs in flight are free, without those kept for executors with
// empty batches. Needs the lock.
std::size_t entries_beyond_the_first(const core::JobTable &jobs);
// The same, also without the entries that are kept for workers. Needs the lock.
std::size_t entries_for_prefetch(const core::JobTable &jobs);

}  // namespace hipq::lanes
