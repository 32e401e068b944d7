// Chooses the queue and lane that run next, and takes jobs from there into the batch.
#include "catalog/catalog.hpp"
#include "claim/claim.hpp"
#include "databases/databases.hpp"
#include "execute/task.hpp"
#include "executors/executors.hpp"
#include "lanes/lanes.hpp"
#include "limits/limits.hpp"
#include "pg/clock.hpp"
#include "pg/point.hpp"
#include "pg/transaction.hpp"
#include "process/process.hpp"

namespace hipq::execute {

namespace {

using catalog::Queue;

constexpr std::size_t most_prefetched = 1'000;  // a batch of the largest size fits
constexpr std::int64_t lock_delay = 500'000;    // us
constexpr std::int64_t shortly = 1'000'000;     // us

// What came of a lane: nothing of it can be run now, its jobs are left to somebody who is just
// reading it, or the prefetched batch is full.
enum class Tried : unsigned char { nothing, left, taken };

// The scheduler watches what keeps jobs from being run.
void leave_to_scheduler(pg::Time now)
{
    databases::work_due(MyDatabaseId, now + process::longest_wait);
}

bool may_run(const Executor &executor, const Queue &queue, pg::Time now)
{
    if (queue.owner != executor.ticket.role || !limits::queue_condition(queue).passed())
        return false;
    const bool passed = limits::owner_condition(queue).passed();
    if (!passed)
        leave_to_scheduler(now);
    return passed;
}

std::vector<const Queue *> open_queues(const Executor &executor,
                                       const catalog::Catalogue &catalogue, pg::Time now)
{
    std::vector<const Queue *> queues;
    for (const auto &[id, queue] : catalogue.queues)
        if (may_run(executor, queue, now))
            queues.push_back(&queue);
    return queues;
}

// The lanes that are due, in the order of their jobs. Of the others the executor keeps when the
// first will be.
std::vector<claim::Lane> due_lanes(Executor &executor, const catalog::Catalogue &catalogue,
                                   pg::Time now)
{
    const std::vector<const Queue *> queues = open_queues(executor, catalogue, now);
    std::vector<claim::Lane> lanes = claim::lanes_of(queues, now);
    executor.next_due = pg::infinity;
    std::erase_if(lanes, [&](const claim::Lane &lane) {
        if (lane.head.due > now)
            executor.next_due = std::min(executor.next_due, lane.head.due);
        return lane.head.due > now;
    });
    std::stable_sort(lanes.begin(), lanes.end(),
                     [](const claim::Lane &left, const claim::Lane &right) {
                         return claim::runs_before(left.head, right.head);
                     });
    return lanes;
}

// ---- whose turn it is ----

using QueuesInTurn = std::vector<executors::QueueInTurn>;  // by number

QueuesInTurn::iterator find_queue(QueuesInTurn &queues, int id)
{
    return std::lower_bound(queues.begin(), queues.end(), id,
                            [](const auto &queue, int wanted) { return queue.queue_id < wanted; });
}

// Those with due lanes. Of the lanes those of the queue come first whose turn it is.
QueuesInTurn order_by_turn(std::vector<claim::Lane> &lanes)
{
    QueuesInTurn queues;
    for (const claim::Lane &lane : lanes)
        if (const auto place = find_queue(queues, lane.queue->id);
            place == queues.end() || place->queue_id != lane.queue->id)
            queues.insert(place, {lane.queue->id, lane.queue->weight});
    if (queues.size() < 2)
        return queues;
    executors::look_up_job_statuses(queues);
    std::stable_sort(lanes.begin(), lanes.end(),
                     [&](const claim::Lane &left, const claim::Lane &right) {
                         return find_queue(queues, left.queue->id)->standing <
                                find_queue(queues, right.queue->id)->standing;
                     });
    return queues;
}

// The prefetched batch is that of the lane at `taken`. Queues of which nothing could be run now
// have no share in this look, so that they save up nothing; but those have that somebody else is
// just reading.
void begin_turn(const Executor &executor, const std::vector<claim::Lane> &lanes, std::size_t taken,
                std::span<const Tried> tried, QueuesInTurn &queues)
{
    QueuesInTurn sharing;
    const auto add = [&](const claim::Lane &lane) {
        if (const auto queue = find_queue(queues, lane.queue->id);
            std::exchange(queue->weight, 0) != 0)
            sharing.push_back({queue->queue_id, lane.queue->weight});
    };
    add(lanes[taken]);
    for (std::size_t i = 0; i < lanes.size(); ++i)
        if (i >= tried.size() || tried[i] == Tried::left)
            add(lanes[i]);
    executors::begin_turn(sharing, executor.prefetched.work());
}

// ---- taking ----

std::size_t batch_size_of(const catalog::JobType &type)
{
    return catalog::takes_batches(type.handler, type.handler_kind)
               ? static_cast<std::size_t>(type.batch_size)
               : 1;
}

void note_next_due(Executor &executor, const claim::Lane &lane, pg::Time now)
{
    const pg::Time due = lane.ref.is_known() ? lanes::due_of(lane.ref) : pg::infinity;
    if (due > now)
        executor.next_due = std::min(executor.next_due, due);
}

// While this executor is busy somebody else has to see to what it has put off.
void leave_next_due_to_scheduler(const Executor &executor, pg::Time now)
{
    if (executor.next_due != pg::infinity)
        databases::work_due(MyDatabaseId, std::max(executor.next_due, now + shortly));
}

Tried take_from(Executor &executor, const claim::Lane &lane, pg::Time now)
{
    const catalog::JobType *for_workers = lane.queue->find_job_type(lane.head.job_type);
    if (for_workers != nullptr && for_workers->is_without_handler())
        return Tried::nothing;
    if (!catalog::try_to_lock(
            *lane.queue)) {  // its owner, or whoever locks it, shall not stop this executor
        executor.next_due = std::min(executor.next_due, now + lock_delay);
        return Tried::nothing;
    }
    if (!limits::handler_condition(*lane.queue, lane.head.job_type).passed()) {
        leave_to_scheduler(now);  // parked
        return Tried::nothing;
    }
    if (!limits::capacity_condition(*lane.queue, lane.head.job_type).passed())
        return Tried::nothing;  // whoever makes room says so
    const catalog::JobType &type = *lane.queue->find_job_type(lane.head.job_type);
    const std::size_t batch_size = batch_size_of(type);
    executor.prefetched = claim::Prefetched{lane.queue->id, type.name, batch_size, {}};
    executor.prefetched.paused_keys = lane.queue->paused_keys(type.name);
    executor.prefetched.run_time = lanes::run_time(lane.queue->id, type.name);
    if (claim::take_jobs(
            executor, lane, now,
            core::prefetch_size(executor.prefetched.run_time, batch_size, most_prefetched)))
        return Tried::taken;
    note_next_due(executor, lane, now);  // what was read in vain has told when it is due
    return lane.ref.is_known() && lanes::due_of(lane.ref) <= now ? Tried::left : Tried::nothing;
}

// A lane knows of a first job, but not always when that is due: as far as it knows nothing comes
// before. What it learns when it is read may put other lanes of its queue and priority first.

core::LaneKey key_of(const claim::Lane &lane)
{
    return {lane.head.due.value, lane.head.id};
}

bool is_same_priority(const claim::Lane &left, const claim::Lane &right)
{
    return left.queue == right.queue && left.head.priority == right.head.priority;
}

// Where the lane begins that comes after the first, of those it has to be compared with.
core::LaneKey next_of_same_priority(std::span<const claim::Lane> lanes)
{
    const auto next = std::find_if(lanes.begin() + 1, lanes.end(), [&](const claim::Lane &lane) {
        return is_same_priority(lanes.front(), lane);
    });
    return next == lanes.end() ? core::lane_end : key_of(*next);
}

// Moves the first lane back behind those that come before it, now that more is known of it. False:
// there are none.
bool fall_back(std::span<claim::Lane> lanes)
{
    claim::Lane &first = lanes.front();
    const auto lane = first.ref.is_known() ? lanes::copy_lane(first.ref) : std::nullopt;
    if (!lane.has_value() || lane->next_due() <= first.not_after)
        return false;
    first.head.due = pg::Time{lane->next_due().time};
    first.head.id = lane->next_due().id;
    std::size_t place = 0;
    for (std::size_t i = 1; i < lanes.size(); ++i)
        if (is_same_priority(first, lanes[i]) && key_of(lanes[i]) < key_of(first))
            place = i;
    std::rotate(lanes.begin(), lanes.begin() + 1,
                lanes.begin() + static_cast<std::ptrdiff_t>(place) + 1);
    return place > 0;
}

}  // namespace

bool prefetch_jobs(Executor &executor)
{
    bool filled = false;
    pg::with_transaction([&] {
        const auto catalogue = catalog::catalogue();
        const pg::Time now = pg::now();
        if (!limits::enabled_condition().passed() || !limits::hold_condition().passed())
            return;
        std::vector<claim::Lane> lanes = due_lanes(executor, *catalogue, now);
        if (lanes.empty())
            executors::note_nothing_due();
        QueuesInTurn queues = order_by_turn(lanes);
        std::vector<Tried> tried;
        while (!filled && tried.size() < lanes.size()) {
            const std::span<claim::Lane> rest = std::span(lanes).subspan(tried.size());
            rest.front().not_after = next_of_same_priority(rest);
            const Tried outcome = take_from(executor, rest.front(), now);
            if (outcome == Tried::left && fall_back(rest))
                continue;
            tried.push_back(outcome);
            filled = outcome == Tried::taken;
        }
        std::size_t place = tried.size() - 1;
        for (std::size_t i = 0; !filled && i < lanes.size();
             ++i) {  // those that were to come first had nothing
            if (tried[i] != Tried::left)
                continue;
            lanes[i].not_after = core::lane_end;
            tried[i] = take_from(executor, lanes[i], now);
            filled = tried[i] == Tried::taken;
            place = i;
        }
        if (!filled)
            return;
        const claim::Lane &taken = lanes[place];
        begin_turn(executor, lanes, place, tried, queues);
        note_next_due(executor, taken, now);
        leave_next_due_to_scheduler(executor, now);
        executor.sees_more = tried.size() < lanes.size() || !taken.ref.is_known() ||
                             lanes::due_of(taken.ref) <= pg::now();
        HIPQ_POINT("after-reserve");
    });
    return filled;
}

}  // namespace hipq::execute
