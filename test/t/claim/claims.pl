# A job is claimed by lock or by record. Prefetched jobs go to other executors in time. Each job
# runs once.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('claims', 'hipq.executor_idle_timeout' => '60s');
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE TABLE seen (id bigint, job_state text, row_state text, attempt integer,
		pid integer DEFAULT pg_backend_pid());
	GRANT ALL ON seen TO app;
	GRANT USAGE ON SCHEMA hipq TO app;
	GRANT SELECT ON hipq.app_main TO app;
	-- Records the state in the argument and the state in the row.
	CREATE FUNCTION look(job hipq.job) RETURNS void LANGUAGE sql AS $$
		INSERT INTO seen (id, job_state, row_state, attempt)
		SELECT job.id, job.state, own.state, job.attempt FROM hipq.app_main AS own
			WHERE own.id = job.id $$;
	CREATE FUNCTION wait(data jsonb) RETURNS void LANGUAGE sql AS $$
		SELECT pg_advisory_xact_lock_shared(1) $$;
	CREATE FUNCTION nothing(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
	CREATE FUNCTION fail(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
	CREATE FUNCTION slow(data jsonb) RETURNS void LANGUAGE sql AS $$ SELECT pg_sleep(0.06) $$;
	CREATE FUNCTION successor(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN IF (data->>'n')::integer > 0 THEN
			PERFORM hipq.enqueue('chain', jsonb_build_object('n', (data->>'n')::integer - 1),
			job_key => 'chain', queue => 'app.main'); END IF; END $$;
	CREATE PROCEDURE steps(data jsonb) LANGUAGE plpgsql AS $$ BEGIN PERFORM 1; COMMIT;
		PERFORM 2; END $$});
foreach my $claim (qw(lock record))
{
	$hipq->sql(qq{
		SELECT hipq.register_job_type('app.main', 'look_$claim', handler => 'look',
			claim => '$claim');
		SELECT hipq.register_job_type('app.main', 'wait_$claim', handler => 'wait',
			claim => '$claim');
		SELECT hipq.register_job_type('app.main', 'fail_$claim', handler => 'fail',
			claim => '$claim', max_retries => 2, retry_base => '0');
		SELECT hipq.register_job_type('app.main', 'nothing_$claim', handler => 'nothing',
			claim => '$claim')});
}
$hipq->sql(q{
	SELECT hipq.register_job_type('app.main', 'look_auto', handler => 'look');
	SELECT hipq.register_job_type('app.main', 'slow', handler => 'slow');
	SELECT hipq.register_job_type('app.main', 'steps', handler => 'steps');
	SELECT hipq.register_job_type('app.main', 'chain', handler => 'successor', claim => 'lock')});

sub seen
{
	my ($id) = @_;
	return $hipq->sql("SELECT string_agg(concat_ws(' ', job_state, row_state, attempt), ', ')
		FROM seen WHERE id = $id");
}

# ---- the state that the handler gets, and the state in the row
my %id = map { $_ => $hipq->enqueue("look_$_") } qw(lock record auto);
is($hipq->outcome($id{$_}), 'succeeded', "a job claimed by $_ succeeds")
	foreach qw(lock record auto);
is(seen($id{lock}), 'running initial 1',
	'by lock: the handler gets a running job, and the row is in state initial');
is(seen($id{record}), 'running running 1',
	'by record: the handler gets a running job, and the row is in state running');
is(seen($id{auto}), 'running running 1',
	'auto claims a job of a type without a known duration by record');
is($hipq->sql("SELECT concat_ws(' ', state, attempt, accepted_time >= created_time, deadline,
		retry_count) FROM hipq.jobs_detail WHERE id = $id{lock}"),
	'final 1 t 0', 'a job claimed by lock leaves the same final row as one claimed by record');
# The duration is an average, and the first job also paid for planning.
my $again;
foreach (1 .. 50)
{
	$again = $hipq->enqueue('look_auto');
	$hipq->outcome($again);
	last if seen($again) eq 'running initial 1';
}
is(seen($again), 'running initial 1', 'auto claims jobs of a short type by lock');
$hipq->outcome_of('slow');
my $slow = $hipq->enqueue('slow');
ok($hipq->wait_until("SELECT state IN ('running', 'final') FROM hipq.jobs_detail WHERE id = $slow"),
	'auto claims jobs of a type that takes over 50 ms by record');
is($hipq->outcome($slow), 'succeeded', 'a job of a slow type succeeds');
is($hipq->outcome_of('steps'), 'succeeded', 'a procedure commits midway');
is($hipq->outcome_of('steps'), 'succeeded', 'a procedure of a short type commits midway');

# ---- a job that runs under a lock
my $lock = $hipq->hold_lock;
my $waits = $hipq->enqueue('wait_lock');
my $pid = $hipq->pid_of($waits);
is($hipq->sql("SELECT state FROM hipq.jobs_detail WHERE id = $waits"), 'initial',
	'the row of a job under a lock has the state it waited in');
is($hipq->sql("SELECT outcome FROM hipq.jobs WHERE id = $waits"), 'running',
	'view jobs shows a job under a lock as running');
is($hipq->sql(q{SELECT running || ' ' || running_jobs FROM hipq.queues_detail
		WHERE queue = 'app.main'}), '0 1', 'view queues counts a job under a lock');
is($hipq->why($waits), 'state: The job runs.', 'why() says that the job runs');
like($hipq->error_of("SELECT hipq.reschedule($waits, now() + interval '1 day')"),
	qr/cannot reschedule job $waits in state "running"/, 'a running job cannot be rescheduled');
is($hipq->sql("SELECT count(*) FROM hipq.running WHERE id = $waits AND attempt = 1 AND pid = $pid"),
	'1', 'view running has a job under a lock once');
is($hipq->sql(q{SELECT pg_terminate_backend(pid) FROM hipq.executors WHERE job_id IS NOT NULL}),
	't', 'the executor of a job under a lock is terminated');
ok($hipq->wait_until("SELECT count(*) = 1 FROM hipq.attempts WHERE job_id = $waits
		AND reason = 'worker_lost'"), 'the attempt of a terminated executor is recorded as lost');
$lock->quit;
is($hipq->outcome($waits), 'succeeded', 'a job that lost its executor runs again');
is($hipq->sql("SELECT attempt || ' ' || retry_count FROM hipq.jobs_detail WHERE id = $waits"),
	'2 0', 'a job that lost its executor is not charged');

# ---- failures
foreach my $claim (qw(lock record))
{
	my $failed = $hipq->enqueue("fail_$claim");
	is($hipq->outcome($failed), 'failed', "$claim: a job fails for good after its retries");
	is($hipq->attempts($failed),
		'1 transient_error P0001, 2 transient_error P0001, 3 transient_error P0001',
		"$claim: each attempt is recorded");
	is($hipq->sql("SELECT count(*) FROM hipq.dead_letters WHERE job_id = $failed"), '1',
		"$claim: a failed job has a dead letter");
}
$hipq->enqueue('chain', q{'{"n": 5}', job_key => 'chain', queue => 'app.main'});
ok($hipq->wait_until(q{SELECT count(*)
		FROM hipq.jobs WHERE job_type = 'chain' AND outcome = 'succeeded'}, 6),
	'a job claimed by lock enqueues its successor under its own key');

# ---- rows that another session locks
my $stranger = $hipq->session;
my $held = $hipq->sql(q{SELECT hipq.enqueue('nothing_lock',
	scheduled_run_time => now() + interval '1 day', queue => 'app.main')});
$stranger->query_safe('BEGIN');
$stranger->query_safe("UPDATE hipq.app_main SET scheduled_run_time = now() WHERE id = $held");
my @behind = map { $hipq->enqueue('nothing_lock', q{queue => 'app.main'}) } 1 .. 3;
is($hipq->outcome($_, 20), 'succeeded', 'jobs behind a locked row run') foreach @behind;
$stranger->query_safe('COMMIT');
is($hipq->outcome($held, 20), 'succeeded', 'a locked job runs when it is unlocked');
my $due = $hipq->sql(q{SELECT hipq.enqueue('nothing_lock',
	scheduled_run_time => now() + interval '1 second', queue => 'app.main')});
$stranger->query_safe('BEGIN');
$stranger->query_safe("SELECT 1 FROM hipq.app_main WHERE id = $due FOR UPDATE");
ok($hipq->wait_until("SELECT scheduled_run_time < clock_timestamp() FROM hipq.app_main
		WHERE id = $due"), 'a locked row becomes due');
@behind = map { $hipq->enqueue('nothing_lock', q{queue => 'app.main'}) } 1 .. 3;
is($hipq->outcome($_, 20), 'succeeded', 'jobs behind a locked, due row run') foreach @behind;
is($hipq->sql("SELECT outcome FROM hipq.jobs WHERE id = $due"), 'waiting',
	'a locked, due job waits');
$stranger->query_safe('ROLLBACK');
is($hipq->outcome($due, 20), 'succeeded', 'a locked, due job runs when it is unlocked');
$stranger->quit;

# ---- jobs that an executor has prefetched behind a long job go to other executors
$hipq->sql(q{
	CREATE FUNCTION maybe_wait(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		IF data ? 'wait' THEN PERFORM pg_advisory_xact_lock_shared(1); END IF; END $$});
$hipq->sql(q{SELECT hipq.register_job_type('app.main', 'mixed', handler => 'maybe_wait',
	claim => 'lock')});
$hipq->sql(q{SELECT hipq.enqueue_many('mixed', array_agg('{}'::jsonb))
	FROM generate_series(1, 200)});
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.jobs WHERE job_type = 'mixed'
		AND outcome = 'succeeded'}, 200), '200 short jobs run');
$lock = $hipq->hold_lock;
$hipq->sql(q{SELECT hipq.enqueue_many('mixed',
	ARRAY['{"wait": 1}'::jsonb] || array_agg('{}'::jsonb)) FROM generate_series(1, 20)});
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.jobs WHERE job_type = 'mixed' AND
		outcome = 'succeeded'}, 220, 20),
	'jobs prefetched behind a long one run in other executors');
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.running WHERE job_type = 'mixed'}, 1),
	'the long job runs while others run the prefetched jobs');
