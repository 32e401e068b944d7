# A process that has used many queues, which then were dropped, does not keep the plans that it made
# for them.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $queues = 40;
my $hipq = HipqCluster->new('kept_plans');
my $node = $hipq->node;
$hipq->sql(q{CREATE FUNCTION run(data jsonb) RETURNS void LANGUAGE sql AS ''});
# A scheduler exits when no job is due within a minute. This type always has a job that is due.
$hipq->create_queue('app.stays');
$hipq->sql(q{SELECT hipq.register_job_type('app.stays', 'stays', handler => 'run');
	SELECT hipq.enqueue('stays', scheduled_run_time => now() + n * interval '20 s')
		FROM generate_series(1, 100) AS n});
my $scheduler = q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'hipq scheduler'};
my $session = $hipq->session;

sub name_of
{
	my ($number) = @_;
	return 'app.' . join '', map { chr(ord('a') + $_) } split //, sprintf '%05d', $number;
}

# In one session: makes queues, enqueues and cancels jobs, waits until they have run, and drops the
# queues.
sub make_and_drop
{
	my ($round) = @_;
	my @names = map { name_of($round * $queues + $_) } 1 .. $queues;
	foreach my $name (@names)
	{
		$session->query_safe(qq{SELECT hipq.create_queue('$name', owner => 'app'),
			hipq.register_job_type('$name', 'run', handler => 'run')});
		$session->query_safe(qq{SELECT hipq.enqueue('run', queue => '$name'),
			hipq.cancel_jobs('$name', job_type => 'none'),
			hipq.enqueue('run', queue => '$name', job_key => 'twin', on_duplicate => 'return'),
				hipq.enqueue('run', queue => '$name', job_key => 'twin',
				on_duplicate => 'return')});
	}
	ok($hipq->wait_until(q{SELECT count(*) FROM hipq.job WHERE state <> 'final'
			AND job_type = 'run'}, 0), "round $round: the jobs run");
	$session->query_safe(qq{SELECT hipq.drop_queue('$_', force => true)}) foreach @names;
	ok($hipq->wait_until('SELECT count(*) FROM hipq.queue', 1),
		"round $round: the queues are dropped");
	return;
}

sub plans_in_session
{
	return $session->query_safe(
		q{SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'SPI Plan'});
}

# Returns the number of children of the scheduler's CacheMemoryContext. Plans are among them. The
# log shows a hundred of them, and the number of the others.
sub contexts_in_scheduler
{
	my $offset = -s $node->logfile;
	my $pid = $hipq->sql($scheduler);
	$hipq->sql("SELECT pg_log_backend_memory_contexts($pid)");
	ok($node->wait_for_log(qr/\[$pid\] LOG:  Grand total/, $offset),
		'the scheduler logs its memory');
	my $text = slurp_file($node->logfile, $offset);
	my $level = $hipq->version < 18 ? 1 : 2;    # of CacheMemoryContext
	my $named = () = $text =~ /\[$pid\] LOG:  level: ${\($level + 1)}; (?:SPI Plan|CachedPlan)/g;
	my ($others) = $text =~ /\[$pid\] LOG:  level: $level; (\d+) more child contexts/;
	return $named + ($others // 0);
}

make_and_drop(1);
my $plans = plans_in_session();
my $contexts = contexts_in_scheduler();
cmp_ok($plans, '>', $queues, 'a session keeps plans for each queue');
cmp_ok($contexts, '>', $queues, 'the scheduler keeps plans for each queue');
my $first_scheduler = $hipq->sql($scheduler);
make_and_drop($_) foreach 2 .. 6;
my $plans_now = plans_in_session();
my $contexts_now = contexts_in_scheduler();
note("plans $plans, then $plans_now; contexts $contexts, then $contexts_now");
cmp_ok($plans_now, '<', 2.5 * $plans, 'a session does not keep plans of dropped queues');
cmp_ok($contexts_now, '<', 2.5 * $contexts, 'the scheduler does not keep plans of dropped queues');
is($hipq->sql($scheduler), $first_scheduler, 'the scheduler has not restarted');

$session->quit;
done_testing();
