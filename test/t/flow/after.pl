# Jobs that come after others start when those have ended as after_policy says, and otherwise end as
# on_failure says. A held job is started by nothing else. It waits through restarts and crashes.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('after', 'hipq.retry_jitter' => 0,
	'hipq.executor_idle_timeout' => '1h', 'max_prepared_transactions' => 5);
my $node = $hipq->node;
$hipq->create_queue('app.main');
$hipq->create_queue('app.other');
$hipq->sql(q{
	GRANT CREATE ON SCHEMA public TO app;
	CREATE TABLE ran (n serial, id bigint, at timestamptz DEFAULT clock_timestamp());
	GRANT ALL ON ran, ran_n_seq TO app;
	CREATE FUNCTION work(id bigint, data jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO ran (id) VALUES (work.id);
		IF data ? 'lock' THEN PERFORM pg_advisory_xact_lock_shared((data->>'lock')::int); END IF;
		IF data ? 'fail' THEN RAISE 'no'; END IF;
		RETURN data->'return';
	END $$;
	SELECT hipq.register_job_type(queue, 'by_lock', handler => 'work', claim => 'lock'),
		hipq.register_job_type(queue, 'by_record', handler => 'work', claim => 'record'),
		hipq.register_job_type(queue, 'outside', handler_kind => 'notify')
	FROM unnest('{app.main, app.other}'::text[]) AS queue});

# Enqueues a job after others. Arguments: a hash of arguments of hipq.enqueue, as SQL.
sub after
{
	my ($ids, $rest) = @_;
	my $list = join ', ', @$ids;
	return $hipq->sql("SELECT hipq.enqueue('by_lock', queue => 'app.main', "
		. "after => ARRAY[$list]::bigint[]" . ($rest // '') . ')');
}
sub state_of
{
	my ($id) = @_;
	return $hipq->sql("SELECT state || coalesce(' ' || waits_for, '') FROM hipq.job
		WHERE id = $id");
}
sub start
{
	my ($type, $data, $queue) = @_;
	$queue //= 'app.main';
	return $hipq->sql("SELECT hipq.enqueue('$type', '$data', queue => '$queue')");
}

# ---- one after another
foreach my $type ('by_lock', 'by_record')
{
	my $lock = $hipq->hold_lock;
	my $first = start($type, '{"lock": 1}');
	$hipq->pid_of($first);
	my $second = after([$first]);
	my $third = after([$second]);
	is(state_of($second), 'initial jobs', "$type: a job that comes after a running one is held");
	like($hipq->why($second),
		qr/^waits for: It comes after jobs that have not ended: $first\. It starts when all have succeeded, and fails if one of them does not\.$/,
		"$type: why() says what the job waits for");
	is($hipq->sql(q{SELECT held FROM hipq.queues WHERE queue = 'app.main'}), 2,
		"$type: view queues counts held jobs");
	is($hipq->sql("SELECT waits_for FROM hipq.jobs_detail WHERE id = $third"), 'jobs',
		"$type: view jobs_detail says what a job waits for");
	$lock->quit;
	is($hipq->outcome($third), 'succeeded', "$type: jobs run one after another");
	is($hipq->sql("SELECT string_agg(id::text, ' ' ORDER BY n) FROM ran
		WHERE id IN ($first, $second, $third)"), "$first $second $third", "$type: in their order");
}

# ---- policies
my ($good, $bad) = (start('by_lock', '{}'), start('by_lock', '{"fail": 1}'));
is($hipq->outcome($good), 'succeeded', 'one job succeeds');
$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'by_lock', max_retries => 0)});
$bad = start('by_lock', '{"fail": 1}');
is($hipq->outcome($bad), 'failed', 'another one fails');
my %expected = (
	q{} => 'failed', q{, on_failure => 'skip'} => 'skipped',
	q{, on_failure => 'run'} => 'succeeded',
	q{, after_policy => 'finished'} => 'succeeded', q{, after_policy => 'any'} => 'succeeded',
	q{, after_policy => 'failed'} => 'succeeded');
is($hipq->outcome(after([$good, $bad], $_)), $expected{$_}, "after both$_: $expected{$_}")
	foreach sort keys %expected;
is($hipq->outcome(after([$good], q{, after_policy => 'failed'})), 'skipped',
	'a job that waits for a failure is skipped without one');
my $failed = after([$bad]);
is($hipq->outcome($failed), 'failed', 'a job after one that failed fails');
is($hipq->sql("SELECT retry_reason || ' ' || (result->>'cause') FROM hipq.job WHERE id = $failed"),
	"predecessor_failed $bad", 'its reason and cause are recorded');
my $last = after([after([$failed])]);
is($hipq->outcome($last), 'failed', 'so do those after it');
is($hipq->sql("SELECT result->>'cause' FROM hipq.job WHERE id = $last"), $bad,
	'their cause is the first failure');
is($hipq->sql("SELECT count(*) FROM hipq.dead_letters WHERE job_id IN ($failed, $last)"), 0,
	'they leave no dead letters');

# ---- many jobs before
my @many = map { start('outside', '{}') } 1 .. 39;
my $last_lock = $hipq->hold_lock;
push @many, start('by_lock', '{"lock": 1}');
$hipq->pid_of($many[-1]);
my $after_all = after(\@many);
my $after_ends = after(\@many, q{, after_policy => 'finished'});
$last_lock->quit;
is($hipq->outcome($many[-1]), 'succeeded', 'of many jobs the last one ends first');
is(state_of($after_all), 'initial jobs', 'a job after all of them waits');
$hipq->sql("SELECT hipq.cancel($many[1])");
is($hipq->outcome($after_all), 'failed', 'it fails as soon as any of them does');
is($hipq->sql("SELECT result->>'cause' FROM hipq.job WHERE id = $after_all"), $many[1],
	'because of that one');
is(state_of($after_ends), 'initial jobs', 'a job after their ends waits for the others');
$hipq->sql("SELECT hipq.cancel($_)") foreach @many[2 .. 38];
is(state_of($after_ends), 'initial jobs', 'and as long as one of them has not ended');
$hipq->sql("SELECT hipq.cancel($many[0])");
is($hipq->outcome($after_ends), 'succeeded', 'it runs when all have ended');

# ---- a held job is started by nothing else
my $lock = $hipq->hold_lock;
my $first = start('by_lock', '{"lock": 1}');
$hipq->pid_of($first);
my $held = after([$first], q{, job_key => 'held'});
$hipq->sql("SELECT hipq.reschedule($held, now())");
$hipq->sql("UPDATE hipq.app_main SET priority = -5 WHERE id = $held");
$hipq->sql(q{SELECT hipq.enqueue('by_lock', '{"new": 1}', queue => 'app.main', job_key => 'held',
	on_duplicate => 'replace')});
is($hipq->outcome(start('by_lock', '{}')), 'succeeded', 'another job runs meanwhile');
is(state_of($held), 'initial jobs', 'the held job waits nevertheless');
is($hipq->sql("SELECT job_data FROM hipq.job WHERE id = $held"), '{"new": 1}', 'its data are new');
my $free = start('by_lock', '{}', 'app.other');
my $elsewhere = $hipq->sql("SELECT hipq.enqueue('by_record', queue => 'app.other',
	after => ARRAY[$first, $free])");
$hipq->sql("SELECT hipq.pause('app.main')");
$node->stop('immediate');
$node->start;
is(state_of($elsewhere), 'initial jobs', 'it waits after a crash');
$hipq->sql("SELECT hipq.resume('app.main')");
is($hipq->outcome($held), 'succeeded', 'it runs when the job before it has ended');
is($hipq->outcome($elsewhere), 'succeeded', 'so does one in another queue');

# ---- cancelling
$lock = $hipq->hold_lock;
$first = start('by_lock', '{"lock": 1}');
$hipq->pid_of($first);
$held = after([$first]);
my $behind = after([$held]);
$hipq->sql("SELECT hipq.cancel($held)");
is($hipq->outcome($held), 'cancelled', 'a held job can be cancelled');
is($hipq->outcome($behind), 'failed', 'the job after it fails');
$lock->quit;

# ---- rows that are restored while hipq runs
$lock = $hipq->hold_lock;
$first = start('by_lock', '{"lock": 1}');
$hipq->pid_of($first);
$held = after([$first]);
$hipq->sql("SET session_replication_role = replica;
	CREATE TABLE kept AS SELECT * FROM hipq.job WHERE id = $held;
	CREATE TABLE kept_dependency AS SELECT * FROM hipq.dependency WHERE job_id = $held;
	DELETE FROM hipq.app_main WHERE id = $held;
	DELETE FROM hipq.dependency WHERE job_id = $held");
$lock->quit;
is($hipq->outcome($first), 'succeeded', 'a job ends while the rows of the job after it are away');
$hipq->sql('SET session_replication_role = replica; BEGIN;
	INSERT INTO hipq.job SELECT * FROM kept;
	INSERT INTO hipq.dependency SELECT * FROM kept_dependency; COMMIT');
is($hipq->outcome($held), 'succeeded', 'the job runs when its rows are restored');

# ---- prepared transactions
$first = start('by_lock', '{}');
is($hipq->outcome($first), 'succeeded', 'a job ends before the transaction is committed');
$hipq->sql("BEGIN; CREATE TEMP TABLE none (); DROP TABLE none;
	SELECT hipq.enqueue('by_lock', queue => 'app.main', after => ARRAY[$first]); COMMIT");
$node->safe_psql('postgres', "BEGIN;
	SELECT hipq.enqueue('by_lock', queue => 'app.main', job_key => 'prepared',
		after => ARRAY[$first]);
	PREPARE TRANSACTION 'held'");
$node->restart;
$node->safe_psql('postgres', "COMMIT PREPARED 'held'");
ok($hipq->wait_until(q{SELECT outcome FROM hipq.jobs WHERE job_key = 'prepared'}, 'succeeded'),
	'a job of a prepared transaction runs');

# ---- external workers
my $worker = $hipq->sql(q{SELECT hipq.register_worker('one', '{app.main}', '{outside}')});
$first = start('outside', '{}');
my $next = $hipq->enqueue('outside', "queue => 'app.main', after => ARRAY[$first]");
is($hipq->sql("SELECT id FROM hipq.claim($worker, wait => 20)"), $first, 'a worker gets the first');
is($hipq->sql("SELECT count(*) FROM hipq.claim($worker)"), 0, 'and not the one that is held');
$hipq->sql("SELECT hipq.complete($first, 1)");
is($hipq->sql("SELECT id FROM hipq.claim($worker, wait => 20)"), $next, 'which it gets then');
$hipq->sql("SELECT hipq.complete($next, 1)");

# ---- fan-out and fan-in
my $many = 300;
$hipq->sql(qq{
	CREATE TABLE flow AS SELECT hipq.enqueue('by_lock', queue => 'app.main') AS root;
	ALTER TABLE flow ADD leaves bigint[], ADD sink bigint;
	UPDATE flow SET leaves = hipq.enqueue_many('by_lock', array_fill('{}'::jsonb, '{$many}'),
		queue => 'app.main', after => ARRAY[root]);
	UPDATE flow SET sink = hipq.enqueue('by_lock', queue => 'app.main', after => leaves)});
is($hipq->outcome($hipq->sql('SELECT sink FROM flow')), 'succeeded', 'a fan-out and a fan-in end');
is($hipq->sql("SELECT count(*) FILTER (WHERE ran.id = ANY (leaves)) || ' '
	|| bool_and(ran.id <> ALL (leaves) OR sink.n > ran.n)
	FROM flow CROSS JOIN ran JOIN ran AS sink ON sink.id = flow.sink"), "$many true",
	'the last job runs once all others have');

# The same in no order of the ids, also with one that fails.
foreach my $failing (0, 1)
{
	$hipq->sql(qq{
		SELECT hipq.pause('app.main');
		DROP TABLE flow;
		CREATE TABLE flow (leaf bigint);
		WITH leaf AS (
			INSERT INTO hipq.app_main (job_type, job_data, priority, max_retries)
			SELECT 'by_lock', CASE WHEN n = 77 * $failing THEN '{"fail": 1}' ELSE '{}' END::jsonb,
				n * 7919 % $many, 0
			FROM generate_series(1, $many) AS n
			RETURNING id)
		INSERT INTO flow SELECT id FROM leaf});
	my ($sink, $after_ends) = map { $hipq->sql("SELECT hipq.enqueue('by_lock', queue => 'app.main',
		after => array_agg(leaf), after_policy => '$_') FROM flow") } 'succeeded', 'finished';
	$hipq->sql("SELECT hipq.resume('app.main')");
	is($hipq->outcome($sink), $failing ? 'failed' : 'succeeded', 'many jobs end in no order');
	is($hipq->outcome($after_ends), 'succeeded', 'and those after them');
	is($hipq->sql("SELECT count(*) || ' ' || bool_and(ran.n < last.n)
		FROM flow JOIN ran ON ran.id = leaf JOIN ran AS last ON last.id = $after_ends"),
		($many - $failing) . ' true', 'the last one after all');
}

# ---- nothing is left
is($hipq->sql('SELECT count(*) FROM hipq.job WHERE waits_for IS NOT NULL'), 0, 'no job is held');
done_testing();
