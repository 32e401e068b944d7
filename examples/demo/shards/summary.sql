-- What happened, on the router; :shard_1 and :shard_2 say how to reach the shards.
\set ON_ERROR_STOP on
\pset footer off
\pset linestyle unicode
\pset border 1

\echo
\echo Jobs by server
CREATE TEMPORARY VIEW done AS
SELECT 0 AS node, job_id FROM demo.done
UNION ALL
SELECT 1, job_id FROM dblink(:'shard_1', 'SELECT job_id FROM demo.done') AS done (job_id bigint)
UNION ALL
SELECT 2, job_id FROM dblink(:'shard_2', 'SELECT job_id FROM demo.done') AS done (job_id bigint);
SELECT CASE node WHEN 0 THEN 'router' ELSE 'shard ' || node END AS server, count(*) AS "jobs done" FROM done GROUP BY node ORDER BY node;

\echo Every job took effect once
SELECT (SELECT count(*) FROM demo.enqueued) AS "jobs enqueued",
       count(DISTINCT done.job_id) AS "different jobs done",
       count(*) - count(DISTINCT done.job_id) AS "done twice",
       (SELECT count(*) FROM demo.enqueued WHERE NOT EXISTS (SELECT FROM done AS one WHERE one.job_id = enqueued.job_id)) AS lost
FROM done;

\echo The shards
TABLE hipq.shards;
