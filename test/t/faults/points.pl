# With each fault at each point in the path of a job, all jobs end as if there had been no fault. In
# each cell of this matrix a small set of jobs, with one job of each fate, passes the point, at
# which one process fails or ends. At the end the checker judges the jobs of all cells. A cell
# mostly waits, so several clusters share the cells.
#
#   POINTS=sample                   make check: each point with one fault, another one each day;
#                                   DAY=20000 repeats that of a day (days since 1970)
#   ONLY_CELLS="after-lock kill"    a regular expression: runs only these cells, and says so
#   CLUSTERS                        number of clusters (3)
use strict;
use warnings;
use HipqChecker;
use HipqCluster;
use HipqFaults;
use HipqPoints;
use HipqWorkload;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

# Each process checks for work at least every 10 s. If a cell takes that long, a wake-up was lost.
my $limit = 8;

# Faults: what the process at the point does, or what happens to the server while the process is
# held there.
my @faults = ('error', 'cancel', 'terminate', 'exit', 'abort', 'kill', 'wait', 'stop smart',
	'stop fast', 'stop immediate', 'kill postmaster');

# What it takes to reach points that a set of jobs alone does not reach, or not always.
my %ways = (
	(map { $_ => \&crash_while_a_job_runs } qw(before-recover after-recover launcher-start)),
	(map { $_ => \&move_clock } qw(before-drop-leaf after-drop-leaf before-make-leaf
			after-make-leaf after-prune)),
	(map { $_ => \&run_schedule } qw(before-run-schedule after-run-schedule)),
	'after-take-back' => \&run_long_before_others,
	(map { $_ => \&give_to_worker } qw(before-dispatch before-offer after-offer)),
	(map { $_ => \&start_scheduler } qw(scheduler-start before-start-scheduler
			after-start-scheduler)),
	'scheduler-leaves' => \&leave_nothing_to_do);

# These points are reached only if no executor runs.
my %starts_executors = map { $_ => 1 } qw(executor-start before-start-executor
	after-start-executor);

# At these points hipq takes an error for the job's own failure. One job may be charged once.
my %charging = map { $_ => 1 } qw(before-handler after-handler after-finish);
# At these points the retry handler fails because of the fault, so one job may be final.
my %ending = map { $_ => 1 } qw(before-decision after-retry-handler after-decision);

# The cluster of this process, with its points and its load.
my ($hipq, $points, $load);
my $offset = 0;

# Makes the server crash while jobs are recorded as running, by killing an executor. Does nothing if
# the point has already been reached otherwise.
sub crash_while_a_job_runs
{
	my ($op, $point) = @_;
	enqueue($op + 2, map { $load->long_job($op + 2, 'record', 5000) } 1, 2);
	my $running = "SELECT running.pid FROM hipq.running JOIN hipq.job ON job.id = running.id
		WHERE job.job_data->>'op' = '" . ($op + 2) . q{' AND job.state = 'running'};
	$hipq->wait_until("SELECT count(*) >= 2 OR (SELECT fired > 0 FROM point.list()
		WHERE name = '$point') FROM ($running) AS running", 't', $limit);
	return if $points->wait_fired($point, 0);
	my ($pid) = split /\n/, $hipq->sql($running);
	kill 'KILL', $pid if $pid;
	return;
}

# Makes the scheduler run a schedule for some seconds, by hipq's clock.
sub run_schedule
{
	my ($op) = @_;
	$hipq->try_sql(qq{SELECT hipq.schedule('cell $op', '1 second', 'brief', '{"sleep": 0}',
		queue => 'load.strict', job_key => 'NONE', ends => hipq.now() + interval '6 s')});
	return;
}

# Makes an executor prefetch several jobs of a type whose jobs have been short. The first of these
# jobs is long. They write no marks, which would take too long.
sub run_long_before_others
{
	my ($op, $point) = @_;
	foreach (1 .. 20)    # on a busy machine the jobs may not be short enough
	{
		$hipq->try_sql(q{INSERT INTO hipq.load_strict (job_type, job_data)
			SELECT 'brief', '{"sleep": 0}' FROM generate_series(1, 100)});
		$hipq->wait_until(q{SELECT count(*) FROM hipq.job WHERE job_type = 'brief'
			AND state <> 'final'}, 0, $limit);
		$hipq->try_sql(q{
			INSERT INTO hipq.load_strict (job_type, job_data)
			SELECT 'brief', CASE WHEN number = 1 THEN '{"sleep": 0.6}' ELSE
				'{"sleep": 0}' END::jsonb FROM generate_series(1, 10) AS number});
		last if $points->wait_fired($point, 1);
	}
	return;
}

