// Ids of jobs in a sharded instance: each names its slot and the node where the job was born.
//
//     | 0 | 2^19 + sequence: 41 bits | node: 10 bits | slot: 12 bits |
//
// So a call by id finds its node without a look-up, also after the slot has moved, and no two nodes
// give the same id. The ids of a node grow, so entries of indexes are made at one end.
//
// Slot 0 and node 0 belong to the router for ever. A number below 2^41, as every instance without
// shards gives it, is the id of a job of the router: all others are greater.
#pragma once

#include "core/shards/slots.hpp"

#include <cstdint>
#include <optional>

namespace hipq::core {

inline constexpr int node_bits = 10;
inline constexpr int sequence_bits = 41;
static_assert(slot_bits + node_bits + sequence_bits == 63);

inline constexpr int node_count = 1 << node_bits;  // with the router
inline constexpr int router_node = 0;
inline constexpr int router_slot = 0;  // never moves
inline constexpr int place_bits = slot_bits + node_bits;
inline constexpr std::int64_t first_id = std::int64_t{1} << 41;  // no plain one is as large
inline constexpr std::int64_t sequence_offset = first_id >> place_bits;
inline constexpr std::int64_t largest_sequence =
    (std::int64_t{1} << sequence_bits) - 1 - sequence_offset;

struct JobId {
    int slot;
    int node;               // of birth
    std::int64_t sequence;  // from 1 on
    bool operator==(const JobId &) const = default;
};

// Nothing if a part is out of bounds; so also when a node has used its sequence up. (Its successor
// gets a number that no node has had.)
std::optional<std::int64_t> compose_id(const JobId &parts);

// Nothing for what no job has as its id: 0 and less, or a sequence of 0. Of a plain id the sequence
// is the id.
std::optional<JobId> decompose_id(std::int64_t id);

// Whether an id is one that an instance without shards gives: slot 0 and node 0.
constexpr bool is_plain_id(std::int64_t id)
{
    return id > 0 && id < first_id;
}

// Values that a promoted standby leaves out of each of its sequences.
inline constexpr std::int64_t promotion_gap = std::int64_t{1} << 28;

// Where the sequence of a promoted standby goes on, if the last value it knows of may be old: the
// lost end of the log may have given ids to jobs that are on other nodes now. Nothing when it is
// used up.
std::optional<std::int64_t> sequence_after_promotion(std::int64_t last_known);

}  // namespace hipq::core
