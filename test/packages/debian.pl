# Debian's packages, built from the tarball, have the right files, work in a clean root with
# Debian's own tools, and leave nothing when purged. uscan finds the tarball, and autopkgtest tests
# the packages. PG (15) is the version of PostgreSQL, and with it the suite. Root runs it, with
# prove; see suite_packages in test/run.
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
isnt($deb, undef, "package $package was built") or BAIL_OUT('no package');
isnt($symbols, undef, 'the package with the symbols was built');
my @programs = qw(hipq-run hipq-top hipq-web);
my %program_deb = map { $_ => (glob("$built/${_}_$extension-*.deb"))[0] } @programs;
foreach my $program (@programs)
{
	isnt($program_deb{$program}, undef, "package $program was built")
		or BAIL_OUT("no package of $program");
}
my ($headers) = glob("$built/libhipq-client-dev_$extension-*_all.deb");
isnt($headers, undef, 'package libhipq-client-dev was built')
	or BAIL_OUT('no package of the client for C++');
is(scalar(my @dsc = glob("$built/hipq_$extension-*.dsc")), 1, 'the source package was built');
chomp(my @warnings = `grep -E '^(src/|cc1plus).* warning: ' '$built/build.log' | sort -u`);
is("@warnings", '', "the compiler has no warnings for hipq's sources");
if ($suite eq chomped('sh', '-c', '. /etc/os-release; echo $VERSION_CODENAME'))
{
	succeeds('debian/control is what debian/control.in gives in this suite', 'cmp',
		'debian/control', glob("$built/hipq-*/debian/control"));
}

# ---- uscan finds the tarball, once the address exists

my ($orig) = glob("$built/hipq_$extension.orig.tar.gz");
my $site = chomped('realpath', $built) . '/site';
chomped('sh', '-c', 'rm -rf "$0" && mkdir -p "$0/releases" "$0/source" && cp -r debian "$0/source"'
		. ' && cp "$1" "$0/releases/hipq-$2.tar.gz" && cp "$1" "$0/releases/hipq-0.0.1.tar.gz"'
		. ' && touch "$0/releases/hipq-$2.zip"', $site, $orig, $extension);
my $scan = succeeds('uscan reads debian/watch', 'tools/clean-root', 'run', "$suite-build",
	'--alone', "--bind=$site:/site", 'bash', '-euc', <<'END');
cd /site/source
python3 -m http.server --bind 127.0.0.1 --directory /site 8000 >/site/log 2>&1 &
for i in $(seq 100); do (: </dev/tcp/127.0.0.1/8000) 2>/dev/null && break; sleep 0.1; done
sed -i 's,https://hipq.invalid/,http://127.0.0.1:8000/,' debian/watch
uscan --report --dehs || [ $? = 1 ]
uscan --download-current-version --destdir /site
END
like($scan, qr{<upstream-version>\Q$extension\E</upstream-version>\n.*
		<status>up\ to\ date</status>}sx, '... and finds this version');
is(chomped('sh', '-c', 'cmp "$0" "$1" 2>&1 || true', $orig, "$site/hipq_$extension.orig.tar.gz"),
	'', '... and fetches its tarball');

# ---- what is in them

my ($library) = "usr/lib/postgresql/$version/lib/hipq.so";
# The files that a package installs.
sub files_of
{
	my ($from) = @_;
	return map { s{^\./}{}r } grep { !m{/$} } split /\n/, chomped('sh', '-c',
		"dpkg-deb --fsys-tarfile '$from' | tar -t");
}

my @files = files_of($deb);
my @code = grep { !m{^usr/share/doc/} } @files;
my @scripts = split ' ', chomped('make', '-s', '--no-print-directory', 'print-DATA_built');
is_deeply([ sort @code ], [ sort $library,
		map { "usr/share/postgresql/$version/extension/$_" } 'hipq.control', @scripts ],
	'the package has the library and the files that CREATE EXTENSION reads');
my %documents = map { s{^usr/share/doc/\Q$package\E/}{}r => 1 } @files;
is(join(' ', grep { !$documents{$_} } split /\n/,
		chomped('find', qw(README.md docs monitoring examples -type f))), '',
	'the package has the manual and the examples');
ok($documents{$_}, "the package has $_") foreach qw(copyright changelog.gz changelog.Debian.gz);

# The folder of systemd's units depends on the suite.
my %also = (
	'hipq-run' => [ 'usr/share/bash-completion/completions/hipq-run',
		'lib/systemd/system/hipq-run@.service' ],
	'hipq-top' => ['usr/share/bash-completion/completions/hipq-top'],
	'hipq-web' => [
		'usr/share/bash-completion/completions/hipq-web', 'lib/systemd/system/hipq-web.service',
		split /\n/, chomped('find', 'clients/web/page', '-type', 'f', '-printf',
			"usr/share/hipq/web/%P\n")
	]);
my %needs = ('hipq-run' => [qw(libcurl libpq5)], 'hipq-top' => [qw(libncursesw6 libpq5)],
	'hipq-web' => [qw(libcpp-httplib libpq5 libssl)]);
foreach my $program (@programs)
{
	my $from = $program_deb{$program};
	my @has = map { s{^usr/(?=lib/systemd)}{}r } grep { !m{^usr/share/doc/} } files_of($from);
	is_deeply([ sort @has ], [ sort "usr/bin/$program", "usr/share/man/man1/$program.1.gz",
			@{ $also{$program} } ], "$program has its files");
	my $depends = chomped('dpkg-deb', '-f', $from, 'Depends');
	like($depends, qr/\b\Q$_\E/, "$program depends on $_") foreach @{ $needs{$program} };
	unlike($depends, qr/\bpostgresql-\d/, "$program depends on no server");
}

