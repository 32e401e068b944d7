# The scheduler reads queues that have changed and queues with a job that is due. It misses no job,
# and hardly reads other queues.
use strict;
use warnings;
use HipqCluster;
use Test::More;

my $queues = 30;
my $hipq = HipqCluster->new('dirty_queues', 'hipq.max_executors' => 2, 'hipq.retry_jitter' => 0);
$hipq->sql(q{
	CREATE FUNCTION nothing(data jsonb) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
	CREATE FUNCTION queue_name(n integer) RETURNS text LANGUAGE sql IMMUTABLE AS $$SELECT 'app.q_'
		|| translate(n::text, '0123456789', 'abcdefghij')$$});
$hipq->sql("SELECT hipq.create_queue(queue_name(n), owner => 'app'),
	hipq.register_job_type(queue_name(n), 'run', handler => 'nothing')
	FROM generate_series(1, $queues) AS n");
my $unfinished = q{SELECT sum(initial + running_jobs + retry) FROM hipq.queues};
ok($hipq->wait_until($unfinished, 0), 'at the start no queue has an unfinished job');

# ---- every queue at once
$hipq->sql("SELECT hipq.enqueue('run', '{}', queue => queue_name(n))
	FROM generate_series(1, $queues) AS n");
ok($hipq->wait_until($unfinished, 0), 'jobs in all queues, from one transaction, run');
$hipq->sql("DO \$\$ BEGIN FOR n IN 1 .. $queues LOOP
	PERFORM hipq.enqueue('run', '{}', queue => queue_name(n)); COMMIT; END LOOP; END \$\$");
ok($hipq->wait_until($unfinished, 0), 'jobs in all queues, from one transaction each, run');

# ---- a queue without changes
my $scans = q{SELECT coalesce(seq_scan, 0) + coalesce(idx_scan, 0) FROM pg_stat_all_tables
	WHERE schemaname = 'hipq' AND relname = 'app_q_h_live'};
my $finished_in =
	'SELECT count(*) FROM hipq.jobs WHERE queue = \'app.q_d\' AND outcome = \'succeeded\'';
# An idle process has reported its reads to the statistics.
ok($hipq->wait_until(q{SELECT coalesce(bool_and(state = 'idle' AND wait_event_type = 'Extension'),
		true) FROM pg_stat_activity WHERE backend_type IN ('hipq scheduler', 'hipq executor')}),
	'all processes are idle');
my $before = $hipq->sql($scans);
my $finished = $hipq->sql($finished_in);
$hipq->sql(q{
	DO $$
	BEGIN
		FOR n IN 1 .. 50 LOOP
			PERFORM hipq.enqueue_many('run', ARRAY['{}', '{}']::jsonb[], queue => 'app.q_d');
			COMMIT;
			PERFORM pg_sleep(0.02);
		END LOOP;
	END $$});
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.app_q_d_final}, $finished + 100),
	'a hundred jobs in one queue are final');
is($hipq->sql($finished_in), $finished + 100, 'a hundred jobs in one queue have succeeded');
cmp_ok($hipq->sql($scans) - $before, '<', 20,
	'a hundred jobs in one queue cause fewer than 20 scans of another queue');

# ---- jobs that become due in a queue without changes
$hipq->sql(q{SELECT hipq.pause('app.q_bb')});
my $expiring = $hipq->enqueue('run',
	q{'{}', queue => 'app.q_bb', expires_time => now() + interval '1 hour'});
my $later = $hipq->enqueue('run',
	q{'{}', queue => 'app.q_bc', scheduled_run_time => now() + interval '2 hours'});
$hipq->outcome_of('run', q{'{}', queue => 'app.q_d'});
$hipq->set('hipq.clock_offset' => 4_000);
is($hipq->outcome($expiring), 'expired', 'a job in a quiet queue expires in time');
is($hipq->sql("SELECT state FROM hipq.jobs_detail WHERE id = $later"), 'initial',
	'a job in a quiet queue waits until it is due');
$hipq->sql(q{SELECT hipq.resume('app.q_bb')});
$hipq->set('hipq.clock_offset' => 8_000);
is($hipq->outcome($later), 'succeeded', 'a job in a quiet queue runs when it is due');

# ---- the scheduler is terminated
my ($first, $second) = map { $hipq->enqueue('run',
		"'{}', queue => queue_name($_), scheduled_run_time => hipq.now() + interval '1 hour'") } 21,
	22;
my $scheduler = q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'hipq scheduler'};
$hipq->outcome_of('run', q{'{}', queue => 'app.q_d'});
$hipq->sql("SELECT pg_terminate_backend(pid) FROM ($scheduler) AS found");
$hipq->set('hipq.clock_offset' => 12_000);
is($hipq->outcome($_), 'succeeded', 'a scheduled job runs after its scheduler was terminated')
	foreach $first, $second;

# ---- a pause of a queue without other changes ends
$hipq->sql(q{SELECT hipq.pause('app.q_cf')});
my $paused = $hipq->enqueue('run', q{'{}', queue => 'app.q_cf'});
$hipq->outcome_of('run', q{'{}', queue => 'app.q_d'});
is($hipq->sql("SELECT state FROM hipq.jobs_detail WHERE id = $paused"), 'initial',
	'a job waits in a paused queue');
$hipq->sql(q{SELECT hipq.resume('app.q_cf')});
is($hipq->outcome($paused), 'succeeded', 'a job runs when its queue is resumed');

# ---- very many due lanes
$hipq->switch_off;
$hipq->sql("SELECT hipq.enqueue('run', '{}', queue => queue_name(n), priority => p)
	FROM generate_series(1, $queues) AS n, generate_series(0, 9) AS p");
$hipq->set('hipq.enabled' => 'on');
ok($hipq->wait_until($unfinished, 0),
	'jobs run in more due lanes than an executor weighs at a time');

done_testing();
