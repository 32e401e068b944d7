# No wake-up is lost. Every process checks for work at least every 10 s. If a job starts sooner, a
# wake-up has started it.
use strict;
use warnings;
use HipqCluster;
use HipqPoints;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('leaving', 'hipq.executor_idle_timeout' => '50ms',
	'hipq.max_executors' => 2);
my $points = HipqPoints->new($hipq);
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE FUNCTION run(data jsonb) RETURNS void LANGUAGE sql AS 'SELECT';
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run')});

my $moment = 5;

# ---- an executor that is about to exit does not count
{
	$points->arm('executor-ends', 'wait');
	$hipq->outcome_of('run');
	ok($points->wait_held('executor-ends'),
		'an executor has checked for jobs for the last time and is about to exit');
	my $id = $hipq->enqueue('run');
	ok($hipq->wait_until("SELECT outcome = 'succeeded' FROM hipq.jobs WHERE id = $id", 't',
			$moment), 'another executor runs a new job beside an executor that exits');
	$points->reset;
}

# ---- an executor that has found a job, but does not run it yet, does not count
{
	$hipq->set('hipq.executor_idle_timeout' => '1min');
	$hipq->sql(q{
		CREATE FUNCTION wait_for_lock(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
			PERFORM pg_advisory_xact_lock_shared(1); END $$;
		SELECT hipq.register_job_type('app.main', 'wait', handler => 'wait_for_lock')});
	my $lock = $hipq->hold_lock(1);
	$hipq->outcome_of('run');
	$hipq->wait_until(q{SELECT count(*) FROM hipq.executors WHERE status = 'idle'}, 1);
	$points->arm('before-claim', 'wait');
	my $long = $hipq->enqueue('wait');
	ok($points->wait_held('before-claim'), 'an executor is about to claim a job');
	my $id = $hipq->enqueue('run');
	$points->reset;
	ok($hipq->wait_until("SELECT outcome = 'succeeded' FROM hipq.jobs WHERE id = $id", 't',
			$moment), 'another executor runs a new job beside an executor that claims');
	ok($hipq->wait_until("SELECT outcome FROM hipq.jobs WHERE id = $long", 'running'),
		'the claimed job runs beside the new job');
	$lock->quit;
	$hipq->outcome($long);
	$hipq->set('hipq.executor_idle_timeout' => '50ms');
}

# ---- the place of an executor that is about to exit does not count
{
	$hipq->set('hipq.max_executors' => 1);
	$hipq->wait_until('SELECT count(*) FROM hipq.executors', 0);
	$points->arm('executor-ends', 'wait');
	$hipq->outcome_of('run');
	ok($points->wait_held('executor-ends'), 'the only executor is about to exit');
	my $id = $hipq->enqueue('run');
	# When the scheduler is idle, it has seen the job.
	$hipq->wait_until(
		q{SELECT state = 'idle' FROM pg_stat_activity WHERE backend_type = 'hipq scheduler'});
	$points->reset;
	ok($hipq->wait_until("SELECT outcome = 'succeeded' FROM hipq.jobs WHERE id = $id", 't',
			$moment), 'an executor starts for a new job when the only executor has exited');
}

# ---- a scheduled job is enqueued while the scheduler handles prefetched jobs
{
	$hipq->set('hipq.executor_idle_timeout' => '1min');    # executors that exit wake the scheduler
	$hipq->sql(q{
		CREATE FUNCTION nap(data jsonb) RETURNS void LANGUAGE sql AS 'SELECT pg_sleep(0.001)';
		SELECT hipq.register_job_type('app.main', 'nap', handler => 'nap');
		SELECT count(*) FROM (SELECT hipq.enqueue_many('nap', array_agg('{}'::jsonb))
			FROM generate_series(1, 20000)) AS job});
	my $waiting = q{SELECT count(*) FROM hipq.app_main WHERE state <> 'final'};
	$hipq->wait_until("SELECT ($waiting) BETWEEN 1 AND 19500");
	my $id = $hipq->enqueue('run', q{scheduled_run_time => now() + interval '3 s', priority => -1});
	cmp_ok($hipq->sql($waiting), '>', 1,
		'executors have jobs in flight when a scheduled job is enqueued');
	$hipq->outcome($id);
	my $late = $hipq->sql("SELECT extract(epoch FROM accepted_time - scheduled_run_time)
		FROM hipq.jobs_detail WHERE id = $id");
	$hipq->in_time($late, 2, 'a scheduled job starts within 2 s');
}

done_testing();
