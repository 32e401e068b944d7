# pg_ctl stop -m fast stops a server with 16 busy executors within 3 s, each time. The interrupted
# jobs run again, uncharged.
#
#   FAST_STOPS    number of stops (50)
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $stops = $ENV{FAST_STOPS} || 50;
my $limit = 3;
my $executors = 16;

my $hipq = HipqCluster->new('stop', 'hipq.max_executors' => $executors,
	max_worker_processes => $executors + 4);
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE TABLE effect (job_id bigint);
	CREATE TABLE round (number integer);
	INSERT INTO round VALUES (1);
	GRANT ALL ON effect, round TO app;
	-- Ways to be busy. A job of an earlier round has nothing to do.
	CREATE FUNCTION run(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		n bigint := 0;
	BEGIN
		INSERT INTO effect VALUES (job.id);
		IF (job.job_data->>'round')::integer < (SELECT number FROM round) THEN RETURN; END IF;
		CASE job.job_data->>'way'
			WHEN 'sleep' THEN PERFORM pg_sleep(3600);
			WHEN 'lock' THEN PERFORM pg_advisory_xact_lock(1); PERFORM pg_sleep(3600);
			WHEN 'loop' THEN LOOP n := n + 1; END LOOP;
			WHEN 'query' THEN PERFORM count(DISTINCT md5(number::text))
				FROM generate_series(1, 1000000000) AS number;
			WHEN 'write' THEN LOOP INSERT INTO effect SELECT -1 FROM generate_series(1, 100);
				DELETE FROM effect WHERE job_id = -1; END LOOP;
			WHEN 'catch' THEN
				LOOP
					BEGIN PERFORM pg_sleep(3600);
					EXCEPTION WHEN OTHERS OR query_canceled THEN n := n + 1;
					END;
				END LOOP;
			WHEN 'subtransactions' THEN
				LOOP
					BEGIN n := n / 0;
					EXCEPTION WHEN division_by_zero THEN n := n + 1;
					END;
				END LOOP;
		END CASE;
	END $$;
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run')});

my @ways = ('sleep', 'lock', 'loop', 'query', 'write', 'catch', 'subtransactions', 'sleep', 'lock',
	'catch', 'sleep', 'lock', 'catch', 'loop', 'write', 'sleep');
my @seconds;
my $not_busy = 0;
my $began = time();
foreach my $round (1 .. $stops)
{
	my $data = join ', ', map { qq('{"round": $round, "way": "$_"}') } @ways;
	$hipq->sql("SELECT count(*)
		FROM (SELECT hipq.enqueue_many('run', ARRAY[$data]::jsonb[], queue => 'app.main')) AS job");
	$hipq->wait_until("SELECT count(*) FROM hipq.running WHERE job_type = 'run' AND
		(SELECT (job_data->>'round')::integer = $round FROM hipq.job WHERE job.id = running.id)",
		$executors) or $not_busy++;
	# Jobs of this round end at once when they run again.
	$hipq->sql('UPDATE round SET number = number + 1');
	my $since = time();
	$hipq->node->stop('fast');
	my $took = time() - $since;
	$took -= $hipq->stalled($took + 1) if $took > $limit;    # the machine stalled, not the server
	$hipq->node->start;
	$took /= $hipq->slowness if $took > $limit;
	push @seconds, $took;
}
is($not_busy, 0, "$executors executors were busy at each stop");
my @slow = grep { $_ > $limit } @seconds;
is(scalar @seconds, $stops, "the server was stopped $stops times");
is("@slow", '', "each stop took at most $limit s");
@seconds = sort { $a <=> $b } @seconds;
note sprintf 'stops took %.2f s in the middle, %.2f s at most; %.0f s in all',
	$seconds[ @seconds / 2 ], $seconds[-1], time() - $began;

ok($hipq->wait_until(q{SELECT count(*) FROM hipq.jobs_detail WHERE state <> 'final'}, 0),
	'all interrupted jobs end');
is($hipq->sql(q{SELECT count(*), count(*) FILTER (WHERE outcome = 'succeeded'), max(attempt),
		max(retry_count) FROM hipq.jobs_detail}),
	join('|', $stops * $executors, $stops * $executors, 2, 0),
		'each interrupted job succeeds in its second attempt, uncharged');
is($hipq->sql('SELECT count(*), count(DISTINCT job_id) FROM effect'),
	join('|', ($stops * $executors) x 2), 'each interrupted job has its effect once');

done_testing();
