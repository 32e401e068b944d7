-- schedule, unschedule: errors, which change nothing. How pg_cron runs schedules:
-- test/t/admin/cron.pl.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;

\getenv srcdir PG_ABS_SRCDIR
\set try :srcdir '/test/regress/try.sql'
\set ECHO none
\i :try
\set ECHO all
CREATE FUNCTION pg_temp.try_cron(cron text) RETURNS text LANGUAGE sql AS $$
    SELECT regexp_replace(pg_temp.try(
        format('SELECT hipq.schedule(%L, %L, %L)', 'nightly', cron, 't')), '\n  HINT.*', '')
$$;

CREATE ROLE regress_hipq_cron_owner LOGIN;
CREATE ROLE regress_hipq_cron_reader LOGIN;
CREATE ROLE regress_hipq_cron_sleeper;
SELECT hipq.create_queue('when.q', owner => 'regress_hipq_cron_owner') > 0,
       hipq.create_queue('when.strict', owner => 'regress_hipq_cron_owner', strict => true) > 0;
SELECT hipq.register_job_type('when.q', 't'),
       hipq.grant_queue('when.q', 'regress_hipq_cron_reader', 'read'),
       hipq.grant_queue('when.q', 'regress_hipq_cron_sleeper', 'enqueue');

-- ---- cron expressions
SELECT pg_temp.try($$SELECT hipq.schedule('nightly', 'every night', 't')$$);
SELECT pg_temp.try($$SELECT hipq.schedule('nightly', '0 0 30 2 *', 't')$$);
SELECT pg_temp.try_cron('');
SELECT pg_temp.try_cron('0 3 * *');
SELECT pg_temp.try_cron('0 3 * * * root');
SELECT pg_temp.try_cron('60 3 * * *');
SELECT pg_temp.try_cron('0 22-6 * * *');
SELECT pg_temp.try_cron('*/0 * * * *');
SELECT pg_temp.try_cron('90 seconds');
SELECT pg_temp.try_cron('@reboot');
SELECT pg_temp.try($$SELECT hipq.schedule('nightly', NULL, 't')$$);

-- ---- other arguments
SELECT pg_temp.try($$SELECT hipq.schedule('', '@daily', 't')$$);
SELECT pg_temp.try($$SELECT hipq.schedule(repeat('x', 64), '@daily', 't')$$);
SELECT pg_temp.try($$SELECT hipq.schedule(NULL, '@daily', 't')$$);
SELECT pg_temp.try($$SELECT hipq.schedule('nightly', '@daily', NULL)$$);
SELECT pg_temp.try($$SELECT hipq.schedule('nightly', '@daily', 't', queue => 'no.such')$$);
SELECT pg_temp.try(
    $$SELECT hipq.schedule('nightly', '@daily', 'unknown', queue => 'when.strict')$$);
SELECT pg_temp.try($$SELECT hipq.schedule('nightly', '@daily', 't', priority => 40000)$$);
SELECT pg_temp.try($$SELECT hipq.schedule('nightly', '@daily', 't', timeout => 0)$$);
SELECT pg_temp.try($$SELECT hipq.schedule('nightly', '@daily', 't', throttle_factor => -0.0001)$$);
SELECT pg_temp.try(
    $$SELECT hipq.schedule('nightly', '@daily', 't', time_windows => '25:00-26:00')$$);
SELECT pg_temp.try($$SELECT hipq.schedule('nightly', '@daily', 't', max_retries => -1)$$);
SELECT pg_temp.try($$SELECT hipq.schedule('nightly', '@daily', 't', expires_after => '-1 s')$$);
SELECT pg_temp.try($$SELECT hipq.schedule('nightly', '@daily', 't', job_key => '')$$);
SELECT pg_temp.try($$SELECT hipq.schedule('nightly', '@daily', 't', throttle_key => '')$$);
CREATE FUNCTION pg_temp.try_with(arguments text) RETURNS text LANGUAGE sql AS $$
    SELECT pg_temp.try(
        format('SELECT hipq.schedule(''nightly'', ''@daily'', ''t'', %s)', arguments))
