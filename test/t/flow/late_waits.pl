# A job that is made to wait while the job before it ends starts, in whatever order the two commit
# and the scheduler looks. (test/unit/flow/watched_jobs_test.cpp goes through all orders.)
use strict;
use warnings;
use HipqCluster;
use HipqPoints;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('late_waits', 'hipq.executor_idle_timeout' => '1h');
my $points = HipqPoints->new($hipq);
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE FUNCTION work(id bigint, data jsonb) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM pg_advisory_xact_lock_shared((data->>'lock')::int);
	END $$;
	SELECT hipq.register_job_type('app.main', 'work', handler => 'work')});

sub start { return $hipq->sql(q{SELECT hipq.enqueue('work', '{"lock": 1}')}); }
sub times_decided
{
	return $hipq->sql(q{SELECT reached FROM point.list() WHERE name = 'after-decide'});
}
sub state_of { return $hipq->sql("SELECT state FROM hipq.job WHERE id = $_[0]"); }

# The end looks for jobs after it, finds none, and commits after the scheduler has looked.
my $lock = $hipq->hold_lock;
my $first = start();
$hipq->pid_of($first);
my $session = $hipq->session;
$session->query_safe('BEGIN');
my $late = $session->query_safe("SELECT hipq.enqueue('work', after => ARRAY[$first])");
$points->arm('after-release', 'wait');
$lock->quit;
ok($points->wait_held('after-release'), 'an end has released the jobs after it');
my $decided = times_decided();
$session->query_safe('COMMIT');
ok($hipq->wait_until(
		"SELECT reached > $decided FROM point.list() WHERE name = 'after-decide'", 't'),
	'the scheduler has looked at the job that waits');
is(state_of($late), 'initial', 'it waits');
$points->reset;
is($hipq->outcome($late), 'succeeded', 'it starts after the end has committed');
$session->quit;

# The scheduler has read that the job before runs, and looks at no report before it commits.
$lock = $hipq->hold_lock;
$first = start();
$hipq->pid_of($first);
$points->arm('after-decide', 'wait');
$late = $hipq->sql("SELECT hipq.enqueue('work', after => ARRAY[$first])");
ok($points->wait_held('after-decide'), 'the scheduler has decided that a job waits');
$lock->quit;
is($hipq->outcome($first), 'succeeded', 'the job before it ends');
$points->reset;
is($hipq->outcome($late), 'succeeded', 'it starts after the scheduler has committed');

done_testing();
