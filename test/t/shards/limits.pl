# A throttle_limit that all nodes share is never exceeded, also while servers crash and slots move.
# Most of the limit is used.
#
#   SHARD_STARTS    jobs in the part with faults (1500)
#   SHARD_COUNT     shards (2)
use strict;
use warnings;
use HipqFaults;
use HipqLimits;
use HipqShards;
use Test::More;
use Time::HiRes qw(time usleep);

my $part = int(($ENV{SHARD_STARTS} || 1500) / 30);
my $starts = 30 * $part;
my $count = $ENV{SHARD_COUNT} || 2;
my $long = $starts > 1500;
my $limit = 6;

my $shards = HipqShards->new('limits', $count, 'hipq.max_executors' => 8,
	'hipq.executor_idle_timeout' => '1h', 'autovacuum_naptime' => '2s');
my $router = $shards->router;
my %killed;    # node number => when it was down
$_->sql($HipqLimits::handler) foreach $shards->nodes;
my $create = q{SELECT hipq.create_queue('app.capped', owner => 'app', throttle_limit => 6,
	throttle_mode => 'shared', shard_key => $$job_data->>'tenant'$$)};
$router->sql($create);
$router->sql(q{SELECT hipq.register_job_type('app.capped', 'pause', handler => 'pause_for')});
ok($shards->settled, 'the slots are settled');

