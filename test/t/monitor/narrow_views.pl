# Every view fits into a terminal of 120 columns as psql prints it. A view with more columns has a
# sibling, NAME_detail, with all of them.
use strict;
use warnings;
use HipqCluster;
use IPC::Run;
use Test::More;

my $hipq = HipqCluster->new('narrow_views',
	'hipq.max_executors' => 2, 'hipq.executor_idle_timeout' => '1h', 'hipq.alert_waiting' => '1s',
	'hipq.alert_least_jobs' => 1, 'hipq.heartbeat_timeout' => '10min');
$hipq->sql(q{
	CREATE ROLE shop LOGIN;
	GRANT CREATE ON SCHEMA public TO shop;
	SELECT hipq.create_queue('shop.orders', owner => 'shop', history => 'all',
		throttle_limit => 500), hipq.create_queue('shop.mail', owner => 'shop');
	CREATE FUNCTION send_receipt(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		RAISE NOTICE 'the receipt goes to ann@example.com';
		IF job.job_data ? 'fail' THEN RAISE EXCEPTION
			'the mail server said: 550 No such user here, and told us a long story about it';
			END IF;
		IF job.job_data ? 'later' THEN PERFORM hipq.report_progress(1200, 56000, 'page 12 of 560');
			PERFORM hipq.complete_later(); END IF;
	END $$;
	SELECT hipq.register_job_type('shop.orders', 'send_receipt', handler => 'send_receipt',
		throttle_limit_per_key => 20, default_timeout => 3600),
		hipq.register_job_type('shop.orders', 'thumbnail', handler_kind => 'notify'),
			hipq.register_job_type('shop.mail', 'newsletter', handler => 'send_receipt');
	SELECT hipq.pause('shop.mail', reason => 'provider is down', until => '2 hours');
	SELECT hipq.register_worker('images-host-b-1', '{shop.orders}', '{thumbnail}',
		listen => false) AS worker \gset
	SELECT hipq.heartbeat(:worker, '{"status": "healthy"}');
	SELECT hipq.enqueue('newsletter', queue => 'shop.mail');
	SELECT hipq.enqueue('send_receipt', '{"fail": 1}', 'shop.orders', 'order-100234',
		max_retries => 0) AS failed;
	SELECT hipq.enqueue('send_receipt', '{"later": 1}', 'shop.orders', 'order-100235',
		throttle_key => 'tenant-12');
	SELECT hipq.enqueue('send_receipt', '{}', 'shop.orders', 'order-100236');
	SELECT hipq.enqueue_graph('[{"name": "make the thumbnails", "job_type": "thumbnail",
			"scheduled_run_time": "2100-01-01 00:00:00+00"},
		{"name": "send the newsletter", "job_type": "newsletter", "queue": "shop.mail",
			"after": ["make the thumbnails"]}]', queue => 'shop.orders');
	SELECT hipq.create_batch('subscribers of 2026-11-30', queue => 'shop.mail');
	INSERT INTO hipq.schedule (name, cron, role, queue_id, job_type, job_key)
		SELECT 'weekly-letter', '0 7 * * mon', 'shop', queue_id, 'newsletter', 'NONE'
			FROM hipq.queue WHERE name = 'mail'});
ok($hipq->wait_until(q{SELECT count(*) = 1 FROM hipq.dead_letters}),
	'a job fails before the views are printed');
ok($hipq->wait_until(q{SELECT count(*) = 1 FROM hipq.progress}),
	'a job reports progress before the views are printed');
ok($hipq->wait_until(q{SELECT count(*) > 0 FROM hipq.statistics WHERE succeeded > 0
		AND failed > 0}), 'both jobs are counted before the views are printed');
ok($hipq->wait_until(q{SELECT count(*) > 1 FROM hipq.alerts}),
	'there are alerts before the views are printed');

is($hipq->sql('SELECT done, total, percent FROM hipq.progress'), '1200|56000|2.1',
	'view progress has numbers');

# This test has no other server, so it writes the rows about one.
$hipq->sql(q{
	INSERT INTO hipq.shard_map (instance_id, cluster, own_node, nodes) SELECT instance_id,
		gen_random_uuid(), 0, array_fill(0::smallint, '{4096}') FROM hipq.instance;
	INSERT INTO hipq.shard (instance_id, node, conninfo, publisher, channel, state)
		SELECT instance_id, 1, '', '', 'hipq_12345678', 'draining' FROM hipq.instance;
	INSERT INTO hipq.shard_stats (instance_id, node, as_of, queues) SELECT instance_id, 1, now(),
		'[{"queue": "orders", "backlog_estimate": 1000000, "running_jobs": 1000, "failed": 10000,
			"state": "1 type paused"}]' FROM hipq.instance;
	INSERT INTO hipq.shard_reject (instance, sender, node, outbox_id, queue, job_id,
		sqlstate, error, job)
		VALUES ('shop', 0, 1, 1, 'orders', 1754152054860810693, '23505',
			'an unfinished job has its key', '{"job_type": "send_receipt"}')});
$hipq->sql(q{SELECT hipq.alter_queue('shop.orders', throttle_mode => 'shared')});
ok($hipq->wait_until('SELECT count(*) > 1 FROM hipq.shard_limits'),
	'a throttle limit is shared before the views are printed');

sub printed
{
	my ($view) = @_;
	my $node = $hipq->node;
	my ($out, $error) = ('', '');
	IPC::Run::run([ $node->installed_command('psql'), '-X', '-P', 'footer=off',
			'-h', $node->host, '-p', $node->port, '-d', 'postgres', '-c', "TABLE hipq.$view" ], '>',
		\$out, '2>', \$error)
		or die $error;
	return split /\n/, $out;
}

my @views = split /\n/, $hipq->sql(q{
	SELECT relname FROM pg_class WHERE relnamespace = 'hipq'::regnamespace AND relkind = 'v'
		AND relname !~ '^_|_detail$' ORDER BY relname});
cmp_ok(scalar @views, '>', 20, 'there are more than 20 narrow views');
foreach my $view (@views)
{
	my @lines = printed($view);
	my ($widest) = sort { $b <=> $a } map { length } @lines;
	cmp_ok($widest, '<=', 120, "$view fits into 120 columns ($widest)") or diag(join("\n", @lines));
	cmp_ok(scalar @lines, '>', 2, "$view has rows");
}

# ---- siblings have all columns of narrow views
is($hipq->sql(q{
	SELECT string_agg(format('%s.%s', narrow.relname, attribute.attname), ' ')
	FROM pg_class AS narrow
	JOIN pg_class AS whole ON whole.relnamespace = narrow.relnamespace
		AND whole.relname = narrow.relname || '_detail'
	JOIN pg_attribute AS attribute ON attribute.attrelid = narrow.oid AND attribute.attnum > 0
	LEFT JOIN pg_attribute AS same ON same.attrelid = whole.oid AND same.attname = attribute.attname
		AND same.atttypid = attribute.atttypid
		AND col_description(same.attrelid, same.attnum) = col_description(attribute.attrelid,
			attribute.attnum)
	WHERE narrow.relnamespace = 'hipq'::regnamespace AND same.attname IS NULL}), 'alerts.message',
		'the columns of narrow views but alerts.message are columns of their siblings');
is($hipq->sql(q{SELECT count(*) FROM hipq.alerts AS narrow
		JOIN hipq.alerts_detail AS whole USING (alert, severity)
	WHERE regexp_replace(narrow.message, '\s+', ' ', 'g') <> regexp_replace(whole.detail || ' ' ||
		whole.hint, '\s+', ' ', 'g')}), 0, 'message of view alerts consists of detail and hint');

done_testing();
