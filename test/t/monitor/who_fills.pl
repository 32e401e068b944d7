# hipq.who_fills() shows whose jobs fill a queue, and what the first job of each kind waits for. It
# estimates this for a large queue from a sample.
use strict;
use warnings;
use HipqCluster;
use Test::More;

my $hipq = HipqCluster->new('who_fills', 'hipq.max_executors' => 3);
$hipq->create_queue("app.$_") foreach qw(large tenants);
$hipq->sql(q{CREATE FUNCTION held(data jsonb) RETURNS void
	LANGUAGE sql AS 'SELECT pg_advisory_xact_lock(7)'});
$hipq->sql(q{SELECT hipq.register_job_type('app.tenants', 'export', handler => 'held',
	throttle_limit_per_key => 1)});
$hipq->sql(q{SELECT hipq.register_job_type('app.tenants', 'scan', handler_kind => 'notify')});
is($hipq->sql(q{SELECT count(*) FROM hipq.who_fills('app.tenants')}), '0',
	'who_fills() returns no row for an empty queue');

# ---- the kinds of jobs

my $holder = $hipq->session;
$holder->query_safe('SELECT pg_advisory_lock(7)');
my $first = $hipq->enqueue('export', q{'{}', throttle_key => 'tenant 7'});
ok($hipq->wait_until("SELECT outcome = 'running' FROM hipq.jobs WHERE id = $first"),
	'a job of tenant 7 runs');
my $next = $hipq->enqueue('export', q{'{}', throttle_key => 'tenant 7'});
$hipq->sql(q{INSERT INTO hipq.app_tenants (job_type, throttle_key) SELECT 'export', 'tenant 7'
	FROM generate_series(1, 5)});
$hipq->enqueue('export', q{'{}', throttle_key => 'tenant 8',
	scheduled_run_time => now() + interval '1 hour'}) foreach 1 .. 2;
$hipq->enqueue('scan', q{'{}'});
is($hipq->sql(q{SELECT job_type, throttle_key, jobs, percent, last_minute, oldest_due_time IS NULL,
		waits_for FROM hipq.who_fills('app.tenants')}),
	"export|tenant 7|7|70|7|f|throttle "
		. "of key\nexport|tenant 8|2|20|2|t|scheduled time\nscan||1|10|1|f|worker",
		'who_fills() returns the most frequent kind first, with what its jobs wait for');
is($hipq->sql(q{SELECT first_job FROM hipq.who_fills('app.tenants', 1)}), $next,
	'first_job of who_fills() is the first job of a kind that waits');
like($hipq->sql(q{SELECT why.explanation FROM hipq.who_fills('app.tenants', 1) AS filler,
		hipq.why(filler.first_job) AS why WHERE why.condition = filler.waits_for}),
	qr/"tenant 7" is reached: 1 of 1/,
	'why() of first_job explains what the jobs of the kind wait for');
$hipq->sql(q{SELECT hipq.pause('app.tenants', 'export', 'tenant 7')});
is($hipq->sql(q{SELECT waits_for FROM hipq.who_fills('app.tenants', 1)}), 'pause',
	'who_fills() reports a pause');
is($hipq->sql(q{SELECT count(*) FROM hipq.who_fills('app.tenants', NULL)}), '3',
	'who_fills() with NULL lines returns all kinds');
$holder->query_safe('SELECT pg_advisory_unlock(7)');
ok($hipq->wait_until(q{SELECT jobs = 6 FROM hipq.who_fills('app.tenants', 1)}),
	'who_fills() does not count jobs that have ended');

# ---- who_fills() reads 500 pages of a large queue

$hipq->sql(q{INSERT INTO hipq.app_large (job_type, throttle_key, scheduled_run_time)
	SELECT 'bulk', CASE WHEN n % 10 < 8 THEN 'many' ELSE 'few' END, now() + interval '1 day'
		FROM generate_series(1, 60000) AS n});
cmp_ok($hipq->sql(q{SELECT pg_relation_size('hipq.app_large_live') / 8192}), '>', 1000,
	'the large queue has more than 1000 pages');
is($hipq->sql(q{SELECT throttle_key, jobs BETWEEN 40000 AND 56000, percent BETWEEN 78 AND 82
		FROM hipq.who_fills('app.large', 1)}), 'many|t|t',
	'who_fills() estimates 48,000 of 60,000 jobs');
is($hipq->sql(q{SELECT count(DISTINCT jobs) FROM generate_series(1, 3),
		LATERAL hipq.who_fills('app.large', 1)}), '1',
	'who_fills() returns the same estimate each time');

# ---- privileges

$hipq->sql('CREATE ROLE reader LOGIN; CREATE ROLE watcher LOGIN; CREATE ROLE sender LOGIN;
	GRANT pg_monitor TO watcher');
$hipq->sql(q{SELECT hipq.grant_queue('app.tenants', 'reader', 'read'),
	hipq.grant_queue('app.tenants', 'sender', 'enqueue')});
is($hipq->sql(q{SET ROLE reader; SELECT throttle_key FROM hipq.who_fills('app.tenants', 1)}),
	'tenant 7', 'a reader of the queue can call who_fills()');
is($hipq->sql(q{SET ROLE watcher; SELECT throttle_key FROM hipq.who_fills('app.tenants', 1)}),
	'tenant 7', 'a monitor can call who_fills()');
like($hipq->error_of(q{SET ROLE sender; SELECT hipq.who_fills('app.tenants')}),
	qr/42501: permission denied for queue "app.tenants"/,
	'privilege enqueue does not suffice for who_fills()');
like($hipq->error_of(q{SET ROLE reader; SELECT hipq.who_fills('app.large')}),
	qr/42704: queue "app.large" does not exist/,
	'who_fills() does not show roles without rights that a queue exists');
like($hipq->error_of(q{SELECT hipq.who_fills('app.nowhere')}), qr/42704/,
	'who_fills() of an unknown queue is refused');
like($hipq->error_of(q{SELECT hipq.who_fills(NULL)}), qr/22004/,
	'who_fills() of a NULL queue is refused');
like($hipq->error_of(q{SELECT hipq.who_fills('app.large', -1)}), qr/2201W/,
	'who_fills() with a negative number of lines is refused');

$holder->quit;
$hipq->node->stop;
done_testing();
