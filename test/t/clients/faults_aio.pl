# A worker in Python with asyncio (test/clients/worker_aio.py) withstands the faults of
# HipqWorkerFaults.
use strict;
use warnings;
use HipqWorkerFaults;
use Test::More;

my $python = '/usr/bin/python3';
plan skip_all => 'python3-psycopg is not installed'
	if system("$python -c 'import psycopg' 2>/dev/null") != 0;
my %environment = (PYTHONPATH => "$ENV{HIPQ_ROOT}/clients/python/src",
	PYTHONDONTWRITEBYTECODE => 1);
my $faults = HipqWorkerFaults->new('aio', [ $python, "$ENV{HIPQ_ROOT}/test/clients/worker_aio.py" ],
	environment => \%environment);
$faults->prove;
$faults->silent_server;
done_testing();
