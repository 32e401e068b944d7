# META.json conforms to the specification of PGXN (PGXN Meta Spec 1.0), and all files that contain
# hipq's version have the same one.
use strict;
use warnings;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = $ENV{HIPQ_ROOT};

# ---- the specification: a function for each kind of value, which returns whether it is right

my $number = qr/(?:0|[1-9]\d*)/;
my $names = qr/[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*/;
my $semantic = qr/$number\.$number\.$number(?:-$names)?(?:\+$names)?/;
my $one_of_range = qr/(?:(?:[=!]=|[<>]=?)\s*)?$semantic/;

sub text { return !ref $_[0] && length $_[0] }
sub term { return text(@_) && $_[0] =~ m{^[^\s/\\[:cntrl:]]{2,}$} }
sub tag { return text(@_) && $_[0] =~ m{^[^/\\[:cntrl:]]{1,255}$} }
sub version { return text(@_) && $_[0] =~ /^$semantic$/ }
sub range { return text(@_) && $_[0] =~ /^(?:0|$one_of_range(?:,\s*$one_of_range)*)$/ }
sub path { return text(@_) && $_[0] !~ m{^/|\\|(?:^|/)\.\.(?:/|$)} && -e "$root/$_[0]" }
sub url
{
	return text(@_) && $_[0]
		=~ m{^[a-z][a-z0-9+.-]*://[^/?#]+} && $_[0] !~ m{://[^/]*\bexample\b|\.invalid\b}
}
sub email { return text(@_) && $_[0] =~ /^[^@\s]+@[^@\s]+$/ }
sub one_of { my %known = map { $_ => 1 } @_; return sub { text(@_) && $known{ $_[0] } } }
sub list_of
{
	my ($check) = @_;
	return sub { my @all = ref $_[0] eq 'ARRAY' ? @{ $_[0] } : $_[0];
		@all && !grep { !$check->($_) } @all }
}

# Returns a check for an object with these keys. A key with "!" is required, and "*" stands for any
# other key. Keys that start with x_ are always allowed.
sub object
{
	my (%keys) = @_;
	my %checks = map { s/!$//r => $keys{$_} } keys %keys;
	return sub {
		my ($value, $where, $complaints) = @_;
		if (ref $value ne 'HASH' || !%$value)
		{
			push @$complaints, "$where is no object";
			return 1;
		}
		push @$complaints, map { "$where.$_ is missing" } sort grep { s/!$//
			&& !exists $value->{$_} } keys %{ {%keys} };
		foreach my $key (sort keys %$value)
		{
			next if $key =~ /^x_./i;
			my $check = $checks{$key} // $checks{'*'};
			if (!$check) { push @$complaints, "$where.$key is unknown"; }
			elsif (!$check->($value->{$key}, "$where.$key", $complaints))
			{
				push @$complaints, "$where.$key is wrong";
			}
		}
		return 1;
	};
}

my $relations =
	object(map { $_ => object('*' => \&range) } qw(requires recommends suggests conflicts));
my $specification = object(
	'name!' => \&term,
	'version!' => \&version,
	'abstract!' => \&text,
	'maintainer!' => list_of(\&text),
	'license!' => list_of(one_of(qw(postgresql bsd mit apache_2_0 gpl_2 gpl_3 open_source restricted
			unrestricted unknown))),
	'provides!' => object('*' => object('file!' => \&path, 'version!' => \&version,
			abstract => \&text, docfile => \&path)),
	'meta-spec!' => object('version!' => one_of('1.0.0'), url => \&url),
	description => \&text,
	generated_by => \&text,
	tags => list_of(\&tag),
	no_index => object(file => list_of(\&path), directory => list_of(\&path)),
	prereqs => object(map { $_ => $relations } qw(configure build test runtime develop)),
	release_status => one_of(qw(stable testing unstable)),
	resources => object(
		homepage => \&url,
		bugtracker => object(web => \&url, mailto => \&email),
		repository => object(url => \&url, web => \&url,
			type => sub { text(@_) && $_[0] !~ /[A-Z]/ }),
	),
);

sub complaints
{
	my ($meta) = @_;
	my @found;
	$specification->($meta, 'META', \@found);
	return join '; ', @found;
}

# ---- META.json, and wrong samples

my $text = slurp_file("$root/META.json");
my $meta = decode_json($text);
is(complaints($meta), '', 'META.json is valid');

foreach my $case (
	[ 'META.license is missing' => sub { delete $_[0]{license} } ],
	[ 'META.licence is unknown' => sub { $_[0]{licence} = 'postgresql' } ],
	[ 'META.version is wrong' => sub { $_[0]{version} = '0.2' } ],
	[ 'META.name is wrong' => sub { $_[0]{name} = 'job queue' } ],
	[ 'META.tags is wrong' => sub { $_[0]{tags} = [ 'queue', 'a/b' ] } ],
	[ 'META.maintainer is wrong' => sub { $_[0]{maintainer} = [] } ],
	[ 'META.resources.homepage is wrong' => sub { $_[0]{resources} =
			{ homepage => 'https://hipq.example/' } } ],
	[ 'META.resources.bugtracker.mailto is wrong' => sub { $_[0]{resources} =
			{ bugtracker => { mailto => 'nobody' } } } ],
	[ 'META.resources.repository is no object' => sub { $_[0]{resources} =
			{ repository => 'https://server/hipq.git' } } ],
	[ 'META.provides.hipq.file is wrong' => sub { $_[0]{provides}{hipq}{file} = 'sql/none.sql' } ],
	[ 'META.provides.hipq.version is missing' => sub { delete $_[0]{provides}{hipq}{version} } ],
	[ 'META.prereqs.runtime.needs is unknown' => sub { $_[0]{prereqs}{runtime}{needs} = {} } ],
	[ 'META.prereqs.runtime.requires.PostgreSQL is wrong' =>
		sub { $_[0]{prereqs}{runtime}{requires}{PostgreSQL} = '>= 15' } ],
	[ 'META.meta-spec.version is wrong' => sub { $_[0]{'meta-spec'}{version} = '2.0.0' } ],
	[ 'META.release_status is wrong' => sub { $_[0]{release_status} = 'alpha' } ])
{
	my ($complaint, $spoil) = @$case;
	my $sample = decode_json($text);
	$spoil->($sample);
	is(complaints($sample), $complaint, "the check finds that $complaint");
}

# ---- versions

# The version in each file of a folder that states it.
sub versions_in
{
	my ($folder) = @_;
	my ($about, $package, $lock) = map { decode_json(slurp_file("$folder/$_")) } 'META.json',
		map { "clients/node/$_" } qw(package.json package-lock.json);
	my ($top) = slurp_file("$folder/CHANGELOG.md") =~ /^## (\[.*)$/m;
	my ($newest) = grep { defined } $top =~ /^\[($semantic)\] - \d{4}-\d\d-\d\d$/,
		$top =~ /^\[Unreleased\] - ($semantic)$/, $top;
	return (
		'META.json' => $about->{version},
		'META.json, provides' => $about->{provides}{hipq}{version},
		'package.json' => $package->{version},
		'package-lock.json' => $lock->{version},
		'package-lock.json, packages' => $lock->{packages}{''}{version},
		'pyproject.toml' => slurp_file("$folder/clients/python/pyproject.toml")
			=~ /^version = "(.*)"$/m,
		'CHANGELOG.md' => $newest,
		'debian/changelog' => slurp_file("$folder/debian/changelog") =~ /^hipq \((\S+)-\d+\) /,
	);
}

sub all_have
{
	my ($folder, $wanted, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my %versions = versions_in($folder);
	return is(join(', ', map { "$_: $versions{$_}" } grep { $versions{$_} ne $wanted }
				sort keys %versions), '', $what);
}

# Whether both changelogs of a folder say that the newest version is released.
sub is_released
{
	my ($folder) = @_;
	my ($newest) = slurp_file("$folder/CHANGELOG.md") =~ /^## \[(.*?)\]/m;
	my ($suite) = slurp_file("$folder/debian/changelog") =~ /^hipq \S+ (\S+);/;
	return join ', ', $newest eq 'Unreleased' ? 'no' : 'yes',
		{ UNRELEASED => 'no', unstable => 'yes' }->{$suite} // $suite;
}

my ($version) = slurp_file("$root/hipq.control") =~ /^default_version = '(.*)'$/m;
ok(version($version), "hipq.control has a semantic version, $version");
all_have($root, $version, 'all files have the version of hipq.control');
like(is_released($root), qr/^(?:no, no|yes, yes)$/,
	'CHANGELOG.md and debian/changelog agree about the release');
my ($previous) = slurp_file("$root/CHANGELOG.md")
	=~ /^## .*\n(?:(?!## ).*\n)*^## \[($semantic)\] - \d{4}-\d\d-\d\d$/m;
ok(-e "$root/sql/update/$previous--$version.sql",
	"there is an update script for tables from $previous, the previous release");
like(slurp_file("$root/test/upgrade/releases"), qr/^\Q$previous\E [0-9a-f]{40} [0-9a-f]{40}\n\z/m,
	'tests of upgrades start from the previous release');

# ---- tools/set-version, in a copy of these files

my $copy = PostgreSQL::Test::Utils::tempdir();
system('sh', '-c', 'cd "$1" && shift && tar -cf - "$@" | tar -C "$0" -xf -', $copy, $root,
	qw(hipq.control META.json CHANGELOG.md debian/changelog sql/update clients/node/package.json
		clients/node/package-lock.json clients/python/pyproject.toml tools)) == 0
	or die 'tar failed';

# Returns what a tool of the copy prints.
sub tool
{
	my ($name, @arguments) = @_;
	my ($out, $err) = run_command([ "$copy/tools/$name", @arguments ]);
	return join "\n", grep { length } $out, $err;
}

sub update_scripts { return join ' ', map { s{.*/}{}r } glob("$copy/sql/update/*--$_[0].sql") }

is(tool('set-version'), '', 'set-version for the current version changes nothing');
like(tool('set-version', '98.0.0'), qr/^META\.json$/m,
	'set-version names the files that it writes');
all_have($copy, '98.0.0', 'set-version writes a new version into all files');
is(is_released($copy), 'no, no', '... which is not released');
isnt(update_scripts('98.0.0'), '', '... and has an update script');
is(decode_json(slurp_file("$copy/META.json"))->{release_status}, 'stable',
	'... and is stable, unlike versions before 1.0.0');

tool('set-version', '98.0.0', '2026-12-24');
all_have($copy, '98.0.0', 'set-version with a date keeps the version');
is(is_released($copy), 'yes, yes', '... and releases it');
like(slurp_file("$copy/CHANGELOG.md"), qr/^## \[98\.0\.0\] - 2026-12-24$/m, '... on that day');
like(slurp_file("$copy/debian/changelog"), qr/\A.*\n\n.*new\.\n\n -- .*>  Thu, 24 Dec 2026 12:/,
	'... in debian/changelog, too');
is(tool('set-version', '98.0.0', '2026-12-24'), '', 'again, it changes nothing');
like(tool('set-version', '98.0.0', '2026-12-25'), qr/so 98\.0\.0 cannot be released$/,
	'it refuses to release a version again');
like(tool('set-version', '98.0.1', '2026-12-25'), qr/so 98\.0\.1 cannot be released$/,
	'... and a version that has no section');

tool('set-version', '98.0.1');
all_have($copy, '98.0.1', 'set-version begins the next version');
is(is_released($copy), 'no, no', '... which is not released');
is(update_scripts('98.0.1'), '98.0.0--98.0.1.sql', '... and starts from the previous one');
like(slurp_file("$copy/CHANGELOG.md"), qr/^## \[98\.0\.0\] - 2026-12-24$/m,
	'... whose section stays');
tool('set-version', '98.1.0');
all_have($copy, '98.1.0', 'set-version renames a version that is not released');
is(update_scripts('98.1.0'), '98.0.0--98.1.0.sql', '... with its update script');
is(`grep -rlF 98.0.1 '$copy'`, '', '... completely');
like(tool('set-version', $_), qr/^usage: /, "set-version refuses version $_")
	foreach qw(98.2 98.2.0-rc1 v98.2.0);

# ---- tools/release-notes

# The newest section with entries: a version that was just begun has none.
my ($described, $section) = slurp_file("$root/CHANGELOG.md")
	=~ /^## (?:\[Unreleased\] - )?\[?($semantic)[^\n]*\n\n(?!## )(.*?)^## /ms;
my $entries = () = $section =~ /^(?:- |\d+\. )/mg;
cmp_ok($entries, '>', 0, "CHANGELOG.md has entries for $described");
my ($notes, $err) = run_command([ "$root/tools/release-notes", $described ]);
is($err, '', 'release-notes prints a section');
is(scalar(() = $notes =~ /^(?:- |\d+\. )/mg), $entries, '... with each entry');
my $words = $section =~ s/\[([^\]]+)\]\([^)]*\)/$1/gr;
ok(join(' ', split ' ', $notes) eq join(' ', split ' ', $words),
	'... and its words, and without links while there is no address');
unlike($notes, qr/\S\n(?!- |\d+\. |\n|\z)/, '... in one line');
my ($link) = $section =~ /\]\((docs[^)]*)\)/;
$meta->{resources} = { repository => { web => 'https://forge.test/hipq/' } };
PostgreSQL::Test::Utils::append_to_file("$copy/META.json.new", encode_json($meta));
rename "$copy/META.json.new", "$copy/META.json" or die $!;
system('cp', "$root/CHANGELOG.md", $copy) == 0 or die 'cp failed';
like(tool('release-notes', $described),
	qr{\]\(https://forge\.test/hipq/blob/\Q$described/$link\E\)},
	'links lead to the address that META.json has');
is(tool('release-notes', '0.9.9'), 'CHANGELOG.md has no section of 0.9.9',
	'release-notes fails for a version that has no section');

# ---- what waits for a public address

my @waiting = slurp_file("$root/docs/releasing.md") =~ /^\| `([^`]+)` \| `([^`]+)` \|/mg;
my %waits;
while (my ($file, $words) = splice @waiting, 0, 2)
{
	$waits{$file} = 1;
	like(-e "$root/$file" ? slurp_file("$root/$file") : '', qr/\Q$words\E/,
		"$file has the line that docs/releasing.md names");
}
my $search = 'grep -rlF --exclude-dir=build --exclude-dir=test hipq.invalid *';
chomp(my @placeholders = `cd '$root' && $search`);
is(join(' ', grep { !$waits{$_} && $_ ne 'docs/releasing.md' } @placeholders), '',
	'docs/releasing.md lists each file that has an address in .invalid');

# ---- versions of PostgreSQL

chomp(my $supported = `make -s --no-print-directory -C '$root' print-SUPPORTED`);
my @supported = split ' ', $supported;
is(slurp_file("$root/debian/pgversions"), join('', map { "$_\n" } @supported),
	'debian/pgversions has the versions that the Makefile allows');
is($meta->{prereqs}{runtime}{requires}{PostgreSQL}, ">= $supported[0].0.0, < "
	. ($supported[-1] + 1) . '.0.0', 'META.json has the range of versions of PostgreSQL');

is($meta->{name}, 'hipq', 'META.json has the name of the extension');
is($meta->{release_status}, $version =~ /^0\.|-/ ? 'testing' : 'stable',
	'META.json calls the release stable from 1.0.0 on');

# ---- the container of editors

my $build = decode_json(slurp_file("$root/.devcontainer/devcontainer.json"))->{build};
my $file = "$root/.devcontainer/$build->{dockerfile}";
like(-e $file ? slurp_file($file) : '', qr/^FROM \S+ AS \Q$build->{target}\E$/m,
	'the container of editors is built from a stage of the Containerfile');

done_testing();
