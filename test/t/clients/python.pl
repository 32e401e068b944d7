# The Python client passes its own tests (clients/python/tests) against a cluster. Each of them is
# one test here.
use strict;
use warnings;
use HipqCluster;
use HipqPooler;
use Test::More;

my $python = '/usr/bin/python3';
my $client = "$ENV{HIPQ_ROOT}/clients/python";
plan skip_all => 'python3-psycopg is not installed'
  if system("$python -c 'import psycopg' 2>/dev/null") != 0;

my $hipq = HipqCluster->new('python', 'hipq.worker_grace' => '3s');
my $node = $hipq->node;
$hipq->sql('CREATE ROLE worker LOGIN');

my $pooler = HipqPooler->new($hipq, 'worker');
local $ENV{PGHOST} = $node->host;
local $ENV{PGPORT} = $node->port;
local $ENV{PGDATABASE} = 'postgres';
local $ENV{PGUSER};
delete $ENV{PGUSER};
local $ENV{HIPQ_PGDATA} = $node->data_dir;    # a test restarts the server
local $ENV{HIPQ_PGLOG} = $node->logfile;
# The folder may not exist.
local $ENV{PYTHONPATH} = "$client/src:$ENV{HIPQ_ROOT}/build/python-opentelemetry";
local $ENV{PYTHONDONTWRITEBYTECODE} = 1;

# Reports a line of TAP as a test of this file.
sub repeat
{
	my ($line) = @_;
	my ($not, $name) = $line =~ /^(not )?ok\b[ \d]*-? ?(.*)$/;
	return $line =~ /^1\.\./ ? () : diag($line) unless defined $name;
	if ($name =~ s/ # SKIP (.*)//)
	{
		note("$name: skipped, $1");
		return pass("$name (skipped: $1)");
	}
	return ok(!$not, $name);
}

open my $tests, '-|', $python, "$client/tests/tap.py" or die "cannot run the tests: $!";
while (my $line = <$tests>) { chomp $line; repeat($line); }
close $tests;
is($?, 0, 'all tests of the client run');
undef $pooler;                                # it keeps sessions
$node->_update_pid(1);                        # of the server that was restarted
my $sessions = q{SELECT count(*) FROM pg_stat_activity WHERE usename = 'worker'};
ok($hipq->wait_until($sessions, 0), "no session is left after the client's tests");
ok($hipq->wait_until('SELECT count(*) FROM hipq.running', 0), 'no job is running after the tests');
done_testing();
