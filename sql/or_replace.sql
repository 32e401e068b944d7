-- if_not_exists and or_replace: set-up that can run repeatedly.
CREATE ROLE regress_hipq_again_owner LOGIN;
CREATE ROLE regress_hipq_again_heir LOGIN;
CREATE ROLE regress_hipq_again_other;
\set VERBOSITY terse
SET TIME ZONE 'Europe/Vienna';

-- Instances
SELECT hipq.create_instance('again', strict => true, or_replace => true) AS id \gset
SELECT hipq.create_instance('again', if_not_exists => true) = :id AS same;
SELECT name, is_strict, table_naming_strategy FROM hipq.instance WHERE name = 'again';
SELECT hipq.create_instance('again', table_naming_strategy => $$'again_' || $2$$,
    or_replace => true) = :id AS same;
SELECT hipq.create_instance('again', table_naming_strategy => $$'again_' || $2$$,
    or_replace => true) = :id AS same;
SELECT name, is_strict, table_naming_strategy FROM hipq.instance WHERE name = 'again';
SELECT hipq.create_instance('again');
SELECT hipq.create_instance('again', if_not_exists => true, or_replace => true);

-- alter_instance changes all properties; a strategy runs with the rights of the role that set it.
SELECT hipq.alter_instance('again', shard_key => 'throttle_key', db_config => '{"shards": 2}',
    strict => true);
SELECT shard_key, db_config, is_strict, created_by = current_user::regrole AS by_me
FROM hipq.instance WHERE name = 'again';
SELECT hipq.alter_instance('again', shard_key => '');
SELECT hipq.alter_instance('again', table_naming_strategy => 'upper(');
SELECT hipq.alter_instance('again', db_config => '[]');
SELECT hipq.alter_instance('never');
GRANT USAGE ON SCHEMA hipq TO regress_hipq_again_other;
GRANT EXECUTE ON FUNCTION hipq.alter_instance TO regress_hipq_again_other;
SET ROLE regress_hipq_again_other;
SELECT hipq.alter_instance('again', strict => false);
RESET ROLE;
SELECT created_by = current_user::regrole AS by_me FROM hipq.instance WHERE name = 'again';
SET ROLE regress_hipq_again_other;
SELECT hipq.alter_instance('again', table_naming_strategy => $$'again_' || $2 || '_x'$$);
RESET ROLE;
SELECT created_by FROM hipq.instance WHERE name = 'again';
SELECT hipq.create_instance('again', or_replace => true) = :id AS same;
-- or_replace alters an existing instance.
GRANT EXECUTE ON FUNCTION hipq.create_instance TO regress_hipq_again_other;
REVOKE EXECUTE ON FUNCTION hipq.alter_instance FROM regress_hipq_again_other;
SET ROLE regress_hipq_again_other;
SELECT hipq.create_instance('again', strict => true, if_not_exists => true) = :id AS same;
SELECT hipq.create_instance('again', strict => true, or_replace => true);
RESET ROLE;
SELECT is_strict FROM hipq.instance WHERE name = 'again';
GRANT EXECUTE ON FUNCTION hipq.alter_instance TO regress_hipq_again_other;
SET ROLE regress_hipq_again_other;
SELECT hipq.create_instance('again', or_replace => true) = :id AS same;
RESET ROLE;
SELECT hipq.create_instance('again', or_replace => true) = :id AS same;

-- Queues: properties that are not given return to their defaults, except the owner.
SELECT hipq.create_queue('again.mail', owner => 'regress_hipq_again_owner', weight => 10,
    retention => '30 days', strict => true, or_replace => true) AS id \gset
SELECT hipq.create_queue('again.mail', if_not_exists => true) = :id AS same;
SELECT hipq.create_queue('again.mail', weight => 10, retention => '720 hours', strict => true,
    or_replace => true) = :id AS same;
SELECT hipq.create_queue('again.mail', weight => 20, history => 'all', queue_ttl => '5 min',
    or_replace => true) = :id AS same;
SELECT owner, weight, retention, history, is_strict, queue_ttl FROM hipq.queue WHERE queue_id = :id;
SELECT hipq.create_queue('again.mail', owner => 'regress_hipq_again_heir', or_replace => true)
    = :id AS same;
SELECT has_table_privilege(role, 'hipq.again_mail', 'INSERT')
FROM unnest('{regress_hipq_again_owner, regress_hipq_again_heir}'::text[]) AS role;
-- Refused, without any change.
SELECT hipq.create_queue('again.mail', weight => 0, or_replace => true);
SELECT hipq.create_queue('again.mail', weight => 5, dead_letter_handler => 'no_such_function',
    or_replace => true);
