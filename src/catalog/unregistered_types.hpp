// Job types that are not registered. A job of such a type waits in its queue, and the type is added
// to hipq.job_type without a handler, so that users see it. Each costs the whole database, so
// hipq.max_unregistered_types limits how many a queue may have.
#pragma once

#include "catalog/cache.hpp"

namespace hipq::catalog {

// Raises 54000 for a new job of an unregistered type if its queue has as many of these types as it
// may have. A type that already has waiting jobs is always accepted.
//
// Types that other transactions have not committed are not counted, so each open transaction may
// fill the queue up to its limit on its own.
void demand_capacity_for_type(const Queue &queue, std::string_view job_type);

// Adds a type to hipq.job_type.
void register_unknown_type(const Queue &queue, std::string_view job_type,
                           const std::string &time_zone);

// Deletes the types of hipq.job_type that are not registered, not used and not paused, if they were
// added before the given time. Needs a transaction.
void forget_unused_types(const Queue &queue, pg::Time before);

}  // namespace hipq::catalog
