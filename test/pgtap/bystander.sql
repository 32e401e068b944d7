-- A role that may use the schema and has no right on any queue: it sees nothing, changes nothing,
-- and gets the same answers about existing objects as about missing ones. This test covers every
-- function and view that PUBLIC may use. Then a role that may not use the schema: it gets nothing
-- at all.
BEGIN;
SET LOCAL search_path = pg_catalog, public;
SELECT plan(19);

CREATE ROLE by_owner LOGIN;
CREATE ROLE by_bystander LOGIN;
CREATE ROLE by_stranger LOGIN;
GRANT USAGE ON SCHEMA hipq TO by_bystander;

-- Another owner's queue, with rows of every kind. Rows in all states, as a restore loads them.
SELECT hipq.create_queue('there.secret', owner => 'by_owner') AS queue \gset
SELECT hipq.register_job_type('there.secret', 'secret', handler_kind => 'notify');
SELECT hipq.pause('there.secret', 'secret');
INSERT INTO hipq.worker (name, role, queues, job_types)
VALUES ('secret', 'by_owner', '{there.secret}', '{secret}')
RETURNING worker_id AS worker \gset
INSERT INTO hipq.schedule (name, cron, role, queue_id, job_type, job_key)
VALUES ('there', '* * * * *', 'by_owner', :queue, 'secret', 'secret')
RETURNING schedule_id AS schedule \gset
SELECT hipq.enqueue('secret', queue => 'there.secret', job_key => 'secret',
                    scheduled_run_time => '2100-01-01') AS waiting \gset
SET LOCAL session_replication_role = replica;
INSERT INTO hipq.job (id, queue_id, state, error, retry_reason, throttle_factor, update_time,
    created_time, timeout, max_retries, priority, job_type, job_key, time_windows, attempt)
VALUES (:waiting + 1, :queue, 'final', 'secret', 'explicit_failure', 1, now(),
    now(), 60, 0, 0, 'secret', 'secret final', 'NONE', 1)
RETURNING id AS final \gset
INSERT INTO hipq.graph_job (graph_id, name, job_id, queue_id)
VALUES (:waiting, 'secret', :waiting, :queue), (:waiting, 'final', :final, :queue);
INSERT INTO hipq.dependency (queue_id, job_id, before_id, before_queue_id, after_policy, on_failure)
VALUES (:queue, :waiting, :final, :queue, 'finished', 'run');
INSERT INTO hipq.batch (batch_id, queue_id, name, created_time, expires_time)
VALUES (:waiting + 2, :queue, 'secret', now(), now() + interval '1 day')
RETURNING batch_id AS batch \gset
INSERT INTO hipq.batch_join (batch_id, queue_id, jobs) VALUES (:batch, :queue, 1);
INSERT INTO hipq.batch_failure (batch_id, outcome, job_id) VALUES (:batch, 'failed', :final);
RESET session_replication_role;
INSERT INTO hipq.attempt (job_id, started_time, ended_time, queue_id, attempt, job_type, job_key,
    reason, error)
VALUES (:final, now(), now(), :queue, 1, 'secret', 'secret final', 'explicit_failure', 'secret');
INSERT INTO hipq.attempt_log (job_id, logged_time, queue_id, attempt, level, sqlstate, message)
VALUES (:final, now(), :queue, 1, 'WARNING', '01000', 'secret');
INSERT INTO hipq.dead_letter (job_id, died_time, queue_id, job_type, job_key, reason, error, job)
VALUES (:final, now(), :queue, 'secret', 'secret final', 'explicit_failure', 'secret', '{}');

