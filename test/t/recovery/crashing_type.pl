# A job type that crashes the server repeatedly is held after a few crashes, for any number of its
# jobs. An alert reports the hold, and all other jobs run.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $hipq = HipqCluster->new('crashing_type', 'hipq.max_executors' => 4, 'hipq.suspect_pause' => 0);
$hipq->create_queue('app.main');
$hipq->create_queue('app.other');
$hipq->sql(q{
	CREATE TABLE here (id bigint);
	GRANT ALL ON here TO app;
	CREATE FUNCTION end_process(how text) RETURNS void
		LANGUAGE c STRICT AS 'hipq_crash_test', 'crash_test';
	CREATE FUNCTION crash(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN IF data ? 'how' THEN
		PERFORM end_process(data->>'how'); END IF; END $$;
	CREATE FUNCTION crash_all(jobs hipq.job[]) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		PERFORM end_process('abort'); END $$;
	CREATE FUNCTION fail(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		RAISE 'fails'; END $$;
	CREATE FUNCTION decide(job hipq.job) RETURNS interval LANGUAGE plpgsql AS $$ BEGIN
		PERFORM end_process('abort'); RETURN NULL; END $$;
	CREATE FUNCTION bury(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		PERFORM end_process('abort'); END $$;
	CREATE FUNCTION fine(data jsonb) RETURNS void LANGUAGE sql AS 'SELECT';
	SELECT hipq.register_job_type('app.main', type, handler => 'crash',
		claim => claim, max_retries => 5)
	FROM (VALUES ('by lock', 'lock'), ('by record', 'record'),
		('killed', 'record')) AS types (type, claim);
	SELECT hipq.register_job_type('app.main', 'batch', handler => 'crash_all', batch_size => 5);
	SELECT hipq.register_job_type('app.main', 'asks', handler => 'fail', retry_handler => 'decide');
	SELECT hipq.register_job_type('app.main', 'fine', handler => 'fine');
	SELECT hipq.register_job_type('app.other', 'fails', handler => 'fail');
	SELECT hipq.register_job_type('app.other', 'other', handler => 'fine')});

# Returns the number of crashes of the server since the last call.
my $log_end = 0;
sub crashes
{
	my $log = slurp_file($hipq->node->logfile, $log_end);
	$log_end = -s $hipq->node->logfile;
	return scalar(() = $log =~ /all server processes terminated; reinitializing/g);
}

# Enqueues the jobs while the type is paused, so that they start together. The server may crash
# before psql gets its result.
sub let_loose
{
	my ($type, $count, $data) = @_;
	$hipq->sql("SELECT hipq.pause('app.main', '$type'); SELECT count(hipq.enqueue('$type', '$data'))
		FROM generate_series(1, $count)");
	crashes();
	$hipq->try_sql("SELECT hipq.resume('app.main', '$type')");
	return;
}

sub held
{
	my ($type) = @_;
	return "SELECT count(*) FROM hipq.pauses_detail WHERE job_type = '$type'
		AND paused_by = 'hipq' AND crashes = 2";
}

foreach my $case ([ 'by lock', 5, '{"how": "abort"}' ], [ 'by record', 20, '{"how": "segv"}' ],
	[ 'killed', 5, '{"how": "kill"}' ], [ 'batch', 30, '{}' ])
{
	my ($type, $count, $data) = @$case;
	let_loose($type, $count, $data);
	ok($hipq->wait_until(held($type), 1), "$type: the type is held after two crashes");
	is($hipq->outcome_of('fine'), 'succeeded', "$type: other jobs of the queue run");
	is($hipq->outcome_of('other', q{queue => 'app.other'}), 'succeeded',
		"$type: other jobs of the owner run");
	is(crashes(), 2, "$type: $count jobs caused two crashes");
	is($hipq->sql("SELECT is_paused, crashes FROM hipq.job_types_detail WHERE job_type = '$type'"),
		't|2', "$type: view job_types shows the hold");
	my $id = $hipq->sql(
		"SELECT min(id) FROM hipq.jobs_detail WHERE job_type = '$type' AND state <> 'final'");
	like($hipq->why($id),
		qr/^pause: Job type "$type" is held since .*: its jobs took the server down 2 times within 10 minutes\. It goes on after hipq\.resume\(\), or with a new handler/,
		"$type: why() reports the hold, and what ends it");
	like($hipq->sql(qq{SELECT times || ' ' || detail || ' ' || hint FROM hipq.alerts_detail
			WHERE alert = 'crashing job type' AND detail LIKE '%$type%'}),
		qr/^2 Job type "?$type"? of queue app\.main is held: its jobs took the server down 2 times, at .*hipq\.resume/,
			"$type: an alert reports the hold");
}
like(slurp_file($hipq->node->logfile), qr/WARNING:.*job type "by lock" of queue "app.main" is held/,
	'the log reports the hold');

# ---- types with the same name in queues of several owners are held only for crashes of their own
# jobs
{
	$hipq->sql(q{CREATE ROLE first LOGIN; CREATE ROLE second LOGIN; CREATE ROLE third LOGIN});
	$hipq->create_queue("$_.main", owner => $_) foreach qw(first second third);
	$hipq->sql(q{SELECT hipq.register_job_type(owner || '.main', 'shared name', handler => 'crash',
		claim => 'record', max_retries => 5), hipq.pause(owner || '.main')
		FROM unnest('{first, second}'::text[]) AS owner;
		SELECT hipq.register_job_type('third.main', 'shared name', handler => 'crash',
			claim => 'record');
		SELECT count(hipq.enqueue('shared name', '{"how": "abort"}', queue => owner || '.main'))
			FROM unnest('{first, second}'::text[]) AS owner, generate_series(1, 50)});
	crashes();
	$hipq->try_sql(
		q{SELECT hipq.resume(owner || '.main') FROM unnest('{first, second}'::text[]) AS owner});
	my $holds = q{SELECT string_agg(queue, ' ' ORDER BY queue) FROM hipq.pauses_detail
		WHERE job_type = 'shared name' AND crashes = 2};
	ok($hipq->wait_until($holds, 'first.main second.main'),
		'types with the same name of two owners are held');
	is($hipq->outcome_of('shared name', q{queue => 'third.main'}), 'succeeded',
		'a type with the same name that does not crash is not held');
	# After a crash jobs of both types are suspects. The next crash is blamed on each type with
	# suspects. So there is one crash, and then two for each type.
	my $crashes = crashes();
	ok($crashes >= 3 && $crashes <= 5,
		"a hundred jobs of two types caused three to five crashes: $crashes");
	like($hipq->error_of(q{SELECT hipq.resume('second.main', 'shared name')},
			extra_params => [ '-U', 'first' ]), qr/42704/,
		"an owner cannot resume another owner's type");
	$hipq->sql_as('first',
		q{SELECT hipq.alter_job_type('first.main', 'shared name', handler => 'fine')});
	is($hipq->sql($holds), 'second.main',
		'a new handler for one type does not end the hold of the other');
	ok($hipq->wait_until(q{SELECT count(*) = 0 FROM hipq.jobs_detail WHERE queue = 'first.main'
			AND state <> 'final'}), 'jobs with a new handler run');
	$hipq->sql(q{SELECT hipq.drop_queue(owner || '.main', force => true)
		FROM unnest('{first, second, third}'::text[]) AS owner});
}

# ---- a restart does not end a hold
{
	$hipq->node->restart;
	is($hipq->sql(q{SELECT count(*) FROM hipq.pauses_detail WHERE queue = 'app.main'
			AND crashes IS NOT NULL}), 4, 'a restart does not end a hold');
	crashes();
	is($hipq->outcome_of('fine'), 'succeeded', 'other jobs run beside held types after a restart');
}

# ---- resume() and a new handler
{
	$hipq->sql(q{CREATE ROLE stranger LOGIN; CREATE ROLE controller LOGIN;
		SELECT hipq.grant_queue('app.main', 'controller', 'control')});
	like($hipq->error_of(q{SET SESSION AUTHORIZATION stranger; SELECT hipq.resume('app.main',
			'by lock')}), qr/ERROR/, 'a role without privileges cannot resume a held type');
	crashes();
	$hipq->node->psql('postgres', q{SELECT hipq.resume('app.main', 'by lock')},
		extra_params => [ '-U', 'controller' ]);
	ok($hipq->wait_until(q{SELECT max(cardinality(crash_times)) FROM hipq.job_type
			WHERE name = 'by lock'}, 3), 'a role with control can resume a held type');
	ok($hipq->wait_until(q{SELECT count(*) FROM hipq.pauses_detail WHERE job_type = 'by lock' AND
			crashes = 3}, 1), 'a resumed type is held again at once when it crashes the server');
	is(crashes(), 1, 'a resumed type caused one more crash');
	$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'by lock', handler => 'fine')});
	ok($hipq->wait_until(q{SELECT count(*) = 0 FROM hipq.jobs_detail WHERE job_type = 'by lock'
			AND state <> 'final'}), 'a new handler ends the hold');
	is($hipq->sql(q{SELECT is_paused, crashes FROM hipq.job_types_detail
			WHERE job_type = 'by lock'}), 'f|0', 'a new handler resets the count of crashes');
	is(crashes(), 0, 'jobs with a new handler cause no crash');
}

# ---- a new handler does not end the pause of an operator
{
	$hipq->sql(q{SELECT hipq.pause('app.main', 'fine', reason => 'mine');
		SELECT hipq.alter_job_type('app.main', 'fine', handler => 'fine')});
	is($hipq->sql(q{SELECT reason FROM hipq.pauses WHERE job_type = 'fine'}), 'mine',
		"a new handler does not end an operator's pause");
	$hipq->sql(q{SELECT hipq.resume('app.main', 'fine')});
}

# ---- a crashing retry handler
{
	let_loose('asks', 5, '{}');
	ok($hipq->wait_until(held('asks'), 1), 'the type of a crashing retry handler is held');
	ok($hipq->wait_until(q{SELECT count(*) = 0 FROM hipq.jobs_detail WHERE job_type = 'asks' AND
			state = 'error'}), 'the policy decides instead of a crashing retry handler');
	is($hipq->outcome_of('fine'), 'succeeded', 'other jobs run beside a crashing retry handler');
	is(crashes(), 2, 'a crashing retry handler caused two crashes');
}

# ---- a crashing handler of dead letters
{
	$hipq->outcome_of('fails', q{queue => 'app.other'});
	$hipq->sql(q{SELECT count(hipq.enqueue('fails', queue => 'app.other'))
		FROM generate_series(1, 3)});
	ok($hipq->wait_until(q{SELECT count(*) = 0 FROM hipq.jobs_detail WHERE job_type = 'fails'
			AND state <> 'final'}), 'three jobs fail before the handler of dead letters is set');
	crashes();
	$hipq->try_sql(q{SELECT hipq.alter_queue('app.other', dead_letter_handler => 'bury')});
	$hipq->try_sql(q{SELECT hipq.enqueue('fails', queue => 'app.other')}) foreach 1 .. 3;
	ok($hipq->wait_until(q{SELECT count(*)
			FROM hipq.alerts WHERE alert = 'crashing dead letter handler' AND times = 2}, 1),
		'a crashing handler of dead letters is held');
	is($hipq->outcome_of('other', q{queue => 'app.other'}), 'succeeded',
		'jobs run beside a crashing handler of dead letters');
	is(crashes(), 2, 'a crashing handler of dead letters caused two crashes');
	$hipq->sql(q{CREATE ROLE undertaker LOGIN; CREATE FUNCTION bury_well(job hipq.job) RETURNS void
		LANGUAGE sql AS 'SELECT'});
	$hipq->create_queue('undertaker.main', owner => 'undertaker',
		dead_letter_handler => 'bury_well');
	$hipq->sql(q{SELECT hipq.register_job_type('undertaker.main', 'fails', handler => 'fail')});
	$hipq->outcome_of('fails', q{queue => 'undertaker.main'});
	ok($hipq->wait_until(q{SELECT count(*) FROM hipq.dead_letters WHERE queue = 'undertaker.main'
			AND state = 'handled'}, 1), 'the handler of dead letters of another owner runs');
	like($hipq->error_of(q{SELECT hipq.resume('app.other')}, extra_params => [ '-U',
			'undertaker' ]), qr/42704/, 'another owner cannot resume the handler of dead letters');
	$hipq->sql(q{CREATE OR REPLACE FUNCTION bury(job hipq.job) RETURNS void
		LANGUAGE sql AS 'SELECT'; SELECT hipq.resume('app.other')});
	is($hipq->sql(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'crashing dead letter handler'}),
		0, 'resume() ends the hold of a handler of dead letters');
	ok($hipq->wait_until(q{SELECT count(handled_time) > 0 AND NOT bool_or(awaits_handler)
			FROM hipq.dead_letter JOIN hipq.queue USING (queue_id) WHERE table_name = 'app_other'}),
		'the new handler is called for all dead letters');
	$hipq->sql(q{SELECT hipq.alter_queue('app.other', dead_letter_handler => 'NONE')});
}

