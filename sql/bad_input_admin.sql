-- Errors when queues, rights and job types are set up: each with SQLSTATE, message, detail and
-- hint, and without any effect.
\set VERBOSITY terse
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;

-- Runs a statement and returns its error. The caught error also must leave nothing behind.
CREATE FUNCTION try(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    detail text;
    hint text;
BEGIN
    EXECUTE statement;
    RETURN 'passes';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN format('%s %s', SQLSTATE, SQLERRM)
        || CASE WHEN detail <> '' THEN E'\n  DETAIL: ' || detail ELSE '' END
        || CASE WHEN hint <> '' THEN E'\n  HINT: ' || hint ELSE '' END;
END
$$;

CREATE ROLE regress_hipq_bad_owner LOGIN;
CREATE ROLE regress_hipq_bad_other LOGIN;
CREATE ROLE regress_hipq_bad_root LOGIN SUPERUSER;
SELECT hipq.create_queue('bad.queue', owner => 'regress_hipq_bad_owner') > 0;
SELECT hipq.create_queue('bad.root', owner => 'regress_hipq_bad_root') > 0;

-- Instances
SELECT try($$SELECT hipq.create_instance(NULL)$$);
SELECT try($$SELECT hipq.create_instance('Upper')$$);
SELECT try($$SELECT hipq.create_instance('')$$);
SELECT try($$SELECT hipq.create_instance('bad')$$);
SELECT try($$SELECT hipq.create_instance('fresh', shard_key => '')$$);
SELECT try($$SELECT hipq.create_instance('fresh', table_naming_strategy => '')$$);
SELECT try($$SELECT hipq.create_instance('fresh', table_naming_strategy => '$1 ||')$$);
SELECT try($$SELECT hipq.create_instance('fresh', table_naming_strategy => '$1; DROP TABLE x')$$);
SELECT try($$SELECT hipq.create_instance('fresh', db_config => '[]')$$);
SELECT try($$SELECT hipq.drop_instance('nowhere')$$);
SELECT try($$SELECT hipq.drop_instance('bad')$$);

-- Queues: names
SELECT try($$SELECT hipq.create_queue(NULL)$$);
SELECT try($$SELECT hipq.create_queue('bad')$$);
SELECT try($$SELECT hipq.create_queue('bad.Upper')$$);
SELECT try($$SELECT hipq.create_queue('bad.queue.more')$$);
SELECT try($$SELECT hipq.create_queue('bad.queue')$$);
SELECT try($$SELECT hipq.create_queue('bad.with_live')$$);
SELECT try($$SELECT hipq.create_queue('bad.with_final')$$);
SELECT try($$SELECT hipq.create_queue('bad.with_final_thing')$$);
SELECT try($$SELECT hipq.create_queue('hipq.job')$$);
SELECT try($$SELECT hipq.create_queue('hipq.worker_pool')$$);
SELECT try($$SELECT hipq.create_queue(
    'bad.a_name_that_is_far_too_long_as_its_table_would_have_seventy_')$$);
CREATE TABLE hipq.bad_taken ();
SELECT try($$SELECT hipq.create_queue('bad.taken')$$);
DROP TABLE hipq.bad_taken;

-- Queues: tables named by a strategy
SELECT hipq.create_instance('upper', table_naming_strategy => 'upper($2)') > 0;
SELECT hipq.create_instance('nulls', table_naming_strategy => 'NULL') > 0;
SELECT hipq.create_instance('many',
    table_naming_strategy => 'x FROM generate_series(1, 2) AS x') > 0;
SELECT hipq.create_instance('division', table_naming_strategy => '1 / length($1) / 0') > 0;
SELECT hipq.create_instance('clash', table_naming_strategy => $$'bad_' || $2$$) > 0;
SELECT try($$SELECT hipq.create_queue('upper.mail')$$);
SELECT try($$SELECT hipq.create_queue('nulls.mail')$$);
SELECT try($$SELECT hipq.create_queue('many.mail')$$);
SELECT try($$SELECT hipq.create_queue('division.mail')$$);
SELECT try($$SELECT hipq.create_queue('clash.queue')$$);
SELECT hipq.create_instance('endless', table_naming_strategy => $$repeat('x', 70)$$) > 0;
SELECT hipq.create_instance('nobody',
    table_naming_strategy => 'x FROM generate_series(1, 0) AS x') > 0;
SELECT hipq.create_instance('gone', table_naming_strategy => 'public.bad_strategy($1, $2)') > 0;
SELECT try($$SELECT hipq.create_queue('endless.mail')$$);
SELECT try($$SELECT hipq.create_queue('nobody.mail')$$);
-- PostgreSQL up to 18 adds a hint of its own.
SELECT replace(try($$SELECT hipq.create_queue('gone.mail')$$), 'No function matches the given name '
    'and argument types. You might need to add explicit type casts. ', '') AS try;
CREATE FUNCTION bad_strategy(text, text) RETURNS text
LANGUAGE plpgsql AS $$BEGIN RAISE 'no name for %', $2 USING ERRCODE = 'HX001',
    DETAIL = 'It is monday.', HINT = 'Wait.'; END$$;
SELECT try($$SELECT hipq.create_queue('gone.mail')$$);
-- A call that fails leaves no object, and the session as it was.
SELECT count(*) FROM hipq.queues
WHERE split_part(queue, '.', 1)
    IN ('upper', 'nulls', 'many', 'division', 'clash', 'endless', 'nobody', 'gone');
SELECT count(*) FROM pg_class WHERE relnamespace = 'hipq'::regnamespace AND relname ~ 'mail';
SELECT current_user = session_user, current_setting('search_path');
CREATE OR REPLACE FUNCTION bad_strategy(text, text)
RETURNS text LANGUAGE sql AS $$SELECT 'named_' || $2$$;
SELECT hipq.create_queue('gone.mail', owner => 'regress_hipq_bad_owner') > 0;
SELECT to_regclass('hipq.named_mail');
SELECT hipq.drop_queue('gone.mail'), hipq.drop_instance('gone');
DROP FUNCTION bad_strategy;
CREATE ROLE regress_hipq_bad_maker;
SELECT hipq.create_instance('orphan', table_naming_strategy => '$2') > 0;
UPDATE hipq.instance SET created_by = 'regress_hipq_bad_maker' WHERE name = 'orphan';
DROP ROLE regress_hipq_bad_maker;
SELECT try($$SELECT hipq.create_queue('orphan.mail')$$);

-- Queues: values
SELECT try($$SELECT hipq.create_queue('bad.fresh', throttle_limit => 1e9)$$);
SELECT try($$SELECT hipq.create_queue('bad.fresh', throttle_limit => 'NaN')$$);
SELECT try($$SELECT hipq.create_queue('bad.fresh', throttle_limit => 'infinity')$$);
SELECT try($$SELECT hipq.create_queue('bad.fresh', retention => '59 s')$$);
SELECT try($$SELECT hipq.create_queue('bad.fresh', retention => '-1 day')$$);
SELECT try($$SELECT hipq.create_queue('bad.fresh', retention => '1000 years')$$);
SELECT try($$SELECT hipq.create_queue('bad.fresh', retention => '1 us')$$);
SELECT try($$SELECT hipq.create_queue('bad.fresh', dead_letter_retention => '0')$$);
SELECT try($$SELECT hipq.create_queue('bad.fresh', history => 'some')$$);
SELECT try($$SELECT hipq.create_queue('bad.fresh', durability => 'some')$$);
SELECT try($$SELECT hipq.create_queue('bad.fresh', queue_ttl => 0)$$);
SELECT try($$SELECT hipq.create_queue('bad.fresh', weight => 0)$$);
SELECT try($$SELECT hipq.create_queue('bad.fresh', weight => 1001)$$);
SELECT try($$SELECT hipq.create_queue('bad.fresh', owner => '4294967295')$$);

-- Queues: changes
SELECT try($$SELECT hipq.alter_queue('bad.nowhere')$$);
SELECT try($$SELECT hipq.alter_queue('nowhere')$$);
SELECT try($$SELECT hipq.alter_queue('bad.queue', throttle_limit => 1e9)$$);
SELECT try($$SELECT hipq.alter_queue('bad.queue', reset => '{owner}')$$);
SELECT try($$SELECT hipq.alter_queue('bad.queue', reset => '{NULL}')$$);
SELECT try($$SELECT hipq.alter_queue('bad.queue', retention => '1 day', reset => '{retention}')$$);
SELECT try($$SELECT hipq.drop_queue('bad.nowhere')$$);
SELECT hipq.enqueue('far', scheduled_run_time => now() + '1 day', queue => 'bad.queue') > 0;
SELECT try($$SELECT hipq.drop_queue('bad.queue')$$);
CREATE VIEW on_queue AS SELECT * FROM hipq.bad_queue;
SELECT try($$SELECT hipq.drop_queue('bad.queue', force => true)$$);
DROP VIEW on_queue;

-- Rights
SELECT try($$SELECT hipq.grant_queue('bad.queue', 'regress_hipq_bad_other', 'everything')$$);
SELECT try($$SELECT hipq.grant_queue('bad.queue', NULL, 'read')$$);
SELECT try($$SELECT hipq.grant_queue('bad.queue', '4294967295', 'read')$$);
SELECT try($$SELECT hipq.grant_queue('bad.nowhere', 'regress_hipq_bad_other', 'read')$$);
SELECT try($$SELECT hipq.revoke_queue('bad.queue', 'regress_hipq_bad_owner', 'read')$$);

-- Job types: values
SELECT try($$SELECT hipq.register_job_type('bad.nowhere', 'a')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', '')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', NULL)$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', default_timeout => 0)$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', default_priority => 40000)$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', default_throttle_factor => -0.5)$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', default_throttle_factor => 'NaN')$$);
SELECT try(
    $$SELECT hipq.register_job_type('bad.queue', 'a', default_throttle_factor => 'infinity')$$);
