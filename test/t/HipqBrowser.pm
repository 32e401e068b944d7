# Runs tests of a web page in a real browser (clients/web/test/browser), Debian's Chromium, with
# their packages from npm. They run in a copy, because the user that runs tests cannot write into
# the checkout.
package HipqBrowser;

use strict;
use warnings;
use File::Copy qw(copy);
use HipqNodeClient;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;

my @names = qw(chromium chromium-browser google-chrome);

# Returns the path of the browser, or nothing if there is none.
sub browser
{
	return (grep { -x } map { my $name = $_; map { "$_/$name" } split /:/, $ENV{PATH} } @names)[0];
}

# Returns what is missing, in words.
sub missing
{
	return 'needs node and npm' if HipqNodeClient::is_missing();
	return defined browser() ? undef : 'needs chromium';
}

# Returns the folder of the copy. Reports an error, and returns nothing, if it cannot make the copy.
sub build
{
	my $copy = PostgreSQL::Test::Utils::tempdir();
	foreach my $file (glob "$ENV{HIPQ_ROOT}/clients/web/test/browser/*.js*")
	{
		copy($file, $copy) or die "$file: $!";
	}
	local $ENV{HOME} = $copy;
	return HipqNodeClient::succeeds('npm installs the packages of the tests', $copy,
		qw(npm ci --no-audit --no-fund --loglevel=error)) ? $copy : undef;
}

# Runs a file of tests in the copy, for at most 15 minutes; each of its tests is one test here.
sub run
{
	my ($folder, $file) = @_;
	local $ENV{HOME} = $folder;
	local $ENV{HIPQ_BROWSER} = browser();
	my $said = '';
	my $done = IPC::Run::run([ 'timeout', '-k', '5', '900', 'node', '--test-reporter=tap', $file ],
		'>&', \$said, init => sub { chdir $folder or die $! });
	my ($passed, $failed) = (0, 0);
	foreach my $line (split /\n/, $said)
	{
		my ($not, $what) = $line =~ /^(not )?ok \d+ - (.*)/ or next;
		ok(!$not, "$file: $what");
		if ($not) { $failed++ } else { $passed++ }
	}
	return ok($done && $passed > 0 && $failed == 0, "$file: $passed tests") || diag($said);
}

1;
