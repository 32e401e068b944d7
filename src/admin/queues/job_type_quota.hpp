// How many job types of a queue may be registered (hipq.max_job_types).
#pragma once

#include "catalog/catalog.hpp"

namespace hipq::admin {

// 54000 where the queue has more than it may, the caller's new one among them. Superusers are not
// held back.
//
// What others have not committed is not counted: each open transaction may bring the queue to its
// bound by itself.
void demand_job_type_quota(const catalog::Queue &queue);

}  // namespace hipq::admin
