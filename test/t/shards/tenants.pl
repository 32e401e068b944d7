# Nothing that one tenant does prevents another tenant from setting up its queues, or stops the jobs
# of a shard. An instance is set up on its router only.
use strict;
use warnings;
use HipqDoctor;
use HipqShards;
use Test::More;

my $shards = HipqShards->new('tenants', 1, max_prepared_transactions => 5, 'hipq.max_crashes' => 5);
my ($router, $shard) = $shards->nodes;
my $letters = q{SELECT count(*) FROM hipq.shard_outbox WHERE kind = 'set_up'};

# ---- a shard sets up nothing of the instance itself
$router->sql(q{CREATE ROLE mallory LOGIN; GRANT CREATE ON SCHEMA public TO mallory;
	SELECT hipq.create_queue('lone.mail', owner => 'mallory'), hipq.register_job_type('lone.mail',
		'kind'), hipq.alter_queue('app.mail', throttle_limit => 3, throttle_mode => 'shared')});
ok($shard->wait_until(q{SELECT throttle_limit = 3 FROM hipq.queues_detail
		WHERE queue = 'app.mail'}), "the shard has the router's limit");
$shard->sql(
	q{CREATE ROLE mallory LOGIN; SELECT hipq.create_queue('lone.mail', owner => 'mallory')});
my $before = $shard->sql('SELECT hipq.describe()');
my $address = sprintf 'host=%s port=%d dbname=postgres', $router->node->host, $router->node->port;
foreach my $call (
	q{alter_queue('app.mail', throttle_limit => 0)},
		q{alter_queue('app.mail', shard_key => 'NONE')},
	q{create_queue('app.mail', or_replace => true)}, q{create_queue('app.other')},
		q{drop_queue('app.mail', force => true)},
	q{register_job_type('app.mail', 'more')},
		q{register_job_type('app.mail', 'run', or_replace => true)},
	q{alter_job_type('app.mail', 'run', default_priority => 3)},
		q{drop_job_type('app.mail', 'run', force => true)},
	q{pause('app.mail')}, q{pause('app.mail', job_type => 'run')},
		q{pause('app.mail', job_type => 'run', throttle_key => 'k')}, q{pause(instance => 'app')},
	q{alter_instance('app', strict => true)},
		q{apply('{"queues": [{"queue": "app.mail", "weight": 7}]}')})
{
	like($shard->error_of("SELECT hipq.$call"),
		qr/55000: .*instance "app" is set up on its router\n.*This server is shard 1 of it.\n.*on the router, \Q$address\E: it/s,
		"refused on a shard: $call");
}
$router->sql(q{SELECT hipq.pause('app.mail', job_type => 'run')});
ok($shard->wait_until('SELECT count(*) FROM hipq.pauses', 1), "the shard has the router's pause");
like($shard->error_of(q{SELECT hipq.resume('app.mail', job_type => 'run')}),
	qr/55000: instance "app" is set up on its router/,
	'the shard cannot resume what the router has paused');
$router->sql(q{SELECT hipq.resume('app.mail', job_type => 'run')});
ok($shard->wait_until('SELECT count(*) FROM hipq.pauses', 0), "the shard has the router's resume");
is($shard->sql('SELECT hipq.describe()'), $before, 'refused calls change nothing on the shard');

# ---- a pause with an end: each node ends it by itself
my $ends = 'SELECT coalesce(extract(epoch FROM max(paused_until)), 0) FROM hipq.pauses_detail';
$shard->sql("ALTER DATABASE postgres SET timezone = 'Asia/Tokyo'");
$router->sql(q{SELECT hipq.pause('app.mail', until => '1 hour')});
my $end = $router->sql($ends);
ok($shard->wait_until($ends, $end), 'the shard has the end of a pause');
$router->sql(q{SELECT hipq.pause('app.mail', until => '2 hours')});
$end = $router->sql($ends);
ok($shard->wait_until($ends, $end), 'the shard has the new end of a pause');
$router->sql(q{SELECT hipq.pause('app.mail', job_type => 'run')});
ok($shard->wait_until('SELECT count(*) FROM hipq.pauses', 2), 'the shard has another pause');
is($shard->sql($ends), $end, 'the pause stays on the shard when it receives the set-up again');
$shard->set('hipq.clock_offset' => 7201);
ok($shard->wait_until('SELECT count(*) FROM hipq.pauses', 1), 'the shard ends the pause');
$router->sql(q{SELECT hipq.resume('app.mail', job_type => 'run')});
ok($shard->wait_until('SELECT count(*) FROM hipq.pauses', 0),
	'a set-up with a pause that is over on the shard does not begin it again');
