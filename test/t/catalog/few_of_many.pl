# A process that uses few of many queues reads only those. It learns what changes in the others when
# it meets them.
use strict;
use warnings;
use HipqCluster;
use Test::More;

my $hipq = HipqCluster->new('few_of_many', 'hipq.max_executors' => 1);
$hipq->sql(q{
	ALTER DATABASE postgres SET enable_seqscan = off;  -- so that rows that are read are counted
	CREATE FUNCTION run(data jsonb) RETURNS void LANGUAGE sql AS 'SELECT';
	SELECT hipq.create_queue('app.q' || n, owner => 'app') FROM generate_series(1, 30) AS n;
	SELECT hipq.register_job_type('app.q' || n, 'run', handler => 'run')
	FROM generate_series(1, 30) AS n;
	ANALYZE hipq.queue});

sub rows_read_by
{
	my ($statement) = @_;
	return (split /\n/, $hipq->sql(qq{BEGIN; $statement;
		SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_all_tables
		WHERE relid = 'hipq.queue'::regclass; COMMIT}))[-1];
}
my $enqueue = q{SELECT hipq.enqueue('run', queue => 'app.q%s') > 0};
cmp_ok(rows_read_by(sprintf $enqueue, 7), '<', 10, 'a session reads the queue that it enqueues in');
cmp_ok(rows_read_by(q{INSERT INTO hipq.app_q8 (job_type) VALUES ('run')}), '<', 10,
	'an INSERT reads its queue only');
cmp_ok(rows_read_by('SELECT count(*) FROM hipq.queues'), '>=', 30, 'a view reads all queues');

# ---- changes of queues that the session has not read

my $session = $hipq->session;
$session->query_safe(sprintf $enqueue, 1);
$hipq->sql(q{SELECT hipq.pause('app.q2'); SELECT hipq.drop_queue('app.q3', force => true)});
my $paused = $session->query_safe(q{SELECT hipq.enqueue('run', queue => 'app.q2')});
is($session->query_safe("SELECT bool_or(explanation LIKE '%is paused by%')
		FROM hipq.why($paused)"), 't', 'a session knows the pause of a queue that it meets later');
$session->query_safe(q{DO $$ BEGIN
		PERFORM hipq.enqueue('run', queue => 'app.q3');
	EXCEPTION WHEN undefined_object THEN SET test.error = 'not found';
	END $$});
is($session->query_safe('SHOW test.error'), 'not found', 'a dropped queue is not found');
$hipq->sql(q{SELECT hipq.create_queue('app.new', owner => 'app')});
is($session->query_safe(q{SELECT hipq.enqueue('run', queue => 'app.new') > 0}), 't',
	'a session finds a queue that is new');
is($session->query_safe(q{SELECT hipq.enqueue('run', queue => 'hipq.app_new') > 0}), 't',
	'a queue is found by the name of its table');
$hipq->sql(q{SELECT hipq.drop_queue('app.new', force => true);
	SELECT hipq.create_queue('app.new', owner => 'app')});
is($session->query_safe(q{INSERT INTO hipq.app_new (job_type) VALUES ('run') RETURNING true}), 't',
	'a session finds a queue that has taken the place of another one');
$session->quit;

# ---- a held queue that the executor has not read

is($hipq->outcome_of('run', q{queue => 'app.q1'}), 'succeeded', 'the executor has met a queue');
$hipq->sql(q{SELECT hipq.pause('app.q9')});
my $held = $hipq->enqueue('run', q{queue => 'app.q9'});
$hipq->sql(q{INSERT INTO hipq.queue_hold (queue_id, subscription)
	SELECT queue_id, 'mail' FROM hipq.queue WHERE name = 'q9'; SELECT hipq.resume('app.q9')});
is($hipq->outcome_of('run', q{queue => 'app.q1'}), 'succeeded', 'other queues go on');
is($hipq->sql("SELECT state FROM hipq.app_q9 WHERE id = $held"), 'initial',
	'a job of a held queue does not start');
$hipq->sql(q{SELECT hipq.release_hold('app.q9')});
ok($hipq->wait_until("SELECT state FROM hipq.app_q9 WHERE id = $held", 'final'),
	'it starts when the hold is released');

done_testing();
