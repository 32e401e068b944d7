// Cron expressions, as pg_cron reads them, and their next run.
//
//   expression := [second] minute hour day-of-month month day-of-week
//                | n ' seconds'                  n from 1 to 59
//                | '@hourly' | '@daily' | '@midnight' | '@weekly' | '@monthly' | '@yearly' |
//                '@annually'
//   field      := part (',' part)*
//   part       := '*' ['/' step] | value ['-' value ['/' step]]
//   value      := a number, or a name of three letters: jan ... dec, sun ... sat; Sunday is 0 and 7
//
// As the day of the month, a single '$' stands for the last day. If one of the two day fields
// starts with '*', a day must match both fields, else either. pg_cron knows no field of seconds.
#pragma once

#include "core/limits/openings.hpp"

#include <optional>

namespace hipq::core {

struct Cron {
    int seconds = 0;  // between two runs; 0: the fields below decide
    // Bit n stands for value n.
    std::uint64_t second_values = 1;
    std::uint64_t minutes = 0;
    std::uint64_t hours = 0;
    std::uint64_t days_of_month = 0;
    std::uint64_t months = 0;
    std::uint64_t days_of_week = 0;  // 0 to 6, Sunday first
    bool on_last_day_of_month = false;
    bool needs_both_days = false;  // a day must match the day of the month and the day of the week
    bool has_second_field = false;
    bool has_fixed_times = true;  // no field of the time of the day starts with '*'
    bool operator==(const Cron &) const = default;
};

// Parses; never throws. Stricter than pg_cron about input that makes no sense: ranges that run
// backwards, text after a field or after the last one, and @reboot, which has no time.
std::variant<Cron, ParseProblem> parse_cron(std::string_view text);

// Returns the five fields that a macro stands for; any other text unchanged.
std::string_view without_macro(std::string_view text);

// Returns the first local time at or after `local` that matches, on a clock that is never changed.
// Nothing: there is none within a lifetime, as for 30 February.
std::optional<std::int64_t> next_local_run(const Cron &cron, std::int64_t local);

// No search goes further than this many days: 29 February on a given weekday recurs after 40 years
// at most.
inline constexpr int most_days = 41 * 366;

// Returns the first run after that time by pg_cron's rules: when the clocks go forward, runs at
// skipped times do not happen; when they go back, runs at repeated times happen twice.
std::optional<std::int64_t> next_run(const Cron &cron, const Zone &zone, std::int64_t after);

}  // namespace hipq::core
