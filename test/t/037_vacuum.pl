# Live leaves are vacuumed when jobs have left enough dead rows, by a worker of hipq's own; not in vain, and soon after an old snapshot has gone.
use strict;
use warnings;
use HipqCluster;
use Test::More;

my $hipq = HipqCluster->new('vacuum', autovacuum => 'off');
$hipq->create_queue('app.main', durability => 'group');
$hipq->sql(q{
	CREATE FUNCTION nothing(data jsonb[]) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
	SELECT hipq.register_job_type('app.main', 'run', handler => 'nothing', claim => 'lock', batch_size => 500)});

sub run_jobs
{
	my ($count) = @_;
	$hipq->sql("INSERT INTO hipq.app_main (job_type, job_data) SELECT 'run', jsonb_build_object('text', repeat('x', 80)) FROM generate_series(1, $count)");
	$hipq->wait_until('SELECT count(*) FROM hipq.app_main_live', 0) or die 'jobs are left';
}
my $vacuums = q{SELECT vacuum_count FROM pg_stat_user_tables WHERE relid = 'hipq.app_main_live'::regclass};
# What is not worth a vacuum yet may stay: one that ran while jobs did leaves those that came after it.
my $is_clean = q{SELECT vacuum_count > 0 AND n_dead_tup < 10000 FROM pg_stat_user_tables WHERE relid = 'hipq.app_main_live'::regclass};
sub size { return $hipq->sql(q{SELECT pg_relation_size('hipq.app_main_live')}) }

run_jobs(5_000);
run_jobs(15_000);
ok($hipq->wait_until($is_clean), 'after 20,000 jobs the live leaf is vacuumed');
ok($hipq->wait_until(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'hipq vacuum'}, 0), 'by a worker that is gone then');

my $before = size();
run_jobs(12_000);
is(size(), $before, 'the space is used again');

# ---- an old snapshot
my $old = $hipq->node->background_psql('postgres');
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
$old->query_safe('SELECT txid_current()');
my $done = $hipq->sql($vacuums);
run_jobs(20_000) foreach 1 .. 3;
ok($hipq->wait_until("SELECT n_dead_tup >= 30000 FROM pg_stat_user_tables WHERE relid = 'hipq.app_main_live'::regclass"), 'under an old snapshot dead rows pile up');
$hipq->sql(q{SELECT hipq.enqueue('run', '{}')});
$hipq->wait_until('SELECT count(*) FROM hipq.app_main_live', 0);
$hipq->wait_until(q{SELECT state = 'idle' FROM pg_stat_activity WHERE backend_type = 'hipq scheduler'});
# Other transactions may have kept rows for one or two to find.
cmp_ok($hipq->sql($vacuums), '<=', $done + 2, 'and hardly a vacuum is tried in vain');
$old->query_safe('COMMIT');
$old->quit;
ok($hipq->wait_until($is_clean), 'when it has gone the leaf is vacuumed');
$before = size();
run_jobs(50_000);
is(size(), $before, 'and its space is used again');

done_testing();
