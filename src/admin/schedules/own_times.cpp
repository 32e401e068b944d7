// Finds the next run of a schedule that hipq tells.
#include "admin/schedules/own_times.hpp"

#include "core/schedules/cron.hpp"

namespace hipq::admin {

namespace {

// cron(8): a clock that is changed by more has been corrected.
constexpr std::int64_t longest_set_back = 3 * USECS_PER_HOUR;

}  // namespace

std::optional<Timing> timing_of(const Schedule &schedule)
{
    const auto parsed = core::parse_cron(schedule.cron);
    const auto *cron = std::get_if<core::Cron>(&parsed);
    const auto zone = pg::TimeZone::find(schedule.time_zone);
    if (cron == nullptr || !zone.has_value())
        return std::nullopt;
    return Timing{*cron, *zone};
}

std::optional<NextRun> next_after(const Schedule &schedule, const Timing &timing, pg::Time after)
{
    if (schedule.starts.has_value())
        after = std::max(after, *schedule.starts + -1);
    const auto time = core::next_own_run(timing.cron, timing.zone, after.value);
    if (!time.has_value() || (schedule.ends.has_value() && *time > schedule.ends->value))
        return std::nullopt;
    if (schedule.jitter <= 0)
        return NextRun{pg::Time{*time}, pg::Time{*time}};
    const std::int64_t following =
        core::next_own_run(timing.cron, timing.zone, *time).value_or(core::never);
    return NextRun{pg::Time{*time}, pg::Time{*time} + core::jitter_of(schedule.id, *time, following,
                                                                      schedule.jitter)};
}

std::optional<NextRun> next_from_now(const Schedule &schedule, const Timing &timing, pg::Time now)
{
    const bool has_run_just_now = schedule.last_time.has_value() && *schedule.last_time > now &&
                                  *schedule.last_time <= now + longest_set_back;
    return next_after(schedule, timing, has_run_just_now ? *schedule.last_time : now);
}

}  // namespace hipq::admin
