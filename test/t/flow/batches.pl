# A batch is complete when it is closed and none of its jobs is unfinished, however its jobs were
# added, moved or ended. Its callback runs once, after the last job, whatever crashes meanwhile.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('batches', 'hipq.retry_jitter' => 0,
	'hipq.executor_idle_timeout' => '1h', 'max_prepared_transactions' => 5,
	'hipq.allow_clock_offset' => 'on');
my $node = $hipq->node;
$hipq->create_queue('app.main');
$hipq->create_queue('app.other');
$hipq->sql(q{
	GRANT CREATE ON SCHEMA public TO app;
	CREATE TABLE ran (n serial, id bigint, batch bigint, state text, failed bigint);
	GRANT ALL ON ran, ran_n_seq TO app;
	CREATE FUNCTION work(id bigint, data jsonb) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		IF data ? 'lock' THEN PERFORM pg_advisory_xact_lock_shared((data->>'lock')::int); END IF;
		IF data ? 'add' THEN
			PERFORM hipq.enqueue('member', queue => data->>'queue', batch => hipq.current_batch())
			FROM generate_series(1, (data->>'add')::int);
		END IF;
		IF data ? 'fail' THEN RAISE 'no'; END IF;
	END $$;
	CREATE FUNCTION tell(id bigint, data jsonb) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO ran (id, batch, state, failed)
		SELECT tell.id, hipq.current_batch(), progress.state, progress.failed
		FROM hipq.batch_progress(hipq.current_batch()) AS progress;
	END $$;
	SELECT hipq.register_job_type(queue, 'member', handler => 'work', max_retries => 0),
		hipq.register_job_type(queue, 'outside', handler_kind => 'notify', max_retries => 0)
	FROM unnest('{app.main, app.other}'::text[]) AS queue;
	SELECT hipq.register_job_type('app.main', 'callback', handler => 'tell')});

