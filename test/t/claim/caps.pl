# Jobs keep within the caps of their queue. Long jobs of one queue owner do not take all executors
# from other owners.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $hipq = HipqCluster->new('caps', 'hipq.max_executors' => 4);
$hipq->sql(q{
	CREATE ROLE rival LOGIN; CREATE ROLE third LOGIN; CREATE ROLE client LOGIN;
		CREATE ROLE worker LOGIN;
	CREATE FUNCTION wait(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN IF data ? 'lock' THEN
		PERFORM pg_advisory_xact_lock_shared((data->>'lock')::bigint); END IF; END $$;
	CREATE FUNCTION more(data jsonb) RETURNS timestamptz LANGUAGE sql AS $$
		SELECT hipq.extend((data->>'more')::interval) $$});
$hipq->create_queue('app.main');
$hipq->create_queue('app.side');
$hipq->sql(q{SELECT hipq.register_job_type(queue, 'wait', handler => 'wait')
	FROM (VALUES ('app.main'), ('app.side')) AS queues (queue)});

# ---- one owner alone may use all executors
sub endless
{
	my ($queue, $count, $lock) = @_;
	return $hipq->sql(qq{SELECT count(hipq.enqueue('wait', '{"lock": $lock}', queue => '$queue'))
		FROM generate_series(1, $count)});
}

# Cancels a job of app.main, and up to three more, because the scheduler may not know of a new owner
# yet when the first job ends.
sub cancel_until
{
	my ($query, $expected) = @_;
	foreach my $time (1 .. 4)
	{
		my ($one) = $hipq->sql(
			q{SELECT id FROM hipq.running WHERE queue = 'app.main' ORDER BY id LIMIT 1});
		$hipq->sql("SELECT hipq.cancel($one)");
		return if $hipq->wait_until($query, $expected, 3);
	}
	return;
}
my $running = 'SELECT count(pid) FROM hipq.running';
my $lock = $hipq->hold_lock(1);
endless('app.main', 14, 1);
ok($hipq->wait_until($running, 4), 'a single owner may use all executors');

# ---- another owner enqueues jobs: hipq keeps the executor that is free first for this owner
{
	$hipq->create_queue('rival.main', owner => 'rival');
	$hipq->create_queue('third.main', owner => 'third');
	$hipq->sql(q{SELECT hipq.register_job_type(queue, 'wait', handler => 'wait')
		FROM (VALUES ('rival.main'), ('third.main')) AS queues (queue)});
	cancel_until($running, 3);
	ok($hipq->wait_until($running, 3), 'one executor is kept for other owners');
	my $id = $hipq->sql(q{SELECT min(id) FROM hipq.jobs WHERE outcome = 'waiting'});
	like($hipq->sql("SELECT explanation FROM hipq.why($id) WHERE condition = 'executor'"),
		qr/kept for queue owners that have none \(hipq\.reserved_executors\)/,
		'why() says that an executor is kept');
	foreach my $rival ('rival', 'third', 'rival')
	{
		my $begin = time();
		is($hipq->outcome_of('wait', qq{queue => '$rival.main'}), 'succeeded',
			"a job of $rival starts at once");
		$hipq->in_time(time() - $begin, 10, "a job of $rival does not wait for the long jobs");
	}
	is($hipq->sql($running), 3, 'the first owner has not taken the reserved executor');
}

# ---- jobs of the second owner occupy the reserved executor: hipq reserves the next free one
{
	my $rival_lock = $hipq->hold_lock(2);
	endless('rival.main', 3, 2);
	ok($hipq->wait_until(q{SELECT count(pid) FROM hipq.running WHERE queue = 'rival.main'}, 1),
		'endless jobs of a second owner take the reserved executor');
	my $id = $hipq->enqueue('wait', q{queue => 'third.main'});
	like($hipq->sql("SELECT explanation FROM hipq.why($id) WHERE condition = 'executor'"),
		qr/busy elsewhere/, 'a job of a third owner waits while all executors are busy');
	cancel_until("SELECT outcome FROM hipq.jobs WHERE id = $id", 'succeeded');
	is($hipq->outcome($id), 'succeeded', 'a job of a third owner gets the next free executor');
	ok($hipq->wait_until($running, 3), "an executor is reserved after the third owner's job");
	$rival_lock->quit;
	ok($hipq->wait_until(q{SELECT count(*) = 0 FROM hipq.jobs_detail WHERE queue = 'rival.main'
			AND state <> 'final'}), 'the jobs of the second owner run');
	$hipq->set('hipq.reserved_executors' => 0);
	ok($hipq->wait_until($running, 4),
		'with hipq.reserved_executors = 0 one owner may use all executors');
	$hipq->set('hipq.reserved_executors' => 1);
}
$lock->quit;
ok($hipq->wait_until(q{SELECT count(*) = 0 FROM hipq.jobs_detail WHERE state <> 'final'}),
	'all jobs succeed');

# ---- after a restart the scheduler does not know any other owner, and reserves an executor
{
	$hipq->sql(q{ALTER SYSTEM SET max_prepared_transactions = 2});
	$hipq->node->restart;
	$hipq->sql(q{BEGIN; SELECT pg_advisory_xact_lock(3); PREPARE TRANSACTION 'lock'});
	endless('app.main', 9, 3);
	$hipq->node->restart;
	ok($hipq->wait_until($running, 3), 'after a restart the long jobs run in three executors');
	is($hipq->outcome_of('wait', q{queue => 'rival.main'}), 'succeeded',
		"after a restart the fourth executor runs another owner's job");
	is($hipq->sql($running), 3, "after another owner's job the fourth executor is reserved");
	$hipq->sql(q{ROLLBACK PREPARED 'lock'});
	ok($hipq->wait_until(q{SELECT count(*) = 0 FROM hipq.jobs_detail WHERE state <> 'final'}),
		'all jobs enqueued around the restart succeed');
}

# ---- the largest timeout does not cause an overflow
{
	like($hipq->error_of(
			q{SELECT hipq.enqueue('wait', queue => 'app.main', timeout => 2000000000)}),
		qr/ERROR:  22023: timeout 2000000000 is more than the queue allows\nHINT:  The cap is max_timeout = 86400 \(seconds\)/,
		'a timeout of more than a day is refused by default');
	$hipq->sql(q{SELECT hipq.alter_queue('app.main', max_timeout => 2147483647);
		SELECT hipq.register_job_type('app.main', 'more', handler => 'more')});
	is($hipq->outcome_of('wait', "queue => 'app.main', timeout => $_"), 'succeeded',
		"a job runs with timeout $_") foreach 2_000_000_000, 2_147_483_647;
	foreach my $claim ('lock', 'record')
	{
		my $hold = $hipq->hold_lock(4);
		$hipq->sql("SELECT hipq.alter_job_type('app.main', 'wait', claim => '$claim')");
		my $id = $hipq->enqueue('wait',
			q{'{"lock": 4}', queue => 'app.main', timeout => 2147483647});
		$hipq->pid_of($id);
		is($hipq->sql("SELECT deadline > now() + '60 years' FROM hipq.running_detail
				WHERE id = $id"), 't',
			"claimed by $claim: the deadline of the largest timeout is more than 60 years away");
		$hold->quit;
		is($hipq->outcome($id), 'succeeded', "$claim: a job with the largest timeout succeeds");
	}
}

# ---- extend() stays below the cap
{
	$hipq->sql(q{SELECT hipq.alter_queue('app.main', max_timeout => 600)});
	is($hipq->outcome_of('more', q{'{"more": "500 s"}', queue => 'app.main', timeout => 300}),
		'succeeded', 'a handler can extend its own job');
	my $id = $hipq->enqueue('more', q{'{"more": "601 s"}', queue => 'app.main', timeout => 300});
	is($hipq->outcome($id), 'failed', 'a handler cannot extend its job beyond max_timeout');
	is($hipq->sql("SELECT error FROM hipq.jobs_detail WHERE id = $id"),
		'the job would run longer than its queue allows',
		'the error says that the queue does not allow a longer job');
	my $hold = $hipq->hold_lock(5);
	my $waits = $hipq->enqueue('wait', q{'{"lock": 5}', queue => 'app.main'});
	$hipq->pid_of($waits);
	like($hipq->error_of("SELECT hipq.extend_job($waits, '10 min')"),
		qr/ERROR:  22023: the job would run longer than its queue allows\nDETAIL:  The cap is max_timeout = 600/,
		'an operator cannot extend a job beyond max_timeout');
	is($hipq->sql("SELECT hipq.extend_job($waits, '8 min') > now() + interval '7 min'"), 't',
		'an operator can extend a job up to max_timeout');
	like($hipq->error_of("SELECT hipq.extend_job($waits, '10 min')"), qr/22023/,
		'an operator cannot extend a job beyond max_timeout in steps');
	$hold->quit;
	is($hipq->outcome($waits), 'succeeded', 'a job runs to its end after a refused extend_job()');
}

done_testing();
