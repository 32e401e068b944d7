// Jobs that start when the one that holds their key has finished: on_duplicate => 'after'. One for each key at most.
//
// The live leaf has room for one job with a key, so until then they are in hipq.successor. Whoever finds their key free makes
// them jobs: the scheduler, which the end of the other job wakes, or the next who wants that key.
#pragma once

#include "storage/claim.hpp"
#include "storage/enqueue.hpp"

namespace hipq::storage {

// A job that somebody is about to enqueue, with a key.
struct Newcomer {
    const Queue &queue;
    const JobOptions &options;
    pg::RawValue data;  // jsonb
    const std::string &key;
};

// The id of the successor of whoever holds that key, if there is one.
std::optional<std::int64_t> successor_of_key(const Queue &queue, std::string_view type, std::string_view key);

// Makes the newcomer the successor, and gives it an id; nothing: there is one by now. Whoever else does so at this moment is
// waited for. Raises what an INSERT of the job would raise.
std::optional<std::int64_t> add_successor(const Newcomer &newcomer);

// Takes back what add_successor() did.
void remove_successor(std::int64_t id);

// A successor, and the job that holds its key, if there is one.
struct Successor {
    std::string type;
    std::string key;
    std::optional<std::int64_t> holder;
};
std::vector<Successor> successors(const Queue &queue);

// The queues that have some.
std::vector<int> queues_with_successors();

// Puts a successor into line. False: it is none any more, somebody else is doing so, or its key is held. Whoever is inserting a
// job with that key at this moment is waited for, as far as lock_timeout allows.
bool make_successor_a_job(const Queue &queue, std::string_view type, std::string_view key);

// Takes a successor out, as a job that waited, for its end. Nothing: there is none of that id, or somebody else has it.
std::optional<ClaimedJob> take_successor(const Queue &queue, std::int64_t id);

// One that is waiting for its turn, by its id.
struct WaitingSuccessor {
    int queue_id;
    std::string type;
    std::string key;
    pg::Time due;
    pg::Time expires;
    std::string time_windows;
    std::string throttle_key;
    core::Weight weight;
    int priority;
};
std::optional<WaitingSuccessor> find_successor(std::int64_t id);

}  // namespace hipq::storage
