# hipq.top() and hipq.activity show each queue that the role can see, sorted. The rows of hipq.top()
# fit into 120 columns.
use strict;
use warnings;
use HipqCluster;
use Test::More;

my $hipq = HipqCluster->new('top', 'hipq.max_executors' => 3, 'hipq.heartbeat_timeout' => '10min');
$hipq->create_queue("app.$_") foreach qw(empty held limited lone paused sound);
$hipq->sql(q{CREATE FUNCTION quick(data jsonb) RETURNS void LANGUAGE sql AS 'SELECT'});
$hipq->sql(q{CREATE FUNCTION wrong(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
	PERFORM 1 / 0; END $$});
$hipq->sql(q{CREATE FUNCTION held(data jsonb) RETURNS void
	LANGUAGE sql AS 'SELECT pg_advisory_xact_lock(7)'});
$hipq->sql("SELECT hipq.register_job_type('app.$_', 'quick', handler => 'quick')")
	foreach qw(held paused sound);
$hipq->sql("SELECT hipq.register_job_type('app.sound', 'wrong', handler => 'wrong')");
$hipq->sql("SELECT hipq.register_job_type('app.$_', 'held', handler => 'held')")
	foreach qw(limited held);
$hipq->sql("SELECT hipq.register_job_type('app.lone', 'outside', handler_kind => 'notify')");
$hipq->sql("SELECT hipq.alter_queue('app.limited', throttle_limit => 1)");

sub state_of
{
	my ($queue) = @_;
	return "SELECT state FROM hipq.activity WHERE queue = 'app.$queue'";
}

# ---- the state of queues

is($hipq->sql(state_of('empty')), 'idle', 'a queue without jobs is idle');
is($hipq->sql("SELECT backlog, running, failed, oldest IS NULL, state FROM hipq.top() LIMIT 1"),
	'0|0|0|t|6 queues', 'the first row of top() is about all queues');

my $holder = $hipq->session;
$holder->query_safe('SELECT pg_advisory_lock(7)');
$hipq->enqueue('held', q{'{}', queue => 'app.limited'}) foreach 1 .. 3;
ok($hipq->wait_until(state_of('limited'), 'at its limit'),
	"a queue at its throttle limit has state \"at its limit\"")
	or diag($hipq->sql('TABLE hipq.activity'));
$hipq->enqueue('held', q{'{}', queue => 'app.held'});
ok($hipq->wait_until(state_of('held'), 'runs'), 'a queue with running jobs has state "runs"');
$hipq->sql("SELECT hipq.pause('app.held', 'quick')");
is($hipq->sql(state_of('held')), '1 type paused',
	'a queue with a paused type has state "1 type paused"');
$hipq->sql("SELECT hipq.pause('app.paused')");
$hipq->enqueue('quick',
	q{'{}', queue => 'app.paused', scheduled_run_time => now() - interval '50 hours'});
is($hipq->sql(state_of('paused')), 'paused', 'a paused queue has state "paused"');
$hipq->enqueue('outside', q{'{}', queue => 'app.lone'}) foreach 1 .. 5;
ok($hipq->wait_until(state_of('lone'), 'no worker'),
	'a queue without a worker has state "no worker"')
	or diag($hipq->sql('TABLE hipq.activity'));
my $worker =
	$hipq->sql(q{SELECT hipq.register_worker('one', '{app.lone}', '{outside}', listen => false)});
ok($hipq->wait_until("SELECT state <> 'no worker' FROM hipq.activity WHERE queue = 'app.lone'"),
	'a queue with a worker does not have state "no worker"');

my $failed = $hipq->enqueue('wrong', q{'{}', queue => 'app.sound'});
is($hipq->outcome($failed), 'failed', 'a job of the sound queue fails');
is($hipq->outcome($hipq->enqueue('quick', q{'{}', queue => 'app.sound'})), 'succeeded',
	'a job of the sound queue succeeds');
is($hipq->sql(q{SELECT failed, finished_per_minute > 0, wait_p50 >= 0, wait_p99 >= wait_p50
		FROM hipq.activity_detail WHERE queue = 'app.sound'}), '1|t|t|t',
	'view activity_detail has failures, throughput and latencies');
$hipq->enqueue('quick',
	q{'{}', queue => 'app.sound', scheduled_run_time => now() + interval '1 day'}) foreach 1 .. 4;
ok($hipq->wait_until(q{SELECT empty_in BETWEEN interval '1 s' AND interval '4 min'
		FROM hipq.activity_detail WHERE queue = 'app.sound'}),
	'view activity_detail estimates when the backlog is empty')
	or diag($hipq->sql('TABLE hipq.activity_detail'));
is($hipq->sql(q{SELECT bool_and(empty_in IS NULL) FROM hipq.activity_detail
		WHERE queue IN ('app.empty', 'app.paused')}), 't',
	'view activity_detail has no estimate without finished jobs');
ok($hipq->wait_until(q{SELECT running >= 2 AND backlog >= 10 FROM hipq.top() LIMIT 1}),
	'the row for all queues has the sums') or diag($hipq->sql('SELECT * FROM hipq.top()'));
like($hipq->sql('SELECT queue FROM hipq.top() LIMIT 1'), qr{^busy 2/3, workers 1/1$},
	'the row for all queues counts executors and workers');

# ---- order and width

sub order
{
	my ($arguments) = @_;
	return $hipq->sql("SELECT string_agg(substr(queue, 5), ' ')
		FROM (SELECT queue FROM hipq.top($arguments) OFFSET 1) AS listed");
}
is(order(q{'queue'}), 'empty held limited lone paused sound', 'top() sorts by name');
is(order(q{'failed', 1}), 'sound',
	'top() sorts by failures, and returns one queue with lines => 1');
unlike(order(q{lines => 2}), qr/empty|paused|sound/, 'top() sorts by running jobs by default');
is(order(q{'backlog', lines => 1}), 'lone', 'top() sorts by backlog');
like(order(q{'per_min'}), qr/^sound /, 'top() sorts by throughput');
is($hipq->sql(q{SELECT count(*) FROM hipq.top(lines => NULL)}), '7',
	'top(lines => NULL) shows all queues');
is($hipq->sql(q{SELECT count(*) FROM hipq.top(lines => 0)}), '1',
	'top(lines => 0) shows only the row for all queues');
like($hipq->error_of(q{SELECT hipq.top('colour')}),
	qr/22023: there is no column "colour".*HINT:  Sort by busy/s,
	'an unknown column of top() is refused');
like($hipq->error_of(q{SELECT hipq.top(lines => -2)}), qr/2201W/,
	'a negative number of lines of top() is refused');
my (undef, $shown) = $hipq->node->psql('postgres', 'SELECT * FROM hipq.top()',
	extra_params => [ '-P', 'format=aligned', '-P', 'tuples_only=off' ]);
is((grep { length > 120 } split /\n/, $shown), 0, 'top() fits into 120 columns') or diag($shown);
cmp_ok(scalar(split /\n/, $shown), '>', 7, 'top() is printed as a table');

# ---- the rows that a role sees

$hipq->sql('CREATE ROLE reader LOGIN; CREATE ROLE watcher LOGIN; GRANT pg_monitor TO watcher');
$hipq->sql(q{SELECT hipq.grant_queue('app.sound', 'reader', 'read')});
is($hipq->sql('SET ROLE reader; SELECT failed, queue FROM hipq.top()') =~ s/busy \d/busy n/r,
	"1|busy n/3\n1|app.sound",
	'a reader sees its own queue only');
is($hipq->sql(q{SET ROLE watcher; SELECT count(*) FROM hipq.top()}), '7',
	'a monitor sees all queues');

# ---- right after a crash, while hipq is off: shared memory and the server's statistics are empty

$hipq->sql(q{INSERT INTO hipq.app_paused (job_type) SELECT 'quick' FROM generate_series(1, 20000)});
$holder->quit;
$hipq->set('hipq.enabled' => 'off');
$hipq->node->stop('immediate');
$hipq->node->start;
my $later = q{SET hipq.clock_offset = '14 min';};
is($hipq->sql(q{SELECT sum(pg_stat_get_live_tuples(relid))
		FROM pg_partition_tree('hipq.app_lone')}), 0,
	"the server's statistics are lost in a crash");
is($hipq->sql("$later SELECT backlog, oldest > interval '13 min', state FROM hipq.top() WHERE "
		. "queue = 'app.lone'"), '5|t|late',
	'after a crash top() counts the waiting jobs of a queue, with their age');
is($hipq->sql("$later SELECT string_agg(substr(queue, 5) || backlog || state, ' ' ORDER BY queue) "
		. "FROM hipq.top() WHERE queue IN ('app.empty', 'app.sound')"),
	'empty0idle sound4waits', 'after a crash top() counts the waiting jobs of other queues');
is($hipq->sql(q{SELECT bool_and(top.backlog = backlog.jobs) FROM hipq.top() JOIN hipq.backlog USING
		(queue) WHERE backlog.jobs < 1000}), 't',
	'after a crash view backlog has the numbers of top()');
is($hipq->sql("SELECT backlog BETWEEN 15000 AND 25000, exact, date_trunc('hour', oldest)
		FROM hipq.top() WHERE queue = 'app.paused'"), 't|f|50:00:00',
	'after a crash the backlog of a large queue is an estimate');
is($hipq->sql(q{SELECT queue, is_exact FROM hipq.activity WHERE queue IN ('app.lone', 'app.paused')
		ORDER BY queue}), "app.lone|t\napp.paused|f", 'view activity says which backlog is exact');
is($hipq->sql('SELECT backlog BETWEEN 15000 AND 25000, exact FROM hipq.top() LIMIT 1'), 't|f',
	'the sum with an estimate is an estimate');
$hipq->sql('VACUUM hipq.app_paused_live');
is($hipq->sql("SELECT backlog, exact FROM hipq.top() WHERE queue = 'app.paused'"), '20001|f',
	'after VACUUM the estimate of the backlog is close');
$holder = $hipq->session;
$holder->query_safe('BEGIN; LOCK hipq.app_lone_live');
is($hipq->sql(q{SELECT backlog IS NULL, exact, oldest IS NULL, state FROM hipq.top()
		WHERE queue = 'app.lone'}), 't|f|t|locked', 'the backlog of a locked queue is unknown');
is($hipq->sql('SELECT backlog > 15000, exact FROM hipq.top() LIMIT 1'), 't|f',
	'other queues are counted beside a locked queue');
$holder->quit;

$hipq->node->stop;
done_testing();
