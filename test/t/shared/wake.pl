# Commits, times and prepared transactions wake the processes that they concern and no others.
# Executors are shared fairly.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Autovacuum would write, too.
my $hipq = HipqCluster->new('wake', 'max_prepared_transactions' => 4, 'hipq.retry_jitter' => 0,
	'hipq.executor_idle_timeout' => '1s', autovacuum => 'off');
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE TABLE ran (id bigint, pid integer DEFAULT pg_backend_pid(),
		at timestamptz DEFAULT clock_timestamp());
	CREATE FUNCTION run(job hipq.job) RETURNS void LANGUAGE sql AS $$ INSERT INTO ran (id)
		VALUES (job.id) $$;
	CREATE FUNCTION wait_for_lock(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN PERFORM pg_advisory_xact_lock_shared((job.job_data->>'lock')::bigint);
		INSERT INTO ran (id) VALUES (job.id); END $$;
	CREATE FUNCTION fail_once(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		IF job.attempt = 1 THEN RAISE 'once'; END IF; END $$;
	GRANT INSERT ON ran TO PUBLIC;
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run');
	SELECT hipq.register_job_type('app.main', 'wait', handler => 'wait_for_lock');
	SELECT hipq.register_job_type('app.main', 'fail_once', handler => 'fail_once', max_retries => 1,
		retry_base => '300 ms')});

# Returns the seconds between the time that a job is due and its start.
sub delay
{
	my ($id) = @_;
	$hipq->outcome($id);
	return $hipq->sql("SELECT extract(epoch FROM accepted_time - scheduled_run_time)
		FROM hipq.jobs_detail WHERE id = $id");
}

sub final_jobs
{
	return $hipq->sql(q{SELECT count(*) FROM hipq.jobs_detail WHERE state = 'final'});
}

# ---- commits
my $nobody = q{SELECT count(*) = 0 FROM pg_stat_activity
	WHERE backend_type IN ('hipq scheduler', 'hipq executor')};
$hipq->outcome_of('run');
ok($hipq->wait_until($nobody), 'no worker runs before the commits');
$hipq->in_time(delay($hipq->enqueue('run')), 1,
	'a commit starts scheduler and executor within a second');
$hipq->in_time(delay($hipq->enqueue('run')), 0.5,
	'an idle executor starts a job within half a second');
ok($hipq->wait_until($nobody), 'no worker runs before the rollback');
my $before = $hipq->sql('SELECT txid_current()');
$hipq->sql(q{BEGIN; SELECT hipq.enqueue('run'); INSERT INTO hipq.app_main (job_type) VALUES ('run');
	ROLLBACK});
is($hipq->sql(q{SELECT count(*) FROM hipq.jobs_detail WHERE state <> 'final'}), '0',
	'a rollback leaves no job');
is($hipq->sql($nobody), 't', 'a rollback wakes no worker');
is($hipq->sql('SELECT txid_current()') - $before, 2, 'no process has written since the rollback');
is($hipq->sql(q{SELECT count(*) FROM pg_stat_slru WHERE name = 'Notify' AND blks_zeroed > 0}), '0',
	'no process has used NOTIFY');

# ---- times
my $id = $hipq->enqueue('run', q{scheduled_run_time => now() + interval '1 day'});
like($hipq->why($id), qr/^scheduled time: It waits for its time/, 'a job in the future waits');
$hipq->sql("SELECT hipq.reschedule($id, clock_timestamp() + interval '700 ms')");
my $late = delay($id);
cmp_ok($late, '>=', 0, 'a rescheduled job does not start early');
$hipq->in_time($late, 1, 'a rescheduled job starts within a second');
$id = $hipq->enqueue('fail_once');
is($hipq->outcome($id), 'succeeded', 'a retry succeeds');
$late = $hipq->sql("SELECT extract(epoch FROM job.accepted_time - attempt.ended_time)
	FROM hipq.jobs_detail AS job JOIN hipq.attempts AS attempt ON job_id = id WHERE id = $id");
cmp_ok($late, '>=', 0.299, 'a retry starts after its delay');
$hipq->in_time($late, 1.3, 'a retry starts within 1.3 s');
$id = $hipq->enqueue('run', q{scheduled_run_time => now() + interval '1 day'});
ok($hipq->wait_until($nobody), 'no worker stays for a job that is due tomorrow');
$hipq->sql("SELECT hipq.reschedule($id, now())");
$hipq->in_time(delay($id), 1, 'reschedule() to now starts the job within a second');
$id = $hipq->enqueue('run', q{scheduled_run_time => now() + interval '1 day'});
ok($hipq->wait_until($nobody), 'no worker runs before the clock is moved');
$hipq->set('hipq.clock_offset' => 86_401);
is($hipq->outcome($id), 'succeeded', 'a clock that is set forward starts the job');
$hipq->set('hipq.clock_offset' => 0);

# ---- two-phase commit
$hipq->sql(q{BEGIN; SELECT hipq.enqueue('run', job_key => 'prepared'); PREPARE TRANSACTION 'one'});
ok($hipq->wait_until($nobody), 'a prepared transaction wakes no worker');
$hipq->sql(q{COMMIT PREPARED 'one'});
ok($hipq->wait_until(q{SELECT outcome FROM hipq.jobs WHERE job_key = 'prepared'}, 'succeeded'),
	'COMMIT PREPARED starts the job');
$hipq->sql(q{BEGIN; SELECT hipq.enqueue('run', job_key => 'dropped'); PREPARE TRANSACTION 'two'});
$hipq->sql(q{ROLLBACK PREPARED 'two'});
is($hipq->sql(q{SELECT count(*) FROM hipq.jobs WHERE job_key = 'dropped'}), '0',
	'ROLLBACK PREPARED leaves no job');

# ---- several executors at once
my $lock = $hipq->hold_lock(1);
my @ids;
foreach my $n (1 .. 3)
{
	push @ids, $hipq->enqueue('wait', q{'{"lock": 1}'});
	ok($hipq->wait_until("SELECT count(*) FROM hipq.running WHERE id IN (" . join(', ', @ids) . ')',
			$n, 5), "waiting job $n runs beside the others");
}
is($hipq->outcome_of('run'), 'succeeded', 'the fourth executor runs other jobs');
push @ids, $hipq->enqueue('wait', q{'{"lock": 1}'});
ok($hipq->wait_until("SELECT count(*) FROM hipq.running", 4), 'four executors are busy');
my $waiting = $hipq->enqueue('run');
ok($hipq->wait_until(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'hipq executor'},
		4), 'no more than hipq.max_executors executors run');
is($hipq->sql("SELECT state FROM hipq.jobs_detail WHERE id = $waiting"), 'initial',
	'the next job waits for an executor');
$hipq->set('hipq.executor_idle_timeout' => '60s');
$lock->quit;
is($hipq->outcome($waiting), 'succeeded', 'the next job runs when an executor is free');
is($hipq->outcome($_), 'succeeded', 'each of the waiting jobs succeeds') foreach @ids;

# ---- several jobs of one commit
my $scheduler = q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'hipq scheduler'};
ok($hipq->wait_until(q{SELECT count(*) FROM pg_stat_activity
	WHERE backend_type = 'hipq executor' AND state = 'idle'}, 4), 'four executors are idle');
