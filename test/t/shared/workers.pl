# External workers: the end of a session is noticed at once, restarts and crashes, taking over a name, pools, dropped roles and queues.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $hipq = HipqCluster->new('workers', 'hipq.max_workers' => 12, 'hipq.max_owner_share' => 100, 'hipq.worker_grace' => '1h');
my $node = $hipq->node;
$hipq->create_queue('app.outside');
$hipq->create_queue('app.other');
$hipq->sql(q{
	SELECT hipq.register_job_type('app.outside', 'scan', handler_kind => 'notify');
	SELECT hipq.register_job_type('app.other', 'scan', handler_kind => 'notify');
	CREATE ROLE "first" LOGIN; CREATE ROLE "second" LOGIN;
	SELECT hipq.grant_queue('app.outside', 'first', 'work'); SELECT hipq.grant_queue('app.outside', 'second', 'work');
	SELECT hipq.grant_queue('app.other', 'first', 'work')});

sub register
{
	my ($name, %more) = @_;
	my $queues = delete $more{queues} // '{app.outside}';
	return "SELECT hipq.register_worker('$name', '$queues', '{scan}'" . join('', map { ", $_ => $more{$_}" } sort keys %more) . ')';
}

# A session of a role, that stays.
sub session
{
	my ($role) = @_;
	my $session = $hipq->session(role => $role);
	return $session;
}

sub ask { my ($session, $sql) = @_; my $answer = $session->query_safe($sql); $answer =~ s/\s+$//; return $answer; }
sub status_of { my ($name) = @_; return "SELECT health->>'status' FROM hipq.workers_detail WHERE name = '$name'"; }
sub workers { return $hipq->sql(q{SELECT string_agg(concat_ws(' ', name, status, health->>'status'), ', ' ORDER BY name) FROM hipq.workers_detail}); }

# ---- a bound session
my $bound = session('first');
my $id = ask($bound, register('bound', listen => 'true'));
like($id, qr/^\d+$/, 'a worker is registered');
is($hipq->sql(status_of('bound')), 'healthy', 'its session is there: it is healthy without a heartbeat');
is($hipq->sql(qq{SET hipq.clock_offset = 86400; } . status_of('bound')), 'healthy', 'however long it is silent');
$hipq->sql("NOTIFY hipq_worker_$id, 'hello'");
like(ask($bound, 'SELECT 1'), qr/Asynchronous notification "hipq_worker_$id"/, 'it listens');
my $start = time();
$bound->quit;
ok($hipq->wait_until(status_of('bound'), 'unhealthy', 5), 'its session ends: it is unhealthy');
$hipq->in_time(time() - $start, 5, 'at once');
is($hipq->sql(q{SELECT pid IS NULL FROM hipq.workers_detail WHERE name = 'bound'}), 't', 'and bound to none');
like($hipq->error_of("SET SESSION AUTHORIZATION first; SELECT hipq.heartbeat($id)"), qr/55000.*worker $id has ended/, 'it cannot say that it is alive');

$bound = session('first');
my $again = ask($bound, register('bound', listen => 'true'));
cmp_ok($again, '>', $id, 'its name is free for its role: it gets a new number');
kill 'KILL', $hipq->sql(q{SELECT pid FROM hipq.workers_detail WHERE name = 'bound'});
eval { $bound->quit };
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.workers WHERE name = 'bound' AND status = 'active'}, 0), 'a crash of the server ends it too');
is($hipq->sql(status_of('bound')), 'unhealthy', 'it is still known');

$bound = session('first');
ask($bound, register('bound', listen => 'true'));
$hipq->sql(q{SELECT pg_terminate_backend(pid) FROM hipq.workers_detail WHERE name = 'bound'});
ok($hipq->wait_until(status_of('bound'), 'unhealthy', 5), 'and SIGTERM to its session');
eval { $bound->quit };

# ---- forgotten after the grace
$hipq->set('hipq.worker_grace' => '100ms');
$bound = session('first');
ask($bound, register('passing', listen => 'true'));
$bound->quit;
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.workers WHERE name = 'passing'}, 0), 'a worker that has ended is forgotten after hipq.worker_grace');
ok($hipq->wait_until(q{SELECT count(*) FROM hipq._workers()}, 0), 'shared memory forgets it too, and those that ended before');
$hipq->set('hipq.worker_grace' => '1h');

