// Slots that have come to this node, and jobs that are held until their keys are free at the
// previous node, or in strict order until nothing of the slot is left there.
#pragma once

#include "catalog/cache.hpp"
#include "shards/shards.hpp"

namespace hipq::shards {

// Handles "returned", {"slots": [{"slot": ..., "busy": [[queue, type, key], ...]}]}: all waiting
// jobs have been sent, and jobs with these keys still run at the slot's previous node. For a queue
// in strict order there is {"queue": ..., "awaits": ...} instead, while jobs of it are there or may
// come. The router passes it on to the nodes that have the slots. Lets in jobs that are held for
// other keys and queues.
void take_returned(const std::string &instance, int sender, pg::RawValue body);

}  // namespace hipq::shards
