# hipq.schedule(): pg_cron enqueues at the times given, as the role that has made the schedule, one job per key.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Background workers, so that pg_cron needs no password.
my $hipq = HipqCluster->new('cron', shared_preload_libraries => 'hipq, pg_cron', 'cron.database_name' => 'postgres', 'cron.use_background_workers' => 'on');
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

sub schedule { my ($role, $arguments) = @_; return $hipq->sql_as($role, "SELECT hipq.schedule($arguments)"); }
sub entries { return $hipq->sql(q{SELECT string_agg(concat_ws(' ', schedule, username), ', ' ORDER BY jobid) FROM cron.job}); }
sub shown { my ($columns, $name) = @_; return $hipq->sql("SELECT $columns FROM hipq.schedules_detail WHERE name = '$name'"); }

# ---- pg_cron is not in this database
like($hipq->error_of(q{SELECT hipq.schedule('s', '@daily', 'welcome')}),
	qr/ERROR:  55000: schedules need extension pg_cron, which is not installed in this database\nHINT:  Run CREATE EXTENSION pg_cron\./, 'not installed');
$hipq->sql('CREATE DATABASE elsewhere');
my $elsewhere = $hipq->in('elsewhere');
$elsewhere->sql('CREATE EXTENSION hipq');
$elsewhere->create_queue('app.mail');
like($elsewhere->error_of(q{SELECT hipq.schedule('s', '@daily', 'welcome', queue => 'app.mail')}),
	qr/ERROR:  55000: schedules need pg_cron in this database, and it works from database "postgres"\nHINT:  Set cron\.database_name = 'elsewhere'/, 'in another one');
is($elsewhere->sql('SELECT count(*) FROM hipq.schedule'), 0, 'nothing is left of that');
$hipq->sql('CREATE EXTENSION pg_cron');

# ---- schedules are changed with their transaction
is($hipq->sql(q{BEGIN; SELECT hipq.schedule('s', '@daily', 'welcome') > now(); ROLLBACK}), 't', 'a schedule that is rolled back');
is(entries(), '', 'leaves nothing in pg_cron');
schedule('producer', q{'s', '@weekly', 'welcome'});
is(entries(), '0 0 * * 0 producer', 'one that stays has a job there, as whoever has made it');
schedule('producer', q{'s', '5 3 * * mon-fri', 'welcome', '{"to": "ann"}', priority => 3, expires_after => '1 h'});
is(entries(), '5 3 * * mon-fri producer', 'changed');
is(shown(q{cron || ' ' || job_key || ' ' || role || ' ' || is_active, next_run_time::time}, 's'), '5 3 * * mon-fri s producer true|03:05:00', 'the view tells');
like($hipq->error_of(q{SELECT hipq.schedule('s', '5 seconds', 'welcome')}),
	qr/pg_cron does not take schedule "s"\nDETAIL:  It says: invalid schedule: 5 seconds\.\nHINT:  This database has pg_cron 1\.4\S*, and seconds need 1\.5\. Write '\* \* \* \* \*' for each minute/, 'what pg_cron does not know')
  if $hipq->sql(q{SELECT extversion < '1.5' FROM pg_extension WHERE extname = 'pg_cron'}) eq 't';
is(entries(), '5 3 * * mon-fri producer', 'changes nothing');

