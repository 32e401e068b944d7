# hipq.doctor() finds faults of the server: no preload, a wrong version, a held database, hipq
# switched off, and contradicting settings. It works on a standby, and when one of its checks fails.
use strict;
use warnings;
use HipqCluster;
use HipqDoctor;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('doctor_server', preload => 0, streaming => 1,
	max_worker_processes => 8, shared_preload_libraries => 'auto_explain');
my $node = $hipq->node;

# ---- preload: the statement keeps the server's other libraries
my $preload = is_found($hipq, 'error', 'not preloaded', 'server', qr/nothing runs them/);
is($preload->{statement}, q{ALTER SYSTEM SET shared_preload_libraries = 'auto_explain', 'hipq'},
	'the finding of a missing preload has a statement');
$hipq->sql($preload->{statement});
$node->restart;
is_gone($hipq, 'not preloaded', 'server');
is($hipq->sql('SHOW shared_preload_libraries'), 'auto_explain, hipq',
	'the server has loaded both libraries after the statement');
is(findings($hipq, 'error', 'warning'), '',
	'a server with hipq preloaded has no errors or warnings');

$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE FUNCTION work(data jsonb) RETURNS void LANGUAGE sql AS '';
	SELECT hipq.register_job_type('app.main', 'work', handler => 'work')});

# ---- versions
my $version = $hipq->sql('SELECT hipq.version()');
my $set_version = q{UPDATE pg_extension SET extversion = '%s' WHERE extname = 'hipq'};
$hipq->sql(sprintf $set_version, '0.0.1');
my $skew = is_found($hipq, 'error', 'version skew', 'database',
	qr/version 0\.0\.1, the library that the server has loaded \Q$version\E: no job runs/);
is($skew->{statement}, 'ALTER EXTENSION hipq UPDATE',
	'the statement for an old extension updates it');
$hipq->sql(sprintf $set_version, $version =~ s/(?<=\.)(\d+)(?=\.)/$1 - 1/er);
is_found($hipq, 'warning', 'version skew', 'database', qr/they work together/);
$hipq->sql(sprintf $set_version, '99.0.0');
$skew = is_found($hipq, 'error', 'version skew', 'database');
like($skew->{hint}, qr/Restart the server/, 'the hint for an old library is to restart the server');
$hipq->sql(sprintf $set_version, $version);
is_gone($hipq, 'version skew', 'database');

# ---- tables of another version: a check that fails is a finding, and the other checks run
$hipq->sql('ALTER TABLE hipq.queue RENAME COLUMN throttle_limit TO thrust');
my $failures = findings($hipq);
like($failures, qr/^warning hipq\.doctor\(\): check failed$/m, 'a check that fails is a finding');
unlike($failures, qr/^error/m, 'a check that fails causes no finding with severity error');
like($hipq->sql(q{SELECT detail FROM hipq.doctor() WHERE finding = 'check failed'
		AND detail LIKE '%options of queues%'}), qr/column .*throttle_limit.* \(SQLSTATE 42703\)/,
	'the finding of a check that fails has the error');
$hipq->sql('ALTER TABLE hipq.queue RENAME COLUMN thrust TO throttle_limit');
is(findings($hipq, 'error', 'warning'), '',
	'the finding of a failed check disappears when the tables are right');

# ---- a locked table
my $session = $hipq->session;
$session->query_safe('BEGIN; LOCK TABLE hipq.schedule');
like($hipq->sql(q{SELECT string_agg(detail, ' ')
		FROM hipq.doctor() WHERE finding = 'check failed'}), qr/lock timeout \(SQLSTATE 55P03\)/,
	'the doctor does not wait for a locked table');
$session->query_safe('ROLLBACK');
$session->quit;

# ---- the identity of the database
$hipq->sql('UPDATE hipq.identity SET database_oid = 1');
is_mended($hipq, 'error', 'held database', 'database', qr/another server or database/);

