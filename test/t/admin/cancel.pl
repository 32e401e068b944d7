# hipq.cancel() ends a running job. The job is final, its effects are rolled back, and no other job
# is affected.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('cancel', 'hipq.terminate_grace' => '30s', 'hipq.retry_jitter' => 0,
	'hipq.executor_idle_timeout' => '1h',
	wal_level => 'replica', max_wal_senders => 1);
$hipq->create_queue('app.main');
my $node = $hipq->node;
$hipq->sql(q{
	GRANT CREATE ON SCHEMA public TO app;
	CREATE TABLE written (id bigint, what text); GRANT ALL ON written TO app;
	CREATE FUNCTION work(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO written VALUES (job.id, 'work');
		IF job.job_data->>'until' = 'first' AND job.attempt > 1 THEN RETURN; END IF;
		IF job.job_data ? 'own' THEN PERFORM hipq.cancel(job.id, 'by itself'); END IF;
		IF job.job_data ? 'fail' THEN RAISE 'no'; END IF;
		PERFORM pg_sleep(60);
	EXCEPTION WHEN query_canceled THEN
		IF job.job_data ? 'catch' THEN
			INSERT INTO written VALUES (job.id, 'caught');
			WHILE job.job_data->>'catch' = 'always' LOOP
				BEGIN PERFORM pg_sleep(60); EXCEPTION WHEN query_canceled THEN NULL; END;
			END LOOP;
			RETURN;
		END IF;
		RAISE;
	END $$;
	CREATE PROCEDURE in_steps(id bigint, data jsonb) LANGUAGE plpgsql AS $$
	BEGIN INSERT INTO written VALUES (id, 'first'); COMMIT;
		INSERT INTO written VALUES (id, 'second'); PERFORM pg_sleep(60); END $$;
	CREATE FUNCTION asks_long(job hipq.job) RETURNS interval LANGUAGE plpgsql AS $$ BEGIN
		PERFORM pg_sleep(60); RETURN '1 s'; END $$;
	SELECT hipq.register_job_type('app.main', 'work', handler => 'work', max_retries => 5,
		retry_base => '10 ms');
	SELECT hipq.register_job_type('app.main', 'in_steps', handler => 'in_steps', max_retries => 5,
		retry_base => '10 ms');
	SELECT hipq.register_job_type('app.main', 'asked', handler => 'work',
		retry_handler => 'asks_long', max_retries => 5)});

sub row
{
	my ($id) = @_;
	return $hipq->sql("SELECT concat_ws(' ', outcome, attempt, retry_count, retry_reason, error)
		FROM hipq.jobs_detail WHERE id = $id");
}
sub written
{
	my ($id) = @_;
	return $hipq->sql("SELECT string_agg(what, ' ') FROM written WHERE id = $id");
}

# Starts a job and waits until its code runs.
sub start
{
	my ($type, $data) = @_;
	my $id = $hipq->enqueue($type, "'$data', queue => 'app.main'");
	my $pid = $hipq->pid_of($id);
	$hipq->wait_until("SELECT wait_event FROM pg_stat_activity WHERE pid = $pid", 'PgSleep');
	return ($id, $pid);
}

# ---- one job
my ($id, $pid) = start('work', '{}');
is($hipq->sql("SELECT hipq.cancel($id, 'no longer wanted')"), 't', 'a running job is cancelled');
is($hipq->outcome($id), 'cancelled', "the job's outcome is cancelled");
is(row($id), 'cancelled 1 0 cancelled cancelled: no longer wanted',
	'a cancelled job is final, without a retry, with its reason');
is($hipq->attempts($id), '1 cancelled 57014', 'the attempt of a cancelled job is recorded');
is($hipq->sql("SELECT concat_ws(' ', executor_pid, error)
		FROM hipq.attempts_detail WHERE job_id = $id"), "$pid cancelled: no longer wanted",
	'the attempt of a cancelled job has the pid of its executor and the reason');
cmp_ok($hipq->sql("SELECT extract(epoch FROM duration) FROM hipq.attempts_detail
		WHERE job_id = $id"), '<', 30, 'a cancelled job does not run to its end');
is(written($id), '', 'what a cancelled job wrote is rolled back');
is($hipq->sql("SELECT count(*) FROM hipq.dead_letters WHERE job_id = $id"), 0,
	'a cancelled job has no dead letter');
is($hipq->sql("SELECT hipq.cancel($id)"), 'f', 'cancel() of a final job returns false');
($id) = start('work', '{}');
is($hipq->sql("BEGIN; SELECT hipq.cancel($id, 'undone'); ROLLBACK"), 't',
	'cancel() in a transaction that is rolled back returns true');
is($hipq->sql("BEGIN; SAVEPOINT a; SELECT hipq.cancel($id, 'undone, too'); ROLLBACK TO a; COMMIT"),
	't', 'cancel() in a savepoint that is rolled back returns true');
is($hipq->sql("BEGIN; SAVEPOINT a; SELECT hipq.cancel($id); RELEASE a; COMMIT"), 't',
	'cancel() in a released savepoint returns true');
is($hipq->outcome($id), 'cancelled', 'the job is cancelled by a committed call');
is(row($id), 'cancelled 1 0 cancelled cancelled', 'calls that were rolled back leave no reason');
like($hipq->error_of("BEGIN;
		SELECT hipq.cancel(" . (start('work', '{}'))[0] . "); PREPARE TRANSACTION 'cancelling'"),
	qr/0A000/, 'a prepared transaction cannot cancel a running job');
$hipq->sql(q{SELECT hipq.cancel_jobs('app.main', state => 'running')});
$id = $hipq->enqueue('work', q{'{"own": true}', queue => 'app.main'});
is($hipq->outcome($id), 'cancelled', 'a handler cancels its own job');
is(row($id), 'cancelled 1 0 cancelled cancelled: by itself',
	'a handler that cancels its own job is rolled back');
is(written($id), '', 'what a job that cancels itself wrote is rolled back');
is($hipq->sql("SELECT string_agg(pid::text, ' ') FROM hipq.executors WHERE pid = $pid"), $pid,
	'the executor of a cancelled job keeps running');

# ---- handlers that catch their cancellation
($id) = start('work', '{"catch": "once"}');
is($hipq->sql("SELECT hipq.cancel($id)"), 't',
	'a job that catches its cancellation once can be cancelled');
is($hipq->outcome($id), 'cancelled', 'a job that catches its cancellation once is cancelled');
is(written($id), '', 'effects before a caught cancellation are rolled back');
$hipq->set('hipq.terminate_grace' => '1s');
($id, $pid) = start('work', '{"catch": "always"}');
is($hipq->sql("SELECT hipq.cancel($id, 'for good'); SELECT hipq.cancel($id, 'again')"), "t\nt",
	'a job that catches each cancellation can be cancelled twice');
is($hipq->outcome($id), 'cancelled', 'a job that catches each cancellation is ended');
is(row($id), 'cancelled 1 0 cancelled cancelled: for good',
	'a job that catches each cancellation has the first reason');
is($hipq->attempts($id), '1 cancelled 57014',
	'the attempt of a job that catches each cancellation is recorded');
is($hipq->sql("SELECT executor_pid FROM hipq.attempts_detail WHERE job_id = $id"), $pid,
	'the attempt of a job that catches each cancellation has the pid of its executor');
ok($hipq->wait_until("SELECT count(*) FROM pg_stat_activity WHERE pid = $pid", 0),
	'a job that catches each cancellation loses its process');
$hipq->set('hipq.terminate_grace' => '30s');
is(written($id), '', 'the effects of a job that catches each cancellation are rolled back');

# ---- procedures, retry handlers, and the job itself
($id) = start('in_steps', '{}');
is($hipq->sql("SELECT hipq.cancel($id)"), 't', 'a running procedure can be cancelled');
is($hipq->outcome($id), 'cancelled', 'a procedure is cancelled');
is(written($id), 'first', 'what a cancelled procedure had committed stays');
is($hipq->attempts($id), '1 cancelled 57014', 'a cancelled procedure is not retried');
($id) = start('asked', '{"fail": 1}');
is($hipq->sql("SELECT state FROM hipq.jobs_detail WHERE id = $id"), 'error',
	'a job is in state error while its retry handler runs');
is($hipq->sql("SELECT hipq.cancel($id, 'while asked')"), 't',
	'a job can be cancelled while its retry handler runs');
is($hipq->outcome($id), 'cancelled', 'a job is cancelled while its retry handler runs');
is(row($id), 'cancelled 1 0 cancelled cancelled: while asked',
	'a job that is cancelled while its retry handler runs has the reason');
($id, $pid) = start('asked', '{"fail": 1}');
$hipq->sql('ALTER ROLE app NOLOGIN');
$hipq->sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE backend_type = 'hipq executor' ORDER BY pid = $pid");
ok($hipq->wait_until('SELECT count(*) FROM hipq.executors', 0),
	'a job is in state error without an executor');
is($hipq->sql("SELECT state FROM hipq.jobs_detail WHERE id = $id"), 'error',
	'a job without an executor stays in state error');
is($hipq->sql("SELECT hipq.cancel($id, 'enough')"), 't',
	'a job in state error without an executor can be cancelled');
is(row($id), 'cancelled 1 0 cancelled cancelled: enough',
	'a job in state error without an executor is final at once');
$hipq->sql('ALTER ROLE app LOGIN');
$hipq->sql(q{
	CREATE FUNCTION suicide(id bigint, data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		PERFORM hipq.cancel(id, 'by itself'); PERFORM pg_sleep(60); END $$;
	CREATE FUNCTION suicide_at_end(id bigint, data jsonb) RETURNS boolean LANGUAGE sql AS $$
		SELECT hipq.cancel(id, 'by itself') $$;
	SELECT hipq.register_job_type('app.main', name, handler => name)
		FROM unnest('{suicide, suicide_at_end}'::text[]) AS name});
foreach my $type ('suicide', 'suicide_at_end')
{
	$id = $hipq->enqueue($type);
	is($hipq->outcome($id), 'cancelled', "$type: a job can cancel itself");
	is(row($id), 'cancelled 1 0 cancelled cancelled: by itself',
		"$type: a job that cancels itself is final");
}

# ---- long reasons
($id) = start('work', '{}');
$hipq->sql("SELECT hipq.cancel($id, repeat('\x{e2}\x{82}\x{ac}', 1000))");
$hipq->outcome($id);
is($hipq->sql("SELECT length(error) > 80 AND error ~ '^cancelled: \x{e2}\x{82}\x{ac}+\$'
		FROM hipq.jobs_detail WHERE id = $id"), 't', 'a long reason is cut, in whole characters');

# ---- before the handler starts, and after it has ended: commits wait for a missing standby
$hipq->sql('TRUNCATE written');
# By record, because hipq claims jobs of a short type by lock, and then does not commit the claim.
$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'work', claim => 'record')});
# Commits wait after the checkpointer has read the setting. A session that commits repeatedly shows
# it.
sub let_commits_wait
{
	$hipq->set('synchronous_standby_names' => 'nobody');
	my $probe = $hipq->session(on_error_stop => 0);
	my $pid = $probe->query_safe('SELECT pg_backend_pid()');
	$probe->query_until(qr/probing/,
		"\\echo probing\nDO \$\$ BEGIN LOOP PERFORM pg_logical_emit_message(true, 'probe', '');
		COMMIT; PERFORM pg_sleep(0.01); END LOOP; END \$\$;\n");
	$hipq->wait_until("SELECT wait_event FROM pg_stat_activity WHERE pid = $pid", 'SyncRep');
	$hipq->sql("SELECT pg_terminate_backend($pid)");
	eval { $probe->quit };
	return;
}
let_commits_wait();
# The commits of this session must not wait.
my $quietly = "SET synchronous_commit = local;";
$id = $hipq->sql("$quietly SELECT hipq.enqueue('work', queue => 'app.main')");
ok($hipq->wait_until("SELECT count(*) FROM hipq.executors JOIN pg_stat_activity USING (pid)
		WHERE job_id = $id AND wait_event = 'SyncRep'", 1), 'a job is being claimed');
is($hipq->sql("$quietly SELECT hipq.cancel($id, 'early')"), 't',
	'a job that is being claimed can be cancelled');
$hipq->set('synchronous_standby_names' => '');
is($hipq->outcome($id), 'cancelled', 'a job that was being claimed is cancelled');
is(row($id), 'cancelled 1 0 cancelled cancelled: early',
	'a job that was being claimed has the reason');
is(written($id), '', 'a job that was being claimed leaves no effects');
($id) = start('work', '{"catch": "once"}');
let_commits_wait();
$hipq->sql("SELECT pg_cancel_backend(pid) FROM hipq.running WHERE id = $id");
ok($hipq->wait_until("SELECT count(*) FROM hipq.executors JOIN pg_stat_activity USING (pid)
		WHERE job_id = $id AND wait_event = 'SyncRep'", 1), 'the end of a job is being written');
is($hipq->sql("$quietly SELECT hipq.cancel($id, 'late')"), 'f',
	'a job whose end is being written cannot be cancelled');
$hipq->set('synchronous_standby_names' => '');
is($hipq->outcome($id), 'succeeded', 'a job whose end was being written succeeds');
is(written($id), 'caught', 'a job whose end was being written has its effects');
$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'work', claim => 'auto')});

# ---- pg_cancel_backend() fails the attempt
($id, $pid) = start('work', '{"until": "first"}');
is($hipq->sql("SELECT pg_cancel_backend($pid)"), 't', 'pg_cancel_backend() signals the executor');
is($hipq->outcome($id), 'succeeded', 'a job succeeds after pg_cancel_backend()');
is($hipq->attempts($id), '1 transient_error 57014',
	'pg_cancel_backend() fails the attempt with SQLSTATE 57014');
is($hipq->sql("SELECT concat_ws(' ', attempt, retry_count) FROM hipq.jobs_detail WHERE id = $id"),
	'2 1', 'pg_cancel_backend() charges the attempt');

# ---- any number of jobs of a batch can be cancelled
$hipq->sql(q{
	CREATE FUNCTION spin(path text) RETURNS void LANGUAGE c STRICT AS 'hipq_guard_test',
		'guard_test_spin';
	CREATE FUNCTION all_deaf(data jsonb[]) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		PERFORM spin(data[1]->>'file'); END $$;
	SELECT hipq.register_job_type('app.main', 'deaf', handler => 'all_deaf', batch_size => 100)});
$hipq->set('hipq.terminate_grace' => '1min', 'hipq.max_executors' => 1);
ok($hipq->wait_until('SELECT count(*) <= 1 FROM hipq.executors', 't'), 'one executor is left');
my $file = $node->data_dir . '/spin';
append_to_file($file, '');
$hipq->sql(qq{SELECT hipq.enqueue_many('deaf', array_agg('{"file": "$file"}'::jsonb))
	FROM generate_series(1, 100)});
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.running WHERE job_type = 'deaf'}, 100),
	'a batch of 100 jobs runs that does not check for interrupts');
my @batch = split /\n/,
	$hipq->sql(q{SELECT id FROM hipq.running WHERE job_type = 'deaf' ORDER BY id});
is($hipq->sql("SELECT bool_and(hipq.cancel(id, 'all'))
		FROM unnest('{@{[join ',', @batch[0 .. 89]]}}'::bigint[]) AS id"), 't',
	'ninety jobs of the batch are cancelled');
is($hipq->sql("SELECT hipq.cancel($batch[3], 'again')"), 't',
	'a job that is being cancelled can be cancelled again');
unlink $file;
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.app_main_live WHERE job_type = 'deaf'}, 0),
	'a batch with cancelled jobs ends');
is($hipq->sql(q{SELECT string_agg(format('%s %s', outcome, count), ', ' ORDER BY outcome)
		FROM (SELECT outcome, count(*) FROM hipq.jobs WHERE job_type = 'deaf'
		GROUP BY outcome) AS outcomes}),
	'cancelled 90, succeeded 10',
		'the cancelled jobs of the batch are cancelled, the others succeed');
$hipq->set('hipq.terminate_grace' => '30s', 'hipq.max_executors' => 4);

# ---- many short jobs; some of them are cancelled at random times
$hipq->sql(q{
	CREATE TABLE cancelled (id bigint PRIMARY KEY);
	CREATE FUNCTION brief(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN INSERT INTO written VALUES (job.id, 'brief'); PERFORM pg_sleep(random() * 0.005);
		INSERT INTO written VALUES (job.id, 'done'); END $$;
	SELECT hipq.register_job_type('app.main', 'brief', handler => 'brief', max_retries => 5,
		retry_base => '10 ms');
	CREATE PROCEDURE cancel_some() LANGUAGE plpgsql AS $$
	DECLARE victim bigint;
	BEGIN
		PERFORM hipq.resume('app.main', 'brief');
			-- In another session the call could come after all jobs have run.
		COMMIT;
		WHILE EXISTS (SELECT FROM hipq.app_main_live WHERE job_type = 'brief') LOOP
			SELECT job_id INTO victim FROM hipq._executors() WHERE job_id IS NOT NULL
				AND status = 'running' ORDER BY random() LIMIT 1;
			IF FOUND AND hipq.cancel(victim, 'random') THEN INSERT INTO cancelled VALUES (victim)
				ON CONFLICT DO NOTHING; END IF;
			COMMIT;
			PERFORM pg_sleep(random() * 0.01);
		END LOOP;
	END $$;
	TRUNCATE written});
# All four executors run.
my @sleepers = map { $hipq->enqueue('work', q{'{}', queue => 'app.main'}) } 1 .. 4;
$hipq->pid_of($_) foreach @sleepers;
my $pids = $hipq->sql('SELECT string_agg(pid::text, $$ $$ ORDER BY pid) FROM hipq.executors');
is(scalar(split / /, $pids), 4, 'all four executors run');
$hipq->sql("SELECT hipq.cancel($_)") foreach @sleepers;
$hipq->sql(q{SELECT hipq.pause('app.main', 'brief')});
$hipq->sql(q{SELECT count(*) FROM hipq.enqueue_many('brief', (SELECT array_agg('{}'::jsonb)
	FROM generate_series(1, 2000)), queue => 'app.main')});
$hipq->sql('CALL cancel_some()');
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.app_main_live WHERE job_type = 'brief'}, 0),
	'all short jobs end');
cmp_ok($hipq->sql('SELECT count(*) FROM cancelled'), '>', 20, 'many short jobs are cancelled');
cmp_ok($hipq->sql(q{SELECT count(*) FROM hipq.jobs WHERE job_type = 'brief'
		AND outcome = 'succeeded'}), '>', 20, 'many short jobs succeed');
is($hipq->sql(q{SELECT count(*) FROM (SELECT id FROM hipq.jobs WHERE job_type = 'brief'
		AND outcome = 'cancelled' EXCEPT SELECT id FROM cancelled) AS wrong}), 0,
	'only jobs that cancel() took are cancelled');
is($hipq->sql(q{SELECT count(*) FROM (SELECT id FROM cancelled EXCEPT SELECT id FROM hipq.jobs
		WHERE outcome = 'cancelled') AS wrong}), 0, 'every job that cancel() took is cancelled');
is($hipq->sql(q{SELECT count(*) FROM hipq.attempts WHERE job_type = 'brief'
		AND reason <> 'cancelled'}), 0, 'only cancelled jobs have a failed attempt');
is($hipq->sql(q{SELECT count(*) FROM hipq.jobs WHERE job_type = 'brief' AND outcome
		NOT IN ('cancelled', 'succeeded')}), 0, 'every job is cancelled or has succeeded');
is($hipq->sql(q{SELECT count(*) FROM hipq.jobs WHERE job_type = 'brief' AND
		(outcome = 'succeeded') <> (SELECT count(*) = 2 FROM written WHERE written.id = jobs.id)}),
	0, 'each job has its effects only if it has succeeded');
is($hipq->sql('SELECT string_agg(pid::text, $$ $$ ORDER BY pid) FROM hipq.executors'), $pids,
	'all executors keep running');

# ---- pg_cancel_backend() at random times interrupts handlers only
$hipq->sql(q{
	ALTER TABLE cancelled RENAME TO stormed;
	CREATE PROCEDURE storm() LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM hipq.enqueue_many('stormy', (SELECT array_agg('{}'::jsonb)
			FROM generate_series(1, 3000)), queue => 'app.main');
		COMMIT;
		WHILE EXISTS (SELECT FROM hipq.app_main_live WHERE job_type = 'stormy') LOOP
			PERFORM pg_cancel_backend(pid) FROM hipq._executors() WHERE pid IS NOT NULL
				AND random() < 0.3;
			COMMIT;
		END LOOP;
	END $$;
	SELECT hipq.register_job_type('app.main', 'stormy', handler => 'brief', max_retries => 1000,
		retry_base => '1 ms', retry_multiplier => 1)});
my ($status) = $node->psql('postgres', "SET statement_timeout = '5s'; CALL storm()");
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.app_main_live WHERE job_type = 'stormy'}, 0),
	'all jobs end under many cancellations');
is($hipq->sql(q{SELECT string_agg(DISTINCT outcome, ' ') FROM hipq.jobs WHERE job_type = 'stormy'}),
	'succeeded', 'all jobs succeed under many cancellations, some in a later attempt');
is($hipq->sql(q{SELECT string_agg(DISTINCT concat_ws(' ', reason, sqlstate), ', ')
		FROM hipq.attempts WHERE job_type = 'stormy'}), 'transient_error 57014',
	'the cancellations hit attempts only');
is($hipq->sql('SELECT string_agg(pid::text, $$ $$ ORDER BY pid) FROM hipq.executors'), $pids,
	'the cancellations end no executor');

done_testing();
