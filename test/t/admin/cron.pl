# pg_cron enqueues the jobs of hipq.schedule(by => 'pg_cron') at the given times, as the role that
# made the schedule. A run is skipped while a job with the schedule's key is unfinished.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

# pg_cron uses background workers, so that it needs no password.
my $hipq = HipqCluster->new('cron', shared_preload_libraries => 'hipq, pg_cron',
	'cron.database_name' => 'postgres', 'cron.use_background_workers' => 'on');
$hipq->sql('CREATE ROLE producer LOGIN; CREATE ROLE reader LOGIN; CREATE ROLE stranger LOGIN');
$hipq->create_queue('app.mail');
$hipq->create_queue('app.gone');
$hipq->sql(q{
	CREATE TABLE ran (data jsonb, by_whom text DEFAULT current_user);
	GRANT ALL ON ran TO app;
	CREATE FUNCTION run(data jsonb) RETURNS void LANGUAGE sql AS 'INSERT INTO ran VALUES (data)';
	SELECT hipq.register_job_type('app.mail', 'welcome', handler => 'run');
	SELECT hipq.grant_queue('app.mail', 'producer', 'enqueue');
	SELECT hipq.grant_queue('app.mail', 'reader', 'read')});

sub schedule
{
	my ($role, $arguments) = @_;
	return $hipq->sql_as($role, "SELECT hipq.schedule($arguments, by => 'pg_cron')");
}
sub entries
{
	return $hipq->sql(q{SELECT string_agg(concat_ws(' ', schedule, username), ', ' ORDER BY jobid)
		FROM cron.job});
}
sub shown
{
	my ($columns, $name) = @_;
	return $hipq->sql("SELECT $columns FROM hipq.schedules_detail WHERE name = '$name'");
}

# ---- a database without pg_cron
like($hipq->error_of(q{SELECT hipq.schedule('s', '@daily', 'welcome', by => 'pg_cron')}),
	qr/ERROR:  55000: schedules need extension pg_cron, which is not installed in this database\nHINT:  Run CREATE EXTENSION pg_cron\./,
		'without pg_cron a schedule is refused');
$hipq->sql('CREATE DATABASE elsewhere');
my $elsewhere = $hipq->in('elsewhere');
$elsewhere->sql('CREATE EXTENSION hipq');
$elsewhere->create_queue('app.mail');
like($elsewhere->error_of(q{SELECT hipq.schedule('s', '@daily', 'welcome', queue => 'app.mail',
	by => 'pg_cron')}),
	qr/ERROR:  55000: schedules need pg_cron in this database, and it works from database "postgres"\nHINT:  Set cron\.database_name = 'elsewhere'/,
		'a schedule is refused in a database that pg_cron does not work from');
is($elsewhere->sql('SELECT count(*) FROM hipq.schedule'), 0, 'a refused schedule is not kept');
$hipq->sql('CREATE EXTENSION pg_cron');

# ---- schedules are part of their transaction
is($hipq->sql(q{BEGIN; SELECT hipq.schedule('s', '@daily', 'welcome',
	by => 'pg_cron') > now(); ROLLBACK}), 't',
	'a schedule is made and rolled back');
is(entries(), '', 'a rolled back schedule leaves no entry in pg_cron');
schedule('producer', q{'s', '@weekly', 'welcome'});
is(entries(), '0 0 * * 0 producer', 'a schedule has an entry in pg_cron as the role that made it');
schedule('producer',
	q{'s', '5 3 * * mon-fri', 'welcome', '{"to": "ann"}', priority => 3, expires_after => '1 h'});
is(entries(), '5 3 * * mon-fri producer', 'a changed schedule is changed in pg_cron');
is(shown(q{cron || ' ' || job_key || ' ' || role || ' ' || is_active, next_run_time::time}, 's'),
	'5 3 * * mon-fri s producer true|03:05:00', 'view schedules shows the schedule');
