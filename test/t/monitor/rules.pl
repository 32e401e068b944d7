# The alert rules of monitoring/ fire when they should and not before, according to Prometheus' own
# promtool. Dashboard and rules use only metrics of the exporter, in expressions that Prometheus
# accepts.
use strict;
use warnings;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

my $promtool = (grep { -x } map { "$_/promtool" } split /:/, $ENV{PATH})[0];
plan(skip_all => 'promtool is not installed: it is in package prometheus, which tools/setup check '
	. 'installs where it can be had') unless $promtool;
my $folder = "$ENV{HIPQ_ROOT}/monitoring";

command_like([ $promtool, 'check', 'rules', "$folder/alerts.yaml" ], qr/SUCCESS: 8 rules found/,
	'promtool can read the rules');
command_like([ $promtool, 'test', 'rules', "$folder/alerts_test.yaml" ], qr/SUCCESS/,
	'the rules pass their tests in promtool');

# ---- the metrics of queries.yaml: a name for each column, three for a histogram
my %given;
my $query;
foreach my $line (split /\n/, slurp_file("$folder/queries.yaml"))
{
	$query = $1 if $line =~ /^(hipq_\w+):/;
	next unless $line =~ /^    - (\w+): \{usage: "(\w+)"/ && $2 ne 'LABEL';
	$given{$_} = 1
		foreach $2 eq 'HISTOGRAM' ? map { "${query}_$1_$_" } qw(bucket sum count) : "${query}_$1";
}
cmp_ok(scalar(keys %given), '>', 30, 'the exporter has more than 30 metrics');

sub not_given
{
	my (@expressions) = @_;
	my %asked = map { $_ => 1 } map { /\b(hipq_\w+)/g } @expressions;
	return join ', ', grep { !$given{$_} } sort keys %asked;
}
my @of_rules = map { s/^\s*#.*//mr } slurp_file("$folder/alerts.yaml")
	=~ /expr: (.*?)\n +(?:for|labels):/gs;
is(scalar @of_rules, 8, 'each rule has an expression');
is(not_given(@of_rules), '', 'rules use only metrics of the exporter');
my $dashboard = JSON::PP->new->decode(slurp_file("$folder/grafana.json"));
my @of_panels = map { $_->{expr} } map { @{ $_->{targets} } } @{ $dashboard->{panels} };
is(not_given(@of_panels), '', 'panels use only metrics of the exporter');

# ---- expressions of panels as Grafana sends them, with values for its variables
my @panels;
foreach my $expression (@of_panels)
{
	my $asked = $expression =~ s/\$__rate_interval/5m/gr =~ s/\$(?:queue|database)/.*/gr;
	push @panels, { record => 'panel', expr => $asked, labels => { panel => scalar @panels . '' } };
}
# JSON is also YAML.
my $rules = JSON::PP->new->canonical->encode(
	{ groups => [ { name => 'dashboard', rules => \@panels } ] });
my $file = PostgreSQL::Test::Utils::tempdir() . '/panels.yaml';
append_to_file($file, $rules);
my $count = @of_panels;
command_like([ $promtool, 'check', 'rules', $file ], qr/SUCCESS: $count rules found/,
	'Prometheus accepts the expressions of panels');

# ---- Grafana's published schema of dashboards
SKIP:
{
	skip 'the schema of Grafana was not unpacked: tools/setup check does so where npm is', 4
		unless -e "$ENV{HIPQ_ROOT}/build/grafana-schema/complete";
	my $check = "$ENV{HIPQ_ROOT}/tools/grafana-schema";
	command_like([$check], qr/^$/, 'the dashboard conforms to the schema');
	my $wrong = PostgreSQL::Test::Utils::tempdir() . '/wrong.json';
	append_to_file($wrong,
		slurp_file("$folder/grafana.json") =~ s/"schemaVersion": (\d+)/"schemaVersion": "$1"/r);
	isnt(system("$check $wrong >/dev/null 2>&1"), 0,
		'a dashboard with a wrong type does not conform to the schema');
}

# ---- values that Grafana needs to place and to label panels
my %ids = map { $_->{id} => 1 } @{ $dashboard->{panels} };
is(scalar(keys %ids), scalar @{ $dashboard->{panels} }, 'each panel has a unique id');
is(join(', ', map { $_->{title} } grep { my $panel = $_;
		grep { $panel->{gridPos}{$_} !~ /^\d+$/ } qw(x y w h) } @{ $dashboard->{panels} }), '',
	'each panel has a position');
is(join(', ', map { "$_->{id}" } grep { my $panel = $_;
		grep { !$_->{refId} } @{ $panel->{targets} } } @{ $dashboard->{panels} }), '',
	'each expression has a refId');

done_testing();
