# DROP EXTENSION fails if it needs more locks for queues than there is room for. A hint says how to
# drop the queues first.
use strict;
use warnings;
use HipqCluster;
use Test::More;

my $hipq = HipqCluster->new('many_queues', max_locks_per_transaction => 20,
	'hipq.max_executors' => 2);
# Calls a function for queues, 25 in a transaction, because a transaction has room for some queues.
sub for_queues
{
	my ($what, $first, $last) = @_;
	for (my $n = $first; $n <= $last; $n += 25)
	{
		my $end = $n + 24 < $last ? $n + 24 : $last;
		$hipq->sql("SELECT hipq.$what('app.q' || n) FROM generate_series($n, $end) AS n");
	}
	return;
}
for_queues('create_queue', 1, 150);

my $drop = 'SET client_min_messages = warning; DROP EXTENSION hipq CASCADE';
like($hipq->error_of($drop),
	qr/53200: out of shared memory\nHINT:  First drop queues with hipq\.drop_queue\(\), a few in/,
	'DROP EXTENSION is refused without room for all locks');
for_queues('drop_queue', 1, 145);
ok($hipq->wait_until('SELECT count(*) FROM hipq.queue', 5), 'most queues are dropped');
like($hipq->error_of($drop), qr/^no error/, 'DROP EXTENSION works with few queues');

done_testing();
