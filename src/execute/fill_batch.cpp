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

constexpr std::size_t largest_hand = 1'000;   // a batch of the largest size fits
constexpr std::int64_t lock_delay = 500'000;  // us
constexpr std::int64_t shortly = 1'000'000;   // us

// What came of a line: nothing of it can be run now, its jobs are left to somebody who is just
// reading it, or the hand is full.
enum class Tried : unsigned char { nothing, left, taken };

// The scheduler watches what keeps jobs from being run.
void leave_to_scheduler(pg::Time now)
{
    databases::work_due(MyDatabaseId, now + process::longest_wait);
}

bool may_run(const Executor &executor, const Queue &queue, pg::Time now)
{
    if (queue.owner != executor.ticket.role || !limits::queue_gate(queue).passed)
        return false;
    const bool passed = limits::owner_gate(queue).passed;
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

// The lines that are due, in the order of their jobs. Of the others the executor keeps when the
// first will be.
std::vector<claim::Line> due_lines(Executor &executor, const catalog::Catalogue &catalogue,
                                   pg::Time now)
{
    const std::vector<const Queue *> queues = open_queues(executor, catalogue, now);
    std::vector<claim::Line> lines = claim::lines_of(queues, now);
    executor.next_due = pg::infinity;
    std::erase_if(lines, [&](const claim::Line &line) {
        if (line.head.due > now)
            executor.next_due = std::min(executor.next_due, line.head.due);
        return line.head.due > now;
    });
    std::stable_sort(lines.begin(), lines.end(),
                     [](const claim::Line &left, const claim::Line &right) {
                         return claim::runs_before(left.head, right.head);
                     });
    return lines;
}

// ---- whose turn it is ----

using QueuesInTurn = std::vector<executors::QueueInTurn>;  // by number

QueuesInTurn::iterator find_queue(QueuesInTurn &queues, int id)
{
    return std::lower_bound(queues.begin(), queues.end(), id,
                            [](const auto &queue, int wanted) { return queue.queue_id < wanted; });
}

// Those with due lines. Of the lines those of the queue come first whose turn it is.
QueuesInTurn order_by_turn(std::vector<claim::Line> &lines)
{
    QueuesInTurn queues;
    for (const claim::Line &line : lines)
        if (const auto place = find_queue(queues, line.queue->id);
            place == queues.end() || place->queue_id != line.queue->id)
            queues.insert(place, {line.queue->id, line.queue->weight});
    if (queues.size() < 2)
        return queues;
    executors::look_up_standings(queues);
    std::stable_sort(lines.begin(), lines.end(),
                     [&](const claim::Line &left, const claim::Line &right) {
                         return find_queue(queues, left.queue->id)->standing <
                                find_queue(queues, right.queue->id)->standing;
                     });
    return queues;
}

// The hand is that of the line at `taken`. Queues of which nothing could be run now have no share
// in this look, so that they save up nothing; but those have that somebody else is just reading.
void begin_turn(const Executor &executor, const std::vector<claim::Line> &lines, std::size_t taken,
                std::span<const Tried> tried, QueuesInTurn &queues)
{
    QueuesInTurn sharing;
    const auto add = [&](const claim::Line &line) {
        if (const auto queue = find_queue(queues, line.queue->id);
            std::exchange(queue->weight, 0) != 0)
            sharing.push_back({queue->queue_id, line.queue->weight});
    };
    add(lines[taken]);
    for (std::size_t i = 0; i < lines.size(); ++i)
        if (i >= tried.size() || tried[i] == Tried::left)
            add(lines[i]);
    executors::begin_turn(sharing, executor.hand.work());
}

// ---- taking ----

std::size_t batch_size_of(const catalog::JobType &type)
{
    return catalog::takes_batches(type.handler, type.handler_kind)
               ? static_cast<std::size_t>(type.batch_size)
               : 1;
}

void note_next_due(Executor &executor, const claim::Line &line, pg::Time now)
{
    const pg::Time due = line.lane.is_known() ? lanes::due_of(line.lane) : pg::infinity;
    if (due > now)
        executor.next_due = std::min(executor.next_due, due);
}

// While this executor is busy somebody else has to see to what it has put off.
void leave_next_due_to_scheduler(const Executor &executor, pg::Time now)
{
    if (executor.next_due != pg::infinity)
        databases::work_due(MyDatabaseId, std::max(executor.next_due, now + shortly));
}

Tried take_from(Executor &executor, const claim::Line &line, pg::Time now)
{
    const catalog::JobType *for_workers = line.queue->find_job_type(line.head.job_type);
    if (for_workers != nullptr && for_workers->is_without_handler())
        return Tried::nothing;
    if (!catalog::try_to_lock(
            *line.queue)) {  // its owner, or whoever locks it, shall not stop this executor
        executor.next_due = std::min(executor.next_due, now + lock_delay);
        return Tried::nothing;
    }
    if (!limits::handler_gate(*line.queue, line.head.job_type).passed) {
        leave_to_scheduler(now);  // parked
        return Tried::nothing;
    }
    if (!limits::room_gate(*line.queue, line.head.job_type).passed)
        return Tried::nothing;  // whoever makes room says so
    const catalog::JobType &type = *line.queue->find_job_type(line.head.job_type);
    const std::size_t batch_size = batch_size_of(type);
    executor.hand = claim::Hand{line.queue->id, type.name, batch_size, {}};
    executor.hand.paused_keys = line.queue->paused_keys(type.name);
    executor.hand.run_time = lanes::run_time(line.queue->id, type.name);
    if (claim::take_jobs(executor, line, now,
                         core::hand_size(executor.hand.run_time, batch_size, largest_hand)))
        return Tried::taken;
    note_next_due(executor, line, now);  // what was read in vain has told when it is due
    return line.lane.is_known() && lanes::due_of(line.lane) <= now ? Tried::left : Tried::nothing;
}

// A lane knows of a first job, but not always when that is due: as far as it knows nothing comes
// before. What it learns when it is read may put other lines of its queue and priority first.

core::LaneKey key_of(const claim::Line &line)
{
    return {line.head.due.value, line.head.id};
}

bool is_same_priority(const claim::Line &left, const claim::Line &right)
{
    return left.queue == right.queue && left.head.priority == right.head.priority;
}

// Where the line begins that comes after the first, of those it has to be compared with.
core::LaneKey next_of_same_priority(std::span<const claim::Line> lines)
{
    const auto next = std::find_if(lines.begin() + 1, lines.end(), [&](const claim::Line &line) {
        return is_same_priority(lines.front(), line);
    });
    return next == lines.end() ? core::lane_end : key_of(*next);
}

// Moves the first line back behind those that come before it, now that more is known of it. False:
// there are none.
bool fall_back(std::span<claim::Line> lines)
{
    claim::Line &first = lines.front();
    const auto lane = first.lane.is_known() ? lanes::copy_lane(first.lane) : std::nullopt;
    if (!lane.has_value() || lane->next_due() <= first.not_after)
        return false;
    first.head.due = pg::Time{lane->next_due().time};
    first.head.id = lane->next_due().id;
    std::size_t place = 0;
    for (std::size_t i = 1; i < lines.size(); ++i)
        if (is_same_priority(first, lines[i]) && key_of(lines[i]) < key_of(first))
            place = i;
    std::rotate(lines.begin(), lines.begin() + 1,
                lines.begin() + static_cast<std::ptrdiff_t>(place) + 1);
    return place > 0;
}

}  // namespace

