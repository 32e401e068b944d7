// How a sharded instance divides the jobs of a queue, keeps the queue's limits and keeps jobs in
// order, and the scope in which keys are unique: the last arguments of create_queue and
// alter_queue.
#pragma once

#include "catalog/cache.hpp"
#include "pg/arguments.hpp"

namespace hipq::admin {

// Nothing: not given.
struct Sharding {
    std::optional<std::string> shard_key;  // NONE, or a text that core::parse_shard_key() accepts
    std::optional<std::string> throttle_mode;  // how limits are kept over several nodes
    std::optional<std::string> move_order;     // what stays in order while slots move
    std::optional<core::UniqueScope> unique_scope;
};
// Reads the arguments of these names. 22023 for an invalid value.
Sharding read_sharding(const pg::Arguments &arguments);

// Stores the values for a queue that has no tables yet; without a shard key it gets the instance's.
// Returns the scope in which its keys are unique. 22023 if that is the shard key and there is none.
core::UniqueScope set_sharding(int queue_id, const Sharding &sharding);

// Changes the values that are given; with is_reset, a missing shard key becomes the instance's. The
// scope of keys, and a shard key that is the scope, can be changed only while no unfinished job has
// a key (55006), and never if the instance has shards (55000). That locks the live leaf without
// making other sessions wait: 55P03 if the leaf is in use for some seconds.
enum class IfNoShardKey : bool { stays, is_reset };
void change_sharding(const catalog::Queue &queue, const Sharding &sharding, IfNoShardKey if_none);

// 22023 unless the text is NONE or core::parse_shard_key() accepts it.
void check_shard_key(const std::string &text);

// An object that is dropped on the router stays on shards, which may have unfinished jobs of it: a
// NOTICE says so. what: "queue"; call: drops it there.
void tell_of_shards(const catalog::Queue &queue, const std::string &what, const std::string &call);

// Call before a change of the queue or of its job types: records where the queue places jobs.
void note_places(const catalog::Queue &queue);

// Call after a change of the queue or of its job types. If the new limits or the new shard key
// place jobs with keys elsewhere, a NOTICE on the router says what that means. before: the queue
// before the change, after note_places().
void tell_of_new_places(const catalog::Queue &before);

}  // namespace hipq::admin
