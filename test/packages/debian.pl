# Debian's packages: built from the tarball, looked at, installed into a clean root, used there with Debian's own tools, purged.
# PG (15) chooses the version of PostgreSQL, and with it the suite. Root runs it, with prove; see suite_packages in test/run.
use strict;
use warnings;
use File::Basename qw(dirname);
use lib dirname(__FILE__);
use HipqRoots;
use Test::More;

my $version = $ENV{PG} // 15;
my $package = "postgresql-$version-hipq";
my $suite = chomped('tools/clean-root', 'suite', $version);
my $built = "build/packages/$version";
my $extension = chomped('sed', '-n', "s/^default_version = '\\(.*\\)'/\\1/p", 'hipq.control');

# ---- building

succeeds('the packages are built', 'tools/build-package', $version);
my ($deb) = glob("$built/${package}_$extension-*.deb");
my ($symbols) = glob("$built/$package-dbgsym_$extension-*.deb");
isnt($deb, undef, "there is $package") or BAIL_OUT('no package');
isnt($symbols, undef, 'there is one with its symbols');
my ($runner) = glob("$built/hipq-run_$extension-*.deb");
isnt($runner, undef, 'there is hipq-run') or BAIL_OUT('no package of hipq-run');
my ($top) = glob("$built/hipq-top_$extension-*.deb");
isnt($top, undef, 'there is hipq-top') or BAIL_OUT('no package of hipq-top');
my ($headers) = glob("$built/libhipq-client-dev_$extension-*_all.deb");
isnt($headers, undef, 'there is libhipq-client-dev') or BAIL_OUT('no package of the client for C++');
is(scalar(my @dsc = glob("$built/hipq_$extension-*.dsc")), 1, 'there is a source package');
chomp(my @warnings = `grep -E '^(src/|cc1plus).* warning: ' '$built/build.log' | sort -u`);
is("@warnings", '', 'the compiler has nothing to say of our sources');
if ($suite eq chomped('sh', '-c', '. /etc/os-release; echo $VERSION_CODENAME'))
{
	succeeds('debian/control is what debian/control.in gives in this suite', 'cmp', 'debian/control', glob("$built/hipq-*/debian/control"));
}

# ---- what is in them

my ($library) = "usr/lib/postgresql/$version/lib/hipq.so";
my @files = grep { !m{/$} } split /\n/, chomped('sh', '-c', "dpkg-deb --fsys-tarfile '$deb' | tar -t");
s{^\./}{} foreach @files;
my @code = grep { !m{^usr/share/doc/} } @files;
my @scripts = ("hipq--$extension.sql", map { s{.*/}{}r } glob('sql/hipq--*--*.sql'));
is_deeply([ sort @code ], [ sort $library, map { "usr/share/postgresql/$version/extension/$_" } 'hipq.control', @scripts ],
	'the package has the library and what CREATE EXTENSION reads');
my %documents = map { s{^usr/share/doc/\Q$package\E/}{}r => 1 } @files;
is((grep { !$documents{$_} } glob('README.md docs/*.md docs/*/* monitoring/* examples/*/*')), 0, '... and the manual and examples');
ok($documents{$_}, "... and $_") foreach qw(copyright changelog.gz changelog.Debian.gz);

my @run_files = split /\n/, chomped('sh', '-c', "dpkg-deb --fsys-tarfile '$runner' | tar -t");
is(scalar(grep { m{^\./(?:usr/bin/hipq-run|usr/share/man/man1/hipq-run\.1\.gz|usr/share/bash-completion/completions/hipq-run|(?:usr/)?lib/systemd/system/hipq-run\@\.service)$} } @run_files),
	4, 'hipq-run has its program, manual page, completion and unit');
my @top_files = split /\n/, chomped('sh', '-c', "dpkg-deb --fsys-tarfile '$top' | tar -t");
is(scalar(grep { m{^\./usr/(?:bin/hipq-top|share/man/man1/hipq-top\.1\.gz|share/bash-completion/completions/hipq-top)$} } @top_files), 3,
	'hipq-top has its program, manual page and completion');

my $unpacked = "$built/unpacked";
succeeds('they are unpacked', 'sh', '-c', "rm -rf $unpacked && dpkg-deb -x $deb $unpacked && dpkg-deb -x $symbols $unpacked");
unlike(chomped('readelf', '-W', '-S', "$unpacked/$library"), qr/\s\.(?:symtab|debug_info)\s/, 'the library has no symbols');
my ($id) = chomped('readelf', '-n', "$unpacked/$library") =~ /Build ID: (\w+)/;
my $debug_file = "$unpacked/usr/lib/debug/.build-id/" . ($id =~ s/^(..)/$1\//r) . '.debug';
ok(-e $debug_file, 'the other package has those of this very library') or BAIL_OUT('no symbols');
like(chomped('readelf', '-W', '-S', $debug_file), qr/\s\.debug_info\s/, '... with what debuggers want');
cmp_ok(-s "$unpacked/$library", '<', 8e6, 'the library has less than 8 MB');

# ---- a clean root

my $root = "packages-$version";
make_root($suite, $root);
copy_into($root, '/packages', $deb, $runner, $top, $headers);
copy_into($root, '/hipq', 'README.md', 'debian');
succeeds('it is installed, with the server that it needs', in_root($root, 'apt-get update -qq && apt-get install -y -qq --no-install-recommends /packages/*.deb'));
my $said = succeeds("README's first screen works with Debian's tools", in_root($root, 'cd /hipq && debian/tests/first-use', '--alone'));
like($said, qr/^first use works on PostgreSQL $version$/m, "... on PostgreSQL $version");
like(succeeds('hipq-run starts', in_root($root, 'hipq-run --version')), qr/^hipq-run \Q$extension\E$/m, '... and is of this version');
like(succeeds('hipq-top starts', in_root($root, 'hipq-top --version')), qr/^hipq-top \Q$extension\E$/m, '... and is of this version');
succeeds('it is purged', in_root($root, "apt-get purge -y -qq $package hipq-run hipq-top libhipq-client-dev"));
is(chomped(in_root($root, q{find / -xdev -path /hipq -prune -o -path /packages -prune -o -name 'hipq*' -print})), '', '... and leaves nothing');
remove_root($root);

done_testing();
