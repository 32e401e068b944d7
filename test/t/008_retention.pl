# Leaves of final jobs are made ahead and dropped when they are due, whatever goes on meanwhile. Time is moved by hipq.clock_offset.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hour = 3600;
my $hipq = HipqCluster->new('retention', 'hipq.executor_idle_timeout' => '60s', 'hipq.retention' => '4h', 'hipq.dead_letter_retention' => '4h');
$hipq->create_queue('app.main', retention => '4 hours');    # leaves of one hour
$hipq->sql(q{
	CREATE FUNCTION run(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN IF data ? 'fail' THEN RAISE 'fails'; END IF; END $$;
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run')});

my $leaves = q{SELECT count(*) FROM pg_inherits WHERE inhparent = 'hipq.app_main_final'::regclass};
my $next_leaf = q{SELECT max(to_time) > hipq.now() + interval '2 hours' FROM hipq.sizes WHERE kind = 'final'};
my $past_leaves = q{SELECT count(*) FROM hipq.sizes WHERE kind = 'final' AND to_time + interval '4 hours' <= hipq.now()};
my $offset = 0;

# Moves hipq's clock on and makes it look: a job runs. Returns its id.
sub later
{
	my ($seconds, $rest) = @_;
	$offset += $seconds;
	$hipq->set('hipq.clock_offset' => $offset);
	my $id = $hipq->enqueue('run', $rest);
	$hipq->outcome($id);
	return $id;
}

is($hipq->sql($leaves), '4', 'a new queue has a leaf for now, two ahead, and one for the rest');
is($hipq->sql($next_leaf), 't', 'hipq.sizes shows how far they reach');
my $first = later(0);
my $failed = later(0, q{'{"fail": 1}'});
is($hipq->sql("SELECT count(*) FROM hipq.attempts WHERE job_id = $failed"), '1', 'an attempt is kept');
is($hipq->sql("SELECT count(*) FROM hipq.dead_letters WHERE job_id = $failed"), '1', 'and a dead letter');

# ---- over three retention periods, hour by hour
my ($most, $behind, $lost, $in_default, @ids) = (0, 0, 0, 0);
foreach my $n (1 .. 13)
{
	push @ids, later($hour);
	$hipq->wait_until($next_leaf, 't', 5) or $behind++;
	$hipq->wait_until($past_leaves, 0, 5) or $behind++;
	my $count = $hipq->sql($leaves);
	$most = $count if $count > $most;
	my $kept = $n < 4 ? $n : 4;
	my $recent = join ', ', @ids[ -$kept .. -1 ];
	$lost++ if $hipq->sql("SELECT count(*) FROM hipq.job WHERE id IN ($recent)") != $kept;
	$in_default += $hipq->sql('SELECT count(*) FROM hipq.app_main_final_default');
}
is($behind, 0, 'leaves are made ahead and dropped when due, over three retention periods');
cmp_ok($most, '<=', 8, 'there are at most 8 of them at any time');
is($lost, 0, 'no final job goes before its time');
is($in_default, 0, 'none needed the default leaf');
is($hipq->sql("SELECT count(*) FROM hipq.job WHERE id IN ($first, $failed, $ids[0])"), '0', 'old final jobs are gone');
ok($hipq->wait_until("SELECT count(*) FROM hipq.attempts WHERE job_id = $failed", 0, 5), 'so are old attempts');
ok($hipq->wait_until("SELECT count(*) FROM hipq.dead_letters WHERE job_id = $failed", 0, 5), 'and old dead letters');
cmp_ok($hipq->sql(q{SELECT count(*) FROM pg_inherits WHERE inhparent = 'hipq.attempt'::regclass}), '<=', 8, 'attempts have at most 8 leaves');

# ---- a long SELECT
my $reader = $hipq->node->background_psql('postgres');
$reader->query_safe('BEGIN');
is($reader->query_safe('SELECT count(*) > 0 FROM hipq.app_main'), 't', 'a transaction reads the queue and stays open');
my @during = map { later(2 * $hour) } 1 .. 3;
is($hipq->sql("SELECT count(*) FROM hipq.jobs WHERE outcome = 'succeeded' AND id = $_"), '1', 'jobs finish meanwhile') foreach @during;
cmp_ok($hipq->sql($past_leaves), '>', 0, 'leaves that are due stay');
my $slowest = 0;
foreach (1 .. 20)
{
	my $id = $hipq->enqueue('run');
	$hipq->outcome($id);
	my $ms = $hipq->sql("SELECT round(extract(epoch FROM update_time - created_time) * 1000 - $offset * 1000.0) FROM hipq.jobs WHERE id = $id");
	$slowest = $ms if $ms > $slowest;
}
cmp_ok($slowest, '<', 1500, 'neither enqueue nor finish waits for long');
$reader->query_safe('COMMIT');
$reader->quit;
ok($hipq->wait_until($past_leaves, 0), 'they go when it ends');
ok($hipq->wait_until($next_leaf), 'and the leaves ahead are made');

# ---- rows in the default leaf: time jumps beyond the leaves while the queue works
$hipq->set('hipq.enabled' => 'off');
$offset += 10 * $hour;
$hipq->set('hipq.clock_offset' => $offset, 'hipq.enabled' => 'on');
my $jumped = $hipq->enqueue('run');
is($hipq->outcome($jumped), 'succeeded', 'a job finishes where there is no leaf for its time');
ok($hipq->wait_until($next_leaf), 'leaves are made');
ok($hipq->wait_until('SELECT count(*) FROM hipq.app_main_final_default', 0), 'rows leave the default leaf');
is($hipq->sql("SELECT count(*) FROM hipq.job WHERE id = $jumped"), '1', 'and are not lost');

# ---- under load
$hipq->sql(q{SELECT hipq.enqueue_many('run', array_agg('{}'::jsonb)) FROM generate_series(1, 1500)});
my $until = $hipq->sql(q{SELECT count(*) FROM hipq.app_main WHERE state <> 'final'});
foreach (1 .. 6)
{
	$offset += $hour;
	$hipq->set('hipq.clock_offset' => $offset);
	$hipq->wait_until($past_leaves, 0);
}
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.app_main WHERE state <> 'final'}, 0), 'leaves are dropped and made while jobs finish');
is($hipq->sql(q{SELECT count(*) FROM hipq.jobs WHERE outcome NOT IN ('succeeded', 'failed')}), '0', 'all of them');
ok($hipq->wait_until($past_leaves, 0), 'nothing is left to drop');
cmp_ok($hipq->sql($leaves), '<=', 8, 'and there are not too many');

# ---- hipq.sizes
# A fast machine has finished all of the load before the clock moved on, and its leaves are gone: one more job, for a leaf with rows.
$hipq->sql(q{SELECT hipq.enqueue('run', '{}')});
$hipq->wait_until(q{SELECT count(*) FROM hipq.jobs WHERE outcome <> 'succeeded' AND state <> 'final'}, 0);
$hipq->sql('ANALYZE');
is($hipq->sql(q{SELECT string_agg(DISTINCT kind, ' ' ORDER BY kind) FROM hipq.sizes}), 'attempt dead_letter final live', 'hipq.sizes has all kinds of leaves');
is($hipq->sql(q{SELECT sum(bytes) = sum(pg_total_relation_size(table_name::regclass)) AND bool_and(bytes > 0) FROM hipq.sizes}), 't', 'with their bytes');
is($hipq->sql(q{SELECT sum(row_estimate) > 0 FROM hipq.sizes WHERE kind = 'final' AND from_time < hipq.now() AND rows_per_day > 0}), 't', 'and rows, and rows a day');

done_testing();
