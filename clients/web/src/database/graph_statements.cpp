// The statements about jobs that belong together: graphs and batches.
#include "database/statements.hpp"

namespace hipq::web::statements {

// The views look up each job, which takes 35 to 60 microseconds: of a large graph only 200 are
// counted.
const char *const graphs = R"(
SELECT newest.graph_id::text AS graph_id, counted.*
FROM unnest(hipq._newest_graphs($1::bigint, $2::integer)) WITH ORDINALITY AS newest (graph_id, number)
CROSS JOIN LATERAL (
    SELECT count(*) AS jobs,
           count(*) = 200 AS has_more,
           count(*) FILTER (WHERE member.outcome = 'waiting') AS waiting,
           count(*) FILTER (WHERE member.outcome = 'running') AS running,
           count(*) FILTER (WHERE member.outcome = 'succeeded') AS succeeded,
           count(*) FILTER (WHERE member.outcome IN ('failed', 'cancelled', 'expired')) AS failed,
           count(*) FILTER (WHERE member.outcome = 'skipped') AS skipped,
           min(member.created_time) AS created_time,
           CASE WHEN bool_and(member.ended_time IS NOT NULL) THEN max(member.ended_time) END AS ended_time,
           (array_agg(member.name ORDER BY member.job_id))[1:4] AS names,
           (array_agg(DISTINCT member.queue ORDER BY member.queue))[1:3] AS queues
    FROM (
        SELECT jobs.name, jobs.job_id, jobs.queue, jobs.outcome, jobs.created_time, jobs.ended_time
        FROM hipq.graph_jobs_detail AS jobs
        WHERE jobs.graph_id = newest.graph_id
        LIMIT 200
    ) AS member
) AS counted
ORDER BY newest.number
)";

const char *const graph_jobs = R"(
SELECT member.name, member.outcome, member.after, member.job_id::text AS job_id, member.queue,
       member.job_type, member.created_time, member.started_time, member.ended_time,
       left(split_part(member.error, E'\n', 1), 200) AS error
FROM (
    SELECT jobs.*
    FROM hipq.graph_jobs_detail AS jobs
    WHERE jobs.graph_id = $1::bigint
    LIMIT $2::integer
) AS member
ORDER BY member.job_id
)";

const char *const graph_of_job = R"(
SELECT jobs.graph_id::text AS graph_id, jobs.name
FROM {0.3? hipq.graph_jobs : (SELECT 0::bigint AS graph_id, '' AS name, 0::bigint AS job_id)} AS jobs
WHERE jobs.job_id = $1::bigint
)";

const char *const batches = R"(
SELECT batch.batch_id::text AS batch_id, batch.name, batch.queue, batch.state, batch.jobs,
       batch.unfinished, batch.succeeded, batch.failed, batch.skipped,
       batch.callback_id::text AS callback_id, batch.created_time
FROM unnest(hipq._newest_batches($1::bigint, $2::integer)) WITH ORDINALITY AS newest (batch_id, number)
CROSS JOIN LATERAL (
    SELECT batches.*
    FROM hipq.batches_detail AS batches
    WHERE batches.batch_id = newest.batch_id
    LIMIT 1
) AS batch
ORDER BY newest.number
)";

}  // namespace hipq::web::statements
