// The arguments rate_limit and rate_mode of queues and job types, and rate_limit_per_key and
// breaker of job types.
#pragma once

#include "pg/arguments.hpp"

namespace hipq::admin {

// Returns the rate as it is stored, in canonical form or "NONE"; nothing: not given. 22023 for a
// rate or a mode that cannot be read.
std::optional<std::string> read_rate(const pg::Arguments &arguments);

// The same for the rate of each throttle key.
std::optional<std::string> read_rate_per_key(const pg::Arguments &arguments);

// The same for a breaker.
std::optional<std::string> read_breaker(const pg::Arguments &arguments);

// Call after such a rate has been stored for a queue or one of its types. 0A000 if the instance has
// shards: each node would keep the rate by itself.
void demand_one_server(const std::optional<std::string> &rate, int queue_id);
// The same for any breaker of a type, also one that a user opens.
void demand_one_server_for_breaker(int queue_id);

}  // namespace hipq::admin
