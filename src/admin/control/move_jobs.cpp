// hipq.move_jobs: moves waiting jobs to another queue. They keep their ids, times, retries and
// history.
#include "catalog/cache.hpp"
#include "catalog/checks.hpp"
#include "catalog/queue_hold.hpp"
#include "catalog/queue_statements.hpp"
#include "catalog/rights.hpp"
#include "core/shards/ids.hpp"
#include "core/shards/moved_key.hpp"
#include "enqueue/enqueue.hpp"
#include "job/batches/batch_rows.hpp"
#include "job/dependency_rows.hpp"
#include "job/log_rows.hpp"
#include "job/made_by_handler.hpp"
#include "nodes/nodes.hpp"
#include "pg/arguments.hpp"
#include "pg/internal_write.hpp"
#include "shared/wakeup/commit.hpp"
#include "shared/workers/offers.hpp"

namespace hipq::admin {

namespace {

using catalog::Queue;

// The columns that move with a job: all but queue_id, for which the queue's table has a default.
// Tables of 0.2.0 lack the last ones.
#define HIPQ_MOVED_COLUMNS(job_data)                                                               \
    job_data ", max_retries, manual_reason" HIPQ_OWN_COLUMNS("") HIPQ_GIVEN_COLUMNS("")            \
        HIPQ_ATTEMPT_COLUMNS("") "{waits}"
constexpr const char *columns = HIPQ_MOVED_COLUMNS("job_data");
// job_data must match the job type's parameters in the other queue.
constexpr const char *columns_as_they_come =
    HIPQ_MOVED_COLUMNS("hipq._fitting_data($3, job_type, id, job_data)");

// If keys of the other queue are unique for each shard key, jobs get the shard key that new jobs
// would have there.
constexpr std::string_view shard_key_as_it_is = ", shard_key";
constexpr const char *shard_key_there = "{+, {shard key of chosen}+}";

// $1 job type, $2 limit, $3 the other queue. A job that another session has locked, such as an
// executor that runs it, is skipped; a job whose key is taken in the other queue stays, and so does
// one that waits for the job with its key in this queue. Only jobs that were inserted into the
// other table are deleted from this one.
constexpr const char *move_sql = R"(
    WITH chosen AS MATERIALIZED (
        SELECT {columns}
        FROM {from} AS job
        WHERE job.job_type = $1 AND job.state IN ('initial', 'retry') {and no follower}
          AND (job.job_key = 'NONE' OR NOT EXISTS (SELECT FROM {to_live} AS holder WHERE holder.job_type = $1 AND holder.job_key = job.job_key
              {+AND holder.shard_key COLLATE "C" = {shard key of job}+}))
        ORDER BY job.id
        LIMIT $2
        FOR UPDATE OF job SKIP LOCKED
    ),
    placed AS (
        INSERT INTO {to} ({columns})
        SELECT {columns as they come} FROM chosen ORDER BY chosen.id
        ON CONFLICT DO NOTHING
        RETURNING id
    )
    DELETE FROM {from} AS job USING placed WHERE job.id = placed.id
    RETURNING job.id)";

// Jobs that stay because of their keys.
constexpr const char *count_held_sql = R"(
    SELECT count(*)
    FROM {from} AS job
    JOIN {to_live} AS holder ON holder.job_type = job.job_type AND holder.job_key = job.job_key
        {+AND holder.shard_key COLLATE "C" = {shard key of job}+}
    WHERE job.job_type = $1 AND job.job_key <> 'NONE' AND job.state IN ('initial', 'retry')
      {and no follower})";

// $1 job type, $2 to $4 the limits of the other queue.
constexpr const char *too_much_sql = R"(
    SELECT job.id, job.timeout, job.priority::integer, job.throttle_factor::float8
    FROM {from} AS job
    WHERE job.job_type = $1 AND job.state IN ('initial', 'retry')
      AND (job.timeout > $2 OR job.priority < $3 OR job.throttle_factor = 0 AND NOT $4)
    ORDER BY job.id
    LIMIT 1)";

