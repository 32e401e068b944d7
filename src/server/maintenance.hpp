// The scheduler's maintenance of the tables, once a minute.
#pragma once

#include "core/process/due_heap.hpp"
#include "pg/clock.hpp"

#include <map>
#include <set>
#include <vector>

namespace hipq::server {

struct Maintenance {
    pg::Time next{0};
    bool is_left = false;            // steps that another session's lock prevented
    core::DueHeap<int> queues{};     // queues to maintain, because something has happened to them
    std::map<int, pg::Time> done{};  // when these were maintained, during the last minute
    std::set<int> retried{};  // those among them with a step that another session's lock prevented
    std::set<int> with_key_index{};  // queues whose index over throttle keys is known to be there
};

// What the last look found.
struct Touched {
    const std::vector<int> &queues;
    const std::vector<int> &with_parked_keys;  // among them
    bool has_dropped_queue;
};

// Does what is due: once a minute the maintenance of the database, and for 20 ms that of each queue
// that was touched since its last maintenance, that lacks leaves, or that was dropped since the
// last call. Makes the index over throttle keys for queues that need it. Returns when there is more
// to do, which may be now; infinity: at some later look. Call with no transaction open.
pg::Time maintain(Maintenance &maintenance, pg::Time now, const Touched &touched);

}  // namespace hipq::server