bool fill_hand(Executor &executor)
{
    bool filled = false;
    pg::with_transaction([&] {
        const auto catalogue = catalog::catalogue();
        const pg::Time now = pg::now();
        if (!limits::enabled_gate().passed || !limits::hold_gate().passed)
            return;
        std::vector<claim::Line> lines = due_lines(executor, *catalogue, now);
        if (lines.empty())
            executors::note_nothing_due();
        QueuesInTurn queues = order_by_turn(lines);
        std::vector<Tried> tried;
        while (!filled && tried.size() < lines.size()) {
            const std::span<claim::Line> rest = std::span(lines).subspan(tried.size());
            rest.front().not_after = next_of_same_priority(rest);
            const Tried outcome = take_from(executor, rest.front(), now);
            if (outcome == Tried::left && fall_back(rest))
                continue;
            tried.push_back(outcome);
            filled = outcome == Tried::taken;
        }
        std::size_t place = tried.size() - 1;
        for (std::size_t i = 0; !filled && i < lines.size();
             ++i) {  // those that were to come first had nothing
            if (tried[i] != Tried::left)
                continue;
            lines[i].not_after = core::lane_end;
            tried[i] = take_from(executor, lines[i], now);
            filled = tried[i] == Tried::taken;
            place = i;
        }
        if (!filled)
            return;
        const claim::Line &taken = lines[place];
        begin_turn(executor, lines, place, tried, queues);
        note_next_due(executor, taken, now);
        leave_next_due_to_scheduler(executor, now);
        executor.sees_more = tried.size() < lines.size() || !taken.lane.is_known() ||
                             lanes::due_of(taken.lane) <= pg::now();
        HIPQ_POINT("after-reserve");
    });
    return filled;
}

}  // namespace hipq::execute
