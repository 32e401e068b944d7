# hipq.wait_for() returns soon after the job is final, and never before. It refuses to wait for an
# end that it could never see.
use strict;
use warnings;
use HipqCluster;
use HipqPoints;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $hipq = HipqCluster->new('waiting', 'hipq.retry_jitter' => 0,
	'hipq.executor_idle_timeout' => '1h', streaming => 1);
my $node = $hipq->node;
my $points = HipqPoints->new($hipq);
$hipq->create_queue('app.main');
$hipq->create_queue('app.group', durability => 'group');
$hipq->create_queue('app.brief', retention => '0');
$hipq->sql(q{
	CREATE ROLE enqueuer LOGIN; CREATE ROLE reader LOGIN; CREATE ROLE stranger LOGIN;
	GRANT USAGE ON SCHEMA hipq TO stranger;
	SELECT hipq.grant_queue('app.main', 'enqueuer', 'enqueue');
	SELECT hipq.grant_queue('app.main', 'reader', 'read');
	CREATE FUNCTION work(data jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
	BEGIN
		IF data ? 'lock' THEN PERFORM pg_advisory_xact_lock_shared((data->>'lock')::bigint); END IF;
		IF data ? 'fail' THEN RAISE 'no'; END IF;
		RETURN jsonb_build_object('did', data);
	END $$;
	CREATE FUNCTION selfish(id bigint, data jsonb) RETURNS void LANGUAGE sql AS $$
		SELECT hipq.wait_for(id) $$;
	SELECT hipq.register_job_type('app.' || queue, name, handler => handler, claim => claim)
	FROM (VALUES ('main', 'work', 'work', 'lock'), ('main', 'record', 'work', 'record'),
		('main', 'selfish', 'selfish', 'lock'),
		('group', 'grouped', 'work', 'lock'), ('brief', 'brief', 'work', 'lock')) AS types(queue,
			name, handler, claim)});

# Starts a session that waits. end_of() returns its output.
sub begin_to_wait
{
	my ($sql) = @_;
	my %session = (out => '', err => '', name => 'waits ' . int(rand(1e9)));
	$session{run} = IPC::Run::start([ 'psql',
			'-XAtq', '-d', $node->connstr('postgres') . " application_name='$session{name}'", '-v',
			'ON_ERROR_STOP=1', '-v', 'VERBOSITY=verbose', '-c', $sql ],
		'>', \$session{out}, '2>', \$session{err});
	$hipq->wait_until("SELECT count(*) FROM pg_stat_activity
		WHERE application_name = '$session{name}' AND wait_event = 'Extension'", 1);
	return \%session;
}
sub end_of
{
	my ($session) = @_;
	IPC::Run::finish($session->{run});
	chomp($session->{out});
	return $session->{out};
}

# ---- each way in which a job can end
foreach my $type ('work', 'record', 'grouped')
{
	my $lock = $hipq->hold_lock;
	my $id = $hipq->enqueue($type, q{'{"lock": 1}'});
	my $session = begin_to_wait("SELECT * FROM hipq.wait_for($id)");
	my $since = time();
	$lock->quit;
	is(end_of($session), 'succeeded|{"did": {"lock": 1}}|',
		"$type: wait_for() returns success with its result");
	$hipq->in_time(time() - $since, 5, "$type: wait_for() returns at once");
}
{
	my $id = $hipq->enqueue('work', q{'{"fail": 1}'});
	is($hipq->sql("SELECT * FROM hipq.wait_for($id)"), 'failed||no',
		'wait_for() returns a failure with its error');
	is($hipq->sql("SELECT * FROM hipq.wait_for($id, '0', 'app.main')"), 'failed||no',
		'wait_for() of a final job needs no time');
	$id = $hipq->enqueue('work', q{scheduled_run_time => now() + interval '1 day'});
	my $session = begin_to_wait("SELECT * FROM hipq.wait_for($id, NULL)");
	my $since = time();
	$hipq->sql("SELECT hipq.cancel($id, 'no more')");
	is(end_of($session), 'cancelled||cancelled: no more',
		'wait_for() returns when a waiting job is cancelled');
	$hipq->in_time(time() - $since, 5, 'wait_for() of a cancelled waiting job returns at once');
	$id = $hipq->enqueue('work',
		q{scheduled_run_time => now() + interval '2 s', expires_time => now() + interval '2 s'});
	is($hipq->sql("SELECT outcome FROM hipq.wait_for($id)"), 'expired',
		'wait_for() returns when a job expires');
	my $lock = $hipq->hold_lock;
	$id = $hipq->enqueue('work', q{'{"lock": 1}'});
	$session = begin_to_wait("SELECT * FROM hipq.wait_for($id)");
	$hipq->pid_of($id);
	$since = time();
	$hipq->sql("SELECT hipq.cancel($id)");
	is(end_of($session), 'cancelled||cancelled',
		'wait_for() returns when a running job is cancelled');
	$hipq->in_time(time() - $since, 5, 'wait_for() of a cancelled running job returns at once');

	# ---- jobs that do not end while wait_for() waits
	$id = $hipq->enqueue('work', q{'{"lock": 1}'});
	$hipq->pid_of($id);
	is($hipq->sql("SELECT * FROM hipq.wait_for($id, '10 ms')"), 'running||',
		'wait_for() returns the state after its timeout');
	my $later = $hipq->enqueue('work', q{scheduled_run_time => now() + interval '1 day'});
	is($hipq->sql("SELECT * FROM hipq.wait_for($later, '0')"), 'waiting||',
		'wait_for() with timeout 0 returns the state at once');
	my $after = $hipq->sql(q{SELECT hipq.enqueue('work', '{"first": 1}', job_key => 'k')});
	is($hipq->sql("SELECT outcome FROM hipq.wait_for($after)"), 'succeeded',
		'wait_for() of a job with a key returns success');
	like($hipq->error_of("SET statement_timeout = '100ms'; SELECT hipq.wait_for($id)"), qr/57014/,
		'statement_timeout ends a wait');
	$session = begin_to_wait("SELECT hipq.wait_for($id)");
	$hipq->sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity
		WHERE application_name = '$session->{name}'");
	end_of($session);
	like($session->{err}, qr/57014/, 'pg_cancel_backend() ends a wait');
	$session = begin_to_wait("SELECT hipq.wait_for($id)");
	$hipq->sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE application_name = '$session->{name}'");
	end_of($session);
	like($session->{err}, qr/57P01/, 'pg_terminate_backend() ends a wait');

	# ---- a right that is revoked during the wait
	my $unreadable = $hipq->enqueue('work', q{scheduled_run_time => now() + interval '1 day'});
	$session = begin_to_wait("SET ROLE reader; SELECT * FROM hipq.wait_for($unreadable)");
	$hipq->sql(q{SELECT hipq.revoke_queue('app.main', 'reader', 'read')});
	$hipq->sql("SELECT hipq.cancel($unreadable, 'hidden')");
	is(end_of($session), '', 'a role whose right is revoked while it waits gets no row');
	like($session->{err}, qr/42704: queue "app.main" does not exist/,
		'a role whose right is revoked while it waits gets an error');
	$hipq->sql(q{SELECT hipq.grant_queue('app.main', 'reader', 'read')});

	# ---- many waits at the same time
	my @sessions = map { begin_to_wait("SELECT outcome FROM hipq.wait_for($id)") } 1 .. 8;
	$since = time();
	$lock->quit;
	is(join(' ', map { end_of($_) } @sessions), join(' ', ('succeeded') x 8),
		'several sessions may wait for one job');
	$hipq->in_time(time() - $since, 5, 'all waiting sessions return at once');
	$since = time();
	$hipq->sql(q{DO $$ DECLARE job bigint; BEGIN FOR i IN 1 .. 50 LOOP job := hipq.enqueue('work');
		COMMIT; PERFORM hipq.wait_for(job); COMMIT; END LOOP; END $$});
	$hipq->in_time(time() - $since, 10, 'fifty waits in a row take less than 10 s');
}

# ---- a successor, and jobs that leave no row
{
	my $lock = $hipq->hold_lock;
	my $first = $hipq->enqueue('work', q{'{"lock": 1}', job_key => 's'});
	$hipq->pid_of($first);
	my $second = $hipq->enqueue('work',
		q{'{"second": 1}', job_key => 's', on_duplicate => 'after'});
	is($hipq->sql("SELECT outcome FROM hipq.wait_for($second, '10 ms')"), 'waiting',
		'wait_for() of a successor returns its state after the timeout');
	my $session = begin_to_wait("SELECT * FROM hipq.wait_for($second)");
	$lock->quit;
	is(end_of($session), 'succeeded|{"did": {"second": 1}}|',
		'wait_for() of a successor returns when it has run');
	$lock = $hipq->hold_lock;
	my $id = $hipq->enqueue('brief', q{'{"lock": 1}'});
	$session = begin_to_wait("SELECT * FROM hipq.wait_for($id)");
	$lock->quit;
	is(end_of($session), 'succeeded||',
		'wait_for() of a job that leaves no row returns success without a result');
	like($hipq->error_of("SELECT hipq.wait_for($id)"), qr/42704: job $id does not exist/,
		'wait_for() of a job that left no row raises an error');
}

# ---- refused waits
{
	my $id = $hipq->enqueue('work', q{scheduled_run_time => now() + interval '1 day'});
	like($hipq->error_of(q{BEGIN; SELECT hipq.enqueue('work') AS id \gset
		SELECT hipq.wait_for(:id)}),
			qr/25001: cannot wait for job \d+ in the transaction that has enqueued or changed it\nDETAIL.*\nHINT:  Commit first/,
			'a transaction cannot wait for a job that it enqueued');
	like($hipq->error_of(q{BEGIN; SAVEPOINT s; SELECT hipq.enqueue('work') AS id \gset
		RELEASE s; SELECT hipq.wait_for(:id)}), qr/25001/,
			'a transaction cannot wait for a job of its subtransaction');
	like($hipq->error_of("BEGIN; SELECT hipq.reschedule($id, now()); SELECT hipq.wait_for($id)"),
		qr/25001/, 'a transaction cannot wait for a job that it changed');
	like($hipq->error_of("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT hipq.wait_for($id)"),
		qr/25001: cannot wait for a job in a transaction of isolation level REPEATABLE READ\nDETAIL:  Its snapshot cannot see the end of the job.\nHINT:  Wait in a transaction of isolation level READ COMMITTED/,
			'a REPEATABLE READ transaction cannot wait');
	like($hipq->error_of("BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT hipq.wait_for($id)"),
		qr/25001: .* SERIALIZABLE/, 'a SERIALIZABLE transaction cannot wait');
	like($hipq->error_of("SELECT hipq.wait_for($id, '-1 s')"),
		qr/22023: timeout cannot be negative/, 'a negative timeout is refused');
	like($hipq->error_of('SELECT hipq.wait_for(NULL)'), qr/22004/, 'a NULL id is refused');
	like($hipq->error_of('SELECT hipq.wait_for(123456789)'),
		qr/42704: job 123456789 does not exist/, 'wait_for() of an unknown job is refused');
	like($hipq->error_of("SET ROLE stranger; SELECT hipq.wait_for($id)"),
		qr/42704: job $id does not exist/,
		'wait_for() of a job that the role cannot see is refused as unknown');
	like($hipq->error_of("SET ROLE enqueuer; SELECT hipq.wait_for($id)"),
		qr/42501: permission denied for queue "app.main"\nDETAIL:  Privilege "read" is needed/,
		'a role without privilege read cannot wait');
	is($hipq->sql_as('reader', "SELECT outcome FROM hipq.wait_for($id, '0')"), 'waiting',
		'a role with privilege read can wait');
	my $own = $hipq->enqueue('selfish');
	is($hipq->outcome($own), 'failed', 'a job that waits for itself fails');
	is($hipq->sql("SELECT error FROM hipq.jobs_detail WHERE id = $own"),
		"job $own cannot wait for its own end", 'a job that waits for itself gets an error');
	$node->backup('copy');
	my $standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($node, 'copy', has_streaming => 1);
	$standby->start;
	my ($status, $out, $err) = $standby->psql('postgres', "SELECT hipq.wait_for($id)");
	like($err, qr/cannot wait for a job during recovery/, 'a session on a standby cannot wait');
	$standby->stop;
}

# ---- wait_for() does not return before the end is on disk: with group durability the commit does
# not wait for the flush, but the notification does
{
	$points->arm('before-group-flush', 'wait');
	my $id = $hipq->enqueue('grouped', q{'{"safe": 1}'});
	is($hipq->sql("SELECT outcome FROM hipq.wait_for($id)"), 'succeeded',
		'wait_for() returns although the executor has not flushed its commit');
	$node->stop('immediate');
	$node->start;
	is($hipq->sql("SELECT outcome FROM hipq.jobs WHERE id = $id"), 'succeeded',
		'a job that wait_for() returned as succeeded has succeeded after a crash');
}

done_testing();
