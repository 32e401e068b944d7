// The scheduler's look at one queue: it expires what is over, and finds out how many executors its
// owner should have.
#pragma once

#include <set>

#include "catalog/catalog.hpp"
#include "claim/claim.hpp"
#include "shared/lanes/lane_table.hpp"

namespace hipq::server {

// What a look at one queue has found.
struct QueueFindings {
    pg::Time now;                         // of the look
    pg::Time next_due = pg::infinity;     // when to look at it again; infinity: when it is dirty
    pg::Time next_expiry = pg::infinity;  // when the first of its jobs expires
    int executors = 0;                    // that its due jobs could keep busy
    std::vector<lanes::LaneRef> lanes{};  // where those stand, as far as there are lanes for them

    void again_at(pg::Time due) { next_due = std::min(next_due, due); }
};

// What is kept from look to look.
struct QueueLooks {
    std::string time_zone;           // the database's
    std::set<std::string> reported;  // parked job types that were logged
    claim::LaneSearch lane_search;
};

// Each part in transactions of its own, so that what is against one leaves the others as they are.
// No transaction open.
QueueFindings look_at_queue(QueueLooks &looks, pg::Time now, const catalog::Queue &queue);

void remove_lanes_of_dropped_queues();

}  // namespace hipq::server
