# A job ends correctly although the leaf of its row changes while it runs: users add and drop
# columns, indexes, triggers and constraints, or rewrite the table.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Makes freed memory differ from what it contained.
local @ENV{qw(MALLOC_PERTURB_ GLIBC_TUNABLES)} = (165, 'glibc.malloc.tcache_count=0');
my $hipq = HipqCluster->new('altered_leaf', 'hipq.retry_jitter' => 0);
$hipq->create_queue('app.main', history => 'all');
$hipq->sql(q{
	CREATE TABLE ran (id bigint, what text); GRANT ALL ON ran TO app;
	CREATE TABLE touched (what text);
	CREATE FUNCTION run(job hipq.job) RETURNS jsonb LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO ran VALUES (job.id, job.job_data->>'what');
		PERFORM pg_advisory_xact_lock_shared(1);
		IF job.job_data ? 'next' THEN PERFORM hipq.enqueue(job.job_type, job.job_data - 'next',
			queue => 'app.main', job_key => job.job_key); END IF;
		IF job.job_data ? 'fail' AND job.attempt < 2 THEN RAISE 'no'; END IF;
		RETURN job.job_data;
	END $$;
	CREATE PROCEDURE call(id bigint, data jsonb) LANGUAGE plpgsql AS $$
	BEGIN INSERT INTO ran VALUES (id, 'call'); COMMIT;
		PERFORM pg_advisory_xact_lock_shared(1); END $$;
	CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN INSERT INTO public.touched VALUES (concat_ws(' ', TG_OP, TG_TABLE_NAME));
		RETURN coalesce(NEW, OLD); END $$;
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run', max_retries => 1,
		retry_base => '10 ms', claim => 'record');
	SELECT hipq.register_job_type('app.main', 'call', handler => 'call');
	SELECT hipq.register_job_type('app.main', 'out', handler_kind => 'notify');
	CREATE EXTENSION amcheck});
my $worker = $hipq->sql_as('app', q{SELECT hipq.register_worker('outside', '{app.main}', '{out}')});

# Enqueues a job for the external worker, whose data are too long for a page, and hardly
# compressible.
sub enqueue_outside
{
	return $hipq->enqueue('out', q{(SELECT jsonb_build_object('what', string_agg(md5(n::text), ''))
		FROM generate_series(1, 1000) AS n), queue => 'app.main'});
}

sub run_outside
{
	my ($id, $name) = @_;
	is($hipq->sql_as('app',
			"SELECT id = $id AND md5(job_data->>'what') = (SELECT md5(string_agg(md5(n::text), ''))
			FROM generate_series(1, 1000) AS n) FROM hipq.claim($worker, 1, '60 s')"), 't',
		"$name: a worker accepts a job");
	$hipq->sql_as('app', "SELECT hipq.complete($id, 1)");
	is($hipq->sql("SELECT outcome || ' ' || attempt FROM hipq.jobs WHERE id = $id"), 'succeeded 1',
		"$name: a worker completes a job");
	return;
}

