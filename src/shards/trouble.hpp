// What keeps this node from taking what another one sends.
#pragma once

#include "shards/receive.hpp"

namespace hipq::shards {

// Call when the transaction that brings the letter ends with that error and will be tried again.
// Alerts show it, and a shard tells its router.
void note_trouble(const Letter &letter, const pg::Error &error);

// Call when the letter has taken effect: when this commits, the trouble is over.
void note_success(const Letter &letter);

}  // namespace hipq::shards
