# Judges a history: whether a correct queue can have produced these answers to clients, actions of
# handlers and rows of tables.
#
# It needs no server: a history is plain data, so that tests can pass histories with violations.
# HipqWorkload.pm reads real histories. A history must be complete: taken after the faults have
# stopped and the queue has drained.
#
#   {
#     # the answers to clients
#     operations => [ { op, outcome => ok | refused | unknown, count, ids => [...] or nothing } ],
#     jobs       => [ { id, op, queue, type, key, state, outcome, attempt, retry_count, max_retries,
#                      reason, fails, claim, group, batch, weak, excused } ],
#     effects    => [ [ id, attempt ] ],    # rows that handlers wrote in their transaction
#     marks      => [ [ time, pid, what, id, attempt ] ],    # lines of hipq_marks, in their order
#     # in commit order; or nothing
#     changes    => [ [ xid, table, action, id, state, attempt, key ] ],
#     letters    => [ id ],    # dead letters; or nothing
#     # which job comes after which; or nothing
#     dependencies => [ [ id, before_id, after_policy, on_failure ] ],
#     charges    => 0,         # how many failures faults may have cost innocent jobs
#   }
#
# The fields of a job:
# op: the operation that made it
# reason (or nothing): why it failed
# fails: how many times its handler fails on purpose
# claim: the way in which it was claimed
# group: commits of its queue do not wait for the disk (a crash may lose the last of them)
# batch: its handler takes many jobs at once, and each job alone after the batch has failed
# weak: the effects of its handler are not one transaction
# excused (or nothing): how many failures a fault may have cost this job
# given_up (or nothing): it may have failed for good because a fault kept its retry handler from
#                        answering
package HipqChecker;

use strict;
use warnings;
use List::Util qw(max min);

# A cancelled run ends with its transaction. Another process can take its job shortly before the run
# writes its mark.
my $late_mark = 1_000_000;

# The state changes that one transaction may commit. A transaction may commit the net effect of
# several steps: claim => 'lock' claims, runs and finishes or fails a job in one transaction.
my %edges = map { $_ => 1 } (
	'none initial', 'initial initial', 'initial running', 'initial final',
		'initial error', 'initial retry',
	'running running', 'running error', 'running retry', 'running final',
	'error retry', 'error final',
	'retry retry', 'retry running', 'retry final', 'retry error');

my @checks = (
	\&check_operations, \&check_origin, \&check_rows, \&check_drained, \&check_runs,
		\&check_reruns, \&check_effects,
	\&check_commits, \&check_charges, \&check_letters, \&check_dependencies, \&check_changes);

# Returns the violations: a list of [ invariant, sentence ], which is empty for a history that a
# correct queue can produce.
sub check
{
	my ($history) = @_;
	return [ 'I0', 'nothing has happened: such a history shows nothing' ]
	  unless @{ $history->{operations} } && @{ $history->{jobs} } && @{ $history->{marks} };
	my $index = index_of($history);
	return map { $_->($history, $index) } @checks;
}

# Returns at most a few sentences per invariant, for a test's output.
sub describe
{
	my @found = @_;
	my (%count, @lines);
	foreach (@found)
	{
		my ($invariant, $sentence) = @$_;
		push @lines, "$invariant: $sentence" if ++$count{$invariant} <= 5;
	}
	push @lines, map { "$_: $count{$_} violations" } grep { $count{$_} > 5 } sort keys %count;
	return join("\n", @lines);
}

sub index_of
{
	my ($history) = @_;
	my %index = (rows => {}, of_op => {}, effects => {},
		runs => runs_of($history->{marks}), runs_of => {});
	foreach my $job (@{ $history->{jobs} })
	{
		push @{ $index{rows}{ $job->{id} } }, $job;
		push @{ $index{of_op}{ $job->{op} } }, $job;
	}
	push @{ $index{effects}{ $_->[0] } }, $_->[1] foreach @{ $history->{effects} };
	push @{ $index{runs_of}{ $_->{id} } }, $_ foreach @{ $index{runs} };
	return \%index;
}

