// One look at shares, in a transaction of the scheduler: asks, gives back, and on the router looks
// after all.
#pragma once

#include "shards/permits/node_permits.hpp"

namespace hipq::shards {

struct Occasion {
    bool is_refresh;  // what was lost is asked again
    bool is_turn;     // on the router: another node comes first
};

// Whether a share is to be asked for, or given back.
bool is_due(const KnownShare &known, bool is_refresh);

void look_at_shares(Shares &shares, const Occasion &occasion);

}  // namespace hipq::shards
