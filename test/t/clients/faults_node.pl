# A worker in Node.js (test/clients/worker.mjs) withstands the faults of HipqWorkerFaults.
use strict;
use warnings;
use HipqNodeClient;
use HipqWorkerFaults;
use Test::More;

plan skip_all => 'needs node and npm' if HipqNodeClient::is_missing();
my $client = HipqNodeClient::build() or do { done_testing(); exit };
my $faults = HipqWorkerFaults->new('node', [ 'node', "$ENV{HIPQ_ROOT}/test/clients/worker.mjs" ],
	environment => { HIPQ_CLIENT => $client });
$faults->prove;
$faults->silent_server;
done_testing();
