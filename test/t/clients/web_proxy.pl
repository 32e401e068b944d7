# hipq-web works behind nginx with the example of docs/hipq-web.md. The test changes only ports and
# certificates of the example. A role signs in through nginx, sees a queue and pauses it.
use strict;
use warnings;
use HipqCluster;
use HipqProgram;
use HipqWeb;
use IO::Socket::INET;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($nginx) = grep { -x } map { "$_/nginx" } split(/:/, $ENV{PATH}), '/usr/sbin';
plan skip_all => 'hipq-web was not built' unless defined HipqWeb::program();
plan skip_all => 'nginx is not installed: tools/setup check installs it' unless defined $nginx;
plan skip_all => 'IO::Socket::SSL is not installed: tools/setup check installs it'
	unless eval { require IO::Socket::SSL };

# ---- the document

my $document = slurp_file("$ENV{HIPQ_ROOT}/docs/hipq-web.md");
my ($origin) = $document =~ /^    hipq-web .*--behind-proxy (\S+)$/m;
my ($example) = $document =~ /^(    limit_conn_zone .*?^    \}\n)/ms
	or BAIL_OUT('docs/hipq-web.md has no example for nginx');
my ($name) = $origin =~ m{^https://([^/:]+)$};
like($example, qr/^ +server_name \Q$name\E;$/m,
	'the example serves the name that --behind-proxy has');

# ---- both programs, on ports of the test

my $hipq = HipqCluster->new('web_proxy');
$hipq->create_queue('app.mail');
$hipq->sql(q{CREATE ROLE hands LOGIN PASSWORD 'hands';
	SELECT hipq.grant_queue('app.mail', 'hands', p) FROM unnest('{read,control}'::text[]) AS p});
$hipq->ask_for_passwords('hands');
my $web = HipqWeb->new($hipq, arguments => [ '--behind-proxy', $origin ]);

my ($folder, $port) = (PostgreSQL::Test::Utils::tempdir(),
	PostgreSQL::Test::Cluster::get_free_port());
my @key = ('-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes',
	'-keyout', "$folder/key");
command_ok([ qw(openssl req -x509 -days 2), @key, '-out', "$folder/certificate", '-subj',
		"/CN=$name", '-addext', "subjectAltName=DNS:$name" ], 'openssl makes a certificate');

# Replaces a pattern of the example, and tests that the example has it once.
sub put
{
	my ($pattern, $with) = @_;
	return is($example =~ s/^( +)$pattern;$/$1$with;/mg, 1, "the example has once: $pattern");
}
put('listen 443 ssl', "listen 127.0.0.1:$port ssl");
put('ssl_certificate \S+', "ssl_certificate $folder/certificate");
put('ssl_certificate_key \S+', "ssl_certificate_key $folder/key");
put('proxy_pass http://127\.0\.0\.1:8484', "proxy_pass http://127.0.0.1:$web->{port}");

# Other files that Debian's nginx writes go into the folder, too.
my $elsewhere = join '',
	map { "    ${_}_temp_path $folder/$_;\n" } qw(client_body fastcgi proxy scgi uwsgi);
append_to_file("$folder/nginx.conf", "daemon off;\npid $folder/pid;\nerror_log stderr;\nevents "
	. "{}\nhttp {\n    access_log $folder/access.log;\n$elsewhere$example}\n");
my $proxy = HipqProgram->start($hipq,
	[ $nginx, '-e', 'stderr', '-p', $folder, '-c', "$folder/nginx.conf" ]);
ok($proxy->wait_for(sub { IO::Socket::INET->new(PeerAddr => '127.0.0.1',
		PeerPort => $port) || $proxy->said =~ /\[emerg\]/ }) && $proxy->said !~ /\[emerg\]/,
	'nginx serves the example')
  or BAIL_OUT($proxy->said);

# ---- requests through nginx

sub visitor
{
	my (%headers) = @_;
	return $web->browser(url => "https://$name:$port", authority => "$folder/certificate",
		Origin => $origin, %headers);
}
sub status_is
{
	my ($response, $status, $what) = @_;
	return is($response->{status}, $status, $what) || diag($response->{content});
}

my $hands = visitor();
my $page = $hands->get('/');
status_is($page, 200, 'nginx serves the page by TLS');
like($page->{content}, qr{<title>hipq</title>}, 'the page through nginx is that of hipq-web');
like($page->{headers}{'strict-transport-security'}, qr/max-age/,
	'the page through nginx tells browsers to use only TLS');
my $session = $hands->sign_in('hands');
status_is($session, 200, 'a role signs in through nginx');
like($session->{headers}{'set-cookie'}, qr/^__Host-hipq=.*; Secure$/,
	'the cookie through nginx is for TLS only');
is($hands->get('/api/session')->{json}{role}, 'hands', 'the session lasts through nginx');
is($hands->post('/api/pauses', { queue => 'app.mail', reason => 'tea' })->{json}{done},
	JSON::PP::true, 'a queue is paused through nginx');
is($hipq->sql('SELECT queue, paused_by FROM hipq.pauses_detail'), 'app.mail|hands',
	'the pause through nginx is in the database');
my @events = $hands->events(sub { @_ >= 3 });
is($events[0]{data}{queues}[0]{queue}, 'app.mail', 'live figures arrive through nginx one by one');
status_is(visitor(Origin => 'https://evil.example')->sign_in('hands'), 403,
	'another site cannot sign in');

# nginx appends the address of its client, so a client gets no more tries by claiming another
# address.
my ($tries, $answer) = (0);
do { $answer = visitor('X-Forwarded-For' => "10.0.0.$tries")->sign_in("role$tries",
		'wrong') } until $answer->{status} != 401 || ++$tries >= 30;
status_is($answer, 429,
	"after $tries wrong passwords an address is limited, whatever address it claims");

# One address gets 50 connections.
my @tls = (PeerAddr => '127.0.0.1', PeerPort => $port, SSL_ca_file => "$folder/certificate");
my $read = "GET /api/events HTTP/1.1\r\nHost: $name\r\nCookie: $hands->{cookie}\r\n\r\n";
my @viewers = map { IO::Socket::SSL->new(@tls, SSL_verifycn_name => $name) // die $! } 1 .. 50;
print $_ $read foreach @viewers;
is(join(' ', map { scalar(readline $_) =~ / (\d+) / } @viewers), join(' ', (200) x 50),
	'one address gets 50 connections');
status_is(visitor()->get('/'), 429, 'a 51st connection of one address is refused');
@viewers = ();

is($proxy->stop('QUIT'), 0, 'nginx stops');
is($web->stop, 0, 'hipq-web behind nginx ends by SIGTERM');
done_testing();
