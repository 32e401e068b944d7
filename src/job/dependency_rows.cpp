// Reads and writes rows of hipq.dependency.
//
// Only the extension owner may access the table.
#include "job/dependency_rows.hpp"

#include "catalog/queue_statements.hpp"
#include "job/batches/batch_rows.hpp"
#include "pg/internal_write.hpp"
#include "pg/transaction.hpp"
#include "shared/wakeup/watched_jobs.hpp"

namespace hipq::job {

namespace {

constinit pg::Statement insert_rows(R"(
    INSERT INTO hipq.dependency (queue_id, job_id, before_id, before_queue_id, after_policy, on_failure)
    SELECT $1, job.id, earlier.id, earlier.queue_id::integer, $5, $6
    FROM unnest($2) AS job (id)
    CROSS JOIN unnest($3, $4) AS earlier (id, queue_id))");

constinit pg::Statement update_follower(R"(
    UPDATE hipq.dependency SET before_id = $3 WHERE queue_id = $1 AND job_id = $2 AND before_id <> $3)");

// A follower that came from another database or node has no row yet.
constinit pg::Statement insert_follower(R"(
    INSERT INTO hipq.dependency (queue_id, job_id, before_id, before_queue_id, after_policy, on_failure)
    VALUES ($1, $2, $3, $1, 'finished', 'run')
    ON CONFLICT DO NOTHING)");

// $1 the old queue, $2 the new one, $3 jobs
constinit pg::Statement move_later(R"(
    UPDATE hipq.dependency SET queue_id = $2 WHERE queue_id = $1 AND job_id = ANY ($3)
    RETURNING before_id)");
constinit pg::Statement move_earlier(R"(
    UPDATE hipq.dependency SET before_queue_id = $2 WHERE before_queue_id = $1 AND before_id = ANY ($3)
    RETURNING before_id)");

// $1 jobs before, $2 and $3 the place, $4 limit. Without the search for each job before, the
// planner may read all rows in the order of the result.
constinit pg::Statement select_later(R"(
    SELECT DISTINCT later.queue_id, later.job_id
    FROM unnest($1) AS earlier (id)
    CROSS JOIN LATERAL (
        SELECT dependency.queue_id, dependency.job_id
        FROM hipq.dependency AS dependency
        WHERE dependency.before_id = earlier.id AND (dependency.queue_id, dependency.job_id) > ($2, $3)
        ORDER BY dependency.queue_id, dependency.job_id
        LIMIT $4
    ) AS later
    ORDER BY later.queue_id, later.job_id
    LIMIT $4)");

// $1 the earliest expires_time. OFFSET makes the planner search the few rows after each batch by
// the index, instead of reading all rows.
constinit pg::Statement select_after_open(R"(
    SELECT batch.expires_time, later.queue_id, later.job_id
    FROM hipq.batch AS batch
    CROSS JOIN LATERAL (
        SELECT dependency.queue_id, dependency.job_id
        FROM hipq.dependency AS dependency
        WHERE dependency.before_id = batch.batch_id AND dependency.before_queue_id = 0
        OFFSET 0
    ) AS later
    WHERE batch.closed_time IS NULL AND batch.expires_time >= $1)");

// A loose index scan, which steps from one queue to the next.
constinit pg::Statement select_queues(R"(
    WITH RECURSIVE queue AS (
        (SELECT dependency.queue_id FROM hipq.dependency AS dependency ORDER BY dependency.queue_id LIMIT 1)
        UNION ALL
        SELECT (
            SELECT dependency.queue_id
            FROM hipq.dependency AS dependency
            WHERE dependency.queue_id > queue.queue_id
            ORDER BY dependency.queue_id
            LIMIT 1
        )
        FROM queue
        WHERE queue.queue_id IS NOT NULL
    )
    SELECT queue.queue_id FROM queue WHERE queue.queue_id IS NOT NULL)");

constinit pg::Statement select_queues_before(R"(
    SELECT DISTINCT dependency.before_queue_id
    FROM hipq.dependency AS dependency
    WHERE dependency.queue_id = $1 AND dependency.job_id = ANY ($2))");

constinit pg::Statement select_batches_before(R"(
    SELECT dependency.job_id, dependency.before_id, dependency.after_policy, dependency.on_failure
    FROM hipq.dependency AS dependency
    WHERE dependency.queue_id = $1 AND dependency.job_id = ANY ($2) AND dependency.before_queue_id = 0)");

// How the job of a row named "job" has ended.
#define HIPQ_OUTCOME                                                                               \
    "CASE WHEN job.state <> 'final' THEN 'unfinished' WHEN job.error = 'NONE' THEN 'succeeded' "   \
    "WHEN job.retry_reason IN ('skipped', 'cancelled', 'expired') THEN job.retry_reason "          \
    "ELSE 'failed' END"

// The limit makes each row be searched by the indexes on id, live leaf first, however many jobs
// there are: the planner, which does not know the ids, might read all of them.
#define HIPQ_PRESENT_ROW                                                                           \
    "SELECT " HIPQ_OUTCOME " AS outcome, "                                                         \
    "CASE WHEN job.retry_reason IN ('predecessor_failed', 'skipped') "                             \
    "THEN (job.result ->> 'cause')::bigint END AS cause "                                          \
    "FROM {table} AS job WHERE job.id = dependency.before_id LIMIT 1"

// $1 queue, $2 jobs, $3 the queue of the jobs before them
#define HIPQ_WAIT_STATES(present_row)                                                              \
    "SELECT state.job_id, state.after_policy, state.on_failure, "                                  \
    "count(*) FILTER (WHERE state.outcome = 'unfinished'), "                                       \
    "count(*) FILTER (WHERE state.outcome = 'succeeded'), "                                        \
    "count(*) FILTER (WHERE state.outcome = 'skipped'), "                                          \
    "count(*) FILTER (WHERE state.outcome NOT IN ('unfinished', 'succeeded', 'skipped')), "        \
    "max(state.before_id) FILTER (WHERE state.outcome = 'unfinished'), "                           \
    "(array_agg(state.cause ORDER BY state.before_id) "                                            \
    "FILTER (WHERE state.outcome NOT IN ('unfinished', 'succeeded')))[1] "                         \
    "FROM (SELECT dependency.job_id, dependency.before_id, dependency.after_policy, "              \
    "dependency.on_failure, coalesce(dependency.outcome, present.outcome, 'gone') AS outcome, "    \
    "coalesce(CASE WHEN dependency.outcome <> 'succeeded' "                                        \
    "THEN (dependency.result ->> 'cause')::bigint END, present.cause, dependency.before_id) "      \
    "AS cause "                                                                                    \
    "FROM hipq.dependency AS dependency LEFT JOIN LATERAL (" present_row ") AS present ON true "   \
    "WHERE dependency.queue_id = $1 AND dependency.job_id = ANY ($2) "                             \
    "AND dependency.before_queue_id = $3) AS state "                                               \
    "GROUP BY state.job_id, state.after_policy, state.on_failure"

constexpr const char *wait_states_sql = HIPQ_WAIT_STATES(HIPQ_PRESENT_ROW);

// For jobs before that were in a queue that is gone.
constinit pg::Statement wait_states_without_queue(
    HIPQ_WAIT_STATES("SELECT NULL::text AS outcome, NULL::bigint AS cause WHERE false"));

// $1 queue, $2 job, $3 the queue of the jobs before it
constexpr const char *unfinished_before_sql = R"(
    SELECT dependency.before_id
    FROM hipq.dependency AS dependency
    JOIN {live} AS job ON job.id = dependency.before_id
    WHERE dependency.queue_id = $1 AND dependency.job_id = $2 AND dependency.before_queue_id = $3)";

// A job with jobs before it in several queues has a row for each of these.
void add(WaitState &state, const WaitState &more)
{
    state.before.unfinished += more.before.unfinished;
    state.before.succeeded += more.before.succeeded;
    state.before.skipped += more.before.skipped;
    state.before.failed += more.before.failed;
    state.to_watch.insert(state.to_watch.end(), more.to_watch.begin(), more.to_watch.end());
    if (!state.cause.has_value())
        state.cause = more.cause;
    if (more.look_again.has_value())
        state.look_again = std::min(state.look_again.value_or(pg::infinity), *more.look_again);
    state.is_joined = state.is_joined || more.is_joined;
}

WaitState state_of(const pg::Row &row)
{
    WaitState state{row.integer(0),
                    core::parse_after_policy(row.text(1)).value(),
                    core::parse_on_failure(row.text(2)).value(),
                    {row.integer(3), row.integer(4), row.integer(5), row.integer(6)},
                    {},
                    row.maybe_integer(8)};
    if (!row.null(7))
        state.to_watch.push_back(row.integer(7));
    return state;
}

void add_unfinished(std::vector<std::int64_t> &ids, const catalog::Queue &queue,
                    const catalog::Queue &before_queue, std::int64_t job_id)
{
    for (const pg::Row row : catalog::statement_for(before_queue, unfinished_before_sql)
                                 .run_in_snapshot(queue.id, job_id, before_queue.id))
        ids.push_back(row.integer(0));
}

// Whether each end may decide, or all of few jobs are watched.
bool watches_all(const WaitState &state)
{
    const core::Before &before = state.before;
    const auto count = before.unfinished + before.succeeded + before.skipped + before.failed;
    return state.policy == core::AfterPolicy::any ||
           count <= static_cast<std::int64_t>(core::few_jobs_before);
}

using StatesByJob = std::map<std::int64_t, WaitState>;

void read_states(StatesByJob &states, const catalog::Catalogue &catalogue,
                 const catalog::Queue &queue, const std::vector<std::int64_t> &ids,
                 int before_queue_id)
{
    const catalog::Queue *before_queue = catalogue.find(before_queue_id);
    const bool is_gone = before_queue == nullptr || before_queue->is_dropped;
    pg::Statement &select = is_gone ? wait_states_without_queue
                                    : catalog::statement_for(*before_queue, wait_states_sql);
    for (const pg::Row row : select.run_in_snapshot(queue.id, ids, before_queue_id)) {
        WaitState state = state_of(row);
        if (!is_gone && watches_all(state) && !state.to_watch.empty()) {
            state.to_watch.clear();
            add_unfinished(state.to_watch, queue, *before_queue, state.job_id);
        }
        const auto [known, is_new] = states.try_emplace(state.job_id, state);
        if (!is_new)
            add(known->second, state);
    }
}

// A batch is one thing that a job comes after. It has failed as soon as one of its jobs has, and
// has ended when all have.
WaitState state_after_batch(std::int64_t job_id, core::AfterPolicy policy,
                            core::OnFailure on_failure, std::int64_t batch_id,
                            const std::optional<BatchState> &batch)
{
    WaitState state{job_id, policy, on_failure, {}, {}, std::nullopt};
    if (!batch.has_value()) {
        state.before.failed = 1;
        state.cause = batch_id;
        return state;
    }
    const bool is_complete = batch->is_complete();
    state.before = {is_complete ? 0 : 1,
                    is_complete && !batch->failed.has_value() && !batch->skipped.has_value() ? 1
                                                                                             : 0,
                    batch->skipped.has_value() ? 1 : 0, batch->failed.has_value() ? 1 : 0};
    state.cause = batch->failed.has_value() ? batch->failed : batch->skipped;
    state.look_again = batch->open_until;
    state.is_joined = batch->is_joined;
    if (!is_complete)
        state.to_watch.push_back(batch_id);
    if (!is_complete && batch->unfinished.has_value() && !batch->open_until.has_value())
        state.to_watch.push_back(*batch->unfinished);
    return state;
}

void add_batches(StatesByJob &states, const catalog::Catalogue &catalogue,
                 const catalog::Queue &queue, const std::vector<std::int64_t> &ids)
{
    std::map<std::int64_t, std::optional<BatchState>> batches;
    for (const pg::Row row : select_batches_before.run(queue.id, ids)) {
        const std::int64_t batch_id = row.integer(1);
        const auto known = batches.find(batch_id);
        const auto batch =
            known != batches.end()
                ? known
                : batches.emplace(batch_id, state_of_batch(catalogue, batch_id)).first;
        const WaitState state =
            state_after_batch(row.integer(0), core::parse_after_policy(row.text(2)).value(),
                              core::parse_on_failure(row.text(3)).value(), batch_id, batch->second);
        const auto [job, is_new] = states.try_emplace(state.job_id, state);
        if (!is_new)
            add(job->second, state);
    }
}

}  // namespace

