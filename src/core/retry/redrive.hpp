// How redriven jobs are spread over time.
#pragma once

#include "core/job/validate.hpp"

namespace hipq::core {

// Jobs per second: at least one a day, at most a million.
std::optional<Problem> check_redrive_rate(double rate);

// Returns the microseconds until the job at this position in its lane (from 0) is due, at that
// rate. Without a rate it is due now.
std::int64_t redrive_delay(std::int64_t place, std::optional<double> rate);

}  // namespace hipq::core
