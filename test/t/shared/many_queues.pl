# DROP EXTENSION is refused if it needs more locks for queues than there is room for. The statement
# in the manual drops the queues first.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('many_queues', max_locks_per_transaction => 25,
	'hipq.max_executors' => 2);
# 25 in a transaction, because a transaction has room for some queues.
$hipq->sql("SELECT hipq.create_queue('app.q' || n) FROM generate_series($_ * 25 + 1, $_ * 25 + 25)
	AS n") for 0 .. 1;

my $drop = 'SET client_min_messages = warning; DROP EXTENSION hipq CASCADE';
my $refusal = join "\n",
  '53200: no room for the locks of a transaction that drops extension "hipq"',
  'DETAIL:  It locks \d+ objects, most of them of queues, and there is room for \d+ locks\.',
  'HINT:  First drop queues with hipq\.drop_queue\(\), each in a transaction of its own\.';
like($hipq->error_of($drop), qr/$refusal/,
	'DROP EXTENSION is refused without room for all locks');
my ($statement) = slurp_file("$ENV{HIPQ_ROOT}/docs/operation.md") =~ /^```sql\n(DO .*?)^```$/ms;
$hipq->sql($statement);
ok($hipq->wait_until('SELECT count(*) FROM hipq.queue', 0, 30), 'all queues are dropped');
like($hipq->error_of($drop), qr/^no error/, 'DROP EXTENSION works without queues');

done_testing();
