# hipq-run sends spans of its attempts to a collector by OTLP, with the right parents and
# attributes. A slow, busy or missing collector does not keep jobs from running. The variables of
# OpenTelemetry control the spans.
use strict;
use warnings;
use HTTP::Tiny;
use HipqCluster;
use HipqCollector;
use HipqRun;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

plan skip_all => 'hipq-run was not built: nlohmann-json3-dev or libcurl4-openssl-dev is missing'
	unless defined HipqRun::program();
my $hipq = HipqCluster->new('traces', 'hipq.worker_grace' => '500ms',
	'hipq.health_enabled' => 'off');
HipqRun::create_queue($hipq, 'say');
my $collector = HipqCollector->new;
my $there = PostgreSQL::Test::Utils::tempdir_short();

# Runs the command in the member "do" of its data.
my $program = HipqRun::script(<<'SH');
read -r data
eval "$(printf '%s' "$data" | sed -n 's/^.*"do": "\(.*\)"}$/\1/p' | sed 's/\\"/"/g; s/\\\\/\\/g')"
SH
my @worker = ('--queue', 'app.run', '--types', 'say', '--name', 'runner-1', '--', $program);
sub enqueue
{
	my ($do, $rest) = @_;
	return $hipq->enqueue('say',
		sprintf q{jsonb_build_object('do', $do$%s$do$), queue => 'app.run'%s}, $do, $rest // '');
}
# Starts hipq-run with these variables, besides those for the collector, and sends spans at once.
sub start
{
	my ($variables, @arguments) = @_;
	my %variables = (OTEL_EXPORTER_OTLP_ENDPOINT => $collector->url,
		OTEL_BSP_SCHEDULE_DELAY => 1, %$variables);
	my $run = HipqRun->new($hipq, arguments => [ @arguments, @worker ], env => \%variables);
	ok($run->is_ready, join ' ', 'hipq-run with', sort(keys %$variables), @arguments);
	return $run;
}

# ---- the contents of a span

my $run = start({ OTEL_SERVICE_NAME => 'mailer',
		OTEL_RESOURCE_ATTRIBUTES => 'deployment.environment=test,note=a%20b%2Cc,service.name=x',
		OTEL_EXPORTER_OTLP_HEADERS => 'api-key=k%3D1, x-tenant=shop' });
my ($trace, $parent) = ('4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7');
my $before = time();
my $id = enqueue('echo $TRACEPARENT',
	", job_key => 'the key', traceparent => '00-$trace-$parent-01'");
my ($span) = $collector->spans_of($id);
my $seen = $hipq->result($id) =~ s/"//gr;
is($seen, "00-$trace-$span->{spanId}-01", 'the program has the span in its TRACEPARENT');
like($span->{spanId}, qr/^(?!$parent)[0-9a-f]{16}$/, 'the span has a new id');
is_deeply([ @$span{qw(traceId parentSpanId name kind status)} ],
	[ $trace, $parent, 'process app.run', 5, {} ], "the span is a child of the job's span");
is_deeply($span->{attributes}, {
		'messaging.system' => 'hipq', 'messaging.operation.name' => 'process',
			'messaging.operation.type' => 'process', 'messaging.destination.name' => 'app.run',
		'messaging.message.id' => $id, 'messaging.client.id' => 'runner-1',
			'hipq.queue' => 'app.run', 'hipq.job.id' => $id, 'hipq.job.type' => 'say',
		'hipq.job.key' => 'the key', 'hipq.attempt' => 1, 'hipq.exit_code' => 0,
				'hipq.outcome' => 'succeeded' }, 'the span has the attributes of the attempt');
is_deeply($span->{resource}, { 'service.name' => 'mailer', 'deployment.environment' => 'test',
		note => 'a b,c' }, "the span has the worker's resource attributes");
my ($began, $ended) = map { $_ / 1e9 } @$span{qw(startTimeUnixNano endTimeUnixNano)};
ok($before - 1 < $began && $began <= $ended && $ended < time() + 1,
	'the span has the times of the attempt') or diag("$before, $began, $ended");
my ($request) = $collector->requests;
is_deeply([ $request->{path}, @{ $request->{headers} }{qw(content-type api-key x-tenant)} ],
	[ '/v1/traces', 'application/json', 'k=1', 'shop' ],
	'the request has the headers of OTLP, and those of the variable');

my @spans = $collector->spans_of($id = enqueue('echo no luck >&2; exit 75',
		", traceparent => '00-$trace-$parent-01'"), 2);
is_deeply([ map { [ @$_{qw(traceId parentSpanId)}, @{ $_->{attributes} }{qw(hipq.attempt
		hipq.outcome hipq.exit_code error.type)}, $_->{status} ] } @spans ],
	[ map { [ $trace, $parent, $_, 'failed', 75, 'exit code 75',
			{ code => 2, message => 'exit code 75: no luck' } ] } 1, 2 ],
		'each failed attempt is a span with its error');
($span) = $collector->spans_of(enqueue('kill -KILL $$', ', max_retries => 0'));
is_deeply([ @{ $span->{attributes} }{qw(hipq.signal error.type)}, $span->{status}{message} ],
	[ 9, 'signal 9', 'killed by signal 9 (Killed)' ],
	'an attempt killed by a signal is a span with the signal');
$id = enqueue('echo $TRACEPARENT');
($span) = $collector->spans_of($id);
like($hipq->result($id), qr/^"00-$span->{traceId}-$span->{spanId}-01"$/,
	'a job without a trace starts one');
ok(!exists $span->{parentSpanId}, 'the span of a new trace has no parent');
my $slow = enqueue("touch $there/runs; sleep 600");
ok($run->wait_for(sub { -e "$there/runs" }), 'a job runs');
$hipq->sql("SELECT hipq.cancel($slow)");
($span) = $collector->spans_of($slow);
is_deeply([ $span->{attributes}{'hipq.outcome'}, @{ $span->{status} }{qw(code message)} ], [ 'lost',
		2, q{it was cancelled, or is somebody else's} ], 'the span of a cancelled attempt is lost');

my $other = '0af7651916cd43dd8448eb211c80319c';
$id = enqueue('echo $TRACEPARENT', ", traceparent => '00-$other-$parent-00'");
like($hipq->result($id), qr/^"00-$other-(?!$parent)[0-9a-f]{16}-00"$/,
	'a trace that is not sampled is passed on');
like($hipq->result($id = enqueue('for one in /proc/$$/fd/*; do readlink $one; done; true')),
	qr/pipe/, 'a program has its pipes');
unlike($hipq->result($id), qr/socket|eventfd/,
	"a program does not inherit the collector's connection");
$collector->spans_of($id);
is((grep { $_->{traceId} eq $other } $collector->spans), 0,
	'a trace that is not sampled has no spans');
is($run->stop, 0, 'hipq-run stops after single spans');

# ---- a batch

append_to_file("$there/batch.pl", <<'PERL');
use strict; use warnings; use JSON::PP; $| = 1;
while (my $line = <STDIN>)
{
	my $job = decode_json($line);
	my $how = $job->{data}{do};
	print encode_json({ id => $job->{id}, $how eq 'release' && $job->{attempt} == 1
		? (release => '0') : ($how => $job->{traceparent}) }), "\n";
}
PERL
@worker = ('--queue', 'app.run', '--types', 'say', '--batch', '--', 'perl', "$there/batch.pl");
$run = start({});
($span) = $collector->spans_of($id = enqueue('result', ", traceparent => '00-$trace-$parent-01'"));
is($hipq->result($id), qq("00-$trace-$span->{spanId}-01"),
	"in a batch the job's line has the span");
is($span->{parentSpanId}, $parent, "in a batch the span is a child of the job's span");
is($span->{resource}{'service.name'}, 'hipq-run', 'the service has a default name');
($span) = $collector->spans_of(enqueue('error', ', max_retries => 0'));
is_deeply([ $span->{attributes}{'error.type'}, $span->{status}{message} ], [ '_OTHER',
		"00-$span->{traceId}-$span->{spanId}-01" ], 'an error in a line is the error of the span');
($span) = $collector->spans_of(enqueue('release'));
is_deeply([ $span->{attributes}{'hipq.outcome'}, $span->{status} ], [ 'released', {} ],
	'the span of a released attempt has not failed');
is($run->stop, 0, 'hipq-run stops after a batch');

# ---- a collector that is busy, refuses spans, does not answer, or is down

@worker = ('--queue', 'app.run', '--types', 'say', '--', $program);
my $port = PostgreSQL::Test::Cluster::get_free_port();
sub metric
{
	my ($name) = @_;
	return HTTP::Tiny->new->get("http://127.0.0.1:$port/metrics")->{content}
		=~ /^hipq_run_spans_${name}_total (\d+)$/m ? $1 : 'none';
}
sub is_metric
{
	my ($name, $value, $what) = @_;
	return ok($run->wait_for(sub { metric($name) eq $value }), $what) || diag(metric($name));
}
sub complaints
{
	return map { $_->{message} } grep { $_->{event} eq 'spans not exported' } $run->entries;
}

$run = start({}, '--metrics', $port);
$collector->answer(503);
$id = enqueue('true');
ok($run->logs('spans not exported',
		qr{^\Q@{[ $collector->url ]}\E/v1/traces: the collector answers 503$}),
	'a busy collector is logged');
$collector->answer(200);
is(scalar $collector->spans_of($id), 1, 'spans are sent again to a busy collector');
is_metric('exported', 1, 'spans sent again are counted');
is(metric('dropped'), 0, 'no span is dropped because of a busy collector');
$collector->answer(400);
enqueue('true');
is_metric('dropped', 1, 'spans that the collector refuses are dropped and counted');
enqueue('true');
is_metric('dropped', 2, 'each refused span is counted');
is_deeply([ map { s/.*: //r } complaints() ],
	[ 'the collector answers 503', 'the collector answers 400' ], 'refused spans are logged once');
$collector->answer(200, '{"partialSuccess": {"rejectedSpans": "1", "errorMessage": "no"}}');
enqueue('true');
is_metric('dropped', 3, 'spans rejected from an accepted request are counted');
$collector->answer(200);
is($run->stop, 0, 'hipq-run stops after refused spans');

$collector->answer('silence');
$run = start({ OTEL_EXPORTER_OTLP_TRACES_TIMEOUT => 600_000, OTEL_BSP_MAX_QUEUE_SIZE => 2 },
	'--metrics', $port);
$id = enqueue('true');
is($hipq->outcome($id), 'succeeded', 'a job runs with a silent collector');
my $asked = scalar $collector->requests;
ok($run->wait_for(sub { scalar $collector->requests > $asked || (
		grep { $_->{status} == 0 } $collector->requests) }),
	'hipq-run has sent a request to the silent collector');
is($hipq->outcome(enqueue('true')), 'succeeded', 'more jobs run with a silent collector')
	foreach 1 .. 4;
is_metric('dropped', 2, 'spans beyond the queue size are dropped');
my $stopped = time();
is($run->stop, 0, 'hipq-run stops with a silent collector');
cmp_ok(time() - $stopped, '<', 20, 'the stop with a silent collector takes less than 20 s');
$collector->answer(200);

my $nowhere = 'http://127.0.0.1:' . PostgreSQL::Test::Cluster::get_free_port();
$run = start({ OTEL_EXPORTER_OTLP_ENDPOINT => $nowhere });
is($hipq->outcome(enqueue('true')), 'succeeded', 'a job runs without a collector') foreach 1 .. 3;
ok($run->logs('spans not exported', qr/^\Q$nowhere\E.*onnect/), 'a missing collector is logged');
is($run->stop, 0, 'hipq-run stops without a collector');
is(scalar complaints(), 1, 'a missing collector is logged once');

# ---- spans that wait when hipq-run stops

$run = start({ OTEL_BSP_SCHEDULE_DELAY => 600_000 });
my @jobs = map { enqueue('true') } 1 .. 3;
is($hipq->outcome($_), 'succeeded', 'a job runs whose span waits for more spans') foreach @jobs;
$asked = scalar $collector->requests;
is($run->stop, 0, 'hipq-run stops with waiting spans');
is(scalar $collector->spans_of($_), 1, 'waiting spans are sent at the stop') foreach @jobs;
is(scalar $collector->requests, $asked + 1, 'waiting spans are sent in one request');

# ---- settings of the address, and settings that turn spans off

foreach my $case (
	[ {}, [ '--traces', $collector->url . '/own' ], '/own', '--traces' ],
	[ { OTEL_EXPORTER_OTLP_ENDPOINT => $nowhere,
			OTEL_EXPORTER_OTLP_TRACES_ENDPOINT => $collector->url . '/traces' }, [], '/traces',
		'an endpoint for traces' ],
	[ { OTEL_EXPORTER_OTLP_ENDPOINT => $collector->url . '/base/' }, [], '/base/v1/traces',
			'an endpoint with a path' ])
{
	my ($variables, $arguments, $path, $what) = @$case;
	$run = start($variables, @$arguments);
	is(scalar $collector->spans_of(enqueue('true')), 1, "$what: a span arrives");
	is(($collector->requests)[-1]{path}, $path, "$what: the path is $path");
	is($run->stop, 0, "$what: hipq-run stops");
}
foreach my $variables ({ OTEL_SDK_DISABLED => 'true' }, { OTEL_TRACES_EXPORTER => 'none' },
	{ OTEL_EXPORTER_OTLP_ENDPOINT => '' })
{
	$asked = scalar $collector->requests;
	$run = start($variables);
	is($hipq->result(enqueue('echo $TRACEPARENT', ", traceparent => '00-$trace-$parent-01'")),
		qq("00-$trace-$parent-01"), 'without spans the program has the trace of its job');
	is($run->stop, 0, 'hipq-run without spans stops');
	is(scalar $collector->requests, $asked, 'hipq-run sends no spans if they are turned off');
}
my %wrong = (
	OTEL_EXPORTER_OTLP_ENDPOINT => [ 'nonsense',
		'needs a URL such as http://localhost:4318/v1/traces' ],
	OTEL_EXPORTER_OTLP_TRACES_ENDPOINT => [ 'ftp://a/',
		'needs a URL such as http://localhost:4318/v1/traces' ],
	OTEL_EXPORTER_OTLP_HEADERS => [ 'a',
		'needs pairs such as key=value, with a comma between two' ],
	OTEL_EXPORTER_OTLP_TRACES_HEADERS => [ 'a=%4',
		'has a % without two hex digits of a character after it' ],
	OTEL_EXPORTER_OTLP_TIMEOUT => [ '1s', 'needs a whole number from 1 to 1000000000' ],
	OTEL_RESOURCE_ATTRIBUTES => [ '=a', 'needs pairs such as key=value, with a comma between two' ],
	OTEL_SDK_DISABLED => [ 'maybe', 'needs "true" or "false"' ],
	OTEL_TRACES_EXPORTER => [ 'zipkin', 'needs "otlp" or "none"' ],
	OTEL_EXPORTER_OTLP_PROTOCOL => [ 'grpc', 'needs "http/json" or "http/protobuf"' ]);
foreach my $name (sort keys %wrong)
{
	my ($value, $why) = @{ $wrong{$name} };
	local @ENV{ 'OTEL_EXPORTER_OTLP_ENDPOINT', $name } = ($collector->url, $value);
	my ($code, undef, $err) = HipqRun::answer($hipq, @worker);
	my $full = $name eq 'OTEL_EXPORTER_OTLP_ENDPOINT' ? "$value/v1/traces" : $value;
	is("$code $err", "64 hipq-run: $name $full: $why\nTry hipq-run --help.\n",
		"$name=$value is refused");
}
is($hipq->sql('SELECT count(*) FROM hipq.running'), 0, 'no job runs after all runs');
done_testing();
