# Under load, with concurrent workers, operators and faults, the answers of external workers agree
# with the tables.
#
#   LOAD_CYCLES    number of faults in a round (8)
#   SEED           chooses the faults; the test prints it
#   SOAK_MINUTES   repeats rounds, with one seed after the other, for this time (make soak)
use strict;
use warnings;
use HipqCluster;
use HipqFaults;
use List::Util qw(shuffle);
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $cycles = $ENV{LOAD_CYCLES} || 8;
my $seed = $ENV{SEED} || int rand 1e9;
my $end = time() + 60 * ($ENV{SOAK_MINUTES} || 0);

my @faults = ('kill scheduler', 'terminate scheduler', 'terminate launcher', 'kill backend',
	'terminate clients', 'kill postmaster', 'stop fast', 'stop immediate');

sub make_load
{
	my ($hipq) = @_;
	$hipq->create_queue('load.out', throttle_limit => 30);
	$hipq->sql(q{
		SELECT hipq.register_job_type('load.out', type, handler_kind => 'notify',
			max_retries => 1000, retry_base => '10 ms', retry_multiplier => 1, queue_ttl => 2,
			default_timeout => 2)
		FROM unnest('{a, b}'::text[]) AS type;
		-- Leaves its job running, until a worker completes it.
		CREATE FUNCTION leave(job hipq.job) RETURNS void
			LANGUAGE sql AS 'SELECT hipq.complete_later()';
		SELECT hipq.register_job_type('load.out', 'left', handler => 'leave', max_retries => 1000,
			retry_base => '10 ms', retry_multiplier => 1, default_timeout => 2);
		CREATE TABLE sent (id bigint);
		CREATE TABLE said (id bigint, attempt integer, what text);
		CREATE TABLE accepted (id bigint, attempt integer);
		GRANT ALL ON sent, said, accepted TO app;

		CREATE PROCEDURE send(jobs integer) LANGUAGE plpgsql AS $$
		BEGIN
			FOR i IN 1 .. jobs / 5 LOOP
				INSERT INTO sent SELECT hipq.enqueue(('{a,b,a,b,left}'::text[])[n],
					queue => 'load.out', priority => (random() * 3)::integer)
					FROM generate_series(1, 5) AS n;
				COMMIT;
				PERFORM pg_sleep(0.01);
			END LOOP;
		END $$;

		-- A worker's answer about a job that it accepted, and a row about it, in one transaction.
		CREATE FUNCTION answer(job bigint, its_attempt integer, dice float) RETURNS void
			LANGUAGE plpgsql AS $$
		DECLARE what text := CASE WHEN dice < 0.65 THEN 'complete' WHEN dice < 0.75 THEN
			'fail' WHEN dice < 0.78 THEN 'give up' WHEN dice < 0.88 THEN
			'release' WHEN dice < 0.92 THEN 'extend'
			WHEN dice < 0.96 THEN 'change its mind' ELSE 'forget it' END;
		BEGIN
			CASE what
				WHEN 'complete' THEN PERFORM hipq.complete(job, its_attempt);
				WHEN 'fail' THEN PERFORM hipq.fail(job, its_attempt, 'no luck');
				WHEN 'give up' THEN PERFORM hipq.fail(job, its_attempt, 'never', false);
				WHEN 'release' THEN PERFORM hipq.release(job, its_attempt, '10 ms');
				WHEN 'extend' THEN PERFORM hipq.extend(job, its_attempt, '1 s');
					PERFORM hipq.complete(job, its_attempt); what := 'complete';
				WHEN 'change its mind' THEN PERFORM hipq.complete(job, its_attempt);
					RAISE 'never mind';
				WHEN 'forget it' THEN RETURN;
			END CASE;
			INSERT INTO said VALUES (job, its_attempt, what);
		EXCEPTION
			WHEN SQLSTATE 'HQ003' THEN INSERT INTO said VALUES (job, its_attempt, 'too late');
			WHEN raise_exception THEN NULL;
		END $$;

		CREATE PROCEDURE be_worker(name text, steady boolean) LANGUAGE plpgsql AS $$
		DECLARE
			worker bigint;
			jobs bigint[];
			attempts integer[];
		BEGIN
			LOOP
				worker := hipq.register_worker(name, '{load.out}', CASE
					WHEN steady OR random() < 0.7 THEN '{a, b}' ELSE '{b}' END::text[],
					capacity => 1 + (random() * 8)::integer, prefetch => (random() * 8)::integer,
						take_over => true);
				COMMIT;
				FOR i IN 1 .. 200 LOOP
					IF random() < 0.1 AND NOT steady THEN
						BEGIN
							PERFORM hipq.claim(worker, 1 + (random() * 5)::integer);
							RAISE 'not now';
						EXCEPTION WHEN raise_exception THEN NULL;
						END;
					END IF;
					SELECT array_agg(claimed.id), array_agg(claimed.attempt) INTO jobs, attempts
						FROM hipq.claim(worker, 1 + (random() * 5)::integer, '50 ms') AS claimed;
					INSERT INTO accepted SELECT * FROM unnest(jobs, attempts);
					IF random() < 0.02 AND NOT steady THEN ROLLBACK; CONTINUE; END IF;
					COMMIT;
					FOR n IN 1 .. coalesce(cardinality(jobs), 0) LOOP
						PERFORM answer(jobs[n], attempts[n], CASE WHEN steady THEN
							0 ELSE random() END);
						IF random() < 0.7 THEN COMMIT; END IF;
					END LOOP;
					COMMIT;
					FOR jobs, attempts IN SELECT ARRAY[id], ARRAY[attempt] FROM hipq.load_out
						WHERE state = 'running' AND worker_id = 0 LIMIT 5 LOOP
						PERFORM answer(jobs[1], attempts[1], CASE WHEN steady THEN
							0 ELSE random() END);
					END LOOP;
					COMMIT;
				END LOOP;
				IF random() < 0.5 THEN PERFORM hipq.drain_worker(worker);
					ELSE PERFORM hipq.deregister_worker(worker); END IF;
				COMMIT;
			END LOOP;
		END $$});
	return;
}

