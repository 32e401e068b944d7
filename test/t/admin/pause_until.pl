# A pause with an end is over at that time, everywhere at once, and no job is lost: also if no
# process of hipq runs then but the launcher, after a restart or a crash, and beside locks.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('pause_until', 'hipq.max_executors' => 2,
	'hipq.executor_idle_timeout' => '1s', 'hipq.heartbeat_timeout' => '1d',
	'max_prepared_transactions' => 2);
my $node = $hipq->node;
# For each kind of pause, a queue, and the arguments that pause the jobs of a type in it.
my %kinds = (
	'a queue' => [ 'app.whole' => q{'app.whole'} ],
	'an instance' => [ 'all.main' => q{instance => 'all'} ],
	'a job type' => [ 'app.types' => q{'app.types', '%s'} ],
	'a throttle key' => [ 'app.keys' => q{'app.keys', '%s', 'k'} ]);
my @types = qw(lock record send);
$hipq->sql(q{
	CREATE TABLE ran (id bigint);
	GRANT ALL ON ran TO app;
	CREATE FUNCTION run(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO ran VALUES (job.id);
		IF job.job_data ? 'wait' THEN PERFORM pg_advisory_xact_lock_shared(1); END IF;
	END $$;});
foreach my $queue (map { $_->[0] } values %kinds)
{
	$hipq->create_queue($queue);
	$hipq->sql(qq{
		SELECT hipq.register_job_type('$queue', 'lock', handler => 'run', claim => 'lock');
		SELECT hipq.register_job_type('$queue', 'record', handler => 'run', claim => 'record');
		SELECT hipq.register_job_type('$queue', 'send', handler_kind => 'notify',
			queue_ttl => 86400, worker_wait_ttl => 0)});
}
$hipq->create_queue('app.other');
$hipq->sql(q{SELECT hipq.register_job_type('app.other', 'else', handler => 'run')});
my $queues = join ',', map { $_->[0] } values %kinds;
my $worker =
	$hipq->sql_as('app', "SELECT hipq.register_worker('w', '{$queues}', '{send}', 1000)");

my $hour = 3600;
my $clock = 0;
sub move_clock { $clock += $_[0]; return $hipq->set('hipq.clock_offset' => $clock); }

my $rows = 'SELECT count(*) FROM hipq.pause';
my $no_process = q{SELECT count(*) = 0 FROM pg_stat_activity
	WHERE backend_type IN ('hipq executor', 'hipq scheduler')};
my $live = q{SELECT count(*) FROM hipq.jobs WHERE outcome IN ('waiting', 'running')};

sub pause
{
	my ($names, $until) = @_;
	return $hipq->sql("SELECT hipq.pause($names, until => '$until')");
}
sub enqueue
{
	my ($queue, $type, $count) = @_;
	my $ids = $hipq->sql(qq{SELECT hipq.enqueue_many('$type',
		array_fill('{}'::jsonb, ARRAY[$count]), throttle_key => 'k', queue => '$queue')});
	$ids =~ tr/{}//d;
	return split /,/, $ids;
}
sub among { return 'id IN (' . join(',', @_) . ')'; }

# Runs a job of another queue. After it the processes have checked the paused queues, too.
sub others_run
{
	is($hipq->outcome_of('else'), 'succeeded', "$_[0]: a job of another queue runs");
	return;
}
# How many of the jobs wait, and are offered to no worker.
sub waiting
{
	my $jobs = among(@_);
	return $hipq->sql("SELECT (SELECT count(*) FROM hipq.jobs WHERE $jobs AND outcome = 'waiting')
		- (SELECT count(*) FROM hipq.running_detail WHERE $jobs)");
}
# The worker accepts and completes what it is offered.
sub work
{
	return $hipq->sql_as('app',
		"SELECT count(hipq.complete(id, attempt)) FROM hipq.claim($worker, 1000)");
}
sub all_end
{
	my ($what, @jobs) = @_;
	my $unfinished = "$live AND " . among(@jobs);
	ok($hipq->wait_until("$unfinished AND job_type <> 'send'", 0),
		"$what: the jobs of executors run");
	my ($is_done) = $hipq->poll($unfinished, sub { $_[0] eq '0' }, undef,
		sub { work(); return (0, $hipq->sql($_[0]), '') });
	ok($is_done, "$what: the jobs of the worker run");
	return is($hipq->sql('SELECT count(*) FROM hipq.jobs WHERE ' . among(@jobs)
				. q{ AND outcome = 'succeeded'}), scalar @jobs, "$what: no job is lost");
}

# ---- each kind ends by itself, and its jobs start then and not before
foreach my $type (@types)
{
	# One session, so that the jobs are there before the pauses are over.
	my $sql = '';
	foreach my $kind (sort keys %kinds)
	{
		my ($queue, $names) = @{ $kinds{$kind} };
		$names = sprintf $names, $type;
		$sql .= qq{
			SELECT hipq.enqueue('$type', queue => '$queue', throttle_key => 'k') AS id
			FROM hipq.pause($names, until => '1 s', reason => 'a moment') WHERE pause \\gset
			SELECT '$kind', :id, explanation FROM hipq.why(:id) WHERE condition = 'pause';};
	}
	my @told = map { [ split /\|/ ] } split /\n/, $hipq->sql("$sql
		SELECT paused_until FROM hipq.pauses_detail ORDER BY 1");
	my $first_end = $told[4][0];
	ok($hipq->wait_until($rows, 0), "type $type: the pauses are over");
	all_end("type $type", map { $_->[1] } @told[ 0 .. 3 ]);
	foreach my $told (@told[ 0 .. 3 ])
	{
		my ($kind, $job, $why) = @$told;
		like($why, qr/ by \S+ since \S+ \S+ until \S+ \S+ \(a moment\): it goes on then, or after/,
			"$kind, type $type: why() says when it ends");
		my $late = $hipq->sql("SELECT extract(epoch FROM accepted_time - '$first_end'::timestamptz)
			FROM hipq.jobs_detail WHERE id = $job");
		cmp_ok($late, '>=', 0, "$kind, type $type: the job starts after the pause");
		$hipq->in_time($late, 1, "$kind, type $type: the job starts at once") if $type ne 'send';
	}
}

# ---- jobs that an executor has prefetched
$hipq->set('hipq.max_executors' => 1);
ok($hipq->wait_until('SELECT count(*) <= 1 FROM hipq.executors'), 'one executor is left');
foreach my $kind (sort keys %kinds)
{
	my ($queue, $names) = @{ $kinds{$kind} };
	foreach my $type (qw(lock record))
	{
		my $lock = $hipq->hold_lock;
		my $running = $hipq->enqueue($type, qq{'{"wait": 1}', queue => '$queue'});
		my @jobs = enqueue($queue, $type, 5);
		$hipq->pid_of($running);
		pause(sprintf($names, $type), '1 hour');
		$lock->quit;
		is($hipq->outcome($running), 'succeeded', "$kind, type $type: a running job finishes");
		others_run("$kind, type $type");
		is(waiting(@jobs), 5, "$kind, type $type: prefetched jobs wait");
		move_clock($hour + 1);
		all_end("$kind, type $type, prefetched", @jobs);
		is($hipq->sql($rows), 0, "$kind, type $type: the row is gone");
	}
}
$hipq->set('hipq.max_executors' => 2);

# ---- no executor or scheduler runs when it ends; restarts and crashes while it lasts
my %events = (
	'nothing' => sub { },
	'a restart' => sub { $node->restart },
	'a crash' => sub { $node->stop('immediate'); $node->start },
	'a killed process' => sub {
		my $launcher = q{FROM pg_stat_activity WHERE backend_type = 'hipq launcher'};
		my $pid = $hipq->sql("SELECT pid $launcher");
		$hipq->close_looks;
		kill 'KILL', $pid;
		$hipq->wait_until("SELECT count(*) = 1 $launcher AND pid <> $pid");
	});
foreach my $event (sort keys %events)
{
	my @jobs;
	foreach my $kind (values %kinds)
	{
		my ($queue, $names) = @$kind;
		foreach my $type (@types)
		{
			pause(sprintf($names, $type), '1 hour');
			push @jobs, enqueue($queue, $type, 10);
		}
	}
	others_run($event);
	$events{$event}->();
	ok($hipq->wait_until($no_process), "$event: no process is left but the launcher");
	is(waiting(@jobs), 120, "$event: the jobs wait");
	move_clock($hour - 60);
	others_run("$event, before the end");
	is(waiting(@jobs), 120, "$event: the jobs wait until the end");
	move_clock(-$hour);
	others_run("$event, after the clock is set back");
	is(waiting(@jobs), 120, "$event: the jobs wait longer after the clock is set back");
	move_clock($hour + 61);
	all_end($event, @jobs);
	is($hipq->sql($rows), 0, "$event: the rows are gone");
	move_clock(-$hour);
	all_end("$event, and the clock is set back after it",
		map { enqueue($_->[0], 'lock', 1), enqueue($_->[0], 'send', 1) } values %kinds);
	move_clock($hour);
}

# ---- the end changes
my $names = q{'app.types', 'lock'};
pause($names, '1 hour');
is(pause($names, '3 hours'), 'f', 'pause() says that the type was paused already');
my ($job) = enqueue('app.types', 'lock', 1);
move_clock($hour + 1);
others_run('a later end');
is(waiting($job), 1, 'a pause holds until its new end');
is(pause($names, '1 ms'), 'f', 'the end is changed to a sooner one');
is($hipq->outcome($job), 'succeeded', 'the pause ends at the sooner end');
pause($names, '1 hour');
is($hipq->sql("SELECT hipq.pause($names)"), 'f', 'the end is taken back');
($job) = enqueue('app.types', 'lock', 1);
move_clock($hour + 1);
others_run('an end that was taken back');
like($hipq->why($job), qr/ is paused by \S+ since \S+ \S+: it goes on after hipq.resume/,
	'a pause whose end was taken back holds');
pause($names, '1 hour');
is($hipq->sql("SELECT hipq.resume($names)"), 't', 'resume() ends a pause before its end');
is($hipq->outcome($job), 'succeeded', 'its job runs at once');

# ---- a session that holds a pause at its end
my $session = $hipq->session;
foreach my $end (qw(ROLLBACK COMMIT))
{
	pause($names, '1 hour');
	pause(q{'app.types', 'record'}, '1 hour');
	$session->query_safe("BEGIN; SELECT hipq.pause($names, until => '3 hours')");
	my ($held) = enqueue('app.types', 'lock', 1);
	my ($free) = enqueue('app.types', 'record', 1);
	move_clock($hour + 1);
	is($hipq->outcome($free), 'succeeded', "$end: another pause ends beside a locked one");
	is(waiting($held), 1, "$end: a locked pause holds");
	$session->query_safe($end);
	if ($end eq 'COMMIT')
	{
		others_run('a change that was committed late');
		is(waiting($held), 1, 'the new end counts');
		move_clock(2 * $hour);
	}
	is($hipq->outcome($held), 'succeeded', "$end: the pause ends after that");
}
$session->quit;

# ---- two-phase commit, and rows that others write
my %writes = (
	'a prepared transaction' => [
		q{BEGIN; SELECT hipq.pause('app.whole', until => '1 hour'); PREPARE TRANSACTION 'p'},
		q{COMMIT PREPARED 'p'} ],
	'an inserted row' => [ q{INSERT INTO hipq.pause (queue_id, paused_by, paused_time, paused_until)
		SELECT queue_id, 'me', hipq.now(), hipq.now() + interval '1 hour' FROM hipq.queue
		WHERE name = 'whole'} ]);
foreach my $write (sort keys %writes)
{
	$hipq->sql($_) foreach @{ $writes{$write} };
	($job) = enqueue('app.whole', 'lock', 1);
	ok($hipq->wait_until($no_process), "$write: no process is left");
	is(waiting($job), 1, "$write: the job waits");
	move_clock($hour + 1);
	is($hipq->outcome($job), 'succeeded', "$write: the pause ends");
}

# ---- many keys, whose jobs were passed over
$hipq->sql(q{SELECT count(hipq.pause('app.keys', 'lock', 'k' || i, until => '1 hour'))
	FROM generate_series(1, 1500) AS i});
$hipq->sql(q{INSERT INTO hipq.app_keys (job_type, throttle_key)
	SELECT 'lock', 'k' || i FROM generate_series(1, 1501) AS i});
ok($hipq->wait_until($live, 1500), 'a job with another key overtakes jobs with paused keys');
ok($hipq->wait_until($no_process), 'paused keys keep no process busy');
move_clock($hour + 1);
ok($hipq->wait_until($live, 0), 'the jobs with 1,500 keys run');
is($hipq->sql($rows), 0, 'the rows of all keys are gone');

is($hipq->sql('SELECT count(*), count(DISTINCT id) FROM ran'), $hipq->sql(q{
	SELECT count(*), count(*) FROM hipq.jobs WHERE job_type <> 'send' AND outcome = 'succeeded'}),
	'each job ran once');

# ---- run_until_idle() ends pauses in its own transaction
is($hipq->sql(q{
	SET hipq.allow_foreign_handlers = on;
	BEGIN;
	SELECT hipq.enqueue('lock', queue => 'app.whole') > 0 AS is_enqueued
	FROM hipq.pause('app.whole', until => '1 hour') WHERE pause \gset
	SELECT hipq.run_until_idle('app.whole');
	SET LOCAL hipq.clock_offset = '} . ($clock + $hour + 1) . q{';
	SELECT hipq.run_until_idle('app.whole');
	SELECT count(*) FROM hipq.pauses;
	ROLLBACK}), "0\n1\n0", 'run_until_idle() ends pauses whose time is over');
done_testing();
