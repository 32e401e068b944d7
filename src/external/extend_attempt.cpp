// hipq.extend(id, attempt, more): gives an external worker more time, counted from now, in the
// caller's transaction. hipq.extend_job(id, more) is for jobs that executors run.
#include "catalog/cache.hpp"
#include "catalog/checks.hpp"
#include "external/attempt_rows.hpp"
#include "external/held_attempt.hpp"
#include "job/claimed_job.hpp"
#include "pg/clock.hpp"

namespace hipq::external {

namespace {

constexpr std::int64_t century = std::int64_t{36'525} * USECS_PER_DAY;

// max_timeout counts from the acceptance.
void require_time_left(const HeldAttempt &attempt, pg::Time deadline)
{
    const std::int64_t most = attempt.queue->caps.max_timeout;
    if (deadline > attempt.job.started + most * USECS_PER_SEC)
        catalog::raise_too_long(most);
}

pg::Time extend(const HeldAttempt &attempt, std::int64_t more)
{
    const pg::Time now = pg::now();
    const pg::Time before = job::deadline_of(attempt.job);
    if (now + more <= before)
        return before;
    const pg::Time deadline = std::min(now + more, now + century);
    require_time_left(attempt, deadline);
    set_deadline(*attempt.queue, attempt.job, deadline, now);
    return deadline;
}

pg::Time extend(const pg::Arguments &arguments)
{
    const AttemptName name{arguments.integer64({0, "id"}), arguments.integer({1, "attempt"})};
    const std::int64_t more = catalog::check_more(arguments.duration({2, "more"})) * USECS_PER_SEC;
    const auto catalogue = catalog::catalogue();
    return extend(hold_attempt(*catalogue, name), more);
}

std::vector<std::int64_t> extend_many(const pg::Arguments &arguments)
{
    const std::vector<AttemptName> names = attempt_names(arguments);
    const std::int64_t more = catalog::check_more(arguments.duration({2, "more"})) * USECS_PER_SEC;
    const auto catalogue = catalog::catalogue();
    std::vector<std::int64_t> ids;
    for (const HeldAttempt &attempt : hold_attempts(*catalogue, names)) {
        extend(attempt, more);
        ids.push_back(attempt.job.id);
    }
    return ids;
}

}  // namespace

}  // namespace hipq::external

HIPQ_FUNCTION(hipq_extend_attempt)
{
    return TimestampTzGetDatum(hipq::external::extend(hipq::pg::Arguments(fcinfo)).value);
}

HIPQ_FUNCTION(hipq_extend_many)
{
    return hipq::pg::return_ids(hipq::external::extend_many(hipq::pg::Arguments(fcinfo)));
}
