# hipq.drop_instance() waits for a transaction that detaches tables of its queues, even while this
# transaction's commit is visible and its invalidations are not sent yet.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('drop_detached');
my $file = $hipq->node->data_dir . '/commit';
my ($detaching, $dropping) = map { $hipq->session } 1, 2;
$detaching->query_safe(qq{CREATE FUNCTION draw_commits_out(path text) RETURNS void
	LANGUAGE c STRICT AS 'hipq_guard_test', 'guard_test_draw_commits_out';
	SELECT draw_commits_out('$file')});
$hipq->sql(q{SELECT hipq.create_queue('leaving.one')});
# This session's caches have the table.
$dropping->query_safe(q{SELECT count(*) FROM hipq.leaving_one});

append_to_file($file, '');
# Transactions that write nothing are not delayed, because an idle server process runs some of its
# own to process invalidations.
is($detaching->query_safe('SELECT 1'), '1', 'a transaction that writes nothing is not delayed');
$detaching->query_until(qr/commits/, q{BEGIN; SELECT hipq.drop_queue('leaving.one');
	ALTER TABLE hipq.job DETACH PARTITION hipq.leaving_one;
\echo commits
COMMIT;
});
ok($hipq->wait_until(q{SELECT is_dropped FROM hipq.queue WHERE table_name = 'leaving_one'}, 't'),
	'the detaching commit is visible');
$dropping->query_until(qr/drops/, q{\echo drops
SELECT hipq.drop_instance('leaving');
});
ok($hipq->wait_until(q{SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%drop_instance%'
		AND wait_event_type = 'Lock'}, 1), 'drop_instance() waits for the locks');
unlink $file or die $!;
$dropping->query_safe('SELECT 1');
is($hipq->sql(q{SELECT count(*) FROM hipq.instance WHERE name = 'leaving'}), '0',
	'drop_instance() drops the instance');
is($hipq->sql(q{SELECT to_regclass('hipq.leaving_one') IS NULL}), 't',
	'drop_instance() drops the table');

done_testing();
