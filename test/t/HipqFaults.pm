# Faults of processes and of the whole server, by name, and the recovery of the server afterwards.
package HipqFaults;

use strict;
use warnings;
use POSIX ();
use Time::HiRes qw(usleep time);

# Makes orphans children of this process, which reaps them at once. init may take seconds, and until
# then no server starts in the data directory of a killed postmaster. (Uses
# prctl(PR_SET_CHILD_SUBREAPER); if that fails, the start takes longer.)
sub adopt_orphans
{
	my %prctl = (x86_64 => 157, aarch64 => 167);
	my $number = $prctl{ (POSIX::uname())[4] };
	syscall $number, 36, 1, 0, 0, 0 if $number;
	return;
}

adopt_orphans();

# Each function gets the cluster and injects its fault. After some faults the server must be started
# again: see stops().
my %faults = (
	'kill executor' => sub { signal_one($_[0], 'KILL', 'hipq executor') },
	'abort executor' => sub { signal_one($_[0], 'ABRT', 'hipq executor') },
	'kill scheduler' => sub { signal_one($_[0], 'KILL', 'hipq scheduler') },
	'kill launcher' => sub { signal_one($_[0], 'KILL', 'hipq launcher') },
	'kill backend' => sub { kill_bystander($_[0]) },
	'terminate executor' => sub { signal_one($_[0], 'TERM', 'hipq executor') },
	'terminate scheduler' => sub { signal_one($_[0], 'TERM', 'hipq scheduler') },
	'terminate launcher' => sub { signal_one($_[0], 'TERM', 'hipq launcher') },
	'terminate clients' => sub { signal_all($_[0], 'TERM', 'client backend') },
	'kill postmaster' => sub { kill_postmaster($_[0]) },
	'stop smart' => sub { stop($_[0], 'smart') },
	'stop fast' => sub { stop($_[0], 'fast') },
	'stop immediate' => sub { stop($_[0], 'immediate') });

sub names { return sort keys %faults; }

# Injects a fault. Returns what it did, in words, or false if there was no process for it. After a
# fault that crashes the server, waits until the server reinitializes.
sub inject
{
	my ($hipq, $name) = @_;
	my $offset = -s $hipq->node->logfile;
	my $what = $faults{$name}->($hipq);
	wait_for_crash($hipq, $offset) if $what && crashes($name);
	return $what;
}

# Returns whether the fault makes the server end all its processes and reinitialize.
sub crashes { return $_[0] =~ /^(kill|abort)\b/ && !stops($_[0]) ? 1 : 0; }

# For a moment after the fatal exit of a process the server still answers. Waits until the log, from
# the offset on, has `first` and then reports that all processes have ended.
sub wait_for_crash
{
	my ($hipq, $offset, $first) = @_;
	$first //= qr//;
	my $end = time() + $PostgreSQL::Test::Utils::timeout_default;
	until (PostgreSQL::Test::Utils::slurp_file($hipq->node->logfile, $offset)
		=~ /$first.*all server processes terminated; reinitializing/s)
	{
		die 'the server does not crash' if time() > $end;
		usleep(10_000);
	}
	return;
}

# Returns whether the server must be started after the fault.
sub stops { return $_[0] =~ /^(stop|kill postmaster)/ ? 1 : 0; }

# Starts the server if necessary, and waits until it answers. Returns the time of the answer, or
# nothing.
sub bring_back
{
	my ($hipq, $name) = @_;
	my $end = time() + $PostgreSQL::Test::Utils::timeout_default;
	$hipq->node->start if stops($name);
	while (time() < $end)
	{
		my ($status, $out) = $hipq->try_sql('SELECT 1');
		return time() if $status == 0 && $out eq '1';
		usleep(10_000);
	}
	return;
}

