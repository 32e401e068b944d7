# The checker accepts the history of a correct queue. It finds each violation, by the invariant that
# forbids it.
use strict;
use warnings;
use HipqChecker;
use Storable qw(dclone);
use Test::More;

# ---- a good history, as a correct queue with jobs of every kind leaves it, over crashes of the
# server

my ($time, $xid);

# Appends marks of one process: [ what, id, attempt ].
sub mark
{
	my ($history, $pid, @marks) = @_;
	push @{ $history->{marks} }, [ $time += 1000, $pid, @$_ ] foreach @marks;
	return;
}

# Appends a transaction: [ table, action, id, state, attempt, key ].
sub commit
{
	my ($history, @changes) = @_;
	$xid++;
	push @{ $history->{changes} }, map { [ $xid, @$_ ] } @changes;
	return;
}

sub job
{
	my ($history, $id, %values) = @_;
	push @{ $history->{jobs} }, {
		id => $id, op => $id, queue => 'load.strict', type => 'work', key => undef,
			state => 'final', outcome => 'succeeded',
		attempt => 1, retry_count => 0, max_retries => 3, fails => 0, claim => 'record', group => 0,
			weak => 0, %values
	};
	return;
}

# Appends one attempt under claim => 'record': the claim, the run, and the end of the job in the
# transaction of the run.
sub succeed
{
	my ($history, $id, $attempt, $pid, $key) = @_;
	commit($history, [ 'live', 'update', $id, 'running', $attempt, $key ]);
	mark($history, $pid, [ 'begin', $id, $attempt ], [ 'end', $id, $attempt ]);
	commit($history, [ 'effect', 'insert', $id ], [ 'live', 'delete', $id ],
		[ 'final', 'insert', $id, 'final', $attempt, $key ]);
	mark($history, $pid, [ 'commit', $id, $attempt ]);
	push @{ $history->{effects} }, [ $id, $attempt ];
	return;
}

