-- Errors when jobs are enqueued or changed: each with SQLSTATE, message, detail and hint, and
-- without any effect.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
SET timezone = 'UTC';

\getenv srcdir PG_ABS_SRCDIR
\set try :srcdir '/test/regress/try.sql'
\set ECHO none
\i :try
\set ECHO all

CREATE ROLE regress_hipq_input_owner LOGIN;
CREATE ROLE regress_hipq_input_app;
SELECT hipq.create_queue('input.q', owner => 'regress_hipq_input_owner',
    max_timeout => 2147483647) > 0;
SELECT hipq.create_queue('input.strict', owner => 'regress_hipq_input_owner', strict => true) > 0;
SELECT hipq.register_job_type('input.q', 't');
SELECT hipq.register_job_type('input.strict', 'known');
INSERT INTO hipq.input_q (job_type, job_key, scheduled_run_time) VALUES ('t', 'held', '2100-01-01');

-- The same mistake in a call, in an INSERT and in an UPDATE.
CREATE TABLE pg_temp.mistake (n serial, field text, value text);
INSERT INTO pg_temp.mistake (field, value) VALUES
    ('timeout', '0'), ('timeout', '-1'),
    ('max_retries', '-1'), ('max_retries', '1000001'),
    ('throttle_factor', '-0.5'), ('throttle_factor', '''NaN'''),
    ('throttle_factor', '''Infinity'''), ('throttle_factor', '''-Infinity'''),
    ('throttle_factor', '1000000'),
    ('throttle_factor', '999999.9999'), ('throttle_factor', '1e100'), ('throttle_factor', '0.0004'),
    ('scheduled_run_time', '''infinity'''), ('scheduled_run_time', '''-infinity'''),
    ('expires_time', '''-infinity'''),
    ('throttle_key', ''''''), ('throttle_key', 'repeat(''x'', 1001)'),
    ('job_key', ''''''), ('job_key', 'repeat(''x'', 1001)'), ('job_key', 'repeat(''ä'', 501)'),
    ('job_data', 'to_jsonb(repeat(''x'', 1100000))'),
    ('time_windows', ''''''), ('time_windows', ''' '''),
    ('time_windows', '''whenever'''), ('time_windows', '''mon,'''), ('time_windows', '''mon-'''),
    ('time_windows', '''mon 9.00-17:00'''),
    ('time_windows', '''09:00'''), ('time_windows', '''09:00-'''),
    ('time_windows', '''09:00-09:00'''), ('time_windows', '''24:00-09:00'''),
    ('time_windows', '''09:60-10:00'''),
    ('time_windows', '''09:00-25:00'''), ('time_windows', '''mon-fri 09:00-17:00 sat'''),
    ('time_windows', '''NONE, mon'''), ('time_windows', '''mon 09:00-17:00; tue'''),
    ('time_windows', 'repeat(''mon, '', 32) || ''tue'''), ('time_windows', 'repeat('' '', 1001)'),
    ('priority', '32768'), ('priority', '-32769'),
    ('scheduled_run_time', '''9999-01-01 00:00:00+00'''),
    ('scheduled_run_time', '''0001-12-31 BC'''), ('expires_time', '''0001-12-31 BC''');
SELECT n, field, left(value, 40) AS value,
       pg_temp.try(format('SELECT hipq.enqueue(''t'', queue => ''input.q'', %s => %s)',
           field, value))
FROM mistake ORDER BY n;
SELECT n, field, left(value, 40) AS value,
       pg_temp.try(format('INSERT INTO hipq.input_q (job_type, %s) VALUES (''t'', %s)',
           field, value))
FROM mistake ORDER BY n;
SELECT n, field, left(value, 40) AS value,
       pg_temp.try(format('UPDATE hipq.input_q SET %s = %s', field, value))
FROM mistake WHERE field <> 'job_key' ORDER BY n;
SELECT n, field, left(value, 40) AS value,
       pg_temp.try(format(
           'SELECT hipq.enqueue_many(''t'', ''{1, 2}'', queue => ''input.q'', %s => %s)',
           field, value))
FROM mistake WHERE field IN ('timeout', 'priority', 'throttle_factor') ORDER BY n;
SELECT pg_temp.try($$SELECT hipq.enqueue('t', queue => 'input.q', throttle_factor => -0.0001)$$);
SELECT pg_temp.try($$SELECT hipq.enqueue_many('t', '{1, 2}', '{a, ""}', queue => 'input.q')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue_many('t', ARRAY['1', to_jsonb(repeat('x', 1100000))],
    queue => 'input.q')$$);
SELECT job_key, timeout, priority, throttle_factor, time_windows, scheduled_run_time
FROM hipq.input_q ORDER BY id;

