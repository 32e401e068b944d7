# The client for Node.js (clients/node): compiles with its types, and its own tests hold against a cluster. Packages come from npm.
use strict;
use warnings;
use File::Copy qw(copy);
use File::Path qw(make_path);
use HipqCluster;
use HipqPooler;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'needs node and npm' if grep { my $tool = $_; !grep { -x "$_/$tool" } split /:/, $ENV{PATH} } qw(node npm);

# A copy: whoever runs tests may not write into the checkout.
my $source = "$ENV{HIPQ_ROOT}/clients/node";
my $copy = PostgreSQL::Test::Utils::tempdir();
foreach my $file (glob("$source/*.json"), glob("$source/src/*.ts"), glob("$source/test/*.js"))
{
	my $to = $copy . substr $file, length $source;
	make_path($to =~ s{/[^/]+$}{}r);
	copy($file, $to) or die "$file: $!";
}
chdir $copy or die $!;
local $ENV{HOME} = $copy;

# A command with what it says; what went wrong is told.
sub succeeds
{
	my ($what, @command) = @_;
	my $said = '';
	my $done = IPC::Run::run(\@command, '>&', \$said);
	return ok($done, $what) || !diag($said);
}

succeeds('its packages can be had', qw(npm ci --no-audit --no-fund --loglevel=error)) && succeeds('it compiles', 'node_modules/.bin/tsc')
	or do { done_testing(); exit };

my $hipq = HipqCluster->new('node_client', 'hipq.worker_grace' => '500ms');
@ENV{qw(PGHOST PGPORT PGUSER)} = ($hipq->node->host, $hipq->node->port, 'postgres');
my $pooler = HipqPooler->new($hipq, 'app');
foreach my $test (glob 'test/*.test.js')
{
	my $said = '';
	my $done = IPC::Run::run([ 'timeout', '-k', '5', '240', 'node', '--test-reporter=tap', $test ], '>&', \$said);
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
