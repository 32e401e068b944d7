# An executor that is about to leave is not counted on: neither while it is on its way out, nor when its place is needed.
use strict;
use warnings;
use HipqCluster;
use HipqPoints;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('leaving', 'hipq.executor_idle_timeout' => '50ms', 'hipq.max_executors' => 2);
my $points = HipqPoints->new($hipq);
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE FUNCTION run(data jsonb) RETURNS void LANGUAGE sql AS 'SELECT';
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run')});

my $moment = 5;    # every process looks each 10 s: what takes less was woken

{
	$points->arm('executor-ends', 'wait');
	$hipq->outcome_of('run');
	ok($points->wait_held('executor-ends'), 'an executor has looked for the last time and is about to end');
	my $id = $hipq->enqueue('run');
	ok($hipq->wait_until("SELECT outcome = 'succeeded' FROM hipq.jobs WHERE id = $id", 't', $moment), 'another runs the job that comes now');
	$points->reset;
}

{
	$hipq->set('hipq.max_executors' => 1);
	$hipq->wait_until('SELECT count(*) FROM hipq.executors', 0);
	$points->arm('executor-ends', 'wait');
	$hipq->outcome_of('run');
	ok($points->wait_held('executor-ends'), 'the only executor is about to end');
	my $id = $hipq->enqueue('run');
	# The scheduler has seen the job when it has nothing more to look at.
	$hipq->wait_until(q{SELECT state = 'idle' FROM pg_stat_activity WHERE backend_type = 'hipq scheduler'});
	$points->reset;
	ok($hipq->wait_until("SELECT outcome = 'succeeded' FROM hipq.jobs WHERE id = $id", 't', $moment), 'when it has ended, the next one is started for the job');
}

done_testing();
