// Limits the number of registered job types of a queue (hipq.max_job_types).
#pragma once

#include "catalog/cache.hpp"

namespace hipq::admin {

// Raises 54000 if the queue has more types than it may, including the caller's new one. Does not
// apply to superusers.
//
// Types that other transactions have not committed are not counted, so each open transaction may
// bring the queue to its limit by itself.
void demand_job_type_quota(const catalog::Queue &queue);

}  // namespace hipq::admin
