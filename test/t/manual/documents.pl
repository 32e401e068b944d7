# The links of the documents lead somewhere, and their form is what tools/check-documents wants. What
# the reference has to have, manual/reference.pl knows.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = $ENV{HIPQ_ROOT};
my @files = sort('README.md', map { s/^\Q$root\E\///r } glob("$root/docs/*.md $root/docs/*/*.md $root/examples/*.md $root/examples/*/*.md"));
my %text = map { $_ => slurp_file("$root/$_") } @files;

# As GitHub makes them.
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
cmp_ok($links, '>', 30, 'links lead somewhere');

my $complaints = `$root/tools/check-documents`;
is($?, 0, 'lines and cells are short enough, and drawings are up to date') or diag($complaints);

done_testing();
