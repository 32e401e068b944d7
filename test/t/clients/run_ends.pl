# hipq-run ends the program of a job whose attempt is over, and all programs when it ends: after
# SIGTERM, a second SIGTERM, a grace period or SIGKILL.
use strict;
use warnings;
use HipqCluster;
use HipqRun;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'hipq-run was not built: nlohmann-json3-dev or libcurl4-openssl-dev is missing'
	unless defined HipqRun::program();
my $hipq = HipqCluster->new('run_ends', 'hipq.worker_grace' => '500ms',
	'hipq.health_enabled' => 'off');
HipqRun::create_queue($hipq, qw(wait deaf end));
my $there = PostgreSQL::Test::Utils::tempdir_short();

# Each program writes its pid, and that of a child, to a file named after the job. A program of type
# "deaf" ignores SIGTERM. A program of type "end" exits with success when it gets SIGTERM.
my $program = HipqRun::script(<<"END");
case \$HIPQ_JOB_TYPE in
deaf) trap '' TERM ;;
end) trap 'echo in time; exit 0' TERM ;;
esac
sh -c 'trap "" TERM; while :; do sleep 0.1; done' & child=\$!
echo "\$\$ \$child" > $there/new.\$HIPQ_JOB_ID && mv $there/new.\$HIPQ_JOB_ID $there/\$HIPQ_JOB_ID
while [ ! -e $there/go ]; do sleep 0.05; done
echo done
END
sub worker
{
	my ($kill_after) = @_;
	return ('--queue', 'app.run', '--types', 'wait,deaf,end', '--jobs', 4, '--kill-after',
		$kill_after, '--', $program);
}
my @worker = worker(1);
my $run = HipqRun->new($hipq, arguments => \@worker);
ok($run->is_ready, 'the worker registers');

