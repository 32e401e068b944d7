# Runs races of two sessions, many pairs at a time. In each pair the first session runs a statement
# and keeps its transaction open, the second session runs a statement, and the first session commits
# or rolls back. The test judges both results, and whether the second session waited.
package HipqRaces;

use strict;
use warnings;
use IPC::Open2;
use Time::HiRes qw(usleep time);

# new($hipq, $pairs): this many pairs of sessions. setup => SQL that each session runs first.
sub new
{
	my ($class, $hipq, $pairs, %options) = @_;
	$hipq->sql(q{
		CREATE FUNCTION try(statement text) RETURNS text LANGUAGE plpgsql AS $$
		DECLARE answer text;
		BEGIN
			EXECUTE statement INTO answer;
			RETURN coalesce(nullif(answer, ''), 'done');
		EXCEPTION WHEN OTHERS THEN
			RETURN SQLSTATE || ' ' || regexp_replace(SQLERRM,
				'\m(job|worker) (-?[0-9]+|"[^"]*")', '\1 <id>');
		END $$});
	my $self = bless { hipq => $hipq }, $class;
	$self->{$_} = [ map { $self->open_session } 1 .. $pairs ] foreach qw(first second);
	$self->run($self->all, $options{setup}) if defined $options{setup};
	foreach my $session ($self->all) { send_to($session, 'SELECT pg_backend_pid()'); }
	$_->{pid} = answer_of($_) foreach $self->all;
	return $self;
}

sub all { my ($self) = @_; return (@{ $self->{first} }, @{ $self->{second} }); }

sub pids { my ($self) = @_; return map { $_->{pid} } $self->all; }

sub open_session
{
	my ($self) = @_;
	my $pid = open2(my $out, my $in, 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d',
		$self->{hipq}->node->connstr('postgres'));
	$in->autoflush(1);
	my $session = { psql => $pid, in => $in, out => $out, read => '', sent => 0 };
	push @{ $self->{sessions} }, $session;
	return $session;
}

sub send_to
{
	my ($session, $sql) = @_;
	my $mark = 'end ' . ++$session->{sent};
	$session->{sql} = $sql;
	local $SIG{PIPE} = 'IGNORE';
	print { $session->{in} } "$sql;\n\\echo $mark\n" or die "psql is gone: $sql";
	return;
}

# Returns the output of the last statement, if it arrived within this many seconds.
sub answer_of
{
	my ($session, $seconds) = @_;
	my $end = time() + ($seconds // $PostgreSQL::Test::Utils::timeout_default);
	my $mark = "end $session->{sent}\n";
	while ($session->{read} !~ /^\Q$mark\E/m)
	{
		my $left = $end - time();
		vec(my $reads = '', fileno $session->{out}, 1) = 1;
		if (!select($reads, undef, undef, $left > 0 ? $left : 0))
		{
			return if defined $seconds;
			die "a session does not answer: $session->{sql}";
		}
		sysread($session->{out}, $session->{read}, 65536, length $session->{read})
			or die "a session has ended: $session->{sql}";
	}
	my ($answer) = $session->{read} =~ /\A(.*?)\n?^\Q$mark\E/ms;
	$session->{read} = '';
	return $answer;
}

# Runs SQL, the last argument, in some sessions, in all of them at once.
sub run
{
	my ($self, @sessions) = @_;
	my $sql = pop @sessions;
	send_to($_, $sql) foreach @sessions;
	return map { answer_of($_) } @sessions;
}

# Each race has "one" and "two", statements of the first and the second session, and an "end",
# COMMIT or ROLLBACK. Stores their results in "told_one" and "told_two", and in "waited" whether the
# second session waited for the first. Without "two" the second session does nothing. between => a
# function to call when all second sessions have finished or wait.
sub hold
{
	my ($self, $races, %options) = @_;
	my @places = 0 .. $#$races;
	my ($first, $second) = @$self{qw(first second)};
	foreach my $i (@places)
	{
		send_to($first->[$i], 'BEGIN; SELECT try($try$' . $races->[$i]{one} . '$try$)');
	}
	foreach my $i (@places) { $races->[$i]{told_one} = answer_of($first->[$i]); }
	my @coming = grep { defined $races->[$_]{two} } @places;
	foreach my $i (@coming)
	{
		send_to($second->[$i], 'SELECT try($try$' . $races->[$i]{two} . '$try$)');
	}
	$self->wait_for_seconds($races, @coming);
	$options{between}->() if defined $options{between};
	foreach my $i (@places) { send_to($first->[$i], $races->[$i]{end}); }
	answer_of($first->[$_]) foreach @places;
	foreach my $i (grep { $races->[$_]{waited} } @coming)
	{
		$races->[$i]{told_two} = answer_of($second->[$i]);
	}
	return;
}

# Waits until each second session has its result, or waits for the first session of its pair.
sub wait_for_seconds
{
	my ($self, $races, @coming) = @_;
	my ($first, $second) = @$self{qw(first second)};
	$races->[$_]{waited} = 0 foreach @coming;
	my $end = time() + $PostgreSQL::Test::Utils::timeout_default;
	while (@coming)
	{
		die 'neither answered nor waits for its first one: ' . join '; ',
			map { $_->{two} } @$races[@coming] if time() > $end;
		foreach my $i (@coming) { $races->[$i]{told_two} = answer_of($second->[$i], 0.002); }
		@coming = grep { !defined $races->[$_]{told_two} } @coming;
		last unless @coming;
		my $pairs = join ',', map { "($_, $second->[$_]{pid}, $first->[$_]{pid})" } @coming;
		my ($blocked) = $self->ask("SELECT coalesce(string_agg(n::text, ' '), '')
			FROM (VALUES $pairs) AS pair (n, pid, holder)
			WHERE pg_isolation_test_session_is_blocked(pid, ARRAY[holder])");
		$races->[$_]{waited} = 1 foreach split / /, $blocked;
		@coming = grep { !$races->[$_]{waited} } @coming;
	}
	return;
}

# Runs a statement of only the first or the second session, in its own transaction, and stores the
# result.
sub call
{
	my ($self, $races, $which) = @_;
	my ($sessions, $key) = $which eq 'one' ? ($self->{first},
		'told_one') : ($self->{second}, 'told_two');
	foreach my $i (0 .. $#$races)
	{
		send_to($sessions->[$i], 'SELECT try($try$' . $races->[$i]{$which} . '$try$)');
	}
	foreach my $i (0 .. $#$races) { $races->[$i]{$key} = answer_of($sessions->[$i]); }
	return;
}

# Runs a query in a third session.
sub ask
{
	my ($self, $sql) = @_;
	return ask_in($self->{onlooker} //= $self->open_session, $sql);
}

sub ask_in
{
	my ($session, $sql) = @_;
	send_to($session, $sql);
	return answer_of($session);
}

sub quit
{
	my ($self) = @_;
	foreach my $session (@{ $self->{sessions} })
	{
		close $session->{in};
		waitpid $session->{psql}, 0;
	}
	return;
}

1;
