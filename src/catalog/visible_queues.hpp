// The queues that a caller may look at: those it has 'read' on, and for members of pg_monitor all
// queues where the view shows all.
#pragma once

#include "catalog/cache.hpp"

namespace hipq::catalog {

// Whether the caller is a member of pg_monitor.
bool is_monitor();

// A snapshot of the queues as the caller sees them. Rights are checked once per queue.
class VisibleQueues {
public:
    VisibleQueues();
    bool is_whole() const { return is_monitor_; }
    // Both return null for a queue that does not exist or that the caller may not know of.
    // readable() is for reading jobs; visible() also covers monitoring.
    const Queue *readable(int queue_id);
    const Queue *visible(int queue_id);
    std::vector<std::int32_t> readable();
    std::vector<std::int32_t> visible();

private:
    std::shared_ptr<const Catalogue> catalogue_;
    std::map<int, bool> known_;
    bool is_monitor_;
};

// Returns the queues in the list that the caller may look at and whose tables are not locked
// against readers. Never locks the tables of a queue that the caller may not see. Raises a WARNING
// for each queue that is left out because it is locked. The tables stay locked until the
// transaction ends.
std::vector<std::int32_t> reachable(const std::vector<std::int32_t> &queues);

// Plans that depend on the caller's queues
// ----------------------------------------------------------------------------------------------

// Sets the flag that says whether a plan of this process depends on what the caller may see, and
// returns its old value.
bool set_planned_by_visible_queues(bool value);

// Registers the callbacks that invalidate these plans. _PG_init calls it once; raises ERROR by
// longjmp.
void watch_visible_queues();

}  // namespace hipq::catalog
