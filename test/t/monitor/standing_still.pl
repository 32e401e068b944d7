# hipq.alerts shows jobs that have been due for a minute, whatever they wait for. The test makes
# each condition of why() unmet, and then met again. An intended wait has severity information, any
# other wait alarm. A type that is not registered and has no handler causes an alert at once.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('standing', 'hipq.executor_idle_timeout' => '100ms',
	'hipq.max_executors' => 2, 'hipq.reserved_executors' => 0);
my $node = $hipq->node;
$hipq->create_queue("app.$_") foreach qw(main full typed keyed);
$hipq->sql(q{
	CREATE FUNCTION run(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN IF data ? 'wait' THEN
		PERFORM pg_advisory_xact_lock_shared(1); END IF; END $$;
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run');
	SELECT hipq.register_job_type('app.main', 'outside', handler_kind => 'notify');
	SELECT hipq.alter_queue('app.full', throttle_limit => 1);
	SELECT hipq.register_job_type('app.full', 'full', handler => 'run');
	SELECT hipq.register_job_type('app.typed', 'typed', handler => 'run', throttle_limit => 1);
	SELECT hipq.register_job_type('app.keyed', 'keyed', handler => 'run',
		throttle_limit_per_key => 1)});

# Returns the alerts of waiting jobs after $seconds: "alert severity times".
sub alerts_after
{
	my ($seconds, $database) = @_;
	return $hipq->in($database // 'postgres')->sql(qq{
		SET hipq.clock_offset = $seconds;
		SELECT coalesce(string_agg(concat_ws(' ', alert, severity, times), ', '
			ORDER BY alert, times), '')
		FROM hipq.alerts WHERE alert LIKE 'jobs wait: %'});
}

sub told
{
	my ($condition) = @_;
	return $hipq->sql(qq{SET hipq.clock_offset = 120; SELECT detail || ' ' || hint
		FROM hipq.alerts_detail WHERE alert = 'jobs wait: $condition'});
}

# Tests a condition. While it is unmet a job waits, and the alert appears when the job has been due
# for a minute. When it is met the job ends, and the alert disappears.
sub closes
{
	my ($what, %case) = @_;
	my ($condition, $severity) = @case{qw(condition severity)};
	$case{close}->() if ref $case{close};
	$hipq->sql($case{close}) if $case{close} && !ref $case{close};
	my $id = $hipq->enqueue($case{type} // 'run', $case{rest});
	my $offset = $hipq->sql("SELECT round(50 - extract(epoch
		FROM clock_timestamp() - scheduled_run_time)) FROM hipq.jobs WHERE id = $id");
	is(alerts_after($offset), '', "$what: there is no alert in the first minute");
	ok($hipq->wait_until(qq{
		SET hipq.clock_offset = 120;
		SELECT string_agg(concat_ws(' ', alert, severity, times), ', ') FROM hipq.alerts
			WHERE alert LIKE 'jobs wait: %'},
		"jobs wait: $condition $severity 1"),
		"$what: after a minute there is one alert, $condition");
	like(told($condition), $case{like},
		"$what: the alert says what the jobs wait for, and what to do");
	$case{open}->() if ref $case{open};
	$hipq->sql($case{open}) if $case{open} && !ref $case{open};
	is($hipq->outcome($id), $case{outcome} // 'succeeded',
		"$what: the job ends when the condition is met");
	is(alerts_after(120), '', "$what: the alert ends");
	return;
}

is($hipq->outcome_of('run'), 'succeeded', 'a job runs before the first condition is unmet');

# ---- the server and the database
my $version = $hipq->sql('SELECT hipq.version()');
closes('hipq is off', condition => 'enabled', severity => 'alarm', like =>
	qr/^1 job\(s\) of type "run" in queue "app.main" wait, the first since 20[-0-9:. +]*: hipq.enabled is off. Set hipq.enabled to on/,
	close => sub { $hipq->set('hipq.enabled' => 'off') },
		open => sub { $hipq->set('hipq.enabled' => 'on') });
closes('another database is served', condition => 'enabled', severity => 'alarm',
	like => qr/hipq.databases does not list this database/,
	close => sub { $hipq->set('hipq.databases' => 'elsewhere') },
		open => sub { $hipq->set('hipq.databases' => '*') });
closes('the library does not fit', condition => 'version', severity => 'alarm',
	like => qr/The extension is version 0.0.1, .*ALTER EXTENSION hipq UPDATE/,
	close => sub { $hipq->sql(q{UPDATE pg_extension SET extversion = '0.0.1'
			WHERE extname = 'hipq'}); $node->restart },
	open => qq{UPDATE pg_extension SET extversion = '$version' WHERE extname = 'hipq';
		SET client_min_messages = warning; ALTER EXTENSION hipq UPDATE});
