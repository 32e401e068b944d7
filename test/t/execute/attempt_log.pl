# hipq stores the messages of a handler with the attempt, within hipq.attempt_log_size and
# hipq.attempt_log_rate. The messages in the server log do not change, and their context names the
# job.
use strict;
use warnings;
use HipqCluster;
use HipqProgram;
use JSON::PP qw(decode_json);
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('attempt_log', 'hipq.attempt_log_size' => 1000,
	'hipq.retry_jitter' => 0);
my $node = $hipq->node;
$hipq->create_queue('app.main');
$hipq->create_queue('app.other');
$hipq->sql(q{
	CREATE ROLE reader LOGIN;
	SELECT hipq.grant_queue('app.main', 'reader', 'read');
	CREATE FUNCTION speak(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		RAISE DEBUG 'not for users';
		FOR number IN 1 .. coalesce((data->>'times')::integer, 1) LOOP
			RAISE NOTICE 'order % is packed', number USING DETAIL = 'three parcels',
				HINT = 'nothing to do';
		END LOOP;
		RAISE WARNING 'stock is low' USING ERRCODE = '01H01';
		BEGIN
			PERFORM 1 / 0;
		EXCEPTION WHEN division_by_zero THEN
			RAISE INFO 'it goes on';
		END;
		IF data->>'fails' IS NOT NULL THEN RAISE EXCEPTION 'no stamps' USING DETAIL = 'all used up';
			END IF;
	END $$;
	CREATE FUNCTION mute(data jsonb) RETURNS void LANGUAGE plpgsql SET hipq.attempt_log = off AS $$
		BEGIN RAISE WARNING 'a secret'; END $$;
	CREATE FUNCTION speak_of_all(ids bigint[], data jsonb[]) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN RAISE WARNING '% jobs', cardinality(ids); END $$;
	CREATE PROCEDURE proceed(data jsonb) LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'before'; COMMIT;
		RAISE NOTICE 'after'; END $$;
	SELECT hipq.register_job_type('app.main', 'speak', handler => 'speak', max_retries => 1,
		retry_base => '0.01 s');
	SELECT hipq.register_job_type('app.main', 'recorded', handler => 'speak', claim => 'record');
	SELECT hipq.register_job_type('app.main', 'mute', handler => 'mute');
	SELECT hipq.register_job_type('app.main', 'batch', handler => 'speak_of_all', batch_size => 10);
	SELECT hipq.register_job_type('app.main', 'proceed', handler => 'proceed');
	SELECT hipq.register_job_type('app.other', 'speak', handler => 'speak')});

sub said
{
	my ($id) = @_;
	return $hipq->sql("SELECT string_agg(concat_ws(' ', attempt, level, sqlstate, message), '; '
		ORDER BY logged_time) FROM hipq.attempt_logs_detail WHERE job_id = $id");
}

sub run
{
	my ($type, $data) = @_;
	my $id = $hipq->enqueue($type, "'$data', queue => 'app.main'");
	ok($hipq->wait_until("SELECT state FROM hipq.jobs_detail WHERE id = $id", 'final'),
		"$type $data runs");
	return $id;
}

# Changes settings and ends all executors, because a running one may read them only after its next
# job.
sub change
{
	$hipq->set(@_);
	$hipq->sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE backend_type = 'hipq executor'});
	$hipq->wait_until(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'hipq executor'},
		0) or die 'executors stay';
	return;
}

# ---- the messages that hipq stores
my $offset = -s $node->logfile;
my $id = run('speak', '{}');
my $all = '1 NOTICE 00000 order 1 is packed; 1 WARNING 01H01 stock is low; 1 INFO 00000 it goes on';
is(said($id), $all, 'the messages of a handler are stored in their order');
is($hipq->sql("SELECT concat_ws('|',
		queue, detail, hint) || (context LIKE 'PL/pgSQL function speak(jsonb) line % at RAISE%') ||
		(logged_time BETWEEN now() - interval '1 min' AND now())
	FROM hipq.attempt_logs_detail WHERE job_id = $id AND level = 'NOTICE'"),
		'app.main|three parcels|nothing to dotruetrue',
		'a message has its queue, detail, hint, context and time');
is(said(run('recorded', '{}')), $all, 'the messages of a job that is claimed by record are stored');
is(said(run('proceed', '{}')), '1 NOTICE 00000 before; 1 NOTICE 00000 after',
	'the messages of a procedure are stored, before and after its COMMIT');

$id = run('speak', '{"fails": true}');
is(said($id), join('; ', map { "$_ NOTICE 00000 order 1 is packed; $_ WARNING 01H01 stock is low; "
			. "$_ INFO 00000 it goes on; $_ ERROR P0001 no stamps" } 1, 2),
	'the messages and the error of each attempt are shown');
