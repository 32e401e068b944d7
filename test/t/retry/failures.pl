# A failed attempt is retried as its policy says. A job that fails for good leaves a whole dead
# letter. A successor runs after its job, unless that job fails.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('failures', 'hipq.retry_jitter' => 0);
$hipq->create_queue('app.main');
$hipq->create_queue('app.full', history => 'all');
$hipq->sql(q{
	CREATE TABLE written (what text);
	CREATE TABLE ran (id bigint, at timestamptz DEFAULT clock_timestamp());
	GRANT ALL ON written, ran TO app;
	GRANT CREATE ON SCHEMA public TO app;

	-- Writes, and then raises an SQLSTATE, as job_data says.
	CREATE FUNCTION act(job hipq.job) RETURNS jsonb LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO written VALUES (job.job_data->>'write');
		IF job.attempt <= coalesce((job.job_data->>'times')::integer, 1000)
			AND job.job_data ? 'state' THEN
			RAISE EXCEPTION 'told to fail' USING ERRCODE = job.job_data->>'state',
				DETAIL = 'the detail', HINT = 'the hint';
		END IF;
		RETURN jsonb_build_object('attempt', job.attempt);
	END $$;
	SELECT hipq.register_job_type('app.main', 'act', handler => 'act', max_retries => 3,
		retry_base => '10 ms', retry_multiplier => 2)});

