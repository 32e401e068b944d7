# Any role may change its password again and again. Schedulers look at most once a second because of
# changes of roles, and no change is missed.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('role_changes', 'hipq.executor_idle_timeout' => '100ms');
$hipq->sql(q{
	CREATE ROLE owner LOGIN;
	CREATE ROLE mallory LOGIN;
	CREATE DATABASE other OWNER mallory;
	CREATE FUNCTION run(data jsonb) RETURNS void LANGUAGE sql AS '';
	SELECT hipq.create_queue('app.queue_' || chr(96 + n), owner => 'owner')
		FROM generate_series(1, 20) AS n;
	SELECT hipq.register_job_type(queue, 'run', handler => 'run') FROM hipq.queues;
	ALTER ROLE owner NOLOGIN});
$hipq->in('other')->sql(q{
	CREATE PROCEDURE change(seconds integer, INOUT changes integer) LANGUAGE plpgsql AS $$
	DECLARE until timestamptz := clock_timestamp() + seconds * interval '1 s';
	BEGIN
		WHILE clock_timestamp() < until LOOP
			ALTER ROLE mallory PASSWORD NULL;
			COMMIT;
			changes := changes + 1;
		END LOOP;
	END $$});

# The jobs wait for their owner, and keep the scheduler.
$hipq->sql(q{SELECT hipq.enqueue('run', queue => queue) FROM hipq.queues});
ok($hipq->wait_until(q{SELECT count(*) FROM pg_stat_activity
	WHERE backend_type = 'hipq scheduler'}, 1), 'a scheduler runs');

# Returns how many transactions the database with the jobs has had.
sub transactions
{
	my $query = q{SELECT xact_commit FROM pg_stat_database WHERE datname = 'postgres'};
	return $hipq->in('other')->sql($query);
}
my $before = transactions();
my $changes = $hipq->in('other')->sql_as('mallory', 'CALL change(5, 0)');
my $transactions = transactions() - $before;
diag("$changes changes of a role, $transactions transactions");
cmp_ok($changes, '>', 200, 'a role is changed often');
cmp_ok($transactions, '<', $changes, 'schedulers do not look after each change');

my $session = $hipq->in('other')->session(role => 'mallory', on_error_stop => 0);
$session->query_until(qr/sent/, "\\echo sent\nCALL change(60, 0);\n");
my $is_changing = q{SELECT count(*) FROM pg_stat_activity WHERE usename = 'mallory'
	AND state = 'active'};
is($hipq->sql($is_changing), '1', 'a role changes all the time');
$hipq->sql('ALTER ROLE owner LOGIN');
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.jobs WHERE outcome = 'succeeded'}, 20, 10),
	'jobs run when their owner may log in');
is($hipq->sql($is_changing), '1', 'the role still changes');
$hipq->sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'mallory'});
eval { $session->quit };

done_testing();
