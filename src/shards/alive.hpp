// Signs of life (core/shards/signs.hpp): a duty of the scheduler, and what they tell.
#pragma once

#include "catalog/catalog.hpp"
#include "shards/receive.hpp"

namespace hipq::shards {

// The last that this server has given, of all its instances.
struct Numbers {
    std::int64_t job;
    std::int64_t letter;
    bool operator==(const Numbers &) const = default;
};
Numbers last_numbers();  // as hipq

// Sends one to each node that this one sends to, when there is a reason. Whoever has had the oldest
// letter that is kept lacks none that is not kept any more; without these a node that was sent
// nothing for hipq.outbox_keep could not say so. Returns when the next is due; infinity: this
// server is no node. No transaction open.
pg::Time show_life(const catalog::Catalogue &catalogue);

// One has come. If it tells that this node has forgotten the last it did, the node is out of step
// from the commit on. In a letter that comes again it tells nothing.
void take_sign(const Letter &letter);

// A node comes into step: nobody is to judge it, here or there, by what this one has sent it so
// far. As hipq.
void forget_signs(int instance_id, int node);

}  // namespace hipq::shards
