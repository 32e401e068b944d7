# If a job is due, every condition is met and an executor is free, but the job does not start, the
# log says so once, and hipq.alerts has a row. While a condition is unmet there is no alert.
use strict;
use warnings;
use HipqCluster;
use HipqFaults;
use HipqPoints;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('no_start', 'hipq.max_executors' => 8,
	'hipq.executor_idle_timeout' => '1s', 'timezone' => 'UTC');
my $points = HipqPoints->new($hipq);
$hipq->sql('CREATE ROLE other LOGIN');
my @open = qw(full typed keyed locked closed paused later missing);
$hipq->create_queue("app.$_") foreach @open;
$hipq->create_queue('other.stuck', owner => 'other');
$hipq->sql(q{
	CREATE FUNCTION run(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		IF data ? 'wait' THEN PERFORM pg_advisory_xact_lock_shared(1); END IF;
	END $$;
	SELECT hipq.register_job_type('other.stuck', 'stuck', handler => 'run');
	SELECT hipq.alter_queue('app.full', throttle_limit => 1)});
foreach my $queue (grep { $_ ne 'missing' } @open)
{
	my $limit = { typed => ', throttle_limit => 1',
		keyed => ', throttle_limit_per_key => 1' }->{$queue} // '';
	$hipq->sql("SELECT hipq.register_job_type('app.$queue', '$queue', handler => 'run'$limit)");
}

# Return the jobs that do not start, and the schedulers that do not check for work, according to the
# log.
sub cried
{
	return slurp_file($hipq->node->logfile)
		=~ /WARNING:  job (\d+) in queue "[a-z.]+" does not start/g;
}
sub late
{
	my @late = slurp_file($hipq->node->logfile)
		=~ /WARNING:  (scheduler of database "postgres" with PID \d+ does not look for work)/g;
	return @late;
}
sub times_of
{
	my ($alert) = @_;
	return $hipq->sql("SELECT coalesce(max(times), 0) FROM hipq.alerts WHERE alert = '$alert'");
}
sub wait_for_alarm
{
	my ($times) = @_;
	return $hipq->wait_until("SELECT coalesce(max(times), 0) >= $times FROM hipq.alerts_detail
		WHERE alert = 'no start'");
}
sub seconds_pass
{
	my ($seconds) = @_;
	return $hipq->wait_until("SELECT clock_timestamp() > '" . $hipq->sql('SELECT clock_timestamp()')
		. "'::timestamptz + interval '$seconds s'");
}

# ---- an executor does not check for jobs, or finds the job and does not claim it
my @stuck;
foreach my $point (qw(before-look before-claim))
{
	my $before = times_of('no start');
	$points->arm($point, 'wait');
	push @stuck, $hipq->enqueue('stuck');
	ok($points->wait_held($point), "an executor is held at $point");
	is($hipq->sql("SELECT count(*) FROM hipq.why($stuck[-1]) WHERE NOT passed"), 0,
		"at $point why() has no unmet condition");
	ok(wait_for_alarm($before + 1), "at $point an alarm is raised");
	is(join(' ', cried()), join(' ', @stuck), "at $point the log names the job");
	$points->reset;
	is($hipq->outcome($stuck[-1]), 'succeeded',
		"a job runs after its executor was released at $point");
}

# ---- an alert for one job, while jobs of all kinds wait for conditions
$points->arm('before-look', 'wait');
my $before = times_of('no start');
push @stuck, $hipq->enqueue('stuck');
ok($points->wait_held('before-look'), 'an executor is held before it checks for jobs');
my $lock = $hipq->hold_lock;
my @holders = map { $hipq->enqueue($_,
		q{'{"wait": 1}', throttle_key => 'ann'}) } qw(full typed keyed);
$hipq->pid_of($_) foreach @holders;
my @waiting = map { $hipq->enqueue($_, q{throttle_key => 'ann'}) } qw(full typed keyed);
my ($day) = map { (qw(sun mon tue wed thu fri sat))[ ($_ + 3) % 7 ] } $hipq->sql(
	'SELECT extract(dow FROM now())');
push @waiting, $hipq->enqueue('closed', "time_windows => '$day 12:00-13:00'");
$hipq->sql(q{SELECT hipq.pause('app.paused')});
push @waiting, $hipq->enqueue('paused'), $hipq->enqueue('later',
	q{scheduled_run_time => now() + interval '20 min'});
push @waiting, $hipq->enqueue('missing', q{queue => 'app.missing'});
my $client = $hipq->session;
my ($locked) = $client->query_safe(q{
	INSERT INTO hipq.app_locked (job_type, scheduled_run_time)
		VALUES ('locked', now() + interval '3 s') RETURNING id \gset
	BEGIN;
	SELECT id FROM hipq.app_locked WHERE id = :id FOR UPDATE;}) =~ /(\d+)/;
push @waiting, $locked;

ok(wait_for_alarm($before + 3), 'the alert counts further times while the job does not start');
is(join(' ', cried()), join(' ', @stuck),
	'the log names a job that does not start once, and no job that waits');
is($hipq->sql(q{SELECT count(*) FROM hipq.alerts_detail WHERE alert = 'no start' AND detail <> ''
		AND hint <> ''}), 1, 'the alert is one row with detail and hint');
$points->reset;
is($hipq->outcome($stuck[-1]), 'succeeded', 'a job runs when its executor is released');

# ---- all executors are busy
ok($hipq->wait_until('SELECT count(*) FROM hipq.executors WHERE job_id IS NOT NULL', 3),
	'three executors are busy');
$hipq->set('hipq.max_executors' => 3);
ok($hipq->wait_until('SELECT count(*) FROM hipq.executors', 3), 'no fourth executor is left');
$before = times_of('no start');
my $waits = $hipq->enqueue('stuck');
seconds_pass(9);
is($hipq->sql("SELECT string_agg(condition, ' ') FROM hipq.why($waits) WHERE NOT passed"),
	'executor', 'a job that waits for an executor has no other unmet condition');
is(times_of('no start'), $before, 'a job that waits for an executor causes no alert');
is(join(' ', cried()), join(' ', @stuck), 'the log does not name a job that waits for an executor');
$hipq->set('hipq.max_executors' => 8);
is($hipq->outcome($waits), 'succeeded',
	'a job runs when hipq.max_executors allows another executor');

# ---- jobs that have waited for conditions the whole time
is($hipq->sql("SELECT count(*) FROM hipq.jobs WHERE id IN (" . join(', ',
		@waiting) . ") AND outcome = 'waiting'"), scalar @waiting,
	'jobs with unmet conditions wait');
$lock->query_safe('SELECT pg_advisory_unlock(1)');
$client->query_safe('ROLLBACK');
$_->quit foreach $lock, $client;
$hipq->sql(qq{
	SELECT hipq.resume('app.paused');
	SELECT hipq.alter_job_type('app.missing', 'missing', handler => 'run');
	UPDATE hipq.app_closed SET time_windows = 'NONE' WHERE state <> 'final';
	UPDATE hipq.app_later SET scheduled_run_time = now() WHERE state <> 'final'});
is($hipq->outcome($_), 'succeeded', 'a waiting job starts when its condition is met')
	foreach @waiting;
is(join(' ', cried()), join(' ', @stuck), 'the log names no job that waited for a condition');

# ---- a stopped scheduler
is(join(' ', late()), '', 'schedulers check for work before one is stopped');
# A job that is due soon keeps the scheduler from exiting.
my $soon = $hipq->enqueue('stuck', q{scheduled_run_time => now() + interval '40 s'});
# resume() makes the scheduler check for work.
my $look = q{SELECT hipq.pause('app.paused'); SELECT hipq.resume('app.paused')};
$hipq->sql($look);
# Not during a check, because it may take a minute until an alert reports a scheduler stopped there.
my $scheduler = HipqFaults::stop_at_rest($hipq, 'hipq scheduler');
$hipq->sql($look);
ok($hipq->wait_until(q{SELECT times >= 2 FROM hipq.alerts WHERE alert = 'scheduler'}),
	'the launcher notices a scheduler that does not check for work');
is(scalar(late()), 1, 'the log names the stopped scheduler once');
kill 'CONT', $scheduler;
$hipq->sql("SELECT hipq.cancel($soon)");
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.other_stuck_live}, 0),
	'all jobs run after the scheduler continues');

done_testing();
