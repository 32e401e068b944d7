# A shard can be drained, dropped and created again. A dead shard can be dropped by force. All jobs
# run.
use strict;
use warnings;
use HipqShards;
use Test::More;

my $shards = HipqShards->new('drop', 2);
my ($router, $one, $two) = $shards->nodes;
sub settled
{
	my ($how) = @_;
	return ok($router->wait_until('SELECT count(*) FROM hipq.shard_move', 0),
		"$how: all moves end");
}
sub slots
{
	return $router->sql('SELECT string_agg(shard || $$ $$ || slots, $$, $$ ORDER BY shard)
		FROM hipq.shards');
}
sub left_over
{
	my ($node) = @_;
	return $node->sql('SELECT (SELECT count(*) FROM pg_publication) || $$ $$ || (SELECT count(*)
		FROM pg_replication_slots) || $$ $$ || (SELECT count(*) FROM pg_subscription)');
}
settled('at the start');

# ---- refused calls
like($router->error_of(q{SELECT hipq.drain_shard('app', 7)}),
	qr/42704: instance "app" has no active shard 7/, 'drain_shard() refuses an unknown shard');
like($router->error_of(q{CALL hipq.drop_shard('app', 7)}), qr/42704: instance "app" has no shard 7/,
	'drop_shard() refuses an unknown shard');
like($router->error_of(q{CALL hipq.drop_shard('app', 1)}),
	qr/55006: shard 1 of instance "app" has slots.*drain_shard\('app', 1\)/s,
	'drop_shard() refuses a shard with slots');
like($router->error_of(q{BEGIN; CALL hipq.drop_shard('app', 1)}),
	qr/2D000: hipq.drop_shard\(\) commits/, 'drop_shard() is refused in a transaction');

# ---- drain_shard(): waiting jobs move, running jobs end on the drained shard
my $lock = $one->hold_lock(1);
$_->sql(q{CREATE FUNCTION hold(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN PERFORM pg_advisory_xact_lock_shared(1); INSERT INTO ran (id) VALUES (job.id); END $$})
		foreach $shards->nodes;
$router->sql(q{SELECT hipq.register_job_type('app.mail', 'hold', handler => 'hold')});
my $tenant = $router->sql(q{SELECT 't' || n FROM generate_series(1, 100) AS n, hipq.shard_map
	WHERE nodes[hipq.slot_of('t' || n) + 1] = 1 LIMIT 1});
my $held = $router->sql(qq{SELECT hipq.enqueue('hold', '{"tenant": "$tenant"}')});
ok($one->wait_until("SELECT state FROM hipq.jobs_detail WHERE id = $held", 'running'),
	'a job runs on shard 1');
$router->sql(q{SELECT hipq.enqueue('run', jsonb_build_object('tenant', 't' || n),
	scheduled_run_time => now() + interval '1 hour') FROM generate_series(1, 200) AS n});
my $late = $router->session;
$late->query_safe(qq{BEGIN; SELECT hipq.enqueue('run', '{"tenant": "$tenant", "late": 1}')});
cmp_ok($router->sql(q{SELECT hipq.drain_shard('app', 1)}), '>', 2000,
	'drain_shard() moves the slots');
is($router->sql(q{SELECT hipq.drain_shard('app', 1)}), 0, 'a second drain_shard() moves none');
settled('after drain_shard()');
is(slots(), '1 0, 2 4095', 'the other shard has all slots');
ok($two->wait_until(q{SELECT count(*) FROM hipq.jobs_detail WHERE state = 'initial'}, 200),
	'the other shard has all waiting jobs');
my $dropping = $router->session(on_error_stop => 0);
$dropping->query_until(qr/drops/, qq{\\echo drops\nCALL hipq.drop_shard('app', 1);\n});
ok($router->wait_until(q{SELECT state FROM hipq.shards WHERE shard = 1}, 'leaving'),
	'view shards shows that the drained shard is leaving');
$router->sql(q{SELECT hipq.enqueue('run', '{"tenant": "others"}')});
ok($shards->wait_for_runs(1), 'jobs are enqueued and run while drop_shard() waits');
is($router->sql(q{SELECT count(*) FROM pg_stat_activity
		WHERE query LIKE 'CALL hipq.drop_shard%' AND state = 'active'}), 1,
	'drop_shard() waits for a transaction that has enqueued by the old map');
$late->query_safe('COMMIT');
ok($shards->wait_for_runs(2), 'the job of the transaction with the old map runs');
$dropping->query('SELECT 1');
$dropping->quit;
like($router->error_of(q{CALL hipq.drop_shard('app', 1)}),
	qr/1 job\(s\) of instance "app" are unfinished on the shard/,
	'drop_shard() is refused while a job runs on the shard');
$lock->quit;
ok($one->wait_until("SELECT outcome FROM hipq.jobs_detail WHERE id = $held", 'succeeded'),
	'the running job ends on the drained shard');

# ---- drop_shard() fails once, and then succeeds
$one->node->stop;
like($router->error_of(q{CALL hipq.drop_shard('app', 1)}),
	qr/could not establish connection|connection to server/,
	'drop_shard() is refused if the shard is down');
$one->node->start;
$router->sql(q{CALL hipq.drop_shard('app', 1)});
is(left_over($one), '0 0 0', 'nothing is left on the dropped shard');
is(left_over($router), '1 1 1',
	'the router keeps only publication, replication slot and subscription for the other shard');
is(slots(), '2 4095', 'the router has one shard');
$one->sql(q{SELECT hipq.enqueue('run', '{"tenant": "own"}')});
ok($one->wait_until(q{SELECT count(*) FROM ran WHERE tenant = 'NONE'}, 1),
	'a database that was a shard runs its own jobs');

# ---- the shard is created again
$router->sql(sprintf q{CALL hipq.create_shard('app', 1, '%s', publisher => '%s')},
	$shards->conninfo(1), $shards->conninfo(0));
cmp_ok($router->sql(q{SELECT hipq.rebalance('app')}), '>', 2000,
	'rebalance() gives the new shard its slots');
settled('after rebalance()');
ok($one->wait_until(q{SELECT count(*) > 50 FROM hipq.jobs_detail WHERE state = 'initial'}),
	'waiting jobs move to the new shard');

# ---- a dead shard has two slots; it has read one of the jobs that were sent to it
$router->sql(q{SELECT hipq.drain_shard('app', 2)});
settled('after drain_shard() of shard 2');
$router->sql(sprintf q{CALL hipq.create_shard('app', 2, '%s', publisher => '%s')},
	$shards->conninfo(2), $shards->conninfo(0));
my $key_slot = $router->sql(q{SELECT hipq.slot_of('run' || chr(31) || 'key')});
my $slot = $router->sql(q{SELECT hipq.slot_of('dead')});
is($router->sql("SELECT hipq.move_slots('app', ARRAY[$slot, $key_slot], 2)"), 2,
	'two slots move to shard 2');
ok($shards->settled, 'the moves of two slots end');
$router->sql(q{
	SELECT hipq.enqueue('run', '{"tenant": "dead"}',
		scheduled_run_time => now() + interval '1 hour')});
ok($two->wait_until(q{SELECT count(*) FROM hipq.jobs_detail WHERE shard_key = 'dead'}, 1),
	'shard 2 has a job');
like($router->error_of(q{CALL hipq.drop_shard('app', 2, force => true)}),
	qr/55006: shard 2 of instance "app" has slots.*drain_shard\('app', 2\).*force => true/s,
	'drop_shard() by force refuses a shard with slots');
my $here = $router->sql('SELECT pg_current_wal_lsn()');
ok($router->wait_until("SELECT confirmed_flush_lsn >= '$here' FROM pg_replication_slots
		WHERE slot_name LIKE '%_to_2'"),
	'the router knows what shard 2 has read');
$two->node->stop('immediate');
$router->sql(q{SELECT hipq.enqueue('run', '{"tenant": "dead"}') FROM generate_series(1, 3)});
$router->sql(q{
	BEGIN;
	SAVEPOINT a;
	SELECT hipq.enqueue_many('run', ARRAY[jsonb '{"tenant": "dead"}', '{"tenant": "dead"}']);
	RELEASE a;
	COMMIT});
my $first_key = $router->sql(q{SELECT hipq.enqueue('run', job_key => 'key')});
is($router->sql(q{SELECT hipq.drain_shard('app', 2)}), 2,
	'drain_shard() moves the slots of a dead shard');
$router->sql(q{SELECT hipq.enqueue('run', '{"tenant": "dead"}')});
my $ran = q{SELECT count(*) FROM ran WHERE tenant = 'dead'};
ok($one->wait_until($ran, 1), 'new jobs of the slots of a dead shard run');
my $late_key = $router->sql(q{SELECT hipq.enqueue('run', job_key => 'key')});
ok($one->wait_until(q{SELECT count(*) FROM hipq.shard_held_job}, 1),
	'a job with a key is held until the dead shard is dropped');
like($router->error_of(q{CALL hipq.drop_shard('app', 2)}),
	qr/55006: 2 slot\(s\) of instance "app" are leaving shard 2.*It was drained.*force => true/s,
	'drop_shard() refuses a dead shard, and says what to do');
my (undef, undef, $told) =
  $router->node->psql('postgres', q{CALL hipq.drop_shard('app', 2, force => true)});
like($told,
	qr/NOTICE:  shard 2 of instance "app" is taken for dead\nDETAIL:  5 letter\(s\).* 2 slot\(s\) were leaving it.* are lost\./,
	'drop_shard() by force reports what happens to the jobs of the dead shard') or diag $told;
ok($one->wait_until($ran, 6), 'jobs that the dead shard had not read run on the other shard');
my $ended = "SELECT count(DISTINCT id)
	FROM (SELECT id FROM ran UNION ALL SELECT job_id FROM hipq.shard_reject
		WHERE sqlstate = '23505') AS known
	WHERE id IN ($first_key, $late_key)";
ok($one->wait_until($ended, 2),
	'jobs with the key run or are duplicates');
settled('after drop_shard() of the dead shard');
is($one->sql('SELECT count(*) FROM hipq.shard_held_job'), 0,
	'no job is held after the dead shard was dropped');
is(slots(), '1 4095', 'the other shard has all slots of the dead one');
is(left_over($router), '1 1 1', 'nothing of the dead shard is left on the router');
is($router->sql('SELECT count(*) FROM hipq.shard_stats WHERE node = 2'), 0,
	'no statistics of the dead shard are left on the router');
my (undef, undef, $notice) = $router->node->psql('postgres',
	q{SELECT hipq.drop_job_type('app.mail', 'hold')});
like($notice,
	qr/NOTICE:  job type "hold" of queue "app.mail" stays on the shards of instance "app"\nHINT:  Run SELECT hipq.drop_job_type\('app.mail', 'hold'\) on each/,
	'a type dropped on the router stays on shards');
ok($one->wait_until(q{SELECT NOT router_has @> '{"app.mail": ["hold"]}' FROM hipq.shard_map}),
	'shards know that the router has dropped the type');
$one->sql(q{SELECT hipq.drop_job_type('app.mail', 'hold')});

# ---- the last shard is dropped: the router gets all jobs
$router->sql(q{SELECT hipq.drain_shard('app', 1)});
settled('after drain_shard() of the last shard');
$router->sql(q{CALL hipq.drop_shard('app', 1)});
is(left_over($router), '0 0 0', 'the router keeps nothing of the shards');
is($router->sql(q{SELECT count(*) FROM hipq.jobs_detail WHERE state = 'initial'}), 200,
	'the router has all waiting jobs');
$router->sql(q{SELECT hipq.enqueue('run', '{"tenant": "last"}')});
ok($router->wait_until(q{SELECT count(*) FROM ran WHERE tenant = 'last'}, 1),
	'the router runs new jobs');
is($router->alerts, '', 'no alert is left after all drops');

done_testing();