like($hipq->error_of(q{SELECT hipq.schedule('s', '5 seconds', 'welcome', by => 'pg_cron')}),
	qr/pg_cron does not take schedule "s"\nDETAIL:  It says: invalid schedule: 5 seconds\.\nHINT:  This database has pg_cron 1\.4\S*, and seconds need 1\.5\. Write '\* \* \* \* \*' for each minute/,
		'an expression that pg_cron does not know is refused')
  if $hipq->sql(q{SELECT extversion < '1.5' FROM pg_extension WHERE extname = 'pg_cron'}) eq 't';
is(entries(), '5 3 * * mon-fri producer', 'a refused change changes nothing');

# ---- privileges
sub refused
{
	my ($role, $sql) = @_;
	return $hipq->error_of($sql, extra_params => [ '-U', $role ]);
}
like(refused('app', q{SELECT hipq.schedule('s', '@daily', 'welcome',
	by => 'pg_cron')}), qr/no error/,
	"the queue owner can change another role's schedule");
is(entries(), '0 0 * * * app', 'a changed schedule runs as the role that changed it');
like(refused('producer', q{SELECT hipq.schedule('s', '@daily', 'welcome', by => 'pg_cron')}),
	qr/42501: schedule "s" of queue "app\.mail" belongs to others/,
	'another role cannot change the schedule');
like(refused('producer', q{SELECT hipq.unschedule('s')}), qr/42704: schedule "s" does not exist/,
	'another role cannot end the schedule');
$hipq->sql(q{GRANT USAGE ON SCHEMA hipq TO stranger});
like(refused('reader', q{SELECT hipq.unschedule('s')}),
	qr/42501: schedule "s" of queue "app\.mail" belongs to others/,
	'an error names the role of a schedule to a role that can read the queue');
my $own = $hipq->sql('SELECT schedule_id FROM hipq.schedule');
like(refused('stranger', "SELECT hipq._run_schedule($own)"),
	qr/42704: schedule $own does not exist/, 'a role without privileges cannot run the schedule');
is($hipq->sql_as('reader', q{SELECT name, cron, last_run_time FROM hipq.schedules_detail}),
	's|@daily|', 'a role that can read the queue sees the schedule');
$hipq->sql_as('app', q{SELECT hipq.unschedule('s')});
is(entries(), '', 'a schedule can be ended by its role');

# ---- a schedule's name belongs to its queue
$hipq->sql(q{SELECT hipq.register_job_type('app.gone', 'parcel', handler => 'run'),
	hipq.grant_queue('app.gone', 'stranger', 'enqueue')});
schedule('producer', q{'s', '1 1 * * *', 'welcome'});
schedule('stranger', q{'s', '2 2 * * *', 'parcel'});
is(entries(), '1 1 * * * producer, 2 2 * * * stranger',
	'two queues can have schedules of the same name');
schedule('stranger', q{'s', '3 3 * * *', 'parcel'});
is(entries(), '1 1 * * * producer, 3 3 * * * stranger',
	'each role changes the schedule of its own queue');
is($hipq->sql('SELECT count(DISTINCT jobname) FROM cron.job'), 2,
	'schedules of the same name have different names in pg_cron');
schedule('app', q{'s', '4 4 * * *', 'parcel', queue => 'app.mail'});
is(entries(), '3 3 * * * stranger, 4 4 * * * app',
	'a given queue says which schedule is changed, whatever the queue of the type');
like(refused('app', q{SELECT hipq.unschedule('s')}),
	qr/42P08: schedule "s" exists in several queues\nDETAIL:  Queues: app\.mail, app\.gone\.\nHINT:  Name one with queue => 'app\.mail'\./,
	'a role that can change several schedules of a name must name the queue');
$hipq->sql_as('stranger', q{SELECT hipq.unschedule('s')});
is(entries(), '4 4 * * * app',
	'a role that can change one schedule of a name need not name the queue');