void insert_dependencies(const catalog::Queue &queue, std::span<const std::int64_t> job_ids,
                         const After &after)
{
    std::vector<std::int64_t> ids;
    std::vector<std::int64_t> queues;
    for (const JobBefore &before : after.jobs) {
        ids.push_back(before.id);
        queues.push_back(before.queue_id);
    }
    pg::as_hipq([&] {
        insert_rows.run(queue.id, std::vector(job_ids.begin(), job_ids.end()), ids, queues,
                        name(after.policy), name(after.on_failure));
    });
}

bool follow(const catalog::Queue &queue, std::int64_t follower, std::int64_t holder)
{
    return pg::as_hipq([&] {
        return update_follower.run(queue.id, follower, holder).processed() +
                   insert_follower.run(queue.id, follower, holder).processed() >
               0;
    });
}

bool move_dependencies(const catalog::Queue &from, const catalog::Queue &to,
                       const std::vector<std::int64_t> &job_ids)
{
    static constinit pg::Statement move_names(
        "UPDATE hipq.graph_job SET queue_id = $2 WHERE queue_id = $1 AND job_id = ANY ($3)");
    std::set<std::int64_t> earlier;
    pg::as_hipq([&] {
        move_names.run(from.id, to.id, job_ids);
        for (pg::Statement *const statement : {&move_later, &move_earlier})
            for (const pg::Row row : statement->run(from.id, to.id, job_ids))
                earlier.insert(row.integer(0));
    });
    for (const std::int64_t id : earlier)
        wakeup::watch_older_job(id);
    return !earlier.empty();
}

