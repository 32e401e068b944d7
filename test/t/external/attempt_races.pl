# Two events that may end an offer to an external worker, or an attempt that it has accepted, end it
# as a model predicts, in any order. Events are calls of the worker, calls of operators, the end of
# the time to accept the job, the timeout, and the silence and loss of the worker. For each pair the
# model predicts the results of both calls, whether the second call waits, the row, the offer, how
# often and by which event the attempt ended, and the counts in shared memory.
#
# The model has rules for one event after the other, and for two at the same time: a call that meets
# a locked row waits for the end of the other transaction, or skips the row as if it did not exist;
# a call about an attempt that is not accepted yet waits for nothing. Many pairs run at the same
# time, each with its own job and worker. isolation/specs/external_attempt.spec shows one pair of
# each kind to readers.
use strict;
use warnings;
use HipqCluster;
use HipqRaces;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $pairs = 32;
# Short times end during the test, and long ones do not (s). A machine that stalls for less than the
# short time does not end it early.
my ($short, $long) = (60, 7200);
# How far the test moves the clock: beyond short times and the grace of a lost worker, or beyond the
# timeout of a silent worker, too.
my ($later, $much_later) = (100, 1000);
my $hipq = HipqCluster->new('attempt_races', 'hipq.retry_jitter' => 0,
	'hipq.worker_grace' => $short, 'hipq.heartbeat_timeout' => 600, max_connections => 3 * $pairs);
my $most_jobs = 2 * $pairs;

# ---- the model

# Returns the state of a job that a worker is offered: of its row, of the offer, of the worker, and
# the reasons for which attempts ended.
sub new_offer
{
	return { state => 'initial', attempt => 0, retries => 0, reason => 'NONE', is_offered => 1,
		is_accepted => 0, has_more_time => 0, worker => 'here', ends => [] };
}

sub accept_it
{
	my ($attempt) = @_;
	@$attempt{qw(state attempt is_offered is_accepted)} = ('running', 1, 0, 1);
	return 1;
}

sub copy { my ($attempt) = @_; return { %$attempt, ends => [ @{ $attempt->{ends} } ] }; }

sub end_it
{
	my ($attempt, $state, $reason, $charge) = @_;
	$attempt->{state} = $state;
	$attempt->{is_offered} = 0;
	$attempt->{reason} = $reason eq 'succeeded' ? 'NONE' : $reason;
	$attempt->{retries} += $charge;
	push @{ $attempt->{ends} }, $reason;
	return;
}

my $over = 'HQ003 attempt 1 of job <id> is over';
my $not_accepted = '55000 job <id> has not been accepted';

# The calls of a worker about an attempt that runs.
my %answers = (
	complete => sub { end_it($_[0], 'final', 'succeeded', 0); return 'done'; },
	fail => sub { end_it($_[0], 'retry', 'transient_error', 1); return 'retry'; },
	release => sub { end_it($_[0], 'retry', 'released', 0); return 'done'; },
	extend => sub { $_[0]{has_more_time} = 1; return 'true'; });

sub answer_to
{
	my ($call, $attempt) = @_;
	return $answers{$call}->($attempt) if $attempt->{state} eq 'running';
	return $attempt->{is_offered} ? $not_accepted : $over;
}

# The scheduler may have forgotten a worker that has ended, if no attempt of it runs.
sub of_ended
{
	my ($attempt, $answer) = @_;
	return $attempt->{state} eq 'running' ? $answer
		: qr/^(?:\Q$answer\E|42704 worker <id> does not exist)$/;
}

my %calls = (
	(map { my $call = $_; ($call => sub { return answer_to($call, $_[0]); }) } keys %answers),
	claim => sub {
		my ($attempt) = @_;
		return of_ended($attempt, '55000 worker <id> has ended') if $attempt->{worker} eq 'ended';
		return $attempt->{is_offered} ? accept_it($attempt) : 0;
	},
	cancel => sub {
		my ($attempt) = @_;
		return 'false' if $attempt->{state} eq 'final';
		end_it($attempt, 'final', 'cancelled', 0);
		return 'true';
	},
	drain => sub {
		my ($attempt) = @_;
		return of_ended($attempt, 'done') if $attempt->{worker} eq 'ended';
		$attempt->{worker} = 'draining';
		return 'done';
	},
	lose => sub {
		my ($attempt) = @_;
		return of_ended($attempt, 'done') if $attempt->{worker} eq 'ended';
		$attempt->{worker} = 'ended';
		return 'done';
	});

