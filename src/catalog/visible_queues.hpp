// Which queues a caller may look at: those that he may read, and for members of pg_monitor all of
// them where the view shows all.
#pragma once

#include "catalog/cache.hpp"

namespace hipq::catalog {

// Whether the caller is a member of pg_monitor.
bool is_monitor();

// The queues of a moment as the caller sees them; each is asked for its rights once.
class Sight {
public:
    Sight();
    bool is_whole() const { return is_monitor_; }
    // Null: there is no such queue as far as the caller may know. readable: for reading its jobs;
    // visible: also for looking on.
    const Queue *readable(int queue_id);
    const Queue *visible(int queue_id);
    std::vector<std::int32_t> readable();
    std::vector<std::int32_t> visible();

private:
    std::shared_ptr<const Catalogue> catalogue_;
    std::map<int, bool> known_;
    bool is_monitor_;
};

// Of these queues those that the caller may look at (nobody locks what he may not see) and whose
// tables nobody has locked against readers; of each other one that is so locked a WARNING. The
// tables stay locked until the transaction ends.
std::vector<std::int32_t> reachable(const std::vector<std::int32_t> &queues);

// Plans with a caller's queues in them
// ----------------------------------------------------------------------------------------------

// Whether what the caller may see has gone into a plan of this process since that was set to false;
// sets it.
bool set_planned_by_sight(bool value);

// Registers the callbacks that end such plans; called once by _PG_init. PostgreSQL regime.
void watch_sight();

}  // namespace hipq::catalog
