# When a slot moves to another node, its waiting jobs move with it, and its running jobs end on the
# old node. Two jobs of one key never run at once.
use strict;
use warnings;
use HipqShards;
use Test::More;

my $shards = HipqShards->new('moves', 2);
my $router = $shards->router;
$_->sql(q{CREATE FUNCTION hold(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO ran (id, tenant) VALUES (job.id, job.job_key);
		PERFORM pg_advisory_xact_lock_shared(1);
		IF job.job_data ? 'fail' AND job.attempt = 1 THEN RAISE 'fails'; END IF;
	END $$}) foreach $shards->nodes;
$router->sql(q{SELECT hipq.register_job_type('app.mail', 'hold', handler => 'hold',
	claim => 'record', max_retries => 1, retry_base => '2 s')});
# $slot is the slot of jobs of tenant k. slot_of_key() returns the slot of a job type and key.
my $slot = $router->sql(q{SELECT hipq.slot_of('k')});
sub slot_of_key
{
	my ($type, $key) = @_;
	return $router->sql("SELECT hipq.slot_of('$type' || chr(31) || '$key')");
}
sub owner { return $router->sql("SELECT nodes[$slot + 1] FROM hipq.shard_map"); }
sub settled { my ($how) = @_; return ok($shards->settled, "$how: the move ends"); }
sub live
{
	my ($node) = @_;
	return $shards->node($node)->sql(
		q{SELECT count(*) FROM hipq.jobs_detail WHERE state <> 'final'});
}

# ---- bad arguments
like($router->error_of(qq{SELECT hipq.move_slots('app', '{0}', 1)}),
	qr/22023: slot 0 cannot be moved/, 'move_slots() refuses slot 0');
like($router->error_of(qq{SELECT hipq.move_slots('app', '{4096}', 1)}),
	qr/22023: slot 4096 cannot be moved/, 'move_slots() refuses slot 4096');
like($router->error_of(qq{SELECT hipq.move_slots('app', '{$slot}', 7)}),
	qr/42704: instance "app" has no active shard 7/, 'move_slots() refuses an unknown shard');
like($shards->node(1)->error_of(qq{SELECT hipq.move_slots('app', '{$slot}', 2)}),
	qr/not the router/, 'move_slots() is refused on a shard');
is($router->sql(qq{SELECT hipq.move_slots('app', '{$slot}', } . owner() . ')'), 0,
	'move_slots() does not move a slot to the node that has it');

# ---- waiting jobs follow
my ($from, $to) = owner() == 1 ? (1, 2) : (2, 1);
$router->sql(q{SELECT hipq.enqueue('run', '{"tenant": "k"}',
	scheduled_run_time => now() + interval '1 hour', priority => 7) FROM generate_series(1, 2500)});
ok($shards->node($from)->wait_until(q{SELECT count(*) FROM hipq.jobs_detail
		WHERE state = 'initial'}, 2500), '2,500 jobs wait in a slot');
is($router->sql("SELECT hipq.move_slots('app', '{$slot}', $to)"), 1, 'the slot moves');
ok($shards->node($to)->wait_until(q{SELECT count(*) FROM hipq.jobs_detail WHERE state = 'initial'
		AND priority = 7}, 2500), 'waiting jobs follow their slot');
settled('waiting jobs');
is(live($from), 0, 'no waiting job is left on the old node');
is($shards->node($from)->sql('SELECT count(*) FROM hipq.shard_leaving'), 0,
	'the move of waiting jobs is finished on the old node');
ok($shards->node($to)->wait_until('SELECT count(*) FROM hipq.shard_coming', 0),
	'the move of waiting jobs is finished on the new node');
$shards->node($to)->sql(q{SELECT hipq.cancel_jobs('app.mail', 'run')});

# ---- a few jobs among so many of other slots that hipq reads the queue in portions
($from, $to) = ($to, $from);
my $many = $router->sql("SELECT 'm' || n FROM hipq.shard_map, generate_series(1, 100) AS n
	WHERE nodes[hipq.slot_of('m' || n) + 1] = $from AND hipq.slot_of('m' || n) <> $slot LIMIT 1");
my $few = q{SELECT hipq.enqueue('run', '{"tenant": "k"}',
	scheduled_run_time => now() + interval '1 hour') FROM generate_series(1, 3)};
$router->sql($few);
$router->sql(qq{SELECT hipq.enqueue_many('run', array_fill('{"tenant": "$many"}'::jsonb, '{1000}'),
	scheduled_run_time => now() + interval '1 hour') FROM generate_series(1, 25)});
$router->sql($few);
ok($shards->node($from)->wait_until(q{SELECT count(*) FROM hipq.jobs_detail
		WHERE state = 'initial'}, 25_006), 'many jobs wait, few of them in the slot');
$router->sql("SELECT hipq.move_slots('app', '{$slot}', $to)");
ok($shards->node($to)->wait_until(q{SELECT count(*) FROM hipq.jobs_detail WHERE state = 'initial'},
		6), 'the six jobs of the moved slot follow it');
settled('few jobs among many');
is(live($from), 25_000, 'the 25,000 jobs of other slots stay');
is($shards->node($from)->sql('SELECT count(*) FROM hipq.shard_leaving'), 0,
	'the move of the six jobs is finished on the old node');
$_->sql_again('SET hipq.allow_drop = on; TRUNCATE hipq.app_mail') foreach $shards->nodes;

# ---- a job with a key runs on the old node; the next job with the key waits on the new node
$slot = slot_of_key('hold', 'key');
($from, $to) = owner() == 1 ? (1, 2) : (2, 1);
my $other = $router->sql("SELECT 'other' || n FROM generate_series(1, 100000) AS n
	WHERE hipq.slot_of('hold' || chr(31) || 'other' || n) = $slot LIMIT 1");
my $lock = $shards->node($from)->hold_lock(1);
my $running = $router->sql(q{SELECT hipq.enqueue('hold', '{"tenant": "k"}', job_key => 'key')});
ok($shards->node($from)->wait_until("SELECT state FROM hipq.jobs_detail WHERE id = $running",
		'running'), 'a job with a key runs');
$router->sql("SELECT hipq.move_slots('app', '{$slot}', $to)");
my $next = $router->sql(q{SELECT hipq.enqueue('hold', '{"tenant": "k"}', job_key => 'key')});
my $free = $router->sql(qq{SELECT hipq.enqueue('hold', job_key => '$other')});
ok($shards->node($to)->wait_until("SELECT outcome FROM hipq.jobs_detail WHERE id = $free",
		'succeeded'), 'a job with another key runs on the new node');
is($shards->node($to)->sql("SELECT count(*) FROM hipq.jobs_detail WHERE id = $next"), 0,
	'a job with the same key is not in the queue of the new node');
is($shards->node($to)->sql('SELECT count(*) FROM hipq.shard_held_job'), 1,
	'a job with the same key is held on the new node');
is($shards->node($from)->sql("SELECT state FROM hipq.jobs_detail WHERE id = $running"), 'running',
	'the job on the old node runs while the next one is held');
$lock->quit;
ok($shards->node($from)->wait_until("SELECT outcome FROM hipq.jobs_detail WHERE id = $running",
		'succeeded'), 'the running job ends on the old node');
ok($shards->node($to)->wait_until("SELECT outcome FROM hipq.jobs_detail WHERE id = $next",
		'succeeded'), 'the held job runs when the job on the old node has ended');
settled('a running job');

# ---- a job that fails on the old node is retried on the new node, before the next job of its key
($from, $to) = ($to, $from);
$lock = $shards->node($from)->hold_lock(1);
$running = $router->sql(
	q{SELECT hipq.enqueue('hold', '{"tenant": "k", "fail": 1}', job_key => 'key')});
ok($shards->node($from)->wait_until("SELECT state FROM hipq.jobs_detail WHERE id = $running",
		'running'), 'a job that will fail runs on the old node');
$router->sql("SELECT hipq.move_slots('app', '{$slot}', $to)");
ok($shards->node($to)->wait_until('SELECT count(*) FROM hipq.shard_coming
		WHERE busy_keys IS NOT NULL', 1), 'the new node knows the key of the running job');
$lock->quit;
ok($shards->node($to)->wait_until("SELECT outcome FROM hipq.jobs_detail WHERE id = $running",
		'succeeded'), 'the retry runs on the new node');
is($shards->node($to)->sql("SELECT attempt || ' ' || retry_count FROM hipq.jobs_detail
		WHERE id = $running"), '2 1', 'the retry is the second attempt');
settled('a job that is retried');
is(live($from), 0, 'no job is left on the old node after the retry');

# ---- an open transaction that has enqueued by the old map
$slot = slot_of_key('run', 'late');
$router->sql("SELECT hipq.move_slots('app', '{$slot}', 0)");
settled('to the router');
my $session = $router->session;
$session->query_safe(q{BEGIN; SELECT hipq.enqueue('run', '{"tenant": "k"}', job_key => 'late',
	scheduled_run_time => now() + interval '1 hour')});
$router->sql("SELECT hipq.move_slots('app', '{$slot}', 1)");
$router->sql(q{SELECT hipq.enqueue('run', '{"tenant": "k"}', job_key => 'late')});
ok($shards->node(1)->wait_until('SELECT count(*) FROM hipq.shard_held_job', 1),
	'a job is held while a transaction that enqueued by the old map is open');
$session->query_safe('COMMIT');
settled('after the commit');
ok($shards->node(1)->wait_until(q{SELECT string_agg(state::text, ',') FROM hipq.jobs_detail
		WHERE job_key = 'late'}, 'initial'),
	'the job of the open transaction comes after the commit, and has the key');
ok($router->wait_until(q{SELECT count(*) FROM hipq.shard_rejects WHERE sqlstate = '23505'}, 1),
	'the held job is a duplicate');
$session->quit;

# ---- a job moves although it exceeds a limit that was set after it was enqueued
$slot = slot_of_key('run', 'long');
$router->sql("SELECT hipq.move_slots('app', '{$slot}', 0)");
settled('to the router');
my $long = $router->sql(q{SELECT hipq.enqueue('run', '{"tenant": "k"}', job_key => 'long',
	timeout => '2 hours', scheduled_run_time => now() + interval '1 hour')});
$router->sql(q{SELECT hipq.alter_queue('app.mail', max_timeout => '1 hour')});
ok($shards->node(1)->wait_until(q{SELECT max_timeout = 3600 FROM hipq.queues_detail
		WHERE queue = 'app.mail'}, 't'), 'the shard has the lower limit');
$router->sql("SELECT hipq.move_slots('app', '{$slot}', 1)");
settled('to a shard');
is($shards->node(1)->sql("SELECT outcome FROM hipq.jobs WHERE id = $long"), 'waiting',
	'a job that exceeds the lower limit moves');
$router->sql(q{SELECT hipq.alter_queue('app.mail', max_timeout => NULL)});

# ---- rebalance after drain, under load
my $before = 0;
$before += $_ foreach split / /, $shards->counts;
$router->sql(q{UPDATE hipq.shard SET state = 'draining' WHERE node = 1});
$session = $router->session;
my $enqueued = 0;
foreach my $round (1 .. 5)
{
	$shards->on_router(q{SELECT hipq.rebalance('app')}) if $round == 2;
	$shards->on_router(q{UPDATE hipq.shard SET state = 'active'; SELECT hipq.rebalance('app')})
		if $round == 4;
	$session->query_safe(qq{SELECT hipq.enqueue('run', jsonb_build_object('tenant', 'r$round' || n),
		job_key => 'r$round' || n) FROM generate_series(1, 200) AS n});
	$enqueued += 200;
}
ok($shards->wait_for_runs($before + $enqueued),
	'every job that was enqueued while slots moved runs, once');
settled('drain and back');
$shards->on_router(q{SELECT hipq.rebalance('app')});    # slots that were moving
settled('after the last rebalance()');
is($router->sql('SELECT string_agg(DISTINCT node::text, $$ $$)
		FROM hipq.shard_map, unnest(nodes) AS node'), '0 1 2', 'both shards have slots');
is($router->sql(q{SELECT count(*) FROM hipq.shard_rejects}), 1,
	'shards refuse no job while slots move under load');

done_testing();