sub batch
{
	my ($rest) = @_;
	$rest //= '';
	return $hipq->sql("SELECT hipq.create_batch(callback_type => 'callback'$rest)");
}
sub add
{
	my ($batch, $data, $queue) = @_;
	$data //= '{}';
	$queue //= 'app.main';
	return $hipq->sql("SELECT hipq.enqueue('member', '$data', queue => '$queue', batch => $batch)");
}
sub progress
{
	my ($batch) = @_;
	return $hipq->sql("SELECT concat_ws(' ', state, jobs, unfinished, succeeded, failed, skipped)
		FROM hipq.batch_progress($batch)");
}
sub callback_of
{
	my ($batch) = @_;
	return $hipq->sql("SELECT job_id FROM hipq.dependency WHERE before_id = $batch");
}
sub waits
{
	my ($batch) = @_;
	return $hipq->sql('SELECT waits_for FROM hipq.job WHERE id = ' . callback_of($batch));
}
sub calls
{
	my ($batch) = @_;
	return $hipq->sql("SELECT count(*) FROM ran WHERE batch = $batch");
}
sub close_batch
{
	my ($batch) = @_;
	return $hipq->sql("SELECT hipq.close_batch($batch)");
}

# ---- from the first job to the callback
my $batch = batch();
my $callback = callback_of($batch);
like($hipq->why($callback),
	qr/^waits for: It comes after batch $batch, which takes jobs until it is closed, at the latest/,
	'why() tells of an open batch');
my $lock = $hipq->hold_lock;
my @jobs = map { add($batch, '{"lock": 1}') } 1 .. 2;
is($hipq->outcome(add($batch)), 'succeeded', 'a job of the batch ends');
is(progress($batch), 'open 3 2 1 0 0', 'its progress is counted');
is($hipq->sql("SELECT batch_id FROM hipq.jobs_detail WHERE id = $jobs[0]"), $batch,
	'view jobs_detail shows the batch of a job');
is(close_batch($batch), 't', 'the batch is closed');
is(close_batch($batch), 'f', 'it is closed only once');
like($hipq->why($callback),
	qr/^waits for: It comes after batch $batch, whose job $jobs[1] has not ended\./,
	'why() tells of an unfinished job');
is(waits($batch), 'jobs', 'the callback waits for the last job');
$lock->quit;
is($hipq->outcome($callback), 'succeeded', 'the callback runs');
is($hipq->sql("SELECT concat_ws(' ', id, batch, state, failed) FROM ran"),
	"$callback $batch finished 0", 'it knows its batch and how that ended');
is(progress($batch), 'finished 3 0 3 0 0', 'the batch is finished');
is($hipq->sql(q{SELECT state || jobs FROM hipq.batches WHERE batch_id = } . $batch), 'finished3',
	'view batches has it');
like($hipq->error_of("SELECT hipq.enqueue('member', queue => 'app.main', batch => $batch)"),
	qr/batch $batch is closed.*While a job of a closed batch runs/s, 'it takes no more jobs');

# ---- every way of adding jobs
$batch = batch();
$hipq->sql(qq{
	SELECT hipq.enqueue('member', queue => 'app.main', batch => $batch);
	SELECT hipq.enqueue('member', '{}'::jsonb, queue => 'app.main', batch => $batch);
	SELECT hipq.enqueue_unique('member', queue => 'app.main', job_key => 'a', batch => $batch);
	SELECT hipq.enqueue_many('member', ARRAY['{}', '{}', '{}']::jsonb[], queue => 'app.main',
		batch => $batch,
		job_keys => ARRAY['b', NULL, 'c']);
	INSERT INTO hipq.app_main (job_type, batch_id) VALUES ('member', $batch), ('member', $batch);
	INSERT INTO hipq.app_main (job_type, batch_id)
		SELECT 'member', $batch FROM generate_series(1, 5)
		ON CONFLICT DO NOTHING;
	WITH made AS (INSERT INTO hipq.app_other (job_type, batch_id)
		VALUES ('member', $batch) RETURNING id)
	SELECT count(*) FROM made;
	COPY hipq.app_main (job_type, batch_id)
		FROM PROGRAM 'printf "member\\t$batch\\nmember\\t$batch\\n"';
	COPY hipq.app_main (job_type, batch_id) FROM PROGRAM 'printf "member\\t$batch\\n"' WHERE true});
like(progress($batch), qr/^open 17 /, 'all jobs are counted');
close_batch($batch);
is($hipq->outcome(callback_of($batch)), 'succeeded', 'the callback runs after them');
is(progress($batch), 'finished 17 0 17 0 0', 'all have succeeded');

# Jobs that are undone are not counted, nor are those that are left out.
$batch = batch();
$lock = $hipq->hold_lock;
$hipq->sql(qq{
	BEGIN;
	SELECT hipq.enqueue('member', '{"lock": 1}', queue => 'app.main', job_key => 'k',
		batch => $batch);
	SAVEPOINT s;
	SELECT hipq.enqueue('member', queue => 'app.main', batch => $batch),
		hipq.enqueue('member', queue => 'app.main', batch => $batch);
	ROLLBACK TO s;
	SAVEPOINT t;
	SELECT hipq.enqueue('member', queue => 'app.main', batch => $batch);
	SAVEPOINT u;
	SELECT hipq.enqueue('member', queue => 'app.main', batch => $batch);
	RELEASE u;
	RELEASE t;
	DO 'BEGIN PERFORM hipq.enqueue(''member'', queue => ''app.main'', batch => $batch);
		RAISE ''x''; EXCEPTION WHEN OTHERS THEN NULL; END';
	SELECT jobs FROM hipq.batch_progress($batch);
	COMMIT;
	BEGIN; SELECT hipq.enqueue('member', queue => 'app.main', batch => $batch); ROLLBACK;
	INSERT INTO hipq.app_main (job_type, job_key, batch_id) VALUES ('member', 'k', $batch)
		ON CONFLICT DO NOTHING;
	SELECT hipq.enqueue('member', queue => 'app.main', job_key => 'k', on_duplicate => 'return',
		batch => $batch)});
like(progress($batch), qr/^open 3 /, 'a batch has the jobs that were committed');
is($hipq->sql("BEGIN; SELECT hipq.enqueue('member', queue => 'app.main', batch => $batch),
	hipq.enqueue('member', queue => 'app.main', batch => $batch);
	SELECT jobs FROM hipq.batch_progress($batch); ROLLBACK") =~ s/.*\n//r, 5,
	'a transaction sees the jobs that it has added');
$lock->quit;
close_batch($batch);
is($hipq->outcome(callback_of($batch)), 'succeeded', 'its callback runs');

# ---- when the callback is called
$hipq->sql('DELETE FROM ran');
my %expected = ("succeeded good" => 'succeeded', "succeeded bad" => 'skipped',
	"first_failure good" => 'skipped', "first_failure bad" => 'succeeded',
	"finished good" => 'succeeded', "finished bad" => 'succeeded');
foreach my $case (sort keys %expected)
{
	my ($when, $end) = split ' ', $case;
	my $one = batch(", call_when => '$when'");
	add($one);
	my $last = add($one, $end eq 'bad' ? '{"fail": 1}' : '{}');
	close_batch($one);
	is($hipq->outcome(callback_of($one)), $expected{$case}, "$case: $expected{$case}");
	is($hipq->sql("SELECT result->>'cause' FROM hipq.job WHERE id = " . callback_of($one)), $last,
		"$case: the cause is known") if $case eq 'succeeded bad';
}
$batch = batch(q{, call_when => 'first_failure'});
add($batch, '{"fail": 1}');
is($hipq->outcome(callback_of($batch)), 'succeeded',
	'the first failure calls while a batch is open');
is($hipq->sql("SELECT state || failed FROM ran WHERE batch = $batch"), 'open1', 'it is the first');
add($batch, '{"fail": 1}');
close_batch($batch);
$batch = batch();
close_batch($batch);
is($hipq->outcome(callback_of($batch)), 'succeeded',
	'the callback of an empty batch runs at its end');

# ---- jobs that were cancelled, skipped, expired count as what they are
$batch = batch();
$lock = $hipq->hold_lock;
my $first = add($batch, '{"lock": 1, "fail": 1}');
$hipq->pid_of($first);
my $skipped = $hipq->sql("SELECT hipq.enqueue('member', queue => 'app.main', after => ARRAY[$first],
	on_failure => 'skip', batch => $batch)");
my $cancelled = $hipq->sql("SELECT hipq.enqueue('member', queue => 'app.main',
	after => ARRAY[$first], batch => $batch)");
$hipq->sql("SELECT hipq.cancel($cancelled)");
close_batch($batch);
$lock->quit;
is($hipq->outcome(callback_of($batch)), 'succeeded', 'jobs of a batch may come after each other');
is(progress($batch), 'finished 3 0 0 2 1', 'failed, cancelled and skipped jobs are told apart');

# A job that is made again takes the place of the failed one.
$batch = batch(q{, call_when => 'succeeded'});
$hipq->sql('CREATE TABLE good (id int); GRANT ALL ON good TO app');
$hipq->sql(q{CREATE FUNCTION repaired(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN IF NOT EXISTS (SELECT FROM good) THEN RAISE 'no'; END IF; END $$;
	SELECT hipq.register_job_type('app.main', 'repaired', handler => 'repaired',
		max_retries => 0)});
my @bad = map { $hipq->sql("SELECT hipq.enqueue('repaired', batch => $batch)") } 1 .. 2;
close_batch($batch);
is($hipq->outcome(callback_of($batch)), 'skipped', 'a batch has two failures');
$hipq->sql('INSERT INTO good VALUES (1)');
my $cause = $hipq->sql("SELECT result->>'cause' FROM hipq.job WHERE id = " . callback_of($batch));
my ($other_failure) = grep { $_ != $cause } @bad;
$hipq->sql("SELECT hipq.redrive($cause, with_dependents => true)");
my $again = $hipq->sql("SELECT max(job_id) FROM hipq.dependency WHERE before_id = $batch");
is($hipq->outcome($again), 'skipped',
	'the callback is made again, and is skipped for the other one');
is(progress($batch), 'finished 2 0 1 1 0', 'one failure is gone');
$hipq->sql("SELECT hipq.redrive($other_failure, with_dependents => true)");
$again = $hipq->sql("SELECT max(job_id) FROM hipq.dependency WHERE before_id = $batch");
is($hipq->outcome($again), 'succeeded', 'after the second one it runs');
is(progress($batch), 'finished 2 0 2 0 0', 'all have succeeded');

# ---- open transactions
$batch = batch();
my $session = $hipq->session;
$session->query_safe("BEGIN; SELECT hipq.enqueue('member', queue => 'app.main', batch => $batch)");
close_batch($batch);
ok($hipq->wait_until("SELECT string_agg(explanation, '') LIKE '%open transaction adds jobs%'
		FROM hipq.why("
		. callback_of($batch) . ')'),
	'why() tells of a transaction that adds jobs to a closed batch');
is(waits($batch), 'jobs', 'the callback waits for it');
$session->query_safe("SELECT hipq.enqueue('member', queue => 'app.main', batch => $batch); COMMIT");
is($hipq->outcome(callback_of($batch)), 'succeeded', 'and runs when its jobs have ended');
is(progress($batch), 'finished 2 0 2 0 0', 'a transaction that had begun may add more');
$batch = batch();
$hipq->sql("BEGIN; SELECT hipq.enqueue('member', queue => 'app.main', batch => $batch);
	PREPARE TRANSACTION 'b'");
close_batch($batch);
is($hipq->outcome($hipq->sql(q{SELECT hipq.enqueue('member', queue => 'app.main')})), 'succeeded',
	'another job runs');
is(waits($batch), 'jobs', 'a prepared transaction counts as an open one');
$node->restart;
$hipq->sql(q{COMMIT PREPARED 'b'});
is($hipq->outcome(callback_of($batch)), 'succeeded', 'also after a restart');
is(progress($batch), 'finished 1 0 1 0 0', 'its job is counted');

# closed => true: the transaction that makes the batch fills it.
$batch = $hipq->sql(q{BEGIN;
	CREATE TEMP TABLE made AS
		SELECT hipq.create_batch(callback_type => 'callback', closed => true) AS id;
	SELECT hipq.enqueue_many('member', ARRAY['{}', '{}']::jsonb[], queue => 'app.main',
		batch => id) FROM made;
	COMMIT;
	SELECT id FROM made}) =~ s/.*\n//sr;
is($hipq->outcome(callback_of($batch)), 'succeeded', 'a batch that was closed from the beginning');
is(progress($batch), 'finished 2 0 2 0 0', 'has the jobs of its transaction');

# run_until_idle() runs them, too.
is($hipq->sql_as('app', q{BEGIN;
		SELECT hipq.create_batch('in one transaction', callback_type => 'callback') AS batch \gset
		SELECT hipq.enqueue('member', queue => 'app.main', batch => :batch),
			hipq.close_batch(:batch) \gset
		SELECT hipq.run_until_idle('app.main');
		SELECT ran.state || jobs FROM ran JOIN hipq.batches ON batch = batch_id
			WHERE batch_id = :batch;
		ROLLBACK}), "2\nfinished1", 'run_until_idle() runs a batch and its callback');

# ---- jobs that add jobs
$batch = batch();
$lock = $hipq->hold_lock;
add($batch, '{"lock": 1, "add": 3, "queue": "app.other"}');
close_batch($batch);
like($hipq->error_of("SELECT hipq.enqueue('member', queue => 'app.main',
	batch => " . batch(q{, closed => true}) . ')'),
	qr/is closed/, 'nobody adds jobs to a closed batch');
$lock->quit;
is($hipq->outcome(callback_of($batch)), 'succeeded', 'jobs of a closed batch add jobs');
is(progress($batch), 'finished 4 0 4 0 0', 'also in another queue');
$batch = batch();
my $worker = $hipq->sql(q{SELECT hipq.register_worker('w', '{app.main}', '{outside}')});
my $outside = $hipq->sql("SELECT hipq.enqueue('outside', queue => 'app.main', batch => $batch)");
close_batch($batch);
ok($hipq->wait_until("SELECT count(*) = 1 FROM hipq.claim($worker, 1)"),
	'a worker takes a job of a batch');
add($batch, '{}', 'app.other');
$hipq->sql("SELECT hipq.complete($outside, 1)");
is($hipq->outcome(callback_of($batch)), 'succeeded', 'its worker adds jobs, too');
is(progress($batch), 'finished 2 0 2 0 0', 'which are counted');

# ---- moved, cancelled, dropped
$batch = batch();
$hipq->sql(q{SELECT hipq.pause('app.main', job_type => 'member')});
add($batch) foreach 1 .. 3;
close_batch($batch);
is($hipq->sql(q{SELECT moved FROM hipq.move_jobs('app.main', 'app.other', 'member')}), 3,
	'jobs of a batch move to another queue');
is($hipq->outcome(callback_of($batch)), 'succeeded', 'the batch ends with them');
is(progress($batch), 'finished 3 0 3 0 0', 'they count once');
$batch = batch();
add($batch) foreach 1 .. 3;
is($hipq->sql("SELECT hipq.cancel_batch($batch)"), 3, 'a batch is cancelled');
is($hipq->outcome(callback_of($batch)), 'succeeded', 'its callback runs');
is(progress($batch), 'finished 3 0 0 3 0', 'it has no jobs left');
$hipq->sql(q{SELECT hipq.resume('app.main', job_type => 'member')});
$hipq->create_queue('app.third');
$hipq->sql(q{SELECT hipq.register_job_type('app.third', 'member', handler => 'work');
	SELECT hipq.pause('app.third')});
$batch = batch();
add($batch, '{}', 'app.third');
close_batch($batch);
is(waits($batch), 'jobs', 'a job in a paused queue keeps the batch waiting');
$hipq->sql(q{SELECT hipq.drop_queue('app.third', force => true)});
is($hipq->outcome(callback_of($batch)), 'succeeded',
	'a batch ends without the jobs of a dropped queue');
is(progress($batch), 'finished 1 0 0 1 0', 'they count as failed');

# ---- after_batch, circles
$batch = batch();
my $after = $hipq->sql("SELECT hipq.enqueue('member', queue => 'app.main', after_batch => $batch)");
my $second = $hipq->sql("SELECT hipq.create_batch(callback_type => 'callback')");
my $both = $hipq->sql("SELECT hipq.enqueue('member', queue => 'app.main', after => ARRAY[$after],
	after_batch => $second)");
like($hipq->error_of("SELECT hipq.enqueue('member', queue => 'app.main', batch => $batch,
	after_batch => $batch)"),
	qr/a job of batch $batch cannot come after batch $batch/,
		'a job does not wait for its own batch');
like($hipq->error_of("SELECT hipq.enqueue('member', queue => 'app.main',
	batch => $batch, after => ARRAY[$both])"),
	qr/a job of batch $batch cannot come after job $both.*waits for the batch/s,
	'nor for a job that does');
$hipq->sql("SELECT hipq.enqueue('member', queue => 'app.main', batch => $second,
	after_batch => $batch)");
like($hipq->error_of("SELECT hipq.enqueue('member', queue => 'app.main', batch => $batch,
	after_batch => $second)"),
	qr/a job of batch $batch cannot come after batch $second/, 'nor by way of another batch');
add($batch);
close_batch($batch);
is($hipq->outcome($after), 'succeeded', 'a job comes after a batch');
is($hipq->sql("SELECT waits_for FROM hipq.job WHERE id = $both"), 'jobs',
	'another one after two things');
close_batch($second);
is($hipq->outcome($both), 'succeeded', 'and starts after both');

# ---- abandoned
$batch = batch(q{, expires_after => '3 hours'});
add($batch);
ok($hipq->wait_until("SELECT unfinished = 0 FROM hipq.batch_progress($batch)"),
	'all jobs have ended');
is(waits($batch), 'jobs', 'the callback waits until the batch is closed');
$hipq->set('hipq.clock_offset' => '4h');
is($hipq->outcome(callback_of($batch)), 'succeeded', 'a batch that nobody closes ends by itself');
is($hipq->sql("SELECT state FROM ran WHERE batch = $batch"), 'abandoned', 'its callback is told');
$hipq->set('hipq.clock_offset' => '0');

# The scheduler that has seen the batch leaves, or is replaced, before the batch expires.
$batch = batch(q{, expires_after => '3 hours'});
my $scheduler = "pg_stat_activity WHERE backend_type = 'hipq scheduler'";
ok($hipq->wait_until("SELECT count(*) = 0 FROM $scheduler"),
	'the scheduler leaves while a batch is open');
$hipq->set('hipq.clock_offset' => '4h');
is($hipq->outcome(callback_of($batch)), 'succeeded', 'the next one ends the batch');
$hipq->set('hipq.clock_offset' => '0');
$batch = batch(q{, expires_after => '50 seconds'});
is(waits($batch), 'jobs', 'the scheduler stays for a batch that expires soon');
my $pid = $hipq->sql("SELECT pid FROM $scheduler");
$hipq->sql("SELECT pg_terminate_backend($pid)");
ok($hipq->wait_until("SELECT pid <> $pid FROM $scheduler"), 'after its end there is another one');
$hipq->set('hipq.clock_offset' => '4h');
is($hipq->outcome(callback_of($batch)), 'succeeded', 'which ends the batch, too');
$hipq->set('hipq.clock_offset' => '0');

# ---- crashes
$batch = batch();
$lock = $hipq->hold_lock;
add($batch, '{"lock": 1}');
close_batch($batch);
$lock->quit;
$node->stop('immediate');
$node->start;
is($hipq->outcome(callback_of($batch)), 'succeeded', 'a crash loses no callback');
is(calls($batch), 1, 'it was called once');

# ---- dump and restore
$batch = batch();
$hipq->sql(q{SELECT hipq.pause('app.main')});
add($batch);
add($batch, '{}', 'app.other');
ok($hipq->wait_until("SELECT unfinished = 1 FROM hipq.batch_progress($batch)"),
	'a batch is half done');
close_batch($batch);
my $dump = $node->basedir . '/batches.dump';
$node->command_ok(['pg_dump', '-Fc', '-f', $dump, 'postgres'], 'it is dumped');
$node->safe_psql('template1', 'CREATE DATABASE copy');
$node->command_ok(['pg_restore', '-d', 'copy', $dump], 'and restored');
is($node->safe_psql('copy', "SELECT concat_ws(' ', state, jobs, unfinished)
		FROM hipq.batch_progress($batch)"),
	'running 2 1', 'the copy has the batch');
$hipq->sql(q{SELECT hipq.resume('app.main')});
is($hipq->outcome(callback_of($batch)), 'succeeded', 'the original goes on');

# ---- rights, errors
$hipq->sql(q{CREATE ROLE stranger LOGIN});
my @refused = (
	['create_batch()', qr/a batch without callback needs a queue/],
	[q{create_batch(callback_type => 'callback', call_when => 'never')},
		qr/invalid value for call_when: "never"/],
	[q{create_batch(callback_type => 'callback', expires_after => '0')},
		qr/expires_after must be positive/],
	[q{enqueue('member', queue => 'app.main', batch => 999999)}, qr/batch 999999 does not exist/],
	[q{enqueue('member', queue => 'app.main', after_batch => 999999)},
		qr/batch 999999 does not exist/],
	["enqueue('member', queue => 'app.main', job_key => 'x', on_duplicate => 'after',
		batch => " . batch() . ')',
		qr/a job of a batch cannot replace or follow another one/],
	['close_batch(999999)', qr/batch 999999 does not exist/],
	['cancel_batch(999999)', qr/batch 999999 does not exist/]);
like($hipq->error_of("SELECT hipq.$_->[0]"), $_->[1], "refused: $_->[0]") foreach @refused;
$batch = batch();
$hipq->sql(q{SELECT hipq.pause('app.main')});
$first = add($batch);
like($hipq->error_of("UPDATE hipq.app_main SET batch_id = NULL WHERE id = $first"),
	qr/column "batch_id" of job \d+ is fixed when it is enqueued/, 'a job keeps its batch');
$hipq->sql(q{SELECT hipq.resume('app.main');
	SELECT hipq.grant_queue('app.other', 'stranger', 'enqueue')});
like($hipq->error_of("SET ROLE stranger; SELECT hipq.close_batch($batch)"),
	qr/batch $batch does not exist/, 'strangers learn nothing of a batch');
like($hipq->error_of("SET ROLE stranger; SELECT hipq.enqueue('member', queue => 'app.other',
	batch => $batch)"),
	qr/batch $batch does not exist/, 'nor add jobs to it');

# ---- what hipq-web asks for
my $all = $hipq->sql('SELECT array_agg(batch_id ORDER BY batch_id DESC) FROM hipq.batches');
my @newest = $all =~ /\d+/g;
cmp_ok(scalar @newest, '>', 2, 'there are some batches');
is($hipq->sql('SELECT hipq._newest_batches(NULL, 1000)'), $all,
	'batches are found, the newest first');
is($hipq->sql("SELECT hipq._newest_batches($newest[0], 2)"), "{$newest[1],$newest[2]}",
	'... those before a batch, at most as many as asked for');

# ---- retention
$hipq->sql(q{SELECT hipq.close_batch(batch_id) FROM hipq.batches WHERE state = 'open'});
ok($hipq->wait_until(q{SELECT bool_and(unfinished = 0) FROM hipq.batches}),
	'all batches have ended');
$hipq->set('hipq.clock_offset' => '30d');
$hipq->sql(q{SELECT hipq.enqueue('member', queue => 'app.main')});
ok($hipq->wait_until(q{SELECT (SELECT count(*) FROM hipq.batch)
	+ (SELECT count(*) FROM hipq.batch_join)
	+ (SELECT count(*) FROM hipq.batch_failure) = 0}), 'batches go with the jobs after them');

done_testing();
