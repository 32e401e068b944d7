# hipq takes back jobs that executors left: fast when there are many, and even if the rows of some
# fail each process that tries.
use strict;
use warnings;
use HipqCluster;
use HipqPoints;
use HipqProgram;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('recovery', 'hipq.max_executors' => 4, max_prepared_transactions => 5);
my $points = HipqPoints->new($hipq);
$hipq->create_queue('app.main');
$hipq->create_queue('app.other');
$hipq->sql(q{
	CREATE FUNCTION run(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN IF data ? 'lock' THEN PERFORM pg_advisory_xact_lock_shared(1); END IF; END $$;
	CREATE FUNCTION never(job hipq.job) RETURNS interval LANGUAGE sql AS 'SELECT NULL::interval';
	CREATE PROCEDURE call(id bigint, data jsonb) LANGUAGE plpgsql AS $$ BEGIN COMMIT; END $$;
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run', claim => 'record');
	SELECT hipq.register_job_type('app.other', 'other', handler => 'run');
	SELECT hipq.register_job_type('app.main', 'asked', handler => 'run', retry_handler => 'never');
	SELECT hipq.register_job_type('app.main', 'called', handler => 'call')});

# Makes rows as a crash leaves them, by COPY, because a restore may load rows in any state.
sub leave
{
	my ($type, $state, $count, $rest) = @_;
	my $error = $state eq 'error' ? 'it failed' : 'NONE';
	$hipq->sql(
		qq{COPY (SELECT nextval('hipq.job_id_seq'), hipq.now(), hipq.now(), hipq.now(), hipq.now(),
			'$state', 300, 1, 0, 0, 1, '$type', 'NONE', '$error',
		'$type $state ' || n FROM generate_series(1, $count) AS n)
			TO '$PostgreSQL::Test::Utils::tmp_check/rows';
		COPY hipq.app_main (id, scheduled_run_time, update_time, created_time, accepted_time,
			state, timeout, attempt, max_retries, priority, throttle_factor,
			job_type, time_windows, error, job_key)
			FROM '$PostgreSQL::Test::Utils::tmp_check/rows'});
	return;
}

# ---- many rows are left, and five of them fail each process that changes them
{
	$hipq->set('hipq.enabled' => 'off');
	ok($hipq->wait_until(q{SELECT count(*) = 0 FROM pg_stat_activity
			WHERE backend_type = 'hipq scheduler'}), 'no scheduler runs');
	leave('run', 'running', 2_000);
	leave('asked', 'error', 600);
	leave('asked', 'running', 50);
	leave('called', 'running', 50);
	leave('called', 'error', 50);
	is($hipq->sql(q{SELECT count(*) FROM hipq.jobs_detail WHERE state IN ('running', 'error')}),
		2_750, '2,750 jobs are in state running or error');
	$hipq->sql(q{
		CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			RAISE 'poisonous row'; END $$;
		CREATE TRIGGER poison BEFORE UPDATE OR DELETE ON hipq.app_main_live FOR EACH ROW
			WHEN (OLD.job_key IN ('run running 7', 'run running 1700', 'asked running 33',
				'called running 5', 'called error 5')) EXECUTE FUNCTION poison()});
	$hipq->sql('ALTER SYSTEM SET hipq.enabled = on');
	my $log_end = -s $hipq->node->logfile;
	$hipq->node->stop('immediate');
	$hipq->node->start;
	is($hipq->outcome($hipq->enqueue('other', q{queue => 'app.other'})), 'succeeded',
		'jobs of other queues run beside jobs that are taken back');
	my $left = q{SELECT string_agg(job_key, ', ' ORDER BY job_key) FROM hipq.jobs_detail
		WHERE state <> 'final'};
	ok($hipq->wait_until($left,
			'asked running 33, called error 5, called running 5, run running 1700, run running 7'),
		'all jobs but the poisonous ones are taken back');
	my ($log, @complaints);
	HipqProgram->wait_for(sub    # the last one may not have been tried yet
	{
		$log = slurp_file($hipq->node->logfile, $log_end);
		@complaints = $log
			=~ /WARNING:\s+cannot rescue job \d+ in queue "app.main": poisonous row/g;
		return @complaints >= 5;
	});
	is(scalar @complaints, 5, 'the log names each poisonous job once');
	unlike($log, qr/"hipq scheduler" \(PID \d+\) exited/,
		'no scheduler ends because of poisonous rows');
	is($hipq->sql(q{SELECT count(*) FROM hipq.jobs_detail
			WHERE job_type = 'run' AND outcome = 'succeeded' AND attempt = 2 AND retry_count = 0}),
		1_998, 'jobs with a function as handler run again, uncharged');
	is($hipq->sql(q{SELECT string_agg(DISTINCT concat_ws(' ', outcome, error), ', ')
			FROM hipq.jobs_detail WHERE job_type = 'asked' AND state = 'final'}),
		'failed it failed, succeeded', 'retry handlers are called for jobs in state error only');
	is($hipq->sql(q{SELECT count(*) FROM hipq.jobs WHERE job_type = 'called' AND
			outcome = 'failed'}), 98, 'jobs with a procedure as handler fail by their policy');
	$hipq->sql('DROP TRIGGER poison ON hipq.app_main_live');
	$hipq->set('hipq.clock_offset' => 60);
	ok($hipq->wait_until(q{SELECT count(*) = 0 FROM hipq.jobs_detail WHERE state <> 'final'}),
		'poisonous jobs are taken back when their rows can be changed');
	is(() = slurp_file($hipq->node->logfile, $log_end) =~ /poisonous row/g, 5,
		'the log names each poisonous job once after it was taken back');
}

# ---- an orphan with a poisonous row
{
	my $before = -s $hipq->node->logfile;
	$hipq->sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE backend_type = 'hipq scheduler'});
	$hipq->node->wait_for_log(qr/"hipq scheduler" \(PID \d+\) exited/, $before);
	is($hipq->outcome_of('run'), 'succeeded', 'a job runs with the next scheduler');
	$hipq->sql(q{CREATE TRIGGER poison BEFORE UPDATE ON hipq.app_main_live FOR EACH ROW
		WHEN (OLD.job_key = 'orphan' AND OLD.state = 'running') EXECUTE FUNCTION poison()});
	$hipq->sql(q{BEGIN; SELECT pg_advisory_xact_lock(1); PREPARE TRANSACTION 'lock'});
	my $log_end = -s $hipq->node->logfile;
	my $id = $hipq->enqueue('run', q{'{"lock": 1}', job_key => 'orphan'});
	$hipq->sql('SELECT pg_terminate_backend(' . $hipq->pid_of($id) . ')');
	is($hipq->outcome_of('run'), 'succeeded', 'jobs run beside a poisonous orphan') foreach 1 .. 3;
	$hipq->node->wait_for_log(
		qr/WARNING:\s+cannot rescue job $id in queue "app.main": poisonous row/, $log_end);
	unlike(slurp_file($hipq->node->logfile, $log_end), qr/"hipq scheduler" \(PID \d+\) exited/,
		'no scheduler ends because of a poisonous orphan');
	ok($hipq->wait_until(q{SELECT count(*) = 0 FROM hipq._executors() WHERE status = 'ended'}),
		"the slot of the orphan's executor is free");
	$hipq->sql('DROP TRIGGER poison ON hipq.app_main_live');
	$hipq->sql(q{ROLLBACK PREPARED 'lock'});
	$hipq->set('hipq.clock_offset' => 120);
	is($hipq->outcome($id), 'succeeded',
		'a poisonous orphan is taken back when its row can be changed');
	is($hipq->attempts($id), '1 worker_lost', 'a poisonous orphan is not charged');
}

