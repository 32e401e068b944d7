// Reads and checks when a schedule runs.
#include "admin/schedules/timing_arguments.hpp"

#include "catalog/checks.hpp"
#include "core/job/validate.hpp"
#include "core/schedules/cron.hpp"
#include "pg/time_zone.hpp"

namespace hipq::admin {

namespace {

[[noreturn]] void refuse_cron(const std::string &text, const core::ParseProblem &problem)
{
    HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
               errmsg("invalid cron expression \"%s\"", text.c_str()),
               errdetail("At position %zu: %s.", problem.position, problem.message.c_str()),
               errhint("Write minute, hour, day of month, month and day of week, such as '0 3 * * "
                       "mon-fri', with a second before them if needed; or '@hourly', '@daily', "
                       "'@weekly', '@monthly', '@yearly'; or '30 seconds'."));
}

// Returns the zone's name as PostgreSQL writes it.
std::string read_zone(const std::string &name)
{
    const auto zone = pg::TimeZone::find(name);
    if (!zone.has_value() || !zone->is_listed())
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("time zone \"%s\" does not exist", name.c_str()),
                   errhint("View pg_timezone_names lists the zones."));
    return zone->name();
}

// Arguments that 0.2.0 does not have.
pg::Argument later(const char *name)
{
    return pg::Argument::later(name);
}

constexpr std::array arguments_of_own{"time_zone", "missed", "missed_within", "jitter",
                                      "overlap",   "starts", "ends"};

[[noreturn]] void refuse_choice(const char *argument, const std::string &given, const char *choices)
{
    HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
               errmsg("invalid %s \"%s\"", argument, given.c_str()),
               errhint("It is one of %s.", choices));
}

bool is_told_by_hipq(const pg::Arguments &arguments)
{
    const std::string by = arguments.maybe_text(later("by")).value_or("hipq");
    if (by != "hipq" && by != "pg_cron")
        refuse_choice("by", by, "hipq and pg_cron");
    return by == "hipq";
}

// pg_cron has one clock for all, and none of the rest.
void demand_cron_only(const pg::Arguments &arguments, const core::Cron &cron)
{
    for (const char *name : arguments_of_own)
        if (arguments.has(later(name)))
            HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                       errmsg("%s is not for schedules that pg_cron tells", name),
                       errhint("Leave it out, or by => 'pg_cron'."));
    if (cron.has_second_field)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("pg_cron knows no field of seconds"),
                   errhint("Write '30 seconds', or leave out by => 'pg_cron'."));
}

core::Missed missed_of(const pg::Arguments &arguments)
{
    const std::string given = arguments.maybe_text(later("missed")).value_or("once");
    const auto missed = core::parse_missed(given);
    if (!missed.has_value())
        refuse_choice("missed", given, "once, skip and all");
    return *missed;
}

// A job without key overlaps, and only such a job does.
core::Overlap overlap_of(const pg::Arguments &arguments)
{
    const auto key = arguments.maybe_text("job_key");
    const bool has_no_key = key == core::none_text;
    const auto given = arguments.maybe_text(later("overlap"));
    const auto overlap = core::parse_overlap(given.value_or(has_no_key ? "allow" : "skip"));
    if (!overlap.has_value())
        refuse_choice("overlap", *given, "skip, after and allow");
    if ((*overlap == core::Overlap::allow) != has_no_key && key.has_value())
        HIPQ_RAISE(
            errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("overlap \"%s\" does not fit job_key \"%s\"", given->c_str(), key->c_str()),
            errdetail("Jobs overlap if they have no key, and only then."),
            errhint("Leave out one of the two."));
    return *overlap;
}

std::optional<pg::Time> point_of(const pg::Arguments &arguments, const char *name)
{
    const auto time = arguments.maybe_time(later(name));
    if (time.has_value())
        enqueue::demand_point_in_time(name, *time);
    return time;
}

std::int64_t delay_of(const pg::Arguments &arguments, const char *name, std::int64_t fallback)
{
    const auto given = arguments.maybe_duration(later(name));
    return given.has_value() ? catalog::check_delay(name, *given) : fallback;
}

void read_own_timing(const pg::Arguments &arguments, Schedule &schedule)
{
    schedule.time_zone = read_zone(arguments.maybe_text(later("time_zone")).value_or("UTC"));
    schedule.missed = missed_of(arguments);
    schedule.missed_within = delay_of(arguments, "missed_within", USECS_PER_DAY);
    schedule.jitter = delay_of(arguments, "jitter", 0);
    schedule.overlap = overlap_of(arguments);
    schedule.starts = point_of(arguments, "starts");
    schedule.ends = point_of(arguments, "ends");
    if (schedule.overlap == core::Overlap::allow)
        schedule.job_key = core::none_text;
}

}  // namespace

void read_timing(const pg::Arguments &arguments, Schedule &schedule)
{
    const auto parsed = core::parse_cron(schedule.cron);
    if (const auto *problem = std::get_if<core::ParseProblem>(&parsed))
        refuse_cron(schedule.cron, *problem);
    schedule.is_own = is_told_by_hipq(arguments);
    if (schedule.is_own)
        read_own_timing(arguments, schedule);
    else
        demand_cron_only(arguments, std::get<core::Cron>(parsed));
}

}  // namespace hipq::admin
