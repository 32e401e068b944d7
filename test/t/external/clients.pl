# No job is lost or done twice when the client of an external worker is frozen, killed,
# disconnected, or silent, or makes wrong calls.
use strict;
use warnings;
use HipqCluster;
use HipqFaults;
use HipqProxy;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('clients', 'hipq.worker_grace' => '500ms',
	'hipq.heartbeat_timeout' => '1d', 'hipq.executor_idle_timeout' => '1s');
my $node = $hipq->node;
$hipq->create_queue('app.out');
$hipq->sql(q{
	SELECT hipq.register_job_type('app.out', 'send', handler_kind => 'notify', queue_ttl => 100,
		default_timeout => 50, max_retries => 1, retry_base => '0 s')});

# Returns a client: a session, and a worker of its own.
sub client
{
	my ($name, %more) = @_;
	my $connstr = delete $more{connstr};
	my $session = $hipq->session(extra_params => [ '-U', 'app',
			defined $connstr ? ('-d', $connstr) : () ]);
	my $id = ask($session, "SELECT hipq.register_worker('$name', '{app.out}', '{send}'" . join('',
			map { ", $_ => $more{$_}" } sort keys %more) . ')');
	my ($pid) = $session->{run}{KIDS}[0]{PID};
	return { session => $session, id => $id, name => $name, pid => $pid };
}

