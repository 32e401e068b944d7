# Nothing that a handler leaves in its session reaches the next job. After each kind of vandal the
# next job of the same executor finds the session of a fresh executor.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('session', 'hipq.max_executors' => 1,
	'hipq.executor_idle_timeout' => '1h', 'hipq.retry_jitter' => 0);
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE ROLE other; GRANT other TO app;
	GRANT SET ON PARAMETER session_replication_role TO app;
	GRANT CREATE ON SCHEMA public TO app;
	CREATE SEQUENCE counter; GRANT ALL ON counter TO app;
	CREATE TABLE seen (what text, by name DEFAULT current_user); GRANT ALL ON seen TO app, other;
	ALTER ROLE app SET my.given = 'by the role';
	ALTER ROLE app SET work_mem = '5MB';
	ALTER ROLE app SET search_path = public, pg_catalog;

	CREATE FUNCTION fingerprint(data jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
	DECLARE last text; current text;
	BEGIN
		BEGIN last := lastval(); EXCEPTION WHEN OTHERS THEN last := SQLSTATE; END;
		BEGIN current := currval('public.counter'); EXCEPTION WHEN OTHERS THEN
			current := SQLSTATE; END;
		RETURN jsonb_build_object('pid', pg_backend_pid(), 'print', jsonb_build_object(
			-- Each transaction sets transaction_read_only and others.
			'settings', (SELECT jsonb_object_agg(name, concat_ws(' ', setting, CASE
				WHEN name NOT LIKE 'transaction\_%' THEN source END)) FROM pg_settings),
			'placeholders',
				coalesce(current_setting('my.x', true), '') || current_setting('my.given'),
			'roles', concat_ws(' ', current_user, session_user, current_setting('role'),
				current_setting('is_superuser')),
			'path', current_schemas(false),
			'locks', (SELECT jsonb_agg(to_jsonb(lock)) FROM pg_locks AS lock
				WHERE lock.locktype = 'advisory' AND lock.pid = pg_backend_pid()),
			'prepared', (SELECT jsonb_agg(name) FROM pg_prepared_statements),
			'cursors', (SELECT jsonb_agg(name) FROM pg_cursors),
			'temporary', (SELECT jsonb_agg(relname) FROM pg_class
				WHERE relnamespace = pg_my_temp_schema()),
			'temporary functions', (SELECT jsonb_agg(proname) FROM pg_proc
				WHERE pronamespace = pg_my_temp_schema()),
			'channels', (SELECT jsonb_agg(channel) FROM pg_listening_channels() AS channel),
			'lastval', last, 'currval', current));
	END $$;

	-- Executes the given statements, then ends in the given way.
	CREATE FUNCTION vandal(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE step text;
	BEGIN
		FOR step IN SELECT jsonb_array_elements_text(data->'do') LOOP EXECUTE step; END LOOP;
		IF data->>'end' = 'fail' THEN RAISE 'told to fail'; END IF;
		IF data->>'end' = 'sleep' THEN PERFORM pg_sleep(60); END IF;
	END $$;
	CREATE PROCEDURE vandal_in_two_steps(data jsonb) LANGUAGE plpgsql AS $$
	DECLARE step text;
	BEGIN
		FOR step IN SELECT jsonb_array_elements_text(data->'do') LOOP EXECUTE step; END LOOP;
		COMMIT;
		IF data ? 'again' THEN FOR step IN SELECT jsonb_array_elements_text(data->'again') LOOP
			EXECUTE step; END LOOP; END IF;
		IF data->>'end' = 'fail' THEN RAISE 'told to fail'; END IF;
		IF data->>'end' = 'sleep' THEN PERFORM pg_sleep(60); END IF;
	END $$;
	CREATE FUNCTION fails(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
	CREATE FUNCTION vandal_decides(job hipq.job) RETURNS interval LANGUAGE plpgsql AS $$
	BEGIN PERFORM vandal(job.job_data); RETURN NULL; END $$;
	SELECT hipq.register_job_type('app.main', 'fingerprint', handler => 'fingerprint');
	SELECT hipq.register_job_type('app.main', 'function', handler => 'vandal',
		default_timeout => 60);
	SELECT hipq.register_job_type('app.main', 'procedure', handler => 'vandal_in_two_steps',
		default_timeout => 60);
	SELECT hipq.register_job_type('app.main', 'retry_handler', handler => 'fails',
		retry_handler => 'vandal_decides', default_timeout => 60)});

my $fresh = $hipq->result($hipq->enqueue('fingerprint'));
like($fresh, qr/"roles": "app app none off"/, 'a fresh session has the roles of the queue owner');

# Runs a vandal, and then the job that returns the fingerprint, in one executor.
sub try_vandal
{
	my ($name, $type, $data, $expected) = @_;
	my $timeout = $data =~ /"end": "sleep"/ ? ', timeout => 3' : '';
	my $ids = $hipq->sql(qq{BEGIN; SELECT hipq.enqueue('$type', \$data\$$data\$data\$,
		queue => 'app.main'$timeout); SELECT hipq.enqueue('fingerprint'); COMMIT});
	my ($vandal, $after) = split /\n/, $ids;
	$hipq->outcome($after);
	my $outcome = $hipq->sql("SELECT concat_ws(' ', outcome, retry_reason) FROM hipq.jobs_detail
		WHERE id = $vandal");
	is($outcome, $expected, "$name: $outcome")
		or diag($hipq->sql("SELECT error FROM hipq.jobs_detail WHERE id = $vandal"));
	my $print = $hipq->sql("SELECT result FROM hipq.jobs_detail WHERE id = $after");
	ok($print eq $fresh, "$name: the next job finds a fresh session")
	  or diag($hipq->sql(qq{SELECT concat_ws(' ', key, mine.value #>> '{}', ' fresh:',
	  		fresh.value #>> '{}')
		FROM jsonb_each((\$p\$$print\$p\$::jsonb)->'print') AS mine FULL
			JOIN jsonb_each((\$p\$$fresh\$p\$::jsonb)->'print') AS fresh USING (key)
		WHERE mine.value IS DISTINCT FROM fresh.value AND key <> 'settings'
		UNION ALL SELECT concat_ws(' ', key, mine.value, ' fresh:', fresh.value)
		FROM jsonb_each_text((\$p\$$print\$p\$::jsonb)->'print'->'settings') AS mine FULL JOIN
			jsonb_each_text((\$p\$$fresh\$p\$::jsonb)->'print'->'settings') AS fresh USING (key)
		WHERE mine.value IS DISTINCT FROM fresh.value}));
	return;
}

sub json_list
{
	return '[' . join(', ', map { my $text = $_; $text =~ s/(["\\])/\\$1/g; qq{"$text"} } @_) . ']';
}

my @settings = (
	"SET search_path = pg_temp", "SELECT set_config('work_mem', '1MB', false)",
		"SET LOCAL statement_timeout = 1000000", "SET lock_timeout = 1000000",
		"SET TimeZone = 'Asia/Tokyo'",
	"SET DateStyle = 'German'", "SET IntervalStyle = 'iso_8601'", "SET client_encoding = 'LATIN1'",
		"SET application_name = 'vandal'", "SET enable_seqscan = off",
	"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE",
		"SET default_transaction_read_only = on", "SET transaction_read_only = off",
	"SET my.x = 'left over'", "SELECT set_config('my.given', 'by the vandal', false)");
my %vandals = (
	'settings' => [@settings],
	'reset' => [ 'RESET ALL', 'SET my.given TO DEFAULT' ],
	'replica' => ['SET session_replication_role = replica'],
	'role' => ['SET ROLE other'],
	'session authorization' => [ 'SET SESSION AUTHORIZATION app', 'SET ROLE other' ],
	'locks' => [ 'SELECT pg_advisory_lock(7), pg_advisory_lock(7), pg_advisory_lock_shared(8, 9)',
		'SELECT pg_advisory_xact_lock(10)' ],
	'prepared' => [ 'PREPARE left_over AS SELECT 1',
		'PREPARE left_over_too (integer) AS SELECT $1' ],
	'cursors' => [ 'DECLARE held CURSOR WITH HOLD FOR SELECT generate_series(1, 10)',
		'DECLARE bare CURSOR FOR SELECT 1',
		'DECLARE scrolled SCROLL CURSOR WITH HOLD FOR SELECT count(*) FROM seen' ],
	'notify' => [q{NOTIFY left_over, 'to whom it may concern'}],
	'temporary' => [
		'CREATE TEMP TABLE left_over (x integer PRIMARY KEY, y text)',
			'CREATE TEMP TABLE emptied (x integer) ON COMMIT DELETE ROWS',
			'CREATE TEMP TABLE dropped (x integer) ON COMMIT DROP',
		'CREATE TEMP SEQUENCE numbers', 'CREATE TEMP VIEW shown AS SELECT 1 AS x',
			'CREATE FUNCTION pg_temp.f() RETURNS integer LANGUAGE sql AS $f$ SELECT 1 $f$',
		"INSERT INTO left_over SELECT n, 'x' FROM generate_series(1, 100) AS n" ],
	'again temporary' => ['CREATE TEMP TABLE left_over (other text)'],
	'sequence' => [ q{SELECT nextval('public.counter')}, q{SELECT setval('public.counter', 42)} ]);
$vandals{everything} = [ map { my $name = $_; $name =~ /again|replica|reset|^role|authorization/
		? () : @{ $vandals{$name} } } sort keys %vandals ];
push @{ $vandals{everything} }, 'SET session_replication_role = replica', 'SET ROLE other';

foreach my $name (sort keys %vandals)
{
	try_vandal("$name by a function", 'function', '{"do": ' . json_list(@{ $vandals{$name} }) . '}',
		'succeeded');
	try_vandal("$name by a function that fails", 'function',
		'{"end": "fail", "do": ' . json_list(@{ $vandals{$name} }) . '}', 'failed transient_error');
}
# PostgreSQL refuses LISTEN in background processes.
try_vandal('listen', 'function', '{"do": ["LISTEN left_over"]}', 'failed transient_error');
my $everything = json_list(@{ $vandals{everything} });
try_vandal('everything by a function that is cancelled', 'function',
	qq({"end": "sleep", "do": $everything}), 'failed timeout');
try_vandal('everything by a procedure', 'procedure', qq({"do": $everything}), 'succeeded');
try_vandal('everything by a procedure after its COMMIT', 'procedure',
	qq({"do": ["SELECT 1"], "again": $everything}), 'succeeded');
try_vandal('everything by a procedure that fails after its COMMIT', 'procedure',
	qq({"do": $everything, "end": "fail"}), 'failed transient_error');
try_vandal('everything by a procedure that is cancelled after its COMMIT', 'procedure',
	qq({"do": $everything, "end": "sleep"}), 'failed timeout');
try_vandal('everything by a retry handler', 'retry_handler', qq({"do": $everything}),
	'failed transient_error');
try_vandal('everything by a retry handler that fails', 'retry_handler',
	qq({"do": $everything, "end": "fail"}), 'failed retry_handler_failed');
try_vandal('everything by a retry handler that is cancelled', 'retry_handler',
	qq({"do": $everything, "end": "sleep"}), 'failed retry_handler_failed');

# ---- statements as handlers
my $number = 0;
foreach my $statement (
	"SET work_mem = '1MB'", "SET my.x = 'left'", 'SET ROLE other', 'RESET ALL', 'DISCARD ALL',
		'PREPARE left_over AS SELECT 1', 'DECLARE held CURSOR WITH HOLD FOR SELECT 1',
	'CREATE TEMP TABLE left_over ()', 'SELECT pg_advisory_lock(1)',
		q{SELECT nextval('public.counter')}, 'SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY',
	q{DO $do$ BEGIN SET work_mem = '2MB'; PERFORM pg_advisory_lock(3); }
		. q{CREATE TEMP TABLE left_over (); COMMIT; SET TimeZone = 'Asia/Tokyo'; END $do$})
{
	my $type = 'statement_' . ++$number;
	$hipq->sql(qq{SELECT hipq.register_job_type('app.main', '$type', handler_kind => 'statement',
		handler => \$h\$$statement\$h\$)});
	try_vandal("statement $statement", $type, '{}', 'succeeded');
}

# ---- deferred triggers run as the queue owner, and from PostgreSQL 18 on as the role that queued
# them
$hipq->sql(q{
	CREATE TABLE put_off (what text); GRANT ALL ON put_off TO app, other;
	CREATE FUNCTION look_who() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN INSERT INTO seen (what) VALUES (NEW.what || ' ' || session_user || ' ' ||
		current_setting('is_superuser')); RETURN NULL; END $$;
	CREATE CONSTRAINT TRIGGER late AFTER INSERT ON put_off DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION look_who();
	CREATE FUNCTION insert_as_definer(what text) RETURNS void LANGUAGE sql SECURITY DEFINER AS $$
		INSERT INTO put_off VALUES (what) $$;
	TRUNCATE seen});
foreach my $steps ([ 'plain', 'app', q{INSERT INTO put_off VALUES ('plain')} ],
	[ 'role', 'other', 'SET ROLE other', q{INSERT INTO put_off VALUES ('role')} ],
	[ 'definer', 'postgres', q{SELECT insert_as_definer('definer')} ])
{
	my ($name, $as, @do) = @$steps;
	$as = 'app' if $hipq->version < 18;
	try_vandal("deferred trigger, $name", 'function',
		'{"do": ' . json_list(@do) . '}', 'succeeded');
	is($hipq->sql("SELECT what || ' ' || by FROM seen WHERE what LIKE '$name%'"),
		"$name app off $as", "a deferred trigger of a function ($name) runs as $as");
}
try_vandal('deferred trigger of a procedure', 'procedure',
	'{"do": ["SET ROLE other"], "again": ["INSERT INTO put_off VALUES (\'procedure\')"]}',
	'succeeded');
my $as = $hipq->version < 18 ? 'app' : 'other';
is($hipq->sql("SELECT what || ' ' || by FROM seen WHERE what LIKE 'procedure%'"),
	"procedure app off $as", "a deferred trigger of a procedure runs as $as");
$hipq->sql(q{CREATE TABLE parent (id integer PRIMARY KEY); CREATE TABLE child (id integer REFERENCES
	parent DEFERRABLE INITIALLY DEFERRED); GRANT ALL ON parent, child TO app});
try_vandal('a deferred constraint that holds', 'function',
	'{"do": ["INSERT INTO child VALUES (1)", "INSERT INTO parent VALUES (1)"]}', 'succeeded');
try_vandal('a violated deferred constraint', 'function', '{"do": ["INSERT INTO child VALUES (2)"]}',
	'failed validation_error');
is($hipq->sql('SELECT string_agg(id::text, $$ $$) FROM child'), '1',
	'a job that violates a deferred constraint is rolled back');

done_testing();
