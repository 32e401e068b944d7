// hipq.claim: an external worker accepts the jobs that it was given, and waits for them if it asks
// to.
//
// Shared memory says which jobs a worker has been given; the rows decide. An entry that has no
// matching row is dropped; otherwise it would be looked at for ever.
#include "catalog/cache.hpp"
#include "catalog/checks.hpp"
#include "catalog/job_parameters.hpp"
#include "catalog/rights.hpp"
#include "external/attempt_rows.hpp"
#include "external/own_worker.hpp"
#include "job/claimed_job.hpp"
#include "job/finish.hpp"
#include "job/job_row.hpp"
#include "pg/clock.hpp"
#include "retry/retry.hpp"
#include "shared/executors/pending_decisions.hpp"
#include "shared/wakeup/commit.hpp"
#include "shared/workers/jobs.hpp"
#include "shared/workers/registered.hpp"

extern "C" {
#include "mb/pg_wchar.h"
#include "storage/proc.h"
#include "utils/jsonb.h"
}

namespace hipq::external {

namespace {

using catalog::Catalogue;
using catalog::Queue;
using job::ClaimedJob;
using workers::ExternalJob;
using workers::WorkerSlot;

constexpr std::int32_t most_jobs_of_claim = 10'000;
constexpr std::int64_t microseconds_between_looks = 100'000;

// The end of an attempt shows in its row a moment before its entry in shared memory goes.
constexpr int most_looks_at_entry = 10;
constexpr long pause_between_those = 10'000;  // us

using Jobs = std::vector<ExternalJob>;

struct Accepted {
    const Queue *queue;  // in the catalogue of the look
    ClaimedJob job;
};

// ---- checks ----

std::size_t check_number(std::int32_t max_jobs)
{
    if (max_jobs < 1 || max_jobs > most_jobs_of_claim)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("max_jobs must be from 1 to %d", most_jobs_of_claim),
                   errhint("Call again for the rest."));
    return static_cast<std::size_t>(max_jobs);
}

// A snapshot from the beginning of the transaction shows no job that was given to the worker later.
void demand_fresh_snapshots()
{
    if (IsolationUsesXactSnapshot())
        HIPQ_RAISE(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
                   errmsg("cannot wait for jobs in a transaction of isolation level %s",
                          XactIsoLevel == XACT_SERIALIZABLE ? "SERIALIZABLE" : "REPEATABLE READ"),
                   errdetail("Its snapshot cannot see new jobs."),
                   errhint("Wait in a transaction of isolation level READ COMMITTED."));
}

// Limits the wait so that statement_timeout does not end it: when no job comes, that would look
// like an error.
std::int64_t within_the_statement(std::int64_t wait)
{
    const std::int64_t half = StatementTimeout * (std::int64_t{1'000} / 2);
    return half > 0 ? std::min(wait, half) : wait;
}

// ---- entries without a matching row ----

bool is_still_there(const ExternalJob &job)
{
    const auto entry = workers::find_external_job(job.id);
    return entry.has_value() && entry->attempt == job.attempt && !entry->is_accepted;
}

void drop(const ExternalJob &job)
{
    pg::call([&] {
        ereport(WARNING, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("dropped a dispatch of job %lld to worker " INT64_FORMAT,
                       static_cast<long long>(job.id), job.worker_id),
                errdetail("No row tells of attempt %d by this worker.", job.attempt),
                errhint("If jobs stay in state running, hipq.fail_job() gives them up."));
    });
    workers::note_job_left(job.id, job.attempt, job.worker_id, workers::Leaving::returned, 0);
}

void drop_those_that_stay(Jobs suspects)
{
    for (int look = 0; look < most_looks_at_entry && !suspects.empty(); ++look) {
        if (look > 0)
            pg::call([] {
                CHECK_FOR_INTERRUPTS();
                ::pg_usleep(pause_between_those);
            });
        std::erase_if(suspects, [](const ExternalJob &job) { return !is_still_there(job); });
    }
    for (const ExternalJob &job : suspects)
        drop(job);
    if (!suspects.empty())
        wakeup::note_restore();  // the scheduler reads what their rows say
}

Attempts attempts_of(const Jobs &jobs)
{
    Attempts attempts;
    for (const ExternalJob &job : jobs)
        attempts.add(job.id, job.attempt, job.place);
    return attempts;
}

void drop_unknown(const Queue *queue, std::int64_t worker_id, const Jobs &refused)
{
    if (refused.empty())
        return;
    if (queue == nullptr) {
        drop_those_that_stay(refused);
        return;
    }
    const std::vector<std::int64_t> unknown =
        unknown_dispatches(*queue, worker_id, attempts_of(refused));
    Jobs suspects;
    std::ranges::copy_if(refused, std::back_inserter(suspects), [&](const ExternalJob &job) {
        return std::find(unknown.begin(), unknown.end(), job.id) != unknown.end();
    });
    drop_those_that_stay(std::move(suspects));
}

// ---- accepting ----

// Call inside pg::call() only.
bool is_utf8(const char *text)
{
    return ::pg_verify_mbstr(PG_UTF8, text, static_cast<int>(std::strlen(text)), true);
}

// In a database with encoding SQL_ASCII any bytes are stored, and clients get them unconverted.
// Other encodings are converted.
bool is_readable(const ClaimedJob &job)
{
    return pg::call([&] {
        return ::GetDatabaseEncoding() != PG_SQL_ASCII ||
               (is_utf8(job.key.c_str()) && is_utf8(job.type.c_str()) &&
                is_utf8(::JsonbToCString(nullptr, &DatumGetJsonbP(job.data.value)->root, 0)));
    });
}

// Returns why the job cannot be given to a worker; nothing if it can.
std::optional<job::Failure> why_unfit(const Queue &queue, const ClaimedJob &job)
{
    const catalog::JobType *type = queue.find_job_type(job.type);
    if (const auto problem =
            type == nullptr ? std::nullopt : catalog::what_does_not_fit(*type, job.data))
        return job::Failure{core::Reason::invalid_parameters, "22023", problem->message, "",
                            problem->hint};
    if (!is_readable(job))
        return job::Failure{core::Reason::invalid_parameters, "22021",
                            "the job's data, key or type are no valid UTF-8", "",
                            "Workers read JSON, which is UTF-8. The encoding of this database is "
                            "SQL_ASCII, so PostgreSQL does not convert."};
    return std::nullopt;
}

// A job that its type would not let an executor start does not start here either: it fails. Returns
// whether it has failed.
bool end_if_unfit(const Queue &queue, const ClaimedJob &job)
{
    const auto failure = why_unfit(queue, job);
    if (!failure.has_value())
        return false;
    if (retry::resolve_failure(queue, job, *failure, pg::now()) ==
        retry::Resolved::ask_retry_handler)
        executors::note_decision({MyDatabaseId, queue.owner, queue.id, job.id});
    return true;
}

// Accepts jobs of one queue. The queue may have been dropped meanwhile, which the scheduler will
// notice; or the worker may have lost its privilege: then other workers get the job when its time
// is up.
void accept(const Queue *queue, std::int64_t worker_id, const Jobs &jobs,
            std::vector<Accepted> &accepted)
{
    if (queue == nullptr)
        return drop_unknown(queue, worker_id, jobs);
    if (queue->is_dropped || !catalog::may(catalog::caller(), *queue, catalog::Privilege::work))
        return;
    std::vector<ClaimedJob> taken = accept_rows(*queue, worker_id, attempts_of(jobs), pg::now());
    Jobs refused;
    std::ranges::copy_if(jobs, std::back_inserter(refused), [&](const ExternalJob &job) {
        return std::ranges::none_of(taken, [&](const ClaimedJob &one) { return one.id == job.id; });
    });
    for (ClaimedJob &job : taken)
        if (!end_if_unfit(*queue, job))
            accepted.push_back({queue, std::move(job)});
    drop_unknown(queue, worker_id, refused);
}

void accept_chunk(const Catalogue &catalogue, std::int64_t worker_id,
                  std::span<const ExternalJob> chunk, std::vector<Accepted> &accepted)
{
    std::map<int, Jobs> by_queue;
    for (const ExternalJob &job : chunk)
        by_queue[job.queue_id].push_back(job);
    for (const auto &[queue_id, jobs] : by_queue)
        accept(catalogue.find(queue_id), worker_id, jobs, accepted);
}

void put_in_order(std::vector<Accepted> &accepted, const Jobs &dispatched)
{
    std::map<std::int64_t, std::size_t> position;
    for (std::size_t i = 0; i < dispatched.size(); ++i)
        position[dispatched[i].id] = i;
    std::sort(accepted.begin(), accepted.end(), [&](const Accepted &left, const Accepted &right) {
        return position[left.job.id] < position[right.job.id];
    });
}

// Leaves in `jobs` what was given to the worker and not accepted yet, in that order. Returns how
// many jobs it may run besides those that run already and those that other claims are about to
// accept.
std::size_t capacity_of(const WorkerSlot &worker, Jobs &jobs, std::size_t claimed_by_others)
{
    const std::size_t running =
        std::erase_if(jobs, [](const ExternalJob &job) { return job.is_accepted; });
    const auto capacity = static_cast<std::size_t>(worker.capacity);
    return capacity - std::min(capacity, running + claimed_by_others);
}

std::vector<Accepted> accept_some(const Catalogue &catalogue, const WorkerSlot &worker,
                                  std::size_t most)
{
    const auto depth = static_cast<std::size_t>(std::max(worker.record.depth, 1));
    const std::size_t taken = std::min(most, depth);  // claims of other sessions may want the rest
    const std::size_t claimed_by_others =
        workers::take_places(worker.id, taken);  // take them before looking at what the worker runs
    Jobs dispatched = workers::jobs_of_worker(worker.id);
    most = std::min(taken, capacity_of(worker, dispatched, claimed_by_others));
    std::vector<Accepted> accepted;
    // A job that cannot be accepted now does not keep back the jobs that were given after it.
    for (std::span<const ExternalJob> rest = dispatched; !rest.empty() && accepted.size() < most;) {
        const std::size_t count = std::min(rest.size(), most - accepted.size());
        accept_chunk(catalogue, worker.id, rest.first(count), accepted);
        rest = rest.subspan(count);
    }
    workers::give_back_places(worker.id, taken - accepted.size());
    put_in_order(accepted, dispatched);
    return accepted;
}

// ---- waiting ----

// While an object lives, this process is woken when the worker is given a job.
class Waiting {
public:
    explicit Waiting(std::int64_t worker_id) : worker_id_(worker_id)
    {
        workers::note_waiting_for_jobs(worker_id_);
    }
    ~Waiting() { workers::note_end_of_waiting(worker_id_); }
    Waiting(const Waiting &) = delete;
    Waiting &operator=(const Waiting &) = delete;

    // Waits a moment, or until woken.
    static void wait(TimestampTz end)
    {
        const std::int64_t left =
            std::min(end - ::GetCurrentTimestamp(), microseconds_between_looks);
        pg::call([&] {
            if (left > 0)
                (void)::WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
                                  static_cast<long>((left + 999) / 1000), PG_WAIT_EXTENSION);
            ::ResetLatch(MyLatch);
            CHECK_FOR_INTERRUPTS();
        });
    }

private:
    std::int64_t worker_id_;
};

struct Look {
    std::shared_ptr<const Catalogue> catalogue;  // has the queues of the accepted jobs
    std::vector<Accepted> accepted;
    bool is_draining;
};

// A worker that drains is given no further jobs.
Look look_for_jobs(std::int64_t worker_id, std::size_t most)
{
    const WorkerSlot worker = require_own_worker(worker_id);
    workers::note_heartbeat(worker_id, nullptr);
    Look look{catalog::working_catalogue(), {}, worker.is_draining};
    if (!look.is_draining)
        look.accepted = accept_some(*look.catalogue, worker, most);
    return look;
}

Look claim(std::int64_t worker_id, std::size_t most, std::int64_t wait)
{
    Look look = look_for_jobs(worker_id, most);
    const auto is_over = [&] { return !look.accepted.empty() || look.is_draining; };
    if (wait == 0 || is_over())
        return look;
    const TimestampTz end = ::GetCurrentTimestamp() + wait;
    const Waiting waiting(worker_id);
    while (!is_over() && ::GetCurrentTimestamp() < end) {
        Waiting::wait(end);
        look = look_for_jobs(worker_id, most);
    }
    return look;
}

std::optional<std::int64_t> original_of(const ClaimedJob &job)
{
    using core::Column;
    return job.values->null(Column::original_job_id)
               ? std::nullopt
               : std::optional(job.values->as_int64(Column::original_job_id));
}

pg::Time time_of(const ClaimedJob &job, core::Column column)
{
    return pg::Time{job.values->as_int64(column)};
}

void claim(FunctionCallInfo fcinfo)
{
    const pg::Arguments arguments(fcinfo);
    const std::int64_t worker_id = arguments.integer64({0, "worker"});
    const std::size_t most = check_number(arguments.integer({1, "max_jobs"}));
    const std::int64_t wait = catalog::check_delay("wait", arguments.duration({2, "wait"}));
    if (wait > 0)
        demand_fresh_snapshots();
    pg::ResultSet result(fcinfo);
    const Look look = claim(worker_id, most, within_the_statement(wait));
    for (const auto &[queue, job] : look.accepted)
        result.add(job.id, std::int32_t{job.attempt}, queue->full_name(), job.type,
                   core::unless_none(job.key), job.data, job::deadline_of(job),
                   std::int32_t{job.retry_count}, core::unless_none(job.retry_reason),
                   std::int32_t{job.max_retries}, time_of(job, core::Column::scheduled_run_time),
                   time_of(job, core::Column::created_time), original_of(job),
                   job::traceparent_of(job));
}

}  // namespace

}  // namespace hipq::external

HIPQ_FUNCTION(hipq_claim_traced)
{
    hipq::external::claim(fcinfo);
    return hipq::pg::return_void();
}
