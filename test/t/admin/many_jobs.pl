# cancel_jobs(), retry_jobs() and move_jobs() lose no job while executors run jobs of the same
# queue. Each job ends once, in one way.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('many_jobs', 'hipq.max_executors' => 4, 'hipq.terminate_grace' => '1s',
	'hipq.retry_jitter' => 0);
$hipq->create_queue("app.$_") foreach qw(main side);
$hipq->sql(q{
	CREATE TABLE ran (id bigint, queue_id integer); GRANT ALL ON ran TO app;
	CREATE FUNCTION run(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO ran VALUES (job.id, job.queue_id);
		PERFORM pg_sleep(coalesce((job.job_data->>'sleep')::float, 0));
		IF job.job_data ? 'fail' AND to_regclass('public.mended') IS NULL THEN RAISE 'no'; END IF;
	END $$;
	CREATE FUNCTION sleep(data jsonb[]) RETURNS void LANGUAGE sql AS $$ SELECT pg_sleep(600) $$;
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run'),
		hipq.register_job_type('app.side', 'run', handler => 'run');
	SELECT hipq.register_job_type('app.main', 'sleep', handler => 'sleep', batch_size => 100,
		claim => 'record')});

sub outcomes
{
	my ($type) = @_;
	return $hipq->sql("SELECT string_agg(outcome || ' ' || count, ', ' ORDER BY outcome)
		FROM (SELECT outcome, count(*) FROM hipq.jobs WHERE job_type = '$type'
		GROUP BY outcome) AS each");
}

# ---- more running jobs than shared memory has room for requests to cancel
$hipq->sql(q{SELECT cardinality(hipq.enqueue_many('sleep', array_fill('{}'::jsonb, ARRAY[300])))});
ok($hipq->wait_until(q{SELECT count(*) >= 100 FROM hipq.running}), 'batches run');
my $cancelled = $hipq->sql(q{SELECT hipq.cancel_jobs('app.main', 'sleep', reason => 'enough')});
is($cancelled, 300, 'all jobs of a type are cancelled, running or waiting');
ok($hipq->wait_until('SELECT count(*) FROM hipq.app_main_live', 0), 'all jobs of the type end')
	or BAIL_OUT('jobs sleep');
is(outcomes('sleep'), 'cancelled 300', 'all jobs of the type are cancelled');
is($hipq->sql(q{SELECT string_agg(DISTINCT error, ' ') FROM hipq.jobs_detail
		WHERE job_type = 'sleep'}), 'cancelled: enough', 'the cancelled jobs have the reason');

# ---- running jobs only
my @busy = map { $hipq->enqueue('run',
		qq{'{"sleep": 600}', queue => 'app.main', priority => -1}) } 1 .. 4;
$hipq->pid_of($_) foreach @busy;
$hipq->sql(q{SELECT cardinality(hipq.enqueue_many('run', array_fill('{}'::jsonb, ARRAY[100]),
	queue => 'app.main'))});
is($hipq->sql(q{SELECT hipq.cancel_jobs('app.main', state => 'initial', created_before => now()
		- interval '1 h')}), 0, 'cancel_jobs() by age cancels no younger job');
is($hipq->sql(q{SELECT hipq.cancel_jobs('app.main', state => 'running')}), 4,
	'cancel_jobs() cancels running jobs, claimed by lock or by record');
is($hipq->outcome($_), 'cancelled', 'a running job is cancelled') foreach @busy;
ok($hipq->wait_until('SELECT count(*) FROM hipq.app_main_live', 0),
	'the jobs that were not cancelled end');
is(outcomes('run'), 'cancelled 4, succeeded 100', 'the jobs that were not cancelled succeed');

# ---- cancel_jobs() while jobs start and end cancels as many jobs as it returns
$hipq->sql(q{TRUNCATE ran});
my $sum = 0;
foreach (1 .. 15)
{
	$hipq->sql(q{SELECT cardinality(hipq.enqueue_many('run', array_fill('{}'::jsonb, ARRAY[200]),
		queue => 'app.side'))});
	$sum += $hipq->sql(q{SELECT hipq.cancel_jobs('app.side', max_jobs => 50)});
}
ok($hipq->wait_until('SELECT count(*) FROM hipq.app_side_live', 0), 'all 3,000 jobs end');
is($hipq->sql(q{SELECT count(*) FROM hipq.jobs WHERE queue = 'app.side'}), 3000,
	'all 3,000 jobs are there');
is($hipq->sql(q{SELECT count(*) FROM hipq.jobs WHERE queue = 'app.side' AND outcome = 'cancelled'}),
	$sum, 'as many jobs are cancelled as cancel_jobs() counted');
is($hipq->sql(q{SELECT count(*) || ' ' || count(DISTINCT id) FROM ran}),
	(3000 - $sum) . ' ' . (3000 - $sum), 'each job that was not cancelled ran once');

# ---- retry by filter
$hipq->sql(q{SELECT cardinality(hipq.enqueue_many('run',
	array_fill('{"fail": 1}'::jsonb, ARRAY[50]), queue => 'app.main', max_retries => 0))});
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.jobs WHERE outcome = 'failed'}, 50),
	'jobs have failed');
$hipq->sql('CREATE TABLE mended ()');
my $retried = join ' ',
	map { $hipq->sql(q{SELECT hipq.retry_jobs('app.main', 'run', max_jobs => 30)}) } 1 .. 3;
is($retried, '30 20 0', 'retry_jobs() retries each failed job once');
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.jobs_detail WHERE retry_of IS NOT NULL
		AND outcome = 'succeeded'}, 50), 'the retried jobs succeed');

# ---- move_jobs() in both directions while executors take jobs
$hipq->sql(q{TRUNCATE ran});
# One session does it all, because the jobs might all have run before others had connected. The
# first jobs stay in the second queue until one has run there.
my $one_has_run = q{DO $$ BEGIN
	FOR look IN 1 .. 3000 LOOP EXIT WHEN EXISTS (SELECT FROM ran JOIN hipq.queue USING (queue_id)
		WHERE name = 'side'); PERFORM pg_sleep(0.01); END LOOP;
END $$};
my @moves = map { my ($from, $to) = $_ % 2 ? qw(app.main app.side) : qw(app.side app.main);
	"SELECT moved FROM hipq.move_jobs('$from', '$to', 'run', 500)",
	($_ == 1 ? $one_has_run : ()) } 1 .. 20;
my (undef, @moved) = split /\n/, $hipq->sql(join '; ', q{SELECT cardinality(hipq.enqueue_many('run',
	array_fill('{"sleep": 0.003}'::jsonb, ARRAY[3000]), queue => 'app.main'))}, @moves);
is(scalar @moved, 20, 'jobs are moved twenty times');
ok((grep { $_ > 0 } @moved) > 0, 'moves find jobs');
ok($hipq->wait_until(q{SELECT (SELECT count(*) FROM hipq.app_main_live) + (SELECT count(*)
		FROM hipq.app_side_live)}, 0), 'all moved jobs end');
is($hipq->sql(q{SELECT count(*) || ' ' || count(DISTINCT id) FROM ran}), '3000 3000',
	'each moved job ran once');
is($hipq->sql(q{SELECT count(DISTINCT queue_id) FROM ran}), 2, 'jobs ran in both queues');
is($hipq->sql(q{SELECT count(*) FROM ran JOIN hipq.job USING (id)
		WHERE ran.queue_id <> job.queue_id}), 0, 'each moved job ended in the queue where it ran');

done_testing();
