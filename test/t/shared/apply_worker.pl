# A job of a prepared transaction runs after an apply worker of logical replication has committed
# the transaction, also if the server stops or crashes between the two phases.
use strict;
use warnings;
use HipqCluster;
use HipqFaults;
use Test::More;
use Time::HiRes qw(time usleep);

my $publisher = PostgreSQL::Test::Cluster->new('publisher');
HipqCluster::init($publisher, allows_streaming => 'logical');
$publisher->append_conf('postgresql.conf', "max_prepared_transactions = 10\n");
$publisher->start;
$publisher->safe_psql('postgres',
	'CREATE TABLE orders (n integer PRIMARY KEY); CREATE PUBLICATION orders FOR TABLE orders');

# With hipq.audit_rate 0 the audit does not find missed jobs.
my $hipq = HipqCluster->new('subscriber', max_prepared_transactions => 10, 'hipq.audit_rate' => 0);
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE FUNCTION run(data jsonb) RETURNS void LANGUAGE sql AS 'SELECT';
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run');
	CREATE TABLE orders (n integer PRIMARY KEY);
	CREATE FUNCTION order_comes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		PERFORM hipq.enqueue('run', to_jsonb(NEW.n), 'app.main', job_key => NEW.n::text);
		RETURN NEW; END $$;
	CREATE TRIGGER order_comes AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION order_comes();
	ALTER TABLE orders ENABLE ALWAYS TRIGGER order_comes});
$hipq->sql('CREATE SUBSCRIPTION orders CONNECTION $c$' . $publisher->connstr('postgres')
	. q{$c$ PUBLICATION orders WITH (two_phase = true, copy_data = false)});
ok($hipq->wait_until(q{SELECT count(*) FROM pg_subscription WHERE subtwophasestate = 'e'}, 1),
	'a subscription with two-phase commit works');

sub prepare
{
	my ($n) = @_;
	$publisher->safe_psql('postgres',
		"BEGIN; INSERT INTO orders VALUES ($n); PREPARE TRANSACTION 'order $n'");
	return;
}
sub commit
{
	my ($n) = @_;
	$publisher->safe_psql('postgres', "COMMIT PREPARED 'order $n'");
	return;
}
sub is_prepared
{
	my ($count, $what) = @_;
	ok($hipq->wait_until('SELECT count(*) FROM pg_prepared_xacts', $count), $what);
	return;
}
sub ends
{
	my ($n, $what) = @_;
	ok($hipq->wait_until("SELECT outcome FROM hipq.jobs WHERE job_key = '$n'", 'succeeded', 20),
		$what);
	return;
}
my $nobody = q{SELECT count(*) FROM pg_stat_activity
	WHERE backend_type IN ('hipq executor', 'hipq scheduler')};
my $left = q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'hipq scheduler'};

# ---- prepared and committed at once
prepare(1);
commit(1);
ends(1, 'a job that an apply worker has committed runs');

# ---- committed after the scheduler has exited
prepare(2);
is_prepared(1, 'the transaction is prepared on the subscriber');
ok($hipq->wait_until($left, 0, 30), 'the scheduler exits beside a prepared transaction');
my $start = time;
commit(2);
ends(2, 'a job that is committed after the scheduler has exited runs');
$hipq->in_time(time - $start, 8,
	'a job that is committed after the scheduler has exited runs within 8 s');

# ---- the launcher, which checks each second, is stopped: the apply worker wakes the scheduler
prepare(20);
is_prepared(1, 'a transaction is prepared while no scheduler runs');
ok($hipq->wait_until($left, 0, 30), 'the scheduler exits beside a second prepared transaction');
# A second open transaction neither prevents nor causes a wake-up.
prepare(21);
is_prepared(2, 'two transactions are prepared');
# This job keeps the scheduler.
my $later = $hipq->sql(
	q{SELECT hipq.enqueue('run', '{}', 'app.main', scheduled_run_time => now() + interval '30 s')});
ok($hipq->wait_until($left, 1, 30), 'a scheduler runs');
$hipq->outcome_of('run', q{'{}', 'app.main'});    # starts an executor
my $launcher = HipqFaults::stop_at_rest($hipq, 'hipq launcher');
commit(20);
ends(20, 'a job that is committed without the launcher runs');
commit(21);
ends(21, 'the job of the second open transaction runs');
kill 'CONT', $launcher;
$hipq->sql("SELECT hipq.cancel($later)");

# ---- several transactions, in the order of their commits
prepare($_) foreach 3 .. 5;
is_prepared(3, 'three transactions are prepared');
commit(4);
ends(4, 'the job of the transaction that commits first runs');
$publisher->safe_psql('postgres', "ROLLBACK PREPARED 'order 3'");
commit(5);
ends(5, 'the job of the transaction that commits last runs');
is_prepared(0, 'no prepared transaction is left');
is($hipq->sql(q{SELECT count(*) FROM hipq.jobs WHERE job_key = '3'}), 0,
	'a rolled back transaction leaves no job');

# ---- the server stops or crashes between the two phases
foreach my $how (qw(fast immediate))
{
	my $n = $how eq 'fast' ? 6 : 7;
	prepare($n);
	is_prepared(1, "a transaction is prepared before a stop ($how)");
	$hipq->node->stop($how);
	$hipq->node->start;
	is($hipq->sql('SELECT count(*) FROM pg_prepared_xacts'), 1,
		"the prepared transaction exists after a stop ($how)");
	ok($hipq->wait_until($nobody, 0, 30), "the scheduler exits after a stop ($how)");
	commit($n);
	ends($n, "the job of the prepared transaction runs after a stop ($how)");
}

is($hipq->sql(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'cursor miss'}), 0,
	'the audit finds no missed job');

# ---- every process refuses to prepare a transaction with a worker call; the error ends an apply
# worker whose trigger makes the call
$hipq->sql(q{
	SELECT hipq.register_job_type('app.main', 'out', handler_kind => 'notify');
	CREATE OR REPLACE FUNCTION order_comes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		PERFORM hipq.register_worker('w', '{app.main}', '{out}'); RETURN NEW; END $$});
prepare(8);
ok($hipq->node->wait_for_log(
		qr/ERROR:  cannot PREPARE a transaction that has registered, drained or deregistered a hipq worker/),
	'the apply worker cannot prepare a transaction of a worker call');
is($hipq->sql('SELECT count(*) FROM pg_prepared_xacts'), 0,
	'the refused transaction is not prepared');
$hipq->sql(q{ALTER TABLE orders DISABLE TRIGGER order_comes});
is_prepared(1, 'a transaction without a worker call is prepared');
commit(8);

done_testing();
