# The reference agrees with the catalogue, and its examples show what they do.
#
# psql runs the blocks of SQL of each page of docs/reference/, one after the other, in a database
# for the page. A block of text right after one is psql's output. A block after "<!-- fails 42704
# -->" ends with an error of this SQLSTATE.
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

# Returns the blocks of SQL of a page, each with its output and the SQLSTATE with which it ends.
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

# Removes blank lines, and blanks at the ends of lines, which psql adds.
sub tidied { my ($text) = @_; return $text =~ s/[ \t]+$//mgr =~ s/^\n+//mgr; }

# Waits for pg_cron. It ends, and is started each second, until its database exists.
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
		is($sqlstate, $block->{sqlstate}, "$name: block $done ends with the shown SQLSTATE")
			or diag($block->{sql});
		next unless defined $block->{answer};
		is(tidied($answer), tidied($block->{answer}), "$name: block $done has the shown output");
	}
	is($done, scalar @blocks, "$name: each block was run")
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
	'tools/reference --check has no complaint')
	or diag($judgement);

# tools/reference finds each kind of fault. Each sample is a page with one fault.
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
	[ 'a wrong signature', 'control.md', qr/reason text DEFAULT NULL/, 'reason text',
		qr/control\.md is not what make reference/ ],
	[ 'an argument without meaning', 'control.md', qr/  Where to look for the job\. NULL.*?\n/, '',
		qr/argument queue of cancel\(\) has no meaning/ ],
	[ 'a missing function', 'control.md', qr/<!-- function erase .*?<!-- end -->/s, '',
		qr/function erase is in no page/ ],
	[ 'a function without its rights', 'control.md', qr/\*\*Rights:\*\*/, 'Rights:',
		qr/function cancel does not tell its Rights/ ],
	[ 'a function without example', 'control.md', qr/SELECT hipq\.erase\(/, 'SELECT hipq.cancel(',
		qr/function erase has no example/ ],
	[ 'a missing view', 'views.md', qr/<!-- view lanes -->.*?<!-- end -->/s, '',
		qr/view lanes is in no page/ ],
	[ 'a view without a sentence', 'views.md', qr/Shows lanes:.*?(?=<!--)/s, '',
		qr/view lanes has no sentence/ ],
	[ 'a column of a wrong type', 'tables.md', qr/\(bigint\)/, '(integer)',
		qr/tables\.md is not what make reference/ ],
	[ 'a wrong default', 'settings.md', qr/default `on`/, 'default `off`',
		qr/settings\.md is not what make reference/ ],
	[ 'a missing setting', 'settings.md',
		qr/^- \*\*`hipq\.retention`\*\*.*?(?=^- )/ms, '',
		qr/setting hipq\.retention has no meaning/ ],
	[ 'a long line', 'README.md', qr/^# Reference/, '# ' . 'Reference ' x 20,
		qr/README\.md:1 is longer/ ]);
foreach my $sample (@samples)
{
	my ($name, $page, $from, $to, $complaint) = @$sample;
	like(judge_sample($page, $from, $to), $complaint, "tools/reference finds $name");
}

done_testing();
