# Random statements of every kind of role, in several sessions, cause no crash and no internal error
# while executors and an external worker run jobs. A refused statement changes nothing, and no role
# sees what is hidden from it. At the end every job can end.
#
#   FUZZ_MINUTES   how long (1); make fuzz: 10
#   SEED           chooses the statements; the test prints it
#
# First each judge is given a sample of what it must find.
use strict;
use warnings;
use File::Basename qw(basename);
use HipqCluster;
use HipqFuzz;
use HipqPoints;
use IPC::Run ();
use List::Util qw(sum0);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $seed = $ENV{SEED} || 1 + int(time()) % 1_000_000;
my $sessions = 3;
my $script_size = 120;
note("SEED=$seed");

my $hipq = HipqCluster->new(
	'fuzz', extension => 0, database => 'postgres', 'hipq.max_executors' => 4,
		'hipq.retry_base' => '10ms', 'hipq.retry_max' => '100ms', max_prepared_transactions => 10,
	'hipq.worker_grace' => '5s', 'hipq.heartbeat_timeout' => '20s', fsync => 'off',
	log_line_prefix => '%m [%p] %b %e ', log_min_error_statement => 'panic',
		log_error_verbosity => 'terse');
my $folder = PostgreSQL::Test::Utils::tempdir();

# ---- the objects

