# hipq notices the end of an external worker's session at once. Workers survive restarts and
# crashes. Names can be taken over. Dropped roles and queues leave no workers.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $hipq = HipqCluster->new('workers', 'hipq.max_workers' => 12, 'hipq.max_owner_share' => 100,
	'hipq.worker_grace' => '1h');
my $node = $hipq->node;
$hipq->create_queue('app.outside');
$hipq->create_queue('app.other');
$hipq->sql(q{
	SELECT hipq.register_job_type('app.outside', 'scan', handler_kind => 'notify');
	SELECT hipq.register_job_type('app.other', 'scan', handler_kind => 'notify');
	CREATE ROLE "first" LOGIN; CREATE ROLE "second" LOGIN;
	SELECT hipq.grant_queue('app.outside', 'first', 'work');
		SELECT hipq.grant_queue('app.outside', 'second', 'work');
	SELECT hipq.grant_queue('app.other', 'first', 'work')});

sub register
{
	my ($name, %more) = @_;
	my $queues = delete $more{queues} // '{app.outside}';
	return "SELECT hipq.register_worker('$name', '$queues', '{scan}'" . join('',
		map { ", $_ => $more{$_}" } sort keys %more) . ')';
}

# Returns a new session of a role.
sub session
{
	my ($role) = @_;
	my $session = $hipq->session(role => $role);
	return $session;
}

sub ask
{
	my ($session, $sql) = @_;
	my $answer = $session->query_safe($sql);
	$answer =~ s/\s+$//;
	return $answer;
}
sub status_of
{
	my ($name) = @_;
	return "SELECT health->>'status' FROM hipq.workers_detail WHERE name = '$name'";
}
sub workers
{
	return $hipq->sql(q{SELECT string_agg(concat_ws(' ', name, status, health->>'status'), ', '
		ORDER BY name) FROM hipq.workers_detail});
}

# ---- a worker that is bound to a session
my $bound = session('first');
my $id = ask($bound, register('bound', listen => 'true'));
like($id, qr/^\d+$/, 'a worker is registered');
is($hipq->sql(status_of('bound')), 'healthy', 'a bound worker is healthy without a heartbeat');
is($hipq->sql(qq{SET hipq.clock_offset = 86400; } . status_of('bound')), 'healthy',
	'a bound worker is healthy however long it is silent');
$hipq->sql("NOTIFY hipq_worker_$id, 'hello'");
like(ask($bound, 'SELECT 1'), qr/Asynchronous notification "hipq_worker_$id"/,
	"a bound worker's session listens");
my $start = time();
$bound->quit;
ok($hipq->wait_until(status_of('bound'), 'unhealthy', 5),
	'a bound worker is unhealthy when its session ends');
$hipq->in_time(time() - $start, 5,
	'a bound worker is unhealthy within 5 s after the end of its session');
is($hipq->sql(q{SELECT pid IS NULL FROM hipq.workers_detail WHERE name = 'bound'}), 't',
	'an ended worker is bound to no session');
like($hipq->error_of("SET SESSION AUTHORIZATION first; SELECT hipq.heartbeat($id)"),
	qr/55000.*worker $id has ended/, 'an ended worker cannot send a heartbeat');

$bound = session('first');
my $again = ask($bound, register('bound', listen => 'true'));
cmp_ok($again, '>', $id, "an ended worker's name is free, with a greater worker_id");
kill 'KILL', $hipq->sql(q{SELECT pid FROM hipq.workers_detail WHERE name = 'bound'});
eval { $bound->quit };
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.workers WHERE name = 'bound'
		AND status = 'active'}, 0), 'a crash of the server ends a bound worker');
is($hipq->sql(status_of('bound')), 'unhealthy', 'a worker that a crash has ended is unhealthy');

$bound = session('first');
ask($bound, register('bound', listen => 'true'));
$hipq->sql(q{SELECT pg_terminate_backend(pid) FROM hipq.workers_detail WHERE name = 'bound'});
ok($hipq->wait_until(status_of('bound'), 'unhealthy', 5),
	'SIGTERM to its session ends a bound worker');
eval { $bound->quit };

# ---- removed after hipq.worker_grace
$hipq->set('hipq.worker_grace' => '100ms');
$bound = session('first');
ask($bound, register('passing', listen => 'true'));
$bound->quit;
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.workers WHERE name = 'passing'}, 0),
	'a worker that has ended is removed after hipq.worker_grace');
ok($hipq->wait_until(q{SELECT count(*) FROM hipq._workers()}, 0),
	'shared memory has no ended worker');
$hipq->set('hipq.worker_grace' => '1h');