# Enqueues a job for an external worker, and registers the worker, because the moved clock may have
# made the last one silent.
sub give_to_worker
{
	$hipq->try_sql(q{SET ROLE app; SELECT hipq.register_worker('points', '{outside.jobs}',
		'{outside}', capacity => 1000, take_over => true)});
	$hipq->try_sql(q{SELECT hipq.enqueue('outside', queue => 'outside.jobs')});
	return;
}

# Returns whether all jobs of give_to_worker() are offered to workers. No worker accepts them.
sub are_given
{
	my $are_given = $hipq->wait_until(q{SELECT count(*) FROM hipq.outside_jobs
		WHERE state <> 'final' AND id NOT IN (SELECT id FROM hipq.running_detail)}, 0, $limit);
	$hipq->try_sql(q{SELECT hipq.cancel_jobs('outside.jobs')});
	return $are_given;
}

# Ends the scheduler if there is one, and leaves work for the next one: a job whose process has
# ended.
sub start_scheduler
{
	my ($op, $point) = @_;
	foreach my $try (1 .. 5)
	{
		last if $points->wait_fired($point, 0);
		kill 'TERM', $_ foreach HipqFaults::pids_of($hipq, 'hipq scheduler');
		enqueue($op + 2 + $try);
		last if $points->wait_fired($point, 1);
	}
	return;
}

# Ends all jobs, because the scheduler exits when nothing is due within a minute.
sub leave_nothing_to_do
{
	$load->drain($limit);
	$hipq->try_sql('SELECT pg_reload_conf()');
	return;
}

# Moves the clock by an hour. Then the leaf of an hour is due for removal, and the next one must be
# made.
sub move_clock
{
	$offset += 3600;
	# In one call, because the server may go down right after it.
	$hipq->try_sql("ALTER SYSTEM SET hipq.clock_offset = $offset;\nSELECT pg_reload_conf()");
	return;
}

# Moves the clock until the first leaf is due for removal, which takes some hours.
sub let_hours_pass
{
	return if $offset > 0;
	foreach (1 .. 6)
	{
		$load->keep;
		move_clock();
		$hipq->wait_until(q{SELECT min(to_time) > hipq.now() + interval '1 hour'
			FROM (SELECT max(to_time) AS to_time FROM hipq.sizes_detail WHERE kind = 'final'
			GROUP BY queue) AS leaf})
		  or die 'no leaves are made';
	}
	return;
}

# Enqueues the given jobs, or jobs of every fate. op: ten times the number of the cell, plus the
# number of the operation in the cell.
sub enqueue
{
	my ($op, @jobs) = @_;
	open my $ledger, '>>', "$load->{ledger}.$op" or die "ledger: $!";
	$load->run_operation($op,
		@jobs ? $load->insert_jobs(strict => \@jobs) : $load->one_of_each($op), $ledger);
	close $ledger;
	return;
}

# Stops the server while the process at the point is held.
sub stop_around
{
	my ($point, $fault, $holds_clients) = @_;
	$points->wait_held($point, $limit) or return;
	# A smart stop waits for clients. A session that is already connected releases the clients that
	# the point holds.
	if ($holds_clients && $fault eq 'stop smart')
	{
		HipqFaults::begin_smart_stop($hipq, 'SELECT point.reset()');
	}
	else { HipqFaults::inject($hipq, $fault); }
	return HipqFaults::bring_back($hipq, $fault);
}

# Holds the process at the point for a short time, and then releases it.
sub hold_and_release
{
	my ($point) = @_;
	my $is_held = $points->wait_held($point, $limit);
	$points->reset;
	return $is_held;
}

# Enqueues jobs in a forked process. Returns its pid.
sub enqueue_aside
{
	my ($op) = @_;
	my $pid = fork // die "fork: $!";
	return $pid if $pid;
	eval { enqueue($op) };
	POSIX::_exit(0);
}

