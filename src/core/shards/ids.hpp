// Job ids in a sharded instance. Each contains its slot and the node where the job was created.
//
//     | 0 | 2^19 + sequence: 41 bits | node: 10 bits | slot: 12 bits |
//
// So a call by id finds its node without a look-up, even after the slot has moved, and no two nodes
// assign the same id. The ids of a node increase, so index entries are inserted at one end.
//
// Slot 0 and node 0 always belong to the router. A number below 2^41, as assigned by any instance
// without shards, is the id of a job of the router: all other ids are greater.
#pragma once

#include "core/shards/slots.hpp"

#include <cstdint>
#include <optional>

namespace hipq::core {

inline constexpr int node_bits = 10;
inline constexpr int sequence_bits = 41;
static_assert(slot_bits + node_bits + sequence_bits == 63);

inline constexpr int node_count = 1 << node_bits;  // including the router
inline constexpr int router_node = 0;
inline constexpr int router_slot = 0;  // never moves
inline constexpr int place_bits = slot_bits + node_bits;
inline constexpr std::int64_t first_id = std::int64_t{1} << 41;  // plain ids are smaller
inline constexpr std::int64_t sequence_offset = first_id >> place_bits;
inline constexpr std::int64_t largest_sequence =
    (std::int64_t{1} << sequence_bits) - 1 - sequence_offset;

struct JobId {
    int slot;
    int node;               // where the job was created
    std::int64_t sequence;  // from 1 on
    bool operator==(const JobId &) const = default;
};

// Nothing if a part is out of bounds, so also when a node has used up its sequence. (Its successor
// gets a node number that was never used.)
std::optional<std::int64_t> compose_id(const JobId &parts);

// Nothing for a number that no job can have as its id: 0 or less, or with a sequence of 0. For a
// plain id the sequence is the id.
std::optional<JobId> decompose_id(std::int64_t id);

// Returns whether an instance without shards assigns this id: slot 0 and node 0.
constexpr bool is_plain_id(std::int64_t id)
{
    return id > 0 && id < first_id;
}

// The number of values that a promoted standby skips in each of its sequences.
inline constexpr std::int64_t promotion_gap = std::int64_t{1} << 28;

// Returns where the sequence of a promoted standby continues if its last known value may be old:
// the lost end of the WAL may have assigned ids to jobs that are on other nodes now. Nothing if the
// sequence is used up.
std::optional<std::int64_t> sequence_after_promotion(std::int64_t last_known);

}  // namespace hipq::core
