// Slots that have left this node: a duty of the scheduler.
#pragma once

#include "catalog/catalog.hpp"

namespace hipq::shards {

// Sends their waiting jobs to the nodes that have the slots now, and tells these which keys still
// run here. Returns when to call it again; infinity: no slot is leaving. Call with no transaction
// open.
pg::Time return_jobs(const catalog::Catalogue &catalogue);

}  // namespace hipq::shards
