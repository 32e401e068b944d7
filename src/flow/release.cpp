// Makes held jobs claimable, without SQL where possible.
//
// A released job is due from then on: its place in the lane, and the time that it has waited, count
// from its release.
#include "flow/release.hpp"

#include "catalog/queue_statements.hpp"
#include "flow/flow.hpp"
#include "job/job_row.hpp"
#include "job/live_rows.hpp"
#include "job/note_waiting.hpp"
#include "pg/internal_write.hpp"
#include "pg/point.hpp"
#include "pg/subtransaction.hpp"
#include "pg/transaction.hpp"
#include "shared/wakeup/commit.hpp"
#include "shared/wakeup/watched_jobs.hpp"

namespace hipq::flow {

namespace {

using catalog::Queue;
using core::Column;

// $1 ids, $2 now
constexpr const char *release_sql = R"(
    UPDATE {live} AS job
    SET waits_for = NULL, scheduled_run_time = greatest(job.scheduled_run_time, $2)
    FROM (
        SELECT waiting.id FROM {live} AS waiting
        WHERE waiting.id = ANY ($1) AND waiting.waits_for IS NOT NULL
        FOR UPDATE SKIP LOCKED
    ) AS chosen
    WHERE job.id = chosen.id
    RETURNING job.id)";

// False: the row is locked. A job that is not held any more needs nothing.
bool release_row(job::LiveRows &rows, const Queue &queue, std::int64_t id, pg::Time now)
{
    job::RowValues *row = rows.find({id});
    if (row == nullptr || row->null(Column::waits_for))
        return true;
    row->set_null(Column::waits_for);
    row->set(Column::scheduled_run_time,
             TimestampTzGetDatum(std::max(row->as_int64(Column::scheduled_run_time), now.value)));
    constexpr std::array changed{Column::waits_for, Column::scheduled_run_time};
    if (!rows.change(*row, changed).has_value())
        return false;
    job::note_if_waiting(rows.leaf(), *row, queue);
    return true;
}

std::vector<std::int64_t> release_by_sql(const Queue &queue, std::span<const std::int64_t> ids,
                                         pg::Time now)
{
    std::set<std::int64_t> locked(ids.begin(), ids.end());
    const pg::Rows rows = pg::as_hipq([&] {
        return catalog::statement_for(queue, release_sql)
            .run(std::vector(ids.begin(), ids.end()), now);
    });
    for (const pg::Row row : rows)
        locked.erase(row.integer(0));
    return {locked.begin(), locked.end()};
}

}  // namespace

std::vector<std::int64_t> release(const Queue &queue, std::span<const std::int64_t> ids,
                                  pg::Time now)
{
    if (ids.empty())
        return {};
    auto rows = job::LiveRows::open_to_write(queue);
    if (!rows.has_value())
        return release_by_sql(queue, ids, now);
    std::vector<std::int64_t> locked;
    pg::as_hipq([&] {  // an index may call functions for which this role has no rights
        for (const std::int64_t id : ids)
            if (!release_row(*rows, queue, id, now))
                locked.push_back(id);
    });
    rows->close();
    return locked;
}

bool release_follower(const Queue &queue, std::int64_t id, pg::Time now)
{
    bool is_released = false;
    const auto error = pg::in_subtransaction(pg::Ending::kept, [&] {
        is_released = release(queue, {&id, 1}, now).empty();
    });
    if (error.has_value() && error->sqlerrcode() != ERRCODE_UNIQUE_VIOLATION &&
        error->sqlerrcode() != ERRCODE_LOCK_NOT_AVAILABLE)
        throw *error;  // NOLINT(cert-err60-cpp): as it came
    return !error.has_value() && is_released;
}

}  // namespace hipq::flow
