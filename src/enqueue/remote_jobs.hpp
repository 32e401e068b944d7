// New jobs of a sharded instance that do not belong to this node, or cannot be inserted yet.
#pragma once

#include "catalog/cache.hpp"
#include "enqueue/enqueue.hpp"
#include "enqueue/new_job.hpp"
#include "job/job_row.hpp"
#include "nodes/nodes.hpp"

namespace hipq::enqueue {

// Sends the jobs of one statement and one queue that belong to other nodes, and holds jobs whose
// slot has just come and whose key may still be taken on the old node.
class RemoteJobs {
public:
    explicit RemoteJobs(int queue_id);

    // Assigns an id to a checked job that has none. True: the job is on its way. False: the caller
    // must complete it and insert it here, with that id.
    bool takes(job::RowValues &job);
    // Sends all jobs that it has taken.
    void send() { rows_.send(); }

private:
    KnownCatalogue catalogue_;  // with locked maps
    const catalog::Queue *queue_;
    nodes::OutboxRows rows_;
    std::set<int> nodes_;  // nodes that jobs are sent to
};

// The jobs of one call: their ids, and the positions of the jobs to insert here.
struct Sent {
    std::vector<std::int64_t> ids;
    std::vector<std::size_t> own;
};
// Raises 0A000 for an `on_duplicate` that acts on a job on another node.
Sent send_elsewhere(const catalog::Queue &queue, const JobOptions &options,
                    std::span<const pg::RawValue> data, const Keys &keys, OnDuplicate on_duplicate);

}  // namespace hipq::enqueue
