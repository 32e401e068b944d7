// Where a job goes: the key that places it, and the map from slots to nodes.
#pragma once

#include "core/shards/ids.hpp"
#include "core/shards/slots.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hipq::core {

// Within which bounds there is one unfinished job of a type and key.
enum class UniqueScope {
    shard_key,   // one for each shard key
    everywhere,  // 'global': one in the whole queue
};

// The scope by its name in SQL; nothing for another word.
std::optional<UniqueScope> parse_unique_scope(std::string_view text);

// How the limits of a queue are kept over several nodes.
enum class ThrottleMode {
    permits,  // each node has a share of the limit (permits.hpp)
    home,     // all jobs of the queue are on one node
};

struct Placement {
    UniqueScope unique_scope = UniqueScope::shard_key;
    ThrottleMode throttle_mode = ThrottleMode::permits;
};

// What of a job matters here. "NONE" is no key, as everywhere.
struct PlacedJob {
    std::string_view queue;  // its name within the instance
    std::string_view shard_key;
    std::string_view job_type;
    std::string_view job_key;
    std::int64_t sequence;  // of its id
};

// The text whose slot is the job's.
std::string placement_key(const Placement &placement, const PlacedJob &job);

// What the type and key of a job are unique within: its shard key, or "NONE" for the whole queue.
// Jobs without a shard key are as those of one of that name. Two unfinished jobs that agree in it,
// and in type and key, have one slot: so the index of one node sees both.
std::string_view key_scope(UniqueScope scope, std::string_view shard_key);

// Of all slots, the node that has it. The router's map is the truth, every other node has a copy
// that may be late.
using SlotMap = std::array<std::int16_t, slot_count>;

enum class Way {
    own,      // into the node's own table
    shard,    // from the router to the shard that has the slot
    router,   // from a shard to the router, which knows where it goes
    unknown,  // the map names a node that cannot be: it is damaged
};

struct Route {
    Way way;
    int node;  // whom the job goes to; its own number for Way::own
    bool operator==(const Route &) const = default;
};

// From a node, by its map. A job of a slot that the map gives to this node may still have to be
// held (moves.hpp).
Route route(const SlotMap &map, int own_node, int slot);

// Whether a map can be used: all nodes are within bounds, and the router has its slot.
bool is_sound(const SlotMap &map);

}  // namespace hipq::core
