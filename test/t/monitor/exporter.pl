# Debian's prometheus-postgres-exporter runs the queries of monitoring/: for one database, for two
# databases with one exporter, and after a crash. The exporter has all metrics of the dashboard.
use strict;
use warnings;
use HipqCluster;
use HTTP::Tiny;
use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();

my $exporter = (grep { -x } '/usr/bin/prometheus-postgres-exporter',
	'/usr/bin/postgres_exporter')[0];
plan(skip_all => 'package prometheus-postgres-exporter is not installed: tools/setup check '
	. 'installs it where it can be had') unless $exporter;

my $hipq = HipqCluster->new('exporter', 'hipq.max_executors' => 2,
	'hipq.heartbeat_timeout' => '10min', 'hipq.executor_idle_timeout' => '1s');
# Sets the clock to the beginning of a minute, because the alert on dead letters is per minute.
$hipq->set('hipq.clock_offset' => $hipq->sql(
		'SELECT 60 - floor(extract(second FROM clock_timestamp()))'));
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE ROLE watcher LOGIN IN ROLE pg_monitor;
	CREATE FUNCTION work(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		PERFORM 1 / (data->>'divisor')::integer; END $$;
	SELECT hipq.register_job_type('app.main', 'work', handler => 'work');
	INSERT INTO hipq.app_main (job_type, job_data)
		SELECT 'work', jsonb_build_object('divisor', n % 2) FROM generate_series(1, 40) AS n;
	SELECT hipq.register_job_type('app.main', 'outside', handler_kind => 'notify');
	SELECT hipq.register_worker(name, '{app.main}', '{outside}')
		FROM unnest('{one, two}'::text[]) AS name;
	SELECT hipq.heartbeat(worker_id, CASE name
		WHEN 'one' THEN '{"queue_depth": 12}'
		ELSE '{"status": "degraded", "queue_depth": 6, "total_executions": 20,
			"failed_executions": 5, "consecutive_failures": 2}'
			END) FROM hipq.workers;
	INSERT INTO hipq.app_main (job_type, job_data, scheduled_run_time)
		VALUES ('work', '{}', '2100-01-01');
});
ok($hipq->wait_until(q{SELECT coalesce(sum(succeeded + failed), 0) FROM hipq.statistics
		WHERE period = 'total' AND job_type IS NULL}, '40'), 'jobs have run');
ok($hipq->wait_until(q{SELECT row_estimate FROM hipq.sizes WHERE kind = 'live'}, '1'),
	"the server's statistics have the live job");

my $root = $ENV{HIPQ_ROOT};
my $node = $hipq->node;
my $log = "$PostgreSQL::Test::Utils::log_path/exporter.log";

# Starts an exporter, and returns its output as soon as it matches all patterns.
sub scrape
{
	my ($databases, $options, @awaited) = @_;
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	local $ENV{DATA_SOURCE_NAME} = join ',', map { "user=watcher dbname=$_ sslmode=disable host="
		. $node->host . ' port=' . $node->port } @$databases;
	my $run = IPC::Run::start([ $exporter, "--web.listen-address=127.0.0.1:$port",
			'--disable-default-metrics', "--extend.query-path=$root/monitoring/queries.yaml",
			@$options ],
		'<', '/dev/null', '>>', $log, '2>&1');
	my $text = '';
	for my $try (1 .. 300)
	{
		my $answer = HTTP::Tiny->new(timeout => 20)->get("http://127.0.0.1:$port/metrics");
		$text = $answer->{content};
		last if $answer->{success} && !(grep { $text !~ $_ } @awaited);
		Time::HiRes::usleep(100_000);
	}
	$run->kill_kill;
	return $text;
}
my $metrics = scrape(['postgres'], [], qr/^hipq_/m);

sub value_of
{
	my ($name, @labels) = @_;
	foreach my $line (grep { /^\Q$name\E\{/ } split /\n/, $metrics)
	{
		return $1 if !(grep { index($line, $_) < 0 } @labels) && $line =~ /\} (\S+)$/;
	}
	return 'none';
}
my $work = 'job_type="work"';
is(value_of('hipq_jobs_succeeded_total', 'queue="app.main"', $work), 20,
	'succeeded jobs are exported');
is(value_of('hipq_jobs_failed_total', 'queue="app.main"', $work), 20, 'failed jobs are exported');
is(value_of('hipq_failures_failures_total', 'reason="validation_error"', $work), 20,
	'failures are exported by reason');
is(value_of('hipq_hour_failure_rate', 'queue="app.main"'), 50, 'failure rates are exported');
is(value_of('hipq_hour_retry_success_rate', 'queue="app.main"'), 'NaN',
	'the success rate of retries is NaN without retries');
is(value_of('hipq_queue_unfinished', 'datname="postgres"', 'queue="app.main"'), 1,
	'unfinished jobs are exported');
is(value_of('hipq_job_wait_seconds_count', 'queue="app.main"', $work), 40,
	'the histogram of waits counts all jobs');
is(value_of('hipq_job_wait_seconds_bucket', 'le="+Inf"', $work), 40,
	'the histogram of waits has all jobs in its last bucket');
