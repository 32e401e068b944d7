# An external worker that says nothing loses its jobs hipq.heartbeat_timeout and hipq.worker_grace after its last sign of life, within
# a second, whenever it was given them.
use strict;
use warnings;
use HipqCluster;
use Test::More;

my $hipq = HipqCluster->new('silent', 'hipq.heartbeat_timeout' => '1s', 'hipq.worker_grace' => '1s');
$hipq->create_queue('app.main');
$hipq->sql(q{SELECT hipq.register_job_type('app.main', 'outside', handler_kind => 'notify', max_retries => 0)});
foreach my $round (1 .. 2)
{
	my $worker = $hipq->sql(qq{SELECT hipq.register_worker('worker $round', '{app.main}', '{outside}')});
	my $job = $hipq->enqueue('outside');
	ok($hipq->wait_until("SELECT worker_id = $worker FROM hipq.jobs_detail WHERE id = $job"), 'a worker is given a job');
	my $sign = $hipq->sql("SELECT hipq.heartbeat($worker); SELECT last_heartbeat FROM hipq.workers WHERE worker_id = $worker") =~ s/^.*\n//r;
	ok($hipq->wait_until("SELECT count(*) > 0 FROM hipq.attempts WHERE job_id = $job"), 'and loses it');
	my $silence = $hipq->sql("SELECT extract(epoch FROM min(ended_time) - '$sign') FROM hipq.attempts_detail WHERE job_id = $job");
	ok($silence >= 2 && $silence < 3.5, 'when its time is up') or diag("$silence s after its last sign");
	is($hipq->sql("SELECT min(reason) FROM hipq.attempts WHERE job_id = $job"), 'worker_heartbeat_stale', 'because it was silent');
	$hipq->sql("SELECT hipq.cancel_jobs('app.main')");
}

done_testing();
