# A snoozed job runs again at the time for which it asked. hipq.extend() gives a running job more
# time.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('more_time', 'hipq.retry_jitter' => 0,
	'hipq.executor_idle_timeout' => '1h', 'hipq.terminate_grace' => '30s');
$hipq->create_queue('app.main');
$hipq->sql(q{
	GRANT CREATE ON SCHEMA public TO app;
	CREATE TABLE written (id bigint, attempt integer, at timestamptz DEFAULT clock_timestamp());
		GRANT ALL ON written TO app;
	CREATE FUNCTION nap(job hipq.job) RETURNS text LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO written VALUES (job.id, job.attempt);
		IF job.attempt > coalesce((job.job_data->>'times')::integer, 1) THEN RETURN 'awake'; END IF;
		IF job.job_data ? 'first' THEN PERFORM hipq.snooze((job.job_data->>'first')::interval);
			END IF;
		BEGIN
			PERFORM hipq.snooze((job.job_data->>'for')::interval);
			IF job.job_data ? 'roll_back' THEN RAISE 'caught'; END IF;
		EXCEPTION WHEN raise_exception THEN NULL;
		END;
		IF job.job_data ? 'successor' THEN PERFORM hipq.enqueue(job.job_type,
			'{"for": "1 h", "times": 0}', 'app.main', job.job_key); END IF;
		IF job.job_data ? 'fail' THEN RAISE 'no'; END IF;
		RETURN 'asleep';
	END $$;
	CREATE PROCEDURE nap_in_steps(id bigint, data jsonb) LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO written VALUES (id, 0);
		IF data->>'then' = 'commit' THEN PERFORM hipq.snooze('1 h'); COMMIT;
			INSERT INTO written VALUES (id, 0); ROLLBACK; END IF;
		IF data->>'then' = 'rollback' THEN PERFORM hipq.snooze('1 h'); ROLLBACK; END IF;
	END $$;
	CREATE FUNCTION nap_together(jobs hipq.job[]) RETURNS void LANGUAGE sql AS $$
		SELECT hipq.snooze('1 h') $$;
	SELECT hipq.register_job_type('app.main', 'nap', handler => 'nap', claim => 'lock');
	SELECT hipq.register_job_type('app.main', 'recorded', handler => 'nap', claim => 'record');
	SELECT hipq.register_job_type('app.main', 'steps', handler => 'nap_in_steps');
	SELECT hipq.register_job_type('app.main', 'statement',
		handler => q'SELECT hipq.snooze('1 h')'q);
	SELECT hipq.register_job_type('app.main', 'batch', handler => 'nap_together', batch_size => 10)}
		=~ s/q'(.*)'q/\$s\$$1\$s\$/r);

