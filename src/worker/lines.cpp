// By the lanes in shared memory; the tables are asked only where those are not known.
#include "take_jobs.hpp"

#include "storage/claim.hpp"
#include "storage/queue_lock.hpp"

namespace hipq::worker {

namespace {

using storage::Queue;

Line line_of(const Queue &queue, const shmem::LaneInfo &lane)
{
    return {&queue, {lane.name.type, lane.name.priority, lane.due, lane.first_id}, lane.ref, lane.name.leaf};
}

// The lanes of the queues that are not paused, due or not.
std::vector<Line> known_lines(const std::vector<const Queue *> &queues)
{
    std::vector<Line> lines;
    for (const shmem::LaneInfo &lane : shmem::list_lanes()) {
        const auto queue =
            std::find_if(queues.begin(), queues.end(), [&](const Queue *each) { return each->id == lane.name.queue_id; });
        if (queue != queues.end() && (*queue)->find_pause(lane.name.type) == nullptr)
            lines.push_back(line_of(**queue, lane));
    }
    return lines;
}

bool is_among(const std::vector<Line> &lines, const Queue &queue, const storage::LaneHead &head)
{
    return std::any_of(lines.begin(), lines.end(), [&](const Line &line) {
        return line.queue == &queue && line.head.priority == head.priority && line.head.job_type == head.job_type;
    });
}

// A queue may have very many lanes without room. A look goes through so many, and the next one goes on.
constexpr int lanes_at_once = 500;
using Places = std::map<int, storage::LanePlace>;  // by queue
constinit Places *places = nullptr;                // on the heap: no destructor at exit

std::vector<storage::LaneHead> next_heads(const Queue &queue, pg::Time now)
{
    if (places == nullptr)
        places = new Places();
    return storage::lane_heads(queue, now, (*places)[queue.id], lanes_at_once);
}

// Those that have no lane, because there is no room or because the scheduler has not looked yet.
void add_unknown_lines(std::vector<Line> &lines, const Queue &queue, pg::Time now)
{
    if (!storage::try_to_lock(queue))
        return;
    for (const storage::LaneHead &head : next_heads(queue, now))
        if (!is_among(lines, queue, head) && queue.find_pause(head.job_type) == nullptr)
            lines.push_back({&queue, head, shmem::no_lane, InvalidOid});
}

}  // namespace

std::vector<Line> lines_of(const std::vector<const storage::Queue *> &queues, pg::Time now)
{
    std::vector<Line> lines = known_lines(queues);
    for (const Queue *queue : queues)
        if (!shmem::lanes_are_known(queue->id))
            add_unknown_lines(lines, *queue, now);
    return lines;
}

}  // namespace hipq::worker
