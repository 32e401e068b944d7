# A paused queue, job type, throttle key or instance starts no job, even after a restart, and loses
# none. All other jobs run.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('pause', 'hipq.max_executors' => 3, 'hipq.retry_jitter' => 0);
my $node = $hipq->node;
$hipq->create_queue('app.main');
$hipq->create_queue('app.other');
$hipq->sql(q{
	CREATE TABLE ran (id bigint, at timestamptz DEFAULT clock_timestamp());
	GRANT ALL ON ran TO app;
	CREATE FUNCTION run(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO ran VALUES (job.id);
		IF job.job_data ? 'wait' THEN PERFORM pg_advisory_xact_lock_shared(1); END IF;
		PERFORM pg_sleep(0.001);
	END $$;
	CREATE FUNCTION run_all(jobs hipq.job[]) RETURNS void LANGUAGE sql AS $$
		INSERT INTO ran (id) SELECT job.id FROM unnest(jobs) AS job, pg_sleep(0.1)
	$$;
	SELECT hipq.register_job_type('app.main', 'lock', handler => 'run', claim => 'lock');
	SELECT hipq.register_job_type('app.main', 'record', handler => 'run', claim => 'record');
	SELECT hipq.register_job_type('app.main', 'batch', handler => 'run_all', batch_size => 20);
	SELECT hipq.register_job_type('app.other', 'else', handler => 'run')});

sub enqueue_many
{
	my ($type, $count, %more) = @_;
	my $rest = join '', map { ", $_ => $more{$_}" } sort keys %more;
	$hipq->sql(qq{SELECT cardinality(hipq.enqueue_many('$type',
		array_fill('{}'::jsonb, ARRAY[$count])$rest))});
	return;
}

sub ran
{
	my ($where) = @_;
	return $hipq->sql(q{SELECT count(*) FROM ran JOIN hipq.jobs_detail USING (id)}
		. (defined $where ? " WHERE $where" : ''));
}
sub unfinished
{
	my ($where) = @_;
	return $hipq->sql("SELECT count(*) FROM hipq.app_main_live AS job WHERE $where");
}

# Runs a job of another queue. After it the executors have checked the paused queue, too.
sub others_run
{
	is($hipq->outcome_of('else'), 'succeeded', "$_[0]: a job of another queue runs");
	return;
}

# Waits until no job of a paused queue runs. Returns how long after the given time the last one
# started (ms).
sub last_start_after
{
	my ($time) = @_;
	$hipq->wait_until(q{SELECT count(*) FROM hipq.running}, 0);
	# no executor is about to start one
	$hipq->wait_until(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'hipq executor'
		AND state = 'active'}, 0);
	return $hipq->sql(
		"SELECT coalesce(max(1000 * extract(epoch FROM accepted_time - '$time'::timestamptz)),
		0)::integer FROM ran JOIN hipq.jobs_detail USING (id) WHERE queue = 'app.main'");
}

# ---- a queue under load
enqueue_many($_, 3000) foreach qw(lock record batch);
# One session does it all, because the jobs might all have run before another one had connected.
is($hipq->sql(q{
	DO $$ BEGIN
		WHILE (SELECT count(DISTINCT job_type) < 3 FROM ran JOIN hipq.jobs USING (id)) LOOP COMMIT;
			PERFORM pg_sleep(0.01); END LOOP;
	END $$;
	SELECT hipq.pause('app.main', reason => 'too much')}), 't', 'a queue is paused');
my $paused = $hipq->sql('SELECT clock_timestamp()');
$hipq->in_time(last_start_after($paused) / 1000, 0.1, 'a paused queue starts no job from then on');
cmp_ok(unfinished('true'), '>', 0, 'a paused queue has jobs that wait');
enqueue_many('lock', 100);
my $left = unfinished('true');
others_run('a paused queue');
is(unfinished('true'), $left, 'a paused queue takes jobs and runs none');
is($hipq->sql(q{SELECT is_paused FROM hipq.queues WHERE queue = 'app.main'}), 't',
	'view queues shows the pause');
is($hipq->sql(q{SELECT string_agg(DISTINCT is_paused::text, ' ') FROM hipq.job_types
		WHERE queue = 'app.main'}), 'true', 'view job_types shows the pause');
my $waiting = $hipq->sql('SELECT min(id) FROM hipq.app_main_live');
like($hipq->why($waiting),
	qr/^pause: Queue "app.main" is paused by .+ since .+ \(too much\): it goes on after hipq.resume\(\)\.$/,
	'why() says who paused the queue');

$node->restart;
others_run('after a restart');
is(unfinished('true'), $left, 'a queue stays paused after a restart');
$node->stop('immediate');
$node->start;
others_run('after a crash');
is(unfinished('true'), $left, 'a queue stays paused after a crash');

my $resumed =
	$hipq->sql(q{SELECT clock_timestamp() FROM hipq.resume('app.main') AS resumed WHERE resumed});
