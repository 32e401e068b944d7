// Jobs that should have started long ago, and what keeps them, for hipq.alerts. Reads the tables,
// so that it also works where hipq does nothing.
#pragma once

#include "catalog/cache.hpp"
#include "core/limits/finding.hpp"
#include "pg/clock.hpp"

#include <string>
#include <vector>

namespace hipq::monitor {

// What keeps jobs from starting: the decisive unmet condition, or the lane if all are met.
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
    std::int64_t jobs;  // counted up to a limit
    bool has_more;      // more jobs than were counted
    pg::Time since;     // when the first of them was due
};

// Returns the jobs of all queues that have been due for longer than hipq.alert_waiting and do not
// run. Jobs of unregistered types that no executor or worker runs are returned at once: most likely
// the name is misspelt. Skips a queue whose tables another session has locked. Needs a transaction.
std::vector<Overdue> overdue_jobs(const catalog::Catalogue &catalogue, pg::Time now);

}  // namespace hipq::monitor
