# Schedules that hipq tells itself: their times over a month of clock, missed runs, what a run does
# beside an unfinished job, failures, and once for each time over crashes. How they work by pg_cron:
# cron.pl. The rules of time: test/unit/schedules.
use strict;
use warnings;
use HipqCluster;
use HipqPoints;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('schedules');
my $points = HipqPoints->new($hipq);
$hipq->sql('CREATE ROLE producer; CREATE ROLE stranger LOGIN; GRANT producer TO app');
$hipq->create_queue("app.$_") foreach qw(mail log);
$hipq->sql(q{
	CREATE TABLE ran (data jsonb, time timestamptz, attempt integer);
	GRANT ALL ON ran TO app;
	CREATE FUNCTION run(data jsonb) RETURNS void LANGUAGE sql
		AS 'INSERT INTO ran (data, time) VALUES (data, hipq.schedule_time())';
	SELECT hipq.register_job_type('app.mail', 'welcome', handler => 'run');
	SELECT hipq.register_job_type('app.log', 'entry', handler => 'run');
	SELECT hipq.pause('app.log');
	SELECT hipq.grant_queue('app.mail', 'producer', 'enqueue'),
		hipq.grant_queue('app.log', 'producer', 'enqueue')});

# Sets hipq's clock to a time in UTC.
sub set_clock
{
	my ($time) = @_;
	$hipq->set('hipq.clock_offset' => $hipq->sql(
			"SELECT extract(epoch FROM '$time UTC'::timestamptz - clock_timestamp())::bigint"));
	return;
}

# Makes a schedule of queue app.log, whose jobs wait, and so stay.
sub schedule
{
	my ($name, $cron, @rest) = @_;
	return $hipq->sql(
		"SELECT hipq.schedule('$name', '$cron', 'entry', queue => 'app.log', "
		  . join(', ', qq{job_data => '"$name"'}, @rest) . ')');
}

# The times for which a schedule has enqueued jobs, in UTC.
sub times_of
{
	my ($name, $format) = @_;
	$format //= 'MM-DD HH24:MI';
	return $hipq->sql(qq{SELECT string_agg(
			to_char(schedule_time AT TIME ZONE 'UTC', '$format'), ', '
		ORDER BY schedule_time, id) FROM hipq.jobs_detail WHERE job_data = '"$name"'});
}

sub shown
{
	my ($columns, $name) = @_;
	return $hipq->sql("SELECT $columns FROM hipq.schedules_detail WHERE name = '$name'");
}

