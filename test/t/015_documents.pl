# The documents name every function, view and setting, and their links lead somewhere.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = $ENV{HIPQ_ROOT};
my @files = sort('README.md', map { s/^\Q$root\E\///r } glob("$root/docs/*.md"));
my %text = map { $_ => slurp_file("$root/$_") } @files;
my @manual = map { "docs/$_.md" } qw(functions settings monitoring external-workers);

my $hipq = HipqCluster->new('documents');
my %named = (
	function => q{SELECT DISTINCT proname FROM pg_proc WHERE pronamespace = 'hipq'::regnamespace AND proname NOT LIKE '\_%'},
	view => q{SELECT relname FROM pg_class WHERE relnamespace = 'hipq'::regnamespace AND relkind = 'v' AND relname NOT LIKE '\_%'},
	setting => q{SELECT name FROM pg_settings WHERE name LIKE 'hipq.%'});
foreach my $kind (sort keys %named)
{
	my @names = split /\n/, $hipq->sql($named{$kind});
	cmp_ok(scalar @names, '>', 10, "there is more than one $kind");
	my @missing = grep {
		my $name = $_;
		!grep { $text{$_} =~ /(?:`|\bhipq\.)\Q$name\E\b/ } @manual
	} @names;
	is("@missing", '', "each $kind is in the manual");
}

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

done_testing();
