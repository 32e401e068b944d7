# The client for Node.js (clients/node), compiled, with its packages from npm. It is a copy, because
# the user that runs tests cannot write into the checkout.
package HipqNodeClient;

use strict;
use warnings;
use File::Copy qw(copy);
use File::Path qw(make_path);
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;

sub is_missing
{
	return 0 < grep { my $tool = $_; !grep { -x "$_/$tool" } split /:/, $ENV{PATH} } qw(node npm);
}

# Returns the folder of the copy. Reports an error, and returns nothing, if it cannot make the copy.
sub build
{
	my $source = "$ENV{HIPQ_ROOT}/clients/node";
	my $copy = PostgreSQL::Test::Utils::tempdir();
	foreach my $file (glob("$source/*.json"), glob("$source/src/*.ts"), glob("$source/test/*.js"))
	{
		my $to = $copy . substr $file, length $source;
		make_path($to =~ s{/[^/]+$}{}r);
		copy($file, $to) or die "$file: $!";
	}
	local $ENV{HOME} = $copy;
	my $is_built = succeeds('npm installs the packages of the client for Node.js', $copy,
		qw(npm ci --no-audit --no-fund --loglevel=error))
	  && succeeds('the client for Node.js compiles', $copy, "$copy/node_modules/.bin/tsc");
	return $is_built ? $copy : undef;
}

# Runs a command; reports its output if it fails.
sub succeeds
{
	my ($what, $folder, @command) = @_;
	my $said = '';
	my $done = IPC::Run::run(\@command, '>&', \$said, init => sub { chdir $folder or die $! });
	return ok($done, $what) || !diag($said);
}

1;
