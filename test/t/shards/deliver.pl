# A job runs once, with its id, on the shard that has the slot of its shard key, however and
# wherever it was enqueued.
use strict;
use warnings;
use HipqShards;
use Test::More;

my $shards = HipqShards->new('deliver', 2);
my $router = $shards->router;

# node_by_map() returns the node of a job by its id, node_that_ran() the node that has run it.
sub node_by_map
{
	my ($id) = @_;
	return $router->sql("SELECT nodes[($id & 4095) + 1] FROM hipq.shard_map");
}
sub node_that_ran
{
	my ($id) = @_;
	my @ran = grep { $shards->node($_)->sql("SELECT count(*) FROM ran WHERE id = $id") } 0 .. 2;
	return "@ran";
}

# ---- set-up
like($router->error_of(sprintf q{CALL hipq.create_shard('app', %d, 'host=nowhere', publisher => '',
		weight => %d)}, @$_[ 0, 1 ]), $_->[2], "create_shard() refuses @$_[ 0, 1 ]")
  foreach [ 1024, 1, qr/22023: shard 1024 is out of range/ ], [ 3,
  	1001, qr/22023: weight 1001 is out of range/ ], [ 3, 0, qr/22023: weight 0/ ], [ 3, 1,
  	qr/22023: it is not said how the shard reaches/ ];
like($router->error_of(q{CALL hipq.create_shard('app', 3,
		'host=/nowhere', publisher => 'host=/nowhere')}), qr/08001: could not establish connection/,
	'create_shard() refuses a server that cannot be reached');
like($router->error_of(q{SELECT hipq.alter_queue('app.mail', rate_limit => '5/s')}),
	qr/0A000: queues of an instance with shards cannot have a rate_limit/,
	'queues of an instance with shards cannot have a rate');
$router->sql(q{SELECT hipq.create_queue('rated.main', rate_limit => '5/s')});
like($router->error_of(q{CALL hipq.create_shard('rated', 1,
		'host=/nowhere', publisher => 'host=/nowhere')}),
	qr/0A000: an instance with a rate_limit or a breaker cannot have shards/,
	'and an instance with a rate cannot have shards');
like($router->error_of(q{SELECT hipq.open_breaker('app.mail', 'run')}),
	qr/0A000: job types of an instance with shards cannot have a breaker/,
	'job types of an instance with shards cannot have a breaker');
$router->sql(q{SELECT hipq.alter_queue('rated.main', rate_limit => 'NONE');
	SELECT hipq.register_job_type('rated.main', 'call', handler_kind => 'notify',
		breaker => '50% of 20 in 1 min, open 30 s')});
like($router->error_of(q{CALL hipq.create_shard('rated', 1,
		'host=/nowhere', publisher => 'host=/nowhere')}),
	qr/0A000: an instance with a rate_limit or a breaker cannot have shards/,
	'and an instance with a breaker cannot have shards');
is($router->sql('SELECT count(*) FROM hipq.shard WHERE node = 3'), 0,
	'a refused create_shard() writes nothing');