ok($hipq->wait_until("SELECT count(*) > 0 FROM ran JOIN hipq.jobs USING (id)
		WHERE queue = 'app.main' AND at > '$resumed'"), 'resume() lets the queue run');
$hipq->in_time($hipq->sql("SELECT extract(epoch FROM min(at) - '$resumed') FROM ran
		WHERE id >= $waiting AND at > '$resumed'"), 5, 'a resumed queue runs at once');
ok($hipq->wait_until('SELECT count(*) FROM hipq.app_main_live', 0),
	'all jobs of the resumed queue run');
is(ran(q{queue = 'app.main'}), 9100, 'each job of the resumed queue runs once');

# ---- jobs that an executor has prefetched
$hipq->set('hipq.max_executors' => 1);
ok($hipq->wait_until('SELECT count(*) <= 1 FROM hipq.executors'), 'one executor is left');
my $lock = $hipq->hold_lock;
my $running = $hipq->enqueue('lock', q{'{"wait": 1}'});
enqueue_many('lock', 5);
$hipq->pid_of($running);
is($hipq->sql(q{SELECT hipq.pause('app.main', 'lock')}), 't', 'a job type is paused');
$lock->quit;
is($hipq->outcome($running), 'succeeded', 'a running job finishes');
others_run('a paused type');
is(unfinished('true'), 5, 'prefetched jobs of a paused type do not start');
is($hipq->outcome_of('record', q{queue => 'app.main'}), 'succeeded',
	'other types of the queue run');
is($hipq->sql(q{SELECT string_agg(job_type, ' ') FROM hipq.job_types WHERE is_paused}), 'lock',
	'view job_types shows the paused type');
is($hipq->sql(q{SELECT hipq.resume('app.main', 'lock')}), 't', 'the job type is resumed');
ok($hipq->wait_until('SELECT count(*) FROM hipq.app_main_live', 0), 'jobs of the resumed type run');
$hipq->set('hipq.max_executors' => 3);

# ---- throttle keys
is($hipq->sql(q{SELECT hipq.pause('app.main', 'lock', 'a')}), 't', 'a throttle key is paused');
$hipq->sql(q{INSERT INTO hipq.app_main (job_type, throttle_key) SELECT 'lock', CASE i % 2
	WHEN 0 THEN 'a' ELSE 'b' END FROM generate_series(1, 1000) AS i});
enqueue_many('lock', 10, throttle_key => q{'a'},
	scheduled_run_time => q{hipq.now() + interval '1 s'});
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.app_main_live WHERE throttle_key = 'b'}, 0),
	'jobs with another key overtake jobs with a paused key');
is(unfinished(q{throttle_key = 'a'}), 510, 'jobs with the paused key wait');
ok($hipq->wait_until(q{SELECT due_time IS NULL FROM hipq.lanes WHERE queue = 'app.main'
		AND job_type = 'lock'}, 't'), 'an executor reads the jobs with a paused key once');
is(unfinished(q{throttle_key = 'a'}), 510,
	'scheduled jobs with a paused key wait after they are due');
my $one = $hipq->sql(q{SELECT min(id) FROM hipq.app_main_live});
like($hipq->why($one), qr/^pause: Throttle key "a" is paused by /, 'why() names the paused key');
is($hipq->outcome_of('lock', q{throttle_key => 'b'}), 'succeeded', 'new jobs with another key run');
$node->restart;
is($hipq->outcome_of('lock', q{throttle_key => 'b'}), 'succeeded',
	'jobs with another key run after a restart');
is(unfinished('true'), 510, 'jobs with the paused key wait after a restart');
is($hipq->sql(q{SELECT hipq.resume('app.main', 'lock', 'a')}), 't', 'the throttle key is resumed');
ok($hipq->wait_until('SELECT count(*) FROM hipq.app_main_live', 0),
	'jobs with the resumed key run');

# Deleting the row of a pause ends it.
$hipq->sql(q{SELECT hipq.pause('app.main', 'lock', 'a')});
enqueue_many('lock', 10, throttle_key => q{'a'});
is($hipq->outcome_of('lock', q{throttle_key => 'b'}), 'succeeded',
	'the throttle key is paused again');
$hipq->sql('DELETE FROM hipq.pause');
ok($hipq->wait_until('SELECT count(*) FROM hipq.app_main_live', 0),
	'jobs run when their pause is deleted');

# ---- an instance
$hipq->create_queue('away.queue');
$hipq->sql(q{SELECT hipq.register_job_type('away.queue', 'far', handler => 'run')});
is($hipq->sql(q{SELECT hipq.pause(instance => 'app')}), 't', 'an instance is paused');
my @both = ($hipq->enqueue('lock'), $hipq->enqueue('else'));
is($hipq->outcome_of('far'), 'succeeded', 'a job of another instance runs');
is($hipq->sql(q{SELECT string_agg(queue, ' ') FROM hipq.queues WHERE is_paused}),
	'app.main app.other', 'view queues shows each queue of a paused instance');
like($hipq->why($_), qr/^pause: Instance "app" is paused by /, 'why() names the paused instance')
	foreach @both;
is($hipq->sql(q{SELECT hipq.resume(instance => 'app')}), 't', 'the instance is resumed');
is($hipq->outcome($_), 'succeeded', 'jobs of the resumed instance run') foreach @both;

# ---- many pauses and resumes in quick succession, while jobs start and end, lose no job
enqueue_many('lock', 1500, throttle_key => $_ % 2 ? q{'a'} : q{'b'}) foreach 1 .. 2;
enqueue_many('batch', 1500);
foreach my $round (1 .. 30)
{
	my $what = (q{'app.main', 'lock', 'a'}, q{'app.main', 'batch'}, q{'app.main'})[ $round % 3 ];
	$hipq->sql("SELECT hipq.pause($what); INSERT INTO hipq.app_main (job_type, throttle_key)
		SELECT 'lock', 'a' FROM generate_series(1, 10); SELECT hipq.resume($what)");
}
ok($hipq->wait_until('SELECT count(*) FROM hipq.app_main_live', 0),
	'all jobs end after many pauses');
is(ran(q{state = 'final'}), $hipq->sql('SELECT count(*) FROM hipq.jobs_detail'),
	'each job ran once after many pauses');
is($hipq->sql('SELECT count(*) FROM hipq.pause'), 0, 'resume() leaves no row in hipq.pause');

done_testing();