# Arms the point, enqueues jobs, and does everything else that leads to the point. Returns the
# clients that still run.
sub lead_to
{
	my ($cell, $holds_clients) = @_;
	my ($point, $fault, $op) = @{$cell}{qw(point fault op)};
	my $needs_clock = ($ways{$point} // 0) == \&move_clock;
	$hipq->wait_until(q{SELECT count(*) FROM hipq._executors()}, 0, $limit)
		if $starts_executors{$point};
	if ($needs_clock)
	{
		let_hours_pass();
		$load->keep;
	}
	$points->arm($point, HipqFaults::stops($fault) ? 'wait' : $fault);
	# The clock moves before jobs start, because running jobs would be an hour late otherwise.
	move_clock() if $needs_clock;
	my $client = $holds_clients ? enqueue_aside($op) : undef;
	enqueue($op) unless $client;
	$ways{$point}->($op, $point) if $ways{$point} && !$needs_clock;
	return $client // ();
}

# Runs a cell. Returns what failed, and notes the time from the fault to the end of the last job.
sub run_cell
{
	my ($cell) = @_;
	my ($point, $fault, $op) = @{$cell}{qw(point fault op)};
	my $is_client = $point eq 'in-enqueue';
	my $is_stop = HipqFaults::stops($fault);
	# The point is in a client, or in a process that holds locks on leaves.
	my $holds_clients = ($is_stop || $fault eq 'wait')
		&& ($is_client || ($ways{$point} // 0) == \&move_clock);
	my $log_before = -s $hipq->node->logfile;
	my @clients = lead_to($cell, $holds_clients);
	my $reached = $is_stop ? stop_around($point, $fault, $holds_clients) : $fault eq 'wait'
		? hold_and_release($point) : $points->wait_fired($point, $limit);
	waitpid $_, 0 foreach @clients;
	return 'the point was not reached' unless $reached;
	my $since = time();
	HipqFaults::wait_for_crash($hipq, $log_before, qr/point "$point": $fault/)
		if HipqFaults::crashes($fault);
	enqueue($op + 1) if $is_client;
	return 'a job was not given to a worker'
		if ($ways{$point} // 0) == \&give_to_worker && !are_given();
	my $is_drained = $load->drain(3 * $limit);
	$cell->{seconds} = time() - $since;
	return 'the jobs did not end' unless $is_drained;
	return $cell->{seconds} > $limit && $cell->{seconds} - $hipq->stalled($cell->{seconds}) > $limit
		? 'it took too long' : undef;
}

# Restarts the server after a cell that failed. Returns whether the next cell can run.
sub start_afresh
{
	$hipq->node->stop('immediate');    # which disarms all points
	$hipq->node->start;
	return $load->drain(30);
}

# Takes cells from the pipe, runs them, and writes the result of each to the file.
sub run_cells
{
	my ($cells, $pipe, $file) = @_;
	HipqFaults::adopt_orphans();
	$hipq->node->stop('immediate');
	$hipq->node->start;
	my $can_go_on = 1;
	while ($can_go_on && sysread $pipe, my $record, 4)
	{
		my $cell = $cells->[ unpack 'N', $record ];
		my $began = time();
		$cell->{problem} = eval { run_cell($cell) // '' } // "died: $@";
		$can_go_on = $cell->{problem} eq '' || eval { start_afresh() };
		$cell->{problem} .= "\nand left the queue stuck" unless $can_go_on;
		note sprintf '%-26s %-16s %5.1f s, of these %.1f s after the fault %s', $cell->{point},
			$cell->{fault}, time() - $began, $cell->{seconds} // 0, $cell->{problem};
		append_to_file($file, join("\t", unpack('N', $record), $cell->{seconds} // 0,
				$cell->{problem} =~ s/\s+/ /gr) . "\n");
	}
	$points->reset if $can_go_on;
	return;
}

# ---- the matrix

my $clusters = $ENV{CLUSTERS} || 3;
my @loads;
foreach my $number (1 .. $clusters)
{
	$hipq = HipqCluster->new("points_$number", HipqWorkload::settings(),
		'hipq.executor_idle_timeout' => '100ms', 'hipq.retention' => '4h',
		'hipq.health_enabled' => 'off', 'hipq.worker_grace' => 0);
	$points = HipqPoints->new($hipq);
	$load = HipqWorkload->new($hipq, changes => 1, flows => 1);
	$load->add_rare_types;
	$hipq->create_queue('outside.jobs');
	$hipq->sql(q{SELECT hipq.register_job_type('outside.jobs', 'outside', handler_kind => 'notify',
		queue_ttl => 1000000)});
	push @loads, { hipq => $hipq, points => $points, load => $load };
}

my @names = $points->names;
my @in_source = map { slurp_file($_) =~ /HIPQ_POINT\("([^"]+)"\)/g } split /\n/,
	`find $ENV{HIPQ_ROOT}/src -name '*.cpp'`;
my ($actions) = slurp_file("$ENV{HIPQ_ROOT}/src/pg/point.hpp")
	=~ /point_actions =\s*std::to_array<std::string_view>\(\s*\{([^}]*)\}/;
my @actions = grep { $_ ne 'none' } $actions =~ /"([^"]+)"/g;
cmp_ok(scalar @names, '>', 30, 'there are more than 30 points');
is(join(' ', sort @in_source), join(' ', sort @names),
	'the matrix has each point of the source once');
is(join(' ', sort grep { !HipqFaults::stops($_) } @faults), join(' ', sort @actions),
	'the matrix has each action of a process at a point');
is(join(' ', sort grep { HipqFaults::stops($_) } @faults),
	join(' ', sort grep { HipqFaults::stops($_) } HipqFaults::names()),
	'the matrix has each fault that stops a server');
is(join(' ', grep { my $name = $_; !grep { $_ eq $name } @names } keys %ways, keys %charging), '',
	'the tables of this test name only points of the source');

my $only = $ENV{ONLY_CELLS} // '';
my @all = map { my $point = $_; map { { point => $point, fault => $_ } } @faults } @names;
if (($ENV{POINTS} // '') eq 'sample')
{
	my $day = $ENV{DAY} // int(time() / 86_400);
	note "the cells of day $day";
	@all = map { { point => $names[$_], fault => $faults[ ($_ + $day) % @faults ] } } 0 .. $#names;
}
my @cells = grep { "$_->{point} $_->{fault}" =~ /(?:$only)/ } @all;
$cells[$_]{op} = 10 * ($_ + 1) foreach 0 .. $#cells;

pipe my $in, my $out or die "pipe: $!";
syswrite $out, pack 'N', $_ foreach 0 .. $#cells;
close $out;
my $file = $hipq->node->basedir . '/cells';
my @processes;
foreach my $own (@loads)
{
	push @processes, fork // die "fork: $!";
	next if $processes[-1];
	($hipq, $points, $load) = @{$own}{qw(hipq points load)};
	run_cells(\@cells, $in, $file);
	POSIX::_exit(0);
}
# Not waitpid, because the first postmasters of the clusters are orphans of this process.
my %running = map { $_ => 1 } @processes;
while (%running) { delete $running{ wait() }; }

# ---- the results

foreach my $line (split /\n/, slurp_file($file))
{
	my ($number, $seconds, $problem) = split /\t/, $line, -1;
	@{ $cells[$number] }{qw(seconds problem)} = ($seconds, $problem);
}
$_->{problem} //= 'not run' foreach @cells;
my @left;
my $jobs = 0;
foreach my $own (@loads)
{
	my $history = $own->{load}->history;
	next unless @{ $history->{jobs} };    # possible with fewer cells than clusters
	$jobs += @{ $history->{jobs} };
	my %cell_of;
	foreach my $job (@{ $history->{jobs} })
	{
		my $cell = $cell_of{ $job->{id} } = $cells[ int($job->{op} / 10) - 1 ];
		my $is_error = $cell->{fault} =~ /error|cancel/;
		$job->{excused} = $is_error && $charging{ $cell->{point} } ? 1 : 0;
		$job->{given_up} = $is_error && $ending{ $cell->{point} } && $job->{type}
			=~ /^(asked|unanswered)/ && !$cell->{has_given_up}++
		  if $job->{outcome} eq 'failed' && ($job->{fails} <= $job->{max_retries}
		  	|| $job->{retry_count} < $job->{max_retries});
	}
	foreach my $violation (HipqChecker::check($history))
	{
		my ($id) = $violation->[1] =~ /job (\d+)/;
		my ($op) = $violation->[1] =~ /operation (\d+)/;
		my $cell = defined $id ? $cell_of{$id} : defined $op ? $cells[ int($op / 10) - 1 ] : undef;
		if ($cell) { push @{ $cell->{violations} }, $violation; }
		else { push @left, $violation; }
	}
}
foreach my $cell (@cells)
{
	my @violations = @{ $cell->{violations} // [] };
	ok($cell->{problem} eq '' && !@violations, "$cell->{point} x $cell->{fault}")
	  or diag(join "\n", $cell->{problem}, HipqChecker::describe(@violations));
}
is(HipqChecker::describe(@left), '', 'no violation is outside the cells');
is(scalar @cells, @names * (($ENV{POINTS} // '') eq 'sample' ? 1 : @faults),
	'every cell was run') if $only eq '';
note "only \"$only\" was run: " . @cells . ' of ' . @all . ' cells' if $only ne '';
my @seconds = sort { $a <=> $b } map { $_->{seconds} // 0 } @cells;
note sprintf '%d cells, %d jobs; from the fault to the last end %.1f s in the middle, %.1f s '
	. 'at most', scalar @cells, $jobs, $seconds[ @seconds / 2 ], $seconds[-1];

done_testing();
