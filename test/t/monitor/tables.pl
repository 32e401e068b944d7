# hipq.doctor() finds faults of the tables of queues: tables without a queue, missing tables, late
# retention, dead rows, bloat, and rows that jobs need to start.
use strict;
use warnings;
use HipqCluster;
use HipqDoctor;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('doctor_tables', autovacuum => 'off', 'hipq.retention' => '4h');
$hipq->create_queue('app.main');
is(findings($hipq, 'error', 'warning'), 'warning setting autovacuum: autovacuum off',
	'the tables of a new queue have no findings');

# ---- a table without a queue, and a queue without a table
$hipq->create_queue('app.left');
$hipq->sql(q{DELETE FROM hipq.queue WHERE name = 'left'});
is_mended($hipq, 'warning', 'table without queue', 'table hipq.app_left', qr/and is empty/);
$hipq->create_queue('app.left');
$hipq->sql(q{INSERT INTO hipq.app_left (job_type) VALUES ('work');
	DELETE FROM hipq.queue WHERE name = 'left'});
my $full = is_found($hipq, 'warning', 'table without queue', 'table hipq.app_left',
	qr/and has rows/);
is($full->{statement}, undef, 'the finding of a table with rows has no statement');
$hipq->sql('DROP TABLE hipq.app_left');
is_gone($hipq, 'table without queue', 'table hipq.app_left');

$hipq->create_queue('app.lost');
$hipq->sql('DROP TABLE hipq.app_lost');
is_mended($hipq, 'error', 'queue without table', 'queue "app.lost"',
	qr/hipq\.app_lost does not exist/);
$hipq->create_queue('app.loose');
$hipq->sql('ALTER TABLE hipq.job DETACH PARTITION hipq.app_loose');
is_mended($hipq, 'error', 'queue without table', 'queue "app.loose"',
	qr/is not a partition of hipq\.job/);

# ---- a queue is dropped while a session reads it
$hipq->create_queue('app.half');
my $reader = $hipq->session;
$reader->query_safe('BEGIN; SELECT count(*) FROM hipq.app_half');
$hipq->sql(q{SELECT hipq.drop_queue('app.half')});
is_found($hipq, 'information', 'half dropped', 'queue "app.half"');
$reader->query_safe('COMMIT');
$reader->quit;
ok($hipq->wait_until(q{SELECT count(*) = 0 FROM hipq.doctor() WHERE finding = 'half dropped'}),
	'the finding of a half dropped queue disappears when the session ends');

# ---- retention: hipq does not drop a leaf
$hipq->sql(q{
	CREATE FUNCTION work(data jsonb) RETURNS void LANGUAGE sql AS '';
	SELECT hipq.register_job_type('app.main', 'work', handler => 'work')});
is($hipq->outcome_of('work'), 'succeeded', 'a job runs before hipq is switched off');
ok($hipq->wait_until(q{SELECT count(*) > 0 FROM pg_inherits WHERE inhparent
		= 'hipq.app_main_final'::regclass AND inhrelid::regclass::text ~ '_final_p'}),
	'hipq makes leaves by time');
$hipq->switch_off;
$hipq->sql(q{ALTER SYSTEM SET hipq.clock_offset = '1 d'});
$hipq->sql('SELECT pg_reload_conf()');
ok($hipq->wait_until(q{SELECT hipq.now() > clock_timestamp() + interval '23 h'}),
	"hipq's clock is a day ahead");
my $behind = is_found($hipq, 'warning', 'retention is behind', 'queue "app.main"',
	qr/keeps final jobs for 04:00:00/);
for (1 .. 20)
{
	last unless defined $behind;
	$hipq->sql($behind->{statement});
	$behind = finding_of($hipq, 'retention is behind', 'queue "app.main"');
}
is($behind, undef, 'the statements drop leaf by leaf until retention is not late');
$hipq->sql('ALTER SYSTEM RESET hipq.clock_offset');
$hipq->sql('SELECT pg_reload_conf()');

# ---- dead rows that a snapshot keeps, and then a table that is much too large for its rows
my $session = $hipq->session;
$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
$hipq->sql(q{
	INSERT INTO hipq.app_main (job_type, job_key, job_data, scheduled_run_time)
	SELECT 'work', n, jsonb_build_object('filler', repeat(md5(n::text), 25)), '2100-01-01'
		FROM generate_series(1, 25000) AS n});
$hipq->sql(q{SELECT count(hipq.cancel(id)) FROM hipq.app_main_live WHERE job_key <> '25000'});
ok($hipq->wait_until(q{SELECT pg_stat_get_dead_tuples('hipq.app_main_live'::regclass) > 20000}),
	"the server's statistics have the dead rows");
$session->query_safe('COMMIT');
$session->quit;
is_mended($hipq, 'warning', 'dead rows', 'table hipq.app_main_live');
is_mended($hipq, 'warning', 'bloat', 'table hipq.app_main_live', qr/large with about 1 rows/);
is($hipq->sql('SELECT count(*) FROM hipq.app_main_live'), 1,
	'the statement against bloat keeps the job in the table');
is($hipq->sql(q{SELECT outcome FROM hipq.jobs WHERE job_key = '25000'}), 'waiting',
	'the job waits after the statement against bloat');
$hipq->set('hipq.enabled' => 'on');
is($hipq->outcome_of('work'), 'succeeded', 'jobs run after the statement against bloat');

# ---- jobs whose rows in hipq.dependency are lost, as on a replica without that table
my $last = $hipq->enqueue('work', q{scheduled_run_time => now() + interval '1 day'});
my @later = map { $hipq->enqueue('work', "after => ARRAY[$last]") } 1 .. 20;
my $other = $hipq->enqueue('other', "queue => 'app.main', after => ARRAY[$last]");
is_gone($hipq, 'lost dependencies', 'queue "app.main"');
$hipq->sql(qq{CREATE TABLE lost AS SELECT * FROM hipq.dependency WHERE job_id <> $later[5];
	DELETE FROM hipq.dependency WHERE job_id <> $later[5]});
is($hipq->sql(qq{SELECT hipq.reschedule($last, now()); SELECT outcome FROM hipq.wait_for($last)}),
	"\nsucceeded", 'the job before those with lost dependencies runs');
is($hipq->outcome($later[5]), 'succeeded', 'a job that kept its dependency runs');
my $lost = is_found($hipq, 'error', 'lost dependencies', 'queue "app.main"',
	qr/^At least 11 of its jobs come after others, the oldest is job $later[0], and/);
is($lost->{statement}, undef, 'the finding of lost dependencies has no statement');
$hipq->sql("SELECT hipq.cancel($other)");
$hipq->sql('INSERT INTO hipq.dependency TABLE lost');
$hipq->sql('SELECT hipq.release_hold()');
is($hipq->outcome($later[0]), 'succeeded', 'a job runs when its dependency is loaded again');
is_gone($hipq, 'lost dependencies', 'queue "app.main"');

done_testing();
