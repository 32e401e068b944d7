# A worker that registers again after a crash, before its jobs have been read, keeps them.
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

# A lock that outlives the server keeps all processes from reading the table.
my $table = $hipq->sql(q{SELECT table_name FROM hipq.queues_detail WHERE queue = 'app.mail'});
$hipq->sql("BEGIN; LOCK TABLE $table; PREPARE TRANSACTION 'held'");
$hipq->node->stop('immediate');
$worker->quit;
$hipq->node->start;
$worker = $hipq->session(role => 'app');
isnt($worker->query_safe($register), $former,
	'after a crash the worker registers under a new number');
$hipq->sql(q{COMMIT PREPARED 'held'});
ok($hipq->wait_until("SELECT is_accepted FROM hipq.running_detail WHERE id = $id"),
	"the worker's job is found");
is($hipq->sql("SELECT count(*) FROM hipq.attempts WHERE job_id = $id AND reason IS NOT NULL"), 0,
	'the job is not given to another worker');
$worker->query_safe(qq{SELECT hipq.complete($id, 1, '"sent"')});
is($hipq->result($id), '"sent"', "the worker's answer counts");
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.workers}, 1),
	"the worker's old number is forgotten");

$worker->quit;
done_testing();
