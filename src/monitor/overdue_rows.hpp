// Jobs that should have started long ago, by what keeps them: what hipq.alerts tells of them. It
// reads the tables, so that it holds also where hipq does nothing.
#pragma once

#include "claim/claim.hpp"

namespace hipq::monitor {

// What keeps jobs from starting: the closed condition that counts most; none is closed: the lane.
struct Obstacle {
    core::ConditionKind kind;
    bool is_meant;
    std::string explanation;
};

// Waiting jobs of one type with one obstacle in common.
struct Overdue {
    const catalog::Queue *queue;
    std::string job_type;
    Obstacle obstacle;
    std::int64_t jobs;  // counted as far as it is worth while
    bool has_more;      // than were counted
    pg::Time since;     // when the first of them was due
};

// Jobs of all queues that have been due for longer than hipq.alert_waiting and do not run; and at
// once those of types that nobody registered and that nobody runs: most likely a slip in the name.
// A queue whose tables somebody has locked is left out. Needs a transaction.
std::vector<Overdue> overdue_jobs(const catalog::Catalogue &catalogue, pg::Time now);

}  // namespace hipq::monitor
