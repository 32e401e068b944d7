// What a sharded instance divides the jobs of a queue by, how it keeps the queue's limits, and what
// it keeps in order: arguments of create_queue and alter_queue.
#pragma once

#include "catalog/catalog.hpp"
#include "pg/arguments.hpp"

namespace hipq::queues {

// The argument at that position; nothing: it is not given, or the call is of the release before,
// which has none. 22023 for what is no shard key.
std::optional<std::string> read_shard_key(const pg::Arguments &arguments, int position);

// Nothing: it stays.
void set_shard_key(int queue_id, const std::optional<std::string> &shard_key);
// Nothing: it becomes that of the instance.
void set_or_reset_shard_key(int queue_id, const std::optional<std::string> &shard_key);

// Takes over throttle_mode, how the limits of the queue are kept over several nodes, and
// move_order, what stays in order while slots move; the first argument is at that position. What is
// not given stays, as in a call of the release before. 22023 for words that they do not have.
void set_modes(int queue_id, const pg::Arguments &arguments, int position);

// 22023 unless it is NONE or core::parse_shard_key() knows it.
void check_shard_key(const std::string &text);

// What is dropped on the router stays on shards, which may have jobs of it that have not ended: a
// NOTICE says so. what: "queue"; call: what drops it there.
void tell_of_shards(const catalog::Queue &queue, const std::string &what, const std::string &call);

}  // namespace hipq::queues
