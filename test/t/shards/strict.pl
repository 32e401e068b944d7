# In a queue in strict order the jobs of a slot start in the order in which they were enqueued, also
# while the slot moves. Handlers write each start to the server log: after a crash the log is the
# only trace of some starts.
#
#   SHARD_FAULTS    number of faults (8)
#   SEED            chooses everything but the timing; the test prints it
#   MOVE_ORDER      order under load (strict); with key the check finds jobs that are out of order
use strict;
use warnings;
use HipqFaults;
use HipqPoints;
use HipqShards;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $count = $ENV{SHARD_FAULTS} || 8;
my $seed = $ENV{SEED} || int rand 1e9;
note "SEED=$seed";
srand $seed;

# Several executors would get jobs in order, and could start them in another order.
my $shards = HipqShards->new('strict', 2, 'hipq.max_executors' => 1, log_error_verbosity => 'terse',
	autovacuum_naptime => '2s');
my $router = $shards->router;
$_->sql(q{CREATE FUNCTION step(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		RAISE LOG 'start % % % %', job.shard_key, job.job_data->>'number',
			extract(epoch FROM clock_timestamp()), job.id;
		INSERT INTO ran (id, tenant) VALUES (job.id, job.shard_key);
		IF job.job_data ? 'waits' THEN PERFORM pg_advisory_xact_lock_shared(1); END IF;
		IF job.job_data ? 'fails' AND job.attempt = 1 THEN RAISE 'fails'; END IF;
		PERFORM pg_sleep(0.003);
	END $$}) foreach $shards->nodes;
like($router->error_of(q{SELECT hipq.create_queue('app.steps', move_order => 'slot')}),
	qr/22023: unknown move_order "slot"/, 'an unknown move_order is refused');
$router->sql(q{SELECT hipq.create_queue('app.steps', owner => 'app',
	shard_key => $$job_data->>'tenant'$$, move_order => 'key');
	SELECT hipq.register_job_type('app.steps', 'step', handler => 'step', claim => 'lock',
		max_retries => 1, retry_base => '1 s');
	SELECT hipq.register_job_type('app.steps', 'recorded', handler => 'step', claim => 'record',
		max_retries => 1, retry_base => '1 s')});

# ---- the servers' logs
# Returns the first start of each job of each tenant, as [time, number] in the order of time.
sub starts
{
	my %first;
	foreach my $node ($shards->nodes)
	{
		foreach (grep { /LOG:  start / } split /\n/, slurp_file($node->node->logfile))
		{
			my ($tenant, $number, $time) = /LOG:  start (\S+) (\d+) ([\d.]+) \d+/ or next;
			my $known = $first{$tenant}{$number};
			$first{$tenant}{$number} = $time if !defined $known || $time < $known;
		}
	}
	my %starts;
	foreach my $tenant (keys %first)
	{
		my $of = $first{$tenant};
		$starts{$tenant} = [ map { [ $of->{$_}, $_ ] } sort { $of->{$a} <=> $of->{$b} } keys %$of ];
	}
	return \%starts;
}
sub numbers { my ($tenant) = @_; return join ' ', map { $_->[1] } @{ starts()->{$tenant} // [] }; }
sub started
{
	my ($tenant, $numbers, $what) = @_;
	return is(wait_for(sub { numbers($tenant) }, $numbers), $numbers, $what);
}

sub wait_for
{
	my ($ask, $wanted) = @_;
	my $end = time + $PostgreSQL::Test::Utils::timeout_default;
	my $got = $ask->();
	while ($got ne $wanted && time < $end) { usleep(50_000); $got = $ask->(); }
	return $got;
}

# Returns the jobs that are out of order: a job with a greater number has started before. %excused
# has the exceptions, as "tenant number".
sub out_of_order
{
	my ($tenants, %excused) = @_;
	my $starts = starts();
	my @found;
	foreach my $tenant (@$tenants)
	{
		my $greatest = 0;
		foreach my $start (@{ $starts->{$tenant} // [] })
		{
			push @found, "$tenant $start->[1] after $greatest"
				if $start->[1] < $greatest && !$excused{"$tenant $start->[1]"};
			$greatest = $start->[1] if $start->[1] > $greatest;
		}
	}
	return @found;
}

sub enqueue
{
	my ($tenant, $number, $more) = @_;
	return sprintf q{SELECT hipq.enqueue('step', '{"tenant": "%s", "number": %d%s}',
		queue => 'app.steps')}, $tenant, $number, $more // '';
}
sub slot_of { my ($tenant) = @_; return $router->sql("SELECT hipq.slot_of('$tenant')"); }
sub move
{
	my ($tenant, $node) = @_;
	return $router->sql(sprintf "SELECT hipq.move_slots('app', '{%d}', %d)",
		slot_of($tenant), $node);
}
sub settled { my ($how) = @_; return ok($shards->settled, "$how: the move ends"); }

# Returns a tenant that no test has used, and whose jobs are on the node.
my $used = 0;
sub new_tenant
{
	my ($node) = @_;
	my $tenant = $router->sql("SELECT 'n' || min(n) FROM generate_series($used + 1, 100000) AS n,
		hipq.shard_map WHERE nodes[hipq.slot_of('n' || n) + 1] = $node");
	($used) = $tenant =~ /(\d+)/;
	return $tenant;
}

# ---- by key: a later job overtakes a job of a transaction that began before the move
my $session = $router->session;
my $tenant = new_tenant(1);
$session->query_safe('BEGIN; ' . enqueue($tenant, 1));
move($tenant, 2);
$router->sql(enqueue($tenant, 2));
started($tenant, '2', 'by key: a job starts while an older one is not committed');
$session->query_safe('COMMIT');
started($tenant, '2 1', 'by key: the older job starts after the later job');
is(join(' ', out_of_order([$tenant])), "$tenant 1 after 2",
	'the check finds a job that is out of order');
settled('by key');
is($router->sql(q{SELECT count(*) FROM hipq.shard_outbox WHERE kind = 'last'}), 0,
	'by key: the router sends no letter of kind last');

# ---- strict: the later job waits
$router->sql(q{SELECT hipq.alter_queue('app.steps', move_order => 'strict')});
$tenant = new_tenant(1);
$session->query_safe('BEGIN; ' . enqueue($tenant, 1));
move($tenant, 2);
my $held = $router->sql(enqueue($tenant, 2));
my $new = $shards->node(2);
ok($new->wait_until(q{SELECT busy_keys ->> 0 FROM hipq.shard_coming},
		'{"queue": "steps", "awaits": "last"}'),
	'strict: the new node awaits the letter of kind last');
ok($new->wait_until('SELECT count(*) FROM hipq.shard_held_job', 1),
	'strict: the new node holds the later job');
like($new->sql("SELECT hipq.why($held)::text"),
	qr/keeps the order while slots move .*waits for transactions that are open on the router/,
	'strict: why() on the new node says what the later job waits for');
like($router->sql("SELECT hipq.why($held)::text"),
	qr/waits for transactions that are open on the router/,
	'strict: why() on the router says what the later job waits for');
like($router->error_of("SELECT hipq.cancel($held)"),
	qr/55P03: job $held is held .*open on the router/s,
	'strict: cancel() says what the later job waits for');
is($router->sql('SELECT string_agg(wait_for, $$|$$ ORDER BY shard) FROM hipq.shards'),
	'transactions|transactions', 'strict: view shards shows what both nodes wait for');
is($router->sql(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'move of slots'}), 0,
	'strict: a short wait causes no alert');
$router->set('hipq.alert_held_snapshot' => 0);
my $pid = $session->query_safe('SELECT pg_backend_pid()');
ok($router->wait_until(qq{SELECT detail
		~ '^1 slot.s. of instance "app" that move in strict order wait for process $pid \\('
		FROM hipq.alerts_detail WHERE alert = 'move of slots'}, 't'),
	'strict: an alert names the process when the wait is long');
$session->query_safe('COMMIT');
started($tenant, '1 2', 'strict: the older job starts first');
settled('strict');
is($router->sql('SELECT count(wait_for) FROM hipq.shards'), 0,
	'strict: view shards has no wait after the move');
is($router->sql(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'move of slots'}), 0,
	'strict: the alert ends after the move');
ok($new->wait_until('SELECT count(*) FROM hipq.shard_coming', 0),
	'strict: the move is finished on the new node');

# ---- other jobs wait until the job that runs on the old node has ended, also if it fails
$tenant = new_tenant(1);
my $other = new_tenant(2);
my $lock = $shards->node(1)->hold_lock(1);
$router->sql(enqueue($tenant, 1, ', "waits": 1, "fails": 1'));
started($tenant, '1', 'a job runs on the old node');
$router->sql(enqueue($tenant, $_)) foreach 2 .. 4;
move($tenant, 2);
$held = $router->sql(enqueue($tenant, 5));
$router->sql(enqueue($other, 1));
started($other, '1', 'jobs of other slots start on the new node');
$router->sql(qq{SELECT hipq.enqueue('run', '{"tenant": "$tenant"}', queue => 'app.mail')});
ok($new->wait_until("SELECT count(*) FROM ran WHERE tenant = '$tenant'", 1),
	'jobs of the slot in a queue that only keeps the order of keys run');
ok($new->wait_until('SELECT count(*) FROM hipq.shard_held_job', 4),
	'waiting and new jobs of the slot are held on the new node');
ok($router->wait_until('SELECT max(wait_for) FROM hipq.shards', 'running jobs'),
	'view shards shows that the move waits for running jobs');
ok($new->wait_until("SELECT bool_or(explanation
		~ 'waits for jobs of its slot that still run at the node before') FROM hipq.why($held)"),
	'why() says that the held job waits for running jobs');
is(numbers($tenant), '1', 'no other job of the slot starts while the first runs');
$lock->quit;
started($tenant, '1 2 3 4 5', 'the held jobs start in order when the running job has ended');
settled('a running job');
ok($new->wait_until(q{SELECT count(*) FROM hipq.jobs_detail WHERE outcome = 'succeeded'
		AND attempt = 2}, 1), 'the failed job is retried on the new node');

# ---- a move to the router: later jobs wait behind the job of an open transaction
$tenant = new_tenant(1);
$lock = $shards->node(1)->hold_lock(1);
$router->sql(enqueue($tenant, 1, ', "waits": 1'));
started($tenant, '1', 'a job runs before the move to the router');
move($tenant, 0);
ok($router->wait_until('SELECT last_sent FROM hipq.shard_move', 't'),
	'no process of the router has the old map');
$session->query_safe('BEGIN; ' . enqueue($tenant, 2));
$lock->quit;
ok($router->wait_until('SELECT count(*) FROM hipq.shard_move', 0), 'to the router: the move ends');
is($router->sql('SELECT busy_keys FROM hipq.shard_coming'), '[]',
	'to the router: all jobs of the old node have come, and the transaction is open');
my $points = HipqPoints->new($router);
$points->arm('after-read-catalogue', 'wait');
ok($points->wait_held('after-read-catalogue'),
	'to the router: the scheduler, which takes held jobs into the queue, is stopped');
$session->query_safe('COMMIT');
$router->sql(enqueue($tenant, $_)) foreach 3 .. 9;
is($router->sql('SELECT count(*) FROM hipq.shard_held_job'), 8,
	'to the router: the job of the transaction and all later jobs are held');
$points->reset;
started($tenant, '1 2 3 4 5 6 7 8 9',
	'to the router: the later jobs start after the job of the transaction');
ok($router->wait_until('SELECT count(*) FROM hipq.shard_coming', 0),
	'to the router: the move is finished on the router');
move($tenant, 1);
settled('back to shard 1');
$session->query_safe('BEGIN; ' . enqueue($tenant, 10) . '; COMMIT');
started($tenant, '1 2 3 4 5 6 7 8 9 10', 'back to shard 1: a new job starts there');

# ---- jobs that are enqueued on the node that has the slot
$tenant = new_tenant(1);
$lock = $shards->node(1)->hold_lock(1);
$shards->node(1)->sql(enqueue($tenant, 1, ', "waits": 1'));
started($tenant, '1', 'a job that was enqueued on the shard runs');
$shards->node(1)->sql(enqueue($tenant, $_)) foreach 2 .. 4;
move($tenant, 2);
ok($new->wait_until('SELECT count(*) FROM hipq.shard_held_job', 3),
	'jobs behind the running job are held on the new node');
$new->sql(enqueue($tenant, $_)) foreach 5 .. 6;
$lock->quit;
settled('jobs of a shard');
$new->sql(enqueue($tenant, $_)) foreach 7 .. 8;
started($tenant, '1 2 3 4 5 6 7 8',
	'jobs enqueued on the old node start before jobs enqueued on the new node');
$session->quit;

# ---- a long backlog moves in several transactions, while an executor of the old node could run it
$tenant = new_tenant(1);
$router->sql(qq{SELECT count(*) FROM unnest(hipq.enqueue_many('step', ARRAY(
	SELECT jsonb_build_object('tenant', '$tenant', 'number', n) FROM generate_series(1, 3000) AS n),
		queue => 'app.steps'))});
ok($shards->node(1)->wait_until("SELECT count(*) > 20 FROM ran WHERE tenant = '$tenant'"),
	'an executor works on a backlog');
move($tenant, 2);
settled('a backlog');
my $here = $shards->node(1)->sql("SELECT count(*) FROM ran WHERE tenant = '$tenant'");
cmp_ok($here, '<', 3000, 'some of the backlog has moved');
ok($new->wait_until("SELECT count(*) FROM ran WHERE tenant = '$tenant'", 3000 - $here),
	'the moved backlog runs on the new node');
is(scalar(out_of_order([$tenant])), 0, 'the backlog runs in order');

# ---- under load: producers on all nodes, slots that move between all nodes, servers that are
# killed
# Each producer of the router has tenants of its own, and enqueues in one transaction after the
# other. Some of these transactions are long. Numbers come from the ledger, so that a lost
# transaction leaves no gap.
$_->sql('CREATE TABLE ledger (id bigint PRIMARY KEY, tenant text, number integer);
	CREATE INDEX ON ledger (tenant, number)') foreach $shards->nodes;
my $load = q{WITH next AS (
		SELECT tenant, coalesce((SELECT max(number) FROM ledger
			WHERE ledger.tenant = tenants.tenant), 0) + n AS number
		FROM unnest('{%s}'::text[]) AS tenants (tenant), generate_series(1, 4) AS n),
	made AS MATERIALIZED (
		SELECT hipq.enqueue('%s', jsonb_build_object('tenant', tenant, 'number', number),
			queue => 'app.steps') AS id, tenant, number
		FROM (SELECT tenant, number FROM next ORDER BY tenant, number) AS sorted),
	noted AS (INSERT INTO ledger SELECT id, tenant, number FROM made)
	SELECT pg_sleep(%s) FROM (SELECT count(*) FROM made) AS all_made};
$router->sql(sprintf q{SELECT hipq.alter_queue('app.steps', move_order => '%s')},
	$ENV{MOVE_ORDER} || 'strict');
my @tenants = map { "r$_" } 1 .. 6;
my @of_shards = ('s1', 's2');
my $slots = join ',', map { slot_of($_) } @tenants, @of_shards;
my $stop = $router->node->data_dir . '/stop';
my @loads;
foreach my $producer (
	[ $router, 'r1,r2', 'step', '0' ],
	[ $router, 'r3,r4', 'recorded', '0.05' ],
	[ $router, 'r5,r6', 'step', '0.4 * random()' ],
	[ $shards->node(1), 's1', 'step', '0' ],
	[ $shards->node(2), 's2', 'recorded', '0' ])
{
	my ($node, $names, $type, $pause) = @$producer;
	my $pid = fork // die $!;
	push @loads, $pid and next if $pid;
	HipqCluster::end_by_signals();
	until (-e $stop) { $node->try_sql(sprintf $load, $names, $type, $pause); usleep(100_000) }
	require POSIX;
	POSIX::_exit(0);
}
my @faults = (([ 'kill postmaster', 1 ], [ 'kill backend', 0 ], [ 'kill postmaster', 0 ],
		[ 'kill backend', 2 ], [ 'kill postmaster', 2 ], [ 'stop immediate', 0 ],
		[ 'stop fast', 1 ], [ 'kill scheduler', 2 ]) x (1 + $count / 8));
my $moved = 0;
foreach my $cycle (1 .. $count)
{
	my ($fault, $number) = @{ $faults[ $cycle - 1 ] };
	my $before = $router->sql('SELECT count(*) FROM ledger');
	$router->wait_until("SELECT count(*) > $before + 60 FROM ledger", 't')
		or die 'the load stands still';
	$moved += $shards->on_router(sprintf "SELECT hipq.move_slots('app', '{%s}', %d)",
		$slots, int rand 3);
	usleep(rand 600_000);
	my $what = HipqFaults::inject($shards->node($number), $fault);
	HipqFaults::bring_back($shards->node($number), $fault) or die 'the server does not come back';
	note sprintf '%3d %-16s node %d, %s; %d slots have moved', $cycle, $fault, $number,
		$what // 'no process found', $moved;
}
foreach my $node (1, 2, 0, 1)    # moves without a fault
{
	$shards->settled;
	$moved += $shards->on_router("SELECT hipq.move_slots('app', '{$slots}', $node)");
}
append_to_file($stop, '');
waitpid $_, 0 foreach @loads;
cmp_ok($moved, '>', 8, 'slots have moved under load');
settled('after the load');

# ---- the ledger
my %enqueued = map { map { /(\d+) (\S+) (\d+)/ ? ($1 => "$2 $3") : () } split /\n/,
	$_->sql(q{SELECT id || ' ' || tenant || ' ' || number FROM ledger}) } $shards->nodes;
my %ran;
wait_for(sub {
	%ran = ();
	$ran{$_}++ foreach map { split /\n/,
		$_->sql(q{SELECT id FROM ran WHERE tenant ~ '^[rs]'}) } $shards->nodes;
	return (grep { !$ran{$_} } keys %enqueued) ? 'not all' : 'all';
}, 'all');
note scalar(keys %enqueued), ' jobs, ', scalar(keys %ran), ' ran';
is(join(' ', grep { !$ran{$_} } keys %enqueued), '', 'no job is lost');
is(join(' ', grep { $ran{$_} > 1 } keys %ran), '', 'no job has run twice');
is(join(' ', grep { !$enqueued{$_} } keys %ran), '', 'only enqueued jobs have run');
# A server can be killed after it has claimed a job, and before the handler has written anything.
my %again = map { $enqueued{$_} ? ($enqueued{$_} => 1) : () } map { split /\n/, $_->sql(q{SELECT id
		FROM hipq.jobs_detail WHERE queue = 'app.steps' AND attempt > 1}) } $shards->nodes;
cmp_ok(keys %again, '<=', $count, 'at most one job per fault has a second attempt');
is(join(', ', out_of_order(\@tenants, %again)), '',
	'jobs of each tenant start in order under load');
is($_->sql('SELECT count(*) FROM hipq.shard_held_job'), 0, 'no job is held') foreach $shards->nodes;
is($_->sql('SELECT count(*) FROM hipq.shard_leaving'), 0, 'no slot is leaving')
	foreach $shards->nodes;
ok($_->wait_until('SELECT count(*) FROM hipq.shard_coming', 0), 'no slot is coming')
	foreach $shards->nodes;
unlike(slurp_file($_->node->logfile), qr/PANIC:|TRAP:|reference leak|signal 11/,
	'the log has nothing alarming') foreach $shards->nodes;

done_testing();
