// When time windows are open. An opening is a span of time in which jobs may start.
//
// Windows follow the wall clock of their zone, with one exception: the clock never goes back. Where
// the zone's clock is set back, it stands still until the repeated hour is over; where the clock is
// set forward, it jumps. For a window on a given day this means:
//
// - The window opens at the first moment at which the clock shows `from` or later, and closes at
//   the first moment at which it shows `to` or later. A window that ends when another begins leaves
//   neither a gap nor an overlap, on any day.
// - A time that occurs twice counts at its first occurrence: the window opens or closes then, and
//   does not open a second time.
// - A time that is skipped counts at the end of the gap.
// - A window that lies wholly inside the gap opens at the end of the gap, for its usual length.
//
// So each window opens once on each of its days, also on days when the clocks change.
#pragma once

#include "core/limits/time_windows.hpp"
#include "core/time.hpp"

namespace hipq::core {

// What the clocks of a zone show. Times are microseconds since 2000-01-01 UTC.
class Zone {
public:
    struct Span {
        std::int64_t offset;  // local time minus UTC, microseconds; less than a day
        std::int64_t end;     // when the offset may change next; `never`: it does not change
    };
    virtual Span at(std::int64_t time) const = 0;

protected:
    ~Zone() = default;
};

struct Opening {
    std::int64_t from;   // the requested time if windows are open then, later if they are closed
    std::int64_t until;  // `never`: always open
    bool operator==(const Opening &) const = default;
};

// Returns the opening that contains `time`, or the next one. Windows that touch or overlap make one
// opening.
Opening next_opening(const TimeWindows &windows, const Zone &zone, std::int64_t time);

}  // namespace hipq::core
