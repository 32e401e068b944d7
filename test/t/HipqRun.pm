# Runs hipq-run (clients/run) during a test, with a role: reads its log, sends signals, waits for
# its end.
package HipqRun;

use strict;
use warnings;
use IPC::Run ();
use JSON::PP ();
use PostgreSQL::Test::Utils;
use Test::More;
use parent 'HipqProgram';

# Returns the path of the installed program, or nothing if it was not built.
sub program { return (grep { -x } map { "$_/hipq-run" } split /:/, $ENV{PATH})[0]; }

# new($hipq, arguments => [...], env => {...}): runs it as role "app", with its log as JSON, in a
# folder of the test.
sub new
{
	my ($class, $hipq, %options) = @_;
	return $class->start($hipq, [ program(), '--log', 'json', @{ $options{arguments} } ],
		$options{env});
}

# Returns its log so far.
sub entries
{
	my ($self) = @_;
	return map { JSON::PP::decode_json($_) } grep { /^\{.*\}$/ } split /\n/,
		slurp_file($self->{log});
}

# Waits until it has logged an event with a matching message this many times.
sub logs
{
	my ($self, $event, $message, $times) = @_;
	$message //= qr//;
	return $self->wait_for(sub { (grep { $_->{event} eq $event && ($_->{message} // '')
			=~ $message } $self->entries) >= ($times // 1) })
	  || !diag("no event \"$event\" in:\n" . slurp_file($self->{log}));
}

sub is_ready { my ($self) = @_; return $self->logs('registered'); }

# Runs it to its end. Returns the exit code, stdout and stderr.
sub answer
{
	my ($hipq, @arguments) = @_;
	my ($out, $err) = ('', '');
	local @ENV{qw(PGHOST PGPORT PGUSER PGDATABASE)} = defined $hipq ? ($hipq->node->host,
		$hipq->node->port, 'app', 'postgres') : @ENV{qw(PGHOST PGPORT PGUSER PGDATABASE)};
	my $run = IPC::Run::start([ 'timeout', '-k', '5', '60', program(), @arguments ], '<', \'', '>',
		\$out, '2>', \$err);
	$run->finish;
	return ($run->result(0), $out, $err);
}

# Makes a queue app.run, and job types for it. Retries have no delay.
sub create_queue
{
	my ($hipq, @types) = @_;
	$hipq->create_queue('app.run');
	$hipq->sql("SELECT hipq.register_job_type('app.run', '$_', handler_kind => 'notify',
		max_retries => 1, retry_base => '0 s')") foreach @types;
	return;
}

# Makes a program for jobs: a script of sh, in a folder of the test.
sub script
{
	my ($lines) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir_short() . '/program';
	append_to_file($file, "#!/bin/sh\n$lines");
	chmod 0755, $file or die "$file: $!";
	return $file;
}

1;
