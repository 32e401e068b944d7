# The client for C++ (clients/cpp) can be installed, and pkg-config and CMake find it. The examples
# of its manual and its own tests pass against a cluster.
use strict;
use warnings;
use HipqCluster;
use HipqCollector;
use HipqPooler;
use PostgreSQL::Test::Utils;
use Test::More;

my $client = "$ENV{HIPQ_ROOT}/clients/cpp";
my $there = PostgreSQL::Test::Utils::tempdir();
plan skip_all => 'needs g++, pkg-config, libpq-dev and nlohmann-json3-dev'
  if system("printf '#include <nlohmann/json.hpp>' | g++ -std=c++20 -E -x c++ - >/dev/null 2>&1 && "
  	. "pkg-config --exists libpq") != 0;

# ---- the installed library

command_ok([ 'make', '-s', '-C', $client, 'install', "prefix=$there/usr" ],
	'the client is installed');
local $ENV{PKG_CONFIG_PATH} = "$there/usr/share/pkgconfig";
chomp(my $flags = `pkg-config --cflags --libs hipq-client`);
like($flags, qr{-I\Q$there\E/usr/include }, 'pkg-config finds the client');

# Compiles a program without a warning.
sub compile
{
	my ($name, $source, $libraries) = @_;
	$libraries //= '';
	append_to_file("$there/$name.cpp", $source);
	my $said = `g++ -std=c++20 -O0 -Wall -Wextra -Wshadow -Werror '$there/$name.cpp' \\
		$flags $libraries -o '$there/$name' 2>&1`;
	return ok($? == 0, "$name compiles") || diag($said);
}

# Returns the block of the manual that follows a mark.
my $page = slurp_file("$ENV{HIPQ_ROOT}/docs/clients/cpp.md");
sub example
{
	my ($mark) = @_;
	return $page =~ /^<!-- $mark -->\n```cpp\n(.*?)^```$/ms ? $1 : die "no $mark";
}

