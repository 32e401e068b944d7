-- In a database that publishes all tables (Debezium, copies for an upgrade), each table that hipq
-- changes has a replica identity.
BEGIN;
SELECT plan(10);

CREATE ROLE published_owner LOGIN;
SELECT hipq.create_queue('published.mail', owner => 'published_owner') AS queue_id \gset
SELECT hipq.create_queue('published.post', owner => 'published_owner');
SELECT hipq.register_job_type('published.mail', 'letter', handler => 'SELECT 1');
SELECT hipq.register_job_type('published.post', 'letter', handler => 'SELECT 1');
SET LOCAL client_min_messages = error; -- wal_level is too low to send changes
CREATE PUBLICATION everything FOR ALL TABLES;

SELECT is_empty($$
SELECT part.oid::regclass
FROM pg_class AS part
WHERE part.relnamespace = 'hipq'::regnamespace AND part.relkind = 'r' AND part.relreplident <> 'f'
  AND NOT (part.relreplident = 'd'
      AND EXISTS (SELECT FROM pg_index WHERE indrelid = part.oid AND indisprimary))
$$, 'each table has a replica identity');
SELECT is_empty($$
SELECT tree.oid::regclass FROM pg_class AS tree
WHERE tree.oid IN ('hipq.attempt'::regclass, 'hipq.attempt_log'::regclass,
    'hipq.shard_outbox'::regclass) AND tree.relreplident <> 'f'
$$, 'trees of attempts and letters have that of their leaves');

SELECT lives_ok($$SELECT hipq.pause('published.mail')$$, 'pause');
SELECT lives_ok($$SELECT hipq.resume('published.mail')$$, 'resume');

SELECT hipq.enqueue('letter', queue => 'published.mail') AS first \gset
SELECT hipq.enqueue('letter', queue => 'published.mail');
SELECT hipq.cancel(:first);
SELECT lives_ok(format('SELECT hipq.erase(%s)', :first), 'erase a final job');
SELECT lives_ok($$SELECT hipq.move_jobs('published.mail', 'published.post', 'letter')$$,
    'move jobs');
SELECT lives_ok($$SELECT hipq.drop_job_type('published.mail', 'letter', force => true)$$,
    'drop a job type');
SELECT lives_ok($$UPDATE hipq.queue SET throttle_limit = 3 WHERE name = 'mail'; DELETE FROM hipq.job
    WHERE job_type = 'letter'$$,
                'statements that a superuser writes');

SELECT results_eq($$SELECT severity, finding, statement FROM hipq.doctor()
    WHERE subject = 'publication "everything"'$$,
                  $$VALUES ('information', 'hipq is published', NULL::text)$$,
                  'the doctor tells that all tables are published');
ALTER TABLE hipq.published_mail_final_default REPLICA IDENTITY NOTHING;
SELECT results_eq($$SELECT severity, finding, statement FROM hipq.doctor()
    WHERE subject = 'publication "everything"'$$,
                  $$VALUES ('error', 'published without identity',
                      'ALTER TABLE hipq.published_mail_final_default REPLICA IDENTITY FULL')$$,
                  'and of a table without identity');

SELECT * FROM finish();
ROLLBACK;
