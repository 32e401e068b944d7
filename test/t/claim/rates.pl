# Jobs start no more often than the rate limits of their queue and type say, by the handlers' own
# clocks: in executors and external workers, after restarts and crashes. Jobs that wait use nearly
# all of the limit.
use strict;
use warnings;
use HipqCluster;
use Test::More;

my $hipq = HipqCluster->new('rates', 'hipq.max_executors' => 4, 'hipq.retry_base' => '10ms',
	'hipq.retry_jitter' => 0, 'hipq.max_rates' => 16);
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE TABLE start (job_type text, weight numeric, at timestamptz DEFAULT clock_timestamp());
	GRANT ALL ON start TO app;
	CREATE FUNCTION run(job hipq.job) RETURNS void LANGUAGE sql AS $$
		INSERT INTO start (job_type, weight) VALUES (job.job_type, job.throttle_factor) $$;
	CREATE FUNCTION run_all(jobs hipq.job[]) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO start SELECT job_type, throttle_factor, clock_timestamp() FROM unnest(jobs);
		PERFORM hipq.fail_retriable('all') FROM unnest(jobs) WHERE cardinality(jobs) > 1;
	END $$;

	-- Returns the greatest weight that started in a period.
	CREATE FUNCTION most_in(of_type text, period interval) RETURNS numeric LANGUAGE sql AS $$
		SELECT max(sum) FROM (SELECT sum(weight) OVER (ORDER BY at RANGE BETWEEN period PRECEDING
			AND CURRENT ROW) FROM start WHERE job_type LIKE of_type) AS sums (sum) $$;
});

sub register
{
	my ($type, $more) = @_;
	return $hipq->sql("SELECT hipq.register_job_type('app.main', '$type', handler => 'run',
		$more)");
}
sub enqueue
{
	my ($type, $count, $more) = @_;
	$more //= '1';
	return $hipq->sql("INSERT INTO hipq.app_main (job_type, throttle_factor)
		SELECT '$type', $more FROM generate_series(1, $count) AS n");
}
sub wait_until_done
{
	return $hipq->wait_until('SELECT NOT EXISTS (SELECT FROM hipq.app_main_live)')
		|| die 'jobs are left';
}
sub most_in { my ($type, $period) = @_; return $hipq->sql("SELECT most_in('$type', '$period')") }
sub count_of
{
	my ($type) = @_;
	return $hipq->sql("SELECT count(*) FROM start WHERE job_type = '$type'");
}
sub seconds_of
{
	my ($type) = @_;
	return $hipq->sql("SELECT extract(epoch FROM max(at) - min(at)) FROM start
		WHERE job_type = '$type'");
}

# ---- exact

register('exact', q{rate_limit => '20/2 s'});
enqueue('exact', 100);
$hipq->wait_until(q{SELECT rate_used = 20 FROM hipq.job_types_detail WHERE job_type = 'exact'});
is($hipq->sql(q{SELECT rate_limit, rate_mode, rate_used, next_turn BETWEEN hipq.now() AND
	hipq.now() + interval '2.1 s' FROM hipq.job_types_detail WHERE job_type = 'exact'}),
	'20/2 s|exact|20.000|t', 'the view shows the rate, what counts of it, and the next turn');
like($hipq->sql(q{SELECT explanation FROM hipq.why((SELECT max(id) FROM hipq.app_main_live))
	WHERE condition = 'rate of type'}),
	qr/rate_limit of 20\/2 s is used up: 20 of it counts, and it weighs 1. Its turn can come at /,
	'why() tells the time of the turn');
wait_until_done();
is(count_of('exact'), 100, 'all jobs run');
cmp_ok(most_in('exact', '2 s'), '<=', 20, 'an exact rate is never exceeded');
cmp_ok(seconds_of('exact'), '<', 8.5, 'and is used wherever jobs wait');
cmp_ok(seconds_of('exact'), '>', 7.9, 'five times the limit takes four periods');

# ---- smooth, and weights

register('smooth', q{rate_limit => '50/s', rate_mode => 'smooth'});
register('heavy', q{rate_limit => '6/s'});
enqueue('smooth', 100);
enqueue('heavy', 24, '(ARRAY[0, 0.5, 1, 3])[1 + n % 4]');
wait_until_done();
cmp_ok(most_in('smooth', '1 s'), '<=', 52, 'a smooth rate spaces the starts');
cmp_ok(seconds_of('smooth'), '<', 2.3, 'and is used');
cmp_ok($hipq->sql(q{SELECT count(*) FROM (SELECT at - lag(at) OVER (ORDER BY at) AS gap FROM start
	WHERE job_type = 'smooth') AS gaps WHERE gap < interval '5 ms'}), '<', 20,
	'few starts follow one another closely');
cmp_ok(most_in('heavy', '1 s'), '<=', 6, 'throttle_factor weighs the starts');
cmp_ok(seconds_of('heavy'), '<', 5.5, 'weighted starts use the rate');

# ---- of the queue, together with types

$hipq->sql(q{SELECT hipq.alter_queue('app.main', rate_limit => '10/s')});
register('one', q{rate_limit => '7/s'});
register('two', q{max_retries => 0});
enqueue('one', 20);
enqueue('two', 20);
wait_until_done();
cmp_ok(most_in('one', '1 s'), '<=', 7, "a type's rate holds beside its queue's");
cmp_ok($hipq->sql(q{SELECT max(sum) FROM (SELECT count(*) OVER (ORDER BY at RANGE BETWEEN '1 s'
	PRECEDING AND CURRENT ROW) FROM start WHERE job_type IN ('one', 'two')) AS sums (sum)}),
	'<=', 10, "a queue's rate holds for all its types");
$hipq->sql(q{SELECT hipq.alter_queue('app.main', rate_limit => 'none')});

# ---- a batch that fails, and whose jobs start again one by one

$hipq->sql(q{SELECT hipq.register_job_type('app.main', 'batch', handler => 'run_all',
	batch_size => 5, rate_limit => '8/s', max_retries => 0)});
enqueue('batch', 10);
wait_until_done();
is($hipq->sql(q{SELECT count(*) FROM hipq.app_main_final WHERE job_type = 'batch' AND error =
	'NONE'}), 10, 'jobs of failed batches run, uncharged');
cmp_ok(most_in('batch', '1 s'), '<=', 8, 'each of their starts counts');

# ---- another rate

register('changed', q{rate_limit => '5/day'});
enqueue('changed', 20);
$hipq->wait_until(q{SELECT count(*) = 5 FROM start WHERE job_type = 'changed'});
$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'changed', rate_limit => '8/day')});
$hipq->wait_until(q{SELECT count(*) = 8 FROM start WHERE job_type = 'changed'});
is($hipq->sql(q{SELECT rate_used FROM hipq.job_types_detail WHERE job_type = 'changed'}), '8.000',
	'a changed limit counts the starts that were');

