// Cron expressions, as pg_cron reads them, and when they come next.
//
//   expression := minute hour day-of-month month day-of-week
//               | n ' seconds'                  n from 1 to 59
//               | '@hourly' | '@daily' | '@midnight' | '@weekly' | '@monthly' | '@yearly' |
//               '@annually'
//   field      := part (',' part)*
//   part       := '*' ['/' step] | value ['-' value ['/' step]]
//   value      := a number, or a name of three letters: jan ... dec, sun ... sat; Sunday is 0 and 7
//
// In the place of a day of the month '$' alone stands for the last one.
// A day has to be in both of its fields if one of these starts with '*', else in either. A clock
// that goes over a time leaves it out, one that goes back comes to it twice; so does pg_cron.
#pragma once

#include "core/limits/openings.hpp"

#include <optional>

namespace hipq::core {

struct Cron {
    int seconds = 0;  // between two runs; 0: what follows says when
    // Bit n stands for value n.
    std::uint64_t minutes = 0;
    std::uint64_t hours = 0;
    std::uint64_t days_of_month = 0;
    std::uint64_t months = 0;
    std::uint64_t days_of_week = 0;  // 0 to 6, Sunday first
    bool on_last_day_of_month = false;
    bool needs_both_days = false;  // a day of the month and of the week
    bool operator==(const Cron &) const = default;
};

// Parses; never throws. Stricter than pg_cron in what makes no sense: ranges that run backwards,
// text after a field or the last one, @reboot, which has no time.
std::variant<Cron, ParseProblem> parse_cron(std::string_view text);

// The five fields that a macro stands for; any other text as it is.
std::string_view without_macro(std::string_view text);

// The first run after that time, by the clocks of the zone; nothing: there is none within a
// lifetime, as on 30 February.
std::optional<std::int64_t> next_run(const Cron &cron, const Zone &zone, std::int64_t after);

}  // namespace hipq::core
