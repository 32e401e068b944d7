// When time windows are open: an opening is a stretch of time in which jobs may start.
//
// Windows are read from a clock on the wall of their zone that is never seen to go back. Where the
// zone's clock is put back it stands still until the hour that comes twice is over; where it is put
// forward it jumps. So, for a window on a day:
//
// - It opens at the first moment at which the clock shows `from` or later, and closes at the first
// at which it shows `to` or
//   later. A window that ends when another begins leaves neither a gap nor an overlap, on no day.
// - A time that comes twice counts when it comes first: the window opens, or closes, then, and does
// not open a second time.
// - A time that is left out comes at the end of the gap.
// - A window of which the gap leaves nothing opens at the end of the gap, for as long as it is on
// other days.
//
// Each window thus opens once on each of its days, also on those when clocks are changed.
#pragma once

#include "core/limits/time_windows.hpp"
#include "core/time.hpp"

namespace hipq::core {

// What the clocks of a zone show. Times are microseconds since 2000-01-01 UTC.
class Zone {
public:
    struct Span {
        std::int64_t offset;  // local time less UTC, microseconds; less than a day
        std::int64_t end;     // when it may change next; `never`: it does not
    };
    virtual Span at(std::int64_t time) const = 0;

protected:
    ~Zone() = default;
};

struct Opening {
    std::int64_t from;   // the time asked for if they are open then, later if they are closed
    std::int64_t until;  // `never`: they are always open
    bool operator==(const Opening &) const = default;
};

// The opening in which `time` lies, or the next one. Windows that touch or overlap make one
// opening.
Opening next_opening(const TimeWindows &windows, const Zone &zone, std::int64_t time);

}  // namespace hipq::core
