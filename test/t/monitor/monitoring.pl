# Statistics count each job that has ended once, even over a restart, by the minute of hipq's clock,
# until they are reset. Alerts follow the statistics.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('monitoring', 'hipq.max_executors' => 2, 'hipq.retry_base' => '1ms',
	'hipq.retry_jitter' => 0, 'hipq.executor_idle_timeout' => '1h',
	'max_prepared_transactions' => 2, 'hipq.heartbeat_timeout' => '10min');
$hipq->create_queue('app.main');
$hipq->create_queue('app.other');
$hipq->sql(q{
	CREATE TABLE tried (id bigint); GRANT ALL ON tried TO app;
	CREATE FUNCTION work(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		IF job.attempt <= (job.job_data->>'fails')::integer THEN
			RAISE EXCEPTION USING ERRCODE = coalesce(job.job_data->>'code', 'P0001'); END IF;
	END $$;
	CREATE FUNCTION nothing(jobs jsonb[]) RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
	CREATE FUNCTION come_again(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO tried VALUES (1); IF (SELECT count(*) = 1 FROM tried) THEN
		PERFORM hipq.snooze('0'); END IF; END $$;
	SELECT hipq.register_job_type('app.main', 'work', handler => 'work', max_retries => 2);
	SELECT hipq.register_job_type('app.main', 'snooze', handler => 'come_again');
	SELECT hipq.register_job_type('app.other', 'batch', handler => 'nothing', batch_size => 50);
});

# Returns these columns of the statistics. Only jobs of this test count in them, and in the alerts.
sub counted
{
	my ($columns, $where) = @_;
	return $hipq->sql("SELECT $columns FROM hipq.statistics_detail WHERE $where");
}
sub alerts { return $hipq->alerts; }
sub wait_until_counted
{
	my ($number) = @_;
	return $hipq->wait_until("SELECT coalesce(sum(succeeded + failed + cancelled + expired), 0)
		FROM hipq.statistics_detail WHERE period = 'total' AND job_type IS NULL", $number);
}

is($hipq->sql('SELECT count(*) FROM hipq.statistics'), 0,
	'there are no statistics before the first job');
is(alerts(), '', 'there are no alerts before the first job');

# ---- what statistics count

$hipq->sql(q{INSERT INTO hipq.app_main (job_type, job_data) SELECT 'work', '{"fails": 0}'
	FROM generate_series(1, 10)});
$hipq->sql(q{INSERT INTO hipq.app_main (job_type, job_data) VALUES
	('work', '{"fails": 1}'), ('work', '{"fails": 2}'), ('work', '{"fails": 9}'),
		('work', '{"fails": 9, "code": "22012"}'), ('snooze', '{}')});
$hipq->sql(q{INSERT INTO hipq.app_other (job_type) SELECT 'batch' FROM generate_series(1, 120)});
my $cancelled = $hipq->sql(
	q{SELECT hipq.enqueue('work', queue => 'app.main', scheduled_run_time => '2100-01-01')});
$hipq->sql("SELECT hipq.cancel($cancelled)");
ok(wait_until_counted(136), 'each job that has ended is counted once');
foreach my $period ('hour', 'total')
{
	is(counted('succeeded, failed, cancelled, expired, retried, put_back, dead_letters',
			"period = '$period' AND job_type = 'work'"), '12|2|1|0|5|0|2',
		"$period: outcomes of jobs and attempts are counted");
	is(counted('succeeded, put_back, retry_success_rate',
			"period = '$period' AND job_type = 'snooze'"), '1|1|',
		"$period: a snooze does not count as a failure");
	is(counted('succeeded, failed',
			"period = '$period' AND queue = 'app.main' AND job_type IS NULL"), '13|2',
		"$period: the statistics of a queue are the sums of its types");
	is(counted('succeeded', "period = '$period' AND queue = 'app.other' AND job_type IS NULL"), 120,
		"$period: each job of a batch is counted");
}
is(counted('retry_rate, retry_success_rate, failure_rate, retries_per_job',
		"period = 'hour' AND job_type = 'work'"), '35.71|40.00|14.29|0.357',
	'rates of retries and failures are right');
is(counted('wait_p50 > 0 AND wait_p50 <= wait_p90 AND wait_p90 <= wait_p99 AND wait_p99 < 60 AND '
		. 'run_p50 >= 0 AND run_p50 <= run_p99 AND run_p99 < 60',
	"period = 'hour' AND job_type = 'work'"), 't', 'percentiles of latencies are in order');
foreach my $period ('hour', 'total')
{
	is($hipq->sql("SELECT string_agg(retries || ': ' || jobs, ', ' ORDER BY least_retries)
			FROM hipq.retry_distribution WHERE period = '$period' AND job_type = 'work'"),
		'0: 11, 1: 1, 2: 2, 3-5: 0, 6-10: 0, 11+: 0', "$period: jobs are counted by their retries");
	is($hipq->sql("SELECT sum(jobs), sum(jobs) FILTER (WHERE retries = '0'), count(*)
			FROM hipq.retry_distribution WHERE period = '$period' AND queue = 'app.main'
			AND job_type IS NULL"),
		'15|12|6', "$period: the jobs of a queue are counted by their retries");
}
is($hipq->sql(q{SET hipq.clock_offset = '61min'; SELECT period, sum(jobs)
		FROM hipq.retry_distribution WHERE job_type = 'work' GROUP BY period ORDER BY period}),
	"hour|0\ntotal|14",
	'after an hour jobs count only in the total');
is($hipq->sql(q{SELECT reason, failures, retries, recoveries, retry_success_rate
		FROM hipq.failure_statistics WHERE period = 'hour' AND job_type = 'work' ORDER BY reason}),
	"cancelled|1|0|0|\ntransient_error|6|5|2|40.00\nvalidation_error|1|0|0|",
		'failures are counted by reason');
is($hipq->sql(q{SELECT sum(succeeded), sum(failed), sum(dead_letters), count(*) FROM hipq.throughput
		WHERE queue = 'app.main'}), '13|2|2|60', 'view throughput counts jobs by the minute');
cmp_ok(counted('finished_per_minute',
		"period = 'hour' AND queue = 'app.other' AND job_type IS NULL"), '>', 1,
	'statistics have the average throughput');

# A transaction that is rolled back ends no job.
my $kept = $hipq->sql(
	q{SELECT hipq.enqueue('work', queue => 'app.main', scheduled_run_time => '2100-01-01')});
$hipq->sql("BEGIN; SELECT hipq.cancel($kept); ROLLBACK");
my $too = $hipq->sql(
	q{SELECT hipq.enqueue('work', queue => 'app.main', scheduled_run_time => '2100-01-01')});
$hipq->sql("BEGIN; SAVEPOINT before; SELECT hipq.cancel($kept); SAVEPOINT within;
	SELECT hipq.cancel($too); RELEASE within; ROLLBACK TO before; COMMIT");
is(counted('cancelled', "period = 'total' AND job_type = 'work'"), 1,
	'a cancellation that is rolled back, alone or to a savepoint, does not count');

# ---- alerts follow the rates of the last hour

$hipq->set('hipq.alert_least_jobs' => 10);
is(alerts(), 'retry rate', 'an alert reports many retries');
like($hipq->sql(q{SELECT detail FROM hipq.alerts_detail WHERE alert = 'retry rate'}),
	qr/^Queue "app\.main" of database "postgres": 5 executions were retries, 15 were not, within 60 min: 33.33 %, limit 20 %\.$/,
		'the alert on retries has the queue, the rate and the limit');
$hipq->sql(q{INSERT INTO hipq.app_main (job_type, job_data)
	SELECT 'work', '{"fails": 9, "code": "22012"}' FROM generate_series(1, 25)});
ok(wait_until_counted(161), 'failed jobs are counted');
is(alerts(), 'dead letters, failures', 'alerts report failures and dead letters');
$hipq->set('hipq.alert_dead_letters' => -1, 'hipq.alert_failures' => 100,
	'hipq.alert_dead_letter_depth' => 26);
is(alerts(), 'dead letters waiting', 'a lower limit of waiting dead letters causes an alert');
$hipq->set('hipq.alert_dead_letter_depth' => 27);
is(alerts(), '', 'a higher limit of waiting dead letters causes no alert');
$hipq->set('hipq.alert_dead_letters' => 10, 'hipq.alert_failures' => 50);
is(alerts(), 'dead letters, failures', 'alerts return with the old limits');
$hipq->create_queue('app.passing');
$hipq->sql(q{SELECT hipq.register_job_type('app.passing', 'work', handler => 'work',
	max_retries => 0), hipq.alter_queue('app.passing', dead_letter_enabled => false)});
$hipq->sql(q{SELECT hipq.enqueue_many('work', array_fill('{"fails": 9}'::jsonb, '{10}'),
	queue => 'app.passing')});
ok(wait_until_counted(171), 'failed jobs of another queue are counted');
is(alerts(), 'dead letters, failures, failures', 'failures in another queue cause an alert');
my $reader = $hipq->session;
$reader->query_safe('BEGIN; SELECT count(*) FROM hipq.app_passing');
$hipq->sql(q{SELECT hipq.drop_queue('app.passing', force => true)});
is(alerts(), 'dead letters, failures',
	'a dropped queue has no alert while its tables exist');
$reader->quit;
ok($hipq->wait_until(q{SELECT to_regclass('hipq.app_passing') IS NULL}),
	'the tables of the dropped queue are dropped');
$hipq->sql('CREATE DATABASE near');
is($hipq->node->safe_psql('near', q{CREATE EXTENSION hipq; SELECT count(*) FROM hipq.alerts_detail
		WHERE detail LIKE '%app.passing%'}), 0, 'the statistics of the dropped queue are removed');
my $near = $hipq->in('near');
$near->create_queue('app.near');
$near->sql(q{
	CREATE FUNCTION fail(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		PERFORM 1 / 0; END $$;
	SELECT hipq.register_job_type('app.near', 'fail', handler => 'fail', max_retries => 0);
	SELECT hipq.register_job_type('app.near', 'outside', handler_kind => 'notify');
	INSERT INTO hipq.app_near (job_type) SELECT 'fail' FROM generate_series(1, 10);
	INSERT INTO hipq.app_near (job_type) VALUES ('outside')});
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.alerts_detail WHERE alert = 'no worker'
		OR alert = 'failures' AND detail LIKE '%"near"%'}, 2),
	'alerts of another database are visible');
$hipq->sql('DROP DATABASE near WITH (FORCE)');
is(alerts(), 'dead letters, failures', 'alerts of a dropped database are not visible');
is($hipq->sql(q{SET hipq.clock_offset = '6min'; SELECT coalesce(string_agg(alert, ', '), '')
		FROM hipq.alerts WHERE alert NOT IN ('executors', 'no start', 'scheduler')}), '',
	'six minutes later the alerts have ended');
is($hipq->sql(q{SET hipq.clock_offset = '61min';
		SELECT count(*) FROM hipq.statistics WHERE period = 'hour' AND succeeded + failed > 0}), 0,
	'after an hour the statistics of the hour are empty');
is($hipq->sql(q{SET hipq.clock_offset = '-61min'; SELECT count(*) FROM hipq.statistics
		WHERE period = 'hour' AND succeeded + failed > 0}), 0,
	'statistics later than a clock that was set back do not count');

# ---- external workers: alerts on health and depth, with limits from settings

$hipq->sql(q{SELECT hipq.register_job_type('app.main', 'outside', handler_kind => 'notify')});
is($hipq->sql('SELECT string_agg(status || workers || coalesce(average_queue_depth::text, $$-$$),
		$$ $$) FROM hipq.worker_health'), 'healthy0- unknown0- degraded0- unhealthy0-',
	'view worker_health has four rows without workers');
my @workers =
	map { $hipq->sql("SELECT hipq.register_worker('w$_', '{app.main}', '{outside}')") } 1 .. 4;
sub report
{
	my ($worker, $report) = @_;
	return $hipq->sql("SELECT hipq.heartbeat($workers[$worker - 1], '$report')");
}
sub worker_alerts
{
	return $hipq->sql(q{SELECT coalesce(string_agg(alert, ', ' ORDER BY alert), '') FROM hipq.alerts
		WHERE alert IN ('unhealthy workers', 'worker depth')});
}
report(1, '{"queue_depth": 80}');
report(2, '{"status": "unhealthy"}');
report(3, '{"consecutive_failures": 10}');
is($hipq->sql('SELECT string_agg(status || $$ $$ || workers, $$, $$) FROM hipq.worker_health'),
	'healthy 0, unknown 1, degraded 1, unhealthy 2', 'view worker_health counts workers by health');
is($hipq->sql(q{SELECT average_queue_depth FROM hipq.worker_health WHERE status = 'degraded'}),
	'80.00', 'view worker_health has the average depth');
is(worker_alerts(), '', 'workers at the limits cause no alert');
report(1, '{"queue_depth": 81}');
is($hipq->sql(q{SELECT times, detail FROM hipq.alerts_detail WHERE alert = 'worker depth'}),
	'81|Active external workers of this database have 20.3 jobs each that they have not accepted, '
	. 'limit 20.', 'an average depth beyond the limit causes an alert');
report(4, '{"failed_executions": 70, "total_executions": 100}');
is($hipq->sql(q{SELECT times, detail FROM hipq.alerts_detail WHERE alert = 'unhealthy workers'}),
	'3|3 of 4 active external workers of this database are unhealthy: 75 %, limit 50 %.',
	'more unhealthy workers than the limit cause an alert');
is($hipq->sql(q{SELECT failure_rate, queue_depth FROM hipq.workers WHERE name IN ('w1', 'w4')
		ORDER BY name}), "|81\n70.00|0", 'view workers has failure rate and depth');
is(worker_alerts(), 'unhealthy workers, worker depth',
	'alerts report both the health and the depth of workers');

# ---- the queries of the manual, unchanged, by a role that can read the queue

my ($page) = slurp_file("$ENV{HIPQ_ROOT}/docs/monitoring.md")
	=~ /^<!-- monitoring-queries -->\s*\n```sql\n(.*?)^```$/ms;
my %query = map { /^-- (.*?)\n(.*);\s*$/s or die "no query: $_"; ($1 => $2) } split /\n\n/, $page;
$hipq->sql(q{CREATE ROLE watcher LOGIN; SELECT hipq.grant_queue('app.main', 'watcher', 'read');
	GRANT SET ON PARAMETER hipq.clock_offset TO watcher});
sub answer
{
	my ($columns, $title, $setting) = @_;
	my $query = delete $query{$title} // die "the manual has no such query: $title";
	return $hipq->sql_as('watcher', ($setting // '') . "SELECT $columns FROM ($query) AS answer");
}
my $outside = $hipq->enqueue('outside', q{queue => 'app.main'});
ok($hipq->wait_until("SELECT count(*) FROM hipq.running WHERE id = $outside", 1),
	'a worker gets a job');
my ($worker, $by) = split /\|/,
	$hipq->sql("SELECT worker_id, worker FROM hipq.running_detail WHERE id = $outside");
$hipq->sql("SELECT count(*) FROM hipq.claim($worker)");
is(answer('status, health, workers, average_depth, average_failure_rate',
		'external workers by whether they are there and how they do'),
	"active|degraded|1|81.0|\nactive|unhealthy|3|0.0|70.0",
		"the manual's query of workers by status and health works");
is(answer(q{name, health, in_a_row, queue_depth, failure_rate, silent_for < '10 min'},
		'which workers are not healthy, and why'),
	"w1|degraded|0|81||t\nw2|unhealthy|0|0||t\nw3|unhealthy|10|0||t\nw4|unhealthy|0|0|70.00|t",
		"the manual's query of workers that are not healthy works");
is(answer('*', 'active workers that may be offered jobs, the best first'), 'w1|degraded|81',
	"the manual's query of workers that can be given jobs works");
is(answer('*',
		'how often workers fail: percent, on average over those that have had ten executions'),
	'1|70.00|70.00', "the manual's query of average failure rates works");
is(answer(q{status, workers, average_failure_rate}, 'the same by health'),
	"healthy|0|\nunknown|0|\ndegraded|1|\nunhealthy|3|70.00",
	"the manual's query of failure rates by health works");
like(answer('*', 'retry rate of the last hour: executions that are retries, in percent '
		. 'of those that are not'), qr/^app\.main\|12\.50\|40\.00\|[\d.]+\|67\.50$/,
	"the manual's query of retry rates works");
is(answer(q{queue, never_retried, retried, percent_retried},
		'jobs of the last hour by how many retries they took so far'), 'app.main|41|3|6.82',
	"the manual's query of jobs by retries works");
is(answer('*', 'why attempts of the last hour failed, and how often a retry helped'),
	"validation_error|26|0|0\ntransient_error|6|5|2\ncancelled|1|0|0\nsnoozed|1|0|0",
	"the manual's query of reasons works");
is(answer(q{queue, waiting, running_jobs, oldest_due_time IS NULL, due_for IS NULL},
		'depth of the queues'), 'app.main|2|1|t|t', "the manual's query of depths works");
is(answer(q{queue, job_type, reason, dead_letters, waiting, latest > now() - interval '1 h'},
		'dead letters of the last day'),
	"app.main|work|validation_error|26|26|t\napp.main|work|transient_error|1|1|t",
		"the manual's query of dead letters works");
is(answer(q{attempt, reason, error <> '', ended_time IS NOT NULL},
		'what became of the job that died last'), '1|validation_error|t|t',
	"the manual's query of the last dead letter works");
my $long = 'jobs that have run for more than five minutes';
is($hipq->sql_as('watcher', $query{$long}), '', "the manual's query of long jobs finds none");
is(answer(q{id, queue, job_type, pid, worker, attempt, running_for > '5 min', deadline IS NOT NULL},
		$long, "SET hipq.clock_offset = '6min'; "), "$outside|app.main|outside||$by|1|t|t",
	"the manual's query of long jobs finds one");
is(join(', ', sort keys %query), '', 'the test has run each query of the manual');
$hipq->sql("SELECT hipq.complete($outside, 1)");
$hipq->set('hipq.alert_unhealthy_workers' => 75, 'hipq.alert_worker_depth' => 20.5);
is(worker_alerts(), '', 'higher limits end the alerts on workers');
$hipq->set('hipq.alert_unhealthy_workers' => 50, 'hipq.alert_worker_depth' => -1);
is(worker_alerts(), 'unhealthy workers', 'a limit of -1 causes no alert on the depth of workers');
report($_, '{"queue_depth": 0}') foreach 1 .. 4;
is(worker_alerts(), '', 'healthy workers cause no alert');
report(1, '{"queue_depth": 43}');
$hipq->set('hipq.alert_worker_depth' => 20);
is(worker_alerts(), '', 'one busy worker of four causes no alert');
$hipq->set('hipq.clock_offset' => '11min');
report(1, '{"queue_depth": 43}');
is( $hipq->sql(
		q{SELECT string_agg(status || ' ' || workers, ', ') FROM hipq.worker_health
		WHERE workers > 0}),
	'healthy 1',
	'silent workers are inactive, and do not count');
is( $hipq->sql(q{SELECT alert, times, detail FROM hipq.alerts_detail WHERE alert LIKE '%worker%'}),
	'worker depth|43|Active external workers of this database have 43.0 jobs each that they have '
	  . 'not accepted, limit 20.',
	'silent workers do not hide the depth of the active one');
$hipq->set('hipq.clock_offset' => 0);
$hipq->sql('SELECT hipq.deregister_worker(worker_id) FROM hipq.workers');

$hipq->set('hipq.alert_held_snapshot' => '0');
$hipq->sql(q{BEGIN; CREATE TABLE never (); PREPARE TRANSACTION 'forgotten'});
like($hipq->sql(q{SELECT detail FROM hipq.alerts_detail WHERE alert = 'held snapshot'
		AND detail LIKE 'Prepared%'}), qr/^Prepared transaction "forgotten" keeps dead rows/,
	'an alert reports a prepared transaction that holds a snapshot');
$hipq->sql(q{ROLLBACK PREPARED 'forgotten'});
is($hipq->sql(q{SELECT count(*) FROM hipq.alerts_detail WHERE alert = 'held snapshot'
		AND detail LIKE 'Prepared%'}), 0, 'the alert ends with the prepared transaction');
$hipq->set('hipq.alert_held_snapshot' => '10min');

is($hipq->sql(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'retention'}), 0,
	'there is no alert on retention while hipq drops leaves');
$hipq->sql(q{ALTER SYSTEM SET hipq.enabled = off; SELECT pg_reload_conf()});
is($hipq->sql(q{SET hipq.clock_offset = '30 d'; SELECT count(*) > 0
		FROM hipq.alerts_detail WHERE alert = 'retention' AND detail LIKE '%"app.main"%'}), 't',
	'an alert reports leaves that are not dropped');

# ---- restart, crash, reset

my $before = $hipq->sql(q{SELECT to_jsonb(statistics) - 'finished_per_minute'
	FROM hipq.statistics_detail AS statistics ORDER BY queue, job_type, period});
$hipq->node->restart;
is($hipq->sql(q{SELECT to_jsonb(statistics) - 'finished_per_minute' FROM hipq.statistics_detail
		AS statistics ORDER BY queue, job_type, period}), $before, 'statistics survive a restart');
my $file = $hipq->node->data_dir . '/pg_stat/hipq.stat';
ok(!-e $file, 'the file of statistics does not exist while the server runs');
$hipq->node->stop;
ok(-s $file, 'the file of statistics exists while the server is down');
truncate($file, (-s $file) - 1) or die $!;
$hipq->node->start;
is($hipq->sql('SELECT count(*) FROM hipq.statistics'), 0,
	'a damaged file of statistics is ignored');
like(PostgreSQL::Test::Utils::slurp_file($hipq->node->logfile),
	qr/ignoring statistics of jobs in file "pg_stat\/hipq\.stat"/,
	'the log reports the damaged file');

$hipq->set('hipq.enabled' => 'on');
$hipq->sql(q{INSERT INTO hipq.app_main (job_type, job_data) VALUES ('work', '{"fails": 0}')});
$hipq->sql(q{INSERT INTO hipq.app_other (job_type) VALUES ('batch')});
ok(wait_until_counted(2), 'jobs are counted after the damaged file was ignored');
$hipq->sql(q{SELECT hipq.stat_reset('app.main')});
is($hipq->sql(q{SELECT DISTINCT queue FROM hipq.statistics}), 'app.other',
	'stat_reset() resets one queue');
$hipq->sql(q{CREATE ROLE looker LOGIN; SELECT hipq.grant_queue('app.main', 'looker', 'control'),
	hipq.grant_queue('app.main', 'looker', 'read')});
is($hipq->sql_as('looker', 'SELECT count(*) FROM hipq.statistics'), 0,
	'a role that cannot read the queue sees no statistics');
my ($status, undef, $error) = $hipq->node->psql('postgres', 'SELECT hipq.stat_reset()',
	extra_params => [ '-U', 'looker' ]);
like($error,
	qr/only a superuser or the owner of the extension may reset the statistics of all queues/,
	'a role without privileges cannot reset all statistics');
($status, undef, $error) = $hipq->node->psql('postgres', q{SELECT hipq.stat_reset('app.other')},
	extra_params => [ '-U', 'looker' ]);
isnt($status, 0, 'a role cannot reset another queue');
is($hipq->sql_as('looker', q{SELECT hipq.stat_reset('app.main')}), '',
	'a role can reset a queue that it controls');
$hipq->sql('SELECT hipq.stat_reset()');
is($hipq->sql('SELECT count(*) FROM hipq.statistics'), 0,
	'stat_reset() without a queue resets all queues');

# ---- a retry counts as a retry even if its job is put back afterwards

$hipq->create_queue('app.again');
$hipq->sql(q{
	CREATE FUNCTION fail_then_snooze(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		IF job.attempt = 1 THEN RAISE 'no'; END IF;
		IF job.attempt = 2 THEN PERFORM hipq.snooze('0'); END IF;
	END $$;
	SELECT hipq.register_job_type('app.again', 'again', handler => 'fail_then_snooze',
		max_retries => 2);
	INSERT INTO hipq.app_again (job_type) SELECT 'again' FROM generate_series(1, 5)});
ok(wait_until_counted(5), 'jobs fail, are put back, and succeed');
is(counted('succeeded, retried, put_back, retry_success_rate',
		q{period = 'hour' AND job_type = 'again'}), '5|5|5|100.00',
	'jobs that were put back after a retry count as retried');
is($hipq->sql(q{SELECT reason, retries, recoveries, retry_success_rate FROM hipq.failure_statistics
		WHERE period = 'hour' AND job_type = 'again' AND retries > 0}),
	'transient_error|5|5|100.00', 'jobs that were put back after a retry count for their error');
$hipq->sql('SELECT hipq.stat_reset()');

# ---- an attempt that no worker has accepted does not have a run time; an offer that a worker loses
# is no attempt

$hipq->create_queue('app.outside');
$hipq->sql(q{
	SELECT hipq.register_job_type('app.outside', 'unheard', handler_kind => 'notify',
		queue_ttl => 1), hipq.register_worker('deaf', '{app.outside}', '{unheard}');
	SELECT hipq.register_job_type('app.outside', 'alone', handler_kind => 'notify',
		worker_wait_ttl => 1);
	SELECT hipq.register_job_type('app.outside', 'offered', handler_kind => 'notify'),
		hipq.register_worker('idle', '{app.outside}', '{offered}');
	INSERT INTO hipq.app_outside (job_type, max_retries) VALUES ('unheard', 0), ('alone', 0)});
my $offered = $hipq->enqueue('offered', q{queue => 'app.outside'});
my $is_offered = "SELECT count(*) FROM hipq.running_detail WHERE id = $offered";
ok($hipq->wait_until($is_offered, 1), 'a worker is offered a job');
$hipq->sql(q{SELECT hipq.drain_worker(worker_id) FROM hipq.workers WHERE name = 'idle'});
ok($hipq->wait_until($is_offered, 0), 'a worker that drains is not offered the job any more');
ok(wait_until_counted(2), 'jobs that no worker accepts fail');
is($hipq->sql(q{SELECT reason FROM hipq.failure_statistics WHERE period = 'hour'
		AND job_type IN ('unheard', 'alone') ORDER BY reason}), "queue_timeout\nworker_unavailable",
	'jobs that no worker accepts have reasons for their failures');
is(counted('sum(failed + put_back), count(run_p50)',
		q{period = 'hour' AND queue = 'app.outside' AND job_type IS NOT NULL}), '2|0',
	'attempts that no worker has accepted have no run times, and offers are not counted');
$hipq->sql('SELECT hipq.stat_reset()');

# ---- a job that an executor runs cannot be failed by hand

$hipq->sql(q{
	CREATE FUNCTION sleep(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		PERFORM pg_sleep(600); END $$;
	SELECT hipq.register_job_type('app.main', 'sleep', handler => 'sleep', claim => 'record',
		max_retries => 1);
});
my $sleeps = $hipq->enqueue('sleep', q{queue => 'app.main'});
ok($hipq->wait_until("SELECT pid IS NOT NULL FROM hipq.running WHERE id = $sleeps"), 'a job runs');
like($hipq->error_of("SELECT hipq.fail_job($sleeps, 'enough')"),
	qr/55000: cannot fail job \d+.*An executor runs it\..*hipq\.cancel/s,
	'fail_job() refuses a job that an executor runs');
is($hipq->sql("SELECT hipq.is_job_retriable($sleeps)"), 't',
	'is_job_retriable() says that the job would be retried');
is($hipq->sql("SELECT attempt, state, ended_time IS NULL FROM hipq.retry_chain($sleeps)"),
	'1|running|t', 'retry_chain() shows the running attempt');
$hipq->sql("SELECT hipq.cancel($sleeps)");
is($hipq->outcome($sleeps), 'cancelled', 'a job that fail_job() refused is cancelled');
is($hipq->sql("SELECT attempt, state, reason FROM hipq.retry_chain($sleeps)"), '1|final|cancelled',
	'retry_chain() shows the cancelled attempt');

# ---- hipq.max_statistics is reached

$hipq->sql(q{ALTER SYSTEM SET hipq.max_statistics = 1});
$hipq->node->restart;
$hipq->sql(q{INSERT INTO hipq.app_main (job_type, job_data) VALUES ('work', '{"fails": 0}')});
ok(wait_until_counted(1), 'the first type has room in the statistics');
my $without = $hipq->enqueue('batch', q{queue => 'app.other'});
is($hipq->outcome($without), 'succeeded', 'a job of a type without statistics runs');
ok($hipq->wait_until(q{SELECT count(*) = 1 FROM hipq.alerts WHERE alert = 'statistics'}),
	'an alert reports types without statistics');

# ---- retries by hand have their own success rate, whatever happens to their jobs later

$hipq->sql(q{SELECT hipq.stat_reset('app.main')});
my $failed = $hipq->enqueue('work', q{'{"fails": 9, "code": "22012"}', queue => 'app.main'});
is($hipq->outcome($failed), 'failed', 'a job fails before its retries by hand');
sub retry_by_hand
{
	my ($data, $outcome) = @_;
	is($hipq->outcome(
			$hipq->sql("SELECT hipq.retry($failed, 'in other words', job_data => '$data')")),
		$outcome, "a job that is retried by hand is $outcome: $data");
}
retry_by_hand('{"fails": 9, "code": "22012"}', 'failed');
ok($hipq->wait_until(q{SELECT (retries, recoveries, retry_success_rate)::text
		FROM hipq.failure_statistics
	WHERE queue = 'app.main' AND job_type = 'work' AND period = 'hour' AND reason = 'manual_retry'},
			'(1,0,0.00)'), 'a failed retry by hand is counted');
retry_by_hand('{"fails": 0}', 'succeeded');
retry_by_hand('{"fails": 1}', 'succeeded');
ok($hipq->wait_until(q{SELECT succeeded || ' ' || failed FROM hipq.statistics
		WHERE queue = 'app.main' AND job_type = 'work' AND period = 'hour'}, '2 2'),
	'all retries by hand are counted');
is($hipq->sql(q{SELECT reason, failures, retries, recoveries, retry_success_rate
		FROM hipq.failure_statistics WHERE queue = 'app.main' AND job_type = 'work'
		AND period = 'hour' ORDER BY reason}),
	"manual_retry|0|3|2|66.67\ntransient_error|1|1|1|100.00\nvalidation_error|2|0|0|",
		'two of three retries by hand succeeded, one after a failure');
is($hipq->sql(q{SELECT retry_success_rate FROM hipq.statistics_detail WHERE queue = 'app.main'
		AND job_type = 'work' AND period = 'hour'}), '50.00',
	'two of four retries, by hand and by policy, succeeded');

done_testing();
