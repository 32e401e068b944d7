// Routes jobs in a star: shards know the router, and the router knows all nodes.
#include "core/shards/route.hpp"

#include <algorithm>

namespace hipq::core {

namespace {

constexpr bool is_key(std::string_view key)
{
    return key != "NONE";
}

// Types contain no control characters, so type and key cannot be confused with those of another
// job.
constexpr char unit_separator = '\x1f';

std::string type_and_key(const PlacedJob &job)
{
    std::string result(job.job_type);
    result += unit_separator;
    result += job.job_key;
    return result;
}

constexpr bool is_node(int node)
{
    return node >= 0 && node < node_count;
}

}  // namespace

std::optional<UniqueScope> parse_unique_scope(std::string_view text)
{
    if (text == "shard_key")
        return UniqueScope::shard_key;
    return text == "global" ? std::optional(UniqueScope::everywhere) : std::nullopt;
}

std::string_view key_scope(UniqueScope scope, std::string_view shard_key)
{
    return scope == UniqueScope::shard_key ? shard_key : std::string_view("NONE");
}

std::string placement_key(const Placement &placement, const PlacedJob &job)
{
    if (placement.throttle_mode == ThrottleMode::home)
        return std::string(job.queue);
    const bool unique_everywhere = placement.unique_scope == UniqueScope::everywhere;
    if (is_key(job.job_key) && (unique_everywhere || !is_key(job.shard_key)))
        return type_and_key(job);
    return is_key(job.shard_key) ? std::string(job.shard_key) : std::to_string(job.sequence);
}

Route route(const SlotMap &map, int own_node, int slot)
{
    const int owner = map[static_cast<std::size_t>(slot)];
    if (!is_node(owner))
        return {Way::unknown, owner};
    if (owner == own_node)
        return {Way::own, owner};
    return own_node == router_node ? Route{Way::shard, owner} : Route{Way::router, router_node};
}

bool is_sound(const SlotMap &map)
{
    return map[router_slot] == router_node && std::all_of(map.begin(), map.end(), is_node);
}

}  // namespace hipq::core
