# hipq-run (clients/run) beside a test: started as a role, its log read, signals sent, its end awaited.
package HipqRun;

use strict;
use warnings;
use File::Basename qw(basename);
use IPC::Run ();
use JSON::PP ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep time);

my $number = 0;

# The program, installed beside the server's; nothing where it was not built.
sub program { return (grep { -x } map { "$_/hipq-run" } split /:/, $ENV{PATH})[0]; }

# new($hipq, arguments => [...], env => {...}): runs it as role "app", with its log as JSON, in a folder of the test.
sub new
{
	my ($class, $hipq, %options) = @_;
	my $log = sprintf '%s/%s-hipq-run-%d.log', $PostgreSQL::Test::Utils::log_path, basename($0, '.pl'), ++$number;    # other tests run at the same time
	my %environment = (PGHOST => $hipq->node->host, PGPORT => $hipq->node->port, PGUSER => 'app', PGDATABASE => 'postgres', %{ $options{env} // {} });
	my @assignments = map { "$_=$environment{$_}" } sort keys %environment;
	my @command = ('env', @assignments, program(), '--log', 'json', @{ $options{arguments} });
	my $run = IPC::Run::start(\@command, '<', '/dev/null', '>', '/dev/null', '2>', $log);
	return bless { run => $run, log => $log, hipq => $hipq, pid => $run->{KIDS}[0]{PID} }, $class;
}

# env has become hipq-run by exec: the process is its own.
sub pid { return $_[0]->{pid}; }

# What it has logged so far.
sub entries
{
	my ($self) = @_;
	return map { JSON::PP::decode_json($_) } grep { /^\{.*\}$/ } split /\n/, slurp_file($self->{log});
}

# Waits until it has logged an event, whose message matches, so many times.
sub logs
{
	my ($self, $event, $message, $times) = @_;
	$message //= qr//;
	return $self->wait_for(sub { (grep { $_->{event} eq $event && ($_->{message} // '') =~ $message } $self->entries) >= ($times // 1) })
	  || !diag("no event \"$event\" in:\n" . slurp_file($self->{log}));
}

# Waits until something holds.
sub wait_for
{
	my (undef, $condition) = @_;
	my $end = time() + $PostgreSQL::Test::Utils::timeout_default;
	until ($condition->()) { return 0 if time() > $end; usleep(20_000); }
	return 1;
}

sub is_ready { my ($self) = @_; return $self->logs('registered'); }
sub signal { my ($self, $name) = @_; return kill $name, $self->{pid}; }

# Waits for its end: its exit code, or "signal 9".
sub exit_code
{
	my ($self) = @_;
	my $has_ended = $self->wait_for(sub { !$self->{run}->pumpable || do { $self->{run}->reap_nb; !grep { !defined $_->{RESULT} } grep { defined $_->{PID} } @{ $self->{run}{KIDS} } } });
	return 'still there' unless $has_ended;
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

# Runs it to its end: exit code, stdout, stderr.
sub answer
{
	my ($hipq, @arguments) = @_;
	my ($out, $err) = ('', '');
	local @ENV{qw(PGHOST PGPORT PGUSER PGDATABASE)} = defined $hipq ? ($hipq->node->host, $hipq->node->port, 'app', 'postgres') : @ENV{qw(PGHOST PGPORT PGUSER PGDATABASE)};
	my $run = IPC::Run::start([ 'timeout', '-k', '5', '60', program(), @arguments ], '<', \'', '>', \$out, '2>', \$err);
	$run->finish;
	return ($run->result(0), $out, $err);
}

# A queue app.run, and job types for it. Retries come at once.
sub create_queue
{
	my ($hipq, @types) = @_;
	$hipq->create_queue('app.run');
	$hipq->sql("SELECT hipq.register_job_type('app.run', '$_', handler_kind => 'notify', max_retries => 1, retry_base => '0 s')") foreach @types;
	return;
}

# A program of jobs: a script of sh, in a folder of the test.
sub script
{
	my ($lines) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir_short() . '/program';
	append_to_file($file, "#!/bin/sh\n$lines");
	chmod 0755, $file or die "$file: $!";
	return $file;
}

1;
