# hipq.complete_later(): a handler returns and leaves its job running; hipq.report_progress(): it says how far it has come.
use strict;
use warnings;
use HipqCluster;
use HipqPoints;
use Test::More;

my $hipq = HipqCluster->new('complete_later', 'hipq.retry_jitter' => 0, 'hipq.executor_idle_timeout' => '1h');
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
		IF job.job_data ? 'successor' THEN PERFORM hipq.enqueue(job.job_type, '{"roll_back": 1}', 'app.main', job.job_key); END IF;
		IF job.job_data ? 'fail' THEN RAISE 'no'; END IF;
		RETURN 'asked';
	END $$;
	CREATE PROCEDURE ask_in_steps(id bigint, data jsonb) LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO written VALUES (id);
		PERFORM hipq.complete_later();
		IF data->>'then' = 'commit' THEN COMMIT; INSERT INTO written VALUES (id); IF data ? 'snooze' THEN PERFORM hipq.snooze('1 h'); END IF; ROLLBACK; END IF;
		IF data->>'then' = 'rollback' THEN ROLLBACK; END IF;
	END $$;
	CREATE FUNCTION ask_together(jobs hipq.job[]) RETURNS void LANGUAGE sql AS $$ SELECT hipq.complete_later() $$;
	SELECT hipq.register_job_type('app.main', 'lock', handler => 'ask', claim => 'lock', default_timeout => 600);
	SELECT hipq.register_job_type('app.main', 'record', handler => 'ask', claim => 'record', default_timeout => 600);
	SELECT hipq.register_job_type('app.main', 'steps', handler => 'ask_in_steps');
	SELECT hipq.register_job_type('app.main', 'statement', handler => 'SELECT hipq.complete_later()');
	SELECT hipq.register_job_type('app.main', 'batch', handler => 'ask_together', batch_size => 10)});

sub row { my ($id) = @_; return $hipq->sql("SELECT concat_ws(' ', state, attempt, worker_id, error) FROM hipq.jobs_detail WHERE id = $id"); }
sub written { my ($id) = @_; return $hipq->sql("SELECT count(*) FROM written WHERE id = $id"); }

# A query that says whether a handler has left a job, which its executor shows a moment longer.
sub is_left { my ($id) = @_; return "SELECT worker_id = 0 AND NOT EXISTS (SELECT FROM hipq.running_detail WHERE id = $id AND pid IS NOT NULL) FROM hipq.jobs_detail WHERE id = $id"; }