# ---- a session of a pool
$bound = session('first');
ask($bound, register('pooled', listen => 'true'));
$bound->query('DISCARD ALL');
is($hipq->sql(status_of('pooled')), 'unhealthy', 'DISCARD ALL ends a bound worker');
$bound->quit;

# ---- heartbeats, and a restart
my $beats = $hipq->sql_as('first',
	register('beats', capacity => 3, queues => '{app.outside, app.other}'));
my $drains = $hipq->sql_as('first', register('drains'));
$hipq->sql_as('first', "SELECT hipq.drain_worker($drains)");
is($hipq->sql(status_of('beats')), 'unknown', 'a worker without a heartbeat is unknown');
is($hipq->sql_as('first', "SELECT hipq.heartbeat($beats)"), 'healthy',
	'a worker with a heartbeat is healthy');
my $writes = q{SELECT n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_xact_user_tables
	WHERE relid = 'hipq.worker'::regclass};
is($hipq->sql_as('first', "BEGIN; SELECT count(hipq.heartbeat($beats, '{\"queue_depth\": 1}'))
		FROM generate_series(1, 100); $writes; COMMIT"), "100\n0",
	'heartbeats write nothing');
is($hipq->sql_as('first', "BEGIN READ ONLY; SELECT hipq.heartbeat($beats); COMMIT"), 'healthy',
	'a read-only transaction can send a heartbeat');
$hipq->sql_as('first', "SELECT hipq.heartbeat($beats, '{}')");
is($hipq->sql(q{SET hipq.clock_offset = 15; } . status_of('beats')), 'healthy',
	'a worker is healthy after 15 s of silence');
is($hipq->sql(q{SET hipq.clock_offset = 31; } . status_of('beats')), 'unhealthy',
	'a worker is unhealthy after 31 s of silence');
my $is_active = q{SELECT concat_ws(' ', status, health->>'status') FROM hipq.workers_detail
	WHERE name = 'beats'};
is($hipq->sql("SET hipq.clock_offset = 31; $is_active"), 'inactive unhealthy',
	'a worker is inactive after 31 s of silence');
$hipq->set('hipq.health_enabled' => 'off');
$hipq->sql_as('first', "SELECT hipq.heartbeat($beats)");
is($hipq->sql("SET hipq.clock_offset = 15; $is_active"), 'active unknown',
	"without hipq.health_enabled an active worker's health is unknown");
is($hipq->sql("SET hipq.clock_offset = 31; $is_active"), 'inactive unknown',
	'without hipq.health_enabled a silent worker is inactive');
$hipq->set('hipq.health_enabled' => 'on');

foreach my $way ('restart', 'crash')
{
	if ($way eq 'crash') { $node->stop('immediate'); $node->start; }
	else { $node->restart; }
	is(workers(), 'beats active unknown, drains active unknown, pooled inactive unhealthy',
		"after a $way registered workers are listed, without heartbeats");
	is($hipq->sql(q{SELECT capacity || ' ' || queues::text || ' ' || is_draining
			FROM hipq.workers_detail WHERE name IN ('beats', 'drains') ORDER BY name}),
		"3 {app.other,app.outside} false\n1 {app.outside} true",
			"after a $way workers are as registered");
	is($hipq->sql_as('first', "SELECT hipq.heartbeat($beats)"), 'healthy',
		"after a $way a heartbeat makes a worker healthy");
}
$node->restart;
is($hipq->sql_as('first', "SELECT hipq.heartbeat($beats)"), 'healthy',
	'the first heartbeat after a restart makes a worker healthy');

# ---- silent for a day
$hipq->sql_as('second', register('silent'));
$hipq->set('hipq.clock_offset' => '80000s');
$hipq->sql_as('first', "SELECT hipq.heartbeat($beats)");
$hipq->set('hipq.clock_offset' => '90000s');
# Makes a scheduler check the workers.
my $look = $hipq->enqueue('scan', q{queue => 'app.outside'});
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.workers WHERE name IN ('silent', 'drains')}, 0),
	'workers that are silent for a day are removed');
is($hipq->sql(q{SELECT count(*) FROM hipq.workers WHERE name = 'beats'}), 1,
	'a worker with a heartbeat is not removed');
$hipq->sql("SELECT hipq.cancel($look)");
$hipq->set('hipq.clock_offset' => 0);
$hipq->sql_as('first', "SELECT hipq.heartbeat($beats)");

# ---- take-over of a name
my $error = $hipq->error_of('SET SESSION AUTHORIZATION first; ' . register('beats'));
like($error, qr/55006.*worker "beats" is already there/, 'a name that is in use is refused');
my $taken = $hipq->sql_as('first', register('beats', take_over => 'true', listen => 'false'));
like($hipq->error_of("SET SESSION AUTHORIZATION first; SELECT hipq.heartbeat($beats)"),
	qr/42704.*worker $beats does not exist/,
	'a worker whose name was taken over does not exist');
