# drop_instance() while the tables of its queues are being detached: by a transaction that can be seen, and of whose commit nobody has been told yet.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('drop_detached');
my $file = $hipq->node->data_dir . '/commit';
my ($detaching, $dropping) = map { $hipq->session } 1, 2;
$detaching->query_safe(qq{CREATE FUNCTION draw_commits_out(path text) RETURNS void LANGUAGE c STRICT AS 'hipq_guard_test', 'guard_test_draw_commits_out';
	SELECT draw_commits_out('$file')});
$hipq->sql(q{SELECT hipq.create_queue('leaving.one')});
# What is known of the table from before.
$dropping->query_safe(q{SELECT count(*) FROM hipq.leaving_one});

append_to_file($file, '');
# Transactions that write nothing are not drawn out: an idle server process has such ones of its own, to read invalidations.
is($detaching->query_safe('SELECT 1'), '1', 'what wrote nothing is not drawn out');
$detaching->query_until(qr/commits/, q{BEGIN; SELECT hipq.drop_queue('leaving.one'); ALTER TABLE hipq.job DETACH PARTITION hipq.leaving_one;
\echo commits
COMMIT;
});
ok($hipq->wait_until(q{SELECT is_dropped FROM hipq.queue WHERE table_name = 'leaving_one'}, 't'), 'the commit can be seen');
$dropping->query_until(qr/drops/, q{\echo drops
SELECT hipq.drop_instance('leaving');
});
ok($hipq->wait_until(q{SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%drop_instance%' AND wait_event_type = 'Lock'}, 1), 'drop_instance() waits for the locks');
unlink $file or die $!;
$dropping->query_safe('SELECT 1');
is($hipq->sql(q{SELECT count(*) FROM hipq.instance WHERE name = 'leaving'}), '0', 'and then drops the instance');
is($hipq->sql(q{SELECT to_regclass('hipq.leaving_one') IS NULL}), 't', 'and the table');

done_testing();
