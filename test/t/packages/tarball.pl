# The tarball and the zip of `make dist` contain all sources, do not depend on git, and are
# reproducible. The tests of the packages (test/packages/) build and install both.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = $ENV{HIPQ_ROOT};
my ($version) = slurp_file("$root/hipq.control") =~ /^default_version = '(.*)'$/m;
my $name = "hipq-$version";
my $there = PostgreSQL::Test::Utils::tempdir();
my $source = "$there/$name";

command_ok([ "$root/tools/dist", '--zip', $there ], 'the tarball and the zip are made');
my @files = split /\n/, `tar -tf '$there/$name.tar.gz'`;
is((grep { !m{^\Q$name\E/[^/]} } @files), 0,
	'all files are in one folder with the name and version');
my %has = map { s{^\Q$name\E/}{}r => 1 } @files;
ok($has{$_}, "the tarball contains $_") foreach qw(META.json README.md LICENSE CHANGELOG.md Makefile
	CMakeLists.txt hipq.control .gitignore test/run);
is((grep { m{^\.git/|^build/|\.(?:o|so|d)$} } keys %has), 0,
	'the tarball contains no built files');

system('tar', '-xf', "$there/$name.tar.gz", '-C', $there) == 0 or die 'tar failed';
chomp(my @missing = `cd '$root' && find sql src test/unit -name '*.?pp' -o -name '*.sql'`);
@missing = grep { !$has{$_} } @missing;
is("@missing", '', 'the tarball contains every source');

# The client of PGXN makes those files executable that begin with "#!".
command_ok([ 'python3', '-m', 'zipfile', '-e', "$there/$name.zip", "$there/zip" ],
	'the zip is unpacked');
command_ok([ 'diff', '-r', "$there/zip/$name", $source ], 'the zip has the files of the tarball');
chomp(my @programs = `find '$source' -type f -perm -u+x`);
cmp_ok(scalar @programs, '>', 40, 'the tarball has programs');
is(join(' ', grep { slurp_file($_) !~ /^#!/ } @programs), '', 'each program begins with #!');

# Lists what make would do to build and to test.
my ($out, $err) = run_command([ 'make', '-n', '-C', $source, 'UNITY=0' ]);
is($err, '', 'make finds all files that it needs');
my @objects = $out =~ m{ -c -o build/obj/[^/]+/(\S+)\.o src/\1\.cpp$}mg;
chomp(my @sources = `cd '$source/src' && find . -name '*.cpp' -printf '%P\n'`);
is_deeply([ sort @objects ], [ sort map { s/\.cpp$//r } @sources ], 'make compiles every source');
like($out, qr/ -shared -o hipq\.so /, 'make links the library');
command_like([ 'make', '-n', '-C', $source, 'check' ], qr{^PG= test/run$}m,
	'the tarball has make check');
my @scripts = split ' ', `make -s --no-print-directory -C '$source' print-DATA_built`;
command_ok([ 'make', '-s', '-C', $source, @scripts ],
	'make makes the install and update scripts of the tarball');
is(slurp_file("$source/$_"), slurp_file("$root/$_"), "$_ is the same as in the checkout")
	foreach @scripts;
SKIP: {
	# Roots of other versions of PostgreSQL (tools/root) have no CMake.
	skip 'there is no CMake here', 1 unless grep { -x "$_/cmake" } split /:/, $ENV{PATH};
	command_ok([ 'cmake', '-S', $source, '-B', "$source/build/cmake" ],
		'CMake finds all files that it needs');
}

# Makes files, as if hipq had been built there.
system('touch', map { "$source/$_" } 'hipq.so', 'src/hipq.o', 'test/guard/guard.d',
	'debian/files') == 0 or die 'touch failed';
command_ok([ 'make', '-s', '-C', $source, 'dist' ], 'make dist works without git');
command_ok([ 'cmp', "$there/$name.$_", "$source/build/$name.$_" ],
	"make dist without git makes the same $_") foreach qw(tar.gz zip);
system('chmod', '-R', 'go=', $source) == 0 or die 'chmod failed';
command_ok([ "$source/tools/dist", "$there/private" ],
	'tools/dist works on files that only their owner may read');
command_ok([ 'cmp', "$there/$name.tar.gz", "$there/private/$name.tar.gz" ],
	'tools/dist makes the same tarball from private files');

done_testing();
