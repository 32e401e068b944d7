# hipq-run and the ends of its programs: cancelled, timed out, taken away; SIGTERM, twice, with a grace; killed with all that runs.
use strict;
use warnings;
use HipqCluster;
use HipqRun;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'hipq-run was not built: nlohmann-json3-dev or libcurl4-openssl-dev is missing' unless defined HipqRun::program();
my $hipq = HipqCluster->new('run_ends', 'hipq.worker_grace' => '500ms', 'hipq.health_enabled' => 'off');
HipqRun::create_queue($hipq, qw(wait deaf end));
my $there = PostgreSQL::Test::Utils::tempdir_short();

# Each program leaves its process, and that of a child of its own, in a file named after the job. A deaf one heeds no SIGTERM. What
# is told to end ends by itself, with success.
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
sub worker { my ($kill_after) = @_; return ('--queue', 'app.run', '--types', 'wait,deaf,end', '--jobs', 4, '--kill-after', $kill_after, '--', $program); }
my @worker = worker(1);
my $run = HipqRun->new($hipq, arguments => \@worker);
ok($run->is_ready, 'it registers');

sub enqueue { my ($type, $rest) = @_; return $hipq->enqueue($type, q{'{}', queue => 'app.run'} . ($rest // '')); }
# The processes of a job, once they are there.
sub processes { my ($id) = @_; $run->wait_for(sub { -e "$there/$id" }) or do { diag("job $id does not run"); return; }; return split ' ', slurp_file("$there/$id"); }
sub is_gone { my ($what, @pids) = @_; return ok($run->wait_for(sub { !grep { kill 0, $_ } @pids }), $what); }
sub attempts { return $hipq->attempts($_[0]); }

# ---- the attempt is over

my $id = enqueue('wait');
my @pids = processes($id);
is(getpgrp($pids[0]), $pids[0], 'a program has a process group of its own');
is(getpgrp($pids[1]), $pids[0], '... and what it starts is in it');
$hipq->sql("SELECT hipq.cancel($id)");
ok($run->logs('job over', qr/cancelled/), 'hipq-run is told of a cancelled job');
is_gone('its program is ended, with all of its group', @pids);
is($hipq->outcome($id), 'cancelled', 'it stays cancelled');

$id = enqueue('deaf');
@pids = processes($id);
$hipq->sql("SELECT hipq.cancel($id)");
is_gone('one that heeds no SIGTERM is killed', @pids);

$id = enqueue('wait', q{, timeout => 5, max_retries => 0});
@pids = processes($id);
is($hipq->outcome($id), 'failed', 'a job times out');
is(attempts($id), '1 timeout 57014', '... for that reason');
is_gone('its program is ended', @pids);
ok($run->logs('job over', qr/timed out/), '... and the log says why');

$id = enqueue('wait', q{, max_retries => 0});
@pids = processes($id);
$hipq->sql("SELECT hipq.fail_job($id, 'no sign of it')");
is($hipq->outcome($id), 'failed', 'somebody takes the job away');
is_gone('its program is ended', @pids);

# Its name is taken: what it has is no longer its own, and it is no worker any more.
$id = enqueue('wait');
@pids = processes($id);
my $name = $hipq->sql('SELECT name FROM hipq.workers');
$hipq->sql('SELECT hipq.pause($$app.run$$)');
$hipq->sql_as('app', "SELECT hipq.register_worker('$name', '{app.run}', '{wait}', take_over => true)");
is($run->exit_code, 1, 'another worker takes its name: it ends, and says so');
is_gone('so does what it ran', @pids);
$hipq->sql('SELECT hipq.cancel_jobs($$app.run$$); SELECT hipq.deregister_worker(worker_id) FROM hipq.workers; SELECT hipq.resume($$app.run$$)');

# ---- SIGTERM: what runs may end

$run = HipqRun->new($hipq, arguments => \@worker);
ok($run->is_ready, 'another one registers');
$id = enqueue('wait');
@pids = processes($id);
$run->signal('TERM');
ok($run->logs('draining'), 'SIGTERM drains it');
my $later = enqueue('wait');
ok($hipq->wait_until('SELECT is_draining FROM hipq.workers_detail'), 'it takes no more jobs');
append_to_file("$there/go", '');
is($run->exit_code, 0, 'it ends with the last one');
is($hipq->sql("SELECT outcome || result FROM hipq.jobs_detail WHERE id = $id"), 'succeeded"done"', '... whose result is told');
is($hipq->sql("SELECT state FROM hipq.jobs_detail WHERE id = $later"), 'initial', 'what came later waits');
unlink "$there/go";

# ---- SIGTERM twice, or a grace: what runs is ended, and given back

foreach my $case ([ 'a second signal' ], [ 'the end of the grace', '--grace', 0.5 ])
{
	my ($what, @options) = @$case;
	$run = HipqRun->new($hipq, arguments => [ @options, worker(10) ]);
	ok($run->is_ready, 'another one registers');
	my ($waits, $ends) = ($later, enqueue('end'));
	@pids = map { processes($_) } $waits, $ends;
	$run->signal('TERM');
	ok($run->logs('draining'), 'SIGTERM drains it');
	$run->signal('TERM') unless @options;
	is($run->exit_code, 0, "$what ends it");
	is_gone('with all programs', @pids);
	is($hipq->sql("SELECT state || ' ' || retry_count FROM hipq.jobs_detail WHERE id = $waits"), 'retry 0', 'what was ended is given back, uncharged');
	is($hipq->sql("SELECT outcome || result FROM hipq.jobs_detail WHERE id = $ends"), 'succeeded"in time"', 'what ended in time counts');
	unlink map { "$there/$_" } $waits, $ends;
}
$hipq->sql("SELECT hipq.cancel($later)");

# ---- SIGKILL: nothing of it is left, and the jobs go to others

$run = HipqRun->new($hipq, arguments => \@worker);
ok($run->is_ready, 'another one registers');
my @jobs = map { enqueue($_) } qw(wait deaf);
@pids = map { processes($_) } @jobs;
my ($guard) = grep { slurp_file("/proc/$_/comm") eq "hipq-run guard\n" } split ' ', slurp_file('/proc/' . $run->pid . '/task/' . $run->pid . '/children');
isnt($guard, undef, 'a guard is beside it');
is($run->stop('KILL'), 'signal 9', 'it is killed');
is_gone('so is all that it ran', @pids);
is_gone('the guard goes, too', $guard);
unlink map { "$there/$_" } @jobs;
$run = HipqRun->new($hipq, arguments => \@worker);
processes($_) foreach @jobs;
is(attempts($_), '1 worker_lost', 'the job goes to another worker') foreach @jobs;
append_to_file("$there/go", '');
is($hipq->outcome($_), 'succeeded', '... and is done') foreach @jobs;
unlink "$there/go";

# The guard is killed: another one takes its place, and knows what runs.
my $last = enqueue('wait');
@pids = processes($last);
sub guard { return (grep { (eval { slurp_file("/proc/$_/comm") } // '') eq "hipq-run guard\n" } split ' ', slurp_file('/proc/' . $run->pid . '/task/' . $run->pid . '/children'))[0]; }
my $first_guard = guard();
kill 'KILL', $first_guard;
ok($run->wait_for(sub { my $other = guard(); defined $other && $other != $first_guard }), 'a guard that is killed is replaced');
is($run->stop('KILL'), 'signal 9', 'hipq-run is killed');
is_gone('and all that it ran', @pids);
$hipq->sql("SELECT hipq.cancel($last)");
done_testing();