std::vector<LaterJob> jobs_after(std::span<const std::int64_t> before_ids, LaterJob from,
                                 std::int64_t most)
{
    const pg::Rows rows = pg::as_hipq([&] {
        return select_later.run(std::vector(before_ids.begin(), before_ids.end()), from.queue_id,
                                from.id, most);
    });
    std::vector<LaterJob> jobs;
    for (const pg::Row row : rows)
        jobs.push_back({row.integer32(0), row.integer(1)});
    return jobs;
}

std::set<std::pair<pg::Time, LaterJob>> jobs_after_open_batches(pg::Time since)
{
    std::set<std::pair<pg::Time, LaterJob>> jobs;
    for (const pg::Row row : pg::as_hipq([&] { return select_after_open.run(since); }))
        jobs.insert({row.time(0), LaterJob{row.integer32(1), row.integer(2)}});
    return jobs;
}

std::vector<int> queues_with_dependencies()
{
    std::vector<int> ids;
    for (const pg::Row row : pg::as_hipq([] { return select_queues.run(); }))
        ids.push_back(row.integer32(0));
    return ids;
}

std::vector<WaitState> wait_states(const catalog::Catalogue &catalogue, const catalog::Queue &queue,
                                   std::span<const std::int64_t> job_ids)
{
    StatesByJob states;
    bool have_batches = false;
    const std::vector<std::int64_t> ids(job_ids.begin(), job_ids.end());
    pg::as_hipq([&] {
        // One snapshot, because jobs may move from one queue to another meanwhile.
        pg::call([] {
            ::CommandCounterIncrement();
            ::PushActiveSnapshot(::GetLatestSnapshot());
        });
        for (const pg::Row row : select_queues_before.run_in_snapshot(queue.id, ids))
            if (row.integer32(0) == queue_of_batches)
                have_batches = true;
            else
                read_states(states, catalogue, queue, ids, row.integer32(0));
        pg::call([] { ::PopActiveSnapshot(); });
        if (have_batches)
            add_batches(states, catalogue, queue, ids);
    });
    std::vector<WaitState> result;
    for (auto &[id, state] : states)
        result.push_back(std::move(state));
    return result;
}

