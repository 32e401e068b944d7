// The options that queues have since 0.3.0: worker_wait_ttl and max_retries, the last arguments of
// create_queue and alter_queue, from position `first` on.
#pragma once

#include "admin/queues/resettable.hpp"

namespace hipq::admin {

// Returns all options that a queue can reset to a setting or to its instance's value: `others` and
// these.
std::vector<Resettable> with_later_options(std::span<const Resettable> others,
                                           const pg::Arguments &arguments, int first);

// Stores the arguments; NULL keeps the value, unless `to_reset` names the option. 22023 if a value
// is out of range.
void set_later_options(int queue_id, const pg::Arguments &arguments, int first,
                       const std::vector<std::string> &to_reset);

}  // namespace hipq::admin
