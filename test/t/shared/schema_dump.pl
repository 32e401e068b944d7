# After a dump without data create_queue() takes over tables that were restored without their
# queues, with their privileges and dependent objects. The options of pg_dump are those of
# docs/copies.md.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('schema_dump');
my $dir = PostgreSQL::Test::Utils::tempdir();
$hipq->node->safe_psql('postgres', 'CREATE DATABASE source; CREATE ROLE producer LOGIN');
my $source = $hipq->in('source');
$source->sql('CREATE EXTENSION hipq');
$source->create_queue('app.main');
$source->create_queue('app.mail', retention => '30 days');
$source->sql(q{
	CREATE FUNCTION run(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
	SELECT hipq.register_job_type('app.mail', 'run', handler => 'run');
	SELECT hipq.grant_queue('app.mail', 'producer', 'enqueue');
	CREATE VIEW public.waiting AS SELECT count(*) FROM hipq.app_mail WHERE state = 'initial'});
is($source->outcome_of('run'), 'succeeded', 'the source has a final job');
ok($source->wait_until(q{SELECT count(*) > 1 FROM pg_tables
		WHERE tablename LIKE 'app\_mail\_final\_p%'}), 'the source has leaves by time');
my $leaves =
	q{SELECT count(*) FROM pg_tables WHERE schemaname = 'hipq' AND tablename ~ '_p[0-9]+$'};

# The properties of a fresh queue, which a taken-over queue must have, too.
my $shape = q{SELECT string_agg(line, E'\n' ORDER BY line) FROM (
	SELECT indexdef AS line FROM pg_indexes WHERE schemaname = 'hipq' AND tablename ~ '^app_mail'
		AND tablename !~ '_p[0-9]+$'
	UNION ALL SELECT concat_ws(' ', tgrelid::regclass, tgname, tgenabled)
		FROM pg_trigger WHERE NOT tgisinternal AND tgrelid::regclass::text ~ '^hipq.app_mail'
		AND tgrelid::regclass::text !~ '_p[0-9]+$'
	UNION ALL SELECT concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid))
		FROM pg_constraint WHERE conrelid::regclass::text ~ '^hipq.app_mail'
		AND conrelid::regclass::text !~ '_p[0-9]+$'
	UNION ALL SELECT concat_ws(' ', oid::regclass, reloptions, obj_description(oid))
		FROM pg_class WHERE relnamespace = 'hipq'::regnamespace AND relname ~ '^app_mail'
		AND relname !~ '_p[0-9]+') AS all_of_it};
my $expected = $source->sql($shape);

# Returns a new database with a dump of the source, made with these options.
sub loaded
{
	my ($name, @options) = @_;
	$hipq->node->command_ok([ 'pg_dump', @options, '-f', "$dir/$name",
			$hipq->node->connstr('source') ], "$name: pg_dump @options");
	$hipq->node->safe_psql('postgres', "CREATE DATABASE $name");
	my $copy = $hipq->in($name);
	$hipq->node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/$name",
			$hipq->node->connstr($name) ], "$name: psql loads the dump");
	return $copy;
}