my $namesake = $hipq->sql_as('second', register('beats', take_over => 'true'));
is($hipq->sql_as('first', "SELECT hipq.heartbeat($taken)"), 'healthy',
	"another role's worker of the same name does not take it over");
$hipq->sql_as('second', "SELECT hipq.deregister_worker($namesake)");
my ($early, $late) = map { session('first') } 1 .. 2;
ask($early, 'BEGIN; ' . register('race'));
$late->{stdin} .= register('race') . ";\n";
$late->{run}->pump_nb;
ok($hipq->wait_until(q{SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'transactionid'
		AND query LIKE '%race%'}, 1), 'of two registrations at once one waits for the other');
ask($early, 'COMMIT');
ok($hipq->wait_until(q{SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'transactionid'},
		0), 'the second registration ends when the first has committed');
$late->{run}->pump until $late->{stderr} =~ /ERROR/;
like($late->{stderr}, qr/worker "race" is already there/, 'the second registration is refused');
is($hipq->sql(q{SELECT count(*) FROM hipq.workers WHERE name = 'race'}), 1,
	'one worker with the name of both registrations exists');
$_->{run}->kill_kill foreach $early, $late;

# ---- room for workers
$hipq->sql(q{SELECT hipq.deregister_worker(worker_id) FROM hipq.workers});
is($hipq->sql(q{SELECT count(*) FROM hipq._workers()}), 0,
	'an administrator can deregister all workers');
$hipq->sql_as($_ % 2 ? 'first' : 'second', register("w$_")) foreach 1 .. 12;
like($hipq->error_of('SET SESSION AUTHORIZATION first; ' . register('one too many')),
	qr/53400.*there is no room for another worker/, 'no more than hipq.max_workers can register');
is($hipq->sql(q{SELECT count(*) FROM hipq.workers}), 12, 'twelve workers stay registered');
is($hipq->sql(q{SELECT count(DISTINCT role) FROM hipq.workers_detail}), 2,
	'workers of two roles are registered');
is($hipq->sql(q{SELECT workers FROM hipq.job_types_detail WHERE queue = 'app.outside'}), 12,
	'all twelve workers serve their type');
$hipq->sql(q{ALTER SYSTEM SET hipq.max_workers = 10});
$node->restart;
is($hipq->sql(q{SELECT count(*) FROM hipq._workers()}), 10,
	'after a restart with room for ten of twelve workers two are left out');
is($hipq->sql(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'workers'}), 1,
	'an alert reports workers that are left out');
is($hipq->sql(q{SELECT count(*) FROM hipq.workers_detail WHERE health->>'status' = 'unknown'}), 12,
	'workers that are left out are shown');
is($hipq->sql(q{SELECT count(*) FROM hipq.workers WHERE status = 'inactive'}), 2,
	'workers that are left out are inactive');
$hipq->sql(q{SELECT hipq.drain_worker(worker_id), hipq.deregister_worker(worker_id)
	FROM hipq.workers});
is($hipq->sql(q{SELECT count(*) FROM hipq.workers}), 0,
	'workers that are left out can be deregistered');

# ---- dropped queues and roles
$hipq->sql_as('second', register('stays'));
$hipq->sql_as('first', register('two queues', queues => '{app.outside, app.other}'));
is($hipq->sql(q{SELECT string_agg(workers::text, ' ' ORDER BY queue) FROM hipq.job_types_detail}),
	'1 2', 'a worker serves several queues');
$hipq->sql(q{SELECT hipq.drop_queue('app.other')});
is($hipq->sql(q{SELECT count(*) FROM hipq.workers_detail WHERE name = 'two queues'}), 1,
	'a worker of a dropped queue stays registered');
like($hipq->error_of('SET SESSION AUTHORIZATION first; ' . register('lost',
		queues => '{app.other}')), qr/42704.*queue "app.other" does not exist/,
	'registration for a dropped queue is refused');
$hipq->sql(q{DROP OWNED BY "first"; DROP ROLE "first"});
is($hipq->sql(q{SELECT workers FROM hipq.job_types_detail}), 1,
	'a role with a worker can be dropped, and the worker serves nothing');
$hipq->enqueue('scan', q{queue => 'app.outside'});    # starts the scheduler, if it has exited
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.workers_detail WHERE name = 'two queues'}, 0),
	'the worker of a dropped role is removed');
$hipq->sql(q{SET client_min_messages = warning; SET hipq.allow_drop = on;
	DROP EXTENSION hipq CASCADE; CREATE EXTENSION hipq});
is($hipq->sql(q{SELECT count(*) FROM hipq._workers()}), 0,
	'an extension that is created again has no workers');

$node->stop;
done_testing();
