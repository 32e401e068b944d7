# hipq-web under attack: it answers to the names of this machine alone.
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

# Whether it is there, the same process, and answers soon.
sub is_alive { return $ann->get('/api/session')->{status} == 200 && kill(0, $web->pid) == 1; }

# ---- other names

my $service = HipqWeb->new($hipq, arguments => ['--service'], env => { PGUSER => 'app' });
foreach my $name ('127.evil.com', '127.0.0.1.evil.com', '[::1].evil.com', 'localhost.evil.com')
{
	foreach my $path (qw(/api/session /metrics /))
	{
		my @head = ("GET $path HTTP/1.1", "Host: $name:$service->{port}", 'Connection: close', '', '');
		my $bytes = join "\r\n", @head;
		is(HipqWeb::status_of($service->raw($bytes)), 421, "not answered: $path of $name");
	}
}
is($service->stop, 0, 'the service ends');
my ($code, undef, $why) = HipqWeb::answer('--listen', '127.evil.com:8484');
is($code, 64, 'it does not listen on such a name');
like($why, qr/others could read passwords/, '... and says why');

is($web->stop, 0, 'it ends by SIGTERM');

# ---- the judges

{
	my $victim = HipqWeb->new($hipq);
	kill 'KILL', $victim->pid;
	is($victim->exit_code, 'signal 9', 'an end would be seen');
}
done_testing();
