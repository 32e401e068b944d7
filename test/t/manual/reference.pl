# The reference agrees with the catalogue, and its examples do what they show.
#
# Each page of docs/reference/ is pasted into psql in a database of its own: its blocks of SQL, one
# after the other. A block of text right after one is psql's answer; a block behind "<!-- fails
# 42704 -->" ends with an error of that SQLSTATE.
use strict;
use warnings;
use File::Basename qw(basename);
use File::Copy qw(copy);
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = $ENV{HIPQ_ROOT};
my @pages = sort glob "$root/docs/reference/*.md";
my $hipq = HipqCluster->new(
	'reference',
	extension => 0,
	shared_preload_libraries => 'hipq, pg_cron',
	'cron.database_name' => 'schedules',
	'cron.use_background_workers' => 'on');

# ---- the examples

# The blocks of SQL of a page: each with the SQLSTATE with which it ends, and its answer.
sub blocks
{
	my ($text) = @_;
	my @blocks;
	while ($text =~ /\G(.*?)(?:^<!-- fails (\w{5}) -->\n)?^```(sql|text)\n(.*?)^```$/msg)
	{
		my ($before, $sqlstate, $kind, $body) = ($1, $2, $3, $4);
		push @blocks, { sql => $body, sqlstate => $sqlstate // '00000' } if $kind eq 'sql';
		$blocks[-1]{answer} = $body if $kind eq 'text' && @blocks && $before =~ /^\s*$/;
	}
	return @blocks;
}

sub script
{
	my @blocks = @_;
	my $script = "\\pset format aligned\n\\pset tuples_only off\n\\pset footer off\n";
	foreach my $block (@blocks)
	{
		my $stop = $block->{sqlstate} eq '00000' ? 1 : 0;
		$script .= "\\set ON_ERROR_STOP $stop\n$block->{sql}\\echo ---- :SQLSTATE\n";
	}
	return $script;
}

# Without blank lines, and without blanks at the end of a line, which are psql's own.
sub tidied { my ($text) = @_; return $text =~ s/[ \t]+$//mgr =~ s/^\n+//mgr; }

# pg_cron starts to work when its database is there; before that it ends and starts each second.
sub wait_for_cron
{
	ok($hipq->wait_until(q{SELECT clock_timestamp() > backend_start + interval '1 s'
		FROM pg_stat_activity WHERE backend_type = 'pg_cron launcher'}, 't'), 'pg_cron runs');
	return;
}

foreach my $page (@pages)
{
	my $name = basename($page, '.md');
	my @blocks = blocks(slurp_file($page)) or next;
	my $database = $name =~ tr/-/_/r;
	$hipq->sql("CREATE DATABASE $database");
	wait_for_cron() if $database eq 'schedules';
	my ($status, $out, $err) = $hipq->node->psql($database, script(@blocks));
	my @answers = split /^---- (\w+)\n?/m, "$out\n";
	my $done = 0;
	foreach my $block (@blocks)
	{
		my ($answer, $sqlstate) = splice @answers, 0, 2;
		last unless defined $sqlstate;
		++$done;
		is($sqlstate, $block->{sqlstate}, "$name: block $done ends as it should")
			or diag($block->{sql});
		next unless defined $block->{answer};
		is(tidied($answer), tidied($block->{answer}), "$name: block $done answers as it should");
	}
	is($done, scalar @blocks, "$name: each block is run")
		or diag(($blocks[$done]{sql} // ''), $err);
}

# ---- the catalogue

$ENV{PGHOST} = $hipq->node->host;
$ENV{PGPORT} = $hipq->node->port;
$ENV{PGDATABASE} = 'queues';

sub judge
{
	my (@arguments) = @_;
	my ($out, $err) = run_command([ "$root/tools/reference", @arguments ]);
	return "$out\n$err";
}

my $judgement = judge('--check');
like($judgement, qr/^reference: \d\d+ sections, 0 complaint\(s\)$/m,
	'the pages are what make reference makes of them')
	or diag($judgement);

# The judge finds what is wrong: each sample is a page with one fault.
my $faults = PostgreSQL::Test::Utils::tempdir();
sub judge_sample
{
	my ($page, $from, $to) = @_;
	copy($_, $faults . '/' . basename($_)) foreach @pages;
	my $text = slurp_file("$faults/$page");
	$text =~ s/$from/$to/ or die "no sample in $page\n";
	open my $file, '>', "$faults/$page" or die "$page: $!";
	print $file $text;
	close $file;
	return judge('--check', $faults);
}

my @samples = (
	[ 'another signature', 'control.md', qr/reason text DEFAULT NULL/, 'reason text',
		qr/control\.md is not what make reference/ ],
	[ 'an argument without meaning', 'control.md', qr/  Where to look for the job\. NULL.*?\n/, '',
		qr/argument queue of cancel\(\) has no meaning/ ],
	[ 'a function that is left out', 'control.md', qr/<!-- function erase .*?<!-- end -->/s, '',
		qr/function erase is in no page/ ],
	[ 'a function without rights', 'control.md', qr/\*\*Rights:\*\*/, 'Rights:',
		qr/function cancel does not tell its Rights/ ],
	[ 'a function without example', 'control.md', qr/SELECT hipq\.erase\(/, 'SELECT hipq.cancel(',
		qr/function erase has no example/ ],
	[ 'a view that is left out', 'views.md', qr/<!-- view lanes -->.*?<!-- end -->/s, '',
		qr/view lanes is in no page/ ],
	[ 'a view without a sentence', 'views.md', qr/Shows lanes:.*?(?=<!--)/s, '',
		qr/view lanes has no sentence/ ],
	[ 'a column of another type', 'tables.md', qr/\(bigint\)/, '(integer)',
		qr/tables\.md is not what make reference/ ],
	[ 'another default', 'settings.md', qr/default `on`/, 'default `off`',
		qr/settings\.md is not what make reference/ ],
	[ 'a setting that is left out', 'settings.md',
		qr/^- \*\*`hipq\.retention`\*\*.*?(?=^- )/ms, '',
		qr/setting hipq\.retention has no meaning/ ],
	[ 'a long line', 'README.md', qr/^# Reference/, '# ' . 'Reference ' x 20,
		qr/README\.md:1 is longer/ ]);
foreach my $sample (@samples)
{
	my ($name, $page, $from, $to, $complaint) = @$sample;
	like(judge_sample($page, $from, $to), $complaint, "the judge finds $name");
}

done_testing();
