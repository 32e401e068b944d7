// The statements of who is signed in, and of the overview.
#include "database/statements.hpp"

namespace hipq::web::statements {

const char *const identity = R"(
SELECT current_user AS role,
       current_database() AS database,
       current_setting('server_version') AS server_version,
       hipq.version() AS hipq_version,
       pg_has_role('pg_monitor', 'USAGE') AS may_monitor
)";

const char *const overview = R"(
WITH catalogue AS MATERIALIZED (
    SELECT queues.queue, queues.instance, queues.owner, queues.table_name, queues.is_paused
    FROM hipq.queues
    WHERE NOT queues.is_dropped
), backlog AS (
    SELECT catalogue.queue, sum(pg_stat_get_live_tuples(leaf.oid)) AS jobs
    FROM catalogue
    JOIN pg_inherits AS child ON child.inhparent = to_regclass(catalogue.table_name)
    JOIN pg_class AS leaf ON leaf.oid = child.inhrelid AND leaf.relkind = 'r'
    GROUP BY catalogue.queue
), ended AS (
    SELECT statistics.queue, statistics.succeeded, statistics.failed, statistics.cancelled,
           statistics.expired, statistics.retried, statistics.dead_letters
    FROM hipq.statistics
    WHERE statistics.period = 'total' AND statistics.job_type IS NULL
), lately AS (
    SELECT statistics.queue, statistics.wait_p50, statistics.wait_p90, statistics.wait_p99,
           statistics.run_p50, statistics.run_p90, statistics.run_p99
    FROM hipq.statistics
    WHERE statistics.period = 'hour' AND statistics.job_type IS NULL
), minute AS (
    SELECT throughput.queue, throughput.succeeded, throughput.failed, throughput.retried
    FROM hipq.throughput
    WHERE throughput.minute = date_trunc('minute', hipq.now()) - interval '1 minute'
), due AS (
    SELECT lanes.queue, min(lanes.due_time) AS oldest
    FROM hipq.lanes
    WHERE lanes.due_time <= hipq.now()
    GROUP BY lanes.queue
), busy AS (
    SELECT executors.queue, count(*) AS jobs
    FROM hipq.executors
    WHERE executors.queue IS NOT NULL
    GROUP BY executors.queue
), processes AS (
    SELECT count(*) FILTER (WHERE executors.status = 'running') AS busy,
           count(*) FILTER (WHERE executors.status = 'idle') AS idle
    FROM hipq.executors
), health AS (
    SELECT json_object_agg(worker_health.status, worker_health.workers) AS workers
    FROM hipq.worker_health
)
SELECT '' AS queue,
       format('"now":%s,"executors":%s,"workers":%s',
              to_json(clock_timestamp()),
              json_build_object('busy', processes.busy, 'idle', processes.idle,
                                'max', current_setting('hipq.max_executors')::integer),
              coalesce(health.workers, '{}')) AS json
FROM processes
CROSS JOIN health
UNION ALL
SELECT catalogue.queue,
       json_build_object(
           'queue', catalogue.queue,
           'instance', catalogue.instance,
           'owner', catalogue.owner,
           'backlog', coalesce(backlog.jobs, 0),
           'running', coalesce(busy.jobs, 0),
           'per_minute', json_build_object('succeeded', coalesce(minute.succeeded, 0),
                                           'failed', coalesce(minute.failed, 0),
                                           'retried', coalesce(minute.retried, 0)),
           'total', json_build_object('succeeded', coalesce(ended.succeeded, 0),
                                      'failed', coalesce(ended.failed, 0),
                                      'cancelled', coalesce(ended.cancelled, 0),
                                      'expired', coalesce(ended.expired, 0),
                                      'retried', coalesce(ended.retried, 0),
                                      'dead_letters', coalesce(ended.dead_letters, 0)),
           'wait_p50', lately.wait_p50,
           'wait_p90', lately.wait_p90,
           'wait_p99', lately.wait_p99,
           'run_p50', lately.run_p50,
           'run_p90', lately.run_p90,
           'run_p99', lately.run_p99,
           'is_paused', catalogue.is_paused,
           'oldest_due', due.oldest)::text
FROM catalogue
LEFT JOIN backlog ON backlog.queue = catalogue.queue
LEFT JOIN ended ON ended.queue = catalogue.queue
LEFT JOIN lately ON lately.queue = catalogue.queue
LEFT JOIN minute ON minute.queue = catalogue.queue
LEFT JOIN due ON due.queue = catalogue.queue
LEFT JOIN busy ON busy.queue = catalogue.queue
)";

const char *const throughput = R"(
SELECT throughput.minute,
       sum(throughput.succeeded) AS succeeded,
       sum(throughput.failed) AS failed,
       sum(throughput.cancelled) AS cancelled,
       sum(throughput.expired) AS expired,
       sum(throughput.retried) AS retried,
       sum(throughput.dead_letters) AS dead_letters
FROM hipq.throughput
WHERE $1::text IS NULL OR throughput.queue = $1
GROUP BY throughput.minute
ORDER BY throughput.minute
)";

}  // namespace hipq::web::statements
