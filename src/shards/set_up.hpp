// What the router has its shards set up.
#pragma once

#include "pg/spi.hpp"

namespace hipq::shards {

// Makes queues, job types and pauses of an instance here what the router says. Drops no queue and
// no job type. Raises what the functions raise that make them.
void take_set_up(const std::string &instance, pg::RawValue set_up);

// Whether that is just being done.
bool is_taking_set_up();

// Sends a shard what is set up here. Needs as_hipq.
void send_set_up(const std::string &instance, int node);

}  // namespace hipq::shards
