// Writes the rows of jobs that external workers have.
//
// Acceptance goes row by row without SQL (job/live_rows.hpp) where possible, and so does the end of
// a success; everything else is done by statements.
#include "external/attempt_rows.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_statements.hpp"
#include "claim/claim.hpp"
#include "job/claimed_job.hpp"
#include "job/job_row.hpp"
#include "job/live_rows.hpp"
#include "job/lock_attempt.hpp"
#include "job/two_phase.hpp"
#include "pg/error_classes.hpp"
#include "pg/internal_write.hpp"
#include "pg/short_text.hpp"
#include "pg/subtransaction.hpp"
#include "shared/workers/jobs.hpp"

extern "C" {
#include "access/xact.h"
#include "access/xlog.h"
}

namespace hipq::external {

using core::Column;

namespace {

// $1 jobs, $2 now
constexpr const char *waiting_sql = R"(
    SELECT job.id
    FROM {live} AS job
    WHERE job.id = ANY ($1) AND job.state IN ('initial', 'retry') AND job.scheduled_run_time <= $2 AND job.expires_time > $2)";

// $1 worker, $2 jobs, $3 now
constexpr const char *accept_sql = R"(
    UPDATE {live} AS job
    SET state = 'running', attempt = job.attempt + 1, error = 'NONE', worker_id = $1, update_time = $3, accepted_time = $3,
        deadline = $3 + job.timeout * interval '1 second'
    WHERE job.id = ANY ($2)
    RETURNING job::hipq.job)";

constexpr const char *hold_sql = R"(
    SELECT job::hipq.job
    FROM {live} AS job
    WHERE job.id = $1 AND job.attempt = $2 AND job.state = 'running' AND job.worker_id IS NOT NULL
    FOR UPDATE)";

constexpr const char *hold_by_key_sql = R"(
    SELECT job::hipq.job
    FROM {live} AS job
    WHERE job.job_type = $1 AND job.job_key = $2 AND job.job_key <> 'NONE' AND job.state = 'running' AND job.worker_id IS NOT NULL
      {+AND ($3 IS NULL OR job.shard_key COLLATE "C" = $3)+}
    FOR UPDATE)";

constexpr const char *deadline_sql =
    "UPDATE {live} AS job SET deadline = $2, update_time = $3 WHERE job.id = $1";

pg::Time deadline_in(pg::Time now, int seconds)
{
    return now + std::int64_t{seconds} * USECS_PER_SEC;
}

std::vector<std::int64_t> ids_of(std::span<const workers::TakenOffer> offers)
{
    std::vector<std::int64_t> ids;
    for (const workers::TakenOffer &offer : offers)
        ids.push_back(offer.id);
    return ids;
}

[[noreturn]] void raise_left(const catalog::Queue &queue)
{
    const std::string name = queue.full_name();
    HIPQ_RAISE(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
               errmsg("jobs of queue \"%s\" have just left for another node", name.c_str()));
}

// The acceptance of offers of one queue.
struct Accepting {
    const catalog::Queue &queue;
    std::int64_t worker_id;
    pg::Time now;
    Acceptance result{};

    bool may_start(const job::ClaimedJob &job, const workers::TakenOffer &offer) const
    {
        return claim::may_still_start(queue, job, offer.load, offer.admission, now);
    }

    // ---- without SQL ----

    void accept_directly(job::LiveRows &rows, const workers::TakenOffer &offer)
    {
        job::RowValues *row = rows.find({offer.id, offer.place});
        if (row == nullptr || !job::is_due(*row, now)) {
            result.ended.push_back(offer);
            return;
        }
        job::make_running(*row, row->as_int32(Column::attempt) + 1, now,
                          deadline_in(now, row->as_int32(Column::timeout)));
        row->set(Column::worker_id, Int64GetDatum(worker_id));
        job::ClaimedJob job = rows.job_of(*row);
        constexpr std::array changed{Column::state,     Column::attempt,     Column::error,
                                     Column::worker_id, Column::update_time, Column::accepted_time,
                                     Column::deadline};
        if (!may_start(job, offer)) {
            result.ended.push_back(offer);
        } else if (const auto place = rows.change(*row, changed)) {
            job.place = *place;
            result.accepted.push_back(std::move(job));
        } else {
            result.held.push_back(offer);
        }
    }

