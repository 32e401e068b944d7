-- snooze, complete_later, report_progress, extend: errors. How handlers use them:
-- test/t/execute/more_time.pl, execute/complete_later.pl.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;

\getenv srcdir PG_ABS_SRCDIR
\set try :srcdir '/test/regress/try.sql'
\set ECHO none
\i :try
\set ECHO all

CREATE ROLE regress_hipq_snooze_owner LOGIN;
CREATE ROLE regress_hipq_snooze_reader;
CREATE ROLE regress_hipq_snooze_stranger;
SELECT hipq.create_queue('nap.q', owner => 'regress_hipq_snooze_owner') > 0,
       hipq.create_queue('nap.other', owner => 'regress_hipq_snooze_owner') > 0;
SELECT hipq.grant_queue('nap.q', 'regress_hipq_snooze_reader', 'read'),
       hipq.grant_queue('nap.other', 'regress_hipq_snooze_reader', 'control');
SELECT hipq.grant_queue('nap.other', 'regress_hipq_snooze_stranger', 'control');
SELECT hipq.enqueue('t', queue => 'nap.q', scheduled_run_time => '2100-01-01') AS waiting \gset
SELECT hipq.enqueue('t', queue => 'nap.q', scheduled_run_time => '2100-01-01') AS final \gset
SELECT hipq.cancel(:final);

-- ---- outside of a handler
SELECT pg_temp.try($$SELECT hipq.snooze('5 min')$$);
SELECT pg_temp.try($$SELECT hipq.snooze(NULL)$$);
SELECT pg_temp.try($$SELECT hipq.snooze('-1 s')$$);
SELECT pg_temp.try($$SELECT hipq.snooze('200 years')$$);
SELECT pg_temp.try($$SELECT hipq.extend('5 min')$$);
SELECT pg_temp.try($$SELECT hipq.extend(NULL::interval)$$);

SELECT pg_temp.try($$SELECT hipq.complete_later()$$);
SELECT pg_temp.try($$SELECT hipq.report_progress(1, 2, 'half')$$);
SELECT pg_temp.try($$SELECT hipq.report_progress(NULL)$$);
SELECT pg_temp.try($$SELECT hipq.report_progress(-1)$$);
SELECT pg_temp.try($$SELECT hipq.report_progress(0, -1)$$);
SELECT pg_temp.try($$SELECT hipq.report_progress(3, 2)$$);

-- ---- attempts that do not exist
SELECT pg_temp.try(format('SELECT hipq.report_progress(%s, 0, 1, 2)', :waiting));
SELECT pg_temp.try($$SELECT hipq.report_progress(-1, 1, 1, NULL, 'begins')$$);
SELECT pg_temp.try(format('SELECT hipq.report_progress(%s, 1, 3, 2)', :waiting));
SELECT pg_temp.try($$SELECT hipq.report_progress(1, NULL, 1, 2)$$);

-- ---- jobs that do not run
SELECT pg_temp.try(format('SELECT hipq.extend_job(%s, %L)', :waiting, '1 min'));
SELECT pg_temp.try(format('SELECT hipq.extend_job(%s, %L, %L)', :final, '1 min', 'nap.q'));
SELECT pg_temp.try(format('SELECT hipq.extend_job(%s, %L, %L)', :waiting, '1 min', 'nap.other'));
SELECT pg_temp.try($$SELECT hipq.extend_job(-1, '1 min')$$);
SELECT pg_temp.try($$SELECT hipq.extend_job(NULL, '1 min')$$);
SELECT pg_temp.try(format('SELECT hipq.extend_job(%s, NULL)', :waiting));
SELECT pg_temp.try(format('SELECT hipq.extend_job(%s, %L)', :waiting, '0'));
SELECT pg_temp.try(format('SELECT hipq.extend_job(%s, %L)', :waiting, '-1 min'));
SELECT pg_temp.try(format('SELECT hipq.extend_job(%s, %L)', :waiting, '200 years'));

-- ---- rights
SET ROLE regress_hipq_snooze_reader;
SELECT pg_temp.try(format('SELECT hipq.extend_job(%s, %L)', :waiting, '1 min'));
SET ROLE regress_hipq_snooze_stranger;
SELECT pg_temp.try(format('SELECT hipq.extend_job(%s, %L)', :waiting, '1 min'));
RESET ROLE;
SELECT state, attempt, error FROM hipq.job WHERE id IN (:waiting, :final) ORDER BY id;

SELECT hipq.drop_queue('nap.q', force => true), hipq.drop_queue('nap.other', force => true);
DROP OWNED BY regress_hipq_snooze_owner, regress_hipq_snooze_reader, regress_hipq_snooze_stranger;
DROP ROLE regress_hipq_snooze_owner, regress_hipq_snooze_reader, regress_hipq_snooze_stranger;