my @calls = sort keys %calls;
my %is_of_worker = (drain => 1, lose => 1);

# Events without a call: whether the job has a short time to be accepted (type s) or a long one (t),
# its timeout, and how far the clock is moved.
my %sweeps = (
	queue_ttl => { type => 's', timeout => $long, moves => $later },
	timeout => { type => 't', timeout => $short, moves => $later },
	silence => { type => 't', timeout => $long, moves => $much_later },
	queue_ttl_and_silence => { type => 's', timeout => $long, moves => $much_later },
	timeout_and_silence => { type => 't', timeout => $short, moves => $much_later },
	loss => { type => 't', timeout => $long, moves => $later });
my %without = (type => 't', timeout => $long, moves => 0);

# The scheduler takes back offers. One that was not accepted in time counts as an attempt, which is
# charged; the others leave no trace. If another session holds the row of an overdue job, the offer
# ends without a trace, too, and the worker gets a new one, unless it is silent.
sub settle_offer
{
	my ($attempt, $sweep, $moves, $is_held) = @_;
	if ($moves && $sweep->{type} eq 's' && !$attempt->{is_offered_anew})
	{
		return expire_it($attempt) unless $is_held;
		$attempt->{is_offered_anew} = 1;
	}
	$attempt->{is_offered} = 0 if $attempt->{worker} ne 'here' || $moves == $much_later;
	return;
}

sub expire_it
{
	my ($attempt) = @_;
	end_it($attempt, 'retry', 'queue_timeout', 1);
	$attempt->{attempt} = 1;
	return;
}

# The scheduler takes back what is overdue. $is_held: another session holds the row.
sub settle
{
	my ($attempt, $sweep, $moves, $is_held) = @_;
	return settle_offer($attempt, $sweep, $moves, $is_held) if $attempt->{is_offered};
	return if $attempt->{state} ne 'running';
	if ($moves && $sweep->{timeout} == $short && !$attempt->{has_more_time})
	{
		end_it($attempt, 'retry', 'timeout', 1);
	}
	elsif ($attempt->{worker} eq 'ended' && $moves) { end_it($attempt, 'retry', 'worker_lost', 1); }
	elsif ($moves == $much_later) { end_it($attempt, 'retry', 'worker_heartbeat_stale', 1); }
	return;
}

# The scheduler leaves an offer alone while a transaction accepts it. If it has two reasons to take
# the job after that, because the worker is also silent, the one that it sees first is the reason.
sub other_end_of
{
	my ($race, $start) = @_;
	my ($first, $sweep) = @$race{qw(first sweep)};
	return if !$start->{is_offered} || $first ne 'claim' || defined $race->{second}
		|| $sweep->{moves} != $much_later;
	my $other = copy($start);
	if ($race->{end} eq 'COMMIT')
	{
		accept_it($other);
		end_it($other, 'retry', 'worker_heartbeat_stale', 1);
	}
	$other->{is_offered} = 0;
	return $other;
}