# ---- a session of a pool
$bound = session('first');
ask($bound, register('pooled', listen => 'true'));
$bound->query('DISCARD ALL');
is($hipq->sql(status_of('pooled')), 'unhealthy', 'a session that a pool resets is no worker any more');
$bound->quit;

# ---- heartbeats, and a restart
my $beats = $hipq->sql_as('first', register('beats', capacity => 3, queues => '{app.outside, app.other}'));
my $drains = $hipq->sql_as('first', register('drains'));
$hipq->sql_as('first', "SELECT hipq.drain_worker($drains)");
is($hipq->sql(status_of('beats')), 'unknown', 'one that has not been heard of is unknown');
is($hipq->sql_as('first', "SELECT hipq.heartbeat($beats)"), 'healthy', 'heard of, it is healthy');
my $writes = q{SELECT n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_xact_user_tables WHERE relid = 'hipq.worker'::regclass};
is($hipq->sql_as('first', "BEGIN; SELECT count(hipq.heartbeat($beats, '{\"queue_depth\": 1}')) FROM generate_series(1, 100); $writes; COMMIT"), "100\n0",
	'heartbeats write nothing');
is($hipq->sql_as('first', "BEGIN READ ONLY; SELECT hipq.heartbeat($beats); COMMIT"), 'healthy', 'so they may come from anywhere');
$hipq->sql_as('first', "SELECT hipq.heartbeat($beats, '{}')");
is($hipq->sql(q{SET hipq.clock_offset = 15; } . status_of('beats')), 'healthy', 'silent for 15 s it is healthy');
is($hipq->sql(q{SET hipq.clock_offset = 31; } . status_of('beats')), 'unhealthy', 'for 31 s unhealthy');
my $is_active = q{SELECT concat_ws(' ', status, health->>'status') FROM hipq.workers_detail WHERE name = 'beats'};
is($hipq->sql("SET hipq.clock_offset = 31; $is_active"), 'inactive unhealthy', 'and inactive');
$hipq->set('hipq.health_enabled' => 'off');
$hipq->sql_as('first', "SELECT hipq.heartbeat($beats)");
is($hipq->sql("SET hipq.clock_offset = 15; $is_active"), 'active unknown', 'it is active without being judged');
is($hipq->sql("SET hipq.clock_offset = 31; $is_active"), 'inactive unknown', 'as long as it is heard of');
$hipq->set('hipq.health_enabled' => 'on');

foreach my $way ('restart', 'crash')
{
	if ($way eq 'crash') { $node->stop('immediate'); $node->start; }
	else { $node->restart; }
	is(workers(), 'beats active unknown, drains active unknown, pooled inactive unhealthy', "$way: who was registered still is, and has not been heard of");
	is($hipq->sql(q{SELECT capacity || ' ' || queues::text || ' ' || is_draining FROM hipq.workers_detail WHERE name IN ('beats', 'drains') ORDER BY name}),
		"3 {app.other,app.outside} false\n1 {app.outside} true", "$way: as it was registered");
	is($hipq->sql_as('first', "SELECT hipq.heartbeat($beats)"), 'healthy', "$way: a heartbeat makes it healthy");
}
$node->restart;
is($hipq->sql_as('first', "SELECT hipq.heartbeat($beats)"), 'healthy', 'also if that is the first that is heard of any worker');

# ---- silent for a day
$hipq->sql_as('second', register('silent'));
$hipq->set('hipq.clock_offset' => '80000s');
$hipq->sql_as('first', "SELECT hipq.heartbeat($beats)");
$hipq->set('hipq.clock_offset' => '90000s');
my $look = $hipq->enqueue('scan', q{queue => 'app.outside'});    # so that somebody looks
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.workers WHERE name IN ('silent', 'drains')}, 0), 'workers that are silent for a day are forgotten');
is($hipq->sql(q{SELECT count(*) FROM hipq.workers WHERE name = 'beats'}), 1, 'others are not');
$hipq->sql("SELECT hipq.cancel($look)");
$hipq->set('hipq.clock_offset' => 0);
$hipq->sql_as('first', "SELECT hipq.heartbeat($beats)");

