-- Objects that an upgrade script adds, with the grants of sql/install/rights.sql, work for roles
-- that had rights before: no role needs new grants.
BEGIN;
SET LOCAL search_path = pg_catalog, public;
SELECT plan(9);

CREATE ROLE later_owner LOGIN;
CREATE ROLE later_reader;
CREATE ROLE later_enqueuer;
CREATE ROLE later_stranger;
CREATE ROLE later_monitor IN ROLE pg_monitor;
SELECT hipq.create_queue('later.mail', owner => 'later_owner') > 0 AS created;
SELECT hipq.grant_queue('later.mail', 'later_reader', 'read');
SELECT hipq.grant_queue('later.mail', 'later_enqueuer', 'enqueue');
INSERT INTO hipq.later_mail (job_type, scheduled_run_time) VALUES ('mail', '2100-01-01');

-- A new function, a new view, and an old view that now calls the new function.
CREATE FUNCTION hipq._added(queue_id integer) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
    AS $$ SELECT hipq._may(queue_id, 'read') $$;
GRANT EXECUTE ON FUNCTION hipq._added TO PUBLIC;
CREATE VIEW hipq.added WITH (security_barrier) AS
SELECT queue.name AS queue, hipq._added(queue.queue_id) AS is_readable
FROM hipq._visible_queue AS queue;
GRANT SELECT ON hipq.added TO PUBLIC;
SELECT pg_get_viewdef('hipq.throughput'::regclass) AS definition \gset
SELECT format('CREATE OR REPLACE VIEW hipq.throughput WITH (security_barrier) AS %s WHERE %s',
              rtrim(:'definition', ';'), 'hipq._added(queue.queue_id)') AS replace_view \gset
:replace_view;

SET LOCAL ROLE later_reader;
SELECT set_eq('TABLE hipq.added', $$VALUES ('later.mail', true)$$,
    'a reader of before reads a new view');
SELECT lives_ok('TABLE hipq.throughput', 'and an old one that asks a new function');
SELECT is((SELECT count(*) FROM hipq.jobs), 1::bigint, 'what was there works as before');
SET LOCAL ROLE later_owner;
SELECT set_eq('TABLE hipq.added', $$VALUES ('later.mail', true)$$,
    'so does a queue owner of before');
SET LOCAL ROLE later_enqueuer;
SELECT lives_ok('SELECT hipq._added(1)', 'whoever has another right calls the new function');
SELECT is_empty('TABLE hipq.added', 'and sees nothing that he may not read');
SET LOCAL ROLE later_monitor;
SELECT set_eq($$SELECT * FROM hipq.added WHERE queue = 'later.mail'$$,
    $$VALUES ('later.mail', false)$$, 'members of pg_monitor see what monitors see');
SET LOCAL ROLE later_stranger;
SELECT throws_ok('TABLE hipq.added', '42501', 'permission denied for schema hipq',
    'a stranger stays one');
SELECT throws_ok('SELECT hipq._added(1)', '42501', 'permission denied for schema hipq',
    'for functions too');

RESET ROLE;
SELECT * FROM finish();
ROLLBACK;
