// What keeps this node from taking what another one sends.
#pragma once

#include "shards/receive.hpp"

namespace hipq::shards {

// The transaction that brings the letter ends by that error, and is tried again: alerts tell of it,
// and a shard tells its router.
void note_trouble(const Letter &letter, const pg::Error &error);

// The letter has taken effect: when this commits there is no trouble any more.
void note_success(const Letter &letter);

}  // namespace hipq::shards
