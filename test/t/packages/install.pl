# `make install` and CMake install into a user's server a library without symbols, and all files
# that CREATE EXTENSION and ALTER EXTENSION UPDATE read. Builds for tests keep the symbols.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = $ENV{HIPQ_ROOT};
my ($version) = slurp_file("$root/hipq.control") =~ /^default_version = '(.*)'$/m;
chomp(my $libraries = `pg_config --pkglibdir`);
chomp(my $share = `pg_config --sharedir`);
my @scripts = split ' ', `make -s --no-print-directory -C '$root' print-DATA_built`;

sub has_symbols { return scalar grep { /\s\.(?:symtab|debug_info)\s/ } `readelf -W -S '$_[0]'`; }

# Returns the files that were installed below a folder, with the paths that the server uses.
sub installed
{
	my ($below) = @_;
	chomp(my @files = `cd '$below' && find . -type f -printf '/%P\n' | sort`);
	return \@files;
}

ok(has_symbols("$root/hipq.so"), 'the library of a build for tests has symbols');

# The existing library is installed, and nothing is compiled.
my @make = ('make', '-s', '-C', $root, (map { ('-o', $_) } 'hipq.so', @scripts), 'install');
my $expected = [ sort "$libraries/hipq.so", map { "$share/extension/$_" } 'hipq.control',
	@scripts ];
foreach my $case ([ users => 0 ], [ tests => 1, 'WERROR=1' ],
	[ packagers => 1, 'INSTALL_STRIP_FLAG=' ])
{
	my ($who, $symbols, @variables) = @$case;
	my $to = PostgreSQL::Test::Utils::tempdir();
	command_ok([ @make, "DESTDIR=$to", 'PROGRAMS=', @variables ], "make install for $who");
	is_deeply(installed($to), $expected, "$who get all files that the server looks for");
	is(!!has_symbols("$to$libraries/hipq.so"), !!$symbols,
		"the library for $who has" . ($symbols ? '' : ' no') . ' symbols');
}

# A program whose libraries are missing is left out, with a message.
command_like([ qw(make -s -C), $root, 'top-left-out', 'not_found=curses.h' ],
	qr/^hipq-top is not built: curses\.h is missing$/,
	'the message names the library that is missing');
command_like([ qw(make -s --no-print-directory -C), $root, 'print-built_programs',
		'not_found=curses.h' ], qr/^run +web$/,
	'the program that needs the missing library is left out');

# Tests that systemd accepts the unit of an installed program, with any name of an instance.
sub systemd_likes
{
	my ($unit) = @_;
	SKIP: {
		skip 'there is no systemd here', 1
			unless grep { -x "$_/systemd-analyze" } split /:/, $ENV{PATH};
		my ($out, $err) = run_command([ 'systemd-analyze', 'verify', '--man=no',
				$unit =~ s/\@(?=\.service$)/\@name/r ]);
		is("$out$err", '', "systemd accepts $unit");
	}
	return;
}

# hipq-run as built for tests, with its other files.
SKIP: {
	skip 'hipq-run was not built', 6 unless -x "$root/build/run-test/hipq-run";
	chomp(my ($programs, $manual) = map { `pg_config --$_` } qw(bindir mandir));
	my $to = PostgreSQL::Test::Utils::tempdir();
	command_ok([ 'make', '-s', '-C', "$root/clients/run", 'install', 'WERROR=1',
			'INSTALL_STRIP_FLAG=-s', "DESTDIR=$to" ], 'make install of hipq-run');
	is_deeply(installed($to), [ sort "$programs/hipq-run", "$manual/man1/hipq-run.1",
			map { "$share/hipq/$_" } 'hipq-run.bash', 'hipq-run@.service' ],
		'hipq-run has its program, manual page, completion and unit');
	ok(!has_symbols("$to$programs/hipq-run"), 'hipq-run has no symbols');
	like(slurp_file("$to$share/hipq/hipq-run\@.service"),
		qr{^ExecStart=\Q$programs\E/hipq-run --config /etc/hipq/%i.json }m,
		"the unit of hipq-run has the program's path");
	systemd_likes("$to$share/hipq/hipq-run\@.service");
	command_like([ "$to$programs/hipq-run", '--version' ], qr/^hipq-run \Q$version\E$/,
		'the installed hipq-run has this version');
}

