# Neither settings of a database nor an error in the tables of a queue end the scheduler. It sets
# the failing duty of that queue aside and does everything else, and hipq.alerts reports the duty.
# When the error is removed the scheduler does the duty again.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $hipq = HipqCluster->new('survives', 'hipq.max_executors' => 4, log_min_messages => 'debug1',
	log_line_prefix => '%m [%p] %b ');
my $node = $hipq->node;

# ---- settings of the database

$hipq->sql(q{CREATE ROLE keeper LOGIN; CREATE DATABASE tenant OWNER keeper; CREATE ROLE bad LOGIN});
my $tenant = $hipq->in('tenant');
$tenant->sql('CREATE EXTENSION hipq');

# Each setting that the owner of a database can change, with a value as far from the server's as
# possible.
my $all_hostile = q{
	SELECT name, setting, CASE vartype WHEN 'bool' THEN CASE setting WHEN 'on' THEN
		'off' ELSE 'on' END
		WHEN 'enum' THEN (SELECT min(word) FROM unnest(enumvals) AS word WHERE word <> setting)
		ELSE CASE WHEN setting = min_val THEN max_val ELSE min_val END END
	FROM pg_settings
	WHERE context = 'user' AND vartype <> 'string' AND name NOT LIKE 'hipq.%'
		AND name NOT LIKE 'transaction%'
		AND name NOT IN ('client_min_messages', 'debug_parallel_query', 'force_parallel_mode')};
my %hostile = map { $_->[0] => $_->[2] } my @all = map { [ split /\|/ ] } split /\n/,
	$hipq->sql($all_hostile);
%hostile = (
	%hostile, default_tablespace => 'pg_global', default_toast_compression => 'pglz',
		exit_on_error => 'on',
	statement_timeout => '1ms', lock_timeout => '1ms', default_transaction_read_only => 'on',
		default_transaction_isolation => 'serializable',
	standard_conforming_strings => $hipq->version < 19 ? 'off' : 'on', backslash_quote => 'off',
		quote_all_identifiers => 'on',
		DateStyle => 'SQL, DMY', IntervalStyle => 'sql_standard',
	TimeZone => 'Asia/Kathmandu', work_mem => '64kB', row_security => 'off',
		bytea_output => 'escape', client_encoding => 'LATIN1',
	enable_indexscan => 'off', jit_above_cost => 0, search_path => 'public');