is($router->sql('SELECT count(*) FILTER (WHERE node = 0), min(node), max(node) FROM hipq.shard_map,
		unnest(nodes) AS node'), '1|0|2', 'the shards have all slots but the first');
like($router->sql(q{SELECT string_agg(count::text, ' ') FROM (SELECT count(*)
		FROM hipq.shard_map, unnest(nodes) AS node WHERE node > 0 GROUP BY node) AS parts}),
	qr/^204[78] 204[78]$/, 'each shard has half of the slots');
ok($shards->node($_)->wait_until('SELECT generation FROM hipq.shard_map',
		$router->sql('SELECT generation FROM hipq.shard_map')),
	"shard $_ has the map") foreach 1, 2;
is($shards->node($_)->sql(q{SELECT shard_key FROM hipq.queue}), q{job_data->>'tenant'},
	"shard $_ has the queue") foreach 1, 2;
ok($shards->settled, 'all moves end');

# ---- every way to enqueue
my $id = $router->sql(q{SELECT hipq.enqueue('run', '{"tenant": "a"}')});
ok($shards->wait_for_runs(1), 'a job of enqueue() runs');
is($router->sql("SELECT $id & 4095"), $router->sql(q{SELECT hipq.slot_of('a')}),
	'the id of a job has the slot of its key');
is(node_that_ran($id), node_by_map($id), 'a job runs on the node that has its slot');
is($shards->node(node_by_map($id))->sql(qq{SELECT outcome, shard_key FROM hipq.jobs_detail
		WHERE id = $id}), 'succeeded|a', 'a job is final on the node that has its slot');
is($router->sql("SELECT count(*) FROM hipq.job"), 0, 'the router has none of the jobs');

my @ids = split /,/, $router->sql(q{SELECT array_to_string(hipq.enqueue_many('run',
	array_agg(jsonb_build_object('tenant', 't' || n))), ',') FROM generate_series(1, 100) AS n});
is(scalar @ids, 100, 'enqueue_many() returns ids');
ok($shards->wait_for_runs(101), 'jobs of enqueue_many() run');
is($router->sql("SELECT count(*) FROM unnest('{" . join(',', @ids) . "}'::bigint[]) WITH "
		. "ORDINALITY AS made (id, n) WHERE made.id & 4095 <> hipq.slot_of('t' || n)"), 0,
	'ids of enqueue_many() are in the order of the jobs');
$router->sql(q{INSERT INTO hipq.app_mail (job_type, job_data)
	SELECT 'run', jsonb_build_object('tenant', 'i' || n) FROM generate_series(1, 50) AS n});
ok($shards->wait_for_runs(151), 'jobs of INSERT run');
$router->node->psql('postgres', qq{COPY hipq.app_mail (job_type, job_data) FROM stdin;\n} . join('',
		map { qq{run\t{"tenant": "c$_"}\n} } 1 .. 50) . "\\.\n", on_error_die => 1);
ok($shards->wait_for_runs(201), 'jobs of COPY run');
is($router->sql(q{SELECT count(*) FILTER (WHERE value ? 'job_type'), count(*) FILTER
		(WHERE NOT value ? 'id' OR NOT value ? 'job_data'), bool_and(body ->> 'job_type' = 'run')
	FROM hipq.shard_outbox, unnest(jobs) AS job (value) WHERE cardinality(jobs) > 1}), '0|0|t',
		'a letter has the common fields of its jobs once');
$router->sql(q{INSERT INTO hipq.app_mail (job_type, shard_key) VALUES ('run', 'given')});
ok($shards->wait_for_runs(202), 'a job with a given shard_key runs');
$router->sql(q{SELECT hipq.enqueue('run')});
ok($shards->wait_for_runs(203), 'a job without a shard key runs');
like($shards->counts, qr/^\d+ [1-9]\d+ [1-9]\d+$/, 'both shards have run some of the jobs');
$router->sql(q{BEGIN; SELECT hipq.enqueue('run', '{"tenant": "never"}'); ROLLBACK});
$router->sql(q{BEGIN; SAVEPOINT a; SELECT hipq.enqueue('run', '{"tenant": "never"}'); ROLLBACK TO a;
	SELECT hipq.enqueue('run', '{"tenant": "b"}'); COMMIT});
ok($shards->wait_for_runs(204), 'rolled back jobs are not sent');
is($router->sql_as('app', q{SELECT hipq.enqueue('run', '{"tenant": "c"}') > 0}), 't',
	'a role with only the right to enqueue can enqueue');
ok($shards->wait_for_runs(205), 'the job of a role with only the right to enqueue runs');

# ---- jobs of one letter that differ, and the same jobs in letters of their own
my @various = ("run\t7\t2100-01-01 00:00:00+00\t2099-01-01 00:00:00+00\t\\N",
	"run\t\\N\t\\N\t2099-01-02 00:00:00+00\t9",
	"ran\t7\t2100-01-01 00:00:00+00\t2099-01-01 00:00:00+00\t\\N");
sub copy
{
	my ($from, @rows) = @_;
	my $lines = join '',
		map { qq({"tenant": "a", "various": "$from $_"}\t$rows[$_]\n) } 0 .. $#rows;
	return $router->node->psql('postgres',
		"COPY hipq.app_mail (job_data, job_type, priority, expires_time, scheduled_run_time, "
			. "max_retries) FROM stdin;\n$lines\\.\n",
		on_error_die => 1);
}
copy('together', @various);
copy("alone$_", $various[$_]) foreach 0 .. 2;
my $of_a = $shards->node(node_by_map($id));
ok($of_a->wait_until(q{SELECT count(*) FROM hipq.app_mail WHERE job_data ? 'various'}, 6),
	'jobs that differ arrive');
my $given = q{SELECT string_agg(concat_ws('|', job_type, priority, expires_time,
	scheduled_run_time, max_retries, shard_key, timeout), ',' ORDER BY id) FROM hipq.app_mail
	WHERE job_data ->> 'various' LIKE '%s%%'};
is($of_a->sql(sprintf $given, 'together'), $of_a->sql(sprintf $given, 'alone'),
	'jobs that share a letter have the same values as jobs with letters of their own');
like($of_a->sql(sprintf $given, 'together'),
	qr/^run\|7\|2100.*,run\|.*\|2099-01-02 .*\|9\|a\|.*,ran\|7\|2100/,
	'jobs that share a letter have the expected values');

# ---- from a shard
my $other = node_by_map($id) == 1 ? 2 : 1;
$shards->node($other)->sql(q{SELECT hipq.enqueue('run', '{"tenant": "a"}')});
ok($shards->wait_for_runs(206), 'a job that is enqueued on another shard runs');
is($shards->node(node_by_map($id))->sql(q{SELECT count(*) FROM ran WHERE tenant = 'a'}), 2,
	'a job that is enqueued on another shard runs on the shard of its key');

# ---- keys
$router->sql(q{SELECT hipq.enqueue('run', '{"tenant": "k"}', job_key => 'once',
	scheduled_run_time => now() + interval '1 day') FROM generate_series(1, 2)});
my $home = $shards->node($router->sql(q{SELECT nodes[hipq.slot_of('k') + 1] FROM hipq.shard_map}));
ok($home->wait_until(q{SELECT count(*) FROM hipq.jobs_detail WHERE job_key = 'once'}, 1),
	'the shard takes one of two jobs with one key');
ok($router->wait_until(q{SELECT count(*) FROM hipq.shard_reject WHERE sqlstate = '23505'}, 1),
	'the other of two jobs with one key is a reject on the router');
like($router->error_of(q{SELECT hipq.enqueue('run', '{"tenant": "k"}',
		job_key => 'once', on_duplicate => 'replace')}), qr/0A000: the job is another server's/,
	"the router cannot replace another server's job");

# ---- a job that cannot be inserted stops neither other jobs nor the stream
$home->sql(q{ALTER TABLE hipq.app_mail_live ADD CONSTRAINT is_good CHECK (NOT job_data ? 'bad')});
my ($good, $bad) = split /,/, $router->sql(q{SELECT array_to_string(hipq.enqueue_many('run',
	array['{"tenant": "k"}'::jsonb, '{"tenant": "k", "bad": 1}']), ',')});
ok($shards->wait_for_runs(207), 'a job beside a bad one in the same call runs');
ok($router->wait_until(q{SELECT string_agg(concat_ws(' ', job_id, sqlstate), ',')
		FROM hipq.shard_rejects WHERE sqlstate <> '23505'}, "$bad 23514"),
	'a job that violates a constraint is a reject');
is($_->sql(qq{SELECT concat_ws(' ', job ->> 'id', job ->> 'job_type', job -> 'job_data' ->> 'bad')
		FROM hipq.shard_reject WHERE job_id = $bad}), "$bad run 1", 'the reject has the whole job')
	foreach $router, $home;

ok($router->wait_until(q{SELECT count(*) FROM hipq.alerts_detail
		WHERE alert = 'jobs refused by a shard' AND times = 1}, 1), 'an alert reports rejects');

# ---- a queue that is not sharded is on the router
$router->sql(q{SELECT hipq.create_queue('app.whole', owner => 'app'),
	hipq.register_job_type('app.whole', 'run', handler => 'run')});
ok($home->wait_until(q{SELECT count(*) FROM hipq.queues_detail WHERE queue = 'app.whole'}, 1),
	'shards know a new queue that is not sharded');
is($router->sql(q{SELECT hipq.enqueue('run', queue => 'app.whole') < 2^41}), 't',
	'jobs of a queue that is not sharded have plain ids');
ok($shards->wait_for_runs(208), 'a job of a queue that is not sharded runs');
$home->sql(q{SELECT hipq.enqueue('run', queue => 'app.whole')});
ok($shards->wait_for_runs(209), "a job of the router's queue that is enqueued on a shard runs");
is($router->sql('SELECT count(*) FROM ran'), 2,
	"both jobs of the router's queue run on the router");

# ---- a shard is down: no call that enqueues is affected
$home->node->stop('immediate');
$router->sql(q{SELECT hipq.enqueue('run', '{"tenant": "k"}', queue => 'app.mail')
	FROM generate_series(1, 20)});
ok($router->wait_until(q{SELECT count(*) FROM hipq.alerts_detail WHERE alert = 'shard'
		AND detail ~ 'does not read|is not read'}, 1), 'an alert reports that a shard is down');
$home->node->start;
ok($router->wait_until(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'shard'}, 0),
	'the alert ends when the shard has started');
ok($shards->wait_for_runs(229), 'jobs that were enqueued while the shard was down run');
is($home->sql('SELECT count(*) - count(DISTINCT id) FROM ran'), 0,
	'jobs that were enqueued while the shard was down run once');

# ---- a shard whose subscription is disabled
my $subscription = $home->sql('SELECT subname FROM pg_subscription');
like($home->sql('SELECT substream FROM pg_subscription'), qr/^f$/,
	'transactions are not streamed before they end');
$home->sql("ALTER SUBSCRIPTION $subscription DISABLE");
ok($home->wait_until(q{SELECT count(*) FROM hipq.alerts_detail
		WHERE alert = 'shard' AND detail ~ 'nothing reads what the router sends'}, 1),
	'an alert on a shard reports that its subscription is disabled');
$home->sql("ALTER SUBSCRIPTION $subscription ENABLE");
ok($home->wait_until(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'shard'}, 0),
	'the alert ends when the subscription is enabled');

