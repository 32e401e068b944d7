// The set-up that the router sends to its shards.
#pragma once

#include "pg/spi.hpp"

namespace hipq::shards {

// Creates or changes queues, job types and pauses of an instance here as the router says. Drops no
// queue and no job type. Raises the errors of the functions that it calls.
void take_set_up(const std::string &instance, pg::RawValue set_up);

// Returns whether that is being done just now.
bool is_taking_set_up();

// Sends the set-up of this server to a shard. Needs as_hipq.
void send_set_up(const std::string &instance, int node);

}  // namespace hipq::shards
