# The scheduler offers jobs for external workers to the best free worker, and takes them back in
# time. Errors, restarts and crashes do not change this.
use strict;
use warnings;
use HipqCluster;
use HipqFaults;
use HipqPoints;
use HipqProgram;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $hipq = HipqCluster->new('dispatch', 'hipq.worker_grace' => '1s',
	'hipq.heartbeat_timeout' => '1d', 'hipq.executor_idle_timeout' => '1s');
my $points = HipqPoints->new($hipq);
my $node = $hipq->node;
$hipq->create_queue('app.out');
$hipq->sql(q{
	CREATE FUNCTION fine(data jsonb) RETURNS void LANGUAGE sql AS 'SELECT';
	SELECT hipq.register_job_type('app.out', 'send', handler_kind => 'notify', queue_ttl => 600,
		default_timeout => 60, max_retries => 5, retry_base => '0 s');
	SELECT hipq.register_job_type('app.out', 'inside', handler => 'fine')});

sub register
{
	my ($name, %more) = @_;
	return $hipq->sql_as('app', "SELECT hipq.register_worker('$name', '{app.out}', '{send}'"
		. join('', map { ", $_ => $more{$_}" } sort keys %more) . ')');
}
# A job that a worker has is "offered" or "accepted". Its row does not show an offer.
sub row
{
	my ($id) = @_;
	return "SELECT coalesce((SELECT concat_ws(' ',
			CASE WHEN is_accepted THEN 'accepted' ELSE 'offered' END, attempt, worker)
			FROM hipq.running_detail WHERE id = $id),
		(SELECT concat_ws(' ', job.state, job.attempt, worker.name)
			FROM hipq.app_out AS job LEFT JOIN hipq.worker USING (worker_id) WHERE id = $id))";
}
sub is_row { my ($id, $expected, $what) = @_; return is($hipq->sql(row($id)), $expected, $what); }
sub reasons
{
	my ($id) = @_;
	return $hipq->sql("SELECT coalesce(string_agg(reason, ' ' ORDER BY attempt), '')
		FROM hipq.attempts WHERE job_id = $id");
}
my $depths = q{SELECT string_agg(name || ' ' || queue_depth, ', ' ORDER BY name) FROM hipq.workers};
sub depths { return $hipq->sql($depths); }
sub unmet
{
	my ($id) = @_;
	return "SELECT coalesce(string_agg(condition, ' '), '') FROM hipq.why($id) WHERE NOT passed";
}
sub unmet_conditions { my ($id) = @_; return $hipq->sql(unmet($id)); }
# What the worker runs, and what it is offered.
sub counts
{
	my ($name) = @_;
	return "SELECT running_jobs || ' ' || queue_depth FROM hipq.workers WHERE name = '$name'";
}
# The jobs that a worker accepts, and their attempts; in a session, if one is given.
sub claim
{
	my ($worker, $most, $session) = @_;
	my $sql = "SELECT coalesce(string_agg(id || ' ' || attempt, ', '), '')
		FROM hipq.claim($worker, $most)";
	return $session ? $session->query_safe($sql) : $hipq->sql_as('app', $sql);
}
sub finish { my ($id) = @_; $hipq->sql("SELECT hipq.cancel($id)"); return; }
sub worker_gone
{
	my ($name) = @_;
	return $hipq->wait_until("SELECT count(*) FROM hipq.workers WHERE name = '$name'", 0);
}
sub is_given
{
	my ($id, $expected, $what) = @_;
	ok($hipq->wait_until(row($id), $expected), $what)
		or diag($hipq->sql("SELECT * FROM hipq.attempts WHERE job_id = $id"));
	return;
}

# ---- no worker
my $job = $hipq->enqueue('send');
is(unmet_conditions($job), 'worker', 'a job waits for a worker, and why() says so');
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'no worker'}, 1),
	'an alert reports a job without a worker');
ok($node->wait_for_log(qr/jobs of type "send" in queue "app.out" wait for an external worker/),
	'the log reports a job without a worker');

# ---- a cancelled job leaves no lane due
my $brief = register('brief');
is_given($job, 'offered 1 brief', 'a worker is given the waiting job');
is($hipq->sql("SELECT state, attempt, worker_id IS NULL, accepted_time > '9998-01-01'
		FROM hipq.app_out WHERE id = $job"), 'initial|0|t|t',
	'the row of a job that a worker is offered waits as before');
$hipq->sql_as('app', "SELECT hipq.deregister_worker($brief)");
is_given($job, 'initial 0', 'a deregistered worker gives the job back');
is(reasons($job), '', 'an offer that a deregistered worker gave back was no attempt');
$hipq->sql("SELECT hipq.cancel($job)");
$hipq->sql('SELECT pg_reload_conf()');    # wakes the scheduler
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.lanes WHERE due_time <= hipq.now()}, 0),
	'the lane of a cancelled job is not due');
$job = $hipq->enqueue('send');

