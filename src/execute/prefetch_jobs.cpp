// Chooses the queue and lane that run next, and takes jobs from there into the batch.
#include "catalog/cache.hpp"
#include "catalog/handler.hpp"
#include "catalog/queue_lock.hpp"
#include "claim/claim.hpp"
#include "claim/conditions.hpp"
#include "execute/task.hpp"
#include "pg/clock.hpp"
#include "pg/point.hpp"
#include "pg/transaction.hpp"
#include "process/process.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/executors/executor_shares.hpp"
#include "shared/lanes/lane_entries.hpp"
#include "shared/lanes/lane_table.hpp"
#include "shared/lanes/run_time_table.hpp"

namespace hipq::execute {

namespace {

using catalog::Queue;

constexpr std::size_t most_prefetched = 1'000;  // a batch of the largest size fits
constexpr std::int64_t lock_delay = 500'000;    // us
constexpr std::int64_t shortly = 1'000'000;     // us

// What became of a lane: none of its jobs can run now, its jobs are left to another process that is
// reading the lane, or the prefetched batch is filled from it.
enum class Tried : unsigned char { nothing, left, taken };

// The scheduler watches the conditions that keep jobs from running.
void leave_to_scheduler(pg::Time now)
{
    databases::work_due(MyDatabaseId, now + process::longest_wait);
}

// Whether the executor's role may run jobs now. Checked once, when first needed.
class OwnRole {
public:
    OwnRole(const Executor &executor, pg::Time now) : executor_(executor), now_(now) {}
    bool may_run(const Queue &queue)
    {
        return queue.owner == executor_.ticket.role && claim::queue_condition(queue).passed() &&
               can_run(queue);
    }

private:
    bool can_run(const Queue &queue)
    {
        if (can_run_.has_value())
            return *can_run_;
        can_run_ = claim::owner_condition(queue).passed();
        if (!*can_run_)
            leave_to_scheduler(now_);
        return *can_run_;
    }

