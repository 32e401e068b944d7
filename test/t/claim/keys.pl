# Throttle keys that wait: however many of them are full, their jobs are read once, each starts as
# soon as its key has capacity, and in order.
use strict;
use warnings;
use HipqCluster;
use Test::More;
use Time::HiRes qw(usleep);

my $hipq = HipqCluster->new('keys', 'hipq.max_executors' => 2, 'hipq.audit_rate' => 100_000,
	'hipq.max_keys' => 256);
$hipq->create_queue('app.main');
$hipq->sql(q{
	SELECT hipq.register_job_type('app.main', 'outside', handler_kind => 'notify',
		throttle_limit_per_key => 1)});
my $worker = $hipq->sql(q{SELECT hipq.register_worker('w', ARRAY['app.main'], ARRAY['outside'],
	capacity => 1000)});

# Enqueues as many jobs of each of these keys, which take turns; in several transactions.
sub enqueue
{
	my ($keys, $each) = @_;
	$hipq->sql(qq{INSERT INTO hipq.app_main (job_type, throttle_key, job_data)
		SELECT 'outside', 'key ' || key, jsonb_build_array('key ' || key, $_)
		FROM generate_series(1, $keys) AS key ORDER BY key}) foreach 1 .. $each;
	return;
}

# Claims at most that many jobs, and returns of each its id, attempt, key and turn.
sub claim
{
	my ($most) = @_;
	return map { [split /\|/] } split /\n/, $hipq->sql(qq{SELECT id, attempt, job_data->>0,
		job_data->>1 FROM hipq.claim($worker, $most, wait => '20 s')});
}

# Claims jobs until there are that many.
sub claim_all
{
	my ($wanted) = @_;
	my @jobs;
	while (@jobs < $wanted)
	{
		my @more = claim(200) or last;
		push @jobs, @more;
	}
	return @jobs;
}

sub complete
{
	my $jobs = join ', ', map { "($_->[0], $_->[1])" } @_;
	$hipq->sql("SELECT hipq.complete(id, attempt) FROM (VALUES $jobs) AS job (id, attempt)");
	return;
}

sub rows_read
{
	return $hipq->sql(q{SELECT sum(idx_tup_read) FROM pg_stat_user_indexes
		WHERE relname = 'app_main_live' AND indexrelname ~ '_(line|keys)$'});
}

# ---- many keys are full

enqueue(150, 3);
ok($hipq->wait_until(q{SELECT to_regclass('hipq.app_main_live_keys') IS NOT NULL}),
	'the queue gets an index over throttle keys');
my @running = claim_all(150);
is(scalar @running, 150, 'one job of each key runs');
is_deeply([grep { $_->[3] ne '1' } @running], [], 'which is the first of its key');

my $before = rows_read();
usleep(1_500_000);
my $read = rows_read() - $before;
cmp_ok($read, '<', 100, "the jobs of 150 full keys are not read while they wait ($read rows)");

my ($some) = grep { $_->[2] eq 'key 77' } @running;
complete($some);
my @next = claim(200);
is_deeply([map { "@$_[2, 3]" } @next], ['key 77 2'], 'the next job of a key runs when it is free');
ok($hipq->wait_until(q{SELECT pg_stat_get_numscans('hipq.app_main_live_keys'::regclass) > 0}),
	'it is found by the index over throttle keys');
complete(@next, grep { $_ != $some } @running);

my %turns = ('key 77' => [1, 2]);
push @{$turns{$_->[2]}}, $_->[3] foreach grep { $_ != $some } @running;
for (my $done = 151; $done < 450;)
{
	my @more = claim(200) or last;
	push @{$turns{$_->[2]}}, $_->[3] foreach @more;
	complete(@more);
	$done += @more;
}
is_deeply([grep { "@{$turns{$_}}" ne '1 2 3' } keys %turns], [], 'each key has its jobs in order');
is($hipq->sql('SELECT count(*) FROM hipq.app_main_live'), 0, 'all jobs have run');

# ---- more keys than there is room for

$hipq->node->append_conf('postgresql.conf', "hipq.max_keys = 16\n");
$hipq->node->restart;
enqueue(100, 2);
@running = claim_all(100);
is(scalar @running, 100, 'without room for all keys one job of each runs');
ok($hipq->wait_until(q{SELECT EXISTS (SELECT FROM hipq.alerts WHERE alert = 'throttle keys')}),
	'an alert says that keys have no room');
complete(@running);
@running = claim_all(100);
is(scalar @running, 100, 'the others run afterwards');
complete(@running);

# ---- the index is gone

$hipq->sql('DROP INDEX hipq.app_main_live_keys');
enqueue(20, 2);
@running = claim_all(20);
complete(@running);
@running = claim_all(20);
is_deeply([grep { $_->[3] ne '2' } @running], [], 'jobs of full keys run without the index, too');
complete(@running);
is($hipq->sql('SELECT count(*) FROM hipq.app_main_live'), 0, 'no job is left');

done_testing();