-- The answer to a role that selects from it: the rows (NULL: nothing), or the SQLSTATE.
CREATE FUNCTION pg_temp.answer_to(source text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    EXECUTE format('SELECT coalesce(string_agg(trim(said::text, %L), %L), %L) FROM %s AS said',
                   '()', ', ', 'nothing', source) INTO answer;
    RETURN answer;
EXCEPTION WHEN OTHERS THEN
    RETURN sqlstate;
END
$$;

-- Functions, with their arguments where the name is overloaded; {queue} and the like stand for
-- objects that exist, or do not.
CREATE TEMP TABLE asked (function text, call text, answer text);
INSERT INTO asked (function, call, answer) VALUES
    -- whose answer is not secret
    ('now', 'lateral (SELECT hipq.now() > ''2000-01-01'')', 't'),
    ('version',
     'lateral (SELECT hipq.version() = extversion FROM pg_extension WHERE extname = ''hipq'')',
     't'),
    ('_are_time_windows', 'hipq._are_time_windows(''NONE'')', 'true'),
    ('_is_rate', 'hipq._is_rate(''NONE'')', 'true'),
    ('_is_breaker_rule', 'hipq._is_breaker_rule(''NONE'')', 'true'),
    ('_breaker', 'lateral (SELECT state IS NULL FROM hipq._breaker({queue}, ''secret''))', 't'),
    ('_key_hash', 'hipq._key_hash(''NONE'')', '0'),
    ('_role_in', 'hipq._role_in(''pg_monitor'')', 'pg_monitor'),
    ('_role_out', 'hipq._role_out(''pg_monitor'')', 'pg_monitor'),
    ('_role_send', 'hipq._role_send(''pg_monitor'')', '\x00000d2d'),
    ('_duration_in', 'hipq._duration_in(''5 min'')', '00:05:00'),
    ('_duration_out', 'hipq._duration_out(''5 min'')', '00:05:00'),
    ('_duration(text)', 'hipq._duration(''5 min''::text)', '00:05:00'),
    ('_duration(interval)', 'hipq._duration(interval ''5 min'')', '00:05:00'),
    ('_duration(smallint)', 'hipq._duration(300::smallint)', '00:05:00'),
    ('_duration(integer)', 'hipq._duration(300)', '00:05:00'),
    ('_duration(bigint)', 'hipq._duration(300::bigint)', '00:05:00'),
    ('_duration(real)', 'hipq._duration(300::real)', '00:05:00'),
    ('_duration(float8)', 'hipq._duration(300::float8)', '00:05:00'),
    ('_duration(numeric)', 'hipq._duration(300::numeric)', '00:05:00'),
    ('_time_or_duration_in', 'hipq._time_or_duration_in(''5 min'')', '00:05:00'),
    ('_time_or_duration_out', 'hipq._time_or_duration_out(''5 min'')', '00:05:00'),
    ('_time_or_duration(text)', 'hipq._time_or_duration(''5 min''::text)', '00:05:00'),
    ('_time_or_duration(interval)', 'hipq._time_or_duration(interval ''5 min'')', '00:05:00'),
    ('_time_or_duration(timestamptz)', 'hipq._time_or_duration(''-infinity''::timestamptz)',
     '-infinity'),
    ('_time_or_duration(timestamp)', 'hipq._time_or_duration(''-infinity''::timestamp)',
     '-infinity'),
    ('_time_or_duration(date)', 'hipq._time_or_duration(''-infinity''::date)', '-infinity'),
    ('slot_of', 'hipq.slot_of(''tenant-1'')', '634'),
    ('_is_own_timeline', 'hipq._is_own_timeline(''secret'')', 'false'),
    ('_next_run', 'lateral (SELECT hipq._next_run(''* * * * *'', NULL) > ''2000-01-01'')', 't'),
    ('_is_one_of', 'hipq._is_one_of(1, ''{1}'')', 'true'),
    ('_is_in_reach_by_scan', 'hipq._is_in_reach_by_scan(2, ''{3, NULL, 1}'', false)', 'false'),
    ('_asked_ids', 'lateral (SELECT hipq._asked_ids() IS NULL)', 't'),
    ('_is_asked_for', 'hipq._is_asked_for(''secret'', {queue})', 'true'),
    ('_is_as_asked', 'hipq._is_as_asked(''secret'')', 'true'),
    ('describe',
     'lateral (SELECT jsonb_path_query_array(hipq.describe(), ''$.*[*]''))', '[]'),
    ('apply',
     'hipq.apply(''{"instances": [], "queues": [], "job_types": [], "grants": [],
                  "schedules": [], "pauses": []}'', drop_others => true)', 'nothing'),
    ('fail_retriable', 'lateral (SELECT hipq.fail_retriable(''x''))', 'HQ002'),
    ('retry_after', 'lateral (SELECT hipq.retry_after(''1 s''))', 'HQ002'),
    ('rate_limited', 'lateral (SELECT hipq.rate_limited(''1 s''))', 'HQ002'),
    ('fail_permanently', 'lateral (SELECT hipq.fail_permanently(''x''))', 'HQ001'),
    -- for handlers: no job runs here
    ('snooze', 'lateral (SELECT hipq.snooze(''1 s''))', '55000'),
    ('complete_later', 'lateral (SELECT hipq.complete_later())', '55000'),
    ('report_progress(bigint,bigint,text)', 'lateral (SELECT hipq.report_progress(1))', '55000'),
    ('schedule_time', 'hipq.schedule_time()', '55000'),
    ('extend(hipq.duration)', 'hipq.extend(''1 s''::interval)', '55000'),
    -- behind views
    ('_may', 'hipq._may({queue}, ''read'')', 'false'),
    ('_readable_queues', 'hipq._readable_queues()', '{}'),
    ('_visible_queues', 'hipq._visible_queues()', '{}'),
    ('_reachable_queues', 'hipq._reachable_queues(ARRAY[{queue}])', '{0}'),
    ('_first_unmet_condition',
     'hipq._first_unmet_condition({queue}, ''secret'', ''NONE'', ''NONE'', 1)', 'nothing'),
    ('_masked', 'hipq._masked({queue}, ''secret'', ''{"x": 1}'')', 'nothing'),
    ('_in_lines', 'hipq._in_lines(''secret'', 3)', 'secret'),
    ('_masked_job', 'hipq._masked_job({queue}, ''secret'', ''{"x": 1}'')', 'nothing'),
    ('_jobs_by_id', 'hipq._jobs_by_id(ARRAY[{waiting}])', 'nothing'),
    ('_jobs_queue_by_queue', 'hipq._jobs_queue_by_queue()', '0A000'),
    ('_unfinished_queue_by_queue', 'hipq._unfinished_queue_by_queue()', '0A000'),
    ('_unfinished_job', 'hipq._unfinished_job({queue}, {waiting})', 'nothing'),
    ('_is_running', 'hipq._is_running({queue}, {waiting})', 'false'),
    ('_has_cron_entry', 'hipq._has_cron_entry({schedule})', 'false'),
    ('_is_cron_stopped', 'hipq._is_cron_stopped()', 'false'),
    ('_batch_counts', 'hipq._batch_counts({batch})', 'nothing'),
    ('_graph_member', 'hipq._graph_member({queue}, {waiting})', 'nothing'),
    ('_newest_graphs', 'hipq._newest_graphs(NULL, 9)', '{}'),
    ('_newest_batches', 'hipq._newest_batches(NULL, 9)', '{}'),
    ('worker_queue_depth', 'hipq.worker_queue_depth({worker})', 'nothing'),
    ('_limiters', 'hipq._limiters()', 'nothing'),
    ('_rates', 'hipq._rates()', 'nothing'),
    ('_jobs_set_aside', 'hipq._jobs_set_aside()', 'nothing'),
    ('_lost_schedules', 'hipq._lost_schedules()', 'nothing'),
    ('_executors', 'hipq._executors()', 'nothing'),
    ('_running_jobs', 'hipq._running_jobs()', 'nothing'),
    ('_progress', 'hipq._progress()', 'nothing'),
    ('_lanes', 'hipq._lanes()', 'nothing'),
    ('_workers', 'hipq._workers()', 'nothing'),
    ('_worker_services', 'hipq._worker_services()', 'nothing'),
    ('_alerts', 'hipq._alerts()', 'nothing'),
    ('_overdue', 'hipq._overdue()', 'nothing'),
    ('_statistics', 'hipq._statistics()', 'nothing'),
    ('_retry_distribution', 'hipq._retry_distribution()', 'nothing'),
    ('_failure_statistics', 'hipq._failure_statistics()', 'nothing'),
    ('_throughput', 'hipq._throughput()', 'nothing'),
    ('_histograms', 'hipq._histograms()', 'nothing'),
    ('_backlog', 'hipq._backlog({queue})', 'nothing'),
    ('_depth', 'hipq._depth({queue})', ',f,'),
    ('_held', 'hipq._held(''there.secret'')', 'nothing'),
    ('doctor', 'hipq.doctor()', 'nothing'),
    ('_finished_lately', 'hipq._finished_lately()', 'nothing'),
    ('_sort_of_top', 'hipq._sort_of_top(''queue'')', 'queue'),
    ('top', 'lateral (SELECT backlog, failed, state FROM hipq.top())', '0,0,"0 queues"'),
    ('who_fills', 'lateral (SELECT hipq.who_fills(''there.secret''))', '42704'),
    -- with the id of a job
    ('why', 'lateral (SELECT condition, passed FROM hipq.why({waiting}))', 'exists,f'),
    ('find_job', 'hipq.find_job({waiting})', 'nothing'),
    ('erase', 'hipq.erase({final})', 'false'),
    ('cancel', 'hipq.cancel({waiting})', '42704'),
    ('cancel_graph', 'hipq.cancel_graph({waiting})', '42704'),
    ('current_batch', 'hipq.current_batch({waiting})', '42704'),
    ('current_batch', 'hipq.current_batch()', '55000'),
    -- with the id of a batch
    ('batch_progress', 'hipq.batch_progress({batch})', 'nothing'),
    ('close_batch', 'hipq.close_batch({batch})', '42704'),
    ('cancel_batch', 'hipq.cancel_batch({batch})', '42704'),
    -- with the id of a job
    ('outcome_of(bigint)', 'hipq.outcome_of({final})', '42704'),
    ('outcome_of(text,bigint)', 'hipq.outcome_of(''final'', {waiting})', '42704'),
    ('outcome_of(text,bigint)', 'hipq.outcome_of(''{final}'')', '42704'),
    ('outcome_of(text,bigint)', 'hipq.outcome_of(''final'')', '55000'),
    ('result_of(bigint)', 'hipq.result_of({final})', '42704'),
    ('result_of(text,bigint)', 'hipq.result_of(''final'', {waiting})', '42704'),
    ('graph_dot', 'hipq.graph_dot({waiting})', 'nothing'),
    ('retry', 'hipq.retry({final})', '42704'),
    ('reschedule', 'lateral (SELECT hipq.reschedule({waiting}, now()))', '42704'),
    ('extend_job', 'hipq.extend_job({waiting}, ''1 s''::interval)', '42704'),
    ('fail_job', 'hipq.fail_job({waiting}, ''x'')', '42704'),
    ('wait_for', 'hipq.wait_for({waiting}, ''0'')', '42704'),
    ('is_job_retriable', 'hipq.is_job_retriable({final})', '42704'),
    ('why_retriable', 'hipq.why_retriable({final})', '42704'),
    ('retry_chain', 'hipq.retry_chain({final})', '42704'),
    ('dry_fail', 'hipq.dry_fail({waiting})', '42704'),
    ('dry_run', 'hipq.dry_run({waiting})', '42704'),
    ('redrive', 'hipq.redrive({final})', '42704'),
    ('dismiss_dead_letter', 'lateral (SELECT hipq.dismiss_dead_letter({final}))', '42704'),
    ('handle_again', 'lateral (SELECT hipq.handle_again({final}))', '42704'),
    ('purge_dead_letter', 'lateral (SELECT hipq.purge_dead_letter({final}))', '42704'),
    ('report_progress(bigint,int,bigint,bigint,text)',
     'lateral (SELECT hipq.report_progress({waiting}, 1, 1, 1))', '42704'),
    ('complete', 'lateral (SELECT hipq.complete({waiting}, 1))', '42704'),
    ('fail', 'hipq.fail({waiting}, 1, ''x'')', '42704'),
    ('release', 'lateral (SELECT hipq.release({waiting}, 1))', '42704'),
    ('extend(bigint,int,hipq.duration)', 'hipq.extend({waiting}, 1, ''1 s''::interval)', '42704'),
    ('complete_attempts', 'hipq.complete_attempts(ARRAY[{waiting}], ''{1}'')', '{}'),
    ('fail_attempts', 'hipq.fail_attempts(ARRAY[{waiting}], ''{1}'', ''{x}'')', '{}'),
    ('release_attempts', 'hipq.release_attempts(ARRAY[{waiting}], ''{1}'')', '{}'),
    ('heartbeat_attempts', 'hipq.heartbeat_attempts(ARRAY[{waiting}], ''{1}'')', '{}'),
    ('extend_attempts', 'hipq.extend_attempts(ARRAY[{waiting}], ''{1}'', ''1 s'')', '{}'),
    -- with the name of a queue
    ('enqueue(text,text{enqueue options})',
     'hipq.enqueue(''secret'', ''{}'', queue => ''{name}'')', '42704'),
    ('enqueue(text,anyelement{enqueue options})',
     'hipq.enqueue(''secret'', 1, queue => ''{name}'')', '42704'),
    ('enqueue_unique(text,text{enqueue options})',
     'hipq.enqueue_unique(''secret'', ''{}'', queue => ''{name}'', job_key => ''secret'')',
     '42704'),
    ('enqueue_unique(text,anyelement{enqueue options})',
     'hipq.enqueue_unique(''secret'', 1, queue => ''{name}'', job_key => ''secret'')', '42704'),
    ('enqueue_many', 'hipq.enqueue_many(''secret'', ''{1}'', queue => ''{name}'')', '42704'),
    ('enqueue_graph',
     'hipq.enqueue_graph(''[{"name": "a", "job_type": "secret"}]'', ''{name}'')', '42704'),
    ('create_batch', 'hipq.create_batch(queue => ''{name}'')', '42704'),
    ('create_batch',
     'hipq.create_batch(callback_type => ''secret'', queue => ''{name}'')', '42704'),
    ('schedule',
     'hipq.schedule(''secret'', ''* * * * *'', ''secret'', queue => ''{name}'')', '42704'),
    ('enqueued', 'hipq.enqueued(queue => ''{name}'')', '42704'),
    ('enqueued', 'hipq.enqueued()', 'nothing'),
    ('cancel_jobs', 'hipq.cancel_jobs(''{name}'')', '42704'),
    ('retry_jobs', 'hipq.retry_jobs(''{name}'')', '42704'),
    ('move_jobs', 'hipq.move_jobs(''{name}'', ''{name}'', ''secret'')', '42704'),
    ('pause', 'hipq.pause(''{name}'')', '42704'),
    ('pause', 'hipq.pause(''{name}'', until => ''1 hour'')', '42704'),
    ('pause', 'hipq.pause(instance => ''{instance}'')', '42704'),
    ('resume', 'hipq.resume(''{name}'', ''secret'')', '42704'),
    ('resume', 'hipq.resume(instance => ''{instance}'')', '42704'),
    ('open_breaker', 'hipq.open_breaker(''{name}'', ''secret'')', '42704'),
    ('close_breaker', 'hipq.close_breaker(''{name}'', ''secret'')', '42704'),
    ('redrive_jobs', 'hipq.redrive_jobs(''{name}'')', '42704'),
    ('dismiss_dead_letters', 'hipq.dismiss_dead_letters(''{name}'')', '42704'),
    ('handle_jobs_again', 'hipq.handle_jobs_again(''{name}'')', '42704'),
    ('purge_dead_letters', 'hipq.purge_dead_letters(''{name}'')', '42704'),
    ('resend_rejects', 'hipq.resend_rejects(''{name}'')', '42704'),
    ('complete_by_key', 'hipq.complete_by_key(''{name}'', ''secret'', ''secret'')', '42704'),
    ('fail_by_key', 'hipq.fail_by_key(''{name}'', ''secret'', ''secret'', ''x'')', '42704'),
    ('register_worker', 'hipq.register_worker(''mine'', ''{{name}}'', ''{secret}'')', '42704'),
    ('retry_schedule(text,text)', 'hipq.retry_schedule(''{name}'', ''secret'')', '42704'),
    ('retry_schedule(text)', 'hipq.retry_schedule(''secret'')', '42704'),
    ('run_until_idle', 'hipq.run_until_idle(''{name}'')', '42704'),
    ('stat_reset', 'lateral (SELECT hipq.stat_reset(''{name}''))', '42704'),
    ('stat_reset', 'lateral (SELECT hipq.stat_reset())', '42501'),
    ('grant_queue',
     'lateral (SELECT hipq.grant_queue(''{name}'', ''by_bystander'', ''read''))', '42704'),
    ('revoke_queue',
     'lateral (SELECT hipq.revoke_queue(''{name}'', ''by_owner'', ''read''))', '42704'),
    ('alter_queue',
     'lateral (SELECT hipq.alter_queue(''{name}'', owner => ''by_bystander''))', '42704'),
    ('drop_queue', 'lateral (SELECT hipq.drop_queue(''{name}'', force => true))', '42704'),
    ('drop_job_type',
     'lateral (SELECT hipq.drop_job_type(''{name}'', ''secret'', force => true))', '42704'),
    ('apply',
     'hipq.apply(''{"job_types": [{"queue": "{name}", "job_type": "x"}]}'')', '42704'),
    ('apply', 'hipq.apply(''{"pauses": [{"instance": "{instance}"}]}'')', '42704'),
    ('register_job_type', 'lateral (SELECT hipq.register_job_type(''{name}'', ''x''))', '42704'),
    ('alter_job_type', 'lateral (SELECT hipq.alter_job_type(''{name}'', ''secret''))', '42704'),
    -- with the name of something else; the existence of a worker with this number is not secret
    ('unschedule', 'lateral (SELECT hipq.unschedule(''{schedule name}''))', '42704'),
    ('unschedule', 'lateral (SELECT hipq.unschedule(''{schedule name}'', ''{name}''))', '42704'),
    ('_run_schedule', 'hipq._run_schedule({schedule})', '42704'),
    ('next_runs', 'hipq.next_runs(''{schedule name}'')', '42704'),
    ('next_runs', 'hipq.next_runs(''{schedule name}'', queue => ''{name}'')', '42704'),
    ('heartbeat(bigint,text)', 'hipq.heartbeat({worker})', '42501'),
    ('heartbeat(bigint,jsonb)', 'hipq.heartbeat({worker}, ''{}''::jsonb)', '42501'),
    ('drain_worker', 'lateral (SELECT hipq.drain_worker({worker}))', '42501'),
    ('deregister_worker', 'lateral (SELECT hipq.deregister_worker({worker}))', '42501'),
    ('claim', 'hipq.claim({worker})', '42501');

