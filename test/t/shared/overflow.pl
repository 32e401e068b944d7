# When a structure in shared memory is full, hipq takes a slower path. An alert reports it, no
# producer gets an error, and every job runs.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('overflow', 'hipq.max_running' => 16, 'hipq.max_owner_share' => 100,
	'hipq.executor_idle_timeout' => '60s', max_connections => 60);
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE FUNCTION nothing(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
	CREATE FUNCTION all_of_them(data jsonb[]) RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
	CREATE FUNCTION never_again(data jsonb) RETURNS interval LANGUAGE sql AS $$
		SELECT NULL::interval $$;
	SELECT hipq.register_job_type('app.main', 'run', handler => 'nothing', claim => 'lock');
	SELECT hipq.register_job_type('app.main', 'batch', handler => 'all_of_them',
		batch_size => 1000);
	SELECT hipq.register_job_type('app.main', 'asked', handler => 'nothing',
		retry_handler => 'never_again')});
is($hipq->alerts, '', 'there are no alerts at the start');

# ---- jobs in flight: 20 entries for four executors
$hipq->sql(q{SELECT hipq.enqueue_many('run', array_agg('{}'::jsonb))
	FROM generate_series(1, 1000)});
$hipq->sql(q{SELECT hipq.enqueue_many('batch', array_agg('{}'::jsonb))
	FROM generate_series(1, 1000)});
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.jobs WHERE outcome <> 'succeeded'}, 0),
	'jobs run although few of them fit into shared memory');
is($hipq->sql(q{SELECT alert || ' ' || (times > 0) || ' ' || hint FROM hipq.alerts_detail
		WHERE alert = 'jobs in flight'}), 'jobs in flight true Raise hipq.max_running.',
	'an alert reports that jobs in flight are full');

# ---- jobs that their handlers leave running: 30 entries, and executors keep 20 of them
$hipq->sql('ALTER SYSTEM SET hipq.max_running = 30');
$hipq->node->restart;
$hipq->sql(q{
	CREATE FUNCTION leave(job hipq.job) RETURNS void LANGUAGE sql AS $$
		SELECT hipq.complete_later() $$;
	SELECT hipq.alter_queue('app.main', throttle_limit => 1000);
	SELECT hipq.register_job_type('app.main', 'leave', handler => 'leave', default_timeout => 600,
		max_retries => 0);
	SELECT hipq.enqueue_many('leave', array_agg('{}'::jsonb)) FROM generate_series(1, 40)});
my $left = q{SELECT count(*) FROM hipq.app_main WHERE job_type = 'leave' AND state = 'running'
	AND worker_id = 0};
my $weight = q{SELECT throttle_used::integer FROM hipq.queues_detail WHERE queue = 'app.main'};
ok($hipq->wait_until($left, 40), 'handlers leave more jobs running than fit');
is($hipq->outcome($hipq->enqueue('run')), 'succeeded', 'other jobs run beside the left jobs');
$hipq->set('hipq.clock_offset' => 30);
ok($hipq->wait_until($weight, 10), 'shared memory takes as many left jobs as it has room for');
$hipq->sql(q{BEGIN; SELECT hipq.pause('app.main', 'leave'); SELECT hipq.enqueue('leave'); COMMIT});
$hipq->sql_as('app', q{BEGIN; SELECT hipq.resume('app.main', 'leave');
	SELECT hipq.run_until_idle('app.main', 1); COMMIT});
is($hipq->sql($left), 41, "a client's session leaves one more job");
$hipq->sql(q{SELECT hipq.cancel(id) FROM (SELECT id FROM hipq.running WHERE job_type = 'leave'
	LIMIT 25) AS job});
$hipq->set('hipq.clock_offset' => 60);
ok($hipq->wait_until($weight, 10), 'other left jobs take the room of ended ones');
is($hipq->sql($left), 16, 'sixteen left jobs run');
$hipq->set('hipq.clock_offset' => 700);
ok($hipq->wait_until($left, 0), 'all left jobs end');
is($hipq->sql(q{SELECT string_agg(DISTINCT reason, ' ') || ' ' || count(*) FROM hipq.attempts
		JOIN hipq.app_main ON app_main.id = job_id WHERE app_main.job_type = 'leave'
		AND reason <> 'cancelled'}), 'timeout 16', 'the left jobs end by timeout');
