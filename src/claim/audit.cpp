// Checks now and then that waiting jobs are where claims look for them.
//
// The audit first doubts a job, and reports it as missed only if it is still not there a second
// later: between a commit and its note, or between a note and a claim, a job may be nowhere for a
// moment.
#include "claim/claim.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_lock.hpp"
#include "claim/waiting_rows.hpp"
#include "job/note_waiting.hpp"
#include "job/set_aside.hpp"
#include "pg/transaction.hpp"
#include "process/process.hpp"
#include "settings.hpp"
#include "shared/lanes/in_flight.hpp"
#include "shared/lanes/lane_table.hpp"
#include "shared/memory/alerts.hpp"
#include "shared/wakeup/commit.hpp"

namespace hipq::claim {

namespace {

using catalog::Queue;

constexpr std::int64_t interval = 1'000'000;  // us
constexpr std::int64_t longest_step = 10 * interval;
constexpr std::size_t most_doubts = 1'000;

// Claimers pass over a job with a paused key until the key is resumed.
bool has_paused_key(const Queue &queue, const WaitingRow &row)
{
    return queue.find_key_pause(row.job_type, row.throttle_key) != nullptr;
}

bool is_in_its_place(const Queue &queue, Oid leaf, const WaitingRow &row)
{
    if (has_paused_key(queue, row) || !lanes::lanes_are_known(queue.id) ||
        queue.has_left_in_order(row.key.id))  // the job goes to another node
        return true;
    const lanes::LaneRef lane = lanes::find_lane({leaf, queue.id, row.priority, row.job_type});
    // Check in this order: a claim puts the job into a prefetched batch before it takes it out of
    // the lane.
    return (lane.is_known() &&
            lanes::is_covered(lane, row.key, core::throttle_key_hash(row.throttle_key))) ||
           lanes::is_in_flight(MyDatabaseId, row.key.id);
}

// Describes what shared memory knows of a lane, to help to find the bug.
std::string describe(const lanes::LaneName &name)
{
    const lanes::LaneRef ref = lanes::find_lane(name);
    const auto lane = ref.is_known() ? lanes::copy_lane(ref) : std::nullopt;
    if (!lane.has_value())
        return "shared memory does not have its lane";
    return "its lane is read up to time " + std::to_string(lane->frontier.time) + ", id " +
           std::to_string(lane->frontier.id) + (lane->is_exhausted ? ", the end" : "") + "; " +
           std::to_string(lane->pockets.count) + " pockets, " + std::to_string(lane->inbox_count) +
           " notes, read by " + std::to_string(lane->owner);
}

void repair(const Queue &queue, Oid leaf, const WaitingRow &row)
{
    const lanes::LaneName lane{leaf, queue.id, row.priority, row.job_type};
    const std::string state = describe(lane);
    memory::raise_alert(memory::Alert::cursor_miss);
    pg::call([&] {
        ereport(WARNING,
                errmsg("job %lld waited where no executor would have looked for it",
                       static_cast<long long>(row.key.id)),
                errdetail("Queue \"%s\", job type \"%s\", priority %d, due at time %lld: %s.",
                          queue.name.c_str(), row.job_type.c_str(), row.priority,
                          static_cast<long long>(row.key.time), state.c_str()),
                errhint("Unless triggers were switched off, this is a bug in hipq."));
    });
    wakeup::note_lane_key(lane, row.key, queue.owner);
    job::note_due(queue, row.job_type, pg::Time{row.key.time}, pg::infinity);
}

// Checks the doubted job again, as it is now, if it still waits.
void look_again(const Audit::Doubt &doubt, const Queue &queue, pg::Time now)
{
    const WaitingRows found = read_waiting(queue, doubt.key.id - 1, 1, now);
    if (found.rows.empty() || found.rows.front().key != doubt.key)
        return;
    if (!is_in_its_place(queue, found.leaf, found.rows.front()))
        repair(queue, found.leaf, found.rows.front());
}

void look_at_doubts(Audit &audit, const catalog::Catalogue &catalogue, pg::Time now)
{
    for (const Audit::Doubt &doubt : std::exchange(audit.doubts, {}))
        if (const Queue *queue = catalogue.find(doubt.queue_id);
            queue != nullptr && catalog::try_to_lock(*queue))
            look_again(doubt, *queue, now);  // else the next walk finds it again
}

pg::Error unreadable_row()
{
    std::string message = "its row cannot be read as a job: it has NULL where each has a value";
    ErrorData data{};
    data.sqlerrcode = ERRCODE_DATA_CORRUPTED;
    data.message = message.data();
    return pg::Error(data);
}

// Sets aside rows that are no jobs. No process claims them, and they keep no other job from
// running.
void set_unreadable_aside(Audit &audit, const Queue &queue, const std::vector<std::int64_t> &ids,
                          pg::Time now)
{
    const pg::Error trouble = unreadable_row();
    for (const std::int64_t id : ids) {
        if (!audit.unreadable.insert({queue.id, id}).second)
            continue;
        job::note_set_aside(queue, id, trouble, now);
        job::report_set_aside(queue, id, trouble);
    }
}

// Walks through the next entries of one queue.
void walk(Audit &audit, const Queue &queue, std::size_t entries, pg::Time now)
{
    const WaitingRows found = read_waiting(queue, audit.position, entries, now);
    set_unreadable_aside(audit, queue, found.unreadable, now);
    for (const WaitingRow &row : found.rows)
        if (audit.doubts.size() < most_doubts && !is_in_its_place(queue, found.leaf, row))
            audit.doubts.push_back({queue.id, row.key});
    audit.position = found.position.value_or(0);
    audit.queue_id = queue.id + (found.position.has_value() ? 0 : 1);
}

// The queue that the walk is in, or the next one.
const Queue *next_queue(Audit &audit, const catalog::Catalogue &catalogue)
{
    auto found = catalogue.queues.lower_bound(audit.queue_id);
    if (found == catalogue.queues.end())
        found = catalogue.queues.begin();
    if (found == catalogue.queues.end())
        return nullptr;
    if (found->first != audit.queue_id)
        audit.position = 0;
    return &found->second;
}

}  // namespace

std::optional<std::int64_t> audit(Audit &audit, const catalog::Catalogue &catalogue, pg::Time now)
{
    const auto again = [&] {
        return audit.doubts.empty() ? std::nullopt : std::optional(interval);
    };
    const std::int64_t passed = std::min(now.value - audit.last.value, longest_step);
    if ((passed >= 0 && passed < interval) || settings::audit_rate == 0 ||
        !lanes::lanes_are_known())
        return again();
    audit.last = now;
    const Queue *queue = next_queue(audit, catalogue);
    if (queue == nullptr)
        return std::nullopt;
    process::do_duty(core::Duty::audit, nullptr,
                     [&] { pg::with_transaction([&] { look_at_doubts(audit, catalogue, now); }); });
    const bool has_walked = !queue->is_dropped && process::do_duty(core::Duty::audit, queue, [&] {
        pg::with_transaction([&] {
            catalog::lock_or_raise(*queue);
            walk(audit, *queue,
                 static_cast<std::size_t>(settings::audit_rate * std::max(passed, interval) /
                                          interval),
                 now);
        });
    });
    if (!has_walked)
        audit.queue_id = queue->id + 1;
    return again();
}

}  // namespace hipq::claim
