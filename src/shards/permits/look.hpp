// One look at shares, in a transaction of the scheduler: requests shares, gives them back, and on
// the router looks after all limits.
#pragma once

#include "shards/permits/node_permits.hpp"

namespace hipq::shards {

struct Occasion {
    bool is_refresh;  // ask again for what was lost
    bool is_turn;     // on the router: another node comes first
};

// Returns whether the node has to ask for more, or give something back.
bool is_due(const KnownShare &known, bool is_refresh);

void look_at_shares(Shares &shares, const Occasion &occasion);

}  // namespace hipq::shards