# Waits until the last run of a schedule was for this time, in UTC.
sub has_run_for
{
	my ($name, $time) = @_;
	return $hipq->wait_until("SELECT last_schedule_time = '$time UTC'
		FROM hipq.schedules_detail WHERE name = '$name'", 't', 30);
}

# The alerts about schedules.
sub alerts
{
	return $hipq->sql(q{SELECT coalesce(string_agg(alert, ', '), '') FROM hipq.alerts
		WHERE alert ~ 'schedule|duty|pg_cron'});
}

sub unschedule
{
	$hipq->sql("SELECT hipq.unschedule('$_', 'app.log')") foreach @_;
	return;
}

# ---- a handler knows the time of its schedule, also when it runs again
$hipq->sql(q{
	CREATE FUNCTION fail_once(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO ran (data, time) VALUES (data, hipq.schedule_time());
		IF data->>'fails' = 'once' AND (SELECT count(*) FROM hipq.attempts) = 0 THEN
			PERFORM hipq.fail_permanently('first');
		END IF;
	END $$;
	SELECT hipq.register_job_type('app.mail', 'fragile', handler => 'fail_once');
	SELECT hipq.schedule('often', '1 second', 'fragile', '{"fails": "once"}',
		queue => 'app.mail')});
ok($hipq->wait_until(q{SELECT count(*) > 0 FROM hipq.dead_letters}), 'the job of a schedule fails');
$hipq->sql(q{SELECT hipq.unschedule('often')});
my ($failed, $planned) = split /\|/, $hipq->sql(q{SELECT job_id, schedule_time
	FROM hipq.dead_letters JOIN hipq.jobs_detail AS job ON job.id = job_id ORDER BY 1 LIMIT 1});
is($hipq->sql("SELECT extract(microseconds FROM '$planned'::timestamptz)::integer % 1000000"), 0,
	'its time is that of the run, not the moment when it was enqueued');
my $again = $hipq->sql("SELECT hipq.redrive($failed)");
is($hipq->outcome($again), 'succeeded', 'the job succeeds when it is redriven');
is($hipq->sql("SELECT count(*) FROM ran WHERE time = '$planned'"), 1,
	'a redriven job has the time of the first one');
is($hipq->sql("SELECT schedule_time = '$planned' FROM hipq.jobs_detail WHERE id = $again"), 't',
	'the row of a redriven job shows the time');
my $plain = $hipq->enqueue('welcome', q{'"plain"'});
is($hipq->outcome($plain), 'succeeded', 'a job that is not of a schedule runs');
is($hipq->sql(q{SELECT count(*) FROM ran WHERE data = '"plain"' AND time IS NULL}), 1,
	'schedule_time() is NULL for a job that is not of a schedule');
like($hipq->error_of('SELECT hipq.schedule_time()'), qr/55000/,
	'schedule_time() is refused outside a handler');
like($hipq->error_of(q{INSERT INTO hipq.app_mail (job_type, schedule_time)
	VALUES ('welcome', now())}), qr/schedule_time/, 'enqueuers cannot give the time of a schedule');

# ---- a month of clock: each day at its local time, with the change of clocks on 2027-03-28
set_clock('2027-03-15 12:00:10');
schedule('daily', '30 2 * * *', "time_zone => 'Europe/Berlin', missed => 'skip',
	job_key => 'NONE'");
schedule('hourly', '0 * * * *', "time_zone => 'Europe/Berlin', missed => 'all',
	missed_within => '60 days', overlap => 'allow'");
schedule('weekly', '0 9 * * mon', "missed_within => '60 days', job_key => 'NONE'");
schedule('jittered', '0 12 * * *', "jitter => '1 hour', missed => 'all', missed_within => '60 days',
	job_key => 'NONE'");
my $due = shown('next_run_time', 'jittered');
foreach my $day (16 .. 31)
{
	my $time = $day < 28 ? '01:30' : $day == 28 ? '01:00' : '00:30';
	set_clock("2027-03-$day $time:03");
	ok(has_run_for('daily', "2027-03-$day $time"), "the run of March $day");
}
is(times_of('daily'), join(', ', (map { "03-$_ 01:30" } 16 .. 27), '03-28 01:00',
		map { "03-$_ 00:30" } 29 .. 31), 'a daily schedule has run once a day, at its local time');
set_clock('2027-04-15 12:30:10');
ok(has_run_for('hourly', '2027-04-15 12:00'), 'the hours of a month are made up for');
is($hipq->sql(q{SELECT count(*), count(DISTINCT schedule_time) FROM hipq.app_log
	WHERE job_data = '"hourly"'}), (31 * 24) . '|' . (31 * 24),
	'an hourly schedule has run each hour of a month, once');
is(shown('last_action', 'daily'), 'missed', 'missed => skip: the missed runs are left out');
is($hipq->sql(q{SELECT count(*) FROM hipq.app_log WHERE job_data = '"weekly"'
	AND schedule_time > '2027-04-01 UTC'}), 1,
	'missed => once: the last missed run is made up for');
like(times_of('weekly'), qr/04-12 09:00$/,
	'the run that is made up for has the time of the last one');
is($hipq->sql(q{SELECT count(DISTINCT schedule_time), min(extract(hour FROM schedule_time
	AT TIME ZONE 'UTC')), max(extract(minute FROM schedule_time)) FROM hipq.app_log
	WHERE job_data = '"jittered"'}) =~ s/^3[01]/31/r, '31|12|0',
	'jitter does not change the time of a run');
like($due, qr/^2027-03-15 12:\d\d:\d\d|^2027-03-16 12:/, 'a jittered run is due within the jitter');
is(alerts(), '', 'no alert after a month');

# ---- more missed runs than are made up for
schedule('minutely', '* * * * *', "missed => 'all', overlap => 'allow'");
set_clock('2027-04-16 12:30:05');
ok(has_run_for('minutely', '2027-04-16 12:30'), 'the minutes of a day are made up for');
is($hipq->sql(q{SELECT count(*), min(schedule_time AT TIME ZONE 'UTC') FROM hipq.app_log
	WHERE job_data = '"minutely"'}), '1000|2027-04-15 19:51:00',
	'the newest 1,000 missed runs are made up for');
is(alerts(), 'failed schedules', 'an alert says that older ones are left out');
like(shown('last_error', 'minutely'), qr/^more than 1000 runs were missed/, 'the view says so');
set_clock('2027-04-16 12:31:05');
ok(has_run_for('minutely', '2027-04-16 12:31'), 'the next minute');
is(alerts(), '', 'the alert ends with the next run');

# ---- the clock is set back
my $before = times_of('minutely');
set_clock('2027-04-16 11:00:00');
is(shown(q{next_run_time AT TIME ZONE 'UTC'}, 'minutely'), '2027-04-16 12:32:00',
	'after the clock was set back by an hour the next run stays');
schedule('seconds', '1 second', "job_key => 'NONE'");
ok($hipq->wait_until(q{SELECT count(*) > 1 FROM hipq.app_log WHERE job_data = '"seconds"'}),
	'other schedules run');
unschedule('seconds');
is(times_of('minutely'), $before, 'no run comes twice');
set_clock('2027-04-10 11:00:02');
ok($hipq->wait_until(q{SELECT next_run_time = '2027-04-10 11:01 UTC' FROM hipq.schedules_detail
	WHERE name = 'minutely'}),
	'a clock that was set back by days has been corrected: the schedule goes on from there');
unschedule(qw(daily hourly weekly jittered minutely));
$hipq->set('hipq.clock_offset' => 0);

# ---- starts, ends
like($hipq->error_of(q{SELECT hipq.schedule('late', '@daily', 'entry', queue => 'app.log',
	starts => '2020-01-01', ends => '2020-01-02')}), qr/22023: .* never comes within the given/,
	'a schedule that has ended is refused');
set_clock('2027-05-01 00:00:30');
schedule('some', '0 0 * * *', "starts => '2027-05-03 00:00 UTC', ends => '2027-05-05 00:00 UTC'",
	"job_key => 'NONE'", "missed => 'all'", "missed_within => '30 days'");
is(shown(q{next_run_time AT TIME ZONE 'UTC'}, 'some'), '2027-05-03 00:00:00',
	'the first run is the one at the start');
set_clock('2027-05-20 00:00:00');
ok($hipq->wait_until(q{SELECT NOT is_active FROM hipq.schedules WHERE name = 'some'}),
	'the schedule ends');
is(times_of('some'), '05-03 00:00, 05-04 00:00, 05-05 00:00',
	'its runs are those from start to end');
unschedule('some');
$hipq->set('hipq.clock_offset' => 0);

# ---- overlap
$hipq->sql(q{SELECT hipq.create_queue('app.slow', owner => 'app')});
$hipq->sql(q{
	CREATE FUNCTION wait_for_lock(data jsonb) RETURNS void LANGUAGE sql
		AS 'SELECT pg_advisory_xact_lock_shared(1)';
	SELECT hipq.register_job_type('app.slow', 'slow', handler => 'wait_for_lock')});
foreach my $case ([ 'skip', 1 ], [ 'after', 2 ])
{
	my ($overlap, $jobs) = @$case;
	my $holder = $hipq->hold_lock;
	$hipq->sql("SELECT hipq.schedule('slow', '1 second', 'slow', queue => 'app.slow',
		overlap => '$overlap')");
	ok($hipq->wait_until(q{SELECT last_action FROM hipq.schedules_detail WHERE name = 'slow'},
			'skipped'), "overlap => $overlap: a run is skipped while a job has not finished");
	is($hipq->sql(q{SELECT count(*) FROM hipq.app_slow WHERE state <> 'final'}), $jobs,
		"overlap => $overlap: $jobs unfinished job(s)");
	$hipq->sql(q{SELECT hipq.unschedule('slow')});
	$holder->quit;
	ok($hipq->wait_until(q{SELECT count(*) FROM hipq.app_slow WHERE state <> 'final'}, 0),
		"overlap => $overlap: the jobs finish");
}

# ---- a failed run shows, and stops nothing else
$hipq->sql(q{SET ROLE producer;
	SELECT hipq.schedule('no right', '1 second', 'entry', queue => 'app.log', job_key => 'NONE')});
$hipq->sql(q{SELECT hipq.revoke_queue('app.log', 'producer', 'enqueue')});
schedule('beside it', '1 second', "job_key => 'NONE'");
ok($hipq->wait_until(q{SELECT last_action FROM hipq.schedules_detail WHERE name = 'no right'},
		'failed'), 'a run without the right to enqueue fails');
like(shown('last_error', 'no right'), qr/queue "app\.log" does not exist|permission denied/,
	'the view says why');
like($hipq->sql(q{SELECT detail FROM hipq.alerts_detail WHERE alert = 'failed schedules'}),
	qr/^1 schedule\(s\) failed at their last run: "no right" of app\.log \(.+\)\.$/,
	'an alert, too');
ok($hipq->wait_until(q{SELECT count(*) > 1 FROM hipq.app_log WHERE job_data = '"beside it"'}),
	'another schedule goes on');
$hipq->sql(q{ALTER ROLE producer RENAME TO maker;
	SELECT hipq.grant_queue('app.log', 'maker', 'enqueue')});
ok($hipq->wait_until(q{SELECT last_action FROM hipq.schedules_detail WHERE name = 'no right'},
		'enqueued'), 'the schedule of a renamed role goes on when it has the right');
is(alerts(), '', 'the alert ends');
like($hipq->error_of('DROP ROLE maker'), qr/2BP01: .* schedule "no right" of queue "app\.log"/,
	'the role of a schedule cannot be dropped');
$hipq->in('template1')->sql('DROP OWNED BY maker');
$hipq->sql('DROP OWNED BY maker');
$hipq->in('template1')->sql('DROP ROLE maker');
ok($hipq->wait_until(q{SELECT last_error FROM hipq.schedules_detail WHERE name = 'no right'},
		'the role of the schedule does not exist any more'),
	'a role that was dropped in another database is told of');
unschedule('no right', 'beside it');

# ---- a trigger of users runs in a process of its own
$hipq->sql(q{
	CREATE TABLE seen (process text, role text);
	CREATE TABLE crashing (data jsonb);
	CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
	BEGIN
		IF NEW.job_data IN (SELECT data FROM public.crashing) THEN
			PERFORM pg_terminate_backend(pg_backend_pid());
			PERFORM pg_sleep(60);
		END IF;
		INSERT INTO public.seen SELECT backend_type, session_user FROM pg_stat_activity
			WHERE pid = pg_backend_pid();
		RETURN NULL;
	END $$;
	CREATE TRIGGER see AFTER INSERT ON hipq.app_log FOR EACH ROW EXECUTE FUNCTION see()});
schedule('watched', '1 second', "job_key => 'NONE'");
ok($hipq->wait_until(q{SELECT count(*) > 1 FROM hipq.app_log WHERE job_data = '"watched"'}),
	'a queue with a trigger gets the jobs of its schedule');
is($hipq->sql(q{SELECT DISTINCT process, role FROM seen WHERE role = 'app'}), 'hipq schedule|app',
	'the trigger runs in a process of the queue owner');
is($hipq->sql(q{SELECT count(*) = count(DISTINCT schedule_time) FROM hipq.app_log
	WHERE job_data = '"watched"'}), 't', 'each run has one job');
schedule('crashing', '0 0 1 1 *', "job_key => 'NONE'", "missed_within => '60 years'");
$hipq->sql(q{INSERT INTO crashing VALUES ('"crashing"');
	UPDATE hipq.schedule SET due_time = now(), next_time = now() WHERE name = 'crashing';
	SELECT hipq.schedule('other', '@yearly', 'entry', queue => 'app.log')});
ok($hipq->wait_until(q{SELECT last_action || ': ' || last_error FROM hipq.schedules_detail
	WHERE name = 'crashing'}, 'failed: the process that ran it has ended, several times'),
	'a run whose process ends is tried three times');
unschedule(qw(watched crashing other));
$hipq->sql('DROP TRIGGER see ON hipq.app_log');

# ---- a job with the key that another session has not committed delays that schedule only
{
	my $session = $hipq->session(role => 'app');
	$session->query_safe(q{BEGIN; SELECT hipq.enqueue('entry', '{}', queue => 'app.log',
		job_key => 'held')});
	schedule('held', '1 second', "job_key => 'held'");
	schedule('free', '1 second', "job_key => 'NONE'");
	ok($hipq->wait_until(q{SELECT count(*) > 2 FROM hipq.app_log WHERE job_data = '"free"'}),
		'a schedule goes on while another one waits for a key');
	is(shown('last_action', 'held'), '', 'the other one has not run');
	$session->query_safe('ROLLBACK');
	$session->quit;
	ok($hipq->wait_until(q{SELECT count(*) FROM hipq.app_log WHERE job_data = '"held"'}, 1),
		'it runs when the key is free');
	unschedule(qw(held free));
}

# ---- once over crashes
schedule('once', '1 second', "job_key => 'NONE'", "missed => 'all'");
my $made = q{SELECT count(*) FROM hipq.app_log WHERE job_data = '"once"'};
sub goes_on
{
	my ($test) = @_;
	my $count = $hipq->sql($made);
	return ok($hipq->wait_until("SELECT ($made) > $count + 1"), $test);
}
goes_on('a schedule runs each second');
foreach my $point (qw(before-run-schedule after-run-schedule))
{
	$points->arm($point, 'error');
	ok($points->wait_fired($point), "an error at $point");
	goes_on("the schedule goes on after an error at $point");
	my $scheduler = q{SELECT pid FROM pg_stat_activity
		WHERE backend_type = 'hipq scheduler' AND datname = current_database()};
	my $pid = $hipq->sql($scheduler);
	$points->arm($point, 'kill');
	ok($hipq->wait_until("SELECT count(*) FROM ($scheduler) AS present WHERE pid <> $pid", 1),
		"a crash at $point");
	goes_on("the schedule goes on after a crash at $point");
}
$hipq->node->stop('immediate');
$hipq->node->start;
goes_on('the schedule goes on after the server was killed');
$hipq->set('hipq.enabled' => 'off');
$hipq->sql(q{SELECT pg_sleep(2)});
$hipq->set('hipq.enabled' => 'on');
goes_on('the schedule goes on after hipq was switched off');
unschedule('once');
is($hipq->sql(q{SELECT count(*) = count(DISTINCT schedule_time)
		AND count(*) = extract(epoch FROM max(schedule_time) - min(schedule_time)) + 1
	FROM hipq.app_log WHERE job_data = '"once"'}), 't',
	'each second has one job, and none is missing');

# ---- a scheduler comes for a schedule alone, and the schedule survives the name of its database
schedule('soon', '0 0 1 1 *', "job_key => 'NONE'");
$hipq->sql(q{CREATE DATABASE other});
my $other = $hipq->in('other');
$other->sql('CREATE EXTENSION hipq');
$other->create_queue('app.mail');
$other->sql(q{SELECT hipq.register_job_type('app.mail', 'welcome', handler_kind => 'notify');
	SELECT hipq.schedule('every', '*/3 * * * * *', 'welcome', queue => 'app.mail',
		job_key => 'NONE')});
$hipq->make_way;
$hipq->sql('ALTER DATABASE other RENAME TO renamed');
my $renamed = $hipq->in('renamed');
ok($renamed->wait_until(q{SELECT count(*) > 0 FROM hipq.app_mail}),
	'a schedule goes on in a renamed database');
$hipq->node->restart;
my $count = $renamed->sql(q{SELECT count(*) FROM hipq.app_mail});
ok($renamed->wait_until("SELECT count(*) > $count FROM hipq.app_mail"),
	'a schedule goes on after a restart, in a database without other work');

# ---- without pg_cron, its way is refused; and what fits it only
like($hipq->error_of(q{SELECT hipq.schedule('s', '@daily', 'entry', queue => 'app.log',
	by => 'pg_cron')}), qr/55000: schedules need pg_cron/, "by => 'pg_cron' needs pg_cron");
is($hipq->sql(q{SELECT hipq.drop_queue('app.log', force => true);
	SELECT count(*) FROM hipq.schedule WHERE name = 'soon'}), "\n0",
	'DROP QUEUE ends the schedules of the queue');

done_testing();
