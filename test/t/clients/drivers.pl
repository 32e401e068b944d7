# Every driver reads all tables and views of hipq, and calls every function with parameters without
# a type. test/drivers/list.sql makes the list of them from the catalogue. test/drivers/README.md
# describes the programs. The manual shows the code that runs.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $source = "$ENV{HIPQ_ROOT}/test/drivers";
my $work = PostgreSQL::Test::Utils::tempdir();

# ---- a database with jobs in all states, in which nothing is running
# JDBC does not know Unix sockets, so the server listens on TCP.
my $hipq = HipqCluster->new('drivers', listen_addresses => '127.0.0.1',
	'hipq.heartbeat_timeout' => '1h');
$hipq->create_queue('app.drivers');
$hipq->create_queue('app.other');
$hipq->sql(q{
	CREATE FUNCTION pass(data jsonb) RETURNS jsonb LANGUAGE sql AS $$ SELECT '{"sum": 3}'::jsonb $$;
	CREATE FUNCTION fail(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		RAISE 'no luck'; END $$;
	SELECT hipq.register_job_type(queue, 'external', handler_kind => 'notify'),
		hipq.register_job_type(queue, 'pass', handler => 'pass'),
		hipq.register_job_type(queue, 'fail', handler => 'fail', max_retries => 0)
			FROM unnest('{app.drivers, app.other}'::text[]) AS queue});
$hipq->outcome($hipq->sql(qq{SELECT hipq.enqueue('$_', queue => 'app.drivers')}))
	foreach qw(pass fail);
$hipq->outcome($hipq->sql(q{SELECT id FROM hipq.enqueue_graph(
	'[{"name": "one", "job_type": "pass"}]', queue => 'app.drivers')}));
$hipq->sql(q{SELECT hipq.create_batch('one', queue => 'app.drivers')});
my $worker =
	$hipq->sql(q{SELECT hipq.register_worker('one', '{app.drivers, app.other}', '{external}')});
$hipq->sql(q{SELECT hipq.enqueue('external', queue => 'app.drivers', job_key => 'held',
	timeout => '1 hour')});
$hipq->sql("SELECT id FROM hipq.claim($worker, wait => '30 s')");
$hipq->sql(q{
	SELECT hipq.enqueue('external', '{"to": "ann"}', 'app.drivers', 'later',
		'2100-01-01 12:00:00.25+00', 7, throttle_factor => 0.5);
	SELECT hipq.pause('app.other', reason => 'by hand')});
ok($hipq->wait_until(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'hipq executor'
		AND state = 'active'}, 0), 'no executor is active');

# ---- the list, and the results of psql
my $list = "$work/list";
IPC::Run::run([ 'psql', '-XqAt', '-d', $hipq->node->connstr('postgres'), '-f', "$source/list.sql" ],
	'>', $list) or die 'the list is not made';
my @wanted = map { [ split /\t/, $_, -1 ] } split /\n/, slurp_file($list);
my @relations = map { $_->[1] } grep { $_->[0] eq 'read' } @wanted;
my @calls = grep { $_->[0] eq 'call' } @wanted;
my %value = map { $_->[1] => $_->[3] } grep { $_->[0] eq 'value' } @wanted;
my $data = '{"to":"ann@example.com"}';
cmp_ok(scalar @relations, '>', 40, 'the list has more than 40 tables and views');
cmp_ok(scalar @calls, '>', 70, 'the list has more than 70 functions');

# Executes a call with its values as literals, which do not have a type either. Returns the
# SQLSTATE.
$hipq->sql(q{
	CREATE FUNCTION public.outcome(call text, VARIADIC given text[]) RETURNS text
		LANGUAGE plpgsql AS $$
	BEGIN
		FOR place IN REVERSE cardinality(given) .. 1 LOOP call := replace(call, '$' || place,
			quote_nullable(nullif(given[place], '\N'))); END LOOP;
		EXECUTE call;
		RAISE 'undo' USING ERRCODE = 'XDONE';
	EXCEPTION WHEN OTHERS THEN RETURN CASE SQLSTATE WHEN 'XDONE' THEN '00000' ELSE SQLSTATE END;
	END $$});
