// Slots that have left this node: a duty of the scheduler.
#pragma once

#include "catalog/catalog.hpp"

namespace hipq::shards {

// Sends what waits in them to the nodes that have them now, and tells these of the keys that still
// run here. Returns when there is something to do next; infinity: no slot is leaving. No
// transaction open.
pg::Time return_jobs(const catalog::Catalogue &catalogue);

}  // namespace hipq::shards
