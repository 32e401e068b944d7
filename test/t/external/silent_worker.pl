# An external worker loses its jobs when hipq.heartbeat_timeout and hipq.worker_grace have passed
# after its last heartbeat, within a second, no matter when it got them. Jobs that it has accepted
# have then used an attempt. Jobs that it was only offered have used none.
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
	my ($job, $offered) = map { $hipq->enqueue('outside', q{queue => 'app.main'}) } 1, 2;
	my $worker = $hipq->sql(qq{SELECT hipq.register_worker('worker $round', '{app.main}',
		'{outside}', prefetch => 1)});
	ok($hipq->wait_until("SELECT count(*) FROM hipq.running_detail WHERE worker_id = $worker
			AND id IN ($job, $offered) AND NOT is_accepted", 2), 'a worker is offered two jobs');
	is($hipq->sql("SELECT id FROM hipq.claim($worker)"), $job, 'a worker accepts a job');
	is($hipq->sql("SELECT worker_id FROM hipq.jobs_detail WHERE id = $job"), $worker,
		'a worker gets a job');
	my $sign = $hipq->sql("SELECT hipq.heartbeat($worker); SELECT last_heartbeat FROM hipq.workers
		WHERE worker_id = $worker") =~ s/^.*\n//r;
	my (undef, $kept) = $hipq->poll("SELECT CASE WHEN count(*) = 0
		THEN extract(epoch FROM clock_timestamp() - '$sign') END FROM hipq.running_detail
		WHERE id = $offered", sub { $_[0] ne '' });
	cmp_ok($kept, '>=', 7, 'a silent worker is offered its job until both times have passed');
	$hipq->in_time($kept, 8.5, 'a silent worker loses its offer within 1.5 s after both times');
	ok($hipq->wait_until("SELECT count(*) > 0 FROM hipq.attempts WHERE job_id = $job"),
		'a silent worker loses its job');
	my $silence = $hipq->sql("SELECT extract(epoch FROM min(ended_time) - '$sign')
		FROM hipq.attempts_detail WHERE job_id = $job");
	cmp_ok($silence, '>=', 7, 'a silent worker keeps its job until both times have passed');
	$hipq->in_time($silence, 8.5, 'a silent worker loses its job within 1.5 s after both times');
	is($hipq->sql("SELECT min(reason) FROM hipq.attempts WHERE job_id = $job"),
		'worker_heartbeat_stale',
		'the attempt of a silent worker has reason worker_heartbeat_stale');
	is($hipq->sql("SELECT state, attempt, worker_id IS NULL, (SELECT count(*) FROM hipq.attempts
			WHERE job_id = $offered) FROM hipq.jobs_detail WHERE id = $offered"), 'initial|0|t|0',
		'the offer to a silent worker was no attempt');
	$hipq->sql("SELECT hipq.cancel_jobs('app.main')");
}

done_testing();
