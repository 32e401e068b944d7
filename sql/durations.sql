-- Arguments that are a duration: one spelling for all, from any type that a driver sends; factors
-- and limits as any number.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
SET timezone = 'UTC';
SET intervalstyle = 'postgres';

\getenv srcdir PG_ABS_SRCDIR
\set try :srcdir '/test/regress/try.sql'
\set ECHO none
\i :try
\set ECHO all

CREATE ROLE regress_hipq_duration_owner LOGIN;
CREATE ROLE regress_hipq_duration_app;
SELECT hipq.create_queue('dur.q', owner => 'regress_hipq_duration_owner') > 0;
SELECT hipq.register_job_type('dur.q', 't', handler => 'SELECT 1');
SELECT hipq.grant_queue('dur.q', 'regress_hipq_duration_app', 'enqueue');

-- ---- Every argument accepts every spelling of five minutes
CREATE TABLE pg_temp.spelling (n serial, said text);
INSERT INTO pg_temp.spelling (said)
VALUES ('''5 min'''), ('300'), ('''300'''), ('''00:05:00'''), ('''PT5M'''), ('''300 s'''),
    ('''0.0833333333 h'''), ('''300000ms'''),
    ('interval ''5 min'''), ('300.0'), ('3e2'), ('300::smallint'), ('300::bigint'), ('300::real'),
    ('300::double precision'), ('300::numeric'),
    ('''5 min''::text'), ('''300''::varchar'), ('''5 min''::hipq.duration');
-- What a call stores or returns, with %1$s in place of the duration.
CREATE TABLE pg_temp.use (n serial, name text, call text, shows text);
INSERT INTO pg_temp.use (name, call, shows) VALUES
    ('enqueue',
        'SELECT hipq.enqueue(''t'', queue => ''dur.q'', timeout => %1$s, queue_ttl => %1$s)',
     'SELECT timeout, queue_ttl FROM hipq.dur_q ORDER BY id DESC LIMIT 1'),
    ('enqueue, any data',
        'SELECT hipq.enqueue(''t'', 7, queue => ''dur.q'', timeout => %1$s, queue_ttl => %1$s)',
     'SELECT timeout, queue_ttl FROM hipq.dur_q ORDER BY id DESC LIMIT 1'),
    ('enqueue_unique', 'SELECT hipq.enqueue_unique(''t'', job_key => ''k'', queue => ''dur.q'',
        timeout => %1$s, queue_ttl => %1$s)',
     'SELECT timeout, queue_ttl FROM hipq.dur_q ORDER BY id DESC LIMIT 1'),
    ('enqueue_unique, any data', 'SELECT hipq.enqueue_unique(''t'', 7, job_key => ''k'',
        queue => ''dur.q'', timeout => %1$s, queue_ttl => %1$s)',
     'SELECT timeout, queue_ttl FROM hipq.dur_q ORDER BY id DESC LIMIT 1'),
    ('enqueue_many', 'SELECT hipq.enqueue_many(''t'', ''{1}'', queue => ''dur.q'', timeout => %1$s,
        queue_ttl => %1$s)',
     'SELECT timeout, queue_ttl FROM hipq.dur_q ORDER BY id DESC LIMIT 1'),
    ('create_queue', 'SELECT hipq.create_queue(''dur.made'', retention => %1$s, queue_ttl => %1$s,
        dead_letter_retention => %1$s, max_timeout => %1$s)',
     'SELECT retention, queue_ttl, dead_letter_retention, max_timeout FROM hipq.queues_detail
         WHERE queue = ''dur.made'''),
    ('alter_queue', 'SELECT hipq.alter_queue(''dur.q'', retention => %1$s, queue_ttl => %1$s,
        dead_letter_retention => %1$s, max_timeout => %1$s)',
     'SELECT retention, queue_ttl, dead_letter_retention, max_timeout FROM hipq.queues_detail
         WHERE queue = ''dur.q'''),
    ('register_job_type',
        'SELECT hipq.register_job_type(''dur.q'', ''made'', default_timeout => %1$s,
        retry_base => %1$s, retry_max => %1$s, queue_ttl => %1$s, worker_wait_ttl => %1$s)',
     'SELECT default_timeout, retry_base, retry_max, queue_ttl, worker_wait_ttl
         FROM hipq.job_types_detail WHERE queue = ''dur.q'' AND job_type = ''made'''),
    ('alter_job_type', 'SELECT hipq.alter_job_type(''dur.q'', ''t'', default_timeout => %1$s,
        retry_base => %1$s, retry_max => %1$s, queue_ttl => %1$s, worker_wait_ttl => %1$s)',
     'SELECT default_timeout, retry_base, retry_max, queue_ttl, worker_wait_ttl
         FROM hipq.job_types_detail WHERE queue = ''dur.q'' AND job_type = ''t''');
