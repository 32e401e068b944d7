# When no background worker slot is free, the log reports it once a minute, and why() says so. Jobs
# run by themselves when a slot is free. A scheduler, the oldest first, exits to give its slot to an
# executor.
use strict;
use warnings;
use HipqCluster;
use HipqPoints;
use HipqProgram;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

# The launchers of hipq and of logical replication use two of the slots.
my $hipq = HipqCluster->new('slots', 'max_worker_processes' => 6, 'max_parallel_workers' => 4,
	'hipq.max_executors' => 4, 'hipq.executor_idle_timeout' => '100ms');
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE FUNCTION run(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run');
	CREATE TABLE long (n integer) WITH (parallel_workers = 4);
	INSERT INTO long SELECT generate_series(1, 10000)});
is($hipq->outcome_of('run'), 'succeeded', 'jobs run while slots are free');
my $idle = q{SELECT count(*) FROM pg_stat_activity
	WHERE backend_type IN ('hipq executor', 'hipq scheduler')};
ok($hipq->wait_until($idle, 0), 'scheduler and executors have exited');

sub complaints
{
	my $text = slurp_file($hipq->node->logfile, $_[0]);
	my $count = () = $text =~ /hipq found no free background worker slot/g;
	return $count;
}
sub pass_time { my $end = time() + $_[0]; usleep(50_000) while time() < $end; return; }

# ---- parallel workers take all slots
my $offset = -s $hipq->node->logfile;
my $eater = $hipq->session(on_error_stop => 0);
$eater->query_until(qr/started/, q{
	SET max_parallel_workers_per_gather = 4; SET parallel_setup_cost = 0; SET parallel_tuple_cost =
		0; SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off;
	\echo started
	SELECT count(pg_sleep(100)) FROM long;
});
ok($hipq->wait_until(q{SELECT count(*) FROM pg_stat_activity
		WHERE backend_type = 'parallel worker'}, 4), 'parallel workers have all slots');
my $id = $hipq->enqueue('run');
ok($hipq->node->wait_for_log(qr/hipq found no free background worker slot/, $offset),
	'the log reports that there is no slot for an executor');
is($hipq->sql("SELECT state FROM hipq.jobs_detail WHERE id = $id"), 'initial',
	'the job waits for a slot');
is($hipq->why($id), 'executor: No background worker slot is free: raise max_worker_processes.',
	'why() says that no slot is free');
is(complaints($offset), 1, 'the log reports the missing slot once');
$hipq->enqueue('run') foreach 1 .. 5;
is(complaints($offset), 1, 'more jobs do not add lines about the missing slot to the log');
$hipq->set('hipq.clock_offset' => 61);
HipqProgram->wait_for(sub { complaints($offset) >= 2 });
is(complaints($offset), 2, 'the log reports the missing slot again after a minute');
$hipq->sql(q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(100)%'
	AND backend_type = 'client backend' AND pid <> pg_backend_pid()});
is($hipq->outcome($id, 10), 'succeeded', 'the waiting job runs when a slot is free');
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.jobs WHERE outcome = 'succeeded'}, 7),
	'the later jobs run when a slot is free');
$hipq->set('hipq.clock_offset' => 0);

# ---- more databases with work than slots: schedulers make room for executors, and databases take
# turns
my @databases = map { $hipq->node->safe_psql('postgres', "CREATE DATABASE db$_");
	$hipq->in("db$_") } 1 .. 6;
$hipq->set('hipq.databases' => 'nowhere');
foreach my $db (@databases)
{
	$db->sql('CREATE EXTENSION hipq');
	$db->create_queue('app.main');
	$db->sql(q{
		CREATE FUNCTION run(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
		SELECT hipq.register_job_type('app.main', 'run', handler => 'run');
		SELECT hipq.enqueue('nobody', queue => 'app.main');    -- keeps the scheduler
		SELECT hipq.enqueue_many('run', array_agg('{}'::jsonb)) FROM generate_series(1, 20)});
}
$hipq->set('hipq.databases' => '*');
foreach my $db (@databases)
{
	ok($db->wait_until(q{SELECT count(*) FROM hipq.jobs WHERE outcome = 'succeeded'}, 20),
		"jobs of database $db->{database} run");
}

# ---- the oldest scheduler exits for an executor, whichever scheduler checks first
my $few = HipqCluster->new('few', log_min_messages => 'debug1', 'max_worker_processes' => 5,
	'hipq.max_executors' => 2, 'hipq.executor_idle_timeout' => '100ms');
my $points = HipqPoints->new($few);
sub scheduler
{
	my ($db) = @_;
	return "SELECT (SELECT coalesce(max(pid), 0) FROM pg_stat_activity
		WHERE backend_type = 'hipq scheduler' AND datname = '$db->{database}')";
}
# A change of a queue makes the scheduler check everything.
sub look { my ($db) = @_; $db->sql(q{SELECT hipq.alter_queue('app.main', weight => 50)}); return; }
my @three = ($few,
	map { $few->node->safe_psql('postgres', "CREATE DATABASE few$_"); $few->in("few$_") } 1, 2);
foreach my $db (@three)
{
	$db->sql('CREATE EXTENSION IF NOT EXISTS hipq');
	$db->create_queue('app.main');
	$db->sql(qq{
		CREATE FUNCTION run(data jsonb) RETURNS void LANGUAGE plpgsql AS \$\$ BEGIN END \$\$;
		SELECT hipq.register_job_type('app.main', 'run', handler => 'run');
		SELECT hipq.register_job_type('app.main', 'out', handler_kind => 'notify');
		SELECT hipq.register_job_type('app.main', '$db->{database}', handler_kind => 'notify')});
}
ok($few->wait_until($idle, 0), 'no scheduler and no executor runs');
foreach my $db (@three)
{
	$db->enqueue('out');    # keeps the scheduler
	ok($few->wait_until(scheduler($db) . ' > 0', 't'), "the scheduler of $db->{database} runs");
}
my ($first, @younger) = map { $few->sql(scheduler($_)) } @three;
my $held;
foreach (1 .. 20)    # another scheduler may check first
{
	$points->arm('before-ask-for-executors', 'wait');
	look($three[0]);
	$held = $points->wait_held('before-ask-for-executors');
	last if $held == $first;
	$points->reset;
}
is($held, $first, 'the oldest scheduler is held');
my $needy = $three[2]->enqueue('run');
ok($three[2]->wait_until("SELECT explanation FROM hipq.why($needy) WHERE condition = 'executor'",
		'No background worker slot is free: raise max_worker_processes.'),
	'an executor of another database finds no slot');
foreach my $db (@three[1, 2])
{
	$db->enqueue($db->{database});
	look($db);
	ok($few->node->wait_for_log(
			qr/jobs of type "$db->{database}" in queue "app.main" wait for an external worker/),
		"the scheduler of $db->{database} checks for work");
	is($few->sql(scheduler($db) . ' = ANY (\'{' . join(',', @younger) . '}\')'), 't',
		"the scheduler of $db->{database} does not exit");
}
$offset = -s $few->node->logfile;
$points->reset;
is($three[2]->outcome($needy), 'succeeded',
	'the waiting job runs in the slot of the oldest scheduler');
my ($left) = slurp_file($few->node->logfile, $offset)
	=~ /background worker "hipq scheduler" \(PID (\d+)\) exited/;
# Databases take turns: another scheduler may have exited since.
is($left, $first, 'the oldest scheduler exits before all others');
ok($few->wait_until(scheduler($few) . " NOT IN (0, $first)", 't', 30),
	'a new scheduler runs in the database of the oldest one');

done_testing();