# ---- rights
sub refused { my ($role, $sql) = @_; return $hipq->error_of($sql, extra_params => [ '-U', $role ]); }
like(refused('app', q{SELECT hipq.schedule('s', '@daily', 'welcome')}), qr/no error/, 'the queue owner may change it');
is(entries(), '0 0 * * * app', 'and it is his then');
like(refused('producer', q{SELECT hipq.schedule('s', '@daily', 'welcome')}), qr/42501: schedule "s" of queue "app\.mail" belongs to others/, 'others may not');
like(refused('producer', q{SELECT hipq.unschedule('s')}), qr/42704: schedule "s" does not exist/, 'nor end it');
$hipq->sql(q{GRANT USAGE ON SCHEMA hipq TO stranger});
like(refused('reader', q{SELECT hipq.unschedule('s')}), qr/42501: schedule "s" of queue "app\.mail" belongs to others/, 'who may read the queue is told so');
my $own = $hipq->sql('SELECT schedule_id FROM hipq.schedule');
like(refused('stranger', "SELECT hipq._run_schedule($own)"), qr/42704: schedule $own does not exist/, 'for others there is none to run');
is($hipq->sql_as('reader', q{SELECT name, cron, last_run_time FROM hipq.schedules_detail}), 's|@daily|', 'who may read the queue sees it');
$hipq->sql_as('app', q{SELECT hipq.unschedule('s')});
is(entries(), '', 'ended by its role');

# ---- a name is its queue's
$hipq->sql(q{SELECT hipq.register_job_type('app.gone', 'parcel', handler => 'run'), hipq.grant_queue('app.gone', 'stranger', 'enqueue')});
schedule('producer', q{'s', '1 1 * * *', 'welcome'});
schedule('stranger', q{'s', '2 2 * * *', 'parcel'});
is(entries(), '1 1 * * * producer, 2 2 * * * stranger', 'nobody takes a name from another queue');
schedule('stranger', q{'s', '3 3 * * *', 'parcel'});
is(entries(), '1 1 * * * producer, 3 3 * * * stranger', 'and each changes its own');
is($hipq->sql('SELECT count(DISTINCT jobname) FROM cron.job'), 2, 'to pg_cron they have different names');
schedule('app', q{'s', '4 4 * * *', 'parcel', queue => 'app.mail'});
is(entries(), '3 3 * * * stranger, 4 4 * * * app', 'the queue named says which is changed, also where the job type is of another one');
like(refused('app', q{SELECT hipq.unschedule('s')}), qr/42P08: schedule "s" exists in several queues\nDETAIL:  Queues: app\.mail, app\.gone\.\nHINT:  Name one with queue => 'app\.mail'\./,
	'who may change several has to say which');
$hipq->sql_as('stranger', q{SELECT hipq.unschedule('s')});
is(entries(), '4 4 * * * app', 'for others there is one');
schedule('app', q{'s', '5 5 * * *', 'parcel'});
is(entries(), '4 4 * * * app, 5 5 * * * app', 'in another queue a role makes another one');
$hipq->sql_as('app', q{SELECT hipq.unschedule('s', 'app.mail'), hipq.unschedule('s', queue => 'app.gone')});
is(entries(), '', 'ended by name and queue');

# ---- a run by hand
schedule('producer', q{'by hand', '@yearly', 'welcome', '{"to": "by hand"}', job_key => 'k'});
my $number = $hipq->sql(q{SELECT schedule_id FROM hipq.schedule WHERE name = 'by hand'});
$hipq->sql(q{SELECT hipq.pause('app.mail')});
like($hipq->sql_as('producer', "SELECT hipq._run_schedule($number)"), qr/^enqueued job \d+$/, 'enqueues');
like($hipq->sql_as('producer', "SELECT hipq._run_schedule($number)"), qr/^skipped: job \d+ with key "k" has not finished$/, 'or says that it does not');
is(shown(q{last_action, last_outcome}, 'by hand'), 'skipped|waiting', 'and so does the view');
$hipq->sql(q{SELECT hipq.resume('app.mail')});
ok($hipq->wait_until(q{SELECT last_outcome FROM hipq.schedules WHERE name = 'by hand'}, 'succeeded'), 'the job runs');
like($hipq->sql_as('producer', "SELECT hipq._run_schedule($number)"), qr/^enqueued job/, 'then the next one is enqueued');
$hipq->sql(q{SELECT hipq.unschedule('by hand')});

