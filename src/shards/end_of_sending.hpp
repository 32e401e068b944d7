// The letter `last`, for moves in strict order: the router sends no more jobs of a slot to its
// former node.
#pragma once

#include "catalog/cache.hpp"
#include "shards/shards.hpp"

namespace hipq::shards {

// On a shard: takes it, {"slots": [...]}.
void take_last(const std::string &instance, pg::RawValue body);

}  // namespace hipq::shards
