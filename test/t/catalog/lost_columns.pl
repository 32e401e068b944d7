# A call that needs a column of hipq's tables which a user has dropped, or whose type a user has
# changed, raises an error that names table and column, and changes nothing. No process crashes.
# Jobs run when the column is back.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('lost_columns', 'hipq.retry_jitter' => 0);
my $node = $hipq->node;
$hipq->create_queue('app.main', history => 'all');
$hipq->sql(q{
	CREATE TABLE ran (id bigint); GRANT ALL ON ran TO app;
	CREATE FUNCTION run(data jsonb) RETURNS void
		LANGUAGE sql AS 'INSERT INTO public.ran SELECT (data->>$$n$$)::bigint';
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run');
	CREATE FUNCTION run_and_wait(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN INSERT INTO public.ran SELECT (data->>'n')::bigint;
			PERFORM pg_advisory_xact_lock_shared(1); END $$;
	SELECT hipq.register_job_type('app.main', 'wait', handler => 'run_and_wait', claim => 'record');
	SELECT hipq.register_job_type('app.main', 'out', handler_kind => 'notify')});
my $worker = $hipq->sql_as('app', q{SELECT hipq.register_worker('outside', '{app.main}', '{out}')});
is($hipq->outcome_of('run', q{'{"n": 1}'}), 'succeeded', 'jobs run');
my $id = $hipq->enqueue('run', q{'{"n": 2}', scheduled_run_time => now() + interval '1 day'});
my $postmaster = $node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()');

my %calls = (
	enqueue => q{SELECT hipq.enqueue('run', '{"n": 3}')},
	enqueue_many => q{SELECT hipq.enqueue_many('run', ARRAY['{"n": 3}', '{"n": 3}']::jsonb[])},
	insert => q{INSERT INTO hipq.app_main (job_type, job_data) VALUES ('run', '{"n": 3}')},
	copy => qq{COPY hipq.app_main (job_type) FROM STDIN;\nrun\n\\.},
	update => qq{UPDATE hipq.app_main SET priority = 1 WHERE id = $id},
	reschedule => "SELECT hipq.reschedule($id, now())",
	cancel => "SELECT hipq.cancel($id)",
	claim => "SET ROLE app; SELECT hipq.claim($worker)",
	pause => q{SELECT hipq.pause('app.main')},
	resume => q{SELECT hipq.resume('app.main')},
	create_queue => q{SELECT hipq.create_queue('app.more')},
	run_until_idle => q{SET hipq.allow_foreign_handlers = on;
		SELECT hipq.run_until_idle('app.main')},
	register_worker => q{SELECT hipq.register_worker('other', '{app.main}', '{out}')});

# PostgreSQL drops a column that a view shows only with the view, and the view only with the
# extension. Therefore this removes the views, and the functions that return their rows, from the
# extension.
$hipq->sql(q{DO $$ DECLARE view regclass; function regprocedure; BEGIN
	FOR function IN SELECT pg_proc.oid FROM pg_proc JOIN pg_class ON pg_class.reltype = prorettype
		WHERE pronamespace = 'hipq'::regnamespace AND relkind = 'v' LOOP
		EXECUTE format('ALTER EXTENSION hipq DROP FUNCTION %s', function); END LOOP;
	FOR view IN SELECT oid FROM pg_class WHERE relnamespace = 'hipq'::regnamespace AND relkind = 'v'
		LOOP EXECUTE format('ALTER EXTENSION hipq DROP VIEW %s', view); END LOOP; END $$});

# Returns the definition of the column, for ADD COLUMN.
sub definition_of
{
	my ($table, $column) = @_;
	return $hipq->sql(qq{SELECT concat_ws(' ', format_type(atttypid, atttypmod), CASE
		WHEN attnotnull THEN 'NOT NULL' END, 'DEFAULT ' || pg_get_expr(adbin, adrelid))
		FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
			WHERE attrelid = 'hipq.$table'::regclass AND attname = '$column'});
}

# sql_again, because the scheduler may read some leaves while this statement locks all of them.
sub alter_table
{
	my ($sql) = @_;
	$hipq->sql_again("SET client_min_messages = warning; ALTER TABLE $sql");
	return;
}

# Drops the column with CASCADE, makes the calls, and adds the column again.
sub without
{
	my ($table, $column, @calls) = @_;
	my $definition = definition_of($table, $column);
	my $before = $hipq->sql('SELECT string_agg(concat_ws($$ $$, id, state, attempt, priority),
		$$, $$ ORDER BY id) FROM hipq.job');
	alter_table("hipq.$table DROP COLUMN $column CASCADE");
	foreach my $call (@calls)
	{
		like($hipq->error_of($calls{$call}),
			qr/42703: table "hipq\.$table" has no column "$column".*Somebody has dropped or renamed this column\..*Rename it back, or add it as hipq--[0-9.]+\.sql defines it/s,
			"without $table.$column $call names the column");
	}
	is($hipq->sql('SELECT string_agg(concat_ws($$ $$, id, state, attempt, priority), $$, $$
			ORDER BY id) FROM hipq.job'), $before, "without $table.$column nothing has changed");
	alter_table("hipq.$table ADD COLUMN $column $definition");
	is($hipq->sql(q{SELECT hipq.enqueue('run', '{"n": 4}') > 0}), 't',
		"with $table.$column again enqueue() works");
	ok($hipq->wait_until('SELECT count(*) FROM ran WHERE id = 4', 1),
		"with $table.$column again the job runs");
	$hipq->sql('TRUNCATE ran');
	return;
}

without('queue', 'weight', sort keys %calls);
without('job_type', 'claim', qw(enqueue insert));
without('pause', 'crashes', qw(enqueue pause resume));
without('job', 'throttle_key', qw(enqueue enqueue_many insert copy update reschedule cancel));
without('job', 'shard_key', qw(enqueue insert));
without('worker', 'capabilities', qw(register_worker));

# ---- a column of another type
alter_table('hipq.job ALTER COLUMN throttle_key DROP DEFAULT, ALTER COLUMN throttle_key '
	. 'TYPE bigint USING 7');
foreach my $call (qw(enqueue enqueue_many insert copy update cancel))
{
	like($hipq->error_of($calls{$call}),
		qr/42804: column "throttle_key" (?:of table "hipq\.job" is of type bigint, not text|is of type bigint but expression is of type text)|42804: a column that hipq reads as text is of type bigint/,
		"with job.throttle_key as bigint $call names the column");
}
alter_table(
	q{hipq.job ALTER COLUMN throttle_key TYPE text COLLATE "C" USING 'NONE',
		ALTER COLUMN throttle_key SET DEFAULT 'NONE'});
is($hipq->sql(q{SELECT hipq.enqueue('run', '{"n": 4}') > 0}), 't',
	'with job.throttle_key as text again enqueue() works');

# ---- a running job, whose end hipq cannot write without the column
my $definition = definition_of('job', 'shard_key');
my $lock = $hipq->hold_lock(1);
my $running = $hipq->enqueue('wait', q{'{"n": 5}'});
ok($hipq->wait_until(q{SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted},
		1), 'a job runs');
alter_table('hipq.job DROP COLUMN shard_key CASCADE');
my $offset = -s $node->logfile;
$lock->quit;
ok($node->wait_for_log(qr/table "hipq\.job" has no column "shard_key"/, $offset),
	'the log names the column that the end of a running job needs');
alter_table("hipq.job ADD COLUMN shard_key $definition");
ok($hipq->wait_until("SELECT state || ' ' || error FROM hipq.job WHERE id = $running",
		'final NONE'), 'a running job ends when the dropped column is back');
is($hipq->sql('SELECT count(*) FROM ran WHERE id = 5'), 1,
	'a job that ends after the dropped column is back has run once');

is($node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()'), $postmaster,
	'the server has not restarted');
unlike(slurp_file($node->logfile),
	qr/terminated by signal|TRAP:|PANIC|(?:server process|client backend) .* exited/,
	'nothing crashed');

done_testing();