$$;
SELECT pg_temp.try_with($$by => 'cron'$$);
SELECT pg_temp.try_with($$time_zone => 'Mars/Phobos'$$);
SELECT pg_temp.try_with($$time_zone => 'CET-1CEST'$$);
SELECT pg_temp.try_with($$missed => 'never'$$);
SELECT pg_temp.try_with($$missed_within => '-1 s'$$);
SELECT pg_temp.try_with($$jitter => '-1 s'$$);
SELECT pg_temp.try_with($$overlap => 'wait'$$);
SELECT pg_temp.try_with($$overlap => 'after', job_key => 'NONE'$$);
SELECT pg_temp.try_with($$overlap => 'allow', job_key => 'k'$$);
SELECT pg_temp.try_with($$starts => 'infinity'$$);
SELECT pg_temp.try_with($$ends => '2020-01-01'$$);
SELECT pg_temp.try_with($$by => 'pg_cron', jitter => '1 s'$$);
SELECT pg_temp.try($$SELECT hipq.schedule('nightly', '30 0 3 * * *', 't', by => 'pg_cron')$$);
SELECT pg_temp.try($$SELECT hipq.unschedule('nightly')$$);
SELECT pg_temp.try($$SELECT hipq.unschedule(NULL)$$);

-- ---- next_runs
SET TimeZone = 'UTC';
SELECT * FROM hipq.next_runs('30 2 * * *', 3, 'Europe/Berlin', '2026-03-28 00:00');
SELECT run_time FROM hipq.next_runs('*/20 30 3 * * *', 3, from_time => '2026-03-28 03:30:10');
SELECT count(*) FROM hipq.next_runs('@hourly');
SELECT count(*) FROM hipq.next_runs('0 0 30 2 *');
SELECT pg_temp.try($$SELECT hipq.next_runs('@hourly', 1001)$$);
SELECT pg_temp.try($$SELECT hipq.next_runs('@hourly', 1, 'Mars/Phobos')$$);
SELECT pg_temp.try($$SELECT hipq.next_runs('every night')$$);
SELECT pg_temp.try($$SELECT hipq.next_runs(NULL)$$);
SELECT hipq.schedule('new year', '@yearly', 't', queue => 'when.q', time_zone => 'Asia/Tokyo',
                     starts => '2100-06-01', ends => '2102-06-01');
SELECT * FROM hipq.next_runs('new year');
-- the same again keeps its next run, also one that is due; another time does not
UPDATE hipq.schedule SET next_time = '2100-12-31 15:00:00', due_time = '2100-12-31 15:00:07'
WHERE name = 'new year';
SELECT hipq.schedule('new year', '@yearly', 't', queue => 'when.q', time_zone => 'Asia/Tokyo',
                     starts => '2100-06-01', ends => '2102-06-01', priority => 3);
SELECT hipq.schedule('new year', '@monthly', 't', queue => 'when.q', time_zone => 'Asia/Tokyo',
                     starts => '2100-06-01', ends => '2102-06-01');
SELECT next_run_time, told_by, time_zone, is_active FROM hipq.schedules_detail;
SELECT hipq.unschedule('new year');
RESET TimeZone;
SELECT pg_temp.try($$SELECT hipq._run_schedule(-1)$$);

-- ---- rights
SET ROLE regress_hipq_cron_reader;
SELECT pg_temp.try($$SELECT hipq.schedule('nightly', '@daily', 't', queue => 'when.q')$$);
SELECT pg_temp.try($$SELECT hipq.schedule('nightly', '@daily', 't', queue => 'when.strict')$$);
SELECT count(*) FROM hipq.schedules;
SET ROLE regress_hipq_cron_sleeper;
SELECT pg_temp.try(
    $$SELECT hipq.schedule('nightly', '@daily', 't', queue => 'when.q', by => 'pg_cron')$$);
RESET ROLE;

-- ---- a name belongs to its queue: unschedule ends the schedule that the caller may change, and
-- names only those that the caller may know
CREATE FUNCTION pg_temp.add_schedules(role regrole, queues text[]) RETURNS void LANGUAGE sql AS $$
    INSERT INTO hipq.schedule (name, cron, role, queue_id, job_type, job_key)
    SELECT 'nightly', '@daily', role, queue_id, 't', 'NONE'
    FROM hipq.queue WHERE table_name = ANY (queues) ORDER BY table_name
