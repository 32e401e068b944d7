# The client for C++ (clients/cpp): installed, found by pkg-config, and what is in its manual and its own tests compiles and holds
# against a cluster.
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
  if system("printf '#include <nlohmann/json.hpp>' | g++ -std=c++20 -E -x c++ - >/dev/null 2>&1 && pkg-config --exists libpq") != 0;

# ---- as its users have it

command_ok([ 'make', '-s', '-C', $client, 'install', "prefix=$there/usr" ], 'it is installed');
local $ENV{PKG_CONFIG_PATH} = "$there/usr/share/pkgconfig";
chomp(my $flags = `pkg-config --cflags --libs hipq-client`);
like($flags, qr{-I\Q$there\E/usr/include }, 'pkg-config finds it');

# Compiles a program, without a warning.
sub compile
{
	my ($name, $source, $libraries) = @_;
	$libraries //= '';
	append_to_file("$there/$name.cpp", $source);
	my $said = `g++ -std=c++20 -O0 -Wall -Wextra -Wshadow -Werror '$there/$name.cpp' $flags $libraries -o '$there/$name' 2>&1`;
	return ok($? == 0, "$name compiles") || diag($said);
}

# The part of the manual after a mark.
my $page = slurp_file("$ENV{HIPQ_ROOT}/docs/clients/cpp.md");
sub example { my ($mark) = @_; return $page =~ /^<!-- $mark -->\n```cpp\n(.*?)^```$/ms ? $1 : die "no $mark"; }

