// hipq.is_job_retriable and hipq.retry_chain: what the retry policy says of a job, and what has become of it so far.
#include "api/arguments.hpp"
#include "settings.hpp"
#include "storage/find_job.hpp"
#include "storage/permit.hpp"
#include "storage/queue_statements.hpp"

namespace hipq::api {

namespace {

using core::Verdict;
using storage::FoundJob;

// ---- is_job_retriable ----

constinit pg::Statement select_failure(R"(
    SELECT job.error, job.retry_reason, job.retry_count, job.max_retries,
           (SELECT attempt.sqlstate FROM hipq.attempt AS attempt
            WHERE attempt.job_id = job.id AND attempt.attempt = job.attempt
            ORDER BY attempt.ended_time DESC LIMIT 1)
    FROM hipq.job AS job
    WHERE job.id = $1 AND job.queue_id = $2)");

// What the policy judges by, as the job's row and history have it.
struct Failed {
    std::string error;
    core::Reason reason;
    int retry_count;
    int max_retries;
    std::string sqlstate;
};

struct Answer {
    bool retriable;
    std::string why;
};

std::string used_up(const Failed &failed)
{
    if (failed.max_retries == 0)
        return "It has no retries: its max_retries is 0.";
    return "Its retries are used up: " + std::to_string(failed.retry_count) + " of " + std::to_string(failed.max_retries) + ".";
}

std::string explain(Verdict verdict, const Failed &failed)
{
    const std::string reason(core::name(failed.reason));
    switch (verdict) {
    case Verdict::put_back:
        return "Reason " + reason + " costs no retry.";
    case Verdict::retry:
        return "Reason " + reason + " is retried: " + std::to_string(failed.retry_count) + " of " +
               std::to_string(failed.max_retries) + " retries are used.";
    case Verdict::never_retried:
        return "It was " + reason + ", which is never retried.";
    case Verdict::ruled_out:
        return "Its type says do_not_retry_on for reason " + reason +
               (failed.sqlstate.empty() ? "" : ", SQLSTATE " + failed.sqlstate) + ".";
    case Verdict::not_retriable:
        return "Reason " + reason + " is not retried.";
    case Verdict::no_retries_left:
        return used_up(failed);
    }
    return "";
}

std::string without_delay()
{
    return settings::retry_enabled ? "" : " It does not wait for its delay: hipq.retry_enabled is off.";
}

Answer answer_for_final(const Failed &failed, Verdict verdict)
{
    const std::string hint = " hipq.retry() runs a final job again as a new job.";
    if (failed.error == "NONE")
        return {false, "The job has succeeded." + hint};
    if (verdict == Verdict::retry || verdict == Verdict::put_back)
        return {false, "The job failed for good: its retry handler said so, it crashed the server too often, or its rules were "
                       "others then." +
                           hint};
    return {false, "The job is final. " + explain(verdict, failed) + hint};
}

Answer answer_for_error(const storage::JobType *type, const Failed &failed, Verdict verdict)
{
    if (type != nullptr && type->retry_handler != "NONE" && core::asks_retry_handler(failed.reason))
        return {true, "Its retry handler decides whether and when."};
    const bool retriable = verdict == Verdict::retry || verdict == Verdict::put_back;
    return {retriable, explain(verdict, failed) + (retriable ? without_delay() : "")};
}

// One that waits, or runs, has not failed since: then the next failure counts.
Answer answer_for_unfailed(const FoundJob &job, const Failed &failed)
{
    if (job.state == core::JobState::retry)
        return {true, "The job waits for its next attempt; " + std::to_string(failed.retry_count) + " of " +
                          std::to_string(failed.max_retries) + " retries are used." + without_delay()};
    if (failed.retry_count >= failed.max_retries)
        return {false, "The next failure is final. " + used_up(failed)};
    return {true, "A failure with a retriable reason would be retried: " + std::to_string(failed.retry_count) + " of " +
                      std::to_string(failed.max_retries) + " retries are used." + without_delay()};
}

Answer answer_for(const FoundJob &job, const Failed &failed)
{
    const storage::JobType *type = job.queue->find_job_type(job.type);
    const core::RetryRules rules = type != nullptr ? type->rules() : core::RetryRules{};
    const Verdict verdict = core::judge(failed.reason, failed.sqlstate, rules, failed.retry_count, failed.max_retries);
    if (job.state == core::JobState::final)
        return answer_for_final(failed, verdict);
    if (job.state == core::JobState::error)
        return answer_for_error(type, failed, verdict);
    return answer_for_unfailed(job, failed);
}

Answer is_job_retriable(std::int64_t id, const std::optional<std::string> &queue)
{
    const auto catalogue = storage::catalogue();
    const FoundJob job = storage::require_job(*catalogue, id, queue, storage::Privilege::read);
    const pg::Rows rows = storage::as_hipq([&] { return select_failure.run(id, job.queue->id); });
    if (rows.empty())  // it follows the job that holds its key
        return {true, "It is put in line when the job that holds its key has finished."};
    const pg::Row row = rows.front();
    return answer_for(job, {row.text(0), core::parse_reason(row.text(1)).value_or(core::Reason::transient_error),
                            row.integer32(2), row.integer32(3), row.text(4)});
}

// ---- retry_chain ----

// hipq.retry() makes the new job in the table of the old one, later: so no other table is read, and no row before the first.
constexpr const char *chain_sql = R"(
    WITH first AS (
        SELECT coalesce(job.original_job_id, job.id) AS id FROM {table} AS job WHERE job.id = $1
    ),
    chain AS MATERIALIZED (
        SELECT job.id, job.retry_of, job.attempt, job.state, job.error, job.retry_reason, job.worker_id, job.accepted_time, job.update_time
        FROM {table} AS job
        WHERE job.id = (SELECT first.id FROM first)
        UNION ALL
        SELECT job.id, job.retry_of, job.attempt, job.state, job.error, job.retry_reason, job.worker_id, job.accepted_time, job.update_time
        FROM {table} AS job
        WHERE job.id > (SELECT first.id FROM first) AND job.original_job_id = (SELECT first.id FROM first)
    ),
    told AS (
        SELECT attempt.*, row_number() OVER (PARTITION BY attempt.job_id ORDER BY attempt.attempt, attempt.ended_time) AS place
        FROM hipq.attempt AS attempt
        WHERE attempt.job_id = ANY (ARRAY(SELECT chain.id FROM chain))
    ),
    -- An attempt that the history does not tell: it runs, or has succeeded where successes leave none; or there is none yet.
    untold AS (
        SELECT chain.*
        FROM chain
        WHERE chain.state IS DISTINCT FROM 'error'
          AND NOT (chain.state = 'retry')
          AND NOT EXISTS (SELECT FROM told WHERE told.job_id = chain.id AND told.attempt = chain.attempt AND chain.state = 'final')
    )
    SELECT told.job_id, chain.retry_of, told.attempt,
           CASE WHEN told.place = max(told.place) OVER (PARTITION BY told.job_id)
                 AND NOT EXISTS (SELECT FROM untold WHERE untold.id = told.job_id) THEN chain.state::text END,
           told.reason, told.sqlstate, told.error, told.executor_pid, told.worker_id, told.started_time, told.ended_time, told.place
    FROM told
    JOIN chain ON chain.id = told.job_id
    UNION ALL
    SELECT untold.id, untold.retry_of, nullif(untold.attempt, 0), untold.state::text,
           CASE WHEN untold.state <> 'final' THEN NULL WHEN untold.error = 'NONE' THEN 'succeeded' ELSE untold.retry_reason END,
           NULL, untold.error, NULL, untold.worker_id,
           CASE WHEN untold.accepted_time < 'infinity' AND untold.attempt > 0 THEN untold.accepted_time END,
           CASE WHEN untold.state = 'final' THEN untold.update_time END, 9223372036854775807
    FROM untold
    ORDER BY 1, 12)";

void list_chain(const FoundJob &job, ResultSet &result)
{
    const pg::Rows rows = storage::as_hipq([&] { return storage::statement_for(*job.queue, chain_sql).run(job.id); });
    for (const pg::Row row : rows) {
        const auto time = [&](int column) { return row.null(column) ? std::nullopt : std::optional(row.time(column)); };
        const auto number = [&](int column) {
            return row.null(column) ? std::nullopt : std::optional<std::int32_t>(row.integer32(column));
        };
        result.add(row.integer(0), row.maybe_integer(1), number(2), row.maybe_text(3), row.maybe_text(4), row.maybe_text(5),
                   row.maybe_text(6), number(7), row.maybe_integer(8), time(9), time(10));
    }
}

}  // namespace

}  // namespace hipq::api

HIPQ_FUNCTION(hipq_is_job_retriable)
{
    const hipq::api::Arguments arguments(fcinfo);
    const auto answer = hipq::api::is_job_retriable(arguments.integer64(0, "id"), arguments.maybe_text(1));
    return hipq::api::return_row(fcinfo, answer.retriable, answer.why);
}

HIPQ_FUNCTION(hipq_retry_chain)
{
    const hipq::api::Arguments arguments(fcinfo);
    const std::int64_t id = arguments.integer64(0, "id");
    hipq::api::ResultSet result(fcinfo);
    const auto catalogue = hipq::storage::catalogue();
    hipq::api::list_chain(hipq::storage::require_job(*catalogue, id, arguments.maybe_text(1), hipq::storage::Privilege::read),
                          result);
    return hipq::api::return_void();
}