SELECT try(
    $$SELECT hipq.register_job_type('bad.queue', 'a', default_time_windows => 'mon-fri 25:00')$$);
SELECT try($$SELECT 'mon, wed 10:00-11:00'::hipq.time_windows$$);
SELECT try($$SELECT 'rubbish'::hipq.time_windows$$);
SELECT try($$SELECT '9:00-17:00'::hipq.time_windows$$);
SELECT 'mon wed 9:00-11:00'::hipq.time_windows;
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', time_zone => 'Mars/Olympus')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', time_zone => '')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', time_zone => 'CEST')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', time_zone => 'CET-1CEST')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', time_zone => '+02')$$);
SET TIME ZONE -7;
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a')$$);
RESET TIME ZONE;
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', max_retries => -1)$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', retry_base => '-1 s')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', retry_max => '102 years')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', retry_multiplier => 0.5)$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', retry_multiplier => 'NaN')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', retry_jitter => 1.5)$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', retry_on => '{timeout, sometimes}')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', do_not_retry_on => '{4000}')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', do_not_retry_on => '{NULL}')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', on_missing_handler => 'ignore')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', claim => 'grab')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', batch_size => 0)$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', batch_size => 1001)$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', throttle_limit => 1e9)$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', throttle_limit => 'NaN')$$);
SELECT try($$SELECT hipq.alter_job_type('bad.queue', 'a', throttle_limit_per_key => -1e9)$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', throttle_limit_per_key => 1e9)$$);
CREATE FUNCTION bad_batch(jsonb[]) RETURNS void LANGUAGE sql AS '';
CREATE PROCEDURE bad_batch_procedure(jsonb[]) LANGUAGE sql AS '';
CREATE PROCEDURE bad_locked(jsonb) LANGUAGE sql AS '';
SELECT try(
    $$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'bad_locked', batch_size => 10)$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'bad_batch_procedure')$$);
