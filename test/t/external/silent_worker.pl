# An external worker loses its jobs when hipq.heartbeat_timeout and hipq.worker_grace have passed
# after its last heartbeat, within a second, no matter when it got them.
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
		'a worker gets a job');
	my $sign = $hipq->sql("SELECT hipq.heartbeat($worker); SELECT last_heartbeat FROM hipq.workers
		WHERE worker_id = $worker") =~ s/^.*\n//r;
	ok($hipq->wait_until("SELECT count(*) > 0 FROM hipq.attempts WHERE job_id = $job"),
		'a silent worker loses its job');
	my $silence = $hipq->sql("SELECT extract(epoch FROM min(ended_time) - '$sign')
		FROM hipq.attempts_detail WHERE job_id = $job");
	cmp_ok($silence, '>=', 7, 'a silent worker keeps its job until both times have passed');
	$hipq->in_time($silence, 8.5, 'a silent worker loses its job within 1.5 s after both times');
	is($hipq->sql("SELECT min(reason) FROM hipq.attempts WHERE job_id = $job"),
		'worker_heartbeat_stale',
		'the attempt of a silent worker has reason worker_heartbeat_stale');
	$hipq->sql("SELECT hipq.cancel_jobs('app.main')");
}

done_testing();