my %outcome;
foreach my $call (@calls)
{
	my (undef, $statement, @values) = @$call;
	$outcome{$statement} = $hipq->sql('SELECT public.outcome(' . join(', ',
			map { "'" . s/'/''/gr . "'" } $statement, @values)
		. (@values ? '' : ", VARIADIC '{}'::text[]") . ')');
}
my @refused = grep { $outcome{$_}
	=~ /^(?:42725|42883|42804|42P18|22P02|42601)$/ } sort keys %outcome;
is("@refused", '', 'no call is refused because of its types');
note("$outcome{$_} $_") foreach grep { $outcome{$_} ne '00000' } sort keys %outcome;
cmp_ok(scalar(grep { $_ eq '00000' } values %outcome), '>', 50, 'more than 50 calls succeed');

# Returns the current number of rows of each relation.
sub rows { return map { $_ => $hipq->sql("SELECT count(*) FROM $_") } @relations; }

# ---- the programs
# This time zone is the first one with a new year. A driver must read the values of the tables in
# every time zone.
@ENV{qw(PGHOST PGPORT PGUSER TZ PGTZ)} = ($hipq->node->host, $hipq->node->port, 'postgres',
	'Pacific/Kiritimati', 'Pacific/Kiritimati');

# Returns the text between two lines with "manual", without its indentation.
sub shown_in_manual
{
	my ($file) = @_;
	my ($text) = slurp_file($file)
		=~ /^[^\n]*\bmanual\b(?: \*\/)?\n(.*?)^[^\n]*\bmanual\b(?: \*\/)?\n/ms or return 'nothing';
	$text =~ s/\t/    /g;
	my ($indent) = $text =~ /^( *)/;
	return $text =~ s/^$indent//mgr;
}

my $manual = slurp_file("$ENV{HIPQ_ROOT}/docs/clients/drivers.md");
foreach my $run (sort glob "$source/*/run")
{
	my ($driver) = $run =~ m{([^/]+)/run$};
	my ($program) = glob "$source/$driver/[dD]river.*";
	like($manual, qr/^```\w+\n\Q${\shown_in_manual($program)}\E```$/m,
		"$driver: the manual shows the code that runs");
	local $ENV{WORK} = PostgreSQL::Test::Utils::tempdir();
	my %before = rows();
	my ($said, $trouble) = ('', '');
	IPC::Run::run([ 'timeout', '-k', '5', '180', $run, $list ], '>', \$said, '2>', \$trouble);
	my $status = $? >> 8;
	if ($status == 77) { chomp $said; SKIP: { skip "$driver $said", 1 } next; }
	is($status, 0, "$driver: its program runs") or diag($trouble);
	my %after = rows();
	my @wrong;
	my %count;
	foreach my $line (split /\n/, $said)
	{
		my ($kind, $what, @rest) = split /\t/, $line;
		$count{$kind}{$what}++;
		my $wanted = $kind eq 'read' ? ($rest[0] == $after{$what} ? $rest[0] : $before{$what})
			: $kind eq 'call' ? $outcome{$what}
			: $kind eq 'value' ? $value{$what} : "0.5 $data";
		push @wrong, "$line, not $wanted"
			unless "@rest" eq $wanted && ($kind ne 'example' || $what eq '300');
	}
	is(join("\n", @wrong), '', "$driver: the results are those of psql");
	is(join(' ', map { scalar keys %{ $count{$_} } } qw(read call value example)),
		scalar(@relations) . ' ' . scalar(@calls) . ' ' . scalar(keys %value) . ' 1',
		"$driver: the program covers all relations, functions and types, and the manual's example");
}
done_testing();
