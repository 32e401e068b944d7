# hipq locks and finishes jobs without SQL if their tables are as it made them, and otherwise by
# SQL. The rows are the same in both ways.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('direct_rows', track_functions => 'all',
	'hipq.executor_idle_timeout' => '100ms');
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE FUNCTION echo(job hipq.job) RETURNS jsonb LANGUAGE plpgsql AS $$ BEGIN
		RETURN job.job_data; END $$;
	CREATE FUNCTION echo_all(data jsonb[]) RETURNS jsonb[] LANGUAGE plpgsql AS $$ BEGIN
		RETURN data; END $$;
	SELECT hipq.register_job_type('app.main', 'locked', handler => 'echo', claim => 'lock');
	SELECT hipq.register_job_type('app.main', 'recorded', handler => 'echo', claim => 'record');
	SELECT hipq.register_job_type('app.main', 'batch', handler => 'echo_all', claim => 'lock',
		batch_size => 10)});
# How often the guard is called for a job: at its INSERT, and at the UPDATE that records a claim.
my %guard_calls = (locked => 1, recorded => 2, batch => 1);

# Returns the number of calls of the guard. Processes report their counts when they end, which may
# be after hipq.executors has removed them.
sub guard_calls
{
	$hipq->wait_until(q{SELECT count(*) FROM pg_stat_activity
		WHERE backend_type IN ('hipq executor', 'client backend') AND pid <> pg_backend_pid()}, 0)
	  or die 'executors or sessions stay';
	return $hipq->sql(q{SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions
		WHERE schemaname = 'hipq' AND funcname = '_guard_job'});
}

