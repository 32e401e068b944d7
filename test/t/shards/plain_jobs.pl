# New jobs with the keys of jobs from before their instance had shards wait on the shards until
# those have ended.
use strict;
use warnings;
use HipqShards;
use Test::More;

# The old jobs wait for an hour, but for the last one, which runs until its lock is free. Of queue
# app.order, which keeps its order, jobs without a key are among them.
my $shards = HipqShards->new('plain_jobs', 2,
	before => q{
		CREATE FUNCTION hold(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN
			INSERT INTO ran (id, tenant) VALUES (job.id, job.job_key);
			PERFORM pg_advisory_xact_lock_shared(1);
		END $$},
	router_before => q{
		SELECT hipq.create_queue('app.order', owner => 'app', shard_key => $$job_data->>'tenant'$$,
			move_order => 'strict');
		SELECT hipq.create_queue('app.scoped', owner => 'app', shard_key => $$job_data->>'tenant'$$,
			unique_scope => 'shard_key');
		SELECT hipq.create_queue('app.local', owner => 'app');
		SELECT hipq.create_queue('app.other', owner => 'app', shard_key => $$job_data->>'tenant'$$);
		SELECT hipq.create_queue('alone.mail', owner => 'app');
		SELECT hipq.register_job_type('app.other', 'bulk', handler => 'run');
		SELECT hipq.register_job_type(queue, 'hold')
			FROM unnest('{app.local, app.other, alone.mail}'::text[]) AS queue;
		SELECT hipq.register_job_type(queue, 'rest', handler => 'run')
			FROM unnest('{app.mail, app.local}'::text[]) AS queue;
		SELECT hipq.register_job_type('app.mail', 'hold', handler => 'hold');
		SELECT hipq.register_job_type('app.order', 'ordered', handler => 'run');
		SELECT hipq.register_job_type('app.scoped', 'scoped', handler => 'run');
		SELECT hipq.register_job_type('app.local', 'local', handler => 'run');
		SELECT hipq.enqueue('hold', queue => 'app.mail', job_key => 'key' || n,
			scheduled_run_time => now() + interval '1 hour') FROM generate_series(1, 60) AS n;
		SELECT hipq.enqueue('hold', queue => 'app.mail',
			scheduled_run_time => now() + interval '1 hour') FROM generate_series(1, 10) AS n;
		SELECT hipq.enqueue('ordered', '{"tenant": "k"}',
			scheduled_run_time => now() + interval '1 hour');
		SELECT hipq.enqueue('scoped', '{"tenant": "k"}', job_key => 'one',
			scheduled_run_time => now() + interval '1 hour');
		SELECT hipq.enqueue('local', job_key => 'one',
			scheduled_run_time => now() + interval '1 hour');
		INSERT INTO hipq.app_other (job_type, job_key, scheduled_run_time)
			SELECT 'bulk', CASE WHEN n > 21000 THEN 'key' || n END, now() + interval '1 hour'
				FROM generate_series(1, 22500) AS n});
my $router = $shards->router;
my $plain = 'id < 2::bigint ^ 41';
is($router->sql("SELECT count(*) FROM hipq.jobs_detail WHERE $plain"), 22573,
	'22,573 jobs are there from before');
isnt($router->sql(q{SELECT nodes[hipq.slot_of('k') + 1] FROM hipq.shard_map}), 0,
	'the tenant has a shard');

# The sum over both shards.
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

# ---- moves end for slots without such keys, and for the others when those jobs have ended
my $slots = $router->sql(q{SELECT count(DISTINCT slot) FROM (
	SELECT hipq.slot_of(CASE WHEN queue = 'app.scoped' THEN 'k' ELSE job_type || chr(31) || job_key
		END) FROM hipq.jobs_detail WHERE job_key IS NOT NULL AND queue <> 'app.local'
	UNION SELECT hipq.slot_of('k')) AS of_key (slot)});
cmp_ok($slots, '>', 1000, 'the keys are in more than a thousand slots');
ok($router->wait_until('SELECT count(*) FROM hipq.shard_move', $slots),
	'moves of just these slots wait for the old jobs');
$router->sql(q{SELECT hipq.enqueue('hold', queue => 'app.mail', job_key => 'new' || n)
	FROM generate_series(1, 60) AS n});
sum_comes_to(q{SELECT count(*) FROM ran WHERE tenant LIKE 'new%'}, 60, 'jobs with other keys run');
$router->sql(q{SELECT hipq.enqueue('hold', queue => 'app.mail', job_key => 'key' || n)
	FROM generate_series(1, 60) AS n;
	SELECT hipq.enqueue('ordered', '{"tenant": "k", "n": 2}');
	SELECT hipq.enqueue('scoped', '{"tenant": "k"}', job_key => 'one');
	SELECT hipq.enqueue('scoped', '{"tenant": "l"}', job_key => 'one');
	SELECT hipq.enqueue('run', '{"tenant": "k"}')});
sum_comes_to('SELECT count(*) FROM hipq.shard_held_job', 62, 'those with the same keys are held');
sum_comes_to(q{SELECT count(*) FROM ran WHERE tenant = 'l'}, 1,
	'not the same key of another tenant');
sum_comes_to(q{SELECT count(*) FROM ran WHERE tenant = 'k'}, 1,
	'nor jobs of another queue of that tenant');
is(sum(q{SELECT count(*) FROM ran WHERE tenant LIKE 'key%'}), 0, 'held jobs do not run');

# ---- an old job runs and ends
my $first = $router->sql("SELECT id FROM hipq.jobs_detail WHERE $plain AND job_key = 'key1'");
my $lock = $router->hold_lock(1);
$router->sql("SELECT hipq.reschedule($first, now())");
ok($router->wait_until("SELECT state FROM hipq.jobs_detail WHERE id = $first", 'running'),
	'an old job runs');
is(sum(q{SELECT count(*) FROM ran WHERE tenant = 'key1'}), 0, 'the new job with its key waits');
$lock->quit;
sum_comes_to(q{SELECT count(*) FROM ran WHERE tenant = 'key1'}, 1, 'and runs when it has ended');
is(sum(q{SELECT count(*) FROM ran WHERE tenant LIKE 'key%'}), 1, 'new jobs with other keys wait');

# ---- no old job moves to a queue whose keys are not looked for
foreach my $case ([ 'app.mail', 'app.other', 'one of before to another queue' ],
	[ 'app.mail', 'app.local', 'one to a queue that is not divided' ])
{
	my ($from, $to, $name) = @$case;
	like($router->error_of("SELECT hipq.move_jobs('$from', '$to', 'hold')"),
		qr/0A000: jobs with keys cannot be moved to a queue that would place them on another server/,
		"move_jobs() refuses $name");
}
like($router->error_of(q{SELECT hipq.move_jobs('app.mail', 'alone.mail', 'hold')}),
	qr/0A000: jobs cannot be moved to another instance if one of the two has shards/,
	'move_jobs() refuses an instance without shards');
$router->sql(q{SELECT hipq.enqueue('rest', scheduled_run_time => now() + interval '1 hour',
	queue => 'app.local')});
is($router->sql(q{SELECT moved FROM hipq.move_jobs('app.local', 'app.mail', 'rest')}), 1,
	'a job without a key can move');
is($router->sql(q{SELECT count(hipq.cancel(id)) FROM hipq.jobs_detail WHERE job_type = 'rest'
		AND state = 'initial'}), 1, 'the moved job is there');

# ---- an old job is cancelled
$router->sql("SELECT hipq.cancel(id) FROM hipq.jobs_detail WHERE $plain AND job_key = 'key2'");
sum_comes_to(q{SELECT count(*) FROM ran WHERE tenant = 'key2'}, 1,
	'one whose key a cancelled job had runs');

# ---- an old job far behind in a long queue
$router->sql(q{SELECT hipq.enqueue('bulk', '{"tenant": "b"}', job_key => 'key22500')});
sum_comes_to('SELECT count(*) FROM hipq.shard_held_job', 61,
	'a job waits for the last one of a long queue');
$router->sql("SELECT hipq.cancel(id) FROM hipq.jobs_detail WHERE $plain AND job_key = 'key22500'");
sum_comes_to(q{SELECT count(*) FROM ran WHERE tenant = 'b'}, 1, 'until that is cancelled');
$router->sql(q{SELECT hipq.cancel_jobs('app.other', 'bulk')}) foreach 1 .. 3;

# ---- a restart of the router, which forgets what it has found
$router->node->restart;
is(sum(q{SELECT count(*) FROM ran WHERE tenant LIKE 'key%'}), 2,
	'held jobs still wait after a restart of the router');

# ---- all old jobs run
$router->sql("SELECT hipq.reschedule(id, now()) FROM hipq.jobs_detail
	WHERE $plain AND state = 'initial' AND queue <> 'app.local'");
ok($router->wait_until("SELECT count(*) FROM hipq.jobs_detail WHERE $plain AND state <> 'final'",
		1), 'old jobs run on the router');
sum_comes_to(q{SELECT count(*) FROM ran WHERE tenant LIKE 'key%'}, 60, 'then all others run');
sum_comes_to(q{SELECT count(*) FROM ran WHERE tenant = 'k'}, 3,
	'also those in order, and of a tenant');
ok($shards->settled, 'all moves end when the old jobs have ended');
is($router->sql('SELECT count(*) FROM hipq.shard_leaving'), 0, 'the router has nothing left to do');
is($router->sql('SELECT count(*) FROM hipq.shard_rejects'), 0, 'no job was a duplicate');

# ---- other calls that change the nodes of new jobs say so
sub says
{
	my ($node, $sql) = @_;
	my ($status, undef, $err) = $node->node->psql('postgres', $sql);
	die "$sql: $err" if $status != 0;
	return $err;
}
my $notice = qr/NOTICE:  new jobs of queue "app.mail" go to other servers than those of before/;
unlike(says($router, q{SELECT hipq.alter_queue('app.mail', weight => 3)}), $notice,
	'a changed weight moves no new jobs');
unlike(says($router, q{SELECT hipq.alter_queue('app.mail', throttle_limit => 5)}),
	$notice, 'a shared limit moves no new jobs');
like(says($router, q{SELECT hipq.alter_queue('app.mail', throttle_mode => 'home')}),
	$notice, 'throttle_mode home moves new jobs');
unlike(says($router, q{SELECT hipq.alter_queue('app.mail', throttle_limit => 6)}), $notice,
	'another limit in mode home moves no new jobs');
like(says($router, q{SELECT hipq.alter_queue('app.mail', throttle_mode => 'shared')}), $notice,
	'throttle_mode shared moves new jobs again');
unlike(says($router, q{SELECT hipq.register_job_type('app.mail', 'limited', throttle_limit => 5)}),
	$notice, 'a type with a shared limit moves no new jobs');
unlike(says($router, q{SELECT hipq.alter_queue('app.local', throttle_limit => 5)}),
	qr/go to other servers/, 'a limit of a queue that is not sharded moves no new jobs');
like(says($router, q{SELECT hipq.alter_queue('app.mail', throttle_mode => 'home',
		throttle_limit => 0)}), $notice, "a type's limit in mode home moves new jobs");
like(says($router, q{SELECT hipq.drop_job_type('app.mail', 'limited')}), $notice,
	'dropping that type moves new jobs');
like(says($router, q{SELECT hipq.register_job_type('app.mail', 'limited', throttle_limit => 5)}),
	$notice, 'registering that type moves new jobs');
ok($shards->node(1)->wait_until(q{SELECT count(*) FROM hipq.job_type WHERE name = 'limited'}, 1),
	'shards get the registered type');
like($shards->node(1)->error_of(q{SELECT hipq.alter_job_type('app.mail',
		'limited', throttle_limit => 0)}), qr/55000: instance "app" is set up on its router/,
	'a shard refuses to change a type');

done_testing();
