# If the versions of library and extension do not fit, no job runs, and the log and why() say so. No
# job runs in binary upgrade mode. ALTER EXTENSION interrupts a running job. After pg_upgrade the
# new server has the jobs and holds them.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $hipq = HipqCluster->new('versions', 'hipq.executor_idle_timeout' => '100ms',
	'hipq.retry_jitter' => 0);
my $node = $hipq->node;
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE FUNCTION run(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		IF job.attempt = 1 AND job.job_data ? 'sleep' THEN PERFORM pg_sleep(600); END IF; END $$;
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run')});
my $workers = q{SELECT count(*) FROM pg_stat_activity
	WHERE backend_type IN ('hipq scheduler', 'hipq executor')};
is($hipq->outcome_of('run'), 'succeeded', 'jobs run before the tests of versions');

# ---- ALTER EXTENSION while a job runs
my $id = $hipq->enqueue('run', q{'{"sleep": 1}'});
$hipq->pid_of($id);
my $start = time();
$hipq->sql(q{SET client_min_messages = warning; ALTER EXTENSION hipq UPDATE});
$hipq->in_time(time() - $start, 5, 'ALTER EXTENSION UPDATE takes less than 5 s while a job runs');
is($hipq->outcome($id, 20), 'succeeded',
	'the interrupted job succeeds after ALTER EXTENSION UPDATE');
is($hipq->sql("SELECT concat_ws(' ', attempt, retry_count) FROM hipq.job WHERE id = $id"), '2 0',
	'the interrupted job is not charged');

# ---- old SQL, new library
my $version = $hipq->sql(q{SELECT extversion FROM pg_extension WHERE extname = 'hipq'});
is($hipq->sql('SELECT hipq.version()'), $version, 'library and extension have the same version');
$hipq->sql(q{UPDATE pg_extension SET extversion = '0.0.1' WHERE extname = 'hipq'});
my $offset = -s $node->logfile;
$node->restart;
$id = $hipq->enqueue('run');
ok($node->wait_for_log(qr/hipq runs no jobs in database "postgres"/, $offset),
	'the log reports that the library does not fit the extension');
my $text = slurp_file($node->logfile, $offset);
like($text,
	qr/The extension is version 0\.0\.1, the library \Q$version\E: run ALTER EXTENSION hipq UPDATE, or restart the server\./,
	'the log has both versions, and what to do');
is($hipq->why($id), "version: The extension is version 0.0.1, the library $version: run ALTER "
	. "EXTENSION hipq UPDATE, or restart the server.", 'why() has both versions, and what to do');
$hipq->enqueue('run') foreach 1 .. 5;
ok($hipq->wait_until($workers, 0), 'no worker runs while the library does not fit');
is($hipq->sql("SELECT state FROM hipq.job WHERE id = $id"), 'initial',
	'no job runs while the library does not fit');
$text = slurp_file($node->logfile, $offset);
my $lines = () = $text =~ /hipq runs no jobs in database/g;
is($lines, 1, 'the log reports once that the library does not fit');

# ---- old SQL without a column, state or table: client functions report both versions
my $misfit =
	qr/55000: the library of hipq and the extension in this database do not fit each other.*The extension is version 0\.0\.1, the library \Q$version\E: .*Run ALTER EXTENSION hipq UPDATE, or restart the server when the old library is still loaded\./s;
my %calls = (
	enqueue => q{SELECT hipq.enqueue('run')},
	insert => q{INSERT INTO hipq.app_main (job_type) VALUES ('run')},
	copy => qq{COPY hipq.app_main (job_type) FROM STDIN;\nrun\n\\.},
	create_queue => q{SELECT hipq.create_queue('app.more')},
	pause => q{SELECT hipq.pause('app.main')},
	cancel => "SELECT hipq.cancel($id)",
	why => "SELECT * FROM hipq.why($id)");
sub fails_by
{
	my ($column, @calls) = @_;
	like($hipq->error_of($calls{$_}), qr/$misfit/, "$_ without $column reports both versions")
		foreach @calls;
	return;
}

my $jobs = $hipq->sql('SELECT count(*) FROM hipq.job');
$hipq->sql('ALTER TABLE hipq.queue RENAME COLUMN weight TO heft');
fails_by('queue.weight', sort keys %calls);
$hipq->sql('ALTER TABLE hipq.queue RENAME COLUMN heft TO weight;
	ALTER TABLE hipq.job RENAME COLUMN throttle_key TO brake');
fails_by('job.throttle_key', qw(enqueue insert copy cancel));
$hipq->sql('ALTER TABLE hipq.job RENAME COLUMN brake TO throttle_key;
	ALTER TABLE hipq.pause RENAME COLUMN crashes TO falls');
fails_by('pause.crashes', qw(enqueue pause));
$hipq->sql('ALTER TABLE hipq.pause RENAME COLUMN falls TO crashes;
	ALTER TYPE hipq.job_state RENAME VALUE $$retry$$ TO $$again$$');
fails_by('a state', qw(enqueue insert copy cancel));
$hipq->sql('ALTER TYPE hipq.job_state RENAME VALUE $$again$$ TO $$retry$$;
	ALTER TABLE hipq.dependency RENAME TO edge');
is($hipq->sql(q{SELECT hipq.enqueue('run') > 0}), 't',
	'a call that does not need the missing table works');
$hipq->sql('ALTER TABLE hipq.edge RENAME TO dependency');
is($hipq->sql('SELECT count(*) FROM hipq.job'), $jobs + 1, 'refused calls have enqueued nothing');

# ---- columns that the last release does not have, and this library does not need
my @columns = qw(instance.max_retries queue.max_retries queue.worker_wait_ttl);
sub rename_columns
{
	my ($from, $to) = @_;
	return $hipq->sql(join ';',
		map { s/(\w+)[.](\w+)/ALTER TABLE hipq.$1 RENAME COLUMN $from$2 TO $to$2/r } @columns);
}
rename_columns('', 'later_');
$hipq->sql(q{
	CREATE FUNCTION old_create_instance(name text, shard_key text, table_naming_strategy text,
		db_config jsonb, strict boolean, if_not_exists boolean, or_replace boolean) RETURNS integer
			LANGUAGE c AS '$libdir/hipq', 'hipq_create_or_replace_instance';
	CREATE FUNCTION old_alter_instance(name text, strict boolean, shard_key text,
		table_naming_strategy text, db_config jsonb) RETURNS void
		LANGUAGE c AS '$libdir/hipq', 'hipq_alter_whole_instance';
	CREATE FUNCTION old_alter_queue(queue text, owner regrole, throttle_limit double precision,
		retention hipq.duration, history text, strict boolean, queue_ttl hipq.duration,
		dead_letter_enabled boolean, dead_letter_retention hipq.duration, durability text,
		weight integer, dead_letter_max integer, dead_letter_handler text,
			max_timeout hipq.duration,
		highest_priority integer, allow_free_jobs boolean, retry_enabled boolean, reset text[],
		shard_key text, throttle_mode text, move_order text, unique_scope text)
		RETURNS void LANGUAGE c AS '$libdir/hipq', 'hipq_alter_queue';
	CREATE FUNCTION old_retry(id bigint, reason text, job_data jsonb, queue text) RETURNS bigint
		LANGUAGE c AS '$libdir/hipq', 'hipq_retry';
	CREATE FUNCTION old_unschedule(name text) RETURNS void
		LANGUAGE c AS '$libdir/hipq', 'hipq_unschedule'});
my $make = q{SELECT old_create_instance('older', 'NONE', 'NONE', '{}', false, false};
is($hipq->sql("$make, false) > 0"), 't', 'an instance can be created with old SQL');
is($hipq->sql("$make, true) > 0"), 't', 'an instance can be replaced with old SQL');
$hipq->sql(q{SELECT old_alter_instance('older', true, NULL, NULL, NULL)});
is($hipq->sql(q{SELECT is_strict FROM hipq.instance WHERE name = 'older'}), 't',
	'an instance can be altered with old SQL');
$hipq->sql(q{SELECT old_alter_queue('app.main', NULL, NULL, NULL, NULL, NULL,
	NULL, NULL, NULL, NULL,
	99, NULL, NULL, NULL, NULL, NULL, NULL, '{retention}', NULL, NULL, NULL, NULL)});
is($hipq->sql(q{SELECT weight FROM hipq.queue WHERE name = 'main'}), 99,
	'a queue can be altered with old SQL');
is($hipq->sql(q{SELECT hipq.enqueue('run') AS id \gset
	SELECT max_retries FROM hipq.job WHERE id = :id}),
	0, 'jobs can be enqueued with old SQL, with max_retries of the setting');
like($hipq->error_of('SELECT old_retry(4711, NULL, NULL, NULL)'), qr/job 4711 does not exist/,
	'jobs can be retried with old SQL');
like($hipq->error_of(q{SELECT old_unschedule('daily')}), qr/schedule "daily" does not exist/,
	'schedules can be deleted with old SQL');
is($hipq->sql(q{SELECT hipq.describe() #>> '{queues,0,weight}'}), 99,
	'describe() works with old SQL');
rename_columns('later_', '');

# ---- functions as an old script may have declared them: fewer arguments, other results
$hipq->sql(q{
	CREATE FUNCTION old_enqueue(job_type text, job_data jsonb) RETURNS bigint
		LANGUAGE c AS '$libdir/hipq', 'hipq_enqueue';
	CREATE FUNCTION old_enqueue_unique(text, jsonb, text, text, timestamptz,
		integer, integer, numeric, text, integer, timestamptz, text, text, integer, OUT id bigint,
		OUT action text, OUT more text)
		LANGUAGE c AS '$libdir/hipq', 'hipq_enqueue_unique';
	CREATE FUNCTION old_why(id bigint, queue text, OUT condition text, OUT passed boolean)
		RETURNS SETOF record LANGUAGE c AS '$libdir/hipq', 'hipq_why'});
my %old_calls = (
	'few arguments' => q{SELECT old_enqueue('run', '{}')},
	'many columns' => q{SELECT old_enqueue_unique('run', '{}', NULL, 'key', NULL, NULL, NULL, NULL,
		NULL, NULL, NULL, NULL, NULL, NULL)},
	'few columns in a set' => "SELECT old_why($id, NULL)");
like($hipq->error_of($old_calls{$_}), $misfit,
	"a function with too $_ reports that the library does not fit") foreach sort keys %old_calls;
$hipq->sql(qq{UPDATE pg_extension SET extversion = '$version' WHERE extname = 'hipq';
	SET client_min_messages = warning; ALTER EXTENSION hipq UPDATE});
is($hipq->outcome($id, 10), 'succeeded', 'the waiting job runs after ALTER EXTENSION UPDATE');
like($hipq->error_of($old_calls{$_}),
	qr/42P13: function old_.* has (?:no argument|other results).*The functions of hipq are declared by its script alone/s,
	"a function with too $_ of the right version is refused") foreach sort keys %old_calls;

# ---- binary upgrade mode
$hipq->switch_off;    # the job must not run before the server has stopped
my $future = $hipq->enqueue('run', q{scheduled_run_time => now() + interval '2 s'});
$hipq->sql('ALTER SYSTEM SET hipq.enabled = on');
$node->stop;
$node->command_ok([ 'pg_ctl', '-D', $node->data_dir, '-l', $node->logfile, '-o', '-b', '-w',
		'start' ], 'the server starts in binary upgrade mode');
ok($hipq->wait_until(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'walwriter'}, 1),
	'the server is up in binary upgrade mode');
ok($hipq->wait_until("SELECT scheduled_run_time < clock_timestamp() - interval '1 s' FROM hipq.jobs
		WHERE id = $future"), 'the scheduled job is due');
is($hipq->sql(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'hipq%'}), 0,
	'hipq has no process in binary upgrade mode');
is($hipq->sql("SELECT state FROM hipq.job WHERE id = $future"), 'initial',
	'no job runs in binary upgrade mode');
$node->command_ok([ 'pg_ctl', '-D', $node->data_dir, '-w', 'stop' ],
	'the server stops in binary upgrade mode');
$node->start;
is($hipq->outcome($future), 'succeeded',
	'the scheduled job runs after a normal start of the server');

# ---- pg_upgrade, to the same version
$future = $hipq->enqueue('run',
	q{scheduled_run_time => now() + interval '1 day', job_key => 'kept'});
$node->stop;
my $new = PostgreSQL::Test::Cluster->new('upgraded');
$new->init;
$new->append_conf('postgresql.conf',
	"max_worker_processes = 20\nshared_preload_libraries = 'hipq'\n");
chdir PostgreSQL::Test::Utils::tempdir() or die $!;
my $bin = $node->config_data('--bindir');
$new->command_ok([ 'pg_upgrade', '--no-sync', '-d', $node->data_dir, '-D', $new->data_dir, '-b',
		$bin, '-B', $bin, '-s', $new->host, '-p', $node->port, '-P', $new->port ],
	'pg_upgrade works while jobs wait');
$new->start;
my $upgraded = bless { %$hipq, node => $new }, 'HipqCluster';
is($upgraded->sql("SELECT outcome || ' ' || job_key FROM hipq.jobs WHERE id = $future"),
	'waiting kept', 'the upgraded server has the waiting job');
$id = $upgraded->enqueue('run');
like($upgraded->why($id), qr/^hold:/, 'the upgraded server holds the jobs, as after a restore');
$upgraded->sql('SELECT hipq.release_hold()');
is($upgraded->outcome($id), 'succeeded', 'the upgraded server runs jobs after release_hold()');
$new->stop;

done_testing();
