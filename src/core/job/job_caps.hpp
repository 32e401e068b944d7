// Caps that the owner of a queue sets on what users may request for their jobs.
#pragma once

#include <limits>
#include <optional>

#include "core/job/validate.hpp"

namespace hipq::core {

struct JobCaps {
    std::int64_t max_timeout = std::numeric_limits<std::int32_t>::max();  // seconds
    std::int64_t highest_priority =
        std::numeric_limits<std::int16_t>::min();  // the lowest number, which is the most urgent
    bool allows_free_jobs = true;                  // jobs with throttle_factor 0
};

// Each returns nothing if the queue allows the value.
std::optional<Problem> check_timeout_cap(std::int64_t seconds, const JobCaps &caps);
std::optional<Problem> check_priority_cap(std::int64_t priority, const JobCaps &caps);
std::optional<Problem> check_factor_cap(double factor, const JobCaps &caps);

}  // namespace hipq::core
