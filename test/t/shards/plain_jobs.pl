# Some jobs are older than the shards of their instance. A new job with the key of an old job waits
# on its shard until the old job has ended.
use strict;
use warnings;
use HipqShards;
use Test::More;

# The old jobs are due in an hour. Queue app.order keeps the order of jobs, and has a job without a
# key.
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
	'there are 22,573 old jobs');
isnt($router->sql(q{SELECT nodes[hipq.slot_of('k') + 1] FROM hipq.shard_map}), 0,
	'tenant k has a shard');

# Returns the sum of the results of a query on both shards.
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

# ---- slots without keys of old jobs move; the other slots wait until the old jobs have ended
my $slots = $router->sql(q{SELECT count(DISTINCT slot) FROM (
	SELECT hipq.slot_of(CASE WHEN queue = 'app.scoped' THEN 'k' ELSE job_type || chr(31) || job_key
		END) FROM hipq.jobs_detail WHERE job_key IS NOT NULL AND queue <> 'app.local'
	UNION SELECT hipq.slot_of('k')) AS of_key (slot)});
cmp_ok($slots, '>', 1000, 'the keys are in more than a thousand slots');
ok($router->wait_until('SELECT count(*) FROM hipq.shard_move', $slots),
	'only the slots with keys of old jobs wait to move');
$router->sql(q{SELECT hipq.enqueue('hold', queue => 'app.mail', job_key => 'new' || n)
	FROM generate_series(1, 60) AS n});
sum_comes_to(q{SELECT count(*) FROM ran WHERE tenant LIKE 'new%'}, 60,
	'new jobs run if no old job has their key');
$router->sql(q{SELECT hipq.enqueue('hold', queue => 'app.mail', job_key => 'key' || n)
	FROM generate_series(1, 60) AS n;
	SELECT hipq.enqueue('ordered', '{"tenant": "k", "n": 2}');
	SELECT hipq.enqueue('scoped', '{"tenant": "k"}', job_key => 'one');
	SELECT hipq.enqueue('scoped', '{"tenant": "l"}', job_key => 'one');
	SELECT hipq.enqueue('run', '{"tenant": "k"}')});
sum_comes_to('SELECT count(*) FROM hipq.shard_held_job',
	62, 'new jobs with keys of old jobs are held');
sum_comes_to(q{SELECT count(*) FROM ran WHERE tenant = 'l'}, 1,
	'a job with the key of an old job of another tenant runs');
sum_comes_to(q{SELECT count(*) FROM ran WHERE tenant = 'k'}, 1,
	'a job of the tenant in another queue runs');
is(sum(q{SELECT count(*) FROM ran WHERE tenant LIKE 'key%'}), 0, 'held jobs do not run');

# ---- an old job runs and ends
my $first = $router->sql("SELECT id FROM hipq.jobs_detail WHERE $plain AND job_key = 'key1'");
my $lock = $router->hold_lock(1);
$router->sql("SELECT hipq.reschedule($first, now())");
ok($router->wait_until("SELECT state FROM hipq.jobs_detail WHERE id = $first", 'running'),
	'an old job runs');
is(sum(q{SELECT count(*) FROM ran WHERE tenant = 'key1'}), 0,
	'a new job waits while the old job with its key runs');
$lock->quit;
sum_comes_to(q{SELECT count(*) FROM ran WHERE tenant = 'key1'}, 1,
	'a new job runs when the old job with its key has ended');
is(sum(q{SELECT count(*) FROM ran WHERE tenant LIKE 'key%'}), 1,
	'new jobs with keys of other old jobs wait');

# ---- no old job moves to a queue where hipq does not search its key
foreach my $case ([ 'app.mail', 'app.other', 'to move an old job to another queue' ],
	[ 'app.mail', 'app.local', 'to move a job to a queue that is not sharded' ])
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
		AND state = 'initial'}), 1, 'the moved job can be cancelled');

# ---- an old job is cancelled
$router->sql("SELECT hipq.cancel(id) FROM hipq.jobs_detail WHERE $plain AND job_key = 'key2'");
sum_comes_to(q{SELECT count(*) FROM ran WHERE tenant = 'key2'}, 1,
	'a new job runs when the old job with its key is cancelled');

# ---- an old job far behind in a long queue
$router->sql(q{SELECT hipq.enqueue('bulk', '{"tenant": "b"}', job_key => 'key22500')});
sum_comes_to('SELECT count(*) FROM hipq.shard_held_job', 61,
	'a new job waits for the last old job of a long queue');
