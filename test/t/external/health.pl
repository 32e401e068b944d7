# An unhealthy external worker gets only trials. A failure that the worker calls final does not
# count against its health.
use strict;
use warnings;
use HipqCluster;
use Test::More;

my $hipq = HipqCluster->new('health', 'hipq.heartbeat_timeout' => '1d');
$hipq->create_queue('app.out');
$hipq->sql(q{SELECT hipq.register_job_type('app.out', 'send', handler_kind => 'notify')});

my $clock = 0;

sub register
{
	my ($name) = @_;
	my $arguments = "'$name', '{app.out}', '{send}', capacity => 100";
	return $hipq->sql_as('app', "SELECT hipq.register_worker($arguments)");
}

sub heartbeat
{
	my ($worker, $report) = @_;
	return $hipq->sql_as('app', "SELECT hipq.heartbeat($worker, '$report')");
}

sub alter_type { return $hipq->sql("SELECT hipq.alter_job_type('app.out', 'send', $_[0])"); }
sub later { $clock += $_[0]; return $hipq->set('hipq.clock_offset' => $clock); }

sub is_row
{
	my ($job, $expected, $what) = @_;
	# an offer is in shared memory alone
	my $row = "SELECT concat_ws(' ', CASE WHEN is_accepted THEN 'accepted'
			WHEN is_accepted IS NOT NULL THEN 'offered' ELSE state::text END,
			coalesce(running.attempt, job.attempt), coalesce(running.worker, worker.name),
			retry_count)
		FROM hipq.app_out AS job LEFT JOIN hipq.worker USING (worker_id)
		LEFT JOIN hipq.running_detail AS running USING (id) WHERE id = $job";
	return ok($hipq->wait_until($row, $expected), $what);
}

# Makes the worker accept the job, and fail it. Returns the job's state.
sub fail_job
{
	my ($worker, $job, $attempt, $more) = @_;
	$hipq->sql_as('app', "SELECT count(*) FROM hipq.claim($worker, 1)");
	return $hipq->sql_as('app', "SELECT hipq.fail($job, $attempt, 'no disk'" . ($more // '') . ')');
}

# ---- a failure that the worker calls final does not count against it
my $blameless = register('blameless');
foreach (1 .. 12)
{
	my $bad = $hipq->enqueue('send');
	is_row($bad, 'offered 1 blameless 0', 'a job is given to a healthy worker');
	is(fail_job($blameless, $bad, 1, ', retriable => false'), 'final',
		'fail(retriable => false) makes the job final');
}
is( $hipq->sql(
		q{SELECT health->>'status', health->>'total_executions', health->>'failed_executions'}
		  . q{ FROM hipq.workers_detail}),
	'healthy|12|0',
	'twelve jobs that fail for good do not change the health of their worker');
$hipq->sql_as('app', "SELECT hipq.deregister_worker($blameless)");

# ---- each limit of health is a setting
my $odd = register('odd');
heartbeat($odd, '{"consecutive_failures": 1}');

sub is_judged
{
	my ($expected, %settings) = @_;
	$hipq->set(%settings);
	is($hipq->sql("SELECT health->>'status' FROM hipq.workers_detail WHERE name = 'odd'"),
		$expected, join ' ', $expected, 'by', map { "$_ = $settings{$_}" } sort keys %settings);
	$hipq->sql("ALTER SYSTEM RESET $_") foreach keys %settings;
	return $hipq->reload;
}
is_judged('healthy', 'hipq.degraded_failures' => 2);
is_judged('degraded', 'hipq.degraded_failures' => 1);
is_judged('unhealthy', 'hipq.unhealthy_failures' => 1);
heartbeat($odd, '{"total_executions": 10, "failed_executions": 1}');
is_judged('degraded', 'hipq.degraded_failure_rate' => 10);
is_judged('unhealthy', 'hipq.unhealthy_failure_rate' => 10);
heartbeat($odd, '{"queue_depth": 60}');
is_judged('healthy', 'hipq.degraded_depth' => 61);
is_judged('degraded', 'hipq.degraded_depth' => 60);
heartbeat($odd, '{"queue_depth": 100}');
is_judged('unhealthy', 'hipq.unhealthy_depth' => 100);
heartbeat($odd, '{}');
$hipq->set('hipq.clock_offset' => 60);
is_judged('healthy', 'hipq.degraded_silence' => 70);
is_judged('degraded', 'hipq.degraded_silence' => 50);
is_judged('unhealthy', 'hipq.heartbeat_timeout' => 50);
$hipq->set('hipq.clock_offset' => 0);
$hipq->sql_as('app', "SELECT hipq.deregister_worker($odd)");

# ---- trials
my $glum = register('glum');
heartbeat($glum, '{"status": "unhealthy"}');
my $sick = register('sick');
heartbeat($sick, '{"consecutive_failures": 10}');
my $job = $hipq->enqueue('send');
my $next = qr/its next trial is at \d{4}-\d\d-\d\d [0-9:+]+, in (\d+ s|1 min)/;
my $sick_is = qr/"sick" has failed 10 times in a row \(hipq\.unhealthy_failures is 10\); $next\./;
like($hipq->why($job),
	qr/all of them drain or are unhealthy\. "glum" calls itself unhealthy; it gets no trial\. $sick_is/,
	'why() names the cause, the setting and the next trial of each worker');
my $aimed = $hipq->enqueue('send', q{worker => 'sick'});
like($hipq->why($aimed),
	qr/for external worker "sick", which drains or is unhealthy\. $sick_is If it is not given/,
	'why() names the cause and the next trial of the worker of an aimed job');
$hipq->sql("SELECT hipq.cancel($aimed)");
later(71);
is_row($job, 'offered 1 sick 0',
	'an unhealthy worker gets a trial unless it reports itself as unhealthy');
is(fail_job($sick, $job, 1), 'retry', 'a failed trial is not final');
is_row($job, 'retry 1 sick 0', 'a failed trial is not charged');
is( $hipq->sql("SELECT reason, detail FROM hipq.attempts_detail WHERE job_id = $job"),
	'transient_error|It was a trial of an unhealthy worker, and is not charged.',
	'the history says that the attempt was a trial');
my $able = register('able');
is_row($job, 'offered 2 able 0', 'another worker gets the job of a failed trial at once');
is(fail_job($able, $job, 2), 'final', 'a failure of a healthy worker is charged');
$hipq->sql_as('app', "SELECT hipq.deregister_worker($able)");

alter_type('queue_ttl => 10');
$job = $hipq->enqueue('send');
later(71);
is_row($job, 'offered 1 sick 0', 'an unhealthy worker gets a second trial');
later(11);
is_row($job, 'retry 1 sick 0', 'a trial that is not accepted in time is not charged');
is($hipq->attempts($job), '1 queue_timeout', 'the history shows the trial that was not accepted');
$hipq->sql("SELECT hipq.cancel($job)");

alter_type(q{queue_ttl => 600, do_not_retry_on => '{transient_error}'});
$job = $hipq->enqueue('send');
later(71);
is_row($job, 'offered 1 sick 0', 'a trial can be of a type that does not retry its failures');
is(fail_job($sick, $job, 1), 'final', 'a trial is final if its type does not retry the failure');
alter_type(q{do_not_retry_on => '{}'});

$job = $hipq->enqueue('send');
later(71);
is_row($job, 'offered 1 sick 0', 'an unhealthy worker gets a fourth trial');
is(fail_job($sick, $job, 1, ', retriable => false'), 'final',
	'a trial is final if the worker calls the failure final');

done_testing;