UPDATE asked SET function = replace(function, '{enqueue options}',
    ',text,text,timestamptz,int,hipq.duration,float8,text,int,timestamptz,text,text,hipq.duration,'
    'text,text,text,bigint[],text,text,bigint,bigint');
UPDATE asked SET function = CASE
    WHEN function LIKE '%(%' THEN to_regprocedure('hipq.' || function)::oid
    ELSE to_regproc('hipq.' || function)::oid
END::regprocedure;
CREATE TEMP VIEW open_function AS
SELECT oid::regprocedure::text AS function
FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner))) AS acl
WHERE pronamespace = 'hipq'::regnamespace AND acl.grantee = 0;
SELECT set_eq('SELECT DISTINCT function FROM asked', 'TABLE open_function',
    'every function that PUBLIC may call is asked here');

CREATE FUNCTION pg_temp.filled(call text, names text[], things text[]) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. cardinality(names) LOOP
        call := replace(call, '{' || names[i] || '}', things[i]);
    END LOOP;
    RETURN call;
END
$$;
CREATE TEMP TABLE answered AS
SELECT asked.function, asked.answer AS expected, pg_temp.filled(asked.call, names, things) AS source
FROM asked
CROSS JOIN (VALUES (
    '{queue, waiting, final, batch, schedule, worker, name, instance, schedule name}'::text[]
)) AS place (names)
CROSS JOIN (VALUES (
    ARRAY[:'queue', :'waiting', :'final', :'batch', :'schedule', :'worker', 'there.secret', 'there',
          'there']
), (
    ARRAY['98765', '98765', '98765', '98765', '98765', :'worker', 'nowhere.secret', 'nowhere',
          'nowhere']
)) AS filling (things);

