// Time windows: when jobs may start. This file has their syntax and canonical form; openings.hpp
// computes when they are open.
//
//    windows := 'NONE' | window (',' window)*
//    window  := [days] [from '-' to]          at least one of the two
//    days    := day ['-' day] ( ' ' day ['-' day] )*
//    day     := mon tue wed thu fri sat sun, in any case; 'fri-mon' wraps
//    from,to := hh:mm or h:mm, 00:00 to 24:00 (24:00 for 'to' only)
//
// from = to is refused; from > to crosses midnight; 00:00 as 'to' is read as 24:00. Blanks may
// stand between all parts, and NONE is accepted in any case. Days without times before days with
// times are refused, because it would be unclear whether 'mon, wed 10:00-11:00' is open all Monday.
//
// Examples: '22:00-06:00', 'mon-fri 09:00-17:00', 'sat sun',
// 'mon-fri 09:00-12:00, mon-fri 13:00-17:00'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace hipq::core {

struct TimeWindow {
    std::uint8_t days;  // bit 0 = Monday ... bit 6 = Sunday; 0x7f = every day
    std::int16_t from;  // minutes from midnight, 0 .. 1439
    std::int16_t to;    // minutes from midnight, 1 .. 1440; less than `from` means the next day
    bool operator==(const TimeWindow &) const = default;
};
using TimeWindows = std::vector<TimeWindow>;  // empty = always

struct ParseProblem {
    std::size_t position;  // 1-based byte position in the text
    std::string message;   // lower case, no period: "expected a time such as 09:00"
};

// Parses; never throws. At most 32 windows.
std::variant<TimeWindows, ParseProblem> parse_time_windows(std::string_view text);

// The canonical text: 'NONE' for always, else windows in the order given, joined by ", ". Days are
// the shortest list of ranges in week order ("mon-fri", "mon wed", "fri-mon" across the weekend,
// omitted for every day). Times are hh:mm-hh:mm, omitted for 00:00-24:00 unless the days are
// omitted too, or days with times follow. parse(canonical(w)) == w, canonical(parse(canonical(w)))
// == canonical(w).
std::string canonical(const TimeWindows &windows);

}  // namespace hipq::core
