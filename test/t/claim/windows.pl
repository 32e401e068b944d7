# A job with time windows starts while a window is open, and not before or after it. A job that
# waits for its window costs nothing. hipq's clock is in 2031.
use strict;
use warnings;
use HipqCluster;
use HipqPoints;
use Test::More;

my $hipq = HipqCluster->new('windows', 'hipq.max_executors' => 1,
	'hipq.executor_idle_timeout' => '1s', 'hipq.max_lanes' => 12);
$hipq->sql(q{ALTER DATABASE postgres SET TimeZone = 'Asia/Tokyo'});
$hipq->node->restart;    # a running scheduler keeps its time zone
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE FUNCTION nothing(data jsonb) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
	CREATE FUNCTION wait_for_lock(data jsonb) RETURNS void
		LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock_shared(1); END';
	SELECT hipq.register_job_type('app.main', 'run', handler => 'nothing', time_zone => 'UTC');
	SELECT hipq.register_job_type('app.main', 'recorded', handler => 'nothing', time_zone => 'UTC',
		claim => 'record');
	SELECT hipq.register_job_type('app.main', 'wait', handler => 'wait_for_lock',
		time_zone => 'UTC');
	SELECT hipq.register_job_type('app.main', 'many', handler => 'nothing', time_zone => 'UTC',
		default_time_windows => '09:00-17:00', claim => 'lock');
	SELECT hipq.register_job_type('app.main', 'berlin', handler => 'nothing',
		time_zone => 'Europe/Berlin', default_time_windows => '02:30-04:00');
	SELECT hipq.register_job_type('app.main', 'here', handler => 'nothing',
		default_time_windows => '09:00-17:00');
	SELECT hipq.enqueue('unknown', queue => 'app.main')});
$hipq->sql(q{SET TimeZone = 'UTC';
	SELECT hipq.register_job_type('app.main', 'of the session', handler => 'nothing')});

# Sets hipq's clock to a time in UTC.
sub set_clock
{
	my ($time) = @_;
	$hipq->set('hipq.clock_offset' => $hipq->sql(
			"SELECT ceil(extract(epoch FROM '$time UTC'::timestamptz - clock_timestamp()))"));
	return;
}

