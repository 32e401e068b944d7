// The lanes of a queue and where each begins, as the index has them.
#pragma once

#include "catalog/catalog.hpp"
#include "core/lanes/lane.hpp"

namespace hipq::claim {

struct LaneStart {
    std::string job_type;
    int priority;
    pg::Time first;  // no job of the lane is due before
};

// The first place of each lane, whatever is there: a job that waits, or a row that runs or is gone.
// Reads the index alone, a lane in some 10 us. Nothing: the live leaf has no such index, or
// somebody has locked it. Raises the error of a table whose file cannot be opened. Needs a
// transaction.
std::optional<std::vector<LaneStart>> lane_starts(const catalog::Queue &queue);

}  // namespace hipq::claim
