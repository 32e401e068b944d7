# A breaker stops a job type whose attempts fail: its jobs wait, uncharged, and one after the other
# tries until one succeeds. In executors, batches and external workers, after restarts and crashes,
# and by open_breaker() and close_breaker().
use strict;
use warnings;
use HipqCluster;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $hipq = HipqCluster->new('breaker', 'hipq.max_executors' => 2, 'hipq.retry_base' => '10ms',
	'hipq.retry_jitter' => 0, 'hipq.retry_multiplier' => 1);
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE TABLE api (works boolean);
	INSERT INTO api VALUES (false);
	CREATE SEQUENCE calls;
	CREATE TABLE batch (size integer, at timestamptz DEFAULT clock_timestamp());
	GRANT ALL ON api, calls, batch TO app;
	CREATE FUNCTION call_api() RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM nextval('calls');
		IF NOT (SELECT works FROM api) THEN RAISE 'down'; END IF;
	END $$;
	CREATE FUNCTION call_one(data jsonb) RETURNS void LANGUAGE sql AS $$ SELECT call_api() $$;
	CREATE FUNCTION call_all(jobs hipq.job[]) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM call_api();
		INSERT INTO batch VALUES (cardinality(jobs));
	END $$;
	CREATE FUNCTION hang(data jsonb) RETURNS void LANGUAGE sql
		AS $$ SELECT pg_advisory_xact_lock_shared(42) $$;
});

