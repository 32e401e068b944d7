# A router and shards of different versions of PostgreSQL work together. The test needs the older
# servers that tools/older-servers installs.
use strict;
use warnings;
use HipqShards;
use Test::More;

my %path = map { $_ => "/usr/lib/postgresql/$_" } 15, 17, 18;
plan skip_all => 'on PostgreSQL 19' if ($ENV{PGVERSION} // '') ne '19';
foreach my $version (sort keys %path)
{
	plan skip_all => "needs PostgreSQL $version with hipq: tools/older-servers"
		unless -e "$path{$version}/lib/hipq.so";
}

foreach my $versions ([ 15, 17, 19 ], [ 19, 15, 18 ])
{
	my $shards = HipqShards->new("router$versions->[0]", 2,
		install_paths => [ map { $path{$_} } @$versions ]);
	my $router = $shards->router;
	is(join(' ', map { $_->version } $shards->nodes), "@$versions",
		"router and shards are of @$versions");
	$router->sql(q{SELECT hipq.enqueue_many('run', array_agg(jsonb_build_object('tenant', n)))
		FROM generate_series(1, 300) AS n});
	$shards->node($_)->sql(qq{SELECT hipq.enqueue('run', jsonb_build_object('tenant', n),
		job_key => n::text) FROM generate_series(1, 50) AS n WHERE n % 2 = $_ % 2}) foreach 1, 2;
	ok($shards->wait_for_runs(350), "@$versions: jobs from each server run");
	$router->sql(q{SELECT hipq.enqueue('run', jsonb_build_object('tenant', n),
		scheduled_run_time => now() + interval '1 hour') FROM generate_series(1, 200) AS n});
	$router->sql(q{SELECT hipq.drain_shard('app', 1)});
	ok($router->wait_until(q{SELECT slots + coming + leaving FROM hipq.shards WHERE shard = 1}, 0),
		"@$versions: a shard is drained");
	ok($shards->settled, "@$versions: the slots are settled");
	is($shards->node(2)->sql(q{SELECT count(*) FROM hipq.jobs WHERE outcome = 'waiting'}), 200,
		"@$versions: the jobs of the drained shard move to the other shard");
	$_->set('hipq.clock_offset' => 3600) foreach $shards->nodes;
	ok($shards->wait_for_runs(550), "@$versions: the moved jobs run");
	is($router->sql(q{SELECT count(*) FROM hipq.shard_rejects}), 0,
		"@$versions: no job is refused");
	$router->sql(q{CALL hipq.drop_shard('app', 1)});
	is($router->sql(q{SELECT string_agg(shard::text, ' ') FROM hipq.shards}), '2',
		"@$versions: the drained shard is dropped");
}

done_testing();
