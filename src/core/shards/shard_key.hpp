// What a sharded queue divides its jobs by.
#pragma once

#include "core/job/columns.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hipq::core {

// A column of the job, or a value within job_data.
struct ShardKey {
    std::optional<Column> column;
    std::vector<std::string> path;  // names of members; what is a number may also be an index
    bool operator==(const ShardKey &) const = default;
};

// "shard_key" and other columns that are given to a job (job_type, job_key, throttle_key), or a
// path as SQL writes it: job_data ->> 'tenant', job_data -> 'customer' ->> 'id',
// job_data #>> '{customer,id}'. No other expression: it is evaluated for each job that anybody
// enqueues, with nobody's rights. Nothing for every other text.
std::optional<ShardKey> parse_shard_key(std::string_view text);

}  // namespace hipq::core
