# After crashes under load the answers to clients, the marks of handlers and the tables agree.
# Clients enqueue and executors run jobs, while processes are killed, terminated or stopped.
#
#   CRASH_CYCLES, CRASH_JOBS    number of faults and of jobs in a round (20, 50000)
#   SEED                        chooses everything but the timing; the test prints it
#   SOAK_MINUTES                repeats rounds with other seeds for this time (make soak)
use strict;
use warnings;
use HipqChecker;
use HipqCluster;
use HipqFaults;
use HipqWorkload;
use List::Util qw(shuffle);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $cycles = $ENV{CRASH_CYCLES} || 20;
my $jobs = $ENV{CRASH_JOBS} || 50_000;
my $seed = $ENV{SEED} || int rand 1e9;
my $end = time() + 60 * ($ENV{SOAK_MINUTES} || 0);
my $clients = 2;
# Seconds from the server's first answer until every job that the fault interrupted is back in its
# lane.
my $bound = 5;

# Waits until the marks of handlers have grown by $bytes, or the clients have ended.
sub wait_for_progress
{
	my ($load, $bytes, $file) = @_;
	my $until = (-s $file) + $bytes;
	my $give_up = time() + $PostgreSQL::Test::Utils::timeout_default;
	usleep(5_000) while (-s $file) < $until && time() < $give_up;
	return;
}

# Returns after how many seconds no job is in state running or error that was in it before the
# server answered.
sub time_to_recover
{
	my ($hipq, $since) = @_;
	my $moment = $hipq->sql("SELECT to_timestamp($since)");
	$hipq->wait_until("SELECT count(*) FROM hipq.job WHERE state IN ('running', 'error')
		AND update_time < '$moment'", 0) or return 1e9;
	return time() - $since;
}

sub run_round
{
	my ($seed) = @_;
	srand $seed;
	note "seed $seed: $cycles faults, $jobs jobs";
	my $hipq = HipqCluster->new("crashes_$seed", HipqWorkload::settings());
	my $load = HipqWorkload->new($hipq, changes => 1, flows => 1);
	my @names = HipqFaults::names();
	my @faults = map { shuffle(@names) } 0 .. $cycles / @names;
	my ($slowest, $unreached, $began) = (0, 0, time());
	foreach my $cycle (1 .. $cycles)
	{
		my $fault = $faults[ $cycle - 1 ];
		my @pids = map { $load->start_client(seed => $seed,
				jobs => int($jobs / $cycles / $clients) + 1) } 1 .. $clients;
		# A job leaves about 75 bytes of marks.
		wait_for_progress($load, (0.1 + rand 0.7) * 75 * $jobs / $cycles, $load->marks_file);
		# The first clients may have ended.
		push @pids, $load->start_client(seed => $seed, jobs => 1000)
			if $fault eq 'terminate clients';
		my $what = HipqFaults::inject($hipq, $fault);
		my $since = HipqFaults::bring_back($hipq, $fault) or die 'the server does not come back';
		my $seconds = time_to_recover($hipq, $since);
		# The time in which the machine stalled does not count.
		$seconds -= $hipq->stalled($seconds + 1) if $seconds > $bound && $seconds < 1e9;
		$slowest = $seconds if $seconds > $slowest;
		$unreached++ unless $what;
		die 'a client failed' if $load->wait_for_clients(@pids);
		note sprintf '%3d %-20s %s; in line again after %.2f s', $cycle, $fault,
			$what // 'no process', $seconds;
	}
	ok($load->drain, 'every job of the load ends');
	my $seconds = time() - $began;
	is($unreached, 0, 'every fault has hit a process');
	cmp_ok($slowest, '<=', $bound,
		"jobs are back in their lanes within $bound s after the server answers");
	my $history = $load->history;
	is(HipqChecker::describe(HipqChecker::check($history)), '',
		'no job is lost or ends twice, effects happen once, innocent jobs are not charged')
	  or diag("SEED=$seed, the files are in " . $hipq->node->data_dir);
	my %outcomes;
	$outcomes{ $_->{outcome} }++ foreach @{ $history->{operations} };
	cmp_ok(scalar @{ $history->{jobs} }, '>=', $jobs * 0.9,
		'at least 90 % of the jobs were enqueued');
	cmp_ok(scalar @{ $history->{dependencies} }, '>', 0, 'jobs came after others');
	is($hipq->sql(q{CREATE EXTENSION amcheck; SELECT count(bt_index_check(indexrelid, true)) > 0
			FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
		WHERE relnamespace = 'hipq'::regnamespace AND relkind = 'i'}), 't',
		'all indexes of hipq match their tables');
	unlike(slurp_file($hipq->node->logfile), qr/PANIC:|TRAP:|reference leak|leaked/,
		'the log has nothing alarming');
	note sprintf '%d jobs, %d dependencies in %.0f s; %d operations: %s; %d marks, %d changes; '
		. 'recovery took %.2f s at most', scalar @{ $history->{jobs} },
	  scalar @{ $history->{dependencies} }, $seconds, scalar @{ $history->{operations} },
	  	join(', ', map { "$outcomes{$_} $_" } sort keys %outcomes), scalar @{ $history->{marks} },
	  	scalar @{ $history->{changes} }, $slowest;
	$hipq->node->teardown_node;
	$hipq->node->clean_node if Test::More->builder->is_passing;
	return;
}

do
{
	subtest("seed $seed", \&run_round, $seed++);
} while (time() < $end && Test::More->builder->is_passing);

done_testing();
