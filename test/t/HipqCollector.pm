# A collector of traces beside a test: an HTTP server on the loopback interface that keeps what is
# sent to it by OTLP in JSON, and answers as the test tells it.
package HipqCollector;

use strict;
use warnings;
use IO::Socket::INET;
use JSON::PP ();
use PostgreSQL::Test::Utils;
use Time::HiRes qw(usleep time);

# new(): runs it, in a process of its own.
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

# What the next requests are answered with: a status, and a body; "silence" is no answer at all.
sub answer
{
	my ($self, $status, $body) = @_;
	PostgreSQL::Test::Utils::append_to_file("$self->{folder}/answer.new",
		"$status\n" . ($body // '{}'));
	return rename "$self->{folder}/answer.new", "$self->{folder}/answer";
}

# All requests that have come: { path, headers, body, status } of each.
sub requests
{
	my ($self) = @_;
	return map { JSON::PP::decode_json(
			PostgreSQL::Test::Utils::slurp_file($_)) } sort glob "$self->{folder}/request-*";
}

# The spans of requests that were answered with success. Their attributes and those of their
# resource are hashes.
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

# Waits for the spans of a job, so many of them.
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

# ---- in its process

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
