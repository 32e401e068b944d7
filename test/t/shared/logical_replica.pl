# A queue that a logical subscription feeds runs no job and takes all changes, until it is promoted
# by release_hold('app.main').
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $publisher = HipqCluster->new('publisher', streaming => 'logical', 'hipq.retry_jitter' => 0);
my $replica = HipqCluster->new('replica', 'hipq.retry_jitter' => 0);
my $dir = PostgreSQL::Test::Utils::tempdir();
my $connection = $publisher->node->connstr('postgres');

$publisher->create_queue('app.main');
# Handlers record each job and attempt outside of hipq's tables.
my $handler = q{
	CREATE TABLE ran (id bigint, attempt integer);
	GRANT ALL ON ran TO app;
	CREATE FUNCTION run(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO ran VALUES (job.id, job.attempt);
		IF job.job_data ? 'lock' THEN
			PERFORM pg_advisory_xact_lock_shared((job.job_data->>'lock')::bigint); END IF;
		IF job.job_data ? 'fail' THEN RAISE 'fails'; END IF;
	END $$};
my $types = q{
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run', max_retries => 0);
	SELECT hipq.register_job_type('app.main', 'record', handler => 'run', claim => 'record');
	SELECT hipq.register_job_type('app.main', 'retries', handler => 'run', max_retries => 1,
		retry_base => '1 hour', retry_max => '1 hour')};
$publisher->sql($handler);
$publisher->sql($types);

# These are the commands of docs/copies.md.
$publisher->sql(q{
	DO $$
	DECLARE part regclass;
	BEGIN
		FOR part IN SELECT relid FROM pg_partition_tree('hipq.app_main') LOOP
			EXECUTE format('ALTER TABLE %s REPLICA IDENTITY FULL', part);
		END LOOP;
	END $$;
	CREATE PUBLICATION jobs FOR TABLE hipq.app_main WITH (publish_via_partition_root = true)});
is($publisher->outcome_of('run'), 'succeeded', 'the publisher runs jobs');
ok($publisher->wait_until(q{SELECT count(*) > 1 AND bool_and(relreplident = 'f') FROM pg_class
		WHERE relname LIKE 'app\_main\_final\_p%' AND relkind = 'r'}),
	'leaves by time have the replica identity of their tree');

$publisher->node->command_ok([ 'pg_dump', '-s', '-T', 'hipq.*_final_p*', '-T', 'hipq.attempt*_p*',
		'-t', 'hipq.app_main*', '-f', "$dir/schema", $connection ], 'the table is dumped');
$replica->create_queue('own.queue');
# The next number of a queue on the replica is not that of app.main.
$replica->sql(q{SELECT hipq.drop_queue('own.queue')});
ok($replica->wait_until(q{SELECT count(*) FROM pg_class WHERE relname = 'own_queue'}, 0),
	'the replica has had other queues');
$replica->sql($handler);
$replica->node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/schema",
		$replica->node->connstr('postgres') ], 'the dump of the table is loaded');
is($replica->create_queue('app.main'), $publisher->sql(q{SELECT queue_id FROM hipq.queue}),
	'create_queue() takes the table over, with its number');
$replica->sql($types);
$replica->create_queue('own.other');
$replica->sql(q{SELECT hipq.register_job_type('own.other', 'own', handler => 'run')});
is($replica->outcome_of('own'), 'succeeded', 'the replica runs jobs of its own queues');
$replica->sql('TRUNCATE ran');

$replica->sql(qq{CREATE SUBSCRIPTION jobs CONNECTION \$\$$connection\$\$ PUBLICATION jobs});
is($replica->sql(q{SELECT subscription FROM hipq.queue_hold}), 'jobs',
	'CREATE SUBSCRIPTION holds the queue before the first row comes');
ok($replica->wait_until(q{SELECT count(*) FROM pg_subscription_rel WHERE srsubstate <> 'r'}, 0),
	'the tables are copied');

# All jobs of the queue with their states. has_caught_up() tests that both servers have the same.
my $jobs = q{SELECT coalesce(string_agg(job::text, E'\n' ORDER BY id), '')
	FROM hipq.app_main AS job};
