# Runs hipq-web (clients/web) during a test, on its own port, and sends requests like a browser.
package HipqWeb;

use strict;
use warnings;
use HTTP::Tiny;
use IO::Socket::INET;
use JSON::PP ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);
use parent 'HipqProgram';

my $json = JSON::PP->new->utf8->canonical;

# Returns the path of the installed program, or nothing if it was not built.
sub program { return (grep { -x } map { "$_/hipq-web" } split /:/, $ENV{PATH})[0]; }

# new($hipq, arguments => [...], env => {...}, port => ...): runs it with the page of the checkout,
# and waits until it serves.
sub new
{
	my ($class, $hipq, %options) = @_;
	my $port = $options{port} // PostgreSQL::Test::Cluster::get_free_port();
	my @command = (program(), '--listen', $port, '--page', "$ENV{HIPQ_ROOT}/clients/web/page",
		@{ $options{arguments} // [] });
	my $self = $class->start($hipq, \@command, $options{env});
	@{$self}{qw(port url)} = ($port, "http://127.0.0.1:$port");
	$self->wait_for(sub { $self->said =~ /serving on/ }) or diag($self->said);
	return $self;
}

# Runs it to its end. Returns the exit code, stdout and stderr.
sub answer
{
	my (@arguments) = @_;
	my ($out, $err) = ('', '');
	my $run = IPC::Run::start([ 'timeout', '-k', '5', '60', program(), @arguments ], '<', \'', '>',
		\$out, '2>', \$err);
	$run->finish;
	return ($run->result(0), $out, $err);
}

# Returns a connection over which a test sends bytes that no browser would send.
sub connection
{
	my ($self) = @_;
	return IO::Socket::INET->new(PeerAddr => '127.0.0.1',
		PeerPort => $self->{port}) // die "no connection: $!";
}

# Sends bytes, and reads until the connection ends. Returns the answers. Closes the connection after
# this many seconds.
sub raw
{
	my ($self, $bytes, $seconds) = @_;
	my ($socket, $end, $sent, $answer) = ($self->connection, time() + ($seconds // 60), 0, '');
	local $SIG{PIPE} = 'IGNORE';
	$socket->blocking(0);
	while (time() < $end)
	{
		my ($read, $write) = ('', '');
		vec($read, fileno $socket, 1) = 1;
		vec($write, fileno $socket, 1) = 1 if $sent < length $bytes;
		next if select($read, $write, undef, $end - time()) <= 0;
		# After a refusal the server does not read the rest.
		if (vec($write, fileno $socket, 1))
		{
			$sent += syswrite($socket, $bytes, 65536, $sent) // length $bytes;
		}
		if (vec($read, fileno $socket, 1))
		{
			sysread($socket, $answer, 65536, length $answer) or last;
		}
	}
	return $answer;
}

# Returns the status of the first of these answers.
sub status_of { my ($answer) = @_; return $answer =~ m{^HTTP/1\.1 (\d+)} ? $1 : 'none'; }

# Returns a line of the kernel's status of the process.
sub kernel_says
{
	my ($self, $name) = @_;
	return slurp_file("/proc/$self->{pid}/status") =~ /^$name:\s+(\d+)/m ? $1 : 0;
}

# Returns a separate browser, with a cookie and the token of its session. It connects to 127.0.0.1,
# whatever host the URL names, at the port of the URL. For a TLS URL, authority is the file of the
# certificate authority that signed the server's certificate.
sub browser
{
	my ($self, %headers) = @_;
	my $url = delete $headers{url} // $self->{url};
	my %tls = (verify_SSL => 1, SSL_options => { SSL_ca_file => delete $headers{authority} });
	return bless { url => $url, http => HTTP::Tiny->new(keep_alive => 0, timeout => 60, %tls),
		headers => { Origin => $url, %headers } }, 'HipqWeb::Browser';
}

sub HipqWeb::Browser::ask
{
	my ($self, $method, $path, $body, %headers) = @_;
	my %options = (peer => '127.0.0.1', headers => { %{ $self->{headers} }, %headers });
	$options{headers}{Cookie} //= $self->{cookie} if defined $self->{cookie};
	$options{headers}{'X-CSRF-Token'} //= $self->{csrf} if defined $self->{csrf};
	if (defined $body)
	{
		$options{headers}{'Content-Type'} = 'application/json';
		$options{content} = ref $body ? $json->encode($body) : $body;
	}
	my $response = $self->{http}->request($method, "$self->{url}$path", \%options);
	my ($cookie) = ($response->{headers}{'set-cookie'} // '') =~ /^([^;]+)/;
	$self->{cookie} = $cookie if defined $cookie;
	$response->{json} = eval { $json->decode($response->{content}) };
	$self->{csrf} = $response->{json}{csrf} if ref $response->{json} eq 'HASH'
		&& defined $response->{json}{csrf};
	return $response;
}

sub HipqWeb::Browser::get
{
	my ($self, $path, %headers) = @_;
	return $self->ask('GET', $path, undef, %headers);
}
sub HipqWeb::Browser::post
{
	my ($self, $path, $body, %headers) = @_;
	return $self->ask('POST', $path, $body // {}, %headers);
}
sub HipqWeb::Browser::sign_in
{
	my ($self, $role, $password) = @_;
	return $self->post('/api/sign-in', { role => $role, password => $password // $role });
}

# Collects events until $enough holds for them, and then closes the connection, because the stream
# never ends.
sub HipqWeb::Browser::events
{
	my ($self, $enough) = @_;
	my ($text, @events) = ('');
	my $heard = sub {
		$text .= $_[0];
		while ($text =~ s/\A(.*?)\n\n//s)
		{
			my ($name, $data) = $1 =~ /^event: (\w+)\ndata: (.*)\z/s or next;
			push @events, { name => $name, data => $json->decode($data) };
		}
		die "enough\n" if $enough->(@events);
	};
	my %headers = (%{ $self->{headers} },
		defined $self->{cookie} ? (Cookie => $self->{cookie}) : ());
	$self->{http}->request('GET', "$self->{url}/api/events",
		{ peer => '127.0.0.1', headers => \%headers, data_callback => $heard });
	return @events;
}

1;
