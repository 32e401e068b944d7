// Returns the number of unfinished jobs of a queue and the time at which the first of them was due,
// hipq._depth(). It reads the table, because after a crash neither shared memory nor the server's
// statistics know.
//
// A small table is read whole, which takes less time than starting a statement. For a large table
// the number is an estimate: the server's if the table has been vacuumed or analyzed, otherwise one
// from a sample.
#include <algorithm>

#include "catalog/cache.hpp"
#include "catalog/queue_by_queue.hpp"
#include "catalog/queue_statements.hpp"
#include "catalog/visible_queues.hpp"
#include "claim/claim.hpp"
#include "job/job_row.hpp"
#include "job/plain_table.hpp"
#include "pg/arguments.hpp"
#include "pg/clock.hpp"
#include "pg/compat.hpp"
#include "shared/executors/running_jobs.hpp"

extern "C" {
#include "access/tableam.h"
#include "utils/snapmgr.h"
}

namespace hipq::monitor {

namespace {

using core::Column;

constexpr BlockNumber most_pages_read = 32;  // 256 kB, some 0.1 ms

// $1 pages, of about 30 rows each.
constexpr const char *sample_sql = R"(
    SELECT round(count(*) * 100 / sample.percent)::bigint
    FROM (
        SELECT least(100.0, 100.0 * $1 / greatest(1, pg_relation_size('{live}'::regclass) / current_setting('block_size')::integer)) AS percent
    ) AS sample
    CROSS JOIN LATERAL (SELECT FROM {live} AS job TABLESAMPLE SYSTEM (sample.percent) REPEATABLE (0)) AS job
    GROUP BY sample.percent)";
constexpr std::int64_t pages_in_sample = 100;

struct Depth {
    std::optional<std::int64_t> jobs{};  // nothing: another session has locked the queue
    bool is_exact = false;
    pg::Time oldest_due = pg::infinity;  // of the waiting jobs
};

// ---- call inside pg::call() only ----

// The input and the results of reading a small table.
struct Reading {
    Relation live;
    job::ColumnMap map;
    std::array<Oid, 2> waiting;  // the states of waiting jobs
    std::int64_t now;
    std::span<const std::int64_t> running;  // sorted; their rows still say that they wait
    std::int64_t jobs;
    std::int64_t oldest_due;

    void read();

private:
    void look_at(TupleTableSlot *slot);
    Datum value(TupleTableSlot *slot, Column column) const;
};

// Returns a column that is never NULL.
Datum Reading::value(TupleTableSlot *slot, Column column) const
{
    bool is_null = false;
    return ::slot_getattr(slot, map[static_cast<std::size_t>(column)], &is_null);
}

void Reading::look_at(TupleTableSlot *slot)
{
    ++jobs;
    if (job::is_unreadable(slot, map))
        return;
    const std::int64_t due = DatumGetTimestampTz(value(slot, Column::scheduled_run_time));
    if (due > now || due >= oldest_due)
        return;
    const Oid state = DatumGetObjectId(value(slot, Column::state));
    if (std::ranges::find(waiting, state) != waiting.end() && !job::is_held(slot, map) &&
        DatumGetTimestampTz(value(slot, Column::expires_time)) > now &&
        !std::ranges::binary_search(running, DatumGetInt64(value(slot, Column::id))))
        oldest_due = due;
}

void Reading::read()
{
    TupleTableSlot *slot = ::table_slot_create(live, nullptr);
    TableScanDesc scan =
        ::table_beginscan_strat(live, ::GetActiveSnapshot(), 0, nullptr, true, false);
    while (::table_scan_getnextslot(scan, ForwardScanDirection, slot)) {
        CHECK_FOR_INTERRUPTS();
        look_at(slot);
    }
    ::table_endscan(scan);
    ::ExecDropSingleTupleTableSlot(slot);
}

// ---- C++ ----

std::vector<std::int64_t> running_by_lock()
{
    std::vector<std::int64_t> running = executors::jobs_claimed_by_lock();
    std::sort(running.begin(), running.end());
    return running;
}

// Looks up the running jobs only if one seems to be due: that takes as long as the reading.
Depth read_whole(Relation live, pg::Time now)
{
    Reading reading{live,
                    job::column_map(live),
                    {DatumGetObjectId(job::state_datum(core::JobState::initial)),
                     DatumGetObjectId(job::state_datum(core::JobState::retry))},
                    now.value,
                    {},
                    0,
                    pg::infinity.value};
    pg::call([&] { reading.read(); });
    std::vector<std::int64_t> running;
    if (reading.oldest_due != pg::infinity.value)
        running = running_by_lock();
    if (!running.empty()) {
        reading.running = running;
        reading.jobs = 0;
        reading.oldest_due = pg::infinity.value;
        pg::call([&] { reading.read(); });
    }
    return {reading.jobs, true, pg::Time{reading.oldest_due}};
}

// Uses the index, lane by lane. A lane whose first row is not a waiting job needs a statement.
pg::Time oldest_due(const catalog::Queue &queue, pg::Time now)
{
    pg::Time oldest = pg::infinity;
    const auto starts = claim::lane_starts(queue);
    if (starts.has_value() && std::ranges::none_of(*starts, [&](const claim::LaneStart &start) {
            return start.first <= now;
        }))
        return oldest;
    for (const claim::LaneHead &head : claim::lane_heads(queue, now))
        if (head.due <= now)
            oldest = std::min(oldest, head.due);
    return oldest;
}

std::int64_t sampled_rows(const catalog::Queue &queue)
{
    const pg::Rows rows = catalog::statement_for(queue, sample_sql).run(pages_in_sample);
    return rows.empty() ? 0 : rows.front().integer(0);
}

Depth estimate(const catalog::Queue &queue, Oid live, pg::Time now)
{
    const pg::Time due = oldest_due(queue, now);
    const std::optional<std::int64_t> counted = pg::call([&] { return pg::counted_rows(live); });
    const std::int64_t jobs = counted.has_value() ? *counted : sampled_rows(queue);
    return {std::max<std::int64_t>(jobs, due < pg::infinity ? 1 : 0), false, due};
}

Depth depth_of(const catalog::Queue &queue, pg::Time now)
{
    const std::string name = queue.live_table();
    Relation live = pg::call([&] { return job::open_table(name.c_str(), AccessShareLock); });
    const bool is_small =
        pg::call([&] { return RelationGetNumberOfBlocks(live) <= most_pages_read; });
    const Depth depth =
        is_small ? read_whole(live, now) : estimate(queue, RelationGetRelid(live), now);
    pg::call([&] { ::relation_close(live, NoLock); });
    return depth;
}

// Returns an empty result for a queue that is being dropped, that the caller may not see, or that
// another session has locked.
Depth find_depth(int queue_id)
{
    Depth depth;
    catalog::VisibleQueues visible_queues;
    const catalog::Queue *queue = visible_queues.visible(queue_id);
    if (queue != nullptr && !queue->is_dropped)
        catalog::read_or_leave_out(*queue, [&] { depth = depth_of(*queue, pg::now()); });
    return depth;
}

}  // namespace

}  // namespace hipq::monitor

HIPQ_FUNCTION(hipq__depth)
{
    const auto depth =
        hipq::monitor::find_depth(hipq::pg::Arguments(fcinfo).integer({0, "queue_id"}));
    const bool has_due = depth.oldest_due < hipq::pg::infinity;
    return hipq::pg::return_row(fcinfo, depth.jobs, depth.is_exact,
                                has_due ? std::optional(depth.oldest_due) : std::nullopt);
}
