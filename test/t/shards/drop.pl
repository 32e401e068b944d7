# A shard is drained and dropped, comes back, and is dropped when it is dead. What was enqueued runs all the while.
use strict;
use warnings;
use HipqShards;
use Test::More;

my $shards = HipqShards->new('drop', 2);
my ($router, $one, $two) = $shards->nodes;
sub settled { my ($how) = @_; return ok($router->wait_until('SELECT count(*) FROM hipq.shard_move', 0), "$how: the moves come to their ends"); }
sub slots { return $router->sql('SELECT string_agg(shard || $$ $$ || slots, $$, $$ ORDER BY shard) FROM hipq.shards'); }
sub left_over
{
	my ($node) = @_;
	return $node->sql('SELECT (SELECT count(*) FROM pg_publication) || $$ $$ || (SELECT count(*) FROM pg_replication_slots) || $$ $$ || (SELECT count(*) FROM pg_subscription)');
}
settled('at first');

# ---- not yet
like($router->error_of(q{SELECT hipq.drain_shard('app', 7)}), qr/42704: instance "app" has no active shard 7/, 'there is no shard 7 to drain');
like($router->error_of(q{CALL hipq.drop_shard('app', 7)}), qr/42704: instance "app" has no shard 7/, 'nor to drop');
like($router->error_of(q{CALL hipq.drop_shard('app', 1)}), qr/55006: shard 1 of instance "app" has slots.*drain_shard\('app', 1\)/s, 'one with slots stays');
like($router->error_of(q{BEGIN; CALL hipq.drop_shard('app', 1)}), qr/2D000: hipq.drop_shard\(\) commits/, 'not in a transaction');

