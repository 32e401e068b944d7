// Lists the lanes of the queues with due jobs.
//
// The lanes are in shared memory; the tables are read only for queues whose lanes are not all
// known.
#include "claim/take_jobs.hpp"

#include <unordered_map>

#include "catalog/cache.hpp"
#include "catalog/queue_lock.hpp"
#include "shared/lanes/lane_table.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::claim {

namespace {

using catalog::Queue;

Lane lane_of(const Queue &queue, const lanes::LaneInfo &lane)
{
    return {&queue,
            {lane.name.type, lane.name.priority, lane.due, lane.first_id},
            lane.ref,
            lane.name.leaf};
}

// A queue may have very many lanes for which shared memory has no room. Each look reads this many
// of them, and the next look continues.
constexpr int lanes_per_look = 500;
using Places = std::map<int, LanePlace>;  // by queue
constinit Places *places = nullptr;       // on the heap: no destructor at exit

std::vector<LaneHead> next_heads(const Queue &queue, pg::Time now)
{
    if (places == nullptr)
        places = new Places();
    return lane_heads(queue, now, (*places)[queue.id], lanes_per_look);
}

// Adds lanes that are not in shared memory, because there is no room or because the scheduler has
// not found them yet.
void add_unknown_lanes(std::vector<Lane> &lanes, const Queue &queue, pg::Time now)
{
    if (!catalog::try_to_lock(queue))
        return;
    const Oid leaf = catalog::live_leaf(queue);
    for (const LaneHead &head : next_heads(queue, now))
        if (!lanes::find_lane({leaf, queue.id, head.priority, head.job_type}).is_known() &&
            queue.find_pause(head.job_type) == nullptr)
            lanes.push_back({&queue, head, lanes::no_lane, InvalidOid});
}

// The queues for which `may_use` was called, and its results.
class UsableQueues {
public:
    UsableQueues(const catalog::Catalogue &catalogue, const MayUse &may_use)
        : catalogue_(catalogue), may_use_(may_use)
    {
    }
    // Null: this process may not work on the queue, or the queue is gone.
    const Queue *find(int queue_id)
    {
        const auto known = queues_.find(queue_id);
        if (known != queues_.end())
            return known->second;
        const Queue *queue = catalogue_.find(queue_id);
        if (queue != nullptr && !may_use_(*queue))
            queue = nullptr;
        return queues_.emplace(queue_id, queue).first->second;
    }

private:
    const catalog::Catalogue &catalogue_;
    const MayUse &may_use_;
    std::unordered_map<int, const Queue *> queues_;
};

// The queues whose tables must be searched for lanes.
std::vector<int> queues_with_unknown_lanes(const catalog::Catalogue &catalogue)
{
    std::vector<int> ids;
    if (lanes::lanes_are_known())
        for (const memory::CrowdedQueue &queue : lanes::crowded_queues())
            ids.push_back(queue.queue_id);
    else
        for (const auto &[id, queue] : catalogue.queues)
            ids.push_back(id);
    return ids;
}

}  // namespace

DueLanes due_lanes(const catalog::Catalogue &catalogue, Oid owner, const MayUse &may_use,
                   pg::Time now, lanes::LaneWindow *window)
{
    UsableQueues usable(catalogue, may_use);
    const lanes::LanesByDue known = lanes::lanes_by_due(owner, now, window);
    DueLanes found{{}, known.next, known.left_out};
    for (const lanes::LaneInfo &lane : known.due)
        if (const Queue *queue = usable.find(lane.name.queue_id);
            queue != nullptr && queue->find_pause(lane.name.type) == nullptr)
            found.lanes.push_back(lane_of(*queue, lane));
    for (const int id : queues_with_unknown_lanes(catalogue))
        if (const Queue *queue = usable.find(id))
            add_unknown_lanes(found.lanes, *queue, now);
    std::erase_if(found.lanes, [&](const Lane &lane) {
        if (lane.head.due > now)
            found.next = std::min(found.next, lane.head.due);
        return lane.head.due > now;
    });
    return found;
}

}  // namespace hipq::claim
