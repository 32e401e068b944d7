// Holds jobs with a key whose slot has just come to this node, while their key may still be taken
// on the old node. In queues in strict order it holds all jobs of the slot while any is left there.
#pragma once

#include "catalog/catalog.hpp"
#include "job/job.hpp"

namespace hipq::nodes {

// Whether the caller must call hold().
bool may_be_busy(const catalog::Queue &queue, const job::RowValues &job);

// The origin of a job: a row of a node's outbox; node 0 for a job that is enqueued here.
struct Origin {
    int node;
    std::int64_t outbox_id;
    bool was_accepted = false;  // it was in a table of another node
    bool operator==(const Origin &) const = default;
};

// Holds a job in the form in which it was sent. False: its key is known to be free, or in strict
// order all jobs have come and none is held.
bool hold(const catalog::Queue &queue, const job::RowValues &job, pg::RawValue json,
          const Origin &origin);

}  // namespace hipq::nodes