$lock->quit;
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.jobs WHERE job_type = 'mixed'
		AND outcome = 'succeeded'}, 221), 'the long job succeeds');
is($hipq->sql(q{SELECT count(*) FROM hipq.jobs WHERE job_type = 'mixed' AND attempt <> 1}), '0',
	'no prefetched job needed a second attempt');

# ---- many executors run many jobs, each once
$hipq->sql(q{CREATE TABLE effect (id bigint); GRANT ALL ON effect TO app;
	CREATE FUNCTION effect(id bigint, data jsonb) RETURNS void LANGUAGE sql AS $$
		INSERT INTO effect VALUES (id) $$});
foreach my $claim (qw(lock record auto))
{
	$hipq->sql("SELECT hipq.register_job_type('app.main', 'effect_$claim', handler => 'effect',
		claim => '$claim')");
	$hipq->sql("SELECT hipq.enqueue_many('effect_$claim', array_agg('{}'::jsonb))
		FROM generate_series(1, 2000)");
}
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.jobs WHERE job_type LIKE 'effect%'
		AND outcome <> 'succeeded'}, 0), '6,000 jobs run on four executors');
is($hipq->sql('SELECT count(*) || $$ $$ || count(DISTINCT id) FROM effect'), '6000 6000',
	'each of the 6,000 jobs runs once');
is($hipq->sql(q{SELECT count(*) FROM hipq.jobs WHERE job_type LIKE 'effect%' AND attempt <> 1}),
	'0', 'each of the 6,000 jobs takes one attempt');

done_testing();
