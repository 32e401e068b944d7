// hipq.extend(id, attempt, more): an external worker needs more time. In its transaction; hipq.extend(id, more) is for what
// executors run.
#include "api/checks.hpp"
#include "api/held_attempt.hpp"
#include "pg/clock.hpp"

namespace hipq::api {

namespace {

constexpr std::int64_t century = std::int64_t{36'525} * USECS_PER_DAY;

// It is to be accepted first: until then its deadline is that of the acceptance.
void require_accepted(const HeldAttempt &attempt)
{
    if (!storage::is_accepted(attempt.job))
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("job %lld has not been accepted", static_cast<long long>(attempt.job.id)),
                   errhint("Accept it with hipq.claim(), then ask for more time."));
}

// Counted from its acceptance.
void require_time_left(const HeldAttempt &attempt, std::int64_t more)
{
    const std::int64_t most = attempt.queue->caps.max_timeout;
    if (storage::deadline_of(attempt.job) + more > attempt.job.started + most * USECS_PER_SEC)
        raise_too_long(most);
}

pg::Time extend(const HeldAttempt &attempt, std::int64_t more)
{
    require_time_left(attempt, more);
    const pg::Time now = pg::now();
    const pg::Time deadline = std::min(storage::deadline_of(attempt.job) + more, now + century);
    storage::set_deadline(*attempt.queue, attempt.job, deadline, now);
    return deadline;
}

pg::Time extend(const Arguments &arguments)
{
    const AttemptName name{arguments.integer64(0, "id"), arguments.integer(1, "attempt")};
    const std::int64_t more = check_more(arguments.interval(2, "more")) * USECS_PER_SEC;
    const auto catalogue = storage::catalogue();
    const HeldAttempt attempt = hold_attempt(*catalogue, name);
    require_accepted(attempt);
    return extend(attempt, more);
}

std::vector<std::int64_t> extend_many(const Arguments &arguments)
{
    const std::vector<AttemptName> names = attempt_names(arguments, 0, 1);
    const std::int64_t more = check_more(arguments.interval(2, "more")) * USECS_PER_SEC;
    const auto catalogue = storage::catalogue();
    const std::vector<HeldAttempt> attempts = hold_attempts(*catalogue, names);
    std::for_each(attempts.begin(), attempts.end(), require_accepted);
    std::vector<std::int64_t> ids;
    for (const HeldAttempt &attempt : attempts) {
        extend(attempt, more);
        ids.push_back(attempt.job.id);
    }
    return ids;
}

}  // namespace

}  // namespace hipq::api

HIPQ_FUNCTION(hipq_extend_attempt)
{
    return TimestampTzGetDatum(hipq::api::extend(hipq::api::Arguments(fcinfo)).value);
}

HIPQ_FUNCTION(hipq_extend_many)
{
    return hipq::api::return_ids(hipq::api::extend_many(hipq::api::Arguments(fcinfo)));
}
