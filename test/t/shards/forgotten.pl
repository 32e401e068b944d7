# A node whose disk is restored has forgotten its last changes, and learns this from other nodes.
# The node stops until resync_shard(). No job is lost, no job runs on two nodes, and no id is
# generated twice.
use strict;
use warnings;
use HipqShards;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $shards = HipqShards->new('forgotten', 2);
my ($router, $one, $two) = $shards->nodes;
my @enqueued;
# Enqueues jobs for a node, which start in $later seconds. Returns their ids.
sub enqueue
{
	my ($on, $for, $count, $later) = @_;
	my $tenant = $shards->tenant_of($for);
	my @ids = split /\n/, $on->sql("
		SELECT hipq.enqueue('run', jsonb_build_object('tenant', '$tenant'),
		                    scheduled_run_time => now() + interval '$later s')
		FROM generate_series(1, $count)");
	push @enqueued, @ids;
	return @ids;
}
# snapshot() copies the files of a node, and put_back() restores them. The file with the server's
# mark stays in its place, as when a disk is restored.
sub snapshot
{
	my ($node) = @_;
	my $data = $node->node->data_dir;
	HipqCluster::close_looks();
	$node->node->stop('immediate');
	system_or_bail('cp', '-RPp', $data, "$data.snapshot");
	$node->node->start;
	return;
}
sub put_back
{
	my ($node, $meanwhile) = @_;
	my $data = $node->node->data_dir;
	HipqCluster::close_looks();
	$node->node->stop('immediate');
	opendir my $handle, $data or die "$data: $!";
	my @gone = grep { !/^(\.\.?|hipq\.server)$/ } readdir $handle;
	system_or_bail('rm', '-rf', map { "$data/$_" } @gone);
	closedir $handle;
	unlink "$data.snapshot/hipq.server";
	system_or_bail('cp', '-RPp', "$data.snapshot/.", $data);
	system_or_bail('rm', '-rf', "$data.snapshot");
	$meanwhile->() if $meanwhile;
	$node->node->start;
	return;
}
# Returns a query that counts how many of these jobs wait on a node.
sub waiting
{
	return sprintf q{SELECT count(*) FROM hipq.jobs_detail
		WHERE state = 'initial' AND id = ANY ('{%s}')}, join ',', @_;
}
# Waits until a node has received a sign of life that the other node sends after the call.
sub heard
{
	my ($node, $of) = @_;
	my $time = $of->sql('SELECT clock_timestamp()');
	my $number = $of == $router ? 0 : $of == $one ? 1 : 2;
	my $is_new = "SELECT heard_time > '$time' FROM hipq.shard_neighbour WHERE node = $number";
	return $node->wait_until($is_new, 't');
}
my $alert = q{FROM hipq.alerts_detail WHERE alert = 'shard'
	AND detail ~ 'has forgotten what it did last'};
my $says = "SELECT count(*) $alert";
ok($shards->settled, 'each shard has its slots');

enqueue($router, 1, 20, 0);
ok($shards->wait_for_runs(20), 'jobs run before the shard forgets');

# ---- a shard has forgotten, and one of its slots has moved since
my $tenant = $shards->tenant_of(1);
my $gone = $router->sql(qq{SELECT min(n) FROM generate_series(1, 1000) AS n, hipq.shard_map
	WHERE nodes[hipq.slot_of(n::text) + 1] = 1
	  AND hipq.slot_of(n::text) <> hipq.slot_of('$tenant')});
my @gone = split /\n/, $router->sql(qq{
	SELECT hipq.enqueue('run', '{"tenant": "$gone"}',
		scheduled_run_time => now() + interval '1 hour')
	FROM generate_series(1, 5)});
push @enqueued, @gone;
ok($one->wait_until(waiting(@gone), 5), 'five jobs of a slot wait on shard 1');
ok($one->wait_until('SELECT whole_id > 0 FROM hipq.shard_neighbour', 't'),
	'shard 1 knows by signs of life that nothing is missing');
$one->sql('CHECKPOINT');    # a received letter is not on disk at once
snapshot($one);
my @later = enqueue($router, 1, 20, 3600);
ok($one->wait_until(waiting(@later), 20), 'shard 1 has twenty more waiting jobs');
ok(heard($one, $router), 'shard 1 receives a sign of life of the router after a restart');
is($one->sql($says), 0, 'shard 1 has no alert if it has forgotten nothing');
is($shards->on_router("SELECT hipq.move_slots('app', ARRAY[hipq.slot_of('$gone')], 2)"), 1,
	'a slot moves to shard 2');
ok($two->wait_until(waiting(@gone), 5), 'shard 2 has the five jobs of the moved slot');
my %given = map { $_ => 1 } enqueue($one, 1, 50, 0);
ok($shards->wait_for_runs(70), 'jobs that were enqueued on shard 1 run');
ok(heard($router, $one), 'the router receives a sign of life of shard 1');
put_back($one, sub { push @later, enqueue($router, 1, 20, 3600) });
ok($one->wait_until($says, 1), 'a shard that has forgotten has an alert');
like($one->sql("SELECT hint $alert"),
	qr/On the router: CALL hipq.resync_shard\('app', 1\)/, 'the alert says what to do');
my $unread = q{SELECT count(*) FROM hipq.alerts_detail
	WHERE alert = 'shard' AND detail ~ 'it does not read' AND hint ~ 'resync_shard\(.app., 1\)'};
ok($router->wait_until($unread, 1), 'an alert on the router says that shard 1 does not read');
like($one->error_of(q{SELECT hipq.enqueue('run', queue => 'app.mail')}),
	qr/55000: this server, node 1 of instance "app", is not in step/,
		'a shard that has forgotten refuses enqueue()');
like(slurp_file($one->node->logfile),
	qr/node 1 of instance "app", has forgotten what it did last\n.*DETAIL:.* node 0 (has its|had sent it) letter \d+/,
	'the log of the shard says that it has forgotten');
cmp_ok($one->sql(waiting(@later)), '<=', 20,
	'the restored shard lacks at least 20 of 40 waiting jobs');
like($shards->resync(1),
	qr/shard 1 of instance "app" is in step\nDETAIL:.*has forgotten 5 job\(s\)/,
	'resync_shard() brings the shard back into step');
ok($one->wait_until(waiting(@later), 40), 'the shard has all waiting jobs after the resync');
is($one->sql(waiting(@gone)), 0, 'the shard does not have the jobs of the moved slot');
is($two->sql(waiting(@gone)), 5, 'shard 2 has the jobs of the moved slot');
is(join(' ', grep { $given{$_} } enqueue($one, 1, 50, 0)), '', 'the shard generates no id twice');
ok($shards->wait_for_runs(70), 'no job runs twice after the resync') or note $shards->counts;
ok(heard($one, $router) && heard($router, $one),
	'shard and router receive signs of life after the resync of the shard');
is($_->sql(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'shard'}), 0,
	'no node has an alert after the resync of the shard') foreach $shards->nodes;

