# Jobs of one tenant run in time while another tenant does all it can to disturb others.
#
#   NEIGHBOUR_SECONDS   how long (15); make soak: 60
#
# "ann" enqueues 100 jobs per second of three kinds: SQL, scheduled, external. "mallory", another
# queue owner, runs all attacks at the same time that have ever worked against others, including
# crashes of the server. Each attack is a procedure that is called repeatedly.
use strict;
use warnings;
use HipqCluster;
use List::Util qw(max);
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $seconds = $ENV{NEIGHBOUR_SECONDS} || 15;
# Limit in ms, on a machine without other load: for 99 of 100 jobs the time from due to start while
# the server is up, and for calls the time until the result.
my $slowest = 1000;

my $hipq = HipqCluster->new('neighbour', max_worker_processes => 30, max_connections => 100,
	'hipq.max_executors' => 6, 'hipq.max_workers' => 40, 'hipq.max_running' => 256,
	'hipq.max_statistics' => 40, 'hipq.max_lanes' => 128, 'hipq.retry_jitter' => 0);

sub make_ann
{
	$hipq->sql(q{
		CREATE ROLE ann LOGIN;
		CREATE SCHEMA ann AUTHORIZATION ann;
		SELECT hipq.create_queue('ann.work', owner => 'ann');
		SET SESSION AUTHORIZATION ann;
		CREATE FUNCTION ann.run(data jsonb) RETURNS void LANGUAGE sql AS 'SELECT';
		SELECT hipq.register_job_type('ann.work', type, handler => 'ann.run')
			FROM unnest('{sql, scheduled}'::text[]) AS type;
		-- The attempt of a worker whose server crashes counts: the work may have been done.
		SELECT hipq.register_job_type('ann.work', 'external', handler_kind => 'notify',
			max_retries => 3, retry_base => '100ms');
		CREATE PROCEDURE ann.send(until timestamptz) LANGUAGE plpgsql AS $$
		DECLARE
			start timestamptz := clock_timestamp();
			n integer := 0;
		BEGIN
			WHILE clock_timestamp() < until LOOP
				n := n + 1;
				PERFORM pg_sleep(extract(epoch
					FROM start + n * interval '10 ms' - clock_timestamp()));
				PERFORM hipq.enqueue((ARRAY['sql', 'scheduled', 'external'])[n % 3 + 1], '{}',
					'ann.work',
					scheduled_run_time => CASE WHEN n % 3 = 1 THEN
						now() + random() * interval '3 s' END);
				COMMIT;
			END LOOP;
		END $$;
		CREATE PROCEDURE ann.be_worker() LANGUAGE plpgsql AS $$
		DECLARE
			worker bigint := hipq.register_worker('worker', '{ann.work}', '{external}',
				capacity => 20, take_over => true);
			ids bigint[];
			attempts integer[];
		BEGIN
			COMMIT;
			LOOP
				SELECT array_agg(claimed.id), array_agg(claimed.attempt) INTO ids, attempts
					FROM hipq.claim(worker, 20, '1 s') AS claimed;
				COMMIT;
				PERFORM hipq.complete_attempts(ids, attempts) WHERE ids IS NOT NULL;
				COMMIT;
			END LOOP;
		END $$});
	return;
}

