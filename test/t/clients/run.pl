# hipq-run passes a job to its program, and ends the job by the program's exit code and output. It
# ends when asked, and supports logs, metrics and systemd.
use strict;
use warnings;
use HTTP::Tiny;
use HipqCluster;
use HipqRun;
use IO::Select;
use IO::Socket::UNIX;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Socket qw(SOCK_DGRAM);
use Test::More;

plan skip_all => 'hipq-run was not built: nlohmann-json3-dev or libcurl4-openssl-dev is missing'
	unless defined HipqRun::program();
my $hipq = HipqCluster->new('run', 'hipq.worker_grace' => '500ms', 'hipq.health_enabled' => 'off');
HipqRun::create_queue($hipq, qw(say env other));
my $there = PostgreSQL::Test::Utils::tempdir_short();

# Runs the command in the member "do" of its data.
my $program = HipqRun::script(<<'END');
read -r data
eval "$(printf '%s' "$data" | sed -n 's/^.*"do": "\(.*\)"}$/\1/p' | sed 's/\\"/"/g; s/\\\\/\\/g')"
END
my @worker = ('--queue', 'app.run', '--types', 'say', '--', $program);
my $run = HipqRun->new($hipq, arguments => [ '--jobs', 4, @worker ]);
ok($run->is_ready, 'the worker registers');
sub enqueue
{
	my ($do, $rest) = @_;
	return $hipq->enqueue('say',
		sprintf q{jsonb_build_object('do', $do$%s$do$), queue => 'app.run'%s}, $do, $rest // '');
}
sub job
{
	my ($id) = @_;
	$hipq->outcome($id);
	return $hipq->sql(
		"SELECT concat_ws(' ', outcome, result, error) FROM hipq.jobs_detail WHERE id = $id");
}

# ---- exit codes and output

foreach my $case (
	[ 'echo hello', 'succeeded "hello"', '', 'a text becomes a JSON string' ],
	[ q{echo '{"a": 1.10, "b": 12345678901234567890123}'},
		'succeeded {"a": 1.10, "b": 12345678901234567890123}', '', 'JSON is not changed' ],
	[ 'echo 1e100', 'succeeded 1' . '0' x 100, '', 'a number of 101 digits keeps all of them' ],
	[ 'echo 1e400', 'succeeded 1' . '0' x 400, '',
		'a number too large for a double keeps its digits' ],
	[ q{printf '\\357\\273\\277{"a": 1}'}, 'succeeded {"a": 1}', '',
		'a byte order mark is dropped' ],
	[ 'true', 'succeeded', '', 'no output gives no result' ],
	[ q{printf 'a\\0b\\377'}, "succeeded \"a\x{FFFD}b\x{FFFD}\"", '',
		'bytes that PostgreSQL cannot store as text are replaced' ],
	[ 'echo no luck >&2; exit 75', 'failed exit code 75: no luck',
		'1 transient_error, 2 transient_error', 'exit code 75: the job is retried' ],
	[ 'echo no hope >&2; exit 78', 'failed exit code 78: no hope', '1 explicit_failure',
		'exit code 78: the job is not retried' ],
	[ 'exit 1', 'failed exit code 1', '1 transient_error, 2 transient_error',
		'exit code 1: the job is retried' ],
	[ 'exit 255', 'failed exit code 255', '1 transient_error, 2 transient_error',
		'exit code 255: the job is retried' ],
	[ 'kill -SEGV $$', 'failed killed by signal 11 (Segmentation fault)',
		'1 transient_error, 2 transient_error', 'a signal: the job is retried' ],
	[ 'head -c 2000000 /dev/zero', 'failed the result is longer than --max-output allows',
		'1 explicit_failure', 'a job whose result is too long is not retried' ],
	[ q{printf '[%.0s' $(seq 1 5000); printf ']%.0s' $(seq 1 5000)}, qr/^failed .*deep/,
		'1 explicit_failure', 'a job whose result the server refuses is not retried' ],
	[ 'exec 0<&-; echo early', 'succeeded "early"', '', 'a program need not read its data' ],
	[ '(sleep 600; echo late) & echo soon', 'succeeded "soon"', '',
			'hipq-run does not wait for processes that a program leaves behind' ])
{
	my ($do, $expected, $attempts, $what) = @$case;
	my $id = enqueue($do);
	my $got = job($id);
	utf8::decode($got);
	ref $expected ? like($got, $expected, $what) : is($got, $expected, $what);
	is($hipq->attempts($id), $attempts, "attempts: $what") if $attempts;
}

# A retry waits for the time that the program gives, and is charged. If the job needs no retry, that
# time has no effect.
sub waits
{
	my ($id) = @_;
	return $hipq->sql("SELECT concat_ws(' ', retry_count, extract(epoch
		FROM scheduled_run_time - update_time), error) FROM hipq.jobs_detail WHERE id = $id");
}
my $later = enqueue(
	q{echo 'retry after 1 h' >&3; echo 'retry after 7 min' >&3; echo busy >&2; exit 75});