is(value_of('hipq_job_run_seconds_bucket', 'le="4294.967296"', $work), 40,
	'the histogram of run times has all jobs in its longest bucket');
cmp_ok(value_of('hipq_job_run_seconds_sum', $work), '>', 0,
	'the histogram of run times has their sum');
my @buckets = $metrics =~ /^hipq_job_run_seconds_bucket\{.*\Q$work\E.*\} (\d+)$/mg;
is(scalar @buckets, 24, 'the histogram of run times has 24 buckets');
is(join(' ', @buckets), join(' ', sort { $a <=> $b } @buckets),
	'the buckets of the histogram are cumulative');
is(value_of('hipq_queue_due_seconds', 'queue="app.main"'), 0,
	'the exporter shows that no job is due');
is(value_of('hipq_alert_times', 'alert="dead letters"', 'severity="alarm"'), 20,
	'alerts are exported');
like(value_of('hipq_hour_wait_p99', 'queue="app.main"'), qr/^\d+(\.\d+)?(e-\d+)?$/,
	'latencies are exported');
is(value_of('hipq_retries_jobs_total', 'retries="0"', $work), 40,
	'jobs are exported by their retries');
is(value_of('hipq_retries_jobs_total', 'retries="3-5"', $work), 0,
	'numbers of retries without jobs are exported');
is(value_of('hipq_worker_health_workers', "status=\"$_->[0]\""),
	$_->[1], "workers that are $_->[0] are exported") foreach [ 'healthy', 1 ], [ 'unknown', 0 ],
	[ 'degraded', 1 ], [ 'unhealthy', 0 ];
is(value_of('hipq_worker_health_average_queue_depth', 'status="healthy"'), 12,
	'the average depth of workers is exported');
is(value_of('hipq_worker_health_average_failure_rate', 'status="degraded"'), 25,
	'the average failure rate of workers is exported');
is(value_of('hipq_worker_queue_depth', 'worker="two"'), 6, 'the depth of each worker is exported');
is(value_of('hipq_worker_failure_rate', 'worker="two"'), 25,
	'the failure rate of each worker is exported');
is(value_of('hipq_worker_consecutive_failures', 'worker="two"'), 2,
	'consecutive failures of each worker are exported');
# ---- the dashboard

my $dashboard = JSON::PP->new->decode(slurp_file("$root/monitoring/grafana.json"));
my %asked = map { $_ => 1 } map { $_->{expr}
	=~ /\b(hipq_\w+)/g } map { @{ $_->{targets} } } @{ $dashboard->{panels} };
cmp_ok(scalar(keys %asked), '>', 10, 'the dashboard uses more than ten metrics');
is(join(', ', grep { $metrics !~ /^\Q$_\E\{/m } sort keys %asked), '',
	'the exporter has all metrics of the dashboard');

# ---- after a crash hipq counts the unfinished jobs, because the server's statistics are empty
$hipq->sql(q{INSERT INTO hipq.app_main (job_type, job_data, scheduled_run_time)
	SELECT 'work', '{}', '2100-01-01' FROM generate_series(1, 1233)});
$hipq->set('hipq.enabled' => 'off');
$hipq->sql(q{INSERT INTO hipq.app_main (job_type, job_data) VALUES ('work', '{"divisor": 1}')});
$node->kill9;
# The children of the killed postmaster must end first.
my $is_up = 0;
for my $try (1 .. 100)
{
	$node->{_pid} = undef;    # a start that failed left one
	last if $is_up = $node->start(fail_ok => 1);
	Time::HiRes::usleep(100_000);
}
ok($is_up, 'the server starts again after kill -9');
$metrics = scrape(['postgres'], [], qr/^hipq_queue_/m);
is(value_of('hipq_queue_unfinished', 'queue="app.main"'), 1235,
	'the number of unfinished jobs is right at once after a crash');
cmp_ok(value_of('hipq_queue_due_seconds', 'queue="app.main"'), '>', 0,
	'the time for which a job has been due is right at once after a crash');
is($hipq->sql(q{SELECT jobs, is_exact FROM hipq.backlog}), '1235|t',
	'view backlog has the exact number after a crash');

# ---- one exporter discovers two databases
$hipq->sql('CREATE DATABASE other');
my $other = $hipq->in('other');
$other->sql('CREATE EXTENSION hipq');
$other->create_queue('app.main');
$other->sql(q{INSERT INTO hipq.app_main (job_type, scheduled_run_time) SELECT 'work', '2100-01-01'
	FROM generate_series(1, 7)});
$metrics = scrape(['postgres'],
	[ '--auto-discover-databases', '--exclude-databases=template0,template1' ],
	map { qr/^hipq_queue_unfinished\{datname="$_"/m } qw(postgres other));
is(join(' ', map { value_of('hipq_queue_unfinished', "datname=\"$_\"",
		'queue="app.main"') } qw(postgres other)), '1235 7',
	'one exporter shows the jobs of both databases');

# Newer exporters log that an optional file of settings is missing.
unlike(join("\n", grep { !/Error loading config/ } split /\n/, slurp_file($log)),
	qr/level=error|err=/i, "the exporter's log has no error");

done_testing();