# ---- sent and received letters are kept for hipq.outbox_keep, and leaves are made
ok($shards->forgotten(5, $router, 'SELECT count(*) FROM hipq.shard_outbox'),
	'sent letters are removed in time');
ok($shards->forgotten(5, $home, 'SELECT count(*) FROM hipq.shard_received'),
	'received letters are removed in time');
ok($_->wait_until(q{SELECT count(*) > 1 FROM pg_partition_tree('hipq.shard_outbox') WHERE isleaf}),
	'the outbox has leaves by time') foreach $router, $home;
$_->set('hipq.clock_offset' => 0) foreach $shards->nodes;
$router->sql(q{SELECT hipq.enqueue('run', '{"tenant": "k"}', queue => 'app.mail')});
# The clock has moved: the job that was scheduled for the next day has run, too.
ok($shards->wait_for_runs(231), 'jobs run after letters were removed');

# ---- a trigger may enqueue a job for another shard before hipq's own trigger runs
my $tenant = $shards->tenant_of($other);
$of_a->sql(qq{CREATE FUNCTION enqueue_another() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN
		PERFORM hipq.enqueue('run', '{"tenant": "$tenant", "is": "made"}', queue => 'app.mail');
		RETURN new; END \$\$;
	CREATE TRIGGER enqueue_another BEFORE INSERT ON hipq.app_mail FOR EACH ROW
		WHEN (new.job_data ? 'maker' AND new.state <> 'final')
		EXECUTE FUNCTION enqueue_another()});