# Forks a process that calls a procedure as role app. It calls the procedure again if that ends
# before `until`, for example because the server stops.
sub start
{
	my ($hipq, $call, $until) = @_;
	my $pid = fork // die "fork: $!";
	return $pid if $pid;
	HipqCluster::end_by_signals();
	my @psql = ('psql', '-XAtq', '-U', 'app', '-d', $hipq->node->connstr('postgres'),
		'-c', "CALL $call");
	open STDOUT, '>', '/dev/null';
	open STDERR, '>', '/dev/null';
	do { system(@psql) == 0 and POSIX::_exit(0); usleep(50_000); } while (time() < $until);
	POSIX::_exit(1);
}

# Makes some calls of operators.
sub disturb
{
	my ($hipq) = @_;
	my $some = q{(SELECT id FROM hipq.load_out_live ORDER BY random() LIMIT 1)};
	my @deeds = (
		q{SELECT hipq.pause('load.out', 'a'); SELECT hipq.resume('load.out', 'a')},
			q{SELECT hipq.pause('load.out'); SELECT pg_sleep(0.2); SELECT hipq.resume('load.out')},
		"INSERT INTO said SELECT id, NULL, 'cancel' FROM $some AS job WHERE hipq.cancel(id)",
			"SELECT hipq.fail_job(id, 'by hand') FROM $some AS job",
		"SELECT hipq.reschedule(id, hipq.now() + interval '100 ms') FROM $some AS job",
		"UPDATE hipq.load_out SET throttle_factor = 2
			WHERE state IN ('initial', 'retry') AND id = $some",
		q{SELECT hipq.alter_job_type('load.out', 'a', queue_ttl => 1 + (random() * 2)::integer)},
		q{SELECT hipq.alter_queue('load.out', throttle_limit => 10 + (random() * 30)::integer)},
		q{SELECT hipq.drain_worker(worker_id) FROM hipq.workers_detail ORDER BY random() LIMIT 1},
		q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'
			AND backend_type = 'client backend' ORDER BY random() LIMIT 1});
	$hipq->try_sql($_) foreach shuffle(@deeds);
	return;
}

