// Slots that have come to this node, and the jobs that are held until their keys are free where the
// slots were.
#pragma once

#include "catalog/catalog.hpp"

namespace hipq::shards {

// Takes "returned" to its end, {"slots": [{"slot": ..., "busy": [[queue, type, key], ...]}]}: all
// jobs that waited have been sent, and those with these keys still run where the slot was. The
// router passes it on to whose slots they are. Lets in what is held for other keys.
void take_returned(const std::string &instance, int sender, pg::RawValue body);

// Lets in jobs that are held though their keys are free: whoever held them committed after
// "returned" came. A duty of the scheduler; no transaction open.
void look_at_held(const catalog::Catalogue &catalogue);

}  // namespace hipq::shards
