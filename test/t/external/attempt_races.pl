# Two events that may end an attempt of an external worker end it as a model predicts, in any order.
# Events are calls of the worker, calls of operators, the end of the time to accept the job, the
# timeout, and the silence and loss of the worker. For each pair the model predicts the results of
# both calls, whether the second call waits, the row, how often and by which event the attempt
# ended, and the counts in shared memory.
#
# The model has rules for one event after the other, and one rule for two at the same time: a call
# that meets a locked row waits for the end of the other transaction, or skips the row as if it did
# not exist. Many pairs run at the same time, each with its own job and worker.
# isolation/specs/external_attempt.spec shows one pair of each kind to readers.
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

# Returns the state of a new attempt: of its job, of its worker, and the reasons for which it ended.
sub new_attempt
{
	return { state => 'running', attempt => 1, retries => 0, reason => 'NONE', is_accepted => 0,
		has_more_time => 0, worker => 'here', ends => [] };
}

sub copy { my ($attempt) = @_; return { %$attempt, ends => [ @{ $attempt->{ends} } ] }; }

sub end_it
{
	my ($attempt, $state, $reason, $charge) = @_;
	$attempt->{state} = $state;
	$attempt->{reason} = $reason eq 'succeeded' ? 'NONE' : $reason;
	$attempt->{retries} += $charge;
	push @{ $attempt->{ends} }, $reason;
	return;
}

my $over = 'HQ003 attempt 1 of job <id> is over';

# The calls of a worker about an attempt that runs.
my %answers = (
	complete => sub { end_it($_[0], 'final', 'succeeded', 0); return 'done'; },
	fail => sub { end_it($_[0], 'retry', 'transient_error', 1); return 'retry'; },
	release => sub { end_it($_[0], 'retry', 'released', 0); return 'done'; },
	extend => sub { return '55000 job <id> has not been accepted'
			unless $_[0]{is_accepted}; $_[0]{has_more_time} = 1; return 'true'; });

# The scheduler may have forgotten the worker of an attempt that has ended.
sub of_ended
{
	my ($attempt, $answer) = @_;
	return $attempt->{state} eq 'running' ? $answer
		: qr/^(?:\Q$answer\E|42704 worker <id> does not exist)$/;
}