# The programs of a distribution's server are in a folder that is not in PATH. Then make installs
# hipq's programs into /usr/local.
SKIP: {
	skip 'hipq-run was not built', 3 unless -x "$root/build/run-test/hipq-run";
	my ($to, $there) = map { PostgreSQL::Test::Utils::tempdir() } 1 .. 2;
	append_to_file("$there/pg_config", <<'END');
#!/bin/sh
if [ "$1" = --bindir ]; then echo /usr/lib/postgresql/15/bin; else exec pg_config "$@"; fi
END
	chmod 0755, "$there/pg_config" or die $!;
	command_ok([ 'make', '-s', '-C', "$root/clients/run", 'install', 'WERROR=1',
			'INSTALL_STRIP_FLAG=-s',
			"DESTDIR=$to", "PG_CONFIG=$there/pg_config" ],
		"make install of hipq-run beside a distribution's server");
	is_deeply(installed($to), [ map { "/usr/local/$_" } qw(
				bin/hipq-run lib/systemd/system/hipq-run@.service
				share/bash-completion/completions/hipq-run share/man/man1/hipq-run.1) ],
		'hipq-run is installed where shells, man, bash and systemd look');
	like(slurp_file("$to/usr/local/lib/systemd/system/hipq-run\@.service"),
		qr{^ExecStart=/usr/local/bin/hipq-run }m,
		'the unit of hipq-run has the path in /usr/local');
}

# hipq-top as built for tests.
SKIP: {
	skip 'hipq-top was not built', 4 unless -x "$root/build/top-test/hipq-top";
	chomp(my ($programs, $manual) = map { `pg_config --$_` } qw(bindir mandir));
	my $to = PostgreSQL::Test::Utils::tempdir();
	command_ok([ 'make', '-s', '-C', "$root/clients/top", 'install', 'WERROR=1',
			'INSTALL_STRIP_FLAG=-s', "DESTDIR=$to" ], 'make install of hipq-top');
	is_deeply(installed($to),
		[ sort "$programs/hipq-top", "$manual/man1/hipq-top.1", "$share/hipq/hipq-top.bash" ],
		'hipq-top has its program, manual page and completion');
	ok(!has_symbols("$to$programs/hipq-top"), 'hipq-top has no symbols');
	command_like([ "$to$programs/hipq-top", '--version' ], qr/^hipq-top \Q$version\E$/,
		'the installed hipq-top has this version');
}

# hipq-web as built for tests.
SKIP: {
	skip 'hipq-web was not built', 7 unless -x "$root/build/web-test/hipq-web";
	chomp(my ($programs, $manual) = map { `pg_config --$_` } qw(bindir mandir));
	my $to = PostgreSQL::Test::Utils::tempdir();
	command_ok([ 'make', '-s', '-C', "$root/clients/web", 'install', 'WERROR=1',
			'INSTALL_STRIP_FLAG=-s', "DESTDIR=$to" ], 'make install of hipq-web');
	my @installed = @{ installed($to) };
	is_deeply([ grep { !m{^\Q$share\E/hipq/web/} } @installed ],
		[ sort "$programs/hipq-web", "$manual/man1/hipq-web.1",
			map { "$share/hipq/$_" } 'hipq-web.bash', 'hipq-web.service' ],
		'hipq-web has its program, manual page, completion and unit');
	chomp(my @page = `cd '$root/clients/web/page' && find . -type f -printf '%P\n'`);
	is_deeply([ grep { m{^\Q$share\E/hipq/web/} } @installed ],
		[ sort map { "$share/hipq/web/$_" } @page ], 'hipq-web has its page');
	ok(!has_symbols("$to$programs/hipq-web"), 'hipq-web has no symbols');
	like(slurp_file("$to$share/hipq/hipq-web.service"), qr{^ExecStart=\Q$programs\E/hipq-web }m,
		"the unit of hipq-web has the program's path");
	systemd_likes("$to$share/hipq/hipq-web.service");
	command_like([ "$to$programs/hipq-web", '--version' ], qr/^hipq-web \Q$version\E$/,
		'the installed hipq-web has this version');
}

# Roots of other versions of PostgreSQL (tools/root) have no CMake.
SKIP: {
	skip 'there is no CMake here', 8 unless grep { -x "$_/cmake" } split /:/, $ENV{PATH};
	cmake_installs('users', 0, 'OFF');
	cmake_installs('tests', 1, 'ON');
}

sub cmake_installs
{
	my ($who, $symbols, $werror) = @_;
	my ($build, $to) = map { PostgreSQL::Test::Utils::tempdir() } 1 .. 2;
	command_ok([ 'cmake', '-S', $root, '-B', $build, "-DWERROR=$werror", '-DHIPQ_RUN=OFF',
			'-DHIPQ_TOP=OFF', '-DHIPQ_WEB=OFF' ], "CMake configures for $who");
	system('cp', "$root/hipq.so", "$build/hipq.so") == 0 or die 'cp failed';
	local $ENV{DESTDIR} = $to;
	command_ok([ 'cmake', '--install', $build ], "CMake installs for $who");
	is_deeply(installed($to), $expected,
		"CMake's install for $who has all files that the server looks for");
	is(!!has_symbols("$to$libraries/hipq.so"), !!$symbols,
		"the library for $who has" . ($symbols ? '' : ' no') . ' symbols');
	return;
}

done_testing();