sub enqueue
{
	my ($type, $rest) = @_;
	return $hipq->enqueue($type, q{'{}', queue => 'app.run'} . ($rest // ''));
}
# Returns the pids of a job's processes after they have started.
sub processes
{
	my ($id) = @_;
	$run->wait_for(sub { -e "$there/$id" }) or do { diag("job $id does not run"); return; };
	return split ' ', slurp_file("$there/$id");
}
sub is_gone
{
	my ($what, @pids) = @_;
	return ok($run->wait_for(sub { !grep { kill 0, $_ } @pids }), $what);
}
sub attempts { return $hipq->attempts($_[0]); }

# ---- attempts that are over

my $id = enqueue('wait');
my @pids = processes($id);
is(getpgrp($pids[0]), $pids[0], 'a program has its own process group');
is(getpgrp($pids[1]), $pids[0], "a program's children are in its process group");
$hipq->sql("SELECT hipq.cancel($id)");
ok($run->logs('job over', qr/cancelled/), 'hipq-run learns that a job is cancelled');
is_gone('the process group of a cancelled job ends', @pids);
is($hipq->outcome($id), 'cancelled', 'a job whose program was ended is cancelled');

$id = enqueue('deaf');
@pids = processes($id);
$hipq->sql("SELECT hipq.cancel($id)");
is_gone('a program that ignores SIGTERM is killed', @pids);

$id = enqueue('wait', q{, timeout => 5, max_retries => 0});
@pids = processes($id);
is($hipq->outcome($id), 'failed', 'a job that times out fails');
is(attempts($id), '1 timeout 57014', 'the attempt of a job that times out has reason timeout');
is_gone('the program of a job that times out ends', @pids);
ok($run->logs('job over', qr/timed out/), 'the log says that the job timed out');

$id = enqueue('wait', q{, max_retries => 0});
@pids = processes($id);
$hipq->sql("SELECT hipq.fail_job($id, 'no sign of it')");
is($hipq->outcome($id), 'failed', 'another session can fail a running job');
is_gone('the program of a job that another session failed ends', @pids);

# Another worker takes over the name, so hipq-run has no jobs and no worker.
$id = enqueue('wait');
@pids = processes($id);
my $name = $hipq->sql('SELECT name FROM hipq.workers');
$hipq->sql('SELECT hipq.pause($$app.run$$)');
$hipq->sql_as('app',
	"SELECT hipq.register_worker('$name', '{app.run}', '{wait}', take_over => true)");
is($run->exit_code, 1, 'a worker whose name is taken ends with exit code 1');
is_gone('the programs of a worker whose name is taken end', @pids);
$hipq->sql('SELECT hipq.cancel_jobs($$app.run$$); SELECT hipq.deregister_worker(worker_id)
	FROM hipq.workers; SELECT hipq.resume($$app.run$$)');

# ---- SIGTERM: hipq-run waits for running programs

$run = HipqRun->new($hipq, arguments => \@worker);
ok($run->is_ready, 'another worker registers');
$id = enqueue('wait');
@pids = processes($id);
$run->signal('TERM');
ok($run->logs('draining'), 'SIGTERM drains hipq-run');
my $later = enqueue('wait');
ok($hipq->wait_until('SELECT is_draining FROM hipq.workers_detail'),
	'a draining hipq-run takes no more jobs');
append_to_file("$there/go", '');
is($run->exit_code, 0, 'a draining hipq-run ends after its last job');
is($hipq->sql("SELECT outcome || result FROM hipq.jobs_detail WHERE id = $id"), 'succeeded"done"',
	'the last job of a draining hipq-run has its result');
is($hipq->sql("SELECT state FROM hipq.jobs_detail WHERE id = $later"), 'initial',
	'a job enqueued after SIGTERM waits');
unlink "$there/go";

# ---- SIGTERM twice, or a grace period: hipq-run ends running programs, and releases their jobs

foreach my $case ([ 'a second signal' ], [ 'the end of the grace', '--grace', 0.5 ])
{
	my ($what, @options) = @$case;
	$run = HipqRun->new($hipq, arguments => [ @options, worker(10) ]);
	ok($run->is_ready, "another worker registers for $what");
	my ($waits, $ends) = ($later, enqueue('end'));
	@pids = map { processes($_) } $waits, $ends;
	$run->signal('TERM');
	ok($run->logs('draining'), "SIGTERM drains hipq-run before $what");
	$run->signal('TERM') unless @options;
	is($run->exit_code, 0, "$what ends hipq-run");
	is_gone("$what ends all programs", @pids);
	is($hipq->sql("SELECT state || ' ' || retry_count FROM hipq.jobs_detail WHERE id = $waits"),
		'retry 0', "$what releases the job of an ended program, uncharged");
	is($hipq->sql("SELECT outcome || result FROM hipq.jobs_detail WHERE id = $ends"),
		'succeeded"in time"', "a program that succeeds after $what counts");
	unlink map { "$there/$_" } $waits, $ends;
}
$hipq->sql("SELECT hipq.cancel($later)");

# ---- SIGKILL: no program of hipq-run survives, and its jobs go to other workers

$run = HipqRun->new($hipq, arguments => \@worker);
ok($run->is_ready, 'a worker registers before SIGKILL');
my @jobs = map { enqueue($_) } qw(wait deaf);
@pids = map { processes($_) } @jobs;
my ($guard) = grep { slurp_file("/proc/$_/comm") eq "hipq-run guard\n" } split ' ',
	slurp_file('/proc/' . $run->pid . '/task/' . $run->pid . '/children');
isnt($guard, undef, 'hipq-run has a guard process');
is($run->stop('KILL'), 'signal 9', 'SIGKILL ends hipq-run');
is_gone('SIGKILL of hipq-run ends its programs', @pids);
is_gone('SIGKILL of hipq-run ends its guard', $guard);
unlink map { "$there/$_" } @jobs;
$run = HipqRun->new($hipq, arguments => \@worker);
processes($_) foreach @jobs;
is(attempts($_), '1 worker_lost', 'a job of the killed worker goes to another worker')
	foreach @jobs;
append_to_file("$there/go", '');
is($hipq->outcome($_), 'succeeded', 'a job of the killed worker succeeds') foreach @jobs;
unlink "$there/go";

# If the guard is killed, hipq-run starts another one, which knows the running programs.
my $last = enqueue('wait');
@pids = processes($last);
sub guard
{
	return (grep { (eval { slurp_file("/proc/$_/comm") } // '') eq "hipq-run guard\n" } split ' ',
		slurp_file('/proc/' . $run->pid . '/task/' . $run->pid . '/children'))[0];
}
my $first_guard = guard();
kill 'KILL', $first_guard;
ok($run->wait_for(sub { my $other = guard(); defined $other && $other != $first_guard }),
	'a killed guard is replaced');
is($run->stop('KILL'), 'signal 9', 'SIGKILL ends hipq-run after its guard');
is_gone('the new guard ends the programs of a killed hipq-run', @pids);
$hipq->sql("SELECT hipq.cancel($last)");
done_testing();
