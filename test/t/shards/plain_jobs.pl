# Jobs with keys from before their instance had shards: new ones with their keys wait on the shards until they have ended.
use strict;
use warnings;
use HipqShards;
use Test::More;

# They wait for an hour, but for the last one, which runs until its lock is free. Of queue app.order, which keeps its order, jobs without
# a key.
my $shards = HipqShards->new('plain_jobs', 2,
	before => q{
		CREATE FUNCTION hold(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN
			INSERT INTO ran (id, tenant) VALUES (job.id, job.job_key);
			PERFORM pg_advisory_xact_lock_shared(1);
		END $$},
	router_before => q{
		SELECT hipq.create_queue('app.order', owner => 'app', shard_key => $$job_data->>'tenant'$$, move_order => 'strict');
		SELECT hipq.create_queue('app.scoped', owner => 'app', shard_key => $$job_data->>'tenant'$$, unique_scope => 'shard_key');
		SELECT hipq.create_queue('app.local', owner => 'app');
		SELECT hipq.create_queue('app.other', owner => 'app', shard_key => $$job_data->>'tenant'$$);
		SELECT hipq.create_queue('alone.mail', owner => 'app');
		SELECT hipq.register_job_type('app.other', 'bulk', handler => 'run');
		SELECT hipq.register_job_type(queue, 'hold') FROM unnest('{app.local, app.other, alone.mail}'::text[]) AS queue;
		SELECT hipq.register_job_type(queue, 'rest', handler => 'run') FROM unnest('{app.mail, app.local}'::text[]) AS queue;
		SELECT hipq.register_job_type('app.mail', 'hold', handler => 'hold');
		SELECT hipq.register_job_type('app.order', 'ordered', handler => 'run');
		SELECT hipq.register_job_type('app.scoped', 'scoped', handler => 'run');
		SELECT hipq.register_job_type('app.local', 'local', handler => 'run');
		SELECT hipq.enqueue('hold', queue => 'app.mail', job_key => 'key' || n, scheduled_run_time => now() + interval '1 hour') FROM generate_series(1, 60) AS n;
		SELECT hipq.enqueue('hold', queue => 'app.mail', scheduled_run_time => now() + interval '1 hour') FROM generate_series(1, 10) AS n;
		SELECT hipq.enqueue('ordered', '{"tenant": "k"}', scheduled_run_time => now() + interval '1 hour');
		SELECT hipq.enqueue('scoped', '{"tenant": "k"}', job_key => 'one', scheduled_run_time => now() + interval '1 hour');
		SELECT hipq.enqueue('local', job_key => 'one', scheduled_run_time => now() + interval '1 hour');
		INSERT INTO hipq.app_other (job_type, job_key, scheduled_run_time)
			SELECT 'bulk', CASE WHEN n > 21000 THEN 'key' || n END, now() + interval '1 hour' FROM generate_series(1, 22500) AS n});
my $router = $shards->router;
my $plain = 'id < 2::bigint ^ 41';
is($router->sql("SELECT count(*) FROM hipq.jobs_detail WHERE $plain"), 22573, 'jobs are there from before');
isnt($router->sql(q{SELECT nodes[hipq.slot_of('k') + 1] FROM hipq.shard_map}), 0, 'the tenant has a shard now');

# On the shards.
sub sum
{
	my ($sql) = @_;
	my $sum = 0;
	$sum += $shards->node($_)->sql($sql) foreach 1, 2;
	return $sum;
}
sub sum_comes_to
{
	my ($sql, $wanted, $what) = @_;
	my $limit = time + $PostgreSQL::Test::Utils::timeout_default;
	select undef, undef, undef, 0.05 while sum($sql) != $wanted && time < $limit;
	return is(sum($sql), $wanted, $what);
}

# ---- the move ends for slots without such keys, and for the others when they have
my $slots = $router->sql(q{SELECT count(DISTINCT slot) FROM (
	SELECT hipq.slot_of(CASE WHEN queue = 'app.scoped' THEN 'k' ELSE job_type || chr(31) || job_key END) FROM hipq.jobs_detail WHERE job_key IS NOT NULL AND queue <> 'app.local'
	UNION SELECT hipq.slot_of('k')) AS of_key (slot)});
cmp_ok($slots, '>', 1000, 'keys are in many slots');
ok($router->wait_until('SELECT count(*) FROM hipq.shard_move', $slots), 'moves of these slots wait for them, and of no others');
$router->sql(q{SELECT hipq.enqueue('hold', queue => 'app.mail', job_key => 'new' || n) FROM generate_series(1, 60) AS n});
sum_comes_to(q{SELECT count(*) FROM ran WHERE tenant LIKE 'new%'}, 60, 'jobs with other keys run');
$router->sql(q{SELECT hipq.enqueue('hold', queue => 'app.mail', job_key => 'key' || n) FROM generate_series(1, 60) AS n;
	SELECT hipq.enqueue('ordered', '{"tenant": "k", "n": 2}');
	SELECT hipq.enqueue('scoped', '{"tenant": "k"}', job_key => 'one');
	SELECT hipq.enqueue('scoped', '{"tenant": "l"}', job_key => 'one');
	SELECT hipq.enqueue('run', '{"tenant": "k"}')});
sum_comes_to('SELECT count(*) FROM hipq.shard_held_job', 62, 'those with the same keys are held');
sum_comes_to(q{SELECT count(*) FROM ran WHERE tenant = 'l'}, 1, 'not the same key of another tenant');
sum_comes_to(q{SELECT count(*) FROM ran WHERE tenant = 'k'}, 1, 'nor jobs of another queue of that tenant');
is(sum(q{SELECT count(*) FROM ran WHERE tenant LIKE 'key%'}), 0, 'and do not run');

# ---- one runs and ends
my $first = $router->sql("SELECT id FROM hipq.jobs_detail WHERE $plain AND job_key = 'key1'");
my $lock = $router->hold_lock(1);
$router->sql("SELECT hipq.reschedule($first, now())");
ok($router->wait_until("SELECT state FROM hipq.jobs_detail WHERE id = $first", 'running'), 'one of before runs');
is(sum(q{SELECT count(*) FROM ran WHERE tenant = 'key1'}), 0, 'the new one waits');
$lock->quit;
sum_comes_to(q{SELECT count(*) FROM ran WHERE tenant = 'key1'}, 1, 'and runs when it has ended');
is(sum(q{SELECT count(*) FROM ran WHERE tenant LIKE 'key%'}), 1, 'the others wait');

# ---- none gets to a queue whose keys nobody looks for
foreach my $case ([ 'app.mail', 'app.other', 'one of before to another queue' ], [ 'app.mail', 'app.local', 'one to a queue that is not divided' ])
{
	my ($from, $to, $name) = @$case;
	like($router->error_of("SELECT hipq.move_jobs('$from', '$to', 'hold')"), qr/0A000: jobs with keys cannot be moved to a queue that would place them on another server/, "no move of $name");
}
like($router->error_of(q{SELECT hipq.move_jobs('app.mail', 'alone.mail', 'hold')}), qr/0A000: jobs cannot be moved to another instance if one of the two has shards/, 'nor to an instance without shards');
$router->sql(q{SELECT hipq.enqueue('rest', scheduled_run_time => now() + interval '1 hour', queue => 'app.local')});
is($router->sql(q{SELECT moved FROM hipq.move_jobs('app.local', 'app.mail', 'rest')}), 1, 'one without a key moves');
is($router->sql(q{SELECT count(hipq.cancel(id)) FROM hipq.jobs_detail WHERE job_type = 'rest' AND state = 'initial'}), 1, 'and is there');

# ---- one is cancelled
$router->sql("SELECT hipq.cancel(id) FROM hipq.jobs_detail WHERE $plain AND job_key = 'key2'");
sum_comes_to(q{SELECT count(*) FROM ran WHERE tenant = 'key2'}, 1, 'one whose key a cancelled job had runs');

# ---- one that is far behind in a long queue
$router->sql(q{SELECT hipq.enqueue('bulk', '{"tenant": "b"}', job_key => 'key22500')});
sum_comes_to('SELECT count(*) FROM hipq.shard_held_job', 61, 'a job waits for the last one of a long queue');
$router->sql("SELECT hipq.cancel(id) FROM hipq.jobs_detail WHERE $plain AND job_key = 'key22500'");
sum_comes_to(q{SELECT count(*) FROM ran WHERE tenant = 'b'}, 1, 'until that is cancelled');
$router->sql(q{SELECT hipq.cancel_jobs('app.other', 'bulk')}) foreach 1 .. 3;

# ---- a restart of the router, which forgets what it has found
$router->node->restart;
is(sum(q{SELECT count(*) FROM ran WHERE tenant LIKE 'key%'}), 2, 'after a restart of the router the others wait');

# ---- all of them
$router->sql("SELECT hipq.reschedule(id, now()) FROM hipq.jobs_detail WHERE $plain AND state = 'initial' AND queue <> 'app.local'");
ok($router->wait_until("SELECT count(*) FROM hipq.jobs_detail WHERE $plain AND state <> 'final'", 1), 'those of before run where they are');
sum_comes_to(q{SELECT count(*) FROM ran WHERE tenant LIKE 'key%'}, 60, 'then all others run');
sum_comes_to(q{SELECT count(*) FROM ran WHERE tenant = 'k'}, 3, 'also those in order, and of a tenant');
ok($shards->settled, 'the moves come to their end');
is($router->sql('SELECT count(*) FROM hipq.shard_leaving'), 0, 'nothing is left to do');
is($router->sql('SELECT count(*) FROM hipq.shard_rejects'), 0, 'no job was a duplicate');

# ---- what else places jobs anew says so
sub says
{
	my ($node, $sql) = @_;
	my ($status, undef, $err) = $node->node->psql('postgres', $sql);
	die "$sql: $err" if $status != 0;
	return $err;
}
my $notice = qr/NOTICE:  new jobs of queue "app.mail" go to other servers than those of before/;
unlike(says($router, q{SELECT hipq.alter_queue('app.mail', weight => 3)}), $notice, 'most changes say nothing of places');
unlike(says($router, q{SELECT hipq.alter_queue('app.mail', throttle_limit => 5)}),
	$notice, 'nor does a limit that nodes share, as is the default');
like(says($router, q{SELECT hipq.alter_queue('app.mail', throttle_mode => 'home')}),
	$notice, 'a limit that one node keeps does');
unlike(says($router, q{SELECT hipq.alter_queue('app.mail', throttle_limit => 6)}), $notice, 'another one does not');
like(says($router, q{SELECT hipq.alter_queue('app.mail', throttle_mode => 'shared')}), $notice, 'nor does it stay at home');
unlike(says($router, q{SELECT hipq.register_job_type('app.mail', 'limited', throttle_limit => 5)}), $notice, 'a shared limit places nothing');
unlike(says($router, q{SELECT hipq.alter_queue('app.local', throttle_limit => 5)}), qr/go to other servers/, 'nor one of a queue that is not divided');
like(says($router, q{SELECT hipq.alter_queue('app.mail', throttle_mode => 'home', throttle_limit => 0)}), $notice, 'the limit of a job type does');
like(says($router, q{SELECT hipq.drop_job_type('app.mail', 'limited')}), $notice, 'until the type is dropped');
like(says($router, q{SELECT hipq.register_job_type('app.mail', 'limited', throttle_limit => 5)}), $notice, 'or registered');
ok($shards->node(1)->wait_until(q{SELECT count(*) FROM hipq.job_type WHERE name = 'limited'}, 1), 'shards follow');
like($shards->node(1)->error_of(q{SELECT hipq.alter_job_type('app.mail', 'limited', throttle_limit => 0)}), qr/55000: instance "app" is set up on its router/, 'and place nothing anew themselves');

done_testing();
