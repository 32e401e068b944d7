// hipq.retry_jobs: runs failed jobs of a queue again, each as a new job.
#include "catalog/cache.hpp"
#include "catalog/checks.hpp"
#include "catalog/queue_hold.hpp"
#include "catalog/queue_statements.hpp"
#include "catalog/rights.hpp"
#include "job/dead_letter_rows.hpp"
#include "nodes/nodes.hpp"
#include "pg/arguments.hpp"
#include "pg/clock.hpp"
#include "pg/internal_write.hpp"

namespace hipq::admin {

namespace {

// Allows one call at a time in each queue: the next one has to see the jobs that this one enqueued.
constinit pg::Statement
    lock_out_other_retries("SELECT 1 FROM hipq.queue WHERE queue_id = $1 FOR NO KEY UPDATE");

// $1 reason, $2 job type, $3 and $4 when they failed, $5 limit, $6 max_retries. Skips jobs that
// were already retried, and jobs whose key an unfinished job holds.
constexpr const char *retry_many_sql = R"(
    INSERT INTO {table} (original_job_id, retry_of, retry_reason, manual_reason, max_retries, job_data{, schedule_time})" HIPQ_GIVEN_COLUMNS("") R"()
    SELECT coalesce(job.original_job_id, job.id), job.id, 'manual_retry', $1, coalesce($6, job.max_retries), job.job_data{, schedule_time of job})" HIPQ_GIVEN_COLUMNS(
    "job.") R"(
    FROM {table} AS job
    WHERE job.state = 'final' AND job.error <> 'NONE' AND job.retry_reason NOT IN ('cancelled', 'expired', 'skipped')
      AND ($2 IS NULL OR job.job_type = $2) AND job.update_time >= $3 AND job.update_time < $4
      AND NOT EXISTS (SELECT FROM {table} AS later WHERE later.retry_of = job.id)
      AND NOT EXISTS (SELECT FROM hipq.dead_letter AS letter
                      WHERE letter.queue_id = job.queue_id AND letter.job_id = job.id AND letter.redriven_time IS NOT NULL)
      AND NOT EXISTS (
          SELECT FROM {live} AS holder
          WHERE job.job_key <> 'NONE' AND holder.job_key = job.job_key AND holder.job_type = job.job_type
            {+AND holder.shard_key COLLATE "C" = {shard key of job}+}
      )
    ORDER BY job.update_time, job.id
    LIMIT $5
    ON CONFLICT DO NOTHING
    RETURNING retry_of, id)";

constexpr pg::Time always{DT_NOBEGIN};

std::int64_t retry_jobs(const pg::Arguments &arguments)
{
    const std::int64_t most = catalog::check_most(arguments.integer("max_jobs"));
    const auto catalogue = catalog::catalogue();
    const catalog::Queue &queue = catalog::require_known_queue(*catalogue, arguments.text("queue"));
    catalog::require(queue, catalog::Privilege::control);
    catalog::demand_not_held(queue);
    const std::string reason = arguments.maybe_text("reason").value_or("manual_retry");
    const auto max_retries = arguments.maybe_int(pg::Argument::later("max_retries"));
    if (max_retries.has_value())
        pg::demand(core::check_max_retries(*max_retries));
    return pg::as_hipq([&] {
        lock_out_other_retries.run(queue.id);
        std::vector<std::int64_t> retried;
        std::vector<std::int64_t> made;
        const nodes::MadeJobs elsewhere;
        for (const pg::Row row :
             catalog::statement_for(queue, retry_many_sql)
                 .run(reason, arguments.maybe_text("job_type"),
                      arguments.maybe_time("failed_after").value_or(always),
                      arguments.maybe_time("failed_before").value_or(pg::infinity), most,
                      max_retries)) {
            retried.push_back(row.integer(0));
            made.push_back(row.integer(1));
        }
        for (const nodes::MadeJob &sent : elsewhere.sent()) {
            retried.push_back(sent.made_of);
            made.push_back(sent.id);
        }
        // A queue that keeps no successes has no other trace of a retry that succeeded.
        job::note_redriven(queue, retried, made, pg::now());
        return static_cast<std::int64_t>(retried.size());
    });
}

}  // namespace

}  // namespace hipq::admin

HIPQ_FUNCTION(hipq_retry_jobs)
{
    return Int64GetDatum(hipq::admin::retry_jobs(hipq::pg::Arguments(fcinfo)));
}
