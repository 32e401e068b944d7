// hipq.fail and hipq.release: an external worker could not do a job, or gives it back.
//
// A failure is resolved like that of a handler: by the policy here, or by the type's retry handler,
// which an executor calls once the failure has committed.
#include "catalog/cache.hpp"
#include "catalog/checks.hpp"
#include "catalog/queue_statements.hpp"
#include "external/held_attempt.hpp"
#include "job/finish.hpp"
#include "pg/clock.hpp"
#include "pg/internal_write.hpp"
#include "retry/retry.hpp"
#include "shared/executors/pending_decisions.hpp"

namespace hipq::external {

namespace {

constexpr const char *state_sql = "SELECT job.state::text FROM {table} AS job WHERE job.id = $1";

// ---- fail ----

core::Reason reason_of(bool is_retriable)
{
    return is_retriable ? core::Reason::transient_error : core::Reason::explicit_failure;
}

// Returns the argument retry_after, in microseconds, of a function that takes one attempt.
std::optional<std::int64_t> retry_after_of(const pg::Arguments &arguments, pg::Argument which)
{
    const auto delay = arguments.maybe_duration(pg::Argument::later(which));
    return delay.has_value() ? std::optional(catalog::check_delay("retry_after", *delay))
                             : std::nullopt;
}

std::vector<std::optional<std::int64_t>> retry_afters_of(const pg::Arguments &arguments)
{
    auto delays = arguments.durations(pg::Argument::later({4, "retry_after"}));
    for (const auto &delay : delays)
        if (delay.has_value())
            (void)catalog::check_delay("retry_after", *delay);
    return delays;
}

// A worker's report of an attempt that failed.
struct Said {
    std::string error;
    bool is_retriable;
    std::optional<std::int64_t> retry_after;  // microseconds
};

void fail(const HeldAttempt &attempt, const Said &said)
{
    const auto &[queue, job] = attempt;
    job::Failure failure{reason_of(said.is_retriable), "", said.error};
    failure.retry_after = said.retry_after;
    if (retry::resolve_failure(*queue, job, failure, pg::now()) ==
        retry::Resolved::ask_retry_handler)
        executors::note_decision({MyDatabaseId, queue->owner, queue->id, job.id});
}

std::string state_of(const HeldAttempt &attempt)
{
    const pg::Rows rows = pg::as_hipq(
        [&] { return catalog::statement_for(*attempt.queue, state_sql).run(attempt.job.id); });
    return rows.empty() ? std::string() : rows.front().text(0);
}

std::string fail(const pg::Arguments &arguments)
{
    const AttemptName name{arguments.integer64({0, "id"}), arguments.integer({1, "attempt"})};
    const Said said{arguments.text({2, "error"}, core::any_length),
                    arguments.boolean({3, "retriable"}),
                    retry_after_of(arguments, {4, "retry_after"})};
    const auto catalogue = catalog::catalogue();
    const HeldAttempt attempt = hold_attempt(*catalogue, name);
    fail(attempt, said);
    return state_of(attempt);
}

std::string fail_by_key(const pg::Arguments &arguments)
{
    const Said said{arguments.text("error", core::any_length), arguments.boolean("retriable"),
                    retry_after_of(arguments, "retry_after")};
    const auto catalogue = catalog::catalogue();
    const HeldAttempt attempt =
        hold_attempt(*catalogue, arguments.text("queue"), job_key_of(arguments));
    fail(attempt, said);
    return state_of(attempt);
}

std::vector<std::int64_t> fail_many(const pg::Arguments &arguments)
{
    const std::vector<AttemptName> names = attempt_names(arguments);
    const std::vector<std::string> errors =
        arguments.texts_without_nulls({2, "errors"}, core::most_jobs_at_once, core::any_length);
    const bool is_retriable = arguments.boolean({3, "retriable"});
    const auto retry_afters = retry_afters_of(arguments);
    check_same_number(names.size(), errors.size(), "errors");
    if (!retry_afters.empty())
        check_same_number(names.size(), retry_afters.size(), "retry_after");
    std::map<AttemptName, Said> said_of;
    for (std::size_t i = 0; i < names.size(); ++i)
        said_of.try_emplace(names[i], Said{errors[i], is_retriable,
                                           retry_afters.empty() ? std::nullopt : retry_afters[i]});
    const auto catalogue = catalog::catalogue();
    std::vector<std::int64_t> ids;
    for (const HeldAttempt &attempt : hold_attempts(*catalogue, names)) {
        fail(attempt, said_of.at({attempt.job.id, attempt.job.attempt}));
        ids.push_back(attempt.job.id);
    }
    return ids;
}

// ---- release ----

void release(const HeldAttempt &attempt, std::int64_t delay)
{
    const auto &[queue, job] = attempt;
    const pg::Time now = pg::now();
    const job::Failure released{core::Reason::released, "", "released"};
    job::record_attempt(*queue, job, released, now);
    job::carry_out(*queue, job, released, core::Decision{true, delay, false}, now);
}

void release(const pg::Arguments &arguments)
{
    const AttemptName name{arguments.integer64({0, "id"}), arguments.integer({1, "attempt"})};
    const std::int64_t delay = catalog::check_delay("delay", arguments.duration({2, "delay"}));
    const auto catalogue = catalog::catalogue();
    release(hold_attempt(*catalogue, name), delay);
}

std::vector<std::int64_t> release_many(const pg::Arguments &arguments)
{
    const std::vector<AttemptName> names = attempt_names(arguments);
    const auto catalogue = catalog::catalogue();
    std::vector<std::int64_t> ids;
    for (const HeldAttempt &attempt : hold_attempts(*catalogue, names)) {
        release(attempt, 0);
        ids.push_back(attempt.job.id);
    }
    return ids;
}

}  // namespace

}  // namespace hipq::external

HIPQ_FUNCTION(hipq_fail)
{
    return hipq::pg::return_text(hipq::external::fail(hipq::pg::Arguments(fcinfo)));
}

HIPQ_FUNCTION(hipq_fail_by_key)
{
    return hipq::pg::return_text(hipq::external::fail_by_key(hipq::pg::Arguments(fcinfo)));
}

HIPQ_FUNCTION(hipq_fail_many)
{
    return hipq::pg::return_ids(hipq::external::fail_many(hipq::pg::Arguments(fcinfo)));
}

HIPQ_FUNCTION(hipq_release)
{
    hipq::external::release(hipq::pg::Arguments(fcinfo));
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq_release_many)
{
    return hipq::pg::return_ids(hipq::external::release_many(hipq::pg::Arguments(fcinfo)));
}