sub row
{
	my ($id) = @_;
	return $hipq->sql("SELECT concat_ws(' ', state, attempt, retry_count, retry_reason, error)
		FROM hipq.jobs_detail WHERE id = $id");
}
sub written { my ($id) = @_; return $hipq->sql("SELECT count(*) FROM written WHERE id = $id"); }

# Enqueues a job and waits until its attempt has ended.
sub attempted
{
	my ($type, $data, $more) = @_;
	my $id = $hipq->enqueue($type, "'$data', queue => 'app.main'" . ($more // ''));
	$hipq->wait_until("SELECT state IN ('retry', 'final') FROM hipq.jobs_detail WHERE id = $id");
	return $id;
}

# ---- snooze
foreach my $type (qw(nap recorded))
{
	my $id = attempted($type, '{"for": "1 hour"}');
	is(row($id), 'retry 1 0 snoozed snoozed',
		"$type: a snoozed job waits for its next attempt, uncharged");
	is(written($id), 1, "$type: the effects of a handler that snoozes are committed");
	is($hipq->attempts($id), '1 snoozed', "$type: the history shows the snooze");
	is($hipq->sql("SELECT scheduled_run_time - hipq.now() BETWEEN interval '55 min'
			AND interval '1 h' FROM hipq.jobs WHERE id = $id"), 't',
		"$type: a snoozed job waits until its scheduled time");
	is($hipq->sql("SELECT executor_pid IS NOT NULL FROM hipq.attempts_detail WHERE job_id = $id"),
		't', "$type: the history has the pid of the executor");
	$hipq->sql("SELECT hipq.reschedule($id, now())");
	is($hipq->result($id), '"awake"', "$type: a snoozed job runs again");
	is(row($id), 'final 2 0 snoozed', "$type: a snoozed job runs again in its next attempt");
	is($hipq->sql("SELECT count(*) FROM hipq.dead_letters WHERE job_id = $id"), 0,
		"$type: a snooze makes no dead letter");

	$id = $hipq->enqueue($type,
		q{'{"for": "0", "times": 25}', queue => 'app.main', max_retries => 0});
	is($hipq->outcome($id), 'succeeded',
		"$type: a job can snooze more often than it may be retried");
	is(row($id), 'final 26 0 snoozed', "$type: no snooze is charged");
	is($hipq->sql("SELECT count(*) FROM hipq.attempts WHERE job_id = $id"), 25,
		"$type: the history shows each snooze");

	is($hipq->outcome(attempted($type, '{"for": "1 h", "roll_back": 1}')), 'succeeded',
		"$type: a snooze in a block that is rolled back has no effect");
	$id = attempted($type, '{"first": "2 h", "for": "4 h", "roll_back": 1}');
	is($hipq->sql("SELECT scheduled_run_time - hipq.now() BETWEEN interval '1 h' AND interval '2 h'
			FROM hipq.jobs WHERE id = $id"), 't',
		"$type: a snooze before a block that is rolled back holds");
	$id = attempted($type, '{"first": "1 min", "for": "2 h"}');
	is($hipq->sql("SELECT scheduled_run_time > hipq.now() + interval '1 h' FROM hipq.jobs
			WHERE id = $id"), 't', "$type: the last of several snoozes holds");

	$id = attempted($type, '{"for": "1 h", "fail": 1}', ', max_retries => 0');
	is(row($id), 'final 1 0 transient_error no',
		"$type: an error after a snooze fails the attempt");
	is(written($id), 0, "$type: an attempt that failed after a snooze has no effects");
	is($hipq->attempts(attempted($type, '{"for": "-1 s"}', ', max_retries => 0')),
		'1 invalid_parameters 22023', "$type: a job cannot snooze into the past");
	is($hipq->attempts(attempted($type, '{"for": "1 h", "successor": 1}',
			", job_key => 'own', max_retries => 0")), '1 transient_error 55000',
		"$type: a job with a successor cannot snooze");
	is($hipq->sql(q{SELECT count(*) FROM hipq.app_main_live WHERE job_key = 'own'}), 0,
		"$type: a successor of a job that cannot snooze is rolled back");
}
is(row(attempted('statement', '{}')), 'retry 1 0 snoozed snoozed', 'a statement can snooze');
my $id = attempted('steps', '{"then": "commit"}');
is(row($id), 'retry 1 0 snoozed snoozed', 'a procedure can snooze');
is(written($id), 1, 'a procedure that commits after its snooze keeps what it wrote');
is($hipq->outcome(attempted('steps', '{"then": "rollback"}')), 'succeeded',
	'a snooze that a procedure rolls back has no effect');
is($hipq->attempts(attempted('batch', '{}', ', max_retries => 0')), '1 transient_error 0A000',
	'a batch cannot snooze');
$id = attempted('nap', '{"for": "1 h"}');
is($hipq->sql("SELECT hipq.cancel($id)"), 't', 'a snoozed job can be cancelled');
is($hipq->sql("SELECT hipq.retry($id) > 0"), 't', 'a cancelled job can be retried');
$hipq->sql(q{ALTER ROLE app SET default_transaction_isolation = 'serializable'});
$hipq->sql(q{SELECT pg_terminate_backend(pid) FROM hipq.executors});
is(row(attempted('nap', '{"for": "1 h"}')), 'retry 1 0 snoozed snoozed',
	'a job can snooze under a serializable role');
$hipq->sql('ALTER ROLE app RESET ALL');
$hipq->sql(q{SELECT pg_terminate_backend(pid) FROM hipq.executors});

# ---- extend
$hipq->sql(q{
	CREATE FUNCTION sleep(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		IF job.job_data->>'extend' = 'own' THEN PERFORM hipq.extend('30 s');
			PERFORM hipq.extend('30 s'); END IF;
		IF job.job_data->>'extend' = 'id' THEN PERFORM hipq.extend_job(job.id, '60 s'); END IF;
		PERFORM pg_sleep((job.job_data->>'sleep')::float);
	END $$;
	CREATE FUNCTION sleep_together(data jsonb[]) RETURNS void LANGUAGE sql AS $$
		SELECT pg_sleep(11) $$;
	SELECT hipq.register_job_type('app.main', 'sleep', handler => 'sleep', default_timeout => 10);
	SELECT hipq.register_job_type('app.main', 'sleepers', handler => 'sleep_together',
		default_timeout => 10, batch_size => 10, claim => 'record')});
my @own = map { $hipq->enqueue('sleep', qq{'{"sleep": 11, "extend": "$_"}'}) } qw(own id);
is($hipq->outcome($_), 'succeeded', 'a handler can extend its own job') foreach @own;

$id = $hipq->enqueue('sleep', q{'{"sleep": 60}', timeout => 10});
my $pid = $hipq->pid_of($id);
my $deadline = $hipq->sql("SELECT deadline FROM hipq.running_detail WHERE id = $id");
is($hipq->sql("SELECT hipq.extend_job($id, '5 s') - '$deadline'"), '00:00:00',
	'extend_job() does not shorten or add to a sufficient deadline');
my $more = $hipq->sql(
	"SELECT extract(epoch FROM hipq.extend_job($id, '11 s') - '$deadline')::integer");
cmp_ok($more, '>', 0, 'extend_job() from another session gives more time');
is($hipq->sql("SELECT extract(epoch FROM deadline - '$deadline')::integer FROM hipq.running_detail
		WHERE id = $id"), $more, 'view running shows the new deadline');
is($hipq->outcome($id), 'failed', 'a job that runs longer than its new deadline times out');
is($hipq->sql("SELECT error FROM hipq.jobs_detail WHERE id = $id"),
	"job exceeded its timeout of 10 s, extended by $more s",
	'the error of an extended job names the extension');
my $duration =
	$hipq->sql("SELECT extract(epoch FROM duration) FROM hipq.attempts_detail WHERE job_id = $id");
cmp_ok($duration, '>=', 9.9 + $more, 'an extended job does not end before its new deadline');
$hipq->in_time($duration, 10.9 + $more,
	'an extended job ends within a second after its new deadline');
is($hipq->sql("SELECT pid FROM hipq.executors WHERE pid = $pid"), $pid,
	"the executor's own timer ends an extended job");
like($hipq->error_of("SELECT hipq.extend_job($id, '1 s')"),
	qr/55000: job $id does not run.*It is in state "final"/s,
	'a job that has ended cannot be extended');

$id = $hipq->enqueue('sleep', q{'{"sleep": 60}', timeout => 100});
$hipq->pid_of($id);
my $other = $hipq->session;
$other->query_safe('BEGIN');
$other->query_safe("SELECT hipq.extend_job($id, '23 h')");
is($hipq->sql("SELECT deadline > now() + interval '22 h' FROM hipq.running_detail WHERE id = $id"),
	't', 'an extension takes effect before its transaction commits');
$other->query_safe('ROLLBACK');
is($hipq->sql("SELECT deadline > now() + interval '22 h' FROM hipq.running_detail WHERE id = $id"),
	't', 'an extension remains even if its transaction is rolled back');
$other->quit;
is($hipq->sql("SELECT hipq.cancel($id)"), 't', 'an extended job can be cancelled');
is($hipq->outcome($id), 'cancelled', 'an extended job that is cancelled ends');

$hipq->sql(q{SELECT hipq.enqueue_many('sleepers', '{1,2,3}'::jsonb[], job_keys => '{a,b,c}')});
ok($hipq->wait_until(q{SELECT count(*) = 3 FROM hipq.running_detail
		WHERE deadline < now() + interval '11 s'}), 'a batch runs');
$hipq->sql(q{SELECT hipq.extend_job(id, '60 s') FROM hipq.running WHERE job_key = 'b'});
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.jobs WHERE job_type = 'sleepers'
		AND outcome = 'succeeded'}, 3), 'an extension of one job extends its batch');
is($hipq->sql(q{SELECT max(attempt) FROM hipq.jobs WHERE job_type = 'sleepers'}), 1,
	'an extended batch succeeds in its first attempt');

done_testing();