# Enqueues a job and waits until its handler has returned.
sub handled
{
	my ($type, $data, $more) = @_;
	my $id = $hipq->enqueue($type, "'$data', queue => 'app.main'" . ($more // ''));
	$hipq->wait_until("SELECT state IN ('retry', 'final') OR (" . is_left($id) . ") FROM hipq.jobs_detail WHERE id = $id") or diag($hipq->look_at($id));
	return $id;
}

# ---- complete_later
foreach my $type (qw(lock record))
{
	my $id = handled($type, '{}');
	is(row($id), 'running 1 0', "$type: the job stays running");
	is(written($id), 1, "$type: what its handler wrote is there");
	is($hipq->sql("SELECT deadline - hipq.now() BETWEEN interval '500 s' AND interval '600 s' FROM hipq.jobs_detail WHERE id = $id"), 't', "$type: for its timeout from then on");
	is($hipq->sql("SELECT concat_ws(' ', attempt, coalesce(pid, -1), worker_id, is_accepted) FROM hipq.running_detail WHERE id = $id"), '1 -1 0', "$type: in nobody's hands, view running says");
	is($hipq->attempts($id), '', "$type: the attempt is not over");
	is($hipq->sql("SELECT hipq.fail_job($id, 'no answer')"), 'final', "$type: it can be given up");
	is(row($id), 'final 1 0 no answer', "$type: and is over then");
	$id = handled($type, '{}', ', max_retries => 1');
	is($hipq->sql("SELECT hipq.fail_job($id, 'no answer')"), 'retry', "$type: or that attempt alone");
	like(row($id), qr/^retry 1 /, "$type: which the answer says");
	$hipq->sql("SELECT hipq.cancel($id)");    # its retry would come in between, some time later

	is($hipq->outcome(handled($type, '{"roll_back": 1}')), 'succeeded', "$type: what is rolled back with a block does not count");
	$id = handled($type, '{"fail": 1}', ', max_retries => 0');
	is($hipq->attempts($id), '1 transient_error P0001', "$type: an error is an error");
	is(written($id), 0, "$type: and leaves nothing");
	like(row(handled($type, '{"snooze_first": 1, "roll_back": 1}')), qr/^retry 1 snoozed/, "$type: a snooze before what is rolled back does");
	like(row(handled($type, '{"snooze": 1}')), qr/^retry 1 snoozed/, "$type: a snooze after it counts");
	is(row(handled($type, '{"snooze_first": 1}')), 'running 1 0', "$type: not one before it");
	is($hipq->attempts(handled($type, '{"successor": 1}', ", job_key => 'own', max_retries => 0")), '1 transient_error 55000', "$type: not together with a successor");
	is($hipq->sql(q{SELECT count(*) FROM hipq.app_main_live WHERE job_key = 'own'}), 0, "$type: which is undone");
}
is(row(handled('statement', '{}')), 'running 1 0', 'a statement can');
my $id = handled('steps', '{"then": "commit"}');
is(row($id), 'running 1 0', 'so can a procedure, also before it commits');
is(written($id), 1, 'with what it had committed');
$id = handled('steps', '{"then": "commit", "snooze": 1}');
is(row($id), 'running 1 0', 'and in one that is rolled back after that, a snooze does not count');
is($hipq->outcome(handled('steps', '{"then": "rollback"}')), 'succeeded', 'but not before it rolls back');
is($hipq->attempts(handled('batch', '{}', ', max_retries => 0')), '1 transient_error 0A000', 'a batch cannot');

# ---- what it weighs counts until it ends, whatever becomes of the executor
$hipq->create_queue('app.one', throttle_limit => 1);
$hipq->sql(q{SELECT hipq.register_job_type('app.one', 'one', handler => 'ask', throttle_limit_per_key => 1)});
my @jobs = map { $hipq->enqueue('one', q{'{}', queue => 'app.one', throttle_key => 'k'}) } 1 .. 2;
ok($hipq->wait_until("SELECT worker_id = 0 FROM hipq.jobs_detail WHERE id = $jobs[0]"), 'the first job waits for its answer');
ok($hipq->wait_until("SELECT count(*) = 0 FROM hipq.executors WHERE status = 'running'"), 'no executor has it');
is($hipq->sql(q{SELECT concat_ws(' ', throttle_used, running_jobs, waiting_throttle) FROM hipq.queues_detail WHERE queue = 'app.one'}), '1.000 1 1', 'and the second one for room');
is($hipq->sql(q{SELECT concat_ws(' ', throttle_key, throttle_used, running_jobs) FROM hipq.throttle_keys}), 'k 1.000 1', 'view throttle_keys says so too');
$hipq->sql('SELECT pg_terminate_backend(pid) FROM hipq.executors');
ok($hipq->wait_until('SELECT count(*) = 0 FROM hipq.executors WHERE pid IS NOT NULL'), 'executors go');
is(row($jobs[0]), 'running 1 0', 'the job stays');
$hipq->sql("SELECT hipq.fail_job($jobs[0], 'no answer')");
ok($hipq->wait_until("SELECT worker_id = 0 FROM hipq.jobs_detail WHERE id = $jobs[1]"), 'when it has ended there is room for the next one');
$hipq->sql("SELECT hipq.fail_job($jobs[1], 'no answer')");
ok($hipq->wait_until(q{SELECT throttle_used = 0 FROM hipq.queues_detail WHERE queue = 'app.one'}), 'nothing is left of what was counted');
ok($hipq->wait_until(q{SELECT sum(jobs_done) FROM hipq.executors_detail WHERE queue IS NULL}, 1), 'an executor counts it among those that it has run');

# ---- whatever becomes of the executor in the moment after the handler's commit, and of the server
$hipq->sql(q{SELECT hipq.alter_job_type('app.one', 'one', default_timeout => 600)});
my $points = HipqPoints->new($hipq);
foreach my $action (qw(terminate kill))
{
	my $log = -s $hipq->node->logfile;
	$hipq->sql(q{SELECT hipq.pause('app.one')});
	my $job = $hipq->enqueue('one', q{'{}', queue => 'app.one', throttle_key => 'k'});
	$points->arm('after-finish-commit', $action);
	$hipq->try_sql(q{SELECT hipq.resume('app.one')});    # the server may go down before psql has its answer
	if ($action eq 'kill') { $hipq->node->wait_for_log(qr/was terminated by signal 9/, $log); }
	else { ok($points->wait_fired('after-finish-commit'), 'an executor ends when its handler has left the job'); }
	ok($hipq->wait_until("SELECT count(*) = 0 FROM hipq.executors WHERE job_id = $job OR status = 'ended'"), "$action: nobody has it any more");
	ok($hipq->wait_until(q{SELECT throttle_used = 1 FROM hipq.queues_detail WHERE queue = 'app.one'}), "$action: it counts");
	my $next = $hipq->enqueue('one', q{'{"roll_back": 1}', queue => 'app.one', throttle_key => 'k'});
	ok($hipq->wait_until("SELECT count(*) > 0 FROM hipq.why($next) WHERE NOT passed AND condition LIKE 'throttle%'"), "$action: and others wait");
	is(row($job), 'running 1 0', "$action: it stays running");
	is($hipq->attempts($job), '', "$action: uncharged");
	$hipq->sql("SELECT hipq.fail_job($job, 'no answer')");
	is($hipq->outcome($next), 'succeeded', "$action: until it has ended");
}
my $left = $hipq->enqueue('one', q{'{}', queue => 'app.one', throttle_key => 'k', timeout => 30});
ok($hipq->wait_until("SELECT worker_id = 0 FROM hipq.jobs_detail WHERE id = $left"), 'a job is left');
$hipq->node->restart;
is(row($left), 'running 1 0', 'it stays over a restart');
$hipq->set('hipq.clock_offset' => 31);
is($hipq->outcome($left), 'failed', 'until its timeout comes');
is($hipq->attempts($left), '1 timeout 57014', 'which is the reason');
$hipq->set('hipq.clock_offset' => 0);
ok($hipq->wait_until(q{SELECT throttle_used = 0 FROM hipq.queues_detail WHERE queue = 'app.one'}), 'it counts no more');

# ---- a client's session runs one that an executor had in its hand
$hipq->sql(q{SELECT hipq.alter_job_type('app.one', 'one', max_retries => 1, retry_base => '0 s')});
$points->arm('after-reserve', 'wait');
my $shared = $hipq->enqueue('one', q{'{}', queue => 'app.one', throttle_key => 'k'});
ok($points->wait_held('after-reserve'), 'an executor has a job in its hand');
is($hipq->sql_as('app', q{SELECT hipq.run_until_idle('app.one')}), 1, 'which a client runs');
$points->reset;
is(row($shared), 'running 1 0', 'and leaves running');
ok($hipq->wait_until(q{SELECT count(*) = 0 FROM hipq.executors WHERE status = 'running'}), 'the executor finds that it is gone');
is($hipq->sql(q{SELECT concat_ws(' ', throttle_used, running_jobs) FROM hipq.queues_detail WHERE queue = 'app.one'}), '1.000 1', 'it counts');
is($hipq->sql("SELECT concat_ws(' ', attempt, worker_id) FROM hipq.running_detail WHERE id = $shared"), '1 0', 'view running knows its attempt');
$hipq->sql("SELECT hipq.fail_job($shared, 'no answer')");
ok($hipq->wait_until("SELECT concat_ws(' ', attempt, worker_id) FROM hipq.running_detail WHERE id = $shared", '2 0'), 'its retry is not held up');
$hipq->sql("SELECT hipq.fail_job($shared, 'no answer')");
ok($hipq->wait_until(q{SELECT throttle_used = 0 FROM hipq.queues_detail WHERE queue = 'app.one'}), 'nothing is left of it');

# ---- report_progress
$hipq->sql(q{
	CREATE FUNCTION count_up(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM hipq.report_progress(1);
		PERFORM hipq.report_progress(2, 8, 'counts');
		PERFORM pg_advisory_xact_lock(1);
		IF job.job_data ? 'fail' THEN RAISE 'no'; END IF;
		IF job.attempt = 1 AND job.job_data ? 'later' THEN PERFORM hipq.report_progress(3, 8); PERFORM hipq.complete_later(); END IF;
		PERFORM pg_advisory_xact_lock(2);
	END $$;
	CREATE FUNCTION silent(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(1); END $$;
	CREATE FUNCTION count_together(jobs hipq.job[]) RETURNS void LANGUAGE sql AS $$ SELECT hipq.report_progress(1) $$;
	SELECT hipq.register_job_type('app.main', 'count', handler => 'count_up', claim => 'lock', retry_base => '1 h', max_retries => 1);
	SELECT hipq.register_job_type('app.main', 'counters', handler => 'count_together', batch_size => 10)});
sub progress { my ($of) = @_; return $hipq->sql("SELECT concat_ws(' ', attempt, done, total, percent, message, pid IS NOT NULL, worker_id) FROM hipq.progress_detail WHERE id = $of"); }

my $lock = $hipq->hold_lock;
$id = $hipq->enqueue('count', q{'{"fail": 1}', queue => 'app.main'});
ok($hipq->wait_until("SELECT done = 2 FROM hipq.progress_detail WHERE id = $id"), 'progress shows at once');
is(progress($id), '1 2 8 25.0 counts t', 'the latest, with who runs it');
is($hipq->sql("SELECT expected_end_time - since = 4 * (reported_time - since) FROM hipq.progress_detail JOIN hipq.running USING (id) WHERE id = $id"), 't', 'when it will have ended');
is($hipq->sql("SELECT pid FROM hipq.progress_detail WHERE id = $id"), $hipq->pid_of($id), 'that executor');
$lock->quit;
ok($hipq->wait_until("SELECT state = 'retry' FROM hipq.jobs_detail WHERE id = $id"), 'the attempt fails');
ok($hipq->wait_until("SELECT count(*) FROM hipq.progress_detail WHERE id = $id", 0), 'nothing is left of it');    # the executor shows it a moment longer
$lock = $hipq->hold_lock;
$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'count', handler => 'silent')});
$hipq->sql("SELECT hipq.reschedule($id, now())");
$hipq->pid_of($id);
is(progress($id), '', 'the next attempt has said nothing yet');
$lock->quit;
is($hipq->outcome($id), 'succeeded', 'and succeeds');
$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'count', handler => 'count_up')});