my $offset = 0;
sub pass_time
{
	$offset += shift;
	return $hipq->set('hipq.clock_offset', "$offset s");
}
sub enqueue
{
	my ($type, $count) = @_;
	return $hipq->sql("INSERT INTO hipq.app_main (job_type) SELECT '$type'
		FROM generate_series(1, $count)");
}
sub calls { return $hipq->sql(q{SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM calls}) }
sub breaker
{
	my ($type) = @_;
	return $hipq->sql("SELECT breaker_state FROM hipq.job_types_detail WHERE job_type = '$type'");
}
sub wait_for
{
	my ($type, $state, $what) = @_;
	return ok($hipq->wait_until("SELECT breaker_state = '$state' FROM hipq.job_types_detail
		WHERE job_type = '$type'"), $what // "the breaker of $type is $state");
}
sub is_saved
{
	my ($type) = @_;
	return $hipq->wait_until("SELECT EXISTS (SELECT FROM hipq.breaker_state WHERE job_type = '$type'
		AND open_until > hipq.now())");
}
sub why
{
	my ($type) = @_;
	return $hipq->sql("SELECT explanation FROM hipq.why((SELECT max(id) FROM hipq.app_main_live
		WHERE job_type = '$type')) WHERE condition = 'breaker'");
}
sub wait_until_done
{
	my ($type) = @_;
	return ok($hipq->wait_until("SELECT NOT EXISTS (SELECT FROM hipq.app_main_live
		WHERE job_type = '$type')"), "all jobs of $type run");
}

# ---- a handler that fails

$hipq->sql(q{SELECT hipq.register_job_type('app.main', 'call', handler => 'call_one',
	max_retries => 9, breaker => '50% of 4 in 1 min, open 30 s')});
enqueue('call', 20);
wait_for('call', 'open', 'the breaker opens when attempts fail');
$hipq->wait_until(q{SELECT NOT EXISTS (SELECT FROM hipq.executors WHERE status = 'running')});
my $before = calls();
cmp_ok($before, '<=', 6, 'no more jobs start then');
is($hipq->sql(q{SELECT sum(retry_count) FROM hipq.app_main_live}), $before,
	'jobs that wait are not charged');
like(why('call'), qr/^The breaker of the job type is open since \d.* until \d.*, in [23]\d s: /,
	'why() tells it');
like(why('call'), qr/: 4 of 4 attempts failed; then one job tries\.$/, 'with its cause');
ok(is_saved('call'), 'a table keeps it');
is($hipq->sql(q{SELECT detail FROM hipq.alerts_detail WHERE alert = 'breaker open'}) =~
	/job type call of queue app.main \(open since .*: 4 of 4 attempts failed\)/, 1,
	'an alert names queue and type');
pass_time(31);
ok($hipq->wait_until(q{SELECT (SELECT last_value FROM calls) > } . $before), 'then one job tries');
wait_for('call', 'open', 'it fails, and the breaker opens again');
like(why('call'), qr/: the job that tried failed; then one job tries/, 'why() tells that');
is(calls(), $before + 1, 'only one job has tried');

# ---- restarts and crashes

is_saved('call');
$hipq->node->restart;
is(breaker('call'), 'open', 'after a restart the breaker is open');
kill 'KILL', $hipq->sql(q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'hipq launcher'});
$hipq->wait_until(q{SELECT EXISTS (SELECT FROM pg_stat_activity
	WHERE backend_type = 'hipq scheduler')});
is(breaker('call'), 'open', 'after a crash, too');
like(why('call'), qr/: the job that tried failed; then one job tries/, 'why() remembers');
enqueue('call', 1);
$hipq->sql(q{UPDATE api SET works = true});
pass_time(31);
wait_until_done('call');
wait_for('call', 'closed', 'the job that tried succeeded: the breaker is closed');
is($hipq->sql(q{SELECT sum(retry_count) FROM hipq.app_main_final}), $before + 1,
	'each failed call is charged once');
ok($hipq->wait_until(q{SELECT NOT EXISTS (SELECT FROM hipq.breaker_state)}),
	'the table forgets it');

# ---- batches

$hipq->sql(q{UPDATE api SET works = false; SELECT setval('calls', 1, false);
	SELECT hipq.register_job_type('app.main', 'batch', handler => 'call_all', max_retries => 9,
		batch_size => 5, breaker => '100% of 3 in 1 min, open 30 s')});
enqueue('batch', 5);
wait_for('batch', 'open');
$hipq->wait_until(q{SELECT sum(retry_count) = 3 FROM hipq.app_main_live});
is($hipq->sql(q{SELECT string_agg(retry_count::text, ' ' ORDER BY id) FROM hipq.app_main_live}),
	'1 1 1 0 0', 'jobs of a failed batch start one by one until the breaker opens');
enqueue('batch', 10);
$hipq->sql(q{UPDATE api SET works = true});
pass_time(31);
wait_until_done('batch');
is($hipq->sql(q{SELECT size FROM batch ORDER BY at LIMIT 1}), 1, 'a batch that tries is one job');
cmp_ok($hipq->sql(q{SELECT max(size) FROM batch}), '>', 1, 'the next ones are whole');

# ---- probes that end without an end that counts

my $lock = $hipq->node->background_psql('postgres');
$lock->query_safe('SELECT pg_advisory_lock(42)');
$hipq->sql(q{SELECT hipq.register_job_type('app.main', 'hang', handler => 'hang', max_retries => 9,
	breaker => '50% of 4 in 1 min, open 30 s')});
is($hipq->sql(q{SELECT hipq.open_breaker('app.main', 'hang', '30 s', 'a test')}), 't',
	'a user opens it');
enqueue('hang', 3);
like(why('hang'), qr/: opened by \w+ \(a test\); then one job tries/, 'why() names the user');
pass_time(31);
my $running = q{SELECT id FROM hipq.running_detail WHERE job_type = 'hang'};
ok($hipq->wait_until("SELECT EXISTS ($running)"), 'a job tries');
is(breaker('hang'), 'half open', 'the breaker is half open');
like(why('hang'), qr/half open: a job tries, and the others wait for its end/,
	'why() tells it');
my $first = $hipq->sql($running);
$hipq->sql("SELECT hipq.cancel($first)");
ok($hipq->wait_until("SELECT EXISTS ($running AND id <> $first)"),
	'it is cancelled: another job tries');
is($hipq->sql("SELECT count(*) FROM ($running) AS probe"), 1, 'only one');
my $second = $hipq->sql($running);
$hipq->sql("SELECT pg_terminate_backend(pid) FROM hipq.running_detail WHERE id = $second");
ok($hipq->wait_until(qq{SELECT EXISTS (SELECT FROM hipq.app_main_live WHERE id = $second AND
	state = 'retry')}), 'its process ends') || diag $hipq->sql('TABLE hipq.app_main_live');
ok($hipq->wait_until("SELECT EXISTS ($running)"), 'a job tries again');
is($hipq->sql(q{SELECT hipq.open_breaker('app.main', 'hang')}), 't', 'a user opens it meanwhile');
$lock->query_safe('SELECT pg_advisory_unlock(42)');
ok($hipq->wait_until(qq{SELECT NOT EXISTS ($running)}), 'the job ends');
is(breaker('hang'), 'open', 'its end says nothing: the breaker is open');
like(why('hang'), qr/ until hipq.close_breaker\(\): opened by \w+\.$/, 'until it is closed');
is($hipq->sql(q{SELECT hipq.close_breaker('app.main', 'hang')}), 't', 'a user closes it');
wait_until_done('hang');
is($hipq->sql(q{SELECT hipq.close_breaker('app.main', 'hang')}), 'f', 'it is closed already');

# ---- a type without a breaker

$hipq->sql(q{SELECT hipq.register_job_type('app.main', 'plain', handler => 'call_one')});
$hipq->sql(q{BEGIN; SELECT hipq.open_breaker('app.main', 'plain'); ROLLBACK});
is(breaker('plain'), 'closed', 'a rollback leaves it closed');
is($hipq->sql(q{SELECT hipq.open_breaker('app.main', 'plain', '1 h')}), 't',
	'any type can be stopped');
enqueue('plain', 5);
like(why('plain'), qr/ until \d.*: opened by \w+\.$/, 'no job would try');
is($hipq->sql(q{SELECT hipq.open_breaker('app.main', 'plain', '2 h')}), 'f',
	'it is open already');
is($hipq->sql(q{SELECT breaker_until > hipq.now() + interval '119 min' FROM hipq.job_types_detail
	WHERE job_type = 'plain'}), 't', 'the latest duration counts');
pass_time(7201);
wait_until_done('plain');
is(breaker('plain'), 'closed', 'it closes when its time has passed');

# ---- external workers

$hipq->sql(q{SELECT hipq.register_job_type('app.main', 'outside', handler_kind => 'notify',
	breaker => '50% of 2 in 1 min, open 30 s', max_retries => 9, retry_base => '10 ms')});
my $worker = $hipq->sql(q{SELECT hipq.register_worker('w', ARRAY['app.main'], ARRAY['outside'],
	capacity => 10)});
my $claim = "SELECT id FROM hipq.claim($worker, 10, wait => '20 s')";
enqueue('outside', 6);
my $claimed = split /\n/, $hipq->sql($claim);
cmp_ok($claimed, '>=', 2, 'a worker is given jobs');
$hipq->sql(q{SELECT hipq.fail(id, attempt, 'down') FROM hipq.app_main_live WHERE state = 'running'
	ORDER BY id LIMIT 2});
wait_for('outside', 'open');
$hipq->sql(q{SELECT hipq.complete(id, attempt) FROM hipq.app_main_live WHERE state = 'running'});
is(breaker('outside'), 'open', 'jobs that started before say nothing');
is($hipq->sql("SELECT count(*) FROM hipq.claim($worker, 10, wait => '500 ms')"), 0,
	'no job is offered');
enqueue('outside', 6);
pass_time(31);
my @probe = split /\n/, $hipq->sql($claim);
is(scalar @probe, 1, 'one job tries') || diag "@probe";
is($hipq->sql("SELECT count(*) FROM hipq.claim($worker, 10, wait => '500 ms')"), 0,
	'and no other');
$hipq->sql(q{SELECT hipq.complete(id, attempt) FROM hipq.app_main_live WHERE state = 'running'});
wait_for('outside', 'closed');
ok($hipq->wait_until("SELECT EXISTS (SELECT FROM hipq.app_main_live WHERE state = 'running')
	OR (SELECT count(*) FROM hipq.claim($worker, 10, wait => '1 s')) > 0"), 'the others start');

# ---- many jobs wait, and no process looks for them again and again

# CPU time of all processes of hipq, in seconds.
sub cpu_time
{
	my $ticks = 0;
	foreach my $pid (split /\n/, $hipq->sql(q{SELECT pid FROM pg_stat_activity
		WHERE backend_type LIKE 'hipq%'}))
	{
		my @stat = split ' ', slurp_file("/proc/$pid/stat") =~ s/.*\) //r;
		$ticks += $stat[11] + $stat[12];
	}
	return $ticks / POSIX::sysconf(POSIX::_SC_CLK_TCK());
}
sub is_calm
{
	my ($what) = @_;
	my ($before, $stop) = (cpu_time(), time() + 5);
	usleep(100_000) while time() < $stop;
	return cmp_ok(cpu_time() - $before, '<', 0.25, "$what: 5 seconds cost no CPU time");
}
$hipq->sql(q{UPDATE api SET works = false; SELECT hipq.register_job_type('app.main', 'many',
	handler => 'call_one', max_retries => 9, breaker => '50% of 4 in 1 min, open 300 s')});
enqueue('many', 10_000);
wait_for('many', 'open');
ok(is_saved('many'), 'the table keeps it');
is_calm('10,000 jobs of an open breaker');
$lock->query_safe('SELECT pg_advisory_lock(42)');
$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'many', handler => 'hang')});
pass_time(301);
ok($hipq->wait_until(q{SELECT EXISTS (SELECT FROM hipq.running_detail WHERE job_type = 'many')}),
	'a job tries');
is_calm('10,000 jobs of a half open breaker');
$hipq->sql(q{SELECT hipq.cancel_jobs('app.main', job_type => 'many')});
$lock->query_safe('SELECT pg_advisory_unlock(42)');

# ---- dropped

$hipq->sql(q{SELECT hipq.open_breaker('app.main', 'call')});
$hipq->sql(q{SELECT hipq.drop_job_type('app.main', 'call', force => true);
	SELECT hipq.register_job_type('app.main', 'call', handler => 'call_one')});
enqueue('call', 1);
wait_until_done('call');

$hipq->node->stop;
done_testing();