SELECT try(
    $$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'bad_locked', claim => 'lock')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', retry_handler => 'bad_batch')$$);
SELECT hipq.register_job_type('bad.queue', 'batch', handler => 'bad_batch', batch_size => 10);
SELECT try($$SELECT hipq.alter_job_type('bad.queue', 'batch', handler => 'bad_locked')$$);
SELECT hipq.drop_job_type('bad.queue', 'batch');
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', queue_ttl => 0)$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', worker_wait_ttl => -1)$$);

-- Job types: handlers
CREATE FUNCTION bad_result(jsonb) RETURNS SETOF jsonb LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION bad_arguments(text) RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION bad_trigger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE FUNCTION bad_two(jsonb) RETURNS jsonb LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION bad_two(bigint, jsonb) RETURNS jsonb LANGUAGE sql AS 'SELECT $2';
CREATE FUNCTION bad_private(jsonb) RETURNS jsonb LANGUAGE sql AS 'SELECT $1';
REVOKE EXECUTE ON FUNCTION bad_private(jsonb) FROM PUBLIC;
CREATE FUNCTION pg_temp.bad_temporary(jsonb) RETURNS jsonb LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION bad_delay(jsonb) RETURNS interval LANGUAGE sql AS 'SELECT NULL::interval';
CREATE FUNCTION bad_delay(bigint, jsonb) RETURNS interval LANGUAGE sql AS 'SELECT NULL::interval';
CREATE FUNCTION bad_private_delay(jsonb) RETURNS interval LANGUAGE sql AS 'SELECT NULL::interval';
REVOKE EXECUTE ON FUNCTION bad_private_delay(jsonb) FROM PUBLIC;
CREATE FUNCTION pg_temp.bad_temporary_delay(jsonb)
RETURNS interval LANGUAGE sql AS 'SELECT NULL::interval';
CREATE PROCEDURE bad_procedure(INOUT data jsonb) LANGUAGE sql AS 'SELECT $1';
CREATE PROCEDURE good_procedure(data jsonb) LANGUAGE sql AS '';
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => '')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'bad_two(jsonb)',
    handler_kind => 'magic')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler_kind => 'function')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'bad_two(jsonb)',
    handler_kind => 'notify')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'no_such_function')$$);
