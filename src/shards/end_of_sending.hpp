// The letter `last`, of moves in strict order: the router sends no more jobs of a slot to the node
// that had it.
#pragma once

#include "catalog/catalog.hpp"

namespace hipq::shards {

// On the router: sends it when all transactions have ended that may know the map from before.
// Returns when to look again; infinity: no shard is to get one. A duty of the scheduler; no
// transaction open.
pg::Time send_last(const catalog::Catalogue &catalogue);

// On a shard: takes it, {"slots": [...]}.
void take_last(const std::string &instance, pg::RawValue body);

}  // namespace hipq::shards