# ---- taking over
my $error = $hipq->error_of('SET SESSION AUTHORIZATION first; ' . register('beats'));
like($error, qr/55006.*worker "beats" is already there/, 'a name that is there is refused');
my $taken = $hipq->sql_as('first', register('beats', take_over => 'true', listen => 'false'));
like($hipq->error_of("SET SESSION AUTHORIZATION first; SELECT hipq.heartbeat($beats)"), qr/42704.*worker $beats does not exist/, 'taken over, the other one is nobody');
my $namesake = $hipq->sql_as('second', register('beats', take_over => 'true'));
is($hipq->sql_as('first', "SELECT hipq.heartbeat($taken)"), 'healthy', 'only its role takes it over: another role has names of its own');
$hipq->sql_as('second', "SELECT hipq.deregister_worker($namesake)");
my ($early, $late) = map { session('first') } 1 .. 2;
ask($early, 'BEGIN; ' . register('race'));
$late->{stdin} .= register('race') . ";\n";
$late->{run}->pump_nb;
ok($hipq->wait_until(q{SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'transactionid' AND query LIKE '%race%'}, 1), 'two at once: one waits for the other');
ask($early, 'COMMIT');
ok($hipq->wait_until(q{SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'transactionid'}, 0), 'until that has ended');
$late->{run}->pump until $late->{stderr} =~ /ERROR/;
like($late->{stderr}, qr/worker "race" is already there/, 'and is refused');
is($hipq->sql(q{SELECT count(*) FROM hipq.workers WHERE name = 'race'}), 1, 'there is one of that name');
$_->{run}->kill_kill foreach $early, $late;

# ---- room
$hipq->sql(q{SELECT hipq.deregister_worker(worker_id) FROM hipq.workers});
is($hipq->sql(q{SELECT count(*) FROM hipq._workers()}), 0, 'an administrator clears the table');
$hipq->sql_as($_ % 2 ? 'first' : 'second', register("w$_")) foreach 1 .. 12;
like($hipq->error_of('SET SESSION AUTHORIZATION first; ' . register('one too many')), qr/53400.*there is no room for another worker/, 'no more than hipq.max_workers');
is($hipq->sql(q{SELECT count(*) FROM hipq.workers}), 12, 'the others stay');
is($hipq->sql(q{SELECT count(DISTINCT role) FROM hipq.workers_detail}), 2, 'of several roles');
is($hipq->sql(q{SELECT workers FROM hipq.job_types_detail WHERE queue = 'app.outside'}), 12, 'and all of them serve their type');
$hipq->sql(q{ALTER SYSTEM SET hipq.max_workers = 10});
$node->restart;
is($hipq->sql(q{SELECT count(*) FROM hipq._workers()}), 10, 'after a restart with less room some are left out');
is($hipq->sql(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'workers'}), 1, 'which is an alert');
is($hipq->sql(q{SELECT count(*) FROM hipq.workers_detail WHERE health->>'status' = 'unknown'}), 12, 'they are shown');
is($hipq->sql(q{SELECT count(*) FROM hipq.workers WHERE status = 'inactive'}), 2, 'and inactive');
$hipq->sql(q{SELECT hipq.drain_worker(worker_id), hipq.deregister_worker(worker_id) FROM hipq.workers});
is($hipq->sql(q{SELECT count(*) FROM hipq.workers}), 0, 'and can be deregistered');

# ---- what is dropped
$hipq->sql_as('second', register('stays'));
$hipq->sql_as('first', register('two queues', queues => '{app.outside, app.other}'));
is($hipq->sql(q{SELECT string_agg(workers::text, ' ' ORDER BY queue) FROM hipq.job_types_detail}), '1 2', 'a worker serves several queues');
$hipq->sql(q{SELECT hipq.drop_queue('app.other')});
is($hipq->sql(q{SELECT count(*) FROM hipq.workers_detail WHERE name = 'two queues'}), 1, 'a worker of a dropped queue is still there');
like($hipq->error_of('SET SESSION AUTHORIZATION first; ' . register('lost', queues => '{app.other}')), qr/42704.*queue "app.other" does not exist/, 'the queue is not');
$hipq->sql(q{DROP OWNED BY "first"; DROP ROLE "first"});
is($hipq->sql(q{SELECT workers FROM hipq.job_types_detail}), 1, 'a role with a worker can be dropped: the worker serves nothing');
$hipq->enqueue('scan', q{queue => 'app.outside'});    # brings the scheduler, if it has left
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.workers_detail WHERE name = 'two queues'}, 0), 'and is forgotten');
$hipq->sql(q{SET client_min_messages = warning; SET hipq.allow_drop = on; DROP EXTENSION hipq CASCADE; CREATE EXTENSION hipq});
is($hipq->sql(q{SELECT count(*) FROM hipq._workers()}), 0, 'an extension made anew has no workers');

$node->stop;
done_testing();
