# Runs a program that connects to a cluster with a role during a test: reads its log, sends signals,
# waits for its end.
package HipqProgram;

use strict;
use warnings;
use File::Basename qw(basename);
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep time);

my $number = 0;

# start($hipq, [command], { VARIABLE => value }): runs it as role "app"; its output is its log.
sub start
{
	my ($class, $hipq, $command, $environment) = @_;
	my $name = basename($command->[0]) =~ s/\W/_/gr;
	# The name of the log is unique, because other tests run at the same time.
	my $log = sprintf '%s/%s-%s-%d.log', $PostgreSQL::Test::Utils::log_path, basename($0,
		'.pl'), $name, ++$number;
	my %environment = (PGHOST => $hipq->node->host, PGPORT => $hipq->node->port, PGUSER => 'app',
		PGDATABASE => 'postgres', %{ $environment // {} });
	my @assignments = map { "$_=$environment{$_}" } sort keys %environment;
	my $run = IPC::Run::start([ 'env', @assignments, @$command ], '<', '/dev/null', '>',
		'/dev/null', '2>', $log);
	return bless { run => $run, log => $log, hipq => $hipq, pid => $run->{KIDS}[0]{PID} }, $class;
}

# env becomes the program by exec, so the pid is that of the program.
sub pid { return $_[0]->{pid}; }
sub said { my ($self) = @_; return slurp_file($self->{log}); }

# Waits until a condition holds.
sub wait_for
{
	my (undef, $condition, $seconds) = @_;
	my $end = time() + ($seconds // $PostgreSQL::Test::Utils::timeout_default);
	until ($condition->()) { return 0 if time() > $end; usleep(20_000); }
	return 1;
}

sub signal { my ($self, $name) = @_; return kill $name, $self->{pid}; }

# Waits for the end of the program, at most this many seconds. Returns whether it ended.
sub has_ended
{
	my ($self, $seconds) = @_;
	my $is_over = sub { !$self->{run}->pumpable || do { $self->{run}->reap_nb;
			!grep { !defined $_->{RESULT} } grep { defined $_->{PID} } @{ $self->{run}{KIDS} } } };
	return $self->wait_for($is_over, $seconds);
}

# Waits for the end of the program. Returns its exit code, or "signal 9".
sub exit_code
{
	my ($self) = @_;
	return 'still there' unless $self->has_ended;
	$self->{run}->finish;
	my ($status) = $self->{run}->full_results;
	return $status & 127 ? 'signal ' . ($status & 127) : $status >> 8;
}

sub stop { my ($self, $name) = @_; $self->signal($name // 'TERM'); return $self->exit_code; }

sub DESTROY
{
	my ($self) = @_;
	local ($?, $@);
	eval { $self->{run}->kill_kill } if defined $self->{run};
	return;
}

1;
