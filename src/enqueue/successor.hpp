// Successors: jobs that start when the job that holds their key has finished (on_duplicate =>
// 'after'). At most one per key.
//
// The live leaf has room for one job with a key, so until then successors are in hipq.successor. A
// process that finds the key of a successor free makes it a job: the scheduler, which the end of
// the other job wakes, or the next enqueuer that wants the key.
#pragma once

#include "catalog/cache.hpp"
#include "enqueue/enqueue.hpp"

namespace hipq::enqueue {

// A job that is about to be enqueued, with a key.
struct Newcomer {
    const catalog::Queue &queue;
    const JobOptions &options;
    pg::RawValue data;  // jsonb
    const std::string &key;
    const std::string &scope;  // scope in which the key is unique: core/job/unique_key.hpp
    core::UniqueKey unique_key() const { return {options.type, key, scope}; }
};

// Makes the newcomer the successor, and assigns its id; nothing: there already is a successor.
// Waits for another transaction that is adding one. Raises what an INSERT of the job would raise.
std::optional<std::int64_t> add_successor(const Newcomer &newcomer);

}  // namespace hipq::enqueue
