# Settings of a role (ALTER ROLE ... SET) apply to the handlers that run as this role, and never to
# statements of hipq.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('role_settings', 'hipq.retry_jitter' => 0,
	'hipq.executor_idle_timeout' => '500ms');
$hipq->create_queue('app.main', history => 'all');
$hipq->sql(q{
	GRANT CREATE ON SCHEMA public TO app;
	CREATE TABLE written (what text); GRANT ALL ON written TO app;
	CREATE FUNCTION show(data jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
	BEGIN RETURN (SELECT jsonb_object_agg(name, setting) FROM pg_settings WHERE data ? name);
		END $$;
	CREATE PROCEDURE show_after_commit(data jsonb) LANGUAGE plpgsql AS $$
	BEGIN COMMIT; IF current_setting('transaction_isolation') <> data->>'isolation' THEN
		RAISE 'isolation is %', current_setting('transaction_isolation'); END IF; END $$;
	CREATE FUNCTION act(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		IF job.job_data ? 'write' THEN INSERT INTO written VALUES (job.job_data->>'write'); END IF;
		IF job.job_data ? 'fail' AND job.attempt < 3 THEN RAISE 'no'; END IF;
	END $$;
	CREATE FUNCTION decide(job hipq.job) RETURNS interval LANGUAGE sql AS $$ SELECT CASE
		WHEN (job).attempt < 3 THEN interval '10 ms' END $$;
	CREATE FUNCTION sleep(data jsonb) RETURNS void LANGUAGE sql AS $$ SELECT pg_sleep(60) $$;
	CREATE FUNCTION nap(data jsonb) RETURNS void LANGUAGE sql AS $$ SELECT pg_sleep(0.02) $$;
	SELECT hipq.register_job_type('app.main', name, handler => name, max_retries => 5,
		retry_base => '10 ms') FROM unnest('{show, show_after_commit, act, nap}'::text[]) AS name;
	SELECT hipq.register_job_type('app.main', 'asked', handler => 'act', retry_handler => 'decide');
	SELECT hipq.register_job_type('app.main', 'sleep', handler => 'sleep', default_timeout => 1)});

# Tests that hipq can do its own work whatever the role's settings are: claim, finish, fail and
# retry jobs, call a retry handler, and end jobs that time out.
sub check_bookkeeping
{
	my ($name, %handler) = @_;
	my $id = $hipq->enqueue('act', q{'{}'});
	is($hipq->outcome($id), 'succeeded', "$name: a job is finished");
	$id = $hipq->enqueue('act', q{'{"fail": 1}'});
	is($hipq->outcome($id), 'succeeded', "$name: a job is retried");
	is($hipq->attempts($id), '1 transient_error P0001, 2 transient_error P0001, 3 succeeded',
		"$name: the attempts of a retried job are recorded");
	$id = $hipq->enqueue('asked', q{'{"fail": 1}'});
	is($hipq->outcome($id), 'succeeded', "$name: a retry handler is called");
	$id = $hipq->enqueue('sleep');
	is($hipq->outcome($id), 'failed', "$name: a job times out");
	is($hipq->attempts($id), '1 timeout 57014',
		"$name: the attempt of a job that times out is recorded");
	is($hipq->sql("SELECT (job->>'created_time')::timestamptz = created_time
			FROM hipq.dead_letters_detail JOIN hipq.jobs_detail ON id = job_id WHERE id = $id"),
		't', "$name: a job that times out has a dead letter");
	is($hipq->sql('SELECT count(*) FROM hipq.app_main_live'), 0,
		"$name: no job is left in the live leaf");
	return;
}

# Sets the role's settings, waits until no executor has the old ones, runs the tests, and resets the
# settings.
sub with_settings
{
	my ($settings, $check) = @_;
	foreach my $name (sort keys %$settings)
	{
		$hipq->sql("ALTER ROLE app SET $name = $settings->{$name}");
	}
	$hipq->wait_until('SELECT count(*) FROM hipq.executors', 0);
	$check->();
	$hipq->sql('ALTER ROLE app RESET ALL');
	$hipq->wait_until('SELECT count(*) FROM hipq.executors', 0);
	return;
}

# Returns these settings as a handler sees them.
sub seen_by_handler
{
	my (@names) = @_;
	my $list = join ', ', map { qq("$_") } @names;
	return $hipq->result($hipq->enqueue('show', "'[$list]'"));
}

foreach my $level ('repeatable read', 'serializable')
{
	with_settings({ default_transaction_isolation => "'$level'" }, sub {
		is(seen_by_handler('transaction_isolation'), qq({"transaction_isolation": "$level"}),
			"$level reaches a handler");
		is($hipq->outcome_of('show_after_commit', qq('{"isolation": "$level"}')), 'succeeded',
			"$level reaches a procedure, even after its COMMIT");
		check_bookkeeping($level);
		# What hipq reads for one job must not make another job fail with a serialization failure,
		# not even in a table of one page.
		foreach my $round (1 .. 5)
		{
			$hipq->sql('VACUUM FULL ANALYZE hipq.app_main_live');
			$hipq->sql(q{SELECT count(*) FROM hipq.enqueue_many('nap',
				(SELECT array_agg('{}'::jsonb) FROM generate_series(1, 12)))});
			$hipq->sql('ANALYZE hipq.app_main_live');
			$hipq->wait_until('SELECT count(*) FROM hipq.app_main_live', 0);
		}
		is($hipq->sql(q{SELECT count(*) FROM hipq.attempts WHERE sqlstate = '40001'}), 0,
			'no job fails because of what hipq reads for another');
	});
}
with_settings({ default_transaction_read_only => 'on' }, sub {
	is(seen_by_handler('transaction_read_only'), '{"transaction_read_only": "on"}',
		'read-only transactions reach a handler');
	my $id = $hipq->enqueue('act', q{'{"write": "x"}', max_retries => 0});
	ok($hipq->wait_until("SELECT retry_reason FROM hipq.jobs_detail WHERE id = $id", 'read_only'),
		'a job that cannot write in its read-only transaction waits');
	is($hipq->sql("SELECT hipq.cancel($id)"), 't', 'a job that waits to write can be cancelled');
	check_bookkeeping('read only');
});
with_settings({ default_transaction_read_only => 'on',
		default_transaction_isolation => 'serializable', default_transaction_deferrable => 'on',
		statement_timeout => '1', lock_timeout => '1' }, sub {
	is(seen_by_handler('transaction_isolation', 'transaction_read_only', 'transaction_deferrable',
			'statement_timeout', 'lock_timeout'),
		'{"lock_timeout": "1", "statement_timeout": "1", "transaction_isolation": "serializable", '
			. '"transaction_read_only": "on", "transaction_deferrable": "on"}',
		'several settings and timeouts of 1 ms reach a handler');
	check_bookkeeping('all at once');
});
with_settings({
	search_path => 'pg_temp', work_mem => "'64kB'", synchronous_commit => 'off', row_security =>
		'off', session_replication_role => 'replica', TimeZone => "'Pacific/Kiritimati'",
	DateStyle => "'German, DMY'", IntervalStyle => 'sql_standard', client_min_messages => 'error',
		enable_indexscan => 'off', enable_seqscan => 'off', jit_above_cost => '0',
	transform_null_equals => 'on',
	standard_conforming_strings => $hipq->version < 19 ? 'off' : 'on',
		quote_all_identifiers => 'on', array_nulls => 'off', default_tablespace => "''",
		plan_cache_mode => 'force_custom_plan',
	($hipq->version < 16 ? 'force_parallel_mode' : 'debug_parallel_query') => 'on',
		'my.own' => "'value'" }, sub {
	is(seen_by_handler('search_path', 'work_mem', 'synchronous_commit', 'row_security',
			'session_replication_role', 'TimeZone', 'DateStyle', 'IntervalStyle'),
		'{"TimeZone": "Pacific/Kiritimati", "work_mem": "64", "DateStyle": "German, DMY", '
			. '"search_path": "pg_temp", "row_security": "off", "IntervalStyle": "sql_standard", '
			. '"synchronous_commit": "off", "session_replication_role": "replica"}',
		'all kinds of settings reach a handler');
	is($hipq->sql('SELECT 1'), 1, 'the server is up');
	$hipq->sql(q{ALTER FUNCTION act(hipq.job) SET search_path = public});
	check_bookkeeping('all kinds');
	$hipq->sql(q{ALTER FUNCTION act(hipq.job) RESET ALL});
	is($hipq->sql(q{SELECT count(*) FROM hipq.dead_letters_detail
			WHERE job->>'created_time' NOT LIKE '%+00:00'}), 0, 'times in dead letters are in UTC');
});

# ---- lock_timeout applies to the handler's locks, and not to hipq's
with_settings({ lock_timeout => '100' }, sub {
	$hipq->sql(q{
		CREATE FUNCTION take_lock(data jsonb) RETURNS void LANGUAGE sql AS $$
			SELECT pg_advisory_xact_lock(1) $$;
		SELECT hipq.register_job_type('app.main', 'take_lock', handler => 'take_lock')});
	my $lock = $hipq->hold_lock(1);
	my $id = $hipq->enqueue('take_lock');
	is($hipq->outcome($id), 'failed', 'lock_timeout reaches a handler');
	is($hipq->attempts($id), '1 transient_error 55P03',
		'an attempt that exceeds lock_timeout has SQLSTATE 55P03');
	$lock->quit;
	# An executor waits longer than lock_timeout for a lock on hipq's table.
	$lock = $hipq->session;
	$id = $hipq->enqueue('act', q{'{}'});
	$hipq->outcome($id);
	my $pid = $hipq->sql('SELECT pid FROM hipq.executors');
	$lock->query_safe('BEGIN; LOCK TABLE hipq.attempt IN ACCESS EXCLUSIVE MODE');
	$id = $hipq->enqueue('act', q{'{}'});
	ok($hipq->wait_until(q{SELECT count(*) FROM pg_stat_activity
			WHERE backend_type = 'hipq executor' AND wait_event_type = 'Lock'}, 1),
		"an executor waits for a lock on hipq's table");
	$hipq->wait_until(q{SELECT bool_and(clock_timestamp() - waitstart > interval '300 ms')
		FROM pg_locks WHERE NOT granted}, 't');
	$lock->query_safe('COMMIT');
	$lock->quit;
	is($hipq->outcome($id), 'succeeded',
		"a job ends when its executor has got the lock on hipq's table");
	is($hipq->sql("SELECT attempt FROM hipq.jobs WHERE id = $id"), 1,
		'a job whose executor waited for a lock needs one attempt');
});

done_testing();