# Predicts a race in which the second call comes before the first one commits.
sub predict_race
{
	my ($race, $start) = @_;
	my $sweep = $race->{sweep};
	my $after = copy($start);
	$race->{expects_one} = $calls{ $race->{first} }->($after);
	my $holds_row = !$is_of_worker{ $race->{first} } && $race->{expects_one} !~ /^(?:0|false|HQ|5)/;
	my $becomes = $race->{end} eq 'COMMIT' ? $after : $start;
	my $second = $race->{second};
	my $attempt;
	if (!defined $second)
	{
		# The scheduler takes the job at once, or when its row is unlocked. It leaves an offer alone
		# while a transaction accepts it.
		$attempt = copy($holds_row ? $becomes : $start);
		$attempt->{worker} = 'ended' if $race->{loses};
		settle($attempt, $sweep, $sweep->{moves}, $holds_row && $race->{first} ne 'claim');
		$attempt->{worker} = $becomes->{worker} unless $race->{loses};
	}
	elsif ($start->{is_offered} && $answers{$second})
	{
		# The row that the call sees does not run, so the call does not wait for it.
		$attempt = copy($becomes);
		$race->{expects_two} = $not_accepted;
	}
	elsif ($holds_row || $is_of_worker{$second})
	{
		my %passed_by = (claim => 0, cancel => 'false');
		$attempt = copy($becomes);
		$race->{expects_two} = $passed_by{$second} // $calls{$second}->($attempt);
		$race->{expects_wait} = $is_of_worker{$second} ? $is_of_worker{ $race->{first} }
			: !defined $passed_by{$second};
	}
	else
	{
		# Nothing blocks the second call, which does not see uncommitted changes.
		$attempt = copy($start);
		$race->{expects_two} = $calls{$second}->($attempt);
		$attempt->{worker} = $becomes->{worker};
	}
	settle($attempt, $sweep, !defined $second || $race->{moves_at_end} ? $sweep->{moves} : 0);
	$race->{expected} = $attempt;
	$race->{or_expected} = other_end_of($race, $start);
	return;
}

# Predicts one event after the other. In between the test waits for the scheduler.
sub predict_sequence
{
	my ($race, $start) = @_;
	my $attempt = copy($start);
	my $sweep = $race->{sweep};
	$race->{expects_one} = $calls{ $race->{first} }->($attempt) if defined $race->{first};
	$attempt->{worker} = 'ended' if $race->{loses};
	settle($attempt, $sweep, defined $race->{first} ? 0 : $sweep->{moves});
	$race->{expected_between} = copy($attempt);
	$race->{expects_two} = $calls{ $race->{second} }->($attempt);
	settle($attempt, $sweep,
		!defined $race->{first} || $race->{moves_at_end} ? $sweep->{moves} : 0);
	$race->{expected} = $attempt;
	return;
}

# Returns the visible state of an attempt, in the format of observe(). The offer has the number that
# the attempt will have.
sub sight_of
{
	my ($attempt) = @_;
	my $runs = $attempt->{state} eq 'running';
	return join ' ', @$attempt{qw(state attempt retries reason)}, $attempt->{is_accepted}
		? 'accepted' : 'unaccepted', $runs && $attempt->{has_more_time} ? 'longer' : 'plain',
	  $runs ? 'runs:1' : $attempt->{is_offered} ? 'offer:1' : 'none', join(',',
	  	sort @{ $attempt->{ends} }) || 'none';
}

# $which: "expected" and the like. Returns a pattern of the possible states.
sub sights_of
{
	my ($race, $which) = @_;
	my @possible = ($race->{$which});
	push @possible, $race->{or_expected} if $which eq 'expected' && $race->{or_expected};
	my $either = join '|', map { quotemeta sight_of($_) } @possible;
	return qr/(?:$either)/;
}

# ---- the queue and its jobs

$hipq->sql(<<"SQL");
SELECT hipq.create_queue('race.ext', max_timeout => 1000000, history => 'all',
    throttle_limit => 1000, worker_wait_ttl => 0);
SELECT hipq.register_job_type('race.ext', kind || n, handler_kind => 'notify', max_retries => 5,
    retry_base => '10000 days', retry_max => '10000 days', queue_ttl => ttl)
FROM generate_series(0, $most_jobs) AS n,
    (VALUES ('t', hipq.duration '$long s'), ('s', '$short s')) AS kind (kind, ttl);
