# A bound worker that is given a job that it could run, and does not answer, is mute and loses the
# job: its session may be a pooler's, and its program gone.
use strict;
use warnings;
use HipqCluster;
use HipqPooler;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('mute', 'hipq.worker_grace' => '1s', 'hipq.retry_jitter' => 0);
$hipq->create_queue('app.out');
$hipq->sql("SELECT hipq.register_job_type('app.out', '$_', handler_kind => 'notify')")
	foreach qw(mail busy full idle nobody);

# A session with a worker that is bound to it.
sub bound
{
	my ($name, $type, %more) = @_;
	my $session = $hipq->session(role => 'app');
	my $arguments = join '', map { ", $_ => $more{$_}" } sort keys %more;
	my $id = ask($session,
		"SELECT hipq.register_worker('$name', '{app.out}', '{$type}', listen => true$arguments)");
	return { session => $session, id => $id };
}

sub ask
{
	my ($session, $sql) = @_;
	return $session->query_safe($sql) =~ s/Asynchronous notification[^\n]*\n?//gr =~ s/\s+$//r;
}
sub claim
{
	my ($worker) = @_;
	return ask($worker->{session}, "SELECT id FROM hipq.claim($worker->{id}, 10)");
}
sub complete
{
	my ($worker, $job) = @_;
	return ask($worker->{session}, "SELECT hipq.complete($job, 1)");
}
sub status
{
	my ($name) = @_;
	return $hipq->sql("SELECT status || ' ' || (health->>'status') FROM hipq.workers_detail
		WHERE name = '$name'");
}
sub row
{
	my ($job) = @_;
	return "SELECT concat_ws(' ', state, attempt, worker.name) FROM hipq.app_out LEFT
		JOIN hipq.worker USING (worker_id) WHERE id = $job";
}
sub is_row
{
	my ($job, $expected, $name) = @_;
	return ok($hipq->wait_until(row($job), $expected), $name);
}
sub given
{
	my ($type, $name) = @_;
	my $job = $hipq->enqueue($type);
	is_row($job, "running 1 $name", "\"$name\" is given a job");
	return $job;
}
# Moves the clock, and waits until the scheduler has looked by it: a job that no worker serves
# expires then, after the scheduler has looked at workers.
sub scheduler_looks_at
{
	my ($seconds) = @_;
	my $job = $hipq->enqueue('nobody', q{expires_time => hipq.now() + interval '15 s'});
	$hipq->set('hipq.clock_offset' => $seconds);
	is($hipq->outcome($job), 'expired', "the scheduler looks at $seconds s");
	return;
}
sub reasons
{
	my ($job) = @_;
	return $hipq->sql("SELECT string_agg(reason, ' ' ORDER BY attempt) FROM hipq.attempts
		WHERE job_id = $job");
}

# ---- behind a pooler

SKIP:
{
	my $pooler = HipqPooler->new($hipq, 'app') or skip('pgbouncer is not installed', 1);
	my @psql = ('psql', '-XAtq', '-h', $ENV{POOLER_HOST}, '-p', $ENV{POOLER_PORT}, '-U', 'app',
		'-d', 'postgres', '-c');
	my $register = q{SELECT hipq.register_worker('pooled', '{app.out}', '{mail}', listen => };
	command_ok([ @psql, $register . 'true)' ],
		'a program registers through a pooler, as it should not, and ends');
	is(status('pooled'), 'active healthy', "the pooler keeps the worker's session");
	my $job = given('mail', 'pooled');
	$hipq->set('hipq.clock_offset' => 32);
	is_row($job, 'retry 1 pooled', 'a worker that does not answer loses the job');
	is(reasons($job), 'worker_heartbeat_stale',
		'its attempt ends with reason worker_heartbeat_stale');
	is($hipq->sql("SELECT retry_count FROM hipq.jobs_detail WHERE id = $job"), 0,
		'its job is not charged');
	is(status('pooled'), 'inactive unhealthy', 'a mute worker is inactive and unhealthy');
	ok($hipq->wait_until(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'mute worker'}, 1),
		'an alert tells of the mute worker');
	like($hipq->why($job), qr/^worker: /, 'why() says that no worker serves the job');
	command_ok([ @psql, $register . 'false)' ],
		'the program is started again, without listen: its name is free');
	is_row($job, 'running 2 pooled',
		'the worker is given the job when it is registered without listen');
	my $id = $hipq->sql(q{SELECT worker_id FROM hipq.worker WHERE name = 'pooled'});
	command_ok([ @psql, "SELECT hipq.complete(id, attempt) FROM hipq.claim($id)" ],
		'which it does');
	is($hipq->outcome($job), 'succeeded', 'the job of the mute worker succeeds');
	is(scalar(() = slurp_file($hipq->node->logfile) =~ /external worker "pooled" does not answer/g),
		1, 'the log tells of the mute worker once');
	$hipq->set('hipq.clock_offset' => 0);
}

# ---- programs with a session of their own

my %worker = (
	busy => bound('busy', 'busy', capacity => 2),
	full => bound('full', 'full', capacity => 1, prefetch => 1),
	idle => bound('idle', 'idle'));
my %job = map { $_ => given($_, $_) } qw(busy full);
is(claim($worker{$_}), $job{$_}, "\"$_\" accepts it") foreach qw(busy full);
my %more = map { $_ => given($_, $_) } qw(busy full);
$hipq->set('hipq.clock_offset' => 32);
is_row($more{busy}, 'retry 1 busy', 'a worker that hangs loses the job that it could run');
is_row($job{busy}, 'running 1 busy', 'a worker that hangs keeps the job that it has accepted');
is_row($more{full}, 'running 1 full', 'a worker without room keeps its jobs');
is(status($_), $_ eq 'busy' ? 'inactive unhealthy' : 'active healthy',
	'only the worker that hangs is unhealthy') foreach sort keys %worker;
complete($worker{busy}, $job{busy});
is($hipq->outcome($job{busy}), 'succeeded', 'a job that a worker accepted before it hung succeeds');
is(status('busy'), 'active healthy', 'a worker that answers again is healthy');
is_row($more{busy}, 'running 2 busy', 'a worker that answers again is given the other job');
complete($worker{full}, $job{full});
is(claim($worker{full}), $more{full}, 'the worker without room claims its next job');

# ---- heartbeats in time

my $late = given('idle', 'idle');
ok($hipq->sql_as('app', "SELECT hipq.heartbeat($worker{idle}{id})"),
	"a worker's heartbeat comes from another session");
scheduler_looks_at(50);
is_row($late, 'running 1 idle', 'a heartbeat restarts the time to answer');
$hipq->sql_as('app', "SELECT hipq.heartbeat($worker{idle}{id})");
scheduler_looks_at(70);
is_row($late, 'running 1 idle', 'each heartbeat restarts the time to answer');
$hipq->set('hipq.clock_offset' => 120);
is_row($late, 'retry 1 idle', 'without heartbeats the time to answer is over at last');
$_->{session}->quit foreach values %worker;

done_testing();
