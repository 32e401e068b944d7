# A dump contains queues, types, jobs, history and grants. A restored or cloned database holds its
# jobs until release_hold().
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('dump', 'hipq.retry_jitter' => 0,
	'hipq.executor_idle_timeout' => '100ms');
my $dir = PostgreSQL::Test::Utils::tempdir();
$hipq->node->safe_psql('postgres',
	'CREATE DATABASE source; CREATE ROLE producer LOGIN; CREATE ROLE looker LOGIN');
my $source = $hipq->in('source');
$source->sql('CREATE EXTENSION hipq');
$source->create_queue('app.main', history => 'all', retention => '30 days', throttle_limit => 5);
$source->create_queue('other.mail');
$source->sql(q{
	CREATE TABLE ran (id bigint, attempt integer);
	GRANT ALL ON ran TO app;
	CREATE FUNCTION run(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO ran VALUES (job.id, job.attempt);
		IF job.job_data ? 'lock' THEN
			PERFORM pg_advisory_xact_lock_shared((job.job_data->>'lock')::bigint); END IF;
		IF job.job_data ? 'fail' THEN RAISE 'fails'; END IF;
	END $$;
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run', default_priority => 3,
		retry_on => '{22012}', max_retries => 0, claim => 'record');
	SELECT hipq.register_job_type('app.main', 'retries', handler => 'run', max_retries => 1,
		retry_base => '1 hour', retry_max => '1 hour');
	SELECT hipq.register_job_type('other.mail', 'later', handler => 'run');
	SELECT hipq.alter_instance('other', max_retries => 4);
	SELECT hipq.alter_queue('other.mail', max_retries => 5);
	SELECT hipq.pause('other.mail', reason => 'not today');
	INSERT INTO hipq.schedule (name, cron, role, queue_id, job_type, job_key) SELECT 'nightly',
		'@daily', 'app', queue_id, 'later', 'NONE' FROM hipq.queue WHERE name = 'mail';
	SELECT hipq.grant_queue('app.main', 'producer', 'enqueue');
	SELECT hipq.grant_queue('app.main', 'looker', 'read')});

# Final jobs (with dead letters and attempts), waiting jobs, a job in state retry, and a running
# job.
my @done = map { $source->enqueue('run', qq{'{"n": $_}', job_key => 'key $_'}) } 1 .. 20;
push @done, map { $source->enqueue('run', q{'{"fail": 1}'}) } 1 .. 3;
$source->outcome($_) foreach @done;
my $retry = $source->enqueue('retries', q{'{"fail": 1}'});
$source->wait_until("SELECT state FROM hipq.jobs_detail WHERE id = $retry", 'retry');
my $lock = $source->hold_lock;
my $running = $source->enqueue('run', q{'{"lock": 1}', job_key => 'running'});
$source->wait_until("SELECT count(*) FROM hipq.running WHERE id = $running", 1);
$source->enqueue('later', q{scheduled_run_time => now() + interval '1 day', job_key => 'tomorrow'});
$source->enqueue('nobody', q{queue => 'other.mail'});
# The scheduler makes the leaf of final jobs.
$source->wait_until('SELECT count(*) FROM hipq.app_main_final_default', 0);
# Jobs that are enqueued from here on wait, when only the executor of the running job is left.
$hipq->set('hipq.databases' => 'nowhere');
$source->wait_until(q{SELECT string_agg(backend_type, ' ') FROM pg_stat_activity
	WHERE backend_type IN ('hipq scheduler', 'hipq executor')}, 'hipq executor');
my $waiting = $source->enqueue('run', q{'{"waiting": true, "text": "a\\\\tb"}'});

