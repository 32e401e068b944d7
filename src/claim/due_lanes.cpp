// Lists the lanes of a queue with due jobs.
//
// By the lanes in shared memory; the tables are asked only where those are not known.
#include "claim/take_jobs.hpp"

#include "catalog/catalog.hpp"
#include "claim/claim_rows.hpp"

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

// The lanes of the queues that are not paused, due or not.
std::vector<Lane> known_lanes(const std::vector<const Queue *> &queues)
{
    std::vector<Lane> lanes;
    for (const lanes::LaneInfo &lane : lanes::list_lanes()) {
        const auto queue = std::find_if(queues.begin(), queues.end(), [&](const Queue *each) {
            return each->id == lane.name.queue_id;
        });
        if (queue != queues.end() && (*queue)->find_pause(lane.name.type) == nullptr)
            lanes.push_back(lane_of(**queue, lane));
    }
    return lanes;
}

bool is_among(const std::vector<Lane> &lanes, const Queue &queue, const LaneHead &head)
{
    return std::any_of(lanes.begin(), lanes.end(), [&](const Lane &lane) {
        return lane.queue == &queue && lane.head.priority == head.priority &&
               lane.head.job_type == head.job_type;
    });
}

// A queue may have very many lanes without room. A look goes through so many, and the next one goes
// on.
constexpr int lanes_at_once = 500;
using Places = std::map<int, LanePlace>;  // by queue
constinit Places *places = nullptr;       // on the heap: no destructor at exit

std::vector<LaneHead> next_heads(const Queue &queue, pg::Time now)
{
    if (places == nullptr)
        places = new Places();
    return lane_heads(queue, now, (*places)[queue.id], lanes_at_once);
}

// Those that have no lane, because there is no room or because the scheduler has not looked yet.
void add_unknown_lanes(std::vector<Lane> &lanes, const Queue &queue, pg::Time now)
{
    if (!catalog::try_to_lock(queue))
        return;
    for (const LaneHead &head : next_heads(queue, now))
        if (!is_among(lanes, queue, head) && queue.find_pause(head.job_type) == nullptr)
            lanes.push_back({&queue, head, lanes::no_lane, InvalidOid});
}

}  // namespace

std::vector<Lane> lanes_of(const std::vector<const catalog::Queue *> &queues, pg::Time now)
{
    std::vector<Lane> lanes = known_lanes(queues);
    for (const Queue *queue : queues)
        if (!lanes::lanes_are_known(queue->id))
            add_unknown_lanes(lanes, *queue, now);
    return lanes;
}

}  // namespace hipq::claim