# ---- who looks at a schedule, or changes another one, holds up nobody
schedule('producer', q{'shared', '@yearly', 'welcome', '{"to": "by hand"}', job_key => 'NONE'});
$number = $hipq->sql(q{SELECT schedule_id FROM hipq.schedule WHERE name = 'shared'});
my $run = "SET statement_timeout = '5s'; SELECT hipq._run_schedule($number)";
{
	my $reader = $hipq->session(role => 'reader');
	$reader->query_safe(q{BEGIN READ ONLY; SELECT * FROM hipq.schedules});
	like(refused('producer', $run), qr/no error: enqueued job/, 'a run beside an open transaction that has read the view');
	$reader->query_safe("ROLLBACK; BEGIN; SELECT hipq._has_cron_entry($number)");
	like(refused('producer', $run), qr/no error: enqueued job/, 'or what the view asks');
	$reader->query_safe('ROLLBACK');
	$reader->quit;
	my $other = $hipq->session(role => 'app');
	$other->query_safe(q{BEGIN; SELECT hipq.schedule('another', '@yearly', 'welcome')});
	like(refused('producer', $run), qr/no error: enqueued job/, 'or is making another one');
	like(refused('producer', q{SET statement_timeout = '5s'; SELECT hipq.schedule('second', '@yearly', 'welcome'); SELECT hipq.unschedule('second')}), qr/no error/, 'beside which others are made and ended');
	like(refused('producer', q{SET lock_timeout = '200ms'; SELECT hipq.schedule('another', '@yearly', 'welcome')}), qr/55P03/, 'the same name has to wait');
	$hipq->sql(q{SELECT hipq.grant_queue('app.gone', 'producer', 'enqueue')});
	like(refused('producer', q{SET lock_timeout = '200ms'; SELECT hipq.schedule('another', '@yearly', 'parcel'); SELECT hipq.unschedule('another')}), qr/no error/, 'but not that of another queue');
	$hipq->sql(q{SELECT hipq.revoke_queue('app.gone', 'producer', 'enqueue')});
	like(refused('producer', q{SELECT hipq.unschedule('another')}), qr/42704/, 'and is not there to be ended');
	$other->query_safe(q{ROLLBACK; BEGIN; SELECT hipq.schedule('shared', '@daily', 'welcome')});
	like(refused('stranger', "SET statement_timeout = '5s'; SELECT hipq._run_schedule($number)"), qr/42704/, 'who may not know of a schedule does not wait for it');
	like(refused('producer', "SELECT hipq._run_schedule($number)"), qr/55P03: canceling statement due to lock timeout/, 'a run waits for who changes it, but not for ever');
	$other->query_safe('ROLLBACK');
	$other->quit;
	$hipq->sql(q{SELECT hipq.unschedule('shared')});
}

# ---- pg_cron's next minute, which does not begin while schedules for it are made. On a busy machine pg_cron sees the minute before some
# seconds late, and with it a schedule that is made in its first second.
ok($hipq->wait_until('SELECT extract(second FROM clock_timestamp()) BETWEEN 10 AND 30', 't', 90), 'there is time before the next minute');
my $holder = $hipq->enqueue('welcome', q{'{}', job_key => 'held', scheduled_run_time => '2100-01-01'});
$hipq->sql(q{SELECT hipq.grant_queue('app.mail', 'stranger', 'enqueue')});
schedule('producer', q{'each minute', '* * * * *', 'welcome', '{"to": "each minute"}'});
schedule('producer', q{'held', '*/1 * * * *', 'welcome', '{"to": "held"}', job_key => 'held'});
schedule('app', q{'no key', '* * * * *', 'welcome', '{"to": "no key"}', job_key => 'NONE', expires_after => '1 day'});
schedule('stranger', q{'no right', '* * * * *', 'welcome', '{"to": "no right"}'});
schedule('app', q{'gone', '* * * * *', 'welcome', queue => 'app.gone'});
schedule('app', q{'ended', '* * * * *', 'welcome', '{"to": "ended"}'});
$hipq->sql(q{SELECT hipq.drop_queue('app.gone'), hipq.unschedule('ended')});
like(($hipq->node->psql('postgres', q{SELECT hipq.revoke_queue('app.mail', 'stranger', 'enqueue')}))[2],
	qr/WARNING:  schedules of queue "app\.mail" enqueue no more: "no right"\n/,
	'who takes a right is told which schedules fail for it');
