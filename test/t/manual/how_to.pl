# The commands on the pages of docs/how-to, entered line by line, show what the pages say. Pages
# about other queues run beside tables like theirs. Statements of other pages name existing objects.
use strict;
use warnings;
use HipqCluster;
use HipqPage;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('how_to', extension => 0);
my $node = $hipq->node;

# The tables of other queues, as far as the pages use them. They contain jobs that wait, which the
# pages move, and jobs that must stay.
my %theirs = (
	'graphile-worker' => q{
		CREATE SCHEMA graphile_worker;
		CREATE TABLE graphile_worker._private_tasks (id integer PRIMARY KEY, identifier text);
		CREATE TABLE graphile_worker._private_job_queues (id integer PRIMARY KEY, queue_name text);
		CREATE TABLE graphile_worker._private_jobs (id bigserial, job_queue_id integer,
			task_id integer, payload json, priority smallint DEFAULT 0,
			run_at timestamptz DEFAULT now(), attempts smallint DEFAULT 0,
				max_attempts smallint DEFAULT 25, key text UNIQUE, locked_at timestamptz);
		INSERT INTO graphile_worker._private_tasks VALUES (1, 'send_email');
		INSERT INTO graphile_worker._private_job_queues VALUES (1, 'ann');
		INSERT INTO graphile_worker._private_jobs (job_queue_id, task_id, payload, priority,
			attempts, key, locked_at) VALUES
			(NULL, 1, '{"to": "ann"}', 0, 0, NULL, NULL),
				(1, 1, '{"to": "bob"}', 5, 20, 'bob', NULL),
			(NULL, 1, '{"to": "eve"}', 9, 25, NULL, NULL),
				(NULL, 1, '{"to": "zoe"}', 9, 1, NULL, now());},
	river => q{
		CREATE TYPE river_job_state AS ENUM ('available', 'cancelled', 'completed', 'discarded',
			'pending', 'retryable', 'running', 'scheduled');
		CREATE TABLE river_job (id bigserial PRIMARY KEY, args jsonb NOT NULL DEFAULT '{}',
			attempt smallint NOT NULL DEFAULT 0, kind text NOT NULL,
			max_attempts smallint NOT NULL, priority smallint NOT NULL DEFAULT 1,
				state river_job_state NOT NULL DEFAULT 'available',
			scheduled_at timestamptz NOT NULL DEFAULT now());
		INSERT INTO river_job (args, attempt, kind, max_attempts, priority, state) VALUES
			('{"strings": ["b", "a"]}', 0, 'sort', 25, 1, 'available'),
				('{"strings": ["c"]}', 24, 'sort', 25, 4, 'retryable'),
			('{}', 1, 'sort', 25, 1, 'running'), ('{}', 1, 'sort', 25, 1, 'completed');},
	oban => q{
		CREATE TYPE oban_job_state AS ENUM ('available', 'scheduled', 'executing', 'retryable',
			'completed', 'discarded', 'cancelled');
		CREATE TABLE oban_jobs (id bigserial PRIMARY KEY,
			state oban_job_state NOT NULL DEFAULT 'available', worker text NOT NULL,
			args jsonb NOT NULL DEFAULT '{}', attempt integer NOT NULL DEFAULT 0,
				max_attempts integer NOT NULL DEFAULT 20,
			priority integer NOT NULL DEFAULT 0,
				scheduled_at timestamp NOT NULL DEFAULT timezone('UTC', now()));
		INSERT INTO oban_jobs (state, worker, args, attempt, priority)
			VALUES ('available', 'MyApp.Mailer', '{"to": "ann"}', 0, 0),
			('retryable', 'MyApp.Mailer', '{"to": "bob"}', 3, 9),
				('executing', 'MyApp.Mailer', '{}', 1, 0);},
	'pg-boss' => q{
		CREATE SCHEMA pgboss;
		CREATE TYPE pgboss.job_state AS ENUM ('created', 'retry', 'active', 'completed',
			'cancelled', 'failed');
		CREATE TABLE pgboss.job (id uuid NOT NULL DEFAULT gen_random_uuid(), name text NOT NULL,
			priority integer NOT NULL DEFAULT 0, data jsonb,
			state pgboss.job_state NOT NULL DEFAULT 'created',
				retry_limit integer NOT NULL DEFAULT 2, retry_count integer NOT NULL DEFAULT 0,
			singleton_key text, start_after timestamptz NOT NULL DEFAULT now(),
				created_on timestamptz NOT NULL DEFAULT now());
		INSERT INTO pgboss.job (name, priority, data, state, retry_count, singleton_key, created_on)
			VALUES
			('email-send', 10, '{"to": "ann"}', 'created', 0, 'ann', '2026-01-01'),
				('email-send', 0, '{"to": "ann again"}', 'retry', 1, 'ann', '2026-01-02'),
			('email-send', 0, NULL, 'created', 0, NULL, '2026-01-03'),
				('email-send', 0, '{}', 'active', 0, NULL, '2026-01-04');},
	sidekiq => '');
