# While one queue owner takes all shared resources that it can get, the jobs of another owner start
# in time, are counted and can be cancelled.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $hipq = HipqCluster->new('quotas', 'hipq.max_lanes' => 100, 'hipq.max_statistics' => 40,
	'hipq.max_executors' => 4, 'hipq.terminate_grace' => '1min');
my $node = $hipq->node;
$hipq->sql('CREATE ROLE greedy LOGIN');
$hipq->create_queue('good.main');
$hipq->create_queue('bad.main', owner => 'greedy');
$hipq->sql(q{
	CREATE FUNCTION nothing(data jsonb) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
	CREATE FUNCTION sleep(data jsonb) RETURNS void
		LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(600); END';
	CREATE FUNCTION spin(path text) RETURNS void LANGUAGE c STRICT AS 'hipq_guard_test',
		'guard_test_spin';
	CREATE FUNCTION deaf(data jsonb[]) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		PERFORM public.spin(data[1]->>'file'); END $$;
	SELECT hipq.register_job_type('good.main', 'work', handler => 'nothing'),
		hipq.register_job_type('good.main', 'sleep', handler => 'sleep')});
my $unfinished = q{SELECT count(*) FROM hipq.bad_main_live};

# Runs jobs of the other owner. Returns how long the slowest of them waited (s).
sub longest_wait
{
	my ($jobs) = @_;
	my @ids = map { $hipq->enqueue('work', q{'{}', queue => 'good.main'}) } 1 .. $jobs;
	my $list = join ',', @ids;
	$hipq->wait_until("SELECT count(*) FROM hipq.jobs WHERE id IN ($list)
		AND outcome = 'succeeded'", $jobs) or return 'never';
	return $hipq->sql("SELECT max(extract(epoch FROM accepted_time - created_time))
		FROM hipq.jobs_detail WHERE id IN ($list)");
}

# ---- job types that are not registered
like($hipq->error_of(q{INSERT INTO hipq.bad_main (job_type) SELECT 'type ' || n
		FROM generate_series(1, 60000) AS n}, extra_params => [ '-U', 'greedy' ]),
	qr/54000: job type "type 101" is not registered in queue "bad.main".*hipq\.max_unregistered_types = 100.*hipq\.register_job_type/s,
		'sixty thousand job types are refused');
$hipq->sql_as('greedy',
	q{INSERT INTO hipq.bad_main (job_type) SELECT 'type ' || n FROM generate_series(1, 100) AS n});
my $unregistered = q{SELECT count(*) FROM hipq.job_types_detail WHERE queue = 'bad.main'
	AND NOT is_registered};
ok($hipq->wait_until($unregistered, 100), 'a hundred unregistered types are accepted, and shown');
like($hipq->error_of(q{SELECT hipq.enqueue('one more', '{}', queue => 'bad.main')}), qr/54000/,
	'one more unregistered type is refused');
$hipq->sql(q{SELECT hipq.enqueue('of another queue', '{}', queue => 'good.main',
	scheduled_run_time => now() + interval '1 day')});
$hipq->in_time(longest_wait(20), 5, 'jobs of another owner start within 5 s beside many types');
$hipq->set('hipq.max_unregistered_types' => 10);
cmp_ok($hipq->sql(q{SELECT hipq.enqueue('type 100', '{}', queue => 'bad.main')}), '>', 0,
	'existing types are accepted when fewer are allowed');
$hipq->sql('ALTER SYSTEM RESET hipq.max_unregistered_types');

# ---- unregistered types without jobs
is($hipq->sql(q{SELECT hipq.pause('bad.main', 'type 7')}), 't', 'one of the types is paused');
is($hipq->sql(q{SELECT hipq.cancel_jobs('bad.main')}), 101, 'all jobs of the types are cancelled');
$hipq->sql(q{SELECT hipq.enqueue('type 8', '{}', queue => 'bad.main')});
$hipq->set('hipq.clock_offset' => '2h');
ok($hipq->wait_until($unregistered, 2),
	'types without jobs are removed, but a paused type is not');
cmp_ok($hipq->sql(q{SELECT hipq.enqueue('one more', '{}', queue => 'bad.main')}), '>', 0,
	'removed types make room for others');
$hipq->sql(q{SELECT hipq.cancel_jobs('bad.main')});

$hipq->set('hipq.clock_offset' => 0);

# ---- lanes
$hipq->sql(q{SELECT hipq.register_job_type('bad.main', 'type', handler => 'nothing');
	SELECT hipq.pause('bad.main')});
$hipq->sql_as('greedy', q{INSERT INTO hipq.bad_main (job_type, priority) SELECT 'type', n
	FROM generate_series(1, 400) AS n});
is($hipq->sql(q{SELECT count(*) <= 75 FROM hipq.lanes WHERE queue = 'bad.main'}), 't',
	'one owner gets three quarters of the lanes');
$hipq->sql(q{SELECT hipq.enqueue('work', '{}', queue => 'good.main', priority => n)
	FROM generate_series(1, 10) AS n});
is($hipq->sql(q{SELECT count(*) FROM hipq.lanes WHERE queue = 'good.main' AND job_type = 'work'
		AND priority > 0}), 10, 'another owner has room for its lanes');
$hipq->in_time(longest_wait(20), 5, 'jobs of another owner start within 5 s beside many lanes');
$hipq->sql(q{SELECT hipq.resume('bad.main')});
ok($hipq->wait_until($unfinished, 0), 'jobs without a lane run');
is($hipq->sql(q{SELECT count(*) FROM hipq.jobs WHERE queue = 'bad.main' AND job_type = 'type'
		AND outcome = 'succeeded'}), 400, 'all jobs without a lane succeed');

# ---- statistics
$hipq->sql(q{SELECT hipq.stat_reset(); SELECT hipq.register_job_type('bad.main', 'counted ' || n,
	handler => 'nothing') FROM generate_series(1, 60) AS n});
$hipq->sql_as('greedy', q{INSERT INTO hipq.bad_main (job_type) SELECT 'counted ' || n
	FROM generate_series(1, 60) AS n});
ok($hipq->wait_until($unfinished, 0), 'jobs of sixty types run');
my $counted = q{FROM hipq.statistics WHERE period = 'total' AND job_type IS NOT NULL AND queue =};
ok($hipq->wait_until("SELECT count(*), sum(succeeded) $counted 'bad.main'", '31|60'),
	'half of the types are counted each, the others together');
is($hipq->sql("SELECT succeeded $counted 'bad.main' AND job_type = '(others)'"), 30,
	'the other types are counted as (others)');
$hipq->outcome($hipq->enqueue('work', q{'{}', queue => 'good.main'}));
ok($hipq->wait_until("SELECT succeeded > 0 $counted 'good.main' AND job_type = 'work'"),
	'types of another owner are counted');
is($hipq->sql(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'statistics'}), 0,
	'no job is left uncounted');

# ---- cancellations
my $file = $node->data_dir . '/spin';
append_to_file($file, '');
$hipq->sql(q{SELECT hipq.register_job_type('bad.main', 'deaf', handler => 'deaf',
	batch_size => 200)});
$hipq->sql(qq{SELECT count(*) FROM hipq.enqueue_many('deaf', (SELECT
	array_agg('{"file": "$file"}'::jsonb) FROM generate_series(1, 200)), queue => 'bad.main')});
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.running WHERE job_type = 'deaf'}, 200),
	'a batch of 200 jobs runs that does not check for interrupts');
