# If a handler crashes the server, only its job is charged, and hipq gives it up in the end. The
# jobs that ran beside it run again, uncharged.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep time);

my $hipq = HipqCluster->new('crashes', 'hipq.retry_jitter' => 0, 'hipq.max_executors' => 6,
	'hipq.max_type_crashes' => 0, 'hipq.suspect_pause' => 0, max_prepared_transactions => 5);
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE TABLE ran (id bigint, attempt integer);
	GRANT ALL ON ran TO app;
	CREATE FUNCTION end_process(how text) RETURNS void
		LANGUAGE c STRICT AS 'hipq_crash_test', 'crash_test';
	CREATE FUNCTION run(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO ran VALUES (job.id, job.attempt);
		IF job.job_data ? 'lock' THEN
			PERFORM pg_advisory_xact_lock_shared((job.job_data->>'lock')::bigint); END IF;
		IF job.job_data ? 'how' THEN PERFORM end_process(job.job_data->>'how'); END IF;
		IF job.job_data ? 'fail' THEN RAISE 'fails'; END IF;
	END $$;
	CREATE FUNCTION run_all(jobs hipq.job[]) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE job hipq.job;
	BEGIN
		INSERT INTO ran SELECT id, attempt FROM unnest(jobs);
		PERFORM pg_advisory_xact_lock_shared(1);
		FOREACH job IN ARRAY jobs LOOP
			IF job.job_data ? 'how' THEN PERFORM end_process(job.job_data->>'how'); END IF;
		END LOOP;
	END $$;
	CREATE FUNCTION decide(job hipq.job) RETURNS interval LANGUAGE plpgsql AS $$
	BEGIN PERFORM end_process(job.job_data->>'decide'); RETURN NULL; END $$;
	CREATE PROCEDURE call(id bigint, data jsonb) LANGUAGE plpgsql AS $$
	BEGIN INSERT INTO ran VALUES (id, 0); COMMIT; PERFORM end_process(data->>'how'); END $$;
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run', max_retries => 5,
		claim => 'record');
	SELECT hipq.register_job_type('app.main', 'locked', handler => 'run',
		max_retries => 5, claim => 'lock');
	SELECT hipq.register_job_type('app.main', 'batch', handler => 'run_all',
		batch_size => 10, claim => 'lock');
	SELECT hipq.register_job_type('app.main', 'asked', handler => 'run', retry_handler => 'decide');
	SELECT hipq.register_job_type('app.main', 'never again', handler => 'run',
		do_not_retry_on => '{crashed}');
	SELECT hipq.register_job_type('app.main', 'call', handler => 'call', max_retries => 5,
		retry_base => '10 ms')});

my $log_end = 0;

# Returns the number of crashes of the server since the last call.
sub crashes
{
	my $log = slurp_file($hipq->node->logfile, $log_end);
	$log_end = -s $hipq->node->logfile;
	return scalar(() = $log =~ /all server processes terminated; reinitializing/g);
}

