// Keeps the jobs whose end cannot be written.
//
// They are in a table of their own: few jobs are ever set aside, and the row of the job may be one
// that cannot be changed. A row of the table contains the job's state at that time, so that the job
// is no longer set aside once its state has changed.
#include "job/set_aside.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_by_queue.hpp"
#include "catalog/queue_statements.hpp"
#include "job/lock_attempt.hpp"
#include "pg/internal_write.hpp"
#include "pg/subtransaction.hpp"

namespace hipq::job {

namespace {

// $1 id, $2 now, $3 SQLSTATE, $4 the error
constexpr const char *note_sql = R"(
    INSERT INTO hipq.set_aside AS aside (job_id, queue_id, attempt, state, set_aside_time, sqlstate, error)
    SELECT job.id, job.queue_id, coalesce(job.attempt, 0), coalesce(job.state, 'initial'), $2, $3, $4
    FROM {live} AS job
    WHERE job.id = $1
    ON CONFLICT (job_id) DO UPDATE
    SET queue_id = EXCLUDED.queue_id, attempt = EXCLUDED.attempt, state = EXCLUDED.state, set_aside_time = EXCLUDED.set_aside_time,
        sqlstate = EXCLUDED.sqlstate, error = EXCLUDED.error)";

// The same for a dead letter: the call of its handler cannot be recorded. $1 id, $2 queue, $3 now,
// $4 SQLSTATE, $5 the error
constinit pg::Statement note_letter(R"(
    INSERT INTO hipq.set_aside AS aside (job_id, queue_id, attempt, state, set_aside_time, sqlstate, error)
    VALUES ($1, $2, 0, 'final', $3, $4, $5)
    ON CONFLICT (job_id) DO UPDATE
    SET queue_id = EXCLUDED.queue_id, attempt = EXCLUDED.attempt, state = EXCLUDED.state, set_aside_time = EXCLUDED.set_aside_time,
        sqlstate = EXCLUDED.sqlstate, error = EXCLUDED.error)");

constexpr const char *why_sql = R"(
    SELECT aside.error
    FROM {live} AS job
    JOIN hipq.set_aside AS aside ON aside.job_id = job.id AND aside.attempt = coalesce(job.attempt, 0) AND aside.state = coalesce(job.state, 'initial')
    WHERE job.id = $1)";

constexpr const char *waiting_sql = R"(
    SELECT job.id
    FROM hipq.set_aside AS aside
    JOIN {live} AS job ON job.id = aside.job_id AND job.attempt = aside.attempt AND job.state = aside.state
    WHERE aside.queue_id = $1 AND job.state IN ('initial', 'retry'))";

// $1 queue
constexpr const char *job_status_sql = R"(
    SELECT aside.job_id, aside.set_aside_time, aside.error
    FROM hipq.set_aside AS aside
    JOIN {live} AS job ON job.id = aside.job_id AND coalesce(job.attempt, 0) = aside.attempt AND coalesce(job.state, 'initial') = aside.state
    WHERE aside.queue_id = $1
    ORDER BY aside.set_aside_time, aside.job_id)";

// $1 queue, $2 since when a dead letter may be set aside
constexpr const char *prune_sql = R"(
    DELETE FROM hipq.set_aside AS aside
    WHERE aside.queue_id = $1 AND (aside.state <> 'final' OR aside.set_aside_time < $2)
      AND NOT EXISTS (SELECT FROM {live} AS job WHERE job.id = aside.job_id AND coalesce(job.attempt, 0) = aside.attempt AND coalesce(job.state, 'initial') = aside.state))";

constexpr std::int64_t longest_rest_of_letter = 600'000'000;  // us

constinit pg::Statement
    select_queues_with_set_aside("SELECT DISTINCT aside.queue_id FROM hipq.set_aside AS aside");

// Adds the jobs that are in the queue's live leaf, if it can be read; after an error midway, none.
void add_job_status(std::vector<SetAside> &found, const catalog::Queue &queue)
{
    std::vector<SetAside> in_queue;
    catalog::read_or_leave_out(queue, [&] {
        for (const pg::Row row :
             catalog::statement_for(queue, job_status_sql).run(std::int32_t{queue.id}))
            in_queue.push_back({queue.id, row.integer(0), row.time(1), row.text(2)});
    });
    std::move(in_queue.begin(), in_queue.end(), std::back_inserter(found));
}