schedule('app', q{'s', '5 5 * * *', 'parcel'});
is(entries(), '4 4 * * * app, 5 5 * * * app',
	'a role can make a schedule of the same name in another queue');
$hipq->sql_as('app',
	q{SELECT hipq.unschedule('s', 'app.mail'), hipq.unschedule('s', queue => 'app.gone')});
is(entries(), '', 'schedules can be ended by name and queue');

# ---- a run by hand
schedule('producer', q{'by hand', '@yearly', 'welcome', '{"to": "by hand"}', job_key => 'k'});
my $number = $hipq->sql(q{SELECT schedule_id FROM hipq.schedule WHERE name = 'by hand'});
$hipq->sql(q{SELECT hipq.pause('app.mail')});
like($hipq->sql_as('producer', "SELECT hipq._run_schedule($number)"), qr/^enqueued job \d+$/,
	'a run enqueues a job');
like($hipq->sql_as('producer', "SELECT hipq._run_schedule($number)"),
	qr/^skipped: job \d+ with key "k" has not finished$/,
	'a run is skipped while a job with the key is unfinished');
is(shown(q{last_action, last_outcome}, 'by hand'), 'skipped|waiting',
	'view schedules shows that a run was skipped');
$hipq->sql(q{SELECT hipq.resume('app.mail')});
ok($hipq->wait_until(q{SELECT last_outcome FROM hipq.schedules WHERE name = 'by hand'},
		'succeeded'), 'the enqueued job runs');
like($hipq->sql_as('producer', "SELECT hipq._run_schedule($number)"), qr/^enqueued job/,
	'a run enqueues a job after the last one has finished');
$hipq->sql(q{SELECT hipq.unschedule('by hand')});

# ---- a session that reads a schedule, or changes another one, does not block runs
schedule('producer', q{'shared', '@yearly', 'welcome', '{"to": "by hand"}', job_key => 'NONE'});
$number = $hipq->sql(q{SELECT schedule_id FROM hipq.schedule WHERE name = 'shared'});
my $run = "SET statement_timeout = '5s'; SELECT hipq._run_schedule($number)";
{
	my $reader = $hipq->session(role => 'reader');
	$reader->query_safe(q{BEGIN READ ONLY; SELECT * FROM hipq.schedules});
	like(refused('producer', $run), qr/no error: enqueued job/,
		'a run does not wait for a transaction that has read the view');
	$reader->query_safe("ROLLBACK; BEGIN; SELECT hipq._has_cron_entry($number)");
	like(refused('producer', $run), qr/no error: enqueued job/,
		'a run does not wait for a transaction that has called what the view calls');
	$reader->query_safe('ROLLBACK');
	$reader->quit;
	my $other = $hipq->session(role => 'app');
	$other->query_safe(q{BEGIN; SELECT hipq.schedule('another', '@yearly', 'welcome',
		by => 'pg_cron')});
	like(refused('producer', $run), qr/no error: enqueued job/,
		'a run does not wait for a transaction that makes another schedule');
	like(refused('producer', q{SET statement_timeout = '5s'; SELECT hipq.schedule('second',
			'@yearly', 'welcome',
				by => 'pg_cron'); SELECT hipq.unschedule('second')}), qr/no error/,
		'schedules can be made and ended beside a transaction that makes another one');
	like(refused('producer',
			q{SET lock_timeout = '200ms'; SELECT hipq.schedule('another', '@yearly', 'welcome',
				by => 'pg_cron')}),
		qr/55P03/, 'a schedule waits for a transaction that makes one of the same name');
	$hipq->sql(q{SELECT hipq.grant_queue('app.gone', 'producer', 'enqueue')});
	like(refused('producer', q{SET lock_timeout = '200ms'; SELECT hipq.schedule('another',
			'@yearly', 'parcel',
				by => 'pg_cron'); SELECT hipq.unschedule('another')}), qr/no error/,
		'a schedule of the same name in another queue does not wait');
	$hipq->sql(q{SELECT hipq.revoke_queue('app.gone', 'producer', 'enqueue')});
	like(refused('producer', q{SELECT hipq.unschedule('another')}), qr/42704/,
		'an uncommitted schedule cannot be ended');
	$other->query_safe(q{ROLLBACK; BEGIN; SELECT hipq.schedule('shared', '@daily', 'welcome',
		by => 'pg_cron')});
	like(refused('stranger', "SET statement_timeout = '5s'; SELECT hipq._run_schedule($number)"),
		qr/42704/, 'a role that cannot see a schedule does not wait for it');
	like(refused('producer', "SELECT hipq._run_schedule($number)"),
		qr/55P03: canceling statement due to lock timeout/,
		'a run waits for a change of its schedule until lock_timeout');
	$other->query_safe('ROLLBACK');
	$other->quit;
	$hipq->sql(q{SELECT hipq.unschedule('shared')});
}