-- Everything that is stored, and which role has which privilege on it.
CREATE TEMP VIEW digest AS
SELECT md5(concat(
    (SELECT string_agg(t::text, '' ORDER BY id) FROM hipq.job AS t),
    (SELECT string_agg(t::text, '' ORDER BY queue_id) FROM hipq.queue AS t),
    (SELECT string_agg(t::text, '' ORDER BY name) FROM hipq.instance AS t),
    (SELECT string_agg(t::text, '' ORDER BY queue_id, name) FROM hipq.job_type AS t),
    (SELECT string_agg(t::text, '' ORDER BY t::text) FROM hipq.pause AS t),
    (SELECT string_agg(t::text, '' ORDER BY schedule_id) FROM hipq.schedule AS t),
    (SELECT string_agg(t::text, '' ORDER BY worker_id) FROM hipq.worker AS t),
    (SELECT string_agg(t::text, '' ORDER BY job_id) FROM hipq.dead_letter AS t),
    (SELECT string_agg(t::text, '' ORDER BY job_id, attempt) FROM hipq.attempt AS t),
    (SELECT string_agg(t::text, '' ORDER BY job_id) FROM hipq.attempt_log AS t),
    (SELECT string_agg(t::text, '' ORDER BY job_id, before_id) FROM hipq.dependency AS t),
    (SELECT string_agg(t::text, '' ORDER BY job_id) FROM hipq.graph_job AS t),
    (SELECT string_agg(t::text, '' ORDER BY batch_id) FROM hipq.batch AS t),
    (SELECT string_agg(t::text, '' ORDER BY batch_id) FROM hipq.batch_join AS t),
    (SELECT string_agg(t::text, '' ORDER BY batch_id) FROM hipq.batch_failure AS t),
    (SELECT string_agg(concat(relname, relacl), '' ORDER BY oid)
     FROM pg_class WHERE relnamespace = 'hipq'::regnamespace),
    (SELECT nspacl FROM pg_namespace WHERE nspname = 'hipq'))) AS digest;