sub final_row
{
	my ($id) = @_;
	return $hipq->sql("SELECT concat_ws(' ', outcome, attempt, retry_count, retry_reason, error)
		FROM hipq.jobs_detail WHERE id = $id");
}

# ---- retries
my $id = $hipq->enqueue('act', q{'{"state": "P0001", "times": 2, "write": "in the end"}'});
is($hipq->outcome($id), 'succeeded', 'a job succeeds in its third attempt');
is($hipq->attempts($id), '1 transient_error P0001, 2 transient_error P0001',
	'the history has both failed attempts');
is($hipq->sql("SELECT concat_ws(' ', attempt, retry_count, error, result) FROM hipq.jobs_detail
		WHERE id = $id"), '3 2 {"attempt": 3}',
	'the row of a retried job has the number of attempts and retries');
is($hipq->sql('SELECT count(*) FROM written'), '1', 'failed attempts leave no effects');
is($hipq->sql("SELECT concat_ws(' ', error, detail, hint) FROM hipq.attempts_detail
		WHERE job_id = $id AND attempt = 1"), 'told to fail the detail the hint',
	'an attempt has the message, detail and hint of its error');
is($hipq->sql("SELECT count(*) FROM hipq.dead_letters WHERE job_id = $id"), '0',
	'a job that succeeds in the end has no dead letter');

$id = $hipq->enqueue('act', q{'{"state": "P0001"}', job_key => 'k', priority => 3});
is($hipq->outcome($id), 'failed', 'a job fails when its retries are exhausted');
is(final_row($id), 'failed 4 3 transient_error told to fail',
	'a job with max_retries 3 fails after its fourth attempt');
is($hipq->sql("SELECT bool_and(next.started_time - this.ended_time >= 10 * 2 ^ (this.attempt - 1)
		* interval '1 ms')
	FROM hipq.attempts_detail AS this JOIN hipq.attempts_detail AS next ON next.job_id = this.job_id
		AND next.attempt = this.attempt + 1 WHERE this.job_id = $id"), 't',
		'the delays between retries double');
is($hipq->sql("SELECT concat_ws(' ', reason, sqlstate, error, job_key, job->>'state',
		job->>'attempt', job->>'priority', jsonb_array_length(history), history->3->>'reason')
	FROM hipq.dead_letters_detail WHERE job_id = $id"),
		'transient_error P0001 told to fail k final 4 3 4 transient_error',
		'the dead letter has the values of the row, and its history');
is($hipq->sql("SELECT string_agg(key, ' ' ORDER BY key) FROM (SELECT attname AS key
		FROM pg_attribute WHERE attrelid = 'hipq.job'::regclass AND attnum > 0
	EXCEPT SELECT jsonb_object_keys(job) FROM hipq.dead_letters_detail
		WHERE job_id = $id) AS missing"), '', 'the dead letter has every column of the job');
is($hipq->sql("SELECT to_jsonb(job) = dead_letter.job FROM hipq.job JOIN hipq.dead_letter ON
		job_id = id WHERE id = $id"), 't', "the dead letter has the final row's values");

my $again = $hipq->sql(qq{SELECT hipq.retry($id, job_data => '{}')});
is($hipq->outcome($again), 'succeeded', 'retry() runs a failed job again as a new job');
is($hipq->sql("SELECT concat_ws(' ', retry_of = $id, original_job_id = $id, job_key, retry_reason)
		FROM hipq.jobs_detail WHERE id = $again"), 't t k manual_retry',
	'a retried job names the job that it retries');
sub by_hand
{
	my ($job) = @_;
	return $hipq->sql("SELECT concat_ws(' ', outcome, retry_reason, manual_reason)
		FROM hipq.jobs_detail WHERE id = $job");
}
is(by_hand($again), 'succeeded manual_retry manual_retry',
	'a retried job is marked as retried by hand');
$again = $hipq->sql(
	qq{SELECT hipq.retry($id, 'the mail server is back', job_data => '{"state": "P0001"}')});
is($hipq->outcome($again), 'failed', 'a retried job fails after its own retries');
is(by_hand($again), 'failed transient_error the mail server is back',
	'a retried job that failed has the reason given to retry()');
is($hipq->sql("SELECT concat_ws(' ', job->>'retry_reason', job->>'manual_reason')
		FROM hipq.dead_letters_detail WHERE job_id = $again"),
	'transient_error the mail server is back',
	'the dead letter of a retried job has the reason given to retry()');
my $redriven = $hipq->sql("SELECT hipq.redrive($again)");
is($hipq->outcome($redriven), 'failed', 'a redriven job fails');
is(by_hand($redriven), 'failed transient_error redriven', 'a redriven job is marked as redriven');
is(by_hand($id), 'failed transient_error',
	'a job that was retried and redriven is not marked itself');

# ---- classification
my $classify = sub {
	my ($state, $expected) = @_;
	my $job = $hipq->enqueue('act', qq{'{"state": "$state"}'});
	$hipq->outcome($job);
	is($hipq->attempts($job), $expected, "SQLSTATE $state has reason and retries: $expected");
};
$classify->('22012', '1 validation_error 22012');
$classify->('23505', '1 validation_error 23505');
$classify->('42501', '1 permission_denied 42501');
$classify->('22023', '1 invalid_parameters 22023');
$classify->($_, "1 handler_not_found $_") foreach '42883', '42P01', '42703', '42601', '3F000';
$classify->('HQ001', '1 explicit_failure HQ001');
$classify->('HQ002', join ', ', map { "$_ transient_error HQ002" } 1 .. 4);
$hipq->sql(q{
	CREATE FUNCTION give_up(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		PERFORM hipq.fail_permanently('never again'); END $$;
	CREATE FUNCTION try_again(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		PERFORM hipq.fail_retriable('once more'); END $$;
	CREATE FUNCTION forbidden(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		PERFORM pg_read_file('PG_VERSION'); END $$;
	CREATE FUNCTION say_none(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		RAISE 'NONE'; END $$;
	CREATE FUNCTION be_fatal(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(60); END $$;
	SELECT hipq.register_job_type('app.main', name, handler => name, max_retries => 1,
		retry_base => '10 ms')
	FROM unnest('{give_up, try_again, forbidden, say_none}'::text[]) AS name});
$id = $hipq->enqueue('give_up');
$hipq->outcome($id);
is(final_row($id), 'failed 1 0 explicit_failure never again', 'fail_permanently() fails the job');
$id = $hipq->enqueue('try_again');
$hipq->outcome($id);
is(final_row($id), 'failed 2 1 transient_error once more',
	'a job that calls fail_retriable() is retried');
$id = $hipq->enqueue('forbidden');
$hipq->outcome($id);
is($hipq->attempts($id), '1 permission_denied 42501',
	'a handler that lacks a privilege fails with permission_denied');
$id = $hipq->enqueue('say_none');
is($hipq->outcome($id), 'failed', 'an error with message NONE fails the job');

$hipq->sql(q{
	SELECT hipq.register_job_type('app.main', 'stubborn', handler => 'act', max_retries => 1,
		retry_base => '10 ms', retry_on => '{22012, 23}');
	SELECT hipq.register_job_type('app.main', 'timid', handler => 'act', max_retries => 9,
		do_not_retry_on => '{P0001, 40}')});
my %attempts_of = (stubborn => { '22012' => 2, '23505' => 2, '22003' => 1 },
	timid => { 'P0001' => 1, '40001' => 1 });
foreach my $type (sort keys %attempts_of)
{
	foreach my $state (sort keys %{ $attempts_of{$type} })
	{
		my $job = $hipq->enqueue($type, qq{'{"state": "$state"}'});
		$hipq->outcome($job);
		is($hipq->sql("SELECT attempt FROM hipq.jobs_detail WHERE id = $job"),
			$attempts_of{$type}{$state},
			"$type with SQLSTATE $state has $attempts_of{$type}{$state} attempt(s)");
	}
}

# ---- conflicts
$hipq->sql(q{
	SELECT hipq.register_job_type('app.main', 'once', handler => 'act', max_retries => 0);
	CREATE PROCEDURE commits(job hipq.job) LANGUAGE plpgsql AS $$ BEGIN
		RAISE 'told to fail' USING ERRCODE = '40P01'; END $$;
	GRANT EXECUTE ON PROCEDURE commits TO app;
	SELECT hipq.register_job_type('app.main', 'commits', handler => 'commits', max_retries => 0)});
$id = $hipq->enqueue('once', q{'{"state": "40001", "times": 3}'});
is($hipq->outcome($id), 'succeeded', 'a serialization failure is retried, whatever max_retries is');
is(final_row($id), 'succeeded 4 0 conflict',
	'a retry after a serialization failure is not charged');
is($hipq->attempts($id), join(', ', map { "$_ conflict 40001" } 1 .. 3),
	'attempts with a serialization failure have reason conflict');
$id = $hipq->enqueue('once', q{'{"state": "40P01"}'});
is($hipq->outcome($id), 'failed', 'a job with a deadlock each time fails');
is(final_row($id), 'failed 11 0 transient_error told to fail',
	'a job fails by its policy after ten conflicts');
is($hipq->sql("SELECT count(*) FILTER (WHERE reason = 'conflict'), count(*),
		max(ended_time) - min(started_time) < '30 s' FROM hipq.attempts_detail WHERE job_id = $id"),
	'10|11|t', 'ten conflicts are retried within 30 s');
$id = $hipq->enqueue('commits');
$hipq->outcome($id);
is($hipq->attempts($id), '1 transient_error 40P01',
	'the policy of a procedure decides about a conflict');
is($hipq->sql(q{SELECT failures, retries FROM hipq.failure_statistics
		WHERE period = 'total' AND job_type = 'once' AND reason = 'conflict'}), '13|0',
	'statistics count conflicts as a reason');
is($hipq->sql(q{SELECT put_back, retried, failed FROM hipq.statistics_detail WHERE period = 'total'
		AND job_type = 'once'}), '13|0|1', 'conflicts do not count as retries');

$hipq->sql(q{
	CREATE FUNCTION cross_over(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM pg_advisory_xact_lock((job.job_data->>'first')::bigint);
		WHILE job.attempt = 1 AND (SELECT count(*) < 2 FROM pg_locks WHERE locktype = 'advisory'
			AND objid IN (70001, 70002) AND granted) LOOP
			PERFORM pg_sleep(0.001);
		END LOOP;
		PERFORM pg_advisory_xact_lock((job.job_data->>'second')::bigint);
	END $$;
	SELECT hipq.register_job_type('app.main', 'cross', handler => 'cross_over', max_retries => 0)});
my @crossing = ($hipq->enqueue('cross', q{'{"first": 70001, "second": 70002}'}),
	$hipq->enqueue('cross', q{'{"first": 70002, "second": 70001}'}));
is($hipq->outcome($_), 'succeeded', 'a job that deadlocks with another one succeeds')
	foreach @crossing;
is($hipq->sql("SELECT count(*) FROM hipq.attempts WHERE job_id IN ($crossing[0], $crossing[1])
		AND reason = 'conflict' AND sqlstate = '40P01'"), '1',
	'one of two jobs in a deadlock takes two attempts');

# ---- retry handlers
$hipq->sql(q{
	CREATE FUNCTION thrice(job hipq.job) RETURNS interval LANGUAGE plpgsql AS $$
	BEGIN INSERT INTO ran (id) VALUES (job.id);
		RETURN CASE WHEN job.attempt < 3 AND job.state = 'error' THEN interval '20 ms' END; END $$;
	CREATE FUNCTION broken(job hipq.job) RETURNS interval LANGUAGE plpgsql AS
		$$ BEGIN RAISE 'cannot decide'; END $$;
	SELECT hipq.register_job_type('app.main', 'thrice', handler => 'act', retry_handler => 'thrice',
		max_retries => 3);
	SELECT hipq.register_job_type('app.main', 'broken', handler => 'act',
		retry_handler => 'broken')});
$id = $hipq->enqueue('thrice', q{'{"state": "22012"}'});
is($hipq->outcome($id), 'failed', 'a retry handler that returns NULL ends the job');
like(final_row($id), qr/^failed 3 \d validation_error told to fail$/,
	'a job has the attempts that its retry handler grants');
is($hipq->sql("SELECT count(*) FROM ran WHERE id = $id"), '3',
	'a retry handler is called after each failure, and its effects are committed');
is($hipq->sql("SELECT reason FROM hipq.dead_letters WHERE job_id = $id"), 'validation_error',
	'the dead letter after a retry handler has the reason of the failure');
$id = $hipq->enqueue('broken', q{'{"state": "P0001"}'});
is($hipq->outcome($id), 'failed', 'a retry handler that fails ends the job');
like(final_row($id),
	qr/^failed 1 0 retry_handler_failed told to fail \(retry handler failed: cannot decide\)$/,
	"the error of the retry handler is in the job's error");
is($hipq->attempts($id), '1 transient_error P0001, 1 retry_handler_failed P0001',
	'the history has the errors of handler and retry handler');
is($hipq->sql("SELECT concat_ws(' ', error, ended_time >= started_time, context)
		FROM hipq.attempts_detail WHERE job_id = $id AND reason = 'retry_handler_failed'"),
	'cannot decide t PL/pgSQL function broken(hipq.job) line 1 at RAISE',
		'the errors of handler and retry handler have their contexts');
is($hipq->outcome($hipq->enqueue('thrice', q{'{"state": "22012", "times": 2}'})), 'succeeded',
	'a retry that a retry handler grants can succeed');

# A retry handler can be a query, with the arguments of a handler.
$hipq->sql(q{
	SELECT hipq.register_job_type('app.main', 'asked', handler => 'act', max_retries => 3,
		retry_handler => $$SELECT interval '1 ms' WHERE ($3).id = $2 AND ($3).attempt < 3
			AND $1->>'state' = 'P0001'$$);
	SELECT hipq.register_job_type('app.main', 'wordy', handler => 'act',
		retry_handler => $$SELECT 'soon'$$);
	SELECT hipq.register_job_type('app.main', 'endless', handler => 'act',
		retry_handler => $$SELECT interval '178000000 years'$$);
	SELECT hipq.register_job_type('app.main', 'beyond', handler => 'act',
		retry_handler => $$SELECT interval '296530 years'$$)});
$id = $hipq->enqueue('asked', q{'{"state": "P0001"}'});
is($hipq->outcome($id), 'failed', 'a query can be a retry handler');
is(final_row($id), 'failed 3 2 transient_error told to fail',
	'a query that returns no row ends the job');
foreach my $case ([ wordy => '42804', 'retry handler returned type text, not interval' ],
	[ endless => '22008', 'delay of a retry is out of range' ],
	[ beyond => '22008', 'delay of a retry is out of range' ])
{
	my ($type, $state, $error) = @$case;
	$id = $hipq->enqueue($type, q{'{"state": "P0001"}'});
	is($hipq->outcome($id), 'failed', "$type: an invalid result of a retry handler ends the job");
	is($hipq->sql("SELECT sqlstate || ' ' || error FROM hipq.attempts_detail WHERE job_id = $id AND
			reason = 'retry_handler_failed'"), "$state $error", "$type: the history has the error");
}
foreach my $refused ('CALL commits(NULL)', 'VACUUM', 'SELECT 1; SELECT 2', 'SELECT FROM WHERE')
{
	my ($rc, $stdout, $stderr) = $hipq->node->psql('postgres',
		"SELECT hipq.alter_job_type('app.main', 'asked', retry_handler => '$refused')");
	like($stderr,
		qr/this statement cannot be a retry handler|a retry handler is one query, not|retry handler VACUUM does not exist|syntax error/,
		"$refused is refused as a retry handler");
}

# Whatever the retry handler returns, retries after the first max_retries have at least the delay of
# the policy.
$hipq->sql(q{SELECT hipq.register_job_type('app.main', 'eager', handler => 'act', max_retries => 2,
	retry_base => '12 h', retry_max => '1 day')});
foreach my $answer ("interval '0'", "interval '-178000 years'")
{
	$hipq->sql("SELECT hipq.alter_job_type('app.main', 'eager',
		retry_handler => \$\$SELECT $answer\$\$)");
	$id = $hipq->enqueue('eager', q{'{"state": "P0001"}'});
	ok($hipq->wait_until(qq{SELECT state = 'retry' AND attempt = 3
			AND scheduled_run_time - update_time = '1 day' FROM hipq.jobs_detail WHERE id = $id}),
		"$answer: two retries are immediate, and the third has the delay of the policy");
	$hipq->sql("SELECT hipq.cancel($id)");
}

# ---- retries that are off for the server, a queue or a job type
$hipq->sql(q{
	SELECT hipq.register_job_type('app.main', 'retried', handler => 'act', max_retries => 2,
		retry_base => '1ms');
	SELECT hipq.register_job_type('app.main', 'never', handler => 'act', max_retries => 2,
		retry_base => '1ms', retry_enabled => false)});
sub is_not_retried
{
	my ($type, $switch, $what) = @_;
	my $job = $hipq->enqueue($type, q{'{"state": "P0001"}'});
	is($hipq->outcome($job), 'failed', "$what: a failure is final");
	is(final_row($job), "failed 1 0 transient_error told to fail (not retried: $switch is off)",
		"$what: the error names the switch");
	is($hipq->sql("SELECT reason FROM hipq.dead_letters_detail WHERE job_id = $job"),
		'transient_error', "$what: a failed job leaves a dead letter");
	like($hipq->sql("SELECT reason FROM hipq.why_retriable($job)"),
		qr/Retries are switched off: \Q$switch\E is off/,
		"$what: why_retriable() names the switch");
	return;
}
$hipq->set('hipq.retry_enabled' => 'off');
is_not_retried('retried', 'hipq.retry_enabled', 'retries switched off for the server');
is_not_retried('thrice', 'hipq.retry_enabled',
	'retries switched off for the server, with a retry handler');
$hipq->sql(q{SELECT hipq.alter_queue('app.main', retry_enabled => true)});
is($hipq->sql("SELECT attempt FROM hipq.jobs_detail WHERE id = " . do { my $job =
		$hipq->enqueue('retried', q{'{"state": "P0001"}'}); $hipq->outcome($job); $job }), 3,
	'a queue can have retries when they are off for the server');
is_not_retried('never', 'retry_enabled of the job type', 'retries switched off for a type');
is($hipq->sql(q{SELECT string_agg(job_type || ' ' || retry_enabled, ', ' ORDER BY job_type)
		FROM hipq.job_types_detail WHERE job_type IN ('retried', 'never')}),
	'never false, retried true', 'view job_types shows the retry_enabled that applies');
$hipq->set('hipq.retry_enabled' => 'on');
$hipq->sql(q{SELECT hipq.alter_queue('app.main', retry_enabled => false)});
is_not_retried('retried', 'retry_enabled of the queue', 'retries switched off for a queue');
$hipq->sql(q{SELECT hipq.alter_queue('app.main', reset => '{retry_enabled}')});

# ---- timeout
$hipq->sql(q{
	CREATE FUNCTION sleep(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN INSERT INTO written
		VALUES ('slept'); PERFORM pg_sleep(60); END $$;
	CREATE FUNCTION catches(data jsonb) RETURNS text LANGUAGE plpgsql AS $$
	BEGIN INSERT INTO written VALUES ('slept'); PERFORM pg_sleep(60); RETURN 'no';
		EXCEPTION WHEN query_canceled THEN RETURN 'caught'; END $$;
	CREATE TABLE put_off (what text);
	CREATE FUNCTION sleeps_late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60);
		RETURN NULL; END $$;
	CREATE CONSTRAINT TRIGGER late AFTER INSERT ON put_off DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION sleeps_late();
	CREATE FUNCTION defers(data jsonb) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
	BEGIN INSERT INTO written VALUES ('slept'); INSERT INTO put_off VALUES ('slept'); END $$;
	SELECT hipq.register_job_type('app.main', name, handler => name, default_timeout => 1)
		FROM unnest('{sleep, catches, defers}'::text[]) AS name});
foreach my $type ('sleep', 'catches', 'defers')
{
	$id = $hipq->enqueue($type);
	is($hipq->outcome($id), 'failed', "$type: a job that exceeds its timeout fails");
	is($hipq->attempts($id), '1 timeout 57014', "$type: the attempt has reason timeout");
	is($hipq->sql("SELECT error FROM hipq.jobs_detail WHERE id = $id"),
		'job exceeded its timeout of 1 s', "$type: the error names the timeout");
	$hipq->in_time($hipq->sql("SELECT extract(epoch FROM duration) FROM hipq.attempts_detail
			WHERE job_id = $id"), 2, "$type: the attempt ends within a second of its timeout");
}
$hipq->sql(q{
	CREATE FUNCTION deaf(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN INSERT INTO written VALUES ('slept'); LOOP BEGIN PERFORM pg_sleep(60);
		EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP; END $$;
	SELECT hipq.register_job_type('app.main', 'deaf', handler => 'deaf', default_timeout => 1)});
$id = $hipq->enqueue('deaf');
is($hipq->outcome($id), 'failed',
	'the process of a handler that catches every cancellation is terminated');
is($hipq->attempts($id), '1 timeout 57014',
	'the attempt of a handler that catches every cancellation has reason timeout');
is($hipq->sql("SELECT count(*) FROM written WHERE what = 'slept'"), '0',
	'the effects of handlers that time out are rolled back');

# ---- expiry
$id = $hipq->enqueue('act',
	q{scheduled_run_time => now() + interval '300 ms', expires_time => now() + interval '300 ms'});
is($hipq->outcome($id), 'expired', 'a job that has not started by its expires_time expires');
is(final_row($id), 'expired 0 0 expired job expired before it started',
	'the error says that the job expired');

# ---- update_time
$hipq->sql(q{SELECT hipq.register_job_type('app.main', 'slowly', handler => 'act', max_retries => 1,
	retry_base => '1 day')});
my $retried = $hipq->enqueue('slowly', q{'{"state": "P0001"}'});
ok($hipq->wait_until(qq{SELECT state = 'retry' FROM hipq.jobs_detail WHERE id = $retried}),
	'a job waits for its retry before it is changed');
my $fresh = $hipq->enqueue('slowly', q{scheduled_run_time => now() + interval '1 day'});
foreach my $change ("UPDATE hipq.app_main SET priority = priority + 1 WHERE id = %s",
	"SELECT hipq.reschedule(%s, now() + interval '2 days')")
{
	foreach my $case ([ $retried, 't' ], [ $fresh, 'f' ])
	{
		my ($job, $expected) = @$case;
		my $before = $hipq->sql("SELECT update_time FROM hipq.app_main WHERE id = $job");
		$hipq->sql(sprintf $change, $job);
		is($hipq->sql("SELECT update_time > '$before' FROM hipq.app_main WHERE id = $job"),
			$expected, "$change: update_time of a job changes only after an attempt ($expected)");
	}
}
my $unchanged = $hipq->sql("SELECT update_time FROM hipq.app_main WHERE id = $retried");
$hipq->sql("UPDATE hipq.app_main SET priority = priority WHERE id = $retried");
is($hipq->sql("SELECT update_time FROM hipq.app_main WHERE id = $retried"), $unchanged,
	'an UPDATE that changes no value does not change update_time');
$hipq->sql("SELECT hipq.cancel($_)") foreach $retried, $fresh;

# ---- history
$hipq->sql(q{SELECT hipq.register_job_type('app.full', 'kept', handler => 'act')});
$id = $hipq->enqueue('kept');
$hipq->outcome($id);
is($hipq->attempts($id), '1 succeeded', q{history => 'all' stores successes});

# ---- successors
$hipq->sql(q{
	CREATE FUNCTION next_of(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE n integer := (job.job_data->>'n')::integer;
	        next jsonb := jsonb_set(job.job_data, '{n}', to_jsonb(n - 1));
	BEGIN
		IF n > 0 AND job.job_data->>'by' = 'enqueue' THEN
			PERFORM hipq.enqueue(job.job_type, next, queue => 'app.main', job_key => job.job_key);
		ELSIF n > 0 AND job.job_data->>'by' = 'insert' THEN
			INSERT INTO hipq.app_main (job_type, job_key, job_data)
				VALUES (job.job_type, job.job_key, next);
		ELSIF n > 0 AND job.job_data->>'by' = 'insert_many' THEN
			INSERT INTO hipq.app_main (job_type, job_key, job_data)
				VALUES (job.job_type, job.job_key, next), (job.job_type, 'other', '{"n": 0}');
		ELSIF n > 0 AND job.job_data->>'by' = 'copy' THEN
			EXECUTE format('COPY hipq.app_main (job_type, job_key, job_data) FROM PROGRAM %L',
				format('printf %L', format(E'%s\t%s\t{"n": 0}\n', job.job_type, job.job_key)));
		END IF;
		IF job.job_data->>'fail' = 'yes' THEN RAISE 'fails after all'; END IF;
	END $$;
	CREATE PROCEDURE next_by_call(id bigint, data jsonb) LANGUAGE plpgsql AS $$ BEGIN
		PERFORM hipq.enqueue('next_by_call', queue => 'app.main', job_key => 'p'); END $$;
	SELECT hipq.register_job_type('app.main', 'next_of', handler => 'next_of');
	SELECT hipq.register_job_type('app.main', 'next_by_call', handler => 'next_by_call');
	GRANT pg_execute_server_program TO app});
foreach my $by ('enqueue', 'insert', 'insert_many', 'copy')
{
	$id = $hipq->enqueue('next_of', qq{'{"n": 1, "by": "$by"}', job_key => '$by'});
	is($hipq->outcome($id), 'succeeded', "a job enqueues its successor under its own key, by $by");
	ok($hipq->wait_until("SELECT string_agg(outcome || ' ' || (job_data->>'n'), ', ' ORDER BY id)
			FROM hipq.jobs_detail WHERE job_key = '$by'", 'succeeded 1, succeeded 0'),
		"a successor runs after its job, by $by");
}
$id = $hipq->enqueue('next_of', q{'{"n": 1, "by": "enqueue", "fail": "yes"}', job_key => 'undone'});
is($hipq->outcome($id), 'failed', 'a job that enqueued its successor fails');
is($hipq->sql("SELECT count(*) FROM hipq.jobs WHERE job_key = 'undone'"), '1',
	'a failed job leaves no successor');
$id = $hipq->enqueue('next_by_call', q{job_key => 'p'});
is($hipq->outcome($id), 'failed', 'a procedure cannot enqueue its successor');
like($hipq->sql("SELECT error FROM hipq.jobs_detail WHERE id = $id"),
	qr/a procedure cannot enqueue a job with the type and key of its own job/,
	'the error says why a procedure cannot enqueue its successor');
$id = $hipq->enqueue('next_of', q{'{"n": 20, "by": "enqueue"}', job_key => 'chain'});
ok($hipq->wait_until("SELECT count(*) FROM hipq.jobs WHERE job_key = 'chain'
		AND outcome = 'succeeded'", '21'), 'a chain of twenty successors runs');

done_testing();
