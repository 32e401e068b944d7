// The duties of a scheduler, each of one queue: their names, and when one that failed is tried
// again.
#pragma once

#include <cstdint>
#include <string_view>

namespace hipq::core {

enum class Duty : unsigned char {
    line,  // finds out what is due
    expiry,
    successors,
    worker_wait,
    dispatch,
    reclaim,
    recovery,
    audit,
    vacuum,
    stall_watch,
    leaves,
    dead_letters,
    made_jobs,
    unused_types,
    drop,
    schedules,
    slots,    // that have gone to another node
    figures,  // of queues, for the router
    shares,   // of limits that several nodes keep together
    letters   // of other nodes: what apply workers do
};

// As messages have it: "cannot <name> of queue ...".
std::string_view name(Duty duty);

enum class Trouble : unsigned char { locked, failed };

// How long a duty rests, in microseconds, after so many troubles in a row. A lock may be gone at
// any moment, so it is tried for again within a second; an error as a rule stays until somebody
// mends it, so its rest doubles up to a minute.
std::int64_t rest_after(Trouble trouble, int in_a_row);

}  // namespace hipq::core