# ---- pg_cron's next minute. It must not begin while the test makes schedules for it. On a busy
# machine pg_cron processes the previous minute some seconds late, and then runs a schedule that was
# made within these seconds.
ok($hipq->wait_until('SELECT extract(second FROM clock_timestamp()) BETWEEN 10 AND 30', 't', 90),
	'a minute has begun, and has 30 s left');
my $holder = $hipq->enqueue('welcome',
	q{'{}', job_key => 'held', scheduled_run_time => '2100-01-01'});
$hipq->sql(q{SELECT hipq.grant_queue('app.mail', 'stranger', 'enqueue')});
schedule('producer', q{'each minute', '* * * * *', 'welcome', '{"to": "each minute"}'});
schedule('producer', q{'held', '*/1 * * * *', 'welcome', '{"to": "held"}', job_key => 'held'});
schedule('app', q{'no key', '* * * * *', 'welcome', '{"to": "no key"}', job_key => 'NONE',
	expires_after => '1 day'});
schedule('stranger', q{'no right', '* * * * *', 'welcome', '{"to": "no right"}'});
schedule('app', q{'gone', '* * * * *', 'welcome', queue => 'app.gone'});
schedule('app', q{'ended', '* * * * *', 'welcome', '{"to": "ended"}'});
$hipq->sql(q{SELECT hipq.drop_queue('app.gone'), hipq.unschedule('ended')});
like(($hipq->node->psql('postgres',
		q{SELECT hipq.revoke_queue('app.mail', 'stranger', 'enqueue')}))[2],
	qr/WARNING:  schedules of queue "app\.mail" enqueue no more: "no right"\n/,
	'revoking a privilege warns of the schedules that need it');
is($hipq->sql(q{SELECT string_agg(name, ', ' ORDER BY name) FROM hipq.schedule}),
	'each minute, held, no key, no right', 'schedules are dropped with their queue');
is($hipq->sql(q{SELECT count(*) FROM cron.job}), 4,
	'entries in pg_cron are dropped with their queue');
ok($hipq->wait_until(q{SELECT (SELECT count(last_run_time) = 3 FROM hipq.schedules_detail)
		AND EXISTS (SELECT FROM cron.job_run_details WHERE status = 'failed')}, 't', 150),
	'pg_cron has run the schedules');
is(shown('last_action, last_job_id', 'held'), "skipped|$holder",
	'a run is skipped while another job holds the key');
is($hipq->sql(q{SELECT count(*) FROM hipq.jobs WHERE job_key = 'held'}), 1,
	'a skipped run makes no job');
ok($hipq->wait_until(q{SELECT last_outcome FROM hipq.schedules WHERE name = 'each minute'},
		'succeeded'), 'a scheduled job is enqueued and runs');
ok($hipq->wait_until(q{SELECT string_agg(DISTINCT concat_ws(' ', data->>'to', by_whom), ', ')
		FROM ran WHERE data->>'to' <> 'by hand'}, 'each minute app, no key app'),
	"a scheduled job runs with the queue owner's privileges");