$hipq->sql(q{
	CREATE ROLE fuzz_extension LOGIN SUPERUSER;
	CREATE ROLE fuzz_enqueue LOGIN; CREATE ROLE "Fuzz Reader" LOGIN; CREATE ROLE fuzz_control LOGIN;
		CREATE ROLE fuzz_worker LOGIN;
	CREATE ROLE fuzz_stranger LOGIN; CREATE ROLE fuzz_monitor LOGIN IN ROLE pg_monitor;
		CREATE ROLE fuzz_database LOGIN; CREATE ROLE fuzz_hidden LOGIN;
	ALTER DATABASE postgres OWNER TO fuzz_database;
	SET SESSION AUTHORIZATION fuzz_extension;
	CREATE EXTENSION hipq;
	RESET SESSION AUTHORIZATION;

	CREATE SCHEMA fuzz;
	GRANT USAGE ON SCHEMA fuzz TO PUBLIC;
	CREATE FUNCTION fuzz.ok(data jsonb) RETURNS jsonb LANGUAGE sql RETURN data;
	CREATE FUNCTION fuzz.fails(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		RAISE 'fails'; END $$;
	CREATE FUNCTION fuzz.slow(data jsonb) RETURNS void LANGUAGE sql AS 'SELECT pg_sleep(0.05)';
	CREATE FUNCTION fuzz.later(data jsonb) RETURNS void
		LANGUAGE sql AS 'SELECT hipq.complete_later()';
	CREATE FUNCTION fuzz.says(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		RAISE NOTICE 'says'; RAISE WARNING 'says'; END $$;
	CREATE FUNCTION fuzz.run_sql(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		EXECUTE data #>> '{}'; END $$;

	-- A refusal is rolled back. Under one snapshot a statement sees only its own changes.
	-- It could leave locks and settings of its session.
	CREATE FUNCTION fuzz.digest() RETURNS text LANGUAGE sql SECURITY DEFINER
		SET search_path = pg_catalog, pg_temp AS $$
		SELECT md5(concat(
			(SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'),
				current_setting('role'), current_setting('lock_timeout'),
			current_setting('statement_timeout'), (SELECT string_agg(name || setting, ''
				ORDER BY name) FROM pg_settings WHERE name LIKE 'hipq.%'),
			(SELECT string_agg(md5(job::text), '' ORDER BY job.id) FROM hipq.job
				WHERE state <> 'final'), (SELECT count(*) FROM hipq.job),
			(SELECT string_agg(queue::text, '' ORDER BY queue_id) FROM hipq.queue),
				(SELECT string_agg(job_type::text, '' ORDER BY queue_id, name) FROM hipq.job_type),
			(SELECT string_agg(instance::text, '' ORDER BY name) FROM hipq.instance),
				(SELECT string_agg(pause::text, '' ORDER BY pause::text) FROM hipq.pause),
			(SELECT string_agg(md5(dependency::text), '' ORDER BY job_id, before_id)
				FROM hipq.dependency),
				(SELECT count(*) FROM hipq.dead_letter), (SELECT count(*) FROM hipq.attempt),
			(SELECT string_agg(worker::text, '' ORDER BY worker_id) FROM hipq.worker))) $$;
	CREATE FUNCTION fuzz.unchanged_by_refusal(statement text) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE before text := fuzz.digest();
	BEGIN
		EXECUTE statement;
	EXCEPTION WHEN OTHERS THEN
		IF fuzz.digest() <> before THEN
			RAISE 'FUZZ: refused with %, but something was changed', SQLSTATE; END IF;
		RAISE;
	END $$;
	-- For a statement without concurrent ones: what other sessions see afterwards,
	-- shared memory included.
	CREATE FUNCTION fuzz.digest_alone() RETURNS text LANGUAGE sql SECURITY DEFINER
		SET search_path = pg_catalog, pg_temp AS $$
		SELECT md5(concat(fuzz.digest(),
			(SELECT string_agg(queue || throttle_used, '' ORDER BY queue) FROM hipq.queues_detail),
			(SELECT string_agg(concat_ws(' ', worker_id, queue_depth, running_jobs), ','
				ORDER BY worker_id) FROM hipq._workers()),
			(SELECT string_agg(id::text, '' ORDER BY id) FROM hipq.running_detail))) $$;
	CREATE FUNCTION fuzz.judge_alone(before text, was_refused boolean, refused_with text)
		RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		IF was_refused AND fuzz.digest_alone() <> before THEN
			RAISE 'FUZZ: refused with %, but something was changed', refused_with; END IF;
	END $$;

	-- Samples for the judges.
	CREATE FUNCTION fuzz.internal_error() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		RAISE 'sample' USING ERRCODE = 'XX000'; END $$;
	CREATE FUNCTION fuzz.leaves_lock() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		PERFORM pg_advisory_lock(99); RAISE 'sample'; END $$;
	CREATE PROCEDURE fuzz.leaves_row() LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM hipq.enqueue('ok', '{}', queue => 'app.main',
			scheduled_run_time => now() + interval '1 day');
		COMMIT;
		RAISE 'sample';
	END $$;
	CREATE FUNCTION fuzz.in_subtransaction(statement text) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN 1 .. 2 LOOP
			BEGIN
				EXECUTE statement;
				IF i = 1 THEN RAISE 'back'; END IF;
			EXCEPTION WHEN raise_exception THEN NULL;
			END;
		END LOOP;
	END $$;
	CREATE FUNCTION fuzz.run_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		EXECUTE NEW.statement; RETURN NULL; END $$;
	CREATE TABLE fuzz.by_trigger (statement text);
	GRANT INSERT ON fuzz.by_trigger TO PUBLIC;
	CREATE TRIGGER run_row BEFORE INSERT ON fuzz.by_trigger
		FOR EACH ROW EXECUTE FUNCTION fuzz.run_row();
	-- An event trigger that calls hipq, even during hipq's own DDL.
	CREATE FUNCTION fuzz.on_ddl() RETURNS event_trigger LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM hipq.why(1), hipq.now(), count(*) FROM hipq.jobs;
	EXCEPTION WHEN insufficient_privilege OR undefined_function OR invalid_schema_name THEN NULL;
	END $$;
	CREATE EVENT TRIGGER fuzz_on_ddl ON ddl_command_end EXECUTE FUNCTION fuzz.on_ddl();

	SELECT hipq.create_queue('app.main', owner => 'app'),
		hipq.create_queue('app.ext', owner => 'app');
	SELECT hipq.register_job_type('app.main', name,
		handler => 'fuzz.' || name, default_timeout => 2, max_retries => 2)
		FROM unnest('{ok,fails,slow,later,says,run_sql}'::text[]) AS name;
	SELECT hipq.register_job_type('app.ext', 'ext', handler_kind => 'notify', default_timeout => 2,
		max_retries => 1);
	SELECT hipq.grant_queue(queue, role::regrole, privilege)
	FROM unnest('{app.main,app.ext}'::text[]) AS queue,
		(VALUES ('fuzz_enqueue', 'enqueue'), ('"Fuzz Reader"', 'read'), ('fuzz_control', 'control'),
			('fuzz_worker', 'work')) AS given (role, privilege);
	-- Only its owner and pg_monitor may read this. Names of tables are visible in
	-- pg_class.
	SELECT hipq.create_queue('hidden.queue', owner => 'fuzz_hidden');
	SELECT hipq.register_job_type('hidden.queue', 'topsecret_type', handler => 'fuzz.fails',
		max_retries => 0);
	INSERT INTO hipq.hidden_queue (job_type, job_key, job_data) SELECT 'topsecret_type',
		'topsecret_key' || n, '"topsecret"' FROM generate_series(1, 10) AS n});

my @roles = (
	{ name => $hipq->sql('SELECT session_user'), is_superuser => 1 }, { name => 'fuzz_extension',
		is_superuser => 1 }, { name => 'app' }, { name => 'app' }, { name => 'fuzz_enqueue' },
	{ name => 'Fuzz Reader' }, { name => 'fuzz_control' }, { name => 'fuzz_worker' },
		{ name => 'fuzz_worker' }, { name => 'fuzz_stranger' }, { name => 'fuzz_monitor' },
		{ name => 'fuzz_database' });
my %may_see_all = map { $_ => 1 } ($roles[0]{name}, 'fuzz_extension', 'fuzz_monitor');

sub functions
{
	my $rows = $hipq->sql(q{
		SELECT proname, array_to_string(proargnames[1:pronargs], ','),
			array_to_string(ARRAY(SELECT format_type(type, NULL) FROM unnest(proargtypes) WITH
			ORDINALITY AS a (type, n) ORDER BY n), ','), pronargdefaults
		FROM pg_proc WHERE pronamespace = 'hipq'::regnamespace
			AND prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype) ORDER BY oid});
	return map { my ($name, $names, $types, $defaults) = split /\|/; [ $name, [ split /,/, $names ],
			[ split /,/, $types ], $defaults ] } split /\n/, $rows;
}

sub tables
{
	my %columns;
	my $rows = $hipq->sql(q{
		SELECT quote_ident(relname), quote_ident(attname), format_type(atttypid, NULL) FROM pg_class
			JOIN pg_attribute ON attrelid = pg_class.oid
		WHERE relnamespace = 'hipq'::regnamespace AND relkind IN ('r', 'p', 'v') AND attnum > 0
			AND NOT attisdropped ORDER BY 1, attnum});
	foreach (split /\n/, $rows)
	{
		my ($table, $column, $type) = split /\|/;
		push @{ $columns{$table} }, [ $column, $type ];
	}
	return map { [ $_, $columns{$_} ] } sort keys %columns;
}

my $copy_file = "$folder/jobs.copy";
append_to_file($copy_file, join '', map { "$_\n" } "ok\tone\t{}",
	"fails\tNONE\t\"x\"", "ok\t\\N\t[1]", "slow\t" . 'k' x 900 . "\t{}",
	"ok\ttwo\t{\"deep\": " . '[' x 200 . ']' x 200 . '}');
$HipqFuzz::in_parallel = 'debug_parallel_query' if $hipq->version >= 16;
my $fuzz = HipqFuzz->new(seed => $seed, functions => [ functions() ], tables => [ tables() ],
	copy_file => $copy_file);
cmp_ok(scalar @{ $fuzz->{functions} }, '>', 60, 'hipq has more than 60 functions');
cmp_ok(scalar @{ $fuzz->{tables} }, '>', 30, 'hipq has more than 30 tables and views');

# ---- scripts are run and judged

my $number = 0;
my $statements = 0;
my @found;
my %answers;    # SQLSTATE => how often

sub start
{
	my $role = $roles[ $number % @roles ];
	my @lines = $fuzz->script($role, ++$number, $script_size);
	$statements += @lines;
	return run($role, @lines);
}

# Starts psql with a script. Its lines are statements with their surroundings.
my $runs = 0;
sub run
{
	my ($role, @lines) = @_;
	my %run = (role => $role, number => $number, out => '', err => '',
		file => "$folder/" . ++$runs . '.sql');
	append_to_file($run{file}, join "\n", '\set VERBOSITY verbose', '\pset pager off', @lines, '');
	local $ENV{PGOPTIONS} = '-c statement_timeout=1500 -c application_name=fuzz -c '
		. 'idle_in_transaction_session_timeout=60000';
	$run{process} = IPC::Run::start([ 'psql', '-X', '-q', '-A', '-t', '-f', $run{file}, '-h',
			$hipq->node->host, '-p', $hipq->node->port, '-U', $role->{name}, 'postgres' ],
		'<', \'', '>', \$run{out}, '2>', \$run{err});
	return \%run;
}

sub object
{
	my ($run, $line, $text) = @_;
	my @lines = split /\n/, slurp_file($run->{file});
	my $statement = $line ? substr($lines[ $line - 1 ], 0, 1500) : '';
	push @found, "$run->{role}{name}, script $run->{number}: $text\n    $statement";
	return;
}

# Judges the output of a script. psql exits with 2 after a lost connection. A script with a finding
# stays among the logs, because the seed alone does not reproduce it: hipq makes tables as time
# passes.
sub judge
{
	my ($run) = @_;
	$run->{process}->finish;
	my $found_before = @found;
	object($run, $_->[0], $_->[1]) foreach HipqFuzz::objections($run->{err});
	object($run, 0, 'lost its connection: ' . substr($run->{err}, -500))
		if $run->{process}->result(0) == 2;
	object($run, 0, "saw \"$1\"") if !$may_see_all{ $run->{role}{name} } && "$run->{out}$run->{err}"
		=~ /^(.*topsecret.*)$/m;
	$answers{$1}++ while $run->{err} =~ /(?:ERROR|FATAL): +(\w{5}):/g;
	my $kept = "$PostgreSQL::Test::Utils::log_path/fuzz-" . basename($run->{file});
	if   (@found > $found_before) { rename $run->{file}, $kept }
	else                          { unlink $run->{file} }
	return;
}

# Returns the findings of these lines.
sub found_by
{
	my ($role, @lines) = @_;
	judge(run($role, @lines));
	return join("\n", splice @found);
}

# Cancels a session of the fuzz test at random.
sub disturb
{
	return $hipq->try_sql(q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity
		WHERE application_name = 'fuzz' AND state = 'active' ORDER BY random() LIMIT 1});
}

# The results of these queries should be empty.
my $unfinished = q{FROM hipq.jobs_detail AS job WHERE state <> 'final'};
my $idle = qq{$unfinished AND NOT EXISTS (SELECT FROM hipq.why(job.id) WHERE NOT passed)};
my $internal_errors = q{SELECT string_agg(DISTINCT concat_ws(' ', sqlstate, error), E'\n')
	FROM hipq.attempts_detail WHERE sqlstate LIKE 'XX%' OR sqlstate LIKE '58%'};

my $log_begin = 0;
sub log_lines
{
	my ($pattern) = @_;
	return join("\n", slurp_file($hipq->node->logfile, $log_begin) =~ /^(.*(?:$pattern).*)$/mg);
}
sub crashes
{
	return log_lines(qr/terminated by signal|PANIC|TRAP|AddressSanitizer|runtime error/);
}
sub ends_by_error
{
	return log_lines(
		qr/hipq (?:launcher|scheduler|executor).*(?:exited with exit code [^0]|ERROR|FATAL)/);
}

# ---- the judges find samples, and nothing else

{
	my ($stranger) = grep { $_->{name} eq 'fuzz_stranger' } @roles;
	is(found_by($stranger, 'SELECT 1/0;', 'SELECT nonsense;', "SELECT hipq.cancel(1);"), '',
		'an ordinary refusal is not a finding');
	like(
		found_by($stranger, 'SELECT 1;', 'SELECT fuzz.internal_error();'),
		qr/XX000: sample at \w+, \w+\.c:\d+\n    SELECT fuzz.internal_error/,
		'an internal error is a finding, with its source location');
	like(found_by($stranger, 'SELECT pg_terminate_backend(pg_backend_pid());'),
		qr/lost its connection/, 'a lost connection is a finding');
	like(found_by($stranger, q{SELECT 'topsecret_type';}), qr/saw ".*topsecret/,
		'hidden data is a finding');
	like(found_by($stranger, HipqFuzz::in_one_snapshot('SELECT fuzz.leaves_lock()')),
		qr/FUZZ: refused with P0001, but something was changed/,
		'a lock that a refused statement leaves in its session is a finding');
	is(found_by($stranger,
			'CREATE TEMPORARY TABLE kept ();', HipqFuzz::first_in_session('TABLE kept;')), '',
		'an error at the first statement of a new session is not a finding');
	is(delete $answers{'42P01'}, 1,
		'a new session does not have the temporary table of the last one');
	is(found_by($stranger, HipqFuzz::in_one_snapshot('SELECT 1/0')), '',
		'a refused statement that leaves nothing is not a finding');

	# A job that does not start, and a job that does not end. Then an executor ends with an error.
	my $points = HipqPoints->new($hipq);
	$points->arm('before-look', 'wait');
	my $stuck = $hipq->enqueue('ok', q{'{}', queue => 'app.main'});
	ok($points->wait_held('before-look'), 'an executor is held before it looks for jobs');
	is($hipq->sql("SELECT min(id) $idle"), $stuck, 'a job that does not start is a finding');
	$points->reset;
	is($hipq->outcome($stuck), 'succeeded', 'a job succeeds when the executor is released');
	is($hipq->sql("SELECT min(id) $idle"), '', 'a job that has ended is not a finding');
	my $lock = $hipq->hold_lock;
	my $held = $hipq->enqueue('run_sql',
		q{'"SELECT pg_advisory_xact_lock_shared(1)"', queue => 'app.main', timeout => 600});
	my $pid = $hipq->pid_of($held);
	is($hipq->sql("SELECT min(id) $unfinished AND job_type = 'run_sql'"), $held,
		'a running job that does not end is a finding');
	is(ends_by_error(), '', 'no process of hipq has ended with an error before the sample');
	$hipq->sql("SELECT pg_terminate_backend($pid)");
	ok($hipq->wait_until("SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid"),
		'an executor is terminated');
	like(ends_by_error(), qr/hipq executor/, 'an executor that ends with an error is a finding');
	$lock->quit;
	$hipq->outcome($held);
	is($hipq->sql($internal_errors), '', 'no handler has had an internal error before the sample');
	my $failed = $hipq->enqueue('run_sql',
		q{'"SELECT fuzz.internal_error()"', queue => 'app.main', max_retries => 0});
	is($hipq->outcome($failed), 'failed', 'a job with an internal error fails for good');
	like($hipq->sql($internal_errors), qr/XX000 sample/,
		'an internal error of a handler is a finding');
	# Otherwise the job might be retried.
	$hipq->sql("DELETE FROM hipq.attempt WHERE job_id = $failed;
		DROP FUNCTION fuzz.internal_error()");

	# PostgreSQL restarts all processes after the crash of one.
	is(crashes(), '', 'no process has crashed before the sample');
	my $victim = $hipq->session(on_error_stop => 0);
	my ($backend) = $victim->query_safe('SELECT pg_backend_pid()') =~ /(\d+)/;
	my $log_end = -s $hipq->node->logfile;
	kill 'KILL', $backend;
	$hipq->node->wait_for_log(qr/database system is ready to accept connections/, $log_end);
	like(crashes(), qr/\(PID \d+\) was terminated by signal 9/, 'a crash is a finding');
	eval { $victim->quit };
	ok($hipq->wait_until('SELECT true'), 'the server accepts connections after the crash');
}

# ---- refusals without other sessions

{
	my $jobs = 60;
	$hipq->sql("SELECT count(hipq.enqueue((ARRAY['ok', 'fails', 'ext'])[1 + n % 3],
		'{}', scheduled_run_time => now() + interval '1 hour', job_key => 'alone' || n))
		FROM generate_series(1, $jobs) AS n");
	$hipq->switch_off;
	like(found_by($roles[0], HipqFuzz::alone('CALL fuzz.leaves_row()')),
		qr/FUZZ: refused with P0001, but something was changed/,
		'a row that a refused statement leaves for other sessions is a finding');
	%answers = ();
	my @all = map { found_by($roles[$_],
			$fuzz->script_alone($roles[$_], 1000 + $_, 40)) } 0 .. $#roles;
	is(join("\n", grep { $_ ne '' } @all), '',
		'a refused statement without concurrent ones changes nothing')
		or diag("SEED=$seed");
	cmp_ok(sum0(values %answers), '>', 100, 'more than a hundred statements are refused');
	$hipq->set('hipq.enabled' => 'on');
}
$log_begin = -s $hipq->node->logfile;

# ---- many sessions

my $end = time() + 60 * ($ENV{FUZZ_MINUTES} || 1);
my @running;
while (time() < $end && @found < 20)
{
	push @running, start() while @running < $sessions;
	foreach (@running) { $_->{process}->pump_nb if $_->{process}->pumpable }
	judge($_) foreach grep { !$_->{process}->pumpable } @running;
	@running = grep { $_->{process}->pumpable } @running;
	disturb() if rand() < 0.02;
	usleep(20_000);
}
judge($_) foreach @running;
note("$number scripts, $statements statements");
is(join("\n", @found), '', 'random statements have no findings') or diag("SEED=$seed");
note('refusals: ', join ', ',
	map { "$_ $answers{$_}" } sort { $answers{$b} <=> $answers{$a} } keys %answers);
cmp_ok($statements, '>=', $sessions * $script_size, 'at least one script of each session was run');

# ---- the state after all scripts

$hipq->sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE application_name = 'fuzz'});
$hipq->sql("ROLLBACK PREPARED '$_'") foreach split /\n/,
	$hipq->sql('SELECT gid FROM pg_prepared_xacts');
