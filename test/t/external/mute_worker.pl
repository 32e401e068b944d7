# A worker that is bound to a session is mute if it gets a job for which it has room, and does not
# answer. It loses the job. Its session may belong to a pooler, and its program may have ended.
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

# Returns a session with a worker that is bound to it.
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
# A job that a worker has is "offered" or "accepted". Its row does not show an offer.
sub row
{
	my ($job) = @_;
	return "SELECT coalesce((SELECT concat_ws(' ',
			CASE WHEN is_accepted THEN 'accepted' ELSE 'offered' END, attempt, worker)
			FROM hipq.running_detail WHERE id = $job),
		(SELECT concat_ws(' ', job.state, job.attempt, worker.name)
			FROM hipq.app_out AS job LEFT JOIN hipq.worker USING (worker_id) WHERE id = $job))";
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
	is_row($job, "offered 1 $name", "\"$name\" is given a job");
	return $job;
}
# Moves the clock, and waits until the scheduler has checked all workers by it. A job that no worker
# serves shows this, because it expires afterwards.
sub scheduler_looks_at
{
	my ($seconds) = @_;
	my $job = $hipq->enqueue('nobody', q{expires_time => hipq.now() + interval '15 s'});
	$hipq->set('hipq.clock_offset' => $seconds);
	is($hipq->outcome($job), 'expired', "the scheduler has checked the workers at $seconds s");
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
		'a program registers a worker with listen => true through a pooler, and ends');
	is(status('pooled'), 'active healthy', 'the pooler keeps the session of the worker open');
	my $job = given('mail', 'pooled');
	$hipq->set('hipq.clock_offset' => 32);
	is_row($job, 'initial 0', 'a mute worker loses its job');
	is(reasons($job), '', 'the offer to a mute worker was no attempt');
	is($hipq->sql("SELECT retry_count FROM hipq.jobs_detail WHERE id = $job"), 0,
		'the job of a mute worker is not charged');
	is(status('pooled'), 'inactive unhealthy', 'a mute worker is inactive and unhealthy');
	ok($hipq->wait_until(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'mute worker'}, 1),
		'an alert reports the mute worker');
	like($hipq->why($job), qr/^worker: /, 'why() says that no healthy worker serves the job');
	command_ok([ @psql, $register . 'false)' ],
		"a worker of the mute worker's name registers without listen");
	is_row($job, 'offered 1 pooled',
		"a worker registered without listen gets the mute worker's job");
	my $id = $hipq->sql(q{SELECT worker_id FROM hipq.worker WHERE name = 'pooled'});
	command_ok([ @psql, "SELECT hipq.complete(id, 1) FROM hipq.claim($id)" ],
		'the worker registered without listen completes the job');
	is($hipq->outcome($job), 'succeeded', 'the job of the mute worker succeeds');
	is(scalar(() = slurp_file($hipq->node->logfile) =~ /external worker "pooled" does not answer/g),
		1, 'the log reports the mute worker once');
	$hipq->set('hipq.clock_offset' => 0);
}

# ---- workers with sessions of their own

my %worker = (
	busy => bound('busy', 'busy', capacity => 2),
	full => bound('full', 'full', capacity => 1, prefetch => 1),
	idle => bound('idle', 'idle'));
my %job = map { $_ => given($_, $_) } qw(busy full);
is(claim($worker{$_}), $job{$_}, "\"$_\" accepts its job") foreach qw(busy full);
my %more = map { $_ => given($_, $_) } qw(busy full);
$hipq->set('hipq.clock_offset' => 32);
is_row($more{busy}, 'initial 0', 'a worker that hangs loses the job for which it has room');
is(reasons($more{busy}), '', 'the offer to a worker that hangs was no attempt');
is_row($job{busy}, 'accepted 1 busy', 'a worker that hangs keeps the job that it accepted');
is_row($more{full}, 'offered 1 full',
	'a worker without room keeps the jobs that it has not accepted');
is(status($_), $_ eq 'busy' ? 'inactive unhealthy' : 'active healthy',
	"\"$_\" is unhealthy only if it hangs") foreach sort keys %worker;
complete($worker{busy}, $job{busy});
is($hipq->outcome($job{busy}), 'succeeded', 'a job that a worker accepted before it hung succeeds');
is(status('busy'), 'active healthy', 'a worker that answers again is healthy');
is_row($more{busy}, 'offered 1 busy', 'a worker that answers again gets the job that it lost');
complete($worker{full}, $job{full});
is(claim($worker{full}), $more{full},
	'a worker without room claims its next job after it has completed one');

# ---- a heartbeat restarts the time to answer

my $late = given('idle', 'idle');
ok($hipq->sql_as('app', "SELECT hipq.heartbeat($worker{idle}{id})"),
	"a worker's heartbeat can come from another session");
scheduler_looks_at(50);
is_row($late, 'offered 1 idle', 'a heartbeat restarts the time to answer');
$hipq->sql_as('app', "SELECT hipq.heartbeat($worker{idle}{id})");
scheduler_looks_at(70);
is_row($late, 'offered 1 idle', 'each heartbeat restarts the time to answer');
$hipq->set('hipq.clock_offset' => 120);
is_row($late, 'initial 0', 'a worker without heartbeats loses its job after the time to answer');
is(reasons($late), '', 'the offer to a worker without heartbeats was no attempt');
$_->{session}->quit foreach values %worker;

done_testing();