is(shown(q{last_run_time BETWEEN now() - interval '3 min' AND now()
		AND next_run_time BETWEEN now() AND now() + interval '1 min'},
		'each minute'), 't', 'view schedules shows last and next run');
is($hipq->sql(q{SELECT bool_and(expires_time = created_time + interval '1 day'
		OR expires_time - created_time BETWEEN interval '23:59:59' AND interval '1 day 1 s')
		FROM hipq.jobs_detail WHERE job_data->>'to' = 'no key'}),
	't', 'a scheduled job has the given expiry');
like($hipq->sql(q{SELECT return_message FROM cron.job_run_details WHERE status = 'failed' LIMIT 1}),
	qr/queue "app\.mail" does not exist|permission denied/,
	'a schedule whose role lost its privilege fails');
is(shown('last_run_time', 'no right'), '', 'a failed run leaves no trace');

# ---- a dump has schedules
my $dump = "$PostgreSQL::Test::Utils::tmp_check/schedules.sql";
$hipq->node->command_ok([ 'pg_dump', '-f', $dump, 'postgres' ], 'pg_dump');
like(slurp_file($dump), qr/^COPY hipq\.schedule [^;]*;\n(?:\d.*\n)*?\d+\teach minute\t/m,
	'a dump has schedules');

# A schedule without an entry in pg_cron is not active, and view schedules shows this.
$hipq->sql(q{DELETE FROM cron.job WHERE username = 'producer'});
is(shown('is_active, next_run_time', 'held'), 'f|',
	'a schedule without an entry in pg_cron is not active');
schedule('producer', q{'held', '@hourly', 'welcome', job_key => 'held'});
is(shown('is_active', 'held'), 't', 'a schedule that is made again is active');

# ---- without a working pg_cron no schedule runs, and hipq leaves no entry that it cannot remove
sub restart_with
{
	my (%settings) = @_;
	$hipq->sql("ALTER SYSTEM SET $_ = $settings{$_}") foreach sort keys %settings;
	$hipq->node->restart;
	return;
}
$hipq->sql(q{SELECT cron.schedule('mine', '@yearly', 'SELECT hipq.now()'),
	cron.schedule('hipq schedule of mine', '@yearly', 'SELECT 1')});
restart_with('cron.database_name' => 'elsewhere');
is(shown('is_active', 'held'), 'f',
	'a schedule is not active if pg_cron works from another database');
like($hipq->error_of(q{SELECT hipq.schedule('s', '@daily', 'welcome', by => 'pg_cron')}),
	qr/55000: schedules need pg_cron in this database, and it works from database "elsewhere"/,
	'a schedule is refused if pg_cron works from another database');
restart_with(shared_preload_libraries => 'hipq');
is(shown('is_active', 'held'), 'f', "a schedule is not active without pg_cron's library");
like($hipq->error_of(q{SELECT hipq.schedule('s', '@daily', 'welcome', by => 'pg_cron')}),
	qr/55000: schedules need pg_cron, which is installed in this database, but not in shared_preload_libraries\nHINT:  As superuser add pg_cron to shared_preload_libraries, set cron\.database_name = 'postgres', restart the server\./,
	"a schedule is refused without pg_cron's library");
like($hipq->error_of($_),
	qr/55000: pg_cron's jobs of schedules cannot be removed while the server has not loaded pg_cron\nDETAIL:  They would go on when it is loaded again\.\nHINT:  Add pg_cron to shared_preload_libraries and restart the server, or DROP EXTENSION pg_cron first\./,
	"without pg_cron's library this is refused: $_")
  foreach q{SELECT hipq.unschedule('held')}, q{SELECT hipq.drop_queue('app.mail', force => true)},
  	'SET hipq.allow_drop = on; DROP EXTENSION hipq CASCADE';
is($hipq->sql(q{SELECT count(*) FROM cron.job WHERE command LIKE 'SELECT hipq._run%'}), 3,
	'refused calls change nothing in pg_cron');