my %calls = (
	(map { my $answer = $answers{$_}; ($_ => sub { return
			$_[0]{state} eq 'running' ? $answer->($_[0]) : $over; }) } keys %answers),
	claim => sub {
		my ($attempt) = @_;
		return of_ended($attempt, '55000 worker <id> has ended') if $attempt->{worker} eq 'ended';
		return 0 if $attempt->{state} ne 'running' || $attempt->{is_accepted};
		return $attempt->{is_accepted} = 1;
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

# The scheduler takes back jobs that are overdue.
sub settle
{
	my ($attempt, $sweep, $moves) = @_;
	return if $attempt->{state} ne 'running';
	my $worker = $attempt->{worker};
	my $charge = $attempt->{is_accepted};
	if ($moves && $sweep->{type} eq 's' && !$attempt->{is_accepted})
	{
		end_it($attempt, 'retry', 'queue_timeout', 1);
	}
	elsif ($moves && $sweep->{timeout} == $short && $attempt->{is_accepted}
		&& !$attempt->{has_more_time})
	{
		end_it($attempt, 'retry', 'timeout', 1);
	}
	elsif ($worker ne 'here' && !$attempt->{is_accepted})
	{
		end_it($attempt, 'retry', 'released', 0);
	}
	elsif ($worker eq 'ended' && $moves) { end_it($attempt, 'retry', 'worker_lost', $charge); }
	elsif ($moves == $much_later) { end_it($attempt, 'retry', 'worker_heartbeat_stale', $charge); }
	return;
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
		# The scheduler takes the job at once, or when its row is unlocked.
		$attempt = copy($holds_row ? $becomes : $start);
		$attempt->{worker} = 'ended' if $race->{loses};
		settle($attempt, $sweep, $sweep->{moves});
		$attempt->{worker} = $becomes->{worker} unless $race->{loses};
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

# Returns the visible state of an attempt, in the format of observe().
sub sight_of
{
	my ($attempt) = @_;
	my $runs = $attempt->{state} eq 'running';
	return join ' ', @$attempt{qw(state attempt retries reason)}, $attempt->{is_accepted}
		? 'accepted' : 'given', $runs && $attempt->{has_more_time} ? 'longer' : 'plain',
	  !$runs ? 'none' : $attempt->{is_accepted} ? 'running' : 'waiting', join(',',
	  	sort @{ $attempt->{ends} }) || 'none';
}

# ---- the queue and its jobs

$hipq->sql(<<"SQL");
SELECT hipq.create_queue('race.ext', max_timeout => 1000000, history => 'all',
    throttle_limit => 1000);
SELECT hipq.register_job_type('race.ext', kind || n, handler_kind => 'notify', max_retries => 5,
    retry_base => '10000 days', retry_max => '10000 days', queue_ttl => ttl)
FROM generate_series(0, $most_jobs) AS n,
    (VALUES ('t', hipq.duration '$long s'), ('s', '$short s')) AS kind (kind, ttl);
CREATE TABLE racer (n integer, batch integer, worker bigint, job bigint);
CREATE VIEW sight AS
SELECT racer.batch, racer.n,
       concat_ws(' ', job.state, job.attempt, job.retry_count, job.retry_reason,
                 CASE WHEN job.accepted_time < '9998-01-01' THEN 'accepted' ELSE 'given' END,
                 CASE WHEN job.state = 'running' AND job.deadline > hipq.now() + interval '12 hours'
                      THEN 'longer' ELSE 'plain' END,
                 CASE WHEN memory.is_accepted THEN 'running'
                      WHEN memory.is_accepted IS NOT NULL THEN 'waiting' ELSE 'none' END,
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
	$compare->('the attempt is then', $sight, sight_of($race->{expected}));
	$compare->('the counts of the worker are right', $counts_fit // 't', 't');
	return @faults;
}

# Waits until all races have the expected state. If one does not, the comparison at its end shows
# it.
sub wait_for
{
	my ($which, @batch) = @_;
	my $is_so = sub { my $seen = observe(); return !grep { ($seen->{ $_->{n} }
			// '') !~ /^\Q@{[ sight_of($_->{$which}) ]}\E(?:\|t)?$/ } @batch; };
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
# and a worker, and a short time to be accepted.
sub prepare
{
	my ($sweep, @batch) = @_;
	++$batch;
	my $last = @batch + 1;
	my $n = 0;
	$_->{n} = ++$n foreach @batch;
	my $type = sub { return "CASE WHEN $_[0] IN (0, $last) THEN 's' ELSE
		'$sweep->{type}' END || $_[0]"; };
	$races->ask("INSERT INTO racer (n, batch, worker)
		SELECT n, $batch, hipq.register_worker('w' || n, ARRAY['race.ext'],
		ARRAY[${\ $type->('n')}], take_over => true) FROM generate_series(0, $last) AS n");
	$races->ask("UPDATE racer SET job = hipq.enqueue(${\ $type->('n')}, queue => 'race.ext',
		timeout => $sweep->{timeout}) WHERE batch = $batch");
	foreach my $race (@batch) { $race->{start} = new_attempt(); }
	wait_for('start', @batch, map { { n => $_, start => new_attempt() } } 0, $last);
	my %ids = map { split /\|/, $_, 2 } split /\n/,
		$races->ask("SELECT n, job || ' ' || worker FROM racer WHERE batch = $batch");
	foreach my $race (@batch)
	{
		my ($job, $worker) = split / /, $ids{ $race->{n} };
		$race->{one} = defined $race->{first} ? statement($race->{first}, $job, $worker) : undef;
		$race->{two} = defined $race->{second} ? statement($race->{second}, $job, $worker) : undef;
		next unless $race->{accepts};
		$race->{start}{is_accepted} = 1;
		my $accepted = $races->ask(statement('claim', $job, $worker));
		push @{ $race->{trouble} }, "not accepted: $accepted" if $accepted ne '1';
	}
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
	wait_for_witness(0);
	return;
}

sub wait_for_witness
{
	my ($n) = @_;
	my $witness = new_attempt();
	end_it($witness, 'retry', 'queue_timeout', 1);
	wait_for('expected', { n => $n, expected => $witness });
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
	wait_for_witness($last);
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
	$none->('capacity without running jobs',
		q{SELECT coalesce((SELECT sum(jobs) FROM hipq._limiters() WHERE job_type IS NULL),
		0) - (SELECT count(*) FROM hipq.race_ext_live WHERE state = 'running')});
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
	predict_race(\%race, new_attempt());
	my %right = (told_one => 'done', told_two => $over, waited => 1,
		seen => 'final 1 0 NONE given plain none succeeded|t');
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
			seen => 'final 1 0 NONE given plain none succeeded,transient_error|t' ],
			[ 'no call has ended the attempt', seen => 'final 1 0 NONE given plain none none|t' ],
		[ 'the row shows the second call',
			seen => 'retry 1 1 transient_error given plain none succeeded|t' ],
			[ 'the job still runs', seen => 'running 1 0 NONE given plain none succeeded|t' ],
		[ 'a retry is charged', seen => 'final 1 1 NONE given plain none succeeded|t' ],
		[ 'shared memory has the ended attempt',
			seen => 'final 1 0 NONE given plain waiting succeeded|t' ],
		[ 'the worker counts the ended attempt',
			seen => 'final 1 0 NONE given plain none succeeded|f' ]);
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
					my $name = join ' ', $accepts ? 'accepted' : 'given', $first, $second,
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
		my $start = $accepts ? 'accepted' : 'given';
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
	qr/PANIC:|TRAP:|leaked|terminated by signal|exited with exit code [1-9]|cannot rescue job|cannot give job|dropped a dispatch|is not there any more|cursor miss/,
	'the log has nothing alarming');
$races->quit;
done_testing();