sub ask
{
	my ($session, $sql) = @_;
	my $answer = $session->query_safe($sql);
	$answer =~ s/Asynchronous notification[^\n]*\n?//g;
	$answer =~ s/\s+$//;
	return $answer;
}
sub claim
{
	my ($client) = @_;
	return ask($client->{session},
		"SELECT id || ' ' || attempt FROM hipq.claim($client->{id}, 10)");
}
sub deregister
{
	my ($client) = @_;
	ask($client->{session}, "SELECT hipq.deregister_worker($client->{id})");
	$client->{session}->quit;
	return gone($client->{name});
}
sub gone
{
	my ($name) = @_;
	return ok($hipq->wait_until("SELECT count(*) FROM hipq.workers WHERE name = '$name'", 0),
		"worker $name is removed");
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
sub is_row
{
	my ($id, $expected, $what) = @_;
	ok($hipq->wait_until(row($id), $expected), $what)
		or diag($hipq->sql("SELECT * FROM hipq.attempts WHERE job_id = $id"));
	return;
}
# Tests that one of several workers is offered the job.
sub is_offered
{
	my ($id, $attempt, $what) = @_;
	return ok($hipq->wait_until("SELECT is_accepted, attempt FROM hipq.running_detail
			WHERE id = $id", "f|$attempt"), $what);
}
sub reasons
{
	my ($id) = @_;
	return $hipq->sql("SELECT coalesce(string_agg(reason, ' ' ORDER BY attempt), '')
		FROM hipq.attempts WHERE job_id = $id");
}
# Tests that a call about a stale attempt is refused and changes nothing.
sub is_refused
{
	my ($client, $call, $what) = @_;
	my $before =
		$hipq->sql('SELECT string_agg(job::text, chr(10) ORDER BY id) FROM hipq.app_out AS job');
	my $answer = ask($client->{session}, "DO \$\$ BEGIN PERFORM $call;
		EXCEPTION WHEN SQLSTATE 'HQ003' THEN NULL; END \$\$; SELECT 'refused'");
	is($answer, 'refused', $what);
	return is($hipq->sql('SELECT string_agg(job::text, chr(10) ORDER BY id)
			FROM hipq.app_out AS job'), $before, 'a refused call changes nothing');
}

# ---- a job that is not accepted is retried by another worker, and succeeds
my $first = client('first');
my $job = $hipq->enqueue('send', q{'{"to": "ann"}'});
is_row($job, 'offered 1 first', 'a job is given to a worker');
my $second = client('second');
$hipq->set('hipq.clock_offset' => 101);
is_row($job, 'offered 2 second', 'a job that its worker does not accept goes to another one');
is_refused($first, "hipq.complete($job, 1)",
	'complete() of the worker that did not accept the job is refused');
is(claim($first), '', 'the worker that did not accept the job has nothing to claim');
is(claim($second), "$job 2", 'the second worker claims the job');
is_row($job, 'accepted 2 second', 'a job that is given again is accepted');
ask($second->{session}, qq{SELECT hipq.complete($job, 2, '{"sent": true}')});
is($hipq->outcome($job), 'succeeded', 'a job that is given again succeeds');
is($hipq->sql("SELECT result->>'sent' FROM hipq.jobs_detail WHERE id = $job"), 'true',
	'a job that is given again has its result');

# ---- a job becomes a dead letter, is redriven, and succeeds
$hipq->set('hipq.clock_offset' => 0);
ask($_->{session}, "SELECT hipq.heartbeat($_->{id})") foreach $first, $second;
$job = $hipq->enqueue('send');
is_offered($job, 1, 'a job is given to one of two workers');
$hipq->set('hipq.clock_offset' => 102);
is_offered($job, 2, 'a job that is not accepted is given again');
$hipq->set('hipq.clock_offset' => 204);
is($hipq->outcome($job), 'failed', 'a job that is never accepted fails');
is($hipq->sql("SELECT reason || ' ' || (error::json->>'error') || ' '
		|| (SELECT sum((death->>'count')::int) FROM json_array_elements(error::json->'deaths')
		AS death) FROM hipq.dead_letters_detail WHERE job_id = $job"),
	'queue_timeout Worker queue TTL expired 2',
	'the dead letter of a job that was never accepted says why');
is($hipq->sql("SELECT string_agg(attempt->>'worker_id', ' ') FROM hipq.dead_letters_detail,
		jsonb_array_elements(history) AS attempt WHERE job_id = $job"),
	$hipq->sql("SELECT string_agg(worker_id::text, ' ' ORDER BY attempt) FROM hipq.attempts_detail
			WHERE job_id = $job"),
			'the dead letter of a job that was never accepted names its workers');
is($hipq->sql(q{SELECT failed_by_ttl FROM hipq.dead_letter_stats_detail WHERE queue = 'app.out'}),
	1, 'statistics count the dead letter as failed by TTL');
my $again = $hipq->sql("SELECT hipq.redrive($job)");
$hipq->set('hipq.clock_offset' => 205);
is_offered($again, 1, 'the redriven job is given to a worker');
my ($holder) = grep { $_->{name} eq $hipq->sql("SELECT worker FROM hipq.running_detail
		WHERE id = $again") } $first, $second;
is(claim($holder), "$again 1", 'a worker claims the redriven job');
ask($holder->{session}, "SELECT hipq.complete($again, 1)");
is($hipq->outcome($again), 'succeeded', 'the redriven job succeeds');
$hipq->set('hipq.clock_offset' => 0);
deregister($_) foreach $first, $second;

# ---- SIGSTOP freezes a client
my $frozen = client('frozen', listen => 'true');
$job = $hipq->enqueue('send');
is_row($job, 'offered 1 frozen', 'a client gets a job before it is frozen');
is(claim($frozen), "$job 1", 'the client accepts the job before it is frozen');
kill 'STOP', $frozen->{pid};
my $other = client('other', listen => 'true');
my @jobs = map { $hipq->enqueue('send') } 1 .. 2;
is($hipq->sql("SELECT count(*) FROM hipq.app_out WHERE id = $jobs[0] AND state = 'final'"), 0,
	'jobs wait beside a frozen client');
is_row($jobs[0], 'offered 1 other', 'another client gets a job beside a frozen one');
is(claim($other), "$jobs[0] 1", 'the other client claims its job');
ask($other->{session}, "SELECT hipq.complete($jobs[0], 1)");
is_row($jobs[1], 'offered 1 other', 'a frozen client does not hold up the next job');
is(claim($other), "$jobs[1] 1", 'the other client claims the next job');
ask($other->{session}, "SELECT hipq.complete($jobs[1], 1)");
$hipq->set('hipq.clock_offset' => 51);
is_row($job, 'offered 2 other', "the frozen client's job times out and goes to the other one");
is(reasons($job), 'timeout', "the frozen client's attempt ends with reason timeout");
kill 'CONT', $frozen->{pid};
is_refused($frozen, "hipq.complete($job, 1)", "the thawed client's answer is refused");
is(claim($other), "$job 2", 'the other client claims the timed-out job');
ask($other->{session}, "SELECT hipq.complete($job, 2)");
is($hipq->outcome($job), 'succeeded', 'the timed-out job succeeds in its second attempt');
$hipq->set('hipq.clock_offset' => 0);

# ---- SIGKILL ends a client
$hipq->sql(q{SELECT hipq.pause('app.out')});
deregister($other);
$hipq->sql(q{SELECT hipq.resume('app.out')});
$job = $hipq->enqueue('send');
is_row($job, 'offered 1 frozen', 'a client gets a job before it is killed');
is(claim($frozen), "$job 1", 'the client accepts the job before it is killed');
kill 'KILL', $frozen->{pid};
eval { $frozen->{session}->quit };
my $next = client('next', listen => 'true');
is_row($job, 'offered 2 next', "after hipq.worker_grace another client has the killed one's job");
is(reasons($job), 'worker_lost', "the killed client's attempt ends with reason worker_lost");
is(claim($next), "$job 2", "the other client claims the killed one's job");
ask($next->{session}, "SELECT hipq.fail($job, 2, 'no')");
is($hipq->outcome($job), 'failed', 'the job of a killed client fails when max_retries is reached');
gone('frozen');
deregister($next);

# ---- the network drops the packets of a client, and then its connection
my $proxy = HipqProxy->new($node);
my $far = client('far', listen => 'true', connstr => $proxy->connstr('postgres') . ' user=app');
$job = $hipq->enqueue('send');
is_row($job, 'offered 1 far', 'a client behind a proxy gets a job');
is(claim($far), "$job 1", 'the client behind the proxy accepts the job');
$proxy->freeze;
my $near = client('near', listen => 'true');
$hipq->set('hipq.clock_offset' => 51);
is_row($job, 'offered 2 near',
	'the job of a client without network times out and goes to another one');
is(claim($near), "$job 2", 'the other client claims the job of the client without network');
$proxy->thaw;
is_refused($far, "hipq.complete($job, 1)", "the reconnected client's answer is refused");
$hipq->set('hipq.clock_offset' => 0);
ask($near->{session}, "SELECT hipq.release($job, 2)");
is_offered($job, 3, 'a job that is released is given again');
$hipq->sql("SELECT hipq.cancel($job)");
is($hipq->sql("SELECT outcome FROM hipq.jobs WHERE id = $job"), 'cancelled',
	'a released job can be cancelled');
deregister($near);
$job = $hipq->enqueue('send');
is_row($job, 'offered 1 far', 'the client behind the proxy gets the next job');
$proxy->cut;
ok($hipq->wait_until(q{SELECT pid IS NULL FROM hipq.workers_detail WHERE name = 'far'}),
	'the server notices that the connection is cut');
$near = client('near', listen => 'true');
is_row($job, 'offered 1 near', 'another client gets the job of the cut connection');
is(reasons($job), '', 'the offer to the client of the cut connection was no attempt');
is($hipq->sql("SELECT retry_count FROM hipq.app_out WHERE id = $job"), 0,
	'a job that was not accepted is not charged when the connection is cut');
is(claim($near), "$job 1", 'the other client claims the job of the cut connection');
ask($near->{session}, "SELECT hipq.complete($job, 1)");
is($hipq->outcome($job), 'succeeded', 'the job of the cut connection succeeds');
eval { $far->{session}->quit };
gone('far');

# ---- a silent client sends no heartbeats
my $silent = client('silent');
deregister($near);
$job = $hipq->enqueue('send');
is_row($job, 'offered 1 silent', 'a client without a session of its own gets a job');
is(claim($silent), "$job 1", 'the client without a session accepts the job');
$near = client('near', listen => 'true');
$hipq->set('hipq.clock_offset' => 31, 'hipq.heartbeat_timeout' => '30s');
is_row($job, 'offered 2 near', 'the job of a silent client goes to another one');
is(reasons($job), 'worker_heartbeat_stale',
	"the silent client's attempt ends with reason worker_heartbeat_stale");
is_refused($silent, "hipq.complete($job, 1)", "the silent client's late answer is refused");
$hipq->set('hipq.heartbeat_timeout' => '1d', 'hipq.clock_offset' => 0);
$hipq->sql("SELECT hipq.cancel($job)");
deregister($silent);

# ---- a job is extended in the last moment: the transaction that locks the row decides, and the
# scheduler does not wait in a busy loop
$job = $hipq->enqueue('send');
is_row($job, 'offered 1 near', 'a client gets a job before it extends it');
is(claim($near), "$job 1", 'the client claims the job before it extends it');
ask($near->{session}, "BEGIN; SELECT 'held' FROM (SELECT hipq.extend($job, 1, '1 h')) AS extended");
$hipq->set('hipq.clock_offset' => 60);
is($hipq->sql("SELECT state FROM hipq.app_out WHERE id = $job"), 'running',
	'an overdue job is not taken back while its row is locked');
ask($near->{session}, 'COMMIT');
is_row($job, 'accepted 1 near', 'an extended job keeps its worker');
my $ticks = sub { my ($pid) = HipqFaults::pids_of($hipq, 'hipq scheduler'); return 0 unless $pid;
	my @stat = split / /, slurp_file("/proc/$pid/stat"); return $stat[13] + $stat[14]; };
my $before = $ticks->();
ok($hipq->wait_until("SELECT clock_timestamp() > '" . $hipq->sql('SELECT clock_timestamp()')
		. "'::timestamptz + interval '2 s'"), 'two seconds pass');
cmp_ok($ticks->() - $before, '<', 50, 'waiting for a locked row takes little CPU time');
ask($near->{session}, "SELECT hipq.complete($job, 1)");
is($hipq->outcome($job), 'succeeded', 'an extended job succeeds');
$hipq->set('hipq.clock_offset' => 0);

# ---- a warning of a queue_ttl that is too short
$hipq->sql(q{SELECT hipq.register_job_type('app.out', 'slow', handler_kind => 'notify')});
my $slow = ask($near->{session}, q{SELECT hipq.register_worker('slow', '{app.out}', '{slow}')});
$job = $hipq->enqueue('slow');
is(ask($near->{session}, "SELECT id || ' ' || attempt FROM hipq.claim($slow, wait => '60 s')"),
	"$job 1", 'a worker claims a job that takes long');
ask($near->{session}, "SELECT pg_sleep(0.7); SELECT hipq.complete($job, 1)");
my (undef, undef, $warning) = $node->psql('postgres',
	q{SELECT hipq.alter_job_type('app.out', 'slow', queue_ttl => 1)});
like($warning, qr/WARNING:  queue_ttl 1 is short for job type "slow"/,
	'a queue_ttl under twice the run time causes a warning');
(undef, undef, $warning) = $node->psql('postgres',
	q{SELECT hipq.alter_job_type('app.out', 'slow', queue_ttl => 60)});
is($warning, '', 'a longer queue_ttl causes no warning');
ask($near->{session}, "SELECT hipq.deregister_worker($slow)");

# ---- forged and lost notifications
is($hipq->sql("NOTIFY hipq_worker_$near->{id}, 'forged'; SELECT 1"), 1,
	'another session forges a notification');
is(claim($near), '', 'a forged notification gives no job to a worker');
my $deaf = client('deaf');
deregister($near);
$job = $hipq->enqueue('send');
is_row($job, 'offered 1 deaf', 'a worker that does not listen gets jobs');
is(claim($deaf), "$job 1", 'a worker that does not listen claims its job when it polls');
ask($deaf->{session}, "SELECT hipq.complete($job, 1)");
is($hipq->outcome($job), 'succeeded', 'the job of a worker that does not listen succeeds');
$deaf->{session}{stdin} .= "SELECT 'got ' || id FROM hipq.claim($deaf->{id}, 1, wait => '60 s');\n";
$deaf->{session}{run}->pump_nb;
ok($hipq->wait_until(q{SELECT count(*) FROM pg_stat_activity
		WHERE query LIKE '%got%claim%' AND state = 'active' AND pid <> pg_backend_pid()}, 1),
	'a worker can wait for a job in the server');
$job = $hipq->enqueue('send');
$deaf->{session}{run}->pump until $deaf->{session}{stdout} =~ /got $job/;
pass('a worker that waits in the server gets the next job at once');
is_row($job, 'accepted 1 deaf', 'a job that a waiting worker gets is accepted');
$deaf->{session}{stdout} = '';
ask($deaf->{session}, "SELECT hipq.complete($job, 1)");
deregister($deaf);

is($hipq->sql(q{SELECT count(*) FROM hipq.app_out_live}), 0, 'no job is left after all faults');
is($hipq->sql(q{SELECT count(*) FROM hipq.workers}), 0, 'no worker is left after all faults');
done_testing();
