// Job types that nobody has registered. A job of such a type waits in its queue, and the type is
// put into hipq.job_type without handler, so that it is seen. Each costs the whole database, so a
// queue may have so many of them and no more (hipq.max_unregistered_types).
#pragma once

#include "catalog/cache.hpp"

namespace hipq::catalog {

// 54000 for a new job of a type that nobody has registered, where its queue has as many of those as
// it may. A type of which jobs are waiting stays welcome.
//
// What others have not committed is not counted: each open transaction may bring the queue to its
// bound by itself.
void demand_capacity_for_type(const Queue &queue, std::string_view job_type);

// Puts a type into the catalogue.
void register_unknown_type(const Queue &queue, std::string_view job_type,
                           const std::string &time_zone);

// Takes types out of the catalogue that nobody has registered, nobody uses and nobody has paused,
// if they were put there before a time. Needs a transaction.
void forget_unused_types(const Queue &queue, pg::Time before);

}  // namespace hipq::catalog
