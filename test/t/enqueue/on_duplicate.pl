# Each mode of on_duplicate does what it says while the holder of a key waits or runs. No call waits
# for the running handler. A successor starts when the job that holds its key has finished, however
# this job ends. Sessions can use all modes at the same time.
#
# DUPLICATE_CLIENTS (16): sessions. DUPLICATE_CALLS (1000): calls of each session.
use strict;
use warnings;
use HipqCluster;
use HipqFaults;
use PostgreSQL::Test::Utils;
use Test::More;

my $clients = $ENV{DUPLICATE_CLIENTS} // 16;
my $calls = $ENV{DUPLICATE_CALLS} // 1000;

my $hipq = HipqCluster->new('duplicates', 'hipq.retry_jitter' => 0,
	'hipq.executor_idle_timeout' => '1h', 'max_connections' => $clients + 50);
my $node = $hipq->node;
$hipq->create_queue('app.main');
$hipq->sql(q{
	GRANT CREATE ON SCHEMA public TO app;
	CREATE TABLE ran (n serial, id bigint, data jsonb); GRANT ALL ON ran, ran_n_seq TO app;
	CREATE FUNCTION work(id bigint, data jsonb) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO ran (id, data) VALUES (work.id, work.data);
		IF data ? 'lock' THEN PERFORM pg_advisory_xact_lock_shared(1); END IF;
		IF data ? 'fail' AND (SELECT attempt FROM hipq.job WHERE job.id = work.id) >= 0 THEN
			RAISE 'no'; END IF;
	END $$;
	GRANT USAGE ON SCHEMA hipq TO app; GRANT SELECT ON hipq.job TO app;
	SELECT hipq.register_job_type('app.main', 'by_lock', handler => 'work', claim => 'lock');
	SELECT hipq.register_job_type('app.main', 'by_record', handler => 'work', claim => 'record')});

sub action_of
{
	my ($type, $rest) = @_;
	return split /\|/, $hipq->sql("SELECT action, id FROM hipq.enqueue_unique('$type', $rest)");
}
sub order_of
{
	my (@ids) = @_;
	return $hipq->sql('SELECT string_agg(id::text, $$ $$ ORDER BY n) FROM ran WHERE id IN ('
		. join(',', @ids) . ')');
}

