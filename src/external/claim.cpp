// hipq.claim: an external worker accepts jobs that it is offered, and waits for them if it asks to.
//
// Shared memory says which jobs a worker is offered; the rows decide. The acceptance is the claim:
// it writes the attempt, its worker and its deadline.
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
#include "pg/subtransaction.hpp"
#include "retry/retry.hpp"
#include "shared/executors/pending_decisions.hpp"
#include "shared/memory/alerts.hpp"
#include "shared/workers/offers.hpp"
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
using workers::TakenOffer;
using workers::WorkerSlot;

constexpr std::int32_t most_jobs_of_claim = 10'000;
constexpr std::int64_t trouble_delay = 10'000'000;  // us
// The event that brings jobs wakes one session that waits for the worker; others look by
// themselves.
constexpr std::int64_t longest_sleep = 1'000'000;      // us
constexpr std::int64_t sleep_beside_others = 100'000;  // us

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

// A snapshot from the beginning of the transaction shows no job that is enqueued later.
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

using Offers = std::vector<TakenOffer>;

// A slot of a sharded queue may leave this node while its jobs are accepted. The subtransaction
// undoes the acceptance then, and the offers end.
Acceptance accept_while_slots_stay(const Queue &queue, std::int64_t worker_id, const Offers &offers)
{
    if (queue.shards == nullptr)
        return accept_rows(queue, worker_id, offers, pg::now());
    Acceptance acceptance;
    const auto trouble = pg::in_subtransaction(
        pg::Ending::kept, [&] { acceptance = accept_rows(queue, worker_id, offers, pg::now()); });
    if (!trouble.has_value())
        return acceptance;
    if (trouble->sqlerrcode() != ERRCODE_T_R_SERIALIZATION_FAILURE)
        throw *trouble;  // NOLINT(cert-err60-cpp): as it came
    return {{}, {}, offers};
}

// The queue may have been dropped meanwhile, or the worker may have lost its privilege: then other
// workers get the jobs.
Acceptance accept_of_queue(const Queue *queue, std::int64_t worker_id, const Offers &offers)
{
    if (queue == nullptr || queue->is_dropped ||
        !catalog::may(catalog::caller(), *queue, catalog::Privilege::work))
        return {{}, {}, offers};
    return accept_while_slots_stay(*queue, worker_id, offers);
}

// A trigger or constraint of the user's refuses the job. It is offered again after a while; it is
// reported once in a session.
void put_off(const Queue &queue, std::int64_t worker_id, const TakenOffer &offer,
             const pg::Error &error)
{
    static std::set<std::int64_t> *reported =
        new std::set<std::int64_t>();  // no destructor at exit
    memory::raise_alert(memory::Alert::job_set_aside);
    workers::end_offers(worker_id, {&offer, 1}, pg::now() + trouble_delay);
    if (reported->insert(offer.id).second)
        report_refused(queue, offer.id, error);
}

// What a call accepts, and the offers whose rows other sessions hold.
struct Claiming {
    const Catalogue &catalogue;
    std::int64_t worker_id;
    std::vector<Accepted> accepted{};
    Offers held{};

    void accept(const Queue *queue, const Offers &offers)
    {
        Acceptance acceptance = accept_of_queue(queue, worker_id, offers);
        workers::end_offers(worker_id, acceptance.ended);
        held.insert(held.end(), acceptance.held.begin(), acceptance.held.end());
        for (const auto &[offer, error] : acceptance.refused)
            put_off(*queue, worker_id, offer, error);
        for (ClaimedJob &job : acceptance.accepted)
            if (!end_if_unfit(*queue, job))
                accepted.push_back({queue, std::move(job)});
    }

    // Accepts offers in their order, as far as they are of one queue in a row.
    void accept(const Offers &offers)
    {
        for (auto next = offers.begin(); next != offers.end();) {
            const auto end = std::find_if(next, offers.end(), [&](const TakenOffer &offer) {
                return offer.queue_id != next->queue_id;
            });
            accept(catalogue.find(next->queue_id), Offers(next, end));
            next = end;
        }
    }
};

// A job that cannot be accepted now does not keep back the jobs that were offered after it.
std::vector<Accepted> accept_some(const Catalogue &catalogue, std::int64_t worker_id,
                                  std::size_t most)
{
    Claiming claiming{catalogue, worker_id};
    while (claiming.accepted.size() < most) {
        const Offers offers = workers::take_offers(worker_id, most - claiming.accepted.size());
        if (offers.empty())
            break;
        claiming.accept(offers);
    }
    workers::give_back_offers(worker_id, claiming.held);
    return std::move(claiming.accepted);
}

// ---- waiting ----

// While an object lives, this process may be the one that is woken when the worker is offered a
// job.
class Waiting {
public:
    explicit Waiting(std::int64_t worker_id) : worker_id_(worker_id) {}
    ~Waiting() { workers::note_end_of_waiting(worker_id_); }
    Waiting(const Waiting &) = delete;
    Waiting &operator=(const Waiting &) = delete;

    // Call before the look that precedes a sleep.
    void announce() { is_woken_ = workers::note_waiting_for_jobs(worker_id_); }

    // Sleeps until woken, or until it is time to look without that.
    void sleep(TimestampTz end) const
    {
        const std::int64_t left = std::min(end - ::GetCurrentTimestamp(),
                                           is_woken_ ? longest_sleep : sleep_beside_others);
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
    bool is_woken_ = false;
};

struct Look {
    std::shared_ptr<const Catalogue> catalogue;  // has the queues of the accepted jobs
    std::vector<Accepted> accepted;
    bool is_draining;
};

// A worker that drains accepts no further jobs.
Look look_for_jobs(std::int64_t worker_id, std::size_t most)
{
    const WorkerSlot worker = require_own_worker(worker_id);
    workers::note_heartbeat(worker_id, nullptr);
    Look look{catalog::working_catalogue(), {}, worker.is_draining};
    if (!look.is_draining)
        look.accepted = accept_some(*look.catalogue, worker_id, most);
    return look;
}

bool is_over(const Look &look)
{
    return !look.accepted.empty() || look.is_draining;
}

Look wait_for_jobs(std::int64_t worker_id, std::size_t most, TimestampTz end)
{
    Waiting waiting(worker_id);
    for (;;) {
        waiting.announce();
        Look look = look_for_jobs(worker_id, most);
        if (is_over(look) || ::GetCurrentTimestamp() >= end)
            return look;
        waiting.sleep(end);
    }
}

// Looks once more after the wait: a worker for which a session waits is not notified.
Look claim(std::int64_t worker_id, std::size_t most, std::int64_t wait)
{
    Look look = look_for_jobs(worker_id, most);
    if (wait == 0 || is_over(look))
        return look;
    look = wait_for_jobs(worker_id, most, ::GetCurrentTimestamp() + wait);
    return is_over(look) ? std::move(look) : look_for_jobs(worker_id, most);
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