CREATE TABLE racer (n integer, batch integer, worker bigint, job bigint);
CREATE VIEW sight AS
SELECT racer.batch, racer.n,
       concat_ws(' ', job.state, job.attempt, job.retry_count, job.retry_reason,
                 CASE WHEN job.accepted_time < '9998-01-01' THEN 'accepted'
                      ELSE 'unaccepted' END,
                 CASE WHEN job.state = 'running' AND job.deadline > hipq.now() + interval '12 hours'
                      THEN 'longer' ELSE 'plain' END,
                 CASE WHEN memory.is_accepted THEN 'runs:' || memory.attempt
                      WHEN memory.is_accepted IS NOT NULL THEN 'offer:' || memory.attempt
                      ELSE 'none' END,
                 coalesce((
                     SELECT string_agg(attempt.reason, ',' ORDER BY attempt.reason COLLATE "C")
                     FROM hipq.attempt AS attempt WHERE attempt.job_id = job.id), 'none')) AS seen,
       worker.queue_depth = (memory.is_accepted IS false)::integer
           AND worker.running_jobs = (memory.is_accepted IS true)::integer AS counts_fit
FROM racer JOIN hipq.race_ext AS job ON job.id = racer.job
LEFT JOIN hipq._running_jobs() AS memory ON memory.job_id = job.id
    AND memory.worker_id = racer.worker
LEFT JOIN hipq._workers() AS worker ON worker.worker_id = racer.worker;
SQL
my $clock = 0;
my $batch = 0;
my $races = HipqRaces->new($hipq, $pairs);
my $keeper = $races->open_session;
my $launcher = $hipq->sql(q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'hipq launcher'});

sub observe
{
	my %seen = map { split /\|/, $_, 2 } split /\n/,
		$races->ask("SELECT n, concat_ws('|', seen, counts_fit) FROM sight WHERE batch = $batch");
	return \%seen;
}