# Starts a job that runs until the lock is released. Returns its id and the lock.
sub start
{
	my ($type, $rest, $data) = @_;
	my $lock = $hipq->hold_lock;
	$data //= '{"lock": 1}';
	my $id = $hipq->enqueue($type, "'$data', queue => 'app.main', job_key => 'k'" . ($rest // ''));
	$hipq->pid_of($id);
	return ($id, $lock);
}

foreach my $type ('by_lock', 'by_record')
{
	my ($first, $lock) = start($type);
	foreach my $mode ('replace', 'merge', 'debounce')
	{
		my $error = $hipq->error_of("SELECT hipq.enqueue('$type', '{}', job_key => 'k',
			scheduled_run_time => now() + interval '1 day', on_duplicate => '$mode')");
		like($error,
			qr/55006: the job of type "$type" with key "k" in queue "app.main" is running\nDETAIL:  Job $first holds the key. Only a waiting job can be changed.\nHINT:  Use on_duplicate => 'after'/,
			"$type: $mode is refused while the job runs");
	}
	is($hipq->sql("SELECT hipq.enqueue('$type', job_key => 'k', on_duplicate => 'return')"), $first,
		"$type: on_duplicate => return gives the id of the running job");
	my ($action, $second) = action_of($type, qq{'{"second": 1}'::jsonb, job_key => 'k',
		max_retries => 4, on_duplicate => 'after'});
	is($action, 'after', "$type: on_duplicate => after enqueues a successor");
	is(join(' ', action_of($type, qq{'{"third": 1}'::jsonb, job_key => 'k', priority => 4,
			on_duplicate => 'after'})), "replaced $second",
		"$type: a second call with on_duplicate => after changes the first successor");
	is(join(' ', action_of($type, qq{'{"fourth": 1}'::jsonb, job_key => 'k', priority => 5,
			on_duplicate => 'after_first'})), "returned $second",
		"$type: a call with on_duplicate => after_first gives the first successor");
	is($hipq->sql("SELECT concat_ws(' ', state, outcome, waits_for, job_key, priority)
			FROM hipq.jobs_detail WHERE id = $second"), 'initial waiting key k 4',
		"$type: view jobs_detail shows a successor that waits for the job with its key");
	like($hipq->why($second),
		qr/^waits for: Job $first has its key: it starts when that one has ended\.$/,
		"$type: why() says what the successor waits for");
	$lock->quit;
	is($hipq->outcome($first), 'succeeded', "$type: the job before the successor succeeds");
	is($hipq->outcome($second), 'succeeded', "$type: the successor runs");
	$hipq->in_time($hipq->sql("SELECT extract(epoch FROM next.accepted_time - first.update_time)
			FROM hipq.jobs_detail AS first, hipq.jobs_detail AS next WHERE first.id = $first
			AND next.id = $second"), 5,
		"$type: the successor starts within 5 s after the job before it");
	is(order_of($first, $second), "$first $second",
		"$type: the successor runs after the first job");
	is($hipq->sql("SELECT data FROM ran WHERE id = $second"), '{"third": 1}',
		"$type: the successor runs with the newest data");
	is($hipq->sql("SELECT max_retries FROM hipq.jobs_detail WHERE id = $second"), 4,
		"$type: the successor keeps the max_retries of the first call, as the second gave none");
	is($hipq->sql('SELECT count(*) FROM hipq.job WHERE waits_for = $$key$$'), 0,
		"$type: no row of a successor is left");
}

# ---- a successor runs however the job before it ends
{
	my ($first, $lock) = start('by_lock');
	my ($action, $second) = action_of('by_lock',
		q{'{}'::jsonb, job_key => 'k', on_duplicate => 'after'});
	$hipq->sql("SELECT hipq.cancel($first)");
	ok($hipq->wait_until("SELECT count(*) FROM hipq.jobs WHERE id = $second
			AND outcome = 'succeeded'", 1, 8), 'a successor runs after a cancelled job');
	$lock->quit;

	($first, $lock) = start('by_lock', '', '{"lock": 1, "fail": 1}');
	($action, $second) = action_of('by_lock',
		q{'{}'::jsonb, job_key => 'k', on_duplicate => 'after'});
	$lock->quit;
	ok($hipq->wait_until("SELECT count(*) FROM hipq.jobs WHERE id = $second
			AND outcome = 'succeeded'", 1, 8), 'a successor runs after a failed job');
	is($hipq->outcome($first), 'failed', 'the job before the successor has failed');

	$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'by_lock', retry_base => '1 day',
		retry_max => '1 day')});
	($first, $lock) = start('by_lock', ', max_retries => 5', '{"lock": 1, "fail": 1}');
	($action, $second) = action_of('by_lock',
		q{'{}'::jsonb, job_key => 'k', on_duplicate => 'after'});
	$lock->quit;
	ok($hipq->wait_until("SELECT state = 'retry' FROM hipq.jobs_detail WHERE id = $first"),
		'a job with a successor waits for its retry');
	is($hipq->sql("SELECT count(*) FROM hipq.job WHERE waits_for = 'key' AND id = $second"), 1,
		'a successor waits for a job that waits for its retry');
	is(join(' ', action_of('by_lock',
				q{'{"newest": 1}'::jsonb, job_key => 'k', on_duplicate => 'after'})),
		"replaced $second",
		'the newest data are for the successor of a job that waits for its retry');
	is($hipq->sql("SELECT string_agg(job_data::text, ' ' ORDER BY id) FROM hipq.jobs_detail
			WHERE id IN ($first, $second)"), '{"fail": 1, "lock": 1} {"newest": 1}',
		'the job that waits for its retry keeps its data');
	is($hipq->sql("SELECT hipq.cancel($first)"), 't',
		'the job that waits for its retry is cancelled');
	ok($hipq->wait_until("SELECT count(*) FROM hipq.jobs WHERE id = $second AND
			outcome = 'succeeded'", 1, 8), 'a successor runs after a job cancelled in its retry');

	($first, $lock) = start('by_lock',
		q{, max_retries => 5, expires_time => now() + interval '3 s'}, '{"lock": 1, "fail": 1}');
	($action, $second) = action_of('by_lock',
		q{'{}'::jsonb, job_key => 'k', on_duplicate => 'after'});
	$lock->quit;
	ok($hipq->wait_until("SELECT count(*) FROM hipq.jobs WHERE id = $second
			AND outcome = 'succeeded'", 1, 12), 'a successor runs after an expired job');
	is($hipq->outcome($first), 'expired', 'the job before the successor has expired');
}

# ---- the last attempt of a job that waits has the newest data, at its time
foreach my $mode ('after', 'after_first')
{
	my ($action, $id) = action_of('by_lock', q{'{"old": 1}'::jsonb, job_key => 'k',
		scheduled_run_time => '2100-01-01', priority => 3});
	is(join(' ', action_of('by_lock',
				qq{'{"new": 1}'::jsonb, job_key => 'k', on_duplicate => '$mode'})),
		($mode eq 'after' ? 'replaced' : 'returned') . " $id",
		"$mode: a job that waits gets no successor");
	is($hipq->sql("SELECT concat_ws(' ', job_data, priority, extract(year FROM scheduled_run_time))
			FROM hipq.jobs_detail WHERE id = $id"),
		($mode eq 'after' ? '{"new": 1}' : '{"old": 1}') . ' 3 2100',
		"$mode: a job that waits keeps time and priority");
	$hipq->sql("SELECT hipq.cancel($id)");
}

# ---- a successor of a job that has ended meanwhile
foreach my $type ('by_lock', 'by_record')
{
	my ($first, $lock) = start($type);
	my $session = $hipq->session;
	$session->query_safe('BEGIN');
	my $second = $session->query_safe("SELECT id FROM hipq.enqueue_unique('$type', job_key => 'k',
		on_duplicate => 'after')");
	$lock->quit;
	is($hipq->outcome($first), 'succeeded',
		"$type: the job ends before the transaction of its successor");
	$session->query_safe('COMMIT');
	$session->quit;
	ok($hipq->wait_until("SELECT outcome FROM hipq.jobs WHERE id = $second", 'succeeded', 8),
		"$type: a successor runs though the job before it ended before its transaction");
}

# ---- between the end of a job and the release of its successor, which the scheduler has to see to
# after a cancellation
{
	my $first;
	my $lock = $hipq->hold_lock;
	$first = $hipq->enqueue('by_record', q{'{"lock": 1}', queue => 'app.main', job_key => 'k'});
	$hipq->pid_of($first);
	my ($action, $second) = action_of('by_record',
		q{'{"n": 1}'::jsonb, job_key => 'k', on_duplicate => 'after'});
	my $scheduler = HipqFaults::stop_at_rest($hipq, 'hipq scheduler');
	$hipq->sql("SELECT hipq.cancel($first)");
	is($hipq->outcome($first), 'cancelled', 'the job is cancelled while the scheduler is stopped');
	my %expected = (after => 'replaced', after_first => 'returned', replace => 'replaced',
		merge => 'merged', debounce => 'debounced');
	is(join(' ', action_of('by_record',
				qq{'{"n": 2}'::jsonb, job_key => 'k', on_duplicate => '$_'})),
		"$expected{$_} $second", "$_: the successor stands for the job that has ended")
			foreach qw(after after_first replace merge debounce);
	is($hipq->sql("SELECT count(*) FROM ran WHERE id = $second"), 0,
		'the successor has not run while the scheduler is stopped');
	kill 'CONT', $scheduler;
	is($hipq->outcome($second), 'succeeded', 'the successor runs when the scheduler goes on');
	is($hipq->sql("SELECT data FROM ran WHERE id = $second"), '{"n": 2}', 'with the newest data');
	$lock->quit;
}

# ---- a successor that expires
{
	my ($first, $lock) = start('by_record');
	my ($action, $second) = action_of('by_record', q{'{}'::jsonb, job_key => 'k',
		expires_time => now() + interval '1 s', on_duplicate => 'after'});
	is($hipq->outcome($second), 'expired', 'a successor expires while the job before it runs');
	is($hipq->sql("SELECT outcome FROM hipq.jobs WHERE id = $first"), 'running',
		'the job before an expired successor runs on');
	($action, my $third) = action_of('by_record',
		q{'{}'::jsonb, job_key => 'k', on_duplicate => 'after'});
	is($action, 'after', 'after an expired successor there can be another one');
	$lock->quit;
	is($hipq->outcome($third), 'succeeded', 'the other successor runs');
	is($hipq->sql("SELECT count(*) FROM ran WHERE id = $second"), 0, 'the expired one never ran');
}

# ---- a successor that could never start
{
	my ($first, $lock) = start('by_record');
	like($hipq->error_of(q{SELECT hipq.enqueue('by_record', job_key => 'k', on_duplicate => 'after',
			scheduled_run_time => '2100-01-02', expires_time => '2100-01-01')}),
		qr/22023: expires_time 2100-01-01 .* is before scheduled_run_time 2100-01-02 /,
			'a successor that expires before it is due is refused');
	is($hipq->sql('SELECT count(*) FROM hipq.job WHERE waits_for = $$key$$'), 0,
		'a refused successor leaves no row');
	$lock->quit;
	is($hipq->outcome($first), 'succeeded', 'the job before a refused successor succeeds');
}

# ---- a successor's data are checked against the parameters of its type
{
	$hipq->sql(q{SELECT hipq.register_job_type('app.main', 'strictly', handler => 'work',
		claim => 'record',
		parameters =>
			'{"to": {"type": "string", "required": true},
			"lock": {"type": "number"}, "lang": {"type": "string", "default": "en"}}')});
	my ($first, $lock) = start('strictly', '', '{"to": "a", "lock": 1}');
	like($hipq->error_of(q{SELECT hipq.enqueue('strictly', '{"lang": "de"}', job_key => 'k',
			on_duplicate => 'after')}), qr/22023: job_data of job type "strictly" lacks "to"/,
		'a successor that lacks a parameter is refused');
	is($hipq->sql('SELECT count(*) FROM hipq.job WHERE waits_for = $$key$$'), 0,
		'a successor that lacks a parameter leaves no row');
	my ($action, $second) = action_of('strictly',
		q{'{"to": "b"}'::jsonb, job_key => 'k', on_duplicate => 'after'});
	is($action, 'after', 'a successor with its parameters is enqueued');
	$lock->quit;
	is($hipq->outcome($_), 'succeeded', 'jobs with parameters succeed') foreach $first, $second;
	is($hipq->sql("SELECT data FROM ran WHERE id = $second"), '{"to": "b", "lang": "en"}',
		'a successor has the defaults of its parameters');
}

# ---- a running job cannot be deleted, so its end cannot bring back a deleted row
foreach my $type (qw(by_lock by_record))
{
	my ($first, $lock) = start($type);
	my ($status, $out, $error) =
		$hipq->try_sql("SET lock_timeout = '200 ms'; DELETE FROM hipq.app_main WHERE id = $first");
	like($error, $type eq 'by_record' ? qr/ERROR:  job $first in state "running" cannot be deleted/
		: qr/ERROR:  canceling statement due to lock timeout/,
		"$type: a job that runs cannot be deleted");
	$lock->quit;
	is($hipq->outcome($first), 'succeeded',
		"$type: a job runs to its end after the refused DELETE");
	is($hipq->sql("SELECT count(*) FROM hipq.app_main WHERE id = $first"), 1,
		"$type: a job has one row after the refused DELETE");
}

# ---- a successor can be cancelled, is checked, and is rolled back with its transaction
{
	my ($first, $lock) = start('by_record');
	my ($action, $second) = action_of('by_record',
		q{'{"never": 1}'::jsonb, job_key => 'k', on_duplicate => 'after'});
	is($hipq->sql("SELECT hipq.cancel($second, 'not needed')"), 't',
		'a successor can be cancelled');
	is($hipq->sql("SELECT concat_ws(' ', outcome, error, job_data) FROM hipq.jobs_detail
			WHERE id = $second"), 'cancelled cancelled: not needed {"never": 1}',
		'a cancelled successor is final');
	$hipq->sql("BEGIN; SELECT hipq.enqueue('by_record', job_key => 'k', on_duplicate => 'after');
		ROLLBACK");
	like($hipq->error_of("SELECT hipq.enqueue('by_record', job_key => 'k', on_duplicate => 'after',
			timeout => 0)"), qr/22023/, 'a successor is checked like any new job');
	is($hipq->sql('SELECT count(*) FROM hipq.job WHERE waits_for = $$key$$'), 0,
		'a successor that is rolled back leaves no row');
	($action, $second) = action_of('by_record',
		q{'{}'::jsonb, job_key => 'k', on_duplicate => 'after'});
	$lock->quit;
	is($hipq->outcome($second), 'succeeded', 'a successor runs after a cancelled one');
}

# ---- crashes
foreach my $fault ('stop immediate', 'kill postmaster', 'kill scheduler')
{
	foreach my $type (qw(by_lock by_record))
	{
		my ($first, $lock) = start($type);
		action_of($type, q{'{"n": 1}'::jsonb, job_key => 'k', on_duplicate => 'after'});
		my ($action, $second) = action_of($type,
			q{'{"n": 2}'::jsonb, job_key => 'k', on_duplicate => 'after'});
		HipqFaults::inject($hipq, $fault);
		eval { $lock->quit };    # the server has ended its session
		HipqFaults::bring_back($hipq, $fault);
		is($hipq->outcome($second), 'succeeded', "$type: a successor survives: $fault");
		is($hipq->sql("SELECT data FROM ran WHERE id = $second"), '{"n": 2}',
			"$type: it has the newest data after: $fault");
		is($hipq->sql("SELECT accepted_time >= (SELECT update_time FROM hipq.jobs_detail
				WHERE id = $first) FROM hipq.jobs_detail WHERE id = $second"), 't',
			"$type: it runs after the first job has run again: $fault");
	}
}

# ---- a dump
{
	my ($first, $lock) = start('by_record');
	my ($action, $second) = action_of('by_record',
		q{'{"restored": 1}'::jsonb, job_key => 'k', on_duplicate => 'after'});
	my $held = q{SELECT to_jsonb(job) - 'update_time' FROM hipq.job WHERE waits_for = 'key'};
	my $row = $hipq->sql($held);
	my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump';
	$node->command_ok([ 'pg_dump', '-Fc', '-d', $node->connstr('postgres'), '-f', $dump ],
		'a dump');
	$node->safe_psql('postgres', 'CREATE DATABASE restored');
	$node->command_ok([ 'pg_restore', '-d', $node->connstr('restored'), $dump ],
		'pg_restore restores a dump with a successor');
	$lock->quit;
	my $restored = $hipq->in('restored');
	is($restored->sql($held), $row, 'a restored database has the successor, with all its values');
	$restored->sql('SELECT hipq.release_hold()');
	is($restored->outcome($second), 'succeeded', 'a successor runs in the restored database');
	is($restored->sql("SELECT string_agg(id::text, ' ' ORDER BY n) FROM ran
			WHERE id IN ($first, $second)"), "$first $second",
		'it runs there after the first job has run again');
	is($hipq->outcome($second), 'succeeded',
		'a successor runs in the original database after a dump');
}

# ---- handlers that enqueue jobs under their own key
$hipq->sql(q{
	CREATE PROCEDURE step(id bigint, data jsonb) LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO ran (id, data) VALUES (id, data);
		COMMIT;
		IF (data->>'n')::integer < 3 THEN
			PERFORM hipq.enqueue('step', jsonb_build_object('n', (data->>'n')::integer + 1, 'mode',
				data->>'mode'), job_key => 'own', on_duplicate => data->>'mode');
		END IF;
	END $$;
	CREATE FUNCTION hop(id bigint, data jsonb) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO ran (id, data) VALUES (id, data);
		IF (data->>'n')::integer < 3 THEN
			PERFORM hipq.enqueue('hop', jsonb_build_object('n', (data->>'n')::integer + 1, 'mode',
				data->>'mode'), job_key => 'own', on_duplicate => data->>'mode');
		END IF;
	END $$;
	SELECT hipq.register_job_type('app.main', 'step', handler => 'step');
	SELECT hipq.register_job_type('app.main', 'hop', handler => 'hop')});
{
	my $id = $hipq->enqueue('step', q{'{"n": 1, "mode": "error"}', job_key => 'own'});
	is($hipq->outcome($id), 'failed', 'a procedure cannot enqueue under its own key');
	is($hipq->sql("SELECT hint FROM hipq.attempts_detail WHERE job_id = $id"),
		"It may commit before it ends. Use hipq.enqueue() with on_duplicate => 'after', "
			. 'or a function as handler.',
		'the hint says how a procedure can enqueue under its own key');
	$hipq->sql('TRUNCATE ran');
	$hipq->enqueue('step', q{'{"n": 1, "mode": "after"}', job_key => 'own'});
	ok($hipq->wait_until(q{SELECT string_agg(data->>'n', ' ' ORDER BY n) FROM ran}, '1 2 3', 20),
		'a procedure can enqueue its successor with on_duplicate => after');
	foreach my $mode ('after', 'after_first', 'replace', 'return', 'error')
	{
		$hipq->wait_until(q{SELECT count(*) FROM hipq.app_main WHERE state <> 'final'}, 0);
		$hipq->sql('TRUNCATE ran');
		$hipq->enqueue('hop', qq{'{"n": 1, "mode": "$mode"}', job_key => 'own'});
		ok($hipq->wait_until(q{SELECT string_agg(data->>'n', ' ' ORDER BY n) FROM ran}, '1 2 3',
				20), "a function can enqueue under its own key: $mode");
	}
	$hipq->wait_until(q{SELECT count(*) FROM hipq.app_main WHERE state <> 'final'}, 0);
}

# ---- sessions use all modes at the same time, on few keys, while executors run the jobs
$hipq->sql(q{
	CREATE TABLE did (action text, id bigint);
	-- Shows whether two jobs of one key run at once. (A lock would be held a moment longer than
	-- other sessions see the job.)
	CREATE TABLE stay (key text, start_time timestamptz, end_time timestamptz);
	GRANT INSERT ON stay TO app;
	CREATE FUNCTION busy(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE start_time timestamptz := clock_timestamp();
	BEGIN
		INSERT INTO ran (id) VALUES (job.id);
		IF job.id % 100 = 0 THEN PERFORM pg_sleep(0.05); END IF;
			-- Some jobs run long enough for enqueueing sessions to find them running.
		INSERT INTO stay VALUES (job.job_key, start_time, clock_timestamp());
	END $$;
	CREATE FUNCTION try_enqueue(mode text, key integer) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO did
		SELECT action, id FROM hipq.enqueue_unique('busy', jsonb_build_object(mode, key),
			job_key => 'key ' || key,
			scheduled_run_time => now() + random() * interval '10 ms', on_duplicate => mode);
	EXCEPTION
		WHEN unique_violation THEN
			IF mode <> 'error' THEN RAISE; END IF;
		WHEN object_in_use THEN
			IF mode NOT IN ('replace', 'merge', 'debounce') THEN RAISE; END IF;
	END $$;
	SELECT hipq.register_job_type('app.main', 'busy', handler => 'busy');
	TRUNCATE ran});
{
	my $script = PostgreSQL::Test::Utils::tempdir() . '/enqueue.sql';
	append_to_file($script, q{
\set key random(1, 100)
\set mode random(1, 7)
SELECT try_enqueue(
    ('{error, return, replace, merge, debounce, after, after_first}'::text[])[:mode], :key);
});
	$node->command_ok([ 'pgbench', '-n', '-f', $script, '-c', $clients, '-j', 2, '-t', $calls, '-d',
			$node->connstr('postgres') ],
		"$clients sessions with $calls calls each meet no error");
	ok($hipq->wait_until(q{SELECT count(*) FROM hipq.app_main WHERE state <> 'final'}, 0, 120),
		'all jobs of all modes end');
	is($hipq->sql('SELECT count(*) FROM hipq.job WHERE waits_for = $$key$$'), 0,
		'no row of a successor is left after all modes');
	is($hipq->sql(q{SELECT count(*) FROM hipq.jobs WHERE job_type = 'busy'
			AND outcome <> 'succeeded'}), 0, 'every job of all modes succeeds');
	is($hipq->sql(q{SELECT count(*) FROM (SELECT start_time <= max(end_time) OVER (PARTITION BY key
			ORDER BY start_time, end_time
		ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS ran_beside FROM stay) AS each
			WHERE ran_beside}), 0, 'no two jobs of one key ran at once');
	is($hipq->sql(q{SELECT count(*) FROM ran}), $hipq->sql(q{SELECT count(*) FROM did
			WHERE action IN ('inserted', 'after')}), 'as many jobs run as calls inserted');
	is($hipq->sql(q{SELECT count(*) FROM (SELECT DISTINCT id FROM did EXCEPT SELECT id
			FROM ran) AS lost}), 0, 'every job whose id was returned has run');
	is($hipq->sql(q{SELECT string_agg(DISTINCT action, ' ' ORDER BY action) FROM did}),
		'after debounced inserted merged replaced returned',
		'each action of enqueue_unique() occurred');
	unlike(slurp_file($node->logfile), qr/deadlock detected/, 'no deadlock occurred');
	note $hipq->sql(q{SELECT string_agg(action || ' ' || count, ', ')
		FROM (SELECT action, count(*) FROM did GROUP BY action) AS d});
}

done_testing();
