# Commits of the router that take their time: shards read of a move, or of a new queue, as soon as it is on disk, and the router's processes
# see it later.
use strict;
use warnings;
use HipqShards;
use PostgreSQL::Test::Utils;
use Test::More;

my $shards = HipqShards->new('slow_commits', 2, synchronous_standby_names => 'nobody', synchronous_commit => 'local');
my ($router, $one, $two) = $shards->nodes;
my %nodes = ('the router' => $router, 'shard 1' => $one, 'shard 2' => $two);
ok($router->wait_until('SELECT count(*) FROM hipq.shard_move', 0), 'the slots are where they belong');
$_->sql('CREATE EXTENSION dblink') foreach $one, $two;
my $slot = $router->sql(q{SELECT hipq.slot_of('run' || chr(31) || 'mine')});
my $file = $router->node->data_dir . '/commit';
$router->sql(q{CREATE FUNCTION draw_commits_out(path text) RETURNS void LANGUAGE c STRICT AS 'hipq_guard_test', 'guard_test_draw_commits_out'});

sub move_to
{
	my ($node) = @_;
	$router->sql("SELECT hipq.move_slots('app', '{$slot}', $node)");
	$router->wait_until('SELECT count(*) FROM hipq.shard_move', 0) or die;
	return;
}
sub enqueue { return $router->sql(q{SELECT hipq.enqueue('run', '{"tenant": "one"}', queue => 'app.mail', job_key => 'mine', scheduled_run_time => now() + interval '1 day')}); }
# Ends what waits for the standby.
sub answer { $router->sql(q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'}); return; }
sub letters { my ($sender) = @_; return $sender->sql(q{SELECT count(*) FROM hipq.shard_outbox WHERE kind = 'moved'}); }

# Moves a job from shard 1 to shard 2; %way: how the commit of a session is kept from ending, and what ends it.
sub move_slowly
{
	my ($what, %way) = @_;
	move_to(1);
	my $id = enqueue();
	$one->wait_until("SELECT count(*) FROM hipq.jobs WHERE id = $id", 1) or die;
	my ($to_shards, $to_router) = (letters($router), letters($one));

	my $moving = $router->session;
	$way{begin}->($moving);
	$moving->query_until(qr/moves/, "\\echo moves\nSELECT hipq.move_slots('app', '{$slot}', 2);\n");
	ok($one->wait_until("SELECT count(*) FROM hipq.jobs WHERE id = $id", 0), "$what: shard 1 has heard of the move, and sends the job");
	my %looking = map { $_ => $nodes{$_}->session(on_error_stop => 0) } keys %nodes;
	$looking{$_}->query_until(qr/looks/, "\\echo looks\n\\set VERBOSITY verbose\nSELECT 'found', count(*) FROM hipq.find_job($id);\n") foreach keys %looking;
	ok($router->wait_until(q{SELECT count(*) FROM pg_stat_activity WHERE query ~ '(_answer|find_job)' AND wait_event = 'Extension'}, 3), "$what: who looks for it waits");
	is(letters($router), $to_shards, "$what: the router sends it nowhere");
	is($two->sql('SELECT count(*) FROM hipq.shard_coming WHERE busy_keys IS NOT NULL'), 0, "$what: nor says that all has come");
	$way{end}->();
	$moving->query('SELECT 1');
	$moving->quit;

	foreach my $name (sort keys %looking)
	{
		my $said = $looking{$name}->query('SELECT 1') . $looking{$name}{stderr};
		like($said, qr/^found\|1$|HQ503|55P03/m, "$what: it is found from $name, or nobody knows");
		unlike($said, qr/^found\|0$/m, "$what: nobody says that it is not there");
		$looking{$name}->quit;
	}
	ok($two->wait_until("SELECT count(*) FROM hipq.jobs WHERE id = $id", 1), "$what: shard 2 gets it");
	ok($router->wait_until('SELECT count(*) FROM hipq.shard_move', 0), "$what: the move is over");
	is(letters($one) - $to_router, 1, "$what: it has left shard 1 once");
	is($router->sql("SELECT outcome FROM hipq.find_job($id)"), 'waiting', "$what: and is found");
	is($router->sql("SELECT hipq.cancel($id)"), 't', "$what: and cancelled");
	return;
}

move_slowly('a synchronous standby does not answer',
	begin => sub { $_[0]->query_safe('SET synchronous_commit = on'); },
	end => \&answer);
move_slowly('others are not told to forget the old map',
	begin => sub { $_[0]->query_safe("SELECT draw_commits_out('$file')"); append_to_file($file, ''); },
	end => sub { unlink $file or die $!; });

# ---- a job of a queue that a shard knows before the router's processes do
my $making = $router->session;
$making->query_until(qr/makes/, q{SET synchronous_commit = on;
\echo makes
SELECT hipq.create_queue('app.young', owner => 'app', shard_key => $$job_data->>'tenant'$$), hipq.register_job_type('app.young', 'run', handler => 'run');
});
ok($one->wait_until(q{SELECT count(*) FROM hipq.job_types WHERE queue = 'app.young'}, 1), 'shard 1 has heard of the queue');
my $tenant = $one->sql(q{SELECT 't' || n FROM generate_series(1, 100) AS n, hipq.shard_map WHERE nodes[hipq.slot_of('t' || n) + 1] = 2 LIMIT 1});
my $young = $one->sql(qq{SELECT hipq.enqueue('run', '{"tenant": "$tenant"}', queue => 'app.young')});
ok($router->wait_until(q{SELECT count(*) FROM pg_locks WHERE NOT granted AND relation IN ('hipq.queue'::regclass, 'hipq.job_type'::regclass)}, 1), 'the router waits until it sees it');
answer();
$making->quit;
ok($two->wait_until("SELECT outcome FROM hipq.jobs WHERE id = $young", 'succeeded'), 'and the job runs on its shard');
is($_->sql('SELECT count(*) FROM hipq.shard_reject'), 0, 'nothing was rejected') foreach values %nodes;

done_testing();
