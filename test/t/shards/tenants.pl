# What one tenant does neither keeps another from setting up, nor stops the jobs of a shard; and what is set up is set up on the router.
use strict;
use warnings;
use HipqShards;
use Test::More;

my $shards = HipqShards->new('tenants', 1, max_prepared_transactions => 5, 'hipq.max_crashes' => 5);
my ($router, $shard) = $shards->nodes;
my $letters = q{SELECT count(*) FROM hipq.shard_outbox WHERE kind = 'set_up'};

# ---- a shard sets up nothing of the instance itself
$router->sql(q{CREATE ROLE mallory LOGIN; GRANT CREATE ON SCHEMA public TO mallory;
	SELECT hipq.create_queue('lone.mail', owner => 'mallory'), hipq.register_job_type('lone.mail', 'kind'), hipq.alter_queue('app.mail', throttle_limit => 3, throttle_mode => 'shared')});
ok($shard->wait_until(q{SELECT throttle_limit = 3 FROM hipq.queues_detail WHERE queue = 'app.mail'}), 'the shard has heard of a limit');
$shard->sql(q{CREATE ROLE mallory LOGIN; SELECT hipq.create_queue('lone.mail', owner => 'mallory')});
my $before = $shard->sql('SELECT hipq.describe()');
my $address = sprintf 'host=%s port=%d dbname=postgres', $router->node->host, $router->node->port;
foreach my $call (
	q{alter_queue('app.mail', throttle_limit => 0)}, q{alter_queue('app.mail', shard_key => 'NONE')},
	q{create_queue('app.mail', or_replace => true)}, q{create_queue('app.other')}, q{drop_queue('app.mail', force => true)},
	q{register_job_type('app.mail', 'more')}, q{register_job_type('app.mail', 'run', or_replace => true)},
	q{alter_job_type('app.mail', 'run', default_priority => 3)}, q{drop_job_type('app.mail', 'run', force => true)},
	q{pause('app.mail')}, q{pause('app.mail', job_type => 'run')}, q{pause('app.mail', job_type => 'run', throttle_key => 'k')}, q{pause(instance => 'app')},
	q{alter_instance('app', strict => true)}, q{apply('{"queues": [{"queue": "app.mail", "weight": 7}]}')})
{
	like($shard->error_of("SELECT hipq.$call"), qr/55000: .*instance "app" is set up on its router\n.*This server is shard 1 of it.\n.*on the router, \Q$address\E: it/s, "refused on a shard: $call");
}
$router->sql(q{SELECT hipq.pause('app.mail', job_type => 'run')});
ok($shard->wait_until('SELECT count(*) FROM hipq.pauses', 1), 'a pause comes from the router');
like($shard->error_of(q{SELECT hipq.resume('app.mail', job_type => 'run')}), qr/55000: instance "app" is set up on its router/, 'and ends there');
$router->sql(q{SELECT hipq.resume('app.mail', job_type => 'run')});
ok($shard->wait_until('SELECT count(*) FROM hipq.pauses', 0), 'as on all servers');
is($shard->sql('SELECT hipq.describe()'), $before, 'nothing has changed');

# ---- what is a server's own
is($shard->sql_as('mallory', q{SELECT hipq.pause('lone.mail'), hipq.resume('lone.mail')}), 't|t', 'queues of other instances');
$shard->sql(q{INSERT INTO hipq.pause (queue_id, job_type, paused_by, paused_time, crashes) SELECT queue_id, 'run', 'hipq', now(), 2 FROM hipq.queue WHERE name = 'mail'});
is($shard->sql(q{SELECT hipq.resume('app.mail', job_type => 'run')}), 't', 'what a crash has held there is resumed there');
$shard->sql(q{SELECT hipq.enqueue('fresh', '{"tenant": "a"}', scheduled_run_time => now() + interval '1 day')});
ok($shard->wait_until(q{SELECT count(*) FROM hipq.job_type WHERE name = 'fresh' AND NOT is_registered}, 1), 'jobs bring types');

