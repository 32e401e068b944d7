// Jobs held by external workers: from the commit of their dispatch to the commit of
// whatever ends the attempt.
//
// The rows are the truth; this is what spares everybody to search them: what a worker has been
// given, which deadline comes next. Entries belong to the place of the worker (registered.hpp),
// whose counts follow them.
#pragma once

#include "shared/memory/registry.hpp"
#include "shared/workers/registered.hpp"

namespace hipq::workers {

struct ExternalJob {
    std::int64_t id;
    int queue_id;
    int attempt;
    std::int64_t worker_id;
    bool is_accepted;
    pg::Time deadline;        // to be accepted, then to be ended
    ItemPointerData place{};  // of its row, as job::DueJob has it
};

// Scheduler
// ----------------------------------------------------------------------------------------------

// What the worker that was chosen for it is to get.
struct Dispatched {
    std::int64_t id;
    int attempt;
    WorkerRef worker;
    bool is_probe;
    pg::Time deadline;
    core::Load load{};
    ItemPointerData place{};  // of its row, as job::DueJob has it
};

// These jobs, chosen from this scheduler's hand, are about to be claimed for their workers, who
// count them already.
void begin_dispatch(std::span<const Dispatched> jobs);
// The claim has committed. Cannot fail.
void end_dispatch(std::span<const Dispatched> jobs) noexcept;
// It has failed: they waits as before. Cannot fail.
void cancel_dispatch(std::span<const Dispatched> jobs) noexcept;

// Enters a job of which its row tells that a worker has it, and counts what it weighs, whatever the
// limits; one that is in flight stays as it is. held_by_other: of somebody who has read it before
// it ran, and is about to find out.
enum class Entered : unsigned char { yes, held_by_other, no_capacity, no_worker };
Entered enter_external_job(const ExternalJob &job, const core::Load &load);
// Has the workers of this database count what they have by what is known here.
void recount_workers();

// Those of this database whose deadline has come, at most `most`, and the first deadline of the
// others.
struct OverdueJobs {
    std::vector<ExternalJob> jobs;
    pg::Time next = pg::infinity;
};
OverdueJobs overdue_jobs(pg::Time now, std::size_t most);

// Forgets an attempt of which nothing is left. Cannot fail.
void drop_external_job(std::int64_t job_id, int attempt) noexcept;

// Of a database that is gone. Needs the lock.
extern const memory::Part external_jobs_part;

// Everybody
// ----------------------------------------------------------------------------------------------

// What a worker has, in the order in which it was given, with what this transaction has done to it;
// of another database, or unknown: nothing.
std::vector<ExternalJob> jobs_of_worker(std::int64_t worker_id);
// All of this database, in no order.
std::vector<ExternalJob> list_external_jobs();

// One of this database. Nothing: no worker has it.
std::optional<ExternalJob> find_external_job(std::int64_t job_id);

// Or is just being given to one.
bool is_with_worker(Oid database, std::int64_t job_id);

// Whether this attempt was given to an unhealthy worker, to find out whether it works again. Not
// known any more after a restart of the server.
bool is_probe(std::int64_t job_id, int attempt);

// What a transaction does; it holds when that has committed (notes.cpp)
// ----------------------------------------------------------------------------------------------

// The worker has accepted the attempt: it has until then. `place`: of its row.
void note_job_accepted(std::int64_t job_id, int attempt, pg::Time deadline, ItemPointerData place);
// An accepted attempt has until then.
void note_job_extended(std::int64_t job_id, int attempt, pg::Time deadline);

// How an attempt has left its worker, who is judged by that.
enum class Leaving : unsigned char {
    succeeded,
    failed,         // by what the worker said, or in time
    blamed_on_job,  // the worker said that it is the fault of the job
    expired,        // it was not accepted in time
    returned,       // nobody is to blame
};
// `worker_id` 0: it was left running. `run_time` in microseconds.
void note_job_left(std::int64_t job_id, int attempt, std::int64_t worker_id, Leaving leaving,
                   std::int64_t run_time);

// The job of a handler that has returned stays running, until its deadline. One that ran in a
// client's session was held by nobody until then, and is entered, with what it weighs. Where
// executors would have no room left the job is held by nobody: its row tells, and has to be read
// (jobs_restored).
void note_job_left_running(int queue_id, std::int64_t job_id, int attempt, const core::Load &load,
                           pg::Time deadline);

// Registers the callbacks; called once by _PG_init. PostgreSQL regime.
void watch_external_jobs();

}  // namespace hipq::workers