# Runs one job of each kind, alters the leaf while they run, and lets them end.
sub alter_between
{
	my ($name, $before, $after) = @_;
	my $lock = $hipq->hold_lock(1);
	my $long = 'x' x 10_000;
	my %job = (
		plain => $hipq->enqueue('run', qq{'{"what": "$long"}', queue => 'app.main', priority => 3}),
		failing => $hipq->enqueue('run', q{'{"what": "fails", "fail": 1}', queue => 'app.main'}),
		next => $hipq->enqueue('run',
			q{'{"what": "next", "next": 1}', queue => 'app.main', job_key => 'own'}),
		call => $hipq->enqueue('call', q{queue => 'app.main'}));
	my $outside = enqueue_outside();
	ok($hipq->wait_until("SELECT queue_depth FROM hipq.workers", 1),
		"$name: a worker gets a job");
	ok($hipq->wait_until("SELECT count(*) FROM hipq.running WHERE pid IS NOT NULL AND id
			IN ($job{plain}, $job{failing}, $job{next}, $job{call})", 4), "$name: four jobs run");
	$hipq->wait_until("SELECT count(DISTINCT id) FROM ran WHERE id IN ($job{call})", 1);
	$hipq->sql_again($_) foreach @$before;
	$lock->quit;
	foreach my $kind (sort keys %job)
	{
		is($hipq->outcome($job{$kind}), 'succeeded', "$name: the job \"$kind\" succeeds");
	}
	run_outside($outside, $name);
	run_outside(enqueue_outside(), "$name, after the change");
	is($hipq->sql("SELECT concat_ws(' ', attempt, retry_count, priority, length(job_data->>'what'),
			result = job_data) FROM hipq.jobs_detail WHERE id = $job{plain}"), '1 0 3 10000 t',
		"$name: the final row has all values");
	is($hipq->attempts($job{failing}), '1 transient_error P0001, 2 succeeded',
		"$name: the history has the failed attempt");
	ok($hipq->wait_until(q{SELECT count(*) FROM hipq.app_main_live}, 0),
		"$name: no job is left in the live leaf");
	is($hipq->sql(q{SELECT count(*) FROM hipq.jobs WHERE job_key = 'own'
			AND outcome <> 'succeeded'}), 0, "$name: the job and its successor succeed");
	is($hipq->sql('SELECT count(*) - count(DISTINCT id) FROM hipq.job'), 0,
		"$name: no job has two rows");
	my $given = enqueue_outside();
	ok($hipq->wait_until("SELECT queue_depth FROM hipq.workers", 1),
		"$name: a worker gets another job");
	is($hipq->sql(q{SELECT count(bt_index_check(indexrelid, true)) > 2
			FROM pg_index WHERE indrelid = 'hipq.app_main_live'::regclass}), 't',
		"$name: every index has every row");
	run_outside($given, "$name, with checked indexes");
	is($hipq->outcome_of('run', q{'{"what": "later"}', queue => 'app.main'}), 'succeeded',
		"$name: a job runs after the change");
	$hipq->sql_again($_) foreach @$after;
	is($hipq->outcome_of('run', q{'{"what": "later still"}', queue => 'app.main'}), 'succeeded',
		"$name: a job runs after the change is undone");
	return;
}

alter_between('nothing', [], []);
alter_between('a column', [q{ALTER TABLE hipq.job ADD COLUMN extra text}], []);
alter_between('a column with a default',
	[q{ALTER TABLE hipq.job ADD COLUMN more integer NOT NULL DEFAULT 7}], []);
is($hipq->sql('SELECT count(*) FROM hipq.job WHERE more <> 7'), 0,
	'a column with a default has its default in every row');
alter_between('columns that are dropped', [q{ALTER TABLE hipq.job DROP COLUMN extra}],
	[q{ALTER TABLE hipq.job DROP COLUMN more}]);
alter_between('a column that is added and dropped',
	[ q{ALTER TABLE hipq.job ADD COLUMN brief integer DEFAULT 1},
		q{ALTER TABLE hipq.job DROP COLUMN brief} ], []);
alter_between('a rewrite', [ q{VACUUM FULL hipq.app_main_live}, q{VACUUM FULL hipq.job_type},
		q{CLUSTER hipq.app_main_live USING app_main_live_pkey} ], []);
alter_between('an index', [q{CREATE INDEX by_reason ON hipq.app_main_live (update_time, state)}],
	[q{DROP INDEX hipq.by_reason}]);
alter_between('a unique index',
	[q{CREATE UNIQUE INDEX by_all ON hipq.app_main_live (id, state, attempt)}],
	[q{DROP INDEX hipq.by_all}]);
alter_between('a trigger', [q{CREATE TRIGGER touch BEFORE UPDATE OR DELETE ON hipq.app_main_live
		FOR EACH ROW EXECUTE FUNCTION touch()},
	q{CREATE TRIGGER touch_after AFTER INSERT OR UPDATE OR DELETE ON hipq.job
		FOR EACH ROW EXECUTE FUNCTION touch()}],
	[q{DROP TRIGGER touch ON hipq.app_main_live}, q{DROP TRIGGER touch_after ON hipq.job}]);
cmp_ok($hipq->sql(q{SELECT count(*) FROM touched WHERE what = 'DELETE app_main_live'}), '>', 0,
	'a trigger fires when a job leaves the live leaf');
alter_between('a constraint',
	[q{ALTER TABLE hipq.app_main_live ADD CONSTRAINT sane CHECK (priority < 1000)}],
	[q{ALTER TABLE hipq.app_main_live DROP CONSTRAINT sane}]);
alter_between('new leaves', [q{SELECT hipq.alter_queue('app.main', retention => '1 hour')},
		q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE backend_type = 'hipq scheduler'}], []);

# ---- jobs that were claimed by a row lock: changes that do not wait for this lock may happen
$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'run', claim => 'lock'); TRUNCATE touched});
alter_between('an index, claimed by lock',
	[q{CREATE INDEX by_reason ON hipq.app_main_live (update_time, state)}],
	[q{DROP INDEX hipq.by_reason}]);
