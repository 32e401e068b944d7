# Measures a limit on running jobs that several servers share: handlers log their beginnings and
# ends in their servers' logs, and the module adds up the jobs that ran at the same time.
package HipqLimits;

use strict;
use warnings;
use List::Util qw(max sum0);
use PostgreSQL::Test::Utils;

# The handler sleeps for job_data->>'ms', and logs its beginning and end with the clock of the
# machine.
our $handler = q{CREATE FUNCTION pause_for(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		RAISE LOG 'begins: % % % %', job.id, job.job_type, job.throttle_factor,
			extract(epoch FROM clock_timestamp());
		PERFORM pg_sleep((job.job_data->>'ms')::float8 / 1000);
		RAISE LOG 'ends: % % % %', job.id, job.job_type, job.throttle_factor,
			extract(epoch FROM clock_timestamp());
	END $$};

# Returns the runs of a server: [begin, end, weight, type, id]. A run without an end was killed
# together with the server; $killed has the end of each of these kills, and the first one after the
# beginning of the run is its end.
sub runs_of
{
	my ($cluster, $killed) = @_;
	my (@runs, %open);
	open my $log, '<', $cluster->node->logfile or die $!;
	while (<$log>)
	{
		my ($what, $id, $type, $weight, $time) = /LOG:  (begins|ends): (\d+) (\S+) (\S+) (\S+)$/
			or next;
		if ($what eq 'begins')
		{
			push @runs, [ $time, undef, $weight, $type, $id ];
			$open{$id} = $runs[-1];
		}
		elsif (my $run = delete $open{$id}) { $run->[1] = $time; }
	}
	foreach my $run (grep { !defined $_->[1] } @runs)
	{
		my ($end) = grep { $_ > $run->[0] } @$killed;
		$run->[1] = $end // Time::HiRes::time();
	}
	return @runs;
}

# Returns the maximum and the mean of the running weight from $from to $to. Of equal times ends come
# before beginnings, because handlers log their end before other jobs may begin.
sub sweep
{
	my ($from, $to, @runs) = @_;
	my @events = sort { $a->[0] <=> $b->[0] || $a->[1] <=> $b->[1] } map { ([ $_->[0], $_->[2] ],
			[ $_->[1], -$_->[2] ]) } @runs;
	my ($sum, $most, $used, $last) = (0, 0, 0, $from);
	foreach my $event (@events)
	{
		my ($time, $change) = @$event;
		if ($time > $last)
		{
			my $until = $time < $to ? $time : $to;
			$used += $sum * ($until - $last) if $until > $last;
			$last = $until if $until > $last;
		}
		$sum += $change;
		$most = $sum if $sum > $most && $time >= $from && $time <= $to;
	}
	return ($most, $to > $from ? $used / ($to - $from) : 0);
}

1;