sub has_caught_up
{
	my ($what) = @_;
	$publisher->node->wait_for_catchup('jobs');
	is($replica->sql($jobs), $publisher->sql($jobs), "$what: the replica has the same jobs");
	is($replica->sql('SELECT count(*) FROM ran WHERE id NOT IN (SELECT job_id FROM promoted)'), 0,
		"$what: the replica has run no job of the publisher");
	is($replica->sql(q{SELECT count(*) FROM hipq.app_main_live WHERE state = 'final'}), 0,
		"$what: no final job is in the live leaf");
	# Errors of clients have the name of the test. After a restart the publisher may not have
	# noticed the end of the connection, and the apply worker tries again.
	unlike(slurp_file($replica->node->logfile),
		qr/^(?!.*logical_replica\.pl)(?!.*replication slot "jobs" is active for PID).*ERROR/m,
		"$what: the replica's log has no error");
	return;
}
$replica->sql('CREATE TABLE promoted (job_id bigint)');

# ---- all that can happen to jobs
my $lock = $publisher->hold_lock;
my $running = $publisher->enqueue('record', q{'{"lock": 1}', job_key => 'running'});
$publisher->wait_until("SELECT state FROM hipq.jobs_detail WHERE id = $running", 'running');
my @done = map { $publisher->enqueue('run', qq{'{"n": $_}', job_key => 'key $_'}) } 1 .. 50;
push @done, $publisher->enqueue('run', q{'{"fail": 1}'});
$publisher->outcome($_) foreach @done;
my $retry = $publisher->enqueue('retries', q{'{"fail": 1}'});
$publisher->wait_until("SELECT state FROM hipq.jobs_detail WHERE id = $retry", 'retry');
my $expires = $publisher->enqueue('run',
	q{scheduled_run_time => now() + interval '1 hour', expires_time => now() + interval '2 hours'});
my $later = $publisher->enqueue('run',
	q{scheduled_run_time => now() + interval '1 hour', job_key => 'later'});
