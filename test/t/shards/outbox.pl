# Jobs for a shard that does not read are kept up to hipq.outbox_max, however old they are.
use strict;
use warnings;
use HipqShards;
use Test::More;

my $shards = HipqShards->new('outbox', 2);
my ($router, $lame, $well) = $shards->nodes;
my ($subscription) = $lame->sql('SELECT subname FROM pg_subscription');

# Returns a statement that enqueues $count jobs of half a kB for a tenant.
my %tenant = (lame => $shards->tenant_of(1), well => $shards->tenant_of(2));
sub sending
{
	my ($tenant, $count) = @_;
	return "SELECT count(hipq.enqueue('run', jsonb_build_object('tenant',
		'$tenant{$tenant}', 'text', (SELECT string_agg(md5(random()::text || m), '')
		FROM generate_series(1, 16) AS m)))) FROM generate_series(1, $count) AS n";
}
sub kept
{
	return $router->sql('SELECT coalesce(sum(cardinality(jobs)), 0) FROM hipq.shard_outbox');
}
sub all_read
{
	my ($readers) = @_;
	my $position = $router->sql('SELECT pg_current_wal_insert_lsn()');
	return $router->wait_until("SELECT count(*) FROM pg_replication_slots
		WHERE slot_name LIKE '$readers' AND confirmed_flush_lsn < '$position'", 0);
}

# ---- a limit
$lame->sql("ALTER SUBSCRIPTION $subscription DISABLE");
$router->sql(sending(lame => 3000));
ok(all_read('%_to_2'), 'the other shard has read all that the router wrote');
$router->set('hipq.outbox_max' => '1MB');
my $error = $router->error_of(sending(lame => 1));
like($error, qr/53400: too much waits for shard 1 of instance "app"/,
	'a job beyond hipq.outbox_max is refused');
like($error, qr/keeps [2-9] MB of WAL for it, from 20.*; hipq.outbox_max is 1 MB/,
	'the error says how much WAL is kept, and since when');
like($router->error_of(qq{INSERT INTO hipq.app_mail (job_type, job_data) VALUES ('run',
		'{"tenant": "$tenant{lame}"}')}), qr/53400/, 'an INSERT beyond hipq.outbox_max is refused');
is(kept(), 3000, 'refused jobs are not written');
$router->sql(sending(well => 10));
ok($shards->wait_for_runs(10), 'jobs for other shards are accepted, and run');
$router->set('hipq.outbox_max' => '0');
$router->sql(sending(lame => 1));
is(kept(), 3011, 'hipq.outbox_max = 0 is no limit');

# ---- letters are kept until they are read
ok($router->wait_until('SELECT count(*) > 0 FROM hipq.shard_received'),
	'the router has received letters');
ok($shards->forgotten(5, $router, 'SELECT count(*) FROM hipq.shard_received'),
	'received letters are removed after five days');
is(kept(), 3011, 'letters that a shard has not read are kept');
$lame->sql("ALTER SUBSCRIPTION $subscription ENABLE");
ok($shards->wait_for_runs(3011), 'all jobs run when the shard reads again');
ok(all_read('%'), 'both shards have read all');
ok($shards->forgotten(6, $router, q{SELECT count(*) FROM hipq.shard_outbox WHERE kind = 'jobs'}),
	'letters that were read are removed');

# ---- from a shard to the router
my ($back) = $router->sql("SELECT subname FROM pg_subscription WHERE subname LIKE '%_from_1'");
$router->sql("ALTER SUBSCRIPTION $back DISABLE");
$lame->sql(sending(well => 3000));
$lame->set('hipq.outbox_max' => '1MB');
like($lame->error_of(sending(well => 1)),
	qr/53400: too much waits for the router of instance "app"/,
	'a shard refuses a job beyond hipq.outbox_max');
$router->sql("ALTER SUBSCRIPTION $back ENABLE");
ok($shards->wait_for_runs(6011), 'the jobs of the shard run when the router reads again');
ok($lame->wait_until(sending(well => 1), 1), 'the shard accepts jobs again');

done_testing();