# Returns the runs of handlers, in the order of their beginnings. A run ends by its own mark (end,
# fail), with its transaction (commit, abort), with a crash of the server (crash), or never
# (nothing).
sub runs_of
{
	my ($marks) = @_;
	my (@runs, %open, %last);
	my $life = 0;
	my $line = 0;
	foreach my $mark (@$marks)
	{
		my ($time, $pid, $what, $id, $attempt) = @$mark;
		++$line;
		if ($what eq 'start')
		{
			++$life;
			finish_run($_, 'crash', $line, $time) foreach map { values %$_ } values %open;
			(%open, %last) = ();
			next;
		}
		my $name = "$id $attempt";
		if ($what eq 'begin')
		{
			my $run = { id => $id, attempt => $attempt, pid => $pid, life => $life, begin => $line,
				begin_time => $time };
			push @runs, $run;
			$open{$pid}{$name} = $run;
			$last{"$pid $name"} = $run;
			next;
		}
		my $run = $last{"$pid $name"} or next;
		$run->{failed} = 1 if $what eq 'fail';
		$run->{$what} = $line if $what eq 'commit' || $what eq 'abort';
		finish_run($run, $what, $line, $time);
		delete $open{$pid}{$name} if $what eq 'commit' || $what eq 'abort';
	}
	return \@runs;
}

# The first end counts: a run's own mark comes before the end of its transaction.
sub finish_run
{
	my ($run, $how, $line, $time) = @_;
	return if exists $run->{end};
	@{$run}{qw(how end end_time)} = ($how, $line, $time);
	return;
}

sub is_final { return $_[0]->{state} eq 'final'; }

# ---- I1, I2: clients and jobs