# Returns pids by backend_type, with active processes first.
sub pids_of
{
	my ($hipq, $type) = @_;
	my ($status, $out) = $hipq->try_sql(
		"SELECT pid FROM pg_stat_activity WHERE backend_type = '$type' AND pid <> pg_backend_pid()
			ORDER BY state = 'active' DESC, random()");
	return $status == 0 ? split /\n/, $out : ();
}

# Stops (SIGSTOP) hipq's process of a type while it is idle, and returns its pid. A process that is
# not idle may hold locks, for which others would wait until it continues. Dies if the process never
# becomes idle.
sub stop_at_rest
{
	my ($hipq, $type) = @_;
	my $end = time() + $PostgreSQL::Test::Utils::timeout_default;
	while (time() < $end)
	{
		my ($pid) = pids_of($hipq, $type);
		next unless $pid && is_idle($hipq, $pid) && kill 'STOP', $pid;
		return $pid if is_idle($hipq, $pid);
		kill 'CONT', $pid;
	}
	continue { usleep(20_000) }
	die "no $type is at rest";
}

sub is_idle
{
	my ($hipq, $pid) = @_;
	my ($status, $out) = $hipq->try_sql("SELECT state = 'idle' AND wait_event_type = 'Extension'
		AND xact_start IS NULL FROM pg_stat_activity WHERE pid = $pid");
	return $status == 0 && $out eq 't';
}

# Signals a process of a type. Retries for some seconds, because processes start and end all the
# time.
sub signal_one
{
	my ($hipq, $signal, $type) = @_;
	foreach (1 .. 100)
	{
		my ($pid) = pids_of($hipq, $type);
		return "$signal to $type $pid" if $pid && kill $signal, $pid;
		usleep(20_000);
	}
	return;
}

sub signal_all
{
	my ($hipq, $signal, $type) = @_;
	foreach (1 .. 100)
	{
		my @pids = grep { kill $signal, $_ } pids_of($hipq, $type);
		return "$signal to " . @pids . " of $type" if @pids;
		usleep(20_000);
	}
	return;
}

# Kills a backend that does not use hipq.
sub kill_bystander
{
	my ($hipq) = @_;
	my $session = $hipq->session(on_error_stop => 0);
	my $pid = $session->query('SELECT pg_backend_pid()');
	kill 'KILL', $pid;
	eval { $session->quit };
	return "KILL to backend $pid";
}

# The children of the postmaster notice its death. A new postmaster cannot start before all of them
# have ended.
sub kill_postmaster
{
	my ($hipq) = @_;
	my $postmaster = $hipq->node->{_pid};
	my @children = children_of($postmaster);
	my $since = time();
	$hipq->node->kill9;
	while (my @left = grep { is_alive($_) } $postmaster, @children)
	{
		die "processes @left go on without postmaster"
			if time() > $since + $PostgreSQL::Test::Utils::timeout_default;
		usleep(5_000);
	}
	return sprintf 'KILL to the postmaster, the last of %d processes was gone after %.1f s',
		scalar @children, time() - $since;
}

sub is_alive
{
	my ($pid) = @_;
	waitpid $pid, POSIX::WNOHANG;    # if it is a child of this process now
	return kill 0, $pid;
}

sub children_of
{
	my ($parent) = @_;
	my @children;
	foreach my $file (glob '/proc/[0-9]*/stat')
	{
		open my $handle, '<', $file or next;
		my ($pid, $ppid) = (<$handle> // '') =~ /^(\d+) \(.*\) \S (\d+)/;
		push @children, $pid if defined $ppid && $ppid == $parent;
	}
	return @children;
}

sub stop
{
	my ($hipq, $mode) = @_;
	my $since = time();
	HipqCluster::close_looks();
	$hipq->node->stop($mode);
	return sprintf 'pg_ctl stop -m %s, %.1f s', $mode, time() - $since;
}

# Begins a smart stop that waits for a client. The client then runs the SQL and disconnects.
sub begin_smart_stop
{
	my ($hipq, $sql) = @_;
	my $session = $hipq->session;
	HipqCluster::close_looks();
	system 'pg_ctl', '-s', '-W', '-D', $hipq->node->data_dir, '-m', 'smart', 'stop';
	$session->query($sql);
	$session->quit;
	my $pid_file = $hipq->node->data_dir . '/postmaster.pid';
	my $end = time() + $PostgreSQL::Test::Utils::timeout_default;
	usleep(20_000) while -e $pid_file && time() < $end;
	$hipq->node->_update_pid(0);
	return;
}

1;