# ---- a router that has forgotten
snapshot($router);
my $lost = $router->sql(qq{SELECT min(n) FROM generate_series(1, 1000) AS n, hipq.shard_map
	WHERE nodes[hipq.slot_of(n::text) + 1] = 1
	  AND hipq.slot_of(n::text) NOT IN (hipq.slot_of('$tenant'), hipq.slot_of('$gone'))});
is($shards->on_router("SELECT hipq.move_slots('app', ARRAY[hipq.slot_of('$lost')], 2)"), 1,
	'a slot moves after the copy of the router was made');
ok($shards->settled, 'the move after the copy of the router ends');
enqueue($router, $_, 20, 0) foreach 1, 2;
enqueue($one, 2, 10, 0);
ok($shards->wait_for_runs(120), 'jobs run before the router forgets');
ok(heard($one, $router) && heard($router, $one),
	'router and shard receive signs of life before the restore of the router');
put_back($router);
ok($router->wait_until($says, 1), 'a router that has forgotten has an alert');
like($router->error_of(q{SELECT hipq.enqueue('run', '{"tenant": "a"}')}),
	qr/55000: this server, node 0 of instance "app", is not in step/,
		'a router that has forgotten refuses enqueue()');
like($router->error_of(q{CALL hipq.resync_shard('app', 0)}),
	qr/55000: shard \d of instance "app" has got \d+ letter.* that this router does not know.*force => true/s,
	'resync_shard() of the router is refused without force');
like($shards->resync('0, force => true'),
	qr/NOTICE:  shard 1 of instance "app" has got \d+ letter.*DETAIL:  What they brought stays.*are lost/s,
	'resync_shard() of the router by force reports what may be lost');
ok($shards->settled, 'slots have their nodes after the resync of the router');
is($router->sql("SELECT nodes[hipq.slot_of('$lost') + 1] FROM hipq.shard_map"), 2,
	'the router knows the node of the slot that moved after its copy');
enqueue($router, $_, 20, 0) foreach 1, 2;
ok($shards->wait_for_runs(160), 'jobs run after the resync of the router');
my %runs;
$runs{$_}++ foreach map { split /\n/, $_->sql('SELECT id FROM ran') } $shards->nodes;
is(join(' ', grep { $runs{$_} > 1 } keys %runs), '', 'no job has run twice');
is($two->sql('SELECT count(*) FROM hipq.set_aside'), 0, 'no job is set aside on shard 2');
ok(heard($one, $router) && heard($router, $one),
	'router and shard receive signs of life after the resync of the router');
is($_->sql(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'shard'}), 0,
	'no node has an alert after the resync of the router') foreach $shards->nodes;
is($_->sql('SELECT count(*) FROM hipq.shard_held_job'), 0, 'no job is held') foreach $shards->nodes;
is($one->sql(waiting(@later)), 40, 'the forty scheduled jobs wait');

unlike(slurp_file($_->node->logfile), qr/PANIC:|TRAP:|reference leak|signal 11/,
	'the log has nothing alarming') foreach $shards->nodes;
done_testing();
