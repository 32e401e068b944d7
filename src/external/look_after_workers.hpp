// The scheduler's part in external workers.
#pragma once

#include "pg/spi.hpp"

namespace hipq::external {

// Knows them again after a restart; nothing when they are known.
void recall_workers();

// Forgets those that are gone and have nothing in flight: a while after their session has ended, or
// when they have been silent for a day. Returns when to look again.
pg::Time forget_workers(pg::Time now);

}  // namespace hipq::external