std::vector<std::int64_t> batches_before(const catalog::Queue &queue, std::int64_t job_id)
{
    std::vector<std::int64_t> ids;
    for (const pg::Row row :
         pg::as_hipq([&] { return select_batches_before.run(queue.id, std::vector{job_id}); }))
        ids.push_back(row.integer(1));
    return ids;
}

std::vector<std::int64_t> unfinished_before(const catalog::Catalogue &catalogue,
                                            const catalog::Queue &queue, std::int64_t job_id)
{
    std::vector<std::int64_t> ids;
    pg::as_hipq([&] {
        for (const pg::Row row :
             select_queues_before.run(queue.id, std::vector<std::int64_t>{job_id}))
            if (const catalog::Queue *before_queue = catalogue.find(row.integer32(0));
                before_queue != nullptr && !before_queue->is_dropped)
                add_unfinished(ids, queue, *before_queue, job_id);
    });
    std::ranges::sort(ids);
    return ids;
}

// The name that a job has in its graph is kept as long as jobs are kept that come after it.
void keep_outcomes(const std::string &table, std::optional<pg::Time> until)
{
    const std::string going = table + " AS job WHERE ($1 IS NULL OR job.update_time <= $1) AND ";
    const std::string is_going = "EXISTS (SELECT FROM " + going + "job.id = ";
    pg::run_once(
        "DELETE FROM hipq.graph_job AS known USING hipq.dependency AS dependency "
        "WHERE known.job_id = dependency.before_id AND dependency.outcome IS NOT NULL AND " +
            is_going +
            "dependency.job_id) AND NOT EXISTS ("
            "SELECT FROM hipq.dependency AS other "
            "WHERE other.before_id = dependency.before_id AND NOT " +
            is_going + "other.job_id))",
        until);
    pg::run_once("DELETE FROM hipq.dependency AS dependency USING " + going +
                     "dependency.queue_id = job.queue_id AND dependency.job_id = job.id",
                 until);
    pg::run_once("DELETE FROM hipq.graph_job AS known USING " + going +
                     "known.job_id = job.id AND NOT EXISTS (SELECT FROM hipq.dependency AS other "
                     "WHERE other.before_id = job.id)",
                 until);
    pg::run_once("UPDATE hipq.dependency AS dependency SET outcome = " HIPQ_OUTCOME
                 ", result = nullif(job.result, 'null') FROM " +
                     going + "dependency.before_id = job.id AND dependency.outcome IS NULL",
                 until);
}

