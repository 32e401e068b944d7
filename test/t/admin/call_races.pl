# Two calls that control the same job give what a model predicts: both results, whether the second
# call waits, and the state of the job afterwards. The job waits, is final, or runs. The second call
# comes while the transaction of the first one is open, which then commits or rolls back, or it
# comes afterwards. isolation/specs/control_*.spec show one race of each kind to readers.
use strict;
use warnings;
use HipqCluster;
use HipqRaces;
use PostgreSQL::Test::Utils;
use Test::More;

my $pairs = 24;
my $hipq = HipqCluster->new('call_races', max_connections => 3 * $pairs);
my $races = HipqRaces->new($hipq, $pairs);
my $count = 0;

# Returns the differences between the results and the prediction.
sub faults_of
{
	my ($race, $seen) = @_;
	my @found = ([ 'the first call returns', $race->{told_one}, $race->{expects_one} ],
		[ 'the second call returns', $race->{told_two}, $race->{expects_two} ],
		[ 'the job is then', $seen, $race->{expected} ]);
	push @found, [ 'the second call waits', $race->{waited} ? 'yes' : 'no',
		$race->{expects_wait} ? 'yes' : 'no' ] if defined $race->{end};
	return map { "$race->{name}: $_->[0]: $_->[1], not $_->[2]" } grep { defined $_->[2]
		&& ($_->[1] // 'nothing') ne $_->[2] } @found;
}

sub report
{
	my ($name, $all, @faults) = @_;
	$count += @$all;
	return ok(!@faults, "$name: " . @$all . ' races') || diag(join "\n", @faults);
}

# Predicts a race. The second call sees the job as the first one left it if it waits for the first
# one's transaction; otherwise it sees the job as it was before. passes_by: the result of a call
# that skips a locked row.
sub predict
{
	my ($race, $calls, $start, $holds, $waits, $passes_by, $merge) = @_;
	my ($first, $second) = @$race{qw(first second)};
	my $after = {%$start};
	$race->{expects_one} = $calls->{$first}->($after) if defined $first;
	my $becomes = !defined $race->{end} || $race->{end} eq 'COMMIT' ? $after : $start;
	my $is_held = defined $race->{end} && $holds->($first, $race->{expects_one});
	my $seen = {%$becomes};
	if (!defined $race->{end}) { $race->{expects_two} = $calls->{$second}->($seen); }
	elsif ($is_held && $waits->($first, $second))
	{
		$race->{expects_wait} = 1;
		$race->{expects_two} = $calls->{$second}->($seen);
	}
	elsif ($is_held && defined $passes_by->{$second})
	{
		$race->{expects_two} = $passes_by->{$second};
	}
	else
	{
		my $alone = {%$start};
		$race->{expects_two} = $calls->{$second}->($alone);
		$seen = $merge->($start, $becomes, $alone);
	}
	return $seen;
}

# Merges the changes of two calls.
sub both
{
	my ($start, @changed) = @_;
	my %both = %$start;
	foreach my $changed (@changed)
	{
		foreach my $key (keys %both)
		{
			$both{$key} = $changed->{$key} if $changed->{$key} ne $start->{$key};
		}
	}
	return \%both;
}

sub pairs_of
{
	my ($firsts, $seconds, @ends) = @_;
	return map { my $first = $_; map { my $second = $_;
			map { { name => join(' ', $first, $second, $_ // 'one after the other'),
			first => $first, second => $second, end => $_ } } @ends } @$seconds } @$firsts;
}

# ---- a job that waits

{
	$hipq->sql("SELECT hipq.create_queue('race.wait'), hipq.create_queue('race.wait_aside')");
	$hipq->sql("SELECT hipq.register_job_type(queue, 't' || n) FROM unnest(ARRAY['race.wait',
		'race.wait_aside']) AS queue, generate_series(0, $pairs - 1) AS n");
	my %calls = (
		cancel => sub { return 'false' if $_[0]{outcome} eq 'cancelled';
			$_[0]{outcome} = 'cancelled'; return 'true'; },
		cancel_jobs => sub { return 0 if $_[0]{outcome} eq 'cancelled'
			|| $_[0]{queue} ne 'race.wait'; $_[0]{outcome} = 'cancelled'; return 1; },
		reschedule => sub { return '55000 cannot reschedule job <id> in state "final"'
			if $_[0]{outcome} eq 'cancelled'; $_[0]{year} = 2101; return 'done'; },
		move_jobs => sub { return 0 if $_[0]{outcome} eq 'cancelled' || $_[0]{queue} ne 'race.wait';
			$_[0]{queue} = 'race.wait_aside'; return 1; },
		pause => sub { my $was = $_[0]{paused}; $_[0]{paused} = 1;
				return $was ? 'false' : 'true'; });
	my %start = (queue => 'race.wait', outcome => 'waiting', year => 2100, paused => 0);
	my @all = pairs_of([ sort keys %calls ], [ grep { $_ ne 'pause' } sort keys %calls ],
		'COMMIT', 'ROLLBACK');
	my @after = pairs_of([ sort keys %calls ], [ sort keys %calls ], undef);
	my @faults;
	my @waiting = (@all, @after);
	while (@waiting)
	{
		my $is_sequence = !defined $waiting[0]{end};
		my @batch;
		while (@waiting && @batch < $pairs && !defined $waiting[0]{end} == $is_sequence)
		{
			push @batch, shift @waiting;
		}
		my @ids = split /\n/, $races->ask("SELECT hipq.enqueue('t' || n, queue => 'race.wait',
			scheduled_run_time => '2100-01-01') FROM generate_series(0, $#batch) AS n");
		foreach my $i (0 .. $#batch)
		{
			my %sql = (
				cancel => "SELECT hipq.cancel($ids[$i])",
				cancel_jobs => "SELECT hipq.cancel_jobs('race.wait', 't$i')",
				reschedule => "SELECT hipq.reschedule($ids[$i], '2101-01-01')",
				move_jobs => "SELECT moved
					FROM hipq.move_jobs('race.wait', 'race.wait_aside', 't$i')",
				pause => "SELECT hipq.pause('race.wait', 't$i')");
			my $race = $batch[$i];
			@$race{qw(one two)} = @sql{ @$race{qw(first second)} };
			my $seen = predict($race,
				\%calls, \%start, sub { $_[0] ne 'pause' }, sub { $_[1] eq 'reschedule' },
				{ cancel => 'false', cancel_jobs => 0, move_jobs => 0 }, \&both);
			$race->{expected} = join ' ', @$seen{qw(queue outcome year)};
		}
		if ($is_sequence) { $races->call(\@batch, $_) foreach qw(one two); }
		else { $races->hold(\@batch); }
		my %seen = map { split /\|/, $_, 2 } split /\n/,
		  $races->ask(q{SELECT id, concat_ws(' ', queue,
		  	outcome, extract(year FROM scheduled_run_time AT TIME ZONE 'UTC')) FROM hipq.jobs
		  	WHERE queue LIKE 'race.wait%' AND id IN (} . join(',', @ids) . ')');
		push @faults, map { faults_of($batch[$_], $seen{ $ids[$_] }) } 0 .. $#batch;
		$races->ask("SELECT count(hipq.cancel(job.id)) FROM hipq.job AS job WHERE job.id IN ("
			. join(',', @ids) . ") AND job.state <> 'final'");
		$races->ask("SELECT count(hipq.resume('race.wait', 't' || n))
			FROM generate_series(0, $#batch) AS n");
		push @faults, 'a queue has jobs left'
			if $races->ask(q{SELECT count(*) FROM hipq.job WHERE state <> 'final'}) ne '0';
	}
	report('on a job that waits', [ @all, @after ], @faults);
}

# ---- a job that is final

{
	$hipq->sql(q{SELECT hipq.create_queue('race.end'), hipq.create_queue('race.end_aside');
		SELECT hipq.register_job_type(queue, 't')
		FROM unnest(ARRAY['race.end', 'race.end_aside']) AS queue});
	my $refuse_second = '23505 job type "t" has an unfinished job with key "k"';
	my %calls = (
		retry => sub { return '42704 job <id> does not exist' unless $_[0]{original};
			return $refuse_second if $_[0]{new}; $_[0]{new} = 1; return 'true'; },
		retry_jobs => sub { return 0 if !$_[0]{original} || $_[0]{new}; $_[0]{new} = 1; return 1; },
		erase => sub { return 'false' unless $_[0]{original}; $_[0]{original} = 0; return 'true'; },
		cancel => sub { return 'false'; },
		reschedule => sub { return '55000 cannot reschedule job <id> in state "final"'; },
		extend_job => sub { return '55000 job <id> does not run'; },
		move_jobs => sub { return 0; },
		cancel_jobs => sub { return 0; });
	my %sql = (
		retry => 'SELECT hipq.retry(-1) > 0',
		retry_jobs => q{SELECT hipq.retry_jobs('race.end')},
		erase => 'SELECT hipq.erase(-1)',
		cancel => 'SELECT hipq.cancel(-1)',
		reschedule => q{SELECT hipq.reschedule(-1, '2101-01-01')},
		extend_job => q{SELECT hipq.extend_job(-1, '1 min')},
		move_jobs => q{SELECT moved FROM hipq.move_jobs('race.end', 'race.end_aside', 't')},
		cancel_jobs => q{SELECT hipq.cancel_jobs('race.end')});
	my @takes = qw(retry retry_jobs erase);
	my @all = (pairs_of(\@takes, \@takes, 'COMMIT', 'ROLLBACK', undef),
		map { { name => $_, second => $_ } } sort keys %calls);
	my @faults;
	foreach my $race (@all)
	{
		$races->ask(q{
			SET session_replication_role = replica;
			INSERT INTO hipq.job (id, queue_id, state, error, retry_reason, throttle_factor,
				update_time, created_time, timeout, max_retries, priority, job_type, job_key,
				time_windows, attempt)
			SELECT -1, queue_id, 'final', 'no', 'timeout', 1, now(), now(), 60, 0, 0, 't', 'k',
				'NONE', 1 FROM hipq.queue WHERE table_name = 'race_end';
			RESET session_replication_role});
		$race->{one} = $sql{ $race->{first} } if defined $race->{first};
		$race->{two} = $sql{ $race->{second} };
		my $seen = predict($race, \%calls, { original => 1, new => 0 }, sub { 1 },
			sub { ($_[0] eq 'erase') == ($_[1] eq 'erase') }, {}, \&both);
		$race->{expected} = join ', ', ($seen->{original} ? 'final no of itself' : ()),
			($seen->{new} ? 'initial NONE of -1' : ());
		if (defined $race->{end}) { $races->hold([$race]); }
		else { $races->call([$race], $_) foreach defined $race->{one} ? qw(one two) : 'two'; }
		my $found = $races->ask(q{
			SELECT coalesce(string_agg(concat_ws(' ', state, coalesce(error, 'NONE'),
				'of', coalesce(retry_of::text, 'itself')), ', ' ORDER BY retry_of NULLS FIRST), '')
				FROM hipq.jobs_detail WHERE queue LIKE 'race.end%' AND job_key = 'k'});
		push @faults, faults_of($race, $found);
		$races->ask(q{SELECT count(hipq.cancel(id)) FROM hipq.race_end WHERE state <> 'final'});
		$races->ask(q{SELECT count(hipq.erase(id)) FROM hipq.race_end});
	}
	report('on a job that is final', \@all, @faults);
}

# ---- a job that runs

{
	$hipq->sql(q{
		SELECT hipq.create_queue('race.run', owner => 'app'),
			hipq.create_queue('race.run_aside', owner => 'app');
		CREATE FUNCTION work(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN
			IF job.job_data ? 'snooze' THEN PERFORM hipq.snooze('100 years'); END IF;
			LOOP
				BEGIN
					PERFORM pg_advisory_xact_lock_shared(1);
					RETURN;
				EXCEPTION WHEN query_canceled THEN
					IF NOT job.job_data ? 'stubborn' THEN RAISE; END IF;
				END;
			END LOOP;
		END $$;
		SELECT hipq.register_job_type('race.run', claim, handler => 'work', claim => claim)
			FROM unnest('{lock,record}'::text[]) AS claim;
		SELECT hipq.register_job_type('race.run_aside', claim)
			FROM unnest('{lock,record}'::text[]) AS claim});
	# The calls on a job while its handler runs, and on a job that has snoozed.
	my $extend = sub { return '55000 the job is being stopped'
		if $_[0]{is_stopped}; return 'true'; };
	my %while_running = (
		cancel => sub { $_[0]{is_stopped} = 1; return 'true'; },
		cancel_jobs => sub { $_[0]{is_stopped} = 1; return 1; },
		extend_job => $extend,
		reschedule => sub { return '55000 cannot reschedule job <id> in state "running"'; },
		move_jobs => sub { return 0; },
		retry => sub { return '55000 job <id> is not final'; },
		erase => sub { return '55000 cannot erase job <id> in state "running"'; },
		pause => sub { my $was = $_[0]{is_paused}; $_[0]{is_paused} = 1;
				return $was ? 'false' : 'true'; });
	my %when_snoozed = (
		%while_running,
		cancel => sub { $_[0]{is_stopped} = 1; return 'true'; },
		extend_job => sub { return '55000 job <id> does not run'; },
		reschedule => sub { return 'done'; },
		move_jobs => sub { $_[0]{queue} = 'race.run_aside'; return 1; },
		erase => sub { return '55000 cannot erase job <id> in state "retry"'; });
	my @calls = sort keys %while_running;
	my @all;
	foreach my $claim (qw(lock record))
	{
		push @all, map { { name => "$claim $_", claim => $claim, data => '', one => $_ } } @calls;
		# A handler that catches its cancellation still runs at a second call.
		push @all, map { my $first = $_; map { { name => "$claim stubborn $first $_",
				claim => $claim, data => 'stubborn', one => $first, two => $_ } } @calls } @calls;
		push @all, map { { name => "$claim snoozes $_", claim => $claim, data => 'snooze',
				one => $_ } } @calls;
		push @all, map { { name => "$claim has snoozed $_", claim => $claim, data => 'snooze',
				later => $_ } } @calls;
	}
	my @faults;
	foreach my $race (@all)
	{
		my $job = $races->ask("SELECT pg_advisory_lock(1); SELECT hipq.enqueue('$race->{claim}',
			jsonb_build_object('$race->{data}', 1), queue => 'race.run', job_key => 'k')")
			=~ s/\s//gr;
		my %sql = (
			cancel => "SELECT hipq.cancel($job)",
			cancel_jobs => q{SELECT hipq.cancel_jobs('race.run')},
			extend_job => "SELECT hipq.extend_job($job, '1 min') > now()",
			reschedule => "SELECT hipq.reschedule($job, '2101-01-01')",
			move_jobs => "SELECT moved
				FROM hipq.move_jobs('race.run', 'race.run_aside', '$race->{claim}')",
			retry => "SELECT hipq.retry($job) > 0",
			erase => "SELECT hipq.erase($job)",
			pause => q{SELECT hipq.pause('race.run')});
		my $wait = sub { my ($is_so) = $hipq->poll('', sub { $_[0] eq 't' },
				30, sub { return (0, $races->ask($_[0] || $sql{wait}), ''); }); push @faults,
			"$race->{name}: waited in vain: $sql{wait}" unless $is_so; return; };
		$sql{wait} = qq{SELECT count(*) = 1 FROM hipq.running_detail WHERE id = $job
			AND wait_event = 'advisory'};
		$wait->();
		my $state = { queue => 'race.run', is_stopped => 0, is_paused => 0 };
		my $call = sub {
			my ($verb, $rules) = @_;
			my $expected = $rules->{$verb}->($state);
			my ($told) = $races->run($races->{second}[0],
				'SELECT try($try$' . $sql{$verb} . '$try$)');
			push @faults, "$race->{name}: $verb returns $told, not $expected" if $told ne $expected;
			return;
		};
		$call->($race->{$_}, \%while_running) foreach grep { defined $race->{$_} } qw(one two);
		$races->ask('SELECT pg_advisory_unlock(1)');
		$sql{wait} = "SELECT count(*) = 0 FROM hipq._running_jobs() WHERE job_id = $job";
		$wait->();
		$call->($race->{later}, \%when_snoozed) if defined $race->{later};
		my $expected = join ' ', $state->{queue},
			$state->{is_stopped} ? 'final 1 cancelled cancelled' : $race->{data} eq 'snooze'
			? 'retry 1 snoozed waiting' : 'final 1 NONE succeeded';
		my $found = $races->ask("SELECT concat_ws(' ', queue, state, attempt,
			coalesce(retry_reason, 'NONE'), outcome) FROM hipq.jobs_detail WHERE id = $job");
		push @faults, "$race->{name}: the job is then $found, not $expected" if $found ne $expected;
		$races->ask(qq{SELECT hipq.resume('race.run'); SELECT hipq.cancel(id) FROM hipq.job
			WHERE id = $job AND state <> 'final'; SELECT hipq.erase($job)});
	}
	report('on a job that runs', \@all, @faults);
	is($races->ask('SELECT count(*) FROM hipq._running_jobs()'), 0, 'no job is left in flight');
	is($races->ask('SELECT count(*) FROM hipq._limiters() WHERE used <> 0 OR jobs <> 0'), 0,
		'no throttle is held');
}

note "$count races";
unlike(slurp_file($hipq->node->logfile),
	qr/PANIC:|TRAP:|leaked|terminated by signal|exited with exit code [1-9]|cannot rescue job|cursor miss/,
	'the log has nothing alarming');
$races->quit;
done_testing();
