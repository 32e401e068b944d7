# Each example is complete. Its README shows lines of its files, and `make run` leaves no process
# running.
use strict;
use warnings;
use File::Basename qw(basename);
use PostgreSQL::Test::Utils;
use Test::More;

my $examples = "$ENV{HIPQ_ROOT}/examples";
my @folders = grep { -e "$_/story" } glob "$examples/*";
cmp_ok(scalar @folders, '>=', 7, 'there are seven examples or more');
my $index = slurp_file("$examples/README.md");

# Blocks of code without a language are commands for a shell.
sub shows_what_is_there
{
	my ($folder) = @_;
	my $sources = join "\n",
		map { slurp_file($_) } grep { -f } glob "$folder/*.sql $folder/*.py $folder/story";
	my @blocks = slurp_file("$folder/README.md") =~ /^```\w+\n(.*?)^```$/msg;
	cmp_ok(scalar @blocks, '>', 0, basename($folder) . ' shows lines that matter');
	ok(index($sources, $_ =~ s/\s+\z//r) >= 0,
		basename($folder) . ' has the lines: ' . ($_ =~ s/^\s+//r =~ s/\n.*//sr)) foreach @blocks;
	return;
}

foreach my $folder (@folders)
{
	my $name = basename($folder);
	ok(-e "$folder/$_", "$name has $_") foreach qw(README.md Makefile setup.sql);
	ok(-x "$folder/story", "$name has a story that can be run");
	like($index, qr{\Q($name/README.md)\E}, "$name is in the index");
	(my $test = $name) =~ tr/-/_/;
	ok(-e "$ENV{HIPQ_ROOT}/test/t/examples/$test.pl", "$name has a test");
	my @named = map { /^\| (.*?) \|/ ? $1 =~ /`([^`]+)`/g : () } split /\n/,
		slurp_file("$folder/README.md");
	ok(-e "$folder/$_", "$name has $_, which its README names") foreach @named;
	shows_what_is_there($folder);
}

# ---- make run, as a user calls it
my $cluster = PostgreSQL::Test::Utils::tempdir . '/cluster';
my $said = PostgreSQL::Test::Utils::tempdir . '/said';
local $ENV{CLUSTER} = $cluster;
is(system('bash', '-c', 'make -s -C "$0" run >"$1" 2>&1', "$examples/saga", $said), 0,
	'make run succeeds') or diag(slurp_file($said));
like(slurp_file($said), qr/^\s+1 \| ann\s+\| booked/m, 'make run tells the story');
ok(-e "$cluster/data/PG_VERSION", 'make run uses a cluster of its own');
ok(!-e "$cluster/data/postmaster.pid", 'make run stops its cluster');

isnt(system('bash', '-c', '"$0" nonsense >"$1" 2>&1', "$examples/run", $said), 0,
	'an unknown example is refused');
like(slurp_file($said), qr/^run: usage: examples\/run NAME/, 'an unknown example gives the usage');
done_testing();
