// Which node has which slot.
#pragma once

#include "pg/spi.hpp"

namespace hipq::shards {

// Takes over a map of the router, {"generation": ..., "nodes": [...], "moves": [...]}, if it is
// newer than the one here, and begins the moves that it tells of.
void take_map(const std::string &instance, pg::RawValue body);

// Waits for whoever moves slots, and keeps others from it until the transaction ends. It is in
// nobody's way who enqueues. A move tells all processes to forget the old map before its lock goes:
// afterwards its map is seen, and they have been told. Needs as_hipq.
void wait_for_moves();

}  // namespace hipq::shards