ok($hipq->wait_until("SELECT state FROM hipq.jobs_detail WHERE id = $later", 'retry'),
	"a program's retry time makes its job wait");
is(waits($later), '1 420.000000 exit code 75: busy',
	'the last retry time counts, and the retry is charged');
$hipq->sql("SELECT hipq.cancel($later)");
is(job(enqueue(q{echo 'retry after 1 h' >&3; echo well})), 'succeeded "well"',
	'a retry time has no effect if the program succeeds');
$later = enqueue(q{echo 'retry after 1 h' >&3; exit 78});
is(job($later), 'failed exit code 78',
	'a retry time has no effect if the program fails permanently');
foreach my $none ('soon', '-1 s')
{
	$later = enqueue("echo 'retry after $none' >&3; echo busy >&2; exit 1");
	is(job($later), 'failed exit code 1: busy', "retry after $none: the job fails");
	is($hipq->attempts($later), '1 transient_error, 2 transient_error',
		"retry after $none: the job has its usual retries");
}
ok($run->logs('answer refused', $_), "a wrong retry time is logged: $_") foreach qr/"soon"/,
	qr/negative|range/;

my $id = enqueue('seq 1 5000 >&2; exit 78');
like(job($id), qr/^failed exit code 78: \d+\n(?:\d+\n)+5000$/,
	'the end of a long stderr becomes the error');
cmp_ok($hipq->sql("SELECT length(error) FROM hipq.jobs_detail WHERE id = $id"), '>', 7000,
	'the kept part of stderr is long');

# ---- the data and variables of the program

my $trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
$id = enqueue('env',
	", job_key => 'the key', max_retries => 3, timeout => '1 h', traceparent => '$trace'");
my %got = map { /^([A-Z_]+)=(.*)$/ ? ($1 => $2) : () } split /\n/,
	decode_json('[' . $hipq->result($id) . ']')->[0];
is_deeply({ map { $_ => $got{$_} } grep { /^HIPQ/ && !/DEADLINE/ } keys %got },
	{ HIPQ_JOB_ID => $id, HIPQ_ATTEMPT => 1, HIPQ_QUEUE => 'app.run', HIPQ_JOB_TYPE => 'say',
		HIPQ_JOB_KEY => 'the key', HIPQ_RETRY_COUNT => 0,
		HIPQ_MAX_RETRIES => 3, HIPQ_PROGRESS_FD => 3 },
	"the program's environment describes the job");
my ($deadline) = map { $_->{HIPQ_DEADLINE} } \%got;
is($hipq->sql("SELECT abs(extract(epoch FROM '$deadline'::timestamptz - now()) - 3600) < 60"), 't',
	"the program's environment has the time of the timeout");
is($got{TRACEPARENT}, $trace, "the program's environment has the trace");
unlike($hipq->result(enqueue('env')), qr/HIPQ_JOB_KEY|TRACEPARENT/,
	'a job without key and trace has no variables for them');

# ---- progress and extensions

my $slow = enqueue("echo 3/10 on the way >&3; echo nonsense >&3; echo 'extend 2 h' >&3; while [ ! "
	. "-e $there/go ]; do sleep 0.05; done; echo done");
ok($hipq->wait_until("SELECT percent || ' ' || message FROM hipq.progress WHERE id = $slow",
		'30.0 on the way'), "view progress shows a program's progress")
  or diag($hipq->sql('TABLE hipq.progress_detail'));
