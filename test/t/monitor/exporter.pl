# The queries of monitoring/ by Debian's prometheus-postgres-exporter, and that the dashboard asks for nothing that they do not give.
use strict;
use warnings;
use HipqCluster;
use HTTP::Tiny;
use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $exporter = (grep { -x } '/usr/bin/prometheus-postgres-exporter', '/usr/bin/postgres_exporter')[0];
plan(skip_all => 'package prometheus-postgres-exporter is not installed: tools/setup check installs it where it can be had') unless $exporter;

my $hipq = HipqCluster->new('exporter', 'hipq.max_executors' => 2, 'hipq.heartbeat_timeout' => '10min');
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE ROLE watcher LOGIN IN ROLE pg_monitor;
	CREATE FUNCTION work(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM 1 / (data->>'divisor')::integer; END $$;
	SELECT hipq.register_job_type('app.main', 'work', handler => 'work');
	INSERT INTO hipq.app_main (job_type, job_data) SELECT 'work', jsonb_build_object('divisor', n % 2) FROM generate_series(1, 40) AS n;
	SELECT hipq.register_job_type('app.main', 'outside', handler_kind => 'notify');
	SELECT hipq.register_worker(name, '{app.main}', '{outside}') FROM unnest('{one, two}'::text[]) AS name;
	SELECT hipq.heartbeat(worker_id, CASE name
		WHEN 'one' THEN '{"queue_depth": 12}'
		ELSE '{"status": "degraded", "queue_depth": 6, "total_executions": 20, "failed_executions": 5, "consecutive_failures": 2}' END) FROM hipq.workers;
	INSERT INTO hipq.app_main (job_type, job_data, scheduled_run_time) VALUES ('work', '{}', '2100-01-01');
});
ok($hipq->wait_until(q{SELECT coalesce(sum(succeeded + failed), 0) FROM hipq.statistics WHERE period = 'total' AND job_type IS NULL}, '40'), 'jobs have run');
ok($hipq->wait_until(q{SELECT row_estimate FROM hipq.sizes WHERE kind = 'live'}, '1'), 'the statistics of the server know');

my $root = $ENV{HIPQ_ROOT};
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $node = $hipq->node;
local $ENV{DATA_SOURCE_NAME} = 'user=watcher dbname=postgres sslmode=disable host=' . $node->host . ' port=' . $node->port;
my $log = "$PostgreSQL::Test::Utils::log_path/exporter.log";
my $run = IPC::Run::start([ $exporter, "--web.listen-address=127.0.0.1:$port", '--disable-default-metrics', "--extend.query-path=$root/monitoring/queries.yaml" ],
	'<', '/dev/null', '>', $log, '2>&1');

my $answer;
for my $try (1 .. 300)
{
	$answer = HTTP::Tiny->new(timeout => 10)->get("http://127.0.0.1:$port/metrics");
	last if $answer->{success} && $answer->{content} =~ /^hipq_/m;
	Time::HiRes::usleep(100_000);
}
$run->kill_kill;
my $metrics = $answer->{content};

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
is(value_of('hipq_jobs_succeeded', 'queue="app.main"', $work), 20, 'jobs that succeeded');
is(value_of('hipq_jobs_failed', 'queue="app.main"', $work), 20, 'jobs that failed');
is(value_of('hipq_failures_failures', 'reason="validation_error"', $work), 20, 'by reason');
is(value_of('hipq_hour_failure_rate', 'queue="app.main"'), 50, 'rates');
is(value_of('hipq_queue_unfinished', 'queue="app.main"'), 1, 'what is not final');
is(value_of('hipq_queue_due_seconds', 'queue="app.main"'), 0, 'and not due');
is(value_of('hipq_alert_times', 'alert="dead letters"', 'severity="alarm"'), 20, 'alerts');
like(value_of('hipq_hour_wait_p99', 'queue="app.main"'), qr/^\d+(\.\d+)?(e-\d+)?$/, 'latencies');
is(value_of('hipq_retries_jobs', 'retries="0"', $work), 40, 'jobs by their retries');
is(value_of('hipq_retries_jobs', 'retries="3-5"', $work), 0, 'also where there are none');
is(value_of('hipq_worker_health_workers', "status=\"$_->[0]\""), $_->[1], "workers that are $_->[0]") foreach [ 'healthy', 1 ], [ 'unknown', 0 ], [ 'degraded', 1 ], [ 'unhealthy', 0 ];
is(value_of('hipq_worker_health_average_queue_depth', 'status="healthy"'), 12, 'what they have on average');
is(value_of('hipq_worker_health_average_failure_rate', 'status="degraded"'), 25, 'and how often they fail');
is(value_of('hipq_worker_queue_depth', 'worker="two"'), 6, 'and each of them');
is(value_of('hipq_worker_failure_rate', 'worker="two"'), 25, 'how often its executions fail');
is(value_of('hipq_worker_consecutive_failures', 'worker="two"'), 2, 'and in a row');
# Newer ones miss a file of settings, which nobody has to have.
unlike(join("\n", grep { !/Error loading config/ } split /\n/, slurp_file($log)), qr/level=error|err=/i, 'the exporter has nothing to complain of');

# ---- the dashboard

my $dashboard = JSON::PP->new->decode(slurp_file("$root/monitoring/grafana.json"));
my %asked = map { $_ => 1 } map { $_->{expr} =~ /\b(hipq_\w+)/g } map { @{ $_->{targets} } } @{ $dashboard->{panels} };
cmp_ok(scalar(keys %asked), '>', 10, 'the dashboard asks for metrics');
is(join(', ', grep { $metrics !~ /^\Q$_\E\{/m } sort keys %asked), '', 'and the exporter has them all');

done_testing();
