-- Every way to enqueue refuses a job that would expire before it may start. How jobs expire:
-- test/t/retry/failures.pl.
\pset format unaligned
\pset tuples_only on
\pset null NULL
SET client_min_messages = warning;
SET timezone = 'UTC';

\getenv srcdir PG_ABS_SRCDIR
\set try :srcdir '/test/regress/try.sql'
\set ECHO none
\i :try
\set ECHO all

CREATE ROLE regress_hipq_expiry_owner LOGIN;
SELECT hipq.create_queue('ends.q', owner => 'regress_hipq_expiry_owner') > 0;
SELECT hipq.register_job_type('ends.q', 't');

-- ---- new jobs: without SQL, and by SQL, which a table with an additional constraint needs
ALTER TABLE hipq.ends_q ADD CONSTRAINT more CHECK (priority < 1000);
SELECT pg_temp.try($$SELECT hipq.enqueue('t', scheduled_run_time => '2100-01-02',
    expires_time => '2100-01-01 23:59:59.999999')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue_many('t', '{1, 2}', scheduled_run_time => '2100-01-02',
    expires_time => '2100-01-01')$$);
ALTER TABLE hipq.ends_q DROP CONSTRAINT more;
SELECT pg_temp.try($$SELECT hipq.enqueue('t', scheduled_run_time => '2100-01-02',
    expires_time => '2100-01-01 23:59:59.999999')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue('t', job_key => 'k', scheduled_run_time => '2100-01-02',
    expires_time => '2100-01-01')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue_many('t', '{1, 2}', scheduled_run_time => '2100-01-02',
    expires_time => '2100-01-01')$$);
SELECT pg_temp.try($$SELECT hipq.enqueue_many('t', '{1, 2}', '{a, b}',
    scheduled_run_time => '2100-01-02', expires_time => '2100-01-01')$$);
SELECT pg_temp.try(
    $$SELECT hipq.enqueue('t', scheduled_run_time => '2000-01-02', expires_time => '2000-01-01')$$);
SELECT pg_temp.try($$INSERT INTO hipq.ends_q (job_type, scheduled_run_time, expires_time)
    VALUES ('t', '2100-01-02', '2100-01-02'), ('t', '2100-01-02', '2100-01-01')$$);
-- due tomorrow, but expired before
SELECT pg_temp.try($$INSERT INTO hipq.ends_q (job_type, scheduled_run_time, expires_time)
    VALUES ('t', 'tomorrow', now() + interval '1 us')$$)
    LIKE '22023 expires_time % is before scheduled_run_time %';
COPY hipq.ends_q (job_type, scheduled_run_time, expires_time) FROM STDIN;
t	2100-01-02	2100-01-03
t	2100-01-02	2100-01-01
\.
COPY hipq.ends_q (job_type, job_key, scheduled_run_time, expires_time) FROM STDIN;
t	k	2100-01-02	2100-01-01
\.
SELECT count(*) FROM hipq.ends_q;

-- ---- allowed: equal times, no expiry, and an expired job without a scheduled time
SELECT hipq.enqueue('t', scheduled_run_time => '2100-01-02',
    expires_time => '2100-01-02') AS equal \gset
SELECT hipq.enqueue('t', scheduled_run_time => '2100-01-02',
    expires_time => 'infinity') AS endless \gset
BEGIN;
SELECT hipq.pause('ends.q');
SELECT hipq.enqueue('t', expires_time => '2000-01-01') > 0,
       hipq.enqueue('t', job_key => 'late', expires_time => '2000-01-01') > 0;
INSERT INTO hipq.ends_q (job_type, expires_time) VALUES ('t', '2000-01-01');
COPY hipq.ends_q (job_type, expires_time) FROM STDIN;
t	2000-01-01
\.
UPDATE hipq.ends_q SET expires_time = '2000-01-02' WHERE expires_time = '2000-01-01';
SELECT count(*) FROM hipq.ends_q WHERE expires_time = '2000-01-02';
ROLLBACK;

-- ---- changes
SELECT pg_temp.try(
    format('UPDATE hipq.ends_q SET expires_time = %L WHERE id = %s', '2100-01-01', :equal));
SELECT pg_temp.try(
    format('UPDATE hipq.ends_q SET scheduled_run_time = %L WHERE id = %s', '2100-01-03', :equal));
SELECT pg_temp.try(
    format('UPDATE hipq.ends_q SET scheduled_run_time = %L, expires_time = %L WHERE id = %s',
    '2100-01-04', '2100-01-03', :endless));
SELECT pg_temp.try(format('SELECT hipq.reschedule(%s, %L)', :equal, '2100-01-02 00:00:00.000001'));
SELECT scheduled_run_time, expires_time FROM hipq.ends_q ORDER BY id;
SELECT hipq.reschedule(:equal, '2100-01-01', 7), hipq.reschedule(:endless, '2100-05-05');
SELECT hipq.reschedule(:equal, priority => 8);
UPDATE hipq.ends_q SET scheduled_run_time = '2100-01-03', expires_time = '2100-01-04'
WHERE id = :equal;
SELECT scheduled_run_time, expires_time, priority FROM hipq.ends_q ORDER BY id;

-- ---- a job that a retry delayed beyond its expiry: other changes are allowed
SET session_replication_role = replica;
UPDATE hipq.ends_q SET scheduled_run_time = '2100-06-01', state = 'retry', attempt = 1, error = 'no'
WHERE id = :equal;
RESET session_replication_role;
UPDATE hipq.ends_q SET priority = 9 WHERE id = :equal;
SELECT hipq.reschedule(:equal, priority => 10);
SELECT pg_temp.try(format('SELECT hipq.reschedule(%s, %L)', :equal, '2100-05-01'));
SELECT pg_temp.try(
    format('UPDATE hipq.ends_q SET expires_time = %L WHERE id = %s', '2100-05-01', :equal));
SELECT hipq.reschedule(:equal, '2100-01-01');
SELECT scheduled_run_time, expires_time, priority, state FROM hipq.ends_q WHERE id = :equal;

SELECT hipq.drop_queue('ends.q', force => true), hipq.drop_instance('ends');
DROP ROLE regress_hipq_expiry_owner;
