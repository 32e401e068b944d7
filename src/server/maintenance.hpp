// What the scheduler does for the tables once a minute.
#pragma once

#include <set>

#include "catalog/catalog.hpp"
#include "core/process/due_heap.hpp"

namespace hipq::server {

struct Maintenance {
    pg::Time next{0};
    bool is_left = false;            // steps that somebody's lock was against
    core::DueHeap<int> queues{};     // to which something has happened
    std::map<int, pg::Time> done{};  // when those were maintained, of the last minute
    std::set<int> retried{};         // of them: with a step that somebody's lock was against
};

// Does what is due: once a minute what is the database's, and each queue that was `touched` since
// it was maintained last, or that lacks leaves, for 20 ms; a queue that was dropped since the last
// time is. Returns when there is more to do, which may be now; infinity: at some later look. No
// transaction open.
pg::Time maintain(Maintenance &maintenance, pg::Time now, const std::vector<int> &touched,
                  bool has_dropped_queue);

}  // namespace hipq::server
