# The sum of throttle_factor over the running jobs of a queue, a job type or a throttle key keeps
# within its limit, even while executors are killed.
use strict;
use warnings;
use HipqCluster;
use Test::More;

my $hipq = HipqCluster->new('throttle', 'hipq.max_executors' => 6, 'hipq.retry_base' => '10ms',
	'hipq.retry_jitter' => 0);
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE FUNCTION nap(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		PERFORM pg_sleep((data->>'s')::float8); END $$;
	CREATE FUNCTION nothing(data jsonb[]) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		PERFORM pg_sleep(0.002); END $$;

	-- Returns the greatest sum of throttle_factor over attempts that ran at the same time, by the
	-- rows of jobs from an id on. `per` says what has a sum of its own: a queue, type or key.
	CREATE FUNCTION greatest_sum(per text, of_type text, first bigint) RETURNS numeric
		LANGUAGE sql AS $$
		WITH step AS (SELECT at, factor, part FROM hipq.app_main_final AS job,
		                     LATERAL (VALUES (accepted_time, throttle_factor),
		                     	(update_time, -throttle_factor)) AS event (at, factor),
		                     LATERAL (SELECT CASE per WHEN 'queue' THEN '' WHEN 'type' THEN
		                     	job_type WHEN 'key' THEN throttle_key END AS part) AS part
		              WHERE job.error = 'NONE' AND (per <> 'key' OR throttle_key <> 'NONE')
		              	AND job.id >= first AND job.job_type LIKE of_type)
		SELECT max(sum) FROM (SELECT sum(factor) OVER (PARTITION BY part ORDER BY at, factor) AS sum
			FROM step) AS sums $$;
});

