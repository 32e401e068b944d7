# A collector of traces for a test: an HTTP server on the loopback interface that keeps the requests
# that it gets by OTLP in JSON. The test sets its replies.
package HipqCollector;

use strict;
use warnings;
use IO::Socket::INET;
use JSON::PP ();
use PostgreSQL::Test::Utils;
use Time::HiRes qw(usleep time);

# new(): runs the collector in its own process.
sub new
{
	my ($class) = @_;
	my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 16)
		or die "cannot listen: $!";
	my $folder = PostgreSQL::Test::Utils::tempdir();
	my $pid = fork // die $!;
	if ($pid == 0)
	{
		$SIG{TERM} = 'DEFAULT';
		eval { serve($listener, $folder) };
		print STDERR $@;
		require POSIX;
		POSIX::_exit(1);
	}
	return bless { pid => $pid, folder => $folder, port => $listener->sockport }, $class;
}

sub url { my ($self) = @_; return "http://127.0.0.1:$self->{port}"; }

# Sets the reply to the next requests: a status, and a body; "silence" means no reply.
sub answer
{
	my ($self, $status, $body) = @_;
	PostgreSQL::Test::Utils::append_to_file("$self->{folder}/answer.new",
		"$status\n" . ($body // '{}'));
	return rename "$self->{folder}/answer.new", "$self->{folder}/answer";
}

# Returns all requests so far, each as { path, headers, body, status }.
sub requests
{
	my ($self) = @_;
	return map { JSON::PP::decode_json(
			PostgreSQL::Test::Utils::slurp_file($_)) } sort glob "$self->{folder}/request-*";
}

# Returns the spans of accepted requests. Their attributes and those of their resource are hashes.
sub spans
{
	my ($self) = @_;
	my @spans;
	foreach my $request (grep { $_->{status} == 200 } $self->requests)
	{
		my $body = JSON::PP::decode_json($request->{body});
		foreach my $of_resource (@{ $body->{resourceSpans} })
		{
			my $resource = attributes($of_resource->{resource});
			push @spans, map { { %$_, attributes => attributes($_), resource => $resource } } map {
				@{ $_->{spans} } } @{ $of_resource->{scopeSpans} };
		}
	}
	return @spans;
}

# Waits for this many spans of a job.
sub spans_of
{
	my ($self, $job, $count) = @_;
	my $end = time() + $PostgreSQL::Test::Utils::timeout_default;
	my @spans;
	while ((@spans = grep { ($_->{attributes}{'hipq.job.id'} // '') eq $job } $self->spans)
		< ($count // 1) && time() < $end)
	{
		usleep(20_000);
	}
	@spans = sort { $a->{attributes}{'hipq.attempt'} <=> $b->{attributes}{'hipq.attempt'} } @spans;
	return @spans;
}

sub attributes
{
	my ($of) = @_;
	return { map { $_->{key} => (values %{ $_->{value} })[0] } @{ $of->{attributes} } };
}

sub DESTROY
{
	my ($self) = @_;
	local ($?, $!);
	kill 'TERM', $self->{pid};
	waitpid $self->{pid}, 0;
	return;
}

# ---- in the process of the collector

sub serve
{
	my ($listener, $folder) = @_;
	my ($count, @silent) = (0);
	while (my $client = $listener->accept)
	{
		my $request = request_of($client) // next;
		my ($status, $body) = -e "$folder/answer" ? split /\n/,
			PostgreSQL::Test::Utils::slurp_file("$folder/answer"), 2 : (200, '{}');
		$request->{status} = $status eq 'silence' ? 0 : $status;
		my $file = sprintf '%s/request-%06d', $folder, ++$count;
		PostgreSQL::Test::Utils::append_to_file("$folder/new", JSON::PP::encode_json($request));
		rename "$folder/new", $file or die $!;
		if ($status eq 'silence') { push @silent, $client; next; }
		print {$client} "HTTP/1.1 $status "
			. "As-Told\r\nContent-Type: application/json\r\nContent-Length: " . length($body)
			. "\r\nConnection: close\r\n\r\n$body";
	}
	return;
}

sub request_of
{
	my ($client) = @_;
	local $/ = "\r\n";
	my $first = <$client> // return;
	my (%headers, $body);
	while (defined(my $line = <$client>))
	{
		chomp $line;
		last if $line eq '';
		my ($name, $value) = split /:\s*/, $line, 2;
		$headers{ lc $name } = $value;
	}
	read $client, $body, $headers{'content-length'} // 0;
	return { path => (split / /, $first)[1], headers => \%headers, body => $body };
}

1;
