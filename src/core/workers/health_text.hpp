// Words why an external worker is offered no jobs.
#pragma once

#include <string>

#include "core/workers/worker_health.hpp"

namespace hipq::core {

// For an unhealthy worker, to follow its name: "has failed 12 times in a row
// (hipq.unhealthy_failures is 10)".
std::string cause_text(const WorkerRecord &worker, const HealthLimits &limits, std::int64_t now);

}  // namespace hipq::core
