# The examples of README.md work on a fresh cluster: a job that SQL runs, and a job that Python
# runs.
use strict;
use warnings;
use HipqCluster;
use HipqPage;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $page = HipqPage->new('README.md');
foreach my $block ($page->blocks)
{
	my $lines = () = $block->{text} =~ /\n/g;
	cmp_ok($lines, '<=', 8, "README.md:$block->{line} has few lines");
}

my $hipq = HipqCluster->new('first_use', extension => 0);
my $node = $hipq->node;
$hipq->sql('DROP ROLE app');    # the page creates it

local $ENV{PGHOST} = $node->host;
local $ENV{PGPORT} = $node->port;
local $ENV{PGDATABASE} = 'postgres';
my $directory = PostgreSQL::Test::Utils::tempdir();
$page->run(
	psql => [ 'psql', '-X', '-q' ],
	shell => [ 'env', '-C', $directory, 'bash' ],
	directory => $directory);

# ---- the job of SQL

ok($hipq->wait_until(q{SELECT string_agg(addr, ' ') FROM sent}, 'ann@example.com'),
	'the job that SQL runs has run');
my $outcome = q{SELECT outcome || ' ' || attempt FROM hipq.jobs WHERE job_type = 'welcome'};
ok($hipq->wait_until($outcome, 'succeeded 1'),
	'the job that SQL runs succeeds in its first attempt');

# ---- the job of Python

SKIP:
{
	my $python = '/usr/bin/python3';
	skip 'python3-psycopg is not installed', 2
	  if system("$python -c 'import psycopg' 2>/dev/null") != 0;
	local $ENV{PYTHONPATH} = "$ENV{HIPQ_ROOT}/clients/python/src";
	local $ENV{PYTHONDONTWRITEBYTECODE} = 1;
	my $log = "$PostgreSQL::Test::Utils::log_path/worker.log";
	my $worker = IPC::Run::start([ $python, "$directory/worker.py" ],
		'<', '/dev/null', '>>', $log, '2>&1');
	my $result = q{SELECT outcome || ' ' || result::text FROM hipq.jobs_detail
		WHERE job_type = 'scan'};
	ok($hipq->wait_until($result, 'succeeded {"pages": 5}'), 'the job that Python runs has run')
	  or diag(slurp_file($log));
	$worker->signal('TERM');
	ok($worker->finish, 'the worker of README.md ends on SIGTERM');
}

done_testing();
