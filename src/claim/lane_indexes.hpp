// The indexes of a live leaf by which lanes are read. Call these functions inside pg::call() only.
#pragma once

#include "job/job_row.hpp"

namespace hipq::claim {

// Opens the index made for lanes, which has the jobs of a live leaf that are not held. Null: the
// leaf has none.
Relation open_lane_index(Relation live, const job::ColumnMap &map);

// Opens the index of that name, which has the jobs with throttle keys among them, by key. Null: the
// leaf has none.
Relation open_throttle_index(Relation live, const char *name);

}  // namespace hipq::claim
