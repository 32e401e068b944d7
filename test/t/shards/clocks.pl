# Jobs go to their shards, move and run once on servers whose clocks differ by 5 s. Each server runs
# a job when the job is due by its own clock.
use strict;
use warnings;
use HipqDoctor;
use HipqShards;
use Test::More;

my $shards = HipqShards->new('clocks', 2);
my ($router, $late, $early) = $shards->nodes;
$late->set('hipq.clock_offset' => -5);
$early->set('hipq.clock_offset' => 5);

is_found($router, 'warning', 'clocks differ', 'shard 1 of instance "app"',
	qr/^Its clock is 5 s behind that of this server/);
is_found($router, 'warning', 'clocks differ', 'shard 2 of instance "app"',
	qr/^Its clock is 5 s ahead of that of this server/);
my ($tenant_of_late, $tenant_of_early) = map { $shards->tenant_of($_) } 1, 2;

# ---- jobs that are due at once, and scheduled jobs
$router->sql(qq{SELECT hipq.enqueue('run', jsonb_build_object('tenant', tenant))
	FROM unnest('{$tenant_of_late, $tenant_of_early}'::text[]) AS tenant, generate_series(1, 50)});
ok($shards->wait_for_runs(100), 'jobs of both shards run');
my $hour = "scheduled_run_time => now() + interval '1 hour'";
my ($waits, $runs) = map { $router->sql("SELECT hipq.enqueue('run', '{\"tenant\": \"$_\"}',
		$hour)") } $tenant_of_late, $tenant_of_early;
ok($late->wait_until("SELECT count(*) FROM hipq.jobs WHERE id = $waits", 1),
	'a scheduled job is on its shard');
$late->set('hipq.clock_offset' => 1800);
$early->set('hipq.clock_offset' => 3605);
ok($early->wait_until("SELECT outcome FROM hipq.jobs WHERE id = $runs", 'succeeded'),
	'a scheduled job runs when it is due by the clock of its shard');
is($late->sql("SELECT outcome FROM hipq.jobs WHERE id = $waits"), 'waiting',
	'a scheduled job does not run before it is due by the clock of its shard');

# ---- a slot moves from the clock ahead to the clock behind
$late->set('hipq.clock_offset' => -5);
$early->set('hipq.clock_offset' => 5);
$router->sql(qq{SELECT hipq.enqueue('run', '{"tenant": "$tenant_of_early"}', $hour)});
my $slot = $router->sql("SELECT hipq.slot_of('$tenant_of_early')");
$router->sql("SELECT hipq.move_slots('app', '{$slot}', 1)");
ok($shards->settled, 'the move from the clock ahead to the clock behind ends');
is($late->sql(q{SELECT count(*) FROM hipq.jobs WHERE outcome = 'waiting'}), 2,
	'the waiting job moves with its slot');
$late->sql(q{SELECT hipq.reschedule(id, now()) FROM hipq.jobs WHERE outcome = 'waiting'});
ok($shards->wait_for_runs(103), 'the moved job runs');
is(join(' ', map { $_->sql('SELECT count(*) - count(DISTINCT id) FROM ran') } $shards->nodes),
	'0 0 0', 'no job has run twice');

done_testing();
