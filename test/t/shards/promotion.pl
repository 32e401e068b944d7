# The standby of a shard is promoted without the last changes of its primary, and a replication slot
# is dropped, under load and while slots move. As far as the remaining servers know, each job of the
# producer's ledger has run once. A node that is out of step starts no job, takes no job, and says
# what to do. resync_shard() brings the node back into step, also after it was cancelled at any
# moment.
#
# Jobs that the old primary ran last, and that no other server knows, run again, as on one server.
# The test counts them.
#
#   SEED            chooses slots; the test prints it
use strict;
use warnings;
use HipqShards;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $seed = $ENV{SEED} || int rand 1e9;
note "SEED=$seed";
srand $seed;

my $shards = HipqShards->new('promotion', 2, autovacuum_naptime => '2s');
my $router = $shards->router;
$router->sql('CREATE TABLE ledger (id bigint PRIMARY KEY)');
$_->sql(q{CREATE FUNCTION hold(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN PERFORM pg_advisory_xact_lock_shared(1); INSERT INTO ran (id) VALUES (job.id); END $$})
		foreach $shards->nodes;
$router->sql(
	q{SELECT hipq.register_job_type('app.mail', 'hold', handler => 'hold', claim => 'record')});
ok($router->wait_until('SELECT count(*) FROM hipq.shard_move', 0), 'each shard has its slots');

# ---- the load: one transaction after the other, whatever happens
my $enqueue = q{WITH many AS (
		INSERT INTO ledger SELECT id FROM unnest(hipq.enqueue_many('run', ARRAY(
			SELECT jsonb_build_object('tenant', 't' || (random() * 60)::integer)
				FROM generate_series(1, 20)))) AS id),
	keyed AS (
		INSERT INTO ledger SELECT hipq.enqueue('run',
			job_key => 'key ' || (random() * 200)::integer, scheduled_run_time => now() + '500 ms')
		FROM generate_series(1, 3))
	SELECT pg_sleep(0.02)};
my $stop = $router->node->data_dir . '/stop';
my $load = fork // die $!;
if (!$load)
{
	HipqCluster::end_by_signals();
	until (-e $stop || getppid == 1) { $router->try_sql($enqueue); }
	require POSIX;
	POSIX::_exit(0);
}
sub more_is_enqueued
{
	my ($count) = @_;
	my $before = $router->sql('SELECT count(*) FROM ledger');
	$router->wait_until("SELECT count(*) > $before + $count FROM ledger")
		or die 'the load stands still';
	return;
}
# Moves some slots to a shard, but not the slots that the test checks.
my %slot_of;
sub moves
{
	my ($to) = @_;
	my $others = join ',', 0, values %slot_of;
	return $shards->on_router(
		"SELECT hipq.move_slots('app', ARRAY(SELECT slot FROM generate_series(1, 4095) AS slot
		WHERE slot NOT IN ($others) ORDER BY random() LIMIT 300), $to)");
}
more_is_enqueued(200);

# ---- a standby of shard 1 falls behind, and is promoted
my $standby = $shards->standby_of(1);
my $one = $shards->node(1);
my $both =
	sprintf 'host=%s,%s port=%d,%d dbname=postgres user=postgres target_session_attrs=read-write',
	$one->node->host, $standby->host, $one->node->port, $standby->port;
$router->sql(sprintf q{CALL hipq.create_shard('app', 1, '%s', publisher => '%s')}, $both,
	$shards->conninfo(0));
moves(2);
my $lock = $one->hold_lock(1);
my $tenant = $router->sql(q{SELECT 'h' || n FROM generate_series(1, 100) AS n, hipq.shard_map
	WHERE nodes[hipq.slot_of('h' || n) + 1] = 1 LIMIT 1});
$router->sql(qq{INSERT INTO ledger SELECT hipq.enqueue('hold', '{"tenant": "$tenant"}')
	FROM generate_series(1, 2)});
ok($one->wait_until(q{SELECT count(*) > 0 FROM hipq.jobs_detail WHERE job_type = 'hold'
		AND state = 'running'}), 'jobs run on shard 1');
# Waiting jobs of shard 1, each in a slot of its own. The slots leave shard 1 while the standby does
# not follow: to shard 2, to the router, and to shard 2 and back.
%slot_of = map { split /\|/ } split /\n/, $router->sql(q{
	SELECT DISTINCT ON (slot) tenant, slot FROM (SELECT 'w' || n AS tenant,
		hipq.slot_of('w' || n) AS slot FROM generate_series(1, 100) AS n) AS made, hipq.shard_map
	WHERE nodes[slot + 1] = 1 AND NOT EXISTS (SELECT FROM hipq.shard_move AS move
		WHERE move.slot = made.slot)});
