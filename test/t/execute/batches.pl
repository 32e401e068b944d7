# A batch handler takes several jobs in one call and one transaction. If it fails, the jobs run
# again one by one.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('batches');
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE TABLE call (at bigint, ids bigint[], data jsonb[], states text[]);
	CREATE SEQUENCE call_number;
	GRANT ALL ON call TO app;
	GRANT ALL ON SEQUENCE call_number TO app;
	CREATE FUNCTION of_jobs(jobs hipq.job[]) RETURNS jsonb[] LANGUAGE plpgsql AS $$
	DECLARE results jsonb[];
	BEGIN
		INSERT INTO call SELECT nextval('call_number'), array_agg(job.id), array_agg(job.job_data),
			array_agg(job.state::text || job.attempt) FROM unnest(jobs) AS job;
		SELECT array_agg(to_jsonb(job.job_data->'n') ORDER BY position) INTO results
			FROM unnest(jobs) WITH ORDINALITY AS job(id, original_job_id, retry_of, worker_id,
			scheduled_run_time, update_time, created_time, accepted_time, deadline, expires_time,
			queue_id, state, timeout, attempt, retry_count, max_retries, queue_ttl, priority,
			throttle_factor, job_type, job_key, error, throttle_key, time_windows, retry_reason,
			shard_key, job_data, result, manual_reason, position);
		RETURN results;
	END $$;
	CREATE FUNCTION of_data(data jsonb[]) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE one jsonb;
	BEGIN
		PERFORM nextval('call_number');
		FOREACH one IN ARRAY data LOOP
			IF one ? 'fail' THEN RAISE 'bad one'; END IF;
			IF one ? 'sleep' THEN PERFORM pg_sleep(60); END IF;
		END LOOP;
		INSERT INTO call VALUES (currval('call_number'), NULL, data);
	END $$;
	CREATE FUNCTION of_ids_and_data(ids bigint[], data jsonb[]) RETURNS jsonb[]
		LANGUAGE plpgsql AS $$
	BEGIN
		IF EXISTS (SELECT FROM unnest(data) AS one WHERE one ? 'fail') THEN RAISE 'bad one'; END IF;
		INSERT INTO call VALUES (nextval('call_number'), ids, data);
		RETURN (SELECT array_agg(jsonb_build_array(id, one) ORDER BY position)
			FROM unnest(ids, data) WITH ORDINALITY AS given(id, one, position));
	END $$;
	CREATE FUNCTION one_for_all(data jsonb[]) RETURNS text LANGUAGE sql AS $$
		SELECT cardinality(data)::text $$;
	CREATE FUNCTION too_few(data jsonb[]) RETURNS jsonb[] LANGUAGE sql AS $$
		SELECT ARRAY['1'::jsonb] $$});
foreach my $claim (qw(lock record))
{
	$hipq->sql(qq{
		SELECT hipq.register_job_type('app.main', 'jobs_$claim', handler => 'of_jobs',
			batch_size => 10, claim => '$claim');
		SELECT hipq.register_job_type('app.main', 'ids_$claim',
			handler => 'of_ids_and_data(bigint[], jsonb[])', batch_size => 10, claim => '$claim',
			max_retries => 0);
		SELECT hipq.register_job_type('app.main', 'data_$claim', handler => 'of_data', batch_size =>
			10, claim => '$claim', max_retries => 1, retry_base => '0', default_timeout => 300)});
}
$hipq->sql(q{
	SELECT hipq.register_job_type('app.main', 'one', handler => 'one_for_all', batch_size => 1000);
	SELECT hipq.register_job_type('app.main', 'few', handler => 'too_few', batch_size => 5)});

# Enqueues jobs while no executor runs, and then starts executors, which find a full lane.
sub run_all
{
	my ($type, $data) = @_;
	$hipq->switch_off;
	$hipq->sql('TRUNCATE call');
	my $before = $hipq->sql('SELECT coalesce(max(id), 0) FROM hipq.job');
	$hipq->sql("SELECT hipq.enqueue_many('$type', (SELECT array_agg(value ORDER BY ordinality)
		FROM jsonb_array_elements('$data') WITH ORDINALITY))");
	$hipq->set('hipq.enabled' => 'on');
	$hipq->wait_until(
		"SELECT count(*) FROM hipq.jobs_detail WHERE id > $before AND state <> 'final'", 0);
	return $before;
}
my $numbers = '[' . join(', ', map { qq({"n": $_}) } 1 .. 35) . ']';

