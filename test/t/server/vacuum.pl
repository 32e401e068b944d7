# A vacuum worker of hipq vacuums a live leaf when its jobs have left enough dead rows. It hardly
# runs while an old snapshot keeps the dead rows, and runs soon after the snapshot has ended.
use strict;
use warnings;
use HipqCluster;
use Test::More;

my $hipq = HipqCluster->new('vacuum', autovacuum => 'off');
$hipq->create_queue('app.main', durability => 'group');
$hipq->sql(q{
	CREATE EXTENSION pgstattuple;
	CREATE FUNCTION nothing(data jsonb[]) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
	SELECT hipq.register_job_type('app.main', 'run', handler => 'nothing', claim => 'lock',
		batch_size => 500)});

sub run_jobs
{
	my ($count) = @_;
	$hipq->sql("INSERT INTO hipq.app_main (job_type, job_data)
		SELECT 'run', jsonb_build_object('text', repeat('x', 80)) FROM generate_series(1, $count)");
	$hipq->wait_until('SELECT count(*) FROM hipq.app_main_live', 0) or die 'jobs are left';
}
my $vacuums = q{SELECT vacuum_count FROM pg_stat_user_tables
	WHERE relid = 'hipq.app_main_live'::regclass};
my $dead = q{SELECT n_dead_tup FROM pg_stat_user_tables
	WHERE relid = 'hipq.app_main_live'::regclass};
sub size { return $hipq->sql(q{SELECT pg_relation_size('hipq.app_main_live')}) }

# The lock prevents a vacuum until all jobs have run. An earlier vacuum would leave later dead rows,
# too few for another vacuum.
my $no_vacuum = $hipq->session;
$no_vacuum->query_safe('BEGIN; LOCK TABLE hipq.app_main_live IN SHARE UPDATE EXCLUSIVE MODE');
run_jobs(5_000);
run_jobs(15_000);
ok($hipq->wait_until($dead, 20_000), 'each job leaves a dead row');
$no_vacuum->query_safe('COMMIT');
$no_vacuum->quit;
# A vacuum that was tried under the lock removed nothing. hipq tries the next one when the horizon
# has moved.
$hipq->sql('SELECT txid_current()');
ok($hipq->wait_until($dead, 0) && $hipq->sql($vacuums) > 0,
	'after 20,000 jobs the live leaf is vacuumed') or diag($hipq->sql($dead));
ok($hipq->wait_until(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'hipq vacuum'},
		0), 'the vacuum worker exits');

my $before = size();
run_jobs(12_000);
is(size(), $before, 'after a vacuum 12,000 jobs do not enlarge the leaf');

# ---- an old snapshot
my $old = $hipq->session;
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
$old->query_safe('SELECT txid_current()');
my $done = $hipq->sql($vacuums);
run_jobs(20_000) foreach 1 .. 3;
# pgstattuple counts in the pages. The statistics lose rows that die while a vacuum runs.
cmp_ok($hipq->sql(q{SELECT dead_tuple_count FROM pgstattuple('hipq.app_main_live')}), '>=', 60_000,
	'dead rows pile up under an old snapshot');
$hipq->sql(q{SELECT hipq.enqueue('run', '{}')});
$hipq->wait_until('SELECT count(*) FROM hipq.app_main_live', 0);
$hipq->wait_until(
	q{SELECT state = 'idle' FROM pg_stat_activity WHERE backend_type = 'hipq scheduler'});
# Other transactions may have kept rows that one or two vacuums remove.
cmp_ok($hipq->sql($vacuums), '<=', $done + 2,
	'at most two vacuums are tried under an old snapshot');
$old->query_safe('COMMIT');
$old->quit;
ok($hipq->wait_until($dead, 0), 'the leaf is vacuumed when the old snapshot has ended');
$before = size();
run_jobs(50_000);
is(size(), $before, 'after the old snapshot 50,000 jobs do not enlarge the leaf');

done_testing();
