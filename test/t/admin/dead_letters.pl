# A queue's handler of dead letters runs once for each dead letter, as the queue owner, and records
# its failures. dead_letter_max holds when many jobs fail.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('dead_letters', 'hipq.executor_idle_timeout' => '1h',
	'hipq.max_executors' => 2);
$hipq->create_queue('app.main');
my $node = $hipq->node;
$hipq->sql(q{
	CREATE SEQUENCE passed; CREATE TABLE broken (); GRANT ALL ON passed, broken TO app;
	CREATE TABLE told (job_id bigint, who text, reason text, error text, attempt int);
		GRANT ALL ON told TO app;
	GRANT CREATE ON SCHEMA public TO app;
	CREATE FUNCTION work(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		RAISE '%', data->>'error'; END $$;
	CREATE FUNCTION tell(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO told VALUES (job.id, current_user, job.retry_reason, job.error, job.attempt);
		IF job.job_data ? 'again' THEN PERFORM hipq.handle_again(job.id); END IF;
		IF EXISTS (SELECT FROM broken) THEN RAISE 'broken'; END IF;
		IF nextval('passed') <= (job.job_data->>'passes')::integer THEN
			RAISE 'later' USING ERRCODE = job.job_data->>'code'; END IF;
		IF job.job_data ? 'redrive' THEN PERFORM hipq.redrive(job.id); END IF;
		IF job.job_data ? 'wait' THEN PERFORM pg_advisory_xact_lock(1); END IF;
		IF job.job_data ? 'sleep' THEN PERFORM pg_sleep(60); END IF;
		IF job.job_data ? 'fail' THEN RAISE 'cannot tell: %', job.job_data->>'fail'; END IF;
	END $$;
	SELECT hipq.register_job_type('app.main', 'work', handler => 'work', max_retries => 1,
		retry_base => '0')});

sub letter
{
	my ($id) = @_;
	return $hipq->sql("SELECT concat_ws(' ', state, handler_error) FROM hipq.dead_letters_detail
		WHERE job_id = $id");
}
sub told { my ($id) = @_; return $hipq->sql("SELECT count(*) FROM told WHERE job_id = $id"); }
sub fails { my ($data) = @_; return $hipq->enqueue('work', "'$data', queue => 'app.main'"); }
sub is_left_alone
{
	my ($id) = @_;
	return $hipq->wait_until("SELECT NOT awaits_handler FROM hipq.dead_letter WHERE job_id = $id");
}

# ---- without a handler
my $early = fails('{"error": "early"}');
is($hipq->outcome($early), 'failed', 'a job fails for good');
is(letter($early), 'waiting', 'without a handler a dead letter waits');
$hipq->sql("SELECT hipq.alter_queue('app.main', dead_letter_handler => 'tell')");

# ---- success
my $id = fails('{"error": "no"}');
ok($hipq->wait_until("SELECT state = 'handled' FROM hipq.dead_letters WHERE job_id = $id"),
	'a dead letter is handled');
is($hipq->sql("SELECT concat_ws('|', who, reason, error, attempt) FROM told WHERE job_id = $id"),
	'app|transient_error|no|2',
	'the handler of dead letters runs as the queue owner, and gets the failed job');
is(letter($id), 'handled', 'a handled dead letter has no error');
ok($hipq->wait_until("SELECT state = 'handled' FROM hipq.dead_letters WHERE job_id = $early"),
	'a dead letter that is older than the handler is handled');
is(told($early), 1, 'a dead letter that is older than the handler is handled once');
is($hipq->sql("SELECT queue || ' ' || kept || ' ' || depth FROM hipq.dead_letter_stats"),
	'app.main 2 0', 'statistics show no waiting dead letter');

# ---- errors
$id = fails('{"error": "no", "fail": "nobody is there"}');
ok(is_left_alone($id), 'a handler that fails is not called again');
is(letter($id), 'waiting cannot tell: nobody is there',
	'a dead letter whose handler failed waits with the error');
is(told($id), 0, 'the effects of a handler that failed are rolled back');
ok($hipq->wait_until('SELECT handler_failures FROM hipq.dead_letter_stats', 1),
	'statistics count a failed handler');
is($hipq->sql('SELECT count(*) FROM hipq.dead_letters'), 3,
	'a failed handler makes no dead letter');
is($hipq->sql("SELECT handler_starts FROM hipq.dead_letter WHERE job_id = $id"), 1,
	'a failed handler is called once');
$hipq->create_queue('app.many');
$hipq->sql(q{
	CREATE SEQUENCE calls; GRANT ALL ON calls TO app;
	CREATE FUNCTION refuse(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		PERFORM nextval('calls'); RAISE 'no'; END $$;
	SELECT hipq.register_job_type('app.many', 'work', handler => 'work', max_retries => 0),
		hipq.alter_queue('app.many', dead_letter_handler => 'refuse');
	SELECT hipq.enqueue_many('work', array_fill('{}'::jsonb, '{300}'), queue => 'app.many')});
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.dead_letters_detail WHERE queue = 'app.many'
		AND handler_error = 'no'}, 300), '300 handlers fail');
is($hipq->sql('SELECT last_value FROM calls'), 300, 'each of 300 failing handlers is called once');
is($hipq->sql('SELECT max(handler_starts) FROM hipq.dead_letter'), 1,
	'each of 300 failing handlers is started once');
unlike(slurp_file($node->logfile), qr/WARNING.*lock/,
	'the executor holds the lock on the queue until it has recorded the failure');
$hipq->sql("SELECT hipq.drop_queue('app.many', force => true)");
$id = $hipq->enqueue('work', q{'{"error": "no", "sleep": 1}', queue => 'app.main', timeout => 1});
ok(is_left_alone($id), 'a handler that takes too long is not called again');
is(letter($id), q{waiting handler exceeded the job's timeout},
	"a handler that takes too long is ended by the job's timeout");

# ---- a transient error
foreach my $code ('08006', '40001', '57P03')
{
	$hipq->sql("SELECT setval('passed', 1, false)");
	$id = fails(qq({"error": "no", "passes": 1, "code": "$code"}));
	ok($hipq->wait_until("SELECT state FROM hipq.dead_letters WHERE job_id = $id", 'handled'),
		"a handler that met $code is called again");
	is(told($id), 1, "$code: the handler's effects are there once");
	is($hipq->sql("SELECT (handler_starts, handler_retries, handler_error, handler_retry_time)::text
			FROM hipq.dead_letter WHERE job_id = $id"), '(2,1,,)',
		"$code: the handler's success clears its error");
}
$hipq->sql("SELECT setval('passed', 1, false)");
$id = fails('{"error": "no", "passes": 1000, "code": "40P01"}');
ok($hipq->wait_until("SELECT handler_retries >= 1 FROM hipq.dead_letter WHERE job_id = $id"),
	'a handler with an error that stays transient is called again');
like(letter($id), qr/^waiting(?: later)?$/,
	'a dead letter whose handler meets transient errors waits');
$hipq->sql("UPDATE hipq.dead_letter SET handler_retries = 10 WHERE job_id = $id");
ok($hipq->wait_until("SELECT (awaits_handler, handler_retries, handler_error,
		handler_retry_time)::text FROM hipq.dead_letter WHERE job_id = $id", '(f,10,later,)'),
	'hipq gives up a dead letter after ten retries of its handler');

# ---- handle_again() and handle_jobs_again()
$hipq->sql('INSERT INTO broken DEFAULT VALUES');
my @broken = map { fails('{"error": "no"}') } 1 .. 3;
ok(is_left_alone($_), 'a handler that is broken fails') foreach @broken;
is(letter($broken[0]), 'waiting broken', 'the dead letter of a broken handler waits');
$hipq->sql('DELETE FROM broken');
$hipq->sql("SELECT hipq.handle_again($broken[0])");
ok($hipq->wait_until("SELECT state FROM hipq.dead_letters WHERE job_id = $broken[0]", 'handled'),
	'handle_again() handles one dead letter');
is($hipq->sql("SELECT hipq.dismiss_dead_letter($id), hipq.handle_jobs_again('app.main', 'work')"),
	'|4', 'handle_jobs_again() counts all waiting dead letters');
ok($hipq->wait_until("SELECT count(*) FROM hipq.dead_letters WHERE job_id IN ($broken[1],
		$broken[2]) AND state = 'handled'", 2),
	'handle_jobs_again() handles all waiting dead letters');
is($hipq->sql("SELECT hipq.handle_jobs_again('app.main', before => (SELECT died_time
		FROM hipq.dead_letters WHERE job_id = $broken[1]), state => 'handled') > 0"), 't',
	'handle_jobs_again() takes handled dead letters, too');
ok($hipq->wait_until("SELECT count(*) FROM told WHERE job_id = $broken[0]", 2),
	'handle_jobs_again() calls the handler of a handled dead letter once more');
is(told($broken[1]), 1, 'handle_jobs_again() does not take dead letters later than "before"');
$id = fails('{"error": "no", "again": 1}');
ok(is_left_alone($id), 'a handler that calls handle_again() fails');
is(letter($id), 'waiting a handler of dead letters cannot have one called again',
	'handle_again() in a handler is refused with an error');

# ---- a handler redrives, and its job fails again
$id = fails('{"error": "again", "redrive": 1}');
ok($hipq->wait_until("SELECT count(*) FROM hipq.dead_letters_detail
		WHERE job ->> 'retry_of' = '$id'", 1), 'a redriven job fails again');
is(letter($id), 'redriven', 'the first dead letter is redriven');
my $again = $hipq->sql("SELECT redriven_as FROM hipq.dead_letters_detail WHERE job_id = $id");
is($hipq->sql("SELECT awaits_handler FROM hipq.dead_letter WHERE job_id = $again"), 'f',
	"a dead letter of a handler's redrive does not wait for the handler");
is(told($again), 0, 'the handler is not called for a dead letter of its own redrive');
my $new = $hipq->sql("SELECT hipq.redrive($again)");
ok($hipq->wait_until("SELECT state FROM hipq.dead_letters WHERE job_id = $new", 'redriven'),
	"a dead letter made by a user's redrive is handled");

# ---- handlers that make new jobs do not loop: they redrive other dead letters, redrive and purge
# their own, retry, enqueue, or move jobs to another queue
$hipq->create_queue('app.loop');
$hipq->create_queue('app.aside');
$hipq->sql(q{
	CREATE SEQUENCE rounds; GRANT ALL ON rounds TO app;
	CREATE FUNCTION go_round(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM pg_sleep(0.02);	-- other jobs fail in this time
		IF nextval('rounds') > 100 THEN RETURN; END IF;
		CASE job.job_data->>'by'
		WHEN 'redrive' THEN PERFORM hipq.redrive_jobs('app.loop');
		WHEN 'purge' THEN PERFORM hipq.redrive(job.id); PERFORM hipq.purge_dead_letter(job.id);
		WHEN 'retry' THEN PERFORM hipq.retry(job.id);
		WHEN 'enqueue' THEN PERFORM hipq.enqueue('work', job.job_data, queue => 'app.loop');
		WHEN 'many' THEN
			PERFORM hipq.enqueue_many('work', ARRAY[job.job_data], queue => 'app.loop');
		WHEN 'insert' THEN
			EXECUTE format('INSERT INTO hipq.app_loop (job_type, job_data) VALUES (''work'', %L)',
			job.job_data);
		WHEN 'move' THEN
			PERFORM hipq.enqueue('move', job.job_data, queue => 'app.loop');
			PERFORM hipq.move_jobs('app.loop', 'app.aside', 'move');
		END CASE;
	END $$;
	SELECT hipq.register_job_type(queue, type, handler => 'work', max_retries => 0)
		FROM unnest('{app.loop, app.aside}'::text[]) AS queue,
		unnest('{work, move}'::text[]) AS type;
	SELECT hipq.alter_queue(queue, dead_letter_handler => 'go_round')
		FROM unnest('{app.loop, app.aside}'::text[]) AS queue});
my $unfinished = q{SELECT count(*) FROM hipq.jobs_detail WHERE queue IN ('app.loop', 'app.aside')
	AND state <> 'final'};
my $awaiting = q{SELECT count(*) FROM hipq.dead_letter WHERE awaits_handler};
my $noted = 0;    # the scheduler may remove notes at any time
foreach my $by ('redrive', 'purge', 'retry', 'enqueue', 'many', 'insert', 'move')
{
	$hipq->sql("SELECT setval('rounds', 1, false)");
	$hipq->sql("SELECT hipq.enqueue('work', jsonb_build_object('error', 'no', 'by', '$by', 'n', n),
		queue => 'app.loop') FROM generate_series(1, 4) AS n");
	ok($hipq->wait_until("SELECT ($unfinished) + ($awaiting)", 0),
		"handlers that make jobs by $by come to an end");
	cmp_ok($hipq->sql('SELECT last_value FROM rounds'), '<=', 4,
		"handlers that make jobs by $by run only for the first dead letters");
	$noted += $hipq->sql('SELECT count(*) FROM hipq.made_by_handler');
	$hipq->sql("SELECT hipq.purge_dead_letters('app.loop'), hipq.purge_dead_letters('app.aside')");
}
cmp_ok($noted, '>', 0, 'jobs made by handlers are noted');
$hipq->set('hipq.clock_offset' => 120);
fails('{"error": "look"}');    # wakes the scheduler, whose next round is due
ok($hipq->wait_until('SELECT count(*) FROM hipq.made_by_handler', 0),
	'notes about jobs made by handlers are removed when these jobs have finished');
$hipq->sql("SELECT hipq.drop_queue('app.loop', force => true),
	hipq.drop_queue('app.aside', force => true)");

# ---- a handler that is missing for a time
my $log = -s $node->logfile;
$hipq->sql('ALTER FUNCTION tell(hipq.job) RENAME TO away');
$id = fails('{"error": "no"}');
ok($node->wait_for_log(qr/dead letters of queue "app.main" wait for their handler/, $log),
	'the log says that dead letters wait for a missing handler');
is(letter($id), 'waiting', 'a dead letter waits for its missing handler');
my @by_priority = map { $hipq->enqueue('work', qq{'{"error": "no"}', queue => 'app.main',
		priority => $_, max_retries => 0}) } 7, -7, 3, -7;
is($hipq->outcome($_), 'failed', 'a job of another priority fails while the handler is missing')
	foreach @by_priority;
$hipq->sql('ALTER FUNCTION away(hipq.job) RENAME TO tell');
ok($hipq->wait_until("SELECT state = 'handled' FROM hipq.dead_letters WHERE job_id = $id"),
	'a dead letter is handled when its handler is back');
ok($hipq->wait_until($awaiting, 0), 'all dead letters are handled when their handler is back');
my $ids = join ', ', @by_priority;
is($hipq->sql("SELECT string_agg(job->>'priority', ' ' ORDER BY handled_time) FROM hipq.dead_letter
		WHERE job_id IN ($ids)"), '-7 -7 3 7', 'dead letters are handled by priority');
is($hipq->sql("SELECT job_id FROM hipq.dead_letter WHERE job_id IN ($ids) ORDER BY handled_time
		LIMIT 1"), $by_priority[1], 'of one priority the older dead letter is handled first');


# ---- a paused queue: the scheduler checks it twice
$hipq->create_queue('app.other');
$hipq->sql("SELECT hipq.pause('app.main')");
$hipq->sql("INSERT INTO hipq.dead_letter (job_id, died_time, queue_id, job_type, job_key, reason,
	error, job, awaits_handler)
	SELECT -1, died_time, queue_id, job_type, job_key, reason, error, job || '{\"id\": -1}', true
		FROM hipq.dead_letter WHERE job_id = $id");
foreach my $type ('first', 'second')
{
	$hipq->enqueue($type, "queue => 'app.other'");
	ok($hipq->wait_until("SELECT count(*) FROM hipq.job_types WHERE job_type = '$type'", 1),
		"the scheduler checks all queues ($type)");
}
is($hipq->sql('SELECT handler_starts FROM hipq.dead_letter WHERE job_id = -1'), 0,
	'the handler of a paused queue is not called');
$hipq->sql("SELECT hipq.resume('app.main')");
ok($hipq->wait_until("SELECT state = 'handled' FROM hipq.dead_letters WHERE job_id = -1"),
	"a resumed queue's dead letter is handled");

# ---- a handler whose executor is terminated or whose server crashes
my $locker = $hipq->session;
$locker->query_safe('SELECT pg_advisory_lock(1)');
$id = fails('{"error": "no", "wait": 1}');
my $executor = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'advisory'
	AND backend_type LIKE 'hipq%'";
ok($hipq->wait_until("SELECT count(*) FROM ($executor) AS waiting", 1), 'a handler runs');
is($hipq->error_of("SELECT hipq.redrive($id)") =~ /(55P03: dead letter of job \d+ is in use)/
	? 'refused' : 'not refused', 'refused', 'redrive() does not wait for a running handler');
is($hipq->sql("SELECT hipq.dismiss_dead_letters('app.main', before => 'infinity') > 0,
		(SELECT state FROM hipq.dead_letters WHERE job_id = $id)"), 't|waiting',
	'dismiss_dead_letters() skips a dead letter whose handler runs');
$hipq->sql("SELECT pg_terminate_backend(pid) FROM ($executor) AS waiting");
ok($hipq->wait_until("SELECT handler_starts FROM hipq.dead_letter WHERE job_id = $id", 2),
	'a handler whose executor was terminated is called again');
ok($hipq->wait_until("SELECT count(*) FROM ($executor) AS waiting", 1),
	'another executor calls the handler of a terminated one');
my $pid = $hipq->sql($executor);
kill 'KILL', $pid;
ok($hipq->wait_until("SELECT count(*) FROM pg_stat_activity WHERE pid = $pid", 0),
	'a killed executor crashes the server');
eval { $locker->quit };
ok($hipq->wait_until("SELECT state = 'handled' FROM hipq.dead_letters WHERE job_id = $id"),
	'after a crash of the server the handler is called again');
is(told($id), 1, 'a handler that was terminated and crashed leaves its effects once');
is($hipq->sql("SELECT handler_starts FROM hipq.dead_letter WHERE job_id = $id"), 3,
	'a handler that was terminated and crashed was started three times');

# ---- a handler that always ends its process
$hipq->sql(q{CREATE OR REPLACE FUNCTION tell(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(60); END $$});
$id = fails('{"error": "no"}');
ok(is_left_alone($id), 'a handler that always ends its process is not called for ever');
is(letter($id), 'waiting executor or server ended while the handler ran, 3 times',
	'hipq gives up a dead letter after its handler has ended three processes');

# ---- dead_letter_max
$hipq->sql("SELECT hipq.alter_queue('app.main', dead_letter_handler => 'NONE',
	dead_letter_max => 50)");
$hipq->sql("SELECT hipq.enqueue_many('work', array_agg(jsonb_build_object('error', n) ORDER BY n),
	queue => 'app.main', max_retries => 0) FROM generate_series(1, 500) AS n");
ok($hipq->wait_until("SELECT count(*) FROM hipq.jobs_detail WHERE queue = 'app.main'
		AND state <> 'final'", 0), '500 jobs fail');
my $newest = q{SELECT string_agg(job_id::text, ' ' ORDER BY died_time, job_id)
	FROM (SELECT * FROM hipq.dead_letters ORDER BY died_time DESC, job_id DESC LIMIT 50) AS newest};
my $expected = $hipq->sql($newest);
$hipq->set('hipq.clock_offset' => 240);
fails('{"error": "last"}');    # wakes the scheduler, whose next round is due
ok($hipq->wait_until('SELECT count(*) <= 51 FROM hipq.dead_letters'),
	'dead_letter_max removes the oldest dead letters');
ok($hipq->sql("SELECT bool_and(job_id::text = ANY (string_to_array('$expected', ' ')))
		FROM hipq.dead_letters_detail WHERE error <> 'last'") eq 't',
	'dead_letter_max keeps the newest dead letters');
cmp_ok($hipq->sql('SELECT count(*) FROM hipq.dead_letters'), '>=', 50,
	'dead_letter_max keeps as many dead letters as it allows');

done_testing();
