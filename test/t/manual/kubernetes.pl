# The manifests of docs/how-to/kubernetes.md conform to the schemas of CloudNativePG and Kubernetes,
# and to each other. The settings of its Cluster work, and so does its worker with the environment
# of its Deployment. (manual/how_to.pl runs the statements of the page; packages/image.pl tests what
# it says of images.)
use strict;
use warnings;
use HipqCluster;
use HipqPage;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $page = HipqPage->new('docs/how-to/kubernetes.md');
my %manifest = map { $_ => $page->file("$_.yaml") } qw(cluster database worker pooler);

# ---- the schemas
SKIP:
{
	skip 'the schemas were not unpacked: tools/setup check does so where npm is', 1
		unless -e "$ENV{HIPQ_ROOT}/build/kubernetes-schema/complete";
	my $check = "$ENV{HIPQ_ROOT}/tools/kubernetes-schema";
	command_like([$check], qr/^$/, 'the manifests of the page conform to the schemas');
	my @wrong = (
		[ 'an unknown field', 'cluster', 'extensions:', 'extension:',
			qr/"extension"' does not exist/ ],
		[ 'a name of a wrong form', 'cluster', '- name: hipq', '- name: HipQ', qr/match pattern/ ],
		[ 'a missing field', 'database', '  owner: app', '', qr/"owner"' is missing/ ],
		[ 'an unknown value', 'pooler', 'transaction', 'transactions', qr/"transactions"' is not/ ],
		[ 'an unknown field of Kubernetes', 'worker', 'image:', 'picture:',
			qr/"picture"' does not exist/ ],
	);
	foreach my $case (@wrong)
	{
		my ($what, $name, $from, $to, $says) = @$case;
		my $file = PostgreSQL::Test::Utils::tempdir() . '/page.md';
		append_to_file($file, "```yaml\n" . $manifest{$name} =~ s/\Q$from\E/$to/r . "```\n");
		my $said = '';
		my $works = IPC::Run::run([ $check, $file ], '>&', \$said);
		ok(!$works && $said =~ $says, "the schemas refuse $what") or diag($said);
	}
}

# ---- the manifests fit each other
my ($cluster) = $manifest{cluster} =~ /^  name: (\S+)$/m;
my $named = qr/^  cluster:\n    name: \Q$cluster\E$/m;
like($manifest{$_}, $named, "$_.yaml names the cluster") foreach qw(database pooler);
my %secret = $manifest{worker}
	=~ /name: (PG\w+)\n\s+valueFrom: \{secretKeyRef: \{name: \Q$cluster\E-app, key: (\w+)\}\}/g;
is(join(' ', sort keys %secret), 'PGDATABASE PGHOST PGPASSWORD PGPORT PGUSER',
	'the worker has all that it needs to connect');
my ($tag) = slurp_file("$ENV{HIPQ_ROOT}/Containerfile.cnpg") =~ /^ARG BASE=(\S+)$/m;
like($manifest{cluster}, qr/^  imageName: \Q$tag\E$/m,
	'the servers have the image that Containerfile.cnpg builds for');

# ---- the settings, and the worker
my ($parameters) = $manifest{cluster} =~ /^    parameters:\n((?:      .*\n)+)/m;
my %settings = $parameters =~ /^      (\S+): "(.*)"$/mg;
my $hipq = HipqCluster->new('kubernetes', %settings);
is($hipq->sql("SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) FROM pg_settings
		WHERE source = 'configuration file' AND name = ANY ('{@{[ join ',', keys %settings ]}}')"),
	join(' ', map { "$_=$settings{$_}" } sort keys %settings), 'the server has the settings');
$hipq->create_queue('app.mail');
$hipq->sql(q{SELECT hipq.register_job_type('app.mail', 'scan', handler_kind => 'notify')});
SKIP:
{
	skip 'python3-psycopg is missing', 2
		if system("/usr/bin/python3 -c 'import psycopg' 2>/dev/null") != 0;
	my $file = PostgreSQL::Test::Utils::tempdir() . '/worker.py';
	append_to_file($file, $page->file('worker.py'));
	my %value = (host => $hipq->node->host, port => $hipq->node->port, dbname => 'postgres',
		user => 'app', password => 'secret');
	local @ENV{ keys %secret } = @value{ values %secret };
	local $ENV{PYTHONPATH} = "$ENV{HIPQ_ROOT}/clients/python/src";
	my $worker = IPC::Run::start([ '/usr/bin/python3', $file ], '>&', \my $said);
	my $id = $hipq->enqueue('scan', q{'{"file": "a.pdf"}'});
	is($hipq->outcome($id), 'succeeded', 'the worker runs a job') or diag($said);
	$worker->signal('TERM');
	ok(eval { IPC::Run::finish($worker) }, 'the worker ends on SIGTERM') or diag($said);
}
done_testing();
