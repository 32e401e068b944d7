# A load of jobs with a complete record: the answer to each client, the handlers that ran, their
# effects.
#
# Handlers write marks (test/marks) and an effect; clients write a ledger. history() collects
# everything for HipqChecker. There is a job type for every way of claiming, and a queue for every
# durability, so that each fault hits each of them.
package HipqWorkload;

use strict;
use warnings;
use IPC::Run ();
use POSIX ();
use PostgreSQL::Test::Utils ();
use Time::HiRes qw(usleep time);

# The kinds of jobs: the action of the handler, and how frequent they are.
my @kinds = (
	{ name => 'quick', weight => 60 },
	{ name => 'slow', weight => 4, sleep => 60 },
	{ name => 'flaky', weight => 5, fails => 1 },
	{ name => 'doomed', weight => 2, fails => 9 },
	{ name => 'asked', weight => 2, type => 'asked', fails => 1 },
	{ name => 'refused', weight => 1, type => 'asked', fails => 9 },
	{ name => 'batch', weight => 20, type => 'batch' },
	{ name => 'bad batch', weight => 1, type => 'batch', fails => 1 },
	{ name => 'procedure', weight => 1, type => 'step' });

# new($hipq, changes => 1, flows => 1): makes the schema of the load. With changes: a slot of
# logical decoding records the order of commits. With flows: some jobs come after others.
sub new
{
	my ($class, $hipq, %options) = @_;
	my $self = bless { hipq => $hipq, next_client => 1, %options }, $class;
	$self->{ledger} = $hipq->node->data_dir . '/ledger';
	$self->{claims} = [qw(record lock auto)];
	$self->{durabilities} = [qw(strict group)];
	$self->make_handlers;
	$self->make_queue($_) foreach @{ $self->{durabilities} };
	$hipq->sql(q{SELECT pg_create_logical_replication_slot('changes', 'test_decoding')})
		if $self->{changes};
	return $self;
}

# Returns the settings that a cluster needs for a load.
sub settings
{
	return (
		shared_preload_libraries => 'hipq, hipq_marks_test', wal_level => 'logical',
			max_replication_slots => 2,
		'hipq.max_executors' => 6, 'hipq.retry_jitter' => 0, 'hipq.max_type_crashes' => 0,
			'hipq.suspect_pause' => 0, checkpoint_timeout => '1h', max_wal_size => '4GB');
}

sub make_handlers
{
	my ($self) = @_;
	my $live = join ' UNION ALL ',
		map { "SELECT count(*) FROM hipq.load_${_}_live" } @{ $self->{durabilities} };
	$self->{hipq}->sql(q{
		CREATE FUNCTION mark(what text, job_id bigint, attempt integer) RETURNS void
			LANGUAGE c STRICT AS 'hipq_marks_test', 'marks_mark';
		CREATE TABLE effect (job_id bigint, attempt integer);
		GRANT ALL ON effect TO app;

		CREATE FUNCTION work(job hipq.job) RETURNS integer LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM mark('begin', job.id, job.attempt);
			INSERT INTO effect VALUES (job.id, job.attempt);
			IF job.job_data ? 'sleep' AND job.attempt = 1 THEN
				PERFORM pg_sleep((job.job_data->>'sleep')::float / 1000); END IF;
			IF job.retry_count < coalesce((job.job_data->>'fails')::integer, 0) THEN
				PERFORM mark('fail', job.id, job.attempt);
				RAISE 'fails on purpose';
			END IF;
			PERFORM mark('end', job.id, job.attempt);
			RETURN job.attempt;
		END $$;

		CREATE FUNCTION work_on_all(jobs hipq.job[]) RETURNS void LANGUAGE plpgsql AS $$
		DECLARE
			job hipq.job;
		BEGIN
			FOREACH job IN ARRAY jobs LOOP PERFORM mark('begin', job.id, job.attempt); END LOOP;
			INSERT INTO effect SELECT id, attempt FROM unnest(jobs);
			IF EXISTS (SELECT FROM unnest(jobs)
				WHERE retry_count < coalesce((job_data->>'fails')::integer, 0)) THEN
				FOREACH job IN ARRAY jobs LOOP PERFORM mark('fail', job.id, job.attempt); END LOOP;
				RAISE 'fails on purpose';
			END IF;
			FOREACH job IN ARRAY jobs LOOP PERFORM mark('end', job.id, job.attempt); END LOOP;
		END $$;

		CREATE PROCEDURE step(job hipq.job) LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM mark('begin', job.id, job.attempt);
			INSERT INTO effect VALUES (job.id, job.attempt);
			COMMIT;
			INSERT INTO effect VALUES (job.id, job.attempt);
			PERFORM mark('end', job.id, job.attempt);
		END $$;

		-- Waits until no job is left, or nothing has changed for some seconds. Returns the rest.
		CREATE PROCEDURE drain(patience float, INOUT jobs bigint) LANGUAGE plpgsql AS $$
		DECLARE
			before bigint;
			since timestamptz;
		BEGIN
			LOOP
				SELECT sum(queues.waiting_jobs) INTO jobs FROM (LIVE) AS queues (waiting_jobs);
				EXIT WHEN jobs = 0 OR (jobs = before
					AND clock_timestamp() > since + patience * interval '1 second');
				IF jobs IS DISTINCT FROM before THEN
					before := jobs;
					since := clock_timestamp();
				END IF;
				COMMIT;
				PERFORM pg_sleep(0.01);
			END LOOP;
		END $$;

		CREATE FUNCTION ask(job hipq.job) RETURNS interval LANGUAGE sql AS $$ SELECT CASE
			WHEN job.retry_count < 2 THEN interval '10 ms' END $$} =~ s/LIVE/$live/r);
	return;
}

