# hipq-web withstands hostile clients. It answers only to the names of this machine, keeps within
# bounds of memory and threads whatever it gets, gives no client all places, and keeps no password.
#
#   FUZZ_MINUTES   how long random requests are sent (0.1); make fuzz: 10
#   SEED           chooses the requests; the test prints it
use strict;
use warnings;
use HipqCluster;
use HipqWeb;
use JSON::PP ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

plan skip_all => 'hipq-web was not built' unless defined HipqWeb::program();
my $seed = $ENV{SEED} || 1 + int(time()) % 1_000_000;
note("SEED=$seed");
srand $seed;

my $hipq = HipqCluster->new('web_hostile');
my %password = map { $_ => sprintf 'open-sesame-for-%s-%08d', $_, rand 1e8 } qw(ann bob);
my @roles = sort keys %password;
$hipq->sql("CREATE ROLE $_ LOGIN PASSWORD '$password{$_}'") foreach @roles;
$hipq->create_queue('app.mail');
foreach my $role (@roles)
{
	$hipq->sql("SELECT hipq.grant_queue('app.mail', '$role', '$_')") foreach qw(read control);
}
$hipq->ask_for_passwords(@roles);

sub sign_in
{
	my ($browser, $role) = @_;
	return $browser->sign_in($role, $password{$role});
}

sub status_is
{
	my ($response, $status, $name) = @_;
	return is($response->{status}, $status, $name) || diag($response->{content});
}

my $web = HipqWeb->new($hipq);
my $host = "127.0.0.1:$web->{port}";
my $ann = $web->browser;
status_is(sign_in($ann, 'ann'), 200, 'a role signs in');

# Returns whether the same process of hipq-web runs, and answers.
sub is_alive { return $ann->get('/api/session')->{status} == 200 && kill(0, $web->pid) == 1; }

# ---- JSON nested without limit

my $deep = '[' x 49_000 . ']' x 49_000;
my %nested = (
	'/api/jobs/search' => qq({"contains": $deep}),
	'/api/jobs/cancel' => qq({"ids": $deep}),
	'/api/dead-letters/search' => qq({"limit": $deep}),
	'/api/pauses' => qq({"queue": $deep}),
	'/api/sign-in' => qq({"role": $deep, "password": 1}));
foreach my $path (sort keys %nested)
{
	status_is($ann->post($path, $nested{$path}), 400, "JSON nested too deep is refused: $path");
	ok(is_alive(), "hipq-web is alive after JSON nested too deep: $path");
}
my $deeper = '{"contains": ' . '[' x 100_000 . ']' x 100_000 . '}';
status_is($ann->post('/api/jobs/search', $deeper), 413, 'JSON nested even deeper is too long');
ok(is_alive(), 'hipq-web is alive after JSON nested deeper');
status_is($ann->post('/api/jobs/search', { contains => [ [ [ { n => [1] } ] ] ] }), 200,
	'a search for JSON nested a few levels deep succeeds');

# A job may hold 500 nested arrays.
my $job = $hipq->sql(q{
	INSERT INTO hipq.app_mail (job_type, job_data, scheduled_run_time)
	VALUES ('deep', (repeat('[', 490) || repeat(']', 490))::jsonb, '2100-01-01') RETURNING id});
status_is($ann->get("/api/jobs/$job"), 200, 'a job with data nested deep is shown');
ok(is_alive(), 'hipq-web is alive after data nested deep');

# ---- endless and malformed requests

sub request
{
	my ($line, @headers) = @_;
	return join("\r\n", $line, "Host: $host", @headers, '', '');
}

