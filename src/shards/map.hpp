// Which node has which slot.
#pragma once

#include "pg/spi.hpp"

namespace hipq::shards {

// Takes over a map of the router, {"generation": ..., "nodes": [...], "moves": [...]}, if it is
// newer than the one here, and begins the moves that it tells of.
void take_map(const std::string &instance, pg::RawValue body);

}  // namespace hipq::shards
