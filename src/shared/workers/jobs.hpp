// Jobs held by external workers: from the commit that accepts them to the commit that ends the
// attempt. Before that, they are offers (offers.hpp).
//
// The tables are authoritative. This copy saves searching them for the jobs that a worker has, and
// for the next deadline. An entry belongs to the place of the worker (registered.hpp), whose counts
// are kept up to date.
#pragma once

#include "core/limits/throttle.hpp"
#include "shared/memory/registry.hpp"
#include "shared/workers/registered.hpp"

namespace hipq::workers {

struct ExternalJob {
    std::int64_t id;
    int queue_id;
    int attempt;
    std::int64_t worker_id;
    bool is_accepted;         // false: it is offered, or about to be accepted
    pg::Time deadline;        // for acceptance, then for the end of the attempt
    ItemPointerData place{};  // of its row, as in job::DueJob
};

// Scheduler
// ----------------------------------------------------------------------------------------------

// Enters a job whose row says that a worker has accepted it, and counts its weight regardless of
// the limits. A job that is in flight already is left as it is. held_by_other: another process has
// the job, because it read the row before the job ran; it will soon find out that the job runs.
enum class Entered : unsigned char { yes, held_by_other, no_capacity, no_worker };
Entered enter_external_job(const ExternalJob &job, const core::Load &load);
// Sets the counts of this database's workers from the jobs recorded here.
void recount_workers();

// overdue_jobs() returns up to `most` jobs and offers of this database whose deadline has come, and
// the first deadline of the others. Leaves out jobs that a transaction is about to accept.
struct OverdueJobs {
    std::vector<ExternalJob> jobs;
    pg::Time next = pg::infinity;
};
OverdueJobs overdue_jobs(pg::Time now, std::size_t most);

// Forgets an attempt that no longer exists. Cannot fail.
void drop_external_job(std::int64_t job_id, int attempt) noexcept;

// The part forgets the jobs of a database that was dropped.
extern const memory::Part external_jobs_part;

// Any process
// ----------------------------------------------------------------------------------------------

// Returns the jobs that a worker of this database has accepted, in no order. Returns nothing for
// another database's worker or an unknown one.
std::vector<ExternalJob> jobs_of_worker(std::int64_t worker_id);
// All jobs and offers of this database, in no order.
std::vector<ExternalJob> list_external_jobs();

// One job or offer of this database, or nothing if no worker has it.
std::optional<ExternalJob> find_external_job(std::int64_t job_id);

// Whether a worker has the job, or is offered it.
bool is_with_worker(Oid database, std::int64_t job_id);

// Whether this attempt was offered to an unhealthy worker as a probe. No longer known after a
// restart of the server.
bool is_probe(std::int64_t job_id, int attempt);

// Changes that take effect when the transaction commits (job_changes.cpp)
// ----------------------------------------------------------------------------------------------

// The worker has accepted the attempt, which this transaction has taken (take_offers()), and has
// until `deadline`. `load`: as which it counts under limits; `place`: of its row.
void note_job_accepted(std::int64_t job_id, int attempt, const core::Load &load, pg::Time deadline,
                       ItemPointerData place);
// The deadline of an accepted attempt is now `deadline`.
void note_job_extended(std::int64_t job_id, int attempt, pg::Time deadline);

// How an attempt left its worker, which affects the worker's health.
enum class Leaving : unsigned char {
    succeeded,
    failed,         // the worker reported the failure, or ran out of time
    blamed_on_job,  // the worker reported that the job is at fault
    expired,        // the offer was not accepted in time
    returned,       // neither the worker nor the job is at fault
};
// `worker_id` 0: the job was left running. `run_time` in microseconds. `end`: for the breaker of
// its type.
void note_job_left(std::int64_t job_id, int attempt, std::int64_t worker_id, Leaving leaving,
                   std::int64_t run_time, core::AttemptEnd end);

// The job of a handler that has returned stays running, until its deadline. If the handler ran in a
// client's session, the job had no entry until then; it is entered with its weight. If that would
// leave no room for executors, the job gets no entry: only its row tells, and must be read
// (jobs_restored).
void note_job_left_running(int queue_id, std::int64_t job_id, int attempt, const core::Load &load,
                           pg::Time deadline);

// Registers the callbacks. _PG_init calls it once; call inside pg::call() only.
void watch_external_jobs();

}  // namespace hipq::workers