my @batch = split /\n/,
	$hipq->sql(q{SELECT id FROM hipq.running WHERE job_type = 'deaf' ORDER BY id});
is($hipq->sql("SELECT bool_and(hipq.cancel(id, 'each'))
		FROM unnest('{@{[join ',', @batch[0 .. 99]]}}'::bigint[]) AS id"), 't',
	'a hundred jobs of the batch are cancelled one by one');
my $begin = time();
is($hipq->sql(q{SELECT hipq.cancel_jobs('bad.main', 'deaf', state => 'running')}), 200,
	'all jobs of the batch are cancelled in one call');
$hipq->in_time(time() - $begin, 5, 'cancel_jobs() does not wait for the jobs');
my $sleeps = $hipq->enqueue('sleep', q{'{}', queue => 'good.main'});
$hipq->pid_of($sleeps);
$begin = time();
is($hipq->sql("SELECT hipq.cancel($sleeps)"), 't',
	'a job of another owner can be cancelled while the batch runs');
$hipq->in_time(time() - $begin, 2, 'a job of another owner is cancelled at once');
is($hipq->outcome($sleeps), 'cancelled', 'a job of another owner ends');
unlink $file;
ok($hipq->wait_until($unfinished, 0), 'the batch ends');
is($hipq->sql(q{SELECT string_agg(DISTINCT outcome || ': ' || error, ', '
		ORDER BY outcome || ': ' || error) FROM hipq.jobs_detail WHERE job_type = 'deaf'}),
	'cancelled: cancelled, cancelled: cancelled: each',
	'all jobs of the batch are cancelled, with the first reason');

done_testing();