is($hipq->sql(q{SELECT string_agg(name, ', ' ORDER BY name) FROM hipq.schedule}), 'each minute, held, no key, no right', 'a queue takes its schedules along');
is($hipq->sql(q{SELECT count(*) FROM cron.job}), 4, 'and their jobs in pg_cron');
ok($hipq->wait_until(q{SELECT (SELECT count(last_run_time) = 3 FROM hipq.schedules_detail) AND EXISTS (SELECT FROM cron.job_run_details WHERE status = 'failed')}, 't', 150), 'the minute is over');
is(shown('last_action, last_job_id', 'held'), "skipped|$holder", 'a key that an unfinished job holds is left to it');
is($hipq->sql(q{SELECT count(*) FROM hipq.jobs WHERE job_key = 'held'}), 1, 'and no other job is made');
ok($hipq->wait_until(q{SELECT last_outcome FROM hipq.schedules WHERE name = 'each minute'}, 'succeeded'), 'a job is enqueued and run');
ok($hipq->wait_until(q{SELECT string_agg(DISTINCT concat_ws(' ', data->>'to', by_whom), ', ') FROM ran WHERE data->>'to' <> 'by hand'}, 'each minute app, no key app'), 'with the queue owner\'s rights');
is(shown(q{last_run_time BETWEEN now() - interval '3 min' AND now() AND next_run_time BETWEEN now() AND now() + interval '1 min'}, 'each minute'), 't', 'last and next run');
is($hipq->sql(q{SELECT bool_and(expires_time = created_time + interval '1 day' OR expires_time - created_time BETWEEN interval '23:59:59' AND interval '1 day 1 s') FROM hipq.jobs_detail WHERE job_data->>'to' = 'no key'}),
	't', 'with what was given');
like($hipq->sql(q{SELECT return_message FROM cron.job_run_details WHERE status = 'failed' LIMIT 1}), qr/queue "app\.mail" does not exist|permission denied/, 'who has lost the right enqueues no more');
is(shown('last_run_time', 'no right'), '', 'nothing of that run is left');

# ---- a dump carries schedules
my $dump = "$PostgreSQL::Test::Utils::tmp_check/schedules.sql";
$hipq->node->command_ok([ 'pg_dump', '-f', $dump, 'postgres' ], 'pg_dump');
like(slurp_file($dump), qr/^COPY hipq\.schedule [^;]*;\n(?:\d.*\n)*?\d+\teach minute\t/m, 'carries schedules');

# Without its job in pg_cron a schedule is not active, and says so.
$hipq->sql(q{DELETE FROM cron.job WHERE username = 'producer'});
is(shown('is_active, next_run_time', 'held'), 'f|', 'without a job in pg_cron it does not come');
schedule('producer', q{'held', '@hourly', 'welcome', job_key => 'held'});
is(shown('is_active', 'held'), 't', 'made again it does');