$router->sql("SELECT hipq.cancel(id) FROM hipq.jobs_detail WHERE $plain AND job_key = 'key22500'");
sum_comes_to(q{SELECT count(*) FROM ran WHERE tenant = 'b'}, 1,
	'a new job runs when the last old job of a long queue is cancelled');
$router->sql(q{SELECT hipq.cancel_jobs('app.other', 'bulk')}) foreach 1 .. 3;

# ---- after a restart the router has lost what it has found
$router->node->restart;
is(sum(q{SELECT count(*) FROM ran WHERE tenant LIKE 'key%'}), 2,
	'held jobs wait after a restart of the router');

# ---- all old jobs run
$router->sql("SELECT hipq.reschedule(id, now()) FROM hipq.jobs_detail
	WHERE $plain AND state = 'initial' AND queue <> 'app.local'");
ok($router->wait_until("SELECT count(*) FROM hipq.jobs_detail WHERE $plain AND state <> 'final'",
		1), 'old jobs run on the router');
sum_comes_to(q{SELECT count(*) FROM ran WHERE tenant LIKE 'key%'}, 60,
	'all held jobs with keys run when the old jobs have ended');
sum_comes_to(q{SELECT count(*) FROM ran WHERE tenant = 'k'}, 3,
	'the held jobs of tenant k run when the old jobs have ended');
ok($shards->settled, 'all moves end when the old jobs have ended');
is($router->sql('SELECT count(*) FROM hipq.shard_leaving'), 0,
	'all moves are finished on the router');
is($router->sql('SELECT count(*) FROM hipq.shard_rejects'), 0, 'no job was a duplicate');

# ---- calls that change the nodes of new jobs say so
sub says
{
	my ($node, $sql) = @_;
	my ($status, undef, $err) = $node->node->psql('postgres', $sql);
	die "$sql: $err" if $status != 0;
	return $err;
}
my $notice = qr/NOTICE:  new jobs of queue "app.mail" go to other servers than those of before/;
unlike(says($router, q{SELECT hipq.alter_queue('app.mail', weight => 3)}), $notice,
	'a changed weight gives no notice that new jobs go to other servers');
unlike(says($router, q{SELECT hipq.alter_queue('app.mail', throttle_limit => 5)}),
	$notice, 'a shared limit gives no notice that new jobs go to other servers');
like(says($router, q{SELECT hipq.alter_queue('app.mail', throttle_mode => 'home')}),
	$notice, 'throttle_mode home gives a notice that new jobs go to other servers');
unlike(says($router, q{SELECT hipq.alter_queue('app.mail', throttle_limit => 6)}), $notice,
	'another limit in mode home gives no notice that new jobs go to other servers');
like(says($router, q{SELECT hipq.alter_queue('app.mail', throttle_mode => 'shared')}), $notice,
	'throttle_mode shared gives a notice that new jobs go to other servers');
unlike(says($router, q{SELECT hipq.register_job_type('app.mail', 'limited', throttle_limit => 5)}),
	$notice, 'a type with a shared limit gives no notice that new jobs go to other servers');
unlike(says($router, q{SELECT hipq.alter_queue('app.local', throttle_limit => 5)}),
	qr/go to other servers/,
	'a limit of a queue that is not sharded gives no notice that new jobs go to other servers');
like(says($router, q{SELECT hipq.alter_queue('app.mail', throttle_mode => 'home',
		throttle_limit => 0)}), $notice,
	"a type's limit in mode home gives a notice that new jobs go to other servers");
like(says($router, q{SELECT hipq.drop_job_type('app.mail', 'limited')}), $notice,
	'dropping a type with a limit gives a notice that new jobs go to other servers');
like(says($router, q{SELECT hipq.register_job_type('app.mail', 'limited', throttle_limit => 5)}),
	$notice, 'registering a type with a limit gives a notice that new jobs go to other servers');
ok($shards->node(1)->wait_until(q{SELECT count(*) FROM hipq.job_type WHERE name = 'limited'}, 1),
	'shard 1 gets the registered type');
like($shards->node(1)->error_of(q{SELECT hipq.alter_job_type('app.mail',
		'limited', throttle_limit => 0)}), qr/55000: instance "app" is set up on its router/,
	'a shard refuses to change a type');

done_testing();
