# Over restarts, crashes and executors that end, no job is lost, no job ends twice, and each effect
# happens exactly once.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $hipq = HipqCluster->new('restart', 'hipq.retry_jitter' => 0);
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE TABLE ran (id bigint, attempt integer);
	GRANT ALL ON ran TO app;
	CREATE FUNCTION run(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO ran VALUES (job.id, job.attempt);
		IF job.job_data ? 'lock' THEN
			PERFORM pg_advisory_xact_lock_shared((job.job_data->>'lock')::bigint); END IF;
		IF job.job_data ? 'fail' THEN RAISE 'fails'; END IF;
	END $$;
	CREATE FUNCTION wait_then_retry(job hipq.job) RETURNS interval LANGUAGE plpgsql AS $$
	BEGIN PERFORM pg_advisory_xact_lock_shared(2); RETURN NULL; END $$;
	CREATE PROCEDURE call(id bigint, data jsonb) LANGUAGE plpgsql AS $$
	BEGIN INSERT INTO ran VALUES (id, 0); COMMIT; PERFORM pg_advisory_xact_lock_shared(1); END $$;
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run', max_retries => 1,
		retry_base => '1 day', claim => 'record');
	SELECT hipq.register_job_type('app.main', 'asked', handler => 'run',
		retry_handler => 'wait_then_retry', claim => 'record');
	SELECT hipq.register_job_type('app.main', 'call', handler => 'call', max_retries => 1,
		retry_base => '10 ms')});

my $running = 'SELECT count(*) FROM hipq.running';

