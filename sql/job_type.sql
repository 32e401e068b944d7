-- Job types: how they are registered, changed and dropped; how handlers are parsed and stored.
SET client_min_messages = warning;
CREATE ROLE regress_hipq_type_owner LOGIN;
SELECT hipq.create_queue('types.mail', owner => 'regress_hipq_type_owner') > 0 AS created;

-- Every kind of handler
CREATE SCHEMA regress_hipq_handlers;
GRANT USAGE ON SCHEMA regress_hipq_handlers TO regress_hipq_type_owner;
CREATE FUNCTION regress_hipq_handlers.of_data(data jsonb) RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION regress_hipq_handlers.of_job(job hipq.job)
RETURNS jsonb LANGUAGE sql AS $$ SELECT '1'::jsonb $$;
CREATE FUNCTION regress_hipq_handlers.of_id(id bigint, data jsonb)
RETURNS integer LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION regress_hipq_handlers.twice(jsonb) RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION regress_hipq_handlers.twice(hipq.job) RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION regress_hipq_handlers.helper(jsonb) RETURNS SETOF jsonb LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION regress_hipq_handlers.helper(bigint, jsonb) RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION regress_hipq_handlers."Odd name"(jsonb)
RETURNS record LANGUAGE sql AS 'SELECT 1, 2';
CREATE FUNCTION regress_hipq_handlers.vacuum(jsonb) RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION regress_hipq_handlers.delay(hipq.job)
RETURNS interval LANGUAGE sql AS $$ SELECT interval '1 s' $$;
CREATE PROCEDURE regress_hipq_handlers.steps(data jsonb) LANGUAGE sql AS '';
SET search_path = regress_hipq_handlers, public;
SELECT hipq.register_job_type('types.mail', 'none');
SELECT hipq.register_job_type('types.mail', 'by_name', handler => 'of_data');
SELECT hipq.register_job_type('types.mail', 'of_job', handler => 'regress_hipq_handlers.of_job');
SELECT hipq.register_job_type('types.mail', 'of_id', handler => '  of_id(bigint, jsonb) ');
SELECT hipq.register_job_type('types.mail', 'chosen', handler => 'twice(hipq.job)');
SELECT hipq.register_job_type('types.mail', 'the one that fits', handler => 'helper');
SELECT hipq.register_job_type('types.mail', 'odd', handler => '"Odd name"');
SELECT hipq.register_job_type('types.mail', 'steps', handler => 'steps');
SELECT hipq.register_job_type('types.mail', 'insert',
    handler => 'INSERT INTO nowhere VALUES ($1, $2)');
SELECT hipq.register_job_type('types.mail', 'select', handler => 'SELECT(1)');
SELECT hipq.register_job_type('types.mail', 'vacuum', handler => 'VACUUM');
SELECT hipq.register_job_type('types.mail', 'not vacuum', handler => 'vacuum',
    handler_kind => 'function');
SELECT hipq.register_job_type('types.mail', 'notify', handler_kind => 'notify');
SELECT hipq.register_job_type('types.mail', 'with delay', handler => 'of_data',
    retry_handler => 'delay');
RESET search_path;
SELECT job_type, handler_kind, handler, retry_handler
FROM hipq.job_types_detail WHERE queue = 'types.mail' ORDER BY job_type COLLATE "C";

-- Values: those of the settings, then every one given
SET TimeZone = 'Europe/Berlin';
SELECT hipq.register_job_type('types.mail', 'plain');
SELECT hipq.register_job_type('types.mail', 'full', default_timeout => 10, default_priority => -5,
    default_throttle_factor => 0.25, default_time_windows => 'FRI-mon 09:00-17:00,  22:00-06:00',
    time_zone => 'america/new_york', max_retries => 4, retry_base => '100 ms',
    retry_multiplier => 3, retry_max => '1 day', retry_jitter => 0, retry_on => '{22012, 40}',
    do_not_retry_on => '{timeout}', on_missing_handler => 'fail', queue_ttl => 30);
RESET TimeZone;
\x on
SELECT job_type, default_timeout, default_priority, default_throttle_factor, default_time_windows,
       time_zone, max_retries, retry_base, retry_multiplier, retry_max, retry_jitter, retry_on,
       do_not_retry_on, on_missing_handler, queue_ttl
