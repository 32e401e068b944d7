# What a queue's owner allows those who enqueue to ask for, and executors that one owner's long jobs cannot take from another.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $hipq = HipqCluster->new('caps', 'hipq.max_executors' => 4);
$hipq->sql(q{
	CREATE ROLE rival LOGIN; CREATE ROLE third LOGIN; CREATE ROLE client LOGIN; CREATE ROLE worker LOGIN;
	CREATE FUNCTION wait(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN IF data ? 'lock' THEN PERFORM pg_advisory_xact_lock_shared((data->>'lock')::bigint); END IF; END $$;
	CREATE FUNCTION more(data jsonb) RETURNS timestamptz LANGUAGE sql AS $$ SELECT hipq.extend((data->>'more')::interval) $$});
$hipq->create_queue('app.main');
$hipq->create_queue('app.side');
$hipq->sql(q{SELECT hipq.register_job_type(queue, 'wait', handler => 'wait') FROM (VALUES ('app.main'), ('app.side')) AS queues (queue)});

# ---- one owner is alone: all executors are his
sub endless
{
	my ($queue, $count, $lock) = @_;
	return $hipq->sql(qq{SELECT count(hipq.enqueue('wait', '{"lock": $lock}', queue => '$queue')) FROM generate_series(1, $count)});
}

# Ends a job of app.main, and up to three more: the scheduler may not have seen a new owner yet when the first one ends.
sub cancel_until
{
	my ($query, $expected) = @_;
	foreach my $time (1 .. 4)
	{
		my ($one) = $hipq->sql(q{SELECT id FROM hipq.running WHERE queue = 'app.main' ORDER BY id LIMIT 1});
		$hipq->sql("SELECT hipq.cancel($one)");
		return if $hipq->wait_until($query, $expected, 3);
	}
	return;
}
my $running = 'SELECT count(pid) FROM hipq.running';
my $lock = $hipq->hold_lock(1);
endless('app.main', 14, 1);
ok($hipq->wait_until($running, 4), 'a single owner may have all executors');

# ---- another one comes: what ends first is kept for him
{
	$hipq->create_queue('rival.main', owner => 'rival');
	$hipq->create_queue('third.main', owner => 'third');
	$hipq->sql(q{SELECT hipq.register_job_type(queue, 'wait', handler => 'wait') FROM (VALUES ('rival.main'), ('third.main')) AS queues (queue)});
	cancel_until($running, 3);
	ok($hipq->wait_until($running, 3), 'when there are other owners, one place is kept for them');
	my $id = $hipq->sql(q{SELECT min(id) FROM hipq.jobs WHERE outcome = 'waiting'});
	like($hipq->sql("SELECT explanation FROM hipq.why($id) WHERE condition = 'executor'"), qr/kept for queue owners that have none \(hipq\.reserved_executors\)/, 'why() says what the others wait for');
	foreach my $rival ('rival', 'third', 'rival')
	{
		my $begin = time();
		is($hipq->outcome_of('wait', qq{queue => '$rival.main'}), 'succeeded', "a job of $rival starts at once");
		$hipq->in_time(time() - $begin, 10, 'without waiting for what runs for long');
	}
	is($hipq->sql($running), 3, 'the first owner has not taken that place meanwhile');
}

# ---- the next one takes it for ever: then it is kept again, as soon as one is free
{
	my $rival_lock = $hipq->hold_lock(2);
	endless('rival.main', 3, 2);
	ok($hipq->wait_until(q{SELECT count(pid) FROM hipq.running WHERE queue = 'rival.main'}, 1), 'endless jobs of another owner take the one place');
	my $id = $hipq->enqueue('wait', q{queue => 'third.main'});
	like($hipq->sql("SELECT explanation FROM hipq.why($id) WHERE condition = 'executor'"), qr/busy elsewhere/, 'one who comes after that waits');
	cancel_until("SELECT outcome FROM hipq.jobs WHERE id = $id", 'succeeded');
	is($hipq->outcome($id), 'succeeded', 'until one of their jobs ends: its place is his, before those who have executors');
	ok($hipq->wait_until($running, 3), 'and is kept');
	$rival_lock->quit;
	ok($hipq->wait_until(q{SELECT count(*) = 0 FROM hipq.jobs_detail WHERE queue = 'rival.main' AND state <> 'final'}), 'the rest of its jobs run');
	$hipq->set('hipq.reserved_executors' => 0);
	ok($hipq->wait_until($running, 4), 'without a reserve one owner may have all of them again');
	$hipq->set('hipq.reserved_executors' => 1);
}
$lock->quit;
ok($hipq->wait_until(q{SELECT count(*) = 0 FROM hipq.jobs_detail WHERE state <> 'final'}), 'all come to their end');

# ---- after a restart nobody knows who there is: the place is kept
{
	$hipq->sql(q{ALTER SYSTEM SET max_prepared_transactions = 2});
	$hipq->node->restart;
	$hipq->sql(q{BEGIN; SELECT pg_advisory_xact_lock(3); PREPARE TRANSACTION 'lock'});
	endless('app.main', 9, 3);
	$hipq->node->restart;
	ok($hipq->wait_until($running, 3), 'after a restart the long jobs come back to three places');
	is($hipq->outcome_of('wait', q{queue => 'rival.main'}), 'succeeded', 'and the fourth is there for another owner');
	is($hipq->sql($running), 3, 'still');
	$hipq->sql(q{ROLLBACK PREPARED 'lock'});
	ok($hipq->wait_until(q{SELECT count(*) = 0 FROM hipq.jobs_detail WHERE state <> 'final'}), 'all come to their end');
}

# ---- the largest timeout there is overflows nowhere
{
	like($hipq->error_of(q{SELECT hipq.enqueue('wait', queue => 'app.main', timeout => 2000000000)}), qr/ERROR:  22023: timeout 2000000000 is more than the queue allows\nHINT:  The cap is max_timeout = 86400 \(seconds\)/, 'a day is the longest that a job may run');
	$hipq->sql(q{SELECT hipq.alter_queue('app.main', max_timeout => 2147483647); SELECT hipq.register_job_type('app.main', 'more', handler => 'more')});
	is($hipq->outcome_of('wait', "queue => 'app.main', timeout => $_"), 'succeeded', "timeout $_") foreach 2_000_000_000, 2_147_483_647;
	foreach my $claim ('lock', 'record')
	{
		my $hold = $hipq->hold_lock(4);
		$hipq->sql("SELECT hipq.alter_job_type('app.main', 'wait', claim => '$claim')");
		my $id = $hipq->enqueue('wait', q{'{"lock": 4}', queue => 'app.main', timeout => 2147483647});
		$hipq->pid_of($id);
		is($hipq->sql("SELECT deadline > now() + '60 years' FROM hipq.running_detail WHERE id = $id"), 't', "claimed by $claim: its deadline is far away");
		$hold->quit;
		is($hipq->outcome($id), 'succeeded', 'and it runs');
	}
}

# ---- extend() stays below the cap
{
	$hipq->sql(q{SELECT hipq.alter_queue('app.main', max_timeout => 600)});
	is($hipq->outcome_of('more', q{'{"more": "500 s"}', queue => 'app.main', timeout => 300}), 'succeeded', 'a handler may give itself more time');
	my $id = $hipq->enqueue('more', q{'{"more": "601 s"}', queue => 'app.main', timeout => 300});
	is($hipq->outcome($id), 'failed', 'not beyond max_timeout');
	is($hipq->sql("SELECT error FROM hipq.jobs_detail WHERE id = $id"), 'the job would run longer than its queue allows', 'as the error says');
	my $hold = $hipq->hold_lock(5);
	my $waits = $hipq->enqueue('wait', q{'{"lock": 5}', queue => 'app.main'});
	$hipq->pid_of($waits);
	like($hipq->error_of("SELECT hipq.extend_job($waits, '10 min')"), qr/ERROR:  22023: the job would run longer than its queue allows\nDETAIL:  The cap is max_timeout = 600/, 'neither may an operator');
	is($hipq->sql("SELECT hipq.extend_job($waits, '8 min') > now() + interval '7 min'"), 't', 'who may give it less');
	like($hipq->error_of("SELECT hipq.extend_job($waits, '10 min')"), qr/22023/, 'nor bit by bit');
	$hold->quit;
	is($hipq->outcome($waits), 'succeeded', 'it goes on all the same');
}

done_testing();