void erase_dependencies(const catalog::Queue &queue, std::int64_t job_id)
{
    static constexpr const char *keep_outcome_sql =
        "UPDATE hipq.dependency AS dependency SET outcome = " HIPQ_OUTCOME ", result = NULL "
        "FROM {table} AS job WHERE job.id = $1 AND dependency.before_id = $1";
    static constinit pg::Statement remove_rows(
        "DELETE FROM hipq.dependency WHERE queue_id = $1 AND job_id = $2");
    if (!queue.has_waits)
        return;
    static constinit pg::Statement remove_name("DELETE FROM hipq.graph_job WHERE job_id = $1");
    catalog::statement_for(queue, keep_outcome_sql).run(job_id);
    remove_rows.run(queue.id, job_id);
    remove_name.run(job_id);
}

bool has_dependent_jobs(const catalog::Queue &queue)
{
    static constexpr const char *has_dependent_sql =
        "SELECT EXISTS (SELECT FROM {live} AS job WHERE {held job} AND {holder job}) "
        "OR EXISTS (SELECT FROM {live} AS job WHERE {batch_id of job} IS NOT NULL)";
    return pg::as_hipq(
        [&] { return catalog::statement_for(queue, has_dependent_sql).run().front().boolean(0); });
}

}  // namespace hipq::job
