# Slots move from node to node: what waits follows them, what runs ends where it is, and no two jobs of one key run at once.
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
$router->sql(q{SELECT hipq.register_job_type('app.mail', 'hold', handler => 'hold', claim => 'record', max_retries => 1, retry_base => '2 s')});
# Of jobs of a tenant; of a job type and a key.
my $slot = $router->sql(q{SELECT hipq.slot_of('k')});
sub slot_of_key { my ($type, $key) = @_; return $router->sql("SELECT hipq.slot_of('$type' || chr(31) || '$key')"); }
sub owner { return $router->sql("SELECT nodes[$slot + 1] FROM hipq.shard_map"); }
sub settled { my ($how) = @_; return ok($shards->settled, "$how: the move comes to its end"); }
sub live { my ($node) = @_; return $shards->node($node)->sql(q{SELECT count(*) FROM hipq.jobs_detail WHERE state <> 'final'}); }

# ---- bad arguments
like($router->error_of(qq{SELECT hipq.move_slots('app', '{0}', 1)}), qr/22023: slot 0 cannot be moved/, 'slot 0 stays');
like($router->error_of(qq{SELECT hipq.move_slots('app', '{4096}', 1)}), qr/22023: slot 4096 cannot be moved/, 'there is no slot 4096');
like($router->error_of(qq{SELECT hipq.move_slots('app', '{$slot}', 7)}), qr/42704: instance "app" has no active shard 7/, 'nor shard 7');
like($shards->node(1)->error_of(qq{SELECT hipq.move_slots('app', '{$slot}', 2)}), qr/not the router/, 'on the router alone');
is($router->sql(qq{SELECT hipq.move_slots('app', '{$slot}', } . owner() . ')'), 0, 'a slot that is there is left alone');

# ---- waiting jobs follow
my ($from, $to) = owner() == 1 ? (1, 2) : (2, 1);
$router->sql(q{SELECT hipq.enqueue('run', '{"tenant": "k"}', scheduled_run_time => now() + interval '1 hour', priority => 7) FROM generate_series(1, 2500)});
ok($shards->node($from)->wait_until(q{SELECT count(*) FROM hipq.jobs_detail WHERE state = 'initial'}, 2500), 'jobs wait in a slot');
is($router->sql("SELECT hipq.move_slots('app', '{$slot}', $to)"), 1, 'the slot moves');
ok($shards->node($to)->wait_until(q{SELECT count(*) FROM hipq.jobs_detail WHERE state = 'initial' AND priority = 7}, 2500), 'they follow it');
settled('waiting jobs');
is(live($from), 0, 'none is left where they were');
is($shards->node($from)->sql('SELECT count(*) FROM hipq.shard_leaving'), 0, 'nor anything to do');
ok($shards->node($to)->wait_until('SELECT count(*) FROM hipq.shard_coming', 0), 'the slot has come');
$shards->node($to)->sql(q{SELECT hipq.cancel_jobs('app.mail', 'run')});

# ---- a few jobs among so many of other slots that the queue is looked through in portions
($from, $to) = ($to, $from);
my $many = $router->sql("SELECT 'm' || n FROM hipq.shard_map, generate_series(1, 100) AS n WHERE nodes[hipq.slot_of('m' || n) + 1] = $from AND hipq.slot_of('m' || n) <> $slot LIMIT 1");
my $few = q{SELECT hipq.enqueue('run', '{"tenant": "k"}', scheduled_run_time => now() + interval '1 hour') FROM generate_series(1, 3)};
$router->sql($few);
$router->sql(qq{SELECT hipq.enqueue_many('run', array_fill('{"tenant": "$many"}'::jsonb, '{1000}'), scheduled_run_time => now() + interval '1 hour') FROM generate_series(1, 25)});
$router->sql($few);
ok($shards->node($from)->wait_until(q{SELECT count(*) FROM hipq.jobs_detail WHERE state = 'initial'}, 25_006), 'many jobs wait, few of them in the slot');
$router->sql("SELECT hipq.move_slots('app', '{$slot}', $to)");
ok($shards->node($to)->wait_until(q{SELECT count(*) FROM hipq.jobs_detail WHERE state = 'initial'}, 6), 'those follow it, the first and the last');
settled('few jobs among many');
is(live($from), 25_000, 'the others stay');
is($shards->node($from)->sql('SELECT count(*) FROM hipq.shard_leaving'), 0, 'and nothing is left to do');
$_->sql_again('SET hipq.allow_drop = on; TRUNCATE hipq.app_mail') foreach $shards->nodes;

# ---- a job with a key runs at the old node; the next one with that key waits at the new one
$slot = slot_of_key('hold', 'key');
($from, $to) = owner() == 1 ? (1, 2) : (2, 1);
my $other = $router->sql("SELECT 'other' || n FROM generate_series(1, 100000) AS n WHERE hipq.slot_of('hold' || chr(31) || 'other' || n) = $slot LIMIT 1");
my $lock = $shards->node($from)->hold_lock(1);
my $running = $router->sql(q{SELECT hipq.enqueue('hold', '{"tenant": "k"}', job_key => 'key')});
ok($shards->node($from)->wait_until("SELECT state FROM hipq.jobs_detail WHERE id = $running", 'running'), 'a job with a key runs');
$router->sql("SELECT hipq.move_slots('app', '{$slot}', $to)");
my $next = $router->sql(q{SELECT hipq.enqueue('hold', '{"tenant": "k"}', job_key => 'key')});
my $free = $router->sql(qq{SELECT hipq.enqueue('hold', job_key => '$other')});
ok($shards->node($to)->wait_until("SELECT outcome FROM hipq.jobs_detail WHERE id = $free", 'succeeded'), 'a job of the slot with another key runs at the new node');
is($shards->node($to)->sql("SELECT count(*) FROM hipq.jobs_detail WHERE id = $next"), 0, 'one with the same key does not');
is($shards->node($to)->sql('SELECT count(*) FROM hipq.shard_held_job'), 1, 'it is held');
is($shards->node($from)->sql("SELECT state FROM hipq.jobs_detail WHERE id = $running"), 'running', 'while the first one runs');
$lock->quit;
ok($shards->node($from)->wait_until("SELECT outcome FROM hipq.jobs_detail WHERE id = $running", 'succeeded'), 'which ends where it began');
ok($shards->node($to)->wait_until("SELECT outcome FROM hipq.jobs_detail WHERE id = $next", 'succeeded'), 'then the next one runs');
settled('a running job');

# ---- a job that fails at the old node is retried at the new one, before the next of its key
($from, $to) = ($to, $from);
$lock = $shards->node($from)->hold_lock(1);
$running = $router->sql(q{SELECT hipq.enqueue('hold', '{"tenant": "k", "fail": 1}', job_key => 'key')});
ok($shards->node($from)->wait_until("SELECT state FROM hipq.jobs_detail WHERE id = $running", 'running'), 'a job that is going to fail runs');
$router->sql("SELECT hipq.move_slots('app', '{$slot}', $to)");
ok($shards->node($to)->wait_until('SELECT count(*) FROM hipq.shard_coming WHERE busy_keys IS NOT NULL', 1), 'the new node knows');
$lock->quit;
ok($shards->node($to)->wait_until("SELECT outcome FROM hipq.jobs_detail WHERE id = $running", 'succeeded'), 'its retry runs at the new node');
is($shards->node($to)->sql("SELECT attempt || ' ' || retry_count FROM hipq.jobs_detail WHERE id = $running"), '2 1', 'as its second attempt');
settled('a job that is retried');
is(live($from), 0, 'nothing is left at the old node');

# ---- an open transaction that has enqueued by the old map
$slot = slot_of_key('run', 'late');
$router->sql("SELECT hipq.move_slots('app', '{$slot}', 0)");
settled('to the router');
my $session = $router->session;
$session->query_safe(q{BEGIN; SELECT hipq.enqueue('run', '{"tenant": "k"}', job_key => 'late', scheduled_run_time => now() + interval '1 hour')});
$router->sql("SELECT hipq.move_slots('app', '{$slot}', 1)");
$router->sql(q{SELECT hipq.enqueue('run', '{"tenant": "k"}', job_key => 'late')});
ok($shards->node(1)->wait_until('SELECT count(*) FROM hipq.shard_held_job', 1), 'a job of its key is held while a transaction is open that has enqueued by the old map');
$session->query_safe('COMMIT');
settled('its end');
ok($shards->node(1)->wait_until(q{SELECT string_agg(state::text, ',') FROM hipq.jobs_detail WHERE job_key = 'late'}, 'initial'), 'its job comes, and has the key');
ok($router->wait_until(q{SELECT count(*) FROM hipq.shard_rejects WHERE sqlstate = '23505'}, 1), 'the later one is a duplicate');
$session->quit;

# ---- a job that was accepted stays so, though its queue has limits now that it breaks
$slot = slot_of_key('run', 'long');
$router->sql("SELECT hipq.move_slots('app', '{$slot}', 0)");
settled('to the router');
my $long = $router->sql(q{SELECT hipq.enqueue('run', '{"tenant": "k"}', job_key => 'long', timeout => '2 hours', scheduled_run_time => now() + interval '1 hour')});
$router->sql(q{SELECT hipq.alter_queue('app.mail', max_timeout => '1 hour')});
ok($shards->node(1)->wait_until(q{SELECT max_timeout = 3600 FROM hipq.queues_detail WHERE queue = 'app.mail'}, 't'), 'longer jobs are refused');
$router->sql("SELECT hipq.move_slots('app', '{$slot}', 1)");
settled('to a shard');
is($shards->node(1)->sql("SELECT outcome FROM hipq.jobs WHERE id = $long"), 'waiting', 'and one from before moves');
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
	$shards->on_router(q{UPDATE hipq.shard SET state = 'active'; SELECT hipq.rebalance('app')}) if $round == 4;
	$session->query_safe(qq{SELECT hipq.enqueue('run', jsonb_build_object('tenant', 'r$round' || n), job_key => 'r$round' || n) FROM generate_series(1, 200) AS n});
	$enqueued += 200;
}
ok($shards->wait_for_runs($before + $enqueued), 'every job that was enqueued while slots moved runs, once');
settled('drain and back');
$shards->on_router(q{SELECT hipq.rebalance('app')});    # those that were on their way
settled('what was on its way');
is($router->sql('SELECT string_agg(DISTINCT node::text, $$ $$) FROM hipq.shard_map, unnest(nodes) AS node'), '0 1 2', 'both shards have slots');
is($router->sql(q{SELECT count(*) FROM hipq.shard_rejects}), 1, 'none was refused');

done_testing();