is($router->sql($ends), $end, 'the pause holds on the router, whose clock is behind');
$router->set('hipq.clock_offset' => 7201);
ok($router->wait_until('SELECT count(*) FROM hipq.pauses', 0), 'the router ends the pause');
$_->set('hipq.clock_offset' => 0) foreach $router, $shard;
$shard->sql('ALTER DATABASE postgres RESET timezone');
is($shard->sql('SELECT hipq.describe()'), $before, 'no pause is left on the shard');

# ---- set-up that a shard can change
is($shard->sql_as('mallory', q{SELECT hipq.pause('lone.mail'), hipq.resume('lone.mail')}), 't|t',
	'a shard sets up queues of other instances');
$shard->sql(q{INSERT INTO hipq.pause (queue_id, job_type, paused_by, paused_time, crashes)
	SELECT queue_id, 'run', 'hipq', now(), 2 FROM hipq.queue WHERE name = 'mail'});
is($shard->sql(q{SELECT hipq.resume('app.mail', job_type => 'run')}), 't',
	'a shard can resume a job type that hipq has paused there after crashes');
$shard->sql(q{SELECT hipq.enqueue('fresh', '{"tenant": "a"}',
	scheduled_run_time => now() + interval '1 day')});
ok($shard->wait_until(q{SELECT count(*) FROM hipq.job_type WHERE name = 'fresh'
		AND NOT is_registered}, 1), 'jobs bring unregistered types to a shard');

# ---- queues and types that the router drops stay on its shards, where they can be dropped
$router->sql(q{SELECT hipq.create_queue('app.brief', owner => 'app'),
	hipq.register_job_type('app.brief', 'run'), hipq.register_job_type('app.mail', 'brief')});
ok($shard->wait_until(q{SELECT count(*) FROM hipq.job_type WHERE name = 'brief'}, 1),
	'the shard has a queue and a type of the router');
$router->sql(q{SELECT hipq.drop_queue('app.brief'), hipq.drop_job_type('app.mail', 'brief')});
ok($shard->wait_until(q{SELECT router_has FROM hipq.shard_map}, '{"app.mail": ["run"]}'),
	'the shard knows that the router has dropped the queue and the type');
like($shard->error_of(q{SELECT hipq.alter_queue('app.brief', weight => 7)}),
	qr/55000: instance "app" is set up on its router/,
	'a dropped queue cannot be changed on the shard');
is($shard->sql(q{SELECT hipq.drop_queue('app.brief'), hipq.drop_job_type('app.mail', 'brief')}),
	'|', 'a dropped queue and type can be dropped on the shard');
ok($shard->wait_until(q{SELECT count(*) FROM hipq.queue WHERE name = 'brief'}, 0),
	'a queue dropped on the shard is removed');
$router->sql(q{SELECT hipq.alter_instance('app', strict => true)});
ok($shard->wait_until(q{SELECT is_strict FROM hipq.instance WHERE name = 'app'}),
	'a change of the instance comes from the router');
$router->sql(q{SELECT hipq.alter_instance('app', strict => false)});

# ---- setting up an instance without shards blocks no other, and is sent to no shard
my $sent = $router->sql($letters);
$router->sql_as('mallory', q{BEGIN; SELECT hipq.pause('lone.mail', job_type => 'kind'),
	hipq.alter_queue('lone.mail', weight => 7); PREPARE TRANSACTION 'lone'});
is($router->sql($letters), $sent, 'the set-up of an instance without shards is sent to no shard');
$router->sql(q{SET lock_timeout = '1s';
	SELECT hipq.pause('app.mail', job_type => 'run'), hipq.create_queue('other.mail'),
		hipq.register_job_type('app.mail', 'more'), hipq.resume('app.mail', job_type => 'run'),
		hipq.enqueue('fresh', '{"tenant": "b"}', queue => 'app.mail',
			scheduled_run_time => now() + interval '1 day'),
		hipq.enqueue('stray', scheduled_run_time => now() + interval '1 day')});
pass('other roles can set up queues while a transaction that sets up another instance is open');

