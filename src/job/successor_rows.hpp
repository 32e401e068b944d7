// Rows of hipq.successor: jobs that start when the job that holds their key has finished
// (enqueue/successor.hpp).
#pragma once

#include "catalog/cache.hpp"
#include "core/job/unique_key.hpp"
#include "job/claimed_job.hpp"

namespace hipq::job {

// The id of the successor of the job that holds the key, if there is one.
std::optional<std::int64_t> successor_of_key(const catalog::Queue &queue,
                                             const core::UniqueKey &key);

// Undoes add_successor().
void remove_successor(std::int64_t id);

// A successor, and the job that holds its key, if there is one.
struct Successor {
    std::string type;
    std::string key;
    std::string scope;
    std::optional<std::int64_t> holder;
    core::UniqueKey unique_key() const { return {type, key, scope}; }
};
std::vector<Successor> successors(const catalog::Queue &queue);

// The queues that have successors.
std::vector<int> queues_with_successors();

// Deletes a successor and returns it as a waiting job, for its end. Nothing: there is none with
// that id, or another process has it locked.
std::optional<ClaimedJob> take_successor(const catalog::Queue &queue, std::int64_t id);

// Finds a successor that is waiting for its turn, by its id.
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

}  // namespace hipq::job
