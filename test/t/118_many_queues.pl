# Hundreds of queues are made in one transaction with PostgreSQL's default room for locks. A queue without final jobs has no leaves
# by time.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('many_queues', max_connections => 100, max_locks_per_transaction => 64);
my $node = $hipq->node;

# Names of queues have letters only.
sub make { my ($from, $to) = @_; return "SELECT count(hipq.create_queue('many.q' || translate(n::text, '0123456789', 'abcdefghij'), owner => 'app')) FROM generate_series($from, $to) AS n"; }
sub relations { return $hipq->sql(q{SELECT count(*) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname IN ('hipq', 'pg_toast')}); }

# The first queue brings the leaves of hipq.attempt, and the instance.
$hipq->sql('SET client_min_messages = warning; ' . make(0, 0));

# ---- one transaction

my $before = relations();
my $locks = 'SELECT count(DISTINCT (locktype, relation, classid, objid, objsubid)) FROM pg_locks WHERE pid = pg_backend_pid()';
my ($first, $second, $many) = split /\n/, $hipq->sql('BEGIN; ' . join('; ', make(1, 1), $locks, make(2, 2), $locks, make(3, 500)) . '; COMMIT')
  =~ s/^(1)\n(\d+)\n1\n(\d+)\n(\d+)$/$2\n$3\n$4/r;
cmp_ok($second - $first, '<=', 23, 'a queue needs locks on no more than 23 objects');
is($many, '498', '500 queues are made in one transaction');
is(relations() - $before, 500 * 14, 'each has 14 relations');
is($hipq->sql('SELECT count(*) FROM hipq.queue WHERE NOT is_dropped'), '501', 'all are there');

# ---- leaves by time

my $leaves = 'SELECT count(*) FROM pg_inherits WHERE inhparent = %s::regclass';
$hipq->sql(q{
	CREATE FUNCTION run(data jsonb) RETURNS void LANGUAGE sql AS 'SELECT';
	SELECT hipq.register_job_type('many.qb', 'run', handler => 'run')});
my $job = $hipq->enqueue('run', q{queue => 'many.qb'});
ok($hipq->wait_until("SELECT state = 'final' AND error = 'NONE' FROM hipq.many_qb WHERE id = $job"), 'a job runs');
ok($hipq->wait_until(sprintf($leaves, q{'hipq.many_qb_final'}), 4, 30), 'with the first final job come the leaves by time');
is($hipq->sql('SELECT count(*) FROM hipq.many_qb_final_default'), '0', 'and the job goes there');
is($hipq->sql(sprintf($leaves, q{'hipq.many_qc_final'})), '1', 'other queues still have one leaf');

done_testing();