SELECT try(
    $$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'no_such_function(jsonb)')$$);
SELECT try(
    $$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'nowhere.no_such_function')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'bad_result')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'bad_arguments')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'bad_trigger')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'bad_two')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'bad_two(jsonb)',
    handler_kind => 'procedure')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'good_procedure',
    handler_kind => 'function')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'bad_procedure')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'bad_private')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'pg_temp.bad_temporary')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'count(*)')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'INSERT INTO')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'SELECT 1; SELECT 2')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'ROLLBACK',
    handler_kind => 'statement')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'COPY x TO STDOUT')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'bad_two(jsonb)',
    retry_handler => 'bad_two(jsonb)')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'bad_two(jsonb)',
    retry_handler => 'no_such_function')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'bad_two(jsonb)',
    retry_handler => 'no_such_function(jsonb)')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'bad_two(jsonb)',
    retry_handler => 'nowhere.no_such_function(jsonb)')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'bad_two(jsonb)',
    retry_handler => '')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'bad_two(jsonb)',
    retry_handler => 'bad_arguments')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'bad_two(jsonb)',
    retry_handler => 'bad_result')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'bad_two(jsonb)',
    retry_handler => 'bad_two')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'bad_two(jsonb)',
    retry_handler => 'bad_delay')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'bad_two(jsonb)',
    retry_handler => 'good_procedure')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'bad_two(jsonb)',
    retry_handler => 'bad_private_delay')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'bad_two(jsonb)',
    retry_handler => 'pg_temp.bad_temporary_delay')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'bad_two(jsonb)',
    retry_handler => 'SELECT 1; SELECT 2')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'bad_two(jsonb)',
    retry_handler => 'INSERT INTO')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'bad_two(jsonb)',
    retry_handler => 'ROLLBACK')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a', handler => 'bad_two(jsonb)',
    retry_handler => 'VACUUM bad_table')$$);
SELECT try($$SELECT hipq.register_job_type('bad.root', 'a', retry_handler => 'bad_delay(jsonb)')$$);
SELECT try($$SELECT hipq.register_job_type('bad.root', 'a', handler => 'bad_two(jsonb)')$$);
SELECT try($$SELECT hipq.register_job_type('bad.root', 'a', handler => 'SELECT 1')$$);

-- Job types: changes
SELECT hipq.register_job_type('bad.queue', 'known', handler => 'bad_two(jsonb)');
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'known')$$);
SELECT try($$SELECT hipq.alter_job_type('bad.queue', 'unknown', max_retries => 1)$$);
SELECT try($$SELECT hipq.alter_job_type('bad.queue', 'known', default_timeout => -1)$$);
SELECT try($$SELECT hipq.alter_job_type('bad.queue', 'known', handler_kind => 'function')$$);
SELECT try($$SELECT hipq.alter_job_type('bad.queue', 'known', reset => '{handler}')$$);
SELECT try($$SELECT hipq.alter_job_type('bad.queue', 'known', max_retries => 1,
    reset => '{max_retries}')$$);
