# An external worker without heartbeats loses its jobs hipq.heartbeat_timeout and hipq.worker_grace
# after its last one, within a second, whenever it was given them.
use strict;
use warnings;
use HipqCluster;
use Test::More;

my $hipq = HipqCluster->new('silent', 'hipq.heartbeat_timeout' => '5s',
	'hipq.worker_grace' => '2s');
$hipq->create_queue('app.main');
$hipq->sql(q{SELECT hipq.register_job_type('app.main', 'outside', handler_kind => 'notify',
	max_retries => 0)});
foreach my $round (1 .. 2)
{
	my $job = $hipq->enqueue('outside', q{queue => 'app.main'});
	my $worker =
		$hipq->sql(qq{SELECT hipq.register_worker('worker $round', '{app.main}', '{outside}')});
	ok($hipq->wait_until("SELECT worker_id = $worker FROM hipq.jobs_detail WHERE id = $job"),
		'a worker is given a job');
	my $sign = $hipq->sql("SELECT hipq.heartbeat($worker); SELECT last_heartbeat FROM hipq.workers
		WHERE worker_id = $worker") =~ s/^.*\n//r;
	ok($hipq->wait_until("SELECT count(*) > 0 FROM hipq.attempts WHERE job_id = $job"),
		'a silent worker loses its job');
	my $silence = $hipq->sql("SELECT extract(epoch FROM min(ended_time) - '$sign')
		FROM hipq.attempts_detail WHERE job_id = $job");
	cmp_ok($silence, '>=', 7, 'it does not lose the job before its time is up');
	$hipq->in_time($silence, 8.5, 'it loses the job within a second or so');
	is($hipq->sql("SELECT min(reason) FROM hipq.attempts WHERE job_id = $job"),
		'worker_heartbeat_stale', 'its attempt ends with reason worker_heartbeat_stale');
	$hipq->sql("SELECT hipq.cancel_jobs('app.main')");
}

done_testing();