SELECT digest AS before FROM digest \gset

-- The bystander -----------------------------------------------------------------------------------

CREATE FUNCTION pg_temp.answers() RETURNS TABLE (source text, expected text, answer text)
LANGUAGE sql AS $$ SELECT source, expected, pg_temp.answer_to(source) FROM answered $$;
CREATE TEMP VIEW seen AS
SELECT oid::regclass::text AS view, pg_temp.answer_to(oid::regclass::text) AS answer
FROM pg_class WHERE relnamespace = 'hipq'::regnamespace AND relkind IN ('v', 'r', 'p');
GRANT SELECT ON answered, seen TO by_bystander, by_stranger;

SET LOCAL ROLE by_bystander;
SELECT is_empty('SELECT * FROM pg_temp.answers() WHERE answer IS DISTINCT FROM expected',
    'a bystander is told of what there is as of what there is not');
SELECT set_eq($$SELECT view FROM seen WHERE answer <> '42501'$$, $$
    SELECT 'hipq.' || view FROM unnest('{
        instances, queues, job_types, pauses, jobs, running, progress, attempts, attempt_logs,
        dead_letters, dead_letter_rates, dead_letter_stats, dead_letter_reasons, schedules, workers,
        healthy_workers, worker_health, executors, lanes, sizes, throttle_keys, statistics,
        retry_distribution, failure_statistics, throughput, instances_detail, queues_detail,
        job_types_detail, pauses_detail, jobs_detail, running_detail, progress_detail,
        attempts_detail, attempt_logs_detail, dead_letters_detail, dead_letter_stats_detail,
        schedules_detail, workers_detail, healthy_workers_detail, executors_detail, lanes_detail,
        sizes_detail, statistics_detail, histograms, backlog, activity, activity_detail,
        shard_rejects, shard_rejects_detail, cluster_queues, cluster_queues_detail, graphs,
        graphs_detail, graph_jobs, graph_jobs_detail, batches, batches_detail}'::text[]) AS view
$$, 'it may look into these views, and into no table');
SELECT set_eq($$SELECT view, answer FROM seen WHERE answer NOT IN ('42501', 'nothing')$$, $$
    VALUES ('hipq.worker_health',
            'healthy,0,0,,0,, unknown,0,0,,0,, degraded,0,0,,0,, unhealthy,0,0,,0,')
$$, 'and sees nothing there');
SELECT throws_ok('TABLE hipq.alerts', '42501', 'permission denied for view alerts',
    'alerts are refused: an empty view would say that all is well');