    // ---- by SQL ----

    // Triggers and constraints of users run then. If they raise an error for one job, the others
    // are accepted.
    void accept_by_sql(std::span<const workers::TakenOffer> offers)
    {
        const Acceptance before = result;
        const auto trouble =
            pg::in_subtransaction(pg::Ending::kept, [&] { accept_by_statements(offers); });
        if (!trouble.has_value())
            return;
        if (!pg::is_fault_of_job(*trouble))
            throw *trouble;  // NOLINT(cert-err60-cpp): as it came
        result = before;
        if (offers.size() == 1) {
            result.refused.emplace_back(offers.front(), *trouble);
            return;
        }
        for (const workers::TakenOffer &offer : offers)
            accept_by_sql({&offer, 1});
    }

    void accept_by_statements(std::span<const workers::TakenOffer> offers)
    {
        const std::vector<std::int64_t> ids = ids_of(offers);
        const pg::PlannerSettings planner;
        pg::as_hipq([&] {
            const auto startable = sort_out(claim::lock_by_sql(queue, ids, now), offers);
            for (job::ClaimedJob &job : job::claimed_jobs_in_order(
                     ids_of(startable), catalog::statement_for(queue, accept_sql)
                                            .run(worker_id, ids_of(startable), now)))
                result.accepted.push_back(std::move(job));
            // A trigger may have suppressed an update.
            for (const workers::TakenOffer &offer : startable)
                if (std::ranges::find(result.accepted, offer.id, &job::ClaimedJob::id) ==
                    result.accepted.end())
                    result.held.push_back(offer);
        });
    }

    // Returns the offers whose jobs may start; the others are held or end.
    std::vector<workers::TakenOffer> sort_out(std::span<const job::ClaimedJob> locked,
                                              std::span<const workers::TakenOffer> offers)
    {
        const std::set<std::int64_t> waiting = still_waiting(offers);
        std::vector<workers::TakenOffer> startable;
        for (const workers::TakenOffer &offer : offers) {
            const auto job = std::ranges::find(locked, offer.id, &job::ClaimedJob::id);
            if (job != locked.end() && may_start(*job, offer))
                startable.push_back(offer);
            else if (job == locked.end() && waiting.contains(offer.id))
                result.held.push_back(offer);
            else
                result.ended.push_back(offer);
        }
        return startable;
    }

    std::set<std::int64_t> still_waiting(std::span<const workers::TakenOffer> offers) const
    {
        const std::vector<std::int64_t> ids = ids_of(offers);
        std::set<std::int64_t> waiting;
        for (const pg::Row row : catalog::statement_for(queue, waiting_sql).run_latest(ids, now))
            waiting.insert(row.integer(0));
        return waiting;
    }
};

// Returns nothing in a transaction that has one snapshot throughout: it must not change rows that
// its snapshot does not show. SQL checks that; direct access does not.
std::optional<job::LiveRows> rows_to_accept(const catalog::Queue &queue)
{
    pg::call([] { ::PreventCommandIfReadOnly("UPDATE"); });
    return IsolationUsesXactSnapshot() ? std::nullopt : job::LiveRows::open_to_write(queue);
}

std::optional<job::LiveRows> rows_to_hold(const catalog::Queue &queue, Hold hold)
{
    pg::call([] { ::PreventCommandIfReadOnly("SELECT FOR UPDATE"); });
    if (IsolationUsesXactSnapshot())
        return std::nullopt;
    return hold == Hold::to_succeed ? job::LiveRows::open_to_write(queue)
                                    : job::LiveRows::open_to_lock(queue);
}

}  // namespace

