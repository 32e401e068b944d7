// Slots that have come to this node, and jobs that are held until their keys are free at the
// previous node, or in strict order until nothing of the slot is left there.
#pragma once

#include "catalog/catalog.hpp"

namespace hipq::shards {

// Handles "returned", {"slots": [{"slot": ..., "busy": [[queue, type, key], ...]}]}: all waiting
// jobs have been sent, and jobs with these keys still run at the slot's previous node. For a queue
// in strict order there is {"queue": ..., "awaits": ...} instead, while jobs of it are there or may
// come. The router passes it on to the nodes that have the slots. Lets in jobs that are held for
// other keys and queues.
void take_returned(const std::string &instance, int sender, pg::RawValue body);

// Lets in jobs that are held although their keys are free: the transactions that held them
// committed after "returned" came. Returns when to look again at the latest. A duty of the
// scheduler; call with no transaction open.
pg::Time look_at_held(const catalog::Catalogue &catalogue);

}  // namespace hipq::shards
