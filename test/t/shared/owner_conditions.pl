# While a queue owner cannot connect, its jobs wait, why() says so, and no process spins. When the
# owner can connect, the jobs run by themselves.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $hipq = HipqCluster->new('conditions', extension => 0, 'hipq.executor_idle_timeout' => '200ms',
	'max_connections' => 10, 'superuser_reserved_connections' => 3);
my $admin = $hipq->in('postgres');
$admin->sql('CREATE DATABASE work');
my $db = $hipq->in('work');
$db->sql(q{
	REVOKE CONNECT ON DATABASE work FROM PUBLIC;
	GRANT CONNECT ON DATABASE work TO app;
	CREATE EXTENSION hipq});
$db->create_queue('app.main');
$db->sql(q{
	CREATE FUNCTION run(data jsonb) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
		RETURN session_user; END $$;
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run')});
my $executors = q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'hipq executor'};

sub log_since { return slurp_file($hipq->node->logfile, $_[0]); }
sub count_of { my ($pattern, $text) = @_; my $count = () = $text =~ /$pattern/g; return $count; }

# Waits long enough for a spinning process to make many events.
sub pass_time { my $end = time() + $_[0]; usleep(50_000) while time() < $end; return; }

# Enqueues jobs for 3 s while the obstacle exists. Tests that no job runs, that no executor stays,
# and that the log stays small.
sub check_waits
{
	my ($what, $why) = @_;
	ok($admin->wait_until($executors, 0), "$what: no executor stays");
	my $offset = -s $hipq->node->logfile;
	my @ids;
	foreach (1 .. 30)
	{
		push @ids, $db->enqueue('run');
		usleep(100_000);
	}
	like($db->why($ids[0]), $why, "$what: why() names the obstacle");
	is($db->sql("SELECT count(*) FROM hipq.jobs_detail WHERE id IN (@{[join ', ', @ids]})
			AND state = 'initial'"), 30, "$what: the jobs wait");
	cmp_ok(count_of(qr/FATAL/, log_since($offset)), '<=', 4,
		"$what: executors are not started repeatedly");
	is($admin->sql($executors), 0, "$what: no executor runs");
	return @ids;
}

sub check_runs
{
	my ($what, @ids) = @_;
	ok($db->wait_until("SELECT count(*) FROM hipq.jobs
			WHERE id IN (@{[join ', ', @ids]}) AND outcome = 'succeeded'", scalar @ids, 12),
		"$what: the jobs run when the obstacle is removed");
	return;
}

is($db->outcome_of('run'), 'succeeded', 'jobs run before any obstacle');

# ---- NOLOGIN, and CONNECT revoked: before the executor starts, and while it runs
foreach my $case (
	[ 'NOLOGIN', 'ALTER ROLE app NOLOGIN', 'ALTER ROLE app LOGIN',
		qr/^queue owner: .*may not log in: ALTER ROLE app LOGIN/ ],
	[ 'without CONNECT', 'REVOKE CONNECT ON DATABASE work FROM app',
			'GRANT CONNECT ON DATABASE work TO app', qr/^queue owner: .*lacks CONNECT/ ])
{
	my ($what, $break, $mend, $why) = @$case;
	$admin->sql($break);
	my @ids = check_waits($what, $why);
	$admin->sql($mend);
	check_runs($what, @ids);

	# An executor runs when the obstacle comes.
	$admin->set('hipq.executor_idle_timeout' => '1min');
	is($db->outcome_of('run'), 'succeeded', "$what: an executor has run a job");
	cmp_ok($admin->sql($executors), '>', 0, "$what: an idle executor stays");
	$admin->sql($break);
	my $id = $db->enqueue('run');
	pass_time(0.5);
	is($db->sql("SELECT state FROM hipq.jobs_detail WHERE id = $id"), 'initial',
		"$what: the idle executor starts no more jobs");
	like($db->why($id), $why, "$what: why() names the obstacle to the idle executor");
	$admin->sql($mend);
	check_runs($what, $id);
	$admin->set('hipq.executor_idle_timeout' => '200ms');
}

# ---- connection limits are for clients: executors are neither counted nor refused
foreach my $alter ('ALTER ROLE app CONNECTION LIMIT', 'ALTER DATABASE work CONNECTION LIMIT')
{
	my @clients = map { $hipq->in('work')->session(role => 'app') } 1 .. 2;
	$admin->sql("$alter 1");
	ok($admin->wait_until($executors, 0), "$alter 1: no executor runs");
	is($db->outcome_of('run'), 'succeeded', "$alter 1: jobs run at the limit");
	$_->quit foreach @clients;
	$admin->sql("$alter 0");
	ok($admin->wait_until($executors, 0), "$alter 0: no executor runs");
	is($db->outcome_of('run'), 'succeeded', "$alter 0: jobs run although no client can connect");
	$admin->sql("$alter -1");
}
{
	# No client has a connection, because one that has ended has given it back.
	$admin->wait_until(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'
		AND pid <> pg_backend_pid()}, 0);
	my @clients = map { $hipq->session(role => 'app') } 1 .. 7;
	# psql gets no statement: IPC::Run dies if psql ends before it has read one.
	my ($status, $out, $err) = $hipq->node->psql('postgres', undef,
		extra_params => [ '-U', 'app' ]);
	like($err, qr/remaining connection slots are reserved/, 'the server has no connection left');
	ok($admin->wait_until($executors, 0), 'no executor runs without free connections');
	is($db->outcome_of('run'), 'succeeded', 'jobs run without free connections');
	$_->quit foreach @clients;
}

# ---- unknown obstacles: the delay before the start of an executor grows
{
	# A job that cannot run keeps the scheduler. The session is connected before connections are
	# disallowed, and executors start after that.
	$db->sql(q{SELECT hipq.enqueue('nobody', queue => 'app.main')});
	ok($admin->wait_until(q{SELECT count(*) FROM pg_stat_activity
			WHERE backend_type = 'hipq scheduler'}, 1), 'the scheduler runs');
	my $session = $hipq->in('work')->session;
	my $id = $session->query_safe(
		q{SELECT hipq.enqueue('run', scheduled_run_time => now() + interval '1 day')});
	ok($admin->wait_until($executors, 0), 'no executor runs before connections are disallowed');
	my $offset = -s $hipq->node->logfile;
	$admin->sql('ALTER DATABASE work ALLOW_CONNECTIONS false');
	$session->query_safe("UPDATE hipq.app_main SET scheduled_run_time = now() WHERE id = $id");
	my $tries =
		sub { return count_of(qr/FATAL:  database "work" is not currently accepting connections/,
			log_since($offset)); };
	my $end = time() + 8;
	while (time() < $end)
	{
		$session->query_safe(q{SELECT hipq.enqueue('run')});
		usleep(100_000);
	}
	my $count = $tries->();
	cmp_ok($count, '>', 1, 'executors that fail to start are started more than once');
	# At most four executors start at a time, after 0, 1, 3 and 7 s. Without a delay some hundred
	# would start.
	cmp_ok($count, '<=', 20, 'executors that fail to start are started with a delay')
		or diag("$count tries");
	like($session->query_safe("SELECT explanation FROM hipq.why($id) WHERE NOT passed"),
		qr/The last executor of the queue owner failed to start; the next one is tried in \d+ s/,
		'why() reports executors that fail to start');
	$admin->sql('ALTER DATABASE work ALLOW_CONNECTIONS true');
	$session->quit;
	check_runs('executors that failed to start', $id);
}

# ---- VALID UNTIL is about passwords only
$admin->sql(q{ALTER ROLE app VALID UNTIL '2001-01-01'});
ok($admin->wait_until($executors, 0), 'no executor runs when VALID UNTIL is set');
is($db->outcome_of('run'), 'succeeded', 'jobs of an owner with VALID UNTIL in the past run');

# ---- a dropped owner
like($db->error_of('DROP ROLE app'), qr/2BP01/, 'a queue owner cannot be dropped');
like($admin->error_of('DROP ROLE app'), qr/2BP01/,
	'a queue owner cannot be dropped from another database');

$admin->sql('CREATE ROLE leaver LOGIN; GRANT CONNECT ON DATABASE work TO leaver');
$db->create_queue('leaver.main', owner => 'leaver');
$db->sql(q{SELECT hipq.register_job_type('leaver.main', 'left', handler => 'run');
	DROP OWNED BY leaver});
# Database postgres knows nothing of the queue.
$admin->sql('DROP OWNED BY leaver; DROP ROLE leaver');
{
	my $offset = -s $hipq->node->logfile;
	my @ids = map { $db->enqueue('left') } 1 .. 5;
	ok($admin->wait_until($executors, 0), 'no executor stays for a dropped owner');
	like($db->why($ids[0]),
		qr/^queue owner: The queue owner does not exist any more: use hipq\.alter_queue\(owner => \.\.\.\)/,
		'why() says that the queue owner does not exist');
	cmp_ok(count_of(qr/FATAL/, log_since($offset)), '<=', 4,
		'executors of a dropped owner are not started repeatedly');
	$db->sql(q{SELECT hipq.alter_queue('leaver.main', owner => 'app')});
	check_runs('a queue that got another owner', @ids);
}

# ---- a renamed owner is the same role
$admin->sql('ALTER ROLE app RENAME TO application');
is($db->result($db->enqueue('run')), '"application"', 'a renamed owner runs its jobs');

# ---- the launcher
unlike(slurp_file($hipq->node->logfile), qr/"hipq launcher" .* exited|PANIC|TRAP/,
	'the launcher has not exited');

done_testing();
