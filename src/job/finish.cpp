// Finishes attempts: success, failure, retry, put back, final.
//
// Success avoids SQL where possible (live_rows.hpp, final_rows.hpp); everything else uses
// statements.
#include "job/finish.hpp"

#include "catalog/queue_statements.hpp"
#include "job/batches/note_failure.hpp"
#include "job/claimed_job.hpp"
#include "job/count_end.hpp"
#include "job/dead_letter_rows.hpp"
#include "job/final_rows.hpp"
#include "job/job_row.hpp"
#include "job/live_rows.hpp"
#include "pg/internal_write.hpp"
#include "pg/point.hpp"
#include "shared/executors/breaker_notes.hpp"
#include "shared/lanes/run_time_table.hpp"
#include "shared/memory/own_holder.hpp"
#include "shared/wakeup/commit.hpp"
#include "shared/workers/jobs.hpp"

namespace hipq::job {

namespace {

constexpr const char *remove_running_sql = "DELETE FROM {live} AS job WHERE job.id = $1 AND "
                                           "job.attempt = $2 AND job.state IN ('running', 'error')";

constexpr const char *remove_locked_sql = "DELETE FROM {live} AS job WHERE job.id = $1 AND "
                                          "job.attempt = $2 AND job.state IN ('initial', 'retry')";

constexpr const char *is_there_sql = "SELECT 1 FROM {live} AS job WHERE job.id = $1";

// $1 ids, $2 now, $3 error, $4 reason
constexpr const char *fail_untried_sql = R"(
    UPDATE {live} AS job
    SET state = 'error', error = $3, retry_reason = $4, worker_id = NULL, update_time = $2
    FROM (
        SELECT waiting.id
        FROM {live} AS waiting
        WHERE waiting.id = ANY ($1) AND waiting.state IN ('initial', 'retry')
          AND waiting.scheduled_run_time <= $2 AND waiting.expires_time > $2
        FOR UPDATE SKIP LOCKED
    ) AS chosen
    WHERE job.id = chosen.id
    RETURNING job::hipq.job)";

constexpr const char *to_error_sql = R"(
    UPDATE {live} AS job
    SET state = 'error', error = $3, retry_reason = $4, update_time = $5, deadline = '9999-01-01 00:00:00+00',
        scheduled_run_time = coalesce($7, least(job.scheduled_run_time, $5))
    WHERE job.id = $1 AND job.attempt = $2 AND (job.state = 'running' OR ($6 AND job.state = 'error')))";

constexpr const char *to_retry_sql = R"(
    UPDATE {live} AS job
    SET state = 'retry', error = $3, retry_reason = $4, update_time = $5, deadline = '9999-01-01 00:00:00+00', scheduled_run_time = $6,
        retry_count = job.retry_count + $7
    WHERE job.id = $1 AND job.attempt = $2 AND job.state IN ('running', 'error'))";

constinit pg::Statement insert_attempt(R"(
    INSERT INTO hipq.attempt (job_id, started_time, ended_time, queue_id, attempt, executor_pid, worker_id, job_type, job_key, reason,
                              sqlstate, error, detail, hint, context, traceparent)
    VALUES ($1, $2, $3, $4, $5, $6, nullif($7, 0), $8, $9, $10,
            nullif($11, ''), $12, nullif($13, ''), nullif($14, ''), nullif($15, ''), $16))");

// Returns the process that ran an attempt: this one, unless no process ran it, an external worker
// did, or the process that did no longer exists.
std::optional<std::int32_t> executor_of(const ClaimedJob &job, const Failure &failure)
{
    using core::Reason;
    if (job.worker_id.has_value())
        return std::nullopt;
    if (failure.executor_pid.has_value())
        return failure.executor_pid;
    const Reason reason = failure.reason;
    const bool ran_elsewhere = core::is_unwanted(reason) || reason == Reason::worker_lost ||
                               reason == Reason::server_restart;
    return ran_elsewhere ? std::nullopt : std::optional<std::int32_t>(MyProcPid);
}

std::string name_of(core::Reason reason)
{
    return std::string(core::name(reason));
}

pg::RawValue json_null()
{
    return {JSONBOID, json_null_datum()};
}

// `end` is reason, SQLSTATE, error, detail, hint and context. Call inside as_hipq() only.
template <class... End>
void insert_attempt_of(const ClaimedJob &job, std::optional<std::int32_t> executor_pid,
                       pg::Time now, const End &...end)
{
    insert_attempt.run(job.id, job.started, now, job.queue_id, job.attempt, executor_pid,
                       job.worker_id, job.type, job.key, end..., traceparent_of(job));
}

