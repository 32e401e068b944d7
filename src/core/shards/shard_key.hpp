// The expression by which a sharded queue divides its jobs.
#pragma once

#include "core/job/columns.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hipq::core {

// A column of the job, or a value inside job_data.
struct ShardKey {
    std::optional<Column> column;
    std::vector<std::string> path;  // names of members; a number may also be an array index
    bool operator==(const ShardKey &) const = default;
};

// Accepts "shard_key" and other columns that are given to a job (job_type, job_key, throttle_key),
// or a path as in SQL: job_data ->> 'tenant', job_data -> 'customer' ->> 'id', job_data #>>
// '{customer,id}'. No other expression is allowed, because it is evaluated for every job that any
// user enqueues, with no user's privileges. Nothing for any other text.
std::optional<ShardKey> parse_shard_key(std::string_view text);

}  // namespace hipq::core
