# If keys are unique within each shard key, two tenants can use one key at once, on one node and on
# two nodes. No tenant uses a key twice at once, also while slots move.
use strict;
use warnings;
use HipqShards;
use Test::More;

my $shards = HipqShards->new('scope', 2);
my $router = $shards->router;
# Jobs record when they run, by the clock of the machine, which all nodes share.
$_->sql(q{CREATE TABLE spell (id bigint, tenant text, key text, began timestamptz,
	ended timestamptz); GRANT ALL ON spell TO app;
	CREATE FUNCTION spell(job hipq.job, seconds float8) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		began timestamptz = clock_timestamp();
	BEGIN
		PERFORM pg_sleep(seconds);
		INSERT INTO ran (id, tenant) VALUES (job.id, job.shard_key);
		INSERT INTO spell VALUES (job.id, job.shard_key, job.job_key, began, clock_timestamp());
	END $$;
	CREATE FUNCTION short(job hipq.job) RETURNS void LANGUAGE sql AS 'SELECT spell(job, 0.002)';
	CREATE FUNCTION hold(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		IF job.job_data ? 'hold' THEN PERFORM pg_advisory_xact_lock_shared(1); END IF;
		PERFORM spell(job, 0);
	END $$}) foreach $shards->nodes;
$router->sql(q{SELECT hipq.create_queue('app.keyed', owner => 'app',
	shard_key => $$job_data->>'tenant'$$, unique_scope => 'shard_key');
	SELECT hipq.register_job_type('app.keyed', 'hold', handler => 'hold', claim => 'record');
	SELECT hipq.register_job_type('app.keyed', 'short', handler => 'short')});
my $later = q{scheduled_run_time => '2100-01-01'};

# Enqueues a job of a tenant on a node. Returns its id.
sub enqueue
{
	my ($node, $tenant, $key, $more, $data) = @_;
	$data = defined $data ? ", '$data', 1" : '';
	return $node->sql(sprintf q{SELECT hipq.enqueue('hold', jsonb_build_object('tenant', '%s'%s),
		queue => 'app.keyed', job_key => '%s'%s)}, $tenant, $data, $key,
		defined $more ? ", $more" : '');
}
sub rejects
{
	return $router->sql(q{SELECT count(*) FROM hipq.shard_rejects WHERE queue = 'app.keyed'
		AND sqlstate = '23505'});
}
sub settled { my ($how) = @_; return ok($shards->settled, "$how: the move ends"); }
sub owner { my ($slot) = @_; return $router->sql("SELECT nodes[$slot + 1] FROM hipq.shard_map"); }

# ---- shards know the scope
foreach my $number (1, 2)
{
	my $node = $shards->node($number);
	ok($node->wait_until(q{SELECT string_agg(name || ' ' || unique_scope, ', ' ORDER BY name)
			FROM hipq.queue}, 'keyed shard_key, mail global'), "shard $number knows the scope");
	is($node->sql(q{SELECT string_agg(substring(pg_get_indexdef(indexrelid) FROM '\(.*\) WHERE'),
			E'\n' ORDER BY indrelid::regclass::text) FROM pg_index
		WHERE indrelid IN ('hipq.app_keyed_live'::regclass, 'hipq.app_mail_live'::regclass)
			AND indisunique AND NOT indisprimary}),
		join("\n", map { "(job_type, job_key, $_((NOT (waits_for IS DISTINCT FROM "
				. "'key'::text)))) WHERE" } 'shard_key COLLATE "C", ', ''),
		"shard $number: the unique index has the scope");
}

# ---- one key, tenants on both nodes, and two tenants in one slot
my ($one, $two) = map { $shards->tenant_of($_) } 1, 2;
my $twin = $router->sql("SELECT min(n) FROM generate_series(1001, 200000) AS n
	WHERE hipq.slot_of(n::text) = hipq.slot_of('$one')");
my @locks = map { $shards->node($_)->hold_lock(1) } 1, 2;
my @first = map { enqueue($router, $_, 'k', undef, 'hold') } $one, $two, $twin;
ok($shards->node(1)->wait_until("SELECT count(*)
		FROM hipq.jobs_detail WHERE id IN ($first[0], $first[2]) AND state = 'running'", 2),
	'two tenants of one slot run a job of one key at once');
ok($shards->node(2)->wait_until("SELECT state FROM hipq.jobs_detail WHERE id = $first[1]",
		'running'), 'a third tenant runs a job of the same key on the other node');

# ---- a second job of a tenant is refused, wherever it is enqueued
enqueue($router, $one, 'k');
ok($router->wait_until(q{SELECT count(*) FROM hipq.shard_rejects WHERE sqlstate = '23505'}, 1),
	'a second job with the key, enqueued on the router, is a reject');
enqueue($shards->node(2), $one, 'k');
ok($router->wait_until(q{SELECT count(*) FROM hipq.shard_rejects WHERE sqlstate = '23505'}, 2),
	'a second job with the key, enqueued on another shard, is a reject');
like($shards->node(1)->error_of(qq{SELECT hipq.enqueue('hold', '{"tenant": "$one"}',
		queue => 'app.keyed', job_key => 'k')}),
	qr/23505: job type "hold" has an unfinished job with key "k" and shard key "$one"/,
		'a second job with the key, enqueued on its own shard, is an error');
like($shards->node(1)->error_of(qq{INSERT INTO hipq.app_keyed (job_type, job_key, job_data)
		VALUES ('hold', 'k', '{"tenant": "$one"}')}), qr/23505/,
	'a second job with the key, inserted on its own shard, is an error');
is(enqueue($shards->node(1), $one, 'k', q{on_duplicate => 'return'}), $first[0],
	'on_duplicate => return returns the unfinished job of the tenant');
is(enqueue($shards->node(1), $twin, 'k', q{on_duplicate => 'return'}), $first[2],
	'on_duplicate => return returns the unfinished job of the other tenant');
like($router->error_of("SELECT hipq.retry($first[0])"), qr/55000: job $first[0] is not final/,
	'retry() finds the job by its id');
my $after = enqueue($shards->node(1), $one, 'k', q{on_duplicate => 'after'});
is($shards->node(1)->sql('SELECT shard_key FROM hipq.job WHERE waits_for = $$key$$'), $one,
	"a successor waits for its tenant's job");
$_->quit foreach @locks;
ok($shards->wait_for_runs(4), 'all accepted jobs run');
is($shards->node(1)->sql("SELECT count(*) FROM ran WHERE id = $after"), 1,
	'the successor runs after the job of its tenant');
my $again = enqueue($router, $one, 'k', $later);
ok($shards->node(1)->wait_until("SELECT state FROM hipq.jobs_detail WHERE id = $again", 'initial'),
	'the key is free when the jobs have ended');
like($router->error_of("SELECT hipq.retry($first[0])"), qr/23505/,
	"a retry is refused while the tenant's key is in use");
is($router->sql("SELECT count(*) FROM hipq.retry($first[2]) AS id WHERE id <> $first[2]"), 1,
	"a retry of another tenant's job is accepted");
ok($shards->wait_for_runs(5), "the retry of the other tenant's job runs");
is(enqueue($shards->node(1), $one, 'k', qq{$later, on_duplicate => 'replace'}, 'new'), $again,
	"on_duplicate => replace replaces the tenant's job");
is($shards->node(1)->sql("SELECT job_data FROM hipq.app_keyed WHERE state = 'initial'"),
	qq({"new": 1, "tenant": "$one"}), 'on_duplicate => replace leaves one job');
$router->sql("SELECT hipq.cancel($again)");

# ---- a slot moves while tenants run jobs in it
my $slot = $router->sql("SELECT hipq.slot_of('$one')");
my $lock = $shards->node(1)->hold_lock(1);
my $running = enqueue($router, $one, 'k', undef, 'hold');
my $crossed = enqueue($router, $one, $twin, undef, 'hold');
ok($shards->node(1)->wait_until("SELECT count(*) FROM hipq.jobs_detail WHERE id IN ($running,
		$crossed) AND state = 'running'", 2), 'a tenant runs two jobs before the move');
$router->sql("SELECT hipq.move_slots('app', '{$slot}', 2)");
my $next = enqueue($router, $one, 'k');
my $free = enqueue($router, $twin, 'k');
my $uncrossed = enqueue($router, $twin, $one);
ok($shards->node(2)->wait_until("SELECT count(*) FROM hipq.jobs_detail
		WHERE id IN ($free, $uncrossed) AND outcome = 'succeeded'", 2),
	"another tenant's jobs, with the same key and with crossed keys, run on the new node");
is($shards->node(2)->sql('SELECT job_key || $$ $$ || shard_key FROM hipq.shard_held_job'), "k $one",
	"the tenant's next job is held on the new node");
is($shards->node(1)->sql("SELECT count(*) FROM hipq.jobs_detail WHERE id IN ($running, $crossed)
		AND state = 'running'"), 2, 'the first jobs of the tenant run on the old node');
is($shards->node(2)->sql(q{SELECT count(*) FROM hipq.shard_coming, jsonb_array_elements(busy_keys)
		AS name WHERE jsonb_array_length(name) = 4}), 2,
	'the busy keys of the slot include the shard key');
$lock->quit;
ok($shards->node(2)->wait_until("SELECT outcome FROM hipq.jobs_detail WHERE id = $next",
		'succeeded'), "the tenant's next job runs after the first");
settled('tenants with one key');
is(rejects(), 2, 'no shard refuses a job because of the move');

# ---- the first job of a tenant waits on the old node: a second job that comes to the new node is a
# duplicate there
my $waiting = enqueue($router, $one, 'w', $later);
ok($shards->node(2)->wait_until("SELECT state FROM hipq.jobs_detail WHERE id = $waiting",
		'initial'), 'a job of the tenant waits');
my $other = enqueue($router, $twin, 'w', $later);
ok($shards->node(2)->wait_until("SELECT state FROM hipq.jobs_detail WHERE id = $other", 'initial'),
	'a job of another tenant waits');
$router->sql("SELECT hipq.move_slots('app', '{$slot}', 1)");
enqueue($router, $one, 'w', $later);
ok($shards->node(1)->wait_until(q{SELECT string_agg(id::text, ' ' ORDER BY id)
		FROM hipq.jobs_detail WHERE queue = 'app.keyed' AND state = 'initial'}, join ' ',
		sort { $a <=> $b } $waiting, $other),
	'both waiting jobs follow their slot');
settled('waiting jobs');
ok($router->wait_until(q{SELECT count(*) FROM hipq.shard_rejects WHERE sqlstate = '23505'}, 3),
	'the second job of the tenant is a duplicate');
$router->sql("SELECT hipq.cancel($_)") foreach $waiting, $other;

# ---- refused changes
like($router->error_of(q{SELECT hipq.alter_queue('app.keyed', unique_scope => 'global')}),
	qr/55000: unique_scope of queue "app.keyed" cannot be changed/,
	'unique_scope shard_key of a sharded queue cannot be changed');
like($router->error_of(q{SELECT hipq.alter_queue('app.keyed', shard_key => 'throttle_key')}),
	qr/55000: shard_key of queue "app.keyed" cannot be changed/,
	'the shard key of a queue with scope shard_key cannot be changed');
like($router->error_of(q{SELECT hipq.alter_queue('app.mail', unique_scope => 'shard_key')}),
	qr/55000/, 'unique_scope global of a sharded queue cannot be changed');
is($router->sql(q{SELECT hipq.alter_queue('app.mail', shard_key => 'throttle_key'),
		hipq.alter_queue('app.mail', shard_key => $$job_data->>'tenant'$$)}), '|',
	'the shard key of a queue with scope global can be changed');
$router->sql(q{SELECT hipq.register_job_type('app.mail', 'hold', handler => 'hold')});
like($router->error_of(q{SELECT hipq.move_jobs('app.keyed', 'app.mail', 'hold')}),
	qr/0A000: .*another scope/, 'jobs do not move to a queue of another scope');

# ---- a queue is created again with another scope: a shard takes the scope when no job of the old
# queue has a key
$router->sql(
	q{SELECT hipq.create_queue('app.anew', owner => 'app', shard_key => $$job_data->>'tenant'$$),
	hipq.register_job_type('app.anew', 'short', handler => 'short')});
my $place = $router->sql(
	q{SELECT nodes[hipq.slot_of('short' || chr(31) || 'k') + 1] FROM hipq.shard_map});
my $left = $router->sql(qq{SELECT hipq.enqueue('short', '{"tenant": "$one"}', queue => 'app.anew',
	job_key => 'k', $later)});
ok($shards->node($place)->wait_until("SELECT state FROM hipq.jobs_detail WHERE id = $left",
		'initial'), 'a job of the old queue waits on a shard');
$router->sql(q{SELECT hipq.drop_queue('app.anew', force => true)});
$router->sql(
	q{SELECT hipq.create_queue('app.anew', owner => 'app', shard_key => $$job_data->>'tenant'$$,
	unique_scope => 'shard_key'), hipq.register_job_type('app.anew', 'short', handler => 'short')});
ok($shards->node($place)->node->wait_for_log(
		qr/unique_scope of queue "app.anew" cannot be changed while unfinished jobs have a key/),
	'the shard keeps the old scope while a job of the old queue has a key');
$shards->node($place)->sql("SELECT hipq.cancel($left)");
ok($shards->node($place)->wait_until(q{SELECT unique_scope FROM hipq.queue WHERE name = 'anew'},
		'shard_key'), 'the shard takes the new scope when the old job has ended');

# ---- many tenants, few keys, moving slots, all nodes
my %ids;
foreach my $round (1 .. 12)
{
	$shards->on_router(q{UPDATE hipq.shard SET state = 'draining' WHERE node = 1;
		SELECT hipq.rebalance('app')}) if $round == 3;
	$shards->on_router(q{UPDATE hipq.shard SET state = 'active'; SELECT hipq.rebalance('app')})
		if $round == 7;
	$ids{$_} = 1
	  foreach split /\n/, $shards->on($round % 3,
	  	q{SELECT hipq.enqueue('short', jsonb_build_object('tenant', 'm' || n % 40),
	  	queue => 'app.keyed', job_key => 'k' || n % 3, on_duplicate => 'return')
		FROM generate_series(1, 240) AS n});
}
# Returns the jobs that each node has run: tenant, key, start, end, id.
sub spells
{
	return map { [ split /\|/ ] } map { split /\n/,
		$_->sql(q{SELECT tenant, key, extract(epoch FROM began), extract(epoch FROM ended), id
			FROM spell WHERE tenant LIKE 'm%'}) } $shards->nodes;
}
# Returns the ids of jobs that a node has refused. If a node enqueued and held a job, only that node
# knows that it has refused the job.
sub refused
{
	my %refused = map { $_ => 1 } map { split /\n/,
		$_->sql(q{SELECT job_id FROM hipq.shard_reject WHERE sqlstate = '23505'
			AND job -> 'job_data' ->> 'tenant' LIKE 'm%'}) } $shards->nodes;
	return keys %refused;
}
my $limit = time + $PostgreSQL::Test::Utils::timeout_default;
select undef, undef, undef, 0.1 while spells() + refused() < keys %ids && time < $limit;
my @spells = spells();
cmp_ok(scalar @spells, '>=', 120, 'jobs have run: ' . @spells . ', refused: ' . refused());
is(@spells + refused(), scalar keys %ids, 'each job has run or is a duplicate');
is(scalar(grep { !$ids{ $_->[4] } } @spells), 0,
	'each job that has run has an id that enqueue() returned');
my %ran;
$ran{ $_->[4] }++ foreach @spells;
is(scalar(grep { $_ > 1 } values %ran), 0, 'no job has run twice');
settled('many tenants');
is($_->sql(q{SELECT count(*) FROM hipq.jobs_detail WHERE queue = 'app.keyed' AND state <> 'final'}),
	0, 'no job is left on ' . $_->node->name) foreach $shards->nodes;
my %end;
my $overlaps = 0;
foreach my $spell (sort { $a->[2] <=> $b->[2] } @spells)
{
	my $name = "$spell->[0] $spell->[1]";
	$overlaps++ if defined $end{$name} && $spell->[2] < $end{$name};
	$end{$name} = $spell->[3] if !defined $end{$name} || $spell->[3] > $end{$name};
}
is($overlaps, 0, 'no two jobs of a tenant with one key have run at once');
is(scalar keys %end, 120, 'each tenant has run a job with each key');
is($_->sql('SELECT count(*) FROM hipq.shard_held_job'), 0, 'no job is held on ' . $_->node->name)
	foreach $shards->nodes;

done_testing();