# ---- a job that is not accepted in time goes to another worker
my $before_one = $hipq->sql('SELECT hipq.now()');
my $one = register('one', capacity => 2);
is_given($job, 'offered 1 one', 'a job that waits goes to a worker that registers');
is(depths(), 'one 1', 'the queue_depth of a worker counts a job that it got');
is($hipq->sql("SELECT deadline - interval '10 min' BETWEEN '$before_one' AND clock_timestamp(),
		since IS NULL FROM hipq.running_detail WHERE id = $job"), 't|t',
	'the worker has queue_ttl to accept the job');
my $two = register('two');
$hipq->set('hipq.clock_offset' => 500);
is_row($job, 'offered 1 one', 'a worker keeps a job until queue_ttl has passed');
$hipq->set('hipq.clock_offset' => 700);
is_given($job, 'offered 2 two', 'after queue_ttl another worker gets the job');
is(reasons($job), 'queue_timeout',
	'a job that is not accepted within queue_ttl has used an attempt');
like($hipq->sql("SELECT error FROM hipq.attempts_detail WHERE job_id = $job"),
	qr/^\{"error" : "Worker queue TTL expired", "message" : "Worker did not process execution within configured TTL", "deaths" : \[\{"reason" : "queue_timeout", "queue" : "app.out", "worker" : "one", "count" : 1,/,
	'the error names the worker that did not accept the job');
like($hipq->sql("SELECT health->>'consecutive_failures' FROM hipq.workers_detail
		WHERE name = 'one'"), qr/^1$/, 'a job that is not accepted counts against the worker');
like(slurp_file($node->logfile),
	qr/LOG:  job $job was not accepted by worker "one" within its queue_ttl/,
	'the log reports the job that was not accepted');

# ---- queue_ttl ends on time without other activity
$hipq->sql(q{SELECT hipq.alter_job_type('app.out', 'send', queue_ttl => 2)});
my $start = time;
my $short = $hipq->enqueue('send');
ok($hipq->wait_until("SELECT reason FROM hipq.attempts WHERE job_id = $short AND attempt = 1",
		'queue_timeout'), 'a short queue_ttl ends the attempt');
$hipq->in_time(time - $start, 4, 'a queue_ttl of 2 s ends within 4 s');
finish($short);
$hipq->sql(q{SELECT hipq.alter_job_type('app.out', 'send', queue_ttl => 600)});

# ---- drained and deregistered workers
$hipq->sql_as('app', "SELECT hipq.drain_worker($two)");
is_given($job, 'offered 2 one', 'a draining worker gives back what it has not accepted');
is(reasons($job), 'queue_timeout', 'an offer that a draining worker gave back was no attempt');
is($hipq->sql("SELECT retry_count FROM hipq.app_out WHERE id = $job"), 1,
	'a job that a draining worker gave back is not charged');
$hipq->sql_as('app', "SELECT hipq.deregister_worker($two)");
my $three = register('three');
$hipq->sql_as('app', "SELECT hipq.deregister_worker($one)");
is_given($job, 'offered 2 three', 'a deregistered worker loses what it has not accepted');
is(reasons($job), 'queue_timeout',
	'neither a draining worker nor a deregistered one makes an attempt of an offer');
ok(worker_gone('one'), 'a deregistered worker is removed');

# ---- a lost worker keeps the jobs that it has accepted for hipq.worker_grace, and loses the others
# at once
$hipq->set('hipq.worker_grace' => '1h');
$hipq->sql_as('app', "SELECT hipq.complete($job, 2) FROM hipq.claim($three)");
$hipq->set('hipq.clock_offset' => 0);
my $again = register('again', capacity => 3);
$hipq->sql_as('app', "SELECT hipq.deregister_worker($three)");
my @jobs = map { $hipq->enqueue('send') } 1 .. 3;
is_given($_, 'offered 1 again', 'a worker is given three jobs') foreach @jobs;
is($hipq->sql_as('app', "SELECT id FROM hipq.claim($again, 1)"), $jobs[0],
	'the worker accepts one job');
$three = $hipq->sql_as('app', q{SELECT hipq.register_worker('again', '{app.out}', '{send}',
	capacity => 3, take_over => true)});
ok($hipq->wait_until("SELECT string_agg(DISTINCT worker_id::text, ' ') FROM hipq.running_detail
		WHERE id IN ($jobs[1], $jobs[2])", $three),
	'jobs that were not accepted are offered to the worker_id of the new worker');
is_given($_, 'offered 1 again',
	'a worker that takes over a name gets the jobs that were not accepted')
	foreach @jobs[1, 2];
is($hipq->sql("SELECT worker_id, attempt FROM hipq.app_out WHERE id = $jobs[0]"), "$again|1",
	'an accepted job stays with the worker whose name was taken over');
is(reasons($jobs[1]), '', 'a take-over makes no attempt of an offer');
is($hipq->sql("SELECT retry_count FROM hipq.app_out WHERE id = $jobs[1]"), 0,
	'a take-over charges no job');
is($hipq->sql_as('app', "SELECT hipq.complete($jobs[0], 1)"), '',
	'complete() of the worker whose name was taken over works');
$hipq->set('hipq.worker_grace' => '1s');
finish($_) foreach @jobs[1, 2];
$job = $hipq->enqueue('send');
is_given($job, 'offered 1 again', 'a worker that took over a name gets new jobs');

# ---- the session of a worker
my $session = $hipq->session(role => 'app');
finish($job);
is($hipq->sql("SELECT outcome FROM hipq.jobs WHERE id = $job"), 'cancelled',
	"a worker's job can be cancelled");
$hipq->sql_as('app', "SELECT hipq.deregister_worker($three)");
$session->query_safe(
	q{SELECT hipq.register_worker('bound', '{app.out}', '{send}', listen => true)});
$job = $hipq->enqueue('send');
is_given($job, 'offered 1 bound', 'a worker that is bound to a session gets a job');
ok(HipqProgram->wait_for(sub { $session->query_safe('SELECT 1')
		=~ /Asynchronous notification "hipq_worker_\d+"/ }),
	'a job that goes to a worker bound to a session notifies this session');
my $four = register('four');
$session->quit;
is_given($job, 'offered 1 four', 'another worker gets the job of a worker whose session ended');
is(reasons($job), '', 'the offer of a worker whose session ended was no attempt');
$hipq->set('hipq.clock_offset' => 33, 'hipq.heartbeat_timeout' => '30s');
is_given($job, 'initial 0', 'a worker without heartbeats loses its job');
is(reasons($job), '', 'the offer of a silent worker was no attempt');
$hipq->set('hipq.heartbeat_timeout' => '1d');
$hipq->sql_as('app', "SELECT hipq.heartbeat($four)");
is_given($job, 'offered 1 four', 'a worker that sends a heartbeat again gets jobs again');

# ---- throttles, priorities and pauses
finish($job);
$hipq->set('hipq.clock_offset' => 0);
$hipq->sql_as('app', "SELECT hipq.deregister_worker($four)");
ok(worker_gone('four'), 'a deregistered worker that was silent is removed');
$hipq->sql(q{SELECT hipq.alter_queue('app.out', throttle_limit => 2)});
my $five = register('five', capacity => 10, prefetch => 10);
@jobs = split /\n/, $hipq->sql(q{SELECT hipq.enqueue('send', queue => 'app.out',
	priority => priority) FROM unnest('{5, 4, 3}'::integer[]) AS priority});
is_given($jobs[2], 'offered 1 five', 'the job of the highest priority is given within a throttle');
is_given($jobs[1], 'offered 1 five', 'the job of the next priority is given within a throttle');
is(unmet_conditions($jobs[0]), 'throttle of queue', 'the last job waits for the throttle');
finish($jobs[2]);
is_given($jobs[0], 'offered 1 five', 'the last job is given when the throttle has room');
my $inside = $hipq->enqueue('inside');
is($hipq->sql("SELECT bool_and(passed)
		FROM hipq.why($inside) WHERE condition = 'throttle of queue'"), 'f',
	'jobs of external workers count for the throttles of executors');
finish($jobs[1]);
is($hipq->outcome($inside), 'succeeded',
	"a job in the server starts when a worker's job leaves room in the throttle");
finish($jobs[0]);
$hipq->sql(q{SELECT hipq.alter_queue('app.out', throttle_limit => 0);
	SELECT hipq.pause('app.out', 'send')});
$job = $hipq->enqueue('send');
is(unmet_conditions($job), 'pause', 'a job of a paused type is not given to a worker');
$hipq->sql(q{SELECT hipq.resume('app.out', 'send')});
is_given($job, 'offered 1 five', 'a job of a resumed type is given to a worker');
finish($job);

# ---- a queue is paused while the scheduler works through its lanes
$hipq->create_queue('app.also');
$hipq->sql(q{SELECT hipq.register_job_type('app.also', 'send', handler_kind => 'notify')});
my $also = $hipq->sql_as('app', q{SELECT hipq.register_worker('also', '{app.also}', '{send}')});
$points->arm('after-offer', 'wait');
@jobs = split /\n/, $hipq->sql(q{SELECT hipq.enqueue('send', queue => 'app.out',
	priority => priority) FROM unnest('{3, 4}'::integer[]) AS priority});
ok($points->wait_held('after-offer'), 'the first of two jobs is given');
$hipq->sql(q{SELECT hipq.pause('app.out')});
$points->reset;
$job = $hipq->enqueue('send', q{queue => 'app.also'});
ok($hipq->wait_until(q{SELECT queue_depth FROM hipq.workers WHERE name = 'also'}, 1),
	'a job of another queue is given after one queue was paused');
is_row($jobs[1], 'initial 0',
	'a job of a queue that was paused during the dispatch waits');
$hipq->sql(q{SELECT hipq.resume('app.out')});
is_given($jobs[1], 'offered 1 five',
	'a job of a queue that was paused during the dispatch is given after resume()');
finish($_) foreach @jobs;

# ---- a dropped queue
$hipq->sql(q{SELECT hipq.drop_queue('app.also', force => true)});
ok(worker_gone('also'), 'a dropped queue removes the workers that served only this queue');
ok($hipq->wait_until("SELECT count(*) FROM hipq._workers() WHERE worker_id = $also", 0),
	"the entry in shared memory of a dropped queue's worker is free");
unlike(slurp_file($node->logfile), qr/is not there any more|cannot rescue job/,
	'the scheduler does not look for jobs of a dropped queue');

# ---- the scheduler ends during a dispatch
foreach my $point (qw(before-dispatch before-offer after-offer))
{
	foreach my $end (qw(TERM KILL))
	{
		$points->arm($point, 'wait');
		$job = $hipq->enqueue('send');
		ok($points->wait_held($point), "the scheduler is held at $point");
		my ($scheduler) = HipqFaults::pids_of($hipq, 'hipq scheduler');
		kill $end, $scheduler;
		ok($hipq->wait_until("SELECT count(*) FROM pg_stat_activity WHERE pid = $scheduler", 0),
			"the scheduler at $point ends by SIG$end");
		$points->reset;
		is_given($job, 'offered 1 five', "$point, SIG$end: the job is given once");
		# After a crash the scheduler must first find the job.
		$hipq->wait_until($depths, 'five 1') if $end eq 'KILL';
		is(depths(), 'five 1', "$point, SIG$end: the job is counted once");
		finish($job);
		ok($hipq->wait_until(q{SELECT queue_depth FROM hipq.workers WHERE name = 'five'}, 0),
			"$point, SIG$end: the cancelled job is not counted");
	}
}

# ---- a job ends before its worker knows of it
my $log_before = -s $node->logfile;
foreach my $point (qw(before-offer after-offer))
{
	foreach my $end (qw(cancel fail_job))
	{
		$points->arm($point, 'wait');
		$job = $hipq->enqueue('send', 'max_retries => 0');
		ok($points->wait_held($point), "$end, $point: the scheduler is held");
		$hipq->sql("SELECT hipq.$end($job, 'by hand')");
		$points->reset;
		my $next = $hipq->enqueue('send');
		is_given($next, 'offered 1 five', "$end, $point: the worker is offered the next job");
		is(depths(), 'five 1',
			"$end, $point: a job that ended before its worker knew of it is not counted");
		is($hipq->sql_as('app', "SELECT string_agg(id::text, ' ') FROM hipq.claim($five, 10)"),
			$next, "$end, $point: the worker does not claim the job that ended");
		finish($next);
	}
}
unlike(slurp_file($node->logfile, $log_before), qr/WARNING/,
	'a job that ends before its worker knows of it causes no warning');

# ---- a claim that is rolled back leaves the offers standing
my $client = $hipq->session(role => 'app');
@jobs = map { $hipq->enqueue('send') } 1 .. 3;
is_given($_, 'offered 1 five', 'three jobs are given before a claim is rolled back') foreach @jobs;
$client->query_safe('BEGIN');
is(claim($five, 2, $client), "$jobs[0] 1, $jobs[1] 1", 'a claim accepts the earliest jobs');
is($hipq->sql(counts('five')), '2 1', 'jobs of a claim that has not committed count as running');
is($hipq->sql_as('app', "BEGIN; SELECT id FROM hipq.claim($five, 10); ROLLBACK"), $jobs[2],
	'another session of the worker claims the rest');
$client->query_safe('ROLLBACK');
is($hipq->sql(counts('five')), '0 3', 'jobs of a claim that is rolled back are offered at once');
is_row($_, 'offered 1 five', 'a job of a claim that is rolled back is offered as before')
	foreach @jobs;
is(claim($five, 1), "$jobs[0] 1", 'the next claim accepts the earliest job that was rolled back');
$client->query_safe('BEGIN');
is(claim($five, 1, $client), "$jobs[1] 1", 'a transaction claims a job before a savepoint');
$client->query_safe('SAVEPOINT one');
is(claim($five, 1, $client), "$jobs[2] 1", 'a transaction claims a job after a savepoint');
$client->query_safe('ROLLBACK TO one');
is($hipq->sql(counts('five')), '2 1', 'a rollback to a savepoint offers the later job again');
is(claim($five, 10, $client), "$jobs[2] 1", 'a transaction can claim the later job again');
$client->query_safe('ROLLBACK TO one; COMMIT');
is_row($_, 'accepted 1 five', 'a job claimed before a savepoint is accepted') foreach @jobs[0, 1];
is_row($jobs[2], 'offered 1 five', 'a job claimed after a savepoint is offered');
$client->query_safe('BEGIN; SAVEPOINT one');
is(claim($five, 10, $client), "$jobs[2] 1", 'a claim after a savepoint that is released');
$client->query_safe('RELEASE one; ROLLBACK');
is($hipq->sql(counts('five')), '2 1',
	'the rollback of a transaction offers the job of a released savepoint again');
$client->query_safe('BEGIN');
is(claim($five, 10, $client), "$jobs[2] 1", 'a session claims a job before it ends');
$client->quit;
ok($hipq->wait_until(row($jobs[2]), 'offered 1 five'),
	'a job that an ended session had claimed is offered again');
is(claim($five, 10), "$jobs[2] 1", 'a job that was rolled back four times is accepted');
is($hipq->sql_as('app', "SELECT hipq.complete($_, 1)"), '', 'a job that was rolled back ends')
	foreach @jobs;
is($hipq->sql(counts('five')), '0 0', 'no job is counted after claims that were rolled back');

# ---- a job changes while it is offered
sub is_put_back
{
	my ($id, $what) = @_;
	is(claim($five, 10), '', "$what while it is offered is not accepted");
	is_row($id, 'initial 0', "$what while it is offered waits again");
	is($hipq->sql(counts('five')), '0 0', "$what while it is offered is not counted any more");
	return;
}
$job = $hipq->enqueue('send');
foreach my $names (q('app.out'), q('app.out', 'send'))
{
	is_given($job, 'offered 1 five', "a job is given before a pause of $names");
	$hipq->sql("SELECT hipq.pause($names)");
	is_put_back($job, "a job that is paused by $names");
	$hipq->sql("SELECT hipq.resume($names)");
}
is_given($job, 'offered 1 five', 'a job is given before it is rescheduled');
$hipq->sql("SELECT hipq.reschedule($job, hipq.now() + interval '1 h')");
is_put_back($job, 'a job that is rescheduled');
$hipq->sql("SELECT hipq.reschedule($job, hipq.now())");
is_given($job, 'offered 1 five', 'a job that is rescheduled to now is given again');
$hipq->sql("UPDATE hipq.job SET time_windows = lower(to_char(hipq.now()
	+ interval '3 days', 'dy')) || ' 09:00-10:00' WHERE id = $job");
is_put_back($job, 'a job whose windows close');
$hipq->sql("UPDATE hipq.job SET time_windows = 'NONE' WHERE id = $job");
is_given($job, 'offered 1 five', 'a job whose windows open is given again');
is(claim($five, 10), "$job 1", 'a job that was put back four times is accepted');
is(reasons($job), '', 'a job that was put back four times has no other attempt');
finish($job);
$hipq->sql(q{SELECT hipq.alter_queue('app.out', throttle_limit => 3)});
$job = $hipq->enqueue('send');
is_given($job, 'offered 1 five', 'a job that takes a part of the throttle is given');
is(claim($five, 1), "$job 1", 'a job that takes a part of the throttle is accepted');
my $next = $hipq->enqueue('send');
is_given($next, 'offered 1 five', 'a job is given within the throttle before it is made heavier');
$hipq->sql("UPDATE hipq.job SET throttle_factor = 3 WHERE id = $next");
is(claim($five, 10), '', 'a job that is made too heavy while it is offered is not accepted');
is_row($next, 'initial 0', 'a job that is made too heavy while it is offered waits again');
is(unmet_conditions($next), 'throttle of queue',
	'a job that is made too heavy while it is offered waits for the throttle');
finish($job);
is_given($next, 'offered 1 five', 'a job that was made heavier is given when there is room');
is(claim($five, 10), "$next 1", 'a job that was made heavier is accepted');
is($hipq->sql('SELECT max(used) FROM hipq._limiters()'), 3000,
	'a job that was made heavier counts by its new weight');
finish($next);
$hipq->sql(q{SELECT hipq.alter_queue('app.out', throttle_limit => 0)});

# ---- jobs that are offered cost the scheduler nothing, and stand before no other job
sub switches
{
	my ($scheduler) = HipqFaults::pids_of($hipq, 'hipq scheduler');
	return 0 unless $scheduler;
	return slurp_file("/proc/$scheduler/status") =~ /^voluntary_ctxt_switches:\s+(\d+)/m ? $1 : 0;
}
# The first scheduler after a crash offers jobs before their lane is known; the next one reads it.
sub crash
{
	HipqFaults::inject($hipq, 'kill backend');
	ok($hipq->wait_until("SELECT queue_depth >= 3 FROM hipq.workers WHERE name = 'five'"),
		'after a crash a worker is offered its jobs again');
	my ($scheduler) = HipqFaults::pids_of($hipq, 'hipq scheduler');
	kill 'TERM', $scheduler;
	# The next one begins when there is something to do.
	$hipq->sql("UPDATE hipq.job SET priority = priority WHERE id = $jobs[0]");
	ok($hipq->wait_until("SELECT count(*) FROM pg_stat_activity WHERE pid <> $scheduler
			AND backend_type = 'hipq scheduler'", 1), 'another scheduler begins');
	return;
}
my %events = (
	'an offered job was changed' =>
		sub { $hipq->sql("UPDATE hipq.job SET priority = priority WHERE id = $jobs[1]") },
	'a crash' => \&crash);
foreach my $event (reverse sort keys %events)
{
	@jobs = map { $hipq->enqueue('send') } 1 .. 3;
	ok($hipq->wait_until(counts('five'), '0 3'), 'a worker is offered jobs, and has room for more');
	$events{$event}->();
	my $rests = 0;
	$hipq->sql('SELECT pg_sleep(2)');
	foreach (1 .. 5)    # seconds
	{
		my $before = switches();
		$hipq->sql('SELECT pg_sleep(1)');
		$rests = switches() - $before < 20;
		last if $rests;
	}
	ok($rests, "the scheduler rests while jobs are offered after $event");
	push @jobs, map { $hipq->enqueue('send') } 1 .. 18;
	ok($hipq->wait_until(counts('five'), '0 20'), 'a worker is offered as many jobs as it takes');
	is(unmet_conditions($jobs[20]), 'worker',
		"no offered job stands before one that waits after $event");
	$events{$event}->();
	is(unmet_conditions($jobs[20]), 'worker',
		"no offered job stands before one that waits after $event again");
	$hipq->sql(q{SELECT hipq.cancel_jobs('app.out', 'send')});
	ok($hipq->wait_until(counts('five'), '0 0'), 'cancelled jobs are not offered any more');
}

# ---- another session has the row of an offered job locked
foreach my $level ('READ COMMITTED', 'REPEATABLE READ')
{
	my $holder = $hipq->session;
	@jobs = ($hipq->enqueue('send'));
	$holder->query_safe("BEGIN; SELECT FROM hipq.app_out WHERE id = $jobs[0] FOR UPDATE");
	push @jobs, $hipq->enqueue('send');
	is_given($_, 'offered 1 five', "$level: a job is given whether or not its row is locked")
		foreach @jobs;
	my $claim = sub { return $hipq->sql_as('app', "BEGIN ISOLATION LEVEL $level;
		SELECT id FROM hipq.claim($five, 10); COMMIT") };
	is($claim->(), $jobs[1], "$level: a claim passes over a job whose row is locked");
	is_row($jobs[0], 'offered 1 five', "$level: a job whose row is locked stays offered");
	is($hipq->sql(counts('five')), '1 1', "$level: a job whose row is locked counts as offered");
	$holder->quit;
	is($claim->(), $jobs[0], "$level: a job is accepted when its row is free");
	finish($_) foreach @jobs;
}

# ---- sessions of one worker claim at once, and never run more than its capacity
$hipq->sql(q{SELECT hipq.register_job_type('app.out', 'pair', handler_kind => 'notify')});
my $pair = $hipq->sql_as('app', q{SELECT hipq.register_worker('pair', '{app.out}', '{pair}',
	capacity => 2, prefetch => 4)});
@jobs = map { $hipq->enqueue('pair') } 1 .. 6;
ok($hipq->wait_until(counts('pair'), '0 6'), 'a worker is offered jobs beyond its capacity');
my @sessions = map { $hipq->session(role => 'app') } 1 .. 3;
$_->query_safe('BEGIN') foreach @sessions;
is(claim($pair, 1, $sessions[0]), "$jobs[0] 1", 'one session of a worker claims one job');
is(claim($pair, 10, $sessions[1]), "$jobs[1] 1", 'a second session claims what capacity is left');
is(claim($pair, 10, $sessions[2]), '', 'a third session claims nothing while capacity is taken');
$sessions[0]->query_safe('ROLLBACK');
is(claim($pair, 10, $sessions[2]), "$jobs[0] 1",
	'a rollback leaves its capacity to other sessions');
$_->query_safe('COMMIT') foreach @sessions[1, 2];
is($hipq->sql(counts('pair')), '2 4', 'a worker runs as many jobs as its capacity');
$_->quit foreach @sessions;
$hipq->sql(q{SELECT hipq.cancel_jobs('app.out', 'pair')});
$hipq->sql(q{CREATE TABLE seen (running integer); GRANT ALL ON seen TO app;
	SELECT count(hipq.enqueue('pair')) FROM generate_series(1, 200)});
my $script = $node->basedir . '/claims.sql';
append_to_file($script, qq{
\\set more random(0, 2)
BEGIN;
SELECT coalesce(array_agg(id), '{}') AS ids, coalesce(array_agg(attempt), '{}') AS attempts
	FROM hipq.claim($pair, 1 + :more) \\gset
INSERT INTO seen SELECT count(*) FROM hipq.app_out WHERE state = 'running' AND worker_id = $pair;
\\if :more = 2
ROLLBACK;
\\else
COMMIT;
SELECT hipq.complete_attempts(':ids', ':attempts');
\\endif
});
$node->command_ok([ 'pgbench', '-n', '-f', $script, '-c', 4, '-j', 2, '-t', 50, '-U', 'app', '-d',
		$node->connstr('postgres') ], 'four sessions of one worker meet no error');
is($hipq->sql('SELECT max(running) FROM seen'), 2,
	'four sessions of one worker run as many jobs as its capacity, and never more');
cmp_ok($hipq->sql(q{SELECT count(*) FROM hipq.app_out WHERE job_type = 'pair' AND state = 'final'
		AND error = 'NONE'}), '>', 20, 'four sessions of one worker complete jobs');
is($hipq->sql(q{SELECT max(attempt) FROM hipq.app_out WHERE job_type = 'pair'}), 1,
	'claims of four sessions that are rolled back use no attempt');
$hipq->sql_as('app', "SELECT hipq.deregister_worker($pair)");
$hipq->sql(q{SELECT hipq.cancel_jobs('app.out', 'pair'); DROP TABLE seen});
ok(worker_gone('pair'), 'the worker of four sessions is removed');

# ---- an error during a dispatch: the scheduler cannot compute the weight of a job
$hipq->sql(q{SELECT hipq.alter_queue('app.out', throttle_limit => 100)});
@jobs = map { $hipq->enqueue('send', q{scheduled_run_time => now() + interval '1 h',
	worker => 'five'}) } 1 .. 3;
$hipq->sql(qq{SET session_replication_role = replica;
	UPDATE hipq.app_out_live SET throttle_factor = 1e17 WHERE id = $jobs[1]});
$hipq->set('hipq.clock_offset' => 3601);
is_given($jobs[$_], 'offered 1 five', 'a job is given beside one whose dispatch fails')
	foreach 0, 2;
is_row($jobs[1], 'initial 0', 'a job whose dispatch fails waits');
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'job set aside'}, 1),
	'an alert reports the job whose dispatch failed');
my $complaint = qr/WARNING:  cannot give job $jobs[1] in queue "app.out" to a worker: bigint out/;
$node->wait_for_log($complaint);
my $complaints = () = slurp_file($node->logfile) =~ /$complaint/g;
is($complaints, 1, 'the log reports the job whose dispatch failed once');
$hipq->sql(qq{SET session_replication_role = replica;
	UPDATE hipq.app_out_live SET throttle_factor = 1 WHERE id = $jobs[1]});
is_given($jobs[1], 'offered 1 five', 'a job whose dispatch failed is tried again');
$hipq->sql(q{SELECT hipq.alter_queue('app.out', throttle_limit => 0)});

# ---- an error while the scheduler takes a job back
$hipq->sql(qq{
	CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN
		RAISE 'not this one'; END \$\$;
	CREATE TRIGGER no BEFORE UPDATE ON hipq.app_out_live FOR EACH ROW
		WHEN (NEW.id = $jobs[1] AND NEW.state = 'retry') EXECUTE FUNCTION no()});
$hipq->set('hipq.clock_offset' => 4300);
is_given($jobs[$_], 'offered 2 five',
	'a job is taken back and given again beside one that cannot be')
	foreach 0, 2;
is_row($jobs[1], 'offered 1 five', 'a job that cannot be taken back does not change');
like(slurp_file($node->logfile),
	qr/WARNING:  cannot rescue job $jobs[1] in queue "app.out": not this one/,
	'the log reports the job that cannot be taken back');
$hipq->sql('DROP TRIGGER no ON hipq.app_out_live');
$hipq->set('hipq.clock_offset' => 4400);
is_given($jobs[1], 'offered 2 five', 'a job that could not be taken back is tried again');
$hipq->set('hipq.clock_offset' => 0);
finish($_) foreach @jobs;

# ---- an error while a worker accepts a job
@jobs = map { $hipq->enqueue('send') } 1 .. 3;
is_given($_, 'offered 1 five', 'a job is given before its acceptance fails') foreach @jobs;
$hipq->sql(qq{CREATE TRIGGER no BEFORE UPDATE ON hipq.app_out_live FOR EACH ROW
	WHEN (NEW.id = $jobs[1] AND NEW.state = 'running') EXECUTE FUNCTION no()});
my $log_of_claims = -s $node->logfile;
is(claim($five, 3), "$jobs[0] 1, $jobs[2] 1",
	'a claim accepts the jobs beside one whose acceptance fails');
is_row($jobs[1], 'initial 0', 'a job whose acceptance fails waits, and has used no attempt');
ok($node->wait_for_log(qr/WARNING:  cannot give job $jobs[1] in queue "app.out" to a worker: not/,
		$log_of_claims), 'the log reports the job whose acceptance fails');
$hipq->sql('DROP TRIGGER no ON hipq.app_out_live');
$hipq->set('hipq.clock_offset' => 11);
is_given($jobs[1], 'offered 1 five', 'a job whose acceptance failed is offered again after 10 s');
is(claim($five, 3), "$jobs[1] 1", 'a job whose acceptance failed can be accepted');
finish($_) foreach @jobs;
$hipq->set('hipq.clock_offset' => 0);

# ---- a trigger suppresses the change with which a worker accepts a job
$hipq->sql(q{CREATE FUNCTION suppress() RETURNS trigger LANGUAGE plpgsql
	AS 'BEGIN RETURN NULL; END'});
@jobs = map { $hipq->enqueue('send') } 1 .. 2;
is_given($_, 'offered 1 five', 'a job is given before a trigger suppresses its acceptance')
	foreach @jobs;
$hipq->sql(qq{CREATE TRIGGER suppress BEFORE UPDATE ON hipq.app_out_live FOR EACH ROW
	WHEN (NEW.id = $jobs[0] AND NEW.state = 'running') EXECUTE FUNCTION suppress()});
is(claim($five, 3), "$jobs[1] 1", 'a claim passes over a job whose acceptance is suppressed');
is_row($jobs[0], 'offered 1 five', 'a job whose acceptance is suppressed stays offered');
is($hipq->sql(counts('five')), '1 1', 'a job whose acceptance is suppressed is not running');
$hipq->sql('DROP TRIGGER suppress ON hipq.app_out_live');
is(claim($five, 3), "$jobs[0] 1", 'a job whose acceptance was suppressed is accepted later');
finish($_) foreach @jobs;

# ---- workers keep the jobs that they have accepted over a restart and a crash; the others are
# offered again
$hipq->sql("SELECT hipq.alter_queue('app.out', throttle_limit => 5)");
@jobs = map { $hipq->enqueue('send', 'throttle_factor => 2') } 1 .. 3;
is_given($jobs[$_], 'offered 1 five', 'two jobs are given before a restart') foreach 0, 1;
is(claim($five, 1), "$jobs[0] 1", 'one of two jobs is accepted before a restart');
sub is_as_before
{
	my ($when) = @_;
	is_given($jobs[0], 'accepted 1 five', "$when the worker has the job that it accepted");
	is_given($jobs[1], 'offered 1 five', "$when the job that was not accepted is offered again");
	is(reasons($jobs[1]), '', "$when the offer that has gone was no attempt");
	ok($hipq->wait_until(counts('five'), '1 1'), "$when shared memory has the worker's jobs");
	ok($hipq->wait_until(unmet($jobs[2]), 'throttle of queue'),
		"$when the worker's jobs hold their throttle");
	return;
}
foreach my $stop (qw(fast immediate))
{
	$node->stop($stop);
	$node->start;
	is_as_before("after a restart ($stop)");
}
$client = $hipq->session(role => 'app');
$client->query_safe('BEGIN');
is(claim($five, 1, $client), "$jobs[1] 1", 'a session claims a job, and has not committed');
HipqFaults::inject($hipq, 'kill backend');
eval { $client->quit };
is_as_before('after a crash');
$hipq->sql("SELECT hipq.cancel($jobs[0])");
is_given($jobs[2], 'offered 1 five', 'a job that waits for the throttle is given after a crash');
is(claim($five, 3), "$jobs[1] 1, $jobs[2] 1", 'jobs that are offered again are accepted once');
finish($_) foreach @jobs[1, 2];

# ---- a throttle that is set later counts the jobs of workers
$hipq->sql(q{SELECT hipq.alter_queue('app.out', throttle_limit => 0)});
@jobs = map { $hipq->enqueue('send') } 1 .. 3;
is_given($_, 'offered 1 five', 'a job is given without a throttle') foreach @jobs;
is(claim($five, 2), "$jobs[0] 1, $jobs[1] 1", 'two jobs are accepted without a throttle');
$hipq->sql(q{SELECT hipq.alter_queue('app.out', throttle_limit => 2)});
is(claim($five, 10), '', 'a new throttle counts the jobs of workers before the next is accepted');
push @jobs, $hipq->enqueue('send');
foreach my $waiting (@jobs[2, 3])
{
	ok($hipq->wait_until("SELECT count(*) FROM hipq.why($waiting)
			WHERE condition = 'throttle of queue' AND NOT passed", 1),
		'a new throttle counts the jobs of workers');
	is_row($waiting, 'initial 0', 'a job waits for a new throttle');
}
finish($jobs[0]);
is_given($jobs[2], 'offered 1 five',
	'a job that waits for a new throttle is given when another one has ended');
is(claim($five, 10), "$jobs[2] 1", 'a job that waited for a new throttle is accepted');
is_row($jobs[3], 'initial 0', 'the next job waits for a new throttle');
finish($_) foreach @jobs[1 .. 3];
$hipq->sql(q{SELECT hipq.alter_queue('app.out', throttle_limit => 0)});

# ---- no worker for longer than worker_wait_ttl
$hipq->sql(q{SELECT hipq.alter_job_type('app.out', 'send', worker_wait_ttl => 100,
	max_retries => 0)});
$hipq->sql_as('app', "SELECT hipq.deregister_worker($five)");
ok(worker_gone('five'), 'the only worker is removed');
$job = $hipq->enqueue('send');
is(unmet_conditions($job), 'worker', 'a job without a worker waits, and why() says so');
$hipq->set('hipq.clock_offset' => 101);
ok($hipq->wait_until("SELECT outcome || ' ' || retry_reason || ': ' || error
		FROM hipq.jobs_detail WHERE id = $job",
		'failed worker_unavailable: no external worker could be given the job within 100 s'),
	'a job without a worker fails after worker_wait_ttl');
is($hipq->sql("SELECT attempt || ' ' || (SELECT string_agg(attempt || ' ' || reason, ',')
		FROM hipq.attempts WHERE job_id = id) FROM hipq.jobs WHERE id = $job"),
	'0 0 worker_unavailable', 'a job without a worker fails without a charged attempt');
is($hipq->sql("SELECT reason FROM hipq.dead_letters_detail WHERE job_id = $job"),
	'worker_unavailable', 'a job without a worker has a dead letter');

$hipq->sql(q{SELECT hipq.alter_job_type('app.out', 'send', worker_wait_ttl => 2)});
$start = time;
is($hipq->outcome_of('send'), 'failed', 'a job fails after worker_wait_ttl on an idle server');
$hipq->in_time(time - $start, 4, 'a worker_wait_ttl of 2 s ends within 4 s');
$hipq->sql(q{SELECT hipq.alter_job_type('app.out', 'send', worker_wait_ttl => 1)});
@jobs = split /\n/, $hipq->sql(q{SELECT hipq.enqueue('send', scheduled_run_time => now() + 101.3
	* interval '1 s' + i * interval '400 ms') FROM generate_series(0, 3) AS i});
is($hipq->outcome($_), 'failed', 'a job that is due later fails after worker_wait_ttl')
	foreach @jobs;
my $late = $hipq->sql(q{SELECT max(extract(epoch FROM update_time - scheduled_run_time))
	FROM hipq.jobs_detail WHERE id IN (} . join(', ', @jobs) . ')');
$hipq->in_time($late, 2, 'each job fails within a second after worker_wait_ttl');

# ---- worker_wait_ttl counts only the time without a worker
sub looks
{
	return $hipq->sql(q{SELECT coalesce(max(times), 0) FROM hipq.alerts WHERE alert = 'no worker'});
}
sub looked_since
{
	my ($looks, $what) = @_;
	ok($hipq->wait_until("SELECT max(times) > $looks FROM hipq.alerts_detail
			WHERE alert = 'no worker'"), $what);
	return;
}
finish($_) foreach split /\n/, $hipq->sql(q{SELECT id FROM hipq.app_out_live});  # earlier jobs
$hipq->sql(q{SELECT hipq.alter_job_type('app.out', 'send', worker_wait_ttl => 100)});
my $busy = register('busy');
@jobs = map { $hipq->enqueue('send', 'timeout => 86400') } 1 .. 3;
is($hipq->sql_as('app', "SELECT id FROM hipq.claim($busy, 1, wait => '10 s')"), $jobs[0],
	'a worker is present and busy');
$hipq->set('hipq.clock_offset' => 1000);
my $looks = looks();
$hipq->sql_as('app', "SELECT hipq.drain_worker($busy)");
looked_since($looks, 'the scheduler notices that the only worker drains');
is_row($jobs[1], 'initial 0',
	'a job that was due before has the whole worker_wait_ttl left');
$looks = looks();
$hipq->set('hipq.clock_offset' => 1050);
looked_since($looks, 'the scheduler checks the queue at 1050 s');
is_row($jobs[1], 'initial 0', 'no job fails before worker_wait_ttl has passed');
$hipq->sql(q{SELECT hipq.pause('app.out', 'send')});
$hipq->set('hipq.clock_offset' => 2000);
$looks = looks();
$hipq->sql(q{SELECT hipq.resume('app.out', 'send')});
looked_since($looks, 'the scheduler checks the queue after a pause');
is_row($jobs[1], 'initial 0',
	'the time of a pause does not count toward worker_wait_ttl');
$hipq->set('hipq.clock_offset' => 2102);
is($hipq->outcome($_), 'failed', 'a job fails worker_wait_ttl after its type was resumed')
	foreach @jobs[ 1, 2 ];
finish($jobs[0]);
$hipq->sql_as('app', "SELECT hipq.deregister_worker($busy)");
ok(worker_gone('busy'), 'a deregistered worker that was busy is removed');

# ---- worker_wait_ttl counts from the end of the last worker
sub is_failed_by
{
	my ($id, $from, $what) = @_;
	$hipq->outcome($id);
	my $late = $hipq->sql(
		"SELECT extract(epoch FROM update_time - '$from') FROM hipq.jobs_detail WHERE id = $id");
	cmp_ok($late, '>', 0.8, "$what: not earlier");
	$hipq->in_time($late, 2, $what);
	return;
}
$hipq->sql(q{SELECT hipq.alter_job_type('app.out', 'send', worker_wait_ttl => 1)});
$hipq->set('hipq.heartbeat_timeout' => '5s', 'hipq.worker_grace' => '1min');
my $silent = register('silent');
$job = $hipq->enqueue('send');
is($hipq->sql_as('app', "SELECT id FROM hipq.claim($silent, 1, wait => '10 s')"), $job,
	'a worker claims a job and is busy');
$hipq->sql_as('app', "SELECT hipq.heartbeat($silent)");
my $behind = $hipq->enqueue('send');
is_failed_by($behind, $hipq->sql("SELECT last_heartbeat + interval '5 s' FROM hipq.workers
		WHERE name = 'silent'"), 'worker_wait_ttl counts from the end of hipq.heartbeat_timeout');
$hipq->set('hipq.heartbeat_timeout' => '1d');
finish($job);
$hipq->sql_as('app', "SELECT hipq.deregister_worker($silent)");
my $short_lived = $hipq->session(role => 'app');
my ($bound) = $short_lived->query_safe(
	q{SELECT hipq.register_worker('bound', '{app.out}', '{send}', listen => true)}) =~ /(\d+)/;
$job = $hipq->enqueue('send');
is_given($job, 'offered 1 bound',
	'a worker that is bound to a session gets a job before its session ends');
$behind = $hipq->enqueue('send');
my $before_its_end = $hipq->sql(q{SELECT clock_timestamp() + interval '2102 s'});
$short_lived->quit;
is_failed_by($behind, $before_its_end,
	"worker_wait_ttl counts from the end of the worker's session");
finish($job);
$hipq->set('hipq.worker_grace' => '1s');
ok(worker_gone('bound'), 'a worker whose session ended is removed');

# ---- the scheduler chooses workers by health, and then by the greater of two queue depths: the one
# that they report, and the number of jobs that they got. Unhealthy workers get no job
$hipq->set('hipq.clock_offset' => 0);
$hipq->sql(q{SELECT hipq.alter_job_type('app.out', 'send', reset => '{worker_wait_ttl}')});
my @reports = ([ C => 'degraded', 10 ], [ B => 'healthy', 20 ], [ A => 'healthy', 5 ],
	[ D => 'unhealthy', 0 ]);
my %worker = map { $_->[0] => register($_->[0]) } @reports;
my $turned = register('E', capabilities => q('{"health": {"status": "unhealthy"}}'));
$hipq->sql_as('app',
	qq(SELECT hipq.heartbeat($worker{$_->[0]}, '{"status": "$_->[1]", "queue_depth": $_->[2]}')))
	foreach @reports;
is($hipq->sql(q{SELECT string_agg(name, ' ') FROM hipq.workers}), 'A B C D E',
	'view workers shows the best worker first');
@jobs = ();
foreach my $name (qw(A B C))
{
	push @jobs, $hipq->enqueue('send');
	is_given($jobs[-1], "offered 1 $name", "the best worker gets the job: $name");
}
push @jobs, $hipq->enqueue('send');
is(unmet_conditions($jobs[-1]), 'worker', 'a job waits although unhealthy workers have room');
$hipq->sql_as('app', "SELECT hipq.heartbeat($worker{D})");
is_row($jobs[-1], 'initial 0',
	'a heartbeat without a report does not make a worker healthy');
$hipq->sql_as('app', "SELECT hipq.deregister_worker($_)") foreach values %worker, $turned;
finish($_) foreach @jobs;
ok(worker_gone($_), "worker $_ is removed") foreach sort keys %worker, 'E';

# ---- an unhealthy worker gets a trial
$hipq->set('hipq.probe_interval' => '1min');
my $sick = $hipq->sql_as('app',
	q{SELECT hipq.register_worker('sick', '{app.out}', '{send}', capacity => 100)});
$hipq->sql_as('app', qq(SELECT hipq.heartbeat($sick, '{"consecutive_failures": 10}')));
$job = $hipq->enqueue('send');
is(unmet_conditions($job), 'worker', 'a worker that has just become unhealthy gets no job');
$hipq->set('hipq.clock_offset' => 61);
is_given($job, 'offered 1 sick', 'an unhealthy worker gets a trial after hipq.probe_interval');
my $second = $hipq->enqueue('send');
is(unmet_conditions($second), 'worker', 'an unhealthy worker gets one trial at a time');
finish($_) foreach $second, $job;

# ---- a trial that fails before the worker accepts the job does not count
$hipq->sql_as('app', "SELECT hipq.deregister_worker($sick)");
$hipq->set('hipq.clock_offset' => 0, 'hipq.probe_interval' => '1h');
foreach my $trouble ('an error', 'a locked row', 'a pause')
{
	$hipq->set('hipq.clock_offset' => 0);
	$sick = $hipq->sql_as('app',
		qq{SELECT hipq.register_worker('sick', '{app.out}', '{send}', take_over => true)});
	$hipq->sql_as('app', qq(SELECT hipq.heartbeat($sick, '{"consecutive_failures": 10}')));
	$hipq->sql(q{SELECT hipq.pause('app.out', 'send')});
	$job = $hipq->enqueue('send');
	my $holder = $hipq->session;
	$holder->query_safe("BEGIN; SELECT id FROM hipq.app_out WHERE id = $job FOR UPDATE")
		if $trouble eq 'a locked row';
	$points->arm('before-offer', 'error') if $trouble eq 'an error';
	$hipq->set('hipq.clock_offset' => 3601);  # the first trial is due
	$hipq->sql(q{SELECT hipq.resume('app.out', 'send')});
	if ($trouble eq 'an error')
	{
		ok($points->wait_fired('before-offer'), 'the dispatch of a trial ends with an error');
	}
	else
	{
		is_given($job, 'offered 1 sick', "the worker is given a trial before $trouble");
		$hipq->sql(q{SELECT hipq.pause('app.out', 'send')}) if $trouble eq 'a pause';
		is(claim($sick, 1), '', "the worker does not accept its trial during $trouble");
	}
	if ($trouble eq 'a pause')
	{
		is_row($job, 'initial 0', 'a trial that is paused goes back');
		$hipq->sql(q{SELECT hipq.resume('app.out', 'send')});
	}
	$holder->quit;
	is_given($job, 'offered 1 sick', "after $trouble the worker has a trial at once");
	is(depths(), 'sick 1', "after $trouble the job of the trial is counted");
	is(claim($sick, 1), "$job 1", "after $trouble the worker accepts its trial");
	finish($job);
}

# ---- many jobs that are not accepted make few lines in the log
finish($_) foreach split /\n/, $hipq->sql(q{SELECT id FROM hipq.app_out_live});
$hipq->sql_as('app', "SELECT hipq.deregister_worker($sick)");
register('many', capacity => 30);
$hipq->set('hipq.clock_offset' => 0);
my $log_end = -s $node->logfile;
$hipq->sql(q{SELECT hipq.alter_job_type('app.out', 'send', queue_ttl => 60);
	SELECT hipq.alter_queue('app.out', throttle_limit => 0)});
$hipq->sql(q{SELECT count(hipq.enqueue('send')) FROM generate_series(1, 30)});
ok($hipq->wait_until(q{SELECT queue_depth FROM hipq.workers WHERE name = 'many'}, 30),
	'a worker gets thirty jobs');
$hipq->set('hipq.clock_offset' => 61);
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.app_out_live}, 0),
	'no job is accepted within queue_ttl');
my $expiry = qr/LOG:  job \d+ was not accepted by worker "many"/;
$node->wait_for_log(qr/(?:$expiry.*){10}/s, $log_end);    # logged after the commit
my $lines = () = slurp_file($node->logfile, $log_end) =~ /$expiry/g;
is($lines, 10, 'the log names ten of the jobs that were not accepted');
$hipq->set('hipq.clock_offset' => 80);
ok($node->wait_for_log(qr/LOG:  20 more jobs were not accepted by their workers/, $log_end),
	'the log has the number of the other jobs that were not accepted');

# ---- no executors
$hipq->sql(q{SELECT hipq.deregister_worker(worker_id) FROM hipq.workers});
$hipq->set('hipq.clock_offset' => 0, 'hipq.max_executors' => 0);
my $alone = register('alone');
my $outside = $hipq->enqueue('send');
$inside = $hipq->enqueue('inside');
is_given($outside, 'offered 1 alone', 'with hipq.max_executors = 0 workers get jobs');
is(claim($alone, 1), "$outside 1", 'with hipq.max_executors = 0 workers accept jobs');
is(unmet_conditions($inside), 'executor',
	'with hipq.max_executors = 0 jobs for executors wait, and why() says so');
is($hipq->sql(q{SELECT waiting_hold || ' ' || ready
		FROM hipq.queues_detail WHERE queue = 'app.out'}), '1 0',
	'with hipq.max_executors = 0 the statistics count jobs for executors as held');
$hipq->set('hipq.max_executors' => 4);
is($hipq->outcome($inside), 'succeeded',
	'jobs for executors run when hipq.max_executors is raised');

# ---- jobs of workers leave room for executors
$hipq = HipqCluster->new('full', 'hipq.max_running' => 16, 'hipq.max_owner_share' => 100,
	max_worker_processes => 8);
$hipq->create_queue('app.out');
$hipq->sql(q{
	CREATE FUNCTION fine(data jsonb) RETURNS void LANGUAGE sql AS 'SELECT';
	SELECT hipq.register_job_type('app.out', 'send', handler_kind => 'notify');
	SELECT hipq.register_job_type('app.out', 'inside', handler => 'fine')});
register('greedy', capacity => 100);
$hipq->sql(q{SELECT count(hipq.enqueue('send')) FROM generate_series(1, 40)});
ok($hipq->wait_until(q{SELECT queue_depth > 0 FROM hipq.workers}),
	'a worker gets as many jobs as there is room for');
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'jobs in flight'}, 1),
	'an alert says that jobs in flight are at their limit');
is($hipq->outcome_of('inside'), 'succeeded',
	'a job runs in an executor beside a worker with many jobs');
$hipq->set('hipq.alert_worker_depth' => 5);
is($hipq->sql(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'worker depth'}), 1,
	'an alert reports a worker that accepts no job');

done_testing();