    const Executor &executor_;
    pg::Time now_;
    std::optional<bool> can_run_{};
};

// Lanes that are due, in the order of their first jobs. For the others, the executor keeps the time
// when the first of them will be due.
claim::DueLanes due_lanes(Executor &executor, const catalog::Catalogue &catalogue, OwnRole &role,
                          pg::Time now)
{
    claim::DueLanes due = claim::due_lanes(
        catalogue, executor.ticket.role, [&](const Queue &queue) { return role.may_run(queue); },
        now, &executor.window);
    executor.next_due = due.next;
    std::stable_sort(due.lanes.begin(), due.lanes.end(),
                     [](const claim::Lane &left, const claim::Lane &right) {
                         return claim::runs_before(left.head, right.head);
                     });
    return due;
}

// ---- which queue's turn it is ----

using QueuesInTurn = std::vector<executors::QueueInTurn>;  // by number

QueuesInTurn::iterator find_queue(QueuesInTurn &queues, int id)
{
    return std::lower_bound(queues.begin(), queues.end(), id,
                            [](const auto &queue, int wanted) { return queue.queue_id < wanted; });
}

// Returns the queues with due lanes. Sorts the lanes so that those of the queue whose turn it is
// come first.
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

// The prefetched batch is from the lane at `taken`. Queues that could run nothing now take no part
// in this turn, so that they save up no credit. Queues whose lane another process is reading do
// take part.
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

// How many jobs to run in one transaction.
std::size_t batch_size_of(const catalog::JobType &type)
{
    return type.handler_kind == catalog::HandlerKind::procedure
               ? 1
               : static_cast<std::size_t>(type.batch_size);
}

void note_next_due(Executor &executor, const claim::Lane &lane, pg::Time now)
{
    const pg::Time due = lane.ref.is_known() ? lanes::due_of(lane.ref) : pg::infinity;
    if (due > now)
        executor.next_due = std::min(executor.next_due, due);
}

// While this executor is busy, the scheduler has to watch for the jobs that it has put off, and for
// their turn under a rate or a breaker.
void leave_next_due_to_scheduler(const Executor &executor, pg::Time now)
{
    const pg::Time due = std::min(std::max(executor.next_due, now + shortly),
                                  std::max(executor.next_turn, now + claim::turn_delay));
    if (executor.next_due != pg::infinity || executor.next_turn != pg::infinity)
        databases::work_due(MyDatabaseId, due);
}

Tried take_from(Executor &executor, const claim::Lane &lane, pg::Time now)
{
    const catalog::JobType *for_workers = lane.queue->find_job_type(lane.head.job_type);
    if (for_workers != nullptr && for_workers->is_without_handler())
        return Tried::nothing;
    // The queue's owner, or another session that locks the queue, must not block this executor.
    if (!catalog::try_to_lock(*lane.queue)) {
        executor.next_due = std::min(executor.next_due, now + lock_delay);
        return Tried::nothing;
    }
    if (!claim::handler_condition(*lane.queue, lane.head.job_type).passed()) {
        leave_to_scheduler(now);  // parked
        return Tried::nothing;
    }
    if (!claim::capacity_condition(*lane.queue, lane.head.job_type).passed())
        return Tried::nothing;  // the process that makes room reports it
    const catalog::JobType &type = *lane.queue->find_job_type(lane.head.job_type);
    const auto next = claim::find_turn(executor, *lane.queue, type, now);
    if (!next.has_value())
        return Tried::nothing;
    const auto run_time = lanes::run_time(lane.queue->id, type.name);
    const std::size_t batch_size = batch_size_of(type);
    executor.prefetched = claim::batch_of(*lane.queue, type, batch_size);
    executor.prefetched.run_time = run_time;
    const std::size_t most = next->most(core::prefetch_size(run_time, batch_size, most_prefetched));
    const bool any = claim::take_jobs(executor, lane, now, most);
    claim::write_leases_of_keys(executor);
    if (any)
        return Tried::taken;
    note_next_due(executor, lane, now);  // reading the lane in vain has told when it is due
    return lane.ref.is_known() && lanes::due_of(lane.ref) <= now ? Tried::left : Tried::nothing;
}

// A lane knows of a first job, but not always when that job is due: it only knows that none is due
// earlier. What it learns by being read may put other lanes of its queue and priority first.

core::LaneKey key_of(const claim::Lane &lane)
{
    return {lane.head.due.value, lane.head.id};
}

bool is_same_priority(const claim::Lane &left, const claim::Lane &right)
{
    return left.queue == right.queue && left.head.priority == right.head.priority;
}

// The key of the next lane of the same queue and priority as the first lane.
core::LaneKey next_of_same_priority(std::span<const claim::Lane> lanes)
{
    const auto next = std::find_if(lanes.begin() + 1, lanes.end(), [&](const claim::Lane &lane) {
        return is_same_priority(lanes.front(), lane);
    });
    return next == lanes.end() ? core::lane_end : key_of(*next);
}

// Moves the first lane back behind those that come before it, now that more is known of it. Returns
// false if it stays the first.
bool fall_back(std::span<claim::Lane> lanes)
{
    claim::Lane &first = lanes.front();
    const auto due = first.ref.is_known() ? lanes::next_due_of(first.ref) : std::nullopt;
    if (!due.has_value() || *due <= first.not_after)
        return false;
    first.head.due = pg::Time{due->time};
    first.head.id = due->id;
    std::size_t place = 0;
    for (std::size_t i = 1; i < lanes.size(); ++i)
        if (is_same_priority(first, lanes[i]) && key_of(lanes[i]) < key_of(first))
            place = i;
    std::rotate(lanes.begin(), lanes.begin() + 1,
                lanes.begin() + static_cast<std::ptrdiff_t>(place) + 1);
    return place > 0;
}

// Fills the prefetched batch from the first lane that has a job to run. Returns its index; nothing
// if no lane has any. `tried` gets what became of each lane.
std::optional<std::size_t> take_from_first(Executor &executor, std::vector<claim::Lane> &lanes,
                                           std::vector<Tried> &tried, pg::Time now)
{
    while (tried.size() < lanes.size()) {
        const std::span<claim::Lane> rest = std::span(lanes).subspan(tried.size());
        rest.front().not_after = next_of_same_priority(rest);
        const Tried outcome = take_from(executor, rest.front(), now);
        if (outcome == Tried::left && fall_back(rest))
            continue;
        tried.push_back(outcome);
        if (outcome == Tried::taken)
            return tried.size() - 1;
    }
    for (std::size_t i = 0; i < lanes.size(); ++i) {  // the lanes that come first had nothing
        if (tried[i] != Tried::left)
            continue;
        lanes[i].not_after = core::lane_end;
        tried[i] = take_from(executor, lanes[i], now);
        if (tried[i] == Tried::taken)
            return i;
    }
    return std::nullopt;
}

bool prefetch_from(Executor &executor, claim::DueLanes &due, pg::Time now)
{
    std::vector<claim::Lane> &lanes = due.lanes;
    QueuesInTurn queues = order_by_turn(lanes);
    std::vector<Tried> tried;
    const auto place = take_from_first(executor, lanes, tried, now);
    if (!place.has_value())
        return false;
    const claim::Lane &taken = lanes[*place];
    begin_turn(executor, lanes, *place, tried, queues);
    note_next_due(executor, taken, now);
    leave_next_due_to_scheduler(executor, now);
    executor.sees_more = due.left_out > 0 || tried.size() < lanes.size() || !taken.ref.is_known() ||
                         lanes::due_of(taken.ref) <= pg::now();
    HIPQ_POINT("after-reserve");
    return true;
}

// Looks at one window of lanes after the other, until a lane has jobs or all have been looked at.
bool prefetch_from_any(Executor &executor, const catalog::Catalogue &catalogue, pg::Time now)
{
    OwnRole role(executor, now);
    bool any = false;
    std::size_t seen = 0;
    for (std::size_t all = 1; seen < all;) {
        claim::DueLanes due = due_lanes(executor, catalogue, role, now);
        any = any || !due.lanes.empty();
        if (prefetch_from(executor, due, now))
            return true;
        all = due.left_out + executor.window.most;
        seen += executor.window.most;
    }
    if (!any)
        executors::note_nothing_due();
    return false;
}

}  // namespace

bool prefetch_jobs(Executor &executor)
{
    bool filled = false;
    do {
        executor.leases.forget();
        executor.next_turn = pg::infinity;
        pg::with_transaction([&] {
            const auto catalogue = catalog::working_catalogue();
            if (claim::enabled_condition().passed() && claim::hold_condition().passed())
                filled = prefetch_from_any(executor, *catalogue, pg::now());
        });
    } while (executor.leases.publish() && !filled);
    return filled;
}

}  // namespace hipq::execute
