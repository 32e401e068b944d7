# The tarball of `make dist`: what it holds, that it needs no git, and that whoever makes it again gets the same bytes. It is built and
# installed by the packages' own tests (test/packages/).
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = $ENV{HIPQ_ROOT};
my ($version) = slurp_file("$root/hipq.control") =~ /^default_version = '(.*)'$/m;
my $name = "hipq-$version";
my $there = PostgreSQL::Test::Utils::tempdir();
my $source = "$there/$name";

command_ok([ "$root/tools/dist", $there ], 'the tarball is made');
my @files = split /\n/, `tar -tf '$there/$name.tar.gz'`;
is((grep { !m{^\Q$name\E/[^/]} } @files), 0, 'all of it is in one folder with its name and version');
my %has = map { s{^\Q$name\E/}{}r => 1 } @files;
ok($has{$_}, "it holds $_") foreach qw(META.json README.md LICENSE CHANGELOG.md Makefile CMakeLists.txt hipq.control .gitignore test/run);
is((grep { m{^\.git/|^build/|\.(?:o|so|d)$} } keys %has), 0, 'and nothing that was built');

system('tar', '-xf', "$there/$name.tar.gz", '-C', $there) == 0 or die 'tar failed';
chomp(my @missing = `cd '$root' && find sql src test/unit -name '*.?pp' -o -name '*.sql'`);
@missing = grep { !$has{$_} } @missing;
is("@missing", '', 'it holds every source');

# What make would do, were it to build and to test.
my ($out, $err) = run_command([ 'make', '-n', '-C', $source, 'UNITY=0' ]);
is($err, '', 'make finds all that it needs');
my @objects = $out =~ m{ -c -o build/obj/[^/]+/(\S+)\.o src/\1\.cpp$}mg;
chomp(my @sources = `cd '$source/src' && find . -name '*.cpp' -printf '%P\n'`);
is_deeply([ sort @objects ], [ sort map { s/\.cpp$//r } @sources ], '... compiles every source');
like($out, qr/ -shared -o hipq\.so /, '... and links the library');
command_like([ 'make', '-n', '-C', $source, 'check' ], qr{^PG= test/run$}m, 'make check is there');
my @scripts = split ' ', `make -s --no-print-directory -C '$source' print-DATA_built`;
command_ok([ 'make', '-s', '-C', $source, @scripts ], 'the install and update scripts are made');
is(slurp_file("$source/$_"), slurp_file("$root/$_"), "... $_ as in the checkout") foreach @scripts;
SKIP: {
	# Roots of other versions of PostgreSQL (tools/root) have none.
	skip 'there is no CMake here', 1 unless grep { -x "$_/cmake" } split /:/, $ENV{PATH};
	command_ok([ 'cmake', '-S', $source, '-B', "$source/build/cmake" ], 'CMake finds all that it needs');
}

# As if it had been built there.
system('touch', map { "$source/$_" } 'hipq.so', 'src/hipq.o', 'test/guard/guard.d', 'debian/files') == 0 or die 'touch failed';
command_ok([ 'make', '-s', '-C', $source, 'dist' ], 'make dist works where there is no git');
command_ok([ 'cmp', "$there/$name.tar.gz", "$source/build/$name.tar.gz" ], '... and makes the same tarball');
system('chmod', '-R', 'go=', $source) == 0 or die 'chmod failed';
command_ok([ "$source/tools/dist", "$there/private" ], 'so it does where nobody else may read');
command_ok([ 'cmp', "$there/$name.tar.gz", "$there/private/$name.tar.gz" ], '... and makes the same tarball');

done_testing();