-- ---- Values at the limits are accepted
BEGIN;
SELECT pg_temp.try($$SELECT hipq.enqueue('t', queue => 'input.q',
    job_key => repeat('x', 1000), timeout => 1, priority => -32768, max_retries => 1000000,
    throttle_factor => 999999.999, throttle_key => repeat('x', 1000), expires_time => 'infinity',
    time_windows => repeat('mon, ', 31) || 'tue')$$);
SELECT pg_temp.try(
    $$SELECT hipq.enqueue('t', queue => 'input.q', timeout => 2147483647, priority => 32767,
    max_retries => 0, throttle_factor => 0, scheduled_run_time => '0001-01-01')$$);
SELECT pg_temp.try(
    $$SELECT hipq.enqueue(repeat('x', 63), to_jsonb(repeat('x', 1000000)), queue => 'input.q')$$);
ROLLBACK;

-- ---- Job types
SELECT pg_temp.try($$SELECT hipq.enqueue('', queue => 'input.q')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue(NULL, queue => 'input.q')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue(repeat('x', 64), queue => 'input.q')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue(E'a\nb', queue => 'input.q')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue(E'a\x7f', queue => 'input.q')$$);
SELECT pg_temp.try($$INSERT INTO hipq.input_q (job_type) VALUES ('')$$);
SELECT pg_temp.try($$INSERT INTO hipq.input_q (job_type) VALUES (repeat('x', 64))$$);
SELECT pg_temp.try($$INSERT INTO hipq.input_q (job_type) VALUES (E'a\tb')$$);
SELECT pg_temp.try($$INSERT INTO hipq.input_q (job_type) VALUES (NULL)$$);
SELECT pg_temp.try($$SELECT hipq.enqueue('unknown', queue => 'input.strict')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue_many('unknown', '{1}', queue => 'input.strict')$$);
SELECT pg_temp.try($$INSERT INTO hipq.input_strict (job_type) VALUES ('unknown')$$);

-- ---- Queues
SELECT pg_temp.try($$SELECT hipq.enqueue('t', queue => 'input.nowhere')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue('t', queue => 'nowhere.q')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue('t', queue => 'q')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue('t', queue => '')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue('t', queue => 'Input.Q')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue('t', queue => 'input.q.q')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue('t', queue => 'input.')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue_many('t', '{1}', queue => 'input.nowhere')$$);

-- ---- Rights
SET ROLE regress_hipq_input_app;
SELECT pg_temp.try($$SELECT hipq.enqueue('t', queue => 'input.q')$$);
SELECT pg_temp.try($$INSERT INTO hipq.input_q (job_type) VALUES ('t')$$);
RESET ROLE;
SELECT hipq.grant_queue('input.strict', 'regress_hipq_input_app', 'enqueue');
SET ROLE regress_hipq_input_app;
SELECT pg_temp.try($$SELECT hipq.enqueue('t', queue => 'input.q')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue('t')$$);
SELECT pg_temp.try($$INSERT INTO hipq.input_q (job_type) VALUES ('t')$$);
RESET ROLE;
SELECT hipq.grant_queue('input.q', 'regress_hipq_input_app', 'read');
SET ROLE regress_hipq_input_app;
SELECT pg_temp.try($$SELECT hipq.enqueue('t', queue => 'input.q')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue_many('t', '{1}', queue => 'input.q')$$);
SELECT pg_temp.try($$INSERT INTO hipq.input_q (job_type) VALUES ('t')$$);
RESET ROLE;

-- ---- Roles that own queues cannot be dropped
SELECT pg_temp.try($$DROP ROLE regress_hipq_input_owner$$);
SELECT pg_temp.try($$DROP ROLE IF EXISTS regress_hipq_input_nobody, regress_hipq_input_owner$$);
BEGIN;
DROP OWNED BY regress_hipq_input_owner;
SELECT pg_temp.try($$DROP ROLE regress_hipq_input_owner$$);
ROLLBACK;
SELECT pg_temp.try($$DROP ROLE regress_hipq_input_nobody$$);

-- ---- DROP EXTENSION while there are unfinished jobs
SELECT pg_temp.try($$DROP EXTENSION hipq CASCADE$$);

-- none of these calls enqueued anything
SELECT count(*), count(*) FILTER (WHERE job_key = 'held')
FROM hipq.job WHERE queue_id IN (SELECT queue_id FROM hipq.queue WHERE table_name LIKE 'input%');

SELECT hipq.drop_queue('input.q', force => true), hipq.drop_queue('input.strict', force => true);
DROP OWNED BY regress_hipq_input_owner, regress_hipq_input_app;
DROP ROLE regress_hipq_input_owner, regress_hipq_input_app;