# ---- settings
sub contradicts
{
	my ($setting, $value, $severity, $finding, $detail, %more) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$hipq->set(%more, $setting => $value);
	is_mended($hipq, $severity, $finding, "setting $setting", $detail);
	$hipq->sql("ALTER SYSTEM RESET $_") foreach $setting, keys %more;
	$hipq->sql('SELECT pg_reload_conf()');
	return;
}
contradicts('hipq.enabled', 'off', 'warning', 'switched off', qr/no job starts/);
contradicts('hipq.databases', 'other', 'warning', 'database not served',
	qr/does not name "postgres"/);
contradicts('hipq.max_executors', 0, 'warning', 'no executors', qr/their jobs wait/);
contradicts('hipq.reserved_executors', 4, 'warning', 'contradicting settings',
	qr/\(4\) is not less than hipq\.max_executors \(4\)/);
contradicts('hipq.retry_enabled', 'off', 'warning', 'contradicting settings',
	qr/no failed job is retried/, 'hipq.max_retries' => 3);
contradicts('hipq.default_timeout', '2d', 'warning', 'contradicting settings',
	qr/\(2d\) is longer than hipq\.max_timeout \(1d\)/);
contradicts('hipq.retry_base', '1h', 'warning', 'contradicting settings',
	qr/\(1h\) is longer than hipq\.retry_max \(5min\)/);
contradicts('hipq.heartbeat_timeout', '5s', 'warning', 'short timeout', qr/a heartbeat every 10 s/);
contradicts('hipq.clock_offset', '1h', 'warning', 'moved clock', qr/for tests/);
contradicts('hipq.alert_waiting', '-1', 'information', 'alert off', qr/nobody is told/);
contradicts('track_counts', 'off', 'warning', 'statistics off', qr/knows no sizes/);
contradicts('autovacuum', 'off', 'warning', 'autovacuum off', qr/autovacuum is off/);
is(findings($hipq, 'error', 'warning'), '',
	'no finding is left after the statements about settings');

# ---- worker slots
is_found($hipq, 'information', 'no slots for parallel queries', 'setting max_worker_processes',
	qr/is 8\. hipq uses up to 6/);
$hipq->set('hipq.max_executors' => 7);
my $slots = is_found($hipq, 'warning', 'few worker slots', 'setting max_worker_processes',
	qr/hipq uses up to 9 .* not all of them can start/);
$hipq->sql($slots->{statement});
$hipq->sql('SELECT pg_reload_conf()');
ok($hipq->wait_until(q{SELECT count(*) = 1 FROM hipq.doctor()
		WHERE finding = 'restart pending' AND subject = 'setting max_worker_processes'}),
	'a change that needs a restart is a finding');
$node->restart;
is(findings($hipq), '', 'with enough worker slots there is no finding');

# The smallest value is 16, and there can be more executors.
$hipq->sql('ALTER SYSTEM SET hipq.max_running = 16');
$hipq->sql('ALTER SYSTEM SET max_worker_processes = 100');
$node->restart;
$hipq->set('hipq.max_executors' => 20);
is_found($hipq, 'warning', 'contradicting settings', 'setting hipq.max_running',
	qr/\(16\) is less than hipq\.max_executors \(20\)/);
my $fewer = finding_of($hipq, 'contradicting settings', 'setting hipq.max_running')->{statement};
$hipq->sql($fewer);
$hipq->sql('SELECT pg_reload_conf()');
ok($hipq->wait_until(q{SELECT count(*) = 0 FROM hipq.doctor()
		WHERE subject = 'setting hipq.max_running'}),
	'the statement ends the finding of hipq.max_running');

# ---- a standby
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('doctor_standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
my $copy = bless { %$hipq, node => $standby }, 'HipqCluster';
$node->wait_for_catchup($standby);
is(findings($copy), '', 'the doctor has no findings on a standby of a sound server');
$hipq->sql('ALTER ROLE app NOLOGIN');
$node->wait_for_catchup($standby);
is(findings($copy), 'error queue "app.main": owner without LOGIN',
	'the doctor finds a fault on a standby');
$standby->stop('immediate');

done_testing();