# Tests the invariants after a round.
sub check
{
	my ($hipq) = @_;
	my $none = sub { my ($what, $sql) = @_;
		is($hipq->sql("SELECT count(*), coalesce(string_agg(DISTINCT found::text, ' '), '')
			FROM (SELECT * FROM ($sql) AS rows LIMIT 10) AS found"), '0|', $what); return; };
	$none->('no job is lost', 'SELECT id FROM sent EXCEPT SELECT id FROM hipq.job');
	$none->('no job has two rows', 'SELECT id FROM hipq.job GROUP BY id HAVING count(*) > 1');
	$none->('no job was completed twice',
		q{SELECT id FROM said WHERE what IN ('complete', 'give up')
		GROUP BY id HAVING count(*) > 1});
	$none->('each job that succeeded was completed by its last attempt',
		q{SELECT id, attempt FROM hipq.job WHERE retry_reason <> 'cancelled'
			AND error = 'NONE' EXCEPT SELECT id, attempt FROM said WHERE what = 'complete'});
	$none->('each completed job has succeeded', q{SELECT id, attempt FROM said
		WHERE what = 'complete' EXCEPT SELECT id, attempt FROM hipq.job WHERE error = 'NONE'});
	$none->('each attempt that failed for good has reason explicit_failure',
		q{SELECT id, attempt FROM said WHERE what = 'give up'
		EXCEPT SELECT job_id, attempt FROM hipq.attempt WHERE reason = 'explicit_failure'});
	$none->('the history has each failed attempt',
		q{SELECT id, attempt FROM said WHERE what = 'fail' EXCEPT
		SELECT job_id, attempt FROM hipq.attempt WHERE reason = 'transient_error'});
	$none->('the history has each released attempt',
		q{SELECT id, attempt FROM said WHERE what = 'release'
		EXCEPT SELECT job_id, attempt FROM hipq.attempt WHERE reason = 'released'});
	$none->('a worker released each attempt with reason released',
		q{SELECT job_id, attempt FROM hipq.attempt WHERE reason = 'released'
		EXCEPT SELECT id, attempt FROM said WHERE what = 'release'});
	$none->('no attempt was accepted twice',
		'SELECT id, attempt FROM accepted GROUP BY id, attempt HAVING count(*) > 1');
	$none->('each attempt of a worker was accepted, or was not accepted in time',
		q{SELECT id, number FROM hipq.job, generate_series(1, attempt) AS number
		WHERE job_type <> 'left' EXCEPT SELECT id, attempt FROM accepted
		EXCEPT SELECT job_id, attempt FROM hipq.attempt WHERE reason = 'queue_timeout'});
	$none->('no attempt that was not accepted in time was accepted',
		q{SELECT job_id, attempt FROM hipq.attempt WHERE reason = 'queue_timeout'
		INTERSECT SELECT id, attempt FROM accepted});
	# A job that ends while it waits has one more row, for its last attempt, whose start and end are
	# the end of the job.
	$none->('each attempt ends once', 'SELECT job_id, attempt FROM hipq.attempt
		WHERE started_time < ended_time GROUP BY job_id, attempt HAVING count(*) > 1');
	$none->('a worker gave up each attempt with reason explicit_failure',
		q{SELECT job_id, attempt FROM hipq.attempt WHERE reason = 'explicit_failure'
		AND error <> 'by hand' EXCEPT SELECT id, attempt FROM said WHERE what = 'give up'});
	$none->('no job is in flight', 'SELECT id FROM hipq._running_jobs() AS job (id)');
	$none->('no worker counts a job', 'SELECT name, queue_depth, running_jobs FROM hipq.workers
		WHERE queue_depth <> 0 OR running_jobs <> 0');
	$none->('no limiter counts a job',
		'SELECT * FROM hipq._limiters() WHERE used <> 0 OR jobs <> 0');
	unlike(slurp_file($hipq->node->logfile),
		qr/PANIC:|TRAP:|leaked|cannot rescue job|cannot give job|dropped a dispatch|is not there any more|cursor miss/,
		'the log has nothing alarming');
	return;
}

sub run_round
{
	my ($seed) = @_;
	srand $seed;
	note "seed $seed: $cycles faults";
	my $hipq = HipqCluster->new("external_load_$seed", 'hipq.worker_grace' => '1s',
		'hipq.heartbeat_timeout' => '2s', 'hipq.retry_jitter' => 0, 'hipq.probe_interval' => '1s');
	make_load($hipq);
	my @now = map { shuffle(@faults) } 0 .. $cycles / @faults;
	foreach my $cycle (1 .. $cycles)
	{
		my $fault = $now[ $cycle - 1 ];
		my $until = time() + 3;
		my @workers = map { start($hipq, "be_worker('worker $_', false)", $until) } 1 .. 4;
		my $sender = start($hipq, 'send(400)', $until);
		usleep(300_000 + int rand 1_000_000);
		disturb($hipq);
		my $what = HipqFaults::inject($hipq, $fault);
		HipqFaults::bring_back($hipq, $fault) or die 'the server does not come back';
		disturb($hipq);
		waitpid $sender, 0;
		usleep(10_000) while time() < $until;
		$hipq->wait_until(q{SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE usename = 'app' AND backend_type = 'client backend'}, 0);
		waitpid $_, 0 foreach @workers;
		note sprintf '%2d %-20s %s', $cycle, $fault, $what // 'no process';
	}
	my $steady = start($hipq, "be_worker('steady', true)", time() + 600);
	$hipq->sql(q{SELECT hipq.resume('load.out'); SELECT hipq.resume('load.out', 'a')});
	ok($hipq->wait_until('SELECT count(*) FROM hipq.load_out_live', 0, 120), 'every job ends')
		or diag($hipq->sql('SELECT id, state, attempt, worker_id, deadline
			FROM hipq.load_out_live LIMIT 10'));
	kill 'TERM', $steady;
	$hipq->wait_until(q{SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE usename = 'app' AND backend_type = 'client backend'}, 0);
	waitpid $steady, 0;
	cmp_ok($hipq->sql('SELECT count(*) FROM sent'), '>', 50 * $cycles,
		'at least 50 jobs per fault were enqueued');
	check($hipq);
	note $hipq->sql(q{SELECT string_agg(concat_ws(' ', count, what), ', ' ORDER BY what)
		FROM (SELECT count(*), what FROM said GROUP BY what) AS answers});
	note $hipq->sql(q{SELECT string_agg(concat_ws(' ', count, reason), ', ' ORDER BY reason)
		FROM (SELECT count(*), reason FROM hipq.attempt GROUP BY reason) AS ends});
	$hipq->node->teardown_node;
	$hipq->node->clean_node if Test::More->builder->is_passing;
	return;
}

do
{
	subtest("seed $seed", \&run_round, $seed++);
} while (time() < $end && Test::More->builder->is_passing);

done_testing();
