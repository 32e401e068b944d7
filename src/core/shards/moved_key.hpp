// Decides whether a job that moves to another queue keeps its shard key.
#pragma once

#include "core/shards/shard_key.hpp"

namespace hipq::core {

// Returns whether the job keeps its shard key; nothing: a queue without one. Otherwise the key
// means something else in the new queue, and is computed from the job's values, as for a new job.
inline bool keeps_shard_key(const std::optional<ShardKey> &from, const std::optional<ShardKey> &to)
{
    const bool is_given = to.has_value() && to->column == Column::shard_key;
    return is_given || from == to;
}

}  // namespace hipq::core