# Makes mallory's roles, queues and attacks. mallory.tried records each attack, and whether it was
# refused.
sub make_mallory
{
	$hipq->sql(q{
		CREATE ROLE mallory LOGIN;
		CREATE ROLE mallet LOGIN;
		CREATE SCHEMA mallory AUTHORIZATION mallory;
		CREATE FUNCTION mallory.crash(how text) RETURNS void
			LANGUAGE c STRICT AS 'hipq_crash_test', 'crash_test';
		SELECT hipq.create_queue('mallory.work', owner => 'mallory');
		SELECT hipq.create_queue('mallory.other', owner => 'mallory', weight => 1000);
		SELECT hipq.create_queue('malice.main', owner => 'mallory');
		-- Nearly as many types and pauses as allowed; mallory would need some seconds for them.
		INSERT INTO hipq.job_type (queue_id, name) SELECT queue_id, 'type ' || n
			FROM hipq.queue, generate_series(1, 9980) AS n WHERE table_name = 'malice_main';
		INSERT INTO hipq.pause (queue_id, job_type, throttle_key, paused_by, paused_time)
		SELECT queue_id, 'type ' || n, 'key', 'mallory', now()
			FROM hipq.queue, generate_series(1, 980) AS n WHERE table_name = 'malice_main';
		SET SESSION AUTHORIZATION mallory;
		SELECT hipq.grant_queue('mallory.work', 'mallet', right_name)
			FROM unnest('{enqueue, work, control, read}'::text[]) AS right_name;
		GRANT USAGE ON SCHEMA mallory TO mallet;
		CREATE TABLE mallory.tried (attack text, sqlstate text);
		GRANT INSERT ON mallory.tried TO mallet;
		CREATE FUNCTION mallory.sleep(data jsonb) RETURNS void
			LANGUAGE sql AS 'SELECT pg_sleep(1000)';
		CREATE FUNCTION mallory.doze(data jsonb[]) RETURNS void
			LANGUAGE sql AS 'SELECT pg_sleep(1)';
		CREATE FUNCTION mallory.fail(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
			RAISE '%', repeat('x', 20000000) USING DETAIL = repeat('y', 10000000); END $$;
		SELECT hipq.register_job_type('mallory.work', 'sleep', handler => 'mallory.sleep',
			max_retries => 100, retry_base => '0');
		SELECT hipq.register_job_type('mallory.work', 'fail', handler => 'mallory.fail',
			max_retries => 20, retry_base => '0');
		SELECT hipq.register_job_type('mallory.work', 'doze', handler => 'mallory.doze',
			batch_size => 200);
		SELECT hipq.register_job_type('mallory.work', 'out', handler_kind => 'notify');

		CREATE FUNCTION mallory.die(data jsonb) RETURNS void LANGUAGE sql AS $$
			SELECT mallory.crash('abort') $$;
		SELECT hipq.register_job_type('mallory.work', 'die', handler => 'mallory.die',
			max_retries => 100, retry_base => '0', default_priority => -32768);

		CREATE FUNCTION mallory.try(attack text, statement text) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN
			EXECUTE statement;
			INSERT INTO mallory.tried VALUES (attack, 'done');
		EXCEPTION WHEN OTHERS THEN
			INSERT INTO mallory.tried VALUES (attack, SQLSTATE);
		END $$;

		-- Locks that are held for a second.
		CREATE PROCEDURE mallory.lock() LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM mallory.try('lock ' || name,
				'LOCK TABLE hipq.' || name || ' IN ACCESS EXCLUSIVE MODE') FROM
				unnest('{mallory_work, mallory_work_live, job, queue, job_type, schedule}'::text[])
				AS name;
			PERFORM mallory.try('rows', 'SELECT id FROM hipq.mallory_work FOR UPDATE');
			PERFORM pg_sleep(1);
			COMMIT;
		END $$;
		CREATE PROCEDURE mallory.alter() LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM hipq.alter_queue('mallory.work', throttle_limit => 1000);
			PERFORM hipq.grant_queue('mallory.work', 'mallet', 'read');
			PERFORM hipq.alter_job_type('mallory.work', 'sleep', default_priority => -100);
			PERFORM pg_sleep(1);
			ROLLBACK;
			INSERT INTO mallory.tried VALUES ('alter', 'rolled back');
		END $$;

		-- Jobs that cannot end.
		CREATE PROCEDURE mallory.poison() LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM mallory.try('deep', $x$SELECT hipq.enqueue('fail',
				repeat('[', 14000) || repeat(']', 14000), 'mallory.work')$x$);
			PERFORM mallory.try('fail', $x$SELECT hipq.enqueue('fail', '{}', 'mallory.work')$x$);
			COMMIT;
			PERFORM pg_sleep(0.5);
		END $$;

		-- Many types, priorities and keys.
		CREATE PROCEDURE mallory.flood() LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM mallory.try('60000 types', $x$INSERT INTO hipq.mallory_work (job_type)
				SELECT 'type ' || n FROM generate_series(1, 60000) AS n$x$);
			COMMIT;
			PERFORM mallory.try('types', format($x$SELECT hipq.enqueue('type %s ' || n, '{}',
				'mallory.work') FROM generate_series(1, 20) AS n$x$, (random() * 1000)::integer));
			COMMIT;
			PERFORM mallory.try('priorities', $x$SELECT hipq.enqueue('sleep',
				'{}', 'mallory.work', priority => (random() * 65535 - 32768)::integer, timeout => 1)
				FROM generate_series(1, 20)$x$);
			PERFORM mallory.try('keys', $x$SELECT hipq.enqueue('sleep', '{}',
				'mallory.other', throttle_key => random()::text, job_key => random()::text)
				FROM generate_series(1, 20)$x$);
			COMMIT;
			PERFORM pg_sleep(0.5);
		END $$;

		-- Frequent changes of types and pauses that every process must learn of.
		CREATE PROCEDURE mallory.churn() LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM mallory.try('more types',
				format($x$SELECT hipq.register_job_type('malice.main', 'more %s')$x$, random()));
			COMMIT;
			PERFORM mallory.try('more keys',
				format($x$SELECT hipq.pause('malice.main', 'type 1', '%s')$x$, random()));
			COMMIT;
			FOR n IN 1 .. 50 LOOP
				PERFORM hipq.alter_job_type('malice.main', 'type 1', max_retries => n),
					hipq.alter_queue('malice.main', weight => n);
				COMMIT;
				PERFORM hipq.pause('malice.main', 'type 1'), hipq.pause('malice.main', 'type 2',
					'another'), hipq.pause('malice.main'), hipq.pause(instance => 'malice');
				COMMIT;
				PERFORM hipq.resume('malice.main', 'type 1'), hipq.resume('malice.main', 'type 2',
					'another'), hipq.resume('malice.main'), hipq.resume(instance => 'malice');
				COMMIT;
			END LOOP;
			INSERT INTO mallory.tried VALUES ('churn', 'done');
		END $$;

		-- Jobs that occupy executors.
		CREATE PROCEDURE mallory.hog() LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM mallory.try('for ever', $x$SELECT hipq.enqueue('sleep', '{}', 'mallory.work',
				timeout => 2000000000, priority => -32768)$x$);
			PERFORM mallory.try('long', $x$SELECT hipq.enqueue('sleep', '{}', 'mallory.work',
				priority => -32768)$x$);
			PERFORM mallory.try('free', $x$SELECT hipq.enqueue('sleep', '{}', 'mallory.work',
				throttle_factor => 0)$x$);
			COMMIT;
			PERFORM pg_sleep(0.2);
		END $$;

		-- Cancellations.
		CREATE PROCEDURE mallory.cancel() LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM hipq.enqueue_many('doze', array_fill('{}'::jsonb, '{200}'),
				queue => 'mallory.work', priority => -32768);
			COMMIT;
			PERFORM pg_sleep(0.3);
			PERFORM mallory.try('cancel', $x$SELECT hipq.cancel_jobs('mallory.work', 'doze')$x$);
			COMMIT;
		END $$;

		-- Crashes of the server, which end all sessions.
		CREATE PROCEDURE mallory.crash_it() LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM mallory.try('crash', $x$SELECT hipq.enqueue('die', '{}', 'mallory.work')
				FROM generate_series(1, 5)$x$);
			COMMIT;
			PERFORM pg_sleep(1);
		END $$;

		-- Workers that complete no job.
		CREATE PROCEDURE mallory.be_workers() LANGUAGE plpgsql AS $$
		DECLARE worker bigint;
		BEGIN
			PERFORM hipq.enqueue_many('out', array_fill('{}'::jsonb, '{100}'),
				queue => 'mallory.work');
			COMMIT;
			FOR n IN 1 .. 60 LOOP
				BEGIN
					worker := hipq.register_worker('worker' || n, '{mallory.work}', '{out}',
						capacity => 100, prefetch => 100, take_over => true);
					INSERT INTO mallory.tried VALUES ('worker', 'done');
				EXCEPTION WHEN OTHERS THEN
					INSERT INTO mallory.tried VALUES ('worker', SQLSTATE);
				END;
				COMMIT;
				PERFORM mallory.try('heartbeat', format('SELECT hipq.heartbeat(%s)', worker));
				PERFORM mallory.try('claim', format('SELECT hipq.claim(%s, 100)', worker));
				COMMIT;
			END LOOP;
			PERFORM pg_sleep(0.5);
		END $$;
		GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA mallory TO mallet;
		GRANT EXECUTE ON ALL PROCEDURES IN SCHEMA mallory TO mallet});
	return;
}

# Forks a process that calls procedures as a role, one after the other, repeatedly until the time is
# over or the process is terminated.
sub start
{
	my ($role, $until, @calls) = @_;
	my $pid = fork // die "fork: $!";
	return $pid if $pid;
	HipqCluster::end_by_signals();
	my @psql = ('psql', '-XAtq', '-U', $role, '-d', $hipq->node->connstr('postgres'),
		map { ('-c', "CALL $_") } @calls);
	open STDOUT, '>', '/dev/null';
	open STDERR, '>', $hipq->node->basedir . "/$role.err";
	do { system @psql; usleep(20_000); } while (time() < $until);
	POSIX::_exit(0);
}

sub stop
{
	my ($role, @pids) = @_;
	kill 'TERM', @pids;
	$hipq->wait_until("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE usename = '$role' AND backend_type = 'client backend'", 0);
	waitpid $_, 0 foreach @pids;
	return;
}

# Makes calls of an operator of ann while the attacks run. Returns the longest time of each, in ms.
# A call whose result is lost with the server does not count.
sub ask
{
	my ($until) = @_;
	my %slowest;
	my %questions = (
		why => q{SELECT count(*) FROM hipq.enqueue('scheduled', '{}', 'ann.work',
			scheduled_run_time => now() + interval '1 day') AS id, hipq.why(id)},
		cancel => q{SELECT hipq.cancel(max(id)) FROM hipq.ann_work WHERE state = 'initial'
			AND scheduled_run_time > now() + interval '1 hour'},
		jobs => 'SELECT count(*) FROM hipq.jobs_detail WHERE id = 1',
		queues => 'SELECT count(*) FROM hipq.queues_detail',
		alter => q{SELECT hipq.alter_queue('ann.work', weight => 100)});
	while (time() < $until)
	{
		foreach my $name (qw(why cancel jobs queues alter))
		{
			my ($status, $out, $error) = $hipq->try_sql("SET SESSION AUTHORIZATION ann;
				SET statement_timeout = '10 s'; \\timing on\n$questions{$name}");
			my ($took) = $status == 0 ? $out =~ /^Time: ([0-9.]+) ms/m : $error
				=~ /statement timeout/ ? (10_000) : ();
			note "$name: $error" if $status == 3;
			$slowest{$name} = $took if defined $took && $took > ($slowest{$name} // 0);
		}
		usleep(200_000);
	}
	return %slowest;
}

# Returns the times in which the server was down after a crash, as an array of tstzrange. The time
# that PostgreSQL takes to restart does not count.
sub outages
{
	my $log = slurp_file($hipq->node->logfile);
	my $time = qr/^(\d{4}-\d\d-\d\d [\d:.]+ \w+) /m;
	my $crash = qr/terminating any other active server processes/;
	my $ready = qr/database system is ready to accept connections/;
	my @outages;
	push @outages, "tstzrange('$1', '$2')"
		while $log =~ /$time.*$crash(?s:.*?)$time.*$ready/g;
	return 'ARRAY[' . join(', ', @outages) . ']::tstzrange[]';
}

make_ann();
make_mallory();
my $slowness = $hipq->slowness;
my $ends = time() + $seconds;
my $worker = start('ann', $ends + 3600, 'ann.be_worker()');
my $sender = start('ann', $ends, "ann.send(to_timestamp($ends))");
# mallory's other jobs occupy all executors that it can have, so the first crash comes before them.
my @attacks = start('mallory', $ends, 'mallory.crash_it()');
ok($hipq->node->wait_for_log(qr/all server processes terminated; reinitializing/),
	'mallory crashes the server');
push @attacks,
	map { start('mallory', $ends, $_) } qw(mallory.lock() mallory.alter() mallory.poison()
	mallory.flood() mallory.churn() mallory.hog() mallory.cancel() mallory.be_workers());
push @attacks, map { start('mallet', $ends, "mallory.$_") } qw(lock() be_workers());
my %slowest = ask($ends);
waitpid $sender, 0;
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.ann_work_live
		WHERE scheduled_run_time < now() + interval '1 hour'}, 0), 'every job of ann ends');
