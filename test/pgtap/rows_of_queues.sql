-- hipq removes the rows of a dropped queue from each table that has some. A new table with column
-- queue_id belongs to one of these groups.
BEGIN;
SELECT plan(1);

CREATE TEMPORARY TABLE removed (by text, tables name[]);
INSERT INTO removed VALUES
    ('forget_queue() in src/tables/queue_table.cpp, list tables_with_queues',
        '{aimed_job, batch, breaker_state, dead_letter, dependency, graph_job, job_type,
            made_by_handler, pause, queue, queue_hold, rate_lease, set_aside}'),
    ('forget_queue(), with the batches of the queue', '{batch_join}'),
    ('forget_queue(), with the tables of the queue', '{job, attempt, attempt_log}'),
    ('drop_queue(), with the entries of pg_cron', '{schedule}'),
    ('the duty of permits, once the queue is gone (src/shards/permits/permit_rows.cpp)',
        '{permit_share, permit_authority, permit_record}');

SELECT bag_eq($$
SELECT class.relname
FROM pg_class AS class
JOIN pg_attribute AS attribute ON attribute.attrelid = class.oid
WHERE class.relnamespace = 'hipq'::regnamespace AND class.relkind IN ('r', 'p')
  AND NOT class.relispartition AND attribute.attname = 'queue_id'
$$, 'SELECT unnest(tables) FROM removed', 'each table with rows of queues is known');

SELECT * FROM finish();
ROLLBACK;
