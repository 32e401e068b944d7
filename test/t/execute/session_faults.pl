# A failure that the session causes does not charge the job. In a read-only database jobs wait. A
# session with stale state is replaced.
use strict;
use warnings;
use HipqCluster;
use Test::More;

$ENV{PGOPTIONS} = '-c default_transaction_read_only=off';
my $hipq = HipqCluster->new('session_faults', 'hipq.max_executors' => 2);
$hipq->create_queue('app.jobs', history => 'all');
$hipq->sql(q{
	CREATE TABLE done (n integer, pid integer DEFAULT pg_backend_pid());
	GRANT ALL ON done TO app;
	CREATE FUNCTION work(data jsonb) RETURNS void LANGUAGE sql AS
		$$ INSERT INTO done (n) VALUES ((data->>'n')::integer) $$;
	CREATE FUNCTION work_on_all(jobs hipq.job[]) RETURNS void LANGUAGE sql AS
		$$ INSERT INTO done (n) SELECT (job_data->>'n')::integer FROM unnest(jobs) $$;
	CREATE FUNCTION look(data jsonb) RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM done';
	CREATE FUNCTION work_read_only(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		SET LOCAL transaction_read_only = on;
		INSERT INTO done VALUES (0);
	END $$;
	SELECT hipq.register_job_type('app.jobs', 'work', handler => 'work', max_retries => 0),
		hipq.register_job_type('app.jobs', 'batch', handler => 'work_on_all', batch_size => 10,
			max_retries => 0),
		hipq.register_job_type('app.jobs', 'look', handler => 'look'),
		hipq.register_job_type('app.jobs', 'hasty', handler => 'work', max_retries => 3,
			do_not_retry_on => '{25006}'),
		hipq.register_job_type('app.jobs', 'read only', handler => 'work_read_only',
			max_retries => 0)});

# ---- a read-only database
sub run_all_read_only
{
	my ($how, $begin, $end) = @_;
	$hipq->sql('TRUNCATE done');
	$begin->();
	my @jobs = map { $hipq->enqueue('work', qq{'{"n": $_}'}) } 1 .. 5;
	push @jobs, map { $hipq->enqueue('batch', qq{'{"n": $_}'}) } 6 .. 20;
	my $alert = q{SET hipq.clock_offset = 120; SELECT severity || ': ' || detail
		FROM hipq.alerts_detail
		WHERE alert = 'jobs wait: executor'};
	ok($hipq->wait_until($alert =~ s/detail/substring(detail FROM 'begin read-only')/r,
		'alarm: begin read-only'), "$how: an alert reports read-only transactions");
	like($hipq->why($jobs[-1]),
		qr/^executor: Transactions of the queue owner begin read-only here, and/,
		"$how: why() reports read-only transactions");
	is($hipq->sql(q{SELECT count(*) FROM hipq.dead_letters}), 0, "$how: no job has failed");
	$end->();
	is($hipq->outcome($_), 'succeeded', "$how: job $_ runs when the database can be written again")
		foreach @jobs;
	is($hipq->sql('SELECT count(DISTINCT n) FROM done'), 20, "$how: each job has done its work");
	is($hipq->sql(q{SELECT max(retry_count) FROM hipq.jobs_detail}), 0, "$how: no job was charged");
	is($hipq->sql($alert), '', "$how: the alert ends");
	return;
}

run_all_read_only('server',
	sub { $hipq->set('default_transaction_read_only' => 'on') },
	sub { $hipq->set('default_transaction_read_only' => 'off') });
my $tried = $hipq->sql(q{SELECT string_agg(DISTINCT concat_ws(' ', reason, sqlstate), ', ')
	FROM hipq.attempts_detail WHERE reason <> 'succeeded'});
is($tried, 'read_only 25006', 'the history says that attempts met read-only transactions');
run_all_read_only('role',
	sub {
		$hipq->sql('ALTER ROLE app SET default_transaction_read_only = on');
		$hipq->sql(q{SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
			WHERE backend_type = 'hipq executor'});
	},
	sub { $hipq->sql('ALTER ROLE app RESET default_transaction_read_only') });

$hipq->set('default_transaction_read_only' => 'on');
is($hipq->outcome($hipq->enqueue('look', q{'{}'})), 'succeeded',
	'a job that only reads runs in a read-only database');
is($hipq->outcome($hipq->enqueue('hasty', q{'{"n": 1}'})), 'failed',
	'a type without retries on 25006 fails');
$hipq->set('default_transaction_read_only' => 'off');
is($hipq->outcome($hipq->enqueue('read only', q{'{}'})), 'failed',
	'a handler that makes its own transaction read-only fails');

# ---- a session with stale state
$hipq->sql(q{
	CREATE FUNCTION lookup_in_old(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		IF data ? 'always' OR EXISTS (SELECT FROM done WHERE pid = pg_backend_pid()) THEN
			RAISE 'cache lookup failed for relation 4711' USING ERRCODE = 'XX000';
		END IF;
	END $$;
	SELECT hipq.register_job_type('app.jobs', 'lookup', handler => 'lookup_in_old',
		max_retries => 0)});
is($hipq->outcome($hipq->enqueue('work', q{'{"n": 1}'})), 'succeeded', 'a job runs in a session');
my $job = $hipq->enqueue('lookup', q{'{}'});
is($hipq->outcome($job), 'succeeded',
	'a job that fails because of stale state runs again in another session');
is($hipq->sql("SELECT reason FROM hipq.attempts_detail WHERE job_id = $job
		ORDER BY attempt LIMIT 1"),
	'stale_session', 'the attempt with stale state has reason stale_session');
$job = $hipq->enqueue('lookup', q{'{"always": true}'});
is($hipq->outcome($job), 'failed',
	'a job that fails in a fresh session with the same error fails for good');

# ---- a retry handler in a session with stale state
$hipq->sql(q{
	CREATE FUNCTION fail_once(job hipq.job) RETURNS void LANGUAGE plpgsql AS
		$$ BEGIN IF job.attempt = 1 THEN RAISE 'no'; END IF; END $$;
	CREATE FUNCTION ask_new(job hipq.job) RETURNS interval LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM lookup_in_old(coalesce(job.job_data, '{}'));
		RETURN '0';
	END $$;
	SELECT hipq.register_job_type('app.jobs', 'asks', handler => 'fail_once',
		retry_handler => 'ask_new')});
is($hipq->outcome($hipq->enqueue('work', q{'{"n": 2}'})), 'succeeded',
	'a job runs in a session before the retry handler');
$job = $hipq->enqueue('asks', q{'{}'});
is($hipq->outcome($job), 'succeeded',
	'a retry handler that fails because of stale state is called again');
is($hipq->sql("SELECT count(DISTINCT executor_pid) FROM hipq.attempts_detail WHERE job_id = $job"),
	2, 'the retry handler is called again in another session');
$job = $hipq->enqueue('asks', q{'{"always": true}'});
is($hipq->outcome($job), 'failed',
	'a retry handler that fails in a fresh session with the same error ends the job');

done_testing();
