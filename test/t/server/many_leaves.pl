# The scheduler makes the leaves of many queues one after the other. Between two leaves it does its
# other work.
use strict;
use warnings;
use HipqCluster;
use HipqFaults;
use HipqPoints;
use Test::More;

my $queues = 60;
my $hipq = HipqCluster->new('many_leaves',
	'hipq.max_executors' => 2, 'hipq.executor_idle_timeout' => '1h', 'hipq.health_enabled' => 'off',
	track_commit_timestamp => 'on');
my $points = HipqPoints->new($hipq);
$hipq->sql(q{
	CREATE FUNCTION nothing(data jsonb) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
	CREATE FUNCTION queue_name(n integer) RETURNS text LANGUAGE sql IMMUTABLE AS $$SELECT 'app.q_'
		|| translate(n::text, '0123456789', 'abcdefghij')$$});
$hipq->sql("SELECT hipq.create_queue(queue_name(n), owner => 'app'),
	hipq.register_job_type(queue_name(n), 'run', handler => 'nothing')
	FROM generate_series(1, $queues) AS n");
$hipq->create_queue('outside.jobs');
$hipq->sql(q{SELECT hipq.register_job_type('outside.jobs', 'outside', handler_kind => 'notify',
	queue_ttl => 1000)});
my $worker = $hipq->sql_as('app',
	q{SELECT hipq.register_worker('outside', '{outside.jobs}', '{outside}', capacity => 10)});
my $without_leaves = q{SELECT count(*) FROM pg_class AS tree
	WHERE relnamespace = 'hipq'::regnamespace AND relkind = 'p' AND relname LIKE 'app\_q\_%\_final'
	AND (SELECT count(*) FROM pg_inherits WHERE inhparent = tree.oid) < 2};
is($hipq->sql($without_leaves), $queues, 'no queue has leaves by time');

# The first final job of each queue requests its leaves. The scheduler receives all requests at
# once, after the executors have exited.
$hipq->outcome_of('run', q{'{}', queue => 'app.q_f'});
my $scheduler = HipqFaults::stop_at_rest($hipq, 'hipq scheduler');
$hipq->sql("DO \$\$ BEGIN FOR n IN 1 .. $queues LOOP
	PERFORM hipq.enqueue('run', '{}', queue => queue_name(n)); COMMIT; END LOOP; END \$\$");
ok($hipq->wait_until(q{SELECT sum(initial + running_jobs + retry) FROM hipq.queues}, 0),
	'executors run a job in each queue');
$hipq->set('hipq.executor_idle_timeout' => '100ms');
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.executors}, 0), 'the executors exit');
cmp_ok($hipq->sql($without_leaves), '>=', $queues - 1, 'no process but the scheduler makes leaves');
$points->arm('before-make-leaf', 'wait', 3);
kill 'CONT', $scheduler;
ok($points->wait_held('before-make-leaf'), 'the scheduler is about to make a leaf');
$hipq->sql(q{SELECT hipq.enqueue('outside', queue => 'outside.jobs')});
$points->reset;
is($hipq->sql_as('app', "SELECT count(*) FROM hipq.claim($worker, wait => '60 s')"), 1,
	'an external worker is offered a job, and accepts it');
ok($hipq->wait_until($without_leaves, 0), 'the scheduler makes the leaves of all queues');
my $later = $hipq->sql(q{
	SELECT count(*) FROM pg_class AS leaf JOIN pg_inherits ON inhrelid = leaf.oid
	WHERE leaf.relname LIKE 'app\_q\_%\_final\_%' AND pg_xact_commit_timestamp(leaf.xmin) >
		(SELECT pg_xact_commit_timestamp(xmin) FROM hipq.outside_jobs_live)});
cmp_ok($later, '>', 0, "$later leaves are newer than the running job of the worker");

done_testing();
