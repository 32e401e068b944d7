-- What each right on a queue allows, and what it does not.
BEGIN;
SET LOCAL search_path = pg_catalog, public;
SELECT plan(66);

CREATE ROLE contract_owner LOGIN;
CREATE ROLE contract_member IN ROLE contract_owner;
CREATE ROLE contract_enqueuer;
CREATE ROLE contract_reader;
CREATE ROLE contract_controller;
CREATE ROLE contract_worker;
CREATE ROLE contract_other;
SELECT hipq.create_queue('contract.mail',
    owner => 'contract_owner') IS NOT NULL AS queue_created \gset
SELECT hipq.create_queue('contract.secret') IS NOT NULL AS queue_created \gset
SELECT hipq.grant_queue('contract.mail', 'contract_enqueuer', 'enqueue');
SELECT hipq.grant_queue('contract.mail', 'contract_reader', 'read');
SELECT hipq.grant_queue('contract.mail', 'contract_controller', 'control');
SELECT hipq.grant_queue('contract.mail', 'contract_worker', 'work');
-- Jobs in the future: no executor runs them meanwhile.
INSERT INTO hipq.contract_mail (job_type, job_key, scheduled_run_time)
VALUES ('mail', 'first', '2100-01-01');
INSERT INTO hipq.contract_secret (job_type, scheduled_run_time) VALUES ('secret', '2100-01-01');
SELECT id AS first_id FROM hipq.contract_mail \gset
SELECT id AS secret_id FROM hipq.contract_secret \gset

-- enqueue -----------------------------------------------------------------------------------------

SET LOCAL ROLE contract_enqueuer;
SELECT lives_ok($$INSERT INTO hipq.contract_mail (job_type, scheduled_run_time)
    VALUES ('mail', '2100-01-01') RETURNING id$$, 'enqueue: INSERT ... RETURNING id');
SELECT lives_ok($$INSERT INTO hipq.contract_mail (job_type, job_key, scheduled_run_time)
    VALUES ('mail', 'first', '2100-01-01') ON CONFLICT DO NOTHING$$,
    'enqueue: bare ON CONFLICT DO NOTHING');
SELECT lives_ok($$
    INSERT INTO hipq.contract_mail (id, original_job_id, retry_of, worker_id, scheduled_run_time,
        update_time, created_time, accepted_time, deadline, expires_time, queue_id, state, timeout,
        attempt, retry_count, max_retries, queue_ttl, priority, throttle_factor, job_type, job_key,
        error, throttle_key, time_windows, retry_reason, shard_key, job_data, result, manual_reason)
    VALUES (NULL, NULL, NULL, NULL, '2100-01-01', NULL, NULL, NULL, NULL, NULL,
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'mail', NULL, NULL, NULL, NULL,
        NULL, NULL, NULL, NULL, NULL) RETURNING id
$$, 'enqueue: every column written, NULLs included');
SELECT ok(hipq.enqueue('mail', '{}', queue => 'contract.mail', scheduled_run_time => '2100-01-01')
    > 0, 'enqueue: hipq.enqueue()');
SELECT is(cardinality(hipq.enqueue_many('mail', '{1,2}', queue => 'contract.mail',
    scheduled_run_time => '2100-01-01')), 2, 'enqueue: hipq.enqueue_many()');
SELECT throws_ok('SELECT job_data FROM hipq.contract_mail', '42501', NULL, 'enqueue does not read');
SELECT throws_ok('TABLE hipq.job', '42501', NULL, 'enqueue does not read hipq.job');
SELECT throws_ok('UPDATE hipq.contract_mail SET priority = 1', '42501', NULL,
    'enqueue does not update');
SELECT throws_ok('DELETE FROM hipq.contract_mail', '42501', NULL, 'enqueue does not delete');
SELECT throws_ok('TRUNCATE hipq.contract_mail', '42501', NULL, 'enqueue does not truncate');
SELECT throws_ok($$INSERT INTO hipq.contract_mail_live (job_type) VALUES ('mail')$$, '42501', NULL,
    'enqueue has no right on leaves');
