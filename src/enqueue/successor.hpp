// Jobs that start when the one that holds their key has finished: on_duplicate => 'after'. One for
// each key at most.
//
// The live leaf has room for one job with a key, so until then they are in hipq.successor. Whoever
// finds their key free makes them jobs: the scheduler, which the end of the other job wakes, or the
// next who wants that key.
#pragma once

#include "enqueue/by_call.hpp"
#include "job/job.hpp"

namespace hipq::enqueue {

// A job that somebody is about to enqueue, with a key.
struct Newcomer {
    const catalog::Queue &queue;
    const JobOptions &options;
    pg::RawValue data;  // jsonb
    const std::string &key;
    const std::string &scope;  // that it is unique within: core/job/unique_key.hpp
    core::UniqueKey unique_key() const { return {options.type, key, scope}; }
};

// Makes the newcomer the successor, and gives it an id; nothing: there is one by now. Whoever else
// does so at this moment is waited for. Raises what an INSERT of the job would raise.
std::optional<std::int64_t> add_successor(const Newcomer &newcomer);

// Enqueues a successor. False: it is none any more, somebody else is doing so, or
// its key is held. Whoever is inserting a job with that key at this moment is waited for, as far as
// lock_timeout allows.
bool make_successor_a_job(const catalog::Queue &queue, const core::UniqueKey &key);

}  // namespace hipq::enqueue
