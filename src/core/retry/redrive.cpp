// Spreads redriven jobs: the first runs at once, the others follow one by one.
#include "core/retry/redrive.hpp"

#include <cmath>

#include "core/time.hpp"

namespace hipq::core {

namespace {

constexpr double least_rate = 1.0 / 86'400;
constexpr double most_rate = 1e6;

}  // namespace

// Written so that NaN fails.
std::optional<Problem> check_redrive_rate(double rate)
{
    if (rate >= least_rate && rate <= most_rate)
        return std::nullopt;
    return Problem{Problem::Kind::invalid_value, "rate is out of range",
                   "Give a number of jobs per second from one in a day (1 / 86400.0) to 1000000."};
}

std::int64_t redrive_delay(std::int64_t place, std::optional<double> rate)
{
    if (!rate.has_value())
        return 0;
    return std::llround(static_cast<double>(place) * microseconds_per_second / *rate);
}

}  // namespace hipq::core
