# From PostgreSQL 17 on a router can have a standby that no shard is ahead of. Jobs run after the
# promotion of the standby.
use strict;
use warnings;
use HipqShards;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'replication slots fail over from PostgreSQL 17 on'
	if ($ENV{PGVERSION} // 15) < 17;
my $shards = HipqShards->new('failover', 1);
my ($router, $one) = $shards->nodes;
my $enqueued = 0;
sub enqueue
{
	my ($count) = @_;
	$router->sql("SELECT hipq.enqueue('run', jsonb_build_object('tenant', 't' || n))
		FROM generate_series(1, $count) AS n");
	return $enqueued += $count;
}
ok($router->wait_until('SELECT count(*) FROM hipq.shard_move', 0), 'the shard has its slots');
is($_->sql('SELECT bool_and(failover) FROM pg_replication_slots'), 't',
	'replication slots have the failover property') foreach $router, $one;

# ---- a standby with the replication slot
my $primary = $router->node;
$router->sql(q{SELECT pg_create_physical_replication_slot('standby', true)});
$primary->backup('standby');
my $standby = PostgreSQL::Test::Cluster->new('failover_standby');
$standby->init_from_backup($primary, 'standby', has_streaming => 1);
$standby->append_conf('postgresql.conf',
	sprintf(<<'EOC', $primary->connstr('postgres') =~ s/'/''/gr));
primary_conninfo = '%s user=postgres'
primary_slot_name = 'standby'
hot_standby_feedback = on
sync_replication_slots = on
EOC
$standby->start;
$router->set(synchronized_standby_slots => 'standby');
ok($standby->poll_query_until('postgres', 'SELECT count(*) = 1 FROM pg_replication_slots
		WHERE synced AND NOT temporary'), 'the standby has the replication slot');
my $reach =
	sprintf 'host=%s,%s port=%d,%d dbname=postgres user=postgres target_session_attrs=read-write',
	$primary->host, $standby->host, $primary->port, $standby->port;
$router->sql(sprintf q{CALL hipq.create_shard('app', 1, '%s', publisher => '%s')},
	$shards->conninfo(1), $reach);
ok($shards->wait_for_runs(enqueue(20)), 'jobs run with a standby');

# ---- shards get nothing that the standby does not have
$shards->cut_off($standby);
$router->sql(q{SELECT hipq.enqueue('run', jsonb_build_object('tenant', 't' || n))
	FROM generate_series(1, 20) AS n});
ok($router->wait_until(q{SELECT count(*) > 0 FROM pg_stat_activity
		WHERE wait_event = 'WaitForStandbyConfirmation'}),
	'nothing is sent to the shard before the standby has it');
$shards->promote(0, $standby);
$router = $shards->router;
$shards->resync(0);
ok($shards->wait_for_runs(enqueue(20)), 'jobs run with the promoted router');
is($one->sql('SELECT count(*) - count(DISTINCT id) FROM ran'), 0, 'no job has run twice');
ok($router->wait_until(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'shard'}, 0),
	'the alert of the shard ends');

unlike(slurp_file($_->node->logfile), qr/PANIC:|TRAP:|reference leak|signal 11/,
	'the log has nothing alarming') foreach $shards->nodes;
done_testing();