restart_with(shared_preload_libraries => 'hipq, pg_cron', 'cron.database_name' => 'postgres');

# ---- DROP EXTENSION drops the entries of schedules, and keeps users' entries
my $jobs = q{SELECT string_agg(jobname, ', ' ORDER BY jobid) FROM cron.job};
my $drop = 'SET client_min_messages = warning; SET hipq.allow_drop = on;
	DROP EXTENSION hipq CASCADE';
like($hipq->sql($jobs), qr/^hipq schedule \d+, .*, mine, hipq schedule of mine$/,
	'pg_cron has entries of schedules and of users');
like($hipq->error_of('DROP EXTENSION hipq CASCADE'), qr/there are unfinished jobs/,
	'DROP EXTENSION is refused with unfinished jobs');
like($hipq->sql($jobs), qr/^hipq schedule/, 'a refused DROP EXTENSION drops no entry');
$hipq->sql("BEGIN; $drop; ROLLBACK");
like($hipq->sql($jobs), qr/^hipq schedule/, 'a rolled back DROP EXTENSION drops no entry');
is(shown('is_active', 'held'), 't', 'schedules are active after a rolled back DROP EXTENSION');
ok($hipq->wait_until('SELECT extract(second FROM clock_timestamp()) BETWEEN 3 AND 40'),
	'no schedule is due in the next seconds');
{
	my $producer = $hipq->session(role => 'producer');
	$producer->query_safe(q{BEGIN; SELECT hipq.schedule('late', '@daily', 'welcome',
		by => 'pg_cron')});
	my $dropper = $hipq->session(on_error_stop => 0);
	$dropper->query_until(qr/dropping/, "\\echo dropping\n$drop;\n\\echo dropped\n");
	ok($hipq->wait_until(q{SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
			AND query LIKE '%DROP EXTENSION hipq%' AND pid <> pg_backend_pid()}, 1),
		'DROP EXTENSION waits for a transaction that makes a schedule');
	$producer->query_safe('COMMIT');
	$dropper->query_safe('SELECT 1');
	$_->quit foreach $producer, $dropper;
}
is($hipq->sql($jobs), 'mine, hipq schedule of mine',
	'DROP EXTENSION drops all entries of schedules, even of one that was made while it waited');
$elsewhere->sql(q{INSERT INTO hipq.schedule (name, cron, role, queue_id, job_type, job_key)
	SELECT 's', '@daily', 'app', queue_id, 'welcome', 's' FROM hipq.queue});
{
	my (undef, undef, $said) = $hipq->node->psql('elsewhere', "$drop;");
	like($said,
		qr/WARNING:  jobs of pg_cron in database "postgres" that call hipq in this one are not removed\nHINT:  If there are any, run there: SELECT cron\.unschedule\(jobid\) FROM cron\.job WHERE database = 'elsewhere' AND command LIKE '%hipq\.%';/,
		'DROP EXTENSION warns of entries for another database');
}
$hipq->sql(q{CREATE EXTENSION hipq});
$hipq->create_queue('app.mail');
$hipq->sql(q{SELECT hipq.register_job_type('app.mail', 'welcome', handler => 'run'),
	hipq.grant_queue('app.mail', 'producer', 'enqueue')});
schedule('producer', q{'held', '@hourly', 'welcome'});
$hipq->sql('DROP EXTENSION pg_cron');
is($hipq->sql(q{SELECT bool_or(is_active) FROM hipq.schedules}), 'f',
	'without pg_cron no schedule is active');
$hipq->sql(q{SELECT hipq.unschedule(name) FROM hipq.schedule});
is($hipq->sql(q{SELECT count(*) FROM hipq.schedule}), 0, 'without pg_cron schedules can be ended');

