# While one role takes as many places, jobs and names of external workers as it can, the workers of
# another role register, restart and get their jobs at once. A role that has lost its privilege has
# neither jobs nor places.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

# 64 places for workers, and room for 244 jobs in flight beside the first of each executor.
my $hipq = HipqCluster->new('quotas', 'hipq.max_workers' => 64, 'hipq.max_running' => 264,
	max_worker_processes => 20, 'hipq.worker_grace' => '1h');
my $node = $hipq->node;
$hipq->create_queue($_) foreach 'greedy.jobs', 'modest.jobs';
$hipq->sql(qq{
	CREATE FUNCTION fine(data jsonb) RETURNS void LANGUAGE sql AS 'SELECT';
	SELECT hipq.register_job_type('modest.jobs', 'inside', handler => 'fine');
	SELECT hipq.register_job_type(queue, 'work', handler_kind => 'notify', default_timeout => 600,
		queue_ttl => 600, max_retries => 5, retry_base => '0 s')
	FROM unnest('{greedy.jobs, modest.jobs}'::text[]) AS queue;
	CREATE ROLE greedy LOGIN; CREATE ROLE modest LOGIN; CREATE ROLE late LOGIN; CREATE ROLE crew;
		CREATE ROLE member LOGIN IN ROLE crew;
	SELECT hipq.grant_queue('greedy.jobs', 'greedy', 'work');
		SELECT hipq.grant_queue('greedy.jobs', 'late', 'work');
	SELECT hipq.grant_queue('modest.jobs', 'modest', 'work')});

sub register
{
	my ($role, $name, %more) = @_;
	my $queue = delete $more{queue} // ($role eq 'modest' ? 'modest.jobs' : 'greedy.jobs');
	return "SELECT hipq.register_worker('$name', '{$queue}', '{work}'" . join('',
		map { ", $_ => $more{$_}" } sort keys %more) . ')';
}

