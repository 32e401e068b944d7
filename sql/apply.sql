-- describe and apply: the set-up as one JSON document.
CREATE ROLE regress_hipq_set_owner LOGIN;
CREATE ROLE regress_hipq_set_web;
CREATE ROLE "Regress-Hipq Set" IN ROLE regress_hipq_set_owner;
CREATE FUNCTION set_send(data jsonb) RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION set_dead(data jsonb) RETURNS void LANGUAGE sql AS '';
SET TIME ZONE 'Europe/Vienna';
\set VERBOSITY terse

-- Queues of other tests exist, too, so a role of this test calls describe().
GRANT USAGE ON SCHEMA hipq TO regress_hipq_set_owner;
GRANT EXECUTE ON FUNCTION hipq.create_queue, hipq.create_instance,
    hipq.drop_instance TO regress_hipq_set_owner;
SET ROLE regress_hipq_set_owner;
SELECT hipq.describe();

-- apply() makes everything that the document describes, in one call.
\set state '{"instances": [{"name": "set", "strict": true}], "queues": [{"queue": "set.mail", "weight": 10, "retention": "30 days", "max_timeout": 600}, {"queue": "set.bulk"}], "job_types": [{"queue": "set.mail", "job_type": "send", "handler": "set_send", "retry_on": ["timeout", "40"], "max_retries": 5, "retry_base": 90, "parameters": {"to": {"type": "string"}}}, {"queue": "set.bulk", "job_type": "scan", "handler_kind": "notify", "requires": {"gpu": true}, "attempt_log": false}], "grants": [{"queue": "set.mail", "role": "regress_hipq_set_web", "privilege": "enqueue"}, {"queue": "set.mail", "role": "regress_hipq_set_web", "privilege": "control"}, {"queue": "set.bulk", "role": "Regress-Hipq Set", "privilege": "work"}, {"queue": "set.bulk", "role": "Regress-Hipq Set", "privilege": "read"}], "pauses": [{"queue": "set.bulk", "reason": "not yet"}, {"queue": "set.mail", "job_type": "send", "throttle_key": "ann"}, {"instance": "set"}]}'
SELECT object, action, property, before, after FROM hipq.apply(:'state', dry_run => true);
SELECT hipq.describe(), to_regclass('hipq.set_mail');
SELECT count(*) FROM hipq.apply(:'state');
SELECT jsonb_pretty(hipq.describe());

-- A second call changes nothing; neither does the document that describe() returns.
SELECT * FROM hipq.apply(:'state');
SELECT * FROM hipq.apply(hipq.describe());
SELECT * FROM hipq.apply(hipq.describe(), drop_others => true);
-- The number format of the session makes no difference.
SELECT hipq.alter_job_type('set.mail', 'send', retry_multiplier => 1.123456789012345);
SET extra_float_digits = -15;
SELECT hipq.describe()->'job_types' @> '[{"retry_multiplier": 1.123456789012345}]' AS is_exact;
RESET extra_float_digits;
SELECT hipq.alter_job_type('set.mail', 'send', reset => '{retry_multiplier}');
RESET ROLE;
SELECT xmin AS row FROM hipq.queue WHERE table_name = 'set_mail' \gset
SET ROLE regress_hipq_set_owner;
SELECT * FROM hipq.apply(hipq.describe());
RESET ROLE;
SELECT xmin = :'row' AS untouched FROM hipq.queue WHERE table_name = 'set_mail';
SET ROLE regress_hipq_set_owner;

-- describe() returns what apply() made: everything is dropped and comes back the same.
SELECT hipq.describe() AS described \gset
SELECT object, action, after
FROM hipq.apply('{"instances": [], "queues": [], "job_types": [], "grants": [], "schedules": [],
    "pauses": []}', drop_others => true);
SELECT hipq.describe();
SELECT count(*) FROM hipq.apply(:'described');
SELECT hipq.describe() = :'described'::jsonb AS same;

-- Changes. Objects that the document does not have are left alone, or dropped if drop_others is set
-- and their section is there.
SELECT * FROM hipq.apply('{
    "queues": [{"queue": "set.mail", "weight": 20, "retention": "720:00:00",
        "dead_letter_handler": "set_dead"}],
    "pauses": [{"queue": "set.bulk", "reason": "soon"}]}');
SELECT * FROM hipq.apply('{"job_types": [{"queue": "set.mail", "job_type": "send",
    "handler": "set_send(jsonb)", "default_timeout": "5 min", "time_zone": null}]}',
    drop_others => true);
SELECT * FROM hipq.apply('{"grants": [{"queue": "set.mail", "role": "regress_hipq_set_web",
    "privilege": "enqueue"}], "pauses": []}', dry_run => true, drop_others => true);
SELECT * FROM hipq.apply('{}', drop_others => true);
SELECT object, action
FROM hipq.apply('{"queues": [{"queue": "set.mail"}]}', drop_others => true) ORDER BY 1, 2;

-- A queue with unfinished jobs is not dropped, and nothing else changes.
SELECT hipq.enqueue('send', '{"to": "ann"}', queue => 'set.mail', scheduled_run_time => 'tomorrow')
    > 0 AS has_id;
SELECT * FROM hipq.apply('{"queues": [{"queue": "set.new"}]}', drop_others => true);
SELECT * FROM hipq.apply('{"job_types": []}', drop_others => true);
SELECT jsonb_path_query_array(hipq.describe(), '$.queues[*].queue');
-- An instance stays as long as it has queues.
SELECT * FROM hipq.apply('{"instances": []}', drop_others => true);