alter_between('a trigger, claimed by lock', [q{CREATE TRIGGER touch BEFORE UPDATE
		OR DELETE ON hipq.app_main_live FOR EACH ROW EXECUTE FUNCTION touch()}],
	[q{DROP TRIGGER touch ON hipq.app_main_live}]);
cmp_ok($hipq->sql(q{SELECT count(*) FROM touched WHERE what = 'DELETE app_main_live'}), '>', 0,
	'a trigger fires when a job claimed by lock leaves the live leaf');
alter_between('statistics, claimed by lock', [q{VACUUM ANALYZE hipq.app_main_live}], []);

# ---- a worker locks the row of its job before it accepts it
my $held = enqueue_outside();
ok($hipq->wait_until(q{SELECT queue_depth FROM hipq.workers}, 1),
	'a worker gets a job before it locks the row');
is($hipq->sql_as('app', "BEGIN; SELECT id = $held FROM hipq.app_main WHERE id = $held FOR UPDATE;
		SELECT id = $held FROM hipq.claim($worker); COMMIT"), "t\nt",
	'a worker can lock a job and then accept it');
$hipq->sql_as('app', "SELECT hipq.complete($held, 1)");

# ---- an index calls a function that an external worker must not call
my $given = enqueue_outside();
ok($hipq->wait_until(q{SELECT queue_depth FROM hipq.workers}, 1),
	'a worker gets a job before an index is created');
$hipq->sql(q{CREATE FUNCTION private(timestamptz) RETURNS float8 IMMUTABLE LANGUAGE sql
	AS 'SELECT extract(epoch FROM $1)::float8'; REVOKE EXECUTE ON FUNCTION private FROM PUBLIC;
	CREATE INDEX by_private ON hipq.app_main_live (private(update_time))});
run_outside($given, 'an index with a function that the worker must not call');
$hipq->sql(q{DROP INDEX hipq.by_private});

# ---- a constraint of the whole queue, which an external worker's job does not change
$given = enqueue_outside();
ok($hipq->wait_until(q{SELECT queue_depth FROM hipq.workers}, 1),
	'a worker gets a job before constraints change');
# A constraint replaces another one, so that their number does not change.
my $values = 'job_values_are_in_range';
my $condition = $hipq->sql("SELECT pg_get_expr(conbin, conrelid) FROM pg_constraint
	WHERE conrelid = 'hipq.job'::regclass AND conname = '$values'");
$hipq->sql("ALTER TABLE hipq.job DROP CONSTRAINT $values,
	ADD CONSTRAINT swapped CHECK (priority <> 78)");
like($hipq->error_of(q{SELECT hipq.enqueue('run', queue => 'app.main', priority => 78)}),
	qr/23514: .*"swapped"/, 'a constraint that replaces another one holds for new jobs');
is($hipq->outcome_of('run', q{'{"what": "swapped"}', queue => 'app.main'}), 'succeeded',
	'jobs run with a constraint that replaces another one');
$hipq->sql("ALTER TABLE hipq.job DROP CONSTRAINT swapped, ADD CONSTRAINT $values CHECK ($condition
	AND priority <> 79)");
like($hipq->error_of(q{SELECT hipq.enqueue('run', queue => 'app.main', priority => 79)}),
	qr/23514: .*"$values"/, 'a changed constraint of the same name holds for new jobs');
is($hipq->outcome_of('run', q{'{"what": "renamed"}', queue => 'app.main'}), 'succeeded',
	'jobs run with a changed constraint of the same name');
# A search_path must not make another function look like a built-in one.
$hipq->sql("CREATE SCHEMA fake; CREATE FUNCTION fake.isfinite(timestamptz) RETURNS boolean IMMUTABLE
	LANGUAGE sql AS 'SELECT \$1 <> \$\$2101-01-01\$\$';
	SET search_path = fake, pg_catalog;
	ALTER TABLE hipq.job DROP CONSTRAINT $values, ADD CONSTRAINT $values CHECK ($condition)");
like($hipq->error_of(q{SET search_path = fake, pg_catalog;
		SELECT hipq.enqueue('run', queue => 'app.main', scheduled_run_time => '2101-01-01')}),
	qr/23514: .*"$values"/, 'a constraint that calls another function of the same name holds');
$hipq->sql("ALTER TABLE hipq.job DROP CONSTRAINT $values,
	ADD CONSTRAINT $values CHECK ($condition)");
$hipq->sql(q{ALTER TABLE hipq.app_main ADD CONSTRAINT unaccepted CHECK (accepted_time > '9998-01-01'
	OR job_type <> 'out') NOT VALID});
my ($status, undef, $error) = $hipq->node->psql('postgres',
	"SELECT count(*) FROM hipq.claim($worker)", extra_params => [ '-U', 'app' ]);
like($error, qr/violates check constraint "unaccepted"/,
	'a constraint of the queue can keep a worker from accepting');
$hipq->sql(q{ALTER TABLE hipq.app_main DROP CONSTRAINT unaccepted});
run_outside($given, 'after a constraint of the queue is dropped');

# ---- a trigger that changes the catalogue, so that hipq reads it again, and does not free what is
# in use
my $own = $hipq->sql(q{
	CREATE FUNCTION alter_type() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM hipq.alter_job_type('app.main', 'out', default_priority => 7);
		PERFORM hipq.heartbeat(worker_id) FROM hipq.workers WHERE name = 'own';
		RETURN NEW;
	END $$;
	CREATE FUNCTION alter_and_enqueue() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM hipq.alter_job_type('app.main', 'light', default_priority => 7);
		PERFORM hipq.enqueue('light', queue => 'app.main', scheduled_run_time => '2100-01-01');
		RETURN OLD;
	END $$;
	SELECT hipq.register_job_type('app.main', 'heavy', handler => 'run',
		default_throttle_factor => 2, default_time_windows => '00:00-24:00');
	SELECT hipq.register_job_type('app.main', 'light', default_throttle_factor => 7.5);
	SELECT hipq.deregister_worker(%s);
	SELECT hipq.register_worker('own', '{app.main}', '{out}')} =~ s/%s/$worker/r) =~ s/.*\n//sr;
$given = enqueue_outside();
ok($hipq->wait_until(q{SELECT queue_depth FROM hipq.workers}, 1),
	'a worker gets a job before a trigger changes the catalogue');
$hipq->sql(q{CREATE TRIGGER alter_type BEFORE UPDATE ON hipq.app_main_live
	FOR EACH ROW EXECUTE FUNCTION alter_type()});
is($hipq->sql("SELECT concat_ws(' ', id, queue) FROM hipq.claim($own)"), "$given app.main",
	'a worker accepts a job whose trigger changes the catalogue');
$hipq->sql("SELECT hipq.complete($given, 1)");
$hipq->sql(q{DROP TRIGGER alter_type ON hipq.app_main_live;
	CREATE TRIGGER alter_and_enqueue BEFORE DELETE ON hipq.app_main_live FOR EACH ROW
		WHEN (OLD.job_data ? 'next') EXECUTE FUNCTION alter_and_enqueue()});
$hipq->sql(q{SET hipq.allow_foreign_handlers = on;
	BEGIN;
	SELECT hipq.enqueue('heavy', '{"next": 1}', queue => 'app.main', job_key => 'twin');
	SELECT hipq.run_until_idle('app.main');
	COMMIT});
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.jobs WHERE job_key = 'twin'
		AND outcome = 'succeeded'}, 2),
	'a job whose trigger changes the catalogue succeeds, and so does its successor');
is($hipq->sql(q{SELECT string_agg(DISTINCT concat_ws(' ', job_type, throttle_factor,
		coalesce(left(time_windows, 20), 'always')), ', ') FROM hipq.jobs_detail
		WHERE job_type IN ('heavy', 'light')}),
	'heavy 2.000 00:00-24:00, light 7.500 always',
			'jobs enqueued while the catalogue changes have the values of their types');

done_testing();