my $worker = example('worker');
cmp_ok(scalar(split /\n/, $worker =~ s/^(?:#.*|using.*|\s*)\n//mgr), '<=', 10, 'a worker has ten lines');
compile('worker', $worker);
compile('enqueue', example('enqueue') . <<'END');
int main() { sign_up(Connection(), "ann@example.com"); }
END
# What sends spans needs libcurl.
my $curl = system('pkg-config --exists libcurl') == 0 ? '-lcurl' : undef;
compile('traced', example('traced'), $curl) if defined $curl;
foreach my $test (grep { defined $curl || !/spans\.cpp$/ } glob "$client/test/*.cpp") { compile($test =~ m{(\w+)\.cpp$}, slurp_file($test), $curl); }

SKIP: {
	# Roots of other versions of PostgreSQL (tools/root) have none.
	skip 'there is no CMake here', 1 unless grep { -x "$_/cmake" } split /:/, $ENV{PATH};
	mkdir "$there/project" or die $!;
	append_to_file("$there/project/CMakeLists.txt", <<~'END');
		cmake_minimum_required(VERSION 3.22)
		project(user CXX)
		find_package(hipq-client REQUIRED)
		add_executable(user ../enqueue.cpp)
		target_link_libraries(user hipq::client)
		END
	command_ok([ 'cmake', '-S', "$there/project", '-B', "$there/project/build", "-DCMAKE_PREFIX_PATH=$there/usr" ], 'so does CMake');
}

# ---- against a cluster

my $hipq = HipqCluster->new('cpp', 'hipq.worker_grace' => '500ms');
@ENV{qw(PGHOST PGPORT PGDATABASE)} = ($hipq->node->host, $hipq->node->port, 'postgres');
my @as_app = ('env', 'PGUSER=app');
$hipq->create_queue('app.mail');
$hipq->sql(q{
	SELECT hipq.register_job_type('app.mail', type, handler_kind => 'notify', max_retries => 1, retry_base => '0 s')
	FROM unnest('{scan, welcome, typed, wrapped, failing, permanent, release, later, slow, told, many, typed_many, all, one_over, span}'::text[]) AS type;
	CREATE TABLE signup (address text); GRANT INSERT ON signup TO app});

# A program that runs beside the test.
sub start { my ($name, @arguments) = @_; return IPC::Run::start([ @as_app, "$there/$name", @arguments ], '>&', "$there/$name.log"); }
sub is_there { my ($name) = @_; return ok($hipq->wait_until("SELECT count(*) FROM hipq.workers WHERE name = '$name' AND status = 'active'", 1), "$name is there"); }
# Its end, after SIGTERM.
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
ends_well($scanner, 'it stops on SIGTERM');
ok($hipq->wait_until('SELECT count(*) FROM hipq.workers', 0), 'and is no worker any more');

command_ok([ @as_app, "$there/enqueue" ], 'the function of the manual enqueues');
is($hipq->sql(q{SELECT job_data->>'to' || ' ' || job_key || ' ' || (SELECT address FROM signup) FROM hipq.jobs_detail WHERE job_type = 'welcome'}),
	'ann@example.com ann@example.com ann@example.com', 'with its data and key, in its transaction');
my ($said, $err) = ('', '');
IPC::Run::run([ @as_app, "$there/enqueue" ], '>', \$said, '2>', \$err);
is($hipq->sql('SELECT count(*) FROM signup'), 1, 'a key that is taken rolls all of it back');

# ---- enqueueing: the program tells what does not hold
command_like([ @as_app, "$there/enqueueing" ], qr/^all holds$/m, 'what enqueues, waits and cancels');

$hipq->sql(q{SELECT hipq.cancel_jobs('app.mail')});
command_like([ @as_app, "$there/testing" ], qr/^all holds$/m, 'what tests use');

# ---- a worker with all kinds of handlers
my $kinds = start('kinds');
is_there('kinds');
my %jobs = map { $_ => $hipq->enqueue($_, q{'{"size": 3}', queue => 'app.mail'}) } qw(typed wrapped failing permanent release slow told);
is($hipq->result($jobs{typed}), '6', 'a handler has its data as a type');
is($hipq->result($jobs{wrapped}), '["outer", ["inner", "handled"]]', 'middleware is around handlers');
is($hipq->outcome($jobs{failing}), 'failed', 'what throws has failed');
is($hipq->attempts($jobs{failing}), '1 transient_error, 2 transient_error', 'after its retries');
is($hipq->outcome($jobs{permanent}), 'failed', 'what throws Permanent has failed');
is($hipq->attempts($jobs{permanent}), '1 explicit_failure', 'for good');
is($hipq->result($jobs{release}), '2', 'what throws Release runs again');
is($hipq->sql("SELECT retry_count FROM hipq.jobs_detail WHERE id = $jobs{release}"), 0, 'uncharged');
my $waits = sub { return "SELECT concat_ws(' ', state, retry_count, extract(epoch FROM scheduled_run_time - update_time), error) FROM hipq.jobs_detail WHERE id = $_[0]" };
$jobs{later} = $hipq->enqueue('later', q{queue => 'app.mail'});
ok($hipq->wait_until($waits->($jobs{later}), 'retry 1 420.000000 busy'), 'what throws RetryAfter waits as long as it says');
$hipq->sql("SELECT hipq.cancel($jobs{later})");
foreach my $none ('soon', '-1 s')
{
	my $job = $hipq->enqueue('later', qq{'{"delay": "$none"}', queue => 'app.mail'});
	is($hipq->outcome($job), 'failed', "$none: it fails as usual");
	is($hipq->attempts($job), '1 transient_error, 2 transient_error', '... and is tried again');
	like(slurp_file("$there/kinds.log"), qr/answer refused: job $job: /, '... and it is logged');
}
is($hipq->outcome($hipq->enqueue('typed', q{'{"size": "three"}', queue => 'app.mail'})), 'failed', 'data of another type fail the job');
is($hipq->outcome($hipq->enqueue('typed', q{'{"size": 1e400}', queue => 'app.mail'})), 'failed',
	'... or with a number that no double holds');
like($hipq->result($jobs{told}), qr/^"20\d\d-.*Z"$/, 'more time is given');
ok($hipq->wait_until("SELECT percent || ' ' || message FROM hipq.progress WHERE id = $jobs{slow}", '30.0 on the way'), 'progress is seen');
$hipq->sql("SELECT hipq.cancel($jobs{slow})");
ok($hipq->wait_until("SELECT count(*) FROM signup WHERE address = 'stopped'", 1), 'a handler is told that its job is cancelled');

# ---- many jobs in one call

# The jobs of a type with such data, once all are final: outcomes and results.
sub outcomes_of
{
	my ($type, @data) = @_;
	my $data = join ', ', map { "'$_'" } @data;
	my $ids = $hipq->sql("SELECT hipq.enqueue_many('$type', ARRAY[$data]::jsonb[], queue => 'app.mail')");
	$hipq->outcome($_) foreach $ids =~ /\d+/g;
	return split /\n/, $hipq->sql("SELECT concat_ws(' ', outcome, attempt, result, error) FROM hipq.jobs_detail WHERE id = ANY ('$ids') ORDER BY id");
}

my @many = outcomes_of('many', ('{"how": "succeed"}') x 6, '{"how": "fail"}', '{"how": "release"}');
my @sizes = map { /^succeeded 1 (\d)$/ } @many;
is(scalar @sizes, 6, 'jobs of a batch succeed');
ok((grep { $_ > 1 } @sizes) && !(grep { $_ > 4 } @sizes), '... some of them together, at most so many as was said') or diag("@sizes");
like($many[6], qr/^failed 2 no luck$/, '... one fails alone');
like($many[7], qr/^succeeded 2 \d$/, '... one is given back alone');
my $put_off = $hipq->enqueue('many', q{'{"how": "later", "delay": "7 min"}', queue => 'app.mail'});
ok($hipq->wait_until($waits->($put_off), 'retry 1 420.000000 busy'), '... one is put off alone, charged');
$hipq->sql("SELECT hipq.cancel($put_off)");
is_deeply([ outcomes_of('many', '{"how": "later", "delay": "soon"}') ], ['failed 2 busy'], '... as usual if that is no delay');
my @typed = outcomes_of('typed_many', '{"size": 1}', '{"size": "one"}', '{"size": 3}');
is("@typed[0, 2]", 'succeeded 1 2 succeeded 1 6', 'a batch has its data as a type');
like($typed[1], qr/^failed 1 the job's data is not valid/, '... and data of another type fail their job alone');
is_deeply([ outcomes_of('all', '{}', '{}') ], [ ('failed 1 none of them') x 2 ], 'what a batch throws is for all');

my @over = outcomes_of('one_over', ('{}') x 4);
ok((grep { /^cancelled/ } @over) && !(grep { !/^(?:cancelled|failed)/ } @over), 'when one job of a batch is over the others fail, and are not lost') or diag("@over");


# ---- spans
SKIP: {
	skip 'there is no libcurl4-openssl-dev', 10 unless defined $curl;
	my $collector = HipqCollector->new;
	local @ENV{qw(OTEL_EXPORTER_OTLP_ENDPOINT OTEL_BSP_SCHEDULE_DELAY)} = ($collector->url, 1);
	my $spans = start('spans');
	is_there('spans');
	my $trace = '4bf92f3577b34da6a3ce929d0e0e4736';
	my $enqueue = sub { my ($how) = @_; return $hipq->enqueue('span', qq('{"how": "$how"}', queue => 'app.mail', traceparent => '00-$trace-00f067aa0ba902b7-01')); };
	my %of = map { $_ => $enqueue->($_) } qw(well fail permanent release later strange);
	my ($well) = $collector->spans_of($of{well});
	is_deeply([ @$well{qw(traceId parentSpanId name kind status)} ], [ $trace, '00f067aa0ba902b7', 'process app.mail', 5, {} ], 'an attempt is a span');
	is_deeply([ @{ $well->{attributes} }{qw(messaging.client.id hipq.job.type hipq.outcome)} ], [qw(spans span succeeded)], '... that tells of it');
	is($hipq->result($of{well}), qq("00-$trace-$well->{spanId}-01"), '... and the handler has it as the trace of its job');
	my $ends = sub { return map { join '|', @{ $_->{attributes} }{qw(hipq.attempt hipq.outcome)}, $_->{attributes}{'error.type'} // '', $_->{status}{message} // '' } $collector->spans_of(@_) };
	is_deeply([ $ends->($of{fail}, 2) ], [ map { "$_|failed|_OTHER|no luck" } 1, 2 ], 'what throws has failed');
	is_deeply([ $ends->($of{permanent}) ], ['1|failed|Permanent|no such address'], '... for good, too');
	is_deeply([ $ends->($of{strange}, 2) ], [ map { "$_|failed|_OTHER|the handler threw what is no exception" } 1, 2 ], '... whatever it throws');
	is_deeply([ $ends->($of{later}, 2) ], [ '1|failed|RetryAfter|busy', '2|succeeded||' ], '... with a delay, too');
	is_deeply([ $ends->($of{release}, 2) ], [ '1|released||', '2|succeeded||' ], 'what is given back has not failed');
	my $endless = $enqueue->('cancel');    # the last one, as the program runs one job at a time
	ok($hipq->wait_until("SELECT state = 'running' AND accepted_time IS NOT NULL FROM hipq.jobs_detail WHERE id = $endless"), 'a job runs');
	$hipq->sql("SELECT hipq.cancel($endless)");
	is_deeply([ $ends->($endless) ], ["1|lost|AttemptOver|attempt 1 of job $endless is over"], 'what is cancelled is lost');
	ends_well($spans, 'it stops');
}

# ---- the server goes and comes back
$jobs{slow} = $hipq->enqueue('slow', q{queue => 'app.mail'});
ok($hipq->wait_until("SELECT count(*) FROM hipq.progress WHERE id = $jobs{slow}", 1), 'a job runs');
$hipq->node->stop('immediate');
$hipq->node->start;
is($hipq->result($hipq->enqueue('typed', q{'{"size": 4}', queue => 'app.mail'})), '8', 'after a crash of the server the worker works on');
$kinds->signal('TERM');
ok($hipq->wait_until(q{SELECT is_draining FROM hipq.workers_detail WHERE name = 'kinds'}), 'a signal drains it');
$kinds->signal('TERM');    # two at once would be one
$kinds->finish;
is($kinds->result(0), 0, 'a second signal gives back what runs');
ok($hipq->wait_until('SELECT count(*) FROM hipq.running', 0), 'no job runs any more');
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
	is($hipq->result($hipq->enqueue('typed', q{'{"size": 5}', queue => 'app.mail'})), '10', 'an unbound one works through it');
	ends_well($pooled, 'and stops');
}
done_testing();
