# hipq.why() and the scheduler check the same conditions. While one condition is unmet why() names
# only this one, and the job does not start. When it is met, the job starts.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('why', 'hipq.max_executors' => 3, 'hipq.executor_idle_timeout' => '1s',
	'timezone' => 'UTC');
$hipq->sql('CREATE ROLE other LOGIN');
$hipq->create_queue('app.main');
$hipq->create_queue('app.side', owner => 'other');
$hipq->sql(q{
	CREATE FUNCTION run(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		IF data ? 'wait' THEN PERFORM pg_advisory_xact_lock_shared(1); END IF;
	END $$;
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run');
	SELECT hipq.register_job_type('app.main', 'later');
	SELECT hipq.register_job_type('app.side', 'side', handler => 'run')});

sub closed
{
	my ($id) = @_;
	return $hipq->sql("SELECT string_agg(condition, ', ') FROM hipq.why($id) WHERE NOT passed");
}
sub explained
{
	my ($id, $condition) = @_;
	return $hipq->sql("SELECT explanation FROM hipq.why($id) WHERE condition = '$condition'");
}
sub outcome_now
{
	my ($id) = @_;
	return $hipq->sql("SELECT outcome FROM hipq.jobs WHERE id = $id");
}

# Runs a job of another queue, if any can run. After it an executor has checked the waiting job,
# too.
sub others_run
{
	is($hipq->outcome_of('side'), 'succeeded', "$_[0]: a job of another queue runs");
	return;
}

# For each condition the column of view queues that counts jobs that wait for it.
my %columns = ('scheduled time' => 'waiting_time', 'time window' => 'waiting_window',
	(map { $_ => 'waiting_hold' } 'enabled', 'hold', 'queue owner'),
	pause => 'waiting_pause', handler => 'waiting_handler',
		(map { $_ => 'waiting_throttle' } 'throttle of queue', 'throttle of type',
			'throttle of key'),
	(map { $_ => 'waiting_rate' } 'rate of queue', 'rate of type'));
my $counts = q{SELECT string_agg(key || ' ' || value, ', ') FROM hipq.queues_detail AS queues,
	jsonb_each_text(to_jsonb(queues)) WHERE queue = 'app.main' AND key ~ '^(waiting_|ready$)'
	AND value <> '0'};

# Tests a job with one unmet condition. `id`: the job, otherwise it is enqueued `with` these
# arguments; `condition`: its name in why(); `open`: SQL that makes the condition met.
sub one_gate
{
	my ($condition, %case) = @_;
	my $id = $case{id} // $hipq->enqueue($case{type} // 'run', join ', ', q{queue => 'app.main'},
		$case{with} // ());
	ok($hipq->wait_until("SELECT string_agg(condition, ', ') FROM hipq.why($id) WHERE NOT passed",
			$condition), "$condition: no other condition is unmet");
	like(explained($id, $condition), $case{says}, "$condition: why() explains the condition");
	is($hipq->sql($counts), "$columns{$condition} 1",
		"$condition: view queues counts the job in $columns{$condition}") if $columns{$condition};
	others_run($condition) unless $case{stops_all};
	is(outcome_now($id), 'waiting', "$condition: the job has not started");
	is(closed($id), $condition, "$condition: no other condition is unmet after others have run");
	ref $case{open} ? $case{open}->($id) : $hipq->sql($case{open} =~ s/:id/$id/gr);
	is($hipq->outcome($id), 'succeeded', "$condition: the job starts when the condition is met");
	return;
}

# Enqueues a job that runs until the lock is released.
sub hold
{
	my ($with) = @_;
	my $lock = $hipq->hold_lock;
	my $id = $hipq->enqueue('run', join ', ', q{'{"wait": 1}', queue => 'app.main'}, $with // ());
	$hipq->pid_of($id);
	return ($lock, $id);
}

# ---- conditions of a job
one_gate('scheduled time', with => q{scheduled_run_time => now() + interval '1 hour'}, says =>
	qr/^It waits for its time, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d, in (1 h|59 min( \d+ s)?)\.$/,
	open => 'SELECT hipq.reschedule(:id, now())');
my ($day) = map { (qw(sun mon tue wed thu fri sat))[ ($_ + 3) % 7 ] } $hipq->sql(
	'SELECT extract(dow FROM now())');
one_gate('time window', with => qq{time_windows => '$day 12:00-13:00'}, says =>
	qr/^It waits for its time windows "$day 12:00-13:00" \(UTC\), which open at \d{4}-\d\d-\d\d 12:00:00\+00, in (\d days? ?)?(\d+ h ?)?(\d+ min ?)?(\d+ s)?\.$/,
	open => q{UPDATE hipq.app_main SET time_windows = 'NONE' WHERE id = :id});
one_gate('handler', type => 'later', says => qr/^Job type "later" has no handler/,
	open => q{SELECT hipq.alter_job_type('app.main', 'later', handler => 'run')});

# ---- conditions of a queue
one_gate('queue owner', says => qr/^Queue owner "app" may not log in/,
	open => 'ALTER ROLE app LOGIN') if $hipq->sql('ALTER ROLE app NOLOGIN') eq '';
foreach my $what (q{'app.main'}, q{'app.main', 'run'})
{
	$hipq->sql("SELECT hipq.pause($what)");
	one_gate('pause', says => qr/ is paused by .+ since /, open => "SELECT hipq.resume($what)");
}
$hipq->sql(q{SELECT hipq.pause('app.main', 'run', 'ann')});
one_gate('pause', with => q{throttle_key => 'ann'}, says => qr/^Throttle key "ann" is paused by /,
	open => q{SELECT hipq.resume('app.main', 'run', 'ann')});

# ---- throttle limits, and the jobs that use them
my %limits = (
	queue => [ q{hipq.alter_queue('app.main', throttle_limit => %s)}, q{queue's throttle_limit} ],
	type => [ q{hipq.alter_job_type('app.main', 'run', throttle_limit => %s)},
		q{job type's throttle_limit} ],
	key => [ q{hipq.alter_job_type('app.main', 'run', throttle_limit_per_key => %s)},
			q{throttle_limit_per_key of "ann"} ]);
foreach my $what (qw(queue type key))
{
	my ($call, $name) = @{ $limits{$what} };
	$hipq->sql('SELECT ' . sprintf $call, 3);
	my ($lock, $holder) = hold(q{throttle_factor => 2.5, throttle_key => 'ann'});
	one_gate("throttle of $what", with => q{throttle_key => 'ann'},
		says => qr/^The \Q$name\E is reached: 2\.500 of 3 is used by 1 running job\(s\): $holder \(weighs 2\.500\); it weighs 1\.$/,
			open => sub { $lock->quit });
	is($hipq->outcome($holder), 'succeeded', "throttle of $what: the job that used the limit ends");
	$hipq->sql('SELECT ' . sprintf $call, 0);
}

# ---- rates
foreach my $what (qw(queue type))
{
	my ($call, $name) = @{ $limits{$what} };
	$call =~ s/throttle_limit => %s/rate_limit => '%s'/;
	$hipq->sql('SELECT ' . sprintf $call, '2.5/h');
	is($hipq->outcome_of('run', q{queue => 'app.main', throttle_factor => 2}), 'succeeded',
		"rate of $what: a job has its turn");
	my $limit = $name =~ s/throttle_limit/rate_limit/r;
	my $counts = qr/2 of it counts, and it weighs 1/;
	my $time = qr/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\+00, in (59 min|1 h)/;
	one_gate("rate of $what",
		says => qr/^The \Q$limit\E of 2\.5\/h is used up: $counts\. Its turn can come at $time/,
		open => sub { $hipq->sql('SELECT ' . sprintf $call, 'NONE') });
}

$hipq->set('hipq.max_executors' => 16);
{
	$hipq->sql(q{SELECT hipq.alter_queue('app.main', throttle_limit => 12)});
	my $lock = $hipq->hold_lock;
	$hipq->sql(q{INSERT INTO hipq.app_main (job_type, job_data) SELECT 'run', '{"wait": 1}'
		FROM generate_series(1, 12)});
	$hipq->wait_until(q{SELECT running_jobs FROM hipq.queues WHERE queue = 'app.main'}, 12)
		or die 'they do not run';
	one_gate('throttle of queue', says =>
		qr/12 of 12 is used by 12 running job\(s\): (\d+ \(weighs 1\)(, )?){10} and 2 more; it weighs 1\.$/,
		open => sub { $lock->quit });
	$hipq->sql(q{SELECT hipq.alter_queue('app.main', throttle_limit => 0)});
}

# ---- executors, and the position in the lane
$hipq->wait_until('SELECT count(*) FROM hipq.app_main_live', 0);
$hipq->set('hipq.max_executors' => 1);
ok($hipq->wait_until('SELECT count(*) <= 1 FROM hipq.executors'), 'one executor is left');
{
	my ($lock, $holder) = hold();
	my @ids = map { $hipq->enqueue('run', q{queue => 'app.main'}) } 1 .. 3;
	ok($hipq->wait_until("SELECT string_agg(condition, ', ') FROM hipq.why($ids[0])
			WHERE NOT passed", 'executor'), 'the first waiting job waits only for an executor');
	like(explained($ids[0], 'executor'),
		qr/^1 executor\(s\) work for the queue owner and all have a job; hipq\.max_executors allows no more\.$/,
		'why() explains the wait for an executor');
	is($hipq->sql($counts), 'ready 3',
		'view queues counts jobs that wait for an executor as ready');
	is(closed($ids[2]), 'executor, lane', 'a later job also waits in its lane');
	is(explained($ids[2], 'lane'), '2 job(s) of its queue that are due stand before it.',
		'why() says that two jobs are before a job');
	is($hipq->sql("SELECT explanation FROM hipq.why(hipq.enqueue('run', queue => 'app.main',
			priority => -1)) WHERE condition = 'lane'"),
		'No job of its queue that may start stands before it.',
			'why() says that no job is before one of a lower priority number');
	is(explained($ids[2], 'lane'), '3 job(s) of its queue that are due stand before it.',
		'why() says that three jobs are before a job after one overtook it');
	$hipq->sql(q{SELECT hipq.enqueue_many('run', array_fill('{}'::jsonb, ARRAY[11000]),
		queue => 'app.main', scheduled_run_time => hipq.now() - interval '1 hour')});
	is(explained($ids[2], 'lane'),
		'More than 10000 job(s) of its queue that are due stand before it.',
		'why() stops counting at 10,000 jobs');
	my $later = $hipq->enqueue('run',
		q{queue => 'app.main', scheduled_run_time => now() + interval '1 hour'});
	is(explained($later, 'lane'), 'It takes its place in its lane when its time has come.',
		'why() says that a job that is not due is not in its lane');
	$hipq->sql("SELECT hipq.cancel($later)");
	$lock->quit;
	is($hipq->outcome($_), 'succeeded', 'a job that waited for an executor succeeds') foreach @ids;
}
ok($hipq->wait_until('SELECT count(*) FROM hipq.app_main_live', 0), 'all jobs of the queue end');
$hipq->set('hipq.max_executors' => 3);

# ---- conditions of the database
$hipq->set('hipq.enabled' => 'off');
$hipq->wait_until('SELECT count(*) FROM hipq.executors', 0);
one_gate('enabled', says => qr/^hipq\.enabled is off\.$/,
	open => sub { $hipq->set('hipq.enabled' => 'on') }, stops_all => 1);
$hipq->sql(q{UPDATE hipq.identity SET system_identifier = system_identifier - 1;
	SELECT pg_reload_conf()});
one_gate('hold', says => qr/release_hold/, open => 'SELECT hipq.release_hold()', stops_all => 1);

# ---- a successor, and jobs that do not wait
{
	my ($lock, $holder) = hold(q{job_key => 'one'});
	is(closed($holder), 'state', 'why() of a running job has only the condition state');
	my $after = $hipq->enqueue('run',
		q{queue => 'app.main', job_key => 'one', on_duplicate => 'after'});
	one_gate('waits for', id => $after,
		says => qr/^Job $holder has its key: it starts when that one has ended\.$/,
		open => sub { $lock->quit });
	is(closed($holder), 'state', 'why() of a final job has only the condition state');
}

# ---- jobs that it comes after
{
	my ($lock, $first) = hold();
	my $second = $hipq->enqueue('run',
		q{queue => 'app.main', scheduled_run_time => now() + interval '1 hour'});
	one_gate('waits for', with => "after => ARRAY[$first, $second], on_failure => 'run'",
		says => qr/^It comes after jobs that have not ended: $first, $second\. It starts when all have ended, successfully or not\.$/,
		open => sub { $lock->quit; $hipq->sql("SELECT hipq.cancel($second)") });
	($lock, $first) = hold();
	my $late = $hipq->enqueue('run', "queue => 'app.main', after => ARRAY[$first],
		scheduled_run_time => now() + interval '1 hour'");
	is(closed($late), 'waits for, scheduled time',
		'why() of a job with a time says what it comes after, and the time');
	$lock->quit;
	one_gate('scheduled time', id => $late, says => qr/^It waits for its time/,
		open => 'SELECT hipq.reschedule(:id, now())');
}

# ---- a final job: why() says how it ended, and shows the error to roles that can read it

$hipq->sql(q{CREATE FUNCTION fail(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
	RAISE EXCEPTION E'no such box\nand more'; END $$;
	SELECT hipq.register_job_type('app.main', 'fail', handler => 'fail', max_retries => 0);
	CREATE ROLE steers LOGIN; SELECT hipq.grant_queue('app.main', 'steers', 'control')});
my $fails = $hipq->enqueue('fail', q{queue => 'app.main'});
is($hipq->outcome($fails), 'failed', 'a job fails for why()');
like(explained($fails, 'state'),
	qr/^The job is final: it failed at \d{4}-\S+ \S+, in attempt 1: no such box$/,
	'why() says when and why a job failed');
like($hipq->sql_as('steers', "SELECT explanation FROM hipq.why($fails) WHERE condition = 'state'"),
	qr/it failed at \d{4}-\S+ \S+, in attempt 1\.$/,
	'why() omits the error for a role that cannot read it');
my $works = $hipq->enqueue('run', q{queue => 'app.main'});
is($hipq->outcome($works), 'succeeded', 'a job succeeds for why()');
like(explained($works, 'state'),
	qr/^The job is final: it succeeded at \d{4}-\S+ \S+, in attempt 1\.$/,
	'why() says when a job succeeded');

done_testing();
