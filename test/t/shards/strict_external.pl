# External workers accept the jobs of a slot in the order of enqueueing if the queue has strict
# order, also while the slot moves.
#
#   MOVE_ORDER      order of the queue (strict); with key the check finds jobs that are out of order
use strict;
use warnings;
use HipqShards;
use PostgreSQL::Test::Utils;
use POSIX qw(_exit);
use Test::More;
use Time::HiRes qw(usleep);

my $shards = HipqShards->new('strict_external', 2, 'hipq.heartbeat_timeout' => '1d',
	autovacuum_naptime => '2s');
my $router = $shards->router;
my $order = $ENV{MOVE_ORDER} || 'strict';
$router->sql(qq{SELECT hipq.create_queue('app.out', owner => 'app',
	shard_key => \$\$job_data->>'tenant'\$\$, move_order => '$order');
	SELECT hipq.register_job_type('app.out', 'send', handler_kind => 'notify')});
foreach my $node ($shards->nodes)
{
	$node->wait_until(q{SELECT count(*) FROM hipq.job_type WHERE name = 'send'}, 1)
		or die 'the job type does not come';
}

# ---- a worker on each node, which has one job at a time
my $stop = $router->node->data_dir . '/stop_';
sub until_stopped
{
	my ($what, $step) = @_;
	my $pid = fork // die $!;
	return $pid if $pid;
	HipqCluster::end_by_signals();
	until (-e "$stop$what") { $step->() }
	_exit(0);
}
sub stop
{
	my ($what, @pids) = @_;
	append_to_file("$stop$what", '');
	waitpid $_, 0 foreach @pids;
	return;
}
sub worker
{
	my ($node) = @_;
	my $worker = $node->sql_as('app', q{SELECT hipq.register_worker('one', '{app.out}', '{send}')});
	my $session;
	return until_stopped(workers => sub {
		$session //= $node->session(role => 'app');
		my $job = $session->query_safe(
			"SELECT id || ', ' || attempt FROM hipq.claim($worker, wait => '100 ms')");
		$session->query_safe("SELECT hipq.complete($job)") if $job ne '';
	});
}
my @workers = map { worker($_) } $shards->nodes;

# ---- two tenants enqueue in one transaction after the other; those of tenant long take longer
my @tenants = ('brief', 'long');
my $slots = join ',', map { $router->sql("SELECT hipq.slot_of('$_')") } @tenants;
sub producer
{
	my ($tenant, $pause) = @_;
	my $number = 0;
	return until_stopped(producers => sub {
		$shards->on_router(sprintf q{BEGIN; SELECT hipq.enqueue('send', jsonb_build_object('tenant',
			'%s', 'number', n), queue => 'app.out') FROM generate_series(%d, %d) AS n;
			SELECT pg_sleep(%s); COMMIT},
			$tenant, $number + 1, $number + 2, $pause);
		$number += 2;
	});
}
my @producers = (producer('brief', 0), producer('long', '0.3 * random()'));

# ---- slots move repeatedly
sub ended
{
	my $sum = 0;
	$sum += $_->sql(q{SELECT count(*) FROM hipq.jobs WHERE queue = 'app.out'
		AND outcome = 'succeeded'}) foreach $shards->nodes;
	return $sum;
}
sub more_ended
{
	my ($more) = @_;
	my $wanted = ended() + $more;
	my $end = time + $PostgreSQL::Test::Utils::timeout_default;
	usleep(50_000) while ended() < $wanted && time < $end;
	return ended() >= $wanted;
}
my $moved = 0;
foreach my $node (1, 2, 1, 2, 0, 1, 2, 0, 2)
{
	more_ended(6) or die 'jobs stand still';
	$moved += $shards->on_router("SELECT hipq.move_slots('app', '{$slots}', $node)");
}
cmp_ok($moved, '>', 6, 'slots have moved repeatedly');
ok(more_ended(6), 'jobs end after the moves');

# ---- all jobs end, in order
sub unfinished
{
	return join ' ', map { $_->sql(q{SELECT count(*) FROM hipq.jobs_detail
			WHERE queue = 'app.out' AND state <> 'final'}) . ' '
		. $_->sql('SELECT count(*) FROM hipq.shard_held_job') } $shards->nodes;
}
stop(producers => @producers);
ok($shards->settled, 'all moves end');
my $end = time + $PostgreSQL::Test::Utils::timeout_default;
usleep(100_000) while unfinished() ne '0 0 0 0 0 0' && time < $end;
is(unfinished(), '0 0 0 0 0 0', 'all jobs end');
stop(workers => @workers);

foreach my $tenant (@tenants)
{
	my @starts = sort { $a->[0] <=> $b->[0] } map { [ split / / ] } map { split /\n/ } map {
		$_->sql("SELECT extract(epoch FROM accepted_time) || ' ' || (job_data->>'number')
			FROM hipq.jobs_detail WHERE queue = 'app.out' AND job_data->>'tenant' = '$tenant'")
	} $shards->nodes;
	my $numbers = join ' ', map { $_->[1] } @starts;
	cmp_ok(scalar @starts, '>', 20, "more than twenty jobs of tenant $tenant have run");
	is($numbers, join(' ', 1 .. @starts), "jobs of tenant $tenant run in order, each once");
}

done_testing();