$publisher->sql("SELECT hipq.cancel($expires);
	SELECT hipq.reschedule($later, now() + interval '30 min'); SELECT hipq.erase($done[0])");
has_caught_up('new, running, failed, retried, cancelled, erased');
is($replica->sql("SELECT state FROM hipq.app_main WHERE id = $running"), 'running',
	'the replica has a running job of the publisher');
like($replica->why($later), qr/^scheduled time/, 'why() has the conditions of a job');
my $why = $replica->sql(
	"SELECT explanation FROM hipq.why($later) WHERE condition = 'replica' AND NOT passed");
is($why, 'Queue "app.main" is a replica: its jobs come by subscription "jobs" and run where they '
	. 'come from.', 'why() says that the queue is a replica');
my $own = $replica->enqueue('own');    # a job of the subscription has the same id
ok($replica->wait_until("SELECT outcome = 'succeeded' FROM hipq.jobs WHERE id = $own
		AND queue = 'own.other'"), 'other queues of the replica run jobs');
$replica->sql('TRUNCATE ran');

# ---- calls for the replica
foreach my $statement ("SELECT hipq.enqueue('run')",
	"INSERT INTO hipq.app_main (job_type) VALUES ('run')", "SELECT hipq.cancel($later)",
	"SELECT hipq.retry($done[1])",
	"SELECT hipq.reschedule($later, now())", "SELECT hipq.cancel_jobs('app.main')",
	"SELECT hipq.retry_jobs('app.main')", "SELECT hipq.move_jobs('app.main', 'own.other', 'run')",
	"SELECT hipq.move_jobs('own.other', 'app.main', 'own')", "SELECT hipq.erase($done[1])")
{
	like($replica->error_of($statement),
		qr/55000: queue "app.main" is a replica.*HINT: .*release_hold\('app.main'\)/s,
		"refused: $statement");
}
like($replica->error_of(q{SELECT hipq.release_hold('app.main')}),
	qr/55000: subscription "jobs" feeds queue "app.main".*HINT:  Run ALTER SUBSCRIPTION jobs DISABLE or DROP SUBSCRIPTION first/s,
	'release_hold() is refused while the replica is fed');
like($replica->error_of(q{SELECT hipq.release_hold('own.other')}),
	qr/55000: queue "own.other" is not held/,
	'release_hold() is refused for a queue that is not held');
like($replica->error_of(q{SET ROLE app; SELECT hipq.release_hold('app.main')}), qr/42501/,
	'release_hold() is refused for other roles');

# ---- restarts and crashes; a hold that was deleted is written again with the first row
$replica->node->restart;
has_caught_up('after a restart');
$replica->node->stop('immediate');
$replica->node->start;
$lock->quit;
is($publisher->outcome($running), 'succeeded', "the publisher's running job has ended");
has_caught_up('after a crash');
$replica->set('hipq.databases' => 'nowhere');    # no scheduler finds the subscription
$replica->wait_until(q{SELECT count(*) FROM pg_stat_activity
	WHERE backend_type IN ('hipq scheduler', 'hipq executor')}, 0);
$replica->sql('DELETE FROM hipq.queue_hold');
my $first = $publisher->enqueue('run');
$publisher->outcome($first);
$publisher->node->wait_for_catchup('jobs');
is($replica->sql(q{SELECT subscription FROM hipq.queue_hold}), 'jobs',
	'the first row of the subscription holds the queue');
$replica->sql('DELETE FROM hipq.queue_hold');
$replica->set('hipq.databases' => '*');
ok($replica->wait_until(q{SELECT count(*) FROM hipq.queue_hold}, 1),
	'a new scheduler holds the queue');
has_caught_up('after a new hold');

# ---- the publisher makes leaves and drops them
is($replica->sql(q{SELECT count(*) FROM pg_class WHERE relname LIKE 'app\_main\_final\_p%'}), 0,
	'the replica makes no leaves for the queue');

# ---- the publisher's sequences
SKIP: {
	skip 'sequences are replicated from PostgreSQL 19 on', 2 if $replica->version < 19;
	$replica->sql("SELECT setval('hipq.job_id_seq', 1000000000000)");
	$publisher->sql('CREATE PUBLICATION numbers FOR ALL SEQUENCES');
	$replica->sql(
		qq{CREATE SUBSCRIPTION numbers CONNECTION \$\$$connection\$\$ PUBLICATION numbers});
	my $number = 'SELECT last_value FROM hipq.job_id_seq';
	ok($replica->wait_until($number, $publisher->sql($number)),
		"a subscription to all sequences takes the replica's ids back to the publisher's");
	$replica->sql('DROP SUBSCRIPTION numbers');
	$publisher->sql('DROP PUBLICATION numbers');
	is($replica->sql(q{SELECT string_agg(subscription, ' ') FROM hipq.queue_hold}), 'jobs',
		'a subscription to sequences holds no queue');
}

# ---- the publisher is lost
$publisher->switch_off;
my @waiting = map { $publisher->enqueue('run', qq{'{"n": $_}'}) } 1 .. 20;
$publisher->sql("SELECT hipq.reschedule($later, now())");
has_caught_up('before the promotion');
$publisher->node->stop('immediate');
$replica->sql(q{ALTER SUBSCRIPTION jobs DISABLE; ALTER SUBSCRIPTION jobs SET (slot_name = NONE);
	DROP SUBSCRIPTION jobs});
like($replica->why($waiting[0]),
	qr/^replica: Queue "app.main" is a replica: its jobs came by subscription "jobs". It stands still until hipq.release_hold\('app.main'\)/,
	'the queue waits without its subscription');
$replica->node->restart;
like($replica->why($waiting[0]), qr/^replica:/, 'the queue waits after a restart');
$replica->sql("SELECT setval('hipq.job_id_seq', $waiting[0] - 1)");
my $double =
	$replica->sql(q{SELECT hipq.enqueue('own', scheduled_run_time => now() + interval '1 hour')});
like($replica->error_of(q{SELECT hipq.release_hold('app.main')}),
	qr/55000: 1 unfinished jobs of queue "app.main" have ids of other queues' jobs/,
	'release_hold() is refused if two unfinished jobs have one id');
$replica->sql("SELECT hipq.cancel($double, queue => 'own.other')");
$replica->sql(q{INSERT INTO promoted SELECT id FROM hipq.app_main WHERE state <> 'final';
	SELECT hipq.release_hold('app.main')});
is($replica->outcome($_), 'succeeded', "job $_ runs after release_hold()") foreach $waiting[1],
	$waiting[-1], $later;
my $new = $replica->enqueue('run');
cmp_ok($new, '>', $waiting[-1], 'new jobs have new ids');
is($replica->outcome($new), 'succeeded', 'a new job runs after release_hold()');
$replica->outcome($_) foreach @waiting;
is($replica->sql(q{SELECT count(*) || ' ' || count(DISTINCT id) FROM ran}), '22 22',
	'each waiting job has run once, and no other job has run');
is($replica->sql("SELECT state FROM hipq.jobs_detail WHERE id = $retry"), 'retry',
	'a job in retry waits for its time after release_hold()');
ok($replica->wait_until(q{SELECT count(*) > 1 FROM pg_class WHERE relname
		LIKE 'app\_main\_final\_p%' AND relkind = 'r'}), 'leaves are made after release_hold()');
done_testing();
