# Handlers that run in a client's session (run_until_idle, dry_run) get none of its rights, and
# leave nothing in the session.
use strict;
use warnings;
use lib 't';
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('client_session');
$hipq->sql(q{CREATE ROLE member LOGIN IN ROLE app; GRANT TEMPORARY ON DATABASE postgres TO app;
	CREATE EXTENSION dblink});
$hipq->create_queue('app.q');
$hipq->sql(q{
	CREATE SCHEMA app AUTHORIZATION app;
	GRANT SELECT ON ALL TABLES IN SCHEMA hipq TO app;
	SET SESSION AUTHORIZATION app;
	CREATE FUNCTION app.do(data jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
	DECLARE
	    answer text;
	BEGIN
	    IF data ? 'ask' THEN EXECUTE data->>'ask' INTO answer; ELSE EXECUTE data->>'do'; END IF;
	    RETURN to_jsonb(answer);
	END $$;
	CREATE FUNCTION app.retry(data jsonb) RETURNS interval LANGUAGE plpgsql AS $$ BEGIN
		EXECUTE data->>'retry'; RETURN NULL; END $$;
	CREATE FUNCTION app.batch(data jsonb[]) RETURNS jsonb[] LANGUAGE plpgsql AS $$
	DECLARE
	    each jsonb;
	BEGIN
	    FOREACH each IN ARRAY data LOOP EXECUTE each->>'do'; END LOOP;
	    RETURN data;
	END $$;
	SELECT hipq.register_job_type('app.q', 'do', handler => 'app.do'),
	       hipq.register_job_type('app.q', 'asks', handler => 'app.do',
	       	retry_handler => 'app.retry'),
	       hipq.register_job_type('app.q', 'batch', handler => 'app.batch', batch_size => 10);
	SELECT hipq.pause('app.q')});
# Only this test runs the jobs.
$hipq->set('hipq.max_executors' => 0);
$hipq->sql(q{SELECT hipq.resume('app.q')});

# Returns the data of a job that executes a statement, in one line, because a string of JSON has no
# line breaks.
sub do_job
{
	my ($statement) = @_;
	return qq{{"do": "${\($statement =~ s/\s+/ /gr)}"}};
}

# Runs a job with these data in a superuser's session. Returns the output of the statements before
# the call, of those after it, and the end of the job.
sub visit
{
	my ($data, %do) = @_;
	my $type = $do{type} // 'do';
	my $before = $do{before} // '';
	my $after = $do{after} // '';
	my $run = $do{run} // q{SELECT FROM hipq.run_until_idle('app.q');};
	my $end = $do{end} // 'ROLLBACK';
	my ($status, $out, $err) = $hipq->try_sql(qq{
		SET client_min_messages = error;
		SET hipq.allow_foreign_handlers = on;
		$before;
		BEGIN;
		SELECT hipq.enqueue('$type', \$data\$$data\$data\$, queue => 'app.q') AS id \\gset
		$run
		SELECT outcome, error FROM hipq.jobs_detail WHERE id = :id;
		$after;
		$end;});
	return $out . ($err =~ s/^psql:<stdin>:\d+: //mr);
}

# ---- roles that can run handlers in their session

like($hipq->error_of(q{SELECT hipq.run_until_idle('app.q')}),
	qr/ERROR:  42501: handlers of queue "app\.q" would run in the session of another role.*SET SESSION AUTHORIZATION app.*hipq\.allow_foreign_handlers/s,
	"run_until_idle() is refused to a superuser for another role's handlers");
like($hipq->error_of(q{SET ROLE app; SELECT hipq.run_until_idle('app.q')}), qr/ERROR:  42501/,
	'run_until_idle() is refused to a superuser after SET ROLE');
like($hipq->error_of(q{SELECT hipq.run_until_idle('app.q')}, extra_params => [ '-U', 'member' ]),
	qr/ERROR:  42501/, 'run_until_idle() is refused to a member of the owner');
like($hipq->error_of(q{SET ROLE app; SELECT hipq.run_until_idle('app.q')},
		extra_params => [ '-U', 'member' ]),
	qr/ERROR:  42501/, 'run_until_idle() is refused to a member of the owner after SET ROLE');
like($hipq->error_of(q{BEGIN; SELECT hipq.enqueue('do', '{}', queue => 'app.q') AS id \gset
	SELECT hipq.dry_run(:id)}), qr/ERROR:  42501/,
		"dry_run() is refused to a superuser for another role's handlers");
is($hipq->sql_as('app', q{SELECT hipq.run_until_idle('app.q')}), 0,
	'the owner can call run_until_idle()');
is($hipq->sql(q{SET SESSION AUTHORIZATION app; SELECT hipq.run_until_idle('app.q')}), 0,
	'a session can call run_until_idle() after SET SESSION AUTHORIZATION');
is($hipq->sql(q{SET hipq.allow_foreign_handlers = on; SELECT hipq.run_until_idle('app.q')}), 0,
	'a superuser can call run_until_idle() with hipq.allow_foreign_handlers');
is($hipq->sql_as('member',
		q{SET hipq.allow_foreign_handlers = on; SELECT hipq.run_until_idle('app.q')}), 0,
	'a member can call run_until_idle() with hipq.allow_foreign_handlers');
like($hipq->error_of(q{SET hipq.allow_foreign_handlers = on; SELECT hipq.run_until_idle('app.q')},
		extra_params => [ '-U', 'app', '-c', 'SELECT 1' ]),
	qr/no error/, 'the owner can set hipq.allow_foreign_handlers');

# No role can set it for other roles.
my $not_for_others =
	qr/ERROR:  22023: invalid value for parameter "hipq\.allow_foreign_handlers": 1?/;
foreach my $scope ('DATABASE postgres', 'ROLE postgres',
	'ROLE postgres IN DATABASE postgres', 'SYSTEM')
{
	like($hipq->error_of("ALTER $scope SET hipq.allow_foreign_handlers = on"), $not_for_others,
		"ALTER $scope cannot switch hipq.allow_foreign_handlers on");
	unlike($hipq->error_of("ALTER $scope SET hipq.allow_foreign_handlers = off"), qr/ERROR/,
		"ALTER $scope can switch hipq.allow_foreign_handlers off");
	$hipq->sql("ALTER $scope RESET hipq.allow_foreign_handlers");
}
$hipq->node->append_conf('postgresql.conf', "hipq.allow_foreign_handlers = on\n");
$hipq->sql('SELECT pg_reload_conf()');
ok($hipq->node->wait_for_log(qr/invalid value for parameter "hipq\.allow_foreign_handlers"/),
	'postgresql.conf cannot switch hipq.allow_foreign_handlers on');
is($hipq->sql('SHOW hipq.allow_foreign_handlers'), 'off', 'hipq.allow_foreign_handlers stays off');
$hipq->node->adjust_conf('postgresql.conf', 'hipq.allow_foreign_handlers', undef);
$hipq->sql('SELECT pg_reload_conf()');
{
	local $ENV{PGOPTIONS} = '-c hipq.allow_foreign_handlers=on';
	is($hipq->sql(q{SET hipq.allow_foreign_handlers = off; RESET hipq.allow_foreign_handlers;
			SELECT hipq.run_until_idle('app.q')}),
		0, 'the options of the connection can switch hipq.allow_foreign_handlers on');
}
$hipq->sql(q{CREATE FUNCTION app.allow() RETURNS text LANGUAGE sql SECURITY DEFINER AS $$
	SELECT set_config('hipq.allow_foreign_handlers', 'on', false) $$;
		ALTER FUNCTION app.allow() OWNER TO app});
like($hipq->error_of('SELECT app.allow()'), $not_for_others,
	'a SECURITY DEFINER function cannot switch hipq.allow_foreign_handlers on');

# ---- deferred triggers
#
# A trigger that defers itself again each time it fires. A sequence counts calls by other roles than
# the owner, because a rollback does not reset it.
$hipq->sql(q{
	SET SESSION AUTHORIZATION app;
	CREATE TABLE app.trap (n integer);
	CREATE TABLE app.seen (n integer, by_whom text);
	CREATE SEQUENCE app.others;
	CREATE FUNCTION app.spring() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
	    INSERT INTO app.seen VALUES (NEW.n, current_user);
	    IF current_user <> 'app' THEN PERFORM nextval('app.others'); END IF;
	    IF NEW.n < 5 THEN
	        SET CONSTRAINTS ALL DEFERRED;
	        EXECUTE format('INSERT INTO %s VALUES ($1)', TG_RELID::regclass) USING NEW.n + 1;
	    END IF;
	    RETURN NULL;
	END $$;
	CREATE FUNCTION app.careful_spring() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
	    IF current_user <> 'app' THEN PERFORM nextval('app.others'); END IF;
	    SET CONSTRAINTS ALL DEFERRED;
	    BEGIN
	        INSERT INTO app.trap VALUES (NEW.n);
	        RAISE EXCEPTION 'undone';
	    EXCEPTION WHEN OTHERS THEN NULL;
	    END;
	    RETURN NULL;
	END $$;
	CREATE CONSTRAINT TRIGGER d AFTER INSERT ON app.trap DEFERRABLE
		FOR EACH ROW EXECUTE FUNCTION app.spring();
	CREATE TABLE app.later_trap (n integer);
	CREATE CONSTRAINT TRIGGER "Say ""later"", app.d" AFTER INSERT ON app.later_trap DEFERRABLE
		INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION app.spring();
	CREATE TABLE app.careful_trap (n integer);
	CREATE CONSTRAINT TRIGGER careful AFTER INSERT ON app.careful_trap DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION app.careful_spring();
	CREATE TABLE app.outer_trap (n integer);
	CREATE FUNCTION app.outer_spring() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO app.later_trap VALUES (NEW.n); RETURN NULL; END $$;
	CREATE CONSTRAINT TRIGGER outermost AFTER INSERT ON app.outer_trap DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION app.outer_spring()});

my $put_off = 'SET CONSTRAINTS app.d DEFERRED; INSERT INTO app.trap VALUES (1)';
my $temporary = 'CREATE TEMPORARY TABLE t (n integer);
	CREATE CONSTRAINT TRIGGER t AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW '
  . 'EXECUTE FUNCTION app.spring(); INSERT INTO t VALUES (1)';
my $twice = q{SELECT FROM hipq.run_until_idle('app.q');} x 2;
my $refused = qr/cannot fire deferred trigger within security-restricted operation/;

sub put_off
{
	my ($name, $data, %do) = @_;
	my $expected = delete $do{expected} // $refused;
	like(visit($data, end => 'COMMIT', %do), $expected, "$name ends as expected");
	is($hipq->sql('SELECT is_called FROM app.others'), 'f',
		"$name: no trigger has run with the caller's rights");
	$hipq->sql(q{DELETE FROM app.seen; SELECT setval('app.others', 1, false)});
	return;
}

put_off('a trigger that defers itself', qq{{"do": "$put_off"}});
put_off('a trigger that defers itself, with a second call', qq{{"do": "$put_off"}}, run => $twice);
put_off('a constraint trigger with an unusual name',
	q{{"do": "INSERT INTO app.later_trap VALUES (1)"}});
put_off('a deferred trigger of a temporary table', do_job($temporary));
put_off('a deferred trigger that another one queues',
	q{{"do": "INSERT INTO app.outer_trap VALUES (1)"}});
put_off('a deferred trigger of a batch', qq{{"do": "$put_off"}}, type => 'batch');
put_off('a deferred trigger of a retry handler',
	qq{{"do": "SELECT 1 / 0", "retry": "$put_off"}}, type => 'asks',
	expected => qr/retry handler|cannot fire|division/);
put_off('a deferred trigger in dry_run()',
	qq{{"do": "$put_off"}}, run => q{SELECT error FROM hipq.dry_run(:id);});
put_off('a deferred trigger after a savepoint',
	qq{{"do": "$put_off"}}, run => qq{SAVEPOINT a; $twice},
	after => 'ROLLBACK TO a; SELECT hipq.cancel(:id)');
put_off('a deferred trigger before a savepoint', qq{{"do": "$put_off"}},
	after => q{SAVEPOINT a; SELECT FROM hipq.run_until_idle('app.q'); ROLLBACK TO a});
put_off('a deferred trigger of a cancelled handler', qq{{"do": "$put_off; SELECT pg_sleep(60)"}},
	before => q{SET statement_timeout = '100ms'}, run => q{SAVEPOINT a;
	\set ON_ERROR_STOP off
	SELECT FROM hipq.run_until_idle('app.q');
	ROLLBACK TO a;
	\set ON_ERROR_STOP on
	}, after => 'SELECT hipq.cancel(:id)', expected => qr/canceling statement/);
put_off('a deferred trigger that rolls back what it does',
	q{{"do": "INSERT INTO app.careful_trap VALUES (1)"}},
	expected => qr/succeeded|$refused/);
put_off('a handler that only defers constraints', q{{"do": "SET CONSTRAINTS ALL DEFERRED"}},
	expected => qr/succeeded/,
	after => q{SELECT set_config('my.n', '5', true); SAVEPOINT b;
		INSERT INTO app.careful_trap VALUES (1); ROLLBACK TO b});
is($hipq->sql(q{SELECT count(*) FROM app.trap}), 0, 'refused deferred triggers leave no rows');

# ---- the state of the session

# Tests a statement that is refused, or has no effect, so that the client's session does not change.
sub harmless
{
	my ($what, $statement, %do) = @_;
	my $expected = $do{expected}
		// qr/cannot (?:execute|call) .* in a handler that runs in a client's session/;
	my $seen = visit(do_job($statement), %do);
	like($seen, $expected, "$what: the statement ends as expected");
	like($seen, $do{sees}, "$what: the client's session has not changed") if $do{sees};
	return;
}

my $report = q{PREPARE my_report AS SELECT 'mine, ' || current_user AS said};
harmless('DEALLOCATE and PREPARE',
	q{DEALLOCATE my_report; PREPARE my_report AS SELECT 'theirs, ' || current_user AS said},
	before => $report, after => 'EXECUTE my_report', sees => qr/^mine, /m);
harmless('PREPARE', q{PREPARE theirs AS SELECT 1},
	after => 'SELECT count(*) FROM pg_prepared_statements', sees => qr/^0$/m);
harmless('EXECUTE', 'EXECUTE my_report', before => $report);
harmless('CREATE TABLE AS EXECUTE', 'CREATE TEMPORARY TABLE t AS EXECUTE my_report',
	before => $report);
harmless('EXPLAIN EXECUTE', 'EXPLAIN ANALYZE EXECUTE my_report', before => $report);
harmless('EXPLAIN CREATE TABLE AS EXECUTE',
	'EXPLAIN ANALYZE CREATE TEMPORARY TABLE t AS EXECUTE my_report', before => $report);
harmless('DEALLOCATE ALL', 'DEALLOCATE ALL', before => $report, after => 'EXECUTE my_report',
	sees => qr/^mine, /m);

my $cursor = q{DECLARE mine CURSOR FOR VALUES ('first'), ('second')};
like(visit('{"ask": "FETCH mine"}', run => "$cursor; SELECT FROM hipq.run_until_idle('app.q');"),
	qr/jobs cannot run while cursor "mine" is open/, 'jobs do not run beside an open cursor');
like(visit('{"ask": "FETCH mine"}',
		before => "BEGIN; DECLARE mine CURSOR WITH HOLD FOR SELECT 1; COMMIT"),
	qr/jobs cannot run while cursor "mine" is open/, 'jobs do not run beside a held cursor');
like(visit('{}', run => q{DO $$ DECLARE r record; BEGIN FOR r IN SELECT generate_series(1, 100) LOOP
		PERFORM hipq.run_until_idle('app.q'); END LOOP; END $$;}),
	qr/jobs cannot run while cursor "<unnamed portal \d+>" is open/,
		'jobs do not run beside the cursor of a loop');
like(visit('{}', run => q{SELECT FROM hipq.dry_run(:id);},
		before => "BEGIN; DECLARE mine CURSOR WITH HOLD FOR SELECT 1; COMMIT"),
	qr/jobs cannot run while cursor "mine" is open/,
		'dry_run() does not run beside an open cursor');
harmless('cursors of the handler', 'DECLARE a CURSOR WITH HOLD FOR SELECT 1; MOVE a; CLOSE a;
	DECLARE b CURSOR WITH HOLD FOR SELECT 1',
	expected => qr/succeeded/, after => 'SELECT count(*) FROM pg_cursors', sees => qr/^0$/m);

my $table = q{CREATE TEMPORARY TABLE mine AS SELECT 'mine' AS said};
harmless('DISCARD TEMP', 'DISCARD TEMP', before => $table, after => 'TABLE mine',
	sees => qr/^mine$/m);
harmless("DISCARD $_", "DISCARD $_") foreach qw(PLANS SEQUENCES ALL);
harmless('a temporary table', q{CREATE TEMPORARY TABLE seen AS SELECT 'theirs' AS said},
	expected => qr/succeeded/,
	after => q{SELECT to_regclass('pg_temp.seen') IS NULL}, sees => qr/^t$/m);
my $as_owner = q{SET ROLE app; CREATE TEMPORARY TABLE mine AS SELECT 'mine' AS said;
	CREATE FUNCTION pg_temp.mine() RETURNS text LANGUAGE sql AS $$ SELECT 'mine' $$; RESET ROLE};
my $unchanged = qr/temporary objects of the client/;
harmless('dropping the client\'s temporary table', 'DROP TABLE mine', before => $as_owner,
	after => 'TABLE mine', sees => qr/^mine$/m, expected => $unchanged);
harmless("altering the client's temporary table",
	'ALTER TABLE mine RENAME said TO other', before => $as_owner,
	after => 'SELECT said FROM mine', sees => qr/^mine$/m, expected => $unchanged);
harmless("moving the client's temporary table",
	'ALTER TABLE mine SET SCHEMA app', before => $as_owner,
	after => 'TABLE pg_temp.mine', sees => qr/^mine$/m,
	expected => qr/cannot move objects/);
harmless("a trigger on the client's temporary table", 'CREATE TRIGGER t BEFORE INSERT ON mine
	FOR EACH ROW EXECUTE FUNCTION app.spring()', before => $as_owner,
	after => q{SELECT count(*) FROM pg_trigger WHERE tgname = 't'}, sees => qr/^0$/m,
		expected => $unchanged);
harmless("a rule on the client's temporary table",
	'CREATE RULE r AS ON INSERT TO mine DO INSTEAD NOTHING',
	before => $as_owner, expected => $unchanged);
harmless("an index on the client's temporary table",
	'CREATE INDEX ON mine (said)', before => $as_owner,
	expected => $unchanged);
harmless('replacing the client\'s function in pg_temp', q{CREATE OR REPLACE FUNCTION pg_temp.mine()
	RETURNS text LANGUAGE sql AS 'SELECT current_user::text'},
	before => $as_owner, after => 'SELECT pg_temp.mine()', sees => qr/^mine$/m,
		expected => $unchanged);
harmless("pg_temp: $_->[0]", "$_->[1]", expected => qr/succeeded/,
	after => q{SELECT count(*) FROM pg_depend WHERE refclassid = 'pg_namespace'::regclass
		AND refobjid = pg_my_temp_schema()}, sees => qr/^0$/m)
  foreach [ 'a function',
  	q{CREATE FUNCTION pg_temp.theirs() RETURNS integer LANGUAGE sql AS 'SELECT 1'} ],
  [ 'a type', 'CREATE TYPE pg_temp.theirs AS (a integer)' ], [ 'a domain',
  	'CREATE DOMAIN pg_temp.theirs AS integer' ],
  [ 'an operator', 'CREATE OPERATOR pg_temp.### (leftarg = integer, rightarg = integer,
  	function = pg_catalog.int4pl)' ],
  [ 'a view', 'CREATE TEMPORARY VIEW theirs AS SELECT 1 AS one' ],
  [ 'a sequence', 'CREATE TEMPORARY SEQUENCE theirs' ];

harmless('LISTEN', 'LISTEN theirs', after => 'SELECT count(*) FROM pg_listening_channels()',
	sees => qr/^0$/m);
harmless('UNLISTEN', 'UNLISTEN *', before => 'LISTEN mine',
	after => 'SELECT * FROM pg_listening_channels()', sees => qr/^mine$/m);

my $connect = q{SELECT dblink_connect('mine', format('dbname=%s host=%s port=%s',
	current_database(), current_setting('unix_socket_directories'),
	current_setting('port')))};
harmless('a dblink connection of the client',
	q{SELECT * FROM public.dblink('mine', 'SELECT current_user::text') AS t(said text)},
	before => $connect);
harmless('closing a dblink connection of the client',
	q{SELECT public.dblink_disconnect('mine')}, before => $connect,
	after => q{SELECT dblink_get_connections()}, sees => qr/^\{mine\}$/m);
harmless('listing dblink connections of the client',
	q{SELECT public.dblink_get_connections()}, before => $connect);

harmless('a large object that the client has open', q{SELECT encode(loread(0, 6), 'escape')},
	run => q{SELECT lo_from_bytea(4711, 'secret'); SELECT lo_open(4711, 262144);
	SELECT FROM hipq.run_until_idle('app.q');}, after => q{SELECT encode(loread(0, 6), 'escape')},
		sees => qr/^secret$/m);
harmless("large objects: $_", "SELECT $_", run => q{SELECT lo_from_bytea(4711, 'secret');
	SELECT lo_open(4711, 262144); SELECT FROM hipq.run_until_idle('app.q');})
  foreach 'lo_lseek(0, 1, 0)', 'lo_lseek64(0, 1, 0)', 'lo_tell(0)', 'lo_tell64(0)', 'lo_close(0)',
  	'lo_truncate(0, 0)', 'lo_truncate64(0, 0)',
  q{lowrite(0, 'x')}, 'lo_open(4711, 262144)';
harmless('whole large objects', q{SELECT lo_from_bytea(4712, 'x'); SELECT lo_get(4712)},
	expected => qr/succeeded/);

my $locks = q{SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()};
harmless('an advisory lock', 'SELECT pg_advisory_lock(1)', after => $locks, sees => qr/^0$/m);
harmless("releasing the client's advisory lock", 'SELECT pg_advisory_unlock_all()',
	before => 'SELECT pg_advisory_lock(1)', after => $locks, sees => qr/^1$/m);
harmless("advisory locks: $_", "SELECT $_", before => 'SELECT pg_advisory_lock(1)')
  foreach 'pg_advisory_lock(1, 2)', 'pg_advisory_lock_shared(1)', 'pg_try_advisory_lock(1)',
  	'pg_try_advisory_lock_shared(1, 2)', 'pg_advisory_unlock(1)',
  'pg_advisory_unlock_shared(1, 2)';
harmless('an advisory lock until the end of the transaction', 'SELECT pg_advisory_xact_lock(1)',
	expected => qr/succeeded/);
# Indirect ways to call a function.
$hipq->sql(q{
	SET SESSION AUTHORIZATION app;
	CREATE FUNCTION app.simple() RETURNS void LANGUAGE plpgsql AS $$ DECLARE got boolean;
		BEGIN got := pg_try_advisory_lock(1); END $$;
	CREATE FUNCTION app.of_sql() RETURNS void LANGUAGE sql AS $$ SELECT pg_advisory_lock(1) $$;
	CREATE FUNCTION app.standard(n bigint) RETURNS boolean
		LANGUAGE sql RETURN pg_try_advisory_lock(n);
	CREATE FUNCTION app.step(boolean, bigint) RETURNS boolean LANGUAGE sql AS $$
		SELECT pg_try_advisory_lock($2) $$;
	CREATE AGGREGATE app.all_locked(bigint) (sfunc = app.step, stype = boolean);
});
$hipq->sql(q{CREATE TYPE app.wrapped AS (n bigint); GRANT ALL ON TYPE app.wrapped TO app;
	ALTER TYPE app.wrapped OWNER TO app; SET SESSION AUTHORIZATION app;
	CREATE FUNCTION app.unwrap(app.wrapped) RETURNS boolean
		LANGUAGE sql RETURN pg_try_advisory_lock(($1).n);
	CREATE CAST (app.wrapped AS boolean) WITH FUNCTION app.unwrap(app.wrapped);
	CREATE OPERATOR app.!! (rightarg = bigint, function = pg_catalog.pg_try_advisory_lock);
	CREATE TABLE app.checked (n bigint CHECK (pg_try_advisory_lock(n)));
	CREATE DOMAIN app.guarded AS bigint CHECK (pg_try_advisory_lock(VALUE));
	CREATE TABLE app.defaults (n bigint, b boolean DEFAULT pg_try_advisory_lock(1))});
harmless("a lock by way of $_->[0]", $_->[1], after => $locks, sees => qr/^0$/m)
  foreach [ 'a simple expression', 'SELECT app.simple()' ], [ 'a function of SQL',
  	'SELECT app.of_sql()' ], [ 'a function that is inlined', 'SELECT app.standard(1)' ],
  [ 'an aggregate', 'SELECT app.all_locked(n) FROM generate_series(1, 2) AS n' ], [ 'a cast',
  	'SELECT ROW(1)::app.wrapped::boolean' ],
  [ 'an operator', 'SELECT operator(app.!!) 1::bigint' ], [ 'a CHECK',
  	'INSERT INTO app.checked VALUES (1)' ], [ 'a domain', 'SELECT 1::app.guarded' ],
  [ 'a default', 'INSERT INTO app.defaults VALUES (1)' ], [ 'query_to_xml',
  	q{SELECT query_to_xml('SELECT pg_advisory_lock(1)', true, true, '')} ],
  [ 'DO', q{DO 'BEGIN PERFORM pg_advisory_lock(1); END'} ], [ 'FROM',
  	'SELECT * FROM pg_try_advisory_lock(1)' ];

harmless('settings', q{SET my.own = 'theirs'; SET search_path = app; SET work_mem = 77;
	SET LOCAL enable_sort = off; SELECT set_config('my.other', 'theirs', false)},
	expected => qr/succeeded/, before => q{SET my.own = 'mine'},
	after => q{SELECT current_setting('my.own'), current_setting('search_path'),
		current_setting('work_mem') <> '77kB', current_setting('enable_sort'),
	coalesce(current_setting('my.other', true), '')},
		sees => qr/^mine\|"\$user", public\|t\|on\|$/m);
harmless('SET ROLE', 'SET ROLE member', expected => qr/cannot set parameter "role"/);
harmless('RESET ROLE', 'RESET ROLE', expected => qr/cannot set parameter "role"/);
harmless('SET SESSION AUTHORIZATION', 'SET SESSION AUTHORIZATION app',
	expected => qr/cannot set parameter "session_authorization"/);
harmless('set_config of role', q{SELECT set_config('role', 'none', false)},
	expected => qr/cannot set parameter "role"/);
harmless('SET TRANSACTION READ ONLY', 'SET TRANSACTION READ ONLY', expected => qr/succeeded/,
	after => 'SHOW transaction_read_only', sees => qr/^off$/m);
harmless('hipq.allow_foreign_handlers', 'SET hipq.allow_foreign_handlers = on',
	expected => qr/invalid value for parameter/);
harmless('LOAD', q{LOAD 'dblink'});
harmless('savepoints', 'SAVEPOINT a',
	expected => qr/EXECUTE of transaction commands is not implemented/);
harmless('NOTIFY', q{NOTIFY theirs, 'x'}, expected => qr/succeeded/);
harmless('a worker bound to the session',
	q{SELECT hipq.register_worker('theirs', '{app.q}', '{external}', listen => true)},
	expected => qr/a handler cannot listen in a client's session/,
		after => 'SELECT count(*) FROM pg_listening_channels()', sees => qr/^0$/m);

# ---- the expression for names of tables, which runs with the rights of the role that made the
# instance

$hipq->sql(q{CREATE ROLE maker LOGIN; GRANT USAGE ON SCHEMA hipq TO maker; GRANT EXECUTE ON
	FUNCTION hipq.create_instance TO maker; CREATE SCHEMA maker AUTHORIZATION maker;
	GRANT USAGE ON SCHEMA maker TO PUBLIC; SET SESSION AUTHORIZATION maker;
	CREATE TABLE maker.trap (n integer);
	CREATE FUNCTION maker.spring() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		EXECUTE 'CREATE ROLE made SUPERUSER'; RETURN NULL; END $$;
	CREATE CONSTRAINT TRIGGER d AFTER INSERT ON maker.trap DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION maker.spring();
	CREATE FUNCTION maker.says() RETURNS text LANGUAGE sql AS $$ SELECT current_user::text $$;
	CREATE FUNCTION maker.puts_off() RETURNS text LANGUAGE sql AS $$ INSERT INTO maker.trap
		VALUES (1); SELECT 'later'::text $$;
	CREATE FUNCTION maker.prepares() RETURNS text LANGUAGE plpgsql AS $$ BEGIN
		EXECUTE 'PREPARE theirs AS SELECT 1'; RETURN 'prepared'; END $$;
	CREATE FUNCTION maker.shadows() RETURNS text LANGUAGE plpgsql AS $$ BEGIN
		EXECUTE 'CREATE DOMAIN pg_temp.theirs AS integer'; RETURN 'shadow'; END $$;
	GRANT ALL ON ALL FUNCTIONS IN SCHEMA maker TO PUBLIC;
	SELECT hipq.create_instance('says', table_naming_strategy => 'maker.says()'),
		hipq.create_instance('puts_off', table_naming_strategy => 'maker.puts_off()'),
	       hipq.create_instance('prepares', table_naming_strategy => 'maker.prepares()'),
	       	hipq.create_instance('shadows', table_naming_strategy => 'maker.shadows()'),
	       hipq.create_instance('plain', table_naming_strategy => '$2 || ''_of_'' || $1')});
$hipq->create_queue('says.q');
is($hipq->sql(q{SELECT to_regclass('hipq.maker')}), 'hipq.maker',
	'an expression for table names runs with the rights of the role that made the instance');
like($hipq->error_of(q{SELECT hipq.create_queue('puts_off.q', owner => 'app')}), $refused,
	'an expression for table names cannot defer a trigger');
like($hipq->error_of(q{SELECT hipq.create_queue('prepares.q', owner => 'app')}),
	qr/cannot execute PREPARE/, 'an expression for table names cannot prepare a statement');
# Minor versions from late 2025 on refuse the CREATE DOMAIN. Otherwise hipq drops the domain.
is($hipq->sql(q{DO $$ BEGIN PERFORM hipq.create_queue('shadows.q', owner => 'app');
		EXCEPTION WHEN insufficient_privilege THEN END $$;
		SELECT count(*) FROM pg_type WHERE typname = 'theirs'}), 0,
	'an expression for table names leaves nothing in pg_temp');
$hipq->sql(q{CREATE SCHEMA caller; CREATE FUNCTION caller.textcat(text, text) RETURNS text
	LANGUAGE sql AS $$ SELECT 'callers_own'::text $$;
	CREATE OPERATOR caller.|| (leftarg = text, rightarg = text, function = caller.textcat)});
is($hipq->sql(q{SET search_path = caller, pg_catalog; SELECT
		FROM hipq.create_queue('plain.q', owner => 'app'); SELECT to_regclass('hipq.q_of_plain')}),
	"hipq.q_of_plain",
	"an expression for table names runs no function of the caller's search_path");

# dry_run() and run_until_idle() store the messages of a handler, even as the first call of a
# session.
my $said = $hipq->sql(q{SELECT hipq.enqueue('do',
	'{"do": "DO $d$ BEGIN RAISE NOTICE ''said''; END $d$"}', queue => 'app.q')});
is($hipq->sql_as('app', "SET client_min_messages = warning; SELECT error FROM hipq.dry_run($said)"),
	'', 'dry_run() as the first call of a session succeeds');
is($hipq->sql_as('app', "SET client_min_messages = warning; SELECT hipq.run_until_idle('app.q')"),
	1, 'run_until_idle() as the first call of a session runs the job');
is($hipq->sql("SELECT string_agg(message, ' ') FROM hipq.attempt_logs WHERE job_id = $said"),
	'said', "the message of a handler in a client's session is stored once");

# The handler's own session, in an executor, allows the statements that are refused in a client's
# session.
$hipq->set('hipq.max_executors' => 2);
my $id = $hipq->sql(q{SELECT hipq.enqueue('do',
	'{"do": "PREPARE a AS SELECT 1; EXECUTE a; SELECT pg_advisory_lock(1); DISCARD TEMP"}',
	queue => 'app.q')});
ok($hipq->wait_until("SELECT outcome = 'succeeded' FROM hipq.jobs WHERE id = $id"),
	"executors allow the statements that a client's session refuses");

$hipq->node->stop;
done_testing();
