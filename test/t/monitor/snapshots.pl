# hipq.doctor() finds what blocks vacuum and keeps WAL: transactions, prepared transactions and
# replication slots. It also finds queues that a subscription feeds.
use strict;
use warnings;
use HipqCluster;
use HipqDoctor;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('doctor_snapshots', streaming => 'logical',
	max_prepared_transactions => 2, max_slot_wal_keep_size => '16MB');
$hipq->create_queue('app.main');
is(findings($hipq), '', 'a new server has no findings');
# Until here the limit is higher, because transactions of hipq may take this long under load.
$hipq->set('hipq.alert_held_snapshot' => '200ms');

# ---- a transaction
my $session = $hipq->session;
$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
my $pid = $session->query_safe('SELECT pg_backend_pid()');
ok($hipq->wait_until(q{SELECT count(*) = 1 FROM hipq.doctor() WHERE finding = 'blocked vacuum'}),
	'an old transaction is a finding');
is_found($hipq, 'warning', 'blocked vacuum', "process $pid",
	qr/idle in transaction\) keeps dead rows of this database/);
$hipq->sql(finding_of($hipq, 'blocked vacuum', "process $pid")->{statement});
ok($hipq->wait_until(q{SELECT count(*) = 0 FROM hipq.doctor() WHERE finding = 'blocked vacuum'}),
	'the finding disappears when the transaction ends');
eval { $session->quit };

# ---- a prepared transaction
$hipq->sql(q{BEGIN; CREATE TABLE prepared (); PREPARE TRANSACTION 'it''s late'});
ok($hipq->wait_until(q{SELECT count(*) = 1 FROM hipq.doctor() WHERE finding = 'blocked vacuum'}),
	'an old prepared transaction is a finding');
is_mended($hipq, 'warning', 'blocked vacuum', q{prepared transaction "it's late"},
	qr/keeps dead rows of this database, and the locks/);
$hipq->set('hipq.alert_held_snapshot' => '1h');

# ---- a prepared transaction that blocks other calls that make a queue
$hipq->sql(q{BEGIN; SELECT hipq.create_queue('app.first'); PREPARE TRANSACTION 'half done'});
like($hipq->error_of(q{SELECT hipq.create_queue('app.second')}),
	qr/55P03: another transaction that makes a queue is open.*DETAIL: +It is that of prepared transaction "half done"\..*HINT: +End it with COMMIT PREPARED/s,
	'an error names the prepared create_queue() that blocks others');
is($hipq->sql(q{SELECT hint FROM hipq.alerts_detail WHERE alert = 'prepared set-up'}),
	q{COMMIT PREPARED 'half done', or ROLLBACK PREPARED 'half done'.},
		'an alert says how to end a prepared create_queue()');
is_mended($hipq, 'error', 'prepared set-up', 'prepared transaction "half done"',
	qr/nor perhaps make any queue/);
is($hipq->sql(q{SELECT count(*) FROM hipq.alerts_detail WHERE alert = 'prepared set-up'}), 0,
	'the alert ends with the prepared create_queue()');

# ---- replication slots
$hipq->sql(q{SELECT pg_create_physical_replication_slot('unborn')});
is(findings($hipq), '', 'a replication slot that keeps no WAL is not a finding');
$hipq->sql(q{SELECT pg_create_physical_replication_slot('idle', true)});
is_mended($hipq, 'warning', 'inactive slot', 'replication slot "idle"',
	qr/Nothing reads from it, and it keeps .* of WAL/);
$hipq->sql(q{SELECT pg_create_physical_replication_slot('gone', true)});
foreach (1 .. 4)
{
	$hipq->sql('SELECT pg_switch_wal()');
	$hipq->sql('CREATE TABLE x (); DROP TABLE x');
}
$hipq->sql('CHECKPOINT');
is_mended($hipq, 'error', 'lost slot', 'replication slot "gone"', qr/wal_status lost/);

# ---- a queue that a subscription feeds belongs to another server until the subscription is dropped
my $replica = HipqCluster->new('doctor_replica');
$hipq->sql('CREATE PUBLICATION jobs
	FOR TABLE hipq.app_main WITH (publish_via_partition_root = true)');
$replica->create_queue('app.main');
my $connection = $hipq->node->connstr('postgres');
$replica->sql(qq{CREATE SUBSCRIPTION feed CONNECTION \$\$$connection\$\$ PUBLICATION jobs});
$hipq->enqueue('work', q{queue => 'app.main'});
ok($replica->wait_until('SELECT count(*) = 1 FROM hipq.queue_hold'),
	'the subscription brings jobs of the publisher');
is_found($replica, 'information', 'held queue', 'queue "app.main"',
	qr/Subscription "feed" has brought its jobs, which are another server's\.$/);
$replica->sql('DROP SUBSCRIPTION feed');
is_mended($replica, 'warning', 'held queue', 'queue "app.main"', qr/feeds it no more/);

done_testing();