$node->safe_psql('postgres', join(';', map { "ALTER DATABASE tenant
		SET $_ = '$hostile{$_}'" } sort keys %hostile), extra_params => [ '-U', 'keeper' ]);
sub ends
{
	return scalar(() = slurp_file($node->logfile)
		=~ /"hipq scheduler[^"]*" \(PID \d+\) exited with exit code [^0]/g);
}

# The sessions of the test use settings of their own.
my %calm = ((map { $_->[0] => $_->[1] } @all), exit_on_error => 'off', statement_timeout => 0,
	lock_timeout => 0, default_transaction_read_only => 'off', standard_conforming_strings => 'on',
	default_transaction_isolation => 'read committed', client_encoding => 'UTF8',
		quote_all_identifiers => 'off', search_path => 'public');
$node->safe_psql('postgres', 'CREATE ROLE boss SUPERUSER LOGIN');
foreach my $role ('boss', 'app')
{
	$node->safe_psql('postgres', join(';',
			map { "ALTER ROLE $role IN DATABASE tenant SET $_ = '$calm{$_}'" } sort keys %calm));
}
sub tenant
{
	my ($sql) = @_;
	return $node->safe_psql('tenant', $sql, extra_params => [ '-U', 'boss' ]);
}

sub wait_for
{
	my ($query) = @_;
	foreach (1 .. 600)
	{
		return 1 if tenant($query) eq 't';
		usleep(100_000);
	}
	return 0;
}

# Tables cannot be in the tablespace of default_tablespace: they are in that of the database.
tenant(q{SELECT hipq.create_queue('app.main', owner => 'app')});
is(tenant(q{SELECT string_agg(DISTINCT reltablespace::text, ' ') FROM pg_class WHERE relname
		LIKE 'app_main%'}), '0', 'tables of queues are in the tablespace of their database');
tenant(q{CREATE FUNCTION run(job hipq.job) RETURNS void LANGUAGE sql AS 'SELECT';
	SELECT hipq.register_job_type('app.main', 'mine', handler => 'run')});
my $id = tenant(q{SELECT hipq.enqueue('mine', scheduled_run_time => hipq.now() + interval '1 s')});
ok(wait_for("SELECT count(*) = 1 FROM hipq.app_main WHERE id = $id AND state = 'final'"),
	'jobs run in a database with hostile settings');
$hipq->set('hipq.clock_offset' => 432_000);
tenant(q{SELECT hipq.enqueue('mine')});
ok(wait_for(qq{SELECT count(*) >= 2 AND bool_or(relname ~ to_char(hipq.now(), 'YYYYMM'))
		FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
	WHERE inhparent = 'hipq.app_main_final'::regclass}),
		'leaves are made in a database with hostile settings');
is(ends(), 0, 'no scheduler has exited with an error in a database with hostile settings');
$hipq->set('hipq.clock_offset' => '0');
my %of_server = slurp_file($node->logfile)
	=~ /hipq scheduler DEBUG: +hipq: "(\w+)" is "(.*)", as in the server/g;
is_deeply([ grep { !exists $of_server{$_} } sort keys %hostile ], [],
	'no setting of the database reaches the scheduler');
is_deeply([ map { "$_->[0] $of_server{$_->[0]}" } @all ], [ map { "$_->[0] $_->[1]" } @all ],
	'the scheduler has the settings of the server');
unlike(slurp_file($node->logfile), qr/hipq (?:scheduler|vacuum) LOG: +(?:plan|parse tree):/,
	'the scheduler prints no plans');
$hipq->set(log_min_messages => 'warning');

# ---- errors in the tables of one queue

$hipq->create_queue('app.main');
$hipq->create_queue('bad.main', owner => 'bad');
$hipq->sql(q{
	CREATE FUNCTION run(job hipq.job) RETURNS void LANGUAGE sql AS 'SELECT';
	SELECT hipq.register_job_type(queue, 'mine', handler => 'run')
		FROM unnest('{app.main, bad.main}'::text[]) AS queue});
sub finished
{
	my ($table, $job) = @_;
	return $hipq->wait_until(
		"SELECT count(*) = 1 FROM hipq.$table WHERE id = $job AND state = 'final'", 't', 30);
}
sub alerts
{
	my ($text) = @_;
	return "SELECT count(*) > 0 FROM hipq._alerts() WHERE alert = 'duty set aside'
		AND detail LIKE '%$text%'";
}
ok(finished('bad_main', $hipq->enqueue('mine', q{queue => 'bad.main'})),
	'a job of queue bad.main runs before any error');

sub check_others
{
	my ($name) = @_;
	ok(finished('app_main', $hipq->enqueue('mine',
			q{queue => 'app.main', scheduled_run_time => hipq.now() + interval '1 s'})),
		"$name: scheduled jobs of another queue run");
	is(ends(), 0, "$name: no scheduler has exited with an error");
	return;
}

# A trigger prevents a job from expiring.
$hipq->sql(q{
	CREATE FUNCTION sabotage() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		IF OLD.job_key = 'doomed' THEN RAISE 'sabotaged' USING ERRCODE = '22000'; END IF;
		RETURN OLD;
	END $$;
	CREATE TRIGGER sabotage BEFORE DELETE ON hipq.bad_main_live
		FOR EACH ROW EXECUTE FUNCTION sabotage()});
my $doomed = $hipq->enqueue('later',
	q{queue => 'bad.main', job_key => 'doomed', expires_time => hipq.now() + interval '1 s'});
ok($hipq->wait_until(q{SELECT count(*) > 0 FROM hipq.alerts WHERE alert = 'job set aside'}),
	'a job that cannot expire is set aside, with an alert');
like($hipq->sql("SELECT string_agg(explanation, ' ') FROM hipq.why($doomed)"), qr/sabotaged/,
	'why() shows the error of the job that is set aside');
check_others('expiry that fails');
ok(finished('bad_main', $hipq->enqueue('mine', q{queue => 'bad.main',
		scheduled_run_time => hipq.now() + interval '1 s'})),
	'other jobs of a queue with a failing expiry run');
$hipq->sql('DROP TRIGGER sabotage ON hipq.bad_main_live');
is($hipq->sql("SELECT hipq.cancel($doomed)"), 't',
	'an operator can cancel the job when the error is gone');

# The live leaf is missing.
my $waiting = $hipq->enqueue('mine',
	q{queue => 'bad.main', scheduled_run_time => hipq.now() + interval '1 hour'});
$hipq->sql('ALTER TABLE hipq.bad_main_live RENAME TO bad_main_away');
$hipq->set('hipq.clock_offset' => 3601);
ok($hipq->wait_until(alerts('of queue "bad.main": relation')), 'an alert reports a missing leaf');
check_others('a missing leaf');
$hipq->sql('ALTER TABLE hipq.bad_main_away RENAME TO bad_main_live');
ok(finished('bad_main', $waiting), 'jobs run when the missing leaf is restored');
ok($hipq->wait_until(alerts(''), 'f'), 'all alerts end');
my @lines = slurp_file($node->logfile) =~ /cannot [^\n]* of queue "bad\.main"/g;
cmp_ok(scalar @lines, '<', 12, 'the log has fewer than 12 lines about the errors');
done_testing();