my $worker = example('worker');
cmp_ok(scalar(split /\n/, $worker =~ s/^(?:#.*|using.*|\s*)\n//mgr), '<=', 10,
	'a worker in the manual has at most ten lines');
compile('worker', $worker);
compile('enqueue', example('enqueue') . example('after') . example('graph') . example('batch')
	. <<'END');
int main()
{
	const Connection connection;
	sign_up(connection, "ann@example.com");
	scan_and_index(connection, {{"path", "a.pdf"}});
	scan_then_index(connection, {{"path", "a.pdf"}});
	import_rows(connection, {{{"row", 1}}, {{"row", 2}}});
}
END
# The programs that send spans need libcurl.
my $curl = system('pkg-config --exists libcurl') == 0 ? '-lcurl' : undef;
compile('traced', example('traced'), $curl) if defined $curl;
foreach my $test (grep { defined $curl || !/spans\.cpp$/ } glob "$client/test/*.cpp")
{
	compile($test =~ m{(\w+)\.cpp$}, slurp_file($test), $curl);
}

SKIP: {
	# Roots of other versions of PostgreSQL (tools/root) have no CMake.
	skip 'there is no CMake here', 1 unless grep { -x "$_/cmake" } split /:/, $ENV{PATH};
	mkdir "$there/project" or die $!;
	append_to_file("$there/project/CMakeLists.txt", <<~'END');
		cmake_minimum_required(VERSION 3.22)
		project(user CXX)
		find_package(hipq-client REQUIRED)
		add_executable(user ../enqueue.cpp)
		target_link_libraries(user hipq::client)
		END
	command_ok([ 'cmake', '-S', "$there/project", '-B', "$there/project/build",
			"-DCMAKE_PREFIX_PATH=$there/usr" ], 'CMake finds the client');
}

# ---- programs against a cluster

my $hipq = HipqCluster->new('cpp', 'hipq.worker_grace' => '500ms');
@ENV{qw(PGHOST PGPORT PGDATABASE)} = ($hipq->node->host, $hipq->node->port, 'postgres');
my @as_app = ('env', 'PGUSER=app');
$hipq->create_queue('app.mail');
$hipq->sql(q{
	SELECT hipq.register_job_type('app.mail', type, handler_kind => 'notify', max_retries => 1,
		retry_base => '0 s')
	FROM unnest('{scan, index, welcome, row, imported, typed, wrapped, failing, permanent, release,
		later, slow, told, many, typed_many, all, one_over, span}'::text[])
		AS type;
	CREATE TABLE signup (address text); GRANT INSERT ON signup TO app});

# Starts a program in the background.
sub start
{
	my ($name, @arguments) = @_;
	return IPC::Run::start([ @as_app, "$there/$name", @arguments ], '>&', "$there/$name.log");
}
sub is_there
{
	my ($name) = @_;
	return ok($hipq->wait_until("SELECT count(*) FROM hipq.workers WHERE name = '$name'
			AND status = 'active'", 1), "worker $name is active");
}
# Tests that a program exits with 0 after SIGTERM.
sub ends_well
{
	my ($run, $what) = @_;
	$run->signal('TERM');
	$run->finish;
	return is($run->result(0), 0, $what);
}

my $scanner = start('worker');
is_there('scanner-1');
my $job = $hipq->enqueue('scan', q{'{"path": "a.pdf"}', queue => 'app.mail'});
is($hipq->result($job), '{"file": "a.pdf", "pages": 3}', 'the worker of the manual runs a job');
ends_well($scanner, 'the worker of the manual stops on SIGTERM');
ok($hipq->wait_until('SELECT count(*) FROM hipq.workers', 0),
	'a stopped worker is no longer registered');

command_ok([ @as_app, "$there/enqueue" ], 'the functions of the manual enqueue jobs');
is($hipq->sql(q{SELECT job.waits_for, graph.name FROM hipq.jobs_detail AS job
		LEFT JOIN hipq.graph_jobs AS graph ON graph.job_id = job.id WHERE job.job_type = 'index'
		ORDER BY job.id}), "jobs|\njobs|index",
	'a job that comes after another one waits for it, in a graph, too');
is($hipq->sql(q{SELECT concat_ws(' ', batch.state, batch.jobs, job.waits_for)
		FROM hipq.jobs_detail AS job JOIN hipq.dependency AS after ON after.job_id = job.id
		JOIN hipq.batches AS batch ON batch.batch_id = after.before_id
		WHERE job.job_type = 'imported'}), 'running 2 jobs', 'a callback waits for its batch');
is($hipq->sql(q{SELECT job_data->>'to' || ' ' || job_key || ' ' || (SELECT address FROM signup)
		FROM hipq.jobs_detail WHERE job_type = 'welcome'}),
	'ann@example.com ann@example.com ann@example.com',
		"the job has its data and its key, and was enqueued in the caller's transaction");
my ($said, $err) = ('', '');
IPC::Run::run([ @as_app, "$there/enqueue" ], '>', \$said, '2>', \$err);
is($hipq->sql('SELECT count(*) FROM signup'), 1, 'a taken key rolls back the whole transaction');

# ---- enqueueing: the program prints what fails
command_like([ @as_app, "$there/enqueueing" ], qr/^all holds$/m,
	'the functions that enqueue, wait and cancel work');

$hipq->sql(q{SELECT hipq.cancel_jobs('app.mail')});
command_like([ @as_app, "$there/testing" ], qr/^all holds$/m,
	"the functions for users' tests work");
command_like([ @as_app, "$there/batches" ], qr/^all holds$/m, 'batches of jobs work');

# ---- a worker with handlers of every kind
my $kinds = start('kinds');
is_there('kinds');
my %jobs = map { $_ => $hipq->enqueue($_, q{'{"size": 3}', queue => 'app.mail'}) } qw(typed wrapped
	failing permanent release slow told);
is($hipq->result($jobs{typed}), '6', 'a handler gets its data as a type');
is($hipq->result($jobs{wrapped}), '["outer", ["inner", "handled"]]', 'middleware wraps handlers');
is($hipq->outcome($jobs{failing}), 'failed', 'a handler that throws fails its job');
is($hipq->attempts($jobs{failing}), '1 transient_error, 2 transient_error',
	'a job whose handler throws has its retries');
is($hipq->outcome($jobs{permanent}), 'failed', 'a handler that throws Permanent fails its job');
is($hipq->attempts($jobs{permanent}), '1 explicit_failure',
	'a job whose handler throws Permanent is not retried');
is($hipq->result($jobs{release}), '2', 'a job whose handler throws Release runs again');
is($hipq->sql("SELECT retry_count FROM hipq.jobs_detail WHERE id = $jobs{release}"), 0,
	'a release is not charged');
my $waits = sub { return "SELECT concat_ws(' ', state, retry_count, extract(epoch
	FROM scheduled_run_time - update_time), error) FROM hipq.jobs_detail WHERE id = $_[0]" };
$jobs{later} = $hipq->enqueue('later', q{queue => 'app.mail'});
ok($hipq->wait_until($waits->($jobs{later}), 'retry 1 420.000000 busy'),
	'a job whose handler throws RetryAfter waits for the given time');
$hipq->sql("SELECT hipq.cancel($jobs{later})");
foreach my $none ('soon', '-1 s')
{
	my $job = $hipq->enqueue('later', qq{'{"delay": "$none"}', queue => 'app.mail'});
	is($hipq->outcome($job), 'failed', "RetryAfter \"$none\": the job fails");
	is($hipq->attempts($job), '1 transient_error, 2 transient_error',
		"RetryAfter \"$none\": the job has its usual retries");
	like(slurp_file("$there/kinds.log"), qr/answer refused: job $job: /,
		"RetryAfter \"$none\": the refusal is logged");
}
is($hipq->outcome($hipq->enqueue('typed', q{'{"size": "three"}', queue => 'app.mail'})), 'failed',
	'data of another type fail the job');
is($hipq->outcome($hipq->enqueue('typed', q{'{"size": 1e400}', queue => 'app.mail'})), 'failed',
	'a number that does not fit a double fails the job');
like($hipq->result($jobs{told}), qr/^"20\d\d-.*Z"$/, 'a handler can extend its attempt');
ok($hipq->wait_until("SELECT percent || ' ' || message FROM hipq.progress WHERE id = $jobs{slow}",
		'30.0 on the way'), "a handler's progress is seen");
$hipq->sql("SELECT hipq.cancel($jobs{slow})");
ok($hipq->wait_until("SELECT count(*) FROM signup WHERE address = 'stopped'", 1),
	'a handler learns that its job is cancelled');

# ---- many jobs in one call

# Enqueues jobs of a type with these data. Returns their outcomes and results after all are final.
sub outcomes_of
{
	my ($type, @data) = @_;
	my $data = join ', ', map { "'$_'" } @data;
	my $ids = $hipq->sql(
		"SELECT hipq.enqueue_many('$type', ARRAY[$data]::jsonb[], queue => 'app.mail')");
	$hipq->outcome($_) foreach $ids =~ /\d+/g;
	return split /\n/, $hipq->sql("SELECT concat_ws(' ', outcome, attempt, result, error)
		FROM hipq.jobs_detail WHERE id = ANY ('$ids') ORDER BY id");
}

my @many = outcomes_of('many', ('{"how": "succeed"}') x 6, '{"how": "fail"}', '{"how": "release"}');
my @sizes = map { /^succeeded 1 (\d)$/ } @many;
is(scalar @sizes, 6, 'jobs of a batch succeed');
ok((grep { $_ > 1 } @sizes) && !(grep { $_ > 4 } @sizes),
	'a batch has several jobs, and at most as many as the limit') or diag("@sizes");
like($many[6], qr/^failed 2 no luck$/, 'one job of a batch fails alone');
like($many[7], qr/^succeeded 2 \d$/, 'one job of a batch is released alone');
my $put_off = $hipq->enqueue('many', q{'{"how": "later", "delay": "7 min"}', queue => 'app.mail'});
ok($hipq->wait_until($waits->($put_off), 'retry 1 420.000000 busy'),
	'one job of a batch is delayed alone, and charged');
$hipq->sql("SELECT hipq.cancel($put_off)");
is_deeply([ outcomes_of('many', '{"how": "later", "delay": "soon"}') ], ['failed 2 busy'],
	'one job of a batch with a wrong delay fails, and has its usual retries');
my @typed = outcomes_of('typed_many', '{"size": 1}', '{"size": "one"}', '{"size": 3}');
is("@typed[0, 2]", 'succeeded 1 2 succeeded 1 6', 'a batch gets its data as a type');
like($typed[1], qr/^failed 1 the job's data is not valid/,
	'data of another type fail only their own job of a batch');
is_deeply([ outcomes_of('all', '{}', '{}') ], [ ('failed 1 none of them') x 2 ],
	'a batch handler that throws fails all jobs of the batch');

my @over = outcomes_of('one_over', ('{}') x 4);
ok((grep { /^cancelled/ } @over) && !(grep { !/^(?:cancelled|failed)/ } @over),
	'the other jobs of a batch with a cancelled job fail') or diag("@over");


# ---- spans
SKIP: {
	skip 'there is no libcurl4-openssl-dev', 10 unless defined $curl;
	my $collector = HipqCollector->new;
	local @ENV{qw(OTEL_EXPORTER_OTLP_ENDPOINT OTEL_BSP_SCHEDULE_DELAY)} = ($collector->url, 1);
	my $spans = start('spans');
	is_there('spans');
	my $trace = '4bf92f3577b34da6a3ce929d0e0e4736';
	my $enqueue = sub { my ($how) = @_; return $hipq->enqueue('span', qq('{"how": "$how"}',
			queue => 'app.mail', traceparent => '00-$trace-00f067aa0ba902b7-01')); };
	my %of = map { $_ => $enqueue->($_) } qw(well fail permanent release later strange);
	my ($well) = $collector->spans_of($of{well});
	is_deeply([ @$well{qw(traceId parentSpanId name kind status)} ],
		[ $trace, '00f067aa0ba902b7', 'process app.mail', 5, {} ], 'an attempt is a span');
	is_deeply([ @{ $well->{attributes} }{qw(messaging.client.id hipq.job.type hipq.outcome)} ],
		[qw(spans span succeeded)], 'the span has the attributes of its attempt');
	is($hipq->result($of{well}), qq("00-$trace-$well->{spanId}-01"),
		'the handler gets the span as the trace of its job');
	my $ends = sub { return map { join '|', @{ $_->{attributes} }{qw(hipq.attempt hipq.outcome)},
			$_->{attributes}{'error.type'} // '',
			$_->{status}{message} // '' } $collector->spans_of(@_) };
	is_deeply([ $ends->($of{fail}, 2) ], [ map { "$_|failed|_OTHER|no luck" } 1, 2 ],
		'the span of an attempt that throws has failed');
	is_deeply([ $ends->($of{permanent}) ], ['1|failed|Permanent|no such address'],
		'the span of an attempt that throws Permanent has failed');
	is_deeply([ $ends->($of{strange}, 2) ],
		[ map { "$_|failed|_OTHER|the handler threw what is no exception" } 1, 2 ],
		'the span of an attempt that throws no exception has failed');
	is_deeply([ $ends->($of{later}, 2) ], [ '1|failed|RetryAfter|busy', '2|succeeded||' ],
		'the span of an attempt that throws RetryAfter has failed');
	is_deeply([ $ends->($of{release}, 2) ], [ '1|released||', '2|succeeded||' ],
		'the span of a released attempt has not failed');
	# The last one, because the program runs one job at a time.
	my $endless = $enqueue->('cancel');
	ok($hipq->wait_until("SELECT state = 'running' AND accepted_time IS NOT NULL
			FROM hipq.jobs_detail WHERE id = $endless"), 'a job without an end runs');
	$hipq->sql("SELECT hipq.cancel($endless)");
	is_deeply([ $ends->($endless) ], ["1|lost|AttemptOver|attempt 1 of job $endless is over"],
		'the span of a cancelled attempt is lost');
	ends_well($spans, 'the program that sends spans stops on SIGTERM');
}

# ---- the server crashes and starts again
$jobs{slow} = $hipq->enqueue('slow', q{queue => 'app.mail'});
ok($hipq->wait_until("SELECT count(*) FROM hipq.progress WHERE id = $jobs{slow}", 1),
	'a slow job runs');
$hipq->node->stop('immediate');
$hipq->node->start;
is($hipq->result($hipq->enqueue('typed', q{'{"size": 4}', queue => 'app.mail'})), '8',
	'the worker continues after a crash of the server');
$kinds->signal('TERM');
ok($hipq->wait_until(q{SELECT is_draining FROM hipq.workers_detail WHERE name = 'kinds'}),
	'a signal drains the worker');
$kinds->signal('TERM');    # two signals at the same time would be one
$kinds->finish;
is($kinds->result(0), 0, 'a second signal releases the running jobs, and the worker exits with 0');
ok($hipq->wait_until('SELECT count(*) FROM hipq.running', 0),
	'no job is running after the worker has stopped');
$hipq->sql("SELECT hipq.cancel($jobs{slow})");

# ---- behind a pooler
SKIP: {
	my $pooler = HipqPooler->new($hipq, 'app') or skip 'there is no pgbouncer', 4;
	local @ENV{qw(PGHOST PGPORT)} = @ENV{qw(POOLER_HOST POOLER_PORT)};
	my ($out, $error) = ('', '');
	IPC::Run::run([ 'timeout', '60', @as_app, "$there/kinds" ], '>', \$out, '2>', \$error);
	like($error, qr/goes through a pooler/, 'a bound worker refuses a pooler');
	my $pooled = start('kinds', 'pooler');
	is_there('kinds');
	is($hipq->result($hipq->enqueue('typed', q{'{"size": 5}', queue => 'app.mail'})), '10',
		'an unbound worker works through a pooler');
	ends_well($pooled, 'an unbound worker behind a pooler stops on SIGTERM');
}
done_testing();
