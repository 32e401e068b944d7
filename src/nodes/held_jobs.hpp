// Jobs with a key, of slots that have just come to this node, while their key may still be taken
// where the slot was. Of queues in strict order all jobs, while any is left there.
#pragma once

#include "catalog/catalog.hpp"
#include "job/job.hpp"

namespace hipq::nodes {

// Whether somebody has to ask hold().
bool may_be_busy(const catalog::Queue &queue, const job::RowValues &job);

// Where a job has come from: a row of a node's outbox; 0 for one that is enqueued here.
struct Origin {
    int node;
    std::int64_t outbox_id;
    bool was_accepted = false;  // it was in the table of another node
    bool operator==(const Origin &) const = default;
};

// Puts a job aside, as it travels. False: its key is known to be free; in strict order all have
// come, and none is held.
bool hold(const catalog::Queue &queue, const job::RowValues &job, pg::RawValue json,
          const Origin &origin);

}  // namespace hipq::nodes
