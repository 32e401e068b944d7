# Priority, time and id determine the next job of a queue. Queues, and owners, share executor time
# by weight.
use strict;
use warnings;
use HipqCluster;
use Test::More;

my $hipq = HipqCluster->new('weight', 'hipq.max_executors' => 1, 'hipq.reserved_executors' => 0,
	'hipq.enabled' => 'off', fsync => 'off');
$hipq->sql(q{
	CREATE ROLE other LOGIN;
	GRANT CREATE ON SCHEMA public TO app, other;
	CREATE FUNCTION work(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		PERFORM pg_sleep((data->>'ms')::float8 / 1000); END $$});

sub queue
{
	my ($name, $weight, %options) = @_;
	$hipq->create_queue("app.$name", weight => $weight, durability => 'group', %options);
	$hipq->sql("SELECT hipq.register_job_type('app.$name', '$name', handler => 'work',
		claim => 'lock')");
	return;
}

sub fill
{
	my ($name, $jobs, $ms) = @_;
	$hipq->sql(qq{INSERT INTO hipq.app_$name (job_type, job_data) SELECT '$name', '{"ms": $ms}'
		FROM generate_series(1, $jobs)});
	return;
}

# Returns the jobs of these queues that have run, with their executor time.
sub runs
{
	my $queues = join ', ', map { "'app.$_'" } @_;
	return qq{(SELECT queue, id, accepted_time AS began, update_time AS ended,
		extract(epoch FROM update_time - accepted_time) AS took
		FROM hipq.jobs_detail WHERE queue IN ($queues) AND outcome = 'succeeded') AS run};
}

# Returns the share of a queue in this executor time, in percent.
sub share
{
	my ($queue) = @_;
	return "100 * coalesce(sum(took) FILTER (WHERE queue = 'app.$queue'), 0) / sum(took)";
}

# Runs executors on the queues for some seconds at least, until each queue has its share while all
# queues have jobs. One more turn, or a turn that a busy machine has lengthened, counts less and
# less. A wrong share never comes near.
sub have_shares
{
	my ($name, $seconds, $tolerance, %share) = @_;
	my @queues = sort keys %share;
	my $runs = runs(@queues);
	my $has_jobs = join ' AND ', map { "EXISTS (SELECT FROM hipq.app_${_}_live)" } @queues;
	my $is_near = join ' AND ', map { 'abs(' . share($_) . " - $share{$_}) <= $tolerance" } @queues;
	$hipq->set('hipq.enabled' => 'on');
	ok($hipq->wait_until("SELECT coalesce(sum(took), 0) > $seconds AND $has_jobs AND $is_near
			FROM $runs"), "$name: " . join ', ', map { "$_ $share{$_} %" } @queues);
	$hipq->switch_off;
	note($hipq->sql('SELECT ' . join(q{ || ' ' || }, map { 'round(' . share($_) . ', 1)' } @queues)
			. " FROM $runs"));
	$hipq->sql("SELECT hipq.drop_queue('app.$_', force => true)") foreach @queues;
	return;
}

# ---- within a queue
$hipq->create_queue('app.main');
$hipq->sql(q{
	SELECT hipq.register_job_type('app.main', 'type' || n, handler => 'work')
		FROM generate_series(1, 4) AS n;
	SELECT setseed(0.5);
	INSERT INTO hipq.app_main (job_type, job_data, priority, scheduled_run_time)
		SELECT 'type' || 1 + (random() * 3)::integer, '{"ms": 15}', (random() * 3)::integer,
			now() - (random() * 5)::integer * interval '1 minute'
		FROM generate_series(1, 120)});
$hipq->set('hipq.enabled' => 'on');
ok($hipq->wait_until('SELECT count(*) FROM hipq.app_main_live', 0),
	'jobs of four types and four priorities run');
is( $hipq->sql(q{
	SELECT count(*) FROM (SELECT (priority, scheduled_run_time,
		id) < lag((priority, scheduled_run_time, id)) OVER (ORDER BY accepted_time) AS wrong
		FROM hipq.job WHERE job_type LIKE 'type%') AS pair WHERE wrong}),
	0, 'jobs start by priority, then time, then id, also without a known lane');
$hipq->switch_off;
$hipq->sql(q{
	INSERT INTO hipq.app_main (job_type, job_data, priority) SELECT 'type1', '{"ms": 1}', 5
		FROM generate_series(1, 200);
	INSERT INTO hipq.app_main (job_type, job_data, priority) SELECT 'type2', '{"ms": 1}', 4
		FROM generate_series(1, 200)});
$hipq->set('hipq.enabled' => 'on');
ok($hipq->wait_until('SELECT count(*) FROM hipq.app_main_live', 0), 'many short jobs run');
is($hipq->sql(q{SELECT (SELECT max(accepted_time) FROM hipq.job
		WHERE priority = 4) < (SELECT min(accepted_time) FROM hipq.job WHERE priority = 5)}),
	't', 'all jobs of a lower priority number start before those of a higher one');
$hipq->set('hipq.enabled' => 'off');

# ---- among the queues of an owner
like($hipq->error_of(q{SELECT hipq.alter_queue('app.main', weight => 0)}),
	qr/22023.*weight 0 is out of range/, 'a weight is at least 1');
$hipq->sql(q{SELECT hipq.alter_queue('app.main', weight => 7)});
is($hipq->sql(q{SELECT weight FROM hipq.queues_detail WHERE queue = 'app.main'}), 7,
	'a weight can be changed');

queue(long => 100);
queue(short => 300);
fill(long => 400, 40);
fill(short => 6000, 4);
have_shares('weights 1:3, one executor, jobs of 40 ms and 4 ms', 6, 4, long => 25, short => 75);

$hipq->set('hipq.max_executors' => 2);
queue(long => 100);
queue(short => 300);
fill(long => 600, 60);
fill(short => 8000, 4);
have_shares('weights 1:3, two executors, jobs of 60 ms and 4 ms', 8, 4, long => 25, short => 75);

queue(first => 100);
queue(second => 100);
queue(third => 200);
fill(first => 400, 50);
fill(second => 4000, 5);
fill(third => 800, 20);
have_shares('weights 1:1:2', 8, 4, first => 25, second => 25, third => 50);

# ---- the lightest queue waits for its turn: at most as long as its last turn times the weight of
# the others over its own, and a turn of each
$hipq->set('hipq.max_executors' => 1);
queue(light => 1);
queue(heavy => 100);
fill(light => 500, 3);
fill(heavy => 8000, 10);
my $runs = runs('light', 'heavy');
# Jobs of the light queue without a job of the heavy queue between them are a turn. A turn takes all
# the time that the heavy queue does not have: jobs are also claimed and committed, and a busy
# machine is slow. The light queue waits as long as jobs of the heavy queue run until its next turn.
# The time between two turns is charged to no queue.
my $turns = qq{(SELECT min(began) AS began, max(next_heavy) - coalesce(min(last_heavy),
	min(began) - interval '10 ms') AS hand, max(used) AS used
	FROM (
		SELECT *, count(*) FILTER (WHERE queue = 'app.heavy') OVER (ORDER BY began) AS turn,
			sum(took) FILTER (WHERE queue = 'app.heavy') OVER (ORDER BY began) AS used,
			max(ended) FILTER (WHERE queue = 'app.heavy') OVER (ORDER BY began) AS last_heavy,
			min(began) FILTER (WHERE queue = 'app.heavy') OVER
				(ORDER BY began ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS next_heavy
		FROM $runs) AS run WHERE queue = 'app.light' GROUP BY turn) AS turn};
$hipq->set('hipq.enabled' => 'on');
ok($hipq->wait_until("SELECT count(*) >= 3 FROM $turns", 't', 120),
	'weights 1:100: the light queue has its turns');
$hipq->switch_off;
my $waits = "(SELECT began, extract(epoch FROM hand) AS hand,
	lead(used) OVER (ORDER BY began) - coalesce(used, 0) AS waited FROM $turns) AS waits";
note($hipq->sql("SELECT * FROM $waits ORDER BY began"));
cmp_ok($hipq->sql("SELECT count(waited) FROM $waits"), '>=', 2, 'the light queue has waited');
is($hipq->sql("SELECT count(*) FROM $waits WHERE waited > 100 * hand * 1.1 + 0.1"), 0,
	'the light queue never waits longer than its last turn times 100');
ok($hipq->sql("SELECT sum(took) FILTER (WHERE queue = 'app.light') / sum(took) < 0.05
		FROM $runs") eq 't', 'the light queue has less than 5 % of the executor time');
$hipq->wait_until(q{SELECT count(*) FROM hipq.executors}, 0);
$hipq->sql("SELECT hipq.drop_queue('app.$_', force => true)") foreach 'light', 'heavy';

# ---- a queue that was idle begins as one of the others
queue(idle => 100);
queue(busy => 100);
fill(busy => 4000, 5);
$hipq->set('hipq.enabled' => 'on');
my $busy = runs('busy');
ok($hipq->wait_until("SELECT coalesce(sum(took), 0) > 3 FROM $busy"), 'one queue runs alone');
fill(idle => 800, 5);    # few enough to show time that was saved up
my $since = 'SELECT min(began) FROM ' . runs('idle');
my $both = runs('idle', 'busy') . " WHERE began >= ($since) AND ended <= (SELECT max(ended) FROM "
	. runs('idle') . ')';
ok($hipq->wait_until("SELECT coalesce(sum(took) FILTER (WHERE queue = 'app.idle'), 0) > 1.5
		AND abs(" . share('idle') . " - 50) <= 10 FROM $both"),
	'a queue that was idle has saved up no executor time: 50 %');
$hipq->switch_off;
$hipq->sql("SELECT hipq.drop_queue('app.$_', force => true)") foreach 'idle', 'busy';

# ---- among owners
$hipq->set('hipq.max_executors' => 1, 'hipq.executor_quantum' => '500ms');
queue(mine => 100);
queue(theirs => 300, owner => 'other');
fill($_ => 6000, 10) foreach 'mine', 'theirs';
have_shares('two owners, weights 1:3, one executor', 12, 6, mine => 25, theirs => 75);

$hipq->set('hipq.max_executors' => 2);
queue(mine => 100);
queue(theirs => 300, owner => 'other');
fill($_ => 6000, 10) foreach 'mine', 'theirs';
have_shares('two owners, weights 1:3, two executors', 20, 6, mine => 25, theirs => 75);

# ---- three owners in one database, and none is left behind
$hipq->set('hipq.max_executors' => 1, 'hipq.executor_quantum' => '300ms');
$hipq->sql('CREATE ROLE third LOGIN');
queue(mine => 100);
queue(theirs => 100, owner => 'other');
queue(last => 100, owner => 'third');
fill($_ => 4000, 10) foreach 'mine', 'theirs', 'last';
have_shares('three owners, one executor', 9, 8, mine => 33, theirs => 33, last => 33);

$hipq->node->stop;
done_testing();