sub enqueue
{
	my ($type, $rest) = @_;
	return $hipq->enqueue($type, join ', ', "scheduled_run_time => '2020-01-01 UTC'", $rest // ());
}

# Waits until the lane of a type opens at this time, in UTC.
sub opens
{
	my ($type, $time) = @_;
	return $hipq->wait_until("SELECT to_char(due_time AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')
		FROM hipq.lanes_detail WHERE job_type = '$type' AND notes = 0", "$time:00");
}

# Returns the seconds from a time in UTC until the job started.
sub started_after
{
	my ($id, $time) = @_;
	return $hipq->sql("SELECT extract(epoch FROM accepted_time - '$time UTC')
		FROM hipq.jobs_detail WHERE id = $id");
}

sub waiting
{
	return $hipq->sql(
		"SELECT count(*) FROM hipq.jobs_detail WHERE job_type = '$_[0]' AND state = 'initial'");
}
my $nobody = q{SELECT count(*) = 0 FROM pg_stat_activity
	WHERE backend_type IN ('hipq scheduler', 'hipq executor')};

ok($hipq->wait_until(q{SELECT time_zone FROM hipq.job_types_detail WHERE job_type = 'unknown'},
		'Asia/Tokyo'), 'an unregistered type appears with the time zone of the database');
$hipq->sql(q{SELECT hipq.cancel(id) FROM hipq.job});

# ---- a window opens
set_clock('2031-06-02 08:00');    # a Monday
my $id = enqueue('run', q{time_windows => 'mon-fri 09:00-17:00'});
ok(opens('run', '2031-06-02 09:00'), 'a job outside its windows waits for their opening');
like($hipq->why($id),
	qr/^time window: It waits for its time windows "mon-fri 09:00-17:00" \(UTC\), which open at \d{4}-\d\d-\d\d 18:00:00\+09, in (1 h|59 min( \d+ s)?)\.$/,
	'why() says when the windows open');
is($hipq->outcome(enqueue('run')), 'succeeded',
	'a job without windows runs behind one that waits for its window');
is($hipq->outcome(enqueue('run', q{time_windows => '07:00-10:00'})), 'succeeded',
	'a job whose windows are open runs');
is($hipq->sql("SELECT state || ' ' || (scheduled_run_time = '2020-01-01 UTC') FROM hipq.job
		WHERE id = $id"), 'initial true', 'waiting for a window does not change the row of a job');
my $recorded = enqueue('recorded', q{time_windows => '09:00-10:00'});
ok(opens('recorded', '2031-06-02 09:00'), 'a job claimed by record waits for its windows');
ok($hipq->wait_until($nobody),
	'no scheduler or executor stays for jobs that wait for their windows');
set_clock('2031-06-02 08:59:57');
is($hipq->outcome($id), 'succeeded', 'a job runs when its windows open');
cmp_ok(started_after($id, '2031-06-02 09:00'), '>=', 0,
	'a job does not run before its windows open');
$hipq->in_time(started_after($id, '2031-06-02 09:00'), 1.5,
	'a job starts at its opening although no process stayed for it');
is($hipq->outcome($recorded), 'succeeded', 'a job claimed by record runs when its windows open');
cmp_ok(started_after($recorded, '2031-06-02 09:00'), '>=', 0,
	'a job claimed by record does not run before its windows open');

# ---- a window closes
set_clock('2031-06-02 16:00');
my $lock = $hipq->hold_lock;
my @waiting = map { enqueue('wait', q{time_windows => '09:00-17:00'}) } 1 .. 5;
$hipq->pid_of($waiting[0]);
set_clock('2031-06-02 17:00');
$lock->quit;
is($hipq->outcome($waiting[0]), 'succeeded',
	'a running job runs to its end after its windows close');
ok(opens('wait', '2031-06-03 09:00'), 'jobs behind a running one wait for the next opening');
is(waiting('wait'), 4, 'no job starts after its windows close');

# ---- a window closes after an executor has prefetched jobs
set_clock('2031-06-02 16:00');
my $points = HipqPoints->new($hipq);
$hipq->outcome(enqueue('many')) foreach 1 .. 3;    # now the type is known to be short
$points->arm('after-reserve', 'wait');
$hipq->sql(q{SELECT hipq.enqueue_many('many', array_agg('{}'::jsonb),
	scheduled_run_time => '2020-01-01 UTC') FROM generate_series(1, 10)});
$points->wait_held('after-reserve') or die 'no executor has prefetched the jobs';
set_clock('2031-06-02 17:00');
$points->reset;
ok(opens('many', '2031-06-03 09:00'),
	'prefetched jobs go back to their lane when their windows close');
cmp_ok(waiting('many'), '>=', 9, 'prefetched jobs do not start after their windows close');

# ---- changes
$id = enqueue('run', q{time_windows => '20:00-21:00'});
ok(opens('run', '2031-06-02 20:00'), 'a job waits for the evening');
$hipq->sql("UPDATE hipq.app_main SET time_windows = '16:30-18:00' WHERE id = $id");
is($hipq->outcome($id), 'succeeded', 'a job runs when its windows are changed');
$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'wait', time_zone => 'America/New_York')});
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.app_main WHERE job_type = 'wait'
		AND state <> 'final'}, 0), 'jobs run when the time zone of their type is changed');
set_clock('2031-06-02 12:00');    # back
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.app_main WHERE job_type = 'many'
		AND state <> 'final'}, 0), 'jobs run when the clock is set back to an opening');

# ---- time zones
is($hipq->sql(q{SELECT string_agg(job_type || ' ' || time_zone, ', ' ORDER BY job_type)
		FROM hipq.job_types_detail WHERE job_type IN ('here', 'of the session')}),
	'here Asia/Tokyo, of the session UTC', 'a type has the time zone of its session');
$hipq->sql(q{ALTER DATABASE postgres RESET TimeZone});
$id = enqueue('here');
ok(opens('here', '2031-06-03 00:00'), 'a type keeps its time zone when the setting changes');
$id = enqueue('berlin');
ok(opens('berlin', '2031-06-03 00:30'), 'time windows follow summer time');
$hipq->sql(qq{SELECT hipq.cancel($id)});
set_clock('2031-03-30 00:00');    # 02:00 is followed by 03:00
$id = enqueue('berlin');
ok(opens('berlin', '2031-03-30 01:00'),
	'a window that opens at a skipped time opens at the end of the gap');
set_clock('2031-03-30 00:59:58');
is($hipq->outcome($id), 'succeeded', 'a job runs at the end of the gap');
cmp_ok(started_after($id, '2031-03-30 01:00'), '>=', 0,
	'a job does not run before the end of the gap');
