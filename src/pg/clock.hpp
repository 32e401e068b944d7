// The current time for hipq.
#pragma once

#include "pg/spi.hpp"

namespace hipq::pg {

// clock_timestamp() plus hipq.clock_offset.
Time now();

// Microseconds of a clock that is never set back, plus hipq.clock_offset. Needs no memory and
// raises nothing.
std::int64_t steady_now() noexcept;

// A time in readable form: date and time to the second, with the offset of the session's time zone,
// "2026-11-22 18:00:00+01".
std::string clock_text(Time time);

}  // namespace hipq::pg
