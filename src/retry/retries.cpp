// hipq.is_job_retriable and hipq.why_retriable: what the retry policy says about a job.
#include "catalog/cache.hpp"
#include "catalog/queue_statements.hpp"
#include "catalog/rights.hpp"
#include "job/find_job.hpp"
#include "nodes/nodes.hpp"
#include "pg/arguments.hpp"
#include "pg/internal_write.hpp"
#include "retry/retry.hpp"
#include "settings.hpp"

namespace hipq::retry {

namespace {

using core::Verdict;
using job::FoundJob;

constexpr const char *select_failure_sql = R"(
    SELECT job.error, job.retry_reason, job.retry_count, job.max_retries,
           (SELECT attempt.sqlstate FROM hipq.attempt AS attempt
            WHERE attempt.queue_id = job.queue_id AND attempt.job_id = job.id AND attempt.attempt = job.attempt
            ORDER BY attempt.ended_time DESC LIMIT 1)
    FROM {table} AS job
    WHERE job.id = $1)";

// What the policy decides by, from the job's row and its history.
struct Failed {
    std::string error;
    core::Reason reason;
    int retry_count;
    int max_retries;
    std::string sqlstate;
    std::optional<std::string> switched_off_by;  // what switches off the retries of its job type
};

struct Answer {
    bool retriable;
    std::string why;
};

// The answer for a final job.
Answer is_over(const std::string &why)
{
    return {false, why + " hipq.retry() runs a final job again as a new job."};
}

std::string used_up(const Failed &failed)
{
    if (failed.max_retries == 0)
        return "It has no retries: its max_retries is 0.";
    return "Its retries are used up: " + std::to_string(failed.retry_count) + " of " +
           std::to_string(failed.max_retries) + ".";
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
    case Verdict::switched_off:
        return "Retries are switched off: " + failed.switched_off_by.value_or("") + " is off.";
    }
    return "";
}

Answer answer_for_final(const Failed &failed, Verdict verdict)
{
    if (failed.error == "NONE")
        return is_over("The job has succeeded.");
    if (verdict == Verdict::retry || verdict == Verdict::put_back)
        return is_over("The job failed for good: its retry handler said so, it crashed the server "
                       "too often, or its rules were "
                       "others then.");
    return is_over("The job is final. " + explain(verdict, failed));
}

Answer answer_for_error(const Failed &failed, Verdict verdict)
{
    const bool retriable = verdict == Verdict::retry || verdict == Verdict::put_back;
    return {retriable, explain(verdict, failed)};
}

// The answer for a job that waits or runs. It is about the job's next failure, because earlier
// failures are decided already.
Answer answer_for_unfailed(const FoundJob &job, const Failed &failed)
{
    if (job.state == core::JobState::retry)
        return {true, "The job waits for its next attempt; " + std::to_string(failed.retry_count) +
                          " of " + std::to_string(failed.max_retries) + " retries are used."};
    if (failed.switched_off_by.has_value())
        return {false, "The next failure is final. " + explain(Verdict::switched_off, failed)};
    if (failed.retry_count >= failed.max_retries)
        return {false, "The next failure is final. " + used_up(failed)};
    return {true, "A failure with a retriable reason would be retried: " +
                      std::to_string(failed.retry_count) + " of " +
                      std::to_string(failed.max_retries) + " retries are used."};
}

// ---- with a retry handler, which decides instead of the policy, any number of times ----

Answer handlers_answer_for_final(const Failed &failed)
{
    if (failed.reason == core::Reason::retry_handler_failed)
        return is_over("The job is final: its retry handler failed.");
    return is_over("The job failed for good: its retry handler said so, it was failed by hand, it "
                   "crashed the server too often, "
                   "or its rules were others then.");
}

Answer handlers_answer(core::JobState state, const Failed &failed)
{
    switch (state) {
    case core::JobState::final:
        return handlers_answer_for_final(failed);
    case core::JobState::error:
        return {true, "Its retry handler decides whether and when."};
    case core::JobState::retry:
        return {true,
                "The job waits for its next attempt; should that fail its retry handler decides."};
    case core::JobState::initial:
    case core::JobState::running:
        return {true, "Its retry handler decides about a failure, whatever its max_retries."};
    }
    return {};
}

// Whether the retry handler decides. For a final or failed job this depends on its failure; the
// failures of the other jobs are not known yet.
bool is_for_retry_handler(const catalog::JobType *type, core::JobState state, const Failed &failed)
{
    if (type == nullptr || type->retry_handler == "NONE")
        return false;
    const bool has_failed = state == core::JobState::error || state == core::JobState::final;
    return !has_failed || (failed.error != "NONE" && core::asks_retry_handler(failed.reason));
}

Answer answer_for(const FoundJob &job, const Failed &failed)
{
    const catalog::JobType *type = job.queue->find_job_type(job.type);
    const bool is_switched_off = failed.switched_off_by.has_value();
    const bool asks_handler = is_for_retry_handler(type, job.state, failed);
    if (asks_handler && !is_switched_off)
        return handlers_answer(job.state, failed);
    const core::RetryRules rules = type != nullptr ? type->rules() : core::RetryRules{};
    const Verdict verdict =
        asks_handler ? Verdict::switched_off
                     : core::judge(failed.reason, failed.sqlstate, rules, failed.retry_count,
                                   failed.max_retries, !is_switched_off);
    if (job.state == core::JobState::final)
        return answer_for_final(failed, verdict);
    if (job.state == core::JobState::error)
        return answer_for_error(failed, verdict);
    return answer_for_unfailed(job, failed);
}

// Parses the answer of another node: "true why".
Answer parse_answer(const std::string &text)
{
    const std::size_t end = text.find(' ');
    return {text.substr(0, end) == "true", text.substr(end + 1)};
}

Answer judge_job(const pg::Arguments &arguments)
{
    const std::int64_t id = arguments.integer64("id");
    const std::optional<std::string> queue = arguments.maybe_text("queue");
    const auto catalogue = catalog::catalogue();
    const auto found = job::find_permitted_job(*catalogue, id, queue, catalog::Privilege::read);
    if (!found.has_value())
        return parse_answer(nodes::call_for_job(*catalogue, {"why_retriable", id, {queue}, queue}));
    const FoundJob &job = *found;
    const pg::Rows rows =
        pg::as_hipq([&] { return catalog::statement_for(*job.queue, select_failure_sql).run(id); });
    if (rows.empty())  // the job waits to be enqueued until the job that holds its key is final
        return {true, "It is enqueued when the job that holds its key has finished."};
    const pg::Row row = rows.front();
    return answer_for(job, {row.text(0),
                            core::parse_reason(row.text(1)).value_or(core::Reason::transient_error),
                            row.integer32(2), row.integer32(3), row.text(4),
                            what_stops_retries(*job.queue, job.queue->find_job_type(job.type))});
}

}  // namespace

}  // namespace hipq::retry

HIPQ_FUNCTION(hipq_is_job_retriable)
{
    return BoolGetDatum(hipq::retry::judge_job(hipq::pg::Arguments(fcinfo)).retriable);
}

HIPQ_FUNCTION(hipq_why_retriable)
{
    const auto answer = hipq::retry::judge_job(hipq::pg::Arguments(fcinfo));
    return hipq::pg::return_row(fcinfo, answer.retriable, answer.why);
}