void Attempts::add(std::int64_t id, std::int64_t number, ItemPointerData place)
{
    ids.push_back(id);
    numbers.push_back(number);
    places.push_back(place);
}

Acceptance accept_rows(const catalog::Queue &queue, std::int64_t worker_id,
                       std::span<const workers::TakenOffer> offers, pg::Time now)
{
    Accepting accepting{queue, worker_id, now};
    if (auto rows = rows_to_accept(queue))
        pg::as_hipq([&] {  // an index may call functions
            for (const workers::TakenOffer &offer : offers)
                accepting.accept_directly(*rows, offer);
            rows->close();
        });
    else
        accepting.accept_by_sql(offers);
    const std::vector<job::ClaimedJob> &jobs = accepting.result.accepted;
    if (jobs.empty())
        return std::move(accepting.result);
    if (claim::have_left(queue, jobs))
        raise_left(queue);
    for (const job::ClaimedJob &job : jobs)
        workers::note_job_accepted(job.id, job.attempt, claim::load_of(job), job::deadline_of(job),
                                   job.place);
    job::forbid_two_phase(job::NoTwoPhase::job_taken);
    ::ForceSyncCommit();  // after a crash, another worker would otherwise get the same attempt
    return std::move(accepting.result);
}

void report_refused(const catalog::Queue &queue, std::int64_t id, const pg::Error &error)
{
    const std::string name = queue.full_name();
    const std::string message = pg::short_message(error);
    pg::call([&] {
        ereport(WARNING, errcode(error.sqlerrcode()),
                errmsg("cannot give job %lld in queue \"%s\" to a worker: %s",
                       static_cast<long long>(id), name.c_str(), message.c_str()),
                errdetail("It stays as it is, and is tried again from time to time."));
    });
}

std::optional<job::ClaimedJob> hold_row(const catalog::Queue &queue, std::int64_t id, int attempt)
{
    return job::first_claimed_job(
        pg::as_hipq([&] { return catalog::statement_for(queue, hold_sql).run(id, attempt); }));
}

// For a row that cannot be locked at once, a statement waits, or finds that the attempt is over.
std::vector<job::ClaimedJob> hold_rows(const catalog::Queue &queue, const Attempts &attempts,
                                       Hold hold)
{
    auto rows = rows_to_hold(queue, hold);
    const auto hold_directly = [&](const job::DueJob &named, std::int64_t number) {
        return hold == Hold::to_succeed ? rows->remove_external(named, number)
                                        : rows->lock_external(named, number);
    };
    std::vector<job::ClaimedJob> jobs;
    for (std::size_t i = 0; i < attempts.count(); ++i) {
        const job::DueJob named{attempts.ids[i], attempts.places[i]};
        auto job = rows.has_value() ? hold_directly(named, attempts.numbers[i]) : std::nullopt;
        if (!job.has_value())
            job = hold_row(queue, named.id, static_cast<int>(attempts.numbers[i]));
        if (job.has_value())
            jobs.push_back(std::move(*job));
    }
    if (rows.has_value())
        rows->close();
    return jobs;
}

std::optional<job::ClaimedJob> hold_row(const catalog::Queue &queue, std::string_view job_type,
                                        std::string_view job_key,
                                        const std::optional<std::string> &shard_key)
{
    return job::first_claimed_job(pg::as_hipq([&] {
        return catalog::statement_for(queue, hold_by_key_sql).run(job_type, job_key, shard_key);
    }));
}

void set_deadline(const catalog::Queue &queue, const job::ClaimedJob &job, pg::Time deadline,
                  pg::Time now)
{
    pg::as_hipq([&] { catalog::statement_for(queue, deadline_sql).run(job.id, deadline, now); });
    workers::note_job_extended(job.id, job.attempt, deadline);
    job::forbid_two_phase(job::NoTwoPhase::job_taken);
}

}  // namespace hipq::external
