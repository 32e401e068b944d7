# Jobs of a new queue run at once, even if the scheduler read the catalogue before the queue
# existed.
use strict;
use warnings;
use HipqCluster;
use HipqPoints;
use Test::More;

# No audit, because it would find a lost job.
my $hipq = HipqCluster->new('new_queue', 'hipq.audit_rate' => 0);
my $points = HipqPoints->new($hipq);
$hipq->sql(q{CREATE FUNCTION run(data jsonb) RETURNS void LANGUAGE sql AS ''});
my $session = $hipq->session;

sub make_queue
{
	my ($name) = @_;
	return qq{SELECT hipq.create_queue('$name', owner => 'app'),
		hipq.register_job_type('$name', 'run', handler => 'run');};
}

# Enqueues a job of an older queue, which makes the scheduler read the catalogue.
sub make_scheduler_look { $hipq->sql(q{SELECT hipq.enqueue('run', queue => 'app.old')}); return; }
$hipq->sql(make_queue('app.old'));

my %ways = (
	'in two transactions' => sub { $session->query_safe(make_queue($_[0]));
		$session->query_safe("SELECT hipq.enqueue('run', queue => '$_[0]')"); },
	'in one transaction' => sub { $session->query_safe("BEGIN;
			$_[1] SELECT hipq.enqueue('run', queue => '$_[0]'); COMMIT"); },
	'with jobs that were rolled back before' => sub {
		$session->query_safe("$_[1] BEGIN; SELECT hipq.enqueue('run', queue => '$_[0]'); ROLLBACK; "
			. "SELECT hipq.enqueue('run', queue => '$_[0]')");
	});
my $number = 0;
foreach my $way (sort keys %ways)
{
	my $queue = 'app.new' . chr(ord('a') + $number++);
	# The catalogue has changed since the scheduler read it, so the scheduler reads all lanes.
	$points->arm('after-read-catalogue', 'wait');
	$hipq->sql("SELECT hipq.create_queue('app.other" . chr(ord('a') + $number) . "')");
	make_scheduler_look();
	ok($points->wait_held('after-read-catalogue'), 'the scheduler has read the catalogue');
	$ways{$way}->($queue, make_queue($queue));
	$points->reset;
	# 5 s, because each process checks for jobs by itself after a longer time.
	ok($hipq->wait_until("SELECT count(*) FROM hipq.jobs_detail WHERE queue = '$queue'
			AND state <> 'final'", 0, 5), "the job of a queue made and used $way runs");
}

$session->quit;
done_testing();
