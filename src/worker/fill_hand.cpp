// What an executor runs next: the lines of its queue owner that are due, next first. It takes some 10 ms of work of the first in
// which there is anything.
#include "pg/clock.hpp"
#include "pg/point.hpp"
#include "pg/transaction.hpp"
#include "shmem/databases.hpp"
#include "shmem/run_times.hpp"
#include "storage/gates.hpp"
#include "storage/lane_rows.hpp"
#include "worker/process.hpp"
#include "worker/take_jobs.hpp"

namespace hipq::worker {

namespace {

using storage::Queue;

constexpr std::size_t largest_hand = 1'000;  // a batch of the largest size fits
constexpr std::int64_t shortly = 1'000'000;  // us

// The scheduler watches what keeps jobs from being run.
void leave_to_scheduler(pg::Time now)
{
    shmem::work_due(MyDatabaseId, now + longest_wait);
}

bool may_run(const Executor &executor, const Queue &queue, pg::Time now)
{
    if (queue.owner != executor.ticket.role || !storage::queue_gate(queue).passed)
        return false;
    const bool passed = storage::owner_gate(queue).passed;
    if (!passed)
        leave_to_scheduler(now);
    return passed;
}

std::vector<const Queue *> open_queues(const Executor &executor, const storage::Catalogue &catalogue, pg::Time now)
{
    std::vector<const Queue *> queues;
    for (const auto &[id, queue] : catalogue.queues)
        if (may_run(executor, queue, now))
            queues.push_back(&queue);
    return queues;
}

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

// Those that have no lane, because there is no room or because the scheduler has not looked yet.
void add_unknown_lines(std::vector<Line> &lines, const std::vector<const Queue *> &queues, pg::Time now)
{
    for (const Queue *queue : queues)
        for (const storage::LaneHead &head : storage::lane_heads(*queue, now))
            if (!is_among(lines, *queue, head) && queue->find_pause(head.job_type) == nullptr)
                lines.push_back({queue, head, shmem::no_lane, InvalidOid});
}

// The lines that are due, next first. Of the others the executor keeps when the first will be.
std::vector<Line> due_lines(Executor &executor, const storage::Catalogue &catalogue, pg::Time now)
{
    const std::vector<const Queue *> queues = open_queues(executor, catalogue, now);
    std::vector<Line> lines = known_lines(queues);
    if (!shmem::lanes_are_known())
        add_unknown_lines(lines, queues, now);
    executor.next_due = pg::infinity;
    std::erase_if(lines, [&](const Line &line) {
        if (line.head.due > now)
            executor.next_due = std::min(executor.next_due, line.head.due);
        return line.head.due > now;
    });
    std::stable_sort(lines.begin(), lines.end(),
                     [](const Line &left, const Line &right) { return storage::runs_before(left.head, right.head); });
    return lines;
}

std::size_t batch_size_of(const storage::JobType &type)
{
    return storage::takes_batches(type.handler, type.handler_kind) ? static_cast<std::size_t>(type.batch_size) : 1;
}

void note_next_due(Executor &executor, const Line &line, pg::Time now)
{
    const pg::Time due = line.lane.is_known() ? shmem::due_of(line.lane) : pg::infinity;
    if (due > now)
        executor.next_due = std::min(executor.next_due, due);
}

// While this executor is busy somebody else has to see to what it has put off.
void leave_next_due_to_scheduler(const Executor &executor, pg::Time now)
{
    if (executor.next_due != pg::infinity)
        shmem::work_due(MyDatabaseId, std::max(executor.next_due, now + shortly));
}

bool take_from(Executor &executor, const Line &line, pg::Time now)
{
    if (!storage::handler_gate(*line.queue, line.head.job_type).passed) {
        leave_to_scheduler(now);  // parked
        return false;
    }
    if (!storage::room_gate(*line.queue, line.head.job_type).passed)
        return false;  // whoever makes room says so
    const storage::JobType &type = *line.queue->find_job_type(line.head.job_type);
    const std::size_t batch_size = batch_size_of(type);
    executor.hand = Hand{line.queue->id, type.name, batch_size, {}};
    executor.hand.paused_keys = line.queue->paused_keys(type.name);
    return take_jobs(executor, line, now, core::hand_size(shmem::run_time(line.queue->id, type.name), batch_size, largest_hand));
}

}  // namespace

bool fill_hand(Executor &executor)
{
    bool filled = false;
    pg::with_transaction([&] {
        const auto catalogue = storage::catalogue();
        const pg::Time now = pg::now();
        if (!storage::enabled_gate().passed || !storage::hold_gate().passed)
            return;
        const std::vector<Line> lines = due_lines(executor, *catalogue, now);
        const auto taken =
            std::find_if(lines.begin(), lines.end(), [&](const Line &line) { return take_from(executor, line, now); });
        filled = taken != lines.end();
        for (auto line = lines.begin(); line != taken; ++line)  // what was read in vain has told when it is due
            note_next_due(executor, *line, now);
        if (!filled)
            return;
        note_next_due(executor, *taken, now);
        leave_next_due_to_scheduler(executor, now);
        executor.sees_more = lines.end() - taken > 1 || !taken->lane.is_known() || shmem::due_of(taken->lane) <= pg::now();
        HIPQ_POINT("after-reserve");
    });
    return filled;
}

}  // namespace hipq::worker
