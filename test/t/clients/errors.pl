# Every client reports errors with difficult texts (test/clients/errors.json). Each job fails at
# once with a text, and the worker continues.
use strict;
use warnings;
use HipqCluster;
use HipqNodeClient;
use HipqProgram;
use HipqRun;
use JSON::PP ();
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('errors', 'hipq.health_enabled' => 'off');
my $folder = "$ENV{HIPQ_ROOT}/test/clients";
$hipq->sql(q{CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'
	TEMPLATE template0});
my $latin = $hipq->in('latin');
$latin->sql('CREATE EXTENSION hipq');

# The timeout lets a failure that is not reported end with reason timeout.
foreach my $database ($hipq, $latin)
{
	$database->create_queue('app.errors');
	$database->sql(q{SELECT hipq.register_job_type('app.errors', 'fail',
		handler_kind => 'notify', default_timeout => 60)});
}

# The table. Perl's JSON module refuses halves of surrogate pairs. In a row with a half the test
# uses only the name and the part of the text that must be visible.
my $half = qr/\\u(?:d83d(?!\\ude00)|(?<!\\ud83d\\u)de00|dc..)/;
my $table = slurp_file("$folder/errors.json") =~ s/$half/?/gr;
my @rows = @{ JSON::PP->new->utf8->decode($table) };
cmp_ok(scalar @rows, '>=', 20, 'the table has at least 20 rows');

# Enqueues jobs with these data. Returns their results by name after all of them have ended.
sub ended
{
	my ($database, @data) = @_;
	my $data = JSON::PP->new->ascii->canonical->encode(\@data);
	my $ids = $database->sql("SELECT hipq.enqueue_many('fail', array_agg(data),
		queue => 'app.errors') FROM jsonb_array_elements(\$data\$$data\$data\$) AS data");
	my $these = "FROM hipq.jobs_detail WHERE id = ANY ('$ids')";
	ok($database->wait_until("SELECT count(*) $these AND state <> 'final'", 0), 'all jobs end');
	my $ended = $database->sql("SELECT json_agg(json_build_object('name', job_data->>'name',
		'end', concat_ws(' ', outcome, attempt, retry_reason), 'result', result,
		'error', error)) $these");
	return map { $_->{name} => $_ } @{ JSON::PP->new->utf8->decode($ended) };
}

# Tests that a job failed at its first attempt, for a reason of its own, with an error text.
sub has_failed
{
	my ($job, $what, $reason, $shows) = @_;
	my ($end, $error) = ($job->{end}, $job->{error} // '');
	my $is_well = $end =~ /^failed 1 (?:$reason)$/ && $error ne '' && 0 <= index $error, $shows;
	return ok($is_well, "$what: fails") || diag("$end: " . substr($error, 0, 300));
}

# Tests all rows of the table, as errors of one kind.
sub all_texts
{
	my ($database, $client, $how) = @_;
	my %ended = ended($database, map { { how => $how, name => $_->{name} } } @rows);
	my $reason = $how eq 'permanent' ? 'explicit_failure' : 'transient_error';
	foreach my $row (@rows)
	{
		my $shows = $database == $latin ? '' : $row->{shows};
		has_failed($ended{ $row->{name} }, "$client, $how, $row->{name}", $reason, $shows);
	}
	return;
}

# Tests the other kinds of errors that the program knows.
sub all_ways
{
	my ($database, $client) = @_;
	my %list = ended($database, { how => 'list', name => 'list' });
	my @ways = @{ $list{list}{result} };
	my %ended = ended($database, map { { how => 'way', name => $_ } } @ways);
	has_failed($ended{$_}, "$client, $_", '\w+_(?:error|failure)', '') foreach @ways;
	return;
}

# Tests a client. $command starts a worker with the client's name.
sub prove
{
	my ($client, $command, %environment) = @_;
	foreach my $database ($hipq, $latin)
	{
		$environment{PGDATABASE} = $database->{database} // 'postgres';
		my $program = HipqProgram->start($hipq, $command, \%environment);
		my $worker = "SELECT worker_id FROM hipq.workers WHERE status = 'active'";
		my $is_there = $program->wait_for(sub { $database->sql($worker) ne '' }, 20);
		ok($is_there, "worker with $client registers") || return diag($program->said);
		my $id = $database->sql($worker);
		all_texts($database, $client, $_) foreach qw(text permanent);
		all_ways($database, $client);
		is($database->sql($worker), $id, "worker with $client has not restarted");
		is($program->stop, 0, "worker with $client stops with exit code 0");
	}
	return;
}

my $python = '/usr/bin/python3';
SKIP: {
	skip 'python3-psycopg is not installed', 1
	  if system("$python -c 'import psycopg' 2>/dev/null") != 0;
	local $ENV{PYTHONPATH} = "$ENV{HIPQ_ROOT}/clients/python/src";
	local $ENV{PYTHONDONTWRITEBYTECODE} = 1;
	prove('Python', [ $python, "$folder/errors.py" ]);
	prove('asyncio', [ $python, "$folder/errors.py" ], HIPQ_AIO => 1);
}

SKIP: {
	skip 'needs node and npm', 1 if HipqNodeClient::is_missing();
	my $client = HipqNodeClient::build() // last SKIP;
	prove('Node.js', [ 'node', "$folder/errors.mjs" ], HIPQ_CLIENT => $client);
}

# The other clients get the texts as bytes, in files. A column of the table has the bytes that are
# not UTF-8.
my $texts = PostgreSQL::Test::Utils::tempdir();
foreach my $row (@rows)
{
	my $bytes = $row->{bytes} // $row->{text};
	utf8::encode($bytes);
	$bytes =~ s/\\x(..)/chr hex $1/ge if defined $row->{bytes};
	append_to_file("$texts/$row->{name}", $bytes x ($row->{times} // 1));
}

SKIP: {
	my $compile = "g++ -std=c++20 -O0 -x c++ -I'$ENV{HIPQ_ROOT}/clients/cpp/include'";
	my $libraries = '$(pkg-config --cflags --libs libpq)';
	skip 'needs g++, pkg-config, libpq-dev and nlohmann-json3-dev', 1
	  if system("echo '#include <hipq/client.hpp>' | $compile $libraries -E - >/dev/null 2>&1");
	my $program = PostgreSQL::Test::Utils::tempdir() . '/errors';
	my $said = `$compile '$folder/errors.cpp' $libraries -o '$program' 2>&1`;
	ok($? == 0, 'the program in C++ compiles') or BAIL_OUT($said);
	prove('C++', [$program], ERROR_TEXTS => $texts);
}

SKIP: {
	skip 'hipq-run was not built', 1 unless defined HipqRun::program();
	my @worker = (HipqRun::program(), qw(--name errors --queue app.errors --types fail));
	my @program = ('--', 'perl', "$folder/errors_run.pl");
	prove('hipq-run', [ @worker, @program ], ERROR_TEXTS => $texts);
	prove('hipq-run --batch', [ @worker, '--batch', @program ]);
}
done_testing();
