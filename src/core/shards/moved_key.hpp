// What becomes of the shard key of a job that comes from one queue to another.
#pragma once

#include "core/shards/shard_key.hpp"

namespace hipq::core {

// Whether it keeps the one that it has; nothing: a queue without. Else that means something else
// there, and what its values say counts, as for a new job.
inline bool keeps_shard_key(const std::optional<ShardKey> &from, const std::optional<ShardKey> &to)
{
    const bool is_given = to.has_value() && to->column == Column::shard_key;
    return is_given || from == to;
}

}  // namespace hipq::core
