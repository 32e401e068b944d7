# With batch_size a handler of single jobs runs several jobs in one transaction, a call for each. If
# one of them fails, or needs a transaction of its own, all run again one by one.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('together');
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE TABLE ran (job_id bigint, data jsonb, at bigint, work_mem text, user_name text);
	CREATE TABLE number (n integer UNIQUE DEFERRABLE INITIALLY DEFERRED);
	GRANT ALL ON ran, number TO app;
	CREATE ROLE other; GRANT other TO app;
	CREATE FUNCTION work(job hipq.job) RETURNS jsonb LANGUAGE plpgsql AS $$
	DECLARE what text := coalesce(job.job_data->>'do', '');
	BEGIN
		INSERT INTO ran VALUES (job.id, job.job_data, txid_current(), current_setting('work_mem'),
			current_user);
		CASE what
			WHEN 'fail' THEN RAISE 'bad one';
			WHEN 'set' THEN SET work_mem = '1MB'; SET LOCAL ROLE other;
			WHEN 'snooze' THEN PERFORM hipq.snooze('1 hour');
			WHEN 'temp' THEN CREATE TEMP TABLE mine ON COMMIT DROP AS SELECT job.id;
			WHEN 'defer' THEN INSERT INTO number VALUES (7), (7);
			WHEN 'say' THEN RAISE NOTICE 'job %', job.job_data->'n';
			WHEN 'again' THEN PERFORM hipq.enqueue(job.job_type, '{"do": ""}',
				job_key => job.job_key, queue => 'app.main');
			WHEN 'sleep' THEN PERFORM pg_sleep(60);
			WHEN 'progress' THEN PERFORM hipq.report_progress(1, 2, 'half');
			ELSE NULL;
		END CASE;
		RETURN job.job_data->'n';
	END $$});