# ---- restarts and crashes

is($hipq->sql(q{SELECT count(*) FROM hipq.rate_lease WHERE job_type = 'changed'}) > 0, 1,
	'what may start under a long period is leased in a table');
$hipq->node->restart;
$hipq->wait_until(q{SELECT rate_used = 8 FROM hipq.job_types_detail WHERE job_type = 'changed'});
is(count_of('changed'), 8, 'nothing starts again after a restart');
kill 'KILL', $hipq->sql(
	q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'hipq launcher'});
$hipq->wait_until(q{SELECT rate_used = 8 FROM hipq.job_types_detail WHERE job_type = 'changed'});
is(count_of('changed'), 8, 'nor after a crash');
$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'changed', rate_limit => '9/day')});
$hipq->wait_until(q{SELECT count(*) = 9 FROM start WHERE job_type = 'changed'});
$hipq->set('hipq.clock_offset', '25 h');
$hipq->wait_until(q{SELECT count(*) = 18 FROM start WHERE job_type = 'changed'});
pass('a day later the next ones start');
$hipq->set('hipq.clock_offset', '50 h');
wait_until_done();
is(count_of('changed'), 20, 'all of them have started');

# ---- external workers

$hipq->sql(q{SELECT hipq.register_job_type('app.main', 'outside', handler_kind => 'notify',
	rate_limit => '3/10 s', max_retries => 0)});
my $worker = $hipq->sql(q{SELECT hipq.register_worker('w', ARRAY['app.main'], ARRAY['outside'],
	capacity => 10)});
enqueue('outside', 7);
my @first = split /\n/, $hipq->sql("SELECT id FROM hipq.claim($worker, 10, wait => '30 s')");
is(scalar @first, 3, 'a worker is given as many jobs as may start') || diag "@first";
$hipq->sql("SELECT hipq.complete(id, attempt) FROM hipq.app_main_live WHERE state = 'running'");
is($hipq->sql("SELECT count(*) FROM hipq.claim($worker, 10, wait => '1 s')"), 0,
	'and no more until their period has ended');
$hipq->set('hipq.clock_offset', '51 h');
is($hipq->sql("SELECT count(*) FROM hipq.claim($worker, 10, wait => '30 s')"), 3,
	'then the next ones');

# ---- leases are gone with their queue

$hipq->create_queue('app.gone');
$hipq->sql(q{INSERT INTO hipq.rate_lease (queue_id, job_type, granted_time, weight)
	SELECT queue_id, '', now(), 1000 FROM hipq.queue WHERE name = 'gone'});
my $gone = $hipq->sql(q{SELECT queue_id FROM hipq.queue WHERE name = 'gone'});
$hipq->sql(q{SELECT hipq.drop_queue('app.gone')});
ok($hipq->wait_until("SELECT NOT EXISTS (SELECT FROM hipq.rate_lease WHERE queue_id = $gone)"),
	'a dropped queue leaves no leases');

# ---- no room

$hipq->sql(q{SELECT hipq.register_job_type('app.main', 'full' || n, handler => 'run', rate_limit =>
	'1/h') FROM generate_series(1, 16) AS n});
$hipq->sql(q{INSERT INTO hipq.app_main (job_type)
	SELECT 'full' || n FROM generate_series(1, 16) AS n});
ok($hipq->wait_until(q{SELECT EXISTS (SELECT FROM hipq.alerts WHERE alert = 'rate limits')}),
	'an alert tells that shared memory has no room for more rates');

$hipq->node->stop;
done_testing();