my $first = 0;
sub begin { $first = $hipq->sql('SELECT coalesce(max(id), 0) + 1 FROM hipq.job'); return; }
sub greatest
{
	my ($per, $type) = @_;
	return $hipq->sql("SELECT greatest_sum('$per', '" . ($type // '%') . "', $first)");
}
sub used { return $hipq->sql(q{SELECT throttle_used FROM hipq.queues_detail}) }
sub wait_until_done
{
	return $hipq->wait_until('SELECT NOT EXISTS (SELECT FROM hipq.app_main_live)')
		|| die 'jobs are left'
}

# ---- one limit of each kind

$hipq->sql(q{
	SELECT hipq.alter_queue('app.main', throttle_limit => 4);
	SELECT hipq.register_job_type('app.main', 'nap', handler => 'nap', throttle_limit => 3,
		throttle_limit_per_key => 1.5);
	SELECT hipq.register_job_type('app.main', 'other', handler => 'nap');
	INSERT INTO hipq.app_main (job_type, job_data, throttle_factor, throttle_key)
	SELECT (ARRAY['nap', 'other'])[1 + n % 2], '{"s": 0.01}',
		(ARRAY[0, 0.5, 1, 1.5, 1.25])[1 + n % 5], (ARRAY['NONE', 'ann', 'bob'])[1 + n % 3]
	FROM generate_series(1, 300) AS n});
wait_until_done();
is($hipq->sql(q{SELECT count(*) FROM hipq.app_main_final WHERE error = 'NONE'}),
	300, '300 jobs run');
cmp_ok(greatest('queue'), '<=', 4, "the queue's limit holds");
cmp_ok(greatest('queue'), '>', 2, "the queue's limit is used");
cmp_ok(greatest('type', 'nap'), '<=', 3, "the type's limit holds");
cmp_ok(greatest('key', 'nap'), '<=', 1.5, 'the limit of each key holds');
ok($hipq->wait_until('SELECT throttle_used = 0 FROM hipq.queues_detail'),
	'no throttle is held when all jobs have ended');

# ---- a job whose weight exceeds the limit runs alone, and does not starve

begin();
$hipq->sql(q{
	SELECT hipq.alter_queue('app.main', throttle_limit => 2);
	INSERT INTO hipq.app_main (job_type, job_data, throttle_factor) SELECT 'other', '{"s": 0.02}',
		CASE n WHEN 10 THEN 5 ELSE 1 END FROM generate_series(1, 60) AS n});
wait_until_done();
is($hipq->sql(q{SELECT count(*) FROM hipq.app_main_final AS heavy
		JOIN hipq.app_main_final AS beside USING (job_type)
	WHERE heavy.throttle_factor = 5 AND beside.id <> heavy.id AND beside.accepted_time <
		heavy.update_time AND beside.update_time > heavy.accepted_time}), 0,
	'no job runs beside a job heavier than the limit');
cmp_ok($hipq->sql(q{SELECT count(*) FROM hipq.app_main_final AS heavy JOIN hipq.app_main_final
		AS later ON later.accepted_time > heavy.update_time WHERE heavy.throttle_factor = 5}),
	'>', 20, 'a job heavier than the limit does not starve');

# ---- limits take effect at once, up and down

my $condition = $hipq->session;
$hipq->sql(q{
	SELECT hipq.alter_queue('app.main', throttle_limit => 1);
	CREATE FUNCTION wait_for_gate(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		PERFORM pg_advisory_lock_shared(7); PERFORM pg_advisory_unlock_shared(7); END $$;
	SELECT hipq.register_job_type('app.main', 'gated', handler => 'wait_for_gate')});
$condition->query_safe('SELECT pg_advisory_lock(7)');
$hipq->sql(q{INSERT INTO hipq.app_main (job_type, throttle_key) SELECT 'gated', 'tenant ' || n % 2
	FROM generate_series(1, 5) AS n});
$hipq->wait_until(q{SELECT count(*) = 1 FROM hipq.running});
like($hipq->sql(q{SELECT explanation FROM hipq.why((SELECT max(id) FROM hipq.app_main_live))
		WHERE condition = 'throttle of queue' AND NOT passed}),
	qr/throttle_limit is reached: 1 of 1 is used by 1 running job/,
		'why() names the limit that is reached') if $hipq->wait_until(q{
	SELECT EXISTS (SELECT FROM hipq.why((SELECT max(id) FROM hipq.app_main_live))
		WHERE condition = 'throttle of queue' AND NOT passed)});
$hipq->sql(q{SELECT hipq.alter_queue('app.main', throttle_limit => 3)});
ok($hipq->wait_until(q{SELECT count(*) = 3 FROM hipq.running}),
	'a raised limit lets more jobs start');
is(used(), '3.000', 'view queues shows how much of the limit is used');
$hipq->sql(q{SELECT hipq.alter_queue('app.main', throttle_limit => 0)});
ok($hipq->wait_until(q{SELECT count(*) = 5 FROM hipq.running}), 'without a limit all jobs start');
is($hipq->sql(q{SELECT string_agg(concat_ws(' ', queue, job_type, throttle_key, throttle_used,
		running_jobs), ', ' ORDER BY throttle_key) FROM hipq.throttle_keys}),
	'app.main gated tenant 0 2.000 2, app.main gated tenant 1 3.000 3',
		'view throttle_keys shows the keys of running jobs');
$hipq->sql(q{SELECT hipq.alter_queue('app.main', throttle_limit => 2);
	INSERT INTO hipq.app_main (job_type, job_data) VALUES ('other', '{"s": 0}')});
$condition->query_safe('SELECT pg_advisory_unlock(7)');
$condition->quit;
wait_until_done();
ok($hipq->wait_until('SELECT throttle_used = 0 FROM hipq.queues_detail'),
	'jobs that started without a limit hold no throttle when they have ended');

# ---- a job that waits for a throttle key starts when another job of the key ends, not at the next
# poll

begin();
$hipq->sql(q{
	SELECT hipq.alter_queue('app.main', throttle_limit => 0);
	SELECT hipq.register_job_type('app.main', 'tenant', handler => 'nap',
		throttle_limit_per_key => 1);
	INSERT INTO hipq.app_main (job_type, job_data, throttle_key) SELECT 'tenant', '{"s": 0.11}',
		'tenant ' || n % 3 FROM generate_series(1, 36) AS n});
wait_until_done();
is(greatest('key', 'tenant'), '1.000', 'one job of each key runs at a time');
$hipq->in_time(
	$hipq->sql(qq{SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM gap))
	FROM (SELECT accepted_time - lag(update_time) OVER (PARTITION BY throttle_key
		ORDER BY accepted_time) AS gap FROM hipq.app_main_final WHERE id >= $first) AS gaps}),
	0.025, 'the next job of a key starts within 25 ms, as a rule');

# ---- executors do not read the long backlog of a full key repeatedly

begin();
$hipq->sql(q{INSERT INTO hipq.app_main (job_type, job_data, throttle_key)
	SELECT 'tenant', '{"s": 0.02}', 'big' FROM generate_series(1, 20000) AS n});
$hipq->wait_until(qq{SELECT count(*) >= 5 FROM hipq.app_main_final WHERE id >= $first});
$hipq->sql(q{INSERT INTO hipq.app_main (job_type, job_data, throttle_key)
	SELECT 'tenant', '{"s": 0}', 'small ' || n FROM generate_series(1, 20) AS n});
ok($hipq->wait_until(q{SELECT count(*) = 20 FROM hipq.app_main_final
		WHERE throttle_key LIKE 'small%'}), 'jobs behind the backlog of a full key run');
# Busy executors report their reads to the statistics once a second.
my $said_by = $hipq->sql(q{SELECT clock_timestamp() + interval '2 s'});
$hipq->wait_until(qq{SELECT max(update_time) > '$said_by' FROM hipq.app_main_final});
my $read = sub { $hipq->sql(q{SELECT sum(idx_tup_read) FROM pg_stat_all_indexes
		WHERE relname = 'app_main_live'}) };
my ($rows_before, $jobs_before) = ($read->(),
	$hipq->sql(q{SELECT count(*) FROM hipq.app_main_final}));
$hipq->wait_until(qq{SELECT count(*) >= $jobs_before + 100 FROM hipq.app_main_final});
my $rows = $read->() - $rows_before;
my $entries_per_job =
	$rows / ($hipq->sql(q{SELECT count(*) FROM hipq.app_main_final}) - $jobs_before);
cmp_ok($entries_per_job, '<', 100, "a job of the backlog costs $entries_per_job index entries");
$hipq->sql(q{SELECT hipq.cancel_jobs('app.main', job_type => 'tenant', max_jobs => 100000)});
wait_until_done();
begin();
wait_until_done();

# ---- each job of a batch counts

begin();
$hipq->sql(q{
	SELECT hipq.alter_queue('app.main', throttle_limit => 30);
	SELECT hipq.register_job_type('app.main', 'many', handler => 'nothing', batch_size => 20);
	INSERT INTO hipq.app_main (job_type, throttle_factor) SELECT 'many', 1
		FROM generate_series(1, 1000)});
wait_until_done();
cmp_ok(greatest('queue'), '<=', 30, 'each job of a batch counts toward the limit');

# ---- executors that are killed

begin();
$hipq->sql(q{
	SELECT hipq.alter_queue('app.main', throttle_limit => 3);
	SELECT hipq.alter_job_type('app.main', 'other', max_retries => 100);
	INSERT INTO hipq.app_main (job_type, job_data, throttle_factor, throttle_key)
	SELECT 'other', '{"s": 0.02}', 0.5 + (n % 3) * 0.5, 'key ' || n % 4
		FROM generate_series(1, 200) AS n});
my $most = 0;
for my $round (1 .. 15)
{
	$hipq->sql(q{SELECT pg_terminate_backend(pid) FROM hipq.executors ORDER BY random() LIMIT 2});
	my $now = used();
	$most = $now if $now > $most;
	$hipq->wait_until(q{SELECT count(*) > 0 OR NOT EXISTS (SELECT FROM hipq.app_main_live)
		FROM hipq.running});
}
cmp_ok($most, '<=', 3, 'the limit holds while executors are killed');
wait_until_done();
cmp_ok(greatest('queue'), '<=', 3, "the limit held according to the jobs' rows");
ok($hipq->wait_until('SELECT throttle_used = 0 FROM hipq.queues_detail'),
	'no throttle is held after executors were killed');
is($hipq->sql(q{SELECT count(*) FROM hipq.app_main_final WHERE error <> 'NONE'
		AND NOT (throttle_key = 'big' AND error = 'cancelled')}), 0,
	'every job but the cancelled ones of the backlog succeeds');

# ---- more jobs of a full key than an executor reads at once, and no lane for them

$hipq->sql('ALTER SYSTEM SET hipq.max_lanes = 1');
$hipq->node->restart;
$hipq->sql(q{
	SELECT hipq.alter_queue('app.main', throttle_limit => 0);
	CREATE FUNCTION wait(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		PERFORM pg_advisory_xact_lock_shared(1); END $$;
	SELECT hipq.register_job_type('app.main', 'keyed', handler => 'wait',
			throttle_limit_per_key => 1),
		hipq.register_job_type('app.main', 'takes the lane', handler => 'nap')});
my $lock = $hipq->hold_lock;
$hipq->enqueue('takes the lane', q{scheduled_run_time => now() + interval '1 day'});
begin();
my $running = $hipq->enqueue('keyed', q{throttle_key => 'full'});
$hipq->pid_of($running);
$hipq->sql(q{SELECT hipq.enqueue('keyed', throttle_key => 'full') FROM generate_series(1, 2000)});
my $behind = $hipq->enqueue('keyed', q{throttle_key => 'behind'});
is($hipq->sql(q{SELECT count(*) FROM hipq.lanes WHERE job_type = 'keyed'}), 0,
	'jobs of the full key have no lane');
ok($hipq->pid_of($behind), 'without a lane a job behind the backlog of a full key runs');
my $transactions = q{SELECT xact_commit + xact_rollback FROM pg_stat_database
	WHERE datname = current_database()};
my $before = $hipq->sql($transactions);
$hipq->sql('SELECT pg_sleep(2)');
cmp_ok($hipq->sql($transactions) - $before, '<', 200,
	'executors do not try a full key without a lane again and again');
$lock->quit;
ok($hipq->wait_until(q{SELECT count(*) = 1 FROM hipq.app_main_live}),
	'without a lane jobs of a full key run when others of the key end');
cmp_ok(greatest('key', 'keyed'), '==', 1, 'without a lane the limit of a key holds');

done_testing();
