// What a queue says of its jobs since 0.3.0: worker_wait_ttl and max_retries, the last arguments of
// create_queue and alter_queue, from the position that each of them names.
#pragma once

#include "admin/queues/resettable.hpp"

namespace hipq::admin {

// What a queue can go back to a setting with, or to its instance: `others`, and these.
std::vector<Resettable> with_later_options(std::span<const Resettable> others,
                                           const pg::Arguments &arguments, int first);

// Gives the queue what the arguments say; NULL leaves it, unless `to_reset` names it. 22023 for
// what is out of range.
void set_later_options(int queue_id, const pg::Arguments &arguments, int first,
                       const std::vector<std::string> &to_reset);

}  // namespace hipq::admin
