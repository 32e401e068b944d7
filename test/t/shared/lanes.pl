# Every job runs, also if there are more lanes than room for them, if a job is in no lane, if queues
# with lanes are dropped, and if jobs are enqueued in another order than they run.
use strict;
use warnings;
use HipqCluster;
use Test::More;

my $hipq = HipqCluster->new('lanes', 'hipq.max_lanes' => 4, 'hipq.max_executors' => 1,
	'hipq.executor_idle_timeout' => '1s');
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE FUNCTION nothing(data jsonb) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
	SELECT hipq.register_job_type('app.main', 'type' || n, handler => 'nothing')
		FROM generate_series(1, 10) AS n});
my $unfinished = q{SELECT count(*) FROM hipq.app_main_live};
my $missed = q{SELECT count(*) FROM hipq.alerts WHERE alert = 'cursor miss'};

# ---- a transaction enqueues jobs in another order than they are due
$hipq->switch_off;
$hipq->sql(q{
	SELECT hipq.enqueue('type1', jsonb_build_object('n', n),
		scheduled_run_time => now() - n * interval '1 minute') FROM generate_series(1, 50) AS n});
$hipq->set('hipq.enabled' => 'on');
ok($hipq->wait_until($unfinished, 0), 'fifty jobs that were enqueued in another order run');
is($hipq->sql(q{SELECT count(*) FROM (SELECT (job_data->>'n')::integer >
		lag((job_data->>'n')::integer) OVER (ORDER BY accepted_time, id) AS wrong FROM hipq.job
		WHERE job_type = 'type1') AS pair WHERE wrong}), 0,
	'the fifty jobs run in the order of their times');
$hipq->sql(q{SELECT hipq.enqueue('type1', '{}', scheduled_run_time => now() - interval '1 day')});
ok($hipq->wait_until($unfinished, 0), 'a job that was due before all others runs');
ok($hipq->wait_until(q{SELECT queue || ' ' || job_type || ' ' || (due_time IS NULL)
		FROM hipq.lanes}, 'app.main type1 true'), 'the empty lane is shown');

# ---- a lane of uncommitted jobs
my $uncommitted = q{SELECT due_time FROM hipq._lanes() WHERE priority = 77};
foreach my $end ([ 'COMMIT', 'infinity' ], [ 'ROLLBACK', '-infinity' ])
{
	my ($command, $due) = @$end;
	$hipq->node->restart;
	my $session = $hipq->session;
	$session->query_safe(q{BEGIN; SELECT hipq.enqueue('type1', '{}', priority => 77)});
	is($hipq->sql($uncommitted), 'infinity',
		"before $command a lane of uncommitted jobs is not due");
	$session->query_safe($command);
	$session->quit;
	ok($hipq->wait_until($uncommitted, $due), "after $command the due time of the lane is $due");
	# A waiting job would be in the lane after the next start.
	ok($hipq->wait_until($unfinished, 0), "after $command all committed jobs have run");
}

# ---- more lanes than there is room for
$hipq->switch_off;
$hipq->sql(q{SELECT hipq.enqueue('type' || n, '{}', priority => p) FROM generate_series(1, 10) AS n,
	generate_series(0, 2) AS p});
is($hipq->sql('SELECT count(*) FROM hipq.lanes'), 4, 'four of thirty lanes fit');
is($hipq->sql(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'lanes'}), 1,
	'an alert reports that lanes are full');
$hipq->set('hipq.enabled' => 'on');
ok($hipq->wait_until($unfinished, 0), 'jobs of lanes that do not fit run');
$hipq->sql(qq{SELECT hipq.enqueue('type$_', '{}')}) foreach 1 .. 10;
ok($hipq->wait_until($unfinished, 0), 'later jobs of lanes that do not fit run');

# ---- limits of jobs without a lane: their weights are looked up when they are claimed
$hipq->sql(q{
	SELECT hipq.enqueue('type' || n, '{}', scheduled_run_time => now() + interval '1 hour')
		FROM generate_series(1, 4) AS n;
	SELECT hipq.alter_job_type('app.main', 'type5', throttle_limit => 50)});
is($hipq->outcome_of('type5'), 'succeeded', 'a job without a lane runs under a throttle limit');
is($hipq->sql(q{SELECT count(*) FROM hipq.lanes WHERE job_type = 'type5'}), 0,
	'that job had no lane');
$hipq->sql(q{SELECT hipq.cancel(id) FROM hipq.job WHERE state = 'initial'});

# ---- a restart, and waiting jobs
$hipq->sql(q{SELECT hipq.enqueue('type' || n, '{}', scheduled_run_time => now() + interval '1 hour')
	FROM generate_series(1, 10) AS n});
$hipq->node->restart;
$hipq->sql(q{SELECT hipq.reschedule(id, now()) FROM hipq.job WHERE state = 'initial'
	AND job_type <> 'type5'});
ok($hipq->wait_until($unfinished, 1), 'hipq finds lanes in the tables after a restart');
$hipq->sql(q{SELECT hipq.reschedule(id, now()) FROM hipq.job WHERE state = 'initial'});
ok($hipq->wait_until($unfinished, 0), 'all jobs run after a restart');

# ---- a dropped queue
$hipq->create_queue('app.other');
$hipq->sql(q{SELECT hipq.enqueue('waits', '{}', queue => 'app.other', priority => n)
	FROM generate_series(1, 10) AS n});
ok($hipq->wait_until(q{SELECT count(*) > 0 FROM hipq.lanes WHERE queue = 'app.other'}),
	'another queue has lanes');
$hipq->sql(q{SELECT hipq.drop_queue('app.other', force => true)});
ok($hipq->wait_until(q{SELECT count(*) FROM hipq._lanes() WHERE job_type = 'waits'}, 0),
	'a dropped queue has no lanes');

# ---- a job that is in no lane
$hipq->expect_cursor_miss;
is($hipq->sql($missed), 0, 'the audit has found no missed job before a job is hidden');
$hipq->sql(q{SELECT hipq.enqueue('type1', '{}')});
$hipq->wait_until($unfinished, 0);
$hipq->sql(q{
	CREATE TABLE copied AS SELECT * FROM hipq.job WHERE job_type = 'type1' LIMIT 1;
	UPDATE copied SET id = nextval('hipq.job_id_seq'), state = 'initial',
		attempt = 0, scheduled_run_time = now() - interval '1 year', update_time = now(),
		accepted_time = 'infinity', result = 'null';
	ALTER TABLE hipq.app_main_live DISABLE TRIGGER ALL;
	INSERT INTO hipq.app_main_live SELECT * FROM copied;
	ALTER TABLE hipq.app_main_live ENABLE TRIGGER ALL;
	ALTER TABLE hipq.app_main_live ENABLE ALWAYS TRIGGER guard_job;
	SELECT hipq.enqueue('type2', '{}', scheduled_run_time => hipq.now() + interval '2 s')});
ok($hipq->wait_until($unfinished, 0), 'a job that is in no lane runs');
is($hipq->sql($missed), 1, 'an alert reports a job that was in no lane');

done_testing();