# Runs 20 jobs. Returns the number of calls of the guard for each.
sub run_jobs
{
	my ($type, $what) = @_;
	my $before = guard_calls();
	my $ids = $hipq->sql(qq{WITH new AS (INSERT INTO hipq.app_main (job_type, job_data)
		SELECT '$type', jsonb_build_object('n', n, 'text', repeat('x', 200))
		FROM generate_series(1, 20) AS n RETURNING id) SELECT string_agg(id::text, ',') FROM new});
	ok($hipq->wait_until("SELECT count(*) FROM hipq.jobs WHERE id IN ($ids)
			AND outcome = 'succeeded'", 20), "$type, $what: jobs succeed");
	is($hipq->sql("SELECT count(*) FROM hipq.jobs_detail WHERE id IN ($ids) AND result = job_data
			AND state = 'final' AND attempt = 1 AND error IS NULL AND retry_reason IS NULL
		AND update_time >= accepted_time AND accepted_time >= created_time AND deadline IS NULL"),
			20, "$type, $what: the rows of the jobs are right");
	return (guard_calls() - $before) / 20;
}

# The first final jobs of a queue cause leaves by time to be made, and SQL moves the jobs there.
run_jobs('batch', 'without leaves by time');
ok($hipq->wait_until('SELECT (SELECT count(*) FROM hipq.app_main_final_default) = 0 AND count(*) > 1
		FROM pg_inherits WHERE inhparent = $$hipq.app_main_final$$::regclass'),
	'the first final jobs make leaves by time');
cmp_ok(run_jobs($_, 'tables as made'), '==', $guard_calls{$_}, "$_: jobs are finished without SQL")
	foreach sort keys %guard_calls;

# ---- large values
foreach my $type (sort keys %guard_calls)
{
	my $id = $hipq->enqueue($type, q{(SELECT jsonb_build_object('text',
		string_agg(md5(n::text), '')) FROM generate_series(1, 20000) AS n)});
	is($hipq->outcome($id), 'succeeded', "$type: a job with 640 kB of data succeeds");
	is($hipq->sql("SELECT md5(job_data::text) = md5(result::text)
			AND length(job_data->>'text') = 640000 FROM hipq.jobs_detail WHERE id = $id"), 't',
		"$type: large data and a large result are stored");
	my $leaf = $hipq->sql("SELECT reltoastrelid::regclass FROM pg_class
		WHERE oid = (SELECT tableoid FROM hipq.job WHERE id = $id)");
	cmp_ok($hipq->sql("SELECT count(*) FROM $leaf"), '>', 100,
		"$type: large values are stored in the final leaf");
}
is($hipq->sql(q{SELECT count(*) FROM hipq.app_main_live}), 0,
	'no row is left in the live leaf after jobs with large values');

# ---- a queue that does not keep succeeded jobs
sub kept_nothing
{
	my ($type, $what) = @_;
	my $ids = $hipq->sql(qq{SELECT string_agg(id::text, ',') FROM unnest(hipq.enqueue_many('$type',
		ARRAY['{"n": 1}', '{"n": 2}', '{"fail": 1}', '{"n": 3}']::jsonb[])) AS id});
	ok($hipq->wait_until("SELECT count(*) FROM hipq.app_nothing_live", 0),
		"$type, $what: all jobs end");
	is($hipq->sql("SELECT string_agg(outcome || ' ' || (job_data->>'fail'), ',')
			FROM hipq.jobs_detail WHERE id IN ($ids)"), 'failed 1',
		"$type, $what: only the failed job leaves a row");
	is($hipq->sql(qq{SELECT string_agg(reason, ' ' ORDER BY reason) FROM hipq.attempts
			WHERE job_id IN ($ids)}), 'succeeded succeeded succeeded transient_error',
		"$type, $what: each job has one outcome");
}
$hipq->sql(q{
	SELECT hipq.create_queue('app.nothing', owner => 'app', retention => '0', history => 'all');
	CREATE FUNCTION may_fail(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		IF data ? 'fail' THEN RAISE 'fails'; END IF; END $$;
	CREATE FUNCTION may_fail_all(data jsonb[]) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		PERFORM may_fail(one) FROM unnest(data) AS one; END $$;
	SELECT hipq.register_job_type('app.nothing', 'nothing locked',
		handler => 'may_fail', claim => 'lock');
	SELECT hipq.register_job_type('app.nothing', 'nothing recorded', handler => 'may_fail',
		claim => 'record');
	SELECT hipq.register_job_type('app.nothing', 'nothing batch', handler => 'may_fail_all',
		claim => 'lock', batch_size => 10)});
kept_nothing($_, 'tables as made') foreach 'nothing locked', 'nothing recorded', 'nothing batch';
$hipq->sql(q{CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	RETURN coalesce(new, old); END $$; CREATE TRIGGER added BEFORE DELETE ON hipq.app_nothing_live
	FOR EACH ROW EXECUTE FUNCTION watch()});
kept_nothing($_, 'by SQL') foreach 'nothing locked', 'nothing recorded', 'nothing batch';

# ---- indexes, triggers and constraints that users add
my $final = $hipq->sql(q{SELECT tableoid::regclass FROM hipq.job LIMIT 1});
$hipq->sql("CREATE INDEX on_result ON $final ((result->>'n'));
	CREATE INDEX on_type ON $final (job_type) WHERE job_type LIKE 'l%'");
cmp_ok(run_jobs('locked', 'with further indexes'), '==', 1,
	'locked: jobs are finished without SQL in a leaf with more indexes');
is($hipq->sql("SET enable_seqscan = off; SELECT count(*) FROM $final WHERE result->>'n' = '7'"),
	$hipq->sql("SET enable_indexscan = off; SET enable_bitmapscan = off;
		SELECT count(*) FROM $final WHERE result->>'n' = '7'"),
	'indexes that users add have all rows');
my $values = 'job_values_are_in_range';
my $condition = $hipq->sql("SELECT pg_get_expr(conbin, conrelid) FROM pg_constraint
	WHERE conrelid = 'hipq.job'::regclass AND conname = '$values'");
my %additions = (
	'a trigger on the live leaf' => ['CREATE FUNCTION pass() RETURNS trigger
		LANGUAGE plpgsql AS $$ BEGIN RETURN coalesce(new, old); END $$; CREATE TRIGGER added BEFORE
		DELETE ON hipq.app_main_live FOR EACH ROW EXECUTE FUNCTION pass()',
		'DROP FUNCTION pass CASCADE'],
	'a trigger on the final leaf' => ["CREATE TABLE told (id bigint); GRANT ALL ON told TO app;
		CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN
		INSERT INTO public.told VALUES (new.id); RETURN new; END \$\$;
		CREATE TRIGGER added AFTER INSERT ON $final FOR EACH ROW EXECUTE FUNCTION tell()",
			'DROP FUNCTION tell CASCADE'],
	'no primary key' => ['ALTER TABLE hipq.app_main_live DROP CONSTRAINT app_main_live_pkey',
		'ALTER TABLE hipq.app_main_live ADD CONSTRAINT app_main_live_pkey PRIMARY KEY (id)'],
	'another condition under the name of a constraint' => ["ALTER TABLE hipq.job DROP CONSTRAINT
		$values, ADD CONSTRAINT $values CHECK ($condition AND id > 0)",
		"ALTER TABLE hipq.job DROP CONSTRAINT $values, ADD CONSTRAINT $values CHECK ($condition)"],
	'a constraint' => ["ALTER TABLE $final ADD CONSTRAINT added CHECK (id > 0)",
			"ALTER TABLE $final DROP CONSTRAINT added"]);
foreach my $what (sort keys %additions)
{
	my ($add, $remove) = @{ $additions{$what} };
	$hipq->sql($add);
	cmp_ok(run_jobs($_, "with $what"), '==', $guard_calls{$_} + 2,
		"$_: jobs are finished by SQL with $what")
		foreach sort keys %guard_calls;
	$hipq->sql("SET client_min_messages = warning; $remove");
}
is($hipq->sql('SELECT count(*) FROM told'), 60, 'a trigger on the final leaf fires for each job');
cmp_ok(run_jobs($_, 'additions removed'), '==', $guard_calls{$_},
	"$_: jobs are finished without SQL after additions are removed") foreach sort keys %guard_calls;

done_testing();