set_clock('2031-10-26 00:00');    # 03:00 is followed by 02:00
$id = enqueue('berlin');
ok(opens('berlin', '2031-10-26 00:30'),
	'a window that opens at a repeated time opens at the first of the two');
$hipq->sql(qq{SELECT hipq.cancel($id)});

# ---- a large backlog
set_clock('2031-06-02 18:00');
my $read = q{SELECT idx_tup_read FROM pg_stat_user_indexes WHERE relname = 'app_main_live'
	AND indexrelname !~ 'pkey|one_unfinished' ORDER BY idx_tup_read DESC LIMIT 1};
my $written = q{SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'app_main_live'};
my $updated = $hipq->sql($written);
$hipq->sql(q{SELECT hipq.enqueue_many('many', array_agg('{}'::jsonb),
	scheduled_run_time => '2020-01-01 UTC') FROM generate_series(1, 20000)});
ok(opens('many', '2031-06-03 09:00'), 'twenty thousand jobs wait');
ok($hipq->wait_until($nobody), 'no process stays for twenty thousand jobs');
my $before = $hipq->sql($read);
foreach my $n (1 .. 20)
{
	enqueue('many', $n % 2 ? () : q{time_windows => '08:00-09:00'});
	ok($hipq->wait_until(q{SELECT count(*) FROM hipq.lanes_detail WHERE job_type = 'many'
			AND notes = 0 AND NOT is_read}, 1), "$n more jobs join the lane") if $n % 10 == 0;
}
ok(opens('many', '2031-06-03 08:00'), 'the lane opens at the earliest opening of its jobs');
is($hipq->sql(q{SELECT pockets FROM hipq.lanes_detail WHERE job_type = 'many'}), 2,
	'jobs that open together are kept together');
ok($hipq->wait_until($nobody), 'no process stays after jobs were added');
cmp_ok($hipq->sql($read) - $before, '<', 2000, 'no process has read the waiting jobs again');
is($hipq->sql($written), $updated, 'no process has written the waiting jobs');
set_clock('2031-06-03 09:00');
ok($hipq->wait_until(q{SELECT string_agg(DISTINCT time_windows, ' ')
		FROM hipq.app_main WHERE job_type = 'many' AND state <> 'final'}, '08:00-09:00'),
	'all jobs run when their windows open, except those with closed windows');

# ---- an unknown time zone
$hipq->sql(q{ALTER TABLE hipq.job_type DISABLE TRIGGER USER; UPDATE hipq.job_type SET time_zone =
	'Mars/Olympus' WHERE name = 'recorded'; ALTER TABLE hipq.job_type ENABLE TRIGGER USER});
$hipq->node->restart;
$id = enqueue('recorded', q{time_windows => '00:00-24:00'});
ok($hipq->wait_until("SELECT explanation FROM hipq.why($id) WHERE condition = 'time window'",
		'Its time windows are "00:00-24:00" (Mars/Olympus): the server does not know their '
		. 'time zone.'), 'jobs of an unknown time zone wait');
$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'recorded', time_zone => 'UTC')});
is($hipq->outcome($id), 'succeeded', 'jobs run when their time zone is corrected');

# ---- hipq.max_lanes is reached
$hipq->sql('ALTER SYSTEM SET hipq.max_lanes = 1');
$hipq->node->restart;
set_clock('2031-06-03 18:00');
my %parked = map { $_ => enqueue($_, q{time_windows => '19:00-20:00'}) } 'run', 'recorded', 'many';
is($hipq->outcome(enqueue($_, q{time_windows => 'NONE'})), 'succeeded',
	"with one lane a job of type $_ runs behind one that waits") foreach sort keys %parked;
is($hipq->sql('SELECT count(*) FROM hipq.jobs_detail WHERE id IN (' . join(', ', values %parked)
		. q{) AND state = 'initial'}), 3,
	'with one lane jobs behind others wait for their windows');
is($hipq->sql(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'lanes'}), 1,
	'an alert says that there is no room for lanes');
set_clock('2031-06-03 18:59:57');
foreach my $type (sort keys %parked)
{
	is($hipq->outcome($parked{$type}), 'succeeded',
		"with one lane a job of type $type runs when its windows open");
	cmp_ok(started_after($parked{$type}, '2031-06-03 19:00'), '>=', 0,
		"with one lane a job of type $type does not run before its windows open");
}

done_testing();