# ---- restored under another name: pg_cron's entries of the dump are for the original database
$hipq->sql('CREATE DATABASE restored TEMPLATE template0');
restart_with('cron.database_name' => 'restored');
$hipq->node->command_ok([ 'psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-d', 'restored', '-f', $dump ],
	'a dump with schedules and jobs of pg_cron is restored');
my $restored = $hipq->in('restored');
my $alert = q{SELECT times || ' ' || detail FROM hipq.alerts_detail WHERE alert = 'schedules'};
my $job_of = q{SELECT string_agg(concat_ws(' ', schedule.name, entry.database, entry.username), ', '
	ORDER BY schedule.name) FROM hipq.schedule
	JOIN cron.job AS entry ON jobname = 'hipq schedule ' || schedule_id};
is($restored->sql($job_of), 'each minute postgres '
	. 'producer, held postgres producer, no key postgres app, no right postgres stranger',
	"a restored database has pg_cron's entries for the original database");
is($restored->sql('SELECT bool_or(is_active) FROM hipq.schedules'), 'f',
	'in a restored database no schedule is active');
is($restored->sql($alert),
	'4 4 schedule(s) do not come, as pg_cron has no job for them in this database: '
	. '"each minute" of app.mail, held of app.mail, "no key" of app.mail, "no right" of app.mail.',
	'an alert names the restored schedules');
is($restored->sql_as('stranger', q{SELECT 1}), 1, 'roles can connect to the restored database');
$restored->sql('GRANT EXECUTE ON FUNCTION hipq.restore_schedules() TO app');
like($restored->error_of('SELECT hipq.restore_schedules()', extra_params => [ '-U', 'app' ]),
	qr/42501: only a superuser or the owner of the extension may restore schedules/,
	"only the extension's owner can restore schedules");
my $released = $restored->sql('SELECT hipq.release_hold(); SELECT clock_timestamp()') =~ s/^\s+//r;
is($restored->sql($job_of), 'each minute restored '
	. 'producer, held restored producer, no key restored app, no right restored stranger',
	'release_hold() restores the schedules in pg_cron');
is($restored->sql('SELECT count(*) FROM cron.job'), 4, 'restored entries replace the old ones');
is($restored->sql('SELECT bool_and(is_active) FROM hipq.schedules'), 't',
	'restored schedules are active');
is($restored->sql($alert), '', 'the alert of schedules ends after release_hold()');
ok($restored->wait_until(qq{SELECT last_run_time > '$released' FROM hipq.schedules_detail
		WHERE name = 'each minute'}, 't', 150), 'pg_cron runs restored schedules');

# ---- other changes of pg_cron's entries
$restored->sql(q{SELECT cron.alter_job(jobid, active => false) FROM cron.job
	WHERE username = 'app'});
is($restored->sql(q{SELECT name FROM hipq.schedules WHERE NOT is_active}), 'no key',
	'an entry that was made inactive makes its schedule inactive');
is($restored->sql("SELECT hipq.restore_schedules(); $alert"), 0,
	'restore_schedules() does not change an inactive entry');
$restored->sql('ALTER ROLE stranger RENAME TO outsider');
like($restored->sql($job_of), qr/no right restored outsider/,
	"pg_cron's entry follows a renamed role");
is($restored->sql($alert), '', 'a renamed role causes no alert');
$restored->sql(q{UPDATE cron.job SET username = 'producer' WHERE username = 'outsider'});
like($restored->sql($alert), qr/^1 .*: "no right" of app\.mail\.$/,
	'an entry of another role causes an alert');
is($restored->sql('SELECT hipq.restore_schedules()'), 1,
	'restore_schedules() corrects an entry of another role');
like($restored->sql($job_of), qr/no right restored outsider/,
	'the corrected entry has its role again');

# ---- dropped roles
like($restored->error_of('DROP ROLE outsider'),
	qr/2BP01: .* because schedule "no right" of queue "app\.mail" enqueues as it\nHINT:  End it/,
	'a role with a schedule cannot be dropped');