# Makes one queue with this durability, with each job type for each way of claiming.
sub make_queue
{
	my ($self, $durability) = @_;
	my $hipq = $self->{hipq};
	my $queue = "load.$durability";
	$hipq->create_queue($queue, durability => $durability);
	foreach my $claim (@{ $self->{claims} })
	{
		my $policy = q{max_retries => 3, retry_base => '10 ms', retry_multiplier => 1};
		$hipq->sql("SELECT hipq.register_job_type('$queue', 'work_$claim', handler => 'work',
			$policy, claim => '$claim')");
		$hipq->sql("SELECT hipq.register_job_type('$queue', 'asked_$claim', handler => 'work',
			max_retries => 2, retry_handler => 'ask', claim => '$claim')");
		$hipq->sql("SELECT hipq.register_job_type('$queue', 'batch_$claim',
			handler => 'work_on_all', batch_size => 25, $policy, claim => '$claim')");
	}
	$hipq->sql("SELECT hipq.register_job_type('$queue', 'step_record', handler => 'step',
		max_retries => 20, retry_base => '10 ms', retry_multiplier => 1)");
	return;
}

# Adds job types: handlers and retry handlers that crash or fail, and a short handler without marks.
# (Jobs without "op" in their data are not in the history.)
sub add_rare_types
{
	my ($self) = @_;
	$self->{hipq}->sql(q{
		CREATE SEQUENCE life;
		GRANT ALL ON life TO app;
		-- Ends its own process the first time. A sequence records that, also after a rollback.
		CREATE FUNCTION die_once(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM mark('begin', job.id, job.attempt);
			INSERT INTO effect VALUES (job.id, job.attempt);
			IF (SELECT last_value < job.id FROM life) THEN
				PERFORM setval('life', job.id);
				PERFORM pg_terminate_backend(pg_backend_pid());
			END IF;
			PERFORM mark('end', job.id, job.attempt);
		END $$;
		CREATE FUNCTION ask_badly(job hipq.job) RETURNS interval LANGUAGE plpgsql AS $$ BEGIN
			RAISE 'cannot say'; END $$});
	$self->{hipq}->sql(q{SELECT hipq.register_job_type('load.strict', 'brief',
		handler_kind => 'statement', handler => $$SELECT pg_sleep(($1->>'sleep')::float)$$)});
	foreach my $durability (@{ $self->{durabilities} })
	{
		foreach my $claim (@{ $self->{claims} })
		{
			$self->{hipq}->sql("SELECT hipq.register_job_type('load.$durability', 'dying_$claim',
				handler => 'die_once', max_retries => 3, claim => '$claim')");
			$self->{hipq}->sql("SELECT hipq.register_job_type('load.$durability',
				'unanswered_$claim', handler => 'work', retry_handler => 'ask_badly',
				max_retries => 0, claim => '$claim')");
		}
	}
	return;
}

# Returns the SQL of one operation that makes a job for every outcome. Common outcomes have a job
# for every way of claiming and every durability, rare outcomes for one of them, which op chooses.
sub one_of_each
{
	my ($self, $op) = @_;
	my $turn = int($op / 10);
	my %jobs = map { $_ => [] } @{ $self->{durabilities} };
	foreach my $jobs (values %jobs)
	{
		foreach my $claim (@{ $self->{claims} })
		{
			push @$jobs, [ "work_$claim", qq({"op": $op}) ], [ "work_$claim",
				qq({"op": $op, "sleep": 20}) ], [ "work_$claim", qq({"op": $op, "fails": 1}) ];
			push @$jobs, map { [ "batch_$claim", qq({"op": $op}) ] } 1 .. 3;
		}
	}
	foreach my $rare (
		[ 'dying', qq({"op": $op}) ], [ 'asked', qq({"op": $op, "fails": 1}) ], [ 'asked',
			qq({"op": $op, "fails": 9}) ],
		[ 'unanswered', qq({"op": $op, "fails": 9}) ], [ 'work', qq({"op": $op, "fails": 9}) ],
			[ 'work', qq({"op": $op}), "'key $op'" ],
		# expires
		[ 'work', qq({"op": $op}), q('NONE'), q(hipq.now() + interval '20 ms'),
			q(hipq.now() + interval '20 ms') ],
		[ 'batch', qq({"op": $op, "fails": 1}) ])
	{
		my ($type, @rest) = @$rare;
		my $claim = $self->{claims}[ $turn % @{ $self->{claims} } ];
		my $durability =
			$self->{durabilities}[ $turn++ / @{ $self->{claims} } % @{ $self->{durabilities} } ];
		push @{ $jobs{$durability} }, [ "${type}_$claim", @rest ];
	}
	push @{ $jobs{strict} }, [ 'step_record', qq({"op": $op}) ];
	return transaction(insert_statements(%jobs), $self->{flows} ? $self->one_flow($op) : ());
}

# Returns the SQL that enqueues jobs after others: in a chain, in another queue, after a failure.
sub one_flow
{
	my ($self, $op) = @_;
	my $turn = int($op / 10);
	my $enqueue = sub {
		my ($name, $queue, $fails, $rest) = @_;
		my $claim = $self->{claims}[ $turn++ % @{ $self->{claims} } ];
		my $data = qq({"op": $op) . ($fails ? qq(, "fails": $fails) : '') . '}';
		return "SELECT hipq.enqueue('work_$claim', '$data', queue => 'load.$queue'"
			. ($rest ? ", $rest" : '') . ") AS $name \\gset\n\\echo :$name\n";
	};
	my ($queue, $other) = @{ $self->{durabilities} }[ $turn % 2, ($turn + 1) % 2 ];
	return $enqueue->('first', $queue), $enqueue->('second', $queue, 1, 'after => ARRAY[:first]'),
		$enqueue->('third', $other, 0, 'after => ARRAY[:second, :first]'),
		$enqueue->('doomed', $other, 9), $enqueue->('lost', $queue, 0, 'after => ARRAY[:doomed]'),
		$enqueue->('skipped', $queue, 0, q{after => ARRAY[:doomed], on_failure => 'skip'}),
		$enqueue->('last', $queue, 0,
			q{after => ARRAY[:third, :lost, :skipped], after_policy => 'finished'}),
		create_batch($queue, 1), $enqueue->('member', $queue, 1, 'batch => :batch'),
		$enqueue->('bad_member', $other, 9, 'batch => :batch, after => ARRAY[:third]'),
		$enqueue->('callback', $other, 0, q{after_batch => :batch, after_policy => 'finished'}),
		$enqueue->('no_callback', $queue, 0, 'after_batch => :batch');
}

# Returns the SQL that makes a batch, which the transaction fills. One that is not closed closes by
# itself a little later.
sub create_batch
{
	my ($queue, $is_closed) = @_;
	my $closed = $is_closed ? 'true' : 'false';
	return "SELECT hipq.create_batch(queue => 'load.$queue', expires_after => '3 s',
		closed => $closed) AS batch \\gset\n";
}

# Returns a job whose first attempt takes some time, by default of a type that has such jobs.
sub long_job
{
	my ($self, $op, $claim, $milliseconds, $type) = @_;
	return [ ($type // 'work') . "_$claim", qq({"op": $op, "sleep": $milliseconds}) ];
}

# Returns the SQL that inserts jobs into queues, in one transaction: durability => [ [ type, data,
# and expressions: key, scheduled_run_time, expires_time ], ... ].
sub insert_jobs
{
	my ($self, %jobs) = @_;
	return transaction(insert_statements(%jobs));
}

sub transaction { return join '', "BEGIN;\n", @_, "COMMIT;\n"; }

sub insert_statements
{
	my (%jobs) = @_;
	my $values = sub { sprintf q{('%s', '%s', %s, %s, %s)}, @{$_[0]}[ 0, 1 ], $_[0][2] // q('NONE'),
		$_[0][3] // 'hipq.now()', $_[0][4] // q('infinity'); };
	return map {
		"INSERT INTO hipq.load_$_ (job_type, job_data, job_key, scheduled_run_time, expires_time)
			VALUES "
		  . join(', ', map { $values->($_) } @{ $jobs{$_} }) . " RETURNING id;\n"
	} grep { @{ $jobs{$_} } } sort keys %jobs;
}

# ---- clients

sub pick { return $_[ int rand @_ ]; }

# Returns a job: [ type, data, key or undef, delay in seconds or 0 ].
sub make_job
{
	my ($self, $op, %only) = @_;
	my @candidates = grep { !$only{kind} || $_->{name} eq $only{kind} } @kinds;
	my $total = 0;
	$total += $_->{weight} foreach @candidates;
	my $n = rand $total;
	my $kind = (grep { ($n -= $_->{weight}) < 0 } @candidates)[0];
	my $claim = ($kind->{type} // '') eq 'step' ? 'record'
		: $only{claim} // pick(@{ $self->{claims} });
	my @data = (qq("op": $op), map { $kind->{$_} ? qq("$_": $kind->{$_}) : () } qw(sleep fails));
	return [ ($kind->{type} // 'work') . "_$claim", '{' . join(', ', @data) . '}',
		rand() < 0.1 ? 'key ' . int rand 1000 : undef, rand() < 0.1 ? rand 2 : 0 ];
}

sub values_of
{
	my ($job) = @_;
	my ($type, $data, $key, $delay) = @$job;
	return sprintf q{('%s', '%s', %s, %s, %d)}, $type, $data, defined $key ? "'$key'" : "'NONE'",
	  $delay ? "now() + interval '$delay s'" : 'now()', 1 + int rand 3;
}

# Returns the SQL of one operation, which prints the ids of its jobs.
sub operation
{
	my ($self, $op, $count) = @_;
	my $durability = pick(@{ $self->{durabilities} });
	my ($queue, $table) = ("load.$durability", "hipq.load_$durability");
	my @jobs = map { $self->make_job($op) } 1 .. $count;
	my $insert = sub { "INSERT INTO $table (job_type, job_data, job_key, scheduled_run_time,
		priority) VALUES " . join(', ', map { values_of($_) } @_) . " RETURNING id;\n"; };
	my $form = rand;
	return $insert->(@jobs) if $form < 0.5;
	if ($form < 0.65)
	{
		my ($half, @rest) = (int($count / 2), @jobs);
		my @first = splice @rest, 0, $half;
		return "BEGIN;\n" . join('', map { $insert->(@$_) } grep { @$_ } \@first,
			\@rest) . "COMMIT;\n";
	}
	return "BEGIN;\n" . $insert->(@jobs) . "ROLLBACK;\n\\echo rolled back\n" if $form < 0.68;
	if ($form < 0.85)
	{
		my @lines = map { "$_->[0]|$_->[1]|" . ($_->[2] // 'NONE') } @jobs;
		return "COPY $table (job_type, job_data, job_key) FROM STDIN (DELIMITER '|');\n"
			. join("\n", @lines) . "\n\\.\n\\echo copied\n";
	}
	if ($self->{flows} && $form > 0.97)
	{
		my $after = pick('', q{, on_failure => 'skip'}, q{, after_policy => 'finished'});
		return "BEGIN;\n" . create_batch($durability, int rand 2)
			. enqueue_many($queue, \@jobs, ', batch => :batch') . ";\n"
			. enqueue_many("load.${\pick(@{ $self->{durabilities} })}",
				[ $self->make_job($op) ], ", after_batch => :batch$after")
			. ";\nCOMMIT;\n";
	}
	if ($self->{flows} && $form > 0.93)
	{
		my $after = pick('', q{, on_failure => 'skip'}, q{, after_policy => 'finished'});
		return "BEGIN;\n" . enqueue_many($queue, \@jobs) . " AS ids \\gset\n"
			. enqueue_many("load.${\pick(@{ $self->{durabilities} })}",
				[ map { $self->make_job($op) } 1 .. $count ],
				", after => (:'ids'::bigint[])[1:${\pick(1, 2, 10)}]$after")
			. ";\nCOMMIT;\n";
	}
	return enqueue_many($queue, \@jobs) . ";\n";
}

# Returns a call for those of the jobs that have the type of the first one.
sub enqueue_many
{
	my ($queue, $jobs, $more) = @_;
	my $type = $jobs->[0][0];
	return "SELECT hipq.enqueue_many('$type', ARRAY[" . join(', ',
		map { "'$_->[1]'" } grep { $_->[0] eq $type } @$jobs) . "]::jsonb[], queue => '$queue'"
		. ($more // '') . ')';
}

# Returns how many jobs an operation makes if it succeeds.
sub count_of
{
	my ($sql) = @_;
	my $rows = () = $sql =~ /"op":/g;
	return $rows;
}

# Runs one operation through psql, and records the answer. Returns the outcome.
sub run_operation
{
	my ($self, $op, $sql, $ledger) = @_;
	my $count = count_of($sql);
	print $ledger "begin $op $count\n";
	my ($in, $out, $err) = ("\\echo connected\n$sql", '', '');
	my @psql = ('psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-v', 'VERBOSITY=verbose', '-d',
		$self->{hipq}->node->connstr($self->{hipq}{database}) . ' user=app');
	# IPC::Run dies if psql ends before it has read its input. Then it is unknown what psql did.
	my $has_read_all = eval { IPC::Run::run([@psql], '<', \$in, '>', \$out, '2>', \$err); 1 };
	my $status = $? >> 8;
	my @ids = $out =~ /^(\d+)$/mg;
	my ($sqlstate) = $err =~ /(?:ERROR|FATAL): +(\w{5}):/;
	my $outcome =
		!$has_read_all ? 'unknown psql'
	  : $out !~ /^connected$/m ? 'refused connection'
	  : $status == 0 && $out =~ /^rolled back$/m ? 'refused rollback'
	  : $status == 0 ? join(' ', 'ok', $out =~ /^copied$/m ? '?' : @ids)
	  : $status == 3 && defined $sqlstate && $sqlstate !~ /^(57P|08)/ ? "refused $sqlstate"
	  : 'unknown ' . ($sqlstate // 'connection lost');
	print $ledger "end $op $outcome\n";
	return (split / /, $outcome)[0];
}

# Starts a client in its own process. It continues until it has an answer (yes, no or unknown) for
# `jobs` jobs. Returns its pid.
sub start_client
{
	my ($self, %options) = @_;
	my $client = $self->{next_client}++;
	my $seed = $options{seed} + $client;
	my $pid = fork // die "fork: $!";
	return $pid if $pid;
	HipqCluster::end_by_signals();
	srand $seed;
	open my $ledger, '>>', "$self->{ledger}.$client" or POSIX::_exit(2);
	$ledger->autoflush(1);
	my $until = $options{seconds} ? time() + $options{seconds} : undef;
	my $n = 0;
	for (my $left = $options{jobs} // 1e9; $left > 0 && !($until && time() > $until);)
	{
		my $op = $client * 1_000_000 + ++$n;
		my $most = pick(1, 10, 100, 500);
		my $count = 1 + int rand($left < $most ? $left : $most);
		my $sql = $self->operation($op, $count);
		my $outcome = eval { $self->run_operation($op, $sql, $ledger) } // 'unknown';
		if ($outcome eq 'refused') { usleep(20_000); }    # the server may be away
		else { $left -= count_of($sql); }
	}
	POSIX::_exit(0);
}

sub wait_for_clients
{
	my ($self, @pids) = @_;
	my $failed = 0;
	foreach my $pid (@pids) { waitpid $pid, 0; $failed++ if $?; }
	return $failed;
}

# ---- the history

sub lines_of
{
	my ($file) = @_;
	open my $handle, '<', $file or return ();
	my @lines = <$handle>;
	chomp @lines;
	return @lines;
}

sub marks_file { return $_[0]->{hipq}->node->data_dir . '/hipq_marks'; }

# Returns all operations. An operation that began and did not end has an unknown outcome.
sub operations
{
	my ($self) = @_;
	my %operations;
	foreach my $line (map { lines_of($_) } glob "$self->{ledger}.*")
	{
		my ($step, $op, @rest) = split / /, $line;
		if ($step eq 'begin')
		{
			$operations{$op} = { op => $op, outcome => 'unknown', count => $rest[0] };
			next;
		}
		my $outcome = shift @rest;
		$operations{$op}{outcome} = $outcome;
		$operations{$op}{ids} = \@rest if $outcome eq 'ok' && "@rest" ne '?';
		$operations{$op}{reason} = "@rest" if $outcome ne 'ok';
	}
	return [ map { $operations{$_} } sort { $a <=> $b } keys %operations ];
}

sub rows
{
	my ($self, $sql) = @_;
	return map { [ split /\|/, $_, -1 ] } split /\n/, $self->{hipq}->sql($sql);
}

my $select_jobs = q{
	SELECT id, job_data->>'op' AS op, queue, job_type, job_key, state, outcome, attempt,
		retry_count, max_retries, retry_reason,
		coalesce((job_data->>'fails')::integer, 0) AS fails
	FROM hipq.jobs_detail
	WHERE job_data ? 'op'};

# A job after a batch comes after each job of it.
my $select_dependencies = q{
	SELECT job_id, coalesce(member.id, before_id), after_policy, on_failure
	FROM hipq.dependency
	LEFT JOIN hipq.job AS member ON before_queue_id = 0 AND member.batch_id = before_id};

# Copies final jobs and dead letters, which the retention may remove, so that history() includes
# them.
sub keep
{
	my ($self) = @_;
	$self->{hipq}->sql("CREATE TABLE kept_job AS $select_jobs LIMIT 0;
		CREATE TABLE kept_letter AS SELECT job_id FROM hipq.dead_letters LIMIT 0;
		CREATE TABLE kept_dependency AS $select_dependencies LIMIT 0")
	  unless $self->has_kept;
	$self->{hipq}->sql(qq{
		INSERT INTO kept_job $select_jobs AND state = 'final'
			AND id NOT IN (SELECT id FROM kept_job);
		INSERT INTO kept_letter SELECT job_id FROM hipq.dead_letters
			WHERE job_id NOT IN (SELECT job_id FROM kept_letter);
		INSERT INTO kept_dependency $select_dependencies EXCEPT SELECT * FROM kept_dependency});
	return;
}

# Asks the cluster, because a forked process may have made the copy.
sub has_kept
{
	my ($self) = @_;
	return $self->{hipq}->sql(q{SELECT to_regclass('kept_letter') IS NOT NULL}) eq 't';
}

sub letters
{
	my ($self) = @_;
	my $kept = $self->has_kept ? 'UNION SELECT job_id FROM kept_letter' : '';
	return [ map { $_->[0] } $self->rows("SELECT job_id FROM hipq.dead_letters $kept") ];
}

sub dependencies
{
	my ($self) = @_;
	my $kept = $self->has_kept ? 'UNION SELECT * FROM kept_dependency' : '';
	return [ $self->rows("$select_dependencies $kept") ];
}

sub jobs
{
	my ($self) = @_;
	my @names = qw(id op queue type key state outcome attempt retry_count max_retries reason fails);
	my @jobs;
	my $kept = $self->has_kept
		? 'AND id NOT IN (SELECT id FROM kept_job) UNION ALL SELECT * FROM kept_job' : '';
	foreach my $row ($self->rows("$select_jobs $kept"))
	{
		my %job;
		@job{@names} = @$row;
		($job{claim}) = $job{type} =~ /_(\w+)$/;
		$job{group} = $job{queue} =~ /group$/ ? 1 : 0;
		$job{batch} = $job{type} =~ /^batch/ ? 1 : 0;
		$job{weak} = $job{type} =~ /^step/ ? 1 : 0;
		push @jobs, \%job;
	}
	return \@jobs;
}

# Returns the commits in their order, from the slot.
sub changes
{
	my ($self) = @_;
	my $file = $self->{hipq}->node->data_dir . '/changes';
	$self->{hipq}->sql("\\o $file\nSELECT xid, data FROM pg_logical_slot_peek_changes('changes',
		NULL, NULL, 'include-xids', 'off', 'skip-empty-xacts', 'on')");
	open my $handle, '<', $file or die "$file: $!";
	my @changes;
	while (my $line = <$handle>)
	{
		my ($xid, $table, $action, $row) = $line
			=~ /^(\d+)\|table (\S+): (INSERT|UPDATE|DELETE): (.*)/ or next;
		if ($table eq 'public.effect')
		{
			push @changes, [ $xid, 'effect', lc $action, $row =~ /job_id\[bigint\]:(\d+)/ ];
			next;
		}
		my ($queue, $leaf) = $table =~ /^hipq\.(\w+?)_(live|final)/ or next;
		$row =~ s/^old-key: .*? new-tuple: //;
		my ($id) = $row =~ /(?:^| )id\[bigint\]:(\d+)/;
		my ($state) = $row =~ / state\[hipq\.job_state\]:'(\w+)'/;
		my ($attempt) = $row =~ / attempt\[integer\]:(\d+)/;
		my ($type) = $row =~ / job_type\[text\]:'(\w+)'/;
		my ($key) = $row =~ / job_key\[text\]:'([^']*)'/;
		push @changes, [ $xid, $leaf, lc $action, $id, $state, $attempt,
			!defined $key || $key eq 'NONE' ? undef : "$queue $type $key" ];
	}
	close $handle;
	unlink $file;
	return \@changes;
}

# Returns the history, for HipqChecker::check().
sub history
{
	my ($self, %options) = @_;
	my $operations = $self->operations;
	return {
		operations => $operations,
		jobs => $self->jobs,
		effects => [ $self->rows('SELECT job_id, attempt FROM effect') ],
		marks => [ map { [ split / / ] } lines_of($self->marks_file) ],
		changes => $self->{changes} ? $self->changes : undef,
		letters => $self->letters,
		dependencies => $self->{flows} ? $self->dependencies : [],
		charges => $options{charges} // 0,
	};
}

# Waits until all jobs have finished. Gives up after a time without any change.
sub drain
{
	my ($self, $patience) = @_;
	$patience //= 60;
	my $left = 'unknown';
	for (my $end = time() + $patience; time() < $end; usleep(20_000))    # the server may be away
	{
		(my $status, $left) = $self->{hipq}->try_sql("CALL drain($patience, NULL)");
		next if $status != 0;
		return 1 if $left eq '0';
		last;
	}
	Test::More::diag("$left jobs are left:\n" . join "\n", $self->{hipq}->try_sql(q{
		SELECT row_to_json(jobs) FROM hipq.jobs_detail AS jobs WHERE state <> 'final'
			ORDER BY id LIMIT 3;
		SELECT condition, passed, explanation
			FROM hipq.why((SELECT min(id) FROM hipq.job WHERE state <> 'final'));
		SELECT pid, backend_type, usename, state, wait_event, clock_timestamp() - backend_start,
			clock_timestamp() - state_change, query
		FROM pg_stat_activity WHERE backend_type LIKE 'hipq%';
		SELECT * FROM hipq._executors()}));
	return 0;
}

1;
