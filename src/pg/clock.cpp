// Returns the time for hipq: the server's clock plus hipq.clock_offset.
#include "pg/clock.hpp"

#include "settings.hpp"

#include <ctime>

namespace hipq::pg {

Time now()
{
    return Time{::GetCurrentTimestamp() + settings::clock_offset.microseconds()};
}

std::int64_t steady_now() noexcept
{
    timespec time{};
    (void)::clock_gettime(CLOCK_MONOTONIC, &time);
    constexpr std::int64_t nanoseconds = 1'000;  // in a microsecond
    return time.tv_sec * USECS_PER_SEC + time.tv_nsec / nanoseconds +
           settings::clock_offset.microseconds();
}

std::string clock_text(Time time)
{
    const bool is_finite = !TIMESTAMP_NOT_FINITE(time.value);
    const std::int64_t to_the_second =
        is_finite ? time.value - time.value % USECS_PER_SEC : time.value;
    return call([&] { return ::timestamptz_to_str(to_the_second); });
}

}  // namespace hipq::pg
