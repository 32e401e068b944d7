# One transaction can make hundreds of queues with PostgreSQL's default room for locks. Where the
# room does not suffice, an error says what to do. A queue without final jobs has no leaves by time.
# Names of tables may have 63 bytes.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('many_queues', max_connections => 100);
my $node = $hipq->node;

# Names of queues have letters only.
sub make
{
	my ($from, $to) = @_;
	return "SELECT count(hipq.create_queue('many.q' || translate(n::text, '0123456789',
		'abcdefghij'), owner => 'app')) FROM generate_series($from, $to) AS n";
}
sub relations
{
	return $hipq->sql(q{SELECT count(*) FROM pg_class JOIN pg_namespace ON pg_namespace.oid =
		relnamespace WHERE nspname IN ('hipq', 'pg_toast')});
}

# The first queue also makes the leaves of hipq.attempt, and the instance.
$hipq->sql('SET client_min_messages = warning; ' . make(0, 0));

# ---- one transaction

my $before = relations();
my $locks = 'SELECT count(DISTINCT (locktype, relation, classid, objid, objsubid)) FROM pg_locks
	WHERE pid = pg_backend_pid()';
my ($first, $second, $many) = split /\n/, $hipq->sql('BEGIN; ' . join('; ', make(1, 1), $locks,
		make(2, 2), $locks, make(3, 500)) . '; COMMIT')
  =~ s/^(1)\n(\d+)\n1\n(\d+)\n(\d+)$/$2\n$3\n$4/r;
cmp_ok($second - $first, '<=', 25, 'a queue needs locks on no more than 25 objects');
is($many, '498', '500 queues are made in one transaction');
is(relations() - $before, 500 * 16, 'each queue has 16 relations');
is($hipq->sql('SELECT count(*) FROM hipq.queue WHERE NOT is_dropped'), '501',
	'all 501 queues are there');

# ---- no room for locks

# Fills the lock table with advisory locks, and releases 300 of them. The session keeps the others
# when the statement for the last lock fails.
my $fill = q{
	DO $$
	DECLARE
		taken integer := 0;
	BEGIN
		BEGIN
			LOOP
				PERFORM pg_advisory_lock(taken + 1);
				taken := taken + 1;
			END LOOP;
		EXCEPTION WHEN out_of_memory THEN
			PERFORM pg_advisory_unlock(n) FROM generate_series(taken - 299, taken) AS n;
		END;
	END $$;};
like($hipq->error_of("$fill " . make(501, 540)),
	qr/ERROR:  53200: no room for the locks of a transaction that makes queues\nDETAIL:  The tables and indexes of each queue are locked until it ends\.\nHINT:  Use several transactions, or increase max_locks_per_transaction\./,
	'an error says that there is no room for locks, and what to do');
is($hipq->sql('SELECT count(*) FROM hipq.queue WHERE NOT is_dropped'), '501',
	'the refused transaction has made no queue');
is($hipq->sql('SET client_min_messages = warning; ' . make(501, 501)), '1',
	'the transaction after the refused one makes a queue');

# ---- leaves by time

my $leaves = 'SELECT count(*) FROM pg_inherits WHERE inhparent = %s::regclass';
$hipq->sql(q{
	CREATE FUNCTION run(data jsonb) RETURNS void LANGUAGE sql AS 'SELECT';
	SELECT hipq.register_job_type('many.qb', 'run', handler => 'run')});
my $job = $hipq->enqueue('run', q{queue => 'many.qb'});
ok($hipq->wait_until("SELECT state = 'final' AND error = 'NONE' FROM hipq.many_qb WHERE id = $job"),
	'a job runs in one of the queues');
ok($hipq->wait_until(sprintf($leaves, q{'hipq.many_qb_final'}), 4, 30),
	'the first final job makes the leaves by time');
is($hipq->sql('SELECT count(*) FROM hipq.many_qb_final_default'), '0',
	'the final job is in a leaf by time');
is($hipq->sql(sprintf($leaves, q{'hipq.many_qc_final'})), '1',
	'queues without final jobs have one leaf');

# ---- a locked queue among many, which view jobs reads one by one

my $locker = $hipq->session;
$locker->query_safe('BEGIN; LOCK TABLE hipq.many_qb IN ACCESS EXCLUSIVE MODE');
my ($status, $out, $err) =
  $node->psql('postgres', q{SET statement_timeout = '20s'; SELECT count(*) FROM hipq.jobs});
is("$status $out", '0 0', 'view jobs does not wait for a locked queue');
like($err, qr/WARNING:  queue "many\.qb" is left out because its table is locked/,
	'a warning names the locked queue');
$locker->query_safe('ROLLBACK');
$locker->quit;

# ---- a queue whose table has 63 bytes

my $long = 'q' . 'x' x 57;
$hipq->sql(qq{
	SELECT hipq.create_queue('many.$long', owner => 'app');
	SELECT hipq.register_job_type('many.$long', 'run_long', handler => 'run')});
is($hipq->outcome_of('run_long'), 'succeeded',
	'a job runs in a queue whose table has a name of 63 bytes');
my $tree = "(SELECT relid FROM pg_partition_tree('hipq.many_$long')
	WHERE level = 1 AND NOT isleaf)";
ok($hipq->wait_until(sprintf($leaves, $tree), 4, 30),
	'a queue with a long name gets its leaves by time');
is($hipq->sql("SELECT count(*) FROM pg_partition_tree('hipq.many_$long') WHERE relid::text
		LIKE 'hipq.many_qxx%'"), '7', 'the leaves of a queue with a long name have its name');
$hipq->sql("SELECT hipq.drop_queue('many.$long')");
ok($hipq->wait_until(q{SELECT count(*) FROM pg_class WHERE relname LIKE 'many\_qxx%'}, 0, 30),
	'a dropped queue with a long name leaves no table');

done_testing();