my %checks = (
	jobs => q{SELECT md5(string_agg(job::text, ' ' ORDER BY id)) || count(*) FROM hipq.job},
	leaves => q{SELECT string_agg(DISTINCT concat_ws(' ', state,
		regexp_replace(tableoid::regclass::text, '_p\d+$', '')), ', ') FROM hipq.job},
	attempts => q{SELECT md5(string_agg(attempt::text, ' '
		ORDER BY job_id, attempt, ended_time)) || count(*) FROM hipq.attempt},
	dead_letters => q{SELECT md5(string_agg(dead_letter::text, ' ' ORDER BY job_id)) || count(*)
		FROM hipq.dead_letter},
	instances => q{SELECT string_agg(instance::text, ' ' ORDER BY instance_id) FROM hipq.instance},
	queues => q{SELECT string_agg(queue::text, ' ' ORDER BY queue_id) FROM hipq.queue},
	pauses => q{SELECT string_agg(pause::text, ' ') FROM hipq.pause},
	schedules => q{SELECT string_agg(schedule::text, ' ') FROM hipq.schedule},
	types => q{SELECT string_agg(job_type::text, ' ' ORDER BY queue_id, name) FROM hipq.job_type},
	max_retries => q{SELECT concat_ws(' ', instance.max_retries, queue.max_retries)
		FROM hipq.queue JOIN hipq.instance USING (instance_id) WHERE queue.name = 'mail'},
	sequences => q{SELECT concat_ws(' ', (SELECT last_value FROM hipq.job_id_seq),
		(SELECT last_value FROM hipq.queue_id_seq), (SELECT last_value FROM hipq.instance_id_seq),
		(SELECT last_value FROM hipq.schedule_id_seq))},
	indexes => q{SELECT string_agg(indexdef, ' ' ORDER BY indexname) FROM pg_indexes
		WHERE schemaname = 'hipq'},
	grants => q{SELECT string_agg(relname || array_to_string(ARRAY(SELECT unnest(relacl)::text
		ORDER BY 1), ','), ' ' ORDER BY relname) FROM pg_class
		WHERE relnamespace = 'hipq'::regnamespace AND relkind IN ('r', 'p', 'v', 'S')},
	function_grants => q{SELECT string_agg(oid::regprocedure::text || array_to_string(ARRAY(SELECT
		unnest(proacl)::text ORDER BY 1), ','), ' ' ORDER BY oid::regprocedure::text)
		FROM pg_proc WHERE pronamespace = 'hipq'::regnamespace},
	triggers => q{SELECT string_agg(concat_ws(' ', tgrelid::regclass, tgname, tgenabled), ', '
		ORDER BY tgrelid::regclass::text, tgname) FROM pg_trigger
		WHERE NOT tgisinternal AND tgrelid::regclass::text !~ '_p\d+$'});
my %expected = map { $_ => $source->sql($checks{$_}) } keys %checks;
is($expected{leaves}, 'final hipq.app_main_final, initial hipq.app_main_live, '
	. 'initial hipq.other_mail_live, retry hipq.app_main_live, running hipq.app_main_live',
	'the source has jobs of all kinds');

