# Deadlines hold for every kind of handler: on an overloaded machine, for handlers that catch their
# cancellation, and as far as possible for handlers that cannot be stopped.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use POSIX ();

my $hipq = HipqCluster->new('deadlines', 'hipq.terminate_grace' => '1s', 'hipq.retry_jitter' => 0,
	'hipq.max_executors' => 4);
$hipq->create_queue('app.main');
my $node = $hipq->node;
$hipq->sql(q{
	GRANT CREATE ON SCHEMA public TO app;
	GRANT pg_execute_server_program TO app;
	CREATE TABLE written (what text); GRANT ALL ON written TO app;
	CREATE FUNCTION quick(data jsonb) RETURNS void LANGUAGE sql AS '';
	SELECT hipq.register_job_type('app.main', 'quick', handler => 'quick')});

# Registers a PL/pgSQL function with this body as the handler of the type of the same name.
sub handler
{
	my ($name, $body, $options) = @_;
	$hipq->sql(qq{CREATE FUNCTION $name(data jsonb) RETURNS void
		LANGUAGE plpgsql AS \$body\$ $body \$body\$;
		SELECT hipq.register_job_type('app.main', '$name', handler => '$name', default_timeout => 1}
			. ($options // '') . ')');
	return;
}

sub seconds
{
	my ($id) = @_;
	return $hipq->sql("SELECT extract(epoch FROM duration) FROM hipq.attempts_detail
		WHERE job_id = $id");
}

sub check_timeout
{
	my ($name, $id, $from, $to) = @_;
	is($hipq->outcome($id), 'failed', "$name: the job fails");
	is($hipq->attempts($id), '1 timeout 57014', "$name: the attempt ends with reason timeout");
	cmp_ok(seconds($id), '>=', $from, "$name: the attempt takes at least $from s");
	$hipq->in_time(seconds($id), $to, "$name: the attempt takes less than $to s");
	return;
}

# ---- every kind of handler, on an overloaded machine
my @burners;
foreach my $number (1 .. 8)
{
	my $pid = fork() // die "fork: $!";
	if ($pid == 0)
	{
		HipqCluster::end_by_signals();
		my $end = time() + 120;
		while (time() < $end) { my $x = 0; $x += $_ foreach 1 .. 10_000; }
		POSIX::_exit(0);
	}
	push @burners, $pid;
}
handler('sleeps', q{BEGIN INSERT INTO written VALUES ('sleeps'); PERFORM pg_sleep(60); END});
handler('loops', q{BEGIN INSERT INTO written VALUES ('loops'); LOOP NULL; END LOOP; END});
handler('counts', q{BEGIN INSERT INTO written VALUES ('counts');
	PERFORM count(*) FROM generate_series(1, 1000000000000) AS n WHERE n % 7 = 8; END});
handler('waits',
	q{BEGIN INSERT INTO written VALUES ('waits'); PERFORM pg_advisory_xact_lock(1); END});
handler('starts_program',
	q{BEGIN CREATE TEMP TABLE said (what text); COPY said FROM PROGRAM 'sleep 60'; END});
handler('catches', q{BEGIN BEGIN PERFORM pg_sleep(60); EXCEPTION WHEN query_canceled THEN NULL; END;
	INSERT INTO written VALUES ('catches'); END});
handler('puts_off', q{BEGIN INSERT INTO put_off VALUES (1); END});
handler('puts_off_again', q{BEGIN INSERT INTO put_off VALUES (2); END});
handler('puts_off_for_ever', q{BEGIN INSERT INTO put_off VALUES (3); END});
handler('holds', q{BEGIN EXECUTE 'DECLARE held CURSOR WITH HOLD FOR SELECT pg_sleep(60)'; END});
$hipq->sql(q{
	CREATE TABLE put_off (n integer); GRANT ALL ON put_off TO app;
	-- 1 sleeps, 2 defers the sleep once more, and 3 defers without end.
	CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		SET CONSTRAINTS ALL DEFERRED;
		IF NEW.n = 1 THEN PERFORM pg_sleep(60); ELSIF NEW.n = 2 THEN INSERT INTO put_off VALUES (1);
			ELSE INSERT INTO put_off VALUES (3); END IF;
		RETURN NULL;
	END $$;
	CREATE CONSTRAINT TRIGGER late AFTER INSERT ON put_off DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION late();
	CREATE PROCEDURE commits(data jsonb) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO written VALUES
		('committed'); COMMIT; INSERT INTO written VALUES ('lost'); PERFORM pg_sleep(60); END $$;
	SELECT hipq.register_job_type('app.main', 'commits', handler => 'commits',
		default_timeout => 1);
	SELECT hipq.register_job_type('app.main', 'statement', handler => 'SELECT pg_sleep(60)',
		default_timeout => 1)});
my $lock = $hipq->hold_lock(1);
my %id = map { $_ => $hipq->enqueue($_) } qw(sleeps loops counts waits starts_program catches
	puts_off puts_off_again puts_off_for_ever commits statement);
check_timeout($_, $id{$_}, 1, 2) foreach sort keys %id;
is($hipq->outcome_of('holds', 'timeout => 30'), 'succeeded',
	'a held cursor is closed at the end of its transaction, and does not run to its end');
$lock->quit;
is($hipq->sql('SELECT string_agg(what, $$ $$) FROM written'), 'committed',
	'only the committed effects of a procedure that timed out remain');
is($hipq->sql("SELECT error FROM hipq.jobs_detail WHERE id = $id{catches}"),
	'job exceeded its timeout of 1 s', 'the error of a job that timed out names the timeout');
kill 'TERM', @burners;
waitpid $_, 0 foreach @burners;

# ---- a handler that catches its cancellation and continues
handler('deaf', q{BEGIN INSERT INTO written VALUES ('deaf'); LOOP BEGIN PERFORM pg_sleep(60);
	EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP; END},
	q{, max_retries => 1, retry_base => '1 day'});
my $log = -s $node->logfile;
my $id = $hipq->enqueue('deaf');
my $pid = $hipq->pid_of($id);
ok($hipq->wait_until("SELECT state = 'retry' FROM hipq.jobs_detail WHERE id = $id"),
	'a handler that catches its cancellation is ended');
is($hipq->attempts($id), '1 timeout 57014',
	'the attempt of a handler that catches its cancellation has reason timeout');
is($hipq->sql("SELECT retry_count FROM hipq.jobs_detail WHERE id = $id"), 1,
	'the attempt of a handler that catches its cancellation is charged');
is($hipq->sql("SELECT executor_pid FROM hipq.attempts_detail WHERE job_id = $id"), $pid,
	'the attempt of a handler that catches its cancellation has the pid of its executor');
cmp_ok(seconds($id), '>=', 2, 'hipq.terminate_grace passes before SIGTERM');
$hipq->in_time(seconds($id), 3, 'a handler ends within a second after hipq.terminate_grace');
ok($hipq->wait_until("SELECT count(*) FROM pg_stat_activity WHERE pid = $pid", 0),
	'the process of a handler that catches its cancellation is terminated');
like(slurp_file($node->logfile, $log),
	qr/\[$pid\] FATAL:  terminating background worker "hipq executor" due to administrator command/,
	"SIGTERM ended the handler's process");
is($hipq->sql("SELECT count(*) FROM written WHERE what = 'deaf'"), 0,
	'the effects of a handler that was ended are rolled back');
is($hipq->outcome_of('quick'), 'succeeded', 'jobs run after a handler was ended');

# ---- without a scheduler the launcher ends a handler that catches its cancellation
{
	$id = $hipq->enqueue('deaf', q{max_retries => 0});
	$pid = $hipq->pid_of($id);
	$hipq->set('hipq.enabled' => 'off');
	ok($hipq->wait_until("SELECT count(*) FROM pg_stat_activity WHERE pid = $pid", 0, 20),
		'a handler that catches its cancellation is ended while hipq is off');
	$hipq->set('hipq.enabled' => 'on');
	check_timeout('a handler that the launcher ended', $id, 2, 60);
}

# ---- a session locks the queue's table while a handler must be ended
{
	$id = $hipq->enqueue('deaf', q{max_retries => 0, timeout => 5});
	$pid = $hipq->pid_of($id);
	my $session = $hipq->session;
	$session->query_safe('BEGIN; LOCK TABLE hipq.app_main_live IN ACCESS EXCLUSIVE MODE');
	$hipq->sql(q{SELECT pg_reload_conf()});    # wakes all processes
	ok($hipq->wait_until(q{SELECT count(*) > 0 FROM hipq.alerts WHERE alert = 'locked queue'}),
		'the scheduler has met the table lock');
	ok($hipq->wait_until("SELECT count(*) FROM pg_stat_activity WHERE pid = $pid", 0, 20),
		"a handler that catches its cancellation is ended while the queue's table is locked");
	$session->query_safe('COMMIT');
	$session->quit;
	check_timeout("a handler that was ended while the queue's table was locked", $id, 6, 60);
}

# ---- retry handlers that catch their cancellation
$hipq->sql(q{
	CREATE FUNCTION fails(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
	CREATE FUNCTION decides_late(job hipq.job) RETURNS interval LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO written VALUES ('late'); PERFORM pg_sleep(60); RETURN '1 s'; END $$;
	CREATE FUNCTION decides_deaf(job hipq.job) RETURNS interval LANGUAGE plpgsql AS $$
	BEGIN INSERT INTO written VALUES ('deaf'); LOOP BEGIN PERFORM pg_sleep(60);
		EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP; END $$;
	CREATE FUNCTION decides_after_all(job hipq.job) RETURNS interval LANGUAGE plpgsql AS $$
	BEGIN BEGIN PERFORM pg_sleep(60); EXCEPTION WHEN query_canceled THEN NULL; END;
		RETURN '1 s'; END $$;
	SELECT hipq.register_job_type('app.main', name,
		handler => 'fails', retry_handler => name, default_timeout => 3)
		FROM unnest('{decides_late, decides_deaf, decides_after_all}'::text[]) AS name;
	TRUNCATE written});
foreach my $type ('decides_late', 'decides_deaf', 'decides_after_all')
{
	$id = $hipq->enqueue($type);
	is($hipq->outcome($id), 'failed', "$type: the job is failed");
	is($hipq->sql("SELECT concat_ws(' ', retry_reason, attempt, error)
			FROM hipq.jobs_detail WHERE id = $id"),
		'retry_handler_failed 1 no (retry handler failed: '
			. q{retry handler exceeded the job's timeout)},
		"$type: its reason is retry_handler_failed");
}
is($hipq->sql('SELECT count(*) FROM written'), 0, 'what the retry handlers wrote is rolled back');

# ---- a loop in C that does not check for interrupts
$hipq->sql(q{CREATE FUNCTION spin(path text) RETURNS void LANGUAGE c STRICT AS 'hipq_guard_test',
	'guard_test_spin'});
handler('spins', q{BEGIN INSERT INTO written VALUES ('spins'); PERFORM spin(data->>'file');
	INSERT INTO written VALUES ('spun'); END});
my $file = $node->data_dir . '/spin';
append_to_file($file, '');
$log = -s $node->logfile;
$id = $hipq->enqueue('spins', qq{'{"file": "$file"}'});
$pid = $hipq->pid_of($id);
ok($hipq->wait_until("SELECT status = 'unresponsive' FROM hipq.executors WHERE pid = $pid"),
	'a handler that does not react to SIGTERM makes its executor unresponsive');
is($hipq->sql(q{SELECT detail FROM hipq.alerts_detail WHERE alert = 'unresponsive'}),
	'The handler of an executor had to stop and does not even react to SIGTERM.',
	'an alert names the unresponsive handler');
is($hipq->sql("SELECT concat_ws(' ', job_id = $id, attempt, job_type) FROM hipq.executors_detail
		WHERE pid = $pid"), 't 1 spins', 'view executors says what an unresponsive executor runs');
is($hipq->sql("SELECT concat_ws(' ', pid, attempt) FROM hipq.running WHERE id = $id"), "$pid 1",
	'view running shows the job of an unresponsive executor');
is($hipq->sql("SELECT concat_ws(' ', state, attempt) FROM hipq.jobs_detail WHERE id = $id"),
	'running 1', 'the job of an unresponsive executor stays in state running');
is($hipq->outcome_of('quick'), 'succeeded', 'other executors run jobs beside an unresponsive one');
is($hipq->outcome($hipq->enqueue('sleeps')), 'failed',
	'other executors keep their deadlines beside an unresponsive one');
# There may be no scheduler, because an idle one exits.
unlike($hipq->sql(q{SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
		WHERE backend_type = 'hipq scheduler'}), qr/f/, 'the scheduler ends');
is($hipq->outcome_of('quick'), 'succeeded', 'jobs run with the next scheduler');
is($hipq->sql("SELECT concat_ws(' ', state, attempt) FROM hipq.jobs_detail WHERE id = $id"),
	'running 1', 'the next scheduler leaves the job to its unresponsive executor');
is($hipq->sql("SELECT count(*) FROM pg_stat_activity WHERE pid = $pid"), 1,
	'hipq does not kill an unresponsive executor');
unlink $file;
check_timeout('a handler that did not react to SIGTERM', $id, 3, 60);
ok($hipq->wait_until("SELECT count(*) FROM hipq.executors WHERE pid = $pid", 0),
	"an unresponsive executor ends after the handler's loop");
is($hipq->sql('SELECT count(*) FROM written'), 0,
	'the effects of a handler that did not react to SIGTERM are rolled back');
my @warnings = slurp_file($node->logfile, $log)
	=~ /WARNING:  executor with PID $pid does not respond to its termination/g;
is(scalar @warnings, 1, 'the log has one warning about an unresponsive executor');
like(slurp_file($node->logfile, $log),
	qr/DETAIL:  It runs job $id of type "spins", which has exceeded its timeout\./,
	'the warning says what the unresponsive executor runs');
unlike(slurp_file($node->logfile), qr/terminated by signal|PANIC|reinitializing/,
	'no process was killed, and the server did not restart');

done_testing();