sub good_history
{
	($time, $xid) = (0, 100);
	my $h = { operations => [], jobs => [], effects => [], marks => [], changes => [],
		letters => [6], charges => 0 };
	push @{ $h->{operations} },
		map { { op => $_, outcome => 'ok', count => 1, ids => [$_] } } 1 .. 8;
	push @{ $h->{operations} },
	  { op => 20, outcome => 'unknown', count => 2 }, { op => 21, outcome => 'unknown',
	  	count => 2 }, { op => 22, outcome => 'refused', count => 3 };
	mark($h, 1, [ 'start', 0, 0 ]);
	commit($h, [ 'live', 'insert', $_, 'initial', 0, $_ == 1 ? 'k' : undef ]) foreach 1 .. 8;

	# Job 1 has a key, which job 9 gets afterwards.
	job($h, 1, key => 'k');
	succeed($h, 1, 1, 11, 'k');
	# Job 2 fails once and is retried.
	job($h, 2, fails => 1, attempt => 2, retry_count => 1);
	commit($h, [ 'live', 'update', 2, 'running', 1 ]);
	mark($h, 12, [ 'begin', 2, 1 ], [ 'fail', 2, 1 ], [ 'abort', 2, 1 ]);
	commit($h, [ 'live', 'update', 2, 'retry', 1 ]);
	succeed($h, 2, 2, 12);
	# Job 3 runs when the server crashes, and runs again.
	job($h, 3, attempt => 2);
	commit($h, [ 'live', 'update', 3, 'running', 1 ]);
	mark($h, 11, [ 'begin', 3, 1 ]);
	mark($h, 1, [ 'start', 0, 0 ]);
	commit($h, [ 'live', 'update', 3, 'retry', 1 ]);
	succeed($h, 3, 2, 13);
	# Job 4 commits just before a crash, so there is no mark of its commit.
	job($h, 4);
	succeed($h, 4, 1, 13);
	pop @{ $h->{marks} };
	mark($h, 1, [ 'start', 0, 0 ]);
	# Job 5 is in a queue with group durability. It commits, loses the commit in a crash, and runs
	# again under the same number.
	job($h, 5, claim => 'lock', group => 1);
	mark($h, 14, [ 'begin', 5, 1 ], [ 'end', 5, 1 ], [ 'commit', 5, 1 ]);
	mark($h, 1, [ 'start', 0, 0 ]);
	mark($h, 15, [ 'begin', 5, 1 ], [ 'end', 5, 1 ]);
	commit($h, [ 'effect', 'insert', 5 ], [ 'live', 'delete', 5 ],
		[ 'final', 'insert', 5, 'final', 1 ]);
	mark($h, 15, [ 'commit', 5, 1 ]);
	push @{ $h->{effects} }, [ 5, 1 ];
	# Job 6 fails for good.
	job($h, 6, fails => 9, max_retries => 1, retry_count => 1, attempt => 2, outcome => 'failed');
	foreach my $attempt (1, 2)
	{
		commit($h, [ 'live', 'update', 6, 'running', $attempt ]);
		mark($h, 15, [ 'begin', 6, $attempt ], [ 'fail', 6, $attempt ], [ 'abort', 6, $attempt ]);
		commit($h, $attempt == 1 ? [ 'live', 'update', 6, 'retry', 1 ] : ([ 'live', 'delete', 6 ],
				[ 'final', 'insert', 6, 'final', 2 ]));
	}
	# A signal cancels job 7 under claim => 'lock'. The job starts in another process just before
	# its first run marks the abort.
	job($h, 7, claim => 'lock');
	mark($h, 15, [ 'begin', 7, 1 ]);
	mark($h, 16, [ 'begin', 7, 1 ]);
	mark($h, 15, [ 'abort', 7, 1 ]);
	mark($h, 16, [ 'end', 7, 1 ]);
	commit($h, [ 'effect', 'insert', 7 ], [ 'live', 'delete', 7 ],
		[ 'final', 'insert', 7, 'final', 1 ]);
	mark($h, 16, [ 'commit', 7, 1 ]);
	push @{ $h->{effects} }, [ 7, 1 ];
	# Job 8 is cancelled while it waits.
	job($h, 8, outcome => 'cancelled');
	commit($h, [ 'live', 'delete', 8 ], [ 'final', 'insert', 8, 'final', 1 ]);
	# The client does not know the outcome of the operation of jobs 9 and 10, which exist. Of
	# another operation with an unknown outcome no job exists.
	commit($h, map { [ 'live', 'insert', $_, 'initial', 0, $_ == 9 ? 'k' : undef ] } 9, 10);
	job($h, 9, op => 20, key => 'k');
	succeed($h, 9, 1, 15, 'k');
	# Job 11 is in a batch that fails because of another job, and runs again alone.
	push @{ $h->{operations} }, { op => 11, outcome => 'ok', count => 1, ids => [11] };
	job($h, 11, batch => 1);
	commit($h, [ 'live', 'insert', 11, 'initial', 0 ]);
	commit($h, [ 'live', 'update', 11, 'running', 1 ]);
	mark($h, 16, [ 'begin', 11, 1 ], [ 'fail', 11, 1 ], [ 'abort', 11, 1 ], [ 'begin', 11, 1 ],
		[ 'end', 11, 1 ]);
	commit($h, [ 'effect', 'insert', 11 ], [ 'live', 'delete', 11 ],
		[ 'final', 'insert', 11, 'final', 1 ]);
	mark($h, 16, [ 'commit', 11, 1 ]);
	push @{ $h->{effects} }, [ 11, 1 ];
	# Job 10 is a procedure, so its guarantees are weaker.
	job($h, 10, op => 20, weak => 1, attempt => 2, retry_count => 1);
	commit($h, [ 'live', 'update', 10, 'running', 1 ]);
	mark($h, 15, [ 'begin', 10, 1 ]);
	commit($h, [ 'effect', 'insert', 10 ]);
	mark($h, 15, [ 'commit', 10, 1 ]);
	mark($h, 1, [ 'start', 0, 0 ]);
	commit($h, [ 'live', 'update', 10, 'retry', 1 ]);
	succeed($h, 10, 2, 17);
	push @{ $h->{effects} }, [ 10, 1 ];
	# Job 12 comes after jobs 3 and 5, job 13 after the failed job 6, job 14 after that one.
	push @{ $h->{operations} }, { op => 12, outcome => 'ok', count => 4, ids => [ 12 .. 15 ] };
	commit($h, map { [ 'live', 'insert', $_, 'initial', 0 ] } 12 .. 15);
	job($h, 12, op => 12);
	succeed($h, 12, 1, 17);
	job($h, 13, op => 12, outcome => 'failed', reason => 'predecessor_failed', attempt => 0);
	job($h, 14, op => 12, outcome => 'skipped', reason => 'skipped', attempt => 0);
	commit($h, [ 'live', 'delete', $_ ], [ 'final', 'insert', $_, 'final', 0 ]) foreach 13, 14;
	job($h, 15, op => 12);
	succeed($h, 15, 1, 17);
	$h->{dependencies} = [ (map { [ 12, $_, 'succeeded', 'fail' ] } 3, 5),
		[ 13, 6, 'succeeded', 'fail' ], [ 14, 13, 'succeeded', 'skip' ],
		[ 15, 14, 'finished', 'fail' ] ];
	return $h;
}