ok($run->logs('progress not understood', qr/^nonsense$/), 'a line that is no progress is logged');
ok($hipq->wait_until("SELECT deadline > now() + '1 h' FROM hipq.running_detail WHERE id = $slow"),
	'a program can extend its job')
  or diag($hipq->sql("SELECT row_to_json(running) FROM hipq.running_detail AS running"));
append_to_file("$there/go", '');
is(job($slow), 'succeeded "done"', 'a program that extended its job succeeds');

# ---- a program that is missing when a job starts

is($run->stop, 0, 'SIGTERM ends hipq-run');
my $vanishing = HipqRun::script('echo here');
$run = HipqRun->new($hipq,
	arguments => [ '--queue', 'app.run', '--types', 'say', '--', $vanishing ]);
ok($run->is_ready, 'a worker with an existing program registers');
unlink $vanishing or die $!;
$id = enqueue('');
ok($run->logs('program not run', qr/No such file/), 'a missing program is logged');
ok($hipq->wait_until("SELECT state = 'retry' AND retry_count = 0 AND scheduled_run_time > now()
		FROM hipq.jobs_detail WHERE id = $id"),
	'the job of a missing program is released, uncharged');
is($run->stop, 0, 'hipq-run without a program ends');
$hipq->sql("SELECT hipq.cancel($id)");

# ---- --once, --drain, --on-failure, --config

my ($code, $out, $err) = HipqRun::answer($hipq, '--drain', '--idle', '0.5', @worker);
is($code, 0, '--drain ends if there is no job');

# Runs hipq-run with --drain until the query is true. hipq-run may end early if the server is too
# busy to return the next job in time, which is rare. The test tries three times.
sub drain
{
	my ($is_done, @arguments) = @_;
	my @answer;
	foreach (1 .. 3)
	{
		@answer = HipqRun::answer($hipq, @arguments);
		last if $hipq->sql($is_done) eq 't';
	}
	return @answer;
}

my @jobs = map { enqueue('echo job') } 1 .. 5;
($code) = HipqRun::answer($hipq, '--once', @worker);
is($code, 0, '--once ends');
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.running}, 0), '--once leaves no job running');
is($hipq->sql("SELECT count(*) FROM hipq.jobs WHERE id BETWEEN $jobs[0] AND $jobs[4]
		AND outcome = 'succeeded'"), 1, '--once runs one job');
my $all = "SELECT count(*) = 5 FROM hipq.jobs WHERE id BETWEEN $jobs[0] AND $jobs[4]
	AND outcome = 'succeeded'";
($code) = drain($all, '--drain', '--idle', '0.5', '--jobs', 2, @worker);
is($code . $hipq->sql($all), '0t', '--drain runs all jobs and exits with 0');
$id = enqueue('exit 3');
HipqRun::answer($hipq, '--once', '--on-failure', 'final', @worker);
is($hipq->attempts($id), '1 explicit_failure', '--on-failure final: exit code 3 is not retried');
$id = enqueue('exit 75');
HipqRun::answer($hipq, '--once', '--on-failure', 'final', @worker);
HipqRun::answer($hipq, '--once', '--on-failure', 'final', @worker);
is($hipq->attempts($id), '1 transient_error, 2 transient_error',
	'--on-failure final: exit code 75 is retried');

$hipq->sql(q{SELECT hipq.enqueue_many('say', array_agg(jsonb_build_object('do', 'echo quick')),
	queue => 'app.run') FROM generate_series(1, 300)});
$all = q{SELECT count(*) = 300 FROM hipq.jobs_detail WHERE result = '"quick"'};
drain($all, '--drain', '--idle', '2', '--jobs', 8, '--prefetch', 20, @worker);
is($hipq->sql($all), 't', '--drain runs many jobs without waiting in between');

my $config = "$there/config.json";
append_to_file($config, encode_json({ queue => ['app.run'], types => [ 'say', 'other' ],
		drain => JSON::PP::true, idle => 0.5, name => 'configured', command => [$program] })
	  =~ s/^\{/{ \/\/ comments are allowed\n/r);
$id = enqueue('echo by file');
($code, $out, $err) = drain("SELECT outcome = 'succeeded' FROM hipq.jobs WHERE id = $id",
	'--config', $config, '--log-level', 'warning');
is($code . $err, '0', 'a configuration file can give all options');
is(job($id), 'succeeded "by file"', 'a worker with a configuration file runs jobs');

# ---- logs

$id = enqueue('echo "said \\"so\\"" >&2; exit 78');
($code, $out, $err) = HipqRun::answer($hipq, '--once', '--log', 'json', @worker);
my @entries = map { decode_json($_) } split /\n/, $err;
my ($failed) = grep { $_->{event} eq 'job failed' } @entries;
is_deeply({ map { $_ => $failed->{$_} } qw(level job_id attempt type message) },
	{ level => 'error', job_id => $id, attempt => 1, type => 'say',
			message => 'exit code 78: said "so"' }, 'a line of the log is JSON');
is((grep { $_->{event} eq 'stderr' && $_->{message} eq 'said "so"'
		&& $_->{job_id} == $id } @entries), 1, "the log has the program's stderr");
is((grep { $_->{time} !~ /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/ } @entries), 0,
	'all lines of the log have times');
enqueue('exit 78');
($code, $out, $err) = HipqRun::answer($hipq, '--once', @worker);
like($err, qr/^\S+Z error: job failed: job \d+ \(say, attempt 1\): exit code 78$/m,
	'the log can be text');

# ---- metrics

my $port = PostgreSQL::Test::Cluster::get_free_port();
$run = HipqRun->new($hipq, arguments => [ '--metrics', $port, @worker ]);
ok($run->is_ready, 'a worker with metrics registers');
is(job(enqueue('echo counted')), 'succeeded "counted"', 'a job succeeds beside the metrics');
is(job(enqueue('exit 78')), 'failed exit code 78', 'a job fails beside the metrics');
my $get = sub { return HTTP::Tiny->new->get("http://127.0.0.1:$port$_[0]") };
ok($run->wait_for(sub { $get->('/metrics')->{content}
		=~ /^hipq_run_jobs_total\{outcome="failed"\} 1$/m }), 'metrics count failed jobs');
my $page = $get->('/metrics')->{content};
like($page, qr/^hipq_run_jobs_total\{outcome="succeeded"\} 1$/m, 'metrics count succeeded jobs');
like($page, qr/^hipq_run_connected 1$/m, 'metrics have the state of the connection');
like($page, qr/^hipq_run_job_seconds_count 2$/m, 'metrics count the times of jobs');
is($get->('/')->{status}, 404, 'a page other than /metrics is not found');
is(HTTP::Tiny->new->post("http://127.0.0.1:$port/metrics")->{status}, 405,
	'a method other than GET is refused');
($code, $out, $err) = HipqRun::answer($hipq, '--metrics', $port, @worker);
is($code, 64, 'a port in use ends hipq-run with exit code 64');
like($err, qr/^hipq-run: --metrics $port: Address already in use$/m,
	'the error names the port in use');
is($run->stop, 0, 'hipq-run with metrics stops');

# ---- systemd

my $socket = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => "$there/notify") or die $!;
my $select = IO::Select->new($socket);
sub told
{
	my ($expected) = @_;
	while ($select->can_read($PostgreSQL::Test::Utils::timeout_default))
	{
		$socket->recv(my $state, 4096);
		return 1 if $state =~ $expected;
	}
	return 0;
}
$run = HipqRun->new($hipq, arguments => \@worker,
	env => { NOTIFY_SOCKET => "$there/notify", WATCHDOG_USEC => 200_000 });
ok(told(qr/^READY=1$/m), 'hipq-run tells systemd that it is ready');
ok(told(qr/^WATCHDOG=1$/m), 'hipq-run tells systemd that it is alive') foreach 1 .. 3;
unlike($hipq->result(enqueue('env')), qr/NOTIFY_SOCKET|WATCHDOG/,
	'programs do not get the variables for systemd');
$run->signal('TERM');
ok(told(qr/^STOPPING=1$/m), 'hipq-run tells systemd that it stops');
is($run->exit_code, 0, 'hipq-run under systemd exits with 0');

is($hipq->sql(q{SELECT count(*) FROM hipq.running}), 0, 'no job runs after all runs');
ok($hipq->wait_until('SELECT count(*) FROM hipq.workers', 0), 'no worker is left after all runs');
done_testing();
