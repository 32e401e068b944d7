# hipq.doctor() finds schedules that are lost, inactive or overdue, or whose job cannot be enqueued.
use strict;
use warnings;
use HipqCluster;
use HipqDoctor;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('doctor_schedules', shared_preload_libraries => 'hipq, pg_cron',
	'cron.database_name' => 'postgres', 'cron.use_background_workers' => 'on');
$hipq->sql('CREATE EXTENSION pg_cron; CREATE ROLE producer LOGIN');
$hipq->create_queue('app.mail');
$hipq->sql(q{
	CREATE FUNCTION work(data jsonb) RETURNS void LANGUAGE sql AS '';
	SELECT hipq.register_job_type('app.mail', 'work', handler => 'work');
	SELECT hipq.grant_queue('app.mail', 'producer', 'enqueue')});
$hipq->sql_as('producer',
	q{SELECT hipq.schedule('nightly', '0 3 * * *', 'work', timeout => '30 min', by => 'pg_cron')});
my $nightly = 'schedule "nightly" of queue "app.mail"';
is(findings($hipq), '', 'an active schedule is not a finding');

# A finding about another tenant's schedule of the same name names its queue, and its statement ends
# only that schedule.
$hipq->create_queue('app.other');
$hipq->sql(q{SELECT hipq.register_job_type('app.other', 'gone', handler => 'work'),
	hipq.schedule('nightly', '0 4 * * *', 'gone', queue => 'app.other', by => 'pg_cron')});
$hipq->sql(q{DELETE FROM hipq.job_type WHERE name = 'gone'});
is_mended($hipq, 'error', 'job type gone', 'schedule "nightly" of queue "app.other"',
	qr/jobs of type "gone", which nobody has registered in queue "app\.other"/);
is($hipq->sql('SELECT cron FROM hipq.schedules'), '0 3 * * *',
	'the statement does not end another schedule of the same name');

$hipq->sql(q{UPDATE cron.job SET active = false});
is_mended($hipq, 'information', 'inactive schedule', $nightly, qr/is not active/);
$hipq->sql(q{DELETE FROM cron.job});
is_mended($hipq, 'error', 'lost schedule', $nightly, qr/pg_cron has no job for it/);

$hipq->sql(q{SELECT hipq.revoke_queue('app.mail', 'producer', 'enqueue')});
is_mended($hipq, 'error', 'role may not enqueue', $nightly, qr/as "producer", which has no right/);
$hipq->sql(q{SELECT hipq.alter_queue('app.mail', max_timeout => '10 min')});
is_mended($hipq, 'warning', 'timeout is cut', $nightly,
	qr/ask for a timeout of 1800 s, and the queue allows 600 s/);

# Runs that were due while the server was down are not made up for. The clock of hipq is moved, and
# pg_cron's is not.
$hipq->sql(q{UPDATE hipq.schedule SET created_time = now() - interval '3 days'});
is(findings($hipq), '', 'runs that were due while the server was down are not overdue');
$hipq->sql(q{ALTER SYSTEM SET hipq.clock_offset = '25 h'});
$hipq->sql('SELECT pg_reload_conf()');
ok($hipq->wait_until(q{SELECT hipq.now() > clock_timestamp() + interval '24 h'}),
	"hipq's clock is a day ahead");
is_found($hipq, 'warning', 'overdue schedule', $nightly, qr/It has never come, and was due at /);
$hipq->sql(q{UPDATE hipq.schedule SET last_run_time = hipq.now()});
is_gone($hipq, 'overdue schedule', $nightly);
$hipq->sql(q{ALTER SYSTEM RESET hipq.clock_offset});
$hipq->sql('SELECT pg_reload_conf()');

$hipq->sql(q{DELETE FROM hipq.job_type WHERE name = 'work'});
is_mended($hipq, 'error', 'job type gone', $nightly,
	qr/jobs of type "work", which nobody has registered/);
is($hipq->sql('SELECT count(*) FROM hipq.schedule'), 0,
	'the statement ends a schedule whose job type is missing');

done_testing();
