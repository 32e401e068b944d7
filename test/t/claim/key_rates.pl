# rate_limit_per_key: each throttle key of a type has a rate of its own. (test/t/faults/rates.pl has
# random rates under faults.)
use strict;
use warnings;
use HipqCluster;
use Test::More;

my $hipq = HipqCluster->new('key_rates', 'hipq.max_executors' => 3, 'hipq.audit_rate' => 100_000);
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE TABLE start (type text, key text, at timestamptz DEFAULT clock_timestamp());
	GRANT INSERT ON start TO app;
	CREATE FUNCTION run(job hipq.job) RETURNS void LANGUAGE sql
		AS 'INSERT INTO start VALUES (job.job_type, job.throttle_key)';
	SELECT hipq.register_job_type('app.main', 'some', handler => 'run',
		rate_limit_per_key => '3/s');
	SELECT hipq.register_job_type('app.main', 'long', handler => 'run',
		rate_limit_per_key => '2/hour');
	SELECT hipq.register_job_type('app.main', 'many', handler => 'run',
		rate_limit_per_key => '1/2 s');
});
is($hipq->sql(q{SELECT rate_limit_per_key FROM hipq.job_types_detail WHERE job_type = 'long'}),
	'2/h', 'the view shows the rate');

sub enqueue
{
	my ($type, $keys, $each) = @_;
	$hipq->sql(qq{INSERT INTO hipq.app_main (job_type, throttle_key)
		SELECT '$type', 'key ' || key FROM generate_series(1, $keys) AS key,
			generate_series(1, $each)});
	return;
}

# Returns the most starts of a key in a period.
sub most_in
{
	my ($type, $period) = @_;
	return $hipq->sql(qq{SELECT max(count) FROM (SELECT count(*) OVER (PARTITION BY key ORDER BY at
		RANGE BETWEEN '$period' PRECEDING AND CURRENT ROW) FROM start
		WHERE type = '$type' AND key <> 'NONE') AS most});
}

enqueue('some', 4, 9);
$hipq->sql(q{SELECT hipq.enqueue('some', queue => 'app.main') FROM generate_series(1, 20)});
ok($hipq->wait_until(q{SELECT count(*) = 20 FROM start WHERE key = 'NONE'}),
	'jobs without a key need no turn');
ok($hipq->wait_until(q{SELECT count(*) = 36 FROM start WHERE type = 'some' AND key <> 'NONE'}),
	'jobs of all keys run');
is(most_in('some', '0.99 s'), 3, 'no key exceeds its rate');
cmp_ok($hipq->sql(q{SELECT extract(epoch FROM max(at) - min(at)) FROM start
	WHERE type = 'some' AND key <> 'NONE'}), '<', 4, 'each key uses its rate');

# ---- many keys

enqueue('many', 500, 2);
ok($hipq->wait_until(q{SELECT count(*) = 1000 FROM start WHERE type = 'many'}),
	'jobs of 500 keys run');
is(most_in('many', '1.99 s'), 1, 'none exceeds its rate');

# ---- long periods, over a crash

enqueue('long', 2, 3);
ok($hipq->wait_until(q{SELECT count(*) = 4 FROM start WHERE type = 'long'}),
	'as many start as the rates of two keys allow');
like($hipq->sql(q{SELECT explanation FROM hipq.why((SELECT min(id) FROM hipq.app_main_live))
	WHERE condition = 'rate of key'}), qr/^The rate_limit_per_key of 2\/h is used up/,
	'why() names the rate of the key');
$hipq->node->stop('immediate');
$hipq->node->start;
enqueue('long', 3, 2);
ok($hipq->wait_until(q{SELECT count(*) = 6 FROM start WHERE type = 'long'}),
	'after a crash a new key has its rate');
is(most_in('long', '1 hour'), 2, 'the others have used theirs up');
is($hipq->sql(q{SELECT count(*) FROM hipq.rate_lease WHERE throttle_key = 0}), 0,
	'leases are of keys');

# ---- a changed rate

$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'long', rate_limit_per_key => 'NONE')});
ok($hipq->wait_until('SELECT NOT EXISTS (SELECT FROM hipq.app_main_live)'),
	'without the rate all jobs start');
like($hipq->error_of(q{SELECT hipq.alter_job_type('app.main', 'long',
	rate_limit_per_key => 'often')}), qr/22023/, 'a rate that cannot be read is refused');

done_testing();
