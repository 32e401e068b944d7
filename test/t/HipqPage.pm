# Runs the code blocks of a page of the manual, as a reader would: one psql and one shell for the
# whole page.
#
# A block of language "text" after a block of SQL or shell is the output that the reader sees.
# Comments in front of a block change how it is run:
#   <!-- look again -->        the block only reads; it is repeated until it shows the text
#   <!-- file: NAME -->        the block is the contents of a file
#   <!-- not run: REASON -->   the block is only for the reader
#   <!-- as: ROLE -->          the block is run as another role, in a separate session
package HipqPage;

use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep time);

# new($path below the root): the page, divided into blocks.
sub new
{
	my ($class, $path) = @_;
	my $self = bless { path => $path, blocks => [], sessions => {} }, $class;
	my ($line, $mark, $block) = (0, '', undef);
	foreach (split /\n/, slurp_file("$ENV{HIPQ_ROOT}/$path"))
	{
		++$line;
		if ($block && /^```$/) { undef $block }
		elsif ($block) { $block->{text} .= "$_\n" }
		elsif (/^```(\w*)$/)
		{
			$block = { language => $1, line => $line, text => '', mark => $mark };
			push @{ $self->{blocks} }, $block;
			$mark = '';
		}
		elsif (/^<!-- (.*) -->$/) { $mark = $1 }
		elsif (/\S/) { $mark = '' }
	}
	return $self;
}

sub blocks { return @{ $_[0]->{blocks} }; }

# Returns the contents of a file on the page.
sub file
{
	my ($self, $name) = @_;
	my ($block) = grep { $_->{mark} eq "file: $name" } $self->blocks;
	return $block ? $block->{text} : die "$self->{path} has no file $name";
}

# run(psql => [command ...], shell => [command ...], directory => ...): runs all blocks in their
# order, one test for each. The psql command gets "-U ROLE" appended where a block is run as another
# role.
sub run
{
	my ($self, %with) = @_;
	$self->{with} = \%with;
	my @blocks = $self->blocks;
	my $shown = 0;
	foreach my $number (0 .. $#blocks)
	{
		my ($block, $next) = @blocks[ $number, $number + 1 ];
		if ($block->{mark} =~ /^file: (\S+)$/) { $self->write_file($1, $block->{text}); next; }
		next if $block->{language} eq 'text' || $block->{mark} =~ /^not run: \S/;
		my $kind = { sql => 'psql', sh => 'shell' }->{ $block->{language} };
		if (!defined $kind)
		{
			fail("$self->{path}:$block->{line}: a block of language "
				. "\"$block->{language}\" cannot be run");
			next;
		}
		my $expected = $next && $next->{language} eq 'text' ? $next->{text} : undef;
		$shown++ if defined $expected;
		$self->run_block($block, $kind, $expected);
	}
	$self->end;
	return $shown;
}

sub write_file
{
	my ($self, $name, $text) = @_;
	my $file = "$self->{with}{directory}/$name";
	open my $out, '>', $file or die "$file: $!";
	print $out $text;
	close $out or die "$file: $!";
	chmod 0755, $file if $text =~ /^#!/;
	return;
}

sub run_block
{
	my ($self, $block, $kind, $expected) = @_;
	my $where = "$self->{path}:$block->{line}";
	my $role = $block->{mark} =~ /^as: (\S+)$/ ? $1 : '';
	my $end = time() + $PostgreSQL::Test::Utils::timeout_default;
	my ($output, $matches);
	while (1)
	{
		$output = $self->ask($kind, $role, $block->{text});
		$matches = defined $expected ? same($output) eq same($expected)
			: $output !~ /ERROR:|FATAL:|command not found|Traceback/;
		last if $matches || $block->{mark} ne 'look again' || time() > $end;
		usleep(100_000);
	}
	ok($matches, defined $expected ? "$where shows what the page says" : "$where works")
	  or diag("---- it shows:\n$output---- and the page says:\n" . ($expected // "no error\n"));
	if ($ENV{HIPQ_PAGE_OUTPUT}) { note("==== $where\n$output") }
	return;
}

# Removes values that differ from run to run, and the widths of columns.
sub same
{
	my ($text) = @_;
	$text =~ s/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?:[+-]\d\d(?::?\d\d)?)?/<time>/g;
	$text =~ s/\b\d\d:\d\d:\d\d(?:\.\d+)?\b/<duration>/g;
	$text =~ s/\bin \d+ (?:ms|s|min|h)\b/in <duration>/g;
	$text =~ s/^(?:psql:)?<stdin>:\d+: //mg;
	$text =~ s/-{2,}/--/g;
	$text =~ s/[ \t]+/ /g;
	$text =~ s/^ | $//mg;
	$text =~ s/\n{2,}/\n/g;
	$text =~ s/^\n|\n$//g;
	return $text;
}

# Sends commands to the page's psql or shell. Returns its stdout and stderr.
sub ask
{
	my ($self, $kind, $role, $text) = @_;
	my $session = $self->{sessions}{"$kind $role"} //= $self->session($kind, $role);
	my $marker = 'end-of-block-' . ++$self->{asked};
	$session->{timer}->start($PostgreSQL::Test::Utils::timeout_default);
	$session->{out} = '';
	$session->{in} .= $text . ($kind eq 'psql' ? "\\echo $marker\n" : "echo $marker\n");
	IPC::Run::pump($session->{run}) until $session->{out}
		=~ /^\Q$marker\E$/m || $session->{timer}->is_expired;
	$session->{out} =~ s/^\Q$marker\E\n//m
		or die "$self->{path}: no end of\n$text\nso far:\n$session->{out}";
	return $session->{out};
}

sub session
{
	my ($self, $kind, $role) = @_;
	my @command = @{ $self->{with}{$kind} };
	push @command, '-U', $role if $role ne '';
	my $session = { in => '', out => '',
		timer => IPC::Run::timer($PostgreSQL::Test::Utils::timeout_default) };
	$session->{run} = IPC::Run::start([ 'bash', '-c', 'exec "$@" 2>&1', 'bash', @command ], '<',
		\$session->{in}, '>', \$session->{out},
		$session->{timer});
	return $session;
}

sub end
{
	my ($self) = @_;
	foreach my $session (values %{ $self->{sessions} })
	{
		eval { IPC::Run::finish($session->{run}); 1 } or diag($@);
	}
	$self->{sessions} = {};
	return;
}

1;