# ---- drained: what waits follows, what runs ends there
my $lock = $one->hold_lock(1);
$_->sql(q{CREATE FUNCTION hold(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN PERFORM pg_advisory_xact_lock_shared(1); INSERT INTO ran (id) VALUES (job.id); END $$}) foreach $shards->nodes;
$router->sql(q{SELECT hipq.register_job_type('app.mail', 'hold', handler => 'hold')});
my $tenant = $router->sql(q{SELECT 't' || n FROM generate_series(1, 100) AS n, hipq.shard_map WHERE nodes[hipq.slot_of('t' || n) + 1] = 1 LIMIT 1});
my $held = $router->sql(qq{SELECT hipq.enqueue('hold', '{"tenant": "$tenant"}')});
ok($one->wait_until("SELECT state FROM hipq.jobs_detail WHERE id = $held", 'running'), 'a job runs on the shard');
$router->sql(q{SELECT hipq.enqueue('run', jsonb_build_object('tenant', 't' || n), scheduled_run_time => now() + interval '1 hour') FROM generate_series(1, 200) AS n});
my $late = $router->session;
$late->query_safe(qq{BEGIN; SELECT hipq.enqueue('run', '{"tenant": "$tenant", "late": 1}')});
cmp_ok($router->sql(q{SELECT hipq.drain_shard('app', 1)}), '>', 2000, 'its slots move');
is($router->sql(q{SELECT hipq.drain_shard('app', 1)}), 0, 'once');
settled('drained');
is(slots(), '1 0, 2 4095', 'the other shard has all');
ok($two->wait_until(q{SELECT count(*) FROM hipq.jobs_detail WHERE state = 'initial'}, 200), 'and what waits');
my $dropping = $router->session(on_error_stop => 0);
$dropping->query_until(qr/drops/, qq{\\echo drops\nCALL hipq.drop_shard('app', 1);\n});
ok($router->wait_until(q{SELECT state FROM hipq.shards WHERE shard = 1}, 'leaving'), 'it is to be dropped');
$router->sql(q{SELECT hipq.enqueue('run', '{"tenant": "others"}')});
ok($shards->wait_for_runs(1), 'nobody who enqueues waits meanwhile');
is($router->sql(q{SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'CALL hipq.drop_shard%' AND state = 'active'}), 1, 'it waits for who has enqueued by the map from before');
$late->query_safe('COMMIT');
ok($shards->wait_for_runs(2), 'whose job comes and runs');
$dropping->query('SELECT 1');
$dropping->quit;
like($router->error_of(q{CALL hipq.drop_shard('app', 1)}), qr/1 job\(s\) of instance "app" are unfinished on the shard/, 'while a job runs there it stays');
$lock->quit;
ok($one->wait_until("SELECT outcome FROM hipq.jobs_detail WHERE id = $held", 'succeeded'), 'the job ends there');

# ---- dropped, at the second try
$one->node->stop;
like($router->error_of(q{CALL hipq.drop_shard('app', 1)}), qr/could not establish connection|connection to server/, 'it has to be there');
$one->node->start;
$router->sql(q{CALL hipq.drop_shard('app', 1)});
is(left_over($one), '0 0 0', 'nothing is left on the shard');
is(left_over($router), '1 1 1', 'nor on the router, but what is for the other one');
is(slots(), '2 4095', 'the router knows one shard');
$one->sql(q{SELECT hipq.enqueue('run', '{"tenant": "own"}')});
ok($one->wait_until(q{SELECT count(*) FROM ran WHERE tenant = 'NONE'}, 1), 'a database that was a shard runs its own jobs');

# ---- it comes back
$router->sql(sprintf q{CALL hipq.create_shard('app', 1, '%s', publisher => '%s')}, $shards->conninfo(1), $shards->conninfo(0));
cmp_ok($router->sql(q{SELECT hipq.rebalance('app')}), '>', 2000, 'and gets its part again');
settled('back');
ok($one->wait_until(q{SELECT count(*) > 50 FROM hipq.jobs_detail WHERE state = 'initial'}), 'with the jobs that wait');

# ---- dead: with two slots, of which one job has gone there and others are on their way
$router->sql(q{SELECT hipq.drain_shard('app', 2)});
settled('the other one drained');
$router->sql(sprintf q{CALL hipq.create_shard('app', 2, '%s', publisher => '%s')},
	$shards->conninfo(2), $shards->conninfo(0));
my $key_slot = $router->sql(q{SELECT hipq.slot_of('run' || chr(31) || 'key')});
my $slot = $router->sql(q{SELECT hipq.slot_of('dead')});
is($router->sql("SELECT hipq.move_slots('app', ARRAY[$slot, $key_slot], 2)"), 2,
	'two slots come back to it');
ok($shards->settled, 'to their end');
$router->sql(q{
	SELECT hipq.enqueue('run', '{"tenant": "dead"}', scheduled_run_time => now() + interval '1 hour')});
ok($two->wait_until(q{SELECT count(*) FROM hipq.jobs_detail WHERE shard_key = 'dead'}, 1),
	'a job has come to it');
like($router->error_of(q{CALL hipq.drop_shard('app', 2, force => true)}),
	qr/55006: shard 2 of instance "app" has slots.*drain_shard\('app', 2\).*force => true/s,
	'by force, too, one with slots stays');
my $here = $router->sql('SELECT pg_current_wal_lsn()');
ok($router->wait_until("SELECT confirmed_flush_lsn >= '$here' FROM pg_replication_slots WHERE slot_name LIKE '%_to_2'"),
	'and the router knows that');
$two->node->stop('immediate');
$router->sql(q{SELECT hipq.enqueue('run', '{"tenant": "dead"}') FROM generate_series(1, 3)});
$router->sql(q{
	BEGIN;
	SAVEPOINT a;
	SELECT hipq.enqueue_many('run', ARRAY[jsonb '{"tenant": "dead"}', '{"tenant": "dead"}']);
	RELEASE a;
	COMMIT});
my $first_key = $router->sql(q{SELECT hipq.enqueue('run', job_key => 'key')});
is($router->sql(q{SELECT hipq.drain_shard('app', 2)}), 2, 'its slots move');
$router->sql(q{SELECT hipq.enqueue('run', '{"tenant": "dead"}')});
my $ran = q{SELECT count(*) FROM ran WHERE tenant = 'dead'};
ok($one->wait_until($ran, 1), 'new jobs of them run');
my $late_key = $router->sql(q{SELECT hipq.enqueue('run', job_key => 'key')});
ok($one->wait_until(q{SELECT count(*) FROM hipq.shard_held_job}, 1),
	'one with a key waits for what the dead one would send back');
like($router->error_of(q{CALL hipq.drop_shard('app', 2)}),
	qr/55006: 2 slot\(s\) of instance "app" are leaving shard 2.*It was drained.*force => true/s,
	'it is not dropped, and the hint says what is left to do');
my (undef, undef, $told) =
  $router->node->psql('postgres', q{CALL hipq.drop_shard('app', 2, force => true)});
like($told,
	qr/NOTICE:  shard 2 of instance "app" is taken for dead\nDETAIL:  5 letter\(s\).* 2 slot\(s\) were leaving it.* are lost\./,
	'by force it is, and is told what becomes of its jobs') or diag $told;
ok($one->wait_until($ran, 6), 'those that it had not read run on the other shard');
my $ended = "SELECT count(DISTINCT id)
	FROM (SELECT id FROM ran UNION ALL SELECT job_id FROM hipq.shard_reject WHERE sqlstate = '23505') AS known
	WHERE id IN ($first_key, $late_key)";
ok($one->wait_until($ended, 2),
	'so do those of the key, unless the other one is a duplicate');
settled('the dead one dropped');
is($one->sql('SELECT count(*) FROM hipq.shard_held_job'), 0, 'nothing is held any more');
is(slots(), '1 4095', 'one that is dead is dropped without being asked');
is(left_over($router), '1 1 1', 'and nothing of it is left on the router');
is($router->sql('SELECT count(*) FROM hipq.shard_stats WHERE node = 2'), 0, 'nor what it has said of its queues');
my (undef, undef, $notice) = $router->node->psql('postgres', q{SELECT hipq.drop_job_type('app.mail', 'hold')});
like($notice, qr/NOTICE:  job type "hold" of queue "app.mail" stays on the shards of instance "app"\nHINT:  Run SELECT hipq.drop_job_type\('app.mail', 'hold'\) on each/, 'what is dropped on the router stays on shards');
ok($one->wait_until(q{SELECT NOT router_has @> '{"app.mail": ["hold"]}' FROM hipq.shard_map}), 'as they hear');
$one->sql(q{SELECT hipq.drop_job_type('app.mail', 'hold')});

# ---- the last one: the router gets all back
$router->sql(q{SELECT hipq.drain_shard('app', 1)});
settled('the last one drained');
$router->sql(q{CALL hipq.drop_shard('app', 1)});
is(left_over($router), '0 0 0', 'nothing is left');
is($router->sql(q{SELECT count(*) FROM hipq.jobs_detail WHERE state = 'initial'}), 200, 'the router has what waits');
$router->sql(q{SELECT hipq.enqueue('run', '{"tenant": "last"}')});
ok($router->wait_until(q{SELECT count(*) FROM ran WHERE tenant = 'last'}, 1), 'and runs what comes');
is($router->alerts, '', 'no alert is left');

done_testing();
