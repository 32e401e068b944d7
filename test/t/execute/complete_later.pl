# After hipq.complete_later() a handler returns and its job stays in state running.
# hipq.report_progress() stores the progress of a job.
use strict;
use warnings;
use HipqCluster;
use HipqPoints;
use Test::More;

my $hipq = HipqCluster->new('complete_later', 'hipq.retry_jitter' => 0,
	'hipq.executor_idle_timeout' => '1h');
$hipq->create_queue('app.main');
$hipq->sql(q{
	GRANT CREATE ON SCHEMA public TO app;
	CREATE TABLE written (id bigint); GRANT ALL ON written TO app;
	CREATE FUNCTION ask(job hipq.job) RETURNS text LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO written VALUES (job.id);
		IF job.job_data ? 'snooze_first' THEN PERFORM hipq.snooze('1 h'); END IF;
		BEGIN
			PERFORM hipq.complete_later();
			IF job.job_data ? 'roll_back' THEN RAISE 'caught'; END IF;
		EXCEPTION WHEN raise_exception THEN NULL;
		END;
		IF job.job_data ? 'snooze' THEN PERFORM hipq.snooze('1 h'); END IF;
		IF job.job_data ? 'successor' THEN
			PERFORM hipq.enqueue(job.job_type, '{"roll_back": 1}', 'app.main', job.job_key); END IF;
		IF job.job_data ? 'fail' THEN RAISE 'no'; END IF;
		RETURN 'asked';
	END $$;
	CREATE PROCEDURE ask_in_steps(id bigint, data jsonb) LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO written VALUES (id);
		PERFORM hipq.complete_later();
		IF data->>'then' = 'commit' THEN COMMIT; INSERT INTO written VALUES (id);
			IF data ? 'snooze' THEN PERFORM hipq.snooze('1 h'); END IF; ROLLBACK; END IF;
		IF data->>'then' = 'rollback' THEN ROLLBACK; END IF;
	END $$;
	CREATE FUNCTION ask_together(jobs hipq.job[]) RETURNS void LANGUAGE sql AS $$
		SELECT hipq.complete_later() $$;
	SELECT hipq.register_job_type('app.main', 'lock', handler => 'ask', claim => 'lock',
		default_timeout => 600);
	SELECT hipq.register_job_type('app.main', 'record', handler => 'ask', claim => 'record',
		default_timeout => 600);
	SELECT hipq.register_job_type('app.main', 'steps', handler => 'ask_in_steps');
	SELECT hipq.register_job_type('app.main', 'statement',
		handler => 'SELECT hipq.complete_later()');
	SELECT hipq.register_job_type('app.main', 'batch', handler => 'ask_together',
		batch_size => 10)});

sub row
{
	my ($id) = @_;
	return $hipq->sql("SELECT concat_ws(' ', state, attempt, worker_id, error)
		FROM hipq.jobs_detail WHERE id = $id");
}
sub written { my ($id) = @_; return $hipq->sql("SELECT count(*) FROM written WHERE id = $id"); }

# Returns a query that is true when a handler has left a job. The executor shows the job for a short
# time after that.
sub is_left
{
	my ($id) = @_;
	return "SELECT worker_id = 0 AND NOT EXISTS (SELECT FROM hipq.running_detail
		WHERE id = $id AND pid IS NOT NULL) FROM hipq.jobs_detail WHERE id = $id";
}