my $connstr = $hipq->node->connstr('source');
my %dump = (
	plain => [ [ 'pg_dump', '-f', "$dir/plain", $connstr ],
		sub { [ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/plain", $_[0] ] } ],
	inserts => [ [ 'pg_dump', '--inserts', '--rows-per-insert=7', '-f', "$dir/inserts", $connstr ],
		sub { [ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/inserts", $_[0] ] } ],
	columns => [ [ 'pg_dump', '-Fc', '--column-inserts', '--on-conflict-do-nothing',
			'-f', "$dir/columns", $connstr ],
		sub { [ 'pg_restore', '-e', '-d', $_[0], "$dir/columns" ] } ],
	custom => [ [ 'pg_dump', '-Fc', '-f', "$dir/custom", $connstr ],
		sub { [ 'pg_restore', '-e', '-d', $_[0], "$dir/custom" ] } ],
	directory => [ [ 'pg_dump', '-Fd', '-j2', '-f', "$dir/directory", $connstr ],
			sub { [ 'pg_restore', '-e', '-j2', '-d', $_[0], "$dir/directory" ] } ]);
foreach my $kind (sort keys %dump)
{
	$hipq->node->command_ok($dump{$kind}[0], "$kind: pg_dump");
}
$hipq->set('hipq.databases' => 'plain, inserts, columns, custom, directory, absent, clone');
$lock->quit;
ok($hipq->wait_until(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'hipq executor'},
		0), 'all executors of the source exit');
# The running job has ended in the source.

foreach my $kind (sort keys %dump)
{
	$hipq->node->safe_psql('postgres', "CREATE DATABASE $kind");
	my $copy = $hipq->in($kind);
	$hipq->node->command_ok($dump{$kind}[1]->($hipq->node->connstr($kind)),
		"$kind: restore into a server where hipq runs");
	is($copy->sql($checks{$_}), $expected{$_}, "$kind: the restored $_ are the same")
		foreach sort keys %checks;
	like($copy->why($waiting), qr/^hold: The database or its server is a copy, or was restored/,
		"$kind: the jobs are held");
	# An enqueued job starts a scheduler, which finds the hold and exits.
	my $new = $copy->sql(q{SELECT hipq.enqueue('run', queue => 'app.main')});
	ok($copy->wait_until(q{SELECT count(*) = 0 FROM pg_stat_activity WHERE datname =
			current_database() AND backend_type IN ('hipq scheduler', 'hipq executor')}),
		"$kind: no worker runs");
	is($copy->sql("SELECT string_agg(state::text, ' ' ORDER BY id) FROM hipq.jobs_detail WHERE id
			IN ($waiting, $new, $running)"), 'running initial initial', "$kind: no job has run");
	$copy->sql('SELECT hipq.release_hold()');
	is($copy->outcome($waiting), 'succeeded', "$kind: waiting jobs run after release_hold()");
	is($copy->outcome($new), 'succeeded', "$kind: new jobs run after release_hold()");
	is($copy->outcome($running), 'succeeded', "$kind: the interrupted job runs again");
	is($copy->sql("SELECT attempt || ' ' || retry_count FROM hipq.jobs_detail WHERE id = $running"),
		'2 0', "$kind: the interrupted job runs in a new attempt, uncharged");
	is($copy->sql("SELECT string_agg(attempt::text, ' ') FROM ran WHERE id = $running"), '2',
		"$kind: only the new attempt of the interrupted job has effects");
	my ($id) = $copy->sql_as('producer',
		q{INSERT INTO hipq.app_main (job_type) VALUES ('run') RETURNING id});
	is($copy->outcome($id), 'succeeded', "$kind: the privilege to enqueue is restored");
	cmp_ok($copy->sql_as('looker', q{SELECT count(*) FROM hipq.jobs}), '>', 20,
		"$kind: the privilege to read is restored");
	like($copy->error_of(q{SELECT hipq.enqueue('run', job_key => 'x',
			scheduled_run_time => now() + interval '1 day'); SELECT hipq.create_queue('third.queue',
			owner => 'app'); UPDATE hipq.app_main SET error = 'x' WHERE state = 'initial'}),
		qr/changed by hipq only/,
		"$kind: jobs can be enqueued, and are guarded");
}

# ---- restored where a role does not exist
{
	my $script = slurp_file("$dir/plain");
	is($script =~ s/^(\d+\t\d+\tmain\t)app\t/$1absent\t/mg, 1,
		'absent role: the dump has a queue with an absent owner');
	is($script =~ s/^(\d+\tnightly\t\@daily\t)app\t/$1absent\t/mg, 1,
		'absent role: the dump has a schedule with an absent role');
	PostgreSQL::Test::Utils::append_to_file("$dir/absent", $script);
	$hipq->node->safe_psql('postgres', 'CREATE DATABASE absent');
	my $copy = $hipq->in('absent');
	my ($status, undef, $said) = $hipq->node->psql('absent', "\\i $dir/absent",
		extra_params => [ '-v', 'ON_ERROR_STOP=1' ]);
	is($status, 0, 'absent role: the dump is restored');
	like($said, qr/WARNING:  role absent does not exist/, 'absent role: a warning names the role');
	is($copy->sql($checks{jobs}), $expected{jobs}, 'absent role: the jobs are restored');
	is($copy->sql('SELECT string_agg(queue, \' \' ORDER BY queue) FROM hipq.queues'),
		'app.main other.mail', 'absent role: the queues are restored');
	my $found = q{SELECT finding || ': ' || detail FROM hipq.doctor()};
	is($copy->sql("$found WHERE finding = 'owner gone'"),
		'owner gone: Its owner did not exist where it was restored. Jobs with SQL handlers wait.',
		'absent role: the doctor reports the queue');
	is($copy->sql("$found WHERE finding = 'role gone'"),
		'role gone: Its role did not exist where it was restored.',
			'absent role: the doctor reports the schedule');
	$copy->sql('SELECT hipq.release_hold()');
	like($copy->why($waiting), qr/^queue owner: The queue owner does not exist any more/,
		'absent role: jobs wait for an owner');
	$copy->sql(q{SELECT hipq.alter_queue('app.main', owner => 'app')});
	is($copy->outcome($waiting), 'succeeded', 'absent role: jobs run with another owner');
}

# ---- a clone
$hipq->node->safe_psql('postgres',
	q{SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = 'source'});
$hipq->node->safe_psql('postgres', 'CREATE DATABASE clone TEMPLATE source');
my $clone = $hipq->in('clone');
like($clone->why($waiting), qr/^hold:/, 'a clone holds its jobs');
my $new = $clone->sql(q{SELECT hipq.enqueue('run', queue => 'app.main')});
ok($clone->wait_until(q{SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = current_database()
		AND backend_type IN ('hipq scheduler', 'hipq executor')}), 'no worker runs in a clone');
is($clone->sql("SELECT state FROM hipq.jobs_detail WHERE id = $new"), 'initial',
	'no job runs in a clone');
$clone->sql('SELECT hipq.release_hold()');
is($clone->outcome($new), 'succeeded', 'jobs run in a clone after release_hold()');

# ---- the original runs jobs
$hipq->set('hipq.databases' => '*');
is($source->outcome($waiting), 'succeeded', 'jobs run in the source');

done_testing();