# Returns the differences between a race and its prediction.
sub faults_of
{
	my ($race, $seen) = @_;
	my @faults;
	my $compare = sub {
		my ($what, $found, $expected) = @_;
		return unless defined $expected;
		$found //= 'nothing';
		push @faults, "$what: $found, not $expected" unless ref $expected ? $found
			=~ $expected : $found eq $expected;
		return;
	};
	$compare->('the first call returns', $race->{told_one}, $race->{expects_one});
	$compare->('the second call returns', $race->{told_two}, $race->{expects_two});
	$compare->('the second call waits', $race->{waited} ? 'yes' : 'no',
		$race->{expects_wait} ? 'yes' : 'no') if defined $race->{second};
	my ($sight, $counts_fit) = split /\|/, $seen;
	$compare->('the attempt is then', $sight, $race->{or_expected} ? sights_of($race, 'expected')
		: sight_of($race->{expected}));
	$compare->('the counts of the worker are right', $counts_fit // 't', 't');
	return @faults;
}

# Waits until all races have the expected state. If one does not, the comparison at its end shows
# it.
sub wait_for
{
	my ($which, @batch) = @_;
	my $is_so = sub { my $seen = observe(); return !grep { ($seen->{ $_->{n} }
			// '') !~ /^${\ sights_of($_, $which)}(?:\|t)?$/ } @batch; };
	$hipq->poll('', sub { $_[0] }, 30, sub { return (0, $is_so->(), ''); });
	return;
}

sub statement
{
	my ($verb, $job, $worker) = @_;
	return {
		claim => "SELECT count(*) FROM hipq.claim($worker)",
		complete => "SELECT hipq.complete($job, 1)",
		fail => "SELECT hipq.fail($job, 1, 'no luck')",
		release => "SELECT hipq.release($job, 1, '10000 days')",
		extend => "SELECT hipq.extend($job, 1, '1 day') > now()",
		cancel => "SELECT hipq.cancel($job)",
		drain => "SELECT hipq.drain_worker($worker)",
		lose => "SELECT hipq.deregister_worker($worker)" }->{$verb};
}

# Gives each race its own job and worker. Two witnesses, number 0 and the last one, also have a job
# and a worker: the first one has a short time to accept its job; the last one has accepted it, and
# has a short time to end it.
sub prepare
{
	my ($sweep, @batch) = @_;
	++$batch;
	my $last = @batch + 1;
	my $n = 0;
	$_->{n} = ++$n foreach @batch;
	my $type = sub { return "CASE $_[0] WHEN 0 THEN 's' WHEN $last THEN 't' ELSE
		'$sweep->{type}' END || $_[0]"; };
	$races->ask("INSERT INTO racer (n, batch, worker)
		SELECT n, $batch, hipq.register_worker('w' || n, ARRAY['race.ext'],
		ARRAY[${\ $type->('n')}], take_over => true) FROM generate_series(0, $last) AS n");
	$races->ask("UPDATE racer SET job = hipq.enqueue(${\ $type->('n')}, queue => 'race.ext',
		timeout => CASE n WHEN $last THEN $short ELSE $sweep->{timeout} END)
		WHERE batch = $batch");
	foreach my $race (@batch) { $race->{start} = new_offer(); }
	wait_for('start', @batch, map { { n => $_, start => new_offer() } } 0, $last);
	my %ids = map { split /\|/, $_, 2 } split /\n/,
		$races->ask("SELECT n, job || ' ' || worker FROM racer WHERE batch = $batch");
	foreach my $race (@batch)
	{
		my ($job, $worker) = split / /, $ids{ $race->{n} };
		$race->{one} = defined $race->{first} ? statement($race->{first}, $job, $worker) : undef;
		$race->{two} = defined $race->{second} ? statement($race->{second}, $job, $worker) : undef;
		next unless $race->{accepts};
		accept_it($race->{start});
		my $accepted = $races->ask(statement('claim', $job, $worker));
		push @{ $race->{trouble} }, "not accepted: $accepted" if $accepted ne '1';
	}
	my ($job, $worker) = split / /, $ids{$last};
	$races->ask(statement('claim', $job, $worker)) eq '1' or die 'the witness accepts no job';
	return;
}

# Moves the scheduler's clock, and waits until the scheduler has checked all jobs by this clock. The
# first witness shows it, because its job is overdue then.
sub sweep
{
	my ($sweep) = @_;
	return unless $sweep->{moves};
	$races->ask("SELECT count(hipq.deregister_worker(worker)) FROM racer WHERE batch = $batch
		AND n BETWEEN 1 AND (SELECT max(n) - 1 FROM racer WHERE batch = $batch)")
		if $sweep == $sweeps{loss};
	$races->ask("ALTER SYSTEM SET hipq.clock_offset = ${\ ($clock += $sweep->{moves})}");
	$races->ask('SELECT pg_reload_conf()');
	my $witness = new_offer();
	expire_it($witness);
	wait_for('expected', { n => 0, expected => $witness });
	return;
}

# Moves the clock while sessions lock jobs. After these have released their locks, the scheduler
# checks the jobs once more, in the transaction that takes back the job of the second witness, which
# the keeper has locked for the whole time.
sub sweep_while_held
{
	my ($sweep, @batch) = @_;
	my $last = @batch + 1;
	HipqRaces::ask_in($keeper, "BEGIN; SELECT count(*) FROM (SELECT FROM hipq.race_ext
		WHERE id = (SELECT job FROM racer WHERE batch = $batch AND n = $last) FOR UPDATE) AS held");
	$races->hold(\@batch, between => sub { sweep($sweep) });
	HipqRaces::ask_in($keeper, 'COMMIT');
	my $witness = new_offer();
	accept_it($witness);
	end_it($witness, 'retry', 'timeout', 1);
	wait_for('expected', { n => $last, expected => $witness });
	return;
}

# Makes sessions use the scheduler's clock, after the end of a batch, because a silent worker that
# sent a heartbeat by this clock would get its job again.
sub follow_clock
{
	$races->run($races->all, "SET hipq.clock_offset = $clock");
	$races->ask("SET hipq.clock_offset = $clock");
	return;
}

# Compares a batch that has ended with the predictions. Returns the differences of each race.
sub look_at
{
	my (@batch) = @_;
	wait_for('expected', @batch);
	my $seen = observe();
	my @faults = map { my $race = $_; map { "$race->{name}: $_" } @{ $race->{trouble} // [] },
		faults_of($race, $seen->{ $race->{n} }) } @batch;
	my $none = sub { my ($what, $sql) = @_; my $count = $races->ask($sql); push @faults,
		"$what: $count" if $count; return; };
	$none->('locked rows', "SELECT count(*) - (SELECT count(*) FROM (SELECT
		FROM hipq.race_ext AS job WHERE id IN (SELECT job FROM racer WHERE batch = $batch)
		FOR UPDATE SKIP LOCKED) AS free) FROM racer WHERE batch = $batch");
	$none->('locks of sessions',
		'SELECT count(*) FROM pg_locks WHERE pid IN (' . join(',', $races->pids) . ')');
	$none->('capacity without running or offered jobs',
		q{SELECT coalesce((SELECT sum(jobs) FROM hipq._limiters() WHERE job_type IS NULL),
		0) - (SELECT count(*) FROM hipq.race_ext_live WHERE state = 'running' OR id IN (
		SELECT job_id FROM hipq._running_jobs() WHERE NOT is_accepted))});
	return @faults;
}

# Ends all jobs and workers of a batch. Returns what is left in shared memory.
sub clear
{
	$races->ask("SELECT count(hipq.cancel(job.id)) FROM hipq.race_ext_live AS job");
	$races->ask("SELECT count(hipq.deregister_worker(worker)) FROM racer
		JOIN hipq._workers() AS present ON worker_id = worker AND is_active WHERE batch = $batch");
	return map { $_->[0] . ': ' . $_->[1] } grep { $_->[1] ne '0' } map { [ $_->[0],
			$races->ask($_->[1]) ] } (
		[ 'jobs in flight', 'SELECT count(*) FROM hipq._running_jobs()' ],
		[ 'jobs that workers count',
			'SELECT coalesce(sum(queue_depth + running_jobs), 0) FROM hipq._workers()' ],
		[ 'capacity', 'SELECT count(*) FROM hipq._limiters() WHERE used <> 0 OR jobs <> 0' ]);
}

sub run_batch
{
	my ($sweep, @batch) = @_;
	prepare($sweep, @batch);
	my $is_sequence = !defined $batch[0]{end};
	foreach my $race (@batch)
	{
		$is_sequence ? predict_sequence($race,
			$race->{start}) : predict_race($race, $race->{start});
	}
	if ($is_sequence)
	{
		if (defined $batch[0]{first}) { $races->call(\@batch, 'one'); }
		else { sweep($sweep); }
		wait_for('expected_between', @batch);
		$races->call(\@batch, 'two');
	}
	elsif (defined $batch[0]{second}) { $races->hold(\@batch); }
	else { sweep_while_held($sweep, @batch); }
	sweep($sweep) if $batch[0]{moves_at_end};
	my @faults = (look_at(@batch), clear());
	follow_clock();
	return @faults;
}

# Runs all races of a kind, in batches, as one test.
sub run_all
{
	my ($name, $sweep, @all) = @_;
	my $count = @all;
	my @faults;
	my $start = time();
	while (my @batch = splice @all, 0, $pairs) { push @faults, run_batch($sweep, @batch); }
	ok(!@faults, "$name: $count races end as the model says") or diag(join "\n", @faults);
	note sprintf '%.1f s', time() - $start;
	return $count;
}

# ---- the checker itself

# Tests that the checker finds no fault in a right history, and one fault in each wrong history.
sub check_checker
{
	my %race = (n => 1, name => 'sample', first => 'complete', second => 'fail', end => 'COMMIT',
		sweep => \%without);
	my $start = new_offer();
	accept_it($start);
	predict_race(\%race, $start);
	my %right = (told_one => 'done', told_two => $over, waited => 1,
		seen => 'final 1 0 NONE accepted plain none succeeded|t');
	my $faults = sub { my %found = (%right, @_); my $seen = delete $found{seen};
		return scalar faults_of({ %race, %found }, $seen); };
	is($faults->(), 0, 'the checker finds no fault in a right history');
	my @wrong = (
		[ 'both calls return that they ended the attempt', told_two => 'retry' ],
		[ 'the first call is refused', told_one => $over ],
		[ 'the second call returns another error',
			told_two => '55000 job <id> has not been accepted' ],
			[ 'the second call does not wait', waited => 0 ],
		[ 'both calls have ended the attempt',
			seen => 'final 1 0 NONE accepted plain none succeeded,transient_error|t' ],
		[ 'no call has ended the attempt', seen => 'final 1 0 NONE accepted plain none none|t' ],
		[ 'the row shows the second call',
			seen => 'retry 1 1 transient_error accepted plain none succeeded|t' ],
			[ 'the job still runs', seen => 'running 1 0 NONE accepted plain none succeeded|t' ],
		[ 'a retry is charged', seen => 'final 1 1 NONE accepted plain none succeeded|t' ],
		[ 'shared memory has the ended attempt',
			seen => 'final 1 0 NONE accepted plain runs:1 succeeded|t' ],
		[ 'the worker is offered the ended job',
			seen => 'final 1 0 NONE accepted plain offer:1 succeeded|t' ],
		[ 'the worker counts the ended attempt',
			seen => 'final 1 0 NONE accepted plain none succeeded|f' ]);
	foreach my $wrong (@wrong)
	{
		my ($what, @found) = @$wrong;
		is($faults->(@found), 1, "the checker finds a fault if $what");
	}
	return;
}

check_checker();

# ---- all pairs

my $count = 0;
foreach my $has_loss (0, 1)
{
	my %sweep = (%without, moves => $has_loss ? $later : 0);
	my @all;
	foreach my $accepts (0, 1)
	{
		foreach my $first (@calls)
		{
			foreach my $second (grep { $has_loss == ($first eq 'lose' || $_ eq 'lose') } @calls)
			{
				foreach my $end ('COMMIT', 'ROLLBACK', undef)
				{
					my $name = join ' ', $accepts ? 'accepted' : 'offered', $first, $second,
						$end // 'one after the other';
					push @all, { name => $name, accepts => $accepts,
						first => $first, second => $second, end => $end, sweep => \%sweep,
						moves_at_end => $has_loss };
				}
			}
		}
	}
	my $kind = $has_loss ? 'calls, with a deregistered worker' : 'calls';
	$count += run_all("$kind, at the same time", \%sweep, grep { defined $_->{end} } @all);
	$count += run_all("$kind, one after the other", \%sweep, grep { !defined $_->{end} } @all);
}
foreach my $kind (sort keys %sweeps)
{
	my %shared = (sweep => $sweeps{$kind}, loses => $kind eq 'loss');
	my (@at_once, @after);
	foreach my $accepts (0, 1)
	{
		my $start = $accepts ? 'accepted' : 'offered';
		foreach my $call (@calls)
		{
			push @after, { %shared, name => "$start $kind $call", accepts => $accepts,
				second => $call };
			# A drained worker and a lost one would wait for each other. The pairs of calls have
			# them.
			next if $shared{loses} && $is_of_worker{$call};
			push @at_once, map { { %shared, name => "$start $call $kind $_", accepts => $accepts,
					first => $call, end => $_ } } qw(COMMIT ROLLBACK);
		}
	}
	$count += run_all("$kind, while a call is not committed", $sweeps{$kind}, @at_once);
	$count += run_all("$kind, and then a call", $sweeps{$kind}, @after);
}
note "$count races";

is($hipq->sql(q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'hipq launcher'}), $launcher,
	'the server has not restarted');
unlike(slurp_file($hipq->node->logfile),
	qr/PANIC:|TRAP:|leaked|terminated\ by\ signal|exited\ with\ exit\ code\ [1-9]
		|cannot\ rescue\ job|cannot\ give\ job|is\ not\ there\ any\ more|cursor\ miss/x,
	'the log has nothing alarming');
$races->quit;
done_testing();