is($hipq->sql("SELECT count(*) FROM hipq.attempt_log WHERE job_id = $id AND level = 'ERROR'"), 0,
	'errors are not stored twice');

my @ids = split /,/, $hipq->sql(
	q{SELECT array_to_string(hipq.enqueue_many('batch', '{1,2,3}', queue => 'app.main'), ',')});
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.jobs_detail WHERE job_type = 'batch'
		AND state = 'final'}, 3), 'the three jobs of a batch run');
is($hipq->sql(qq{SELECT string_agg(message, ' ') FROM hipq.attempt_logs WHERE job_id = $ids[0]}),
	'3 jobs', 'the messages of a batch are stored with its first job');

$hipq->sql(q{
	CREATE FUNCTION nap(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		IF job.attempt = 1 THEN PERFORM hipq.snooze('0.01 s'); END IF; END $$;
	SELECT hipq.register_job_type('app.main', 'nap', handler => 'nap'),
		hipq.alter_queue('app.main', history => 'all')});
$id = run('nap', '{}');
is($hipq->attempts($id), '1 snoozed, 2 succeeded', 'a job snoozes and then succeeds');
is(said($id), '', 'a snooze is not shown as an error');

# ---- the server's log
my $log = slurp_file($node->logfile, $offset);
unlike($log, qr/order 1 is packed|it goes on|not for users/,
	'the server log has no messages that log_min_messages leaves out');
like($log,
	qr/WARNING:  stock is low\n.*CONTEXT:  PL\/pgSQL function speak\(jsonb\) line \d+ at RAISE\n.*hipq job \d+ of type "speak", attempt 1$/m,
	'the context of a message in the server log names its job');
like($log, qr/hipq job $ids[0] and 2 more of type "batch"/,
	"the context of a batch's message in the server log names the first job");
$hipq->sql(q{SELECT hipq.enqueue('speak', queue => 'app.main',
	traceparent => '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01')});
ok($node->wait_for_log(
		qr/hipq job \d+ of type "speak", attempt 1, traceparent 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01/,
		$offset), "the context of a message in the server log has the job's trace");
change('log_min_messages' => 'notice');
$offset = -s $node->logfile;
run('speak', '{}');
ok($node->wait_for_log(qr/NOTICE:  order 1 is packed/, $offset),
	'the server log has notices with log_min_messages = notice');
change('log_min_messages' => 'error');
$offset = -s $node->logfile;
is(said(run('speak', '{}')), $all,
	'a server that logs only errors stores notices and warnings of attempts');
unlike(slurp_file($node->logfile, $offset), qr/stock is low/,
	'a server that logs only errors logs no warning');
change('log_min_messages' => 'warning');

# ---- bounds
$id = run('speak', '{"times": 500}');
my $kept = $hipq->sql("SELECT count(*) FROM hipq.attempt_log WHERE job_id = $id");
cmp_ok($kept, '<', 100, 'hipq.attempt_log_size limits the messages that are stored');
is($hipq->sql("SELECT sum(octet_length(concat(message, detail, hint, context)))
		FROM hipq.attempt_log WHERE job_id = $id AND level <> 'LOG'"), 1000,
	'hipq.attempt_log_size is in bytes');
is($hipq->sql("SELECT message FROM hipq.attempt_log WHERE job_id = $id AND level = 'LOG'"),
	(502 - $kept + 1) . ' more messages were not kept',
	'the last message says how many messages were not stored');
change('hipq.attempt_log_size' => '1MB');
change('hipq.attempt_log_rate' => 5);
$id = run('speak', '{"times": 500}');
cmp_ok($hipq->sql("SELECT count(*) FROM hipq.attempt_log WHERE job_id = $id"), '<=', 6 * 5,
	'hipq.attempt_log_rate limits how fast messages are stored');
change('hipq.attempt_log_rate' => 1);
my $ids = $hipq->sql(
	q{SELECT hipq.enqueue_many('speak', array_fill('{}'::jsonb, ARRAY[20]), queue => 'app.main')});
ok($hipq->wait_until("SELECT count(*) FROM hipq.jobs_detail WHERE id = ANY ('$ids')
		AND state = 'final'", 20), 'twenty jobs run');
cmp_ok($hipq->sql("SELECT count(*) FROM hipq.attempt_log
		WHERE job_id = ANY ('$ids') AND message = '3 more messages were not kept'"), '>', 0,
	'an attempt without a stored message has the number of its messages');
is(said(run('mute', '{}')), '',
	'no message of a handler that sets hipq.attempt_log = off is stored');
change('hipq.attempt_log_size' => 0);
is(said(run('speak', '{}')), '', 'no message is stored with hipq.attempt_log_size = 0');
change('hipq.attempt_log_size' => 1000);
change('hipq.attempt_log_rate' => 100);

# ---- attempt_log of job types
$hipq->sql(q{
	CREATE FUNCTION heard(data jsonb) RETURNS text LANGUAGE plpgsql SET hipq.attempt_log = on AS $$
		BEGIN RAISE NOTICE 'heard'; RETURN current_setting('hipq.attempt_log'); END $$;
	CREATE FUNCTION sets(data jsonb) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE before text := current_setting('hipq.attempt_log');
	BEGIN
		SET LOCAL hipq.attempt_log = on; RAISE NOTICE 'on'; SET LOCAL hipq.attempt_log = off;
			RAISE NOTICE 'off';
		RETURN before;
	END $$;
	CREATE FUNCTION stays(data jsonb) RETURNS text LANGUAGE sql AS $$
		SELECT set_config('hipq.attempt_log', 'on', false) $$;
	SELECT hipq.register_job_type('app.main', 'quiet', handler => 'speak', attempt_log => false),
	       hipq.register_job_type('app.main', 'heard', handler => 'heard', attempt_log => false),
	       hipq.register_job_type('app.main', 'sets', handler => 'sets', attempt_log => false),
	       hipq.register_job_type('app.main', 'stays', handler => 'stays', attempt_log => false),
	       hipq.register_job_type('app.main', 'loud', handler => 'speak', attempt_log => true),
	       hipq.register_job_type('app.main', 'loud and mute', handler => 'mute',
	       	attempt_log => true),
	       hipq.register_job_type('app.main', 'quiet steps', handler => 'proceed',
	       	attempt_log => false)});
is(said(run('quiet', '{}')), '', 'no message of a type with attempt_log => false is stored');
is(said(run('quiet steps', '{}')), '',
	'no message of a procedure of a type with attempt_log => false is stored');
$id = run('quiet', '{"fails": true}');
is(said($id), '1 ERROR P0001 no stamps', 'the error of a type with attempt_log => false is shown');
is(said(run('speak', '{}')), $all, 'messages of another type are stored in the same executor');
$id = run('heard', '{}');
is(said($id) . $hipq->result($id), '1 NOTICE 00000 heard"on"',
	'the messages of a function that sets hipq.attempt_log = on are stored');
$id = run('sets', '{}');
is(said($id) . $hipq->result($id), '1 NOTICE 00000 on"off"',
	"a handler's SET LOCAL hipq.attempt_log applies until the next one");
run('stays', '{}');
is(said(run('quiet', '{}')), '',
	"a handler's setting of hipq.attempt_log does not apply to the next job");
is(said(run('speak', '{}')), $all,
	'the attempt_log of one type does not apply to a job of another type');
$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'quiet', reset => '{attempt_log}')});
is(said(run('quiet', '{}')), $all,
	"a type whose attempt_log was reset follows the server's setting");
$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'quiet', attempt_log => false)});
change('hipq.attempt_log' => 'off');
is(said(run('speak', '{}')), '', 'no message is stored with hipq.attempt_log = off');
is(said(run('loud', '{}')), $all,
	'messages of a type with attempt_log => true are stored with hipq.attempt_log = off');
