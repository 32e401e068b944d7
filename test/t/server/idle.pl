# Ten idle databases with hipq have no process but the launcher, run no statement and write no WAL
# for a minute. The next job in any of them starts within 50 ms.
use strict;
use warnings;
use HipqCluster;
use HipqPoints;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

# The server itself writes no WAL and connects to no database.
my $hipq = HipqCluster->new('idle', extension => 0, 'wal_level' => 'minimal',
	'max_wal_senders' => 0, 'autovacuum' => 'off', 'checkpoint_timeout' => '1d',
	'hipq.executor_idle_timeout' => '1s');
my $admin = $hipq->in('postgres');
my @databases = map { "idle$_" } 1 .. 10;
foreach my $name (@databases)
{
	$admin->sql("CREATE DATABASE $name");
	my $db = $hipq->in($name);
	$db->sql('CREATE EXTENSION hipq');
	$db->create_queue('app.main');
	$db->sql(q{
		CREATE TABLE ran (id bigint, at timestamptz);
		GRANT ALL ON ran TO app;
		CREATE FUNCTION run(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN
			INSERT INTO ran VALUES (job.id, clock_timestamp());
			IF job.job_data ? 'lock' THEN PERFORM pg_advisory_xact_lock_shared(1); END IF;
		END $$;
		SELECT hipq.register_job_type('app.main', 'run', handler => 'run')});
	is($db->outcome_of('run'), 'succeeded', "database $name works");
}
# Until here CREATE DATABASE can end a scheduler in the database that it copies.
my $set_up = -s $hipq->node->logfile;
my $workers = q{SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'hipq%'
	AND backend_type <> 'hipq launcher'};
ok($admin->wait_until($workers, 0), 'only the launcher is left');

# ---- a minute without jobs
my $watch = $hipq->session;
sub watched
{
	my ($query) = @_;
	my $answer = $watch->query_safe($query);
	$answer =~ s/\s+$//;
	return $answer;
}
# The processes that have exited and this session cause some work in the server. The work is done
# when two readings agree.
my $state = q{SELECT pg_current_wal_insert_lsn() || ' '
	|| (SELECT string_agg(datid || ':' || xact_commit || ':' || xact_rollback, ' ' ORDER BY datid)
	FROM pg_stat_database WHERE datname LIKE 'idle%' OR datid = 0)};
watched('CHECKPOINT');
my ($before, $last) = ('', '-');
my $end = time() + 30;
while ($before ne $last && time() < $end)
{
	$last = $before;
	usleep(2_000_000);
	$before = watched($state);
}
my $seen = 0;
$end = time() + 60;
while (time() < $end)
{
	$seen += watched($workers);
	usleep(1_000_000);
}
is(watched($state), $before, 'an idle server runs no statement and writes no WAL in a minute');
is($seen, 0, 'an idle server has no scheduler and no executor');
$watch->quit;

# ---- the next job. psql measures how long this machine takes now to start a process.
sub median { my @sorted = sort { $a <=> $b } @_; return $sorted[$#sorted / 2]; }
sub start_time
{
	my ($db) = @_;
	$admin->wait_until($workers, 0) or die 'a worker does not exit';
	my ($id, $at) = split / /,
		$db->sql(q{SELECT hipq.enqueue('run') || ' ' || extract(epoch FROM clock_timestamp())});
	$db->wait_until("SELECT count(*) FROM ran WHERE id = $id", 1) or die 'it did not run';
	return $db->sql("SELECT extract(epoch FROM at) - $at FROM ran WHERE id = $id") * 1000;
}
my (@started, @connected);
foreach my $name (@databases)
{
	push @started, start_time($hipq->in($name));
	my $start = time();
	$hipq->in($name)->sql('SELECT 1');
	push @connected, (time() - $start) * 1000;
}
my ($started, $connected) = (median(@started), median(@connected));
# 50 ms on an idle machine. On a busy machine the limit grows with the time that psql takes.
my $limit = $connected > 25 ? 50 * $connected / 25 : 50;
diag(sprintf('the next job starts within %.0f ms (psql: %.0f ms)', $started, $connected));
cmp_ok($started, '<', $limit, 'the next job starts within 50 ms');

# ---- a second job gets its own executor while the executor of the first job still starts
{
	my $db = $hipq->in($databases[0]);
	my $points = HipqPoints->new($db);
	$admin->wait_until($workers, 0) or die 'a worker does not exit';
	my $lock = $db->hold_lock;
	$points->arm('before-look', 'wait');
	my @ids = ($db->enqueue('run', q{'{"lock": 1}'}));
	ok($points->wait_held('before-look'),
		'the executor for the first job is about to check for jobs');
	push @ids, $db->enqueue('run', q{'{"lock": 1}'});
	ok($db->wait_until('SELECT count(*) >= 1 FROM hipq.running', 't', 5),
		'another executor starts for the second job');
	$points->reset;
	ok($db->wait_until('SELECT count(*) FROM hipq.running', 2, 5), 'both jobs run');
	$lock->quit;
	is($db->outcome($_), 'succeeded', 'both jobs succeed') foreach @ids;
}

unlike(slurp_file($hipq->node->logfile, $set_up), qr/FATAL|PANIC|TRAP/,
	'the log has no FATAL, PANIC or TRAP');
done_testing();
