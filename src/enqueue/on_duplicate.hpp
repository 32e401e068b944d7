// What an enqueuer does to the unfinished job that holds the key of a new one, other than to return
// its id.
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

// Changes the waiting job that holds the newcomer's key, in the current transaction, or lets the
// newcomer follow a running one, at most one for each key: a second newcomer changes the follower
// or, with `after_first`, gets its id. Nothing: no job holds the key, or only a job that runs in
// this session, for whose successor an insert makes room. Waits for another transaction that is
// changing the job, but never for the handler of a job: raises 55006 for a job that runs. Otherwise
// raises what an UPDATE or INSERT by the caller would raise.
std::optional<Enqueued> apply_on_duplicate(const Newcomer &newcomer, OnDuplicate on_duplicate);

}  // namespace hipq::enqueue
