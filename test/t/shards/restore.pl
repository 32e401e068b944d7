# A shard stops, and says so, if it lacks more than the router keeps. A promoted router works with
# its shards if it has forgotten nothing that they know, and otherwise by force only.
use strict;
use warnings;
use HipqShards;
use PostgreSQL::Test::Utils;
use Test::More;

my $shards = HipqShards->new('restore', 1);
my ($router, $one) = $shards->nodes;
my $enqueued = 0;
sub enqueue
{
	my ($count) = @_;
	$shards->router->sql("SELECT hipq.enqueue('run', jsonb_build_object('tenant', 't' || n))
		FROM generate_series(1, $count) AS n");
	$enqueued += $count;
	return ok($shards->wait_for_runs($enqueued), "$enqueued jobs have run");
}
# Returns the connection string that reaches a node or its standby.
sub reach
{
	my ($number, $standby) = @_;
	my $node = $shards->node($number)->node;
	return sprintf 'host=%s,%s port=%d,%d dbname=postgres user=postgres '
		. 'target_session_attrs=read-write', $node->host, $standby->host,
		$node->port, $standby->port;
}
ok($router->wait_until('SELECT count(*) FROM hipq.shard_move', 0), 'the shard has its slots');
enqueue(20);

# ---- arguments, and nodes that are in step
like($router->error_of(q{CALL hipq.resync_shard('app', 7)}),
	qr/42704: instance "app" has no shard 7/, 'resync_shard() refuses an unknown shard');
like($router->error_of(q{BEGIN; CALL hipq.resync_shard('app', 1)}),
	qr/2D000: hipq.resync_shard\(\) commits/, 'resync_shard() is refused in a transaction');
like($router->error_of(q{CALL hipq.resync_shard('app', 0)}),
	qr/55000: this server is no router of instance "app" that is out of step/,
	'resync_shard() refuses a router in step');
like($one->error_of(q{CALL hipq.resync_shard('app', 1)}), qr/42704: instance "app" has no shard 1/,
	'resync_shard() is refused on a shard');
like($shards->resync(1), qr/NOTICE:  shard 1 of instance "app" is in step/,
	'resync_shard() of a shard in step does no harm');
enqueue(20);

# ---- a lost replication slot, as max_slot_wal_keep_size makes it
$router->set(max_slot_wal_keep_size => '1MB');
$one->node->stop;
$router->sql(q{SELECT hipq.enqueue('run', jsonb_build_object('tenant', 't' || n))
	FROM generate_series(1, 20) AS n});
$router->sql($_) foreach ('CREATE TABLE filled AS SELECT 1; DROP TABLE filled',
	'SELECT pg_switch_wal()') x 3, 'CHECKPOINT';
is($router->sql(q{SELECT wal_status FROM pg_replication_slots}), 'lost',
	'the replication slot is lost');
ok($router->wait_until(q{SELECT count(*) FROM hipq.alerts_detail WHERE alert = 'shard'
		AND detail ~ 'slot is lost' AND hint = $$CALL hipq.resync_shard('app', 1).$$}, 1),
	'an alert reports the lost replication slot, and says what to do');
$one->node->start;
$shards->resync(1);
$enqueued += 20;
ok($shards->wait_for_runs($enqueued),
	'jobs that the replication slot has lost run after resync_shard()');
$router->set(max_slot_wal_keep_size => '-1');

# ---- a standby that has all changes
my $standby = $shards->standby_of(1);
$router->sql(sprintf q{CALL hipq.create_shard('app', 1, '%s', publisher => '%s')},
	reach(1, $standby), $shards->conninfo(0));
enqueue(20);
$one->node->wait_for_catchup($standby, 'replay');
$shards->promote(1, $standby);
$one = $shards->node(1);
$router->sql(q{SELECT hipq.enqueue('run', jsonb_build_object('tenant', 't' || n))
	FROM generate_series(1, 20) AS n});
ok($one->wait_until(q{SELECT count(*) FROM hipq.alerts_detail WHERE alert = 'shard' AND detail
		~ 'was promoted or restored'}, 1), 'a promoted shard stops although it lacks nothing');
like($shards->resync(1),
	qr/DETAIL:  The router has taken 0 letter\(s\) .* has forgotten 0 job\(s\)/,
	'resync_shard() finds nothing forgotten');
$enqueued += 20;
ok($shards->wait_for_runs($enqueued),
	'jobs that were enqueued after the promotion run, and no others');
is($one->sql('SELECT count(*) - count(DISTINCT id) FROM ran'), 0,
	'no job has run twice after the promotion of a shard');

# ---- a standby of a shard that is far behind
$standby = $shards->standby_of(1);
$router->sql(sprintf q{CALL hipq.create_shard('app', 1, '%s', publisher => '%s')},
	reach(1, $standby), $shards->conninfo(0));
$shards->cut_off($standby);
my $known = $enqueued;
enqueue(20);
ok($shards->forgotten(3, $router, q{SELECT count(*) FROM hipq.shard_outbox WHERE kind = 'jobs'}),
	'the router has removed the letters');
$router->set('hipq.clock_offset' => 0);
$shards->promote(1, $standby);
$one = $shards->node(1);
like($router->error_of(q{CALL hipq.resync_shard('app', 1)}),
	qr/55000: node 1 of instance "app" lacks more than the router keeps.*outbox_keep.*force => true/s,
	'resync_shard() refuses a shard that lacks more than the router keeps');
ok($one->wait_until(q{SELECT count(*) FROM hipq.alerts_detail WHERE alert = 'shard'
		AND detail ~ 'was promoted or restored'}, 1), 'the refused shard has an alert');
$shards->resync('1, force => true');
ok($one->wait_until(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'shard'}, 0),
	'the alert ends after resync_shard() of the shard by force');