constinit pg::Statement
    move_history("UPDATE hipq.attempt SET queue_id = $2 WHERE queue_id = $1 AND job_id = ANY ($3)");

// Jobs that are for one worker stay so.
constinit pg::Statement move_aimed_jobs(
    "UPDATE hipq.aimed_job SET queue_id = $2 WHERE queue_id = $1 AND job_id = ANY ($3)");

std::string with_shard_key_there(std::string list, const Queue &to)
{
    if (to.has_keys_by_shard())
        list.replace(list.find(shard_key_as_it_is), shard_key_as_it_is.size(), shard_key_there);
    return list;
}

// Fills in the placeholders of a statement. Moves are rare enough to plan it each time.
std::string between(const char *text, const Queue &from, const Queue &to)
{
    const bool has_waits = from.has_waits;
    const std::array<std::pair<std::string_view, std::string>, 7> names{
        {{"{columns}", columns},
         {"{columns as they come}", with_shard_key_there(columns_as_they_come, to)},
         {"{waits}", has_waits ? ", waits_for, batch_id, schedule_time" : ""},
         {"{and no follower}", has_waits ? "AND job.waits_for IS DISTINCT FROM 'key'" : ""},
         {"{from}", from.qualified_live_table()},
         {"{to_live}", to.qualified_live_table()},
         {"{to}", to.qualified_table()}}};
    std::string sql = text;
    for (const auto &[placeholder, name] : names)
        for (std::size_t at = sql.find(placeholder); at != std::string::npos;
             at = sql.find(placeholder, at + name.size()))
            sql.replace(at, placeholder.size(), name);
    constexpr std::string_view kept = "{shard key of ";
    if (!core::keeps_shard_key(from.shard_key, to.shard_key))
        for (std::size_t at = sql.find(kept); at != std::string::npos; at = sql.find(kept, at + 1))
            sql.replace(at, kept.size(), "{found shard key of ");
    return catalog::with_scope_of_keys(std::move(sql), to);
}

const Queue &require_controlled(const catalog::Catalogue &catalogue, const std::string &name)
{
    const Queue &queue = catalog::require_known_queue(catalogue, name);
    catalog::require(queue, catalog::Privilege::control);
    catalog::demand_not_held(queue);
    return queue;
}

// The caps of the target queue apply to the jobs. Defaults of the type there do not matter, because
// the jobs bring their own values.
void demand_caps(const Queue &from, const Queue &to, const std::string &job_type)
{
    const core::JobCaps &caps = to.caps;
    const pg::Rows rows = pg::as_hipq([&] {
        return pg::run_once(between(too_much_sql, from, to), job_type, caps.max_timeout,
                            caps.highest_priority, caps.allows_free_jobs);
    });
    for (const pg::Row row : rows) {
        pg::demand(core::check_timeout_cap(row.integer32(1), caps));
        pg::demand(core::check_priority_cap(row.integer32(2), caps));
        pg::demand(core::check_factor_cap(row.number(3), caps));
    }
}

struct Moved {
    std::vector<std::int64_t> ids;
    std::int64_t held;
};

Moved move_between(const Queue &from, const Queue &to, const std::string &job_type,
                   std::int64_t most)
{
    return pg::as_hipq([&] {
        Moved moved{{}, 0};
        for (const pg::Row row :
             pg::run_once(between(move_sql, from, to), job_type, most, std::int32_t{to.id}))
            moved.ids.push_back(row.integer(0));
        std::ranges::for_each(moved.ids, workers::note_offer_void);
        move_history.run(std::int32_t{from.id}, std::int32_t{to.id}, moved.ids);
        job::move_log(from.id, to.id, moved.ids);
        if (move_aimed_jobs.run(std::int32_t{from.id}, std::int32_t{to.id}, moved.ids).processed() >
            0)
            wakeup::note_aimed_job();
        job::move_made_jobs(moved.ids, from, to);
        job::move_members(to, moved.ids);
        if (from.has_waits && job::move_dependencies(from, to, moved.ids))
            enqueue::demand_dependencies(to);
        moved.held = pg::run_once(between(count_held_sql, from, to), job_type).front().integer(0);
        return moved;
    });
}

