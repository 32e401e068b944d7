# A standby with hipq preloaded shows all jobs and runs none. Within 10 s of its promotion it runs
# them.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $hipq = HipqCluster->new('primary', streaming => 1, 'hipq.retry_jitter' => 0);
my $primary = $hipq->node;
$hipq->create_queue('app.main', history => 'all');
$hipq->sql(q{
	CREATE TABLE ran (id bigint, attempt integer);
	GRANT ALL ON ran TO app;
	CREATE FUNCTION run(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		IF job.job_data ? 'wait' THEN PERFORM pg_advisory_xact_lock_shared(1); END IF;
		INSERT INTO ran VALUES (job.id, job.attempt);
	END $$;
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run', claim => 'record');
	CREATE TABLE rated (id bigint, at timestamptz);
	GRANT ALL ON rated TO app;
	CREATE FUNCTION note(job hipq.job) RETURNS void LANGUAGE sql AS $$
		INSERT INTO rated VALUES (job.id, clock_timestamp()) $$;
	SELECT hipq.register_job_type('app.main', 'often', handler => 'note', rate_limit => '2/9 s'),
		hipq.register_job_type('app.main', 'seldom', handler => 'note', rate_limit => '2/day')});

$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;
my $copy = bless { %$hipq, node => $standby }, 'HipqCluster';

# The primary makes a final, a running and a waiting job while the standby follows.
my $done = $hipq->enqueue('run');
is($hipq->outcome($done), 'succeeded', 'the primary runs jobs');
my $lock = $hipq->hold_lock;
my $running = $hipq->enqueue('run', q{'{"wait": 1}'});
$hipq->pid_of($running);
my $future = $hipq->enqueue('run', q{scheduled_run_time => now() + interval '1 day'});
$primary->wait_for_catchup($standby);

# ---- the standby
is($copy->sql('SELECT pg_is_in_recovery()'), 't', 'the standby is in recovery');
is($copy->sql("SELECT string_agg(id || ' ' || outcome, ', ' ORDER BY id) FROM hipq.jobs"),
	"$done succeeded, $running running, $future waiting",
	'view jobs shows the jobs on the standby');
foreach my $view (split / /, $hipq->sql(q{SELECT string_agg(viewname, ' ' ORDER BY viewname)
		FROM pg_views WHERE schemaname = 'hipq'}))
{
	my ($status, $out, $err) = $standby->psql('postgres', "SELECT * FROM hipq.$view");
	is($status, 0, "view $view can be read on the standby") or diag($err);
}
like($copy->sql("SELECT string_agg(explanation, ' ') FROM hipq.why($future) WHERE NOT passed"),
	qr/The server is a standby: jobs run in its primary, and here after a promotion\./,
	'why() says that the server is a standby');
is($copy->sql("SELECT passed FROM hipq.why($future) WHERE condition = 'hold'"), 't',
	'the jobs of the standby are not held');
like($copy->error_of(q{SELECT hipq.enqueue('run')}),
	qr/25006: cannot execute INSERT in a read-only transaction/,
	'jobs cannot be enqueued on the standby');
is($copy->sql(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'hipq%'}), '0',
	'no process of hipq runs on the standby');
like($copy->error_of("SELECT * FROM hipq.wait_for($future, '0')"),
	qr/55000: cannot wait for a job during recovery/, 'wait_for() is refused on the standby');
SKIP: {
	skip 'WAIT FOR is new in PostgreSQL 19', 3 if $hipq->version < 19;
	$copy->sql('SELECT pg_wal_replay_pause()');
	my $id = $hipq->enqueue('run');
	my $position = $hipq->sql(
		qq{SELECT pg_current_wal_flush_lsn() FROM hipq.wait_for($id) WHERE outcome = 'succeeded'});
	my $wait = qq{WAIT FOR LSN '$position' WITH (TIMEOUT};
	is($copy->sql("$wait '100ms', NO_THROW)"), 'timeout', 'the standby lags behind the job');
	$copy->sql('SELECT pg_wal_replay_resume()');
	is($copy->sql("$wait '60s')"), 'success', 'WAIT FOR waits on the standby');
	is($copy->sql("SELECT count(*) FROM ran WHERE id = $id"), '1',
		'then the effects of the job can be read on the standby');
}
$copy->sql('SELECT pg_reload_conf()');
unlike(slurp_file($standby->logfile), qr/FATAL:  (?!the database system)|hipq launcher|PANIC|TRAP/,
	'the log of the standby has no FATAL, no PANIC, no TRAP and no launcher of hipq');

# ---- the primary crashes while a job runs, and the standby is promoted
$hipq->sql(q{INSERT INTO hipq.app_main (job_type) SELECT type
	FROM unnest('{often, seldom}'::text[]) AS type, generate_series(1, 3)});
$hipq->wait_until('SELECT count(*) = 4 FROM rated') or die 'jobs have no turn';
$primary->wait_for_catchup($standby);
$primary->stop('immediate');
eval { $lock->quit };
my $start = time();
$standby->promote;
ok($copy->wait_until(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'hipq launcher'},
		1), 'the launcher runs on the promoted server');
is($copy->outcome($running), 'succeeded', 'the interrupted job runs again on the promoted server');
$copy->in_time(time() - $start, 10, 'the interrupted job succeeds within 10 s of the promotion');
diag(sprintf('promotion to outcome: %.2f s', time() - $start)) if $ENV{HIPQ_TIMES};
is($copy->sql("SELECT attempt || ' ' || retry_count FROM hipq.jobs_detail WHERE id = $running"),
	'2 0', 'the interrupted job is not charged');
is($copy->sql("SELECT string_agg(attempt::text, ' ') FROM ran WHERE id = $running"), '2',
	'only the second attempt of the interrupted job has effects');
is($copy->outcome_of('run'), 'succeeded', 'new jobs run on the promoted server');
is($copy->sql("SELECT state FROM hipq.jobs_detail WHERE id = $future"), 'initial',
	'the scheduled job waits on the promoted server');

# ---- rates
ok($copy->wait_until('SELECT count(*) = 5 FROM rated'), 'a job under a rate has its turn');
cmp_ok($copy->sql(q{SELECT extract(epoch FROM max(at) - min(at)) FROM rated
	JOIN hipq.jobs USING (id) WHERE job_type = 'often'}), '>', 9,
	'a promoted server counts what its primary has started');
is($copy->sql(q{SELECT rate_used FROM hipq.job_types_detail WHERE job_type = 'seldom'}), '2.000',
	'also in a long period');

# ---- restart and crash of the promoted server
$standby->restart;
is($copy->outcome_of('run'), 'succeeded', 'jobs run on the promoted server after a restart');
$standby->stop('immediate');
$standby->start;
is($copy->outcome_of('run'), 'succeeded', 'jobs run on the promoted server after a crash');

# ---- a standby of the promoted server
$standby->backup('second');
my $second = PostgreSQL::Test::Cluster->new('second');
$second->init_from_backup($standby, 'second', has_streaming => 1);
$second->start;
$standby->wait_for_catchup($second);
$standby->stop('fast');
$second->promote;
my $again = bless { %$hipq, node => $second }, 'HipqCluster';
is($again->outcome_of('run'), 'succeeded',
	'a standby of the promoted server runs jobs after its promotion');
$second->stop;

done_testing();