$$;
CREATE VIEW pg_temp.schedules AS
SELECT table_name FROM hipq.schedule JOIN hipq.queue USING (queue_id)
WHERE schedule.name = 'nightly' ORDER BY table_name;
SELECT hipq.create_queue('when.other') > 0,
       hipq.grant_queue('when.other', 'regress_hipq_cron_sleeper', 'enqueue');
SELECT pg_temp.add_schedules('regress_hipq_cron_sleeper', '{when_q}'),
       pg_temp.add_schedules(current_user::regrole, '{when_other, when_strict}');
SELECT split_part(
    pg_temp.try($$SELECT pg_temp.add_schedules(current_user::regrole, '{when_other}')$$), E'\n', 1);
SELECT pg_temp.try($$SELECT hipq.unschedule('nightly')$$);
SET ROLE regress_hipq_cron_owner;
SELECT pg_temp.try($$SELECT hipq.unschedule('nightly')$$);
SELECT pg_temp.try($$SELECT hipq.unschedule('nightly', 'when.other')$$);
SELECT pg_temp.try($$SELECT hipq.unschedule('weekly', 'when.other')$$);
SELECT pg_temp.try($$SELECT hipq.unschedule('weekly', 'no.such')$$);
SET ROLE regress_hipq_cron_reader;
SELECT pg_temp.try($$SELECT hipq.unschedule('nightly')$$);
SELECT pg_temp.try($$SELECT hipq.unschedule('nightly', 'when.q')$$);
SELECT pg_temp.try($$SELECT hipq.unschedule('weekly', 'when.q')$$);
SELECT pg_temp.try($$SELECT hipq.unschedule('nightly', 'when.strict')$$);
SET ROLE regress_hipq_cron_sleeper;
SELECT pg_temp.try($$SELECT hipq.unschedule('nightly', 'when.other')$$);
SELECT pg_temp.try($$SELECT hipq.unschedule('weekly', 'when.other')$$);
SELECT pg_temp.try($$SELECT hipq.unschedule('nightly')$$);
SELECT pg_temp.try($$SELECT hipq.unschedule('nightly')$$);
RESET ROLE;
SELECT * FROM pg_temp.schedules;
SELECT hipq.unschedule('nightly', 'when.strict'), hipq.unschedule('nightly', 'hipq.when_other');
-- the role that made a schedule may end it without any right on the queue
SELECT pg_temp.add_schedules('regress_hipq_cron_sleeper', '{when_other, when_strict}');
SELECT hipq.revoke_queue('when.other', 'regress_hipq_cron_sleeper', 'enqueue');
SET ROLE regress_hipq_cron_sleeper;
SELECT pg_temp.try($$SELECT hipq.unschedule('nightly', 'when.strict')$$),
       pg_temp.try($$SELECT hipq.unschedule('nightly', 'when.other')$$);
SELECT pg_temp.try($$SELECT hipq.unschedule('nightly', 'when.other')$$);
RESET ROLE;
SELECT * FROM pg_temp.schedules;
SELECT hipq.drop_queue('when.other');

-- ---- only pg_cron is missing
SELECT pg_temp.try($$SELECT hipq.schedule('nightly',
    '@daily', 't', '{"a": 1}', queue => 'when.q', job_key => 'NONE', priority => 1, timeout => 2,
    throttle_factor => 0.5, time_windows => '22:00-06:00', max_retries => 3, expires_after => '1 h',
    throttle_key => 'k', by => 'pg_cron')$$);
SELECT count(*) FROM hipq.schedule;
SELECT count(*) FROM hipq.when_q;

-- ---- the next time of an expression
SELECT hipq._next_run('@hourly', NULL) = date_trunc('hour', clock_timestamp()) + interval '1 h',
       hipq._next_run('nonsense', NULL), hipq._next_run('0 0 31 2 *', NULL);
SELECT hipq._next_run('30 seconds', now() + interval '1 h') = now() + interval '1 h 30 s',
       hipq._next_run('30 seconds', now() - interval '1 h') >= now();

SELECT hipq.drop_queue('when.q', force => true), hipq.drop_queue('when.strict');
DROP OWNED BY regress_hipq_cron_owner, regress_hipq_cron_reader, regress_hipq_cron_sleeper;
DROP ROLE regress_hipq_cron_owner, regress_hipq_cron_reader, regress_hipq_cron_sleeper;
