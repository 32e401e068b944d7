# test/run counts failures, runs a file that failed once more, and reports this on its last lines.
# It runs here in a copy without hipq, with one file in the place of the fuzz test.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = $ENV{HIPQ_ROOT};
delete $ENV{FUZZ_MINUTES};    # from make check
my $copy = PostgreSQL::Test::Utils::tempdir();
foreach my $folder (qw(test test/guard test/marks test/t test/t/faults
		test/t/shards test/t/clients))
{
	mkdir "$copy/$folder" or die "$copy/$folder: $!";
}
system_or_bail('cp', '-r', "$root/tools", $copy);
system_or_bail('cp', "$root/test/run", "$root/test/lib.sh", "$copy/test");
append_to_file("$copy/$_/Makefile", "install:\n") foreach '.', 'test/guard', 'test/marks';
# The packages are installed, because this test runs. Checking them each time would take longer than
# everything else.
unlink "$copy/tools/setup";
symlink('/bin/true', "$copy/tools/setup") or die "$copy/tools/setup: $!";

# The suite of the fuzz test has other files, too.
append_to_file("$copy/test/t/$_.pl", "use Test::More skip_all => 'not of this test';\n")
	foreach qw(shards/letters clients/web_hostile);

# Runs test/run with this file. Returns its status, its last line, and all its output.
sub run_with
{
	my ($file) = @_;
	unlink "$copy/test/t/faults/fuzz.pl";
	append_to_file("$copy/test/t/faults/fuzz.pl",
		"use strict;\nuse warnings;\nuse Test::More;\n$file");
	my $said = `'$copy/test/run' fuzz 2>&1`;
	return ($? >> 8, $said =~ /^(.*)\n\z/m ? $1 : '', $said);
}

my ($status, $last, $said) = run_with("ok(1, 'good'); ok(1, 'better'); done_testing();");
is("$status: $last", '0: 2 passed, 0 failed', 'a file that passes is counted');

($status, $last, $said) = run_with("ok(1, 'good'); ok(0, 'bad'); done_testing();");
is("$status: $last", '1: 1 passed, 1 failed', 'a file that fails twice is counted as failed');
like($said, qr/^fuzz: faults\/fuzz fails again /m, 'a file that fails is run again');
like($said, qr/^fuzz: faults\/fuzz: not ok 2 - bad$/m, 'the test that failed is named');

($status, $last, $said) = run_with("ok(1, 'good'); ok(-e '$copy/lucky', 'lucky'); open(my \$file, "
	. "'>', '$copy/lucky'); done_testing();");
is("$status: $last", '0: 2 passed, 0 failed', 'a file that fails once is counted as passed');
like($said,
	qr{^unstable: fuzz: faults/fuzz: not ok 2 - lucky \(build/check/fuzz\.log, build/check/again-fuzz-faults-fuzz\.log\)$}m,
	'a file that fails once is named with its logs');
like(slurp_file("$copy/build/check/fuzz.log"), qr/not ok 2 - lucky/,
	'the log has the first run of the file');

($status, $last, $said) = run_with('die "at once";');
is("$status: $last", '1: 0 passed, 1 failed', 'a file that dies at once is counted as failed');
($status, $last, $said) = run_with("ok(1, 'good'); die 'in the middle';");
is("$status: $last", '1: 1 passed, 1 failed', 'a file that dies after a test is counted as failed');
($status, $last, $said) = run_with("plan tests => 3; ok(1, 'good');");
is("$status: $last", '1: 1 passed, 1 failed', 'a file that ends early is counted as failed');

{
	local $ENV{FUZZ_MINUTES} = '0.3';
	($status, $last, $said) = run_with("ok(1, 'good'); done_testing();");
	is("$status: $last", '1: 0 passed, 1 failed', 'an error of test/run is counted as failed');
	like($said, qr/^only 0 of 1 suites came to their end$/m, 'an error of test/run is reported');
}

# Returns the counts that test/lib.sh reads from the output of another runner.
sub counts_of
{
	my ($log) = @_;
	my $file = "$copy/log";
	unlink $file;
	append_to_file($file, $log);
	return `bash -c 'set -euo pipefail
		source "$copy/tools/lib.sh"; out=$copy; cluster=$copy; source "$copy/test/lib.sh"
		counts_in $file | sort; failures_in $file'`;
}
is(counts_of("test setup                        ... ok           61 ms\ntest "
		. "enqueue                      ... FAILED       70 ms\n"),
	"enqueue 0 1\nsetup 1 0\nenqueue: test enqueue                      ... FAILED       70 ms\n",
		"results of PostgreSQL 15's pg_regress are counted");
is(counts_of("# parallel group\nok 1         - setup                                      61 "
		. "ms\nnot ok 2     - enqueue                                    70 ms\n"),
	"enqueue 0 1\nsetup "
		. "1 0\nenqueue: not ok 2     - enqueue                                    70 ms\n",
		"results of PostgreSQL 16's pg_regress are counted");
is(counts_of("[12:00:00] $copy/test/pgtap/rights.sql .. \nok 1 - good\nnot ok 2 - bad\n[12:00:01] "
		. "$copy/test/t/job/a.pl .. \nok 1 - good\n"
			. "Test Summary Report\n$copy/test/pgtap/rights.sql (Wstat: 0 Tests: 2 Failed: "
				. "1)\n$copy/test/t/job/a.pl (Wstat: 256 Tests: 1 Failed: 0)\n"),
	"job/a 1 1\nrights 1 1\nrights: not "
		. "ok 2 - bad\njob/a: $copy/test/t/job/a.pl (Wstat: 256 Tests: 1 Failed: 0)\n",
		'results of prove and pg_prove, and of a file that died, are counted');

done_testing();
