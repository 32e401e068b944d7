// Signs of life (core/shards/signs.hpp): a duty of the scheduler sends them, and receivers judge by
// them.
#pragma once

#include "catalog/cache.hpp"
#include "shards/receive.hpp"
#include "shards/shards.hpp"

namespace hipq::shards {

// The last numbers that this server has given, for all its instances.
struct Numbers {
    std::int64_t job;
    std::int64_t letter;
    bool operator==(const Numbers &) const = default;
};
Numbers last_numbers();  // call as hipq

// Handles a sign that has arrived. If it shows that this node has forgotten its last work, the node
// is out of step from the commit on. In a letter that comes again it shows nothing.
void take_sign(const Letter &letter);

// Call when a node comes into step: no node, here or there, may judge it by the signs that this one
// has sent so far. Call as hipq.
void forget_signs(int instance_id, int node);

}  // namespace hipq::shards
