#!/usr/bin/perl
# A program of hipq-run whose jobs fail in all ways: with each text of errors.json, and its own. One
# for each job, or one for all of them.
use strict;
use warnings;
use JSON::PP ();

# The texts, as they stand in the table.
open my $table, '<:raw', $0 =~ s/errors_run\.pl$/errors.json/r or die $!;
my %text;
while (my $line = <$table>)
{
	if ($line =~ /"name": "([^"]*)", "text": "((?:[^"\\]|\\.)*)"(?:, "times": (\d+))?/)
	{
		$text{$1} = $2 x ($3 // 1);
	}
}

# Says so on the descriptor for it.
sub later
{
	my ($delay) = @_;
	open my $said, '>&=', $ENV{HIPQ_PROGRESS_FD} or die $!;
	print $said "retry after $delay\n";
	return close $said;
}

# The actions of a program with one job, on stdout and stderr. The program exits with their return
# values.
my %alone = (
	'silent' => sub { return 1 },
	'temporary' => sub { return 75 },
	'killed' => sub { kill 'KILL', $$ },
	'aborted' => sub { print STDERR "\xff\0\n"; kill 'ABRT', $$ },
	'no end of line' => sub { print STDERR "x" x 100_000; return 255 },
	'empty lines' => sub { print STDERR "\n" x 100_000; return 1 },
	'a retry after nothing' => sub { later('soon'); print STDERR "\xe2\x82\xac"; return 75 },
	'a retry after NUL' => sub { later("\0"); return 1 },
	'no stderr' => sub { close STDERR; return 1 },
	'result: NUL' => sub { print '"\u0000"'; return 0 },
	'result: too large' => sub { print 'x' x 1_100_000; return 0 },
);

# What it answers, if it has all jobs.
my %answers = (
	'bytes' => qq{"error": "caf\xe9 \xed\xa0\xbd"},
	'a null' => '"error": null',
	'an object' => '"error": {"code": 5}',
	'a number' => '"error": 1e400',
	'an empty error for good' => '"error": "", "retriable": false',
	'a delay' => '"release": "soon"',
	'a delay with NUL' => '"release": "\u0000"',
	'a retry after nothing' => qq{"error": "\xe2\x82\xac", "retry_after": "soon"},
	'a retry after an object' => '"error": "x", "retry_after": {"delay": true}',
	'a retry after NUL' => '"error": "x", "retry_after": "\u0000"',
	'result: NUL' => '"result": "\u0000"',
	'result: too large' => '"result": "' . 'x' x 1_100_000 . '"',
);

my $is_batch = exists $ENV{HIPQ_BATCH};
$| = 1;
while (my $line = <STDIN>)
{
	my $job = JSON::PP::decode_json($line);
	my ($how, $name) = @{ $is_batch ? $job->{data} : $job }{qw(how name)};
	my $list = JSON::PP::encode_json([ sort keys %{ $is_batch ? \%answers : \%alone } ]);
	if ($is_batch)
	{
		my $answer = $how eq 'list' ? qq{"result": $list}
		  : $how eq 'way' ? $answers{$name}
		  : ($how eq 'permanent' ? '"retriable": false, ' : '') . qq{"error": "$text{$name}"};
		print qq({"id": $job->{id}, $answer}\n);
		next;
	}
	if ($how eq 'list') { print $list; exit 0 }
	exit $alone{$name}->() if $how eq 'way';
	open my $bytes, '<:raw', "$ENV{ERROR_TEXTS}/$name" or die $!;
	local $/ = undef;
	print STDERR scalar <$bytes>;
	exit($how eq 'permanent' ? 78 : 1);
}
