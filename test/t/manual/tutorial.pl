# The commands of the tutorial, entered line by line into psql and a shell, show what the tutorial
# says.
use strict;
use warnings;
use HipqCluster;
use HipqPage;
use PostgreSQL::Test::Utils;
use Test::More;

my $page = HipqPage->new('docs/tutorial.md');
my %settings = $page->file('postgresql.conf') =~ /^(\S+) = '?(.*?)'?$/mg;
my $hipq = HipqCluster->new('tutorial', %settings,
	listen_addresses => 'localhost', extension => 0, preload => 0);
my $node = $hipq->node;
is(join(' ', sort keys %settings),
	'max_worker_processes shared_preload_libraries',
	'the page names the settings that it needs');
$hipq->sql('DROP ROLE app');    # the page creates it
$hipq->sql('CREATE DATABASE shop');

local $ENV{PGHOST} = $node->host;
local $ENV{PGPORT} = $node->port;
local $ENV{PGDATABASE} = 'shop';
my $directory = PostgreSQL::Test::Utils::tempdir;
my $shown = $page->run(
	psql => [ 'psql', '-X', '-q' ],
	shell => [ 'env', '-C', $directory, 'bash' ],
	directory => $directory);
cmp_ok($shown, '>', 15, 'the page shows more than fifteen results');

my @left_out = map { $_->{mark} } grep { $_->{mark} =~ /^not run/ } $page->blocks;
is(scalar @left_out, 3, 'the test runs all blocks but three about other ways to install');
my ($install) = slurp_file("$ENV{HIPQ_ROOT}/README.md")
  =~ /(^ +make -j.*PG_CONFIG=.*\n +sudo make install .*\n)/m;
$install =~ s/^ +//mg;
like((map { $_->{text} } $page->blocks)[0], qr/\Q$install\E/,
	'the tutorial installs hipq like README.md');

done_testing();