# Registers workers until a call is refused. Returns the number of workers, and the error.
sub register_all
{
	my ($role, $name, %more) = @_;
	my $call = register($role, "'||n||'", %more) =~ s/'''/'/gr;
	$call =~ s/register_worker\('/register_worker('$name /;
	my ($status, $out, $err) = $node->psql('postgres',
		"\\set VERBOSITY verbose\n" . join("\n", map { $call =~ s/'\|\|n\|\|'/$_/r . ';' } 1 .. 80),
		extra_params => [ '-U', $role ], on_error_stop => 1);
	return (scalar(() = $out =~ /^\d+$/mg), $err);
}

sub refused
{
	my ($role, $sql) = @_;
	return $hipq->error_of("SET SESSION AUTHORIZATION $role; $sql");
}
sub jobs_of
{
	my ($role) = @_;
	return "SELECT coalesce(sum(running_jobs + queue_depth), 0) FROM hipq.workers_detail
		WHERE role = '$role'::regrole";
}
sub claim
{
	my ($role, $worker, $most) = @_;
	return $hipq->sql_as($role, "SELECT id FROM hipq.claim($worker, $most)");
}
sub conditions
{
	my ($id) = @_;
	return $hipq->sql("SELECT coalesce(string_agg(condition || ': ' || explanation, ' '), '')
		FROM hipq.why($id) WHERE NOT passed");
}

# ---- names: each role has its own
my $squatter = $hipq->sql_as('greedy', register('greedy', 'scanner'));
my $scanner = $hipq->sql_as('modest', register('modest', 'scanner', capacity => 4));
cmp_ok($scanner, '>', $squatter, "a name of another role's worker is free");
is($hipq->sql_as('greedy', "SELECT hipq.heartbeat($squatter)"), 'healthy',
	"a worker keeps its name beside another role's");
like(refused('greedy', register('greedy', 'scanner')), qr/55006.*worker "scanner" is already there/,
	"a name of the role's own worker is refused");

# ---- places: role greedy takes as many as it can
my ($count, $error) = register_all('greedy', 'greedy', capacity => 100, prefetch => 100);
cmp_ok($count, '>', 30, 'a role can have many workers');
cmp_ok($count, '<', 50, 'a role cannot have all places');
like($error, qr/53400.*role "greedy" has as many workers as it may have/,
	'the error says that the role has its share');
is($hipq->sql(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'worker quota'}), 1,
	'an alert reports that a role has its share');
my ($late) = register_all('late', 'late');
cmp_ok($late, '>', 5, 'another role gets a part of the remaining places');
my $second = $hipq->sql_as('modest', register('modest', 'second'));
like($second, qr/^\d+$/, 'a third role gets a place');
my $again = $hipq->sql_as('greedy',
	register('greedy', 'greedy 1', take_over => 'true', capacity => 100, prefetch => 100));
like($again, qr/^\d+$/, 'a role at its limit can restart a worker');
foreach (1 .. 3)
{
	$again = $hipq->sql_as('greedy',
		register('greedy', 'greedy 1', take_over => 'true', capacity => 100, prefetch => 100));
}
is($hipq->sql(q{SELECT count(*) FROM hipq.workers WHERE name = 'greedy 1'}), 1,
	'a role at its limit can restart a worker several times');
is($hipq->sql(q{SELECT count(*) FROM hipq._workers()}),
	$hipq->sql(q{SELECT count(*) FROM hipq.workers}), 'restarts leave no place behind');

# ---- a full table: a worker that is taken over has its place already
$hipq->set('hipq.max_owner_share' => 100);
my ($more, $full) = register_all('late', 'more');
like($full, qr/53400.*there is no room for another worker/,
	'without shares all places can be taken');
is($hipq->sql(q{SELECT count(*) FROM hipq._workers()}), 64, 'all 64 places are taken');
$hipq->set('hipq.max_owner_share' => 75);
like(refused('late', register('late', 'one too many')), qr/53400/, 'a further worker is refused');
$scanner = $hipq->sql_as('modest',
	register('modest', 'scanner', take_over => 'true', capacity => 4));
like($scanner, qr/^\d+$/, 'a worker can restart in a full table');
is($hipq->sql(q{SELECT count(*) FROM hipq._workers()}), 64, 'a restarted worker has its own place');
is($hipq->sql_as('modest', 'BEGIN; ' . register('modest', 'scanner',
		take_over => 'true') . ' > 0; ROLLBACK; SELECT count(*) FROM hipq.workers'), "t\n2",
	'a restart that is rolled back leaves the old worker');

# ---- jobs: role greedy gets as many as it can have and accepts none
$hipq->sql(q{SELECT hipq.enqueue_many('work', array_agg('{}'::jsonb), queue => 'greedy.jobs')
	FROM generate_series(1, 600)});
ok($hipq->wait_until('SELECT (' . jobs_of('greedy') . ') > 120 AND (SELECT count(*) = 0 FROM '
		. 'pg_stat_activity WHERE backend_type = $$hipq scheduler$$ AND state = $$active$$)'),
	'a role gets many jobs');
my $start = time();
my $mine = $hipq->sql(q{SELECT min(id) FROM unnest(hipq.enqueue_many('work',
	array_fill('{}'::jsonb, '{5}'), queue => 'modest.jobs')) AS id});
ok($hipq->wait_until(jobs_of('modest'), 5, 10), "another role's worker gets its jobs");
$hipq->in_time(time() - $start, 5, "another role's worker gets its jobs within 5 s");
my @claimed = split /\n/, claim('modest', $scanner, 4);
cmp_ok(scalar(@claimed), '>=', 3, "another role's worker can claim its jobs");
like($hipq->sql_as('modest', register('modest', 'scanner', take_over => 'true')), qr/^\d+$/,
	"another role's worker can restart with jobs in flight");
is($hipq->sql_as('modest', "SELECT count(hipq.complete(id, 1)::text) FROM unnest('{" . join(',',
		@claimed) . "}'::bigint[]) AS id"), scalar(@claimed),
	"another role's worker can complete its jobs");
is($hipq->outcome_of('inside', q{queue => 'modest.jobs'}), 'succeeded',
	"executors have room beside many workers' jobs");
cmp_ok($hipq->sql(jobs_of('greedy')), '<', 200, 'role greedy has only its share of jobs');
my $waiting = $hipq->sql(q{SELECT max(id) FROM hipq.greedy_jobs WHERE state = 'initial'});
like(conditions($waiting),
	qr/worker: .*their role has the share of hipq.max_running that is for it/,
	'why() says that the role has its share');

# ---- workers that register and end all the time
$hipq->sql(q{CREATE ROLE restless LOGIN; SELECT hipq.grant_queue('greedy.jobs', 'restless', 'work');
	SELECT hipq.deregister_worker(worker_id) FROM hipq.workers_detail
	WHERE role = 'greedy'::regrole});
my ($status, $out, $err) = $node->psql('postgres', q{
	DO $$
	DECLARE
		registered integer := 0;
	BEGIN
		LOOP
			BEGIN
				PERFORM hipq.register_worker('restless', '{greedy.jobs}', '{work}');
				registered := registered + 1;
				RAISE EXCEPTION 'leave';
			EXCEPTION WHEN raise_exception THEN
				NULL;
			WHEN configuration_limit_exceeded THEN
				RAISE NOTICE '%: %', registered, SQLERRM;
				EXIT;
			END;
		END LOOP;
	END
	$$}, extra_params => [ '-U', 'restless' ]);
like($err, qr/1\d\d\d: workers of role "restless" register too often/,
	'a role that registers more than a thousand workers is slowed down');
like($hipq->sql_as('late', register('late', 'meanwhile', take_over => 'true')), qr/^\d+$/,
	'another role is not slowed down');

# ---- a role that loses its privilege
$hipq->sql(q{SELECT hipq.cancel(id) FROM hipq.jobs_detail WHERE state <> 'final';
	SELECT hipq.deregister_worker(worker_id) FROM hipq.workers});
$hipq->create_queue('other.jobs');
$hipq->sql(q{
	SELECT hipq.register_job_type('other.jobs', 'work', handler_kind => 'notify',
		default_timeout => 600, queue_ttl => 600, max_retries => 5, retry_base => '0 s');
	CREATE ROLE boss LOGIN; CREATE ROLE goner LOGIN;
	SELECT hipq.create_queue('boss.jobs', owner => 'boss');
	SELECT hipq.register_job_type('boss.jobs', 'work', handler_kind => 'notify',
		default_timeout => 600, queue_ttl => 600, max_retries => 5, retry_base => '0 s');
	SELECT hipq.grant_queue('other.jobs', 'crew', 'work');
		SELECT hipq.grant_queue('other.jobs', 'goner', 'work')});

sub session
{
	my ($role) = @_;
	my $session = $hipq->session(role => $role, on_error_stop => 0);
	return $session;
}

# Returns the answer that a session gets: the SQLSTATE of its error, or the result.
sub told
{
	my ($session, $sql) = @_;
	$session->query('\set VERBOSITY sqlstate');
	$session->{stderr} = '';
	my ($answer) = $session->query($sql);
	return $session->{stderr} =~ /ERROR:  (\w+)/ ? $1 : $answer;
}

# The jobs that a worker is offered and those that it has accepted.
my $held = 'SELECT count(*) FROM hipq.running_detail WHERE worker_id = ';

# Tests a worker that has accepted two of the three jobs that it was offered. Its role loses the
# privilege while no scheduler runs. Then a scheduler starts.
sub test_loss
{
	my ($way, $role, $queue, $sql, %more) = @_;
	my $session = session($role);
	my $worker = $session->query_safe(register($role, 'revoked', queue => $queue, capacity => 2,
			prefetch => 1, listen => 'true')) =~ s/\s+$//r;
	my @jobs = split /\n/,
		$hipq->sql("SELECT hipq.enqueue('work', queue => '$queue') FROM generate_series(1, 3)");
	$hipq->wait_until($held . $worker, 3) or diag($way);
	my ($id) = $session->query_safe("SELECT id FROM hipq.claim($worker, 2)") =~ /(\d+)/;
	$hipq->switch_off;
	$hipq->sql($sql);
	my %calls = (
		'heartbeat' => "SELECT hipq.heartbeat($worker)",
			'claim' => "SELECT count(*) FROM hipq.claim($worker)",
		'complete' => "SELECT hipq.complete($id, 1)",
			'complete_attempts' =>
				"SELECT hipq.complete_attempts('{$id}'::bigint[], '{1}'::integer[])",
		'fail' => "SELECT hipq.fail($id, 1, 'no')", 'release' => "SELECT hipq.release($id, 1)",
		'extend' => "SELECT hipq.extend($id, 1, '1 h')",
			'report_progress' => "SELECT hipq.report_progress($id, 1, 1, 2)");
	is(told($session, $calls{$_}), '42501', "$way: $_ is refused") foreach sort keys %calls;
	is($hipq->sql("SELECT string_agg(state || ' ' || attempt, ', ' ORDER BY id) FROM hipq.job
			WHERE id IN (SELECT job_id FROM hipq._running_jobs() WHERE worker_id = $worker
			AND deadline < now() + interval '700 s')"), 'running 1, running 1, initial 0',
		"$way: the refused calls change nothing");
	$hipq->set('hipq.enabled' => 'on');
	ok($hipq->wait_until($held . $worker, 0), "$way: the worker's jobs are taken back");
	is($hipq->sql("SELECT string_agg(reason || ' ' || error, ', ') || ' ' || count(*)
			FROM (SELECT DISTINCT reason, error FROM hipq.attempts_detail
			WHERE worker_id = $worker) AS attempt"),
		q{worker_lost its role may not work on the queue any more 1},
			"$way: the attempts have reason worker_lost");
	is($hipq->sql("SELECT string_agg(concat_ws(' ', attempt, retry_count, (SELECT count(*)
			FROM hipq.attempts_detail WHERE job_id = job.id)), ', ' ORDER BY id) FROM hipq.job
			WHERE id IN (" . join(',', @jobs) . ')'), '1 1 1, 1 1 1, 0 0 0',
		"$way: the accepted jobs are charged, the third job has had no attempt");
	ok($hipq->wait_until("SELECT count(*) FROM hipq._workers() WHERE worker_id = $worker", 0),
		"$way: the worker's place is free") unless $more{stays};
	like(told($session, "SELECT hipq.heartbeat($worker)"), $more{stays} ? qr/healthy/
		: qr/^42(501|704)$/, "$way: heartbeat() does not register the worker again");
	$hipq->sql("SELECT hipq.cancel(id) FROM hipq.job WHERE state <> 'final'");
	$session->quit;
	return;
}

test_loss('privilege revoked', 'modest', 'modest.jobs',
	q{SELECT hipq.revoke_queue('modest.jobs', 'modest', 'work')});
test_loss('membership revoked', 'member', 'other.jobs', 'REVOKE crew FROM member');
test_loss('another owner', 'boss', 'boss.jobs',
	q{SELECT hipq.alter_queue('boss.jobs', owner => 'app')});
test_loss('role dropped', 'goner', 'other.jobs', 'DROP OWNED BY goner; DROP ROLE goner');

# ---- a lock on the row of a worker that hipq removes blocks no other role
$hipq->sql(q{GRANT crew TO member; SELECT hipq.grant_queue('modest.jobs', 'modest', 'work')});
my $locked = $hipq->sql_as('member', register('member', 'locked', queue => 'other.jobs'));
my $locker = session('member');
$locker->query_safe("BEGIN; SELECT hipq.drain_worker($locked)");
$hipq->sql('REVOKE crew FROM member');
my $other = session('member');
# The call makes the scheduler check the worker.
is(told($other, "SELECT hipq.heartbeat($locked)"), '42501',
	'a worker with a locked row has lost its privilege');
$other->quit;
my $free = $hipq->sql_as('modest', register('modest', 'free', capacity => 4));
my $given = $hipq->enqueue('work', q{queue => 'modest.jobs'});
ok($hipq->wait_until($held . $free, 1, 10),
	'a worker of another role is offered a job while the row is locked');
is($hipq->sql("SELECT count(*) FROM hipq._workers() WHERE worker_id = $locked"), 1,
	'the worker is not removed while its row is locked');
$locker->query('ROLLBACK');
ok($hipq->wait_until("SELECT count(*) FROM hipq._workers() WHERE worker_id = $locked", 0),
	'the worker is removed when its row is unlocked');
$locker->quit;
$hipq->sql("SELECT hipq.cancel($given); SELECT hipq.deregister_worker($free)");

# ---- a worker loses one of two queues; NOLOGIN is no loss
$hipq->sql(q{SELECT hipq.grant_queue(queue, 'modest', 'work')
	FROM unnest('{modest.jobs, other.jobs}'::text[]) AS queue});
my $both = $hipq->sql_as('modest',
	register('modest', 'both', queue => 'modest.jobs, other.jobs', capacity => 4));
$hipq->sql(q{SELECT hipq.enqueue('work', queue => queue)
	FROM unnest('{modest.jobs, other.jobs}'::text[]) AS queue});
ok($hipq->wait_until($held . $both, 2), 'a worker serves two queues');
my @both = split /\n/, claim('modest', $both, 4);
$hipq->sql(q{SELECT hipq.revoke_queue('other.jobs', 'modest', 'work')});
ok($hipq->wait_until($held . $both, 1), 'a job of the revoked queue is taken back');
is($hipq->sql_as('modest', "SELECT hipq.heartbeat($both)"), 'healthy',
	'the worker of two queues is healthy with one of them');
is($hipq->sql_as('modest', "SELECT count(*) FROM unnest(hipq.complete_attempts(ARRAY(SELECT id
		FROM unnest('{$both[0], $both[1]}'::bigint[]) AS id), '{1, 1}'::integer[]))"), 1,
	'the worker completes only the job of the other queue');
my $session = session('modest');
$hipq->sql('ALTER ROLE modest NOLOGIN');
is(told($session, "SELECT hipq.heartbeat($both)"), 'healthy',
	'NOLOGIN does not affect a worker with an open session');
$hipq->sql('ALTER ROLE modest LOGIN');
$session->quit;

done_testing();