my @tenants = sort keys %slot_of;
my %group = (2 => [ @tenants[ 0 .. 4 ] ], 0 => [ @tenants[ 5 .. 9 ] ],
	back => [ @tenants[ 10 .. 14 ] ]);
sub later
{
	my (@tenants) = @_;
	return $router->sql(sprintf q{INSERT INTO ledger SELECT hipq.enqueue('run',
		jsonb_build_object('tenant', tenant), scheduled_run_time => now() + '1 day')
		FROM unnest('{%s}'::text[]) AS tenant, generate_series(1, 3)}, join ',', @tenants);
}
sub move_tenants
{
	my ($to, @tenants) = @_;
	$shards->on_router(sprintf q{SELECT hipq.move_slots('app', '{%s}', %d)},
		join(',', map { $slot_of{$_} } @tenants), $to);
	my $slots = join ',', map { $slot_of{$_} } @tenants;
	return ok($router->wait_until("SELECT count(*) FROM hipq.shard_move WHERE slot IN ($slots)", 0),
		"slots move to node $to");
}
# Tests that a node gets all waiting jobs of these tenants.
sub all_wait
{
	my ($number, $jobs, $how, @tenants) = @_;
	return ok($shards->node($number)->wait_until(sprintf(q{SELECT count(*) FROM hipq.jobs_detail
			WHERE state = 'initial' AND shard_key = ANY ('{%s}')}, join ',', @tenants), $jobs),
		$how);
}
later(map { @$_ } values %group);
ok($one->wait_until(q{SELECT count(*) FROM hipq.jobs_detail WHERE state = 'initial'
		AND shard_key LIKE 'w%'}, 45), 'jobs wait on shard 1');
# A job with a key. When the job has succeeded, another job gets the key.
my $key = $router->sql(q{SELECT key FROM (SELECT 'turn ' || n AS key, hipq.slot_of('run' || chr(31)
	|| 'turn ' || n) AS slot FROM generate_series(1, 100) AS n) AS made, hipq.shard_map
	WHERE nodes[slot + 1] = 1 AND NOT EXISTS (SELECT FROM hipq.shard_move AS move
		WHERE move.slot = made.slot) LIMIT 1});
$slot_of{$key} = $router->sql(qq{SELECT hipq.slot_of('run' || chr(31) || '$key')});
my $turn = $router->sql(
	qq{SELECT hipq.enqueue('run', job_key => '$key', scheduled_run_time => now() + '1 day')});
ok($one->wait_until("SELECT count(*) FROM hipq.jobs_detail WHERE id = $turn", 1),
	'a job with a key waits on shard 1');

# Jobs that shard 1 enqueues for shard 2 get their ids on shard 1.
my $away = $router->sql(q{SELECT tenant FROM (SELECT 'e' || n AS tenant,
	hipq.slot_of('e' || n) AS slot FROM generate_series(1, 100) AS n) AS made, hipq.shard_map
	WHERE nodes[slot + 1] = 2 AND NOT EXISTS (SELECT FROM hipq.shard_move AS move
		WHERE move.slot = made.slot) LIMIT 1});
$slot_of{$away} = $router->sql("SELECT hipq.slot_of('$away')");
sub enqueue_on_shard
{
	my $ids = $one->sql(qq{SELECT string_agg(hipq.enqueue('run', '{"tenant": "$away"}',
		queue => 'app.mail')::text, ',') FROM generate_series(1, 60)});
	ok($shards->node(2)->wait_until("SELECT count(*) FROM ran WHERE id IN ($ids)", 60),
		'jobs that are enqueued on shard 1 run on shard 2');
	$router->sql("INSERT INTO ledger SELECT unnest('{$ids}'::bigint[]) ON CONFLICT DO NOTHING");
	return split /,/, $ids;
}

more_is_enqueued(100);
$one->node->wait_for_catchup($standby, 'replay');
$shards->cut_off($standby);
more_is_enqueued(100);
my %given = map { $_ => 1 } enqueue_on_shard();
move_tenants(2, @{ $group{2} }, @{ $group{back} });
move_tenants(0, @{ $group{0} });
all_wait(2, 15, 'jobs of slots that moved to shard 2 are there', @{ $group{2} });
all_wait(0, 15, 'jobs of slots that moved to the router are there', @{ $group{0} });
move_tenants(1, @{ $group{back} });
all_wait(1, 15, 'jobs of slots that moved to shard 2 and back are on shard 1',
	@{ $group{back} });