# The number of an attempt under a lock that has not been is used again: what that said is not shown for the one after it.
$lock = $hipq->hold_lock;
$id = $hipq->enqueue('count', q{'{}', queue => 'app.main'});
ok($hipq->wait_until("SELECT done = 2 FROM hipq.progress_detail WHERE id = $id"), 'a job reports');
$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'count', handler => 'silent')});
my $pid = $hipq->pid_of($id);
$hipq->sql("SELECT pg_terminate_backend($pid)");
ok($hipq->wait_until("SELECT count(*) = 1 FROM hipq.running WHERE id = $id AND pid <> $pid"), 'its executor goes, and another one runs it');
is(progress($id), '', 'which has said nothing yet');
$lock->quit;
is($hipq->outcome($id), 'succeeded', 'it succeeds');
$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'count', handler => 'count_up')});

$id = $hipq->enqueue('count', q{'{"later": 1}', queue => 'app.main'});
ok($hipq->wait_until(is_left($id)), 'one is left to be completed later');
is(progress($id), '1 3 8 37.5 f 0', 'and how far it has come');
$hipq->sql("SELECT hipq.report_progress($id, 1, 8, 8, 'done')");
is(progress($id), '1 8 8 100.0 done f 0', 'others go on with that');
like($hipq->error_of("SELECT hipq.report_progress($id, 2, 8, 8)"), qr/HQ003: attempt 2 of job $id is over/, 'of the attempt that runs');
$hipq->sql("SELECT hipq.fail_job($id, 'no answer')");
is(progress($id), '', 'until it ends');
like($hipq->error_of("SELECT hipq.report_progress($id, 1, 8, 8)"), qr/HQ003: attempt 1 of job $id is over/, 'not any more then');

