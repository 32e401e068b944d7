# An external worker that says nothing loses its jobs hipq.heartbeat_timeout and hipq.worker_grace after its last sign of life, within
# a second, whenever it was given them.
use strict;
use warnings;
use HipqCluster;
use Test::More;

my $hipq = HipqCluster->new('silent', 'hipq.heartbeat_timeout' => '5s', 'hipq.worker_grace' => '2s');
$hipq->create_queue('app.main');
$hipq->sql(q{SELECT hipq.register_job_type('app.main', 'outside', handler_kind => 'notify', max_retries => 0)});
foreach my $round (1 .. 2)
{
	my $job = $hipq->enqueue('outside', q{queue => 'app.main'});
	my $worker = $hipq->sql(qq{SELECT hipq.register_worker('worker $round', '{app.main}', '{outside}')});
	ok($hipq->wait_until("SELECT worker_id = $worker FROM hipq.jobs_detail WHERE id = $job"), 'a worker is given a job');
	my $sign = $hipq->sql("SELECT hipq.heartbeat($worker); SELECT last_heartbeat FROM hipq.workers WHERE worker_id = $worker") =~ s/^.*\n//r;
	ok($hipq->wait_until("SELECT count(*) > 0 FROM hipq.attempts WHERE job_id = $job"), 'and loses it');
	my $silence = $hipq->sql("SELECT extract(epoch FROM min(ended_time) - '$sign') FROM hipq.attempts_detail WHERE job_id = $job");
	cmp_ok($silence, '>=', 7, 'not before its time is up');
	$hipq->in_time($silence, 8.5, '... and within a second or so of that');
	is($hipq->sql("SELECT min(reason) FROM hipq.attempts WHERE job_id = $job"), 'worker_heartbeat_stale', 'because it was silent');
	$hipq->sql("SELECT hipq.cancel_jobs('app.main')");
}

done_testing();