is(said(run('loud and mute', '{}')), '',
	'no message of a function with hipq.attempt_log = off is stored, whatever its type says');
is($hipq->sql(q{SELECT string_agg(job_type || ' ' || attempt_log, ', ' ORDER BY job_type) FROM
		hipq.job_types_detail WHERE job_type IN ('quiet', 'loud', 'speak') AND queue = 'app.main'}),
	'loud true, quiet false, speak false', 'view job_types shows the attempt_log that applies');
change('hipq.attempt_log' => 'on');
$hipq->sql(q{SELECT hipq.register_job_type('app.main', 'quiet', handler => 'speak',
	or_replace => true)});
is($hipq->sql(q{SELECT count(*) FROM hipq.job_type WHERE name = 'quiet' AND attempt_log IS NULL}),
	1, 'a replaced type has only the values of the last call');
is($hipq->sql(q{BEGIN; SET LOCAL hipq.allow_foreign_handlers = on; SELECT hipq.enqueue('heard',
		queue => 'app.main') AS first, hipq.enqueue('quiet', queue => 'app.main') \gset
	SELECT hipq.alter_job_type('app.main', 'quiet', attempt_log => false);
		SELECT hipq.run_until_idle('app.main');
	SELECT string_agg(message, ' ') FROM hipq.attempt_logs WHERE job_id >= :first;
		SHOW hipq.attempt_log; ROLLBACK}) =~ s/^\n//r, "2\nheard\non",
		'run_until_idle() follows the attempt_log of types');