stop('mallory', @attacks);
stop('ann', $worker);

is($hipq->sql(q{SELECT string_agg(DISTINCT outcome, ' ') FROM hipq.jobs WHERE queue = 'ann.work'
		AND outcome NOT IN ('waiting', 'cancelled')}), 'succeeded', 'no job of ann fails')
	or diag $hipq->sql(q{SELECT attempt.* FROM hipq.jobs_detail AS job
		JOIN hipq.attempts_detail AS attempt ON attempt.queue = job.queue
		AND attempt.job_id = job.id WHERE job.queue = 'ann.work' AND outcome = 'failed'});
# Other load of the machine may have begun or ended during the test.
$slowness = max($slowness, $hipq->slowness);
$slowest *= $slowness + $hipq->stalled(60);
my $outages = outages();
note "the server was down: $outages";
foreach my $kind (qw(sql scheduled external))
{
	my ($jobs, $p50, $p99, $most) = split /\|/, $hipq->sql(qq{
		SELECT count(*), round(percentile_disc(0.5) WITHIN GROUP (ORDER BY ms)),
			round(percentile_disc(0.99) WITHIN GROUP (ORDER BY ms)), round(max(ms))
		FROM hipq.jobs_detail, tstzrange(scheduled_run_time, accepted_time) AS wait,
			LATERAL (SELECT coalesce(sum(upper(wait * outage) - lower(wait * outage)), '0') AS down
				FROM unnest($outages) AS outage WHERE wait && outage) AS outages,
			LATERAL (SELECT 1000 * extract(epoch
				FROM accepted_time - scheduled_run_time - down) AS ms) AS waited
		WHERE queue = 'ann.work' AND job_type = '$kind' AND outcome = 'succeeded'});
	note "$kind: $jobs jobs, from due to start p50 $p50, p99 $p99, at most $most ms";
	cmp_ok($jobs, '>', 20 * $seconds / $slowness,
		"at least 20 jobs of kind $kind per second have run");
	cmp_ok($p99, '<', $slowest, "99 of 100 jobs of kind $kind start in time");
}
is(join(' ', sort keys %slowest), 'alter cancel jobs queues why',
	"each call of ann's operator has a result");
