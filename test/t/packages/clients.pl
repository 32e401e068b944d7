# The packages of the client libraries work when they are installed into an empty folder, as a user
# installs them. They enqueue jobs, and include types.
use strict;
use warnings;
use HipqCluster;
use HipqNodeClient;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('client_packages');
$hipq->create_queue('app.mail');
$hipq->sql(q{SELECT hipq.register_job_type('app.mail', 'scan', handler_kind => 'notify')});
local @ENV{qw(PGHOST PGPORT PGUSER PGDATABASE)} = ($hipq->node->host, $hipq->node->port,
	'app', 'postgres');
my ($version) = slurp_file("$ENV{HIPQ_ROOT}/hipq.control") =~ /^default_version = '(.*)'$/m;

# Tests that the program has enqueued its job.
sub enqueues
{
	my ($language, $id) = @_;
	is($hipq->sql("SELECT job_data FROM hipq.jobs_detail WHERE id = $id"),
		qq({"from": "$language"}), "the $language program enqueues a job");
	return;
}

# Makes the packages of a language. Returns the paths of those with the given names.
sub packages_of
{
	my ($language, @names) = @_;
	my $folder = PostgreSQL::Test::Utils::tempdir();
	command_ok([ "$ENV{HIPQ_ROOT}/tools/client-packages", $language, $folder ],
		"the packages for $language are made");
	my @made = sort map { s{.*/}{}r } glob("$folder/*");
	is_deeply(\@made, [ sort @names ], "the packages for $language have the expected names");
	return map { "$folder/$_" } @names;
}

subtest 'Node.js' => sub {
	plan skip_all => 'there is no Node.js' if HipqNodeClient::is_missing();
	my ($package) = packages_of('node', "hipq-$version.tgz");
	my $there = PostgreSQL::Test::Utils::tempdir();
	local $ENV{HOME} = $there;
	append_to_file("$there/package.json", '{"type": "module"}');
	HipqNodeClient::succeeds('the package is installed', $there, qw(npm install --no-audit --no-fund
			--loglevel=error pg @types/pg @types/node@20 typescript@5), $package) or return;
	append_to_file("$there/enqueue.ts", <<'END');
import pg from "pg";
import { enqueue, Graph, Worker, type Job } from "hipq";

const client = new pg.Client();
await client.connect();
const id: string = await enqueue(client, "scan", { from: "node" }, { queue: "app.mail" });
console.log(id);
await client.end();
const graph = new Graph({ queue: "app.mail", deadline: new Date() });
const scan: "scan" = graph.job("scan", "scan", {}, { after: [id] });
// @ts-expect-error: jobs of a graph have no such option
graph.job("again", "scan", {}, { after: [scan], onDuplicate: "return" });
new Worker({ name: "typed", queues: ["app.mail"] })
  .job("scan", (job: Job<{ from: string }>) => job.data.from.length);
END
	HipqNodeClient::succeeds('the package has types', $there, "$there/node_modules/.bin/tsc",
		qw(--strict --target es2022 --module nodenext --moduleResolution nodenext --types node
			enqueue.ts)) or return;
	my ($id, $error) = run_command([ 'node', "$there/enqueue.js" ]);
	is($error, '', 'the program with the package for Node.js runs without an error');
	enqueues('node', $id);
};

subtest 'Python' => sub {
	my $python = '/usr/bin/python3';
	plan skip_all => 'python3-psycopg, -setuptools, -wheel or -pip is missing'
		if system("$python -c 'import psycopg, setuptools, wheel, pip' 2>/dev/null") != 0;
	foreach my $package (packages_of('python', "hipq-$version-py3-none-any.whl",
			"hipq-$version.tar.gz"))
	{
		my $there = PostgreSQL::Test::Utils::tempdir();
		command_ok([ $python, qw(-m pip install --quiet --no-deps --no-index --no-build-isolation
				--target), $there, $package ], "pip installs $package");
		append_to_file("$there/enqueue.py", <<'END');
import hipq, hipq.aio, psycopg
with psycopg.connect() as connection:
    print(hipq.enqueue(connection, "scan", {"from": "python"}, queue="app.mail"))
END
		my ($id, $error) = run_command([ $python, "$there/enqueue.py" ]);
		is($error, '', 'the program with the package for Python runs without an error');
		enqueues('python', $id);
		ok(-e "$there/hipq/py.typed", 'the package for Python has types');
	}
};

done_testing();