closes('hipq is not preloaded', condition => 'loaded', severity => 'alarm',
	like => qr/not in shared_preload_libraries.* Add hipq to shared_preload_libraries and restart/,
	close => sub { $node->append_conf('postgresql.conf',
			"shared_preload_libraries = ''"); $node->restart },
	open => sub { $node->append_conf('postgresql.conf', "shared_preload_libraries = 'hipq'");
			$node->restart });

# ---- a held copy of the database
my $held = $hipq->enqueue('run', q{scheduled_run_time => now() + interval '60 s'});
$hipq->set('hipq.databases' => 'copy');
ok($hipq->wait_until(q{SELECT count(*) FROM pg_stat_activity WHERE datname = 'postgres'
		AND pid <> pg_backend_pid()}, 0), 'no session is connected');
$hipq->in('template1')->sql('CREATE DATABASE copy TEMPLATE postgres');
is(alerts_after(180, 'copy'), 'jobs wait: hold alarm 1', 'a held copy has an alert');
$hipq->in('copy')->sql("SELECT hipq.release_hold(); SELECT hipq.reschedule($held, now())");
is($hipq->in('copy')->outcome($held), 'succeeded',
	'a job runs when its copy of the database is released');
is(alerts_after(120, 'copy'), '', 'the alert of a released copy ends');
$hipq->set('hipq.databases' => '*');
$hipq->sql("SELECT hipq.reschedule($held, now())");
is($hipq->outcome($held), 'succeeded', 'the job runs in the original database after its copy ran');

# ---- the queue owner
closes('the owner may not log in', condition => 'queue owner', severity => 'alarm',
	like => qr/"app" may not log in: ALTER ROLE app LOGIN/,
	close => 'ALTER ROLE app NOLOGIN', open => 'ALTER ROLE app LOGIN');
closes('the owner may not connect', condition => 'queue owner', severity => 'alarm',
	like => qr/"app" lacks CONNECT/,
	close => 'REVOKE CONNECT ON DATABASE postgres FROM PUBLIC',
		open => 'GRANT CONNECT ON DATABASE postgres TO PUBLIC');

# ---- pauses
closes("$_->[0] is paused", condition => 'pause', severity => 'information',
	like => qr/is paused by postgres .*hipq.resume\(\)/,
	close => "SELECT hipq.pause($_->[1])", open => "SELECT hipq.resume($_->[1])")
  foreach [ 'the instance', q{instance => 'app'} ], [ 'the queue', q{'app.main'} ], [ 'the type',
  	q{'app.main', 'run'} ];
closes('a throttle key is paused', condition => 'pause', severity => 'information',
	like => qr/Throttle key "ann" is paused/, rest => q{throttle_key => 'ann'},
	close => q{SELECT hipq.pause('app.main', 'run', 'ann')},
		open => q{SELECT hipq.resume('app.main', 'run', 'ann')});

# ---- handlers
closes('the handler is gone', condition => 'handler', severity => 'alarm',
	like => qr/The handler cannot run: .*hipq.register_job_type\(\)/,
	close => 'ALTER FUNCTION run(jsonb) RENAME TO gone', open => q{ALTER FUNCTION gone(jsonb) RENAME
		TO run; SELECT hipq.alter_job_type('app.main', 'run', handler => 'run')});
my $misspelt = $hipq->enqueue('rnu',
	q{queue => 'app.main', scheduled_run_time => now() + interval '1 day'});
is(alerts_after(0), 'jobs wait: handler alarm 1',
	'a type that registered itself without a handler causes an alert at once');
like($hipq->sql(q{SELECT detail || ' ' || hint FROM hipq.alerts_detail
		WHERE alert = 'jobs wait: handler'}),
	qr/type "rnu" in queue "app.main".*(?:is not registered yet|has no handler).*hipq.cancel_jobs\(\)/,
	'the alert names the type that is not registered');
$hipq->sql("SELECT hipq.cancel($misspelt)");
is(alerts_after(120), '', 'the alert of a type that is not registered ends with its jobs');

# ---- external workers
closes('no worker', condition => 'worker', severity => 'alarm',
	like => qr/No external worker serves job type "outside"/, type => 'outside',
	open => sub {
		$hipq->sql(q{SELECT hipq.register_worker('one', '{app.main}', '{outside}',
			capacity => 10)});
		my ($worker) = $hipq->sql(q{SELECT worker_id FROM hipq.workers WHERE name = 'one'});
		ok($hipq->wait_until(qq{SELECT count(*) > 0 FROM hipq.claim($worker) AS claimed,
				LATERAL hipq.complete(claimed.id, claimed.attempt)}),
			'a worker takes the waiting job');
		$hipq->sql("SELECT hipq.deregister_worker($worker)");
	});