ok($hipq->wait_until($weight, 0), 'ended jobs hold no throttle');
$hipq->sql(q{SELECT hipq.alter_queue('app.main', throttle_limit => 0)});
$hipq->set('hipq.clock_offset' => 0);

# ---- retry decisions: 300 jobs in state error, as replication brings them, and room for 256
$hipq->set('hipq.enabled' => 'off');
$hipq->wait_until('SELECT count(*) FROM hipq.executors', 0);
$hipq->sql(q{
	SET session_replication_role = replica;
	INSERT INTO hipq.app_main
	SELECT (jsonb_populate_record(job, jsonb_build_object('id', 1000000 + n, 'job_type', 'asked',
		'state', 'error', 'error', 'lost', 'retry_reason', 'transient_error'))).*
	FROM (SELECT job FROM hipq.job WHERE job_type = 'run' LIMIT 1) AS one(job),
		generate_series(1, 300) AS n});
is($hipq->sql(q{SELECT count(*) FROM hipq.app_main WHERE state = 'error'}), '300',
	'300 jobs await their retry decision');
$hipq->sql(q{ALTER SYSTEM SET hipq.enabled = on});
$hipq->node->restart;
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.app_main WHERE state = 'error'}, 0),
	'every retry handler is called');
is($hipq->sql(q{SELECT count(*) FROM hipq.jobs WHERE job_type = 'asked' AND outcome = 'failed'}),
	'300', 'hipq follows every answer of a retry handler');
is($hipq->sql(q{SELECT alert FROM hipq.alerts WHERE alert = 'retry decisions'}), 'retry decisions',
	'an alert reports that retry decisions waited for room');

# ---- executors: more queue owners than executors
$hipq->set('hipq.max_executors' => 1);
$hipq->sql(q{
	CREATE FUNCTION wait(data jsonb) RETURNS void LANGUAGE sql AS $$
		SELECT pg_advisory_xact_lock_shared(1) $$;
	CREATE ROLE other LOGIN});
$hipq->create_queue('other.main', owner => 'other');
$hipq->sql(q{SELECT hipq.register_job_type(queue, 'wait', handler => 'wait') FROM hipq.queues});
my $lock = $hipq->hold_lock;
my $first = $hipq->enqueue('wait', q{queue => 'app.main'});
$hipq->pid_of($first);
my $second = $hipq->enqueue('wait', q{queue => 'other.main'});
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'executors'}, 1, 30),
	'an alert reports a queue owner that waits for over 10 s');
$lock->quit;
is($hipq->outcome($first), 'succeeded', 'the job of the first owner ends');
is($hipq->outcome($second), 'succeeded', 'the job of the second owner runs');

# ---- run times: room for 1024 job types
$hipq->sql(q{
	SELECT hipq.register_job_type('app.main', 'type_' || n, handler => 'nothing')
		FROM generate_series(1, 1100) AS n;
	SELECT hipq.enqueue('type_' || n) FROM generate_series(1, 1100) AS n});
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.app_main WHERE job_type LIKE 'type%'
		AND state <> 'final'}, 0), 'jobs of more types than there are run times for run');
is($hipq->sql(q{SELECT alert FROM hipq.alerts WHERE alert = 'run times'}), 'run times',
	'an alert reports that run times are full');

# ---- commands on the extension: 33 of them, which wait for each other, and room for 32
my @commands = map { $hipq->session(on_error_stop => 0) } 1 .. 33;
$_->query_until(qr/sent/, "\\echo sent\nBEGIN; ALTER EXTENSION hipq UPDATE;\n") foreach @commands;
ok($hipq->wait_until(q{SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%ALTER EXTENSION%'
		AND pid <> pg_backend_pid()}, 33), '33 commands on the extension wait');
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'commands on databases'}, 1),
	'an alert reports that commands on databases are full');
my $meanwhile = $hipq->enqueue('run', q{queue => 'app.main'});
$hipq->sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE query LIKE '%ALTER EXTENSION%' AND pid <> pg_backend_pid()});
is($hipq->outcome($meanwhile), 'succeeded', 'jobs run after the commands');
eval { $_->quit } foreach @commands;

