# A job whose row was moved, changed or removed after an executor read its ctid is claimed and
# finished in its current state, or not at all.
use strict;
use warnings;
use HipqCluster;
use HipqPoints;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('moved_rows', 'hipq.max_executors' => 1);
my $points = HipqPoints->new($hipq);
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE EXTENSION amcheck;
	CREATE FUNCTION echo(data jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$ BEGIN RETURN data; END $$;
	CREATE FUNCTION echo_all(data jsonb[]) RETURNS jsonb[] LANGUAGE plpgsql AS $$ BEGIN
		RETURN data; END $$;
	-- Changes the row of the job, or enqueues a successor, as the job's data say.
	CREATE FUNCTION act(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		CASE job.job_data->>'do'
		WHEN 'data' THEN UPDATE hipq.app_main SET job_data = '{"by": "handler"}' WHERE id = job.id;
		WHEN 'time' THEN UPDATE hipq.app_main SET scheduled_run_time = now() + interval '1 day'
			WHERE id = job.id;
		WHEN 'twice' THEN
			UPDATE hipq.app_main SET job_data = '{"by": "handler"}' WHERE id = job.id;
			UPDATE hipq.app_main SET priority = 7 WHERE id = job.id;
		WHEN 'successor' THEN PERFORM hipq.enqueue(job.job_type, '{"do": "nothing"}',
			queue => 'app.main', job_key => job.job_key,
			scheduled_run_time => now() + interval '1 day');
		ELSE NULL;
		END CASE;
	END $$;
	CREATE FUNCTION act_all(jobs hipq.job[]) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN 1 .. cardinality(jobs) LOOP PERFORM public.act(jobs[i]); END LOOP;
	END $$;
	SELECT hipq.register_job_type('app.main', 'single', handler => 'echo', claim => 'lock');
	SELECT hipq.register_job_type('app.main', 'batch', handler => 'echo_all', claim => 'lock',
		batch_size => 10);
	SELECT hipq.register_job_type('app.main', 'act', handler => 'act', claim => 'lock');
	SELECT hipq.register_job_type('app.main', 'act_all', handler => 'act_all', claim => 'lock',
		batch_size => 10)});

sub enqueue_ten
{
	my ($type) = @_;
	return split /,/, $hipq->sql(
		qq{SELECT string_agg(id::text, ',' ORDER BY id) FROM unnest(hipq.enqueue_many('$type',
		(SELECT array_agg(jsonb_build_object('n', n)) FROM generate_series(1, 10) AS n))) AS id});
}

