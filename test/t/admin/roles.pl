# The right to enqueue suffices for an ORM and for a trigger. A queue whose owner cannot log in
# waits. The owner of a queue cannot be dropped.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('roles', 'hipq.executor_idle_timeout' => '100ms');
$hipq->sql('CREATE ROLE orm LOGIN; CREATE ROLE stranger LOGIN');
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE TABLE ran (who text, data jsonb); GRANT INSERT ON ran TO app;
	CREATE FUNCTION run(data jsonb) RETURNS void LANGUAGE sql AS $$ INSERT INTO ran
		VALUES (current_user, data) $$;
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run', default_priority => 7)});
$hipq->sql_as('app', q{SELECT hipq.grant_queue('app.main', 'orm', 'enqueue')});

# ---- an ORM
my @columns = split / /,
	$hipq->sql(q{SELECT string_agg(quote_ident(attname), ' ' ORDER BY attnum) FROM pg_attribute
	WHERE attrelid = 'hipq.app_main'::regclass AND attnum > 0 AND NOT attisdropped});
cmp_ok(scalar @columns, '>', 25, 'an ORM knows all columns');
my $list = join ', ', @columns;
my $values = join ', ',
	map { $_ eq 'job_type' ? q{'run'} : $_ eq 'job_data' ? q{'{"by": "orm"}'} : 'NULL' } @columns;
my $id = $hipq->sql_as('orm', "INSERT INTO hipq.app_main ($list) VALUES ($values) RETURNING id");
like($id, qr/^\d+$/, 'an ORM can insert NULL in all other columns, and gets the id');
is($hipq->outcome($id), 'succeeded', 'the job of an ORM runs');
is($hipq->sql("SELECT concat_ws(' ', priority, job_key, timeout, queue_id IS NOT NULL) FROM hipq.job
		WHERE id = $id"), '7 NONE 300 t', 'the job of an ORM has the values of its type');
is($hipq->sql('SELECT who || $$ $$ || data FROM ran'), 'app {"by": "orm"}',
	'the job of an ORM runs as the queue owner');
my $parameters = join ', ', map { '$' . $_ } 1 .. @columns;
$hipq->sql_as('orm', "PREPARE ins AS INSERT INTO hipq.app_main ($list) VALUES ($parameters)
	RETURNING id; EXECUTE ins ($values)");
ok($hipq->wait_until('SELECT count(*) FROM ran', 2), 'a prepared INSERT enqueues');
$hipq->sql_as('orm', q{INSERT INTO hipq.app_main (job_type, queue_id, job_data)
	VALUES ('run', NULL, '1'), ('run', NULL, '2'), ('run', DEFAULT, '3')});
ok($hipq->wait_until('SELECT count(*) FROM ran', 5),
	'an INSERT of several rows takes NULL for queue_id');
$hipq->sql_as('orm', q{INSERT INTO hipq.app_main (job_type, queue_id, job_data)
	SELECT 'run', NULL, to_jsonb(n) FROM generate_series(1, 2) AS n});
ok($hipq->wait_until('SELECT count(*) FROM ran', 7), 'INSERT ... SELECT takes NULL for queue_id');
is($hipq->sql_as('orm', q{INSERT INTO hipq.app_main (job_type, job_key, scheduled_run_time) VALUES
		('run', 'k', now() + interval '1 day') ON CONFLICT DO NOTHING RETURNING id > 0}), 't',
	'bare ON CONFLICT DO NOTHING inserts a new key');
is($hipq->sql_as('orm', q{INSERT INTO hipq.app_main (job_type, job_key)
		VALUES ('run', 'k') ON CONFLICT DO NOTHING RETURNING id > 0}), '',
	'ON CONFLICT DO NOTHING inserts no duplicate key');
like($hipq->error_of(q{INSERT INTO hipq.app_main (job_type, job_key) VALUES ('run', 'k')},
		extra_params => [ '-U', 'orm' ]), qr/23505/, 'a plain INSERT of a duplicate key fails');
like($hipq->sql_as('orm', q{SELECT hipq.enqueue('run', queue => 'app.main', job_key => 'k',
		on_duplicate => 'return') > 0}), qr/^t$/, q{on_duplicate => 'return' gives an id});
like($hipq->error_of(q{SELECT job_data FROM hipq.app_main}, extra_params => [ '-U', 'orm' ]),
	qr/42501/, 'the right to enqueue does not allow to read');
like($hipq->error_of(q{INSERT INTO hipq.app_main (job_type, state) VALUES ('run', 'final')},
		extra_params => [ '-U', 'orm' ]), qr/ERROR/, 'the state cannot be inserted');
like($hipq->error_of(q{INSERT INTO hipq.app_main (job_type) VALUES ('run')}, extra_params => [ '-U',
		'stranger' ]), qr/42501/, 'a role without the right to enqueue cannot INSERT');
like($hipq->error_of(q{SELECT hipq.enqueue('run', queue => 'app.main')}, extra_params => [ '-U',
		'stranger' ]), qr/42501/, 'a role without the right to enqueue cannot call enqueue()');

# ---- a trigger of a user's table
$hipq->sql(q{
	TRUNCATE ran;
	CREATE TABLE signup (email text); GRANT INSERT ON signup TO orm;
	CREATE FUNCTION signed_up() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN INSERT INTO hipq.app_main (job_type, job_data)
		VALUES ('run', jsonb_build_object('email', NEW.email)); RETURN NULL; END $$;
	CREATE TRIGGER signed_up AFTER INSERT ON signup FOR EACH ROW EXECUTE FUNCTION signed_up()});
$hipq->sql_as('orm', q{INSERT INTO signup VALUES ('a@b'), ('c@d')});
ok($hipq->wait_until(q{SELECT string_agg(who || data, ' ' ORDER BY data) FROM ran},
		'app{"email": "a@b"} app{"email": "c@d"}'), "a trigger of a user's table enqueues");

# ---- the queue owner
my $err = $hipq->error_of(
	'REASSIGN OWNED BY app TO CURRENT_USER; DROP OWNED BY app; DROP ROLE app');
like($err, qr/2BP01: role "app" cannot be dropped because it owns queue "app.main"/,
	'the queue owner cannot be dropped');
like($err, qr/HINT:  Use hipq.alter_queue\(owner => \.\.\.\) or hipq.drop_queue\(\) first/,
	'the hint names the functions that change the owner or drop the queue');
$hipq->sql('ALTER ROLE app NOLOGIN');
$hipq->sql('GRANT INSERT ON ran TO app');    # DROP OWNED BY took it
ok($hipq->wait_until(q{SELECT count(*) = 0 FROM hipq.executors}), 'no executor is left');
$id = $hipq->enqueue('run', q{queue => 'app.main'});
like($hipq->why($id), qr/^queue owner: Queue owner "app" may not log in: ALTER ROLE app LOGIN/,
	'why() says that the owner cannot log in');
is($hipq->sql("SELECT state FROM hipq.jobs_detail WHERE id = $id"), 'initial',
	'a job waits while the owner cannot log in');
$hipq->sql('ALTER ROLE app LOGIN');
is($hipq->outcome($id, 15), 'succeeded', 'the job runs when the owner can log in');

# ---- another queue owner
$hipq->sql(q{GRANT INSERT ON ran TO stranger; TRUNCATE ran;
	SELECT hipq.alter_queue('app.main', owner => 'stranger')});
is($hipq->outcome_of('run', q{queue => 'app.main'}), 'succeeded',
	'a job of a queue with a new owner succeeds');
is($hipq->sql('SELECT who FROM ran'), 'stranger',
	'a job of a queue with a new owner runs as that owner');

done_testing();