# ---- where pg_cron does not work any more no schedule comes, and nothing is left there that cannot be removed
sub restart_with { my (%settings) = @_; $hipq->sql("ALTER SYSTEM SET $_ = $settings{$_}") foreach sort keys %settings; $hipq->node->restart; return; }
$hipq->sql(q{SELECT cron.schedule('mine', '@yearly', 'SELECT hipq.now()'), cron.schedule('hipq schedule of mine', '@yearly', 'SELECT 1')});
restart_with('cron.database_name' => 'elsewhere');
is(shown('is_active', 'held'), 'f', 'without pg_cron working from here a schedule does not come');
like($hipq->error_of(q{SELECT hipq.schedule('s', '@daily', 'welcome')}), qr/55000: schedules need pg_cron in this database, and it works from database "elsewhere"/, 'and none is made');
restart_with(shared_preload_libraries => 'hipq');
is(shown('is_active', 'held'), 'f', 'nor without its library');
like($hipq->error_of(q{SELECT hipq.schedule('s', '@daily', 'welcome')}), qr/55000: schedules need pg_cron, which is installed in this database, but not in shared_preload_libraries\nHINT:  As superuser add pg_cron to shared_preload_libraries, set cron\.database_name = 'postgres', restart the server\./, 'and none is made');
like($hipq->error_of($_), qr/55000: pg_cron's jobs of schedules cannot be removed while the server has not loaded pg_cron\nDETAIL:  They would go on when it is loaded again\.\nHINT:  Add pg_cron to shared_preload_libraries and restart the server, or DROP EXTENSION pg_cron first\./, "refused: $_")
  foreach q{SELECT hipq.unschedule('held')}, q{SELECT hipq.drop_queue('app.mail', force => true)}, 'SET hipq.allow_drop = on; DROP EXTENSION hipq CASCADE';
is($hipq->sql(q{SELECT count(*) FROM cron.job WHERE command LIKE 'SELECT hipq._run%'}), 3, 'nothing has changed');
restart_with(shared_preload_libraries => 'hipq, pg_cron', 'cron.database_name' => 'postgres');

# ---- DROP EXTENSION takes them along, and what is the user's own stays
my $jobs = q{SELECT string_agg(jobname, ', ' ORDER BY jobid) FROM cron.job};
my $drop = 'SET client_min_messages = warning; SET hipq.allow_drop = on; DROP EXTENSION hipq CASCADE';
like($hipq->sql($jobs), qr/^hipq schedule \d+, .*, mine, hipq schedule of mine$/, 'jobs of schedules and others');
like($hipq->error_of('DROP EXTENSION hipq CASCADE'), qr/there are unfinished jobs/, 'refused');
like($hipq->sql($jobs), qr/^hipq schedule/, 'it takes nothing along');
$hipq->sql("BEGIN; $drop; ROLLBACK");
like($hipq->sql($jobs), qr/^hipq schedule/, 'nor rolled back');
is(shown('is_active', 'held'), 't', 'schedules come all the same');
ok($hipq->wait_until('SELECT extract(second FROM clock_timestamp()) BETWEEN 3 AND 40'), 'no schedule is due in the next seconds');
{
	my $producer = $hipq->session(role => 'producer');
	$producer->query_safe(q{BEGIN; SELECT hipq.schedule('late', '@daily', 'welcome')});
	my $dropper = $hipq->session(on_error_stop => 0);
	$dropper->query_until(qr/dropping/, "\\echo dropping\n$drop;\n\\echo dropped\n");
	ok($hipq->wait_until(q{SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%DROP EXTENSION hipq%' AND pid <> pg_backend_pid()}, 1), 'it waits for who makes a schedule');
	$producer->query_safe('COMMIT');
	$dropper->query_safe('SELECT 1');
	$_->quit foreach $producer, $dropper;
}
is($hipq->sql($jobs), 'mine, hipq schedule of mine', 'with the extension they go, the last one too');
$elsewhere->sql(q{INSERT INTO hipq.schedule (name, cron, role, queue_id, job_type, job_key) SELECT 's', '@daily', 'app', queue_id, 'welcome', 's' FROM hipq.queue});
{
	my (undef, undef, $said) = $hipq->node->psql('elsewhere', "$drop;");
	like($said, qr/WARNING:  jobs of pg_cron in database "postgres" that call hipq in this one are not removed\nHINT:  If there are any, run there: SELECT cron\.unschedule\(jobid\) FROM cron\.job WHERE database = 'elsewhere' AND command LIKE '%hipq\.%';/,
		'what another database has is told');
}
$hipq->sql(q{CREATE EXTENSION hipq});
$hipq->create_queue('app.mail');
$hipq->sql(q{SELECT hipq.register_job_type('app.mail', 'welcome', handler => 'run'), hipq.grant_queue('app.mail', 'producer', 'enqueue')});
schedule('producer', q{'held', '@hourly', 'welcome'});
$hipq->sql('DROP EXTENSION pg_cron');
is($hipq->sql(q{SELECT bool_or(is_active) FROM hipq.schedules}), 'f', 'without pg_cron none is active');
$hipq->sql(q{SELECT hipq.unschedule(name) FROM hipq.schedule});
is($hipq->sql(q{SELECT count(*) FROM hipq.schedule}), 0, 'and they can be ended');

# ---- restored under another name: pg_cron's jobs of the dump are for the database that it was made of
$hipq->sql('CREATE DATABASE restored TEMPLATE template0');
restart_with('cron.database_name' => 'restored');
$hipq->node->command_ok([ 'psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-d', 'restored', '-f', $dump ], 'a dump with schedules and jobs of pg_cron is restored');
my $restored = $hipq->in('restored');
my $alert = q{SELECT times || ' ' || detail FROM hipq.alerts_detail WHERE alert = 'schedules'};
my $job_of = q{SELECT string_agg(concat_ws(' ', schedule.name, entry.database, entry.username), ', ' ORDER BY schedule.name) FROM hipq.schedule JOIN cron.job AS entry ON jobname = 'hipq schedule ' || schedule_id};
is($restored->sql($job_of), 'each minute postgres producer, held postgres producer, no key postgres app, no right postgres stranger', 'as they were');
is($restored->sql('SELECT bool_or(is_active) FROM hipq.schedules'), 'f', 'so no schedule comes');
is($restored->sql($alert), '4 4 schedule(s) do not come, as pg_cron has no job for them in this database: "each minute" of app.mail, held of app.mail, "no key" of app.mail, "no right" of app.mail.', 'which is an alert');
is($restored->sql_as('stranger', q{SELECT 1}), 1, 'others are there');
$restored->sql('GRANT EXECUTE ON FUNCTION hipq.restore_schedules() TO app');
like($restored->error_of('SELECT hipq.restore_schedules()', extra_params => [ '-U', 'app' ]), qr/42501: only a superuser or the owner of the extension may restore schedules/, 'not for everybody to mend');
my $released = $restored->sql('SELECT hipq.release_hold(); SELECT clock_timestamp()') =~ s/^\s+//r;
is($restored->sql($job_of), 'each minute restored producer, held restored producer, no key restored app, no right restored stranger', 'release_hold() gives them to pg_cron');
is($restored->sql('SELECT count(*) FROM cron.job'), 4, 'in place of the old ones');
is($restored->sql('SELECT bool_and(is_active) FROM hipq.schedules'), 't', 'so they come');
is($restored->sql($alert), '', 'and the alert is over');
ok($restored->wait_until(qq{SELECT last_run_time > '$released' FROM hipq.schedules_detail WHERE name = 'each minute'}, 't', 150), 'pg_cron runs them');

# ---- what else parts a schedule from pg_cron
$restored->sql(q{SELECT cron.alter_job(jobid, active => false) FROM cron.job WHERE username = 'app'});
is($restored->sql(q{SELECT name FROM hipq.schedules WHERE NOT is_active}), 'no key', 'a job that was made inactive');
is($restored->sql("SELECT hipq.restore_schedules(); $alert"), 0, 'is left alone');
$restored->sql('ALTER ROLE stranger RENAME TO outsider');
like($restored->sql($job_of), qr/no right restored outsider/, 'pg_cron knows the new name of a role');
is($restored->sql($alert), '', 'so nothing is lost');
$restored->sql(q{UPDATE cron.job SET username = 'producer' WHERE username = 'outsider'});
like($restored->sql($alert), qr/^1 .*: "no right" of app\.mail\.$/, 'a job of another role');
is($restored->sql('SELECT hipq.restore_schedules()'), 1, 'is mended');
like($restored->sql($job_of), qr/no right restored outsider/, 'so it comes again');

# ---- roles that are dropped
like($restored->error_of('DROP ROLE outsider'),
	qr/2BP01: .* because schedule "no right" of queue "app\.mail" enqueues as it\nHINT:  End it/,
	'a role that has a schedule stays');
# Another database does not know.
$hipq->in('template1')->sql('DROP ROLE outsider');
is($restored->sql($alert) =~ s/^1 .*: //r, '"no right" of app.mail (its role is gone).',
	'the alert names the reason');
$restored->sql(q{UPDATE cron.job SET database = 'renamed' WHERE jobname =
	(SELECT 'hipq schedule ' || schedule_id FROM hipq.schedule WHERE name = 'held')});
$restored->sql(q{ALTER SYSTEM SET hipq.clock_offset = '90 s'});
$restored->sql('SELECT pg_reload_conf()');
ok($restored->wait_until(q{SELECT count(*) FROM cron.job WHERE username = 'outsider'}, 0),
	'and pg_cron keeps no entry at which its process ends for longer than a minute');
is($restored->sql(q{SELECT count(*) FROM cron.job WHERE database <> 'restored'}), 0,
	'nor one for a database of a name that is no more');
$restored->sql('ALTER SYSTEM RESET hipq.clock_offset');
$restored->sql('SELECT pg_reload_conf()');
$restored->sql(q{SELECT hipq.unschedule('no right')});
is($restored->sql($alert), '', 'the schedule can be ended');

# ---- pg_cron's process
my $stopped = q{SELECT detail FROM hipq.alerts_detail WHERE alert = 'pg_cron'};
my $coming = 'SELECT count(*) > 0 AND bool_and(next_run_time > now()) FROM hipq.schedules_detail WHERE is_active';
ok($restored->wait_until($coming, 't'), 'schedules come');
$restored->sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE backend_type = 'pg_cron launcher'});
ok($restored->wait_until($stopped, 'The process of pg_cron is not there, or ends at each start: '
	. 'no schedule comes.'), 'an alert says that somebody has ended it');
is($restored->sql('SELECT count(*) FROM hipq.schedules_detail WHERE is_active OR next_run_time IS NOT NULL'),
	0, 'and no schedule seems to come');
is($restored->sql(q{SELECT severity, subject FROM hipq.doctor() WHERE finding = 'pg_cron is stopped'}),
	'error|pg_cron', 'and the doctor says so');
$hipq->node->restart;
ok($restored->wait_until($coming, 't'), 'it comes back with the server');
is($restored->sql($stopped), '', 'and the alert is over');

# ---- what pg_cron does not take
$restored->sql(q{UPDATE hipq.schedule SET cron = 'nonsense' WHERE name = 'held'; DELETE FROM cron.job});
my (undef, $count, $said) = $hipq->node->psql('restored', '\\set VERBOSITY verbose' . "\nSELECT hipq.restore_schedules()");
like($said, qr/WARNING:  22023: cannot restore schedule "held" of queue "app\.mail"\nDETAIL:  It says: invalid schedule: nonsense\.\nHINT:  Make it anew/, 'what pg_cron does not take is told');
is($count, 2, 'and the others come');
like($restored->sql($alert), qr/^1 .*: held of app\.mail\.$/, 'all but that one');
restart_with('cron.database_name' => 'postgres');
like($restored->error_of('SELECT hipq.restore_schedules()'), qr/55000: schedules need pg_cron in this database, and it works from database "postgres"/, 'without pg_cron there is no mend');
(undef, undef, $said) = $hipq->node->psql('restored', 'SELECT hipq.release_hold()');
like($said, qr/WARNING:  3 schedule\(s\) do not come: pg_cron does not work from this database\nHINT:  When it does, SELECT hipq\.restore_schedules\(\)\.$/, 'release_hold() says so');
like($restored->sql($alert), qr/^3 /, 'and so does the alert');

done_testing();
