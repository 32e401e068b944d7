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
};

// Does what is due: once a minute the maintenance of the database, and for 20 ms that of each queue
// that was `touched` since its last maintenance, that lacks leaves, or that was dropped since the
// last call. Returns when there is more to do, which may be now; infinity: at some later look. Call
// with no transaction open.
pg::Time maintain(Maintenance &maintenance, pg::Time now, const std::vector<int> &touched,
                  bool has_dropped_queue);

}  // namespace hipq::server
