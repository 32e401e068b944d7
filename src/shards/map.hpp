// Which node has which slot.
#pragma once

#include "pg/spi.hpp"

namespace hipq::shards {

// Takes over a map of the router, {"generation": ..., "nodes": [...], "moves": [...]}, if it is
// newer than the one here, and begins its moves.
void take_map(const std::string &instance, pg::RawValue body);

// Waits until no transaction moves slots, and lets none begin until this transaction ends. Sessions
// that enqueue do not wait. A move tells all processes to forget the old map before it releases its
// lock, so the new map is visible afterwards. Needs as_hipq.
void wait_for_moves();

}  // namespace hipq::shards