# ---- databases: room for two, jobs in five
$hipq->sql('ALTER SYSTEM RESET hipq.max_executors');
$hipq->set('hipq.max_databases' => 2, 'hipq.executor_idle_timeout' => '100ms');
my @databases = map { "many_$_" } 1 .. 4;
foreach my $database (@databases)
{
	$hipq->sql("CREATE DATABASE $database");
	$hipq->in($database)->sql(
		q{CREATE EXTENSION hipq; SELECT hipq.create_queue('app.main', owner => 'app');
		CREATE FUNCTION nothing(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
			SELECT hipq.register_job_type('app.main', 'run', handler => 'nothing')});
}
$hipq->node->restart;
$hipq->in($_)->sql(q{SELECT hipq.enqueue('run', queue => 'app.main'); SELECT hipq.enqueue('run',
	queue => 'app.main', scheduled_run_time => now() + interval '3 seconds')})
	foreach @databases, 'postgres';
foreach my $database (@databases, 'postgres')
{
	ok($hipq->in($database)->wait_until(q{SELECT count(*) FROM hipq.app_main
			WHERE state <> 'final'}, 0), "jobs run in database $database");
}
is($hipq->sql(q{SELECT alert FROM hipq.alerts WHERE alert = 'databases'}), 'databases',
	'an alert reports that databases take turns');

# ---- executors that fail to start: 70 queue owners, and room for 64
$hipq->sql(q{
	SELECT format('CREATE ROLE owner_%s LOGIN', n) FROM generate_series(1, 70) AS n \gexec
	SELECT hipq.create_queue('owner.queue_' || translate(n::text, '0123456789', 'abcdefghij'),
		owner => ('owner_' || n)::regrole) FROM generate_series(1, 70) AS n;
	SELECT hipq.register_job_type('owner.queue_' || translate(n::text, '0123456789', 'abcdefghij'),
		'run', handler => 'nothing') FROM generate_series(1, 70) AS n;
	SELECT format('ALTER ROLE owner_%s NOLOGIN', n) FROM generate_series(1, 70) AS n \gexec
	SELECT hipq.enqueue('run', queue => 'owner.queue_' || translate(n::text, '0123456789',
		'abcdefghij')) FROM generate_series(1, 70) AS n});
ok($hipq->wait_until(q{SELECT count(*)
		FROM hipq.alerts WHERE alert = 'executors that fail to start'}, 1),
	'an alert reports that too many owners cannot log in');
$hipq->sql(q{SELECT format('ALTER ROLE owner_%s LOGIN', n)
	FROM generate_series(1, 70) AS n \gexec});
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.jobs WHERE queue LIKE 'owner.%'
		AND outcome = 'succeeded'}, 70), 'all jobs run when the owners can log in');

# ---- suspects of a crash: 3,000 jobs that ran, and room for 2,048
$hipq->sql(q{
	ALTER SYSTEM SET hipq.max_running = 4096;
	ALTER SYSTEM SET hipq.max_executors = 3;
	ALTER SYSTEM SET hipq.reserved_executors = 0;
	CREATE FUNCTION all_wait(data jsonb[]) RETURNS void LANGUAGE sql AS $$
		SELECT pg_advisory_xact_lock_shared(1) $$;
	SELECT hipq.register_job_type('app.main', 'waits', handler => 'all_wait', batch_size => 1000,
		claim => 'lock')});
$hipq->node->restart;
$lock = $hipq->hold_lock;
$hipq->sql(q{SELECT hipq.enqueue_many('waits', array_agg('{}'::jsonb))
	FROM generate_series(1, 3000)});
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.running}, 3000), '3,000 jobs run');
kill 'KILL', $hipq->sql(q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'});
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.jobs WHERE job_type = 'waits'
		AND outcome <> 'succeeded'}, 0), 'the 3,000 jobs run again after a crash of the server');
is($hipq->sql(q{SELECT count(*) FROM hipq.jobs_detail WHERE job_type = 'waits'
		AND retry_count = 0}), '3000', 'the 3,000 jobs are not charged');
is($hipq->sql(q{SELECT alert FROM hipq.alerts WHERE alert = 'crash cases'}), 'crash cases',
	'an alert reports that crash cases are full');
eval { $lock->quit };

done_testing();