# The schedule does not prevent this in another database.
$hipq->in('template1')->sql('DROP ROLE outsider');
is($restored->sql($alert) =~ s/^1 .*: //r, '"no right" of app.mail (its role is gone).',
	'the alert says that the role is gone');
$restored->sql(q{UPDATE cron.job SET database = 'renamed' WHERE jobname =
	(SELECT 'hipq schedule ' || schedule_id FROM hipq.schedule WHERE name = 'held')});
$restored->sql(q{ALTER SYSTEM SET hipq.clock_offset = '90 s'});
$restored->sql('SELECT pg_reload_conf()');
ok($restored->wait_until(q{SELECT count(*) FROM cron.job WHERE username = 'outsider'}, 0),
	"pg_cron's entry of a dropped role is removed within a minute");
is($restored->sql(q{SELECT count(*) FROM cron.job WHERE database <> 'restored'}), 0,
	"pg_cron's entry for a renamed database is removed");
$restored->sql('ALTER SYSTEM RESET hipq.clock_offset');
$restored->sql('SELECT pg_reload_conf()');
$restored->sql(q{SELECT hipq.unschedule('no right')});
is($restored->sql($alert), '', 'the alert ends when the schedule of a dropped role is ended');

# ---- pg_cron's process
my $stopped = q{SELECT detail FROM hipq.alerts_detail WHERE alert = 'pg_cron'};
my $coming = 'SELECT count(*) > 0 AND bool_and(next_run_time > now())
	FROM hipq.schedules_detail WHERE is_active';
ok($restored->wait_until($coming, 't'), 'schedules are due again');
$restored->sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE backend_type = 'pg_cron launcher'});
ok($restored->wait_until($stopped, 'The process of pg_cron is not there, or ends at each start: '
	. 'no schedule comes.'), "an alert says that pg_cron's process has ended");
is($restored->sql('SELECT count(*) FROM hipq.schedules_detail WHERE is_active
		OR next_run_time IS NOT NULL'),
	0, "no schedule is active without pg_cron's process");
is($restored->sql(q{SELECT severity, subject FROM hipq.doctor()
		WHERE finding = 'pg_cron is stopped'}),
	'error|pg_cron', 'the doctor finds that pg_cron is stopped');
$hipq->node->restart;
ok($restored->wait_until($coming, 't'), 'schedules are due again after a restart');
is($restored->sql($stopped), '', 'the alert of pg_cron ends after a restart');

# ---- an expression that pg_cron refuses
$restored->sql(q{UPDATE hipq.schedule SET cron = 'nonsense' WHERE name = 'held';
	DELETE FROM cron.job});
my (undef, $count, $said) = $hipq->node->psql('restored',
	'\\set VERBOSITY verbose' . "\nSELECT hipq.restore_schedules()");
like($said,
	qr/WARNING:  22023: cannot restore schedule "held" of queue "app\.mail"\nDETAIL:  It says: invalid schedule: nonsense\.\nHINT:  Make it anew/,
	'a warning names a schedule whose expression pg_cron refuses');
is($count, 2, 'restore_schedules() restores the schedules that pg_cron accepts');
like($restored->sql($alert), qr/^1 .*: held of app\.mail\.$/,
	'the alert has only the schedule that pg_cron refuses');
restart_with('cron.database_name' => 'postgres');
like($restored->error_of('SELECT hipq.restore_schedules()'),
	qr/55000: schedules need pg_cron in this database, and it works from database "postgres"/,
	'restore_schedules() is refused if pg_cron works from another database');
(undef, undef, $said) = $hipq->node->psql('restored', 'SELECT hipq.release_hold()');
like($said,
	qr/WARNING:  3 schedule\(s\) do not come: pg_cron does not work from this database\nHINT:  When it does, SELECT hipq\.restore_schedules\(\)\.$/,
	'release_hold() warns of schedules that cannot be restored');
like($restored->sql($alert), qr/^3 /,
	'the alert counts the schedules that release_hold() could not restore');

done_testing();