std::string error_of(const Failure &failure, const pg::Error &trouble)
{
    return "its end cannot be written: " + pg::short_message(trouble) +
           "; it had failed: " + failure.error;
}

}  // namespace

bool set_aside(const catalog::Queue &queue, const ClaimedJob &job, const Failure &failure,
               const pg::Error &trouble, pg::Time now)
{
    ClaimedJob recorded = job;
    if (recorded.is_locked && !record_locked(queue, recorded))
        return false;
    // Add an entry to the history of the job, unless that is what cannot be written.
    (void)pg::in_subtransaction(pg::Ending::kept,
                                [&] { record_attempt(queue, recorded, failure, now); });
    Failure standing = failure;
    standing.error = pg::short_text(error_of(failure, trouble));
    if (!stand_in_error(queue, recorded, standing, now))
        return false;
    note_set_aside(queue, job.id, trouble, now);
    return true;
}

void note_set_aside(const catalog::Queue &queue, std::int64_t id, const pg::Error &trouble,
                    pg::Time now)
{
    const std::string error = pg::short_message(trouble);
    pg::as_hipq(
        [&] { catalog::statement_for(queue, note_sql).run(id, now, trouble.sqlstate(), error); });
}

void set_letter_aside(const catalog::Queue &queue, std::int64_t id, const pg::Error &trouble,
                      pg::Time now)
{
    const std::string error = "its dead letter cannot be handled: " + pg::short_message(trouble);
    pg::as_hipq([&] { note_letter.run(id, queue.id, now, trouble.sqlstate(), error); });
}

void report_set_aside(const catalog::Queue &queue, std::int64_t id, const pg::Error &trouble)
{
    const std::string name = queue.full_name();
    const std::string message = pg::short_message(trouble);
    pg::call([&] {
        ereport(
            WARNING, errcode(trouble.sqlerrcode()),
            errmsg("job %lld in queue \"%s\" is set aside: %s", static_cast<long long>(id),
                   name.c_str(), message.c_str()),
            errdetail("What became of it cannot be written down. It is left alone; others go on."),
            errhint("When the cause is gone hipq.fail_job() or hipq.cancel() ends it, and "
                    "hipq.retry() runs it again."));
    });
}

std::optional<std::string> why_set_aside(const catalog::Queue &queue, std::int64_t id)
{
    const pg::Rows rows =
        pg::as_hipq([&] { return catalog::statement_for(queue, why_sql).run(id); });
    return rows.empty() ? std::nullopt : rows.front().maybe_text(0);
}

std::set<std::int64_t> waiting_set_aside(const catalog::Queue &queue)
{
    const pg::Rows rows = pg::as_hipq(
        [&] { return catalog::statement_for(queue, waiting_sql).run(std::int32_t{queue.id}); });
    std::set<std::int64_t> ids;
    for (const pg::Row row : rows)
        ids.insert(row.integer(0));
    return ids;
}

std::vector<SetAside> jobs_set_aside(const catalog::Catalogue &catalogue)
{
    std::vector<SetAside> found;
    for (const pg::Row row : pg::as_hipq([] { return select_queues_with_set_aside.run(); })) {
        const catalog::Queue *queue = catalogue.find(row.integer32(0));
        if (queue != nullptr && !queue->is_dropped)
            add_job_status(found, *queue);
    }
    return found;
}

void prune_set_aside(const catalog::Catalogue &catalogue, pg::Time now)
{
    pg::as_hipq([&] {
        for (const pg::Row row : select_queues_with_set_aside.run()) {
            const catalog::Queue *queue = catalogue.find(row.integer32(0));
            if (queue != nullptr && !queue->is_dropped)
                catalog::statement_for(*queue, prune_sql)
                    .run(std::int32_t{queue->id}, now + -longest_rest_of_letter);
        }
    });
}

}  // namespace hipq::job