# Enqueues jobs while no executor runs, and then starts executors, which find a full lane. $keys:
# also gives each job a key.
sub run_all
{
	my ($type, $data, $keys) = @_;
	$hipq->switch_off;
	$hipq->sql('TRUNCATE ran');
	my $before = $hipq->sql('SELECT coalesce(max(id), 0) FROM hipq.job');
	$hipq->sql("INSERT INTO hipq.app_main (job_type, job_data, job_key)
		SELECT '$type', value, " . ($keys ? q{'key ' || ordinality} : 'NULL') . "
		FROM jsonb_array_elements('$data') WITH ORDINALITY");
	$hipq->set('hipq.enabled' => 'on');
	$hipq->wait_until("SELECT count(*) FROM hipq.job WHERE id > $before
		AND state NOT IN ('final', 'retry')", 0);
	return $before;
}

# A job that does something among jobs that do nothing.
sub among { return qq([{"n": 1}, {"n": 2}, {"n": 3, "do": "$_[0]"}, {"n": 4}, {"n": 5}]); }

foreach my $claim (qw(record lock))
{
	my $type = "work_$claim";
	$hipq->sql("SELECT hipq.register_job_type('app.main', '$type', handler => 'work',
		batch_size => 5, claim => '$claim', max_retries => 0)");
	is($hipq->outcome_of($type, q{'{"n": 0}'}), 'succeeded', "$claim: a single job runs");

	my $before = run_all($type, '[' . join(', ', map { qq({"n": $_}) } 1 .. 33) . ']');
	is($hipq->sql(q{SELECT string_agg(count::text, ' ' ORDER BY count DESC)
			FROM (SELECT count(*) FROM ran GROUP BY at) AS transactions}), '5 5 5 5 5 5 3',
		"$claim: 33 jobs run in seven transactions");
	is($hipq->sql("SELECT count(*) FROM hipq.jobs_detail AS jobs JOIN ran ON job_id = id
			WHERE id > $before AND outcome = 'succeeded' AND attempt = 1
			AND result = job_data->'n' AND data = job_data"), 33,
		"$claim: each job runs once, and has its own result");

	$before = run_all($type, among('fail'));
	is($hipq->sql("SELECT string_agg(outcome || attempt, ' ' ORDER BY id) FROM hipq.jobs_detail
			WHERE id > $before"), 'succeeded1 succeeded1 failed1 succeeded1 succeeded1',
		"$claim: only the job that failed fails");
	is($hipq->sql('SELECT count(*), count(DISTINCT job_id) FROM ran'), '4|4',
		"$claim: the other jobs have their effects once");
	is($hipq->sql("SELECT count(*) FROM hipq.attempts WHERE job_id > $before"), 1,
		"$claim: the history has only the attempt that failed");

	next if $claim eq 'record';  # the rest does not depend on the claim

	$before = run_all($type, among('defer'));
	is($hipq->sql("SELECT string_agg(outcome, ' ' ORDER BY id), max(error) FILTER (WHERE error
			LIKE '%number_n_key%') IS NOT NULL FROM hipq.jobs_detail WHERE id > $before"),
		'succeeded succeeded failed succeeded succeeded|t',
		"$claim: a deferred constraint fails the job that violates it");

	$before = run_all($type, among('set'));
	is($hipq->sql('SELECT count(*), count(DISTINCT at), count(DISTINCT work_mem || user_name)
			FROM ran'), '5|1|1', "$claim: the next job does not see what a job has set");

	run_all($type, among('snooze'));
	is($hipq->sql("SELECT string_agg(state || outcome, ' ' ORDER BY id) FROM hipq.jobs_detail
			WHERE id > (SELECT min(job_id) - 1 FROM ran)"),
		'finalsucceeded finalsucceeded retrywaiting finalsucceeded finalsucceeded',
		"$claim: a job among others can snooze");
	is($hipq->sql('SELECT count(DISTINCT at) FROM ran'), 5, "$claim: then each runs by itself");
	$hipq->sql(q{SELECT hipq.cancel(id) FROM hipq.job WHERE state = 'retry'});

	$before = run_all($type, '[{"do": "temp"}, {"do": "temp"}, {"do": "temp"}]');
	is($hipq->sql("SELECT count(DISTINCT at), string_agg(DISTINCT outcome, ' ')
			FROM ran JOIN hipq.jobs ON id = job_id"), '3|succeeded',
		"$claim: jobs with temporary tables run by themselves");

	$before = run_all($type, '[{"n": 1, "do": "say"}, {"n": 2}, {"n": 3, "do": "say"}]');
	is($hipq->sql("SELECT string_agg(job_data->>'n' || ' says ' || message, ', ' ORDER BY job_id),
			count(DISTINCT at) FROM hipq.attempt_logs AS logs JOIN ran USING (job_id)
			JOIN hipq.jobs_detail AS jobs ON id = job_id"), '1 says job 1, 3 says job 3|1',
		"$claim: messages are kept with the job that raised them");

	$before = run_all($type, among('again'), 'keys');
	is($hipq->sql("SELECT count(*), count(*) FILTER (WHERE outcome = 'succeeded'),
			count(*) FILTER (WHERE job_key = 'key 3') FROM hipq.jobs WHERE id > $before"), '6|6|2',
		"$claim: a job among others enqueues another one with its key");

	$before = run_all($type, among('progress'));
	is($hipq->sql("SELECT count(*) FILTER (WHERE outcome = 'succeeded') FROM hipq.jobs
		WHERE id > $before"), 5, "$claim: a job among others reports progress");

	$hipq->switch_off;
	my $ids = $hipq->sql("SELECT hipq.enqueue_many('$type', ARRAY(SELECT
		jsonb_array_elements('" . among('sleep') . "')))");
	my $third = (split /,/, $ids)[2];
	$hipq->set('hipq.enabled' => 'on');
	ok($hipq->wait_until("SELECT count(*) FROM hipq.running WHERE id = $third", 1),
		"$claim: jobs of one transaction run, one of them sleeps");
	$hipq->sql("SELECT hipq.cancel($third)");
	ok($hipq->wait_until("SELECT count(*) FROM hipq.job WHERE id = ANY ('$ids')
		AND state = 'final'", 5), "$claim: all end when that one is cancelled");
	is($hipq->sql("SELECT string_agg(outcome, ' ' ORDER BY id) FROM hipq.jobs
			WHERE id = ANY ('$ids')"), 'succeeded succeeded cancelled succeeded succeeded',
		"$claim: only that one is cancelled");
}

like($hipq->error_of(q{CREATE PROCEDURE committing(data jsonb) LANGUAGE sql AS '';
		SELECT hipq.register_job_type('app.main', 'p', handler => 'committing', batch_size => 5)}),
	qr/22023: a procedure cannot run several jobs in one transaction/,
	'a procedure runs one job at a time');
unlike(slurp_file($hipq->node->logfile), qr/TRAP|PANIC|terminated by signal 6/,
	'no process has crashed');
done_testing();
