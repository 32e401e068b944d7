// What a sharded instance divides the jobs of a queue by, how it keeps the queue's limits, and what
// it keeps in order, and what keys are unique within: the last arguments of create_queue and
// alter_queue.
#pragma once

#include "catalog/catalog.hpp"
#include "pg/arguments.hpp"

namespace hipq::admin {

// Nothing: not given.
struct Sharding {
    std::optional<std::string> shard_key;      // NONE, or what core::parse_shard_key() knows
    std::optional<std::string> throttle_mode;  // how limits are kept over several nodes
    std::optional<std::string> move_order;     // what stays in order while slots move
    std::optional<core::UniqueScope> unique_scope;
};
// From that position on, in this order. 22023 for what none of them can be.
Sharding read_sharding(const pg::Arguments &arguments, int first);

// For a queue that has no tables yet; without a shard key it gets that of its instance. Returns
// what its keys are unique within. 22023 for the shard key if it has none.
core::UniqueScope set_sharding(int queue_id, const Sharding &sharding);

// What is not given stays; `or_reset`: the shard key becomes that of the instance. What keys are
// unique within, and the shard key if it is that, can be changed while no unfinished job has a key
// (55006), and not any more when the instance has shards (55000). The live leaf is locked for that,
// but nobody waits: 55P03 if it is in use for some seconds.
enum class IfNoShardKey : bool { stays, is_reset };
void change_sharding(const catalog::Queue &queue, const Sharding &sharding, IfNoShardKey if_none);

// 22023 unless it is NONE or core::parse_shard_key() knows it.
void check_shard_key(const std::string &text);

// What is dropped on the router stays on shards, which may have jobs of it that have not ended: a
// NOTICE says so. what: "queue"; call: what drops it there.
void tell_of_shards(const catalog::Queue &queue, const std::string &what, const std::string &call);

// Before a change of the queue or of its job types: where it places jobs is known from now on.
void note_places(const catalog::Queue &queue);

// After a change of the queue, or of its job types: if their limits or the shard key place jobs
// with keys anew, a NOTICE on the router says what that means for keys. before: as it was, with
// places noted.
void tell_of_new_places(const catalog::Queue &before);

}  // namespace hipq::admin
