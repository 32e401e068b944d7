// Takes jobs from the lane into the prefetched batch: a process reads a lane and reserves the jobs
// that it will claim.
#pragma once

#include "claim/claim.hpp"
#include <functional>

#include "catalog/cache.hpp"
#include "core/lanes/lane.hpp"
#include "job/claimed_job.hpp"
#include "shared/lanes/lane_table.hpp"

namespace hipq::claim {

// A job whose throttle key is full is looked at again when there is capacity, and in any case after
// this time.
inline constexpr std::int64_t longest_wait_for_capacity = core::longest_hold;  // us

}  // namespace hipq::claim
