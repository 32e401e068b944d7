# Shared by the tests of packages: commands with their output, and clean roots (tools/clean-root).
package HipqRoots;

use strict;
use warnings;
use Cwd qw(abs_path);
use Exporter qw(import);
use File::Basename qw(dirname);
use Test::More;

our @EXPORT = qw(run chomped succeeds make_root copy_into in_root remove_root slurp);

chdir dirname(abs_path(__FILE__)) . '/../..' or die $!;
$> == 0 or die "packages are tried in roots, which only root makes and enters\n";

# Runs a command; returns its output and its status.
sub run
{
	my (@command) = @_;
	open my $from, '-|', 'sh', '-c', 'exec "$@" 2>&1 </dev/null', 'sh', @command
		or die "$command[0]: $!\n";
	my $said = do { local $/; <$from> } // '';
	close $from;
	return ($said, $?);
}

# Returns the output of a command that must succeed.
sub chomped
{
	my ($said, $status) = run(@_);
	die "@_: failed\n$said" if $status != 0;
	chomp $said;
	return $said;
}

# Tests that a command succeeds, and returns its output.
sub succeeds
{
	my ($what, @command) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($said, $status) = run(@command);
	return $said if ok($status == 0, $what);
	my @lines = split /\n/, $said;
	diag(join "\n", "---- @command", @lines > 40 ? @lines[ -40 .. -1 ] : @lines);
	return $said;
}

sub slurp
{
	my ($path) = @_;
	open my $in, '<', $path or die "$path: $!\n";
	local $/;
	return <$in>;
}

# make_root($suite, $name, package ...): a new copy of a minimal system of Debian's suite, with
# these packages.
sub make_root
{
	my ($suite, $name, @packages) = @_;
	my $model = join '-', $suite, @packages;
	chomped('tools/clean-root', 'make', $model, $suite, @packages);
	chomped('tools/clean-root', 'copy', $model, $name);
	return;
}

# copy_into($name, $folder, path ...): copies files and folders into a folder of a root.
sub copy_into
{
	my ($name, $folder, @paths) = @_;
	my $to = chomped('tools/clean-root', 'path', $name) . $folder;
	chomped('mkdir', '-p', $to);
	chomped('cp', '-r', @paths, "$to/");
	return;
}

# in_root($name, $script, option ...): returns the command that runs lines of shell in a root.
sub in_root
{
	my ($name, $script, @options) = @_;
	return ('tools/clean-root', 'run', $name, @options, 'sh', '-euc', $script);
}

sub remove_root { return chomped('tools/clean-root', 'remove', $_[0]); }

1;