sub check_operations
{
	my ($history, $index) = @_;
	my @found;
	foreach my $operation (@{ $history->{operations} })
	{
		my ($op, $outcome, $count) = @{$operation}{qw(op outcome count)};
		my $there = scalar @{ $index->{of_op}{$op} // [] };
		if ($outcome eq 'ok')
		{
			push @found,
				[ 'I1', "operation $op was acknowledged with $count jobs, $there are there" ]
				if $there < $count;
			push @found,
				map { [ 'I1', "job $_ of operation $op was acknowledged and is not there" ] }
			  grep { !$index->{rows}{$_} } @{ $operation->{ids} // [] };
			push @found, [ 'I2', "operation $op made $count jobs, $there are there" ]
				if $there > $count;
		}
		elsif ($outcome eq 'refused')
		{
			push @found, [ 'I2', "operation $op was refused and left $there jobs" ] if $there > 0;
		}
		else
		{
			push @found, [ 'I2', "operation $op left $there jobs of $count: neither all nor none" ]
				if $there != 0 && $there != $count;
		}
	}
	return @found;
}

sub check_origin
{
	my ($history, $index) = @_;
	my %known = map { $_->{op} => 1 } @{ $history->{operations} };
	my @found = map { [ 'I2',
			"job $_->{id} comes from operation $_->{op}, which nobody has begun" ] }
	  grep { !$known{ $_->{op} } } @{ $history->{jobs} };
	my %ghosts = map { $_->{id} => 1 } grep { !$index->{rows}{ $_->{id} } } @{ $index->{runs} };
	push @found,
		map { [ 'I2', "job $_ has run and is not there" ] } sort { $a <=> $b } keys %ghosts;
	return @found;
}

# ---- I3, I15: rows

sub check_rows
{
	my ($history, $index) = @_;
	return map { [ 'I3', "job $_ is there " . @{ $index->{rows}{$_} } . ' times' ] }
	  grep { @{ $index->{rows}{$_} } > 1 } sort { $a <=> $b } keys %{ $index->{rows} };
}

sub check_drained
{
	my ($history) = @_;
	return map { [ 'I15', "job $_->{id} ($_->{type}) is still $_->{state}" ] } grep {
		!is_final($_) } @{ $history->{jobs} };
}

# ---- I5: runs

sub check_runs
{
	my ($history, $index) = @_;
	my @found;
	foreach my $id (sort { $a <=> $b } keys %{ $index->{runs_of} })
	{
		my $before;    # of the runs so far, the last one to end
		foreach my $run (@{ $index->{runs_of}{$id} })
		{
			push @found, [ 'I5',
				"job $id: two runs overlap, attempts $before->{attempt} and $run->{attempt}" ]
			  if $before && overlap($before, $run);
			$before = $run
				if !$before || !$run->{end} || ($before->{end} && $run->{end} > $before->{end});
		}
		push @found, [ 'I5', "job $id: a run of attempt $before->{attempt} has not ended" ]
			unless $before->{end};
	}
	return @found;
}

# Returns whether `later` began before the end of `run`.
sub overlap
{
	my ($run, $later) = @_;
	return 0 unless $run->{end};    # check_runs() reports this run
	return 0 if $run->{end} < $later->{begin};
	return $run->{end_time} - $later->{begin_time} > $late_mark if $run->{how} eq 'abort';
	return 1;
}

# A committed attempt never runs again. Under claim => 'record' no attempt runs again, except in the
# same process after its batch failed.
sub check_reruns
{
	my ($history, $index) = @_;
	my @found;
	foreach my $id (sort { $a <=> $b } keys %{ $index->{runs_of} })
	{
		my $job = $index->{rows}{$id} ? $index->{rows}{$id}[0] : next;
		my %seen;
		foreach my $run (@{ $index->{runs_of}{$id} })
		{
			my $before = $seen{ $run->{attempt} };
			$seen{ $run->{attempt} } = $run;
			next unless $before;
			my $is_lost = $job->{group} && $before->{life} < $run->{life};
			push @found, [ 'I5', "job $id: attempt $run->{attempt} has committed and run again" ]
				if $before->{commit} && !$is_lost;
			my $is_again_alone = $job->{batch} && $before->{abort} && $before->{pid} == $run->{pid};
			push @found, [ 'I5', "job $id: attempt $run->{attempt} has run twice" ]
			  if !$before->{commit} && $job->{claim} eq 'record' && !$is_lost && !$is_again_alone;
		}
	}
	return @found;
}

# ---- I6: effects

sub check_effects
{
	my ($history, $index) = @_;
	my @found;
	foreach my $job (@{ $history->{jobs} })
	{
		my $effects = $index->{effects}{ $job->{id} } // [];
		my $count = scalar @$effects;
		if ($job->{outcome} eq 'succeeded')
		{
			push @found, [ 'I6', "job $job->{id} has succeeded and has $count effects" ]
				if $job->{weak} ? $count < 1 : $count != 1;
			push @found, [ 'I6', "job $job->{id} has succeeded at attempt $job->{attempt}, its "
				. "effect is of attempt $effects->[0]" ]
			  if $count == 1 && $effects->[0] != $job->{attempt} && !$job->{weak};
		}
		elsif (!$job->{weak})
		{
			push @found, [ 'I6', "job $job->{id} is $job->{outcome} and has $count effects" ]
				if $count > 0;
		}
	}
	push @found, map { [ 'I6', "there is an effect of job $_, which is not there" ] }
	  grep { !$index->{rows}{$_} } sort { $a <=> $b } keys %{ $index->{effects} };
	return @found;
}

# Compares the commits in the marks with the rows.
sub check_commits
{
	my ($history, $index) = @_;
	my @found;
	foreach my $job (grep { !$_->{weak} } @{ $history->{jobs} })
	{
		my @runs = @{ $index->{runs_of}{ $job->{id} } // [] };
		foreach my $run (grep { $_->{commit} } @runs)
		{
			next if $job->{outcome} eq 'succeeded' && $job->{attempt} == $run->{attempt};
			next if $job->{group} && $run->{life} < last_life($history);
			push @found, [ 'I6', "job $job->{id}: attempt $run->{attempt} has committed, but the "
				. "job is $job->{outcome} at attempt $job->{attempt}" ];
		}
		next unless $job->{outcome} eq 'succeeded';
		# One of the runs of this attempt must have ended without a failure. A crash may have
		# prevented its mark of the commit.
		push @found, [ 'I6', "job $job->{id} has succeeded at attempt $job->{attempt}, which has "
			. "not run to its end" ]
		  unless grep { $_->{attempt} == $job->{attempt} && $_->{how} && $_->{how} eq 'end'
		  	&& !$_->{abort} } @runs;
	}
	return @found;
}

# Returns how often the server started, according to the marks.
sub last_life
{
	my ($history) = @_;
	return $history->{last_life} //= scalar grep { $_->[2] eq 'start' } @{ $history->{marks} };
}

# ---- I8: attempts and retries

sub check_charges
{
	my ($history, $index) = @_;
	my @found;
	my $charges = 0;
	foreach my $job (grep { !$_->{weak} && !is_stopped($_) } @{ $history->{jobs} })
	{
		my $id = $job->{id};
		push @found, map { [ 'I8',
				"job $id: attempt $_->{attempt} has run, the job's last is $job->{attempt}" ] }
		  grep { $_->{attempt} < 1 || $_->{attempt} > $job->{attempt} } @{ $index->{runs_of}{$id}
		  	// [] };
		push @found, [ 'I8',
			"job $id has $job->{retry_count} retries and $job->{attempt} attempts" ]
		  if is_final($job) && $job->{retry_count} >= max(1, $job->{attempt});
		my $expected = min($job->{fails}, $job->{max_retries});
		my $too_many = $job->{retry_count} - $expected;
		next if $job->{given_up} && $job->{outcome} eq 'failed' && $too_many <= 0;
		my $excused = $job->{excused} // $history->{charges} // 0;
		$charges += max(0, $too_many) unless defined $job->{excused};
		push @found, [ 'I8',
			"job $id fails $job->{fails} times and was charged $job->{retry_count}" ]
		  if $too_many > $excused || ($too_many < 0 && $job->{outcome} =~ /^(succeeded|failed)$/);
		my $should_fail = $job->{fails} > $job->{max_retries};
		push @found, [ 'I8', "job $id has $job->{outcome}, though its handler fails $job->{fails} "
			. "times and may $job->{max_retries} times" ]
		  if $job->{outcome} eq ($should_fail ? 'succeeded' : 'failed');
	}
	push @found, [ 'I8', "innocent jobs were charged $charges times" ]
		if $charges > ($history->{charges} // 0);
	return @found;
}

# ---- I20: dead letters

sub check_letters
{
	my ($history, $index) = @_;
	return unless $history->{letters};
	my %letters = map { $_ => 1 } @{ $history->{letters} };
	my @found;
	foreach my $job (@{ $history->{jobs} })
	{
		my $has_letter = delete $letters{ $job->{id} };
		push @found, [ 'I20', "job $job->{id} has failed and left no dead letter" ]
			if $job->{outcome} eq 'failed' && !$has_letter && !is_stopped($job);
		push @found, [ 'I20', "job $job->{id} is $job->{outcome} and has a dead letter" ]
			if $job->{outcome} eq 'succeeded' && $has_letter;
	}
	push @found, map { [ 'I20',
			"there is a dead letter of job $_, which is not there" ] } sort keys %letters;
	return @found;
}

# ---- I21: jobs that come after others

# Returns whether the job ended because of a job before it.
sub is_stopped { return ($_[0]{reason} // '') =~ /^(?:predecessor_failed|skipped)$/; }

# A job that started has jobs before it that all ended as its policy demands, and before it started.
# A job that did not start has one before it that did not succeed.
sub check_dependencies
{
	my ($history, $index) = @_;
	my (@found, %before);
	push @{ $before{ $_->[0] } }, $_ foreach @{ $history->{dependencies} // [] };
	foreach my $id (sort { $a <=> $b } keys %before)
	{
		my $job = $index->{rows}{$id} ? $index->{rows}{$id}[0] : next;
		my ($policy, $on_failure) = @{ $before{$id}[0] }[ 2, 3 ];
		my $needs_success = $policy eq 'succeeded' && $on_failure ne 'run';
		my @earlier = map { $index->{rows}{ $_->[1] }[0] } grep { $index->{rows}{ $_->[1] } } @{
			$before{$id} };
		my @failed = map { $_->{id} } grep { $_->{outcome} ne 'succeeded' } @earlier;
		push @found, [ 'I21', "job $id did not start, though no job before it failed" ]
			if is_stopped($job) && !@failed;
		push @found, [ 'I21', "job $id did not start, though it runs after failures" ]
			if is_stopped($job) && !$needs_success;
		my @runs = @{ $index->{runs_of}{$id} // [] } or next;
		push @found, [ 'I21', "job $id ran, and did not start" ] if is_stopped($job);
		push @found, [ 'I21', "job $id ran after job $failed[0], which did not succeed" ]
			if $needs_success && @failed;
		foreach my $earlier (@earlier)
		{
			push @found, [ 'I21', "job $id ran before the end of job $earlier->{id}" ]
				if grep { !has_ended($index, $earlier, $_) } @runs;
		}
	}
	return @found;
}

# Returns whether the job had made its last attempt when the later run began. A crash may have lost
# the end of a job in a queue with group durability, which then ran again.
sub has_ended
{
	my ($index, $job, $later) = @_;
	my @runs = @{ $index->{runs_of}{ $job->{id} } // [] };
	my @at_fault = grep { ($_->{end} // 1e18) > $later->{begin} && $_->{how} ne 'abort'
		&& !($job->{group} && $_->{life} > $later->{life}) } @runs;
	return !@runs || (!@at_fault && grep { $_->{begin} < $later->{begin} } @runs);
}

# ---- I3, I4, I6, I7, I9: the order of commits

sub check_changes
{
	my ($history, $index) = @_;
	return unless $history->{changes};
	my $book = { state => {}, running => {}, held => {}, final => {}, found => [] };
	my @transaction;
	foreach my $change (@{ $history->{changes} }, [-1])
	{
		if (@transaction && $transaction[0][0] != $change->[0])
		{
			enter_transaction($index, $book, @transaction);
			@transaction = ();
		}
		push @transaction, $change;
	}
	my @missing = grep { !$book->{state}{$_} } keys %{ $index->{rows} };
	push @{ $book->{found} },
		map { [ 'I4', "job $_ is there, and no commit made it" ] } sort { $a <=> $b } @missing;
	push @{ $book->{found} }, map { [ 'I3', "job $_ entered final $book->{final}{$_} times" ] }
	  grep { $book->{final}{$_} != 1 } sort { $a <=> $b } keys %{ $book->{final} };
	return @{ $book->{found} };
}

# Returns the ids of the final rows that a transaction moved from the default leaf to a leaf made
# for their time, if it did nothing else.
sub moved_rows
{
	my (@changes) = @_;
	my @final = grep { $_->[1] eq 'final' } @changes;
	my @taken = sort map { $_->[3] } grep { $_->[2] eq 'delete' } @final;
	my @put = sort map { $_->[3] } grep { $_->[2] eq 'insert' } @final;
	return @taken + @put == @changes && "@taken" eq "@put" ? @put : ();
}

# Records the state of each job after a transaction.
sub enter_transaction
{
	my ($index, $book, @changes) = @_;
	my (%after, %effects);
	if (my @moved = moved_rows(@changes))
	{
		push @{ $book->{found} },
			map { [ 'I4', "job $_ was moved among final ones, which it was not" ] } grep {
			($book->{state}{$_} // 'none') ne 'final' } @moved;
		return;
	}
	foreach my $change (@changes)
	{
		my ($xid, $table, $action, $id, $state, $attempt, $key) = @$change;
		if ($table eq 'effect')
		{
			$effects{$id} = 1;
			next;
		}
		my $place = $after{ $id // 'without an id' } //= { live => undef, final => undef };
		$place->{$table} = $action eq 'delete' ? 'none' : [ $state, $attempt, $key ];
	}
	enter_job($index, $book, $_, $after{$_}, delete $effects{$_}) foreach sort keys %after;
	push @{ $book->{found} },
		map { [ 'I6', "an effect of job $_ committed without the job's end" ] }
	  grep { !is_weak($index, $_) } sort { $a <=> $b } keys %effects;
	my @twice = grep { keys %{ $book->{held}{$_} } > 1 } map { key_of($after{$_})
		// () } keys %after;
	push @{ $book->{found} }, map { [ 'I7', "two unfinished jobs hold key $_" ] } @twice;
	return;
}

sub key_of
{
	my ($place) = @_;
	return ref $place->{live} ? $place->{live}[2] : undef;
}

sub is_weak
{
	my ($index, $id) = @_;
	return $index->{rows}{$id} && $index->{rows}{$id}[0]{weak};
}

sub enter_job
{
	my ($index, $book, $id, $place, $has_effect) = @_;
	my $found = $book->{found};
	my $before = $book->{state}{$id} // 'none';
	my ($live, $final) = @{$place}{qw(live final)};
	my $now = ref $final ? $final : ref $live ? $live : undef;
	push @$found, [ 'I3', "job $id is live and final at once" ]
		if ref $final && (ref $live || ($before ne 'none' && !defined $live));
	unless ($now)
	{
		push @$found, [ 'I1', "job $id was taken out in state $before and not made final" ];
		return;
	}
	my ($state, $attempt, $key) = @$now;
	push @$found, [ 'I4', "job $id went from $before to $state" ]
	  unless $edges{"$before $state"} || ($before eq 'none' && $state eq 'final');
	push @$found, [ 'I9', "job $id left running at attempt $attempt, it had entered it at attempt "
		. "$book->{running}{$id}" ]
	  if $before eq 'running' && $state ne 'running' && $attempt != $book->{running}{$id};
	$book->{running}{$id} = $attempt if $state eq 'running';
	$book->{final}{$id}++ if $state eq 'final';
	$book->{state}{$id} = $state;
	delete $_->{$id} foreach grep { exists $_->{$id} } map {
		$book->{held}{$_} } defined $book->{key}{$id} ? $book->{key}{$id} : ();
	if ($state ne 'final' && defined $key)
	{
		$book->{held}{$key}{$id} = 1;
		$book->{key}{$id} = $key;
	}
	my $job = $index->{rows}{$id} ? $index->{rows}{$id}[0] : return;
	return if $job->{weak};
	my $succeeds = $state eq 'final' && $job->{outcome} eq 'succeeded';
	push @$found, [ 'I6', "job $id became final without its effect" ] if $succeeds && !$has_effect;
	push @$found, [ 'I6', "an effect of job $id committed without the job's end" ]
		if !$succeeds && $has_effect;
	return;
}

1;