SELECT throws_ok($$INSERT INTO hipq.contract_mail_final (job_type, state)
    VALUES ('mail', 'final')$$, '42501', NULL, 'nor on the final tree');
SELECT throws_ok($$INSERT INTO hipq.job (queue_id, job_type) VALUES (1, 'mail')$$, '42501', NULL,
    'nor on hipq.job');
SELECT throws_ok($$INSERT INTO hipq.contract_mail (job_type, state) VALUES ('mail', 'running')$$,
    '42501', NULL, 'a new job is not running');
SELECT throws_ok($$INSERT INTO hipq.contract_mail (job_type, id) VALUES ('mail', 1)$$, '42501',
    NULL, 'a new job does not choose its id');
SELECT throws_ok($$INSERT INTO hipq.contract_secret (job_type) VALUES ('mail')$$, '42501', NULL,
    'enqueue is for one queue');
SELECT throws_ok($$SELECT hipq.enqueue('mail', '{}', queue => 'contract.secret')$$, '42704', NULL,
    'another queue does not exist for hipq.enqueue()');
SELECT throws_ok(format('SELECT hipq.cancel(%s)', :first_id), '42501', NULL,
    'enqueue does not cancel');
SELECT throws_ok($$SELECT hipq.grant_queue('contract.mail', 'contract_enqueuer', 'read')$$, '42501',
    NULL, 'enqueue does not grant');
SELECT throws_ok($$SELECT hipq.create_queue('contract.mine')$$, '42501', NULL,
    'enqueue does not create queues');

-- read --------------------------------------------------------------------------------------------

SET LOCAL ROLE contract_reader;
SELECT is((SELECT count(*) FROM hipq.contract_mail), 6::bigint,
    'read: SELECT from the queue''s table');
SELECT is((SELECT count(*) FROM hipq.jobs), 6::bigint,
    'read: view jobs has its jobs and no others');
SELECT set_eq('SELECT queue FROM hipq.queues', $$VALUES ('contract.mail')$$,
    'read: view queues has the queue and no other');
SELECT is((SELECT queues FROM hipq.instances WHERE name = 'contract'), '{contract.mail}',
    'read: view instances names the queue and no other');
SELECT set_eq('SELECT instance FROM hipq.queues_detail', $$VALUES ('contract')$$,
    'read: view queues has its instance');
SELECT lives_ok('TABLE hipq.job_types', 'read: view job_types');
SELECT lives_ok('TABLE hipq.running', 'read: view running');
SELECT lives_ok('TABLE hipq.attempts', 'read: view attempts');
SELECT lives_ok('TABLE hipq.dead_letters', 'read: view dead_letters');
SELECT lives_ok('TABLE hipq.executors', 'read: view executors');
SELECT lives_ok('TABLE hipq.workers', 'read: view workers');
SELECT set_eq('SELECT DISTINCT queue FROM hipq.lanes', $$VALUES ('contract.mail')$$,
    'read: view lanes has the queue and no other');
SELECT set_eq('SELECT DISTINCT queue FROM hipq.sizes', $$VALUES ('contract.mail')$$,
    'read: view sizes has the queue and no other');
SELECT isnt_empty(format('SELECT * FROM hipq.why(%s)', :first_id), 'read: hipq.why()');
SELECT is_empty(format('SELECT * FROM hipq.jobs WHERE id = %s', :secret_id),
    'read does not show another queue''s job');
SELECT results_eq(format('SELECT condition, passed FROM hipq.why(%s)', :secret_id),
    $$VALUES ('exists', false)$$,
    'read does not explain another queue''s job: there is none');
SELECT throws_ok('SELECT * FROM hipq.contract_mail_live', '42501', NULL,
    'read has no right on leaves');