my %stay = (
	'graphile-worker' => 'SELECT count(*) FROM graphile_worker._private_jobs|2',
	river => 'SELECT count(*) FROM river_job|2',
	oban => 'SELECT count(*) FROM oban_jobs|1',
	'pg-boss' => 'SELECT count(*) FROM pgboss.job|1');

local $ENV{PGHOST} = $node->host;
local $ENV{PGPORT} = $node->port;
my $directory = PostgreSQL::Test::Utils::tempdir;
my $number = 0;
# Alerts are of the whole server and stay for some minutes, so the page about them comes first.
foreach my $file (sort { ($b =~ /alert/) <=> ($a =~ /alert/) || $a cmp $b } glob(
		"$ENV{HIPQ_ROOT}/docs/how-to/*.md"))
{
	my ($page) = $file =~ m{(docs/how-to/.*)};
	my ($other) = $page =~ /migrate-from-(.*)\.md/;
	my $database = $hipq->in('how_to_' . ++$number);
	$hipq->sql("CREATE DATABASE $database->{database}");
	if (defined $other) { $database->sql("CREATE EXTENSION hipq; $theirs{$other}") }
	local $ENV{PGDATABASE} = $database->{database};
	my $shown = HipqPage->new($page)->run(
		psql => [ 'env', '-C', $directory, 'psql', '-X', '-q' ],
		shell => [ 'env', '-C', $directory, 'bash' ],
		directory => $directory);
	cmp_ok($shown, '>', 0, "$page shows a result");
	if (defined $other && $stay{$other})
	{
		my ($query, $count) = split /\|/, $stay{$other};
		is($database->sql($query), $count,
			"jobs that $other runs or has finished stay in its tables");
	}
	$hipq->sql("DROP DATABASE $database->{database} WITH (FORCE)");
}
cmp_ok($number, '>', 8, 'docs/how-to has more than eight pages');

# ---- statements of other pages name existing objects. They are about jobs and workers that do not
# exist

$hipq->sql(q{
	CREATE EXTENSION hipq;
	CREATE ROLE scanner LOGIN; CREATE ROLE me;
	SELECT hipq.create_queue('app.mail', owner => 'app');
	CREATE FUNCTION mended(data jsonb) RETURNS void LANGUAGE sql AS '';
	CREATE FUNCTION send(data jsonb) RETURNS void LANGUAGE sql AS '';
	CREATE FUNCTION send_welcome(data jsonb) RETURNS void LANGUAGE sql AS '';
	SELECT hipq.register_job_type('app.mail', 'welcome', handler => 'send_welcome'),
		hipq.register_job_type('app.mail', 'scan', handler_kind => 'notify')});
my $is_missing = qr/ERROR:  (?:42601|42703|42883|42P01|42P02|42846|42804|42725)/;
my $statements = 0;
foreach my $page (qw(external-workers monitoring scheduling ten-questions troubleshooting))
{
	my @pieces = split /^(?=\S)|\n\n/m, slurp_file("$ENV{HIPQ_ROOT}/docs/$page.md");
	foreach my $sql (map { s/^    //mgr } grep {
			/^    (?:SELECT|UPDATE|INSERT|BEGIN|TABLE|SHOW|SET|--)\b/ } @pieces)
	{
		my ($status, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\n$sql;",
			on_error_stop => 0, timeout => 60);
		unlike($err, $is_missing, "docs/$page.md: " . substr($sql =~ s/\s+/ /gr, 0, 60));
		$statements += () = $sql =~ /;/g;
	}
}
cmp_ok($statements, '>', 60, 'the other pages have more than 60 statements');

done_testing();