my $unpacked = "$built/unpacked";
succeeds('they are unpacked', 'sh', '-c',
	"rm -rf $unpacked && dpkg-deb -x $deb $unpacked && dpkg-deb -x $symbols $unpacked");
unlike(chomped('readelf', '-W', '-S', "$unpacked/$library"), qr/\s\.(?:symtab|debug_info)\s/,
	'the library has no symbols');
my ($id) = chomped('readelf', '-n', "$unpacked/$library") =~ /Build ID: (\w+)/;
my $debug_file = "$unpacked/usr/lib/debug/.build-id/" . ($id =~ s/^(..)/$1\//r) . '.debug';
ok(-e $debug_file, 'the other package has the symbols of this library') or BAIL_OUT('no symbols');
like(chomped('readelf', '-W', '-S', $debug_file), qr/\s\.debug_info\s/,
	'the symbols have what debuggers need');
cmp_ok(-s "$unpacked/$library", '<', 8e6, 'the library has less than 8 MB');

# ---- a clean root

my $root = "packages-$version";
make_root($suite, $root);
copy_into($root, '/packages', $deb, values %program_deb, $headers);
copy_into($root, '/hipq', 'README.md', 'debian');
copy_into($root, '/hipq/debian', glob("$built/hipq-*/debian/control"));
succeeds('it is installed, with the server that it needs', in_root($root,
		'apt-get update -qq && apt-get install -y -qq --no-install-recommends /packages/*.deb'));
my $said = succeeds("README's first screen works with Debian's tools",
	in_root($root, 'cd /hipq && debian/tests/first-use', '--alone'));
like($said, qr/^first use works on PostgreSQL $version$/m,
	"README's first use works on PostgreSQL $version");
like(succeeds("$_ starts beside it", in_root($root, "$_ --version")), qr/^$_ \Q$extension\E$/m,
	'... and is of this version') foreach @programs;
succeeds('a server has it preloaded', in_root($root, "pg_createcluster $version kept && "
		. "pg_conftool $version kept set shared_preload_libraries 'pg_stat_statements, hipq'"));
like(succeeds('the package is removed', in_root($root, "apt-get remove -y -qq $package 2>&1")),
	qr/^WARNING: server $version\/kept has hipq in shared_preload_libraries, and will not start again/m,
		'... with a warning that this server will not start');
succeeds('it is installed again',
	in_root($root, "apt-get install -y -qq --no-install-recommends /packages/postgresql-*.deb && "
		. "pg_conftool $version kept set shared_preload_libraries ''"));
unlike(succeeds('removed where no server has it', in_root($root,
		"apt-get remove -y -qq $package 2>&1")), qr/WARNING: server/, '... it says nothing');
succeeds('once more', in_root($root, "pg_dropcluster $version kept && apt-get install -y -qq "
		. "--no-install-recommends /packages/postgresql-*.deb"));
succeeds('it is purged',
	in_root($root, "apt-get purge -y -qq $package @programs libhipq-client-dev"));
sub leaves_nothing
{
	my ($in) = @_;
	return is(chomped(in_root($in,
			q{find / -xdev -path /hipq -prune -o -path /packages -prune -o -name 'hipq*' -print})),
		'', 'nothing is left after the purge');
}
leaves_nothing($root);
succeeds('autopkgtest is installed', in_root($root,
		'apt-get install -y -qq --no-install-recommends autopkgtest apt-utils'));
like(succeeds('autopkgtest reads debian/tests, and installs the packages',
		in_root($root, 'autopkgtest --no-built-binaries /packages/*.deb /hipq -- null')),
	qr/^first-use +PASS$/m, "... and README's first screen works there");
remove_root($root);

# ---- the programs on a machine that has no server

my $client = "programs-$version";
make_root($suite, $client);
copy_into($client, '/packages', values %program_deb);
succeeds('the programs are installed alone, with the libraries that they need', in_root($client,
		'apt-get update -qq && apt-get install -y -qq --no-install-recommends /packages/*.deb'));
foreach my $program (@programs)
{
	like(succeeds("$program starts", in_root($client, "$program --version")),
		qr/^$program \Q$extension\E$/m, '... and is of this version');
	like(succeeds('... and helps', in_root($client, "$program --help")), qr/ --help\b/,
		'... with its options');
}
$said = succeeds('hipq-web serves', in_root($client, <<'END', '--alone'));
hipq-web --listen 8484 2>/tmp/log &
for i in $(seq 100); do grep -q 'serving on' /tmp/log && break; sleep 0.1; done
cat /tmp/log
get() {
    bash -c 'exec 3<>/dev/tcp/127.0.0.1/8484
        printf "GET $0 HTTP/1.1\r\nHost: 127.0.0.1:8484\r\nConnection: close\r\n\r\n" >&3
        cat <&3' "$1"
}
get / | tr -d '\r'
cd /usr/share/hipq/web
find . -type f | sed 's/^.//' | while read -r file; do
    get "$file" | sed '1,/^\r$/d' | cmp -s - ".$file" || echo "differs: $file"
done
END
like($said, qr{^HTTP/1\.1 200 OK\n.*<title>hipq</title>}ms,
	'... its page, from where it is installed');
unlike($said, qr/^differs: /m, '... and every file of it');
succeeds('systemd is installed',
	in_root($client, 'apt-get install -y -qq --no-install-recommends systemd'));
is(chomped(in_root($client, "systemd-analyze verify --man=no $_ 2>&1")), '',
	"... and finds nothing wrong with $_") foreach qw(hipq-web.service hipq-run@name.service);
succeeds('they are purged', in_root($client, "apt-get purge -y -qq @programs"));
leaves_nothing($client);
remove_root($client);

done_testing();
