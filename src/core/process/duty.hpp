// The duties of a scheduler, each for one queue: their names, and when to retry a failed duty.
#pragma once

#include <cstdint>
#include <string_view>

namespace hipq::core {

enum class Duty : unsigned char {
    line,  // finds out which jobs are due
    expiry,
    waits,  // jobs that wait for others
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
    pauses,   // that end by themselves
    runs,     // of schedules
    slots,    // that have moved to another node
    figures,  // of queues, for the router
    shares,   // of limits that several nodes share
    letters,  // from other nodes, taken by apply workers
    breakers  // of job types, written to the table
};

// As used in messages: "cannot <name> of queue ...".
std::string_view name(Duty duty);

enum class Trouble : unsigned char { locked, failed };

// Returns how long a duty rests, in microseconds, after that many failures in a row. A lock may be
// released at any moment, so the duty tries again within a second. An error usually stays until an
// operator fixes it, so the rest doubles, up to a minute.
std::int64_t rest_after(Trouble trouble, int in_a_row);

}  // namespace hipq::core