# ---- a row changes between the scan of the lane and the claim
foreach my $type ('single', 'batch')
{
	$points->arm('before-claim', 'wait');
	my @ids = enqueue_ten($type);
	ok($points->wait_held('before-claim'), "$type: the executor has read where the rows are");
	$hipq->sql("UPDATE hipq.app_main SET job_data = '{\"by\": \"user\"}' WHERE id = $ids[0];
		UPDATE hipq.app_main SET scheduled_run_time = now() + interval '1 day' WHERE id = $ids[1]");
	$hipq->sql("SELECT hipq.cancel($ids[2])");
	# Every row gets another ctid, and the table is shorter.
	$hipq->sql('VACUUM FULL hipq.app_main_live') if $type eq 'batch';
	$points->reset;
	my $others = join ',', @ids[ 3 .. 9 ];
	ok($hipq->wait_until("SELECT count(*) FROM hipq.jobs_detail WHERE id IN ($others)
			AND outcome = 'succeeded' AND result = job_data", 7),
		"$type: jobs beside moved rows succeed");
	is($hipq->outcome($ids[0]), 'succeeded', "$type: a job whose row has moved succeeds");
	is($hipq->result($ids[0]), '{"by": "user"}',
		"$type: a job whose row has moved has its new data");
	is($hipq->sql("SELECT string_agg(coalesce(outcome, state::text), ' ' ORDER BY id)
			FROM hipq.jobs_detail WHERE id IN ($ids[1], $ids[2])"), 'waiting cancelled',
		"$type: a job that was rescheduled or cancelled does not run");
	$hipq->sql("SELECT hipq.cancel($ids[1])");
}

# Another job's row has the ctid that was read.
$points->arm('before-claim', 'wait');
my @ids = enqueue_ten('batch');
ok($points->wait_held('before-claim'),
	'batch: the executor has read the ctids of rows before they are cancelled');
my $place = $hipq->sql("SELECT ctid FROM hipq.app_main_live WHERE id = $ids[0]");
$hipq->sql("SELECT hipq.cancel(id) FROM unnest(ARRAY[" . join(',', @ids) . "]::bigint[]) AS id");
$hipq->sql('VACUUM hipq.app_main_live');
my @others = enqueue_ten('batch');
is($hipq->sql("SELECT count(*) FROM hipq.app_main_live WHERE ctid = '$place' AND id = ANY ('{"
		. join(',', @others) . "}')"), 1, "another job's row has the ctid of a cancelled one");
$points->reset;
ok($hipq->wait_until("SELECT count(*) FROM hipq.jobs_detail WHERE id IN (" . join(',',
		@others) . ") AND outcome = 'succeeded' AND result = job_data", 10),
	'each job with the ctid of a cancelled one runs once');
is($hipq->sql("SELECT count(*) FROM hipq.jobs WHERE id IN (" . join(',',
		@ids) . ") AND outcome = 'cancelled'"), 10,
	'cancelled jobs whose ctid is used again do not run');

# ---- the handler changes the row of its job between the claim and the end
foreach my $type ('act', 'act_all')
{
	foreach my $do ('data', 'time', 'twice')
	{
		my $id = $hipq->enqueue($type, qq{'{"do": "$do"}'});
		is($hipq->outcome($id), 'succeeded',
			"$type: a job whose handler changes its row succeeds: $do");
		is($hipq->sql("SELECT concat_ws(' ', state, attempt, error, job_data->>'do')
				FROM hipq.job WHERE id = $id"), "final 1 NONE $do",
			"$type: the final row has the values at the claim: $do");
	}
}
like($hipq->sql('SELECT count(*) FROM hipq.app_main_live'), qr/^0$/,
	'no row is left in the live leaf when handlers change rows of their jobs');

# ---- a batch in which one job enqueues its successor, and another one changes its own row
my $ids = $hipq->sql(q{SELECT string_agg(id::text, ',') FROM (SELECT hipq.enqueue('act_all',
	jsonb_build_object('do', what), queue => 'app.main', job_key => what) AS id
	FROM unnest('{nothing, successor, data, still nothing}'::text[]) AS what) AS enqueued});
ok($hipq->wait_until("SELECT count(*) FROM hipq.jobs WHERE id IN ($ids) AND outcome = 'succeeded'
		AND attempt = 1", 4), 'a batch with a successor succeeds');
is($hipq->sql(q{SELECT string_agg(job_key || ' ' || (job_data->>'do'), ', ')
		FROM hipq.app_main_live}), 'successor nothing',
	'only the successor of the batch is in the live leaf');

# ---- values of all sizes, and keys
foreach my $type ('single', 'batch')
{
	$ids = $hipq->sql(qq{SELECT string_agg(id::text, ',')
		FROM (SELECT hipq.enqueue('$type', jsonb_build_object('text', text), queue => 'app.main',
		job_key => '$type ' || length(text)) AS id
		FROM (SELECT '' UNION ALL SELECT repeat('x', n)
			FROM unnest('{10, 150, 5000, 500000}'::integer[]) AS n
			UNION ALL SELECT string_agg(md5(n::text), '')
				FROM generate_series(1, 3000) AS n) AS texts(text)) AS enqueued});
	ok($hipq->wait_until("SELECT count(*) FROM hipq.jobs_detail
			WHERE id IN ($ids) AND outcome = 'succeeded' AND result = job_data", 6),
		"$type: jobs with short, compressed and large values succeed");
}
$hipq->sql('VACUUM hipq.app_main_live');
is($hipq->sql(q{SET enable_seqscan = off; SELECT count(*) FROM hipq.job WHERE state = 'final' AND
		job_type = 'single' AND job_key = 'single 500000'}), 1, 'a final job is found by its key');
is($hipq->sql(q{SELECT count(*) > 2 AND bool_and(bt_index_check(index.indexrelid, true) IS NOT NULL)
		FROM pg_index AS index JOIN pg_partition_tree('hipq.app_main') AS leaf ON leaf.relid =
		index.indrelid AND leaf.isleaf}),
	't', 'every index of each leaf has every row');

done_testing();