foreach my $claim (qw(lock record))
{
	my $before = run_all("jobs_$claim", $numbers);
	is($hipq->sql(q{SELECT string_agg(cardinality(ids)::text, ' ' ORDER BY cardinality(ids) DESC)
			FROM call}), '10 10 10 5', "$claim: 35 jobs run in four calls");
	is($hipq->sql(q{SELECT count(DISTINCT id) FROM call, unnest(ids) AS id}), '35',
		"$claim: each job runs once");
	is($hipq->sql(q{SELECT DISTINCT state FROM call, unnest(states) AS state}), 'running1',
		"$claim: all jobs of a batch are in state running and in their first attempt");
	is($hipq->sql("SELECT count(*) FROM hipq.jobs_detail WHERE id > $before
			AND outcome = 'succeeded' AND result = job_data->'n' AND attempt = 1"), '35',
		"$claim: each job has its own result");
	is($hipq->sql(q{SELECT bool_and(ids = (SELECT array_agg(id ORDER BY id) FROM unnest(ids) AS id))
			FROM call}), 't', "$claim: a batch has its jobs in the order of the lane");

	$before = run_all("ids_$claim", '[{"n": 1}, null, "text", {"fail": 1}, [5]]');
	is($hipq->sql("SELECT string_agg(outcome, ' ' ORDER BY id) FROM hipq.jobs WHERE id > $before"),
		'succeeded succeeded succeeded failed succeeded',
		"$claim: a batch handler of ids and data runs one by one after a failure");
	is($hipq->sql(q{SELECT string_agg(cardinality(ids)::text || cardinality(data), ' ') FROM call}),
		'11 11 11 11', "$claim: jobs that run one by one come in arrays with one element");
	$before = run_all("ids_$claim", $numbers);
	is($hipq->sql(q{SELECT string_agg(cardinality(ids)::text || ' ' || cardinality(data), ', '
			ORDER BY cardinality(ids) DESC) FROM call}), '10 10, 10 10, 10 10, 5 5',
		"$claim: a batch handler of ids and data runs 35 jobs in four calls");
	is($hipq->sql("SELECT count(*) FROM call, unnest(ids, data) AS given(id, one)
			JOIN hipq.jobs_detail AS jobs USING (id) WHERE id > $before AND jobs.job_data = one"),
		'35', "$claim: ids and data are in the same order");
	is($hipq->sql("SELECT count(*) FROM hipq.jobs_detail WHERE id > $before
			AND outcome = 'succeeded' AND result = jsonb_build_array(id, job_data)"), '35',
		"$claim: each job of a batch of ids and data has its own result");

	$before = run_all("data_$claim", '[{"n": 1}, {"n": 2}, {"fail": 1}, {"n": 4}, {"n": 5}]');
	is($hipq->sql("SELECT string_agg(outcome, ' ' ORDER BY id) FROM hipq.jobs WHERE id > $before"),
		'succeeded succeeded failed succeeded succeeded',
		"$claim: only the job that made its batch fail fails");
	is($hipq->sql("SELECT string_agg(attempt::text || retry_count, ' ' ORDER BY id)
			FROM hipq.jobs_detail WHERE id > $before"), '10 10 21 10 10',
		"$claim: only the job that made its batch fail is charged");
	is($hipq->sql(q{SELECT count(*) || ' ' || count(DISTINCT data) FROM call}), '4 4',
		"$claim: the other jobs of a failed batch have their effects once");
	is($hipq->sql("SELECT count(*) FROM hipq.attempts WHERE job_id > $before"), '2',
		"$claim: the history has only the attempts of the job that made its batch fail");
}

# ---- a batch that exceeds its timeout
$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'data_lock', default_timeout => 5,
	max_retries => 0)});
my $before = run_all('data_lock', '[{"n": 1}, {"sleep": 1}, {"n": 3}]');
is($hipq->sql("SELECT string_agg(concat_ws(' ', outcome, retry_reason), ', ' ORDER BY id)
		FROM hipq.jobs_detail WHERE id > $before"), 'succeeded, failed timeout, succeeded',
	'only the slow job of a batch times out');

# ---- results
$before = run_all('one', $numbers);
is($hipq->sql("SELECT sum((result #>> '{}')::integer) FROM hipq.jobs_detail WHERE id > $before"),
	35 * 35, 'one result of a batch handler is the result of each of its jobs');
$before = run_all('few', '[{}, {}, {}]');
is($hipq->sql("SELECT string_agg(DISTINCT outcome, ' ') FROM hipq.jobs WHERE id > $before"),
	'succeeded', 'a batch handler that returns too few results runs again for each job by itself');
is($hipq->sql("SELECT string_agg(DISTINCT result::text, ' ') FROM hipq.jobs_detail
		WHERE id > $before"), '1', 'a batch handler that runs for one job needs one result');

# ---- a batch whose executor is terminated
my $lock = $hipq->hold_lock;
$hipq->sql(q{CREATE FUNCTION stuck(data jsonb[]) RETURNS void LANGUAGE sql AS $$
	SELECT pg_advisory_xact_lock_shared(1) $$});
foreach my $claim (qw(lock record))
{
	$hipq->sql("SELECT hipq.register_job_type('app.main', 'stuck_$claim', handler => 'stuck',
		batch_size => 4, claim => '$claim')");
	$hipq->sql("SELECT hipq.enqueue_many('stuck_$claim', array_agg('{}'::jsonb))
		FROM generate_series(1, 4)");
	ok($hipq->wait_until("SELECT count(*) FROM hipq.running WHERE job_type = 'stuck_$claim'", 4),
		"$claim: view running has every job of a batch");
	$hipq->sql("SELECT pg_terminate_backend(pid) FROM hipq.running
		WHERE job_type = 'stuck_$claim'");
	ok($hipq->wait_until("SELECT count(*) FROM hipq.attempts WHERE job_type = 'stuck_$claim'
			AND reason = 'worker_lost'", 4), "$claim: all jobs of a lost batch are rescued");
}
$lock->quit;
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.jobs_detail WHERE job_type LIKE 'stuck%'
		AND outcome = 'succeeded' AND attempt = 2 AND retry_count = 0}, 8),
	'the jobs of a lost batch run again, uncharged');

done_testing();
