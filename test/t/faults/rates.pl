# In no period do more jobs start than the rate limit of a type, or of a throttle key, says, by the
# handlers' own clocks, whatever fault befalls the server, and jobs that wait use nearly all of it.
# Rates, weights and faults are random. Handlers mark their beginning by write(2), so that starts
# count that a crash has undone.
#
#   RATE_STARTS     about how many jobs start (20000); a million takes some five minutes
#   RATE_USED       per cent of a limit that must be used where jobs wait (95), on a quiet machine.
#                   Without it handlers may mark their beginning up to 30 ms late: on a machine that
#                   does other work a process may wait for that long between two instructions.
#   SEED            chooses everything but the timing; the test prints it
use strict;
use warnings;
use HipqCluster;
use HipqFaults;
use List::Util qw(min max sum0 shuffle);
use Test::More;
use Time::HiRes qw(time usleep);

my $wanted = $ENV{RATE_STARTS} || 20_000;
my $least_used = $ENV{RATE_USED} || 95;
my $late = $ENV{RATE_USED} ? 0 : 0.03;    # s
my $seed = $ENV{SEED} || int rand 1e9;
my $per_second = min(4_000, $wanted / 15);    # of all types together
my $seconds = $wanted / $per_second;
srand $seed;
note "seed $seed: $wanted starts in $seconds s";

my $hipq = HipqCluster->new('rates_under_faults', 'hipq.max_executors' => 4,
	'hipq.retry_base' => '10ms', 'hipq.max_type_crashes' => 0, 'hipq.max_crashes' => 1000,
	'hipq.suspect_pause' => 0, shared_preload_libraries => 'hipq, hipq_marks_test',
	checkpoint_timeout => '1h', max_wal_size => '8GB');
