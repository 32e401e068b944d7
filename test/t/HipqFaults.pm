# Faults of processes and of the whole server, by name, and the way back to a server that answers.
package HipqFaults;

use strict;
use warnings;
use POSIX ();
use Time::HiRes qw(usleep time);

# Makes orphans children of this process, which takes note of their end at once: init may take
# seconds, and until then no server starts in the directory of one whose postmaster was killed.
# (prctl(PR_SET_CHILD_SUBREAPER); where that fails it takes longer.)
sub adopt_orphans
{
	my %prctl = (x86_64 => 157, aarch64 => 167);
	my $number = $prctl{ (POSIX::uname())[4] };
	syscall $number, 36, 1, 0, 0, 0 if $number;
	return;
}

adopt_orphans();

# Each gets the cluster and does its worst. Those after which somebody has to start the server again
# are in %stops.
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

# Does it. Returns what it did, in words; false if there was nobody to do it to. After a crash the
# server has begun anew.
sub inject
{
	my ($hipq, $name) = @_;
	my $offset = -s $hipq->node->logfile;
	my $what = $faults{$name}->($hipq);
	wait_for_crash($hipq, $offset) if $what && crashes($name);
	return $what;
}

# Whether the server ends all its processes and begins anew for it.
sub crashes { return $_[0] =~ /^(kill|abort)\b/ && !stops($_[0]) ? 1 : 0; }

# The server answers for a moment after the process has died that makes it crash. Waits until its
# log, from there on, has `first` and then says that all processes are gone.
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

# Whether the server has to be started after it.
sub stops { return $_[0] =~ /^(stop|kill postmaster)/ ? 1 : 0; }

# Waits until the server answers, having started it if need be. Returns when it did, or nothing.
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

# pids by backend_type, those with something to do first.
sub pids_of
{
	my ($hipq, $type) = @_;
	my ($status, $out) = $hipq->try_sql(
		"SELECT pid FROM pg_stat_activity WHERE backend_type = '$type' AND pid <> pg_backend_pid()
			ORDER BY state = 'active' DESC, random()");
	return $status == 0 ? split /\n/, $out : ();
}

# Stops (SIGSTOP) hipq's process of a type while it is idle, and returns its pid: elsewhere it may
# hold locks, which others would wait for until it goes on. Dies if it does not come to rest.
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

# Processes come and go: tries for some seconds.
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

# A backend that has nothing to do with hipq.
sub kill_bystander
{
	my ($hipq) = @_;
	my $session = $hipq->session(on_error_stop => 0);
	my $pid = $session->query('SELECT pg_backend_pid()');
	kill 'KILL', $pid;
	eval { $session->quit };
	return "KILL to backend $pid";
}

# Its children notice by themselves. A new one cannot start before the last of them is gone.
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
	waitpid $pid, POSIX::WNOHANG;    # if it is ours by now
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

# A smart stop that waits for a client, which then runs the SQL and leaves.
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
