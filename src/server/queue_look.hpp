// The scheduler's look at one queue: it expires what is over, and finds out how many executors its
// owner should have.
#pragma once

#include <set>

#include "catalog/catalog.hpp"
#include "claim/claim.hpp"

namespace hipq::server {

// Executors that a queue owner should have, and how much its queues with due jobs weigh.
struct Wanted {
    int executors = 0;
    std::int64_t weight = 0;
};

// What one look found.
struct Look {
    pg::Time now;
    pg::Time next_due = pg::infinity;
    std::map<Oid, Wanted> wanted;  // by queue owner, of those too who want none
    bool saw_dropped_queue = false;
    std::optional<std::map<int, std::vector<lanes::LaneInfo>>>
        lanes{};  // by queue, once somebody has asked for them

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
void look_at_queue(QueueLooks &looks, Look &look, const catalog::Queue &queue);

void remove_lanes_of_dropped_queues(const catalog::Catalogue &catalogue);

}  // namespace hipq::server