# ---- time windows and throttle limits
closes('outside its time windows', condition => 'time window', severity => 'information',
	like => qr/It waits for its time windows/,
	rest => q{time_windows => to_char(now() + interval '2 days', 'dy') || ' 00:00-23:00'},
	open => q{UPDATE hipq.app_main SET time_windows = 'NONE' WHERE state = 'initial'});
my $lock = $hipq->hold_lock;
foreach my $case ([ full => 'throttle of queue' ], [ typed => 'throttle of type' ],
	[ keyed => 'throttle of key' ])
{
	my ($type, $condition) = @$case;
	my $holder;
	closes("$condition", condition => $condition, severity => 'information',
		like => qr/is reached|waits for room/, type => $type, rest => q{throttle_key => 'ann'},
		close => sub { $holder = $hipq->enqueue($type, q{'{"wait": 1}', throttle_key => 'ann'});
			$hipq->pid_of($holder) },
		open => sub { $lock->quit; $hipq->outcome($holder) });
	$lock = $hipq->hold_lock;
}

# ---- executors
closes('no executor may start', condition => 'executor', severity => 'alarm',
	like => qr/hipq.max_executors is 0/,
	close => sub { $hipq->set('hipq.max_executors' => 0); },
		open => sub { $hipq->set('hipq.max_executors' => 2) });
my @holders;
closes('all executors are busy', condition => 'executor', severity => 'information',
	like => qr/and all have a job|busy elsewhere/,
	close => sub { @holders = map { $hipq->enqueue('run', q{'{"wait": 1}'}) } 1,
		2; $hipq->pid_of($_) foreach @holders },
	open => sub { $lock->quit; $hipq->outcome($_) foreach @holders });

# ---- another session locks the row, and every condition is met
my $holder = $hipq->session;
my $late = $holder->query_safe(q{
	SELECT hipq.enqueue('run', scheduled_run_time => now() + interval '3 s') AS id \gset
	BEGIN;
	SELECT id FROM hipq.app_main WHERE id = :id FOR UPDATE;});
ok($hipq->wait_until(qq{SELECT scheduled_run_time < now() FROM hipq.jobs WHERE id = $late}),
	'a job whose row is locked is due');
like(alerts_after(120), qr/^jobs wait: lane information 1$/,
	'a job whose row is locked has an alert');
$holder->query_safe('COMMIT');
$holder->quit;
is($hipq->outcome($late), 'succeeded', 'a job whose row was locked runs');
is(alerts_after(120), '', 'the alert of a locked row ends');

# ---- many jobs of one kind, and of many kinds
$hipq->sql(q{SELECT hipq.pause('app.main')});
$hipq->sql(q{INSERT INTO hipq.app_main (job_type, throttle_key) SELECT 'run', (number % 150)::text
	FROM generate_series(1, 300) AS number});
like(told('pause'), qr/^At least \d+ job\(s\) of type "run"/,
	'an alert on jobs of many kinds counts the first ones');
$hipq->sql(q{SELECT hipq.cancel_jobs('app.main')});
$hipq->sql(q{INSERT INTO hipq.app_main (job_type, priority) SELECT 'run', number % 2
	FROM generate_series(1, 300) AS number});
like(told('pause'), qr/^300 job\(s\) of type "run"/, 'an alert on jobs of one kind counts all');

# ---- a queue whose tables cannot be read
my $move_file = q{UPDATE pg_class SET relfilenode = (relfilenode::bigint %s 1000000)::oid
	WHERE oid IN (SELECT relid FROM pg_partition_tree('hipq.app_full') WHERE isleaf)};
$hipq->sql(sprintf $move_file, '+');
my ($rc, $stdout, $stderr) = $node->psql('postgres', q{SET hipq.clock_offset = 120;
	SELECT alert || ' ' || times FROM hipq.alerts WHERE alert LIKE 'jobs wait: %'});
is($stdout, 'jobs wait: pause 300', 'an unreadable queue does not hide alerts of other queues');
like($stderr,
	qr/^psql:.* WARNING:  queue "app.full" is left out because it cannot be read: could not open file/,
	'a warning names the queue that cannot be read');
$hipq->sql(sprintf $move_file, '-');

$hipq->set('hipq.alert_waiting' => -1);
is(alerts_after(120), '', 'hipq.alert_waiting = -1 switches the alerts off');

done_testing();