SELECT try($$SELECT hipq.alter_queue('bad.queue', owner => 'regress_hipq_bad_root')$$);
SELECT try($$SELECT hipq.drop_job_type('bad.queue', 'unknown')$$);
SELECT hipq.enqueue('known', scheduled_run_time => now() + '1 day', queue => 'bad.queue') > 0;
SELECT try($$SELECT hipq.drop_job_type('bad.queue', 'known')$$);
SELECT try($$SELECT * FROM hipq.retry_schedule('unknown')$$);
SELECT try($$SELECT * FROM hipq.retry_schedule('bad.queue', 'unknown')$$);
SELECT try($$SELECT * FROM hipq.retry_schedule('bad.nowhere', 'known')$$);
SELECT hipq.register_job_type('bad.root', 'known');
SELECT try($$SELECT * FROM hipq.retry_schedule('known')$$);
SELECT try($$SELECT hipq._may(1, 'everything')$$);

-- Roles other than the queue owner: an object that the role may not see does not exist for it.
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA hipq TO regress_hipq_bad_other;
GRANT USAGE ON SCHEMA hipq TO regress_hipq_bad_other;
SET ROLE regress_hipq_bad_other;
SELECT try($$SELECT hipq.create_queue('bad.fresh', owner => 'regress_hipq_bad_owner')$$);
SELECT try($$SELECT hipq.alter_queue('bad.queue', strict => true)$$);
SELECT try($$SELECT hipq.drop_queue('bad.queue')$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a')$$);
SELECT try($$SELECT hipq.alter_job_type('bad.queue', 'known', max_retries => 1)$$);
SELECT try($$SELECT hipq.drop_job_type('bad.queue', 'known')$$);
SELECT try($$SELECT hipq.grant_queue('bad.queue', 'regress_hipq_bad_other', 'read')$$);
SELECT try($$SELECT hipq.revoke_queue('bad.queue', 'regress_hipq_bad_other', 'read')$$);
SELECT try($$SELECT * FROM hipq.retry_schedule('bad.queue', 'known')$$);
SELECT try($$SELECT * FROM hipq.retry_schedule('known')$$);
RESET ROLE;
SELECT hipq.grant_queue('bad.queue', 'regress_hipq_bad_other', 'enqueue');
SET ROLE regress_hipq_bad_other;
SELECT try($$SELECT hipq.alter_queue('bad.queue', strict => true)$$);
SELECT try($$SELECT hipq.register_job_type('bad.queue', 'a')$$);
SELECT try($$SELECT hipq.grant_queue('bad.queue', 'regress_hipq_bad_other', 'read')$$);
SELECT try($$SELECT * FROM hipq.retry_schedule('bad.queue', 'known')$$);
RESET ROLE;
-- A queue owner cannot have the queue's jobs run as another role.
SET ROLE regress_hipq_bad_owner;
SELECT try($$SELECT hipq.alter_queue('bad.queue', owner => 'regress_hipq_bad_other')$$);
RESET ROLE;

-- No effect remains
SELECT instance.name, queue.name, job_type.name, queue.throttle_limit, queue.retention,
       queue.is_strict, queue.owner
FROM hipq.queue
JOIN hipq.instance USING (instance_id)
LEFT JOIN hipq.job_type USING (queue_id)
WHERE instance.name IN ('bad', 'fresh', 'upper', 'nulls', 'many', 'division', 'clash', 'endless',
    'nobody', 'gone', 'orphan') AND job_type.name IS DISTINCT FROM 'far'
ORDER BY 1, 2, 3;
SELECT current_user = session_user;

SELECT hipq.drop_queue('bad.queue', force => true);
SELECT hipq.drop_queue('bad.root', force => true);
SELECT hipq.drop_instance(name)
FROM unnest('{bad, upper, nulls, many, division, clash, endless, nobody, orphan}'::text[]) AS name;
DROP PROCEDURE bad_procedure, good_procedure;
DROP FUNCTION try, bad_result, bad_arguments, bad_trigger, bad_two(jsonb), bad_two(bigint, jsonb),
    bad_private, bad_delay(jsonb), bad_delay(bigint, jsonb), bad_private_delay;
DROP OWNED BY regress_hipq_bad_other, regress_hipq_bad_owner, regress_hipq_bad_root;
DROP ROLE regress_hipq_bad_owner, regress_hipq_bad_other, regress_hipq_bad_root;
