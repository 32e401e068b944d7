# With a synchronous standby clients learn the end of a job only when the standby has it, as
# synchronous_commit says. The ends of jobs that clients know survive a failover.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $primary = HipqCluster->new('primary', streaming => 1);
$primary->create_queue('app.strict');
$primary->create_queue('app.grouped', durability => 'group');
$primary->sql(q{
	CREATE TABLE effect (id bigint);
	GRANT ALL ON effect TO app;
	CREATE FUNCTION run(job hipq.job) RETURNS void LANGUAGE sql AS $$ INSERT INTO effect
		VALUES (job.id) $$;
	CREATE FUNCTION notify(job hipq.job) RETURNS void LANGUAGE sql AS $$
		SELECT pg_notify('done', job.id::text) $$;
	SELECT hipq.register_job_type(queue, 'run', handler => 'run') FROM hipq.queues;
	SELECT hipq.register_job_type(queue, 'notify', handler => 'notify', claim => 'lock')
		FROM hipq.queues});
is($primary->outcome_of('run', "queue => 'app.$_'"), 'succeeded', "$_: jobs run without a standby")
	foreach 'strict', 'grouped';

$primary->node->backup('backup');
my $node = PostgreSQL::Test::Cluster->new('standby');
$node->init_from_backup($primary->node, 'backup', has_streaming => 1);
$node->start;
my $standby = bless { %$primary, node => $node }, 'HipqCluster';
$primary->set(synchronous_standby_names => 'standby', synchronous_commit => 'remote_apply');
ok($primary->wait_until(q{SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'}, 1),
	'there is a synchronous standby');
is($primary->outcome_of('run', "queue => 'app.$_'"), 'succeeded',
	"$_: jobs run with a synchronous standby") foreach 'strict', 'grouped';

sub pause
{
	$standby->sql('SELECT pg_wal_replay_pause()');
	$standby->wait_until(q{SELECT pg_get_wal_replay_pause_state() = 'paused'});
	return;
}
sub resume { $standby->sql('SELECT pg_wal_replay_resume()'); return; }

# Enqueueing and the queries of this test do not wait for the paused standby.
my $local = 'SET synchronous_commit = local;';
sub enqueue
{
	my ($type, $queue, $more) = @_;
	return $primary->sql("$local SELECT hipq.enqueue('$type', queue => 'app.$queue'"
		. ($more // '') . ')');
}
sub told
{
	my ($id, $wait, $set) = @_;
	return $primary->sql(($set // '') . "SELECT outcome FROM hipq.wait_for($id, '$wait')");
}

# ---- the standby does not apply WAL
my $listener = $primary->session;
$listener->query_safe('LISTEN done');
my $worker = $primary->session;
$primary->sql(q{SELECT hipq.register_job_type('app.strict', 'outside', handler => 'notify');
	SELECT hipq.alter_job_type('app.strict', 'outside', handler => 'NONE')});
my $worker_id = $worker->query_safe(
	q{SELECT hipq.register_worker('w', queues => '{app.strict}', job_types => '{outside}')});
my $outside = $primary->enqueue('outside', q{queue => 'app.strict'});
my $attempt = $worker->query_safe("SELECT attempt FROM hipq.claim($worker_id, 1, '20 s')");
is($attempt, '1', 'an external worker has a job');
pause();
my %job = ('grouped notify' => enqueue('notify', 'grouped'));
ok($primary->wait_until("SELECT state = 'final' FROM hipq.jobs_detail
		WHERE id = $job{'grouped notify'}"), 'grouped: a job is final on the primary');
is(told($job{'grouped notify'}, '2 s'), 'running',
	'grouped: wait_for() with remote_apply does not report the end of the job');
is(told($job{'grouped notify'}, '2 s', $local), 'succeeded',
	'grouped: wait_for() with local commits reports the end of the job');
unlike($listener->query_safe('SELECT 1'), qr/Asynchronous notification/,
	'grouped: the listener gets no notification');
$job{'strict run'} = enqueue('run', 'strict', q{, timeout => '1 s'});
$job{'strict notify'} = enqueue('notify', 'strict');
$job{'grouped run'} = enqueue('run', 'grouped');
ok($primary->wait_until(q{SELECT count(*) > 0
		FROM pg_stat_activity WHERE backend_type = 'hipq executor' AND wait_event = 'SyncRep'}),
	'executors wait for the standby');
isnt(told($job{'strict run'}, '2 s', $local), 'succeeded',
	'strict: no job is final before the standby has it, also past its timeout');
is($primary->sql("SELECT state <> 'final' FROM hipq.jobs_detail WHERE id = $job{'strict run'}"),
	't', 'strict: no session sees the job as final');
unlike($listener->query_safe('SELECT 1'), qr/Asynchronous notification/,
	'strict: the listener gets no notification');
$worker->query_until(qr/sent/,
	"\\echo sent\nSELECT hipq.complete($outside, $attempt);\n\\echo completed\n");
ok($primary->wait_until(q{SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%hipq.complete%'
		AND wait_event = 'SyncRep'}, 1), 'the answer to an external worker waits for the standby');
unlike($worker->{stdout}, qr/completed/,
	'the external worker gets no answer before the standby has it');
resume();
is(told($job{$_}, '60 s'), 'succeeded',
	"$_: wait_for() reports the end of the job when the standby has it")
	foreach sort keys %job;
$worker->{run}->pump until $worker->{stdout} =~ /completed/ || $worker->{timeout}->is_expired;
like($worker->{stdout}, qr/completed/,
	'the external worker has its answer when the standby has it');
my $heard = '';
foreach (1 .. 100)
{
	$heard .= $listener->query('SELECT 1');
	last if (() = $heard =~ /Asynchronous notification/g) >= 2;
	usleep(50_000);
}
is(scalar(() = $heard =~ /Asynchronous notification/g), 2,
	'the listener gets both notifications when the standby has the jobs');
unlike(slurp_file($primary->node->logfile), qr/canceling.*wait for synchronous replication/,
	'no wait for the standby was cancelled');
$_->quit foreach $listener, $worker;

# ---- failover: the test keeps a ledger of the answers
my (@told, @waiting);
foreach my $i (1 .. 20)
{
	my $id = $primary->enqueue('run', sprintf q{queue => 'app.%s'}, $i % 2 ? 'strict' : 'grouped');
	push @told, $id if told($id, '60 s') eq 'succeeded';
}
is(scalar @told, 20, 'twenty jobs have succeeded before the failover');
pause();
push @waiting, enqueue('run', $_) foreach 'strict', 'grouped';
my $enqueued = $primary->sql('SELECT pg_current_wal_flush_lsn()');
ok($primary->wait_until("SELECT flush_lsn >= '$enqueued' FROM pg_stat_replication"),
	'the standby has two more jobs, and does not apply them');
ok($primary->wait_until("SELECT state = 'final' FROM hipq.jobs_detail WHERE id = $waiting[1]"),
	'grouped: one of the two jobs is final on the primary');
is(told($waiting[1], '1 s'), 'running',
	'grouped: wait_for() does not report the end of a job that the standby has not applied');
$primary->node->stop('immediate');
$node->promote;
my $list = join ', ', @told;
is($standby->sql("SELECT count(*) FROM hipq.jobs WHERE id IN ($list) AND outcome = 'succeeded'"),
	20, 'the jobs whose success clients know have succeeded after the failover');
is($standby->sql("SELECT count(*) || ' ' || count(DISTINCT id) FROM effect WHERE id IN ($list)"),
	'20 20', 'the jobs whose success clients know have their effects after the failover');
$standby->sql(q{ALTER SYSTEM RESET synchronous_standby_names; SELECT pg_reload_conf()});
is($standby->outcome($_), 'succeeded', "job $_ succeeds after the failover") foreach @waiting;
is($standby->sql('SELECT count(*) || $$ $$ || count(DISTINCT id) FROM effect WHERE id IN ('
		. join(', ', @waiting) . ')'), '2 2',
	'both jobs that the standby had not applied have their effects once');
is($standby->outcome_of('run', q{queue => 'app.grouped'}), 'succeeded',
	'new jobs run after the failover');
done_testing();