FROM hipq.job_types_detail
WHERE job_type IN ('plain', 'full')
ORDER BY job_type;
\x off

-- Zones whose names are not only letters
SELECT hipq.register_job_type('types.mail', 'gmt', time_zone => 'etc/gmt+5');
SELECT hipq.register_job_type('types.mail', 'est', time_zone => 'EST5EDT');
SELECT hipq.alter_job_type('types.mail', 'est', time_zone => 'africa/casablanca');
SELECT job_type, time_zone
FROM hipq.job_types_detail WHERE job_type IN ('gmt', 'est') ORDER BY job_type;
SELECT hipq.drop_job_type('types.mail', job_type)
FROM hipq.job_types WHERE job_type IN ('gmt', 'est') ORDER BY job_type;
-- A changed value of the type reaches its jobs, at once in the session that changes it.
SELECT hipq.enqueue('full', queue => 'types.mail',
    scheduled_run_time => now() + '1 day') AS id \gset
SELECT timeout, priority, throttle_factor, time_windows, max_retries
FROM hipq.types_mail WHERE id = :id;
SELECT hipq.alter_job_type('types.mail', 'full', default_timeout => 20, default_priority => 7,
    default_time_windows => 'NONE', retry_on => '{}', reset => '{max_retries, retry_base}');
SELECT hipq.enqueue('full', queue => 'types.mail',
    scheduled_run_time => now() + '1 day') AS id \gset
SELECT timeout, priority, throttle_factor, time_windows, max_retries
FROM hipq.types_mail WHERE id = :id;
BEGIN;
SELECT hipq.alter_job_type('types.mail', 'full', default_timeout => 99);
ROLLBACK;
SELECT hipq.enqueue('full', queue => 'types.mail',
    scheduled_run_time => now() + '1 day') AS id \gset
SELECT timeout, retry_base, retry_on, do_not_retry_on
FROM hipq.types_mail JOIN hipq.job_types_detail USING (job_type) WHERE id = :id;

-- Another handler, then only external workers
SELECT hipq.alter_job_type('types.mail', 'full', handler => 'regress_hipq_handlers.of_data',
    retry_handler => 'regress_hipq_handlers.delay');
SELECT handler, handler_kind, retry_handler FROM hipq.job_types_detail WHERE job_type = 'full';
SELECT hipq.alter_job_type('types.mail', 'full', handler_kind => 'notify', retry_handler => 'NONE');
SELECT handler, handler_kind, retry_handler FROM hipq.job_types_detail WHERE job_type = 'full';

-- A type without a handler, as hipq itself registers for a job of an unknown type, may be
-- registered again.
SELECT hipq.register_job_type('types.mail', 'plain', handler => 'regress_hipq_handlers.of_data',
    max_retries => 2, retry_jitter => 0.1);
SELECT handler, max_retries FROM hipq.job_types WHERE job_type = 'plain';

-- Retry schedules
SELECT * FROM hipq.retry_schedule('types.mail', 'plain');
SELECT hipq.alter_job_type('types.mail', 'plain', max_retries => 5, retry_base => '1 min',
    retry_multiplier => 10, retry_max => '1 hour');
SELECT * FROM hipq.retry_schedule('plain');
SELECT * FROM hipq.retry_schedule('none');

-- The queue owner manages types; a type with waiting jobs can be dropped only with force.
SET ROLE regress_hipq_type_owner;
SELECT hipq.register_job_type('types.mail', 'mine', handler => 'regress_hipq_handlers.of_data');
SELECT hipq.drop_job_type('types.mail', 'mine');
SELECT hipq.drop_job_type('types.mail', 'full');
SELECT hipq.drop_job_type('types.mail', 'full', force => true);
SELECT count(*) FROM hipq.job_types WHERE job_type IN ('mine', 'full') AND handler_kind <> 'none';
RESET ROLE;

SELECT hipq.drop_queue('types.mail', force => true);
SELECT hipq.drop_instance('types');
DROP OWNED BY regress_hipq_type_owner;
DROP ROLE regress_hipq_type_owner;
DROP SCHEMA regress_hipq_handlers CASCADE;
