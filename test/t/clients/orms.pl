# ORMs enqueue jobs with the right 'enqueue' alone. The programs of test/orms, which
# docs/clients/orms.md shows, run against a server, directly and through pgbouncer.
use strict;
use warnings;
use File::Copy qw(copy);
use File::Path qw(make_path);
use HipqCluster;
use HipqPage;
use HipqPooler;
use JSON::PP qw(decode_json);
use PostgreSQL::Test::Utils;
use Test::More;

my $python = '/usr/bin/python3';
my $source = "$ENV{HIPQ_ROOT}/test/orms";
# The user that runs tests may not be allowed to write into the checkout.
my $copy = PostgreSQL::Test::Utils::tempdir();

# For each ORM: the files that the page shows, its folder, its command, what it lacks, the error for
# a taken key and for an upsert, and whether it returns the ids of new jobs only.
my %orms = (
	SQLAlchemy => { shows => [qw(sqlalchemy/models.py sqlalchemy/jobs.py)], in => 'sqlalchemy',
		run => [ $python, 'run.py' ],
		lacks => lacks_python('sqlalchemy'), taken => 'IntegrityError', upsert => '42P10',
			gives_new_ids => 1 },
	Django => { shows => [qw(django/shop/models.py django/shop/jobs.py)], in => 'django',
		run => [ $python, 'run.py' ],
		lacks => lacks_python('django'), taken => 'IntegrityError', upsert => '42501' },
	Sequelize => { shows => ['node/sequelize.js'], in => 'node', run => [qw(node run.js sequelize)],
		taken => 'SequelizeUniqueConstraintError', upsert => '42P10' },
	Knex => { shows => ['node/knex.js'], in => 'node', run => [qw(node run.js knex)],
		taken => 'error', upsert => '42P10',
		gives_new_ids => 1 },
	Kysely => { shows => ['node/kysely.ts'], in => 'node', run => [qw(node run.js kysely)],
		taken => 'error', upsert => '42P10',
		gives_new_ids => 1 },
	ActiveRecord => { shows => [qw(activerecord/models.rb activerecord/jobs.rb)],
		in => 'activerecord', run => [qw(ruby run.rb)],
		lacks => lacks_ruby(), taken => 'ActiveRecord::RecordNotUnique', upsert => 'ArgumentError',
			gives_new_ids => 1 },
);
my @node_orms = grep { $orms{$_}{in} eq 'node' } sort keys %orms;

# Runs a command; returns whether it succeeded, and its output. NAME=VALUE before the command are
# variables.
sub said_by
{
	my (@command) = @_;
	my $said = '';
	# env exists even if the command does not.
	my $done = IPC::Run::run([ 'env', @command ], '>&', \$said);
	return ($done, $said);
}

# Runs a command in a folder of the copy.
sub said_in { my ($folder, @command) = @_; return said_by('-C', "$copy/$folder", @command); }

sub has_tool { my ($tool) = @_; return grep { -x "$_/$tool" } split /:/, $ENV{PATH}; }

sub lacks_python
{
	my ($package) = @_;
	my ($done) = said_by($python, '-c', "import $package, psycopg2");
	return $done ? undef : "python3-$package or python3-psycopg2 is not installed";
}

sub lacks_ruby
{
	my ($done) = said_by(qw(ruby -e), 'require "active_record"; require "pg"');
	return $done ? undef : 'ruby-activerecord or ruby-pg is not installed';
}

