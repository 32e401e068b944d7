# A due job that no external worker can get fails after worker_wait_ttl, which the type, the queue
# or the server sets.
use strict;
use warnings;
use HipqCluster;
use Test::More;

my $hipq = HipqCluster->new('worker_wait', 'hipq.heartbeat_timeout' => '1d');
$hipq->create_queue('app.out');
$hipq->sql("SELECT hipq.register_job_type('app.out', '$_', handler_kind => 'notify')")
  foreach qw(send other);

my $clock = 0;
sub later { $clock += $_[0]; return $hipq->set('hipq.clock_offset' => $clock); }

# Enqueues a job that is due by the clock that later() moves.
sub enqueue
{
	my ($type, @more) = @_;
	return $hipq->enqueue($type, join ', ', 'scheduled_run_time => hipq.now()', @more);
}
sub state_of { return $hipq->sql("SELECT state FROM hipq.jobs_detail WHERE id = $_[0]"); }
sub alter_queue { return $hipq->sql("SELECT hipq.alter_queue('app.out', $_[0])"); }
sub alter_type { return $hipq->sql("SELECT hipq.alter_job_type('app.out', 'send', $_[0])"); }

# Returns the values that apply to the queue and to the type, as the views show them.
sub shown
{
	return $hipq->sql(q{SELECT queue.worker_wait_ttl, type.worker_wait_ttl
		FROM hipq.queues_detail AS queue, hipq.job_types_detail AS type
		WHERE type.job_type = 'send'});
}

# Waits until the scheduler has checked all queues. A job that no worker serves expires then.
sub scheduler_looks
{
	my $job = enqueue('other', q{expires_time => hipq.now() + interval '1 s'});
	later(2);
	return is($hipq->outcome($job), 'expired', 'the scheduler has checked all queues');
}

# Tests that a job that no worker can run fails after $seconds, and not before.
sub fails_after
{
	my ($seconds, $what) = @_;
	my $job = enqueue('send');
	scheduler_looks();
	later($seconds - 30);  # a busy machine takes some seconds for the next steps
	scheduler_looks();
	is(state_of($job), 'initial', "$what: the job waits before $seconds s are over");
	later(30);
	is($hipq->outcome($job), 'failed', "$what: the job fails after $seconds s");
	return is(
		$hipq->sql("SELECT retry_reason || ': ' || error FROM hipq.jobs_detail WHERE id = $job"),
		"worker_unavailable: no external worker could be given the job within $seconds s",
		"$what: the error names the time");
}

sub waits_for_ever
{
	my ($what) = @_;
	my $job = enqueue('send');
	scheduler_looks();
	later(100_000);
	scheduler_looks();
	is(state_of($job), 'initial', "$what: the job waits for ever");
	return $hipq->sql("SELECT hipq.cancel($job)");
}

# ---- values of the server, of the queue, and of the type
is(shown(), '300|300', "the server's value is the default");
fails_after(300, "the server's value");
alter_queue('worker_wait_ttl => 100');
is(shown(), '100|100', "the queue's value overrides the server's");
fails_after(100, "the queue's value");
alter_type('worker_wait_ttl => 50');
is(shown(), '100|50', "the type's value overrides the queue's");
fails_after(50, "the type's value");
alter_type('worker_wait_ttl => 0');
is(shown(), '100|', '0 switches worker_wait_ttl off for the type');
waits_for_ever('off for the type');
alter_type(q{reset => '{worker_wait_ttl}'});
alter_queue('worker_wait_ttl => 0');
is(shown(), '|', '0 switches worker_wait_ttl off for the queue');
waits_for_ever('off for the queue');
alter_queue(q{reset => '{worker_wait_ttl}'});
$hipq->set('hipq.worker_wait_ttl' => 0);
is(shown(), '|', '0 switches worker_wait_ttl off for the server');
waits_for_ever('off for the server');
$hipq->set('hipq.worker_wait_ttl' => '60s');
fails_after(60, 'a changed setting');

# ---- worker_wait_ttl does not count the time of a pause
foreach my $what ([ 'app.out', 'send' ], ['app.out'])
{
	my $names = join ', ', map { "'$_'" } @$what;
	my $job = enqueue('send');
	scheduler_looks();
	later(35);
	$hipq->sql("SELECT hipq.pause($names)");
	scheduler_looks();
	later(35);
	$hipq->sql("SELECT hipq.resume($names)");
	scheduler_looks();
	is(state_of($job), 'initial', "worker_wait_ttl restarts after a pause of @$what");
	later(60);
	is($hipq->outcome($job), 'failed', "worker_wait_ttl ends after a pause of @$what");
}

# ---- a job that a worker is offered does not wait for a worker
alter_type('queue_ttl => 86400');
my $worker = $hipq->sql_as('app', q{SELECT hipq.register_worker('late', '{app.out}', '{send}')});
my $offered = enqueue('send');
my $is_offered = "SELECT count(*) FROM hipq.running_detail WHERE id = $offered AND NOT is_accepted";
ok($hipq->wait_until($is_offered, 1), 'a worker is offered a job');
$hipq->sql_as('app', qq(SELECT hipq.heartbeat($worker, '{"status": "unhealthy"}')));
fails_after(60, 'beside a job that the only worker is offered');
scheduler_looks();
is($hipq->sql($is_offered), 1, 'a job that a worker is offered does not fail');
is($hipq->sql_as('app', "SELECT id, attempt FROM hipq.claim($worker)"), "$offered|1",
	'the worker accepts its job after worker_wait_ttl');

done_testing;
