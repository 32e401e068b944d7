// The scheduler's look at one queue: expires jobs, and finds out how many executors its owner
// should have.
#pragma once

#include <set>

#include "catalog/cache.hpp"
#include "claim/claim.hpp"
#include "shared/lanes/lane_table.hpp"

namespace hipq::server {

// The result of a look at one queue.
struct QueueFindings {
    pg::Time now;                         // time of the look
    pg::Time next_due = pg::infinity;     // when to look at it again; infinity: when it is dirty
    pg::Time next_expiry = pg::infinity;  // when the first of its jobs expires
    int executors = 0;                    // how many executors its due jobs could keep busy
    bool has_parked_keys = false;         // jobs wait because of their throttle key
    std::vector<lanes::LaneRef>
        lanes{};  // the lanes with due jobs, as far as there are lanes for them

    void again_at(pg::Time due) { next_due = std::min(next_due, due); }
};

// State that is kept between looks.
struct QueueLooks {
    std::string time_zone;           // of the database
    std::set<std::string> reported;  // parked job types that were logged
    claim::LaneSearch lane_search;
};

// Runs each part in its own transactions, so that a failure of one does not affect the others. Call
// with no transaction open.
QueueFindings look_at_queue(QueueLooks &looks, pg::Time now, const catalog::Queue &queue);

void remove_lanes_of_dropped_queues();

}  // namespace hipq::server