# ---- a retry handler that ends its process is called three times
{
	$hipq->sql(q{
		CREATE FUNCTION end_myself(job hipq.job) RETURNS interval LANGUAGE plpgsql AS $$
		BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(60);
			RETURN NULL; END $$;
		CREATE FUNCTION fail(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
			RAISE 'fails'; END $$;
		SELECT hipq.register_job_type('app.main', 'hopeless', handler => 'fail',
			retry_handler => 'end_myself')});
	my $id = $hipq->enqueue('hopeless');
	is($hipq->outcome($id), 'failed', 'a retry handler that ends its process fails in the end');
	is($hipq->sql("SELECT reason || ': ' || error FROM hipq.dead_letters_detail WHERE job_id =
			$id"), 'retry_handler_failed: fails (retry handler failed: it ends its executor)',
		'the dead letter says that the retry handler ends its executor');
	is($hipq->attempts($id), '1 transient_error P0001, 1 worker_lost, 1 worker_lost, 1 '
		. 'worker_lost, 1 retry_handler_failed', 'the retry handler was called three times');
}

# ---- a handler that ends its process is charged from the eleventh time on
{
	$hipq->sql(q{
		CREATE FUNCTION end_executor(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(60); END $$;
		SELECT hipq.register_job_type('app.main', 'suicidal',
			handler => 'end_executor', max_retries => 1,
			retry_base => '10 ms')});
	my %jobs;
	foreach my $losses (9, 10)
	{
		my $id = $jobs{$losses} = $hipq->enqueue('suicidal',
			q{scheduled_run_time => now() + interval '1 day'});
		$hipq->sql(qq{
			INSERT INTO hipq.attempt (job_id, started_time, ended_time, queue_id, attempt, job_type,
				job_key, reason, error)
			SELECT id, now(), now(), queue_id, 1, job_type, job_key, 'worker_lost', 'earlier'
			FROM hipq.app_main, generate_series(1, $losses) WHERE id = $id;
			SELECT hipq.reschedule($id, now())});
	}
	is($hipq->outcome($jobs{10}), 'failed',
		'a job ends at the eleventh loss of its executor');
	is($hipq->sql(qq{SELECT attempt || ' ' || retry_count || ' ' || retry_reason
			FROM hipq.jobs_detail WHERE id = $jobs{10}}),
		'2 1 worker_lost', 'a job uses its retry at the eleventh loss of its executor');
	ok($hipq->wait_until(qq{SELECT state || ' ' || retry_count || ' ' || retry_reason
			FROM hipq.app_main WHERE id = $jobs{9}},
		'retry 0 worker_lost'), 'the tenth loss of an executor is not charged');
	$hipq->sql("SELECT hipq.cancel($jobs{9})");
}

# ---- a restore loads rows from the middle of an attempt
{
	leave('run', 'running', 3);
	ok($hipq->wait_until(q{SELECT count(*) = 3 FROM hipq.jobs WHERE job_key LIKE 'run running %' AND
			outcome = 'succeeded' AND attempt = 2 AND id > (SELECT max(id) - 3 FROM hipq.jobs)}),
		'jobs that are restored as running run again');
	like($hipq->error_of(qq{BEGIN; COPY hipq.app_main (id, scheduled_run_time, update_time,
			created_time, accepted_time, state, timeout, attempt, max_retries, priority,
		throttle_factor, job_type, time_windows, error, job_key)
			FROM '$PostgreSQL::Test::Utils::tmp_check/rows'; PREPARE TRANSACTION 'rows'}),
		qr/cannot PREPARE a transaction that has restored running hipq jobs/,
			'a transaction that restores running jobs cannot be prepared');
}

# ---- an orphan whose row another session locks
{
	$hipq->sql(q{BEGIN; SELECT pg_advisory_xact_lock(1); PREPARE TRANSACTION 'lock'});
	my $id = $hipq->enqueue('run', q{'{"lock": 1}'});
	my $pid = $hipq->pid_of($id);
	$hipq->sql(qq{BEGIN; SELECT FROM hipq.app_main WHERE id = $id FOR UPDATE;
		PREPARE TRANSACTION 'row'});
	$hipq->sql("SELECT pg_terminate_backend($pid)");
	is($hipq->outcome_of('run'), 'succeeded', 'jobs run beside a locked orphan');
	$hipq->sql(q{ROLLBACK PREPARED 'row'});
	$hipq->sql(q{ROLLBACK PREPARED 'lock'});
	$hipq->set('hipq.clock_offset' => 180);
	is($hipq->outcome($id), 'succeeded', 'a locked orphan is taken back when it is unlocked');
	is($hipq->attempts($id), '1 worker_lost', 'a locked orphan is not charged');
}

# ---- the lost attempt of a job claimed by lock does not count, and the next attempt has the same
# number, but is not mistaken for the lost one
{
	$hipq->sql(q{SELECT hipq.register_job_type('app.main', 'locked', handler => 'run',
		claim => 'lock')});
	my $lock = $hipq->hold_lock(1);
	my $id = $hipq->enqueue('locked', q{'{"lock": 1}'});
	my $pid = $hipq->pid_of($id);
	my $stranger = $hipq->session;
	my $stranger_pid = $stranger->query_safe('SELECT pg_backend_pid()');
	$stranger->query_until(qr/begun/, "\\echo begun\nBEGIN; SELECT FROM hipq.app_main WHERE id = $id
		FOR UPDATE; SELECT 'mine';\n");
	ok($hipq->wait_until("SELECT wait_event_type = 'Lock' FROM pg_stat_activity
			WHERE pid = $stranger_pid"), 'another session waits for the row of a job');
	# Otherwise the scheduler might lock the row before the other session.
	$points->arm('before-orphan', 'wait');
	$hipq->sql("SELECT pg_terminate_backend($pid)");
	ok($hipq->wait_until("SELECT state = 'idle in transaction' FROM pg_stat_activity
			WHERE pid = $stranger_pid"), 'another session gets the row when the executor ends');
	$points->reset;
	ok($hipq->wait_until(q{SELECT count(*) = 0 FROM hipq._executors() WHERE status = 'ended'}),
		'the jobs of the executor are taken back while another session has the row');
	$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'locked', claim => 'record')});
	$stranger->query_safe('COMMIT');
	$stranger->quit;
	$hipq->pid_of($id);
	is($hipq->sql("SELECT concat_ws(' ', state, attempt) FROM hipq.jobs_detail WHERE id = $id"),
		'running 1', 'a job whose lost attempt did not count runs again, by record');
	$hipq->set('hipq.clock_offset' => 240);
	# The scheduler does not exit while there are jobs to take back.
	ok($hipq->wait_until(q{SELECT count(*) = 0 FROM pg_stat_activity
			WHERE backend_type = 'hipq scheduler'}), 'the scheduler exits while the job runs');
	is($hipq->sql("SELECT concat_ws(' ', state, attempt) FROM hipq.jobs_detail WHERE id = $id"),
		'running 1', 'the next attempt runs after the scheduler has exited');
	eval { $lock->quit };
	is($hipq->outcome($id), 'succeeded', 'a job whose lost attempt did not count succeeds');
	is($hipq->attempts($id), '', 'the next attempt is the only one in the history');
}

done_testing();