# ---- external workers
$hipq->create_queue('app.outside');
$hipq->sql(q{
	CREATE ROLE scanner; CREATE ROLE other;
	SELECT hipq.grant_queue('app.outside', 'scanner', 'work'), hipq.grant_queue('app.outside', 'other', 'work');
	SELECT hipq.register_job_type('app.outside', 'scan', handler_kind => 'notify')});
my $worker = $hipq->sql(q{SET ROLE scanner; SELECT hipq.register_worker('one', '{app.outside}', '{scan}')});
$id = $hipq->enqueue('scan', q{'{}', queue => 'app.outside'});
ok($hipq->wait_until("SELECT count(*) = 1 FROM hipq.running WHERE id = $id"), 'a worker is given a job');
is($hipq->sql("SELECT concat_ws(' ', coalesce(pid, -1), worker_id, worker, is_accepted) FROM hipq.running_detail WHERE id = $id"), "-1 $worker one f", 'view running says so');
is($hipq->sql("SELECT since <= hipq.now() AND deadline > hipq.now() FROM hipq.running_detail WHERE id = $id"), 't', 'since when, and until when it may accept it');
my $heard = "SELECT last_heartbeat IS NOT NULL FROM hipq.workers WHERE worker_id = $worker";
is($hipq->sql($heard), 'f', 'the worker was not heard of yet');
$hipq->sql("SET ROLE scanner; BEGIN; SELECT hipq.report_progress($id, 1, 7, NULL, 'scans'); ROLLBACK");
is(progress($id), "1 7 scans f $worker", 'it says how far it has come, whatever becomes of the transaction');
is($hipq->sql($heard), 't', 'that is a sign of life');
like($hipq->error_of("SET ROLE other; SELECT hipq.report_progress($id, 1, 8, 8)"), qr/42501: job $id is held by another role's worker/, 'nobody else may');
is(progress($id), "1 7 scans f $worker", 'which changes nothing');

like($hipq->error_of("SET ROLE scanner; SELECT hipq.report_progress($id, 2, 8, 8)"), qr/HQ003: attempt 2 of job $id is over/, 'nor for another attempt');
like($hipq->error_of('SET ROLE scanner; SELECT hipq.report_progress(-1, 1, 8, 8)'), qr/42704: job -1 does not exist/, 'nor of a job that is not there');

# A server that has just started has not found the job again; with hipq off it never does.
$hipq->set('hipq.enabled' => 'off');
$hipq->node->restart;
is(progress($id), '', 'after a restart nothing is known of it');
is($hipq->sql("SET ROLE scanner; SELECT hipq.report_progress($id, 1, 8, NULL)"), '', 'its worker can report all the same');
is($hipq->sql($heard), 't', 'that is a sign of life');
like($hipq->error_of("SET ROLE scanner; SELECT hipq.report_progress($id, 2, 8, 8)"), qr/HQ003: attempt 2 of job $id is over/, 'not another attempt');
like($hipq->error_of("SET ROLE other; SELECT hipq.report_progress($id, 1, 8, 8)"), qr/42501: job $id is held by another role's worker/, 'nor anybody else');
is(progress($id), '', 'there is no place for what it says');
$hipq->set('hipq.enabled' => 'on');
# Not in view running, which also has it from the table.
ok($hipq->wait_until("SELECT count(*) = 1 FROM hipq._running_jobs() WHERE job_id = $id"), 'when hipq has found it again');
$hipq->sql("SET ROLE scanner; SELECT hipq.report_progress($id, 1, 9, NULL)");
is(progress($id), "1 9 f $worker", 'it shows');

is($hipq->attempts(handled('counters', '{}', ', max_retries => 0')), '1 transient_error 0A000', 'a batch cannot');

done_testing();
