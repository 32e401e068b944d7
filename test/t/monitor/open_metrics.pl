# open_metrics() of clients/metrics returns the metrics of the exporter, in a form that the strict
# parser of Prometheus' Python client accepts. It omits queries that fail for the role, and names
# them.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = $ENV{HIPQ_ROOT};
plan skip_all => 'needs g++, pkg-config and libpq-dev'
	if system('g++ --version >/dev/null 2>&1 && pkg-config --exists libpq') != 0;
is(system("$root/tools/metrics-queries", '--check'), 0,
	"the client's queries are those of monitoring/queries.yaml");

# ---- a program that prints metrics
my $folder = PostgreSQL::Test::Utils::tempdir();
append_to_file("$folder/print.cpp", <<'END');
#include "hipq/client.hpp"
#include "metrics/open_metrics.hpp"

#include <cstdio>

int main()
{
    try {
        const hipq::client::Connection connection;
        std::fputs(hipq::metrics::open_metrics(connection).c_str(), stdout);
    } catch (const hipq::client::Error &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
END
chomp(my $flags = `pkg-config --cflags --libs libpq`);
my $said = `g++ -std=c++20 -O0 -Wall -Wextra -Wshadow -Werror -I'$root/clients/metrics/src' \\
	-I'$root/clients/cpp/include' '$folder/print.cpp' \\
	'$root'/clients/metrics/src/metrics/*.cpp $flags -pthread -o '$folder/print' 2>&1`;
is($?, 0, 'the program compiles without a warning') or diag($said);

my $hipq = HipqCluster->new('open_metrics');
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE ROLE watcher LOGIN IN ROLE pg_monitor;
	CREATE FUNCTION work(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		PERFORM 1 / (data->>'divisor')::integer; END $$;
	SELECT hipq.register_job_type('app.main', 'say "hi"', handler => 'work');
	INSERT INTO hipq.app_main (job_type, job_data)
		SELECT 'say "hi"', jsonb_build_object('divisor', n % 2) FROM generate_series(1, 40) AS n;
	INSERT INTO hipq.app_main (job_type, job_data, scheduled_run_time)
		SELECT 'say "hi"', '{}', '2100-01-01' FROM generate_series(1, 3)});
ok($hipq->wait_until(q{SELECT coalesce(sum(succeeded + failed), 0) FROM hipq.statistics
		WHERE period = 'total' AND job_type IS NULL}, '40'), 'jobs have run');

# Returns what the program prints as a role: text and error.
sub metrics_of
{
	my ($role) = @_;
	local @ENV{qw(PGHOST PGPORT PGUSER PGDATABASE)} = ($hipq->node->host, $hipq->node->port,
		$role, 'postgres');
	my ($out, $err) = ('', '');
	IPC::Run::run([ 'timeout', '60', "$folder/print" ], '>', \$out, '2>', \$err);
	return ($out, $err);
}
my ($text, $err) = metrics_of('watcher');
is($err, '', 'the program prints no error');
my $labels = q(datname="postgres",queue="app.main",job_type="say \"hi\"");
foreach my $line ("hipq_jobs_succeeded_total{$labels} 20", "hipq_jobs_failed_total{$labels} 20",
	qq(hipq_queue_unfinished{datname="postgres",queue="app.main"} 3),
	"hipq_job_wait_seconds_bucket{$labels,le=\"+Inf\"} 40",
		"hipq_job_run_seconds_count{$labels} 40", '# UNIT hipq_job_run_seconds seconds',
		'# TYPE hipq_jobs_succeeded counter',
	'hipq_metrics_failed{query="hipq_alert"} 0', '# EOF')
{
	like($text, qr/^\Q$line\E$/m, $line);
}

SKIP: {
	my $parse = 'import sys; from prometheus_client.openmetrics.parser import '
		. 'text_string_to_metric_families as parse; '
	  . 'print(" ".join(sorted(f.name + ":" + f.type for f in parse(sys.stdin.read()))))';
	skip 'python3-prometheus-client is not installed', 2
		if system(q{/usr/bin/python3 -c 'import prometheus_client' 2>/dev/null}) != 0;
	my ($names, $wrong) = ('', '');
	IPC::Run::run([ '/usr/bin/python3', '-c', $parse ], '<', \$text, '>', \$names, '2>', \$wrong);
	is($wrong, '', 'a strict parser accepts the text');
	like($names,
		qr/\bhipq_job_run_seconds:histogram\b.*\bhipq_jobs_failed:counter\b.*\bhipq_queue_unfinished:gauge\b/,
		'a strict parser knows the types of metrics');
}

# ---- privilege read on a queue suffices for its metrics
$hipq->sql(q{CREATE ROLE reader LOGIN; SELECT hipq.grant_queue('app.main', 'reader', 'read')});
($text, $err) = metrics_of('reader');
is($err, '', 'a role without pg_monitor gets no error');
like($text, qr/^hipq_metrics_failed\{query="hipq_alert"\} 1$/m,
	'queries that fail for the role are named');
unlike($text, qr/^hipq_alert_times/m, 'metrics that the role cannot read are omitted');
like($text, qr/^hipq_jobs_succeeded_total\{\Q$labels\E\} 20\n/m,
	'metrics that the role can read are printed');
like($text, qr/# EOF\n\z/, 'the text for a role without pg_monitor ends with EOF');

$hipq->node->stop('fast');
($text, $err) = metrics_of('watcher');
is($text, '', 'without a server the program prints no metrics');
like($err, qr/connection to server/, 'without a server the program prints an error');

done_testing();
