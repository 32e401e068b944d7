# While commits of the router take long, shards read of a move or of a new queue as soon as it is on
# disk, and the processes of the router see it later. No job is lost, and no call says that the job
# does not exist.
use strict;
use warnings;
use HipqShards;
use PostgreSQL::Test::Utils;
use Test::More;

my $shards = HipqShards->new('slow_commits', 2, synchronous_standby_names => 'nobody',
	synchronous_commit => 'local');
my ($router, $one, $two) = $shards->nodes;
my %nodes = ('the router' => $router, 'shard 1' => $one, 'shard 2' => $two);
# The query on the router by which a session on each node searches for the job.
my %looks = ('the router' => q{SELECT 'found'%}, 'shard 1' => q{%\_answer('app', 1, %},
	'shard 2' => q{%\_answer('app', 2, %});
ok($shards->settled, 'the slots are settled');
$_->sql('CREATE EXTENSION dblink') foreach $one, $two;
my $slot = $router->sql(q{SELECT hipq.slot_of('run' || chr(31) || 'mine')});
my $file = $router->node->data_dir . '/commit';
$router->sql(q{CREATE FUNCTION draw_commits_out(path text) RETURNS void
	LANGUAGE c STRICT AS 'hipq_guard_test', 'guard_test_draw_commits_out'});

sub move_to
{
	my ($node) = @_;
	$router->sql("SELECT hipq.move_slots('app', '{$slot}', $node)");
	$shards->settled or die;
	return;
}
sub enqueue
{
	return $router->sql(q{SELECT hipq.enqueue('run', '{"tenant": "one"}', queue => 'app.mail',
		job_key => 'mine', scheduled_run_time => now() + interval '1 day')});
}
# Ends the waits for the synchronous standby.
sub answer
{
	$router->sql(
		q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'});
	return;
}
sub letters
{
	my ($sender) = @_;
	return $sender->sql(q{SELECT count(*) FROM hipq.shard_outbox WHERE kind = 'moved'});
}

# Moves a job from shard 1 to shard 2. %way says how the commit of a session is delayed, and how the
# delay ends.
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
	ok($one->wait_until("SELECT count(*) FROM hipq.jobs WHERE id = $id", 0),
		"$what: shard 1 has read of the move, and sends the job");
	my %looking;
	# The sessions wait one after the other, and repeatedly, because none waits for more than 5 s.
	foreach my $name (sort keys %nodes)
	{
		my $waits = 0;
		for (my $try = 1; !$waits && $try <= 5; ++$try)
		{
			$looking{$name}->quit if $try > 1;
			$looking{$name} = $nodes{$name}->session(on_error_stop => 0);
			$looking{$name}->query_until(qr/looks/,
				"\\echo looks\n\\set VERBOSITY verbose\n"
					. "SELECT 'found', count(*) FROM hipq.find_job($id);\n");
			($waits) = $router->poll(qq{SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE
				\$\$$looks{$name}\$\$ AND pid <> pg_backend_pid() AND wait_event = 'Extension'},
				sub { $_[0] eq 't' }, 5);
		}
		ok($waits, "$what: find_job() on $name waits");
	}
	is(letters($router), $to_shards, "$what: the router does not send the job to shard 2");
	is($two->sql('SELECT count(*) FROM hipq.shard_coming WHERE busy_keys IS NOT NULL'), 0,
		"$what: the router does not say that all jobs have come");
	$way{end}->();
	$moving->query('SELECT 1');
	$moving->quit;

	foreach my $name (sort keys %looking)
	{
		my $said = $looking{$name}->query('SELECT 1') . $looking{$name}{stderr};
		like($said, qr/^found\|1$|HQ503|55P03/m,
			"$what: find_job() on $name finds the job, or says that no node knows it");
		unlike($said, qr/^found\|0$/m,
			"$what: find_job() on $name does not say that the job does not exist");
		$looking{$name}->quit;
	}
	ok($two->wait_until("SELECT count(*) FROM hipq.jobs WHERE id = $id", 1),
		"$what: shard 2 gets the job");
	ok($shards->settled, "$what: the move ends");
	is(letters($one) - $to_router, 1, "$what: the job has left shard 1 once");
	is($router->sql("SELECT outcome FROM hipq.find_job($id)"), 'waiting',
		"$what: find_job() finds the job on shard 2");
	is($router->sql("SELECT hipq.cancel($id)"), 't', "$what: the job can be cancelled on shard 2");
	return;
}

move_slowly('a synchronous standby does not answer',
	begin => sub { $_[0]->query_safe('SET synchronous_commit = on'); },
	end => \&answer);
move_slowly('other processes keep the old map',
	begin => sub { $_[0]->query_safe("SELECT draw_commits_out('$file')");
		append_to_file($file, ''); },
	end => sub { unlink $file or die $!; });

# ---- jobs that shards may send according to a set-up that the processes of the router do not see
sub tenant_of
{
	my ($node) = @_;
	return $router->sql("SELECT 't' || n FROM generate_series(1, 100) AS n, hipq.shard_map
		WHERE nodes[hipq.slot_of('t' || n) + 1] = $node LIMIT 1");
}
sub enqueue_too_early
{
	my ($what, $set_up, $is_heard, $enqueue) = @_;
	my $session = $router->session;
	$session->query_until(qr/sets up/,
		"SET synchronous_commit = on;\n\\echo sets up\nSELECT $set_up;\n");
	ok($one->wait_until($is_heard, 't'), "$what: shard 1 has read of the change");
	my $id = $one->sql("SELECT hipq.enqueue('run', $enqueue)");
	ok($router->wait_until(q{SELECT count(*) FROM pg_stat_activity
			WHERE backend_type ~ 'logical replication.*worker' AND wait_event = 'PgSleep'}, 1),
		"$what: the router waits until it sees the change");
	answer();
	$session->query('SELECT 1');
	$session->quit;
	return $id;
}
my $two_s = tenant_of(2);
my $young = enqueue_too_early('a new queue',
	q{hipq.create_queue('app.young', owner => 'app', shard_key => $$job_data->>'tenant'$$),
	hipq.register_job_type('app.young', 'run', handler => 'run')},
	q{SELECT count(*) = 1 FROM hipq.job_types WHERE queue = 'app.young'},
		qq{'{"tenant": "$two_s"}', queue => 'app.young'});
ok($two->wait_until("SELECT outcome FROM hipq.jobs WHERE id = $young", 'succeeded'),
	'a job of a queue that the router did not see yet runs on its shard');
$router->sql(q{SELECT hipq.create_queue('app.whole', owner => 'app', max_timeout => '1 hour'),
	hipq.register_job_type('app.whole', 'run', handler => 'run')});
my $long = enqueue_too_early('a raised limit',
	q{hipq.alter_queue('app.whole', max_timeout => '3 hours')},
	q{SELECT max_timeout = 10800 FROM hipq.queues_detail WHERE queue = 'app.whole'},
		q{queue => 'app.whole', timeout => '2 hours'});
ok($router->wait_until("SELECT outcome FROM hipq.jobs WHERE id = $long", 'succeeded'),
	'a job beyond a limit that the router did not see yet runs on the router');

# ---- two transactions set up something at once: shards get both changes
my $pausing = $router->session;
$pausing->query_safe(q{BEGIN; SELECT hipq.pause('app.whole')});
my $altering = $router->session(on_error_stop => 0);
my $waits = 0;
for (my $try = 1; !$waits && $try <= 5; ++$try)    # no session waits for more than 5 s
{
	$altering->query_until(qr/alters/,
		"\\echo alters\nSELECT hipq.alter_queue('app.young', max_timeout => '4 hours');\n");
	($waits) = $router->poll(q{SELECT count(*) FROM pg_stat_activity
		WHERE query LIKE '%alter_queue%' AND wait_event_type = 'Lock'}, sub { $_[0] eq '1' }, 5);
}
ok($waits, 'alter_queue() waits for an open transaction that has set up something');
$pausing->query_safe('COMMIT');
$altering->query('SELECT 1');
# The wait may have been too long.
$router->sql_again(q{SELECT hipq.alter_queue('app.young', max_timeout => '4 hours')})
	if $altering->{stderr} =~ /55P03|another transaction that changes/;
ok($one->wait_until(q{SELECT max_timeout = 14400 FROM hipq.queues_detail WHERE queue = 'app.young'},
		't'), 'shard 1 has the changes of the second transaction');
is($one->sql(q{SELECT count(*) FROM hipq.pauses WHERE queue = 'app.whole'}), 1,
	'shard 1 has the changes of the first transaction');
$pausing->query_safe(q{BEGIN; SELECT hipq.resume('app.whole')});
like($router->error_of(q{SELECT hipq.alter_queue('app.young', max_timeout => '5 hours')}),
	qr/55P03: another transaction that changes queues, job types or pauses of instance "app" is open.*HINT/s,
	'alter_queue() gives up waiting for an open transaction that has set up something');
$pausing->query_safe('COMMIT');

# ---- a transaction that enqueued by the map from before a move ends after the move
move_to(1);
my $late = $router->session;
my $id = $late->query_safe(q{BEGIN; SELECT hipq.enqueue('run', '{"tenant": "one"}',
	queue => 'app.mail', job_key => 'mine', scheduled_run_time => now() + interval '1 day')});
move_to(2);
my $line = $router->sql(q{SELECT subname FROM pg_subscription WHERE subname LIKE '%from_1'});
$router->sql("ALTER SUBSCRIPTION $line DISABLE");
$late->query_safe('COMMIT');
ok($one->wait_until("SELECT count(*) FROM hipq.shard_outbox WHERE jobs::text LIKE '%$id%'", 1),
	'shard 1 sends the late job back, and the router does not read');
like($router->error_of("SELECT hipq.cancel($id)"),
	qr/HQ503: .*DETAIL: .*Not all that was sent by shard 1 of instance "app" has been read/s,
	'cancel() says that the router has not read all letters of shard 1');
$router->sql("ALTER SUBSCRIPTION $line ENABLE");
ok($two->wait_until("SELECT count(*) FROM hipq.jobs WHERE id = $id", 1),
	'shard 2 gets the late job');
is($router->sql("SELECT hipq.cancel($id)"), 't', 'the late job can be cancelled');

# ---- a shard to which slots move is not dropped
$router->sql(q{SELECT hipq.move_slots('app', (SELECT array_agg((place - 1)::integer)
	FROM hipq.shard_map, unnest(nodes) WITH ORDINALITY AS entry (node, place) WHERE node = 2), 1)});
ok($router->wait_until('SELECT count(*) FROM hipq.shard_move', 0), 'shard 2 has no slots');
my $giving = $router->session;
$giving->query_safe("BEGIN; SELECT hipq.move_slots('app', '{$slot}', 2)");
my $dropping = $router->session(on_error_stop => 0);
$dropping->query_until(qr/drops/, "\\echo drops\nCALL hipq.drop_shard('app', 2);\n");
ok($router->wait_until(q{SELECT count(*)
		FROM pg_stat_activity WHERE query LIKE '%drop_shard%' AND wait_event_type = 'Lock'}, 1),
	'drop_shard() waits for a transaction that moves slots to the shard');
$giving->query_safe('COMMIT');
$dropping->query('SELECT 1');
like($dropping->{stderr}, qr/shard 2 of instance "app" has slots/,
	'drop_shard() is refused when the shard has slots');

# ---- move_slots() waits while the router takes letters of shards
my $taking = $router->session;
$taking->query_safe('BEGIN; LOCK TABLE hipq.shard_map IN SHARE MODE');
like($router->error_of("SELECT hipq.move_slots('app', '{$slot}', 1)"),
	qr/55P03: the router is just taking what a shard has sent, and has to wait.*HINT/s,
	'move_slots() gives up waiting while the router takes letters of a shard');
$taking->query_safe('COMMIT');
is($_->sql('SELECT count(*) FROM hipq.shard_reject'), 0, 'no job is a reject')
	foreach values %nodes;

done_testing();
