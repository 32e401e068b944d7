# Each link of the documents leads to an existing file and heading, and tools/check-documents,
# check-english and check-names find no fault. manual/reference.pl tests the contents of the
# reference.
use strict;
use warnings;
use File::Copy qw(copy);
use PostgreSQL::Test::Utils;
use Test::More;

my $root = $ENV{HIPQ_ROOT};
my @folders = qw(.github .github/* docs docs/* examples examples/*);
my @files = sort(qw(README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md),
	map { s/^\Q$root\E\///r } map { glob("$root/$_/*.md") } @folders);
my %text = map { $_ => slurp_file("$root/$_") } @files;

# Returns the anchor that GitHub makes for a heading.
sub anchor
{
	my ($heading) = @_;
	$heading = lc $heading;
	$heading =~ s/[^\w\- ]//g;
	return $heading =~ tr/ /-/r;
}

my %anchors = map {
	my $file = $_;
	$file => { map { anchor($_) => 1 } $text{$file} =~ /^#+ (.*)$/mg }
} @files;
my $links = 0;
foreach my $file (@files)
{
	my ($folder) = $file =~ m{^(.*/)?};
	foreach my $link ($text{$file} =~ /\]\(([^)\s]+)\)/g)
	{
		next if $link =~ /^https?:/;
		my ($path, $anchor) = $link =~ /^([^#]*)#?(.*)$/;
		my $target = $path eq '' ? $file : ($folder // '') . $path;
		1 while $target =~ s{[^/]+/\.\./}{};
		++$links;
		fail("$file: $link leads to a file") unless -e "$root/$target";
		fail("$file: $link leads to a heading") if $anchor ne '' && !$anchors{$target}{$anchor};
	}
}
cmp_ok($links, '>', 30, 'the documents have more than 30 links');

my $complaints = `$root/tools/check-documents`;
is($?, 0, 'lines and cells are short enough, and drawings are up to date') or diag($complaints);

$complaints = `$root/tools/check-english`;
is($?, 0, 'comments and documents have no signs of translated English') or diag($complaints);

# ---- names

$complaints = `$root/tools/check-names`;
is($?, 0, 'each hipq.NAME exists, and each alert and each right has its row')
  or diag($complaints);

# A checkout whose README.md names objects that do not exist, and two of whose pages omit a name.
my $sample = PostgreSQL::Test::Utils::tempdir();
mkdir "$sample/$_" or die $! foreach 'sql', 'src', 'docs';
my $alerts = $text{'docs/monitoring.md'} =~ s/^\| `held snapshot` .*\n//mr;
append_to_file("$sample/docs/monitoring.md", $alerts);
append_to_file("$sample/docs/rights.md", $text{'docs/rights.md'} =~ s/`release_hold`, //r);
system('cp', '-r', "$root/sql/install", "$sample/sql") == 0 or die 'no copy';
copy("$root/src/settings.cpp", "$sample/src") or die $!;
append_to_file("$sample/README.md", <<'TEXT');
hipq.no_such_view, hipq.alert_least_jobs (which is a setting in builds for tests),
hipq.jobs.no_such_column, hipq.jobs.error, column "parameters" of hipq.job_types;
hipq.jobs.outcome is there.
TEXT
mkdir "$sample/src/external" or die $!;
append_to_file("$sample/src/external/claim.cpp", 'arguments.integer64({1, "worker"}); '
	. 'arguments.text("wroker"); arguments.text("worker"); arguments.duration({2, "wait"});');
my $found = `$root/tools/check-names $sample` =~ s/^check-names.*\n//mr;
is($found, <<'TEXT', 'tools/check-names finds each wrong or missing name');
README.md:1: there is no hipq.no_such_view
README.md:1: there is no hipq.alert_least_jobs
README.md:2: hipq.jobs has no column no_such_column
README.md:2: hipq.jobs has no column error
README.md:2: hipq.job_types has no column parameters
docs/monitoring.md: has no row for alert held snapshot
docs/rights.md: does not name release_hold under superusers
src/external/claim.cpp: no function of hipq has an argument wroker
src/external/claim.cpp: no function of hipq has argument worker at position 1
TEXT

done_testing();
