# Wrong statistics of hipq's tables change only the plans of statements.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('statistics', autovacuum => 'off', 'hipq.max_executors' => 1);
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE FUNCTION run(data jsonb) RETURNS void LANGUAGE sql AS $$
		SELECT pg_advisory_xact_lock_shared((data->>'lock')::bigint) $$;
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run')});

# ---- statistics say that the live leaf has one row
{
	$hipq->switch_off;
	my $lock = $hipq->hold_lock(1);
	my $first = $hipq->enqueue('run', q{'{"lock": 1}'});
	$hipq->sql('VACUUM ANALYZE hipq.app_main_live');
	$hipq->enqueue('run', q{'{"lock": 1}'}) foreach 1 .. 5;
	$hipq->set('hipq.enabled' => 'on');
	$hipq->pid_of($first);
	ok($hipq->wait_until(q{SELECT string_agg(state::text, ' ' ORDER BY id) FROM hipq.job},
			'running' . ' initial' x 5), 'a claim takes one job');
	$lock->quit;
	ok($hipq->wait_until(q{SELECT bool_and(outcome = 'succeeded') FROM hipq.jobs}, 't', 20),
		'every job succeeds');
	is($hipq->sql('SELECT max(attempt) FROM hipq.job'), '1',
		'every job succeeds in its first attempt');
}

done_testing();
