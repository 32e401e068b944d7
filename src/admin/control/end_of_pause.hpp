// What follows the end of a pause, by hipq.resume() or by the scheduler.
#pragma once

#include "catalog/cache.hpp"

namespace hipq::admin {

// Notes that the current transaction ends a pause that concerned jobs of these queues, and if
// `is_of_key` of one queue's throttle keys only: at its commit processes look for their jobs.
void note_end_of_pause(std::span<const catalog::Queue *const> queues, bool is_of_key);

// Returns the queues of an instance.
std::vector<const catalog::Queue *> queues_of_instance(const catalog::Catalogue &catalogue,
                                                       int instance_id);

}  // namespace hipq::admin