# ---- a session that locks the row of the type does not block others
{
	$hipq->sql(q{SELECT hipq.register_job_type('app.main', 'guarded', handler => 'crash',
		claim => 'record', max_retries => 5)});
	crashes();
	$hipq->sql(q{ALTER SYSTEM SET max_prepared_transactions = 2});
	$hipq->node->restart;
	crashes();
	$hipq->sql(q{BEGIN; SELECT FROM hipq.job_type WHERE name = 'guarded' FOR UPDATE;
		PREPARE TRANSACTION 'row'});
	my $before = -s $hipq->node->logfile;
	$hipq->try_sql(q{SELECT hipq.enqueue('guarded', '{"how": "abort"}')});
	$hipq->node->wait_for_log(qr/all server processes terminated; reinitializing/, $before);
	ok($hipq->wait_until('SELECT true'),
		'the server accepts connections after a crash with a locked row');
	is($hipq->outcome_of('other', q{queue => 'app.other'}, 30), 'succeeded',
		'other jobs run while the row of a crashing type is locked');
	$hipq->sql(q{ROLLBACK PREPARED 'row'});
	ok($hipq->wait_until(q{SELECT crashes = 1 OR crashes = 2 FROM hipq.job_types_detail
			WHERE job_type = 'guarded'}),
		'a crash is counted for its type when the row of the type is unlocked');
	ok($hipq->wait_until(q{SELECT outcome FROM hipq.jobs WHERE job_type = 'guarded'}, 'failed'),
		'a job whose type was locked is given up after another crash');
}

# ---- suspects start after an increasing delay
{
	$hipq->set('hipq.max_type_crashes' => 0, 'hipq.max_crashes' => 3, 'hipq.suspect_pause' => '2s');
	$hipq->sql(q{SELECT hipq.register_job_type('app.main', 'paces', handler => 'crash',
		claim => 'record', max_retries => 5)});
	$hipq->try_sql(q{SELECT hipq.enqueue('paces', '{"how": "abort"}')});
	ok($hipq->wait_until(q{SELECT count(*) FROM hipq.attempts WHERE job_type = 'paces'
			AND reason = 'crashed'}, 1), 'a job crashes the server before it is delayed');
	my ($id) = $hipq->sql(q{SELECT id FROM hipq.jobs WHERE job_type = 'paces'});
	like($hipq->why($id),
		qr/^crash: It may have crashed the server: such jobs pause after a crash, for (1 min|\d+ s) more\./,
		'why() reports the delay of a suspect');
	is($hipq->outcome_of('other', q{queue => 'app.other'}), 'succeeded',
		'other jobs run during the delay of a suspect');
	is($hipq->sql("SELECT attempt FROM hipq.jobs WHERE id = $id"), 1,
		'a suspect waits during its delay');
}

done_testing();