# ---- recovery does not wait for a transaction that sets up
$router->sql(q{CREATE FUNCTION once(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
	IF job.attempt = 1 THEN PERFORM pg_sleep(600); END IF; END $$;
	SELECT hipq.create_queue('app.whole', owner => 'app'),
		hipq.register_job_type('app.whole', 'once', handler => 'once')});
my $id = $router->sql(q{SELECT hipq.enqueue('once', queue => 'app.whole')});
my $pid = $router->pid_of($id);
$router->sql(q{BEGIN; SELECT hipq.pause('app.mail', job_type => 'more');
	PREPARE TRANSACTION 'app'});
like($router->error_of(q{SELECT hipq.pause('app.whole')}),
	qr/55P03: another transaction that changes queues, job types or pauses of instance "app" is open\nDETAIL:  It is that of prepared transaction "app"/,
	'pause() gives up waiting for a transaction that sets up the same instance');
is($router->sql(q{SET lock_timeout = '1s'; SELECT hipq.alter_queue('other.mail', weight => 9)}), '',
	'alter_queue() does not wait for a transaction that sets up another instance');
kill 'KILL', $pid;
is($router->outcome($id), 'succeeded',
	'a job whose process was killed runs again while a transaction that sets up is open');
is($router->sql(q{SELECT attempt FROM hipq.jobs_detail WHERE job_type = 'once'}), 2,
	'the job whose process was killed has two attempts');
$router->sql(qq{ROLLBACK PREPARED '$_'}) foreach qw(lone app);

# ---- a shard that lacks something for one tenant sets up all of other tenants
$router->sql(q{SELECT hipq.register_job_type('app.mail', 'later', max_retries => 7)});
ok($shard->wait_until(q{SELECT count(*) FROM hipq.job_type WHERE name = 'later' AND is_registered},
		1), 'a shard without a handler of one type sets up the others');
like($shard->sql(q{SELECT detail FROM hipq.alerts_detail WHERE alert = 'shard'}),
	qr/shard 1 of instance "app", and could not set up all that the router has: job type once of queue app.whole/,
	'an alert reports the missing handler');
$shard->sql('CREATE FUNCTION once(job hipq.job) RETURNS void LANGUAGE sql AS $$$$');
$router->sql(q{SELECT hipq.alter_queue('app.mail', weight => 11)});
ok($shard->wait_until(q{SELECT count(*) FROM hipq.alerts_detail WHERE alert = 'shard'}, 0),
	'the alert ends when the handler exists');

# ---- a trigger of one tenant stops no other tenant
$shard->sql(q{CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF new.job_data ->> 'poison' = 'cancel' THEN PERFORM pg_cancel_backend(pg_backend_pid());
			END IF;
		IF new.job_data ? 'poison' THEN RAISE 'not served here' USING ERRCODE = new.job_data
			->> 'poison'; END IF; RETURN new; END $$;
	CREATE TRIGGER refuse BEFORE INSERT ON hipq.app_mail FOR EACH ROW
		WHEN (new.job_data ->> 'when' IS NULL) EXECUTE FUNCTION refuse();
	CREATE FUNCTION refuse_late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		RAISE 'not served here' USING ERRCODE = '40001'; END $$;
	CREATE CONSTRAINT
		TRIGGER refuse_late AFTER INSERT ON hipq.app_mail DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
		WHEN (new.job_data ->> 'when' = 'commit') EXECUTE FUNCTION refuse_late()});
my @sqlstates = qw(P0001 53100 40P01 57P01 55P03 XX000 22023);
my $poison = join ', ', map { qq('{"tenant": "a", "poison": "$_"}'::jsonb) } @sqlstates, 'cancel';
$router->sql(qq{SELECT hipq.enqueue_many('run', ARRAY[$poison,
	'{"tenant": "a", "when": "commit", "poison": "40001"}', '{"tenant": "good"}'])});
ok($shard->wait_until(q{SELECT count(*) FROM ran WHERE tenant = 'good'}, 1),
	'a job in one call with refused jobs runs');
ok($router->wait_until(q{SELECT string_agg(sqlstate, ' ' ORDER BY sqlstate)
		FROM hipq.shard_rejects}, join(' ', sort @sqlstates, '40001', '57014')),
	'jobs that a trigger refuses are rejects with the SQLSTATE of the trigger');
# ---- rejects are sent again when their cause is removed
$shard->sql(q{DROP TRIGGER refuse ON hipq.app_mail;
	CREATE TRIGGER refuse BEFORE INSERT ON hipq.app_mail FOR EACH ROW
	WHEN (new.job_data ->> 'poison' = 'XX000') EXECUTE FUNCTION refuse();
	DROP TRIGGER refuse_late ON hipq.app_mail});
my $rejects = 'SELECT count(*) FROM hipq.shard_reject';
my $alert = q{SELECT count(*) FROM hipq.alerts_detail WHERE alert = 'jobs refused by a shard'};
my $first = $router->sql(q{SELECT job_id FROM hipq.shard_reject WHERE sqlstate = '53100'});
like($shard->error_of(q{SELECT hipq.resend_rejects('app.mail')}),
	qr/55000: rejects of instance "app" are sent again by its router\n.*shard 1.*\n.*\Q$address\E/s,
	'resend_rejects() is refused on a shard');
like($router->error_of(qq{SELECT hipq.resend_rejects('app.mail', ids => '{$first, 42}')}),
	qr/42704: queue "app.mail" has no reject of job 42/,
		'resend_rejects() refuses a job without a reject');
like($router->error_of(q{SELECT hipq.resend_rejects('lone.mail')}), qr/55000: .*has no shards/,
	'resend_rejects() refuses an instance without shards');
$router->sql(
	q{CREATE ROLE operator LOGIN; SELECT hipq.grant_queue('app.mail', 'operator', 'control')});
like($router->error_of(q{SET ROLE operator; SELECT hipq.resend_rejects('app.mail')}),
	qr/42501: /, 'resend_rejects() needs privilege enqueue, too');
$router->sql(q{SELECT hipq.grant_queue('app.mail', 'operator', 'enqueue')});
is($router->sql($rejects), 9, 'refused calls leave all rejects');
is($router->sql_as('operator', qq{SELECT hipq.resend_rejects('app.mail', ids => '{$first}')}), 1,
	'resend_rejects() sends one job again');
ok($shard->wait_until("SELECT count(*) FROM ran WHERE id = $first", 1),
	'a job that is sent again runs with its id');
is($_->sql("$rejects WHERE job_id = $first"), 0, 'a job that is sent again is not a reject')
	foreach $router, $shard;
is($router->sql(q{SELECT hipq.resend_rejects('app.mail', sqlstate => 'P0001')}), 1,
	'resend_rejects() sends jobs with one SQLSTATE');
is($router->sql(q{SELECT hipq.resend_rejects('app.mail', max_jobs => 1)}), 1,
	'resend_rejects() sends the first jobs');
is($router->sql(q{SELECT hipq.resend_rejects('app.mail')}), 6, 'resend_rejects() sends all jobs');
ok($shard->wait_until(q{SELECT count(DISTINCT id) FROM ran WHERE tenant = 'a'}, 8),
	'all jobs that are sent again run, except the one that a trigger refuses');
foreach my $node ($router, $shard)
{
	ok($node->wait_until("$rejects WHERE sqlstate = 'XX000'", 1),
		'a job that is refused again is a reject again');
	is($node->sql($rejects), 1, 'no other job is a reject');
	is($node->sql($alert), 1, 'an alert reports the new reject');
}
is($router->sql(q{UPDATE hipq.shard_reject SET sqlstate = '23505';
	SELECT hipq.resend_rejects('app.mail')}), 0, 'resend_rejects() does not send duplicates');
$shard->sql('DROP TRIGGER refuse ON hipq.app_mail');
is($router->sql(q{SELECT hipq.resend_rejects('app.mail', sqlstate => '23505')}), 1,
	'resend_rejects() sends duplicates on request');
ok($shard->wait_until($rejects, 0), 'no reject is left on the shard');
is($router->sql($rejects), 0, 'no reject is left on the router');
is($_->sql($alert), 0, 'the alert of rejects ends') foreach $router, $shard;
is($shard->sql(q{SELECT count(*) - count(DISTINCT id) FROM ran WHERE tenant = 'a'}), 0,
	'each job has run once');

# ---- old rejects are removed: duplicates as final jobs are, others as dead letters, but no reject
# that a resync may need (three days)
$router->sql(q{SELECT hipq.alter_queue('app.mail', dead_letter_retention => '5 days');
	INSERT INTO hipq.shard_reject
		(instance, sender, node, outbox_id, rejected_time, queue, sqlstate, error, job)
	SELECT 'app', 0, 1, 0, clock_timestamp() - days * interval '1 day', queue, sqlstate, '', '{}'
	FROM (VALUES (4, 'mail', 'P0001'), (6, 'mail', 'P0001'), (6, 'mail', '23505'),
		(8, 'mail', '23505'), (2, NULL, '22023'), (4, NULL, '22023'), (2, 'gone', 'P0001'),
		(4, 'gone', 'P0001')) AS old (days, queue, sqlstate)});
my $is_old = q{rejected_time < now() -
	CASE WHEN queue <> 'mail' OR queue IS NULL THEN 3 WHEN sqlstate = '23505' THEN 7 ELSE 5 END
	* interval '1 day'};
is($router->sql("SELECT count(*) FROM hipq.shard_reject WHERE $is_old"), 4, 'four rejects are old');
ok($shards->forgotten(0, $router, "SELECT count(*) FROM hipq.shard_reject WHERE $is_old"),
	'old rejects are removed');
is($router->sql('SELECT count(*) FROM hipq.shard_reject'), 4, 'other rejects stay');
$_->set('hipq.clock_offset' => 0) foreach $router, $shard;
$router->sql(q{DELETE FROM hipq.shard_reject;
	SELECT hipq.alter_queue('app.mail', reset => '{dead_letter_retention}')});

# ---- a shard that cannot take letters says so in several places
$shard->sql(q{CREATE TABLE gate (); CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN LOCK TABLE public.gate IN SHARE MODE NOWAIT; RETURN new; END $$;
	CREATE TRIGGER pass BEFORE INSERT ON hipq.app_mail FOR EACH ROW EXECUTE FUNCTION pass()});
my $holder = $shard->session;
$holder->query_safe('BEGIN; LOCK TABLE gate');
$id = $router->sql(q{SELECT hipq.enqueue('run', '{"tenant": "late"}')});
ok($shard->wait_until(q{SELECT count(*) FROM hipq.alerts_detail WHERE alert = 'shard'
		AND detail ~ 'SQLSTATE 55P03'}, 1), 'an alert on the shard has the SQLSTATE');
like($shard->sql(q{SELECT detail FROM hipq.alerts_detail WHERE alert = 'shard'}),
	qr/cannot take what another one sends.*the router of instance "app" \(jobs of queue "mail"\): .*could not obtain lock on relation "public.gate" \(SQLSTATE 55P03\)/,
	'the alert on the shard has the error');
ok($router->wait_until(q{SELECT count(*) FROM hipq.alerts_detail WHERE alert = 'shard'
		AND detail ~ 'Shard 1 of instance "app": it cannot take what it reads: .*55P03'}, 1),
	'an alert on the router has the error');
like($router->sql("SELECT explanation FROM hipq.why($id)"),
	qr/Not all that was sent to shard 1 of instance "app" has been read. An error keeps it from that: view hipq.alerts tells of it/,
	'why() refers to view hipq.alerts');
is_found($shard, 'error', 'letters not taken', 'database',
	qr/could not obtain lock on relation "public.gate"/);
is_found($router, 'error', 'letters not taken', 'shard 1 of instance "app"',
	qr/could not obtain lock on relation "public.gate"/);
$holder->query_safe('COMMIT');
ok($shard->wait_until(q{SELECT count(*) FROM ran WHERE tenant = 'late'}, 1),
	'the job runs when the lock is released');
ok($_->wait_until(q{SELECT count(*) FROM hipq.alerts_detail WHERE alert = 'shard'}, 0),
	'the alert is over when the lock is released') foreach $shard, $router;

# ---- a job whose key another server checks
my $unique = q{SELECT id, action FROM hipq.enqueue_unique('run', '{"tenant": "a"}',
	job_key => 'once', scheduled_run_time => now() + interval '1 day')};
like($router->sql($unique), qr/^\d+\|sent$/, 'enqueue_unique() says that the job is sent');
my ($second) = split /\|/, $router->sql($unique);
ok($router->wait_until("SELECT count(*) FROM hipq.shard_rejects WHERE job_id = $second
		AND sqlstate = '23505'", 1), 'the second job with the key is a reject');
like($router->error_of("SELECT * FROM hipq.find_job($second)"),
	qr/42704: .*\n.*It was not taken by shard 1 of instance "app": an unfinished job has its key \(23505\)/,
	'find_job() says that the shard did not take the job');
$router->sql(q{INSERT INTO hipq.schedule (name, cron, role, queue_id, job_type, job_key, job_data)
	SELECT 'often', '* * * * *', current_user::regrole, queue_id, 'run', 'once', '{"tenant": "a"}'
		FROM hipq.queue WHERE name = 'mail' AND table_name = 'app_mail'});
like($router->sql(q{SELECT hipq._run_schedule(schedule_id) FROM hipq.schedule}), qr/^sent job \d+$/,
	'a schedule sends a job');
ok($router->wait_until('SELECT last_action FROM hipq.schedules_detail', 'skipped'),
	'the schedule shows later that its job was skipped');

# ---- the doctor knows hipq's own slots and subscriptions
my ($slot, $line) = map { $router->sql("SELECT channel || '_${_}_1' FROM hipq.shard") } qw(to from);
unlike(findings($_), qr/replication slot|subscription|clock|not reached|not taken|check failed/,
	'at the start the doctor finds no problem of replication') foreach $router, $shard;
is_mended($router, 'warning', 'unbounded WAL', 'setting max_slot_wal_keep_size',
	qr/is -1: a node that does not read fills the disk/);
$shard->sql("ALTER SUBSCRIPTION $slot DISABLE");
ok($router->wait_until("SELECT NOT active FROM pg_replication_slots WHERE slot_name = '$slot'"),
	'the shard does not read when its subscription is disabled');
my $found = is_found($router, 'warning', 'inactive slot', qq{replication slot "$slot"},
	qr/sends by it to shard 1 of instance "app", which does not read/);
is_deeply([ $found->{statement}, $found->{hint} =~ /Do not drop the slot/ ], [ undef, 1 ],
	'the doctor advises not to drop the replication slot');
$router->set('hipq.outbox_max' => '1MB');
$router->sql(q{CREATE TABLE much AS SELECT repeat(md5(n::text), 30) AS text
	FROM generate_series(1, 3000) AS n});
is_found($router, 'warning', 'much WAL kept', qq{replication slot "$slot"},
	qr/more than hipq.outbox_max \(1MB\): enqueueing for it is refused/);
is_mended($shard, 'error', 'disabled subscription', qq{subscription "$slot"},
	qr/what the router of instance "app" sends, and it is disabled/);
ok($router->wait_until("SELECT active FROM pg_replication_slots WHERE slot_name = '$slot'"),
	'the shard reads when its subscription is enabled');

# ---- new connection strings, never with a password
my @ways = map { $shards->conninfo($_) . " application_name=way$_" } 0, 1;
$router->sql("CALL hipq.create_shard('app', 1, '$ways[1]', publisher => '$ways[0]')");
is($router->sql("SELECT subconninfo FROM pg_subscription WHERE subname = '$line'"), $ways[1],
	"a new conninfo changes the router's subscription");
is($shard->sql("SELECT subconninfo FROM pg_subscription WHERE subname = '$slot'"), $ways[0],
	"a new conninfo changes the shard's subscription");
$router->set('hipq.outbox_max' => '8GB');
$router->sql(q{SELECT hipq.enqueue('run', '{"tenant": "by another way"}')});
ok($shard->wait_until(q{SELECT count(*) FROM ran WHERE tenant = 'by another way'}, 1),
	'jobs run with the new conninfo');
my $reach = "'$ways[1]', publisher => '$ways[0]";
like($router->error_of("CALL hipq.create_shard('app', 1, $reach password=secret')"),
	qr/22023: publisher has a password\nHINT:  Use a passfile/,
	'a password in publisher is refused');
like($router->error_of("CALL hipq.create_shard('app', 1, 'password=secret $ways[1]')"),
	qr/22023: (?:conninfo has a password|it is not said how)/, 'a password in conninfo is refused');
like($router->error_of(
		qq{SELECT hipq.$_, db_config => '{"publisher": "postgresql://u:secret\@a/d"}')}),
	qr/22023: publisher in db_config has a password/, "a password in db_config is refused: $_")
	foreach q{create_instance('apart'}, q{alter_instance('app'};
$shard->node->stop;
is_found($router, 'warning', 'not reached', 'shard 1 of instance "app"');
$shard->node->start;

done_testing();
