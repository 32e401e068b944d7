// hipq.who_fills: whose unfinished jobs fill a queue, and what the first of each kind waits for.
//
// A large queue is judged by a sample of its pages, so that it takes milliseconds however many jobs
// wait; the numbers are then estimates.
#include "catalog/cache.hpp"
#include "catalog/queue_statements.hpp"
#include "catalog/rights.hpp"
#include "catalog/visible_queues.hpp"
#include "job/aimed_jobs.hpp"
#include "job/find_job.hpp"
#include "monitor/job_conditions.hpp"
#include "pg/arguments.hpp"
#include "pg/clock.hpp"
#include "pg/transaction.hpp"
#include "shared/executors/running_jobs.hpp"

namespace hipq::monitor {

namespace {

constexpr std::int64_t most_pages = 500;  // about 15,000 jobs of ordinary size

// $1 pages, $2 now, $3 ids of running jobs that were claimed by lock, $4 lines. It reads the same
// pages each time, so that repeated results do not flicker. The first waiting job stands for its
// kind.
constexpr const char *filling_kinds_sql = R"(
    WITH sample AS MATERIALIZED (
        SELECT least(100.0, 100.0 * $1 / greatest(1, pg_relation_size('{live}'::regclass) / current_setting('block_size')::integer)) AS percent
    ),
    kind AS (
        SELECT job.job_type, job.throttle_key, count(*) AS jobs,
               count(*) FILTER (WHERE job.created_time > $2 - interval '1 minute') AS new_jobs,
               (array_agg(job.id ORDER BY job.scheduled_run_time, job.id) FILTER (WHERE job.state IN ('initial', 'retry') AND {free job} AND job.id <> ALL ($3)))[1] AS first
        FROM {live} AS job TABLESAMPLE SYSTEM ((SELECT sample.percent FROM sample)) REPEATABLE (0)
        GROUP BY job.job_type, job.throttle_key
    ),
    line AS (
        SELECT kind.*, round(1000 * kind.jobs / sum(kind.jobs) OVER ()) / 10 AS percent
        FROM kind
        ORDER BY kind.jobs DESC, kind.job_type, kind.throttle_key
        LIMIT $4
    )
    SELECT line.job_type, line.throttle_key, round(line.jobs * 100 / sample.percent)::bigint, line.percent::float8,
           round(line.new_jobs * 100 / sample.percent)::bigint, job.id, job.scheduled_run_time, job.expires_time, job.time_windows::text,
           (job.throttle_factor * 1000)::bigint, job.priority, job.state = 'retry', job.state = 'initial' AND )" HIPQ_IS_AIMED
                                          R"(
    FROM line
    CROSS JOIN sample
    LEFT JOIN {live} AS job ON job.id = line.first
    ORDER BY line.jobs DESC, line.job_type, line.throttle_key)";

// Jobs of one type with one throttle key.
struct FillingKind {
    std::string job_type;
    std::string throttle_key;
    std::int64_t jobs;
    double percent;
    std::int64_t new_jobs;
    std::optional<job::FoundJob> first;  // nothing: none waits
};

FillingKind filling_kind_of(const catalog::Queue &queue, const pg::Row &row)
{
    FillingKind kind{row.text(0), row.text(1), row.integer(2), row.number(3), row.integer(4), {}};
    if (!row.null(5))
        kind.first = {&queue,
                      row.integer(5),
                      row.boolean(11) ? core::JobState::retry : core::JobState::initial,
                      kind.job_type,
                      std::string(),
                      row.time(6),
                      row.time(7),
                      row.text(8),
                      kind.throttle_key,
                      row.integer(9),
                      row.integer32(10),
                      row.boolean(12)};
    return kind;
}

std::vector<FillingKind> filling_kinds_of(const catalog::Queue &queue,
                                          std::optional<std::int32_t> lines, pg::Time now)
{
    const std::vector<std::int64_t> running = executors::jobs_claimed_by_lock();
    return pg::as_extension_owner([&] {
        std::vector<FillingKind> kinds;
        for (const pg::Row &row :
             catalog::statement_for(queue, filling_kinds_sql).run(most_pages, now, running, lines))
            kinds.push_back(filling_kind_of(queue, row));
        return kinds;
    });
}

// Members of pg_monitor may see it: nothing in it comes from job_data.
const catalog::Queue &require_visible(const catalog::Catalogue &catalogue, const std::string &name)
{
    const catalog::Queue &queue = catalog::require_queue(catalogue, name);
    if (catalog::VisibleQueues().visible(queue.id) == nullptr)
        catalog::require(queue, catalog::Privilege::read);
    return queue;
}

void list_kinds(FunctionCallInfo fcinfo)
{
    const pg::Arguments arguments(fcinfo);
    const std::string name = arguments.text("queue");
    pg::ResultSet result(fcinfo);
    const auto catalogue = catalog::catalogue();
    const catalog::Queue &queue = require_visible(*catalogue, name);
    const pg::Time now = pg::now();
    for (const FillingKind &kind : filling_kinds_of(queue, arguments.maybe_int("lines"), now)) {
        const auto key =
            kind.throttle_key == core::none_text ? std::nullopt : std::optional(kind.throttle_key);
        const auto &first = kind.first;
        result.add(kind.job_type, key, kind.jobs, kind.percent, kind.new_jobs,
                   first && first->due <= now ? std::optional(first->due) : std::nullopt,
                   first ? std::optional<std::string>(core::name(decisive_condition(*first).kind()))
                         : std::nullopt,
                   first ? std::optional(first->id) : std::nullopt);
    }
}

}  // namespace

}  // namespace hipq::monitor

HIPQ_FUNCTION(hipq_who_fills)
{
    hipq::monitor::list_kinds(fcinfo);
    return hipq::pg::return_void();
}