ok(defined eval { $hipq->sql('TABLE hipq.alerts') },
	'view alerts can be read after random statements');
# Until then a worker that has ended, or the delay of a retry, may keep a job from ending.
ok($hipq->wait_until("SELECT count(*) = 0 $idle", 't', 90),
	'every job without an unmet condition ends')
	or diag($hipq->sql("SELECT to_json(job) $idle LIMIT 5"));
$hipq->sql(q{SELECT hipq.cancel_jobs(queue, max_jobs => 1000000) FROM hipq.queues});
ok($hipq->wait_until("SELECT count(*) = 0 $unfinished", 't', 90),
	'every other job can be cancelled')
  or diag($hipq->sql(q{SELECT to_json(job), ARRAY(SELECT why FROM hipq.why(job.id) WHERE NOT passed)
  		FROM hipq.jobs_detail AS job WHERE state <> 'final' LIMIT 5}));
is($hipq->sql($internal_errors), '',
	'no handler has had an internal error after random statements');

like($hipq->sql(q{SELECT string_agg(DISTINCT outcome, ' ' ORDER BY outcome) FROM hipq.jobs}),
	qr/cancelled.*failed.*succeeded/, 'jobs have been cancelled, have failed, and have succeeded');

is(crashes(), '', 'no process has crashed after random statements');
is(ends_by_error(), '', 'no process of hipq has ended with an error after random statements');
diag("SEED=$seed") if !Test::More->builder->is_passing;
done_testing();