# Returns jobs in several states: running, a procedure that runs, scheduled, waiting for a retry,
# and in state error.
sub fill
{
	my %job = (
		retry => $hipq->enqueue('run', q{'{"fail": 1}'}),
		future => $hipq->enqueue('run', q{scheduled_run_time => now() + interval '1 day'}));
	$hipq->wait_until("SELECT state FROM hipq.jobs_detail WHERE id = $job{retry}", 'retry');
	$job{running} = $hipq->enqueue('run', q{'{"lock": 1}'});
	$job{call} = $hipq->enqueue('call');
	$job{error} = $hipq->enqueue('asked', q{'{"fail": 1}'});
	$hipq->wait_until("SELECT string_agg(state::text, ' ' ORDER BY id) FROM hipq.jobs_detail
		WHERE id IN ($job{running}, $job{call}, $job{error})", 'running running error');
	$hipq->wait_until("SELECT count(*) FROM ran WHERE id = $job{call}", 1);
	return %job;
}

sub check_after
{
	my ($how, $reason, %job) = @_;
	my $line = sub { return $hipq->sql("SELECT concat_ws(' ', outcome, attempt, retry_count)
			FROM hipq.jobs_detail WHERE id = $job{$_[0]}"); };
	is($hipq->outcome($job{running}), 'succeeded', "$how: an interrupted job runs again");
	is($line->('running'), 'succeeded 2 0', "$how: an interrupted job is not charged");
	is($hipq->attempts($job{running}), "1 $reason",
		"$how: the attempt of an interrupted job has reason $reason");
	is($hipq->sql("SELECT count(*) || ' ' || max(attempt) FROM ran WHERE id = $job{running}"),
		'1 2', "$how: the effect of an interrupted job is there once");
	is($hipq->outcome($job{call}), 'succeeded',
		"$how: an interrupted procedure is retried by its policy");
	is($line->('call'), 'succeeded 2 1',
		"$how: an interrupted procedure is charged, because it may have committed");
	is($hipq->outcome($job{error}), 'failed', "$how: an interrupted retry decision is made");
	is($line->('error'), 'failed 1 0', "$how: an interrupted retry decision is made once");
	is($line->('retry'), 'waiting 1 1', "$how: a job that waits for its retry does not change");
	is($line->('future'), 'waiting 0 0', "$how: a scheduled job does not change");
	is($hipq->sql('SELECT count(*) - count(DISTINCT id) FROM hipq.job'), '0',
		"$how: no job has two rows");
	return;
}

# ---- restarts, which also end the sessions whose locks handlers wait for
foreach my $mode ('fast', 'immediate')
{
	my @locks = map { $hipq->hold_lock($_) } 1, 2;
	my %job = fill();
	$hipq->node->stop($mode);
	eval { $_->quit } foreach @locks;
	$hipq->node->start;
	check_after("restart ($mode)", 'server_restart', %job);
}

# ---- a smart shutdown waits for clients, and an executor ends at once, before the scheduler
{
	my $client = $hipq->session;
	my $lock = $hipq->hold_lock(1);
	my $id = $hipq->enqueue('run', q{'{"lock": 1}'});
	my $pid = $hipq->pid_of($id);
	HipqCluster::close_looks();
	system_or_bail('pg_ctl', '-D', $hipq->node->data_dir, '-m', 'smart', '--no-wait', 'stop');
	my $status = $hipq->node->data_dir . '/postmaster.pid';
	my $end = time + $PostgreSQL::Test::Utils::timeout_default;
	# The postmaster has the signal, but may not have processed it.
	usleep(10_000) while slurp_file($status) !~ /^stopping/m && time < $end;
	$client->query_until(qr/^t$/m, "SELECT pg_terminate_backend($pid);\n");
	my $attempts = '';
	foreach (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		$attempts = $client->query_safe("SELECT string_agg(concat_ws(' ', attempt, reason), ',')
			FROM hipq.attempts WHERE job_id = $id");
		last if $attempts ne '';
		usleep(100_000);
	}
	is($attempts, '1 server_restart',
		'the attempt of an executor that ends with the server has reason server_restart');
	eval { $_->quit } foreach $lock, $client;
	HipqCluster::close_looks();
	$hipq->node->stop('smart', fail_ok => 1);    # the stop may have ended already
	$hipq->node->start;
	is($hipq->outcome($id), 'succeeded',
		'the job of an executor that ended with the server runs again');
}

# ---- PostgreSQL restarts all processes after an executor is killed
{
	my @locks = map { $hipq->hold_lock($_) } 1, 2;
	my %job = fill();
	my $pid = $hipq->pid_of($job{running});
	my $start = $hipq->sql('SELECT pg_postmaster_start_time()');
	kill 'KILL', $pid;
	ok($hipq->wait_until("SELECT count(*) FILTER (WHERE pid = $pid) = 0
			AND count(*) FILTER (WHERE backend_type = 'hipq launcher') = 1 FROM pg_stat_activity"),
		'the server accepts connections after kill -9');
	is($hipq->sql('SELECT pg_postmaster_start_time()'), $start,
		'the postmaster does not restart after kill -9');
	eval { $_->quit } foreach @locks;
	check_after('kill -9', 'crashed', %job);
}

# ---- an executor is terminated
{
	my $lock = $hipq->hold_lock(1);
	my $id = $hipq->enqueue('run', q{'{"lock": 1}'});
	my $other = $hipq->enqueue('run', q{'{"lock": 1}'});
	my $pid = $hipq->pid_of($id);
	my $pid_of_other = $hipq->pid_of($other);
	is($hipq->sql("SELECT pg_terminate_backend($pid)"), 't', 'an executor gets SIGTERM');
	ok($hipq->wait_until("SELECT attempt = 2 AND state = 'running' FROM hipq.jobs_detail
			WHERE id = $id"), 'the job of a terminated executor runs again');
	is($hipq->attempts($id), '1 worker_lost',
		'the attempt of a terminated executor has reason worker_lost');
	is($hipq->pid_of($other), $pid_of_other, 'another executor keeps running its job');
	$lock->quit;
	is($hipq->outcome($id), 'succeeded', 'the job of a terminated executor succeeds');
	is($hipq->outcome($other), 'succeeded', 'the job of another executor succeeds');
	is($hipq->sql("SELECT concat_ws(' ', attempt, retry_count) FROM hipq.jobs_detail
			WHERE id = $id"), '2 0', 'the job of a terminated executor is not charged');
	is($hipq->sql("SELECT count(*) FROM ran WHERE id = $id"), '1',
		'the job of a terminated executor has its effect once');
}

# ---- scheduler and launcher are terminated
{
	my $lock = $hipq->hold_lock(1);
	my $id = $hipq->enqueue('run', q{'{"lock": 1}'});
	my $pid = $hipq->pid_of($id);
	$hipq->sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE backend_type IN ('hipq scheduler', 'hipq launcher')});
	$lock->quit;
	is($hipq->outcome($id), 'succeeded', 'executors keep running without scheduler and launcher');
	is($hipq->sql("SELECT attempt FROM hipq.jobs WHERE id = $id"), '1',
		'a job whose scheduler and launcher were terminated takes one attempt');
	is($hipq->outcome_of('run'), 'succeeded', 'jobs run with a new scheduler');
	ok($hipq->wait_until(q{SELECT count(*) FROM pg_stat_activity
			WHERE backend_type = 'hipq launcher'}, 1), 'a terminated launcher starts again');
}

# ---- executors are terminated while they run many short jobs
{
	$hipq->sql(q{TRUNCATE ran; SELECT hipq.enqueue_many('run', array_agg('{}'::jsonb))
		FROM generate_series(1, 500)});
	foreach my $percent (20, 50, 80)
	{
		$hipq->wait_until('SELECT count(*) > 500 * ' . $percent / 100 . ' FROM ran');
		$hipq->sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE backend_type = 'hipq executor' LIMIT 1});
	}
	ok($hipq->wait_until(q{SELECT count(*) FROM hipq.jobs_detail WHERE job_type = 'run'
			AND state <> 'final' AND scheduled_run_time < now()}, 0), 'all short jobs end');
	is($hipq->sql('SELECT count(*) || $$ $$ || count(DISTINCT id) FROM ran'), '500 500',
		'each short job has its effect once');
	is($hipq->sql('SELECT count(*) - count(DISTINCT id) FROM hipq.job'), '0',
		'no short job has two rows');
}

done_testing();
