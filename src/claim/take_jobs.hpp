// From the lane into the prefetched batch: a process reads a lane and reserves the jobs that it
// will claim.
#pragma once

#include <functional>

#include "claim/batch.hpp"
#include "claim/claim_rows.hpp"
#include "core/lanes/lane.hpp"
#include "shared/lanes/lane_table.hpp"

namespace hipq::claim {

// A job whose throttle key is full is looked at again when there is capacity, and in any case after
// this.
inline constexpr std::int64_t longest_wait_for_capacity = core::longest_hold;  // us

// Waiting jobs of one queue, type and priority, the first of which may be due.
struct Lane {
    const catalog::Queue *queue;
    LaneHead head;
    lanes::LaneRef ref;                        // unknown: shared memory has no place for it
    Oid leaf;                                  // of the lane
    core::LaneKey not_after = core::lane_end;  // if its first job comes after that one, others'
                                               // come first: none of it is taken
};

// The due lanes of the queues that one process may work on and that are not paused, in no order,
// and when the next of the others is due that were made for a queue owner (InvalidOid: of all,
// paused or not). `may_use` is asked once for each queue with a due lane. Needs a transaction.
// Costs nothing for queues in which nothing is due.
struct DueLanes {
    std::vector<Lane> lanes;
    pg::Time next;
    std::size_t left_out;  // due lanes that are outside the window, others' among them
};
using MayUse = std::function<bool(const catalog::Queue &)>;
DueLanes due_lanes(const catalog::Catalogue &catalogue, Oid owner, const MayUse &may_use,
                   pg::Time now, lanes::LaneWindow *window = nullptr);

// Takes up to `most` due jobs into the empty hand, reserved in shared memory. Needs a transaction.
// False: there are none that nobody else has or looks at.
bool take_jobs(Claimer &claimer, const Lane &lane, pg::Time now, std::size_t most);

// The same with these jobs, which stand in no lane or were looked for without it.
bool take_these(Claimer &claimer, const Lane &lane, std::span<const job::DueJob> due, pg::Time now,
                std::size_t most);

}  // namespace hipq::claim
