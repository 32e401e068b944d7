// hipq.retry_chain: every attempt of a job and of the jobs it was retried from or as.
//
// All these jobs name the first one. Usually they are in one queue, but a dead letter may have been
// redriven into another one, and hipq.move_jobs() moves a job to another one. The links of the jobs
// that are already known say which queues to read.
#include "catalog/cache.hpp"
#include "catalog/queue_statements.hpp"
#include "catalog/rights.hpp"
#include "job/dead_letter_rows.hpp"
#include "job/find_job.hpp"
#include "pg/arguments.hpp"
#include "pg/internal_write.hpp"
#include "pg/subtransaction.hpp"

#include <set>

namespace hipq::admin {

namespace {

using catalog::Catalogue;
using catalog::Queue;
using job::FoundJob;

using Ids = std::vector<std::int64_t>;

// ---- one queue ----

constexpr const char *first_sql =
    "SELECT coalesce(job.original_job_id, job.id) FROM {table} AS job WHERE job.id = $1";

// $1 the first job, $2 the queue. Jobs made from it have greater ids, so no row before it is read.
constexpr const char *chain_sql = R"(
    WITH chain AS MATERIALIZED (
        SELECT job.id, job.retry_of, job.attempt, job.state, job.error, job.retry_reason, job.worker_id, job.accepted_time, job.update_time,
               job.manual_reason
        FROM {table} AS job
        WHERE job.id = $1
        UNION ALL
        SELECT job.id, job.retry_of, job.attempt, job.state, job.error, job.retry_reason, job.worker_id, job.accepted_time, job.update_time,
               job.manual_reason
        FROM {table} AS job
        WHERE job.id > $1 AND job.original_job_id = $1
    ),
    told AS (
        SELECT attempt.*, row_number() OVER (PARTITION BY attempt.job_id ORDER BY attempt.attempt, attempt.ended_time) AS place
        FROM hipq.attempt AS attempt
        WHERE attempt.queue_id = $2 AND attempt.job_id = ANY (ARRAY(SELECT chain.id FROM chain))
    ),
    -- An attempt that the history does not tell: it runs, or has succeeded where successes leave none; or there is none yet.
    untold AS (
        SELECT chain.*
        FROM chain
        WHERE chain.state IS DISTINCT FROM 'error'
          AND NOT (chain.state = 'retry')
          AND NOT EXISTS (SELECT FROM told WHERE told.job_id = chain.id AND told.attempt = chain.attempt AND chain.state = 'final')
    )
    SELECT told.job_id, chain.retry_of, told.attempt,
           CASE WHEN told.place = max(told.place) OVER (PARTITION BY told.job_id)
                 AND NOT EXISTS (SELECT FROM untold WHERE untold.id = told.job_id) THEN chain.state::text END,
           told.reason, told.sqlstate, nullif(told.error, 'NONE'), told.executor_pid, told.worker_id, told.started_time, told.ended_time, told.place,
           chain.manual_reason
    FROM told
    JOIN chain ON chain.id = told.job_id
    UNION ALL
    SELECT untold.id, untold.retry_of, nullif(untold.attempt, 0), untold.state::text,
           CASE WHEN untold.state <> 'final' THEN NULL WHEN untold.error = 'NONE' THEN 'succeeded' ELSE untold.retry_reason END,
           NULL, nullif(untold.error, 'NONE'), NULL, nullif(untold.worker_id, -1),
           CASE WHEN untold.accepted_time < '9999-01-01 00:00:00+00' AND untold.attempt > 0 THEN untold.accepted_time END,
           CASE WHEN untold.state = 'final' THEN untold.update_time END, 9223372036854775807,
           untold.manual_reason
    FROM untold
    ORDER BY 1, 12)";

struct Told {
    std::int64_t job_id;
    std::optional<std::int64_t> retry_of;
    std::optional<std::int32_t> attempt;
    std::optional<std::string> state;
    std::optional<std::string> reason;
    std::optional<std::string> sqlstate;
    std::optional<std::string> error;
    std::optional<std::int32_t> executor_pid;
    std::optional<std::int64_t> worker_id;
    std::optional<pg::Time> started;
    std::optional<pg::Time> ended;
    std::optional<std::string> manual_reason;
};

Told told(pg::Row row)
{
    const auto time = [&](int column) {
        return row.null(column) ? std::nullopt : std::optional(row.time(column));
    };
    const auto number = [&](int column) {
        return row.null(column) ? std::nullopt : std::optional<std::int32_t>(row.integer32(column));
    };
    return {
        row.integer(0),    row.maybe_integer(1), number(2), row.maybe_text(3),    row.maybe_text(4),
        row.maybe_text(5), row.maybe_text(6),    number(7), row.maybe_integer(8), time(9),
        time(10),          row.maybe_text(12)};
}

// ---- all queues ----

// The jobs that dead letters of these jobs were redriven as, followed recursively. $2 all queues
constinit pg::Statement select_redriven(R"(
    WITH RECURSIVE redriven AS (
        SELECT letter.redriven_as AS id
        FROM hipq.dead_letter AS letter
        WHERE letter.queue_id = ANY ($2) AND letter.job_id = ANY ($1) AND letter.redriven_as IS NOT NULL
        UNION
        SELECT letter.redriven_as
        FROM redriven
        JOIN hipq.dead_letter AS letter ON letter.queue_id = ANY ($2) AND letter.job_id = redriven.id
        WHERE letter.redriven_as IS NOT NULL
    )
    SELECT redriven.id FROM redriven)");

constexpr const char *has_one_sql = "SELECT 1 FROM {table} AS job WHERE job.id = ANY ($1) LIMIT 1";

// Skips a table that another session has locked, because the chain is mainly about the given queue.
bool has_one_of(const Queue &queue, const Ids &ids)
{
    bool has = false;
    (void)pg::with_lock_limit(1, pg::Ending::rolled_back, [&] {  // keeps no locks
        has = pg::as_hipq(
            [&] { return !catalog::statement_for(queue, has_one_sql).run(ids).empty(); });
    });
    return has;
}

class Chain {
public:
    Chain(const Catalogue &catalogue, std::int64_t first)
        : catalogue_(catalogue), first_(first), linked_{first}
    {
    }