# ---- triggers that are deferred to the end of the handler
$hipq->sql(q{
	CREATE TABLE put_off (said text);
	CREATE FUNCTION say_later() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		RAISE WARNING 'later: %', NEW.said;
		IF NEW.said = 'no' THEN RAISE EXCEPTION 'not at all'; END IF;
		RETURN NEW;
	END $$;
	CREATE CONSTRAINT TRIGGER say_later AFTER INSERT ON put_off DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION say_later();
	CREATE FUNCTION put_off(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO put_off VALUES (data->>'say'); RAISE NOTICE 'now'; END $$;
	GRANT ALL ON put_off TO PUBLIC;
	SELECT hipq.register_job_type('app.main', 'put off', handler => 'put_off', max_retries => 0),
	       hipq.register_job_type('app.main', 'put off quietly', handler => 'put_off',
	       	attempt_log => false)});
is(said(run('put off', '{"say": "yes"}')), '1 NOTICE 00000 now; 1 WARNING 01000 later: yes',
	'messages of deferred triggers are stored');
is(said(run('put off', '{"say": "no"}')),
	'1 NOTICE 00000 now; 1 WARNING 01000 later: no; 1 ERROR P0001 not at all',
	'messages of a deferred trigger that fails are stored');
is(said(run('put off quietly', '{"say": "yes"}')), '',
	'messages of deferred triggers are not stored with attempt_log => false');

# ---- the trace of attempts
my $trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
$id = $hipq->enqueue('speak', qq{'{"fails": true}', queue => 'app.main', traceparent => '$trace'});
ok($hipq->wait_until("SELECT state FROM hipq.jobs_detail WHERE id = $id", 'final'),
	'a job that belongs to a trace fails');
is($hipq->sql("SELECT DISTINCT traceparent FROM hipq.attempts_detail WHERE job_id = $id"), $trace,
	'the attempts of a job have its trace');

# ---- rights, moved jobs and erased jobs
$id = run('speak', '{}');
is($hipq->sql_as('reader', "SELECT count(*) FROM hipq.attempt_logs_detail WHERE job_id = $id"), 3,
	'a role that can read the queue reads its messages');
$hipq->sql(q{SELECT hipq.revoke_queue('app.main', 'reader', 'read'),
	hipq.grant_queue('app.other', 'reader', 'read')});
is($hipq->sql_as('reader', 'SELECT count(*) FROM hipq.attempt_logs'), 0,
	'a role that cannot read the queue reads no messages');
$hipq->sql("SELECT hipq.erase($id)");
is($hipq->sql("SELECT count(*) FROM hipq.attempt_log WHERE job_id = $id"), 0,
	'the messages of an erased job are deleted');
$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'speak', retry_base => '1 h')});
$id = $hipq->enqueue('speak', q{'{"fails": true}', queue => 'app.main'});
ok($hipq->wait_until("SELECT state FROM hipq.jobs_detail WHERE id = $id", 'retry'),
	'a job waits for its retry');
$hipq->sql(q{SELECT hipq.move_jobs('app.main', 'app.other', 'speak')});
is($hipq->sql("SELECT string_agg(DISTINCT queue, ' ') FROM hipq.attempt_logs_detail
		WHERE job_id = $id"), 'app.other', "the messages of a job move to the job's new queue");

# ---- a server that logs JSON
my $json = HipqCluster->new('json_log', logging_collector => 'on', log_destination => 'jsonlog',
	log_directory => 'log', log_filename => 'lines');
$json->create_queue('app.main');
$json->sql(q{
	CREATE FUNCTION speak(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		RAISE WARNING 'stock is low' USING HINT = 'Order more.'; END $$;
	SELECT hipq.register_job_type('app.main', 'speak', handler => 'speak')});
$id = $json->enqueue('speak', q{queue => 'app.main'});
is($json->outcome($id), 'succeeded', 'a job runs on a server that logs JSON');
# The logging collector writes its file with a short delay.
my $line;
HipqProgram->wait_for(sub { ($line) = map { decode_json($_) } slurp_file($json->node->data_dir
		. '/log/lines.json') =~ /^(.*"message":"stock is low".*)\n/m });
is(join('|', @{$line}{qw(error_severity hint)}), 'WARNING|Order more.',
	'the lines of the log are JSON');
like($line->{context}, qr/\nhipq job $id of type "speak", attempt 1$/,
	'a line of the JSON log has the job in its context');

done_testing();
