# Jobs that are enqueued in a prepared transaction run after COMMIT PREPARED and not before. A
# transaction that has claimed or finished jobs cannot be prepared.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('two_phase', 'max_prepared_transactions' => 10,
	'hipq.executor_idle_timeout' => '100ms');
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE FUNCTION run(data jsonb) RETURNS text LANGUAGE plpgsql AS $$
	BEGIN
		IF data ? 'do' THEN EXECUTE data->>'do'; END IF;
		RETURN 'done';
	END $$;
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run')});
my $workers = q{SELECT count(*) FROM pg_stat_activity
	WHERE backend_type IN ('hipq scheduler', 'hipq executor')};
ok($hipq->wait_until($workers, 0), 'no worker runs at the start');

sub prepare
{
	my ($gid, $sql) = @_;
	my $out = $hipq->sql("BEGIN; $sql; PREPARE TRANSACTION '$gid'");
	return (split /\n/, $out)[0];
}

# ---- an enqueue is prepared
my $id = prepare('one', q{SELECT hipq.enqueue('run', job_key => 'k')});
is($hipq->sql('SELECT gid FROM pg_prepared_xacts'), 'one', 'an enqueue can be prepared');
# The launcher makes a scheduler check once (server/prepared_look.cpp).
ok($hipq->wait_until($workers, 0), 'no worker stays for a prepared transaction');
is($hipq->sql("SELECT count(*) FROM hipq.jobs WHERE id = $id"), 0,
	'the prepared job is not visible before COMMIT PREPARED');
$hipq->sql(q{COMMIT PREPARED 'one'});
is($hipq->outcome($id, 5), 'succeeded', 'the prepared job runs after COMMIT PREPARED');
ok($hipq->wait_until($workers, 0), 'no worker stays after the prepared job');

$id = prepare('two', q{SELECT hipq.enqueue('run', job_key => 'k')});
$hipq->sql(q{ROLLBACK PREPARED 'two'});
is($hipq->sql("SELECT count(*) FROM hipq.jobs WHERE id = $id"), 0,
	'after ROLLBACK PREPARED there is no job');
is($hipq->outcome_of('run', q{job_key => 'k'}), 'succeeded', "a rolled back job's key is free");

# INSERT of a job that is due, and of a scheduled job, with a restart before COMMIT PREPARED.
$id = prepare('three', q{INSERT INTO hipq.app_main (job_type) VALUES ('run') RETURNING id});
my $later = prepare('four', q{INSERT INTO hipq.app_main (job_type, scheduled_run_time)
	VALUES ('run', now() + interval '3 s') RETURNING id});
$hipq->node->restart;
is($hipq->sql('SELECT count(*) FROM pg_prepared_xacts'), 2,
	'prepared transactions outlive a restart');
ok($hipq->wait_until($workers, 0), 'no worker stays for transactions that outlive a restart');
$hipq->sql(q{COMMIT PREPARED 'three'});
$hipq->sql(q{COMMIT PREPARED 'four'});
is($hipq->outcome($id, 5), 'succeeded',
	'the prepared job runs after a restart and COMMIT PREPARED');
is($hipq->outcome($later), 'succeeded', 'the prepared job with a later time runs when it is due');

# Other calls that claim no job.
my $waiting = $hipq->enqueue('run', q{scheduled_run_time => now() + interval '1 day'});
prepare('five', "SELECT hipq.reschedule($waiting, scheduled_run_time => now())");
is($hipq->sql("SELECT scheduled_run_time > now() FROM hipq.jobs WHERE id = $waiting"), 't',
	'reschedule() can be prepared');
$hipq->sql(q{COMMIT PREPARED 'five'});
is($hipq->outcome($waiting, 5), 'succeeded', 'reschedule() takes effect after COMMIT PREPARED');
my $again = prepare('six', "SELECT hipq.retry($waiting)");
$hipq->sql(q{COMMIT PREPARED 'six'});
is($hipq->outcome($again, 5), 'succeeded',
	'retry() can be prepared, and takes effect after COMMIT PREPARED');

# ---- finished jobs
$waiting = $hipq->enqueue('run', q{scheduled_run_time => now() + interval '1 day'});
my $err = $hipq->error_of("BEGIN; SELECT hipq.cancel($waiting); PREPARE TRANSACTION 'seven'");
like($err, qr/0A000: cannot PREPARE a transaction that has claimed or finished hipq jobs/,
	'a transaction that finished a job cannot be prepared');
like($err, qr/HINT:  Use COMMIT, or enqueue jobs in the transaction instead\./,
	'the hint says what can be done');
is($hipq->sql("SELECT outcome FROM hipq.jobs WHERE id = $waiting"), 'waiting',
	'the refused transaction is rolled back');
is($hipq->sql("BEGIN; SELECT hipq.cancel($waiting); COMMIT; SELECT outcome FROM hipq.jobs WHERE id =
		$waiting") =~ /cancelled$/, 1, 'the same transaction can be committed in one phase');
$id = prepare('eight', q{SELECT hipq.enqueue('run')});
$hipq->sql(q{COMMIT PREPARED 'eight'});
is($hipq->outcome($id), 'succeeded', 'a transaction after the refused one can be prepared');

# ---- handlers
foreach my $command (q{PREPARE TRANSACTION ''nine''}, q{COMMIT PREPARED ''nine''})
{
	$id = $hipq->enqueue('run', qq{'{"do": "$command"}'});
	is($hipq->outcome($id), 'failed', "a handler cannot do $command");
	like($hipq->sql("SELECT sqlstate || ' ' || error FROM hipq.attempts_detail WHERE job_id = $id"),
		qr/^(0A000|25001)/, "the error of $command has SQLSTATE 0A000 or 25001");
}
like($hipq->error_of(q{SELECT hipq.register_job_type('app.main', 'prepares',
		handler => 'PREPARE TRANSACTION $1$ten$1$', handler_kind => 'statement')}), qr/ERROR/,
	'PREPARE TRANSACTION cannot be a handler');
is($hipq->sql('SELECT count(*) FROM pg_prepared_xacts'), 0,
	'no transaction is prepared by a handler');

# ---- the extension
like($hipq->error_of(q{SET hipq.allow_drop = on; SET client_min_messages = warning; BEGIN;
		DROP EXTENSION hipq CASCADE; PREPARE TRANSACTION 'eleven'}),
	qr/0A000: cannot PREPARE a transaction that has dropped extension "hipq"/,
		'DROP EXTENSION cannot be prepared');
is($hipq->outcome_of('run'), 'succeeded', 'jobs run after the refused DROP EXTENSION');

# ---- a database without hipq
$hipq->node->safe_psql('postgres', 'CREATE DATABASE plain');
my $plain = $hipq->in('plain');
$plain->sql(q{BEGIN; CREATE TABLE t (); PREPARE TRANSACTION 'twelve'});
$plain->sql(q{COMMIT PREPARED 'twelve'});
is($plain->sql(q{SELECT count(*) FROM t}), 0, 'two-phase commit works without hipq');

done_testing();
