// Determines which node of a sharded instance a job belongs to.
#pragma once

#include "catalog/catalog.hpp"
#include "job/job.hpp"

namespace hipq::nodes {

// Assigns the id of a new job of a queue of a sharded instance, which contains its slot, and its
// shard_key where the queue takes that from another column or from job_data. `sequence` is the
// sequence of ids.
void place(job::RowValues &job, const catalog::Queue &queue, Oid sequence);

// The slot that place() would assign to a job with the sequence number `number`.
int slot_if_placed_now(const job::RowValues &job, const catalog::Queue &queue, std::int64_t number);

// Whether a job with a key gets the same slot in both queues, which are of one instance or one
// queue before and after a change. (The scope in which its key is unique does not matter here.)
bool place_keys_alike(const catalog::Queue &one, const catalog::Queue &other);

// The shard key of a job; nothing: it has none, and is placed by its key or anywhere.
std::optional<std::string> shard_key_of(const job::RowValues &job, const catalog::Queue &queue);

// Sets only the shard_key, for a job that has its id or whose instance has no shards. It also
// matters where keys are unique per shard key.
void fill_shard_key(job::RowValues &job, const catalog::Queue &queue);

// The node that a job must be sent to; nothing: it stays here, as every job does in an instance
// that is not sharded. A shard sends to the router, whose map is authoritative.
std::optional<int> destination(const catalog::Queue &queue, std::int64_t job_id);

}  // namespace hipq::nodes
