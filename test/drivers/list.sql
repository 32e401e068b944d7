-- What each driver reads and calls: all tables, views and functions of hipq, from the catalogue.
-- Each is a line, with tabs between its fields.
--
--   read   relation
--   call   statement  value ...      \N is NULL; the parameters have no type
--   value  statement  kind  value    what a driver has to read; kinds: README.md
--
-- A parameter without an example, here or in the table by function, is an error.
\set ON_ERROR_STOP 1
\pset format unaligned
\pset fieldsep '\t'
\pset tuples_only on
SET search_path = pg_catalog, pg_temp;

SELECT 'read', format('%I.%I', nspname, relname)
FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname = 'hipq' AND relkind IN ('r', 'v', 'p')
  AND (NOT relispartition OR relname IN (SELECT table_name FROM hipq.queue))
ORDER BY 2;

-- function: NULL = of any. Ids are those of jobs that test/t/clients/drivers.pl has made.
CREATE TEMPORARY TABLE example (function text, parameter text, value text);
INSERT INTO example VALUES
    (NULL, 'name', 'one'), (NULL, 'queue', 'app.drivers'), (NULL, 'from_queue', 'app.drivers'),
    (NULL, 'to_queue', 'app.other'), (NULL, 'instance', 'app'),
    (NULL, 'job_type', 'external'), (NULL, 'job_key', 'held'), (NULL, 'job_data', '{"to": "ann"}'),
    (NULL, 'job_text', NULL),
    (NULL, 'id', (SELECT id::text FROM hipq.jobs_detail WHERE job_key = 'held')),
    (NULL, 'attempt', '1'), (NULL, 'result', '{"pages": 3}'),
    (NULL, 'ids', (SELECT ARRAY[id]::text FROM hipq.jobs_detail WHERE job_key = 'held')),
    (NULL, 'attempts', '{1}'), (NULL, 'results', '{"{\"pages\": 3}"}'),
    (NULL, 'error', 'no such file'), (NULL, 'errors', '{no such file}'),
    (NULL, 'retriable', 'true'), (NULL, 'more', '5 min'), (NULL, 'delay', '10 s'),
    (NULL, 'worker', (SELECT worker_id::text FROM hipq.workers_detail)), (NULL, 'max_jobs', '10'),
    (NULL, 'wait', '0'), (NULL, 'health', '{"queue_depth": 2}'),
    (NULL, 'queues', '{app.drivers}'), (NULL, 'job_types', '{external}'), (NULL, 'capacity', '5'),
    (NULL, 'prefetch', '2'),
    (NULL, 'capabilities', '{"gpu": true}'), (NULL, 'listen', 'false'), (NULL, 'take_over', 'true'),
    (NULL, 'done', '3'), (NULL, 'total', '7'), (NULL, 'message', 'page 3'),
    (NULL, 'scheduled_run_time', '2100-01-01 12:00:00+00'),
    (NULL, 'expires_time', '2100-01-02 12:00:00+00'), (NULL, 'priority', '5'),
    (NULL, 'timeout', '90 s'),
    (NULL, 'throttle_factor', '0.5'), (NULL, 'time_windows', 'sat, 22:00-06:00'),
    (NULL, 'max_retries', '3'), (NULL, 'on_duplicate', 'return'),
    (NULL, 'throttle_key', 'tenant 7'), (NULL, 'queue_ttl', '60'), (NULL, 'cron', '0 3 * * *'),
    (NULL, 'after', (SELECT ARRAY[id]::text FROM hipq.jobs_detail WHERE job_key = 'held')),
    (NULL, 'after_policy', 'finished'), (NULL, 'on_failure', 'skip'),
    (NULL, 'expires_after', '1 day'),
    (NULL, 'missed', 'all'), (NULL, 'missed_within', '2 days'), (NULL, 'jitter', '10 s'),
    (NULL, 'overlap', 'after'), (NULL, 'starts', '2020-01-01 00:00:00+00'),
    (NULL, 'ends', '2100-01-01 00:00:00+00'), (NULL, 'by', 'hipq'),
    (NULL, 'schedule', '0 3 * * *'), (NULL, 'n', '3'),
    (NULL, 'from_time', '2026-03-01 00:00:00+00'),
    (NULL, 'batch', (SELECT max(batch_id)::text FROM hipq.batches)), (NULL, 'after_batch', NULL),
    (NULL, 'callback_type', 'external'), (NULL, 'callback_data', '{"to": "ann"}'),
    (NULL, 'call_when', 'finished'), (NULL, 'closed', 'false'),
    (NULL, 'reason', 'by hand'), (NULL, 'before', '2100-01-01 00:00:00+00'),
    (NULL, 'created_before', '2100-01-01 00:00:00+00'),
    (NULL, 'failed_after', '2020-01-01 00:00:00+00'),
    (NULL, 'failed_before', '2100-01-01 00:00:00+00'), (NULL, 'rate', '2.5'),
    (NULL, 'state', 'waiting'),
    (NULL, 'force', 'false'), (NULL, 'owner', 'app'), (NULL, 'role', 'app'),
    (NULL, 'privilege', 'enqueue'), (NULL, 'throttle_limit', '10.5'),
    (NULL, 'retention', '2 days'), (NULL, 'history', 'all'), (NULL, 'strict', 'false'),
    (NULL, 'dead_letter_enabled', 'true'),
    (NULL, 'dead_letter_retention', '3 days'), (NULL, 'durability', 'strict'),
    (NULL, 'weight', '200'), (NULL, 'dead_letter_max', '1000'),
    (NULL, 'dead_letter_handler', 'NONE'), (NULL, 'max_timeout', '1 hour'),
    (NULL, 'highest_priority', '1'), (NULL, 'allow_free_jobs', 'true'),
    (NULL, 'retry_enabled', 'true'), (NULL, 'attempt_log', 'true'),
    (NULL, 'if_not_exists', 'false'), (NULL, 'or_replace', 'false'), (NULL, 'reset', '{}'),
    (NULL, 'handler', 'NONE'), (NULL, 'handler_kind', 'notify'), (NULL, 'retry_handler', 'NONE'),
    (NULL, 'default_timeout', '5 min'),
    (NULL, 'default_priority', '3'), (NULL, 'default_throttle_factor', '1.5'),
    (NULL, 'default_time_windows', 'NONE'), (NULL, 'time_zone', 'UTC'),
    (NULL, 'retry_base', '2 s'), (NULL, 'retry_multiplier', '1.5'), (NULL, 'retry_max', '1 hour'),
    (NULL, 'retry_jitter', '0.1'),
    (NULL, 'retry_on', '{timeout}'), (NULL, 'do_not_retry_on', '{explicit_failure}'),
    (NULL, 'on_missing_handler', 'wait'), (NULL, 'claim', 'auto'),
    (NULL, 'batch_size', '1'), (NULL, 'throttle_limit_per_key', '2.5'),
    (NULL, 'requires', '{"gpu": true}'), (NULL, 'worker_wait_ttl', '1 hour'),
    (NULL, 'parameters', '{}'), (NULL, 'validate', 'enqueue'), (NULL, 'shard_key', 'NONE'),
    (NULL, 'table_naming_strategy', 'NONE'), (NULL, 'db_config', '{}'),
    (NULL, 'rate_limit', '100/min'), (NULL, 'rate_mode', 'smooth'),
    (NULL, 'throttle_mode', 'home'), (NULL, 'move_order', 'strict'),
    (NULL, 'unique_scope', 'global'), (NULL, 'dry_run', 'true'), (NULL, 'drop_others', 'false'),
    (NULL, 'job_keys', '{new}'),
    (NULL, 'breaker', '50% of 20 in 1 min, open 30 s'),
    (NULL, 'sort', 'backlog'), (NULL, 'lines', '5'), (NULL, 'slots', '{1}'), (NULL, 'shard', '1'),
    (NULL, 'key', 'tenant 7'),
    (NULL, 'sqlstate', '23505'), (NULL, 'retry_after', '10 s'),
    ('fail_attempts', 'retry_after', '{10 s}'),
    (NULL, 'traceparent', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'),
    ('create_queue', 'queue', 'app.made'), ('create_instance', 'name', 'made'),
    ('alter_instance', 'name', 'app'), ('drop_instance', 'name', 'app'),
    ('register_job_type', 'job_type', 'made'), ('alter_job_type', 'handler', NULL),
    ('alter_job_type', 'retry_handler', NULL),
    ('enqueue', 'job_key', 'new'), ('enqueue', 'worker', 'one'), ('enqueue', 'after', '{}'),
    ('enqueue_unique', 'job_key', 'new'), ('enqueue_unique', 'worker', NULL),
    ('enqueue_many', 'job_data', '{"{\"to\": \"ann\"}"}'),
    ('apply', 'state', '{"instances": {}}'),
    ('complete_by_key', 'shard_key', NULL), ('fail_by_key', 'shard_key', NULL),
    ('enqueue_graph', 'graph', '[{"name": "a", "job_type": "external"}]'),
    ('enqueue_graph', 'deadline', '2100-01-02 12:00:00+00'),
    ('redrive', 'with_dependents', 'true'),
    ('outcome_of', 'job', (SELECT min(graph_id)::text FROM hipq.graphs)),
    ('result_of', 'job', (SELECT min(graph_id)::text FROM hipq.graphs)),
    ('current_batch', 'job', (SELECT id::text FROM hipq.jobs_detail WHERE job_key = 'held')),
    ('cancel_graph', 'id', (SELECT min(graph_id)::text FROM hipq.graphs)),
    ('graph_dot', 'id', (SELECT min(graph_id)::text FROM hipq.graphs)),
    ('cancel_jobs', 'state', 'initial'), ('pause', 'throttle_key', NULL),
    ('resume', 'throttle_key', NULL), ('pause', 'instance', NULL), ('resume', 'instance', NULL),
    ('pause', 'until', '2100-01-01 12:00:00+00'),
    ('wait_for', 'timeout', '0'),
    ('retry', 'id', (SELECT min(id)::text FROM hipq.jobs_detail WHERE outcome = 'failed')),
    ('redrive', 'id', (SELECT min(id)::text FROM hipq.jobs_detail WHERE outcome = 'failed')),
    ('erase', 'id', (SELECT min(id)::text FROM hipq.jobs_detail WHERE outcome = 'failed')),
    ('reschedule', 'id', (SELECT id::text FROM hipq.jobs_detail WHERE job_key = 'later')),
    ('dry_fail', 'id', (SELECT id::text FROM hipq.jobs_detail WHERE job_key = 'later')),
    ('is_job_retriable', 'id',
        (SELECT min(id)::text FROM hipq.jobs_detail WHERE outcome = 'failed')),
    ('why_retriable', 'id', (SELECT min(id)::text FROM hipq.jobs_detail WHERE outcome = 'failed')),
    ('dismiss_dead_letter', 'id',
        (SELECT min(id)::text FROM hipq.jobs_detail WHERE outcome = 'failed')),
    ('handle_again', 'id', (SELECT min(id)::text FROM hipq.jobs_detail WHERE outcome = 'failed')),
    ('purge_dead_letter', 'id',
        (SELECT min(id)::text FROM hipq.jobs_detail WHERE outcome = 'failed'));

-- The functions that users call, with all their arguments: one of each number of them.
CREATE TEMPORARY VIEW argument AS
SELECT form.name, form.number, place, form.names[place] AS parameter, given.value,
       given.parameter IS NOT NULL AS is_known
FROM (
    SELECT DISTINCT ON (proname, pronargs) proname AS name, pronargs AS number, proargnames AS names
    FROM pg_proc
    WHERE pronamespace = 'hipq'::regnamespace AND proname !~ '^_'
      AND prorettype <> 'trigger'::regtype
      AND prokind = 'f'    -- the procedure wants another server
    ORDER BY proname, pronargs, oid
) AS form
LEFT JOIN LATERAL generate_series(1, form.number::integer) AS place ON true
LEFT JOIN LATERAL (
    SELECT example.parameter, example.value FROM example
    WHERE example.parameter = form.names[place] AND coalesce(function, form.name) = form.name
    ORDER BY function NULLS LAST LIMIT 1
) AS given ON true;

DO $$
DECLARE
    missing text := (SELECT string_agg(format('%s(%s)', name, parameter), ', ') FROM argument
        WHERE place IS NOT NULL AND NOT is_known);
BEGIN
    IF missing IS NOT NULL THEN
        RAISE 'no example value for %', missing USING HINT = 'Add one to test/drivers/list.sql.';
    END IF;
END
$$;

SELECT concat_ws(E'\t', 'call',
    format('SELECT * FROM hipq.%I(%s)', name, string_agg('$' || place, ', ' ORDER BY place)),
    string_agg(coalesce(value, '\N'), E'\t' ORDER BY place) FILTER (WHERE place IS NOT NULL))
FROM argument
GROUP BY name, number
ORDER BY name, number;

-- What the types of hipq's columns are read as.
SELECT 'value', statement, kind, value
FROM (VALUES
    ('SELECT attempt FROM hipq.jobs_detail WHERE job_key = ''held''', 'integer', '1'),
    ('SELECT max(id) - max(id) + 9007199254740993 FROM hipq.jobs_detail', 'integer',
        '9007199254740993'),
    ('SELECT priority FROM hipq.jobs_detail WHERE job_key = ''later''', 'integer', '7'),
    ('SELECT is_accepted FROM hipq.running_detail', 'boolean', 'true'),
    ('SELECT job_type FROM hipq.jobs_detail WHERE job_key = ''later''', 'text', 'external'),
    ('SELECT state FROM hipq.jobs_detail WHERE job_key = ''later''', 'text', 'initial'),
    ('SELECT scheduled_run_time FROM hipq.jobs_detail WHERE job_key = ''later''', 'time',
        '4102488000250'),
    ('SELECT expires_time FROM hipq.jobs_detail WHERE job_key = ''later''', 'time', 'NULL'),
    ('SELECT expires_time FROM hipq.app_drivers WHERE job_key = ''later''', 'time',
        '253370764800000'),
    ('SELECT accepted_time FROM hipq.jobs_detail WHERE job_key = ''later''', 'time', 'NULL'),
    ('SELECT throttle_factor FROM hipq.jobs_detail WHERE job_key = ''later''', 'number', '0.5'),
    ('SELECT default_throttle_factor FROM hipq.job_types_detail WHERE job_type = ''external''',
        'number', '1'),
    ('SELECT job_data FROM hipq.jobs_detail WHERE job_key = ''later''', 'json', '{"to":"ann"}'),
    ('SELECT queues FROM hipq.workers_detail', 'array', 'app.drivers,app.other'),
    ('SELECT manual_reason FROM hipq.jobs_detail WHERE job_key = ''later''', 'text', 'NULL')
) AS read (statement, kind, value);
