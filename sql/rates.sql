-- Rate limits: which texts are rates, what queues and job types keep of them, and where they are
-- refused.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
SET timezone = 'UTC';

\getenv srcdir PG_ABS_SRCDIR
\set try :srcdir '/test/regress/try.sql'
\set ECHO none
\i :try
\set ECHO all

CREATE ROLE regress_hipq_rates_owner LOGIN;
SELECT hipq.create_queue('rated.q', owner => 'regress_hipq_rates_owner') > 0;
SELECT hipq.register_job_type('rated.q', 't', handler => 'SELECT 1');
CREATE VIEW pg_temp.rates AS
SELECT queue.queue, NULL AS job_type, queue.rate_limit, queue.rate_mode, queue.rate_used,
       queue.next_turn, stored.rate_limit AS stored
FROM hipq.queues_detail AS queue
JOIN hipq.queue AS stored ON stored.table_name = replace(queue.queue, '.', '_')
WHERE queue.queue LIKE 'rated%'
UNION ALL
SELECT type.queue, type.job_type, type.rate_limit, type.rate_mode, type.rate_used, type.next_turn,
       NULL
FROM hipq.job_types_detail AS type WHERE type.queue LIKE 'rated%'
ORDER BY 1, 2 NULLS FIRST;
TABLE pg_temp.rates;

-- ---- the canonical text
CREATE FUNCTION pg_temp.stored_as(rate text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM hipq.alter_queue('rated.q', rate_limit => rate);
    RETURN (SELECT rate_limit FROM hipq.queue WHERE table_name = 'rated_q');
END $$;
SELECT said, pg_temp.stored_as(said)
FROM unnest('{100/min, 5/s, " 2.50 per 10 sec ", 1000/24 hours, 7/90 minutes, 999999.999/31 days,
              none}'::text[]) AS said;

-- ---- what is no rate, with the position where it is not
SELECT pg_temp.try(format('SELECT hipq.alter_queue(''rated.q'', rate_limit => %L)', said))
FROM unnest(ARRAY['', '100', 'fast', '100/fortnight', '0.5/s', '0/s', '-1/s', '1000000/s', '1/0 s',
                  '1/32 days', '1.2345/s', '1/s and more', '100/Min', 'NONE ', 'é/s']) AS said;
SELECT pg_temp.try($$SELECT hipq.create_queue('rated.new', rate_limit => '5')$$);
SELECT pg_temp.try($$SELECT hipq.register_job_type('rated.q', 'new', rate_limit => '5/m')$$);
SELECT pg_temp.try($$SELECT hipq.alter_job_type('rated.q', 't', rate_limit => '5 s')$$);
SELECT pg_temp.try($$SELECT hipq.alter_queue('rated.q', rate_mode => 'even')$$);
SELECT pg_temp.try($$SELECT hipq.alter_job_type('rated.q', 't', rate_mode => '')$$);
SELECT pg_temp.try($$UPDATE hipq.queue SET rate_limit = '5' WHERE table_name = 'rated_q'$$);
SELECT pg_temp.try($$UPDATE hipq.queue SET rate_mode = 'even' WHERE table_name = 'rated_q'$$);

-- ---- what a call does not give stays; or_replace sets the defaults
SELECT hipq.alter_queue('rated.q', rate_limit => '7/s', rate_mode => 'smooth');
SELECT hipq.alter_queue('rated.q', weight => 50);
SELECT hipq.alter_job_type('rated.q', 't', rate_limit => '90/90 min');
SELECT hipq.alter_job_type('rated.q', 't', rate_mode => 'smooth');
SELECT hipq.alter_job_type('rated.q', 't', max_retries => 1);
TABLE pg_temp.rates;
SELECT pg_temp.try($$SELECT hipq.alter_queue('rated.q', reset => '{rate_limit}')$$);
SELECT hipq.register_job_type('rated.q', 't', handler => 'SELECT 1', rate_limit => '3/h',
                              or_replace => true);
SELECT hipq.create_queue('rated.q', rate_limit => '8/s', or_replace => true) > 0;
TABLE pg_temp.rates;

-- ---- describe() and apply()
SELECT jsonb_build_object(
    'queues', jsonb_path_query_array(said, '$.queues[*] ? (@.queue like_regex "^rated")'),
    'job_types', jsonb_path_query_array(said, '$.job_types[*] ? (@.queue like_regex "^rated")')
) AS before FROM hipq.describe() AS said \gset
\echo :before
SELECT object, action, property, before, after FROM hipq.apply(
    '{"queues": [{"queue": "rated.q", "rate_limit": "10 per 60 seconds", "rate_mode": "smooth"}],
      "job_types": [{"queue": "rated.q", "job_type": "t", "handler": "SELECT 1"}]}');
TABLE pg_temp.rates;
SELECT object, action, property, before, after FROM hipq.apply(:'before');
TABLE pg_temp.rates;
SELECT count(*) FROM hipq.apply(:'before');

-- ---- an instance has rates or shards
CALL hipq.create_shard('rated', 1, 'dbname=x', publisher => 'dbname=y');
SELECT hipq.alter_queue('rated.q', rate_limit => 'NONE');
CALL hipq.create_shard('rated', 1, 'dbname=x', publisher => 'dbname=y');
SELECT hipq.alter_job_type('rated.q', 't', rate_limit => 'NONE');
SELECT count(*) FROM hipq.shard;
BEGIN;
INSERT INTO hipq.shard_map (instance_id, cluster, own_node, nodes)
SELECT instance_id, gen_random_uuid(), 0, array_fill(0::smallint, '{4096}')
FROM hipq.instance WHERE name = 'rated';
SELECT pg_temp.try($$SELECT hipq.create_queue('rated.new', rate_limit => '5/s')$$);
SELECT pg_temp.try($$SELECT hipq.alter_queue('rated.q', rate_limit => '5/s')$$);
SELECT pg_temp.try($$SELECT hipq.register_job_type('rated.q', 'new', rate_limit => '5/s')$$);
SELECT pg_temp.try($$SELECT hipq.alter_job_type('rated.q', 't', rate_limit => '5/s')$$);
SELECT pg_temp.try($$SELECT hipq.alter_job_type('rated.q', 't', rate_limit => 'NONE')$$);
ROLLBACK;

-- ---- the leases of a type are gone with it
INSERT INTO hipq.rate_lease (queue_id, job_type, granted_time, weight)
SELECT queue_id, said, now(), 1000 FROM hipq.queue, unnest('{"", t, other}'::text[]) AS said
WHERE table_name = 'rated_q';
SELECT hipq.drop_job_type('rated.q', 't');
SELECT job_type FROM hipq.rate_lease ORDER BY 1;
SELECT hipq.drop_queue('rated.q');
SELECT hipq.drop_instance('rated');
DROP ROLE regress_hipq_rates_owner;