$of_a->sql(q{SELECT hipq.enqueue('run', '{"tenant": "a", "maker": 1}', queue => 'app.mail')});
ok($shards->wait_for_runs(233), 'a job and the job that a trigger made at its insertion run');
is(join(' ', map { $_->sql(q{SELECT count(*) FROM hipq.job WHERE job_data ? 'is'}) }
		$of_a, $shards->node($other)), '0 1', 'the job that a trigger made is on its own shard');
$of_a->sql(q{CREATE FUNCTION copy_id() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO hipq.app_whole (id, job_type) VALUES (new.id, 'run'); RETURN new; END $$;
	CREATE TRIGGER copy_id BEFORE INSERT ON hipq.app_mail FOR EACH ROW
		WHEN (new.job_data ? 'copied') EXECUTE FUNCTION copy_id()});
like($of_a->error_of(q{SELECT hipq.enqueue('run', '{"tenant": "a", "copied": 1}',
		queue => 'app.mail')}), qr/42501: column "id" of a new job is set by hipq/,
	'a trigger cannot insert a job with the same id into another queue');
$of_a->sql('DROP TRIGGER enqueue_another ON hipq.app_mail; DROP TRIGGER copy_id ON hipq.app_mail');

# ---- a sequence that was set back gives ids that are in use
my $set_back = q{setval('hipq.job_id_seq', (last_value - 1)) FROM hipq.job_id_seq};
my $later = q{SELECT hipq.enqueue('run', '{"tenant": "a"}', queue => 'app.mail',
	scheduled_run_time => '2100-01-01')};
my @waiting = ($of_a->sql($later));
$of_a->sql("SELECT $set_back");
push @waiting, $of_a->sql($later);
is($of_a->sql(sprintf q{SELECT count(DISTINCT id), count(DISTINCT id & 4095) FROM hipq.job
		WHERE id IN (%s)}, join ', ', @waiting), '2|1', 'enqueue() on a shard skips an id in use');
$of_a->sql("SELECT $set_back");
like($of_a->error_of(q{SELECT hipq.enqueue_many('run', ARRAY['{"tenant": "a"}'::jsonb],
		queue => 'app.mail')}),
	qr/23505: .*"hipq.job_id_seq" gives ids.*\(id >> 22\) - 524288 in hipq\.job/s,
	'enqueue_many() on a shard refuses an id in use, and says how to set the sequence');
$of_a->sql(q{SELECT setval('hipq.job_id_seq', max((id >> 22) - 524288)) FROM hipq.job});
isnt($of_a->sql($later), undef, 'a shard enqueues after setval() as the hint says');

done_testing();