SELECT throws_ok('TABLE hipq.job', '42501', NULL, 'read does not read hipq.job');
SELECT throws_ok('TABLE hipq.attempt', '42501', NULL, 'read does not read hipq.attempt');
SELECT throws_ok('TABLE hipq.attempt_log', '42501', NULL, 'nor hipq.attempt_log');
SELECT throws_ok('TABLE hipq.dead_letter', '42501', NULL, 'read does not read hipq.dead_letter');
SELECT throws_ok('TABLE hipq.queue', '42501', NULL, 'read does not read hipq.queue');
SELECT throws_ok($$INSERT INTO hipq.contract_mail (job_type) VALUES ('mail')$$, '42501', NULL,
    'read does not insert');
SELECT throws_ok($$SELECT hipq.enqueue('mail', '{}', queue => 'contract.mail')$$, '42501', NULL,
    'read does not enqueue');
SELECT throws_ok('UPDATE hipq.contract_mail SET priority = 1', '42501', NULL,
    'read does not update');
SELECT throws_ok(format('SELECT hipq.cancel(%s)', :first_id), '42501', NULL,
    'read does not cancel');

-- work --------------------------------------------------------------------------------------------

SET LOCAL ROLE contract_worker;
SELECT lives_ok('UPDATE hipq.contract_mail SET priority = 7',
    'work: UPDATE of what may be changed');
SELECT lives_ok('TABLE hipq.workers', 'work: view workers');
SELECT lives_ok('TABLE hipq.healthy_workers', 'work: view healthy_workers');
SELECT throws_ok($$UPDATE hipq.contract_mail SET state = 'final'$$, '42501', NULL,
    'work does not change the state');
SELECT throws_ok('UPDATE hipq.contract_mail SET attempt = 3', '42501', NULL,
    'work does not change bookkeeping');
SELECT throws_ok('TABLE hipq.contract_mail', '42501', NULL, 'work does not read');
SELECT throws_ok($$INSERT INTO hipq.contract_mail (job_type) VALUES ('mail')$$, '42501', NULL,
    'work does not insert');

-- control -----------------------------------------------------------------------------------------

SET LOCAL ROLE contract_controller;
SELECT lives_ok(format($$SELECT hipq.reschedule(%s, '2101-01-01')$$, :first_id),
    'control: hipq.reschedule()');
SELECT ok(hipq.cancel(:first_id, 'not needed'), 'control: hipq.cancel()');
SELECT ok(hipq.retry(:first_id) > :first_id, 'control: hipq.retry()');
SELECT ok(hipq.erase(:first_id), 'control: hipq.erase()');
SELECT throws_ok('TABLE hipq.contract_mail', '42501', NULL, 'control does not read');
SELECT throws_ok($$INSERT INTO hipq.contract_mail (job_type) VALUES ('mail')$$, '42501', NULL,
    'control does not insert');
SELECT throws_ok(format('SELECT hipq.cancel(%s)', :secret_id), '42704', NULL,
    'control does not reach another queue''s job');

-- The queue owner, and a member of it -------------------------------------------------------------

SET LOCAL ROLE contract_owner;
SELECT lives_ok($$SELECT hipq.grant_queue('contract.mail', 'contract_other', 'read')$$,
    'the queue owner grants');
SELECT ok(hipq.enqueue('mail', '{}', queue => 'contract.mail', scheduled_run_time => '2100-01-01')
    > 0, 'the queue owner enqueues');
SELECT throws_ok($$SELECT hipq.grant_queue('contract.secret', 'contract_owner', 'read')$$, '42704',
    NULL, 'but on its own queues only');
SET LOCAL ROLE contract_member;
SELECT isnt_empty('TABLE hipq.contract_mail', 'a member of the queue owner reads');

-- Revoked -----------------------------------------------------------------------------------------

RESET ROLE;
SELECT hipq.revoke_queue('contract.mail', 'contract_reader', 'read');
SET LOCAL ROLE contract_reader;
SELECT throws_ok('TABLE hipq.contract_mail', '42501', NULL, 'revoke_queue takes the right back');
SELECT throws_ok('DELETE FROM hipq.job', '42501', NULL, 'all of it');

RESET ROLE;
SELECT * FROM finish();
ROLLBACK;