SELECT hipq.create_queue('again.mail');
SELECT hipq.create_queue('again.mail', if_not_exists => true, or_replace => true);
SELECT hipq.create_queue('hipq.again_mail', or_replace => true);
SELECT weight FROM hipq.queue WHERE queue_id = :id;
GRANT EXECUTE ON FUNCTION hipq.create_queue TO regress_hipq_again_other;
SET ROLE regress_hipq_again_other;
SELECT hipq.create_queue('again.mail', if_not_exists => true) = :id AS same;
SELECT hipq.create_queue('again.mail', weight => 1, or_replace => true);
RESET ROLE;
-- A dead-letter handler that stays keeps its crash count; a new handler starts without crashes.
CREATE FUNCTION again_dead(data jsonb) RETURNS void LANGUAGE sql AS '';
SELECT hipq.create_queue('again.mail', dead_letter_handler => 'again_dead', or_replace => true)
    = :id AS same;
UPDATE hipq.queue SET dead_letter_crash_times = '{now}' WHERE queue_id = :id;
SELECT hipq.create_queue('again.mail', dead_letter_handler => 'again_dead', or_replace => true)
    = :id AS same;
SELECT cardinality(dead_letter_crash_times) FROM hipq.queue WHERE queue_id = :id;
SELECT hipq.create_queue('again.mail', or_replace => true) = :id AS same;
SELECT cardinality(dead_letter_crash_times) FROM hipq.queue WHERE queue_id = :id;
SELECT hipq.alter_queue('again.mail', strict => true, reset => '{strict}');

-- A queue that is being dropped does not exist.
BEGIN;
SELECT hipq.drop_queue('again.mail');
SELECT hipq.create_queue('again.mail', owner => 'regress_hipq_again_owner', if_not_exists => true)
    = :id AS same;
ROLLBACK;

-- Job types: the same, except for the time zone, whose default is that of the session.
CREATE FUNCTION again_send(data jsonb) RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION again_other(data jsonb) RETURNS void LANGUAGE sql AS '';
SELECT hipq.register_job_type('again.mail', 'send', handler => 'again_send', max_retries => 3,
    retry_base => '1 min', or_replace => true);
SET TIME ZONE 'Asia/Tokyo';
SELECT hipq.register_job_type('again.mail', 'send', if_not_exists => true);
SELECT hipq.register_job_type('again.mail', 'send', handler => 'again_send(jsonb)',
    max_retries => 3, retry_base => '60 s', or_replace => true);
SELECT hipq.register_job_type('again.mail', 'send', handler => 'again_other', default_priority => 5,
    retry_on => '{timeout}', parameters => '{"to": {"type": "string"}}', or_replace => true);
SELECT handler, handler_kind, time_zone, max_retries, retry_base, default_priority, retry_on
FROM hipq.job_type WHERE name = 'send';
SELECT hipq.register_job_type('again.mail', 'send', handler_kind => 'notify',
    time_zone => 'Asia/Tokyo', or_replace => true);
SELECT hipq.register_job_type('again.mail', 'send', or_replace => true);
SELECT handler, handler_kind, time_zone FROM hipq.job_type WHERE name = 'send';
SELECT hipq.register_job_type('again.mail', 'send', handler => 'again_send', claim => 'grab',
    or_replace => true);
SELECT hipq.register_job_type('again.mail', 'send', handler => 'again_send', if_not_exists => true,
    or_replace => true);
SELECT hipq.register_job_type('again.mail', 'send', handler => 'again_send', or_replace => true);
SELECT hipq.register_job_type('again.mail', 'send');
-- A type that is not registered is made by its jobs: to if_not_exists it does not exist.
SELECT hipq.enqueue('unknown', queue => 'again.mail', scheduled_run_time => 'tomorrow')
    > 0 AS has_id;
INSERT INTO hipq.job_type (queue_id, name, is_registered) VALUES (:id, 'made', false);
SELECT hipq.register_job_type('again.mail', 'made', handler => 'again_send', if_not_exists => true);
SELECT handler, is_registered FROM hipq.job_type WHERE name = 'made';
INSERT INTO hipq.job_type (queue_id, name, is_registered) VALUES (:id, 'made too', false);
SELECT hipq.register_job_type('again.mail', 'made too', handler => 'again_send',
    or_replace => true);
SELECT handler, is_registered FROM hipq.job_type WHERE name = 'made too';

SELECT hipq.drop_queue('again.mail', force => true);
SELECT hipq.drop_instance('again');
REVOKE ALL ON FUNCTION hipq.create_queue, hipq.alter_instance FROM regress_hipq_again_other;
DROP FUNCTION again_send, again_other, again_dead;
DROP OWNED BY regress_hipq_again_owner, regress_hipq_again_heir, regress_hipq_again_other;
DROP ROLE regress_hipq_again_owner, regress_hipq_again_heir, regress_hipq_again_other;
