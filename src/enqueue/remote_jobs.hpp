// New jobs of a sharded instance that are not for this node, or not yet.
#pragma once

#include "catalog/catalog.hpp"
#include "enqueue/by_call.hpp"
#include "enqueue/new_job.hpp"
#include "nodes/nodes.hpp"

namespace hipq::enqueue {

// Sends the jobs of one statement that are another node's, of one queue, and puts aside those whose
// slot has just come and whose key may still be taken where it was.
class Elsewhere {
public:
    explicit Elsewhere(int queue_id);

    // Gives a checked job without id one. True: it is on its way; false: it is to be filled in and
    // written here, with that id.
    bool takes(job::RowValues &job);
    // All that it has taken.
    void send() { parcels_.send(); }

private:
    KnownCatalogue catalogue_;  // with locked maps
    const catalog::Queue *queue_;
    nodes::Parcels parcels_;
    std::set<int> nodes_;  // that jobs go to
};

// The jobs of one call: their ids, and the places of those that are to be written here.
struct Sent {
    std::vector<std::int64_t> ids;
    std::vector<std::size_t> own;
};
// Raises 0A000 for an `on_duplicate` that is about a job on another node.
Sent send_elsewhere(const catalog::Queue &queue, const JobOptions &options,
                    std::span<const pg::RawValue> data, const Keys &keys, OnDuplicate on_duplicate);

}  // namespace hipq::enqueue
