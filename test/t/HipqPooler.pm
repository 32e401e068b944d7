# pgbouncer in transaction mode before a cluster, as one role; it ends with the object, or with the test.
package HipqPooler;

use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Time::HiRes qw(usleep);

my $program = '/usr/sbin/pgbouncer';

# new($hipq, $role). Clients find it by the environment: POOLER_HOST, a folder of sockets, and POOLER_PORT. Returns nothing where there is no
# pgbouncer.
sub new
{
	my ($class, $hipq, $role) = @_;
	return unless -x $program;
	my ($folder, $port) = (PostgreSQL::Test::Utils::tempdir_short(), PostgreSQL::Test::Cluster::get_free_port());
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
		pool_mode = transaction
		server_login_retry = 1
		END
	my $run = IPC::Run::start([ $program, "$folder/pgbouncer.ini" ], '>&', "$folder/log");
	my $end = time() + $PostgreSQL::Test::Utils::timeout_default;
	usleep(10_000) until -S "$folder/.s.PGSQL.$port" || time() > $end;
	@ENV{qw(POOLER_HOST POOLER_PORT)} = ($folder, $port);
	return bless { run => $run }, $class;
}

# What a test's status is does not change by that.
sub DESTROY
{
	my ($self) = @_;
	local $?;
	$self->{run}->kill_kill;
	return;
}

1;
