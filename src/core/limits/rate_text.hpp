// Rates as text: how many jobs of weight 1 may start in which period.
//
//    rate   := number '/' [count] unit
//    number := 1 to 999999, with up to three decimals
//    count  := a whole number; 1 if it is missing
//    unit   := s, sec, second, min, minute, h, hour, d, day; seconds, minutes, hours, days
//
// Blanks may stand between the parts; 'per' may stand for the stroke. The period is from 1 s to 31
// days.
//
// Examples: '100/min', '5/s', '1000 per day', '2.5/10 s'.
#pragma once

#include "core/limits/rate.hpp"
#include "core/limits/time_windows.hpp"

#include <optional>

namespace hipq::core {

// Parses; never throws. The mode is RateMode::exact.
std::variant<Rate, ParseProblem> parse_rate(std::string_view text);

// The canonical text: '100/min', '2.5/10 s'. parse_rate(canonical(rate)) == rate.
std::string canonical(const Rate &rate);

// 'exact' and 'smooth'.
std::optional<RateMode> parse_rate_mode(std::string_view text);
std::string_view name(RateMode mode);

}  // namespace hipq::core
