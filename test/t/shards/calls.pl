# Calls by the id of a job work on every server: on the server that has the job, on the router, and
# on another shard. If a call cannot search every node, its error differs from the error for a job
# that does not exist.
use strict;
use warnings;
use HipqShards;
use Test::More;
use Time::HiRes qw(time usleep);

my $shards = HipqShards->new('calls', 2);
my ($router, $one, $two) = $shards->nodes;
my @nodes = ($router, $one, $two);
my @names = ('the router', 'shard 1', 'shard 2');
ok($shards->settled, 'the slots are settled');
$_->sql('CREATE EXTENSION dblink') foreach $one, $two;

# Handler hold waits for advisory lock 1 of its server, fail fails, and tell returns the job data.
$_->sql(q{CREATE FUNCTION hold(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN PERFORM pg_advisory_xact_lock_shared(1); INSERT INTO ran (id) VALUES (job.id); END $$;
	CREATE FUNCTION fail(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		RAISE 'no good' USING ERRCODE = 'HQ001'; END $$;
	CREATE FUNCTION tell(data jsonb) RETURNS jsonb LANGUAGE sql AS 'SELECT data'}) foreach @nodes;
$router->sql(q{SELECT hipq.register_job_type('app.mail', 'hold', handler => 'hold'),
	hipq.register_job_type('app.mail', 'fail', handler => 'fail'),
	hipq.register_job_type('app.mail', 'tell', handler => 'tell'),
	hipq.create_queue('app.whole', owner => 'app'),
		hipq.register_job_type('app.whole', 'run', handler => 'run')});
foreach my $shard ($one, $two)
{
	$shard->wait_until(q{SELECT count(*) FROM hipq.job_types_detail
		WHERE queue IN ('app.mail', 'app.whole')}, 5) or die;
}

# Returns the error of a call. The call is repeated if no node knew the job within 5 s, which
# happens on a busy machine.
sub refusal
{
	my ($node, $sql) = @_;
	my $error = '';
	foreach (1 .. 4)
	{
		$error = $node->error_of($sql);
		last unless HipqCluster::is_unknown($error);
	}
	return $error;
}

# Returns a tenant whose jobs are on the node.
sub tenant_of
{
	my ($node) = @_;
	return $router->sql("SELECT 't' || n FROM generate_series(1, 200) AS n, hipq.shard_map
		WHERE nodes[hipq.slot_of('t' || n) + 1] = $node LIMIT 1");
}
my @tenants = (undef, tenant_of(1), tenant_of(2));

# Returns a key whose jobs of the type are on shard 1.
sub key_for
{
	my ($type) = @_;
	return $router->sql("SELECT 'k' || n FROM generate_series(1, 200) AS n, hipq.shard_map
		WHERE nodes[hipq.slot_of('$type' || chr(31) || 'k' || n) + 1] = 1 LIMIT 1");
}

# Enqueues a job for shard 1 on the router, and waits until the job is there. Returns its id. With
# option now the job is due at once, and the function waits for this outcome.
sub enqueue
{
	my ($type, %options) = @_;
	my $later = $options{now} ? '' : q{, scheduled_run_time => now() + interval '1 day'};
	my $tenant = $options{tenant} // $tenants[1];
	my $key = defined $options{key} ? ", job_key => '$options{key}'" : '';
	my $id = ($options{on} // $router)->sql(
		qq{SELECT hipq.enqueue('$type', '{"tenant": "$tenant"}', queue => 'app.mail'$key$later)});
	return $id if $options{anywhere};
	$one->wait_until("SELECT outcome FROM hipq.jobs WHERE id = $id",
		$options{now} // 'waiting') or die;
	return $id;
}

# ---- each call, from the router, from another shard, and from the node that has the job
foreach my $place (0 .. 2)
{
	my ($node, $name) = ($nodes[$place], $names[$place]);
	my $id = enqueue('run');
	is($node->sql("SELECT id, queue, outcome, job_data ->> 'tenant' FROM hipq.find_job($id)"),
		"$id|app.mail|waiting|$tenants[1]", "find_job() on $name finds the job");
	is($node->sql("SELECT count(*) FROM hipq.find_job($id, queue => 'app.whole')"), 0,
		"find_job() on $name does not find the job in another queue");
	is($node->sql("SELECT outcome FROM hipq.wait_for($id, '0')"), 'waiting',
		"wait_for() on $name returns a waiting job");
	like($node->sql("SELECT string_agg(condition, ',') FROM hipq.why($id)"),
		$place == 1 ? qr/^exists,/ : qr/^node,exists,/,
		"why() on $name has the expected conditions");
	is($node->sql("SELECT explanation FROM hipq.why($id) WHERE condition = 'node'"),
		'The job is on shard 1 of instance "app".', "why() on $name names the node of the job")
		unless $place == 1;
	$node->sql("SELECT hipq.reschedule($id, '2030-01-01 00:00:00.123456+00', 7)");
	is($one->sql("SELECT scheduled_run_time = '2030-01-01 00:00:00.123456+00', priority
			FROM hipq.jobs_detail WHERE id = $id"), 't|7',
		"reschedule() on $name changes time and priority");
	is($node->sql("SELECT hipq.cancel($id, reason => 'it''s \\over')"), 't',
		"cancel() on $name cancels the job");
	is($one->sql("SELECT outcome, error FROM hipq.jobs_detail WHERE id = $id"),
		q{cancelled|cancelled: it's \over}, "cancel() on $name: the job's row has the reason");
	is($node->sql("SELECT hipq.cancel($id)"), 'f', "cancel() on $name: a job is cancelled once");
	like(refusal($node, "SELECT hipq.reschedule($id, now())"),
		qr/55000: cannot reschedule job $id in state "final".*DETAIL: .*HINT: .*hipq.retry/s,
		"reschedule() on $name: the error of the job's node has its DETAIL and HINT");
	like(refusal($node, "SELECT hipq.reschedule($id, now())"),
		qr/CONTEXT: .*(?:shard 1|the router) of instance "app"/s,
		"reschedule() on $name: the error names the other node") unless $place == 1;
	my $again = $node->sql(
		qq{SELECT hipq.retry($id, 'once more', '{"tenant": "$tenants[1]", "quote": "it''s"}')});
	is($node->sql("SELECT outcome FROM hipq.wait_for($again)"), 'succeeded',
		"retry() on $name: the new job runs");
	is($node->sql("SELECT manual_reason, retry_of, job_data ->> 'quote'
			FROM hipq.find_job($again)"), "once more|$id|it's",
		"retry() on $name: the new job has the arguments");
	is($node->sql("SELECT max_retries FROM hipq.find_job(" . $node->sql("SELECT hipq.retry($id,
			max_retries => 5)") . ')'), 5, "retry() on $name: the new job has other max_retries");
	is($node->sql("SELECT job_data FROM hipq.find_job(" . $node->sql("SELECT hipq.retry($id,
			job_data => 'null')") . ')'), 'null', "retry() on $name: the new job has JSON null");
	$id = enqueue('run');
	is($node->sql("SELECT hipq.fail_job($id, 'by hand')"), 'final',
		"fail_job() on $name ends the job");
	is($one->sql("SELECT outcome, error FROM hipq.jobs_detail WHERE id = $id"), 'failed|by hand',
		"fail_job() on $name: the job's row has the reason");
	my $verdict = "SELECT * FROM hipq.why_retriable($id)";
	like($node->sql($verdict), qr/^f\|\w+ .+/,
		"why_retriable() on $name says that the failed job is not retriable");
	is($node->sql("SELECT hipq.is_job_retriable($id)"), 'f',
		"is_job_retriable() on $name is false for the failed job");
	is($node->sql($verdict), $one->sql($verdict),
		"why_retriable() on $name is the same as on the job's node");
	is($node->sql("SELECT hipq.erase($id)"), 't', "erase() on $name erases the job");
	is($one->sql("SELECT count(*) FROM hipq.jobs WHERE id = $id"), 0,
		"erase() on $name: the job is removed");
	is($node->sql("SELECT hipq.erase($id)"), 'f', "erase() on $name: a job is erased once");
}

# ---- running and final jobs
my $lock = $one->hold_lock(1);
my $id = enqueue('hold', now => 'running');
is($two->sql("SELECT outcome FROM hipq.find_job($id)"), 'running',
	'find_job() on another shard shows a running job');
is($router->sql("SELECT hipq.extend_job($id, '1 hour') > now() + interval '59 minutes'"), 't',
	'extend_job() on the router extends a running job');
is($two->sql("SELECT hipq.extend_job($id, '2 hours') > now() + interval '119 minutes'"), 't',
	'extend_job() on another shard extends a running job');
is($router->sql("SELECT hipq.cancel($id)"), 't', 'cancel() on the router cancels a running job');
is($two->sql("SELECT outcome FROM hipq.wait_for($id)"), 'cancelled',
	'wait_for() on another shard returns when the job is cancelled');
$id = enqueue('hold', now => 'running');
my $waiting = $router->session;
$waiting->query_until(qr/waits/,
	"\\echo waits\nSELECT outcome FROM hipq.wait_for($id, '1 min');\n");
ok($one->wait_until(q{SELECT count(*) FROM pg_stat_activity
		WHERE query LIKE 'SELECT hipq._answer(%wait_for%' AND wait_event_type = 'Extension'}, 1),
	'wait_for() on the router waits on the shard');
my $started = time;
$lock->quit;
like($waiting->query('SELECT 1'), qr/succeeded/,
	'wait_for() on the router returns when the job ends');
$router->in_time(time - $started, 2, 'wait_for() on the router returns within 2 s');
$id = $router->sql(qq{SELECT hipq.enqueue('tell', '{"tenant": "$tenants[1]", "n": [1, null]}',
	queue => 'app.mail')});
is($two->sql("SELECT outcome, result, error FROM hipq.wait_for($id)"),
	qq{succeeded|{"n": [1, null], "tenant": "$tenants[1]"}|},
	'wait_for() on another shard returns the result');

# ---- calls directly after enqueueing, while the job is sent to its node
foreach my $try (1 .. 10)
{
	$id = $router->sql(qq{SELECT hipq.enqueue('run', '{"tenant": "$tenants[1]"}',
		queue => 'app.mail', scheduled_run_time => now() + interval '1 day')});
	is($router->sql("SELECT hipq.cancel($id)"), 't',
		"a job can be cancelled on the router directly after enqueueing: $try");
	$id = $two->sql(qq{SELECT hipq.enqueue('run', '{"tenant": "$tenants[1]"}', queue => 'app.mail',
		scheduled_run_time => now() + interval '1 day')});
	is($two->sql("SELECT hipq.cancel($id)"), 't',
		"a job for another shard can be cancelled on the shard that enqueued it: $try");
}
$id = $two->sql(q{SELECT hipq.enqueue('run', queue => 'app.whole',
	scheduled_run_time => now() + interval '1 day')});
is($two->sql("SELECT hipq.cancel($id)"), 't',
	'a job for the router can be cancelled on the shard that enqueued it');
$id = $two->sql(q{SELECT hipq.enqueue('run', queue => 'app.whole',
	scheduled_run_time => now() + interval '1 day')});
is($router->sql("SELECT hipq.cancel($id)"), 't',
	'a job for the router that a shard enqueued can be cancelled on the router');

# ---- a shard does not read: the error says so, and not that the job does not exist
my $subscription = $one->sql('SELECT subname FROM pg_subscription');
$one->sql("ALTER SUBSCRIPTION $subscription DISABLE");
$id = enqueue('run', anywhere => 1);
like($router->error_of("SELECT hipq.cancel($id)"),
	qr/HQ503: cannot find job $id.*DETAIL: .*Not all that was sent to shard 1 of instance "app" has been read.*HINT: .*hipq.shards/s,
	'the router says that a shard does not read');
like($two->error_of("SELECT hipq.cancel($id)"),
	qr/HQ503: cannot find job $id.*Not all that was sent to shard 1/s,
	'another shard says that a shard does not read');
like($router->sql("SELECT condition, passed, explanation FROM hipq.why($id)"),
	qr/^node\|f\|The job is not here.*Not all that was sent to shard 1/,
	'why() says that a shard does not read');
$one->sql("ALTER SUBSCRIPTION $subscription ENABLE");
ok($router->wait_until("SELECT hipq.cancel($id)"),
	'the job can be cancelled when its shard reads again');

# ---- ids of no job
my $unknown = $router->sql(qq{SELECT hipq.slot_of('$tenants[1]')::bigint + (1::bigint << 50)});
foreach my $place (0 .. 2)
{
	my ($node, $name) = ($nodes[$place], $names[$place]);
	foreach my $call ('cancel(%s)', 'retry(%s)', 'reschedule(%s, now())', q{wait_for(%s, '0')},
		q{fail_job(%s, 'no')}, q{extend_job(%s, '1 s')}, 'is_job_retriable(%s)',
		'why_retriable(%s)')
	{
		like(refusal($node, sprintf "SELECT hipq.$call", $unknown),
			qr/42704: job $unknown does not exist/, "$call on $name refuses an unknown id");
	}
	foreach my $call ('redrive', 'dismiss_dead_letter', 'handle_again', 'purge_dead_letter')
	{
		like(refusal($node, "SELECT hipq.$call($unknown)"),
			qr/42704: job $unknown has no dead letter/,
			"$call() on $name refuses an unknown id");
	}
	ok($node->wait_until("SELECT condition, passed FROM hipq.why($unknown)", 'exists|f'),
		"why() on $name says that the job does not exist");
	is($node->sql("SELECT count(*) FROM hipq.find_job($unknown)"), 0,
		"find_job() on $name finds no job with an unknown id");
	like(refusal($node, "SELECT hipq.cancel($_)"), qr/42704: job $_ does not exist/,
		"cancel() on $name refuses id $_") foreach 0, -1, 999_999, '9223372036854775807';
}

# ---- a job that its shard refuses
my $key = key_for('run');
enqueue('run', key => $key);
$id = enqueue('run', key => $key, anywhere => 1);
ok($router->wait_until("SELECT count(*) FROM hipq.shard_reject WHERE job_id = $id", 1),
	'of two jobs with one key the later one is a reject');
like(refusal($router, "SELECT hipq.cancel($id)"),
	qr/42704: job $id does not exist.*DETAIL: .*not taken by shard 1 of instance "app": an unfinished job has its key \(23505\).*HINT: .*shard_rejects/s,
	'cancel() says that the shard did not take the job');
like($router->sql("SELECT condition, passed, explanation FROM hipq.why($id)"),
	qr/^exists\|f\|It was not taken by shard 1/, 'why() says that the shard did not take the job');

# ---- dead letters
foreach my $place (0 .. 2)
{
	my ($node, $name) = ($nodes[$place], $names[$place]);
	my ($dead, $dismissed) = map { enqueue('fail', now => 'failed') } 1 .. 2;
	ok($one->wait_until("SELECT count(*) FROM hipq.dead_letters
			WHERE job_id IN ($dead, $dismissed)", 2), "$name: two jobs fail");
	my $again = $node->sql("SELECT hipq.redrive($dead)");
	ok($one->wait_until("SELECT outcome, retry_of FROM hipq.jobs_detail WHERE id = $again",
			"failed|$dead"), "redrive() on $name: the job runs again");
	like(refusal($node, "SELECT hipq.redrive($dead)"),
		qr/55000: cannot redrive dead letter of job $dead in state "redriven"/,
		"redrive() on $name: a dead letter is redriven once");
	$node->sql("SELECT hipq.dismiss_dead_letter($dismissed)");
	is($one->sql("SELECT state FROM hipq.dead_letters WHERE job_id = $dismissed"), 'dismissed',
		"dismiss_dead_letter() on $name dismisses the dead letter");
	$node->sql("SELECT hipq.purge_dead_letter($dismissed)");
	is($one->sql("SELECT count(*) FROM hipq.dead_letters WHERE job_id = $dismissed"), 0,
		"purge_dead_letter() on $name removes the dead letter");
}

# ---- jobs without a key, their retries and their redriven jobs go to any shard
my $free = $router->sql(q{SELECT hipq.enqueue('run', queue => 'app.mail')});
is($router->sql("SELECT outcome FROM hipq.wait_for($free)"), 'succeeded',
	'a job without a key succeeds');
my @made = map { $router->sql("SELECT hipq.retry($free)") } 1 .. 20;
is(join(' ', map { $router->sql("SELECT outcome FROM hipq.wait_for($_)") } @made),
	join(' ', ('succeeded') x 20), 'retries of a job without a key succeed');
my @counts =
	map { $_->sql('SELECT count(*) FROM ran WHERE id IN (' . join(',', @made) . ')') } $one, $two;
cmp_ok($counts[0] * $counts[1], '>', 0,
	'retries of a job without a key are on both shards: @counts');
@made = ();
foreach my $dead (
	map { $router->sql(q{SELECT hipq.enqueue('fail', queue => 'app.mail', priority => 9)}) } 1 .. 6)
{
	is($router->sql("SELECT outcome FROM hipq.wait_for($dead)"), 'failed',
		'a job without a key fails');
	push @made, $router->sql("SELECT hipq.redrive($dead)");
	is($one->sql("SELECT redriven_as FROM hipq.dead_letters_detail WHERE job_id = $dead")
		. $two->sql("SELECT redriven_as FROM hipq.dead_letters_detail WHERE job_id = $dead"),
		$made[-1], 'the dead letter of a job without a key has the id of the redriven job');
}
is(join(' ', map { $router->sql("SELECT outcome FROM hipq.wait_for($_)") } @made),
	join(' ', ('failed') x 6), 'redriven jobs without a key have run');

@made = map { $router->sql(q{SELECT hipq.enqueue('fail', queue => 'app.mail')}) } 1 .. 6;
$router->sql("SELECT outcome FROM hipq.wait_for($_)") foreach @made;
sub dead_letters
{
	my $count = 0;
	$count += $_->sql(q{SELECT count(*) FROM hipq.dead_letters_detail WHERE queue = 'app.mail'})
		foreach @nodes;
	return $count;
}
foreach my $place (1, 2)
{
	my $letters = dead_letters();
	# Redriven jobs of the other shard may come and fail.
	my $until = $nodes[$place]->sql('SELECT clock_timestamp()');
	my $dead = $nodes[$place]->sql("SELECT count(*) FROM hipq.dead_letters WHERE queue = 'app.mail'
		AND state = 'waiting' AND died_time < '$until'");
	is($nodes[$place]->sql("SELECT redriven
			FROM hipq.redrive_jobs('app.mail', before => '$until')"), $dead,
		"redrive_jobs() on $names[$place] counts jobs that go to other nodes");
	is($nodes[$place]->sql(q{SELECT count(*) FROM hipq.dead_letters_detail WHERE state = 'redriven'
			AND redriven_as IS NULL}), 0, "redrive_jobs() on $names[$place] records each new job");
	my $end = time + $PostgreSQL::Test::Utils::timeout_default;
	usleep(50_000) until dead_letters() == $letters + $dead || time > $end;
	is(dead_letters(), $letters + $dead, "all jobs redriven on $names[$place] fail again");
}

# ---- moved slots: final and running jobs stay, waiting jobs follow; a job is held as long as its
# key is in use
$lock = $one->hold_lock(1);
$key = key_for('hold');
my $running = enqueue('hold', now => 'running', key => $key);
my $slot = $router->sql("SELECT $running & 4095");
my $final = enqueue('run', now => 'succeeded', tenant => $router->sql("SELECT 'u' || n
		FROM generate_series(1, 100000) AS n WHERE hipq.slot_of('u' || n) = $slot LIMIT 1"));
is($router->sql("SELECT hipq.move_slots('app', '{$slot}', 2)"), 1, 'a slot moves to shard 2');
ok($two->wait_until("SELECT nodes[$slot + 1] = 2 AND generation = (SELECT max(generation)
		FROM hipq.shard_map) FROM hipq.shard_map"), 'shard 2 has the map with the moved slot');
my $held = enqueue('hold', key => $key, anywhere => 1);
ok($two->wait_until("SELECT count(*) FROM hipq.shard_held_job WHERE (job ->> 'id')::bigint = $held",
		1), 'a job with the key of a running one is held on shard 2');
foreach my $place (0 .. 2)
{
	my ($node, $name) = ($nodes[$place], $names[$place]);
	is($node->sql("SELECT outcome FROM hipq.find_job($final)"), 'succeeded',
		"$name finds a final job of the moved slot");
	is($node->sql("SELECT outcome FROM hipq.find_job($running)"), 'running',
		"$name finds a running job of the moved slot");
	like(refusal($node, "SELECT hipq.cancel($held)"),
		qr/55P03: job $held is held until its key is free.*HINT: .*Try again/s,
		"cancel() on $name refuses a held job");
	like($node->sql("SELECT string_agg(condition || ' ' || passed, ',') FROM hipq.why($held)"),
		$place == 2 ? qr/^exists true,key false$/ : qr/^node true,exists true,key false$/,
		"why() on $name says that the job is held");
	is($node->sql("SELECT outcome FROM hipq.wait_for($held, '100 ms')"), 'waiting',
		"wait_for() on $name says that the held job waits");
}
is($two->sql("SELECT hipq.cancel($running)"), 't',
	'cancel() on the new node of the slot cancels the running job on the old node');
$lock->quit;
ok($two->wait_until("SELECT count(*) FROM hipq.jobs WHERE id = $held", 1),
	'the held job waits in the queue when the running job has ended');
is($one->sql("SELECT hipq.cancel($held)"), 't',
	'cancel() on the old node of the slot cancels the job on the new node');
ok($shards->settled, 'the move to shard 2 ends');
$id = enqueue('run', anywhere => 1, key => $router->sql("SELECT 'f' || n FROM generate_series(1,
		100000) AS n WHERE hipq.slot_of('run' || chr(31) || 'f' || n) = $slot LIMIT 1"));
my $follower = $router->session;
$follower->query_until(qr/waits/,
	"\\echo waits\nSELECT outcome FROM hipq.wait_for($id, '1 min');\n");
ok($two->wait_until(q{SELECT count(*) FROM pg_stat_activity
		WHERE query LIKE 'SELECT hipq._answer(%wait_for%' AND wait_event_type = 'Extension'}, 1),
	'a session waits for a job of the slot on shard 2');
$router->sql("SELECT hipq.move_slots('app', '{$slot}', 1)");
ok($one->wait_until("SELECT count(*) FROM hipq.jobs WHERE id = $id", 1),
	'the job moves back with its slot');
$one->sql("SELECT hipq.reschedule($id, now())");
like($follower->query('SELECT 1'), qr/succeeded/,
	'wait_for() returns when the moved job succeeds');
ok($shards->settled, 'the move back to shard 1 ends');

# ---- in a queue without rows of succeeded jobs a moved job does not count as succeeded
$router->sql(
	q{SELECT hipq.create_queue('app.short', owner => 'app', shard_key => $$job_data->>'tenant'$$,
	retention => '0'), hipq.register_job_type('app.short', 'run', handler => 'run')});
$one->wait_until(q{SELECT count(*) FROM hipq.job_types_detail WHERE queue = 'app.short'}, 1) or die;
my $tenant = $router->sql("SELECT 's' || n FROM generate_series(1, 100000) AS n
	WHERE hipq.slot_of('s' || n) = $slot LIMIT 1");
my $short = $router->sql(qq{SELECT hipq.enqueue('run', '{"tenant": "$tenant"}',
	queue => 'app.short', scheduled_run_time => now() + interval '1 day')});
ok($one->wait_until("SELECT count(*) FROM hipq.jobs WHERE id = $short", 1),
	'a job of queue app.short waits on shard 1');
my $patient = $one->session;
$patient->query_until(qr/waits/,
	"\\echo waits\nSELECT outcome FROM hipq.wait_for($short, '5 s');\n");
$router->sql("SELECT hipq.move_slots('app', '{$slot}', 2)");
ok($two->wait_until("SELECT count(*) FROM hipq.jobs WHERE id = $short", 1),
	'the job of queue app.short moves to shard 2');
like($patient->query('SELECT 1'), qr/waiting/,
	'wait_for() on shard 1 says that the moved job waits');
$patient->quit;
is($one->sql("SELECT hipq.cancel($short)"), 't', 'cancel() on shard 1 cancels the moved job');
ok($shards->settled, 'the second move to shard 2 ends');
$router->sql("SELECT hipq.move_slots('app', '{$slot}', 1)");
ok($shards->settled, 'the second move back to shard 1 ends');

# ---- while the slot of a job moves repeatedly, no call says that the job does not exist
my $wanderer = enqueue('run', key => $router->sql("SELECT 'w' || n FROM generate_series(1,
		100000) AS n WHERE hipq.slot_of('run' || chr(31) || 'w' || n) = $slot LIMIT 1"));
my @lookers;
foreach my $node (@nodes)
{
	$node->sql(q{CREATE TABLE is_enough (x integer); CREATE SEQUENCE looks; CREATE
		FUNCTION look(job bigint, OUT looks integer, OUT misses integer) LANGUAGE plpgsql AS $$
		BEGIN
			looks := 0;
			misses := 0;
			WHILE NOT EXISTS (SELECT FROM is_enough) LOOP
				looks := nextval('looks');
				BEGIN
					PERFORM FROM hipq.find_job(job);
					misses := misses + (NOT FOUND)::integer;
				EXCEPTION WHEN lock_not_available OR SQLSTATE 'HQ503' THEN NULL;
					-- held, or no node knows the job now
				END;
			END LOOP;
		END $$});
	push @lookers, $node->session;
	$lookers[-1]->query_until(qr/looks/,
		"\\echo looks\nSELECT looks > 5 AND misses = 0, looks, misses FROM look($wanderer);\n");
}
# At least four moves, and more until each node has searched for the job several times.
for (my $moves = 0; $moves < 4
	|| ($moves < 100 && grep { $_->sql('SELECT last_value FROM looks') <= 6 } @nodes); $moves += 2)
{
	foreach my $to (2, 1)
	{
		$router->sql("SELECT hipq.move_slots('app', '{$slot}', $to)");
		$router->wait_until('SELECT count(*) FROM hipq.shard_move', 0) or die;
	}
}
foreach my $place (0 .. 2)
{
	$nodes[$place]->sql('INSERT INTO is_enough VALUES (1)');
	my ($said) = $lookers[$place]->query('SELECT 1') =~ /^(.*)$/m;
	like($said, qr/^t\|/, "find_job() on $names[$place] finds the moving job each time");
	note "looks and misses: $said";
	$lookers[$place]->quit;
}

# ---- privileges: those of the caller's role, on the node of the job
$_->sql(q{CREATE ROLE reader LOGIN; CREATE ROLE stranger LOGIN; CREATE ROLE "it's; DROP" LOGIN})
	foreach @nodes;
$router->sql('CREATE ROLE here_alone LOGIN');
$_->sql(q{SELECT hipq.grant_queue('app.mail', 'reader', 'read'), hipq.grant_queue('app.mail',
	'"it''s; DROP"', 'control'), hipq.grant_queue('app.whole', 'stranger', 'read')}) foreach @nodes;
$router->sql(q{SELECT hipq.grant_queue('app.mail', 'here_alone', 'control')});
$id = enqueue('run');
sub error_as
{
	my ($role, $call) = @_;
	return $router->error_of("SELECT hipq.$call", extra_params => [ '-U', $role ]);
}
is($router->sql_as('reader', "SELECT outcome FROM hipq.find_job($id)"), 'waiting',
	'a role that can read sees the job');
like(error_as('reader', "cancel($id)"),
	qr/42501: permission denied for queue "app.mail".*DETAIL: .*"operate".*CONTEXT: .*shard 1/s,
	'a role that can only read cannot cancel the job');
like(error_as('stranger', "cancel($id)"), qr/42704: job $id does not exist/,
	'cancel() tells a role without privileges that the job does not exist');
is($router->sql_as('stranger', "SELECT condition, passed FROM hipq.why($id)"), 'exists|f',
	'why() finds no job for a role without privileges');
is($router->sql_as('stranger', "SELECT count(*) FROM hipq.find_job($id)"), 0,
	'find_job() finds no job for a role without privileges');
like(error_as('here_alone', "cancel($id)"),
	qr/42704: role "here_alone" does not exist.*DETAIL: .*caller's role.*HINT: .*Create the role.*CONTEXT: .*shard 1/s,
	'a role that the shard does not have is refused');
is($router->sql_as(q{it's; DROP}, "SELECT hipq.reschedule($id, now() + interval '1 day')"), '',
	'a role with a quote and a semicolon in its name can reschedule the job');
is($router->sql("BEGIN; SET LOCAL ROLE reader; SELECT outcome FROM hipq.find_job($id); COMMIT"),
	'waiting', 'calls on other nodes have the role of SET ROLE');
like($router->error_of(q{SELECT hipq._answer('app', 0, 'postgres', 'cancel', 1, '{}', false)},
		extra_params => [ '-U', 'reader' ]), qr/42501: permission denied for function _answer/,
	'a role cannot call _answer() for another role');
like($router->error_of(q{SELECT hipq._answer('app', 0, 'postgres', 'version', 1, '{}', false)}),
	qr/0A000: another node has called "version"/, '_answer() refuses an unknown call');
like($router->error_of('TABLE hipq.shard', extra_params => [ '-U', 'app' ]), qr/42501/,
	'role app cannot read table hipq.shard');
my ($status, $out, $err) = $router->node->psql('postgres', "SELECT hipq.retry($id);\nSELECT outcome
	FROM hipq.find_job($id);\nSELECT dblink_get_connections() IS NULL", on_error_stop => 0);
like($err, qr/job $id is not final/, 'retry() on the router reports the error of the shard');
is($out, "waiting\nt", 'no call leaves a connection in the session');

# ---- a call is cancelled while it waits
my $session = $router->session(role => 'reader', on_error_stop => 0);
$session->query_until(qr/waits/, "SET statement_timeout = '500ms';\n\\echo waits\nSELECT outcome
	FROM hipq.wait_for($id, '1 min');\n");
$started = time;
$session->query('RESET statement_timeout');
like($session->{stderr}, qr/canceling statement due to statement timeout/,
	'statement_timeout ends a wait for another server');
$session->{stderr} = '';
$router->in_time(time - $started, 5, 'statement_timeout ends a wait for another server within 5 s');
is($session->query('SELECT dblink_get_connections() IS NULL'), 't',
	'a cancelled wait leaves no connection in the session');
$session->quit;

# ---- a shard is stopped by SIGSTOP, and then down
my $postmaster = (split /\n/,
	PostgreSQL::Test::Utils::slurp_file($one->node->data_dir . '/postmaster.pid'))[0];
kill 'STOP', $postmaster;
$started = time;
like($router->error_of("SELECT hipq.cancel($id)"),
	qr/HQ503: cannot find job $id.*DETAIL: .*Shard 1 of instance "app" cannot be reached\./s,
	'cancel() says that a stopped shard cannot be reached');
$router->in_time(time - $started, 15, 'cancel() waits at most 15 s for a stopped shard');
$started = time;
like($router->error_of(q{CALL hipq.resync_shard('app', 1)}),
	qr/08001: could not establish connection.*DETAIL: .*(?:timeout expired|does not answer)/s,
	'resync_shard() says that a stopped shard cannot be reached');
$router->in_time(time - $started, 15, 'resync_shard() waits at most 15 s for a stopped shard');
kill 'CONT', $postmaster;
$one->node->stop('immediate');
like($router->error_of("SELECT hipq.cancel($id)"),
	qr/HQ503: cannot find job $id: not all.*DETAIL: .*Shard 1 of instance "app" cannot be reached\..*HINT: .*hipq.shards/s,
	'the router says that a shard is down');
unlike($router->error_of("SELECT hipq.cancel($id)"), qr/socket|host|port/,
	'the error has no connection data of the shard');
ok($router->node->log_contains(qr/shard 1 of instance "app": could not establish connection/),
	'the log says why the shard is not reached');
like($two->error_of("SELECT hipq.cancel($id)"),
	qr/HQ503: cannot find job $id.*Shard 1 of instance "app" cannot be reached/s,
	'another shard says that a shard is down');
is($router->sql("SELECT condition, passed FROM hipq.why($id)"), 'node|f',
	'why() says that a shard is down');
my $other = enqueue('run', tenant => $tenants[2], anywhere => 1);
is($router->sql("SELECT hipq.cancel($other)"), 't',
	'a job on another shard can be cancelled while a shard is down');
$one->node->start;
is($router->sql("SELECT hipq.cancel($id)"), 't',
	'a job can be cancelled when its shard has started');
$router->node->stop('immediate');
like($two->error_of("SELECT hipq.cancel($id)"),
	qr/HQ503: cannot find job $id.*The router of instance "app" cannot be reached/s,
	'a shard says that the router is down');
is($one->sql("SELECT hipq.cancel($id)"), 'f', 'a shard finds its own jobs without the router');
$router->node->start;

# ---- without dblink
$two->sql('DROP EXTENSION dblink');
like($two->error_of("SELECT hipq.cancel($id)"),
	qr/55000: extension "dblink" is not installed.*HINT: .*CREATE EXTENSION dblink/s,
	'a shard without dblink reports the missing extension');

# ---- two sharded instances, whose nodes generate ids independently
$router->sql(
	q{SELECT hipq.create_queue('other.mail', owner => 'app', shard_key => $$job_data->>'tenant'$$),
	hipq.register_job_type('other.mail', 'run', handler => 'run')});
my $third = HipqCluster->new('calls_other', streaming => 'logical', wal_sender_timeout => '10s');
$third->sql('CREATE FUNCTION run(job hipq.job) RETURNS void LANGUAGE sql AS $$ SELECT $$');
my $conninfo = sprintf 'host=%s port=%d dbname=postgres user=postgres', $third->node->host,
	$third->node->port;
$router->sql(sprintf "CALL hipq.create_shard('other', 1, '%s', publisher => '%s')", $conninfo,
	$shards->conninfo(0));
$router->sql(q{SELECT hipq.rebalance('other')});
ok($router->wait_until('SELECT count(*) FROM hipq.shard_move', 0),
	'the shard of instance other has its slots');
$id = $router->sql(qq{SELECT hipq.enqueue('run', '{"tenant": "$tenants[1]"}', queue => 'other.mail',
	scheduled_run_time => now() + interval '1 day')});
is($router->sql("SELECT hipq.reschedule($id, now() + interval '2 days')"), '',
	'reschedule() finds a job of instance other');
my $mine = enqueue('run', on => $one);
$third->wait_until("SELECT count(*) FROM hipq.jobs WHERE id = $id", 1) or die;
$third->sql(q{SELECT setval('hipq.job_id_seq', } . (($mine >> 22) - (1 << 19)) . q{, false)});
my $same = $third->sql(qq{SELECT hipq.enqueue('run', '{"tenant": "$tenants[1]"}',
	queue => 'other.mail', scheduled_run_time => now() + interval '1 day')});
is($same, $mine, 'shards of two instances generate the same id');
like($router->error_of("SELECT hipq.cancel($mine)"),
	qr/42P08: instances "app" and "other" both have a job $mine.*HINT: .*Name its queue/s,
	'cancel() refuses an id that two jobs have');
is($router->sql("SELECT hipq.cancel($mine, queue => 'other.mail')"), 't',
	'cancel() with a queue cancels one of two jobs with the same id');
is($third->sql("SELECT outcome FROM hipq.jobs WHERE id = $same") . $one->sql("SELECT outcome
		FROM hipq.jobs WHERE id = $mine"), 'cancelledwaiting',
	'cancel() with a queue leaves the other job with the same id');

done_testing();
