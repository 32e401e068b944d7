-- strict: how a queue, or its instance, handles jobs of types that are not registered.
\getenv srcdir PG_ABS_SRCDIR
\set try :srcdir '/test/regress/try.sql'
\pset format unaligned
\pset tuples_only on
\i :try
SELECT hipq.create_queue('strictness.one') > 0 AS made;
SELECT hipq.create_queue('strictness.two', strict => true) > 0 AS made;
SELECT queue, is_strict FROM hipq.queues_detail WHERE instance = 'strictness' ORDER BY 1;
SELECT pg_temp.try($$SELECT hipq.enqueue('unknown', queue => 'strictness.two')$$);
SELECT pg_temp.try($$INSERT INTO hipq.strictness_two (job_type) VALUES ('unknown')$$);
SELECT hipq.alter_instance('strictness', strict => true);
SELECT pg_temp.try($$SELECT hipq.enqueue('unknown', queue => 'strictness.one')$$);
SELECT hipq.alter_queue('strictness.two', strict => false);
SELECT queue, is_strict FROM hipq.queues_detail WHERE instance = 'strictness' ORDER BY 1;
SELECT hipq.enqueue('unknown', queue => 'strictness.two') > 0 AS enqueued;
SELECT hipq.alter_queue('strictness.two', reset => '{strict}');
SELECT pg_temp.try($$SELECT hipq.enqueue('other', queue => 'strictness.two')$$);
SELECT hipq.alter_instance('strictness');
SELECT name, is_strict FROM hipq.instances WHERE name = 'strictness';
SELECT hipq.alter_instance('strictness', strict => false);
SELECT pg_temp.try($$SELECT hipq.alter_instance('nowhere', strict => true)$$);
SELECT hipq.create_instance('strictness_too', strict => true) > 0 AS made;
SELECT hipq.create_queue('strictness_too.one') > 0 AS made;
SELECT queue, is_strict FROM hipq.queues_detail WHERE instance = 'strictness_too';
SELECT hipq.drop_queue(queue, force => true)
FROM hipq.queues_detail WHERE instance LIKE 'strictness%' ORDER BY queue;
SELECT hipq.drop_instance(name) FROM unnest('{strictness, strictness_too}'::text[]) AS name;