ok($hipq->wait_until($scheduler, 0), 'no scheduler stays for them');
$lock = $hipq->hold_lock(1);
# An executor that takes one of them may see the other, too, and wake a third one.
$hipq->sql(q{SELECT hipq.enqueue_many('wait', array_fill('{"lock": 1}'::jsonb, '{2}'))});
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.running}, 2),
	'a commit wakes an executor for each of two jobs');
is($hipq->sql($scheduler), 0, 'and no scheduler');
$lock->quit;

# ---- more queue owners than executors
$hipq->sql(q{CREATE ROLE bea LOGIN; CREATE ROLE cid LOGIN});
$hipq->set('hipq.max_executors' => 1, 'hipq.executor_quantum' => '100ms',
	'hipq.executor_idle_timeout' => '60s');
foreach my $owner ('bea', 'cid')
{
	$hipq->create_queue("$owner.main", owner => $owner);
	$hipq->sql("SELECT hipq.register_job_type('$owner.main', 'run', handler => 'run')");
}
my %job = map { $_ => $hipq->sql("SELECT hipq.enqueue('run', queue => '$_.main')") } 'app', 'bea',
	'cid';
is($hipq->outcome($job{$_}), 'succeeded', "$_ gets the only executor in turn")
	foreach sort keys %job;
is($hipq->outcome($hipq->sql(q{SELECT hipq.enqueue('run', queue => 'bea.main')})), 'succeeded',
	'an idle executor makes room for another owner');
# An owner with a long backlog does not keep the executor.
$id = $hipq->sql(q{
	BEGIN;
	SELECT count(*) FROM hipq.enqueue_many('run', array_fill('{}'::jsonb, '{2000}'),
		queue => 'app.main') \g /dev/null
	SELECT hipq.enqueue('run', queue => 'cid.main');
	COMMIT});
is($hipq->outcome($id), 'succeeded', 'a job of another owner runs beside a backlog');

# ---- a backlog
$hipq->set('hipq.max_executors' => 4);
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.app_main WHERE state <> 'final'}, 0),
	'a backlog of 2000 jobs drains');
is($hipq->sql("SELECT accepted_time < (SELECT max(accepted_time) FROM hipq.app_main)
		FROM hipq.jobs_detail WHERE id = $id"), 't',
	'the job of the other owner does not wait for all of the backlog');
is($hipq->sql(q{SELECT count(*) - count(DISTINCT id) FROM ran}), '0', 'each job has run once');
is($hipq->sql(q{SELECT string_agg(DISTINCT outcome, ' ') FROM hipq.jobs}), 'succeeded',
	'all jobs have succeeded');

done_testing();
