# The producer writes each job to a ledger in the transaction that enqueues the job. Each job of the
# ledger runs once, on one node, or is a duplicate that both nodes know. This holds under load,
# while slots move and while the servers, WAL senders and apply workers of a router and two shards
# are killed.
#
#   SHARD_FAULTS    number of faults (12)
#   SEED            chooses everything but the timing; the test prints it
use strict;
use warnings;
use HipqFaults;
use HipqShards;
use List::Util qw(shuffle);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $count = $ENV{SHARD_FAULTS} || 12;
my $seed = $ENV{SEED} || int rand 1e9;
note "SEED=$seed";
srand $seed;

my $shards = HipqShards->new('faults', 2, autovacuum_naptime => '2s');
my $router = $shards->router;
$router->sql('CREATE TABLE ledger (id bigint PRIMARY KEY)');

# ---- the load: one transaction after the other, whatever happens to the router
my $enqueue = q{WITH many AS (
		INSERT INTO ledger SELECT id FROM unnest(hipq.enqueue_many('run', ARRAY(
			SELECT jsonb_build_object('tenant', 't' || (random() * 60)::integer)
				FROM generate_series(1, 40)))) AS id),
	keyed AS (
		INSERT INTO ledger SELECT hipq.enqueue('run',
			job_key => 'key ' || (random() * 300)::integer, scheduled_run_time => now() + '1 s')
		FROM generate_series(1, 3))
	SELECT};
my $stop = $router->node->data_dir . '/stop';
my $load = fork // die $!;
if (!$load)
{
	HipqCluster::end_by_signals();
	until (-e $stop) { $router->try_sql($enqueue); }
	require POSIX;
	POSIX::_exit(0);
}

# ---- the faults
my $apply_worker = $router->version < 16 ? 'logical replication worker'
	: 'logical replication apply worker';
my %more = (
	'kill WAL sender' => sub { HipqFaults::signal_one($_[0], 'KILL', 'walsender') },
	'terminate WAL sender' => sub { HipqFaults::signal_one($_[0], 'TERM', 'walsender') },
	'kill apply worker' => sub { HipqFaults::signal_one($_[0], 'KILL', $apply_worker) },
	'terminate apply worker' => sub { HipqFaults::signal_one($_[0], 'TERM', $apply_worker) });
my @faults = map { my $fault = $_; map { [ $fault, $_ ] } 0 .. 2 } 'kill postmaster',
	'kill backend', 'stop fast', 'stop immediate', 'kill scheduler', keys %more;
# The scheduler of the router exits when it has nothing to do.
@faults = grep { $_->[0] ne 'kill scheduler' || $_->[1] > 0 } @faults;
@faults = map { shuffle(@faults) } 0 .. $count / @faults;
my $unreached = 0;
foreach my $cycle (1 .. $count)
{
	my ($fault, $number) = @{ $faults[ $cycle - 1 ] };
	my $node = $shards->node($number);
	my $before = $router->sql('SELECT count(*) FROM ledger');
	$router->wait_until("SELECT count(*) > $before + 200 FROM ledger")
		or die 'the load stands still';
	my $target = 1 + int rand 2;
	$shards->on_router("SELECT hipq.move_slots('app', ARRAY(SELECT (1 + random() * 4094)::integer
		FROM generate_series(1, 400)), $target)") if rand() < 0.7;
	usleep(rand 300_000);
	my $offset = -s $node->node->logfile;
	my $what = exists $more{$fault} ? $more{$fault}->($node) : HipqFaults::inject($node, $fault);
	HipqFaults::wait_for_crash($node, $offset) if $what && $fault
		=~ /^kill (WAL sender|apply worker)/;
	$unreached++ unless $what;
	HipqFaults::bring_back($node, $fault) or die 'the server does not come back';
	note sprintf '%3d %-22s node %d, %s', $cycle, $fault, $number, $what // 'no process found';
}
append_to_file($stop, '');
waitpid $load, 0;
is($unreached, 0, 'every fault has hit a process');

# ---- the ledger
ok($router->wait_until('SELECT count(*) FROM hipq.shard_move', 0),
	'all moves end after the faults');
my $jobs = $router->sql('SELECT count(*) FROM ledger');
my $end = time + $PostgreSQL::Test::Utils::timeout_default;
my ($ran, $refused) = (-1, 0);
while (time < $end && $ran + $refused < $jobs)
{
	$ran = 0;
	$ran += $_ foreach split / /, $shards->counts;
	$refused = $router->sql("SELECT count(*) FROM hipq.shard_reject WHERE sqlstate = '23505'");
	usleep(100_000);
}
note "$jobs jobs, $ran runs, $refused duplicates";
my %runs;
$runs{$_}++ foreach map { split /\n/, $_->sql('SELECT id FROM ran') } $shards->nodes;
$runs{$_}++ foreach split /\n/,
	$router->sql("SELECT job_id FROM hipq.shard_reject WHERE sqlstate = '23505'");
my @ledger = split /\n/, $router->sql('SELECT id FROM ledger');
cmp_ok($refused, '>', 0, 'some jobs are duplicates');
is(join(' ', grep { !$runs{$_} } @ledger), '', 'no job is lost');
is(join(' ', grep { $runs{$_} > 1 } keys %runs), '', 'no job runs twice, and no duplicate runs');
is(scalar(keys %runs), scalar(@ledger), 'only enqueued jobs run');
is($router->sql("SELECT count(*) FROM hipq.shard_reject WHERE sqlstate <> '23505'"), 0,
	'shards refuse only duplicates');
is($_->sql('SELECT count(*) FROM hipq.shard_held_job'), 0, 'no job is held') foreach $shards->nodes;
unlike(slurp_file($_->node->logfile), qr/PANIC:|TRAP:|reference leak|signal 11/,
	'the log has nothing alarming') foreach $shards->nodes;

done_testing();
