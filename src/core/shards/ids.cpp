// Composes and decomposes ids by shifts; every bound is checked here.
#include "core/shards/ids.hpp"

namespace hipq::core {

namespace {

constexpr bool is_within(std::int64_t value, std::int64_t least, std::int64_t greatest)
{
    return value >= least && value <= greatest;
}

}  // namespace

std::optional<std::int64_t> compose_id(const JobId &parts)
{
    const bool fits = is_within(parts.slot, 0, slot_count - 1) &&
                      is_within(parts.node, 0, node_count - 1) &&
                      is_within(parts.sequence, 1, largest_sequence);
    if (!fits)
        return std::nullopt;
    if (parts.slot == router_slot && parts.node == router_node)
        return parts.sequence;
    const std::int64_t place = (std::int64_t{parts.node} << slot_bits) | parts.slot;
    return ((sequence_offset + parts.sequence) << place_bits) | place;
}

std::optional<JobId> decompose_id(std::int64_t id)
{
    if (is_plain_id(id))
        return JobId{router_slot, router_node, id};
    const std::int64_t sequence = (id >> place_bits) - sequence_offset;
    if (sequence < 1)
        return std::nullopt;
    return JobId{static_cast<int>(id & (slot_count - 1)),
                 static_cast<int>((id >> slot_bits) & (node_count - 1)), sequence};
}

std::optional<std::int64_t> sequence_after_promotion(std::int64_t last_known)
{
    if (!is_within(last_known, 0, largest_sequence - promotion_gap))
        return std::nullopt;
    return last_known + promotion_gap;
}

}  // namespace hipq::core
