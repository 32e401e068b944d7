# A library that does not fit the extension idles and says so; so does a server in binary upgrade mode. ALTER EXTENSION meets no
# worker. After pg_upgrade the jobs are there, and held.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $hipq = HipqCluster->new('versions', 'hipq.executor_idle_timeout' => '100ms', 'hipq.retry_jitter' => 0);
my $node = $hipq->node;
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE FUNCTION run(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$ BEGIN IF job.attempt = 1 AND job.job_data ? 'sleep' THEN PERFORM pg_sleep(600); END IF; END $$;
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run')});
my $workers = q{SELECT count(*) FROM pg_stat_activity WHERE backend_type IN ('hipq scheduler', 'hipq executor')};
is($hipq->outcome_of('run'), 'succeeded', 'jobs run');

# ---- ALTER EXTENSION while a job runs
my $id = $hipq->enqueue('run', q{'{"sleep": 1}'});
$hipq->pid_of($id);
my $start = time();
$hipq->sql(q{SET client_min_messages = warning; ALTER EXTENSION hipq UPDATE});
cmp_ok(time() - $start, '<', 5, 'ALTER EXTENSION UPDATE: within 5 s');
is($hipq->outcome($id, 20), 'succeeded', 'the workers come back');
is($hipq->sql("SELECT concat_ws(' ', attempt, retry_count) FROM hipq.jobs WHERE id = $id"), '2 0', 'the job that ran is not charged');

# ---- old SQL, new library
my $version = $hipq->sql(q{SELECT extversion FROM pg_extension WHERE extname = 'hipq'});
is($hipq->sql('SELECT hipq.version()'), $version, 'library and extension fit');
$hipq->sql(q{UPDATE pg_extension SET extversion = '0.0.1' WHERE extname = 'hipq'});
my $offset = -s $node->logfile;
$node->restart;
$id = $hipq->enqueue('run');
ok($node->wait_for_log(qr/hipq runs no jobs in database "postgres"/, $offset), 'a library that does not fit says so in the log');
my $text = slurp_file($node->logfile, $offset);
like($text, qr/The extension is version 0\.0\.1, the library \Q$version\E: run ALTER EXTENSION hipq UPDATE, or restart the server\./, 'with both versions and what to do');
is($hipq->why($id), "version: The extension is version 0.0.1, the library $version: run ALTER EXTENSION hipq UPDATE, or restart the server.", 'why() says so');
$hipq->enqueue('run') foreach 1 .. 5;
ok($hipq->wait_until($workers, 0), 'nobody works');
is($hipq->sql("SELECT state FROM hipq.jobs WHERE id = $id"), 'initial', 'nothing runs');
$text = slurp_file($node->logfile, $offset);
my $lines = () = $text =~ /hipq runs no jobs in database/g;
is($lines, 1, 'the log has one line of it');
$hipq->sql(qq{UPDATE pg_extension SET extversion = '$version' WHERE extname = 'hipq'; SET client_min_messages = warning; ALTER EXTENSION hipq UPDATE});
is($hipq->outcome($id, 10), 'succeeded', 'after ALTER EXTENSION UPDATE the jobs run');

# ---- binary upgrade mode
my $future = $hipq->enqueue('run', q{scheduled_run_time => now() + interval '2 s'});
$node->stop;
$node->command_ok([ 'pg_ctl', '-D', $node->data_dir, '-l', $node->logfile, '-o', '-b', '-w', 'start' ], 'the server starts in binary upgrade mode');
ok($hipq->wait_until(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'logical replication launcher'}, 1), 'it is up');
ok($hipq->wait_until("SELECT scheduled_run_time < clock_timestamp() - interval '1 s' FROM hipq.jobs WHERE id = $future"), 'the job is due');
is($hipq->sql(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'hipq%'}), 0, 'hipq has no process');
is($hipq->sql("SELECT state FROM hipq.jobs WHERE id = $future"), 'initial', 'nothing runs');
$node->command_ok([ 'pg_ctl', '-D', $node->data_dir, '-w', 'stop' ], 'it stops');
$node->start;
is($hipq->outcome($future), 'succeeded', 'started as usual it goes on');

# ---- pg_upgrade, to the same version
$future = $hipq->enqueue('run', q{scheduled_run_time => now() + interval '1 day', job_key => 'kept'});
$node->stop;
my $new = PostgreSQL::Test::Cluster->new('upgraded');
$new->init;
$new->append_conf('postgresql.conf', "max_worker_processes = 20\nshared_preload_libraries = 'hipq'\n");
chdir PostgreSQL::Test::Utils::tempdir() or die $!;
my $bin = $node->config_data('--bindir');
$new->command_ok([ 'pg_upgrade', '--no-sync', '-d', $node->data_dir, '-D', $new->data_dir, '-b', $bin, '-B', $bin, '-s', $new->host, '-p', $node->port, '-P', $new->port ],
	'pg_upgrade works while jobs wait');
$new->start;
my $upgraded = bless { %$hipq, node => $new }, 'HipqCluster';
is($upgraded->sql("SELECT outcome || ' ' || job_key FROM hipq.jobs WHERE id = $future"), 'waiting kept', 'the jobs came along');
$id = $upgraded->enqueue('run');
like($upgraded->why($id), qr/^hold:/, 'they are held, as after a restore');
$upgraded->sql('SELECT hipq.release_hold()');
is($upgraded->outcome($id), 'succeeded', 'until release_hold()');
$new->stop;

done_testing();
