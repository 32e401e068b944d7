# View hipq.cluster_queues shows each queue of a sharded instance on each server, with the values
# that the server reported last.
use strict;
use warnings;
use HipqShards;
use Test::More;

my $shards = HipqShards->new('cluster_queues', 2);
my ($router, $one, $two) = $shards->nodes;
ok($shards->settled, 'the slots are settled');
$_->sql(q{CREATE FUNCTION hold(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
	PERFORM pg_advisory_xact_lock_shared(1); END $$}) foreach $shards->nodes;
$router->sql(q{SELECT hipq.register_job_type('app.mail', 'hold', handler => 'hold')});
my $tenant = $router->sql(q{SELECT 't' || n FROM generate_series(1, 100) AS n, hipq.shard_map
	WHERE nodes[hipq.slot_of('t' || n) + 1] = 1 LIMIT 1});

# ---- one row for each queue and node
is($router->sql('SELECT string_agg(queue || $$ $$ || node, $$, $$ ORDER BY node)
		FROM hipq.cluster_queues'), 'app.mail 0, app.mail 1, app.mail 2',
	'the view has a row for each node of the queue');
is($router->sql('SELECT bool_and(is_reachable) FROM hipq.cluster_queues'), 't',
	'all nodes are reachable');

# ---- the router shows running and waiting jobs of a shard, but no final jobs
my $lock = $one->hold_lock(1);
$router->sql(qq{SELECT hipq.enqueue('hold', '{"tenant": "$tenant"}');
	SELECT hipq.enqueue('run', '{"tenant": "$tenant"}',
		scheduled_run_time => now() + interval '1 day') FROM generate_series(1, 5)});
ok($router->wait_until('SELECT backlog_estimate, running_jobs, state FROM hipq.cluster_queues
		WHERE node = 1', '6|1|runs'), "the router shows a shard's running and waiting jobs");
is($router->sql('SELECT backlog_estimate, running_jobs FROM hipq.cluster_queues WHERE node = 0'),
	'0|0', 'the router shows no jobs of its own');
cmp_ok($router->sql('SELECT extract(epoch FROM clock_timestamp() - as_of)
		FROM hipq.cluster_queues_detail WHERE node = 1'), '<', 60,
	'the view shows the time of the report');
$lock->quit;
ok($router->wait_until('SELECT backlog_estimate, running_jobs, state FROM hipq.cluster_queues
		WHERE node = 1', '5|0|waits'), 'the router shows that the running job has ended');
ok($router->wait_until('SELECT finished_per_minute > 0 FROM hipq.cluster_queues_detail
		WHERE node = 1'), 'the router shows how many jobs end per minute');

# ---- a scheduler, which stays while jobs wait, sends changed statistics only, and not too often;
# a new scheduler sends all statistics
my $letters = q{(SELECT id, body, sent_time FROM hipq.shard_outbox WHERE kind = 'stats'
		AND sent_time > (SELECT backend_start FROM pg_stat_activity
			WHERE backend_type LIKE 'hipq scheduler%')) AS letter};
$router->sql(qq{SELECT hipq.enqueue('run', '{"tenant": "$tenant"}')}) foreach 1 .. 50;
ok($router->wait_until('SELECT finished_per_minute > 10 FROM hipq.cluster_queues_detail
		WHERE node = 1'), 'fifty more jobs run');
cmp_ok($one->sql("SELECT count(*) FROM $letters"), '>=', 2,
	'the scheduler of the shard has sent statistics');
is($one->sql(qq{SELECT coalesce(string_agg(body::text, chr(10)), 'nothing') FROM (SELECT body,
		body = lag(body) OVER (ORDER BY id) AS is_same FROM $letters) AS letter WHERE is_same}),
	'nothing', 'no letter with statistics repeats the previous one');
cmp_ok($one->sql(qq{SELECT min(gap) FROM (SELECT extract(epoch
		FROM sent_time - lag(sent_time) OVER (ORDER BY id)) AS gap FROM $letters) AS letter}), '>',
	1.9, 'letters with statistics are at least 1.9 s apart');
is($router->sql(q{SELECT count(*) FROM hipq.shard_outbox WHERE kind = 'stats'}), 0,
	'the router sends no statistics');

# ---- the rows that a role sees
is($one->sql('SELECT string_agg(node::text, $$, $$) FROM hipq.cluster_queues'), '1',
	'a shard shows itself only');
$router->sql(q{CREATE ROLE stranger LOGIN; GRANT USAGE ON SCHEMA hipq TO stranger});
is($router->sql_as('stranger', 'SELECT count(*) FROM hipq.cluster_queues'), 0,
	'a role that cannot read the queue sees no row');
is($router->sql_as('app', 'SELECT count(*) FROM hipq.cluster_queues'), 3,
	"the queue's owner sees all rows");

# ---- a shard is down
my $as_of = $router->sql('SELECT as_of FROM hipq.cluster_queues_detail WHERE node = 1');
$one->node->stop('immediate');
ok($router->wait_until('SELECT is_reachable FROM hipq.cluster_queues WHERE node = 1', 'f'),
	'a shard that is down is shown as unreachable');
is($router->sql("SELECT backlog_estimate IS NOT NULL, as_of >= '$as_of'
		FROM hipq.cluster_queues_detail WHERE node = 1"), 't|t',
	'the view keeps the last report of a shard that is down');
$one->node->start;
ok($router->wait_until('SELECT is_reachable FROM hipq.cluster_queues WHERE node = 1', 't'),
	'a shard that has started is shown as reachable');
ok($router->wait_until("SELECT as_of > '$as_of' FROM hipq.cluster_queues_detail WHERE node = 1"),
	'a shard that has started reports its queues');

# ---- a database without shards
my $plain = HipqCluster->new('cluster_queues_plain');
$plain->create_queue('app.mail');
is($plain->sql('SELECT count(*) FROM hipq.cluster_queues'), 0,
	'a database without shards has no rows');

done_testing();
