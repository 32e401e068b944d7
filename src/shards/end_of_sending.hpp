// The letter `last`, for moves in strict order: the router sends no more jobs of a slot to its
// former node.
#pragma once

#include "catalog/catalog.hpp"

namespace hipq::shards {

// On the router: sends it when all transactions that may know the previous map have ended. Returns
// when to look again; infinity: no shard is to get one. A duty of the scheduler; call with no
// transaction open.
pg::Time send_last(const catalog::Catalogue &catalogue);

// On a shard: takes it, {"slots": [...]}.
void take_last(const std::string &instance, pg::RawValue body);

}  // namespace hipq::shards