is(HipqChecker::describe(HipqChecker::check(good_history())), '',
	'a history of a correct queue passes');
is(HipqChecker::describe(HipqChecker::check({ %{ good_history() }, changes => undef,
		letters => undef, dependencies => undef })), '',
	'a history without changes, dead letters and dependencies passes');

# ---- mutants

sub the_job { my ($h, $id) = @_; return (grep { $_->{id} == $id } @{ $h->{jobs} })[0]; }
sub drop
{
	my ($list, $test) = @_;
	my $n = @$list;
	@$list = grep { !$test->($_) } @$list;
	die 'the mutant changes nothing' if @$list == $n;
	return;
}
sub drop_job { my ($h, $id) = @_; drop($h->{jobs}, sub { $_[0]{id} == $id }); return; }

# Returns the index of the first mark or change in a list that matches.
sub place_of
{
	my ($list, @values) = @_;
	foreach my $i (0 .. $#$list)
	{
		my @entry = @{ $list->[$i] };
		shift @entry;
		return $i unless grep { defined $values[$_]
			&& (!defined $entry[$_] || $entry[$_] ne $values[$_]) } 0 .. $#values;
	}
	die "no entry @values";
}
sub insert_before { my ($list, $place, @entries) = @_; splice @$list, $place, 0, @entries; return; }
sub mark_time { my ($h, $place) = @_; return $h->{marks}[$place][0]; }

my @mutants = (
	[ qr/^I0: nothing/, 'nothing happened', sub { $_[0]{jobs} = []; } ],
	[ qr/^I1: job 1 of operation 1 .* not there/, 'an acknowledged job is gone',
		sub { drop_job($_[0], 1); } ],
	[ qr/^I1: job 3 of operation 3 .* not there/, 'an acknowledged job has another id',
		sub { the_job($_[0], 3)->{id} = 30; } ],
	[ qr/^I1: operation 23 was acknowledged with 2 jobs, 1/,
		'an operation that returned no ids has lost a job', sub { push @{ $_[0]{operations} },
			{ op => 23, outcome => 'ok', count => 2 }; the_job($_[0], 8)->{op} = 23; } ],
	[ qr/^I1: job 3 was taken out/, 'a job is taken out and never made final',
		sub { splice @{ $_[0]{changes} }, place_of($_[0]{changes}, 'final', 'insert', 3), 1; } ],
	[ qr/^I2: operation 22 was refused and left 1/, 'a refused operation left a job',
		sub { job($_[0], 40, op => 22); } ],
	[ qr/^I2: operation 20 .* neither all nor none/, 'an operation left half of its jobs',
		sub { drop_job($_[0], 10); } ],
	[ qr/^I2: operation 3 made 1 jobs, 2/, 'an operation made more jobs than it should',
		sub { job($_[0], 41, op => 3); } ],
	[ qr/^I2: job 4 .* nobody/, 'a job belongs to no operation',
		sub { the_job($_[0], 4)->{op} = 99; } ],
	[ qr/^I2: job 77 has run and is not there/, 'a job that was rolled back has run',
		sub { mark($_[0], 15, [ 'begin', 77, 1 ], [ 'end', 77, 1 ], [ 'abort', 77, 1 ]); } ],
	[ qr/^I3: job 2 is there 2 times/, 'a job has two rows',
		sub { push @{ $_[0]{jobs} }, dclone(the_job($_[0], 2)); } ],
	[ qr/^I3: job 2 entered final 2 times/, 'a job ends twice',
		sub { commit($_[0], [ 'final', 'insert', 2, 'final', 2 ]); } ],
	[ qr/^I4: job 99 was moved among final ones/, 'a missing row is moved', sub {
		commit($_[0], [ 'final', 'delete', 99 ], [ 'final', 'insert', 99, 'final', 1 ]); } ],
	[ qr/^I1: job 1 was taken out/, 'a row is taken out while another is moved', sub {
		commit($_[0], [ 'final', 'delete', 1 ], [ 'final', 'delete', 2 ],
			[ 'final', 'insert', 2, 'final', 1 ]); } ],
	[ qr/^I1: job 1 was taken out/, "a row is replaced by another job's", sub {
		commit($_[0], [ 'final', 'delete', 1 ], [ 'final', 'insert', 2, 'final', 1 ]); } ],
	[ qr/^I3: job 3 is live and final/, 'a job is live and final',
		sub { splice @{ $_[0]{changes} }, place_of($_[0]{changes}, 'live', 'delete', 3), 1; } ],
	[ qr/^I4: job 2 went from final to retry/, 'a final job becomes live',
		sub { commit($_[0], [ 'live', 'insert', 2, 'retry', 2 ]); } ],
	[ qr/^I4: job 3 went from error to running/, 'a job goes from error to running',
		sub { insert_before($_[0]{changes}, place_of($_[0]{changes}, 'live', 'update', 3, 'retry'),
			[ 999, 'live', 'update', 3, 'error', 1 ],
			[ 998, 'live', 'update', 3, 'running', 1 ]); } ],
	[ qr/^I4: job 8 .* no commit/, 'no commit made a row',
		sub { drop($_[0]{changes}, sub { defined $_[0][3] && $_[0][3] == 8 }); } ],
	[ qr/^I5: job 1: two runs overlap/, 'two runs of a job overlap',
		sub { insert_before($_[0]{marks}, place_of($_[0]{marks}, 11, 'end', 1),
			[ 1500, 19, 'begin', 1, 2 ], [ 1600, 19, 'fail', 1, 2 ], [ 1600, 19, 'abort', 1, 2 ]);
			the_job($_[0], 1)->{attempt} = 2; } ],
	[ qr/^I5: job 7: two runs overlap/, 'a job starts long before its first run aborts',
		sub { $_[0]{marks}[ place_of($_[0]{marks}, 15, 'abort', 7) ][0] += 1_000_001; } ],
	[ qr/^I5: job 3: two runs overlap/, 'a job starts before a crash ends its first run',
		sub { insert_before($_[0]{marks}, place_of($_[0]{marks}, 13, 'begin', 3),
			splice(@{ $_[0]{marks} }, place_of($_[0]{marks}, 11, 'begin', 3), 1)); } ],
	[ qr/^I5: job 8: .* not ended/, 'a handler runs at the end',
		sub { mark($_[0], 18, [ 'begin', 8, 1 ]); } ],
	[ qr/^I5: job 7: attempt 1 has committed and run again/, 'a committed attempt runs again',
		sub { insert_before($_[0]{marks}, place_of($_[0]{marks}, 16, 'commit', 7) + 1,
			[ 9e6, 20, 'begin', 7, 1 ], [ 9e6, 20, 'end', 7, 1 ], [ 9e6, 20, 'abort', 7, 1 ]); } ],
	[ qr/^I5: job 5: attempt 1 has committed and run again/,
		'a committed attempt runs again with group durability, without a crash',
		sub { insert_before($_[0]{marks}, place_of($_[0]{marks}, 15, 'commit', 5) + 1,
			[ 9e6, 20, 'begin', 5, 1 ], [ 9e6, 20, 'fail', 5, 1 ], [ 9e6, 20, 'abort', 5, 1 ]); } ],
	[ qr/^I5: job 7: attempt 1 has run twice/, 'an attempt claimed by record runs twice',
		sub { the_job($_[0], 7)->{claim} = 'record'; } ],
	[ qr/^I5: job 11: attempt 1 has run twice/,
		'another process repeats the attempt of a batch',
		sub { $_->[1] = 17 foreach grep { $_->[3] == 11 && $_->[2] =~ /begin|fail|abort/ } @{
			$_[0]{marks} }[ 0 .. place_of($_[0]{marks}, 16, 'abort', 11) ]; } ],
	[ qr/^I6: job 2 has succeeded and has 2 effects/, 'a job has two effects',
		sub { push @{ $_[0]{effects} }, [ 2, 1 ]; } ],
	[ qr/^I6: job 3 has succeeded and has 0 effects/, 'a job has no effect',
		sub { drop($_[0]{effects}, sub { $_[0][0] == 3 }); } ],
	[ qr/^I6: job 3 .* its effect is of attempt 1/, 'the effect is of another attempt',
		sub { (grep { $_->[0] == 3 } @{ $_[0]{effects} })[0][1] = 1; } ],
	[ qr/^I6: job 6 is failed and has 1 effects/, 'a failed job has an effect',
		sub { push @{ $_[0]{effects} }, [ 6, 1 ]; } ],
	[ qr/^I6: job 8 is cancelled and has 1 effects/, 'a cancelled job has an effect',
		sub { push @{ $_[0]{effects} }, [ 8, 1 ]; } ],
	[ qr/^I6: job 10 has succeeded and has 0 effects/, 'a procedure has no effect',
		sub { drop($_[0]{effects}, sub { $_[0][0] == 10 }); } ],
	[ qr/^I6: there is an effect of job 50/, 'an effect has no job',
		sub { push @{ $_[0]{effects} }, [ 50, 1 ]; } ],
	[ qr/^I6: job 8: attempt 1 has committed, but the job is cancelled/,
		'a committed attempt counts as failed',
		sub { the_job($_[0], 4)->{outcome} = 'cancelled'; drop($_[0]{effects},
			sub { $_[0][0] == 4 }); mark($_[0], 15, [ 'commit', 8, 1 ]); insert_before($_[0]{marks},
			$#{ $_[0]{marks} }, [ 1, 15, 'begin', 8, 1 ], [ 1, 15, 'end', 8, 1 ]); } ],
	[ qr/^I6: job 5: attempt 1 has committed, but the job is succeeded at attempt 2/,
		'a strict queue lost a commit', sub { the_job($_[0], 5)->{group} = 0; the_job($_[0],
			5)->{attempt} = 2; $_->[1] = 2 foreach grep { $_->[0] == 5 } @{ $_[0]{effects} };
			$_->[4] = 2 foreach (grep { $_->[1] == 15 && $_->[3] == 5 } @{ $_[0]{marks} });
			(grep { $_->[1] eq 'final' && $_->[3] == 5 } @{ $_[0]{changes} })[0][5] = 2; } ],
	[ qr/^I6: job 9 .* not run to its end/, 'a job succeeded without a run',
		sub { drop($_[0]{marks}, sub { $_[0][3] == 9 }); } ],
	[ qr/^I6: job 1 .* not run to its end/, 'a job succeeded although its run failed',
		sub { $_[0]{marks}[ place_of($_[0]{marks}, 11, 'end', 1) ][2] = 'fail'; } ],
	[ qr/^I6: job 1 .* not run to its end/, 'a job succeeded although its run was rolled back',
		sub { $_[0]{marks}[ place_of($_[0]{marks}, 11, 'commit', 1) ][2] = 'abort'; } ],
	[ qr/^I6: an effect of job 3 committed without/, 'an effect commits before its job ends',
		sub { my $place = place_of($_[0]{changes}, 'effect', 'insert',
			3); $_[0]{changes}[$place][0] = 1000; } ],
	[ qr/^I6: an effect of job 3 committed without/, 'an effect commits with the claim',
		sub { insert_before($_[0]{changes}, place_of($_[0]{changes}, 'live',
			'update', 3, 'running'), [ $_[0]{changes}[ place_of($_[0]{changes}, 'live', 'update', 3,
			'running') ][0], 'effect', 'insert', 3 ]); } ],
	[ qr/^I6: job 3 became final without its effect/, 'a job ends without its effect',
		sub { splice @{ $_[0]{changes} }, place_of($_[0]{changes}, 'effect', 'insert', 3), 1; } ],
	[ qr/^I7: .* key k/, 'two unfinished jobs hold a key',
		sub { $_[0]{changes}[ place_of($_[0]{changes}, 'live', 'insert', 3) ][6] = 'k'; } ],
	[ qr/^I7: .* key n/, 'a second job gets a key before it is free',
		sub { $_[0]{changes}[ place_of($_[0]{changes}, 'live', 'insert', $_) ][6] = 'n' foreach 9,
			10; } ],
	[ qr/^I8: job 3 fails 0 times and was charged 1/, 'an innocent job is charged',
		sub { the_job($_[0], 3)->{retry_count} = 1; } ],
	[ qr/^I8: job 2 fails 1 times and was charged 0/, 'a failure is not charged',
		sub { the_job($_[0], 2)->{retry_count} = 0; } ],
	[ qr/^I8: job 6 fails 9 times and was charged 1/, 'a job fails with retries left',
		sub { the_job($_[0], 6)->{max_retries} = 3; } ],
	[ qr/^I8: job 8 has failed, though/, 'an innocent job fails for good',
		sub { the_job($_[0], 8)->{outcome} = 'failed'; push @{ $_[0]{letters} }, 8; } ],
	[ qr/^I8: job 6: attempt 2 has run, the job's last is 1/,
		'an attempt ran that its job does not count',
		sub { the_job($_[0], 6)->{attempt} = 1; the_job($_[0], 6)->{retry_count} = 0; } ],
	[ qr/^I8: innocent jobs were charged 2 times/,
		'more innocent jobs are charged than faults can explain',
		sub { $_[0]{charges} = 1; the_job($_[0], $_)->{retry_count}++ foreach 3, 2; } ],
	[ qr/^I8: job 3 has 2 retries and 2 attempts/, 'a job has more retries than attempts',
		sub { the_job($_[0], 3)->{retry_count} = 2; } ],
	[ qr/^I9: job 3 left running at attempt 1/, 'a stale attempt ends a job',
		sub { my $c = $_[0]{changes}; $c->[ place_of($c, 'final', 'insert', 3) ][5] = 1; } ],
	[ qr/^I15: job 8 .* still retry/, 'a job waits at the end',
		sub { the_job($_[0], 8)->{state} = 'retry'; } ],
	[ qr/^I15: job 3 .* still running/, 'a job runs at the end',
		sub { the_job($_[0], 3)->{state} = 'running'; } ],
	[ qr/^I20: job 6 has failed and left no/, 'a dead letter is missing',
		sub { $_[0]{letters} = []; } ],
	[ qr/^I20: job 1 is succeeded and has/, 'a job that succeeded has a dead letter',
		sub { push @{ $_[0]{letters} }, 1; } ],
	[ qr/^I20: .* job 60/, 'a dead letter has no job', sub { push @{ $_[0]{letters} }, 60; } ],
	[ qr/^I21: job 4 ran before the end of job 5/, 'a job runs before the job before it',
		sub { push @{ $_[0]{dependencies} }, [ 4, 5, 'succeeded', 'fail' ]; } ],
	[ qr/^I21: job 15 ran before the end of job 12/, 'a job runs while the job before it runs',
		sub { push @{ $_[0]{dependencies} }, [ 15, 12, 'finished', 'fail' ];
			my @end = splice @{ $_[0]{marks} }, place_of($_[0]{marks}, 17, 'end', 12), 2;
			insert_before($_[0]{marks}, place_of($_[0]{marks}, 17, 'end', 15), @end); } ],
	[ qr/^I21: job 15 ran before the end of job 8/, 'a job runs before a job that is retried',
		sub { push @{ $_[0]{dependencies} }, [ 15, 8, 'finished', 'fail' ];
			mark($_[0], 15, [ 'begin', 8, 1 ], [ 'fail', 8, 1 ]); } ],
	[ qr/^I21: job 9 ran after job 6, which did not succeed/, 'a job runs after a failure',
		sub { push @{ $_[0]{dependencies} }, [ 9, 6, 'succeeded', 'skip' ]; } ],
	[ qr/^I21: job 13 did not start, though no job before it failed/,
		'a job fails although those before it have succeeded',
		sub { $_[0]{dependencies}[2][1] = 3; } ],
	[ qr/^I21: job 14 did not start, though it runs after failures/,
		'a job is skipped although it runs after failures',
		sub { $_[0]{dependencies}[3][3] = 'run'; } ],
	[ qr/^I21: job 13 ran, and did not start/, 'a job runs that fails because of another one',
		sub { mark($_[0], 15, [ 'begin', 13, 1 ], [ 'fail', 13, 1 ]); } ]);

foreach my $mutant (@mutants)
{
	my ($sentence, $name, $change) = @$mutant;
	my $history = good_history();
	$change->($history);
	my @found = HipqChecker::check($history);
	ok((grep { "$_->[0]: $_->[1]" =~ $sentence } @found), "the checker finds that $name")
		or diag("not found: $sentence\n" . HipqChecker::describe(@found));
}

# ---- histories that are allowed

my $charged = good_history();
the_job($charged, 3)->{retry_count} = 1;
$charged->{charges} = 1;
is(HipqChecker::describe(HipqChecker::check($charged)), '',
	'an innocent job may be charged for a fault of the history');
$charged->{charges} = 0;
the_job($charged, 3)->{excused} = 1;
is(HipqChecker::describe(HipqChecker::check($charged)), '',
	'an innocent job may be charged if it is excused');
my $given_up = good_history();
the_job($given_up, 6)->{max_retries} = 3;    # it is final after one failure
the_job($given_up, 6)->{given_up} = 1;
is(HipqChecker::describe(HipqChecker::check($given_up)), '',
	'a job may end because a fault kept its retry handler from answering');
the_job($given_up, 6)->{retry_count} = 9;
like(HipqChecker::describe(HipqChecker::check($given_up)), qr/^I8: job 6 /,
	'a job that ended because of its retry handler must not be charged for more');
my $moved = good_history();
commit($moved, [ 'final', 'delete', 2 ], [ 'final', 'insert', 2, 'final', 1 ]);
is(HipqChecker::describe(HipqChecker::check($moved)), '',
	'a final row may move to a leaf that is made for its time');
is(HipqChecker::describe(map { [ 'I1', "job $_" ] } 1 .. 7),
	"I1: job 1\nI1: job 2\nI1: job 3\nI1: job 4\nI1: job 5\nI1: 7 violations",
	'a report has five violations and their number');

done_testing();
