// Decides where a job goes: by the key that places it, and by the map from slots to nodes.
#pragma once

#include "core/shards/ids.hpp"
#include "core/shards/slots.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hipq::core {

// The scope within which there is only one unfinished job of a type and key.
enum class UniqueScope {
    shard_key,   // one per shard key
    everywhere,  // 'global': one in the whole queue
};

// Returns the scope by its name in SQL; nothing for another word.
std::optional<UniqueScope> parse_unique_scope(std::string_view text);

// How the limits of a queue are enforced across several nodes.
enum class ThrottleMode {
    permits,  // each node has a share of the limit (permits.hpp)
    home,     // all jobs of the queue are on one node
};

struct Placement {
    UniqueScope unique_scope = UniqueScope::shard_key;
    ThrottleMode throttle_mode = ThrottleMode::permits;
};

// The part of a job that placement needs. "NONE" is no key, as everywhere.
struct PlacedJob {
    std::string_view queue;  // its name within the instance
    std::string_view shard_key;
    std::string_view job_type;
    std::string_view job_key;
    std::int64_t sequence;  // of its id
};

// Returns the text whose slot is the job's slot.
std::string placement_key(const Placement &placement, const PlacedJob &job);

// Returns the scope in which a type and key are unique: the job's shard key, or "NONE" for the
// whole queue. Jobs without a shard key share the scope "NONE". Two unfinished jobs with the same
// scope, type and key have the same slot, so the index of one node sees both.
std::string_view key_scope(UniqueScope scope, std::string_view shard_key);

// The node of each slot. The router's map is authoritative; every other node has a copy that may be
// outdated.
using SlotMap = std::array<std::int16_t, slot_count>;

enum class Way {
    own,      // into the node's own table
    shard,    // from the router to the shard that has the slot
    router,   // from a shard to the router, which knows where it goes
    unknown,  // the map names an impossible node: it is damaged
};

struct Route {
    Way way;
    int node;  // that the job goes to; the own number for Way::own
    bool operator==(const Route &) const = default;
};

// Returns the route from a node, by its map. A job of a slot that the map assigns to this node may
// still have to be held (moves.hpp).
Route route(const SlotMap &map, int own_node, int slot);

// Returns whether a map is usable: all nodes are within bounds, and the router has its slot.
bool is_sound(const SlotMap &map);

}  // namespace hipq::core