my $post = 'POST /api/sign-in HTTP/1.1';
my $chunk = "100000\r\n" . 'A' x 0x100000 . "\r\n";
my $get = 'GET / HTTP/1.1';
my @refused = (
	[ 411, 'a body in chunks', request($post, 'Transfer-Encoding: chunked') . $chunk x 10 ],
	[ 413, 'a body of a length too great', request($post, 'Content-Length: 100001') . 'A' x 1e7 ],
	[ 413, 'a length of 30 digits', request($post, 'Content-Length: ' . '9' x 30) ],
	[ 400, 'a length in hexadecimal', request($post, 'Content-Length: 0x10') ],
	[ 400, 'two lengths', request($post, 'Content-Length: 1', 'Content-Length: 2') . '{}' ],
	[ 415, 'a compressed body', request($post, 'Content-Encoding: gzip', 'Content-Length: 2') ],
	[ 415, 'a form', request($post, 'Content-Type: multipart/form-data; boundary=x') ],
	[ 403, 'a body without a length', request($post) . 'A' x 1e7, 431 ],
	[ 431, 'headers without end', "$get\r\n" . "a: b\r\n" x 1e6 ],
	[ 431, 'a header without end', "$get\r\nHost: " . 'a' x 1e7 ],
	[ 431, 'an address without end', 'GET /' . 'a' x 1e7 ],
	[ 431, 'many headers', request($get, ('a: b') x 101) ],
	[ 414, 'a long address', request('GET /' . 'a' x 5000 . ' HTTP/1.1') ],
	[ 400, 'a line that is no header', request($get, 'nonsense') ],
	[ 400, 'a header that goes on in the next line', request($get, 'a: b', ' c') ],
	[ 400, 'a break within a header', request($get, "a: b\nc: d") ],
	[ 400, 'two hosts', request($get, 'Host: evil.example') ],
	[ 400, 'no request', "\r\n\r\n" ],
);
foreach my $case (@refused)
{
	my ($status, $what, $bytes, @later) = @$case;
	my $answer = $web->raw($bytes);
	is(HipqWeb::status_of($answer), $status, "refused: $what") or diag(substr $answer, 0, 500);
	my (undef, @more) = $answer =~ m{HTTP/1\.1 (\d+)}g;
	is_deeply(\@more, \@later, "the connection ends after: $what");
}
ok(is_alive(), 'hipq-web is alive after all refused requests');
cmp_ok($web->kernel_says('VmHWM'), '<', 100_000, 'refused requests need little memory');

my $twice = $web->raw(request($get, 'Range: bytes=0-3') . request($get, 'Connection: close'));
is(scalar(() = $twice =~ m{^HTTP/1\.1 200}mg), 2, 'two requests on one connection are answered');
is(scalar(() = $twice =~ m{</html>}g), 2, 'two requests on one connection get complete answers');

# ---- host names of other sites

my $service = HipqWeb->new($hipq, arguments => ['--service'], env => { PGUSER => 'app' });
foreach my $name ('127.evil.com', '127.0.0.1.evil.com', '[::1].evil.com', 'localhost.evil.com')
{
	foreach my $path (qw(/api/session /metrics /))
	{
		my @head = ("GET $path HTTP/1.1", "Host: $name:$service->{port}",
			'Connection: close', '', '');
		my $bytes = join "\r\n", @head;
		is(HipqWeb::status_of($service->raw($bytes)), 421,
			"the host name is refused: $path of $name");
	}
}
is($service->stop, 0, 'the service ends by SIGTERM');
my ($code, undef, $why) = HipqWeb::answer('--listen', '127.evil.com:8484');
is($code, 64, 'hipq-web does not listen on a hostile name');
like($why, qr/others could read passwords/, 'the error says why hipq-web does not listen');

# ---- long names

my $log = length $web->said;
status_is($web->browser->sign_in('r' x 90_000, 'x'), 400,
	'a role name that is too long for hipq-web is refused');
is(length $web->said, $log, 'a role name that is too long is not logged');
status_is($web->browser->sign_in('r' x 63, 'x'), 401, 'a role name of 63 bytes is tried');

# ---- slow clients

my @slow = map { $web->connection } 1 .. 700;
my @parts = ("$get\r\nHost: ", request($post, 'Content-Length: 100000') . 'A' x 90_000);
syswrite $slow[$_], $parts[ $_ % 2 ] foreach 0 .. $#slow;
my $asked = time();
ok(is_alive(), 'another client is answered beside 700 slow ones');
$hipq->in_time(time() - $asked, 5, 'another client is answered soon beside 700 slow ones');
cmp_ok($web->kernel_says('Threads'), '<=', 510,
	'700 slow clients stay within the bound of threads');