-- Rolls back the call, and returns what it stored.
CREATE FUNCTION pg_temp.shown(call text, shows text, said text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    BEGIN
        EXECUTE format(call, said);
        EXECUTE 'SELECT shown::text FROM (' || shows || ') AS shown' INTO answer;
        RAISE SQLSTATE 'XTEST';
    EXCEPTION WHEN SQLSTATE 'XTEST' THEN
        RETURN answer;
    END;
END
$$;
SELECT use.name, count(*),
       string_agg(DISTINCT pg_temp.shown(use.call, use.shows, spelling.said), ' or ')
FROM use CROSS JOIN spelling GROUP BY use.n, use.name ORDER BY use.n;
-- Calls about a job or worker that does not exist say only this.
SELECT called.name, count(*),
       string_agg(DISTINCT pg_temp.try(format(called.call, spelling.said)), ' or ')
FROM spelling CROSS JOIN (VALUES
    (1, 'wait_for', 'SELECT hipq.wait_for(0, timeout => %s)'),
    (2, 'extend', 'SELECT hipq.extend_job(0, more => %s)'),
    (3, 'extend with queue', 'SELECT hipq.extend_job(0, more => %s, queue => ''dur.q'')'),
    (4, 'extend an attempt', 'SELECT hipq.extend(id => 0, attempt => 1, more => %s)'),
    (5, 'extend attempts', 'SELECT hipq.extend_attempts(ARRAY[0]::bigint[], ARRAY[1], %s)'),
    (6, 'extend in a handler', 'SELECT hipq.extend(%s)'),
    (7, 'snooze', 'SELECT hipq.snooze(%s)'),
    (8, 'release', 'SELECT hipq.release(0, 1, %s)'),
    (9, 'claim', 'SELECT hipq.claim(0, wait => %s)')) AS called (n, name, call)
GROUP BY called.n, called.name ORDER BY called.n;

-- ---- Parameters, without a type and of each type
PREPARE of_no_type AS
    SELECT hipq.enqueue($1, $2, queue => $3, timeout => $4, throttle_factor => $5, queue_ttl => $6);
PREPARE of_text (varchar, varchar, varchar, varchar, float8, text) AS
    SELECT hipq.enqueue($1, $2, queue => $3, timeout => $4, throttle_factor => $5, queue_ttl => $6);
PREPARE of_numbers (text, jsonb, text, smallint, integer, bigint) AS
    SELECT hipq.enqueue($1, $2, queue => $3, timeout => $4, throttle_factor => $5, queue_ttl => $6);
PREPARE of_fractions (text, text, text, numeric, numeric, real) AS
    SELECT hipq.enqueue($1, $2, queue => $3, timeout => $4, throttle_factor => $5, queue_ttl => $6);
PREPARE of_interval (text, text, text, interval, real, interval) AS
    SELECT hipq.enqueue($1, $2, queue => $3, timeout => $4, throttle_factor => $5, queue_ttl => $6);
BEGIN;
EXECUTE of_no_type ('t', '{}', 'dur.q', '5 min', '0.5', '300') \gset
EXECUTE of_text ('t', '{}', 'dur.q', '5 min', 0.5, '300') \gset
EXECUTE of_numbers ('t', '{}', 'dur.q', 300, 2, 300) \gset
EXECUTE of_fractions ('t', '{}', 'dur.q', 299.5, 0.125, 299.5) \gset
EXECUTE of_interval ('t', '{}', 'dur.q', '5 min', 0.1, '5 min') \gset
EXECUTE of_interval ('t', '{}', 'dur.q', NULL, NULL, NULL) \gset
SELECT timeout, throttle_factor, queue_ttl FROM hipq.dur_q ORDER BY id;
ROLLBACK;
PREPARE wait (unknown, unknown) AS SELECT hipq.wait_for($1, $2);
EXECUTE wait (0, '1 ms');
PREPARE extend_positions (bigint, integer, varchar) AS SELECT hipq.extend($1, $2, $3);
EXECUTE extend_positions (0, 1, '5 min');

-- ---- Whole seconds are rounded up; months have 30 days
BEGIN;
SELECT hipq.alter_job_type('dur.q', 't', default_timeout => 2.5, queue_ttl => '1 ms',
    worker_wait_ttl => '1 month', retry_base => '1.5 ms', retry_max => '1 year');
SELECT default_timeout, queue_ttl, worker_wait_ttl, retry_base, retry_max
FROM hipq.job_types_detail WHERE queue = 'dur.q' AND job_type = 't';
SELECT hipq.alter_queue('dur.q', retention => '1 month 36 h', dead_letter_retention => 90000,
    max_timeout => '1 week');
SELECT retention, dead_letter_retention, max_timeout FROM hipq.queues_detail WHERE queue = 'dur.q';
ROLLBACK;

-- ---- Factors and limits
BEGIN;
SELECT hipq.alter_queue('dur.q', throttle_limit => 0.1::float8),
       hipq.alter_job_type('dur.q', 't', default_throttle_factor => 1::smallint,
           throttle_limit => 2.25::real, throttle_limit_per_key => 123456789.123);
SELECT throttle_limit FROM hipq.queue WHERE table_name = 'dur_q';
SELECT default_throttle_factor, throttle_limit, throttle_limit_per_key
FROM hipq.job_types_detail WHERE queue = 'dur.q' AND job_type = 't';
SELECT hipq.alter_queue('dur.q', weight => 7), hipq.alter_job_type('dur.q', 't', max_retries => 1);
SELECT queue.throttle_limit, job_type.throttle_limit, throttle_limit_per_key
FROM hipq.queue JOIN hipq.job_type USING (queue_id)
WHERE table_name = 'dur_q' AND job_type.name = 't';
ROLLBACK;

-- ---- Errors name the argument
CREATE TABLE pg_temp.mistake (n serial, said text);
INSERT INTO pg_temp.mistake (said)
VALUES ('0'), ('-1'), ('''-5 min'''), ('-0.5'), ('2147483648'), ('''infinity'''), ('''-infinity'''),
    ('''infinity''::float8'), ('1e300'),
    ('9223372036854775807'), ('''178000000 years'''), ('''NaN''::float8'), ('''NaN''::numeric'),
    ('''soon'''), (''''''), ('''5'' || '' parsecs'''),
    ('''99999999999 years'''), ('repeat(''x'', 9000)');
SELECT n, left(said, 30),
       pg_temp.try(format('SELECT hipq.enqueue(''t'', queue => ''dur.q'', timeout => %s)', said))
FROM mistake ORDER BY n;
SELECT pg_temp.try(format('SELECT hipq.enqueue(''t'', queue => ''dur.q'', %s)', said))
FROM (VALUES ('queue_ttl => 0')) AS one (said);
SELECT pg_temp.try(format('SELECT hipq.alter_job_type(''dur.q'', ''t'', %s)', said))
FROM (VALUES ('default_timeout => 0'), ('queue_ttl => -1'), ('worker_wait_ttl => ''infinity'''),
             ('retry_base => -0.001'), ('retry_max => ''102 years''')) AS each (said);
SELECT pg_temp.try(format('SELECT hipq.alter_queue(''dur.q'', %s)', said))
FROM (VALUES ('max_timeout => 0'), ('queue_ttl => 0'), ('retention => 59'),
             ('dead_letter_retention => 59.9')) AS each (said);
SELECT pg_temp.try(format('SELECT hipq.%s', said))
FROM (VALUES ('wait_for(0, -1)'), ('snooze(-1)'), ('extend(0)'), ('release(0, 1, -1)'),
             ('claim(0, wait => -1)'), ('snooze(NULL)')) AS each (said);
-- The column of a queue's table is in seconds.
SELECT pg_temp.try($$INSERT INTO hipq.dur_q (job_type, timeout) VALUES ('t', '5 min')$$);

-- ---- Settings: the same spelling, as far as settings have such units
CREATE FUNCTION pg_temp.setting(said text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('hipq.clock_offset', said, true);
    RETURN current_setting('hipq.clock_offset');
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE;
END
$$;
SELECT said, pg_temp.setting(said)
FROM (VALUES ('5 min'), ('5min'), ('300'), ('0.5'), ('500 ms'), ('1.5 s'), ('2 h'),
             ('5 parsecs')) AS each (said);
-- Every duration setting is in seconds.
SELECT vartype, unit, count(*) > 0 FROM pg_settings
WHERE name LIKE 'hipq.%' AND unit IN ('us', 'ms', 's', 'min', 'h', 'd') GROUP BY vartype, unit;

-- ---- The right to enqueue suffices
SET ROLE regress_hipq_duration_app;
SELECT hipq.enqueue('t', queue => 'dur.q', timeout => interval '5 min') > 0,
       hipq.enqueue('t', queue => 'dur.q', timeout => '5 min'::text) > 0,
       hipq.enqueue('t', queue => 'dur.q', timeout => 300) > 0;
RESET ROLE;

SELECT '5 min'::hipq.duration, 90061::hipq.duration, 'infinity'::hipq.duration,
       (-0.5)::hipq.duration, hipq._duration('1 mon 2 days'::interval);

SELECT hipq.drop_queue('dur.q', force => true);
SELECT hipq.drop_instance('dur');
DROP ROLE regress_hipq_duration_owner, regress_hipq_duration_app;
