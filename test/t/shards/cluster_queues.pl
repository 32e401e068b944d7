# View hipq.cluster_queues: what goes on in each queue of a sharded instance on each server, as they have last said.
use strict;
use warnings;
use HipqShards;
use Test::More;

my $shards = HipqShards->new('cluster_queues', 2);
my ($router, $one, $two) = $shards->nodes;
ok($shards->settled, 'the slots are where they belong');
$_->sql(q{CREATE FUNCTION hold(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(1); END $$}) foreach $shards->nodes;
$router->sql(q{SELECT hipq.register_job_type('app.mail', 'hold', handler => 'hold')});
my $tenant = $router->sql(q{SELECT 't' || n FROM generate_series(1, 100) AS n, hipq.shard_map WHERE nodes[hipq.slot_of('t' || n) + 1] = 1 LIMIT 1});

# ---- one row for each queue and node
is($router->sql('SELECT string_agg(queue || $$ $$ || node, $$, $$ ORDER BY node) FROM hipq.cluster_queues'), 'app.mail 0, app.mail 1, app.mail 2', 'the router knows all nodes');
is($router->sql('SELECT bool_and(is_reachable) FROM hipq.cluster_queues'), 't', 'all can be reached');

# ---- what runs and waits on a shard is seen on the router, and what has ended is not
my $lock = $one->hold_lock(1);
$router->sql(qq{SELECT hipq.enqueue('hold', '{"tenant": "$tenant"}');
	SELECT hipq.enqueue('run', '{"tenant": "$tenant"}', scheduled_run_time => now() + interval '1 day') FROM generate_series(1, 5)});
ok($router->wait_until('SELECT backlog_estimate, running_jobs, state FROM hipq.cluster_queues WHERE node = 1', '6|1|runs'), 'a shard tells what waits and runs there');
is($router->sql('SELECT backlog_estimate, running_jobs FROM hipq.cluster_queues WHERE node = 0'), '0|0', 'the router has no jobs');
cmp_ok($router->sql('SELECT extract(epoch FROM clock_timestamp() - as_of) FROM hipq.cluster_queues_detail WHERE node = 1'), '<', 60, 'it says when');
$lock->quit;
ok($router->wait_until('SELECT backlog_estimate, running_jobs, state FROM hipq.cluster_queues WHERE node = 1', '5|0|waits'), 'and when the job has ended');
ok($router->wait_until('SELECT finished_per_minute > 0 FROM hipq.cluster_queues_detail WHERE node = 1'), 'its pace');

# ---- only what is new is sent, and not too often: by a scheduler, which stays while jobs wait; one that begins tells all anew
my $letters = q{(SELECT id, body, sent_time FROM hipq.shard_outbox WHERE kind = 'stats'
		AND sent_time > (SELECT backend_start FROM pg_stat_activity WHERE backend_type LIKE 'hipq scheduler%')) AS letter};
$router->sql(qq{SELECT hipq.enqueue('run', '{"tenant": "$tenant"}')}) foreach 1 .. 50;
ok($router->wait_until('SELECT finished_per_minute > 10 FROM hipq.cluster_queues_detail WHERE node = 1'), 'jobs go on');
cmp_ok($one->sql("SELECT count(*) FROM $letters"), '>=', 2, 'its scheduler has sent letters');
is($one->sql(qq{SELECT coalesce(string_agg(body::text, chr(10)), 'nothing') FROM (SELECT body, body = lag(body) OVER (ORDER BY id) AS is_same FROM $letters) AS letter WHERE is_same}),
	'nothing', 'nothing is said twice');
cmp_ok($one->sql(qq{SELECT min(gap) FROM (SELECT extract(epoch FROM sent_time - lag(sent_time) OVER (ORDER BY id)) AS gap FROM $letters) AS letter}), '>', 1.9, 'nor more often than each two seconds');
is($router->sql(q{SELECT count(*) FROM hipq.shard_outbox WHERE kind = 'stats'}), 0, 'the router tells nobody');

# ---- who sees what
is($one->sql('SELECT string_agg(node::text, $$, $$) FROM hipq.cluster_queues'), '1', 'a shard knows of itself');
$router->sql(q{CREATE ROLE stranger LOGIN; GRANT USAGE ON SCHEMA hipq TO stranger});
is($router->sql_as('stranger', 'SELECT count(*) FROM hipq.cluster_queues'), 0, 'who may not read the queue sees no row');
is($router->sql_as('app', 'SELECT count(*) FROM hipq.cluster_queues'), 3, 'its owner does');

# ---- a shard is down
my $as_of = $router->sql('SELECT as_of FROM hipq.cluster_queues_detail WHERE node = 1');
$one->node->stop('immediate');
ok($router->wait_until('SELECT is_reachable FROM hipq.cluster_queues WHERE node = 1', 'f'), 'a shard that is down is said to be');
is($router->sql("SELECT backlog_estimate IS NOT NULL, as_of >= '$as_of' FROM hipq.cluster_queues_detail WHERE node = 1"), 't|t', 'with what it said last');
$one->node->start;
ok($router->wait_until('SELECT is_reachable FROM hipq.cluster_queues WHERE node = 1', 't'), 'and when it is back');
ok($router->wait_until("SELECT as_of > '$as_of' FROM hipq.cluster_queues_detail WHERE node = 1"), 'it tells its figures anew');

# ---- a database without shards
my $plain = HipqCluster->new('cluster_queues_plain');
$plain->create_queue('app.mail');
is($plain->sql('SELECT count(*) FROM hipq.cluster_queues'), 0, 'without shards there are no rows');

done_testing();