my $gone = 0;
foreach my $socket (@slow)
{
	$socket->blocking(0);
	$gone++ if defined sysread $socket, my $end, 1;
}
cmp_ok($gone, '>', 150, 'the slowest clients are disconnected');
cmp_ok($web->kernel_says('VmHWM'), '<', 150_000, '700 slow clients need little memory');
@slow = ();

# ---- random requests, while one client sends a byte at random times

my %known = (
	'/api/jobs/search' => [
		qw(queue job_type job_key error from to trace id outcome contains limit after)],
	'/api/dead-letters/search' => [qw(queue job_type reason state since after limit)],
	'/api/dead-letters/redrive' => [qw(queue job_type reason limit before ids id)],
	'/api/jobs/cancel' => [qw(ids id reason)],
	'/api/jobs/retry' => [qw(ids id reason)],
	'/api/jobs/reschedule' => [qw(ids id time)],
	'/api/pauses' => [qw(queue job_type throttle_key instance reason)],
	'/api/pauses/resume' => [qw(queue job_type throttle_key instance)]);
my @paths = (sort(keys %known), qw(/api/sign-in /api/events /api/queues/%ff%00 / /%2e%2e/x));
my @texts = (
	('app.mail') x 6, 'deep', $job, '', '0', '-1', '9' x 18, '9' x 30, '1:1',
		'7:99999999999999999999',
	'NaN', 'now', '294276-01-01', 'infinity 1', "a\0b", "\x{fffd}\x{10ffff}", '%', '\\', q{'"},
	'{queue}', '$1', 'x' x 9_000);
my $writer = JSON::PP->new->utf8->allow_nonref;

sub one_of { return $_[ rand @_ ]; }

sub value
{
	my ($depth) = @_;
	my $kind = $depth == 0 && rand() < 0.6 ? 0 : int rand($depth > 4 ? 4 : 7);
	return one_of(@texts) if $kind < 2;
	return one_of(0, 1, -1, 100, 101, 1e15, -1.5, 1e300) + 0 if $kind == 2;
	return one_of(undef, JSON::PP::true, JSON::PP::false) if $kind == 3;
	return [ map { value($depth + 1) } 1 .. rand 4 ] if $kind == 4;
	return { map { (one_of(@texts) => value($depth + 1)) } 1 .. rand 4 } if $kind == 5;
	return one_of([$job], [ map { "$_" } 1 .. 3 ]);
}

sub random_body
{
	my ($path) = @_;
	my @names = grep { rand() < 0.3 } @{ $known{$path} // [qw(role password)] };
	my $text = $writer->encode({ map { ($_ => value(0)) } @names });
	substr($text, rand length $text, 1 + rand 3) = chr rand 256 if rand() < 0.1;
	return $text;
}

# Returns bytes that resemble a request.
sub random_bytes
{
	my $path = one_of(@paths);
	my $body = random_body($path);
	my @headers = grep { rand() < 0.4 } (
		'Host: ' . one_of('localhost', '127.evil.com', '[', '[::1', ':', "$host$host"),
		'Content-Length: ' . one_of(length $body, 0, 5, -1, 99_999, 1e9, '1,2', ''),
		'Transfer-Encoding: ' . one_of(qw(chunked gzip identity)),
		'Cookie: ' . one_of($ann->{cookie}, 'hipq=' . 'x.' x 3000, ';;=;'),
		"X-CSRF-Token: $ann->{csrf}", "Origin: http://$host", 'Range: bytes=' . '0-,' x 3000,
		'Expect: 100-continue', 'X-Forwarded-For: ' . one_of('::', '1.1.1.1, ', ',' x 1000),
		'Connection: Upgrade', 'Accept-Encoding: gzip, br',
			('a' x rand 300) . ': ' . 'b' x rand 9000);
	my $line = one_of(qw(GET POST HEAD PUT DELETE OPTIONS TRACE x)) . " $path HTTP/";
	my $bytes = join "\r\n", $line . one_of('1.1', '1.0', '2', ''), "Host: $host",
		@headers, '', $body;
	my $odd = join '', map { chr rand 256 } 1 .. rand 20;
	substr($bytes, rand length $bytes, rand 20) = $odd if rand() < 0.5;
	return $bytes;
}

my $drip = $web->connection;
my ($dripped, $drip_end) = (time());
$drip->blocking(0);
print $drip "GET / HTTP/1.1\r\na: ";
my ($asks, %statuses, @odd) = (0);
my $end = time() + 60 * ($ENV{FUZZ_MINUTES} || 0.1);
until (@odd >= 20 || time() > $end && (defined $drip_end || time() > $dripped + 60))
{
	if (!defined $drip_end)
	{
		syswrite $drip, 'a' if rand() < 0.1;
		$drip_end = time() - $dripped if defined sysread $drip, my $end_of_it, 1;
	}
	my $path = one_of(sort keys %known);
	my $body = random_body($path);
	my $response = $ann->post($path, $body);
	my @both = map { substr $_, 0, 300 } $response->{content}, $body;
	push @odd, join ' ', $path, $response->{status}, @both
	  if $response->{status} !~ /^(?:200|400|401|403|404|409|413|503|504)$/;
	$web->raw(random_bytes(), 0.05);
	$statuses{ $response->{status} }++;
	$asks++;
}
note("$asks of each kind: ", join ', ', map { "$_ $statuses{$_}" } sort keys %statuses);
is(join("\n", @odd), '', 'random requests get an expected status')
  or diag("SEED=$seed");
cmp_ok($statuses{200} // 0, '>', 0, 'some random requests succeed');
ok(is_alive(), 'hipq-web is alive after random requests') or diag("SEED=$seed\n" . $web->said);
cmp_ok($web->kernel_says('VmHWM'), '<', 150_000, 'random requests need little memory');
$hipq->in_time($drip_end // 999, 20,
	'a request that takes longer than ten seconds is disconnected');

# ---- passwords in memory

# A new process, because the memory of the other one contains the stacks of 500 threads.
my $fresh = HipqWeb->new($hipq);

# Returns the mapping in which a process has a text in its memory.
sub remembers
{
	my ($text) = @_;
	my $process = '/proc/' . $fresh->pid;
	no warnings 'portable';    # addresses of 64 bits
	open my $memory, '<:raw', "$process/mem" or die $!;
	foreach my $line (grep { /^\w+-\w+ rw/ } split /\n/, slurp_file("$process/maps"))
	{
		my ($from, $to) = map { hex } $line =~ /^(\w+)-(\w+)/;
		sysseek $memory, $from, 0;
		sysread $memory, my $bytes, $to - $from or next;
		return $line if index($bytes, $text) >= 0;
	}
	return '';
}

# libpq keeps the password as long as the connection.
my %signed_in = map { $_ => $fresh->browser } @roles;
status_is(sign_in($signed_in{$_}, $_), 200, "$_ signs in") foreach @roles;
isnt(remembers($signed_in{ann}{csrf}), '', 'the token of a session is in memory');
status_is($signed_in{$_}->post('/api/sign-out'), 200, "$_ signs out") foreach @roles;
# Freed memory has other data at its beginning, so the test looks for the end.
is(remembers(substr $password{$_}, -12), '',
	"the password of $_ is not in memory after signing out")
  foreach @roles;
is($fresh->stop, 0, 'hipq-web without signed-in roles ends by SIGTERM');
is($web->stop, 0, 'hipq-web after hostile requests ends by SIGTERM');

# ---- no role and no address gets more than half of the places

{
	my $few = HipqWeb->new($hipq, arguments => [ '--max-sessions', 4 ]);
	my @browsers = map { $few->browser } 1 .. 4;
	status_is(sign_in($browsers[$_], 'ann'), 200, 'a role signs in up to its share') foreach 0, 1;
	my $third = sign_in($browsers[2], 'ann');
	status_is($third, 503, 'a role takes no more than half of all sessions');
	like($third->{json}{error}{hint}, qr/gets half of the places/,
		'the hint says that a role gets half of the places');
	status_is(sign_in($browsers[2], 'bob'), 200,
		'another role gets a session beside a role that has its share');
	status_is($browsers[0]->post('/api/sign-out'), 200, 'a role that has its share signs out');
	status_is(sign_in($browsers[3], 'ann'), 200, 'a sign-out makes room for another session');

	# Live figures.
	my ($mine, $other) = @browsers[ 1, 2 ];
	my $ask = sub {
		my ($browser, $path) = @_;
		my @headers = ("Host: 127.0.0.1:$few->{port}", "Cookie: $browser->{cookie}");
		return join "\r\n", "GET $path HTTP/1.1", @headers, '', '';
	};
	my $look = sub {
		my ($browser) = @_;
		my $socket = $few->connection;
		print $socket $ask->($browser, '/api/events');
		return ($socket, HipqWeb::status_of(scalar(<$socket>) // ''));
	};
	my @looks = map { [ $look->($mine) ] } 1 .. 101;
	is(join(' ', map { $_->[1] } @looks),
		join(' ', (200) x 100, 503), 'a role gets no more than half of the live figures');
	my ($socket, $status) = $look->($other);
	is($status, 200, 'another role gets live figures');
	@looks = ();
	ok($few->wait_for(sub { ($look->($mine))[1] == 200 }),
		'a viewer that leaves makes room for another one');

	# Requests that wait, because all requests of a role wait for the connections of its sessions.
	my $lock = $hipq->session;
	$lock->query_safe('BEGIN; LOCK TABLE hipq.app_mail IN ACCESS EXCLUSIVE MODE');
	my @waiting;
	my $wait = sub {
		my ($requests) = @_;
		foreach (1 .. $requests)
		{
			push @waiting, $few->connection;
			print { $waiting[-1] } $ask->($mine, "/api/jobs/$job?queue=app.mail");
		}
		return 0;
	};
	$wait->(110);
	my $refusals = sub {
		my $read = '';
		vec($read, fileno $_, 1) = 1 foreach @waiting;
		select $read, undef, undef, 0.1;
		return scalar grep { vec $read, fileno $_, 1 } @waiting;
	};
	ok($few->wait_for(sub { $refusals->() >= 10 }),
		"some of a role's requests are refused if too many wait");
	# On a busy machine some requests may have timed out by now. Others take their places.
	ok($few->wait_for(sub { $mine->get('/api/session')->{status} == 503 || $wait->(10) }),
		'a request of a role with too many waiting requests is refused');
	status_is($other->get('/api/session'), 200,
		'a request of another role is answered beside too many waiting ones');
	$lock->query_safe('COMMIT');
	ok($few->wait_for(sub { $mine->get('/api/session')->{status} == 200 }),
		'requests of the role are answered when the others have ended');
	is($few->stop, 0, 'hipq-web with few sessions ends by SIGTERM');
}
{
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	my @proxy = ('--max-sessions', 4, '--behind-proxy', "http://jobs.example:$port");
	my $far = HipqWeb->new($hipq, port => $port, arguments => \@proxy);
	my $visit = sub {
		my ($role, $senders) = @_;
		my $browser = $far->browser(url => "http://jobs.example:$port",
			'X-Forwarded-For' => $senders);
		return sign_in($browser, $role);
	};
	status_is($visit->($_, '1.2.3.4'), 200, "$_ signs in from one address") foreach qw(ann bob);
	status_is($visit->('bob', '1.2.3.4'), 503,
		'an address takes no more than half of all sessions');
	status_is($visit->('bob', $_), 503, 'naming another address gets no more sessions')
	  foreach '5.6.7.8, 1.2.3.4', [ '5.6.7.8', '1.2.3.4' ];
	status_is($visit->('bob', '5.6.7.8'), 200, 'another address gets a session');
	is($far->stop, 0, 'hipq-web behind a proxy ends by SIGTERM');
}

# ---- the test itself notices a dead hipq-web

{
	my $victim = HipqWeb->new($hipq);
	kill 'KILL', $victim->pid;
	is($victim->exit_code, 'signal 9', 'the test notices a killed hipq-web');
}
done_testing();