// Deletes the row from the live leaf. A handler that enqueued its own successor has done so
// already, in this transaction. False: the row belongs to another attempt by now.
bool remove_running(const catalog::Queue &queue, const ClaimedJob &job, bool may_be_gone)
{
    const char *remove = job.is_locked ? remove_locked_sql : remove_running_sql;
    if (catalog::statement_for(queue, remove).run(job.id, job.stored_attempt()).processed() == 1)
        return true;
    return may_be_gone && catalog::statement_for(queue, is_there_sql).run(job.id).empty();
}

void insert_successes(std::span<const ClaimedJob> jobs, pg::Time now)
{
    for (const ClaimedJob &job : jobs)
        insert_attempt_of(
            job, job.worker_id.has_value() ? std::nullopt : std::optional<std::int32_t>(MyProcPid),
            now, "succeeded", "", "NONE", "", "", "");
}

[[noreturn]] void raise_taken(const ClaimedJob &job)
{
    HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
               errmsg("job %lld has been taken from this attempt", static_cast<long long>(job.id)));
}

// What the end of an attempt says about the external worker that had it.
workers::Leaving leaving_by(core::Reason reason)
{
    using core::Reason;
    if (reason == Reason::queue_timeout)
        return workers::Leaving::expired;
    if (reason == Reason::explicit_failure)
        return workers::Leaving::blamed_on_job;
    const bool is_innocent = reason == Reason::cancelled || reason == Reason::released ||
                             reason == Reason::worker_lost ||
                             reason == Reason::worker_heartbeat_stale ||
                             reason == Reason::manual_retry || reason == Reason::invalid_parameters;
    return is_innocent ? workers::Leaving::returned : workers::Leaving::failed;
}

// Notes that after the commit of this transaction the attempt is over: the external worker no
// longer has it, and the breaker of its type counts it. Executors know whether the type has one.
void end_attempt(const ClaimedJob &job, workers::Leaving leaving, core::AttemptEnd end,
                 pg::Time now)
{
    if (job.worker_id.has_value() && !job.is_locked)
        workers::note_job_left(job.id, job.attempt, *job.worker_id, leaving,
                               std::max<std::int64_t>(now.value - job.started.value, 0), end);
    else if (job.has_breaker || !memory::is_executor())
        executors::note_attempt_end(job.id, end);
}

// Calls `finish` for one job after the other. In a batch, a test point lies between two jobs.
template <class Finish>
void for_each_job(std::span<const ClaimedJob> jobs, const Finish &finish)
{
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (i > 0)
            HIPQ_POINT("in-batch-finish");
        finish(i);
    }
}

// `live` is empty if all jobs are removed already, `final_rows` if final rows are not kept.
void finish_directly(std::optional<LiveRows> &live, std::optional<FinalRows> &final_rows,
                     std::span<const ClaimedJob> jobs, std::span<const pg::RawValue> results)
{
    for_each_job(jobs, [&](std::size_t i) {
        if (!jobs[i].is_removed && !live->remove(jobs[i]) &&
            live->is_there(jobs[i].id))  // it does not exist if it has enqueued its own successor
            raise_taken(jobs[i]);
    });
    if (final_rows.has_value()) {
        final_rows->insert_succeeded(jobs, results);
        final_rows->close();
    }
    if (live.has_value())
        live->close();
}

void finish_by_sql(const catalog::Queue &queue, std::span<const ClaimedJob> jobs,
                   std::span<const pg::RawValue> results, pg::Time now)
{
    pg::as_hipq([&] {
        for_each_job(jobs, [&](std::size_t i) {
            if (!jobs[i].is_removed && !remove_running(queue, jobs[i], true))
                raise_taken(jobs[i]);
            if (queue.keeps_successes)
                insert_final(queue, jobs[i], "NONE", std::nullopt,
                             results[i].null ? json_null() : results[i], now);
        });
    });
}

bool finish_failed(const catalog::Queue &queue, const ClaimedJob &job, const Failure &failure,
                   pg::Time now)
{
    if (!remove_running(queue, job, false))
        return false;
    const std::string reason = name_of(failure.reason);
    insert_final(queue, job, failure.error, reason, json_null(), now);
    note_failure(job, failure.reason);
    if (leaves_dead_letter(queue, failure.reason))
        add_dead_letter(queue, job, failure, now);
    return true;
}

std::optional<pg::Time> asked_time(const Failure &failure, pg::Time now)
{
    return failure.retry_after.has_value() ? std::optional(now + *failure.retry_after)
                                           : std::nullopt;
}