bool have_shards(const Queue &from, const Queue &to)
{
    return from.shards != nullptr || to.shards != nullptr;
}

// An id says on which server of its instance the job is.
void demand_same_instance(const Queue &from, const Queue &to)
{
    if (have_shards(from, to) && from.instance_id != to.instance_id)
        HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                   errmsg("jobs cannot be moved to another instance if one of the two has shards"),
                   errdetail("Ids of jobs say on which server of their instance they are."),
                   errhint("Cancel the jobs and enqueue them there."));
}

// Ids keep their slots, and the slot lets one node see all jobs that may be duplicates of each
// other.
void demand_same_scope(const Queue &from, const Queue &to)
{
    const bool is_same = from.has_keys_by_shard() == to.has_keys_by_shard() &&
                         (!from.has_keys_by_shard() || from.shard_key_text == to.shard_key_text);
    if (have_shards(from, to) && !is_same)
        HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                   errmsg("jobs of a sharded instance cannot be moved to a queue whose keys have "
                          "another scope"),
                   errdetail("The queues differ in unique_scope, or in the shard_key by which keys "
                             "are unique."),
                   errhint("Cancel the jobs and enqueue them there."));
}

// $1 ids, $2 whether the queues place keys alike, $3 the first id that is not plain. Jobs from
// before the instance had shards are not placed by their keys.
constexpr const char *select_misplaced_sql = R"(
    SELECT FROM {to_live} AS job
    WHERE job.id = ANY ($1) AND job.job_key <> 'NONE' AND (NOT $2 OR job.id < $3)
    LIMIT 1)";

// A new job with the key of a moved one must be recognized as its duplicate.
void demand_same_places(const Queue &from, const Queue &to, const std::vector<std::int64_t> &moved)
{
    const bool is_alike = nodes::place_keys_alike(from, to);
    if (!have_shards(from, to) || (is_alike && !to.shard_key.has_value()))
        return;
    const bool has_misplaced = pg::as_hipq([&] {
        return !pg::run_once(between(select_misplaced_sql, from, to), moved, is_alike,
                             core::first_id)
                    .empty();
    });
    if (has_misplaced)
        HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                   errmsg("jobs with keys cannot be moved to a queue that would place them on "
                          "another server"),
                   errdetail("They keep their ids, and with them their server, so new jobs with "
                             "their keys would not be known as duplicates."),
                   errhint("Cancel the jobs and enqueue them there."));
}

void move_jobs(FunctionCallInfo fcinfo)
{
    const pg::Arguments arguments(fcinfo);
    const std::string job_type = arguments.text("job_type");
    const std::int64_t most = catalog::check_most(arguments.integer("max_jobs"));
    const auto catalogue = catalog::catalogue();
    const Queue &from = require_controlled(*catalogue, arguments.text("from_queue"));
    const Queue &to = require_controlled(*catalogue, arguments.text("to_queue"));
    if (from.id == to.id)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("both queues are the same"),
                   errhint("Name another queue to move jobs to."));
    catalog::require_to_carry(from, to);
    if (to.find_job_type(job_type) == nullptr)
        catalog::raise_unknown_type(job_type, to.full_name());
    demand_same_instance(from, to);
    demand_same_scope(from, to);
    demand_caps(from, to, job_type);
    pg::ResultSet result(fcinfo);
    const Moved moved = move_between(from, to, job_type, most);
    demand_same_places(from, to, moved.ids);
    result.add(static_cast<std::int64_t>(moved.ids.size()), moved.held);
}

}  // namespace

}  // namespace hipq::admin

HIPQ_FUNCTION(hipq_move_jobs)
{
    hipq::admin::move_jobs(fcinfo);
    return hipq::pg::return_void();
}
