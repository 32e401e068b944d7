// hipq.next_runs and schedule_time, and functions of the view.
#include "admin/schedules/cron_entries.hpp"
#include "admin/schedules/own_times.hpp"
#include "admin/schedules/schedule_functions.hpp"
#include "catalog/visible_queues.hpp"
#include "core/schedules/cron.hpp"
#include "job/current_job.hpp"
#include "pg/arguments.hpp"
#include "pg/clock.hpp"
#include "pg/time_zone.hpp"

namespace hipq::admin {

namespace {

constexpr std::int32_t most_runs = 1'000;

// An expression is a schedule without a name.
Schedule schedule_to_look_at(const pg::Arguments &arguments)
{
    const std::string text = arguments.text("schedule", core::most_cron);
    if (std::holds_alternative<core::ParseProblem>(core::parse_cron(text)))
        return require_schedule(*catalog::catalogue(), text, arguments.maybe_text("queue"));
    Schedule schedule{};
    schedule.cron = text;
    schedule.is_own = true;
    schedule.time_zone = "UTC";
    return schedule;
}

pg::TimeZone require_zone(const std::string &name)
{
    const auto zone = pg::TimeZone::find(name);
    if (!zone.has_value())
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("time zone \"%s\" does not exist", name.c_str()),
                   errhint("View pg_timezone_names lists the zones."));
    return *zone;
}

Timing require_timing(const pg::Arguments &arguments, const Schedule &schedule)
{
    const std::string own = schedule.is_own ? schedule.time_zone : cron_time_zone();
    const pg::TimeZone zone = require_zone(arguments.maybe_text("time_zone").value_or(own));
    return {std::get<core::Cron>(core::parse_cron(schedule.cron)), zone};
}

std::optional<pg::Time> time_after(const Schedule &schedule, const Timing &timing, pg::Time after)
{
    if (schedule.is_own) {
        const auto next = next_after(schedule, timing, after);
        return next.has_value() ? std::optional(next->time) : std::nullopt;
    }
    const auto next = core::next_run(timing.cron, timing.zone, after.value);
    return next.has_value() ? std::optional(pg::Time{*next}) : std::nullopt;
}

pg::RawValue local_time_of(pg::Time time, const pg::TimeZone &zone)
{
    return {TIMESTAMPOID, TimestampGetDatum(time.value + zone.at(time.value).offset), false};
}

void list_next_runs(FunctionCallInfo fcinfo)
{
    const pg::Arguments arguments(fcinfo);
    const std::int32_t count = arguments.integer("n");
    if (count < 0 || count > most_runs)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("n must be from 0 to %d", most_runs));
    const Schedule schedule = schedule_to_look_at(arguments);
    const Timing timing = require_timing(arguments, schedule);
    pg::Time after = arguments.maybe_time("from_time").value_or(pg::now());
    enqueue::demand_point_in_time("from_time", after);
    pg::ResultSet result(fcinfo);
    for (std::int32_t i = 0; i < count; ++i) {
        const auto next = time_after(schedule, timing, after);
        if (!next.has_value())
            return;
        result.add(*next, local_time_of(*next, timing.zone));
        after = *next;
    }
}

std::optional<pg::Time> current_schedule_time()
{
    const job::CurrentJob &job = job::require_current_job(
        {"Column schedule_time of hipq.jobs_detail has it for each job.",
         "a handler that takes several jobs cannot ask for the time of its schedule",
         "Each of its jobs has schedule_time."});
    return job.schedule_time;
}

}  // namespace

std::optional<pg::Time> next_cron_run(const core::Cron &cron, std::optional<pg::Time> last)
{
    const pg::Time now{::GetCurrentTimestamp()};  // pg_cron ignores hipq.clock_offset
    const auto zone = pg::TimeZone::find(cron_time_zone());
    if (!zone.has_value())
        return std::nullopt;
    const pg::Time from = cron.seconds > 0 ? last.value_or(now) : now;
    const auto next = core::next_run(cron, *zone, from.value);
    return next.has_value() ? std::optional(std::max(pg::Time{*next}, now)) : std::nullopt;
}

}  // namespace hipq::admin

HIPQ_FUNCTION(hipq_next_runs)
{
    hipq::admin::list_next_runs(fcinfo);
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq_schedule_time)
{
    const auto time = hipq::admin::current_schedule_time();
    if (!time.has_value())
        PG_RETURN_NULL();
    return TimestampTzGetDatum(time->value);
}

HIPQ_FUNCTION(hipq__next_run)
{
    const hipq::pg::Arguments arguments(fcinfo);
    const auto cron = hipq::core::parse_cron(arguments.text("cron", hipq::core::most_cron));
    const auto *readable = std::get_if<hipq::core::Cron>(&cron);
    const auto next =
        readable == nullptr
            ? std::nullopt
            : hipq::admin::next_cron_run(*readable, arguments.maybe_time("last_run_time"));
    if (!next.has_value())
        PG_RETURN_NULL();
    return TimestampTzGetDatum(next->value);
}

HIPQ_FUNCTION(hipq__has_cron_entry)
{
    const int id = hipq::pg::Arguments(fcinfo).integer("schedule_id");
    const auto schedule = hipq::admin::find_schedule(id, hipq::pg::now());
    const bool is_visible = schedule.has_value() &&
                            hipq::catalog::VisibleQueues().readable(schedule->queue_id) != nullptr;
    return hipq::pg::return_bool(is_visible && hipq::admin::has_entry(id) &&
                                 !hipq::admin::is_cron_stopped());
}
