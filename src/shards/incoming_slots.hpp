// Slots that have come to this node, and the jobs that are held until their keys are free where the
// slots were, or in strict order until nothing of the slots is left there.
#pragma once

#include "catalog/catalog.hpp"

namespace hipq::shards {

// Takes "returned" to its end, {"slots": [{"slot": ..., "busy": [[queue, type, key], ...]}]}: all
// jobs that waited have been sent, and those with these keys still run where the slot was. Of a
// queue in strict order there is {"queue": ..., "awaits": ...} instead, as long as jobs of it are
// there or may come. The router passes it on to whose slots they are. Lets in what is held for
// other keys and queues.
void take_returned(const std::string &instance, int sender, pg::RawValue body);

// Lets in jobs that are held though their keys are free: whoever held them committed after
// "returned" came. Returns when to look again, unless somebody says so. A duty of the scheduler; no
// transaction open.
pg::Time look_at_held(const catalog::Catalogue &catalogue);

}  // namespace hipq::shards