# Enqueues a job and waits until its handler has returned.
sub handled
{
	my ($type, $data, $more) = @_;
	my $id = $hipq->enqueue($type, "'$data', queue => 'app.main'" . ($more // ''));
	$hipq->wait_until("SELECT state IN ('retry', 'final') OR (" . is_left($id)
		. ") FROM hipq.jobs_detail WHERE id = $id") or diag($hipq->look_at($id));
	return $id;
}

# ---- complete_later
foreach my $type (qw(lock record))
{
	my $id = handled($type, '{}');
	is(row($id), 'running 1 0', "$type: the job stays in state running after its handler");
	is(written($id), 1, "$type: the effects of the handler are committed");
	is($hipq->sql("SELECT deadline - hipq.now() BETWEEN interval '500 s' AND interval '600 s'
			FROM hipq.jobs_detail WHERE id = $id"), 't',
		"$type: the deadline is one timeout after complete_later()");
	is($hipq->sql("SELECT concat_ws(' ', attempt, coalesce(pid, -1), worker_id, is_accepted)
			FROM hipq.running_detail WHERE id = $id"), '1 -1 0',
		"$type: view running shows the job without process and worker");
	is($hipq->attempts($id), '', "$type: the attempt has not ended");
	is($hipq->sql("SELECT hipq.fail_job($id, 'no answer')"), 'final',
		"$type: fail_job() ends the job without retry");
	is(row($id), 'final 1 0 no answer', "$type: a job that fail_job() failed is final");
	$id = handled($type, '{}', ', max_retries => 1');
	is($hipq->sql("SELECT hipq.fail_job($id, 'no answer')"), 'retry',
		"$type: fail_job() of a job with a retry left fails only the attempt");
	like(row($id), qr/^retry 1 /,
		"$type: a job whose attempt fail_job() failed waits for its retry");
	$hipq->sql("SELECT hipq.cancel($id)");    # otherwise its retry would run during the next tests

	is($hipq->outcome(handled($type, '{"roll_back": 1}')), 'succeeded',
		"$type: complete_later() in a block that is rolled back has no effect");
	$id = handled($type, '{"fail": 1}', ', max_retries => 0');
	is($hipq->attempts($id), '1 transient_error P0001',
		"$type: an error after complete_later() fails the attempt");
	is(written($id), 0, "$type: an attempt that failed after complete_later() has no effects");
	like(row(handled($type, '{"snooze_first": 1, "roll_back": 1}')), qr/^retry 1 snoozed/,
		"$type: snooze() holds if the complete_later() after it is rolled back");
	like(row(handled($type, '{"snooze": 1}')), qr/^retry 1 snoozed/,
		"$type: snooze() after complete_later() replaces it");
	is(row(handled($type, '{"snooze_first": 1}')), 'running 1 0',
		"$type: complete_later() after snooze() replaces it");
	is($hipq->attempts(handled($type, '{"successor": 1}', ", job_key => 'own', max_retries => 0")),
		'1 transient_error 55000', "$type: a job with a successor cannot complete later");
	is($hipq->sql(q{SELECT count(*) FROM hipq.app_main_live WHERE job_key = 'own'}), 0,
		"$type: a successor of a job that cannot complete later is rolled back");
}
is(row(handled('statement', '{}')), 'running 1 0', 'a statement can complete later');
my $id = handled('steps', '{"then": "commit"}');
is(row($id), 'running 1 0', 'a procedure can complete later, even before it commits');
is(written($id), 1, 'the committed effects of a procedure that completes later remain');
$id = handled('steps', '{"then": "commit", "snooze": 1}');
is(row($id), 'running 1 0', 'a snooze that a procedure rolls back has no effect');
is($hipq->outcome(handled('steps', '{"then": "rollback"}')), 'succeeded',
	'complete_later() that a procedure rolls back has no effect');
is($hipq->attempts(handled('batch', '{}', ', max_retries => 0')), '1 transient_error 0A000',
	'a batch cannot complete later');

# ---- the job holds its throttle until it ends, even if its executor ends
$hipq->create_queue('app.one', throttle_limit => 1);
$hipq->sql(q{SELECT hipq.register_job_type('app.one', 'one', handler => 'ask',
	throttle_limit_per_key => 1)});
my @jobs = map { $hipq->enqueue('one', q{'{}', queue => 'app.one', throttle_key => 'k'}) } 1 .. 2;
ok($hipq->wait_until("SELECT worker_id = 0 FROM hipq.jobs_detail WHERE id = $jobs[0]"),
	'the first job waits to be completed');
ok($hipq->wait_until("SELECT count(*) = 0 FROM hipq.executors WHERE status = 'running'"),
	'no executor holds a job that its handler has left');
is($hipq->sql(q{SELECT concat_ws(' ', throttle_used, running_jobs, waiting_throttle)
		FROM hipq.queues_detail WHERE queue = 'app.one'}), '1.000 1 1',
	'a left job holds the throttle, and the next job waits for it');
is($hipq->sql(q{SELECT concat_ws(' ', throttle_key, throttle_used, running_jobs)
		FROM hipq.throttle_keys}), 'k 1.000 1', 'view throttle_keys shows a left job');
$hipq->sql('SELECT pg_terminate_backend(pid) FROM hipq.executors');
ok($hipq->wait_until('SELECT count(*) = 0 FROM hipq.executors WHERE pid IS NOT NULL'),
	'all executors are terminated');
is(row($jobs[0]), 'running 1 0', 'a left job stays in state running after its executor has ended');
$hipq->sql("SELECT hipq.fail_job($jobs[0], 'no answer')");
ok($hipq->wait_until("SELECT worker_id = 0 FROM hipq.jobs_detail WHERE id = $jobs[1]"),
	'the next job runs when a left job has ended');
$hipq->sql("SELECT hipq.fail_job($jobs[1], 'no answer')");
ok($hipq->wait_until(q{SELECT throttle_used = 0 FROM hipq.queues_detail WHERE queue = 'app.one'}),
	'no throttle is held when both jobs have ended');
ok($hipq->wait_until(q{SELECT sum(jobs_done) FROM hipq.executors_detail WHERE queue IS NULL}, 1),
	'the executor counts a left job as done');

# ---- the executor or the server ends right after the handler's commit
$hipq->sql(q{SELECT hipq.alter_job_type('app.one', 'one', default_timeout => 600)});
my $points = HipqPoints->new($hipq);
foreach my $action (qw(terminate kill))
{
	my $log = -s $hipq->node->logfile;
	$hipq->sql(q{SELECT hipq.pause('app.one')});
	my $job = $hipq->enqueue('one', q{'{}', queue => 'app.one', throttle_key => 'k'});
	$points->arm('after-finish-commit', $action);
	# The server may crash before psql gets its result.
	$hipq->try_sql(q{SELECT hipq.resume('app.one')});
	if ($action eq 'kill') { $hipq->node->wait_for_log(qr/was terminated by signal 9/, $log); }
	else
	{
		ok($points->wait_fired('after-finish-commit'),
			'an executor ends when its handler has left the job');
	}
	ok($hipq->wait_until("SELECT count(*) = 0 FROM hipq.executors WHERE job_id = $job
			OR status = 'ended'"), "$action: no executor holds the job");
	ok($hipq->wait_until(q{SELECT throttle_used = 1 FROM hipq.queues_detail
			WHERE queue = 'app.one'}),
		"$action: the job holds its throttle after its executor has ended");
	my $next = $hipq->enqueue('one',
		q{'{"roll_back": 1}', queue => 'app.one', throttle_key => 'k'});
	ok($hipq->wait_until("SELECT count(*) > 0 FROM hipq.why($next) WHERE NOT passed
			AND condition LIKE 'throttle%'"), "$action: another job waits for the throttle");
	is(row($job), 'running 1 0', "$action: the job stays in state running");
	is($hipq->attempts($job), '', "$action: the job is not charged");
	$hipq->sql("SELECT hipq.fail_job($job, 'no answer')");
	is($hipq->outcome($next), 'succeeded',
		"$action: the next job runs when the left job has ended");
}
my $left = $hipq->enqueue('one', q{'{}', queue => 'app.one', throttle_key => 'k', timeout => 30});
ok($hipq->wait_until("SELECT worker_id = 0 FROM hipq.jobs_detail WHERE id = $left"),
	'a handler leaves its job');
$hipq->node->restart;
is(row($left), 'running 1 0', 'a left job stays in state running after a restart');
$hipq->set('hipq.clock_offset' => 31);
is($hipq->outcome($left), 'failed', 'a left job fails at its timeout');
is($hipq->attempts($left), '1 timeout 57014',
	'the attempt of a left job that timed out has reason timeout');
$hipq->set('hipq.clock_offset' => 0);
ok($hipq->wait_until(q{SELECT throttle_used = 0 FROM hipq.queues_detail WHERE queue = 'app.one'}),
	'a left job that timed out holds no throttle');

# ---- a client's session runs a job that an executor has prefetched
$hipq->sql(q{SELECT hipq.alter_job_type('app.one', 'one', max_retries => 1, retry_base => '0 s')});
$points->arm('after-reserve', 'wait');
my $shared = $hipq->enqueue('one', q{'{}', queue => 'app.one', throttle_key => 'k'});
ok($points->wait_held('after-reserve'), 'an executor has prefetched a job');
is($hipq->sql_as('app', q{SELECT hipq.run_until_idle('app.one')}), 1,
	'a client runs a job that an executor has prefetched');
$points->reset;
is(row($shared), 'running 1 0', 'a job that a client left stays in state running');
ok($hipq->wait_until(q{SELECT count(*) = 0 FROM hipq.executors WHERE status = 'running'}),
	'the executor skips the prefetched job that a client ran');
is($hipq->sql(q{SELECT concat_ws(' ', throttle_used, running_jobs) FROM hipq.queues_detail
		WHERE queue = 'app.one'}), '1.000 1', 'a job that a client left holds its throttle');
is($hipq->sql("SELECT concat_ws(' ', attempt, worker_id) FROM hipq.running_detail
		WHERE id = $shared"), '1 0', 'view running shows the attempt of a job that a client left');
$hipq->sql("SELECT hipq.fail_job($shared, 'no answer')");
ok($hipq->wait_until("SELECT concat_ws(' ', attempt, worker_id) FROM hipq.running_detail
		WHERE id = $shared", '2 0'), 'the retry of a job that a client left starts');
$hipq->sql("SELECT hipq.fail_job($shared, 'no answer')");
ok($hipq->wait_until(q{SELECT throttle_used = 0 FROM hipq.queues_detail WHERE queue = 'app.one'}),
	'no throttle is held when a job that a client left has ended');

# ---- report_progress
$hipq->sql(q{
	CREATE FUNCTION count_up(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM hipq.report_progress(1);
		PERFORM hipq.report_progress(2, 8, 'counts');
		PERFORM pg_advisory_xact_lock(1);
		IF job.job_data ? 'fail' THEN RAISE 'no'; END IF;
		IF job.attempt = 1 AND job.job_data ? 'later' THEN PERFORM hipq.report_progress(3, 8);
			PERFORM hipq.complete_later(); END IF;
		PERFORM pg_advisory_xact_lock(2);
	END $$;
	CREATE FUNCTION silent(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		PERFORM pg_advisory_xact_lock(1); END $$;
	CREATE FUNCTION count_together(jobs hipq.job[]) RETURNS void LANGUAGE sql AS $$
		SELECT hipq.report_progress(1) $$;
	SELECT hipq.register_job_type('app.main', 'count', handler => 'count_up', claim => 'lock',
		retry_base => '1 h', max_retries => 1);
	SELECT hipq.register_job_type('app.main', 'counters', handler => 'count_together',
		batch_size => 10)});
sub progress
{
	my ($of) = @_;
	return $hipq->sql("SELECT concat_ws(' ', attempt, done, total, percent, message,
		pid IS NOT NULL, worker_id) FROM hipq.progress_detail WHERE id = $of");
}

my $lock = $hipq->hold_lock;
$id = $hipq->enqueue('count', q{'{"fail": 1}', queue => 'app.main'});
ok($hipq->wait_until("SELECT done = 2 FROM hipq.progress_detail WHERE id = $id"),
	'progress is visible at once');
is(progress($id), '1 2 8 25.0 counts t',
	'view progress shows the latest progress, and whether an executor runs the job');
is($hipq->sql("SELECT expected_end_time - since = 4 * (reported_time - since)
		FROM hipq.progress_detail JOIN hipq.running USING (id) WHERE id = $id"), 't',
	'view progress shows the expected end');
is($hipq->sql("SELECT pid FROM hipq.progress_detail WHERE id = $id"), $hipq->pid_of($id),
	"view progress names the executor's process");
$lock->quit;
ok($hipq->wait_until("SELECT state = 'retry' FROM hipq.jobs_detail WHERE id = $id"),
	'an attempt that reported progress fails');
# The executor shows the progress for a short time after the failure.
ok($hipq->wait_until("SELECT count(*) FROM hipq.progress_detail WHERE id = $id", 0),
	'the progress of a failed attempt disappears');
$lock = $hipq->hold_lock;
$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'count', handler => 'silent')});
$hipq->sql("SELECT hipq.reschedule($id, now())");
$hipq->pid_of($id);
is(progress($id), '', 'the next attempt starts without progress');
$lock->quit;
is($hipq->outcome($id), 'succeeded', 'the attempt after one with progress succeeds');
$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'count', handler => 'count_up')});

# If the executor of a job claimed by lock ends, the attempt does not count, and the next attempt
# has the same number. The progress of the lost attempt must not be shown for the next one.
$lock = $hipq->hold_lock;
$id = $hipq->enqueue('count', q{'{}', queue => 'app.main'});
ok($hipq->wait_until("SELECT done = 2 FROM hipq.progress_detail WHERE id = $id"),
	'a job reports progress');
$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'count', handler => 'silent')});
my $pid = $hipq->pid_of($id);
$hipq->sql("SELECT pg_terminate_backend($pid)");
ok($hipq->wait_until("SELECT count(*) = 1 FROM hipq.running WHERE id = $id AND pid <> $pid"),
	'another executor runs a job whose executor was terminated');
is(progress($id), '', 'the progress of a lost attempt is not shown for the next attempt');
$lock->quit;
is($hipq->outcome($id), 'succeeded', 'a job that lost its executor succeeds');
$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'count', handler => 'count_up')});

$id = $hipq->enqueue('count', q{'{"later": 1}', queue => 'app.main'});
ok($hipq->wait_until(is_left($id)), 'a handler that reported progress leaves its job');
is(progress($id), '1 3 8 37.5 f 0', 'view progress shows the progress of a left job');
$hipq->sql("SELECT hipq.report_progress($id, 1, 8, 8, 'done')");
is(progress($id), '1 8 8 100.0 done f 0', 'another session can report progress of a left job');
like($hipq->error_of("SELECT hipq.report_progress($id, 2, 8, 8)"),
	qr/HQ003: attempt 2 of job $id is over/, 'progress of an attempt that does not run is refused');
$hipq->sql("SELECT hipq.fail_job($id, 'no answer')");
is(progress($id), '', 'a failed job has no progress');
like($hipq->error_of("SELECT hipq.report_progress($id, 1, 8, 8)"),
	qr/HQ003: attempt 1 of job $id is over/, 'progress of a failed job is refused');

# ---- external workers
$hipq->create_queue('app.outside');
$hipq->sql(q{
	CREATE ROLE scanner; CREATE ROLE other;
	SELECT hipq.grant_queue('app.outside', 'scanner', 'work'),
		hipq.grant_queue('app.outside', 'other', 'work');
	SELECT hipq.register_job_type('app.outside', 'scan', handler_kind => 'notify')});
my $worker =
	$hipq->sql(q{SET ROLE scanner; SELECT hipq.register_worker('one', '{app.outside}', '{scan}')});
$id = $hipq->enqueue('scan', q{'{}', queue => 'app.outside'});
ok($hipq->wait_until("SELECT count(*) = 1 FROM hipq.running WHERE id = $id"),
	'an external worker is offered a job');
my $held = "SELECT concat_ws(' ', attempt, coalesce(pid, -1), worker_id, worker, is_accepted)
		FROM hipq.running_detail WHERE id = $id";
is($hipq->sql($held), "1 -1 $worker one f",
	'view running shows a job offered to an external worker');
is($hipq->sql("SELECT since IS NULL AND deadline > hipq.now() FROM hipq.running_detail
		WHERE id = $id"), 't', 'view running shows until when a worker can accept a job');
my $heard = "SELECT last_heartbeat IS NOT NULL FROM hipq.workers WHERE worker_id = $worker";
is($hipq->sql($heard), 'f', 'a worker that has not called anything has no heartbeat');
like($hipq->error_of("SET ROLE scanner; SELECT hipq.report_progress($id, 1, 7, NULL)"),
	qr/55000: job $id has not been accepted/, 'progress of a job that is only offered is refused');
is(progress($id), '', 'a job that is only offered has no progress');
is($hipq->sql("SET ROLE scanner; SELECT id FROM hipq.claim($worker)"), $id,
	'the external worker accepts the job');
is($hipq->sql($held), "1 -1 $worker one t", "view running shows an external worker's job");
is($hipq->sql("SELECT since <= hipq.now() AND deadline > hipq.now() FROM hipq.running_detail
		WHERE id = $id"), 't',
	'view running shows when a worker accepted a job, and until when it may run');
my $last = $hipq->sql("SELECT last_heartbeat FROM hipq.workers WHERE worker_id = $worker");
$hipq->sql("SET ROLE scanner; BEGIN; SELECT hipq.report_progress($id, 1, 7, NULL, 'scans');
	ROLLBACK");
is(progress($id), "1 7 scans f $worker",
	"a worker's progress is visible even if its transaction is rolled back");
is($hipq->sql("SELECT last_heartbeat > '$last' FROM hipq.workers WHERE worker_id = $worker"), 't',
	'report_progress() is a heartbeat');
like($hipq->error_of("SET ROLE other; SELECT hipq.report_progress($id, 1, 8, 8)"),
	qr/42501: job $id is held by another role's worker/, 'another role cannot report progress');
is(progress($id), "1 7 scans f $worker", 'a refused report changes nothing');

like($hipq->error_of("SET ROLE scanner; SELECT hipq.report_progress($id, 2, 8, 8)"),
	qr/HQ003: attempt 2 of job $id is over/, 'a worker cannot report progress of another attempt');
like($hipq->error_of('SET ROLE scanner; SELECT hipq.report_progress(-1, 1, 8, 8)'),
	qr/42704: job -1 does not exist/, 'progress of an unknown job is refused');

# After a start the server does not know the worker's job until hipq has found it, which never
# happens with hipq.enabled = off.
$hipq->set('hipq.enabled' => 'off');
$hipq->node->restart;
is(progress($id), '', 'a restart removes progress');
is($hipq->sql("SET ROLE scanner; SELECT hipq.report_progress($id, 1, 8, NULL)"), '',
	'a worker can report progress before hipq has found its job');
is($hipq->sql($heard), 't',
	'report_progress() is a heartbeat before hipq has found the job');
like($hipq->error_of("SET ROLE scanner; SELECT hipq.report_progress($id, 2, 8, 8)"),
	qr/HQ003: attempt 2 of job $id is over/,
	'progress of another attempt is refused before hipq has found the job');
like($hipq->error_of("SET ROLE other; SELECT hipq.report_progress($id, 1, 8, 8)"),
	qr/42501: job $id is held by another role's worker/,
	'another role cannot report before hipq has found the job');
is(progress($id), '', 'progress is not stored before hipq has found the job');
$hipq->set('hipq.enabled' => 'on');
# From the function, because view running also reads the table.
ok($hipq->wait_until("SELECT count(*) = 1 FROM hipq._running_jobs() WHERE job_id = $id"),
	'hipq finds the job when it is switched on');
$hipq->sql("SET ROLE scanner; SELECT hipq.report_progress($id, 1, 9, NULL)");
is(progress($id), "1 9 f $worker", 'progress is stored after hipq has found the job');

is($hipq->attempts(handled('counters', '{}', ', max_retries => 0')), '1 transient_error 0A000',
	'a batch cannot report progress');

done_testing();