sub copy_programs
{
	foreach my $file (grep { -f } map { glob "$source/$_" } qw(*/*.py */*.js */*.ts
			*/*.json */*.rb */*/*.py))
	{
		my $to = $copy . substr $file, length $source;
		make_path($to =~ s{/[^/]+$}{}r);
		copy($file, $to) or die "$file: $!";
	}
	return;
}

# Installs packages from npm, and checks the types of Kysely.
sub prepare_node
{
	if (grep { !has_tool($_) } qw(node npm))
	{
		$orms{$_}{lacks} = 'needs node and npm' foreach @node_orms;
		return;
	}
	foreach my $command ([qw(npm ci --no-audit --no-fund --loglevel=error)],
		['node_modules/.bin/tsc'])
	{
		my ($done, $said) = said_in('node', @$command);
		next if ok($done, "$command->[0] works for the ORMs of Node.js");
		diag($said);
		$orms{$_}{lacks} = 'its packages cannot be had' foreach @node_orms;
		return;
	}
	return;
}

# ---- the page ----

my $page = HipqPage->new('docs/clients/orms.md');
my $text = slurp_file("$ENV{HIPQ_ROOT}/docs/clients/orms.md");

sub set_up { my ($block) = grep { $_->{mark} eq 'set-up' } $page->blocks; return $block->{text}; }

sub is_shown
{
	my ($file) = @_;
	return is($page->file("test/orms/$file"), slurp_file("$source/$file"),
		"the page shows $file unchanged");
}

# ---- the server ----

# The server's time zone differs from that of the programs.
my $hipq = HipqCluster->new('orms', TimeZone => 'America/New_York');
my $queue = 'hipq.app_mail';
my $role = 'web';

sub clear { return $hipq->sql("SELECT hipq.cancel_jobs('app.mail'); TRUNCATE customer"); }

sub jobs_where
{
	my ($what, $where) = @_;
	return $hipq->sql("SELECT $what FROM $queue WHERE state = 'initial' AND $where");
}

# Returns the number of statements that insert jobs into the table, without the refused upsert.
sub count_inserts
{
	my ($offset) = @_;
	my $log = slurp_file($hipq->node->logfile, $offset);
	return scalar grep { !/do update/i } $log
		=~ /LOG:  (?:statement|execute [^:]*): (insert into "?hipq"?\."?app_mail"? .*)/gi;
}

# ---- checks of the results

sub check_signing_up
{
	my ($orm, $said, $where) = @_;
	is(jobs_where("id || ' ' || job_key || ' ' || job_data || ' ' || max_retries || ' ' || "
			. "priority", "job_type = 'welcome'"),
		qq($said->{signed_up} ann\@example.com {"to": "ann\@example.com"} 0 0),
			"$where: the job is enqueued, and its id is returned");
	is($hipq->sql(q{SELECT string_agg(email, ' ') FROM customer}), 'ann@example.com',
		"$where: the customer was committed with the job");
	like($said->{refused}, qr/ 23514$/, "$where: a wrong customer is refused");
	is($hipq->sql("SELECT count(*) FROM $queue WHERE job_key = 'nobody'"), 0,
		"$where: the job before a refused customer is rolled back");
	is($said->{duplicate}, "$orms{$orm}{taken} 23505", "$where: a taken key raises an error");
	return;
}

sub check_bulk
{
	my ($orm, $said, $where) = @_;
	my @jobs = map { [ split / / ] } split /\n/, jobs_where(
		q{id || ' ' || (job_data->>'to') || ' ' || priority}, "job_type = 'invite' ORDER BY id");
	is(scalar @jobs, 100, "$where: 100 jobs are enqueued by one call");
	is("@{ $said->{invited} }", join(' ', map { $_->[0] } @jobs),
		"$where: the ids of 100 jobs are returned");
	is(join(' ', map { "$_->[1] $_->[2]" } @jobs),
		join(' ', map { "guest$_\@example.com 10" } 1 .. 100),
		"$where: 100 jobs keep their order and data");
	return;
}

sub check_duplicates
{
	my ($orm, $said, $where) = @_;
	my $bob = jobs_where('id', "job_type = 'remind' AND job_key = 'bob\@example.com'");
	my $eve = jobs_where('id', "job_type = 'remind' AND job_key = 'eve\@example.com'");
	is(jobs_where('count(*)', "job_type = 'remind'"), 2, "$where: each key has one job");
	my $ids = $orms{$orm}{gives_new_ids} ? "[[$bob],[$eve]]" : '[null,null]';
	is(JSON::PP->new->encode($said->{reminded}) =~ tr/"//dr, $ids,
		"$where: the ids of new jobs are returned if the ORM can return them");
	is($said->{moved}, $bob, "$where: hipq.enqueue returns the id of the changed job");
	is(jobs_where(q{scheduled_run_time AT TIME ZONE 'UTC'}, "id = $bob"), '2100-01-01 00:00:00',
		"$where: the changed job has its new time");
	return;
}

sub check_mistakes
{
	my ($orm, $said, $where) = @_;
	like($said->{read}, qr/ 42501$/, "$where: the role cannot read jobs");
	like($said->{upsert}, qr/\b$orms{$orm}{upsert}$/, "$where: an upsert raises an error");
	return;
}

sub run_orm
{
	my ($orm, $where, @settings) = @_;
	clear();
	my $offset = -s $hipq->node->logfile;
	my ($done, $output) = said_in($orms{$orm}{in}, "PGUSER=$role", 'PGDATABASE=postgres', @settings,
		@{ $orms{$orm}{run} });
	my $said = eval { decode_json($output) };
	ok($done && defined $said, "$where: the program succeeds") or return diag($output);
	$_->($orm, $said, $where) foreach \&check_signing_up, \&check_bulk,
		\&check_duplicates, \&check_mistakes;
	is(count_inserts($offset), 6, "$where: each call is one INSERT");
	return;
}

copy_programs();
$hipq->sql(set_up());
$hipq->sql("ALTER ROLE $role SET log_statement = 'all'");
local $ENV{HOME} = $copy;
prepare_node();
my $pooler = HipqPooler->new($hipq, $role);
local @ENV{qw(PGHOST PGPORT)} = ($hipq->node->host, $hipq->node->port);
foreach my $orm (sort keys %orms)
{
	is_shown($_) foreach @{ $orms{$orm}{shows} };
	like($text, qr/^\| $orm \| `$orms{$orm}{taken}`/m,
		"the page names the error that $orm raises for a taken key");
  SKIP:
	{
		skip("$orm: $orms{$orm}{lacks}", 1) if defined $orms{$orm}{lacks};
		run_orm($orm, $orm, 'DATABASE_URL=postgresql:///postgres');
		skip("$orm: no pgbouncer", 1) unless $pooler;
		run_orm($orm, "$orm behind a pooler", "PGHOST=$ENV{POOLER_HOST}",
			"PGPORT=$ENV{POOLER_PORT}",
			'DATABASE_URL=postgresql:///postgres?prepared_statements=false');
	}
}
done_testing();
