// Composing and decomposing by shifts; every bound is checked here.
#include "ids.hpp"

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
    const std::int64_t place = (std::int64_t{parts.slot} << node_bits) | parts.node;
    return (place << sequence_bits) | parts.sequence;
}

std::optional<JobId> decompose_id(std::int64_t id)
{
    const std::int64_t sequence = id & largest_sequence;
    if (id <= 0 || sequence == 0)
        return std::nullopt;
    const std::int64_t place = id >> sequence_bits;
    return JobId{static_cast<int>(place >> node_bits), static_cast<int>(place & (node_count - 1)),
                 sequence};
}

std::optional<std::int64_t> sequence_after_promotion(std::int64_t last_known)
{
    if (!is_within(last_known, 0, largest_sequence - promotion_gap))
        return std::nullopt;
    return last_known + promotion_gap;
}

}  // namespace hipq::core
