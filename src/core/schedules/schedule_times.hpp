// When schedules run that hipq itself tells, by the rules of cronie.
//
// A cron expression whose second, minute or hour field starts with '*' runs by elapsed time: at
// each moment that matches by the clock of its zone. So '0 * * * *' runs 23 times on the day on
// which clocks go forward and 25 times when they go back. Any other one has fixed times of the day,
// and runs once at each of them: a time that the clock skips is the end of the gap, and a time that
// it shows twice is the first one. Runs that fall together are one run. A clock that is changed by
// more than three hours has been corrected, as where a zone crosses the date line: skipped times
// are left out, and repeated ones are repeated.
//
// An expression in seconds runs at the multiples of that many seconds since 2000-01-01 UTC.
#pragma once

#include "core/schedules/cron.hpp"

#include <vector>

namespace hipq::core {

// Returns the first run after that time. Nothing: there is none within a lifetime.
std::optional<std::int64_t> next_own_run(const Cron &cron, const Zone &zone, std::int64_t after);

// Returns the last `most` runs after `after` up to `until`, in their order.
std::vector<std::int64_t> last_own_runs(const Cron &cron, const Zone &zone, std::int64_t after,
                                        std::int64_t until, std::size_t most);

// How much later than its time a run starts, the same at each call: less than the jitter, and
// before the run that follows it (`never`: none does). All are microseconds, the jitter may be 0.
std::int64_t jitter_of(int schedule_id, std::int64_t run, std::int64_t next_run,
                       std::int64_t jitter);

// What becomes of runs whose time has passed.
enum class Missed : unsigned char { once, skip, all };
std::optional<Missed> parse_missed(std::string_view text);
std::string_view name(Missed missed);

// What a run does if a job with its key has not finished: nothing; enqueue one job that starts when
// it has, unless there is such a job; enqueue, because its jobs have no key.
enum class Overlap : unsigned char { skip, after, allow };
std::optional<Overlap> parse_overlap(std::string_view text);
std::string_view name(Overlap overlap);

// A run that starts so much later than its time, or less, is on time.
inline constexpr std::int64_t longest_delay = microseconds_per_minute;

// With `all`: the newest of the missed runs.
inline constexpr std::size_t most_missed_runs = 1'000;

struct Plan {
    std::vector<std::int64_t> runs;  // to start now, in their order
    std::int64_t last_due;           // the last run that is due, started or not
    bool has_too_many;               // some are left out: there are more than most_missed_runs
};

// Decides about the runs that are due: `first` is the first one, which is due at `now`; none is
// after `ends`. Runs that are older than `within` are not made up for.
struct DueRuns {
    const Cron &cron;
    const Zone &zone;
    int schedule_id;
    std::int64_t jitter;
    std::int64_t first;
    std::int64_t ends = never;
};
Plan plan_runs(const DueRuns &due, Missed missed, std::int64_t within, std::int64_t now);

}  // namespace hipq::core
