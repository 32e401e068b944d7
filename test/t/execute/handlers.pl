# Every kind of handler runs as the queue owner, and hipq stores its result. Jobs wait while their
# handler is missing.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('handlers');
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE ROLE producer LOGIN;
	CREATE TABLE written (what text);
	GRANT ALL ON written TO app;
	CREATE TYPE pair AS (x integer, y text);
	GRANT ALL ON SCHEMA public TO app});
$hipq->sql(q{SELECT hipq.grant_queue('app.main', 'producer', 'enqueue')});

my $number = 0;

# Registers a handler with this head and body, and runs one job. Returns the result.
sub result_of
{
	my ($head, $body, $rest) = @_;
	my $type = 'type_' . ++$number;
	$hipq->sql("CREATE FUNCTION $type $head LANGUAGE plpgsql AS \$\$ BEGIN $body END \$\$;
		SELECT hipq.register_job_type('app.main', '$type', handler => '$type')");
	my $id = $hipq->enqueue($type, $rest // q{'{"n": 7}'});
	is($hipq->outcome($id), 'succeeded', "$head succeeds");
	return $hipq->sql("SELECT result FROM hipq.jobs_detail WHERE id = $id");
}

# ---- functions
is(result_of('(data jsonb) RETURNS jsonb', q{RETURN jsonb_build_object('got', data->'n');}),
	'{"got": 7}', 'a jsonb result is stored unchanged');
like(result_of('(job hipq.job) RETURNS text',
		q{RETURN concat_ws(' ', job.state, job.attempt, job.job_type, job.job_data, job.error);}),
	qr/^"running 1 type_2 \{\\"n\\": 7\} NONE"$/,
	"a handler's argument shows a running job");
is(result_of('(id bigint, data jsonb) RETURNS boolean', q{RETURN id > 0 AND data->>'n' = '7';}),
	'true', 'a handler can take id and data');
is(result_of('(data jsonb) RETURNS integer', 'RETURN 42;'), '42', 'an integer result is stored');
is(result_of('(data jsonb) RETURNS numeric', 'RETURN 1.50;'), '1.50', 'a numeric result is stored');
is(result_of('(data jsonb) RETURNS text', q{RETURN 'a "b"';}), '"a \\"b\\""',
	'a text result is stored');
is(result_of('(data jsonb) RETURNS json', q{RETURN '{"b":1, "a":2}';}), '{"a": 2, "b": 1}',
	'a json result is stored');
is(result_of('(data jsonb) RETURNS pair', q{RETURN ROW(1, 'one')::pair;}), '{"x": 1, "y": "one"}',
	'a result of a composite type is stored');
is(result_of('(data jsonb) RETURNS integer[]', 'RETURN ARRAY[1, 2];'), '[1, 2]',
	'an array result is stored');
is(result_of('(data jsonb) RETURNS date', q{RETURN DATE '2026-11-21';}), '"2026-11-21"',
	'a date result is stored');
is(result_of('(data jsonb) RETURNS void', 'NULL;'), '', 'a void function has no result');
is(result_of('(data jsonb) RETURNS jsonb', 'RETURN NULL;'), '',
	'a NULL of type jsonb is no result');
is(result_of('(data jsonb) RETURNS integer', 'RETURN NULL;'), '',
	'a NULL of another type is no result');
is(result_of('(data jsonb) RETURNS jsonb', 'RETURN data;', q{'plain text'}), '"plain text"',
	'plain text arrives as a JSON string');
is(result_of('(data jsonb) RETURNS jsonb', 'RETURN data;', q{'[1, null]'}), '[1, null]',
	'job_data can be any JSON');
is(length(result_of('(data jsonb) RETURNS text', q{RETURN repeat('x', 100000);})), 100_002,
	'a long result is stored whole');
$hipq->sql(q{
	CREATE FUNCTION in_sql(data jsonb) RETURNS void LANGUAGE sql AS $$ INSERT INTO written
		VALUES (data->>'what') $$;
	SELECT hipq.register_job_type('app.main', 'in_sql', handler => 'in_sql')});
is($hipq->outcome_of('in_sql', q{'{"what": "sql"}'}), 'succeeded',
	'a function in SQL can be a handler');
is($hipq->sql('SELECT string_agg(what, $$ $$) FROM written'), 'sql',
	'the effects of a function in SQL are there once');

# ---- the role of a handler
my $who =
	q{RETURN concat_ws(' ', current_user, session_user, pg_has_role('producer', 'USAGE'),
		current_setting('is_superuser'));};
is(result_of('(data jsonb) RETURNS text', $who), '"app app f off"',
	'a handler runs as the queue owner for a superuser');
my $id = $hipq->sql_as('producer', "SELECT hipq.enqueue('type_$number', queue => 'app.main')");
is($hipq->result($id), '"app app f off"', 'a handler runs as the queue owner for another role');
is(result_of('(data jsonb) RETURNS text SECURITY DEFINER',
		'RETURN concat_ws($x$ $x$, current_user, session_user);'),
	'"' . $hipq->sql('SELECT current_user') . ' app"',
	'a SECURITY DEFINER handler runs as the owner of the function');
# Changes that a handler makes in its session do not reach the next job.
result_of('(data jsonb) RETURNS void', q{SET search_path = pg_temp; PERFORM set_config('work_mem',
	'1MB', false); CREATE TEMP TABLE left_over (); PERFORM pg_advisory_lock(7);
	EXECUTE 'PREPARE left_plan AS SELECT 1';});
is(result_of('(data jsonb) RETURNS text',
		q{RETURN concat_ws(' ', current_setting('search_path'), current_setting('work_mem'),
			to_regclass('pg_temp.left_over'),
			(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'),
			(SELECT count(*) FROM pg_prepared_statements WHERE name = 'left_plan'));}),
	'"\\"$user\\", public 4MB 0 0"', 'the next job of an executor finds a clean session');

# ---- procedures and statements
$hipq->sql(q{
	CREATE PROCEDURE in_two_steps(id bigint, data jsonb) LANGUAGE plpgsql AS $$
	BEGIN INSERT INTO written VALUES ('first'); COMMIT; INSERT INTO written VALUES ('second');
		IF data->>'fail' = 'yes' THEN RAISE 'no'; END IF; END $$;
	SELECT hipq.register_job_type('app.main', 'steps', handler => 'in_two_steps')});
$hipq->sql('TRUNCATE written');
is($hipq->outcome_of('steps'), 'succeeded', 'a procedure with COMMIT midway succeeds');
is($hipq->sql('SELECT string_agg(what, $$ $$) FROM written'), 'first second',
	'a procedure has committed both steps');
$hipq->sql('TRUNCATE written');
is($hipq->outcome_of('steps', q{'{"fail": "yes"}'}), 'failed',
	'a procedure that fails after its COMMIT fails');
is($hipq->sql('SELECT string_agg(what, $$ $$) FROM written'), 'first',
	'a procedure that fails keeps what it had committed');

$hipq->sql('TRUNCATE written');
$hipq->sql(q{
	SELECT hipq.register_job_type('app.main', 'statement', handler =>
		'INSERT INTO public.written SELECT ($1->>''what'') || '' '' || ($2 > 0)
			FROM generate_series(1, 3)');
	SELECT hipq.register_job_type('app.main', 'bare', handler => 'DELETE FROM public.written');
	CREATE TABLE owned (); ALTER TABLE owned OWNER TO app;
	SELECT hipq.register_job_type('app.main', 'vacuum',
		handler => 'VACUUM (ANALYZE) public.owned')});
is($hipq->result($hipq->enqueue('statement', q{'{"what": "data"}'})),
	'{"rows": 3, "command": "INSERT"}', "a statement with $1 and $2 stores its command and rows");
is($hipq->sql('SELECT string_agg(DISTINCT what, $$ $$) FROM written'), 'data true',
	'a statement gets data and id');
is($hipq->result($hipq->enqueue('bare')), '{"rows": 3, "command": "DELETE"}',
	'a statement can be without parameters');
is($hipq->result($hipq->enqueue('vacuum')), '{"rows": 0, "command": "VACUUM"}',
	'VACUUM can be a handler');
isnt($hipq->sql("SELECT last_vacuum FROM pg_stat_user_tables WHERE relname = 'owned'"), '',
	'a job with VACUUM has vacuumed the table');

# ---- exactly once
$hipq->sql(q{
	TRUNCATE written;
	CREATE FUNCTION deferred() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF NEW.what = 'late' THEN RAISE 'refused at commit'; END IF; RETURN NULL; END $$;
	CREATE CONSTRAINT TRIGGER deferred AFTER INSERT ON written DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION deferred()});
$id = $hipq->enqueue('in_sql', q{'{"what": "late"}'});
is($hipq->outcome($id), 'failed', 'an error at commit fails the job');
is($hipq->sql('SELECT count(*) FROM written'), '0', 'a job that fails at commit has no effects');
like($hipq->sql("SELECT error FROM hipq.jobs_detail WHERE id = $id"), qr/refused at commit/,
	'a job that fails at commit has the error');

# ---- jobs that wait for their handler
$hipq->sql(q{SELECT hipq.register_job_type('app.main', 'external', handler_kind => 'notify');
	SELECT hipq.register_job_type('app.main', 'nothing')});
my $external = $hipq->enqueue('external');
my $nothing = $hipq->enqueue('nothing');
my $unknown = $hipq->enqueue('unknown', q{queue => 'app.main'});
$hipq->sql(q{DROP FUNCTION in_sql});
my $missing = $hipq->enqueue('in_sql', q{'{"what": "again"}'});
$hipq->sql(q{
	CREATE FUNCTION going(data jsonb) RETURNS void LANGUAGE sql AS '';
	SELECT hipq.register_job_type('app.main', 'strict', handler => 'going',
		on_missing_handler => 'fail', max_retries => 5);
	DROP FUNCTION going});
$id = $hipq->enqueue('strict');
is($hipq->outcome($id), 'failed', 'a job with on_missing_handler => fail fails');
is($hipq->attempts($id), '1 handler_not_found 42883',
	'the attempt of a job with on_missing_handler => fail has reason handler_not_found');
is($hipq->sql("SELECT string_agg(state::text, ' ') FROM hipq.jobs_detail
		WHERE id IN ($external, $nothing, $unknown, $missing)"), 'initial initial initial initial',
	'jobs without a handler wait in state initial');
like($hipq->why($external), qr/^worker: No external worker serves job type "external"/,
	'why() explains a job without an external worker');
like($hipq->why($nothing), qr/^handler: Job type "nothing" has no handler/,
	'why() explains a job of a type without handler');
like($hipq->why($unknown), qr/^handler: Job type "unknown"/,
	'why() explains a job of an unregistered type');
like($hipq->why($missing),
	qr/^handler: The handler cannot run: function public.in_sql\(jsonb\) does not exist/,
	'why() explains a job whose handler was dropped');
is($hipq->outcome_of('bare'), 'succeeded', 'jobs run beside jobs that wait for their handler');

$hipq->sql(q{CREATE FUNCTION in_sql(data jsonb) RETURNS void LANGUAGE sql AS $$ INSERT INTO written
	VALUES (data->>'what') $$});
$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'nothing', handler => 'in_sql')});
is($hipq->outcome($nothing), 'succeeded', 'waiting jobs run when their type gets a handler');
ok($hipq->wait_until("SELECT state = 'final' FROM hipq.jobs_detail WHERE id = $missing", 't', 15),
	'a handler that is created again is found within 15 s');

done_testing();
