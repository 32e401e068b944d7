# The client for Node.js (clients/node) compiles with its types, and its own tests pass against a
# cluster. Its packages come from npm.
use strict;
use warnings;
use HipqCluster;
use HipqNodeClient;
use HipqPooler;
use Test::More;

plan skip_all => 'needs node and npm' if HipqNodeClient::is_missing();
my $copy = HipqNodeClient::build() or do { done_testing(); exit };
chdir $copy or die $!;
local $ENV{HOME} = $copy;

my $hipq = HipqCluster->new('node_client', 'hipq.worker_grace' => '500ms');
@ENV{qw(PGHOST PGPORT PGUSER)} = ($hipq->node->host, $hipq->node->port, 'postgres');
my $pooler = HipqPooler->new($hipq, 'app');
foreach my $test (glob 'test/*.test.js')
{
	my $said = '';
	my $done = IPC::Run::run([ 'timeout', '-k', '5', '240', 'node', '--test-reporter=tap', $test ],
		'>&', \$said);
	my ($passed, $failed) = (0, 0);
	foreach my $line (split /\n/, $said)
	{
		my ($not, $what) = $line =~ /^(not )?ok \d+ - (.*)/ or next;
		ok(!$not, "$test: $what");
		if ($not) { $failed++ } else { $passed++ }
	}
	ok($done && $passed > 0 && $failed == 0, "$test: $passed tests") or diag($said);
}
done_testing();
