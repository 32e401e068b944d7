# hipq runs jobs in each database that has the extension, also in one that is created while the
# server runs. It follows changes of hipq.enabled, hipq.max_executors and hipq.databases.
# pg_stat_activity shows its processes. Idle schedulers and executors exit.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('databases', 'hipq.executor_idle_timeout' => '200ms');

my $processes = q{SELECT string_agg(backend_type || coalesce(' ' || datname, ''), ', '
	ORDER BY backend_type, datname)
	FROM pg_stat_activity WHERE backend_type LIKE 'hipq%'};

# Creates a queue with two job types: "where" returns the name of its database, and "wait" waits for
# advisory lock 1.
sub prepare
{
	my ($db) = @_;
	$db->create_queue('app.main');
	$db->sql(q{
		CREATE FUNCTION where_am_i(data jsonb) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
			RETURN current_database(); END $$;
		CREATE FUNCTION wait_for_lock(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
			PERFORM pg_advisory_xact_lock(1); END $$;
		SELECT hipq.register_job_type('app.main', 'where', handler => 'where_am_i');
		SELECT hipq.register_job_type('app.main', 'wait', handler => 'wait_for_lock')});
	return;
}

# ---- databases created while the server runs
$hipq->node->safe_psql('postgres', 'CREATE DATABASE plain');
ok($hipq->wait_until($processes, 'hipq launcher'), 'without queues only the launcher runs');
prepare($hipq);
is($hipq->result($hipq->enqueue('where')), '"postgres"',
	'jobs run where the extension was created in a running server');

$hipq->node->safe_psql('postgres', 'CREATE DATABASE later');
my $later = $hipq->in('later');
$later->sql('CREATE EXTENSION hipq');
prepare($later);
is($later->result($later->enqueue('where')), '"later"',
	'jobs run in a database that was created later');
is($hipq->result($hipq->enqueue('where')), '"postgres"',
	'jobs in the first database run after a second database has hipq');

# ---- idle
ok($hipq->wait_until($processes, 'hipq launcher'), 'scheduler and executors exit when idle');
is($hipq->sql("SELECT count(*) FROM pg_stat_activity WHERE datname = 'plain'"), '0',
	'no session is in a database without hipq');
$hipq->node->safe_psql('postgres', 'DROP DATABASE plain');
my $id = $hipq->enqueue('where');
is($hipq->outcome($id), 'succeeded', 'an idle database runs its next job');
$hipq->in_time($hipq->sql("SELECT extract(epoch FROM accepted_time - created_time)
		FROM hipq.jobs_detail WHERE id = $id"), 1,
	'an idle database starts its next job within a second');

# ---- pg_stat_activity
my $lock = $hipq->hold_lock;
my $waiting = $hipq->enqueue('wait', q{'{"secret": 1}'});
my $pid = $hipq->pid_of($waiting);
# Jobs that are due and cannot run keep the scheduler.
$hipq->sql(q{SELECT hipq.enqueue_many('nobody', '{1,2}'::jsonb[], queue => 'app.main')});
ok($hipq->wait_until(q{SELECT string_agg(DISTINCT backend_type || coalesce(' ' || datname, ''),
		', ') FROM pg_stat_activity WHERE backend_type LIKE 'hipq%'},
	'hipq executor postgres, hipq launcher, hipq scheduler postgres'),
		'launcher, scheduler and executor show their kinds');
is($hipq->sql("SELECT usename || ': ' || query FROM pg_stat_activity WHERE pid = $pid"),
	"app: hipq job $waiting wait, attempt 1", 'an executor shows job, type and attempt');
ok($hipq->wait_until("SELECT wait_event FROM hipq.running_detail WHERE id = $waiting", 'advisory'),
	'hipq.running_detail shows what the job waits for');
is($hipq->sql("SELECT cardinality(blocked_by) FROM hipq.running_detail WHERE id = $waiting"), '1',
	'view running shows what blocks the job');
is($hipq->sql("SELECT status || ' ' || job_id || ' ' || job_type || ' ' || queue FROM hipq.executors
		WHERE pid = $pid"), "running $waiting wait app.main",
	'view executors agrees with pg_stat_activity');

# ---- hipq.enabled
$hipq->set('hipq.enabled' => 'off');
my $off = $hipq->enqueue('where');
is($hipq->why($off), 'enabled: hipq.enabled is off.', 'why() says that hipq is off');
is($hipq->sql("SELECT count(*) FROM hipq.running WHERE id = $waiting"), '1',
	'with hipq.enabled = off a running job is not interrupted');
$lock->quit;
is($hipq->outcome($waiting), 'succeeded', 'with hipq.enabled = off a running job succeeds');
ok($hipq->wait_until($processes, 'hipq launcher'),
	'with hipq.enabled = off scheduler and executors exit');
is($hipq->sql("SELECT state FROM hipq.jobs_detail WHERE id = $off"), 'initial',
	'with hipq.enabled = off the next job does not start');
$hipq->set('hipq.enabled' => 'on');
is($hipq->outcome($off), 'succeeded', 'the next job runs when hipq is on again');

# ---- hipq.max_executors
$hipq->set('hipq.max_executors' => 0);
$id = $hipq->enqueue('where');
is($hipq->why($id), 'executor: hipq.max_executors is 0.',
	'why() says that hipq.max_executors is 0');
$hipq->set('hipq.max_executors' => 2);
is($hipq->outcome($id), 'succeeded', 'a job runs when executors are allowed');

# ---- hipq.databases
$hipq->set('hipq.databases' => 'later');
$id = $hipq->enqueue('where');
my $other = $later->enqueue('where');
is($later->outcome($other), 'succeeded', 'jobs run in a listed database');
is($hipq->why($id), 'enabled: hipq.databases does not list this database.',
	'why() says that a database is not listed');
is($hipq->sql("SELECT state FROM hipq.jobs_detail WHERE id = $id"), 'initial',
	'jobs wait in a database that is not listed');
$hipq->set('hipq.databases' => 'later, postgres');
is($hipq->outcome($id), 'succeeded', 'jobs run when their database is listed');

# ---- DROP DATABASE of a database with jobs
$later->sql('SELECT hipq.enqueue(\'where\')');
$hipq->node->safe_psql('postgres', 'DROP DATABASE later (FORCE)');
is($hipq->outcome_of('where'), 'succeeded', 'jobs run after DROP DATABASE of another database');

$hipq->node->stop;
done_testing();