foreach my $question (sort keys %slowest)
{
	note sprintf '%s: %d ms at most', $question, $slowest{$question};
	cmp_ok($slowest{$question}, '<', $slowest, "$question: the result comes in time");
}

note $hipq->sql(q{SELECT string_agg(concat_ws(' ', attack, sqlstate, count), ', '
	ORDER BY attack, sqlstate) FROM (SELECT attack, sqlstate, count(*) FROM mallory.tried
	GROUP BY attack, sqlstate) AS tries});
is($hipq->sql(q{SELECT string_agg(DISTINCT attack, ' ') FROM mallory.tried WHERE sqlstate = 'done'
		AND (attack LIKE 'lock %' OR attack IN ('deep', '60000 types', 'for ever'))}), '',
	'locks, deep data, 60,000 types and endless timeouts are refused');
is($hipq->sql(q{SELECT string_agg(attack, ' ' ORDER BY attack)
		FROM (SELECT attack FROM mallory.tried GROUP BY attack) AS tries}),
	'60000 types alter cancel churn claim crash deep fail for ever free heartbeat keys lock job '
		. 'lock job_type lock mallory_work lock mallory_work_live lock queue lock schedule long '
		. 'more keys more types priorities rows types worker',
	'mallory has tried each attack');
is($hipq->sql(q{SELECT (SELECT count(*) FROM hipq.job_type WHERE name LIKE 'more %') BETWEEN 1
		AND 20, (SELECT count(*) FROM hipq.pause WHERE throttle_key LIKE '0.%') BETWEEN 1 AND 20}),
	't|t',
	"hipq limits mallory's types and paused keys");
unlike(slurp_file($hipq->node->logfile), qr/PANIC:|TRAP:|hipq scheduler.*exited with exit code/,
	'no scheduler ends with an error');
my $crashes = () = slurp_file($hipq->node->logfile)
	=~ /all server processes terminated; reinitializing/g;
note "$crashes crashes of the server";
cmp_ok($crashes, '<=', 2, 'a handler that crashes the server runs twice at most');

done_testing();