-- An invalid document is refused, with the place of the error.
CREATE FUNCTION pg_temp.try(state jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE detail text; hint text;
BEGIN
    PERFORM hipq.apply(state);
    RETURN 'fine';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN concat_ws(E'\n', SQLSTATE || ' ' || SQLERRM, '  DETAIL: ' || nullif(detail, ''),
        '  HINT: ' || nullif(hint, ''));
END $$;
\pset format unaligned
\pset tuples_only
SELECT pg_temp.try(NULL);
SELECT pg_temp.try('[]');
SELECT pg_temp.try('7');
SELECT pg_temp.try('{"queue": []}');
SELECT pg_temp.try('{"queues": {}}');
SELECT pg_temp.try('{"queues": ["set.mail"]}');
SELECT pg_temp.try('{"queues": [{"queue": "set.a"}, {"queue": "set.b", "wieght": 7}]}');
SELECT pg_temp.try('{"queues": [{"queue": "set.a", "or_replace": true}]}');
SELECT pg_temp.try('{"queues": [{"weight": 7}]}');
SELECT pg_temp.try('{"queues": [{"queue": null}]}');
SELECT pg_temp.try('{"queues": [{"queue": 7}]}');
SELECT pg_temp.try('{"queues": [{"queue": "set.a", "weight": "7"}]}');
SELECT pg_temp.try('{"queues": [{"queue": "set.a", "weight": 7.5}]}');
SELECT pg_temp.try('{"queues": [{"queue": "set.a", "weight": 1e10}]}');
SELECT pg_temp.try('{"queues": [{"queue": "set.a", "weight": 7000}]}');
SELECT pg_temp.try('{"queues": [{"queue": "set.a", "strict": "yes"}]}');
SELECT pg_temp.try('{"queues": [{"queue": "set.a", "retention": true}]}');
SELECT pg_temp.try('{"queues": [{"queue": "set.a", "retention": "often"}]}');
SELECT pg_temp.try('{"queues": [{"queue": "set.a", "owner": "regress_hipq_nobody"}]}');
SELECT pg_temp.try('{"queues": [{"queue": "set.a", "owner": "regress_hipq_set_web"}]}');
SELECT pg_temp.try(
    '{"queues": [{"queue": "set.a"}, {"queue": "set.b"}, {"queue": "set.a", "weight": 7}]}');
SELECT pg_temp.try('{"queues": [{"queue": "Set.a"}]}');
SELECT pg_temp.try('{"job_types": [{"queue": "set.never", "job_type": "send"}]}');
SELECT pg_temp.try('{"job_types": [{"queue": "hipq.set_mail", "job_type": "send"}]}');
SELECT pg_temp.try(
    '{"queues": [{"queue": "set.a"}], "job_types": [{"queue": "hipq.set_a", "job_type": "send"}]}');
SELECT pg_temp.try(
    '{"job_types": [{"queue": "set.mail", "job_type": "send", "handler": "no_such_function"}]}');
SELECT pg_temp.try(
    '{"job_types": [{"queue": "set.mail", "job_type": "send", "retry_on": "timeout"}]}');
SELECT pg_temp.try(
    '{"job_types": [{"queue": "set.mail", "job_type": "send", "retry_on": [null]}]}');
SELECT pg_temp.try('{"job_types": [{"queue": "set.mail", "job_type": "send", "requires": null}]}');
SELECT pg_temp.try(
    '{"grants": [{"queue": "set.mail", "role": "regress_hipq_set_web", "privilege": "all"}]}');
SELECT pg_temp.try('{"grants": [{"queue": "set.mail", "role": "regress_hipq_set_web"}]}');
SELECT pg_temp.try('{"schedules": [{"name": "nightly"}]}');
SELECT pg_temp.try('{"schedules": [{"name": "nightly", "cron": "0 3 * * *", "job_type": "send",
    "queue": "set.mail", "role": "regress_hipq_set_web"}]}');
SELECT pg_temp.try(
    '{"grants": [{"queue": "set.mail", "role": "regress-hipq set", "privilege": "read"}]}');
SELECT pg_temp.try('{"pauses": [{"reason": "who knows"}]}');
SELECT pg_temp.try('{"pauses": [{"queue": "set.mail", "job_type": "never"}]}');
\pset tuples_only
\pset format aligned
SELECT jsonb_path_query_array(hipq.describe(), '$.queues[*].queue');

-- Each step needs the rights of the caller, and a step that changes nothing needs none.
RESET ROLE;
REVOKE EXECUTE ON FUNCTION hipq.create_queue, hipq.create_instance,
    hipq.drop_instance FROM regress_hipq_set_owner;
SET ROLE "Regress-Hipq Set";
SELECT * FROM hipq.apply(hipq.describe());
SELECT * FROM hipq.apply(
    '{"job_types": [{"queue": "set.mail", "job_type": "more", "handler": "set_send"}]}');
SELECT * FROM hipq.apply('{"queues": [{"queue": "set.mail", "weight": 7}]}');
RESET ROLE;
GRANT USAGE ON SCHEMA hipq TO regress_hipq_set_web;
SET ROLE regress_hipq_set_web;
SELECT hipq.describe();
SELECT * FROM hipq.apply('{"job_types": [{"queue": "set.mail", "job_type": "mine"}]}');
SELECT * FROM hipq.apply('{"instances": [], "queues": []}', drop_others => true);
RESET ROLE;

SELECT hipq.drop_queue('set.mail', force => true);
SELECT hipq.drop_instance('set');
DROP FUNCTION set_send, set_dead;
DROP OWNED BY regress_hipq_set_owner, regress_hipq_set_web, "Regress-Hipq Set";
DROP ROLE regress_hipq_set_owner, regress_hipq_set_web, "Regress-Hipq Set";