$hipq->create_queue('app.main', durability => 'group');
$hipq->sql(q{
	CREATE FUNCTION mark(what text, job_id bigint, attempt integer) RETURNS void
		LANGUAGE c STRICT AS 'hipq_marks_test', 'marks_mark';
	CREATE FUNCTION run(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		PERFORM mark('begin', job.id, job.attempt);
		IF job.id % 50 = 0 AND job.attempt = 1 THEN PERFORM hipq.fail_retriable('again'); END IF;
	END $$;
	CREATE FUNCTION run_batch(jobs hipq.job[]) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE job hipq.job;
	BEGIN
		FOREACH job IN ARRAY jobs LOOP PERFORM mark('begin', job.id, job.attempt); END LOOP;
		FOREACH job IN ARRAY jobs LOOP
			IF job.id % 500 = 0 AND job.attempt = 1 THEN
				PERFORM hipq.fail_retriable('again');
			END IF;
		END LOOP;
	END $$;
});

# Each type has a share of all starts, and a period of its own; the last one is long and leased.
my @periods = (1, 1, 1, 2, 2, 3, 5, 8, 12);
my %types;
foreach my $i (0 .. $#periods)
{
	my $period = $periods[$i];
	my $limit = max(1, int($per_second / @periods * $period * (0.2 + rand 1.6)));
	$limit = 1 + int rand 60 if $i % 3 == 0;
	$types{"type$i"} = { limit => $limit, period => $period, weighted => $i % 3 == 1 };
	my $options = $i % 4 == 2 ? q{handler => 'run_batch', batch_size => 20} : q{handler => 'run'};
	$options .= q{, claim => 'record'} if $i % 4 == 1;
	$hipq->sql("SELECT hipq.register_job_type('app.main', 'type$i', $options, max_retries => 1000,
		rate_limit => '$limit/$period s')");
	my $jobs = int(2 * $limit * ($seconds / $period + 3));
	my $factor = $i % 3 == 1 ? '(ARRAY[0.5, 1, 0.25, 1])[1 + n % 4]' : 1;
	$hipq->sql("INSERT INTO hipq.app_main (job_type, throttle_factor)
		SELECT 'type$i', $factor FROM generate_series(1, $jobs) AS n");
}

# The same for each of some throttle keys, whose jobs take turns.
foreach my $period (1, 12)
{
	my $keys = 20;
	my $limit = 1 + int rand 20;
	$types{"keyed$period/$_"} = { limit => $limit, period => $period } foreach 1 .. $keys;
	$hipq->sql("SELECT hipq.register_job_type('app.main', 'keyed$period', handler => 'run',
		max_retries => 1000, rate_limit_per_key => '$limit/$period s')");
	my $jobs = $keys * int(2 * $limit * ($seconds / $period + 3));
	$hipq->sql("INSERT INTO hipq.app_main (job_type, throttle_key)
		SELECT 'keyed$period', 1 + n % $keys FROM generate_series(1, $jobs) AS n");
}

# ---- faults; between them, some periods of quiet

my @faults = shuffle('kill executor', 'kill scheduler', 'terminate executor', 'stop fast',
	'kill postmaster', 'stop immediate', 'abort executor');
my $end = time() + $seconds;
my $pause = max(8, $seconds / 12);
my @done;
while (time() + $pause < $end)
{
	usleep(1e6 * $pause);
	my $fault = $faults[ @done % @faults ];
	push @done, $fault if HipqFaults::inject($hipq, $fault);
	HipqFaults::bring_back($hipq, $fault) or die 'the server does not come back';
}
usleep(1e6 * max(0, $end - time()));
note 'faults: ' . join ', ', @done;
my %job;
foreach my $line (split /\n/, $hipq->sql(q{SELECT id, job_type || CASE WHEN throttle_key <> 'NONE'
	THEN '/' || throttle_key ELSE '' END, throttle_factor FROM hipq.job}))
{
	my ($id, $type, $factor) = split /\|/, $line;
	$job{$id} = [ $type, $factor ];
}
$hipq->node->stop('immediate');

# ---- the marks: all starts, by type, and the starts of the server

my (%starts, @server_starts);
open my $marks, '<', $hipq->node->data_dir . '/hipq_marks' or die $!;
while (my $line = <$marks>)
{
	my ($at, undef, $what, $id) = split / /, $line;
	push @server_starts, $at / 1e6 if $what eq 'start';
	next unless $what eq 'begin';
	my ($type, $factor) = @{ $job{$id} };
	push @{ $starts{$type} }, [ $at / 1e6, $factor ];
	$types{$type}->{last} = $at / 1e6;
}
close $marks;
my $all = sum0(map { scalar @{ $starts{$_} } } keys %starts);
cmp_ok($all, '>', $wanted / 3, 'jobs start') || diag "$all starts";

# Returns the greatest weight in a period, and its time.
sub most_in
{
	my ($starts, $period) = @_;
	my ($sum, $most, $first) = (0, 0, 0);
	foreach my $start (@$starts)
	{
		$sum += $start->[1];
		$sum -= $starts->[ $first++ ]->[1] while $starts->[$first]->[0] <= $start->[0] - $period;
		$most = $sum if $sum > $most;
	}
	return $most;
}

my ($exceeded, $used, $could) = (0, 0, 0);
foreach my $name (sort keys %types)
{
	my $type = $types{$name};
	my @own = sort { $a->[0] <=> $b->[0] } @{ $starts{$name} // [] };
	my $most = most_in(\@own, $type->{period} - $late);
	$exceeded++, diag("$name: $most of $type->{limit} in $type->{period} s")
		if $most > $type->{limit} + 1e-6;
	# Between two starts of the server: the whole periods from the first start of a job on.
	my @bounds = (@server_starts, $type->{last});
	foreach my $i (0 .. $#bounds - 1)
	{
		my @within = grep { $_->[0] >= $bounds[$i] && $_->[0] < $bounds[ $i + 1 ] } @own or next;
		my $from = $within[0]->[0];
		# The server stops answering a while before it starts again.
		my $periods = int(($within[-1]->[0] - $from) / $type->{period});
		next if $periods < 2 || ($type->{weighted} && $type->{limit} < 100);
		$used += sum0(map { $_->[1] }
			grep { $_->[0] < $from + $periods * $type->{period} } @within);
		$could += $periods * $type->{limit};
	}
}
is($exceeded, 0, 'no rate is exceeded in any period');
my $per_cent = $could ? 100 * $used / $could : 0;
cmp_ok($per_cent, '>=', $least_used, 'where jobs wait the rates are used');
note sprintf '%d starts, %.2f per cent used', $all, $per_cent;

done_testing();
