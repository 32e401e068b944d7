// Which node of a sharded instance a job belongs to.
#pragma once

#include "catalog/catalog.hpp"
#include "job/job.hpp"

namespace hipq::nodes {

// Gives a new job of a queue of a sharded instance its id, which says its slot, and its shard_key
// where the queue takes that from elsewhere. `sequence` is that of ids.
void place(job::RowValues &job, const catalog::Queue &queue, Oid sequence);

// The slot that place() would give a job whose number is `number`.
int slot_if_placed_now(const job::RowValues &job, const catalog::Queue &queue, std::int64_t number);

// Whether a job with a key gets the same slot in both queues, of one instance; or before and after
// a change of one. (What its key is unique within does not matter here.)
bool place_keys_alike(const catalog::Queue &one, const catalog::Queue &other);

// What the job is divided by; nothing: it has none, and goes by its key or anywhere.
std::optional<std::string> shard_key_of(const job::RowValues &job, const catalog::Queue &queue);

// Only the shard_key, of one that has its id, or whose instance has no shards. It matters where
// keys are unique for each shard key, too.
void fill_shard_key(job::RowValues &job, const catalog::Queue &queue);

// The node that a job is to be sent to; nothing: it stays here, as every job does in an instance
// that is not sharded. A shard sends to the router, which knows best.
std::optional<int> destination(const catalog::Queue &queue, std::int64_t job_id);

}  // namespace hipq::nodes