sub takes_over
{
	my ($copy, $what) = @_;
	is($copy->sql('SELECT count(*) FROM hipq.queues'), 0, "$what: there are no queues");
	like($copy->error_of(q{SELECT hipq.drop_queue('app.mail')}),
		qr/queue "app.mail" does not exist.*DETAIL:  Its table is there without it.*create_queue\('app.mail'\) takes the table over/s,
		"$what: drop_queue() says what to do");
	like($copy->error_of(q{INSERT INTO hipq.app_mail (job_type) VALUES ('run')}),
		qr/42704: queue 2 does not exist.*create_queue\(\) takes it over/s,
		"$what: INSERT says what to do");
	$copy->create_queue('app.between');
	is($copy->create_queue('app.mail', retention => '30 days'), 2,
		"$what: create_queue() takes the table over, with its number");
	cmp_ok($copy->sql(q{SELECT queue_id FROM hipq.queue WHERE name = 'between'}), '>', 2,
		"$what: a queue created before has another number");
	is($copy->sql($shape), $expected, "$what: the table has the properties of a fresh queue");
	$copy->sql(q{SELECT hipq.register_job_type('app.mail', 'run', handler => 'run')});
	my ($id) = $copy->sql_as('producer',
		q{INSERT INTO hipq.app_mail (job_type) VALUES ('run') RETURNING id});
	is($copy->outcome($id), 'succeeded',
		"$what: the privilege to enqueue is restored, and jobs run");
	ok($copy->wait_until(q{SELECT count(*) > 1 FROM pg_tables
			WHERE tablename LIKE 'app\_mail\_final\_p%'}), "$what: leaves are made");
	$copy->create_queue('app.main');
	$copy->sql(q{SELECT hipq.drop_queue('app.main')});
	ok($copy->wait_until(q{SELECT count(*) FROM pg_class WHERE relname ~ '^app_main'}, 0),
		"$what: the queue can be dropped");
	return;
}

my $whole = loaded('whole', '-s');
cmp_ok($whole->sql($leaves), '>', 4, 'pg_dump -s: the copy has leaves by time');
takes_over($whole, 'pg_dump -s');
is($whole->sql('TABLE waiting'), 0, 'pg_dump -s: a view over the table works after the take-over');

my @no_leaves = ('-T', 'hipq.*_final_p*', '-T', 'hipq.attempt*_p*');
my $without_leaves = loaded('without_leaves', '-s', @no_leaves);
is($without_leaves->sql($leaves), 0, 'without leaves by time: the copy has none');
takes_over($without_leaves, 'without leaves by time');

# A dump without any table of hipq is for projects that create queues in migrations, and keep the
# schema in a file.
$source->sql('DROP VIEW waiting');
my $without_tables = loaded('without_tables', '-s', '-T', 'hipq.*');
unlike(slurp_file("$dir/without_tables"), qr/app_mail|attempt_/,
	'without tables: the file names no table of hipq');
is($without_tables->create_queue('app.mail'), 1, 'without tables: create_queue() makes a table');

# A dump with data, but without the final jobs and attempts in leaves by time.
my $unfinished = $source->enqueue('run', q{scheduled_run_time => now() + interval '1 hour'});
my $small = loaded('small', @no_leaves);
is($small->sql('SELECT count(*) FROM hipq.queues'), 2,
	'data without leaves by time: the queues are restored');
is($small->sql('SELECT string_agg(id::text, $$ $$) FROM hipq.jobs'), $unfinished,
	'data without leaves by time: only unfinished jobs are restored');
$small->sql("SELECT hipq.release_hold(); SELECT hipq.reschedule($unfinished, now())");
is($small->outcome($unfinished), 'succeeded',
	'data without leaves by time: unfinished jobs run after release_hold()');

# A dump that has jobs without their queue is incomplete.
$hipq->node->safe_psql('postgres', 'CREATE DATABASE half');
my $half = $hipq->in('half');
$half->sql('CREATE EXTENSION hipq');
$source->enqueue('run', q{scheduled_run_time => now() + interval '1 hour'});
$hipq->node->command_ok([ 'pg_dump', '-n', 'hipq', '-f', "$dir/half",
		$hipq->node->connstr('source') ], 'pg_dump -n hipq');
$hipq->node->run_log([ 'psql', '-X', '-q', '-f', "$dir/half", $hipq->node->connstr('half') ]);
like($half->error_of(q{SELECT hipq.create_queue('app.mail', owner => 'app')}),
	qr/55000: table "hipq.app_mail" has jobs, but no queue.*HINT:  Run TRUNCATE hipq.app_mail/s,
	'a table with jobs is not taken over');
is($half->sql('SELECT count(*) FROM hipq.queues'), 0, 'a refused create_queue() makes no queue');
$half->sql('TRUNCATE hipq.app_mail');
is($half->create_queue('app.mail'), 2, 'an emptied table is taken over');

done_testing();
