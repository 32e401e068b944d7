// How long jobs of a queue wait while no external worker can be given them: the last argument of
// create_queue and alter_queue, at the position that each of them names.
#pragma once

#include "queues/resettable.hpp"

namespace hipq::queues {

// What a queue can go back to a setting with: `others`, and this one.
std::vector<Resettable> with_worker_wait(std::span<const Resettable> others,
                                         const pg::Arguments &arguments, int position);

// Gives the queue what the arguments say; NULL leaves it, unless `to_reset` names it.
void set_worker_wait(int queue_id, const pg::Arguments &arguments, int position,
                     const std::vector<std::string> &to_reset);

}  // namespace hipq::queues
