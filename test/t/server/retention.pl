# The scheduler makes leaves of final jobs ahead and drops them when they are due, also beside long
# queries, under load and after a jump of the time. It does not wait for locks. hipq.clock_offset
# moves the time.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hour = 3600;
# The log reports each wait for a lock that takes longer than a millisecond.
my $hipq = HipqCluster->new(
	'retention',
	'hipq.executor_idle_timeout' => '60s',
	'hipq.retention' => '4h',
	'hipq.dead_letter_retention' => '4h',
	autovacuum => 'off',
	deadlock_timeout => '1ms',
	log_line_prefix => '%m [%p] %b ',
	log_lock_waits => 'on',
	log_min_messages => 'debug1');
$hipq->create_queue('app.main', retention => '4 hours');    # leaves of one hour
$hipq->sql(q{
	CREATE FUNCTION run(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN IF data ? 'fail' THEN
		RAISE NOTICE 'nearly'; RAISE 'fails'; END IF; END $$;
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run')});

# The whole database is published, as for Debezium: rows of a table without replica identity could
# not be deleted.
$hipq->sql('CREATE PUBLICATION everything FOR ALL TABLES');

my $leaves = q{SELECT count(*) FROM pg_inherits WHERE inhparent = 'hipq.app_main_final'::regclass};
my $next_leaf = q{SELECT max(to_time) > hipq.now() + interval '2 hours' FROM hipq.sizes_detail
	WHERE kind = 'final'};
my $past_leaves = q{SELECT count(*) FROM hipq.sizes_detail WHERE kind = 'final'
	AND to_time + interval '4 hours' <= hipq.now()};
my $offset = 0;

# Moves hipq's clock and runs a job, so that hipq reads the clock. Returns the id of the job.
sub later
{
	my ($seconds, $rest) = @_;
	move_clock($seconds);
	my $id = $hipq->enqueue('run', $rest);
	$hipq->outcome($id);
	return $id;
}

# Returns how often the pattern is in the log after the offset.
sub logged
{
	my ($pattern, $from) = @_;
	my $log = slurp_file($hipq->node->logfile, $from // 0);
	return scalar(() = $log =~ /$pattern/g);
}

sub log_size { return -s $hipq->node->logfile; }

# Lines of the log about processes of hipq that wait for a lock. An executor may wait to extend a
# file: only its waits for tables count.
my $executor_waits = qr/hipq executor LOG: .* still waiting for \w+ on relation/;
my $scheduler_waits = qr/hipq scheduler LOG: .* still waiting for/;
my $given_up = qr/hipq gave up a change of its tables/;

# Returns a session with an open transaction that has run the query.
sub reader
{
	my ($query) = @_;
	my $session = $hipq->session;
	$session->query_safe('BEGIN');
	$session->query_safe($query);
	return $session;
}

sub end_reader
{
	my ($session) = @_;
	$session->query_safe('COMMIT');
	$session->quit;
	return;
}

sub move_clock
{
	my ($seconds) = @_;
	$offset += $seconds;
	$hipq->set('hipq.clock_offset' => $offset);
	return;
}

is($hipq->sql($leaves), '1', 'a new queue has one leaf, for all times');
my $first = later(0);
ok($hipq->wait_until($leaves, 4, 20),
	'the first final job makes a leaf for now and two ahead, at once');
is($hipq->sql('SELECT count(*) FROM hipq.app_main_final_default'), '0',
	'the first final job moves to its leaf');
ok($hipq->wait_until($next_leaf), 'hipq.sizes shows a leaf that ends more than 2 hours ahead');
my $failed = later(0, q{'{"fail": 1}'});
is($hipq->sql("SELECT count(*) FROM hipq.attempts WHERE job_id = $failed"), '1',
	'the attempt of the failed job is kept');
is($hipq->sql("SELECT count(*) FROM hipq.attempt_logs WHERE job_id = $failed"), '2',
	'the messages of the failed attempt are kept');
is($hipq->sql("SELECT count(*) FROM hipq.dead_letters WHERE job_id = $failed"), '1',
	'the dead letter of the failed job is kept');

# ---- three retention periods, hour by hour
my ($most, $behind, $lost, $in_default, @ids) = (0, 0, 0, 0);
foreach my $n (1 .. 13)
{
	push @ids, later($hour);
	$hipq->wait_until($next_leaf, 't', 5) or $behind++;
	$hipq->wait_until($past_leaves, 0, 5) or $behind++;
	my $count = $hipq->sql($leaves);
	$most = $count if $count > $most;
	my $kept = $n < 4 ? $n : 4;
	my $recent = join ', ', @ids[ -$kept .. -1 ];
	$lost++ if $hipq->sql("SELECT count(*) FROM hipq.job WHERE id IN ($recent)") != $kept;
	$in_default += $hipq->sql('SELECT count(*) FROM hipq.app_main_final_default');
}
is($behind, 0, 'leaves are made ahead and dropped when due, over three retention periods');
cmp_ok($most, '<=', 8, 'there are at most 8 leaves at any time');
is($lost, 0, 'no final job is removed before its retention is over');
is($in_default, 0, 'no final job was in the default leaf');
is($hipq->sql("SELECT count(*) FROM hipq.job WHERE id IN ($first, $failed, $ids[0])"), '0',
	'final jobs are removed after their retention');
ok($hipq->wait_until("SELECT count(*) FROM hipq.attempts WHERE job_id = $failed", 0, 5),
	'attempts are removed after their retention');
ok($hipq->wait_until("SELECT count(*) FROM hipq.attempt_logs WHERE job_id = $failed", 0, 5),
	'messages of attempts are removed after their retention');
ok($hipq->wait_until("SELECT count(*) FROM hipq.dead_letters WHERE job_id = $failed", 0, 5),
	'dead letters are removed after their retention');
cmp_ok($hipq->sql(q{SELECT count(*) FROM pg_inherits WHERE inhparent = 'hipq.attempt'::regclass}),
	'<=', 8, 'attempts have at most 8 leaves');

# ---- a long SELECT
my $reader = reader('SELECT count(*) FROM hipq.app_main');
my $start = log_size();
my @during = map { later(2 * $hour) } 1 .. 3;
is($hipq->sql("SELECT count(*) FROM hipq.jobs WHERE outcome = 'succeeded' AND id = $_"), '1',
	'a job finishes beside a long SELECT') foreach @during;
cmp_ok($hipq->sql($past_leaves), '>', 0, 'leaves that are due stay beside a long SELECT');
# Some seconds of work, during which the scheduler tries repeatedly to drop leaves.
my $slowest = 0;
foreach (1 .. 25)
{
	my $id = $hipq->enqueue('run');
	$hipq->outcome($id);
	my $ms = $hipq->sql("SELECT round(extract(epoch FROM update_time - created_time) * 1000 -
		$offset * 1000.0) FROM hipq.jobs_detail WHERE id = $id");
	$slowest = $ms if $ms > $slowest;
}
$hipq->in_time($slowest / 1000, 1, 'a job is finished within a second beside a long SELECT');
is(logged($executor_waits, $start), 0, 'no executor waits for a lock beside a long SELECT');
is(logged($scheduler_waits, $start), 0,
	'the scheduler does not wait for a lock beside a long SELECT');
is(logged($given_up, $start), 0,
	'the scheduler gives up no change of its tables beside a long SELECT');
end_reader($reader);
ok($hipq->wait_until($past_leaves, 0), 'leaves that are due are dropped when the SELECT ends');
ok($hipq->wait_until($next_leaf), 'leaves ahead are made when the SELECT ends');

# ---- a reader of a table that only DROP TABLE would lock
my $toast = $hipq->sql(q{
	SELECT leaf.reltoastrelid::regclass FROM pg_inherits
		JOIN pg_class AS leaf ON leaf.oid = inhrelid
	WHERE inhparent = 'hipq.app_main_final'::regclass AND leaf.relname LIKE '%final_p%'
		ORDER BY leaf.relname LIMIT 1});
$reader = reader("SELECT count(*) FROM $toast");
$start = log_size();
later(7 * $hour);
ok($hipq->wait_until($past_leaves, 1), 'a leaf whose TOAST table is being read stays');
is(logged($scheduler_waits, $start) + logged($given_up, $start), 0,
	'the scheduler does not wait for the reader of a TOAST table');
end_reader($reader);
ok($hipq->wait_until($past_leaves, 0),
	'the leaf is dropped when the reader of its TOAST table ends');

# ---- rows in the default leaf: the time jumps beyond the leaves while the queue works
$hipq->set('hipq.enabled' => 'off');
$offset += 10 * $hour;
$hipq->set('hipq.clock_offset' => $offset, 'hipq.enabled' => 'on');
my $jumped = $hipq->enqueue('run');
is($hipq->outcome($jumped), 'succeeded', 'a job finishes without a leaf for its time');
ok($hipq->wait_until($next_leaf), 'leaves are made after a jump of the time');
ok($hipq->wait_until('SELECT count(*) FROM hipq.app_main_final_default', 0),
	'the scheduler moves rows out of the default leaf');
is($hipq->sql("SELECT count(*) FROM hipq.job WHERE id = $jumped"), '1',
	'a row moved out of the default leaf is kept');

# Too many rows to move while other processes wait.
$hipq->set('hipq.enabled' => 'off');
$reader = reader('SELECT count(*) FROM hipq.app_main_final_default');
$offset += 10 * $hour;
$hipq->set('hipq.clock_offset' => $offset, 'hipq.enabled' => 'on');
$hipq->sql(q{SELECT hipq.enqueue_many('run', array_agg('{}'::jsonb))
	FROM generate_series(1, 1200)});
$hipq->wait_until('SELECT count(*) FROM hipq.app_main_live', 0);
is($hipq->sql('SELECT count(*) FROM hipq.app_main_final_default'), '1200',
	'1,200 rows gather in the default leaf beside its reader');
end_reader($reader);
ok($hipq->wait_until($next_leaf), 'leaves are made when the reader of the default leaf ends');
is($hipq->sql('SELECT count(*) FROM hipq.app_main_final_default'), '1200',
	'1,200 rows stay in the default leaf');
move_clock(5 * $hour);
ok($hipq->wait_until('SELECT count(*) FROM hipq.app_main_final_default', 0),
	'the default leaf is emptied when the retention of its rows is over');

# ---- under load
$hipq->sql(q{SELECT hipq.enqueue_many('run', array_agg('{}'::jsonb))
	FROM generate_series(1, 1500)});
foreach (1 .. 6)
{
	move_clock($hour);
	$hipq->wait_until($past_leaves, 0);
}
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.app_main WHERE state <> 'final'}, 0),
	'leaves are dropped and made while jobs finish');
is($hipq->sql(q{SELECT count(*) FROM hipq.jobs WHERE outcome NOT IN ('succeeded', 'failed')}), '0',
	'all jobs are final after leaves changed under load');
ok($hipq->wait_until($past_leaves, 0), 'no leaf is left to drop after the load');
cmp_ok($hipq->sql($leaves), '<=', 8, 'there are at most 8 leaves after the load');

# ---- under a load of jobs that read the tables themselves: some job always has a lock, unless the
# scheduler makes a moment without one
$hipq->sql(q{
	CREATE FUNCTION look(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN PERFORM count(*) FROM hipq.app_main WHERE id < 0; PERFORM pg_sleep(0.04); END $$;
	SELECT hipq.register_job_type('app.main', 'look', handler => 'look');
	SELECT hipq.enqueue_many('look', array_agg('{}'::jsonb)) FROM generate_series(1, 6000)});
ok($hipq->wait_until('SELECT count(*) FROM hipq.running', 4), 'four executors are busy');
my $late = 0;
$start = log_size();
foreach (1 .. 3)
{
	move_clock($hour);
	$hipq->wait_until($past_leaves, 0, 20) or $late++;
	$hipq->wait_until($next_leaf, 't', 20) or $late++;
}
is($late, 0, 'leaves are dropped and made in time while jobs read the tables');
cmp_ok($hipq->sql(q{SELECT count(*) FROM hipq.app_main_live}), '>', 1000,
	'the load lasts: more than 1,000 jobs are left');
is(logged($scheduler_waits, $start), 0,
	'the scheduler does not wait for a lock while jobs read the tables');
$hipq->sql(q{SELECT count(hipq.cancel(id, 'enough')) FROM hipq.app_main_live
	WHERE state = 'initial'});

# ---- a queue is dropped
my $gone = q{SELECT to_regclass('hipq.app_other') IS NULL AND NOT EXISTS (SELECT FROM hipq.queue
	WHERE name = 'other')};
$hipq->create_queue('app.other');
$hipq->sql(q{SELECT hipq.drop_queue('app.other')});
is($hipq->sql(q{SELECT count(*) FROM pg_shdepend WHERE refobjid = 'app'::regrole
		AND classid = 'pg_class'::regclass
	AND objid IN (to_regclass('hipq.app_other'), to_regclass('hipq.app_other_live'))}), '0',
		'drop_queue() removes the privileges on the queue');
ok($hipq->wait_until($gone, 't', 10), 'the tables of a dropped queue are removed within 10 s');

$hipq->create_queue('app.other');
$reader = reader('SELECT count(*) FROM hipq.job');
$start = log_size();
$hipq->sql(q{SELECT hipq.drop_queue('app.other')});
is(scalar(grep { $hipq->outcome_of('run') eq 'succeeded' } 1 .. 20), 20,
	'jobs of other queues finish beside a dropped queue');
is($hipq->sql($gone), 'f', 'a dropped queue keeps its tables while a reader has hipq.job');
is(logged($executor_waits, $start) + logged($scheduler_waits, $start) + logged($given_up, $start),
	0, 'no process waits for a lock beside a reader of hipq.job');
end_reader($reader);
ok($hipq->wait_until($gone),
	'the tables of a dropped queue are removed when the reader of hipq.job ends');

$hipq->create_queue('app.other');
$toast = $hipq->sql(
	q{SELECT reltoastrelid::regclass FROM pg_class WHERE oid = 'hipq.app_other_live'::regclass});
$reader = reader("SELECT count(*) FROM $toast");
$start = log_size();
$hipq->sql(q{SELECT hipq.drop_queue('app.other')});
ok($hipq->wait_until(q{SELECT NOT relispartition FROM pg_class
		WHERE oid = 'hipq.app_other'::regclass}),
	'a dropped queue is detached from hipq.job while its TOAST table is being read');
like($hipq->error_of(q{INSERT INTO hipq.app_other (job_type) VALUES ('run')},
		extra_params => [ '-U', 'app' ]), qr/42501/, 'a dropped queue takes no jobs');
is($hipq->sql('SELECT (SELECT count(*) > 0 FROM hipq.queues)
		AND (SELECT count(*) > 0 FROM hipq.sizes) AND (SELECT count(*) > 0 FROM hipq.jobs)'),
	't', 'the views work without the dropped queue');
is(logged($scheduler_waits, $start) + logged($given_up, $start), 0,
	'no process waits for a lock because of a dropped queue');
end_reader($reader);
ok($hipq->wait_until($gone),
	'the tables of a dropped queue are removed when the reader of its TOAST table ends');

# ---- hipq.sizes
# On a fast machine the load ends before the clock moves, and its leaves are dropped. One more job
# makes a leaf with rows.
$hipq->sql(q{SELECT hipq.enqueue('run', '{}')});
$hipq->wait_until(
	q{SELECT count(*) FROM hipq.jobs_detail WHERE outcome <> 'succeeded' AND state <> 'final'}, 0);
$hipq->sql('ANALYZE');
is($hipq->sql(q{SELECT string_agg(DISTINCT kind, ' ' ORDER BY kind) FROM hipq.sizes}),
	'attempt attempt_log dead_letter final live', 'hipq.sizes has all kinds of leaves');
is($hipq->sql(q{SELECT sum(bytes) = sum(pg_total_relation_size(table_name::regclass))
		AND bool_and(bytes > 0) FROM hipq.sizes}), 't', 'view sizes has the bytes of each leaf');
is($hipq->sql(q{SELECT sum(row_estimate) > 0 FROM hipq.sizes_detail WHERE kind = 'final' AND
		from_time < hipq.now() AND rows_per_day > 0}), 't',
	'view sizes has estimates of rows, and of rows per day');

# ---- leaves that hipq 0.2.0 made have no replica identity
my $lacking = q{SELECT count(*) FROM pg_class
	WHERE relname LIKE 'app_main_final%' AND relkind = 'r' AND relreplident <> 'f'};
is($hipq->sql($lacking), 0, 'all leaves have a replica identity');
$hipq->sql('ALTER TABLE hipq.app_main_final_default REPLICA IDENTITY DEFAULT');
later($hour);
ok($hipq->wait_until(qq{SELECT ($lacking) = 0}), 'leaves without a replica identity get one');

done_testing();