# Takes an advisory lock that survives a crash.
sub hold
{
	my ($number) = @_;
	return $hipq->sql("BEGIN; SELECT pg_advisory_xact_lock($number);
		PREPARE TRANSACTION 'lock $number'");
}

# Releases the lock. Jobs that wait for it may crash the server before this session has ended.
sub release
{
	my ($number) = @_;
	return $hipq->try_sql("ROLLBACK PREPARED 'lock $number'");
}

# Enqueues a job that may crash the server before this session has ended. Returns its id.
my $poisons = 0;
sub enqueue_poison
{
	my ($type, $data) = @_;
	my $key = 'poison ' . ++$poisons;
	$hipq->try_sql("SELECT hipq.enqueue('$type', '$data', job_key => '$key')");
	my (undef, $id) = $hipq->poll("SELECT id FROM hipq.jobs WHERE job_key = '$key'",
		sub { $_[0] ne '' });
	return $id;
}

sub line
{
	my ($id) = @_;
	return $hipq->sql("SELECT concat_ws(' ', outcome, attempt, retry_count)
		FROM hipq.jobs_detail WHERE id = $id");
}

sub postmaster
{
	return (slurp_file($hipq->node->data_dir . '/postmaster.pid') =~ /^(\d+)/)[0];
}

# Starts the server after the last postmaster and its children have ended. Only an attempt to start
# shows whether the children have.
sub start_after
{
	my ($postmaster) = @_;
	my $end = time() + $PostgreSQL::Test::Utils::timeout_default;
	usleep(20_000) while kill(0, $postmaster) && time() < $end;
	$hipq->node->{_pid} = undef;
	until ($hipq->node->start(fail_ok => 1))
	{
		die 'the server does not start' if time() > $end;
		$hipq->node->{_pid} = undef;
		usleep(50_000);
	}
	return;
}

# Kills several processes before the postmaster notices the first one. Waits until the server has
# restarted, because until then pg_stat_activity shows the killed processes.
sub kill_at_once
{
	my @pids = @_;
	my $postmaster = postmaster();
	kill 'STOP', $postmaster;
	kill 'KILL', @pids;
	kill 'CONT', $postmaster;
	return $hipq->wait_until('SELECT count(*) = 0 FROM pg_stat_activity WHERE pid IN (' . join(', ',
			@pids) . ')');
}

sub running
{
	my (@ids) = @_;
	return $hipq->wait_until('SELECT count(pid) FROM hipq.running WHERE id IN (' . join(', ',
			@ids) . ')', scalar @ids);
}

# Waits until one of the jobs runs, and returns another one.
sub one_waits
{
	my (@ids) = @_;
	my (undef, $runs) = $hipq->poll('SELECT min(id) FROM hipq.running WHERE pid IS NOT NULL
		AND id IN (' . join(', ', @ids) . ')', sub { $_[0] ne '' });
	return (grep { $_ ne $runs } @ids)[0];
}

# ---- every way to crash the server
foreach my $case (map { [ 'run', $_ ], [ 'locked', $_ ] } 'abort', 'segv', 'kill', 'quit', '_exit')
{
	my ($type, $how) = @$case;
	my @locks = map { $hipq->hold_lock($_) } 1, 2;
	my @neighbours = map { $hipq->enqueue('run', q{'{"lock": 1}'}) } 1 .. 2;
	my $locked = $hipq->enqueue('locked', q{'{"lock": 1}'});
	my $poison = $hipq->enqueue($type, qq{'{"how": "$how", "lock": 2}'});
	running(@neighbours, $locked, $poison);
	crashes();
	$locks[1]->quit;
	is($hipq->outcome($poison), 'failed',
		"$how, $type: the job that crashes the server is given up");
	is($hipq->attempts($poison), '1 crashed, 2 crashed', "$how, $type: the job crashed twice");
	is(line($poison), 'failed 2 0', "$how, $type: a crash does not count as a retry");
	is($hipq->sql("SELECT reason || ': ' || error FROM hipq.dead_letters_detail
			WHERE job_id = $poison"), 'crashed: the server crashed in the handler',
		"$how, $type: the job has a dead letter");
	is($hipq->sql("SELECT jsonb_array_length(history) FROM hipq.dead_letters_detail
			WHERE job_id = $poison"), 2, "$how, $type: the dead letter has both attempts");
	is($hipq->outcome($_), 'succeeded', "$how, $type: a neighbour runs again") foreach @neighbours;
	is($hipq->sql('SELECT count(*) FROM hipq.jobs_detail WHERE retry_count <> 0 AND id IN ('
			. join(', ', @neighbours) . ')'), 0, "$how, $type: the neighbours are not charged");
	is($hipq->sql(q{SELECT string_agg(DISTINCT reason, ' ') FROM hipq.attempts
			WHERE job_id IN (} . join(', ', @neighbours) . ')'), 'server_restart',
		"$how, $type: the attempts of the neighbours have reason server_restart");
	is($hipq->outcome($locked), 'succeeded', "$how, $type: a neighbour claimed by lock runs again");
	is(line($locked), 'succeeded 1 0',
		"$how, $type: a neighbour claimed by lock ends in its first attempt");
	is($hipq->attempts($locked), '', "$how, $type: a neighbour claimed by lock has no history");
	is($hipq->sql('SELECT count(*) || $$ $$ || count(DISTINCT id)
			FROM ran WHERE id IN (' . join(', ', @neighbours, $locked) . ')'), '3 3',
		"$how, $type: the effects of the neighbours are there once");
	is(crashes(), 2, "$how, $type: the server crashed twice");
	eval { $locks[0]->quit };
}
like(slurp_file($hipq->node->logfile),
	qr/WARNING:\s+57P02:?.*|WARNING:\s+job \d+ in queue "app.main" took the server down/,
	'the log names the job that crashed the server');

# ---- a procedure may have committed, so its policy decides about the retry
{
	my $id = enqueue_poison('call', '{"how": "abort"}');
	is($hipq->outcome($id), 'failed', 'a procedure that crashes the server is given up');
	is($hipq->attempts($id), '1 crashed, 2 crashed', 'a procedure crashed twice');
	is(line($id), 'failed 2 1', 'the first crash of a procedure is charged as a retry');
}

# ---- do_not_retry_on
{
	my $id = enqueue_poison('never again', '{"how": "abort"}');
	is($hipq->outcome($id), 'failed', 'a job with do_not_retry_on => crashed is given up');
	is($hipq->attempts($id), '1 crashed',
		'a job with do_not_retry_on => crashed is given up after one crash');
}

# ---- a retry handler
{
	crashes();
	my $id = enqueue_poison('asked', '{"fail": 1, "decide": "abort"}');
	is($hipq->outcome($id), 'failed', 'a job whose retry handler crashes the server is given up');
	is($hipq->attempts($id), '1 transient_error P0001, 1 crashed, 1 crashed',
		'a retry handler crashed twice in one attempt');
	is($hipq->sql("SELECT error FROM hipq.jobs_detail WHERE id = $id"),
		'the server crashed in the retry handler', 'the error says that the retry handler crashed');
	is(crashes(), 2, 'the server crashed twice because of a retry handler');
}

# ---- an executor that ends is not a crash
{
	crashes();
	$hipq->sql(q{
		CREATE TABLE delayed (id bigint, attempt integer, retry_count integer, seconds numeric);
		GRANT INSERT ON delayed TO PUBLIC;
		CREATE FUNCTION note_delay() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN INSERT INTO public.delayed VALUES (NEW.id, NEW.attempt, NEW.retry_count,
			extract(epoch FROM NEW.scheduled_run_time - NEW.update_time)); RETURN NULL; END $$;
		CREATE TRIGGER note_delay AFTER UPDATE ON hipq.app_main_live FOR EACH ROW
			WHEN (NEW.state = 'retry') EXECUTE FUNCTION note_delay()});
	my $id = $hipq->enqueue('run', q{'{"how": "exit"}'});
	# The clock is not moved, because a process that does not know the new time yet would regard the
	# next delay as over.
	ok($hipq->wait_until("SELECT count(*) >= 5 FROM hipq.attempts WHERE job_id = $id"),
		'a handler that calls exit() loses its executor');
	is($hipq->sql("SELECT string_agg(DISTINCT reason, ' ') FROM hipq.attempts WHERE job_id = $id"),
		'worker_lost', 'each exit() ends the attempt with reason worker_lost');
	is(crashes(), 0, 'exit() in a handler does not crash the server');
	is($hipq->sql("SELECT string_agg(concat_ws(' ', attempt, retry_count, round(seconds, 3)), ', '
			ORDER BY attempt) FROM delayed WHERE id = $id AND attempt BETWEEN 3 AND 5"),
		'3 0 1.000, 4 0 2.000, 5 0 4.000',
			'exit() is not charged; from the third attempt on the delays double');
	is($hipq->sql("SELECT hipq.cancel($id)"), 't',
		'a job whose handler calls exit() can be cancelled');
	$hipq->sql('DROP TRIGGER note_delay ON hipq.app_main_live');
}

# ---- suspects run one at a time
{
	hold(1);
	my @suspects = map { $hipq->enqueue('run', q{'{"lock": 1}'}) } 1 .. 3;
	my $neighbour = $hipq->enqueue('run', q{'{"lock": 1}'});
	my $list = join ', ', @suspects;
	running(@suspects, $neighbour);
	kill_at_once(map { $hipq->pid_of($_) } @suspects);
	ok($hipq->wait_until("SELECT count(*) FROM hipq.attempts WHERE job_id IN ($list, $neighbour)",
			4), 'after a crash with three suspects all jobs are back in their lanes');
	is($hipq->attempts($_), '1 server_restart',
		'a job that ran in a crash with three suspects is not charged')
		foreach @suspects, $neighbour;
	running($neighbour);
	my $waiting = one_waits(@suspects);
	is($hipq->outcome_of('run'), 'succeeded', 'other jobs run beside suspects');
	is($hipq->sql("SELECT count(pid) FROM hipq.running WHERE id IN ($list)"), 1,
		'one of several suspects runs at a time');
	like($hipq->why($waiting),
		qr/^crash: It may have crashed the server: such jobs run one at a time/,
		'why() says that a suspect waits for another one');
	is($hipq->why($neighbour), 'state: The job runs.',
		'a job that did not run in the crashed process is not a suspect');
	release(1);
	is($hipq->outcome($_), 'succeeded', 'each suspect succeeds') foreach @suspects;
	is(line($_), 'succeeded 2 0', 'a suspect that succeeds is not charged') foreach @suspects;
	is($hipq->sql("SELECT count(*)
			FROM hipq.jobs_detail AS one JOIN hipq.jobs_detail AS other ON one.id < other.id
			AND one.accepted_time < other.update_time AND other.accepted_time < one.update_time"
		. " WHERE one.id IN ($list) AND other.id IN ($list)"), 0,
			'no two suspects ran at the same time');
}

# ---- each job of a batch is a suspect
{
	hold(1);
	$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'batch', handler => 'NONE')});
	my @batch = map { $hipq->enqueue('batch', $_ == 3 ? q{'{"how": "abort"}'} : undef) } 1 .. 4;
	$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'batch', handler => 'run_all')});
	running(@batch);
	is($hipq->sql('SELECT count(DISTINCT pid) FROM hipq.running WHERE id IN (' . join(', ',
			@batch) . ')'), 1, 'four jobs run in one call');
	crashes();
	release(1);
	ok($hipq->wait_until('SELECT count(*) FROM hipq.jobs_detail WHERE state = $$final$$ AND id IN ('
			. join(', ', @batch) . ')', 4), 'all jobs of a batch with a crashing job end');
	is(line($batch[2]), 'failed 2 0', 'the crashing job of a batch is given up');
	is($hipq->attempts($batch[2]), '1 crashed, 2 crashed',
		'the crashing job of a batch crashed twice when it ran alone');
	is(line($_), 'succeeded 1 0', 'the other jobs of a batch succeed uncharged')
		foreach @batch[ 0, 1, 3 ];
	is(crashes(), 3, 'a batch with a crashing job crashes the server three times');
	is($hipq->sql('SELECT count(*) || $$ $$ || count(DISTINCT id) FROM ran WHERE id IN ('
			. join(', ', @batch) . ')'), '3 3',
		'the effects of the other jobs of a batch are there once');
}

# ---- a batch that failed runs again one by one, so one job alone is to blame
{
	$hipq->sql(q{
		CREATE FUNCTION run_single(jobs hipq.job[]) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN
			IF array_length(jobs, 1) > 1 THEN RAISE 'not together'; END IF;
			PERFORM run_all(jobs);
		END $$;
		SELECT hipq.register_job_type('app.main', 'recorded batch', handler => 'NONE',
			batch_size => 10, claim => 'record')});
	my @batch = map { $hipq->enqueue('recorded batch',
			$_ == 3 ? q{'{"how": "abort"}'} : undef) } 1 .. 4;
	crashes();
	$hipq->node->psql('postgres',
		q{SELECT hipq.alter_job_type('app.main', 'recorded batch', handler => 'run_single')});
	ok($hipq->wait_until('SELECT count(*) FROM hipq.jobs_detail WHERE state = $$final$$ AND id IN ('
			. join(', ', @batch) . ')', 4), 'all jobs of a failed batch with a crashing job end');
	is($hipq->attempts($batch[2]), '1 crashed, 2 crashed',
		'the crashing job of a failed batch crashed twice');
	is($hipq->sql("SELECT count(*) FROM hipq.attempts
			WHERE reason = 'crashed' AND job_id IN ($batch[0], $batch[1], $batch[3])"), 0,
		'the other jobs of a failed batch are not charged');
	is(crashes(), 2, 'the crashing job of a failed batch crashes the server twice');
}

# ---- two crashing jobs
{
	hold(1);
	my @poison = map { $hipq->enqueue('run', q{'{"lock": 1, "how": "abort"}'}) } 1 .. 2;
	my @innocent = map { $hipq->enqueue('run', q{'{"lock": 1}'}) } 1 .. 2;
	running(@poison, @innocent);
	crashes();
	kill_at_once(map { $hipq->pid_of($_) } @poison, $innocent[0]);
	release(1);
	ok($hipq->wait_until("SELECT count(*) FROM hipq.jobs_detail WHERE state = 'final'
			AND id IN ($poison[0], $poison[1])", 2), 'two crashing jobs end');
	is($hipq->outcome($_), 'failed', 'a crashing job is given up') foreach @poison;
	is($hipq->sql("SELECT string_agg(reason, ' ' ORDER BY ended_time) FROM hipq.attempts
			WHERE job_id = $_ AND reason <> 'server_restart'"), 'crashed crashed',
		'a job of two that crash is charged for its own two crashes') foreach @poison;
	is($hipq->outcome($_), 'succeeded', 'an innocent job succeeds') foreach @innocent;
	is($hipq->sql("SELECT count(*) FROM hipq.attempts WHERE reason = 'crashed'
			AND job_id IN ($innocent[0], $innocent[1])"), 0, 'no innocent job is charged');
	is(crashes(), 5, 'two crashing jobs crash the server five times');
	is($hipq->outcome_of('run'), 'succeeded', 'jobs run after two crashing jobs');
}

# ---- another backend crashes
{
	hold(1);
	my @jobs = map { $hipq->enqueue('run', q{'{"lock": 1}'}) } 1 .. 3;
	my $list = join ', ', @jobs;
	foreach my $time (1 .. 2)
	{
		running(@jobs);
		my $stranger = $hipq->session;
		kill_at_once($stranger->query_safe('SELECT pg_backend_pid()'));
		ok($hipq->wait_until("SELECT count(*) FROM hipq.attempts WHERE attempt = $time
				AND job_id IN ($list)", 3),
			"crash $time of another backend: the jobs are back in their lanes");
		eval { $stranger->quit };
	}
	my $waiting = one_waits(@jobs);
	is($hipq->outcome_of('run'), 'succeeded', 'other jobs run after crashes of another backend');
	like($hipq->why($waiting), qr/^crash: /,
		'a job that ran in two crashes of another backend is a suspect');
	is($hipq->sql("SELECT count(pid) FROM hipq.running WHERE id IN ($list)"), 1,
		"suspects of another backend's crashes run one at a time");
	release(1);
	is($hipq->outcome($_), 'succeeded', "a suspect of another backend's crashes succeeds")
		foreach @jobs;
	is(line($_), 'succeeded 3 0', "a suspect of another backend's crashes is not charged")
		foreach @jobs;
	is($hipq->attempts($_), '1 server_restart, 2 server_restart',
		"the history of a suspect has both crashes of another backend")
		foreach @jobs;
}

# ---- the postmaster is killed, or stopped with mode immediate, and no job is to blame
foreach my $how ('killed', 'stopped with mode immediate')
{
	hold(1);
	my @jobs = map { $hipq->enqueue('run', q{'{"lock": 1}'}) } 1 .. 2;
	foreach my $time (1 .. 3)
	{
		running(@jobs);
		my $postmaster = postmaster();
		$how eq 'killed' ? $hipq->node->kill9 : $hipq->node->stop('immediate');
		start_after($postmaster);
	}
	running($how eq 'killed' ? $jobs[0] : @jobs);
	release(1);
	is($hipq->outcome($_), 'succeeded', "a job succeeds in a server that was $how three times")
		foreach @jobs;
	is(line($_), 'succeeded 4 0', "a job is not charged in a server that was $how three times")
		foreach @jobs;
	is($hipq->attempts($_), '1 server_restart, 2 server_restart, 3 server_restart',
		"the history of a job has each time that the server was $how") foreach @jobs;
}

# ---- without restart_after_crash the next server reads the flight recorder
{
	$hipq->set(restart_after_crash => 'off');
	hold(1);
	my $neighbour = $hipq->enqueue('run', q{'{"lock": 1}'});
	my $poison = $hipq->enqueue('run', q{'{"lock": 1}'});
	foreach my $time (1 .. 2)
	{
		running($neighbour, $poison);
		my $pid = $hipq->pid_of($poison);
		my $postmaster = postmaster();
		kill 'KILL', $pid;
		start_after($postmaster);
		ok($hipq->wait_until("SELECT count(*) FROM hipq.attempts WHERE job_id = $poison", $time),
			'without restart_after_crash the next server charges the crashing job');
	}
	is($hipq->outcome($poison), 'failed', 'without restart_after_crash a crashing job is given up');
	is($hipq->attempts($poison), '1 crashed, 2 crashed',
		'without restart_after_crash the history has both crashes');
	release(1);
	is($hipq->outcome($neighbour), 'succeeded',
		'without restart_after_crash a neighbour of the crashing job succeeds');
	is($hipq->attempts($neighbour), '1 server_restart, 2 server_restart',
		'without restart_after_crash a neighbour of the crashing job is not charged');
}

done_testing();
