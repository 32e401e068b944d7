# Runs pgbouncer in front of a cluster, for one role, by default in transaction mode. It ends with
# the object, or with the test.
package HipqPooler;

use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Time::HiRes qw(usleep);

my $program = '/usr/sbin/pgbouncer';

sub is_missing { return !-x $program; }

# new($hipq, $role, pool_mode => ..., default_pool_size => ...). Clients find it by the environment:
# POOLER_HOST, a folder of sockets, and POOLER_PORT; or by where(). Returns nothing if pgbouncer is
# not installed.
sub new
{
	my ($class, $hipq, $role, %settings) = @_;
	return if is_missing();
	%settings = (pool_mode => 'transaction', server_login_retry => 1, %settings);
	my $settings = join '', map { "$_ = $settings{$_}\n" } sort keys %settings;
	my ($folder, $port) = (PostgreSQL::Test::Utils::tempdir_short(),
		PostgreSQL::Test::Cluster::get_free_port());
	my ($host, $server_port) = ($hipq->node->host, $hipq->node->port);
	append_to_file("$folder/users", qq{"$role" ""\n});
	append_to_file("$folder/pgbouncer.ini", <<~END);
		[databases]
		postgres = host=$host port=$server_port user=$role
		[pgbouncer]
		listen_addr =
		listen_port = $port
		unix_socket_dir = $folder
		auth_type = any
		auth_file = $folder/users
		$settings
		END
	my $run = IPC::Run::start([ $program, "$folder/pgbouncer.ini" ], '>&', "$folder/log");
	my $end = time() + $PostgreSQL::Test::Utils::timeout_default;
	usleep(10_000) until -S "$folder/.s.PGSQL.$port" || time() > $end;
	@ENV{qw(POOLER_HOST POOLER_PORT)} = ($folder, $port);
	return bless { run => $run, host => $folder, port => $port }, $class;
}

# Returns the address as the environment of a program.
sub where { my ($self) = @_; return (PGHOST => $self->{host}, PGPORT => $self->{port}); }

# Keeps the exit status of the test.
sub DESTROY
{
	my ($self) = @_;
	local $?;
	$self->{run}->kill_kill;
	return;
}

1;
