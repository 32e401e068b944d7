// The times of schedules that hipq tells itself, by the rules of core/schedules/schedule_times.hpp.
#pragma once

#include "admin/schedules/schedule_rows.hpp"
#include "core/schedules/schedule_times.hpp"
#include "pg/time_zone.hpp"

namespace hipq::admin {

// What a schedule's times depend on.
struct Timing {
    core::Cron cron;
    pg::TimeZone zone;
};
// Nothing: the server has no such time zone any more, or the expression cannot be read.
std::optional<Timing> timing_of(const Schedule &schedule);

// Returns the first run after that time, within what `starts` and `ends` allow.
std::optional<NextRun> next_after(const Schedule &schedule, const Timing &timing, pg::Time after);

// Returns the run that follows the present state: not one that has been before, unless the clock
// was set back by more than three hours since. Nothing: the schedule has ended.
std::optional<NextRun> next_from_now(const Schedule &schedule, const Timing &timing, pg::Time now);

}  // namespace hipq::admin