is($one->sql('SELECT count(*) FROM ran'), $known,
	'the shard lacks the jobs that the router does not keep');
$enqueued = $known;
enqueue(20);
cmp_ok($one->sql('SELECT last_value FROM hipq.job_id_seq'), '>', 2**28,
	'the shard skips ids that it may have generated');

# ---- the router's standby has all that its primary had
$standby = $shards->standby_of(0);
$router->sql(sprintf q{CALL hipq.create_shard('app', 1, '%s', publisher => '%s')},
	$shards->conninfo(1), reach(0, $standby));
enqueue(20);
$router->node->wait_for_catchup($standby, 'replay');
$shards->promote(0, $standby);
$router = $shards->router;
like($router->error_of(q{SELECT hipq.enqueue('run', '{"tenant": "a"}')}),
	qr/55000: this server, node 0 of instance "app", is not in step.*CALL hipq.resync_shard\('app', 0\)/s,
	'a promoted router refuses enqueue()');
ok($router->wait_until(q{SELECT count(*) FROM hipq.alerts_detail
		WHERE alert = 'shard' AND hint = $$CALL hipq.resync_shard('app', 0).$$}, 1),
	'an alert on the promoted router says what to do');
like($router->error_of(q{CALL hipq.resync_shard('app', 1)}), qr/55000: this server, node 0/,
	'resync_shard() of a shard is refused before the resync of the router');
$shards->resync(0);
enqueue(20);
ok($router->wait_until(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'shard'}, 0),
	'the alert ends after resync_shard() of the router');

# ---- a standby of the router that lacks something
$standby = $shards->standby_of(0);
$router->sql(sprintf q{CALL hipq.create_shard('app', 1, '%s', publisher => '%s')},
	$shards->conninfo(1), reach(0, $standby));
$shards->cut_off($standby);
enqueue(20);
$shards->promote(0, $standby);
$router = $shards->router;
like($router->error_of(q{CALL hipq.resync_shard('app', 0)}),
	qr/55000: shard 1 of instance "app" has got \d+ letter\(s\) that this router does not know/,
	'resync_shard() refuses a router that has forgotten what a shard knows');
like($router->error_of(q{SELECT hipq.enqueue('run', '{"tenant": "a"}')}),
	qr/55000: this server, node 0 of instance "app", is not in step/,
	'a router that has forgotten refuses enqueue()');

# ---- resync_shard() of the router by force
like($shards->resync('0, force => true'),
	qr/NOTICE:  shard 1 of instance "app" has got \d+ letter\(s\) that this router does not know\nDETAIL:.*are lost.*shard 1 of instance "app" is in step/s,
	'resync_shard() of the router by force reports what may be lost');
enqueue(20);
is($one->sql('SELECT count(*) - count(DISTINCT id) FROM ran'), 0,
	'no job has run twice after resync_shard() of the router by force');
$router->sql(q{
	SELECT hipq.enqueue('run', job_key => 'key', scheduled_run_time => now() + interval '1 hour')});
ok($one->wait_until(q{SELECT count(*) FROM hipq.jobs_detail WHERE job_key = 'key'}, 1),
	'a job with a key is not held after resync_shard() of the router by force');
$one->sql(q{SELECT hipq.enqueue('run', '{"tenant": "t"}')});
ok($shards->wait_for_runs(++$enqueued), 'a job that is enqueued on the shard runs');
is($shards->on_router(q{SELECT hipq.move_slots('app', ARRAY[1, 2, 3], 0)}), 3,
	'slots move after resync_shard() of the router by force');
ok($shards->settled, 'moves end after resync_shard() of the router by force');
ok($_->wait_until(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'shard'}, 0),
	'the alert ends after resync_shard() of the router by force') foreach $shards->nodes;

unlike(slurp_file($_->node->logfile), qr/PANIC:|TRAP:|reference leak|signal 11/,
	'the log has nothing alarming') foreach $shards->nodes;
done_testing();
