# A worker that registers again after a crash, before the scheduler has read its jobs, keeps them.
use strict;
use warnings;
use HipqCluster;
use Test::More;

my $hipq = HipqCluster->new('returning_worker', 'hipq.worker_grace' => '1h',
	max_prepared_transactions => 1);
$hipq->create_queue('app.mail');
$hipq->sql(q{SELECT hipq.register_job_type('app.mail', 'send', handler_kind => 'notify')});
my $register = q{SELECT hipq.register_worker('mailer', '{app.mail}', '{send}', listen => true,
	take_over => true)};

my $worker = $hipq->session(role => 'app');
my $former = $worker->query_safe($register);
my $id = $hipq->enqueue('send');
like($worker->query_safe("SELECT id FROM hipq.claim($former, wait => '60 s')"), qr/^$id\b/,
	'a worker accepts a job');

# A prepared lock survives the crash, and keeps all processes from reading the table.
my $table = $hipq->sql(q{SELECT table_name FROM hipq.queues_detail WHERE queue = 'app.mail'});
$hipq->sql("BEGIN; LOCK TABLE $table; PREPARE TRANSACTION 'held'");
$hipq->node->stop('immediate');
$worker->quit;
$hipq->node->start;
$worker = $hipq->session(role => 'app');
isnt($worker->query_safe($register), $former,
	'a worker that registers again after a crash gets a new worker_id');
$hipq->sql(q{COMMIT PREPARED 'held'});
ok($hipq->wait_until("SELECT is_accepted FROM hipq.running_detail WHERE id = $id"),
	'the scheduler finds the job of a worker that registered again');
is($hipq->sql("SELECT count(*) FROM hipq.attempts WHERE job_id = $id AND reason IS NOT NULL"), 0,
	'the job of a worker that registered again is not given to another one');
$worker->query_safe(qq{SELECT hipq.complete($id, 1, '"sent"')});
is($hipq->result($id), '"sent"', 'complete() of a worker that registered again works');
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.workers}, 1),
	'the old worker_id is removed');

$worker->quit;
done_testing();