$one->sql("SELECT hipq.reschedule($turn, now())");
is($one->outcome($turn), 'succeeded', 'the job with the key succeeds');
my $next = $router->sql(qq{WITH made AS (INSERT INTO ledger SELECT hipq.enqueue('run',
	job_key => '$key', scheduled_run_time => now() + '1 day') RETURNING id) SELECT id FROM made});
ok($one->wait_until("SELECT count(*) FROM hipq.jobs_detail WHERE id = $next", 1),
	'another job gets the key');
move_tenants($_, $key) foreach 2, 1;
moves(2);
more_is_enqueued(100);
moves(1);
$lock->quit;
ok($one->wait_until(q{SELECT count(*) FROM hipq.jobs_detail WHERE job_type = 'hold'
		AND state <> 'final'}, 0), 'jobs end on shard 1 after the standby was cut off');
moves(2);
more_is_enqueued(100);
my $old = $shards->promote(1, $standby);
$one = $shards->node(1);
all_wait(1, 15, 'the promoted standby has the jobs as they were before the moves',
	@{ $group{$_} })
	foreach 2, 0, 'back';

# ---- the promoted node stops, and says so
ok($one->wait_until(q{SELECT count(*) FROM hipq.alerts_detail WHERE alert = 'shard' AND detail ~
		'was promoted or restored' AND hint ~ 'On the router: CALL hipq.resync_shard\(.app., 1\)'},
		1), 'an alert on the promoted shard says what to do');
my $waits = $one->sql(q{SELECT id FROM hipq.jobs_detail WHERE state <> 'final' LIMIT 1});
like($one->sql("SELECT explanation FROM hipq.why($waits) WHERE condition = 'replica'"),
	qr/was promoted or restored.*CALL hipq.resync_shard\('app', 1\) on the router/,
	'why() on the promoted shard says what to do');
like($one->error_of(q{SELECT hipq.enqueue('run', queue => 'app.mail')}),
	qr/55000: this server, node 1 of instance "app", is not in step/,
	'the promoted shard refuses enqueue()');
like($one->error_of("SELECT hipq.cancel($waits)"), qr/55000: this server, node 1/,
	'the promoted shard refuses cancel()');
ok($router->wait_until(q{SELECT count(*) FROM hipq.alerts_detail WHERE alert = 'shard' AND hint
		~ 'CALL hipq.resync_shard\(.app., 1\)'}, 1), 'the router has an alert with what to do');
is($one->sql(q{SELECT count(pid) FROM hipq.running}), 0, 'the promoted shard runs no job');
my %known = map { $_ => 1 } split /\n/, $one->sql('SELECT id FROM ran');
more_is_enqueued(100);
is($one->sql('SELECT count(*) FROM ran'), keys %known,
	'the promoted shard has run no job while jobs were enqueued');

