# A role sees nothing of queues on which it has no right: neither through the functions that it may
# call, nor in errors, nor through plans that were made earlier. A lock on one queue does not hide
# other queues. (test/pgtap/neighbours.sql tests plans.)
use strict;
use warnings;
use HipqCluster;
use Test::More;

my $hipq = HipqCluster->new('views', 'hipq.executor_idle_timeout' => '10s');
$hipq->sql(q{
	CREATE ROLE other LOGIN;
	CREATE ROLE reader LOGIN;
	CREATE ROLE bystander LOGIN; GRANT USAGE ON SCHEMA hipq TO bystander;
		-- This role may use hipq, and has no right on any queue.
	CREATE ROLE monitor LOGIN IN ROLE pg_monitor});
$hipq->create_queue('app.mine');
$hipq->create_queue('other.secret', owner => 'other', throttle_limit => 100);
$hipq->sql("SELECT hipq.grant_queue('app.mine', 'reader', right_given)
	FROM unnest('{enqueue, read, work, control}'::text[]) AS right_given");
$hipq->sql(q{
	CREATE FUNCTION hold(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN PERFORM hipq.report_progress(1, 2, 'private message');
		PERFORM pg_advisory_xact_lock_shared(1); END $$;
	CREATE FUNCTION fails(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		RAISE EXCEPTION 'no'; END $$;
	SELECT hipq.register_job_type(queue, 'hold', handler => 'hold', throttle_limit => 10,
			rate_limit => '1000/s'),
		hipq.register_job_type(queue, 'fails', handler => 'fails', max_retries => 0),
		hipq.register_job_type(queue, 'outside', handler_kind => 'notify')
	FROM unnest('{app.mine, other.secret}'::text[]) AS queue});
my $lock = $hipq->hold_lock;
my %job;
foreach my $queue ('app.mine', 'other.secret')
{
	$job{$queue} = { map { $_ => $hipq->enqueue($_,
			"'{}', queue => '$queue', job_key => 'private key'") } qw(hold fails outside) };
	is($hipq->outcome($job{$queue}{fails}), 'failed', "$queue has a failed job");
	$hipq->pid_of($job{$queue}{hold});
}
my $worker = $hipq->sql_as('other',
	q{SELECT hipq.register_worker('other worker', '{other.secret}', '{outside}', listen => false)});
ok($hipq->wait_until("SELECT worker_id = $worker AND NOT is_accepted FROM hipq.running_detail
		WHERE id = $job{'other.secret'}{outside}"), 'an external worker is offered a job');
is($hipq->sql_as('other', "SELECT attempt FROM hipq.claim($worker)"), 1,
	'the external worker claims the job');
my $mine = $hipq->sql(q{SELECT queue_id FROM hipq.queue WHERE table_name = 'app_mine'});

# ---- functions

my @functions = split /\n/, $hipq->sql(q{
	SELECT proname FROM pg_proc
	WHERE pronamespace = 'hipq'::regnamespace AND proretset AND pronargs = 0
		AND 'queue_id' = ANY (proargnames) AND has_function_privilege('reader', oid, 'EXECUTE')
		AND proname <> '_jobs_set_aside'    -- it has no rows here
	ORDER BY 1});
foreach my $function (@functions)
{
	my $others = "SELECT count(*) > 0 FROM hipq.$function() WHERE queue_id <> $mine";
	ok($hipq->wait_until($others), "$function shows a superuser both queues");
	is($hipq->sql_as('reader', $others), 'f', "$function shows a reader its own queue only");
}
cmp_ok(scalar @functions, '>=', 9, 'at least nine functions return rows of queues');
is($hipq->sql_as('reader', 'SELECT count(*) FROM hipq._workers()'), 0,
	'a reader does not see workers that serve only other queues');
is($hipq->sql_as('monitor', 'SELECT count(*) FROM hipq._workers()'), 1,
	'a monitor sees all workers');
my $secret = $hipq->sql(q{SELECT queue_id FROM hipq.queue WHERE table_name = 'other_secret'});
is($hipq->sql_as('reader', "SELECT hipq._is_running($secret, $job{'other.secret'}{hold})"), 'f',
	'a reader does not learn whether a job of another queue runs');
is($hipq->sql_as('reader', "SELECT hipq._is_running($mine, $job{'other.secret'}{hold})"), 'f',
	'a reader does not learn whether a job of another queue runs by naming its own queue');
is($hipq->sql_as('reader', "SELECT hipq._is_running($mine, $job{'app.mine'}{hold})"), 't',
	'a reader learns whether a job of its own queue runs');
is($hipq->sql_as('bystander', "SELECT hipq._is_running($mine, $job{'app.mine'}{hold})"), 'f',
	'a bystander does not learn whether a job runs');

# ---- a bystander sees nothing, whatever runs

$hipq->sql(q{
	CREATE FUNCTION rows_of(source text) RETURNS bigint LANGUAGE plpgsql AS $$
	DECLARE number bigint;
	BEGIN EXECUTE 'SELECT count(*) FROM hipq.' || source INTO number; RETURN number; END $$});
my @views = split /\n/, $hipq->sql(q{
	SELECT relname FROM pg_class WHERE relnamespace = 'hipq'::regnamespace AND relkind = 'v'
		AND has_table_privilege('bystander', oid, 'SELECT') AND relname <> 'worker_health'});
cmp_ok(scalar @views, '>', 20, 'a bystander may read most views');
my $sources = join ', ', map { "'$_'" } @views, map { "$_()" } @functions, '_workers';
is($hipq->sql_as('bystander', "SELECT string_agg(source, ' ')
		FROM unnest(ARRAY[$sources]) AS source WHERE rows_of(source) > 0"), '',
	'a bystander sees no row in any view, nor in the functions behind them');
is($hipq->sql_as('bystander', 'SELECT sum(workers) + sum(queue_depth) + sum(running_jobs)
		FROM hipq.worker_health'), 0, 'worker_health counts nothing for a bystander');
my $looker = $hipq->session(role => 'bystander');
my $locked = q{SELECT count(*) FROM pg_locks JOIN pg_class ON pg_class.oid = relation
	WHERE relname ~ '^(app_mine|other_secret)'};
is($looker->query_safe("BEGIN; SELECT count(*) FROM hipq.jobs;
		SELECT count(*) FROM hipq.enqueued(); $locked AND pid = pg_backend_pid()"), "0\n0\n0",
	"a bystander's query locks no queue's tables");
$looker->query_safe('ROLLBACK');
$looker->quit;

# ---- a monitor sees no key, data or message

foreach my $view (split /\n/, $hipq->sql(q{
	SELECT relname FROM pg_class WHERE relnamespace = 'hipq'::regnamespace AND relkind = 'v'
		AND relname !~ '^_' AND has_table_privilege('monitor', oid, 'SELECT') ORDER BY 1}))
{
	is($hipq->sql_as('monitor', "SELECT count(*) FROM hipq.$view AS row
			WHERE row::text ~ 'private'"), 0, "$view shows a monitor no contents of jobs");
}
is($hipq->sql_as('monitor', q{SELECT count(*) FROM hipq._progress() AS row
		WHERE row::text ~ 'private'}), 0, '_progress() shows a monitor no contents of jobs');
ok($hipq->wait_until('SELECT count(*) FROM hipq.progress', 2), 'both jobs report progress');
is($hipq->sql_as('monitor', q{SELECT count(*) FROM hipq.progress}), 2,
	'a monitor sees the progress of both jobs');
is($hipq->sql_as('reader',
		q{SELECT message || ' ' || job_key FROM hipq.progress JOIN hipq.running USING (id)}),
	'private message private key', 'a reader of the queue sees the message and key');

# ---- errors are the same for another owner's job and for a job that does not exist

my @calls = (
	'complete(?, 1)', q{fail(?, 1, 'no')}, 'release(?, 1)', q{extend(?, 1, '1 min'::interval)},
		'report_progress(?, 1, 1, 2)', 'complete_attempts(ARRAY[?], ARRAY[1])',
		q{fail_attempts(ARRAY[?], ARRAY[1], ARRAY['no'])},
	'release_attempts(ARRAY[?], ARRAY[1])', q{extend_attempts(ARRAY[?], ARRAY[1], '1 min')},
		'cancel(?)', 'retry(?)', q{reschedule(?, now())}, 'erase(?)', 'why(?)',
		q{wait_for(?, '0')}, 'fail_job(?)',
	'retry_chain(?)', 'is_job_retriable(?)', 'why_retriable(?)',
		q{extend_job(?, '1 min'::interval)}, 'redrive(?)', 'dismiss_dead_letter(?)',
		'handle_again(?)', 'purge_dead_letter(?)');
sub answer
{
	my ($call, $id) = @_;
	my ($status, $out, $err) = $hipq->node->psql('postgres',
		"\\set VERBOSITY verbose\nSELECT hipq.$call", extra_params => [ '-U', 'reader' ]);
	s/\b$id\b/ID/g, s/LOCATION:.*//s foreach $out, $err;
	return "$status $out $err";
}
foreach my $call (@calls)
{
	my ($nobodys, @others) = map { my $id = $_; answer($call =~ s/\?/$id/r, $id) } 987654321,
		values %{ $job{'other.secret'} };
	is_deeply([ grep { $_ ne $nobodys } @others ], [],
		"$call: the error for another owner's job is the one for a missing job") or diag($nobodys);
}
$hipq->sql(q{
	CREATE FUNCTION answer_to(call text, id text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE answer text;
	BEGIN
		EXECUTE 'SELECT string_agg(said::text, $x$ $x$) FROM (SELECT hipq.' || replace(call, '?',
			id) || ') AS said' INTO answer;
		RETURN regexp_replace(answer, '\m' || id || '\M', 'ID', 'g');
	EXCEPTION WHEN OTHERS THEN
		RETURN sqlstate || regexp_replace(sqlerrm, '\m' || id || '\M', 'ID', 'g');
	END $$});
my $calls = join ', ', map { "\$c\$$_\$c\$" } @calls;
my $ids = join ', ', map { "'$_'" } values %{ $job{'other.secret'} };
is($hipq->sql_as('bystander', "SELECT string_agg(call || ' ' || id, ', ')
		FROM unnest(ARRAY[$calls]) AS call, unnest(ARRAY[$ids]) AS id
		WHERE answer_to(call, id) IS DISTINCT FROM answer_to(call, '987654321')"),
	'', "no call shows a bystander whether another owner's job exists");

# ---- plans that were made earlier

my $session = $hipq->session;
my $queues = 'EXECUTE jobs_of; EXECUTE letters_of; EXECUTE attempts_of; EXECUTE queues_there';
my $list = q{SELECT coalesce(string_agg(DISTINCT queue, ' ' ORDER BY queue), 'none') FROM};
$session->query_safe("PREPARE jobs_of AS $list hipq.jobs;
	PREPARE letters_of AS $list hipq.dead_letters; PREPARE attempts_of AS $list hipq.attempts;
	PREPARE queues_there AS $list hipq.queues");
sub seen
{
	return join ', ', sort keys %{ { map { $_ => 1 } split /\n/, $session->query_safe($queues) } };
}
is(seen(), 'app.mine other.secret', 'a superuser sees both queues');
$session->query_safe('SET ROLE reader');
is(seen(), 'app.mine', 'prepared statements follow a changed role');
$hipq->sql(q{SELECT hipq.grant_queue('other.secret', 'reader', 'read')});
is(seen(), 'app.mine other.secret', 'prepared statements follow grant_queue()');
$session->query_safe('BEGIN');
is(seen(), 'app.mine other.secret', 'prepared statements show both queues in a transaction');
$hipq->sql(q{SELECT hipq.revoke_queue('other.secret', 'reader', 'read')});
is(seen(), 'app.mine', 'prepared statements follow revoke_queue(), also in a transaction');
$hipq->sql('GRANT other TO reader');
is(seen(), 'app.mine other.secret', 'prepared statements follow a new membership');
$hipq->sql('REVOKE other FROM reader');
is(seen(), 'app.mine', 'prepared statements follow a revoked membership');
$hipq->sql('GRANT SELECT ON hipq.other_secret TO reader');
is(seen(), 'app.mine other.secret', 'prepared statements follow GRANT on the table');
$hipq->sql('REVOKE SELECT ON hipq.other_secret FROM reader');
$session->query_safe('COMMIT');
$hipq->create_queue('app.second');
$hipq->sql(q{SELECT hipq.grant_queue('app.second', 'reader', 'read'),
	hipq.enqueue('later', '{}', queue => 'app.second')});
like($session->query_safe('EXECUTE jobs_of'), qr/^app\.mine app\.second$/,
	'prepared statements show a new queue');
$session->query_safe('RESET ROLE');
is(seen(), 'app.mine app.second other.secret, app.mine other.secret',
	'prepared statements follow RESET ROLE');

# ---- a lock on the table of one queue

my $locker = $hipq->session;
$locker->query_safe('BEGIN; LOCK TABLE hipq.other_secret IN ACCESS EXCLUSIVE MODE');
sub look
{
	return $hipq->node->psql('postgres', "SET statement_timeout = '20s'; $_[1]",
		extra_params => [ '-U', $_[0] ]);
}
foreach my $view (split /\n/, $hipq->sql(q{
	SELECT relname FROM pg_class WHERE relnamespace = 'hipq'::regnamespace AND relkind = 'v'
		AND relname !~ '^_' AND has_table_privilege('monitor', oid, 'SELECT') ORDER BY 1}))
{
	my ($status, $out, $err) = look('monitor', "SELECT * FROM hipq.$view");
	is($status, 0, "$view does not wait for a locked queue") or diag($err);
}
my ($status, $out, $err) = look('monitor', 'SELECT queue FROM hipq.queues ORDER BY 1');
is($out, "app.mine\napp.second", 'view queues has the unlocked queues');
like($err, qr/WARNING:  queue "other\.secret" is left out because its table is locked/,
	'a warning names the locked queue');
($status, $out, $err) = look('postgres', 'SELECT DISTINCT queue FROM hipq.jobs ORDER BY 1');
is("$status $out", "0 app.mine\napp.second", 'view jobs has the jobs of unlocked queues');
like($err, qr/other\.secret/, 'view jobs warns of the locked queue');
($status, $out, $err) = look('reader', 'SELECT DISTINCT queue FROM hipq.jobs ORDER BY 1');
is("$status $out $err", "0 app.mine\napp.second ",
	'a role that cannot read the locked queue gets no warning');
$session->query_safe(q{SET statement_timeout = '20s'});
is($session->query('EXECUTE queues_there'), 'app.mine app.second',
	'a prepared statement does not wait for a locked queue');
$locker->query_safe('ROLLBACK; BEGIN; LOCK TABLE hipq.other_secret_live IN ACCESS EXCLUSIVE MODE');
($status, $out, $err) = look('monitor', 'SELECT queue FROM hipq.queues ORDER BY 1');
is($out, "app.mine\napp.second", 'view queues does not wait for a locked leaf');
$locker->query_safe('ROLLBACK');
$locker->quit;
is($session->query('EXECUTE queues_there'), 'app.mine app.second other.secret',
	'a queue is shown when it is unlocked');
$session->quit;

# ---- revoked rights

my $rights = q{
	SELECT count(*) FROM (
		SELECT nspacl AS acl FROM pg_namespace WHERE nspname = 'hipq'
		UNION ALL SELECT proacl FROM pg_proc WHERE pronamespace = 'hipq'::regnamespace
		UNION ALL SELECT relacl FROM pg_class WHERE relnamespace = 'hipq'::regnamespace
		UNION ALL SELECT attacl FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
			WHERE relnamespace = 'hipq'::regnamespace
	) AS object CROSS JOIN LATERAL aclexplode(acl) AS given WHERE given.grantee = '%s'::regrole};
my $of = sub { return $hipq->sql(sprintf $rights, $_[0]); };
$hipq->sql(q{SELECT hipq.revoke_queue('app.mine', 'reader', 'read')});
is($hipq->sql_as('reader', 'SELECT DISTINCT queue FROM hipq.jobs'), 'app.second',
	'a role keeps what its rights on another queue need');
$hipq->sql(q{SELECT hipq.revoke_queue('app.second', 'reader', 'read')});
$hipq->sql("SELECT hipq.revoke_queue('app.mine', 'reader', right_taken)
	FROM unnest('{enqueue, work, control}'::text[]) AS right_taken");
is($of->('reader'), 0, 'revoking the last right revokes all that hipq granted');
like($hipq->error_of('SET ROLE reader; SELECT hipq.now()'), qr/permission denied for schema hipq/,
	'revoking the last right revokes USAGE on the schema');
my $before = $of->('monitor') + $of->('pg_monitor');
$hipq->sql(q{SELECT hipq.grant_queue('app.mine', 'pg_monitor', 'read'),
	hipq.revoke_queue('app.mine', 'pg_monitor', 'read')});
$hipq->sql(q{SELECT hipq.revoke_queue('app.mine', 'pg_monitor', 'read')});
is($hipq->sql_as('monitor', 'SELECT count(*) > 0 FROM hipq.queues'), 't',
	'pg_monitor keeps the privileges that it got at installation');
$hipq->sql(q{GRANT EXECUTE ON FUNCTION hipq.create_instance TO other});
$lock->quit;
$hipq->sql(q{SELECT hipq.alter_queue('other.secret', owner => 'app')});
is($of->('other'), 2, 'a former owner keeps only what a superuser granted');
$hipq->sql(q{SELECT hipq.grant_queue('app.second', 'reader', 'control')});
$hipq->sql(q{SELECT hipq.drop_queue('app.second', force => true)});
is($of->('reader'), 0, 'drop_queue() revokes what the rights on the queue granted');

# ---- plans name queues as ranges of ids, without queues that the role cannot see

$hipq->create_queue($_) foreach 'app.aa', 'app.ab';
$hipq->create_queue('other.ac', owner => 'other');
$hipq->create_queue('app.ad');
$hipq->sql("SELECT hipq.grant_queue(queue, 'reader', 'read')
	FROM unnest('{app.aa, app.ab, app.ad}'::text[]) AS queue");
my $plan = $hipq->sql_as('reader', 'EXPLAIN (costs off) SELECT id FROM hipq.jobs');
my %tables = map { $_ => 1 } $plan =~ /on (\w+)_live/g;
is(join(' ', sort keys %tables), 'app_aa app_ab app_ad',
	'a plan reads the tables of queues that its role may read');
like($plan, qr/queue_id >= \d+\) AND \(queue_id <= \d+\).* OR /,
	'a plan names the queues as ranges');
like($hipq->sql('EXPLAIN (costs off) SELECT id FROM hipq.jobs'),
	qr/ on app_mine_live job_\d+\n +Filter: \(\(queue_id >= \d+\) AND \(queue_id <= \d+\)\)\n/,
	'a plan of a role that can read all queues has one range');

done_testing();