# ---- what the router drops stays on its shards, and may go there
$router->sql(q{SELECT hipq.create_queue('app.brief', owner => 'app'), hipq.register_job_type('app.brief', 'run'), hipq.register_job_type('app.mail', 'brief')});
ok($shard->wait_until(q{SELECT count(*) FROM hipq.job_type WHERE name = 'brief'}, 1), 'a queue and a type have come');
$router->sql(q{SELECT hipq.drop_queue('app.brief'), hipq.drop_job_type('app.mail', 'brief')});
ok($shard->wait_until(q{SELECT router_has FROM hipq.shard_map}, '{"app.mail": ["run"]}'), 'which the router has dropped');
like($shard->error_of(q{SELECT hipq.alter_queue('app.brief', weight => 7)}), qr/55000: instance "app" is set up on its router/, 'they are not changed on the shard');
is($shard->sql(q{SELECT hipq.drop_queue('app.brief'), hipq.drop_job_type('app.mail', 'brief')}), '|', 'but dropped');
ok($shard->wait_until(q{SELECT count(*) FROM hipq.queue WHERE name = 'brief'}, 0), 'and then gone');
$router->sql(q{SELECT hipq.alter_instance('app', strict => true)});
ok($shard->wait_until(q{SELECT is_strict FROM hipq.instance WHERE name = 'app'}), 'a change of the instance comes from the router');
$router->sql(q{SELECT hipq.alter_instance('app', strict => false)});

# ---- set-up of an instance without shards keeps nobody from setting up, and is sent to nobody
my $sent = $router->sql($letters);
$router->sql_as('mallory', q{BEGIN; SELECT hipq.pause('lone.mail', job_type => 'kind'), hipq.alter_queue('lone.mail', weight => 7); PREPARE TRANSACTION 'lone'});
is($router->sql($letters), $sent, 'no shard hears of an instance without shards');
$router->sql(q{SET lock_timeout = '1s';
	SELECT hipq.pause('app.mail', job_type => 'run'), hipq.create_queue('other.mail'), hipq.register_job_type('app.mail', 'more'), hipq.resume('app.mail', job_type => 'run'),
		hipq.enqueue('fresh', '{"tenant": "b"}', queue => 'app.mail', scheduled_run_time => now() + interval '1 day'),
		hipq.enqueue('stray', scheduled_run_time => now() + interval '1 day')});
pass('others set up while its transaction is open');

# ---- nor does recovery wait for anybody's
$router->sql(q{CREATE FUNCTION once(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$ BEGIN IF job.attempt = 1 THEN PERFORM pg_sleep(600); END IF; END $$;
	SELECT hipq.create_queue('app.whole', owner => 'app'), hipq.register_job_type('app.whole', 'once', handler => 'once')});
my $id = $router->sql(q{SELECT hipq.enqueue('once', queue => 'app.whole')});
my $pid = $router->pid_of($id);
$router->sql(q{BEGIN; SELECT hipq.pause('app.mail', job_type => 'more'); PREPARE TRANSACTION 'app'});
like($router->error_of(q{SELECT hipq.pause('app.whole')}), qr/55P03: another transaction that changes queues, job types or pauses of instance "app" is open\nDETAIL:  It is that of prepared transaction "app"/,
	'who sets up the same instance waits, and not for long');
is($router->sql(q{SET lock_timeout = '1s'; SELECT hipq.alter_queue('other.mail', weight => 9)}), '', 'others do not');
kill 'KILL', $pid;
is($router->outcome($id), 'succeeded', 'a job whose process was killed runs again meanwhile');
is($router->sql(q{SELECT attempt FROM hipq.jobs_detail WHERE job_type = 'once'}), 2, 'once more');
$router->sql(qq{ROLLBACK PREPARED '$_'}) foreach qw(lone app);

done_testing();
