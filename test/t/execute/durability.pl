# With group durability commits of executors do not wait for the disk. An executor flushes the WAL
# before it sends notifications.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

# These settings keep the WAL writer from flushing, so that only executors flush.
my $hipq = HipqCluster->new('durability', fsync => 'on', wal_writer_delay => '10s',
	wal_writer_flush_after => '1GB', 'hipq.max_executors' => 1,
	autovacuum => 'off', bgwriter_delay => '10s', 'hipq.executor_idle_timeout' => '60s');
$hipq->create_queue('app.main', durability => 'group');
$hipq->create_queue('app.safe');
is($hipq->sql(q{SELECT string_agg(durability, ' ' ORDER BY queue) FROM hipq.queues_detail}),
	'group strict', 'view queues_detail shows the durability');
$hipq->sql(q{
	CREATE FUNCTION note(data jsonb) RETURNS text LANGUAGE sql AS $$
		SELECT current_setting('synchronous_commit') $$;
	SELECT hipq.register_job_type(queue, 'run', handler => 'note', claim => 'lock')
		FROM hipq.queues});

# PostgreSQL 18 counts flushes of the WAL with all other I/O.
my $flushed = $hipq->version < 18 ? 'SELECT wal_sync FROM pg_stat_wal'
	: q{SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal'};

# Returns the number of flushes of the WAL while $count jobs run.
sub flushes
{
	my ($queue, $count) = @_;
	my $before = $hipq->sql($flushed);
	$hipq->sql("SELECT hipq.enqueue_many('run', array_agg('{}'::jsonb), queue => '$queue')
		FROM generate_series(1, $count)");
	$hipq->wait_until(
		"SELECT count(*) FROM hipq.jobs_detail WHERE queue = '$queue' AND state <> 'final'", 0);
	$hipq->wait_until(q{SELECT bool_and(state = 'idle' AND wait_event = 'Extension')
		FROM pg_stat_activity WHERE backend_type = 'hipq executor'});
	return $hipq->sql($flushed) - $before;
}
flushes($_, 10) foreach 'app.main', 'app.safe';
my ($group, $strict) = (flushes('app.main', 1000), flushes('app.safe', 1000));
cmp_ok($strict, '>=', 900, "strict: each of 1,000 jobs is flushed ($strict flushes)");
cmp_ok($group, '<', $strict / 2, "group: one flush serves several jobs ($group flushes)");
is($hipq->sql(q{SELECT string_agg(DISTINCT result #>> '{}', ' ') FROM hipq.jobs_detail}), 'on',
	'a handler gets the synchronous_commit of its role');

# An executor flushes the WAL when it has nothing to do.
$hipq->outcome_of('run', q{queue => 'app.main'});
ok($hipq->wait_until('SELECT pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn()'),
	'an idle executor has flushed the WAL');

# An executor notifies listeners after the flush. Here it has prefetched two jobs. After the commit
# of the first one, the second one keeps it from flushing when idle.
sub first_is_flushed
{
	my ($type, $data) = @_;
	$hipq->sql("SELECT hipq.register_job_type('app.main', '$type', handler => 'tell',
		claim => 'lock')");
	$hipq->sql("SELECT hipq.enqueue_many('$type', array_agg('{}'::jsonb))
		FROM generate_series(1, 50)");
	$hipq->wait_until(q{SELECT count(*) FROM hipq.jobs_detail WHERE state <> 'final'}, 0);
	my $lock = $hipq->hold_lock;
	my ($first, $second) = split / /,
		$hipq->sql(qq{SELECT array_to_string(hipq.enqueue_many('$type', ARRAY['$data',
		'{"wait": 1}']::jsonb[]), ' ')});
	$hipq->outcome($first);
	$hipq->wait_until("SELECT count(*) FROM hipq.running WHERE id = $second", 1);
	# The first job writes 100 kB of WAL, the row lock of the second one a few bytes.
	my $flushed =
		$hipq->sql('SELECT pg_current_wal_insert_lsn() - pg_current_wal_flush_lsn() < 50000');
	$lock->quit;
	$hipq->wait_until(q{SELECT count(*) FROM hipq.jobs_detail WHERE state <> 'final'}, 0);
	return $flushed;
}
$hipq->sql(q{
	CREATE FUNCTION tell(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		IF data ? 'first' THEN PERFORM pg_logical_emit_message(false, 'test', repeat('x', 100000));
			END IF;
		IF data ? 'tell' THEN PERFORM pg_notify('told', 'yes'); END IF;
		IF data ? 'wait' THEN PERFORM pg_advisory_xact_lock_shared(1); END IF; END $$});
# The WAL writer may flush at the same moment, but not each time.
my $silent;
foreach (1 .. 5)
{
	$silent = first_is_flushed('silent', '{"first": 1}');
	last if $silent eq 'f';
}
is($silent, 'f', 'a job that notifies no listener is not flushed at once');
is(first_is_flushed('telling', '{"first": 1, "tell": 1}'), 't',
	'a job that notifies a listener is flushed at once');

# Finished jobs that are flushed survive a crash of the server, and so do all enqueued jobs.
my $id = $hipq->enqueue('run', q{queue => 'app.main'});
$hipq->outcome($id);
$hipq->wait_until('SELECT pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn()');
$hipq->node->stop('immediate');
$hipq->node->start;
is($hipq->sql("SELECT outcome FROM hipq.jobs WHERE id = $id"), 'succeeded',
	'a finished and flushed job survives a crash');
is($hipq->sql(q{SELECT count(*) FROM hipq.jobs WHERE outcome <> 'succeeded'}), '0',
	'no other job is lost in a crash');

# hipq flushes the row of a job that an external worker has accepted, even if the worker's session
# turns synchronous_commit off afterwards.
$hipq->sql(q{SELECT hipq.register_job_type('app.safe', 'out', handler_kind => 'notify')});
my $worker = $hipq->sql_as('app',
	q{SELECT hipq.register_worker('careless', '{app.safe}', '{out}')});
my $given = $hipq->enqueue('out', q{queue => 'app.safe'});
ok($hipq->wait_until("SELECT worker_id FROM hipq.running_detail WHERE id = $given", $worker),
	'a worker is offered a job');
$hipq->sql_as('app',
	"BEGIN; SELECT count(*) FROM hipq.claim($worker); SET LOCAL synchronous_commit = off; COMMIT");
$hipq->node->stop('immediate');
$hipq->node->start;
is($hipq->sql("SELECT concat_ws(' ', state, attempt, worker_id, accepted_time IS NOT NULL)
		FROM hipq.jobs_detail WHERE id = $given"), "running 1 $worker t",
	'an accepted job survives a crash with its worker');
$hipq->sql("SELECT hipq.cancel($given)");

like($hipq->error_of(q{SELECT hipq.alter_queue('app.main', durability => 'none')}),
	qr/22023.*unknown durability "none"/, 'an unknown durability is refused');
$hipq->sql(q{SELECT hipq.alter_queue('app.main', durability => 'strict')});
is($hipq->sql(q{SELECT durability FROM hipq.queues_detail WHERE queue = 'app.main'}), 'strict',
	'durability can be changed');

done_testing();