-- Functions that only hipq itself, or superusers, may call.
CREATE TEMP TABLE own (x integer);
SELECT throws_ok(format(statement, function), '42501',
    format('permission denied for function %s', function), format('%s is refused', function))
FROM (VALUES
    ('create_queue', $$SELECT hipq.%s('by.mine')$$),
    ('create_instance', $$SELECT hipq.%s('by')$$),
    ('alter_instance', $$SELECT hipq.%s('there', true)$$),
    ('drop_instance', $$SELECT hipq.%s('there')$$),
    ('release_hold', $$SELECT hipq.%s()$$),
    ('restore_schedules', $$SELECT hipq.%s()$$),
    ('_fitting_data', format($$SELECT hipq.%%s(%s, 'secret', 1, '{}')$$, :queue)),
    ('hipq._guard_job', 'CREATE TRIGGER t BEFORE INSERT ON own FOR EACH ROW EXECUTE FUNCTION %s()'),
    ('hipq._catalogue_changed', 'CREATE TRIGGER t AFTER INSERT ON own EXECUTE FUNCTION %s()')
) AS kept (function, statement);
RESET ROLE;
SELECT is((TABLE digest), :'before', 'all this has changed nothing');

-- A stranger --------------------------------------------------------------------------------------

SET LOCAL ROLE by_stranger;
SELECT is_empty($$SELECT * FROM pg_temp.answers() WHERE answer <> '42501'$$,
    'who may not use the schema calls no function');
SELECT is_empty($$SELECT * FROM seen WHERE answer <> '42501'$$, 'and reads no view');
SELECT throws_ok('SELECT hipq.now()', '42501', 'permission denied for schema hipq',
    'it is told why');
RESET ROLE;
SELECT is((TABLE digest), :'before', 'that has changed nothing either');

SELECT * FROM finish();
ROLLBACK;