sub tenants_of
{
	my ($node) = @_;
	return $router->sql(qq{SELECT string_agg('t' || n, ',') FROM generate_series(1, 400) AS n,
		hipq.shard_map WHERE nodes[hipq.slot_of('t' || n) + 1] = $node});
}
my $enqueued = 0;
sub waiting
{
	my $sum = $enqueued;
	$sum -= $_->sql(q{SELECT count(*) FROM hipq.jobs_detail WHERE queue = 'app.capped'
		AND state = 'final'}) foreach $shards->nodes;
	return $sum;
}
# Returns SQL that enqueues jobs of some tenants.
sub enqueuing
{
	my ($jobs, $ms, $tenants, $more) = @_;
	$more //= '';
	$enqueued += $jobs;
	return qq{SELECT count(*) FROM unnest(hipq.enqueue_many('pause', ARRAY(
		SELECT jsonb_build_object('ms', $ms, 'tenant', tenants[1 + n % cardinality(tenants)])
		FROM generate_series(1, $jobs) AS n, string_to_array('$tenants', ',') AS tenants),
			queue => 'app.capped'$more));};
}
sub enqueue { return $router->sql(enqueuing(@_)); }
sub wait_for_end
{
	my ($how, $seconds, $others) = @_;
	my $end = time + ($seconds // $PostgreSQL::Test::Utils::timeout_default);
	my $left = -1;
	usleep(100_000) while time < $end && ($left = waiting() - ($others // 0));
	is($left, 0, "$how: all jobs end");
	return;
}
sub runs
{
	my ($type) = @_;
	return grep { $_->[3] eq $type } map { HipqLimits::runs_of($shards->node($_),
			$killed{$_} // []) } 0 .. $count;
}
# Returns the number of jobs that run in the median second. Seconds in which the machine did
# something else do not count.
sub used_mostly
{
	my ($first, $last, @runs) = @_;
	my @used = sort { $a <=> $b } map { (HipqLimits::sweep($first + $_, $first + $_ + 1,
			@runs))[1] } 0 .. $last - $first - 1;
	return $used[$#used / 2];
}

# ---- all work on one shard: its share is the whole limit
my $tenants = tenants_of(1);
my $begin = time;
enqueue(600, 50, $tenants);
wait_for_end('on one shard');
my @runs = runs('pause');
my ($first) = sort { $a <=> $b } map { $_->[0] } @runs;
my ($last) = sort { $b <=> $a } map { $_->[0] } @runs;
my ($most, $used) = HipqLimits::sweep($first, $last, @runs);
note sprintf 'on one shard: at most %g of %d at once, %.0f %% used, first start after %.0f ms',
	$most, $limit, 100 * $used / $limit, 1000 * ($first - $begin);
is(scalar(@runs), 600, 'on one shard: each job has run once');
cmp_ok($most, '<=', $limit, 'on one shard: the limit holds');
cmp_ok(used_mostly($first, $last, @runs), '>', 0.6 * $limit,
	'on one shard: more than half of the limit is used');
ok($shards->node(1)->wait_until(q{SELECT share FROM hipq.permit_share WHERE job_type = ''}, 0),
	'on one shard: the shard returns its share when it has no jobs');

# ---- on all shards
$begin = time;
enqueue(900, 50, join ',', map { tenants_of($_) } 1 .. $count);
ok($shards->node(1)->wait_until(q{SELECT share > 0 FROM hipq.permit_share WHERE job_type = ''}),
	'on all shards: shard 1 has a share');
ok($shards->node(2)->wait_until(q{SELECT share > 0 FROM hipq.permit_share WHERE job_type = ''}),
	'on all shards: shard 2 has a share');
ok($shards->node(1)->wait_until(q{
	SELECT bool_or(explanation ~
		'This server''s share of the queue''s throttle_limit is [1-6] of 6 now, '
		'and [1-6] is used by')
	FROM (SELECT max(id) AS id FROM hipq.jobs_detail WHERE queue = 'app.capped' AND
		state = 'initial') AS job, hipq.why(job.id)}), 'on all shards: why() shows the share');
wait_for_end('on all shards');
@runs = grep { $_->[0] >= $begin } runs('pause');
($first) = sort { $a <=> $b } map { $_->[0] } @runs;
($last) = sort { $b <=> $a } map { $_->[0] } @runs;
($most, $used) = HipqLimits::sweep($first, $last, @runs);
my $letters = 0;
$letters += $_->sql("SELECT count(*) FROM hipq.shard_outbox WHERE kind LIKE 'permit%'
	AND sent_time BETWEEN to_timestamp($first) AND to_timestamp($last)") foreach $shards->nodes;
note sprintf 'on all shards: at most %g of %d at once, %.0f %% used, %.0f letters/s', $most, $limit,
	100 * $used / $limit, $letters / ($last - $first);
cmp_ok($most, '<=', $limit, 'on all shards: the limit holds');
cmp_ok(used_mostly($first, $last, @runs), '>', 0.6 * $limit,
	'on all shards: most of the limit is used');

# ---- a job type, and throttle keys
$router->sql(q{SELECT hipq.alter_queue('app.capped', throttle_limit => 0)});
$router->sql(q{SELECT hipq.register_job_type('app.capped', 'few', handler => 'pause_for',
	throttle_limit => 2)});
$router->sql(q{SELECT hipq.register_job_type('app.capped', 'keyed', handler => 'pause_for',
	throttle_limit_per_key => 2)});
my $all = join ',', map { tenants_of($_) } 1 .. $count;
my $enqueue = "SELECT count(*) FROM generate_series(1, %d) AS key,
	LATERAL unnest(hipq.enqueue_many('%s', ARRAY(
	SELECT jsonb_build_object('ms', 30, 'tenant', tenants[1 + n %% cardinality(tenants)])
	FROM generate_series(1, %d) AS n, string_to_array('$all', ',') AS tenants),
		queue => 'app.capped'%s));";
$router->sql(sprintf($enqueue, 1, 'few', 60, '') . sprintf $enqueue, 3, 'keyed', 120,
	", throttle_key => 'key ' || key");
$enqueued += 420;
ok($shards->node(1)->wait_until(q{SELECT count(*) > 1 FROM hipq.permit_share
		WHERE throttle_key <> 0}), 'throttle keys have shares');
wait_for_end('type and keys');
($most) = HipqLimits::sweep(0, time, runs('few'));
is($most, 2, 'the limit of the type is used and holds');
is($router->sql(q{SELECT count(*) FROM hipq.jobs_detail WHERE state <> 'final'}), 0,
	'no job is left on the router');
foreach my $number (1 .. 3)
{
	my %of_key = map { $_ => 1 } map { split /\n/, $_->sql("SELECT id FROM hipq.jobs_detail
			WHERE throttle_key = 'key $number'") } $shards->nodes;
	my @of_key = grep { $of_key{ $_->[4] } } runs('keyed');
	is(scalar(@of_key), 120, "each job of key $number has run once");
	is((HipqLimits::sweep(0, time, @of_key))[0], 2, "key $number: the limit is used and holds");
}
ok($_->wait_until('SELECT count(*) FROM hipq.permit_share WHERE throttle_key <> 0', 0),
	'a shard removes the shares of throttle keys') foreach $shards->nodes;
ok($router->wait_until('SELECT count(*) FROM hipq.permit_authority WHERE throttle_key <> 0', 0),
	'the router removes the shares of throttle keys');

# ---- a lowered limit, and a job that is heavier than the limit
$router->sql(q{SELECT hipq.alter_queue('app.capped', throttle_limit => 6)});
$begin = time;
enqueue(3000, 40, $all);
ok($router->wait_until(q{SELECT coalesce(sum(share), 0) > 4000 FROM hipq.permit_record
		WHERE throttle_key = 0 AND job_type = ''}), 'a limit that is set again is used');
$router->sql(q{SELECT hipq.alter_queue('app.capped', throttle_limit => 3)});
ok($router->wait_until(q{SELECT sum(share) <= 3000 FROM hipq.permit_record WHERE throttle_key = 0
		AND job_type = ''}), 'shares follow a lowered limit');
my $lowered = time;
my $left = waiting() - 60;
my $wait_end = time + $PostgreSQL::Test::Utils::timeout_default;
usleep(50_000) while waiting() > $left && time < $wait_end;
cmp_ok(waiting(), '<=', $left, 'sixty more jobs run with the lowered limit');
enqueue(1, 100, $tenants, ', throttle_factor => 5, priority => -1');
ok($shards->node(1)->wait_until(q{SELECT count(*) FROM hipq.jobs_detail
		WHERE queue = 'app.capped' AND throttle_factor = 5 AND outcome = 'succeeded'}, 1),
	'a job that is heavier than the limit runs');
$_->sql(q{SELECT hipq.cancel_jobs('app.capped', 'pause')}) foreach $shards->nodes;
wait_for_end('lowered');
my %cancelled = map { $_ => 1 } map { split /\n/, $_->sql(q{SELECT id FROM hipq.jobs
		WHERE queue = 'app.capped' AND outcome = 'cancelled'}) } $shards->nodes;
@runs = grep { $_->[0] >= $begin && !$cancelled{ $_->[4] } } runs('pause');
my ($heavy) = grep { $_->[2] == 5 } @runs;
my @light = grep { $_ != $heavy } @runs;
is((HipqLimits::sweep($lowered, time, @light))[0], 3, 'the lowered limit holds');
is(scalar(grep { $_->[0] < $heavy->[1] && $_->[1] > $heavy->[0] } @light), 0,
	'a job that is heavier than the limit runs alone');
$router->sql(q{SELECT hipq.alter_queue('app.capped', throttle_limit => 6)});

# ---- throttle_mode home: one node keeps the limit, and there are no shares
$router->sql(q{SELECT hipq.alter_queue('app.capped', throttle_mode => 'home')});
$begin = time;
enqueue(600, 20, $all);
wait_for_end('mode home');
my @used = grep { @{ $_->[1] } } map { my $number = $_; [ $number,
		[ grep { $_->[0] >= $begin && $_->[3] eq 'pause' } HipqLimits::runs_of(
		$shards->node($number), $killed{$number} // []) ] ] } 0 .. $count;
is(scalar(@used), 1, 'mode home: one node runs all jobs');
is((HipqLimits::sweep($begin, time, @{ $used[0][1] }))[0], $limit,
	'mode home: the limit is used and holds');
ok($_->wait_until('SELECT coalesce(sum(share), 0) FROM hipq.permit_share', 0),
	'mode home: no node has a share') foreach $shards->nodes;
ok($router->wait_until('SELECT count(*) FROM hipq.shard_limits', 0),
	'mode home: the router has no records of shares');
$router->sql(q{SELECT hipq.alter_queue('app.capped', throttle_mode => 'shared')});

# ---- a new limit: no job starts before all nodes have reported their running jobs
$shards->node(2)->node->stop;
push @{ $killed{2} }, time;
$router->sql(q{SELECT hipq.register_job_type('app.capped', 'late', handler => 'pause_for',
	throttle_limit => 1)});
$router->sql(qq{SELECT hipq.enqueue('late', jsonb_build_object('ms', 10, 'tenant',
	split_part('$tenants', ',', 1)), queue => 'app.capped')});
$enqueued++;
ok($router->wait_until(q{SELECT string_agg(coalesce(share::text, '?'), ' ' ORDER BY node)
		FROM hipq.shard_limits WHERE job_type = 'late' AND node <= 2}, '0 0 ?'),
	'two nodes have reported their running jobs, one is down');
is(scalar(runs('late')), 0, 'no job of a new limit starts before all nodes have reported');
$shards->node(2)->node->start;
wait_for_end('all nodes have reported');
is(scalar(runs('late')), 1, 'a job of a new limit starts when all nodes have reported');

# ---- faults: servers stop and come back, slots move, and some jobs are heavier
$begin = time;
my $ms = $long ? 5 : 30;
$router->sql(join ' ', map { enqueuing(2 * $part, $ms, $all),
		enqueuing($part, $ms, $all, ', throttle_factor => 2') } 1 .. 10);
my ($round, $jobs) = (0, $starts);
while ($round < 3 || (waiting() > $starts / 10 && $round < ($long ? 1000 : 6)))
{
	# On a busy machine a stop takes so long that the jobs end before the third stop.
	if (waiting() <= $starts / 10)
	{
		enqueue(10 * $part, $ms, $all);
		$jobs += 10 * $part;
	}
	my $number = $round++ % ($count + 1);
	my $node = $shards->node($number);
	usleep($long ? 5_000_000 : 700_000);
	$shards->on_router("SELECT hipq.move_slots('app', ARRAY(SELECT (1 + random() * 4094)::integer
		FROM generate_series(1, 300)), 1 + (random() * ($count - 1))::integer)");
	$node->node->stop('immediate');
	push @{ $killed{$number} }, time;
	$node->node->start;
}
wait_for_end('with faults', $long ? 3600 : 120);
@runs = grep { $_->[0] >= $begin } runs('pause');
my %ended;
$ended{ $_->[4] }++ foreach @runs;
is(scalar(keys %ended), $jobs, 'with faults: each job has run');
($most, $used) = HipqLimits::sweep($begin, (sort { $b <=> $a } map { $_->[0] } @runs)[0], @runs);
note sprintf '%d starts with %d stops: at most %g of %d at once, %.0f %% used, %.0f starts/s',
	scalar(@runs), $round, $most, $limit, 100 * $used / $limit, @runs / (time - $begin);
cmp_ok($most, '<=', $limit, 'with faults: the limit holds');

# ---- jobs of external workers count after a crash of their server
$router->sql(q{SELECT hipq.register_job_type('app.capped', 'outside')});
ok($shards->settled, "all moves end before the worker's jobs");
my ($tenant) = split /,/, tenants_of(1);
$router->sql(qq{SELECT hipq.enqueue('outside', '{"tenant": "$tenant"}', queue => 'app.capped')
	FROM generate_series(1, 2)});
$enqueued += 2;
ok($shards->node(1)->wait_until(q{SELECT count(*) FROM hipq.jobs_detail WHERE job_type = 'outside'},
		2), 'shard 1 has two jobs for an external worker');
my $worker = $shards->node(1)->sql_as('app',
	q{SELECT hipq.register_worker('outsider', '{app.capped}', '{outside}', capacity => 2)});
my @claimed;
push @claimed, split /\n/, $shards->node(1)->sql_as('app',
	"SELECT id FROM hipq.claim($worker, max_jobs => 2, wait => '10 s')") while @claimed < 2;
$shards->node(1)->node->stop('immediate');
push @{ $killed{1} }, time;
$shards->node(1)->node->start;
$begin = time;
enqueue(400, 30, $all);
wait_for_end('beside a worker', undef, 2);
($most) = HipqLimits::sweep($begin, time, grep { $_->[0] >= $begin } runs('pause'));
is($most, $limit - 2, 'jobs of an external worker count for the limit after a crash');
$shards->node(1)->sql_as('app', "SELECT hipq.complete($_, 1)") foreach @claimed;
$begin = time;
enqueue(400, 30, $all);
wait_for_end('without the worker');
($most) = HipqLimits::sweep($begin, time, grep { $_->[0] >= $begin } runs('pause'));
is($most, $limit, 'ended jobs of an external worker do not count for the limit');

# ---- a promoted server does not trust the shares in its tables
foreach my $number (1, 0)
{
	my $node = $shards->node($number);
	my $before = $node->sql('SELECT max(epoch) FROM hipq.permit_share');
	$node->node->stop;
	push @{ $killed{$number} }, time;
	$node->node->set_standby_mode;
	$node->node->start;
	$node->node->promote;
	ok($node->wait_until('SELECT NOT pg_is_in_recovery()'), "node $number is promoted");
	$shards->resync($number);
	$begin = time;
	enqueue(400, 30, $all);
	wait_for_end("promoted $number");
	@runs = grep { $_->[0] >= $begin } runs('pause');
	($most) = HipqLimits::sweep($begin, time, @runs);
	is(scalar(@runs), 400, "promoted $number: all jobs run");
	is($most, $limit, "promoted $number: the limit is used and holds");
	cmp_ok($node->sql('SELECT max(epoch) FROM hipq.permit_share'), $number == 0 ? '>' : '==',
		$before,
		$number == 0 ? 'promoted 0: the epoch is new' : 'promoted 1: the epoch is the same');
}

# ---- a shard that is down keeps its share until it is dropped
my ($one, $two) = ($shards->node(1), $shards->node(2));
enqueue(1, 60_000, tenants_of(2));
ok($two->wait_until(q{SELECT count(*) FROM hipq.running WHERE queue = 'app.capped'}, 1),
	'a job runs on shard 2');
$router->sql(q{SELECT hipq.drain_shard('app', 2)});
ok($router->wait_until(q{SELECT count(*) FROM hipq.shard_move}, 0), 'shard 2 is drained');
ok($router->wait_until(q{SELECT sum(share) FROM hipq.permit_record WHERE node = 2 AND throttle_key =
		0 AND job_type = ''}, 1000), 'shard 2 returns the part of its share that it does not need');
$two->node->stop('immediate');
push @{ $killed{2} }, time;
sub most_of
{
	my $ended = q{SELECT count(*) FROM hipq.jobs_detail WHERE queue = 'app.capped'
		AND state = 'final'};
	my $before = $one->sql($ended);
	my $from = time;
	enqueue(600, 20, tenants_of(1));
	$one->wait_until($ended, $before + 600);
	return (HipqLimits::sweep($from, time,
			grep { $_->[3] eq 'pause' } HipqLimits::runs_of($one, $killed{1} // [])))[0];
}
SKIP:
{
	skip 'other shards have shares, too', 3 if $count > 2;
	is(most_of(), 5, 'the share of a shard that is down is not used');
	$router->sql(q{CALL hipq.drop_shard('app', 2, force => true)});
	ok($router->wait_until('SELECT count(*) FROM hipq.permit_record WHERE node = 2', 0),
		'the router removes the share of a dropped shard');
	is(most_of(), 6, 'other shards use the share of a dropped shard');
}

done_testing();
