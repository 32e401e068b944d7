# REPACK of the leaves of a queue while executors run its jobs: each job runs once, none is lost,
# and the indexes have each row. PostgreSQL refuses CONCURRENTLY for final leaves.
use strict;
use warnings;
use HipqCluster;
use Test::More;

my $hipq = HipqCluster->new('repack', wal_level => 'replica', 'hipq.max_executors' => 3);
plan skip_all => 'REPACK is new in PostgreSQL 19'
  if $hipq->version < 19;

$hipq->create_queue('app.main', history => 'all');
$hipq->sql(q{
	CREATE EXTENSION amcheck;
	CREATE TABLE ran (id bigint, attempt integer);
	GRANT ALL ON ran TO app;
	CREATE FUNCTION run(job hipq.job) RETURNS void LANGUAGE sql AS
		'INSERT INTO ran VALUES (job.id, job.attempt)';
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run', claim => 'lock');
	SELECT hipq.register_job_type('app.main', 'later', handler => 'run', claim => 'lock')});

sub file_of { return $hipq->sql("SELECT pg_relation_filenode('hipq.$_[0]')") }

# Jobs that wait make the live leaf large enough that its copy takes a while.
my $waiting = 20_000;
$hipq->sql(qq{SELECT count(*) FROM unnest(hipq.enqueue_many('later',
	(SELECT array_agg('{}'::jsonb) FROM generate_series(1, $waiting)),
	scheduled_run_time => now() + interval '1 day'))});
$hipq->outcome_of('run');
my $final = $hipq->sql(q{SELECT tableoid::regclass FROM hipq.app_main WHERE state = 'final'})
  =~ s/^hipq\.//r;

# Each leaf several times, with jobs before, during and after.
my $jobs = 1;
foreach my $what (("(CONCURRENTLY) hipq.app_main_live") x 4, ("hipq.app_main_live") x 2,
	("hipq.$final") x 2)
{
	my ($leaf) = $what =~ /hipq\.(.*)/;
	my $before = file_of($leaf);
	$jobs += 3000;
	$hipq->sql(q{INSERT INTO hipq.app_main (job_type) SELECT 'run' FROM generate_series(1, 3000)});
	my ($status, $out, $err) = $hipq->try_sql("REPACK $what");
	is($status, 0, "REPACK $what works while jobs run") or diag($err);
	isnt(file_of($leaf), $before, "REPACK $what has written a new file");
}
like($hipq->error_of("REPACK (CONCURRENTLY) hipq.$final"),
	qr/does not support tables with REPLICA IDENTITY FULL/,
	'PostgreSQL refuses REPACK (CONCURRENTLY) of a final leaf');
ok($hipq->wait_until('SELECT count(*) FROM ran', $jobs), 'each job runs');
$hipq->wait_until(q{SELECT count(*) FROM hipq.jobs WHERE outcome = 'succeeded'}, $jobs);
is($hipq->sql(q{SELECT count(DISTINCT id) || ' ' || max(attempt) FROM ran}), "$jobs 1",
	'each job runs once, at its first attempt');
is($hipq->sql(q{SELECT string_agg(outcome || ' ' || count, ', ' ORDER BY outcome)
		FROM (SELECT outcome, count(*) FROM hipq.jobs GROUP BY 1) AS each}),
	"succeeded $jobs, waiting $waiting", 'no job is lost or doubled');
cmp_ok($hipq->sql(q{SELECT count(bt_index_check(index.indexrelid, true))
		FROM pg_partition_tree('hipq.app_main') AS leaf JOIN pg_index AS index ON indrelid = relid
		JOIN pg_class ON pg_class.oid = index.indexrelid WHERE isleaf AND relkind = 'i'
		AND relam = (SELECT oid FROM pg_am WHERE amname = 'btree')}), '>', 0,
	'the indexes have each row');
$hipq->sql(q{SELECT hipq.reschedule(id, now()) FROM hipq.jobs WHERE outcome = 'waiting' LIMIT 500});
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.jobs WHERE outcome = 'succeeded'}, $jobs + 500),
	'jobs run that were in the old file');

done_testing();
