# Runs a program in its own terminal, tmux: types keys, and reads the screen.
package HipqScreen;

use strict;
use warnings;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep time);

# Returns the path of tmux, or nothing if it is not installed.
sub tmux { return (grep { -x } map { "$_/tmux" } split /:/, $ENV{PATH})[0]; }

# new([command], columns => 120, lines => 30, env => {...}): starts the program.
sub new
{
	my ($class, $command, %options) = @_;
	my $self = bless { socket => PostgreSQL::Test::Utils::tempdir_short() . '/tmux' }, $class;
	my @assignments = map { "$_=$options{env}{$_}" } sort keys %{ $options{env} // {} };
	$self->ask('new-session', '-d', '-x', $options{columns} // 120, '-y', $options{lines} // 30,
		'env', @assignments, @$command);
	# Keeps the screen after the end of the program, so that tests can read it.
	$self->ask('set-option', '-g', 'remain-on-exit', 'on');
	return $self;
}

# Runs a command of tmux, and returns its output.
sub ask
{
	my ($self, @words) = @_;
	my ($out, $err) = ('', '');
	IPC::Run::run([ tmux(), '-f', '/dev/null', '-S', $self->{socket}, @words ], '<', \'', '>',
		\$out, '2>', \$err);
	return $out;
}

# Types keys, by tmux's names: a, Enter, Escape, Down ...
sub press { my ($self, @keys) = @_; $self->ask('send-keys', @keys); return $self; }
sub type
{
	my ($self, $text) = @_;
	$self->ask('send-keys', '-l', $text);
	return $self->press('Enter');
}
sub resize
{
	my ($self, $columns, $lines) = @_;
	$self->ask('resize-window', '-x', $columns, '-y', $lines);
	return $self;
}

# Return the screen with the lines that have scrolled away; the screen; the screen with its colours
# as escape sequences.
sub history { my ($self) = @_; return $self->ask('capture-pane', '-p', '-S', '-'); }
sub text { my ($self) = @_; return $self->ask('capture-pane', '-p'); }
sub coloured { my ($self) = @_; return $self->ask('capture-pane', '-p', '-e'); }

# Waits until the screen matches.
sub shows
{
	my ($self, $pattern) = @_;
	my $end = time() + $PostgreSQL::Test::Utils::timeout_default;
	until ($self->text =~ $pattern)
	{
		if (time() > $end) { diag("no $pattern on the screen:\n" . $self->text); return 0; }
		usleep(50_000);
	}
	return 1;
}

# Waits for the program's end, and returns its exit code. tmux sometimes misses the end of a child
# until another child ends.
sub exit_code
{
	my ($self) = @_;
	my $end = time() + $PostgreSQL::Test::Utils::timeout_default;
	my $code = '';
	until (($code) = $self->ask('list-panes', '-F', '#{pane_dead_status}') =~ /^(\d+)/)
	{
		return 'still there' if time() > $end;
		$self->ask('run-shell', 'true');
		usleep(50_000);
	}
	return $code;
}

sub pid
{
	my ($self) = @_;
	chomp(my $pid = $self->ask('list-panes', '-F', '#{pane_pid}'));
	return $pid;
}

sub DESTROY { my ($self) = @_; local ($?, $@); $self->ask('kill-server'); return; }

1;