# ---- resync_shard(), cancelled repeatedly at any moment
my ($tries, $end) = (0, '');
for (my $time = 20; $end ne 'done' && $tries < 60; $time = int $time * 1.15 + 10)
{
	++$tries;
	my ($status, $out, $err) = $router->node->psql('postgres',
		"SET statement_timeout = $time; CALL hipq.resync_shard('app', 1)");
	$end = $status == 0 ? 'done' : $err
		=~ /canceling|terminat/ || HipqShards::is_unconnected($err) ? 'cancelled' : $err;
	last if $end !~ /^(done|cancelled)$/;
	note $err if $status == 0;
}
is($end, 'done', "resync_shard() succeeds, cancelled " . ($tries - 1) . ' time(s)');
cmp_ok($tries, '>', 3, 'resync_shard() was cancelled several times');
is($router->sql('SELECT problem FROM hipq.shards
		WHERE shard = 1 AND problem !~ $$^it (does not|is not) read$$'), '',
	'the shard has no problem after resync_shard()');
more_is_enqueued(200);
moves(1);

all_wait(1, 0, "shard 1 does not have the jobs that moved to node $_ before the promotion",
	@{ $group{$_} })
	foreach 2, 0;
all_wait($_, 15, "node $_ has the jobs that moved there before the promotion", @{ $group{$_} })
	foreach 2, 0;
all_wait(1, 15, 'shard 1 has each job that moved to shard 2 and back once', @{ $group{back} });
is($one->sql("SELECT string_agg(id::text, ' ') FROM hipq.jobs_detail WHERE job_key = '$key'"),
	$next, 'the second job with the key waits on shard 1');

is(join(' ', grep { $given{$_} } enqueue_on_shard()), '',
	'the promoted shard generates no id twice');

# ---- a replication slot is dropped
my $name = $router->sql(q{SELECT channel || '_to_2' FROM hipq.shard WHERE node = 2});
my $two = $shards->node(2);
$two->sql("ALTER SUBSCRIPTION $name DISABLE");
$router->wait_until("SELECT NOT active FROM pg_replication_slots WHERE slot_name = '$name'");
$router->sql("SELECT pg_drop_replication_slot('$name')");
moves(2);
more_is_enqueued(200);
$two->sql("ALTER SUBSCRIPTION $name ENABLE");
ok($router->wait_until(q{SELECT count(*) FROM hipq.alerts_detail WHERE alert = 'shard'
		AND detail ~ 'slot is gone' AND hint = $$CALL hipq.resync_shard('app', 2).$$}, 1),
	'an alert reports the dropped replication slot, and says what to do');
like($router->error_of(sprintf q{CALL hipq.create_shard('app', 2, '%s', publisher => '%s')},
		$shards->conninfo(2), $shards->conninfo(0)),
	qr/55000: the replication slot of shard 2 .* is gone or lost.*resync_shard\('app', 2\)/s,
	'create_shard() does not replace the dropped replication slot');
$shards->resync(2);
more_is_enqueued(100);
# Shard 1 is in step: resync_shard() changes nothing.
$shards->resync(1);
append_to_file($stop, '');
waitpid $load, 0;

# ---- the ledger
$_->sql(q{SELECT hipq.reschedule(id, now()) FROM hipq.jobs_detail WHERE state = 'initial'
	AND scheduled_run_time > now() + interval '1 hour'}) foreach $shards->nodes;
ok($router->wait_until('SELECT count(*) FROM hipq.shard_move', 0), 'all moves end');
my $jobs = $router->sql('SELECT count(*) FROM ledger');
my $limit = time + $PostgreSQL::Test::Utils::timeout_default;
my ($ran, $refused) = (-1, 0);
while (time < $limit && $ran + $refused < $jobs)
{
	$ran = 0;
	$ran += $_ foreach split / /, $shards->counts;
	$refused = $router->sql(
		"SELECT count(DISTINCT job_id) FROM hipq.shard_reject WHERE sqlstate = '23505'");
	usleep(100_000);
}
note "$jobs jobs, $ran runs, $refused duplicates";
my %runs;
$runs{$_}++ foreach map { split /\n/, $_->sql('SELECT id FROM ran') } $shards->nodes;
$runs{$_}++ foreach split /\n/,
	$router->sql("SELECT DISTINCT job_id FROM hipq.shard_reject WHERE sqlstate = '23505'");
my @ledger = split /\n/, $router->sql('SELECT id FROM ledger');
is(join(' ', grep { !$runs{$_} } @ledger), '', 'no job is lost');
is(join(' ', grep { $runs{$_} > 1 } keys %runs), '', 'no job runs twice, and no duplicate runs');
is(scalar(keys %runs), scalar(@ledger), 'only enqueued jobs run');
is($router->sql("SELECT count(*) FROM hipq.shard_reject WHERE sqlstate <> '23505'"), 0,
	'shards refuse only duplicates');
is($_->sql('SELECT count(*) FROM hipq.shard_held_job'), 0, 'no job is held') foreach $shards->nodes;
is($_->sql(q{SELECT count(*) FROM hipq.jobs_detail WHERE state <> 'final'}), 0,
	'no job is left unfinished') foreach $shards->nodes;

# ---- the last jobs of the old primary: it starts once more, cut off from all other servers
$old->node->append_conf('postgresql.conf',
	"max_logical_replication_workers = 0\nhipq.enabled = off\n");
$old->node->start;
my @last = grep { !$known{$_} } split /\n/, $old->sql('SELECT id FROM ran');
$old->node->stop('immediate');
cmp_ok(scalar(@last), '>', 0, 'the old primary had run jobs that the standby did not know');
note scalar(grep { $runs{$_} } @last) . ' of ' . @last . ' jobs that the old primary ran at last, '
	. 'and the standby did not know of, have run again or are refused';

unlike(slurp_file($_->node->logfile), qr/PANIC:|TRAP:|reference leak|signal 11/,
	'the log has nothing alarming') foreach $shards->nodes;
done_testing();