bool to_error(const catalog::Queue &queue, const ClaimedJob &job, const Failure &failure,
              pg::Time now, bool may_stand_there)
{
    const bool is_done = pg::as_hipq([&] {
        return catalog::statement_for(queue, to_error_sql)
                   .run(job.id, job.attempt, failure.error, name_of(failure.reason), now,
                        may_stand_there, asked_time(failure, now))
                   .processed() == 1;
    });
    if (is_done)
        end_attempt(job, leaving_by(failure.reason), end_of_attempt(job, failure.reason), now);
    return is_done;
}

bool to_retry(const catalog::Queue &queue, const ClaimedJob &job, const Failure &failure,
              const core::Decision &decision, pg::Time now)
{
    return catalog::statement_for(queue, to_retry_sql)
               .run(job.id, job.attempt, failure.error, name_of(failure.reason), now,
                    now + decision.delay, decision.charged ? 1 : 0)
               .processed() == 1;
}

}  // namespace

std::string stored_error(std::string_view message)
{
    if (message.empty() || message == "NONE")
        return "error without a message: \"" + std::string(message) + "\"";
    return pg::short_text(message);
}

void finish_succeeded(const catalog::Queue &queue, std::span<const ClaimedJob> jobs,
                      std::span<const pg::RawValue> results, pg::Time now)
{
    for (const ClaimedJob &job : jobs) {
        wakeup::note_end(job.id, batch_of(job), wakeup::End::success);
        end_attempt(job, workers::Leaving::succeeded, core::AttemptEnd::succeeded, now);
        if (job.worker_id.has_value())
            lanes::note_run_time(queue.id, queue.owner, job.type,
                                 std::max<std::int64_t>(now.value - job.started.value, 0));
    }
    const bool are_removed = std::ranges::all_of(jobs, &ClaimedJob::is_removed);
    auto live = are_removed ? std::nullopt : LiveRows::open_to_write(queue);
    const bool is_plain = are_removed || live.has_value();
    auto final_rows =
        is_plain && queue.keeps_successes ? FinalRows::open(queue, jobs, now) : std::nullopt;
    if (is_plain && final_rows.has_value() == queue.keeps_successes) {
        const auto finish = [&] { finish_directly(live, final_rows, jobs, results); };
        if (jobs.front().worker_id.has_value())
            // An index may call functions for which an external worker's role has no rights.
            pg::as_hipq(finish);
        else
            finish();
    } else {
        if (live.has_value())
            live->close();
        finish_by_sql(queue, jobs, results, now);
    }
    if (queue.history_all)
        pg::as_hipq([&] { insert_successes(jobs, now); });
    count_successes(queue, jobs, now);
}

void record_attempt(const catalog::Queue &, const ClaimedJob &job, const Failure &failure,
                    pg::Time now)
{
    pg::as_hipq([&] {
        insert_attempt_of(job, executor_of(job, failure), now, name_of(failure.reason),
                          failure.sqlstate, failure.error, failure.detail, failure.hint,
                          failure.context);
    });
}

bool fail_to_error(const catalog::Queue &queue, const ClaimedJob &job, const Failure &failure,
                   pg::Time now)
{
    return to_error(queue, job, failure, now, false);
}

bool stand_in_error(const catalog::Queue &queue, const ClaimedJob &job, const Failure &failure,
                    pg::Time now)
{
    return to_error(queue, job, failure, now, true);
}

bool carry_out(const catalog::Queue &queue, const ClaimedJob &job, const Failure &failure,
               const core::Decision &decision, pg::Time now)
{
    const bool is_done = pg::as_hipq([&] {
        return decision.retry ? to_retry(queue, job, failure, decision, now)
                              : finish_failed(queue, job, failure, now);
    });
    const bool dies = is_done && !decision.retry && leaves_dead_letter(queue, failure.reason);
    if (is_done)
        end_attempt(job, leaving_by(failure.reason),
                    decision.retry && !decision.charged ? core::AttemptEnd::uncounted
                                                        : end_of_attempt(job, failure.reason),
                    now);
    if (is_done)
        count_failure(queue, job, failure.reason, decision, dies, now);
    return is_done;
}

std::vector<ClaimedJob> fail_untried(const catalog::Queue &queue, std::span<const DueJob> waiting,
                                     const Failure &failure, pg::Time now)
{
    std::vector<std::int64_t> ids;
    for (const DueJob &job : waiting)
        ids.push_back(job.id);
    std::vector<ClaimedJob> jobs =
        claimed_jobs_in_order(ids, pg::as_hipq([&] {
                                  return catalog::statement_for(queue, fail_untried_sql)
                                      .run(ids, now, failure.error, name_of(failure.reason));
                              }));
    for (ClaimedJob &job : jobs)
        job.started = now;
    return jobs;
}

}  // namespace hipq::job