    // Returns the attempts in order.
    std::vector<Told> tell_from(const Queue &queue)
    {
        read(queue);
        while (read_queues_of(strangers()))
            ;
        std::stable_sort(told_.begin(), told_.end(),
                         [](const Told &a, const Told &b) { return a.job_id < b.job_id; });
        return std::move(told_);
    }

private:
    void read(const Queue &queue)
    {
        read_.insert(queue.id);
        for (const pg::Row row : pg::as_hipq(
                 [&] { return catalog::statement_for(queue, chain_sql).run(first_, queue.id); })) {
            told_.push_back(told(row));
            found_.insert(told_.back().job_id);
            linked_.insert(told_.back().job_id);
            if (told_.back().retry_of.has_value())
                linked_.insert(*told_.back().retry_of);
        }
    }

    // Returns the jobs of the chain that have not been looked for yet.
    Ids strangers()
    {
        for (const pg::Row row : pg::as_hipq([&] {
                 return select_redriven.run(Ids(linked_.begin(), linked_.end()),
                                            job::queue_ids(catalogue_));
             }))
            linked_.insert(row.integer(0));
        Ids ids;
        std::set_difference(linked_.begin(), linked_.end(), found_.begin(), found_.end(),
                            std::back_inserter(ids));
        found_.insert(ids.begin(), ids.end());
        return ids;
    }

    // Reads the queues of these jobs that the caller may read. Returns whether there was one.
    bool read_queues_of(const Ids &ids)
    {
        if (ids.empty())
            return false;
        bool any = false;
        for (const auto &[id, queue] : catalogue_.queues) {
            if (queue.is_dropped || read_.contains(id) ||
                !catalog::may(catalog::caller(), queue, catalog::Privilege::read) ||
                !has_one_of(queue, ids))
                continue;
            read(queue);
            any = true;
        }
        return any;
    }

    const Catalogue &catalogue_;
    std::int64_t first_;
    std::vector<Told> told_;
    std::set<int> read_;
    std::set<std::int64_t> linked_;
    std::set<std::int64_t> found_;  // found or looked for
};

void list_chain(const Catalogue &catalogue, const FoundJob &job, pg::ResultSet &result)
{
    const pg::Rows rows =
        pg::as_hipq([&] { return catalog::statement_for(*job.queue, first_sql).run(job.id); });
    if (rows.empty())  // the row has gone since
        return;
    for (const Told &told : Chain(catalogue, rows.front().integer(0)).tell_from(*job.queue))
        result.add(told.job_id, told.retry_of, told.attempt, told.state, told.reason, told.sqlstate,
                   told.error, told.executor_pid, told.worker_id, told.started, told.ended,
                   told.manual_reason);
}

}  // namespace

}  // namespace hipq::admin

HIPQ_FUNCTION(hipq_retry_chain)
{
    const hipq::pg::Arguments arguments(fcinfo);
    const std::int64_t id = arguments.integer64("id");
    hipq::pg::ResultSet result(fcinfo);
    const auto catalogue = hipq::catalog::catalogue();
    hipq::admin::list_chain(*catalogue,
                            hipq::job::require_job(*catalogue, id, arguments.maybe_text("queue"),
                                                   hipq::catalog::Privilege::read),
                            result);
    return hipq::pg::return_void();
}
