# A proxy process for connections to a server. It can freeze them (packets vanish without an error),
# strand them, and cut them.
package HipqProxy;

use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;
use IO::Socket::UNIX;
use POSIX ();

my $is_stranding = 0;

# new($node, $port): starts a proxy at this port, which a previous proxy used, or at a free port.
sub new
{
	my ($class, $node, $port) = @_;
	my $listener = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1',
		LocalPort => $port // 0, ReuseAddr => 1, Proto => 'tcp')
	  or die "cannot listen: $!";
	my $pid = fork;
	die "cannot fork: $!" unless defined $pid;
	if ($pid == 0)
	{
		local $SIG{USR1} = sub { $is_stranding = 1; };
		pass_on($listener, $node->host . '/.s.PGSQL.' . $node->port);
		POSIX::_exit(0);
	}
	return bless { pid => $pid, port => $listener->sockport }, $class;
}

sub connstr
{
	my ($self, $database) = @_;
	return "host=127.0.0.1 port=$self->{port} dbname=$database";
}
sub freeze { kill 'STOP', $_[0]->{pid}; return; }
sub thaw { kill 'CONT', $_[0]->{pid}; return; }
# Existing connections stay open, but no longer transfer anything. New connections work. A firewall
# that has forgotten its connections has the same effect.
sub strand { kill 'USR1', $_[0]->{pid}; return; }
sub cut
{
	my ($self) = @_;
	kill 'KILL', $self->{pid};
	waitpid $self->{pid}, 0;
	$self->{pid} = undef;
	return;
}
sub DESTROY { my ($self) = @_; local $?; $self->cut if defined $self->{pid}; return; }

# The socket of each client and its socket to the server are peers.
sub pass_on
{
	my ($listener, $path) = @_;
	my $select = IO::Select->new($listener);
	# holds all sockets, so that stranded connections stay open
	my %peer;
	while (1)
	{
		my @ready = $select->can_read;    # none: a signal has arrived
		if ($is_stranding)
		{
			$select->remove(grep { $_ != $listener } $select->handles);
			$is_stranding = 0;
		}
		foreach my $socket (grep { $select->exists($_) } @ready)
		{
			if ($socket == $listener)
			{
				my $client = $listener->accept;
				my $server = IO::Socket::UNIX->new($path) or next;
				@peer{ $client, $server } = ($server, $client);
				$select->add($client, $server);
			}
			elsif (sysread $socket, my $bytes, 65_536) { syswrite $peer{$socket}, $bytes; }
			else
			{
				my $other = delete $peer{$socket} or next;
				delete $peer{$other};
				$select->remove($socket, $other);
				close $_ foreach $socket, $other;
			}
		}
	}
	return;
}

1;
