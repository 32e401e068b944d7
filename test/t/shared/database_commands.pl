# Commands that need a database or the extension for themselves end within 5 s while jobs run. When
# they fail or are rolled back, hipq's workers start again.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $hipq = HipqCluster->new('commands', extension => 0,
	'hipq.max_executors' => 3, 'hipq.retry_jitter' => 0, 'hipq.executor_idle_timeout' => '200ms',
	'allow_in_place_tablespaces' => 'on', autovacuum => 'off');
my $admin = $hipq->in('postgres');
my $workers = q{SELECT string_agg(backend_type, ', ' ORDER BY backend_type) FROM pg_stat_activity
	WHERE backend_type IN ('hipq scheduler', 'hipq executor') AND datname = };

# Creates a database with a queue. Jobs of type "wait" wait for advisory lock 1.
sub create_database
{
	my ($name) = @_;
	$admin->sql("CREATE DATABASE $name");
	my $db = $hipq->in($name);
	install($db);
	return $db;
}

sub install
{
	my ($db) = @_;
	$db->sql(q{CREATE EXTENSION hipq});
	$db->create_queue('app.main');
	$db->sql(q{
		CREATE OR REPLACE FUNCTION public.wait_for_lock(data jsonb) RETURNS void
			LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(1); END $$;
		CREATE OR REPLACE FUNCTION public.do_nothing(data jsonb) RETURNS void
			LANGUAGE plpgsql AS $$ BEGIN END $$;
		CREATE OR REPLACE FUNCTION public.sleep(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN IF job.attempt = 1 THEN PERFORM pg_sleep(600); END IF; END $$;
		SELECT hipq.register_job_type('app.main', 'wait', handler => 'public.wait_for_lock');
		SELECT hipq.register_job_type('app.main', 'sleep', handler => 'public.sleep');
		SELECT hipq.register_job_type('app.main', 'quick', handler => 'public.do_nothing')});
	return;
}

# Starts two executors, each with a job, and a scheduler, which stays for a job that cannot run.
# Another session of the database holds the lock. This session must end before the command.
sub occupy
{
	my ($db) = @_;
	my $lock = $db->hold_lock;
	my @ids = map { $db->enqueue('wait') } 1 .. 2;
	$db->sql(q{SELECT hipq.enqueue('nobody', queue => 'app.main')});
	$db->wait_until('SELECT count(*) FROM hipq.running', 2);
	$admin->wait_until("$workers '$db->{database}'", 'hipq executor, hipq executor, hipq scheduler')
	  or die 'the workers did not come';
	return ($lock, @ids);
}

# Does the same without a session that holds the lock: handlers sleep in their first attempt.
sub occupy_asleep
{
	my ($db) = @_;
	my @ids = map { $db->enqueue('sleep') } 1 .. 2;
	$db->sql(q{SELECT hipq.enqueue('nobody', queue => 'app.main')});
	$db->wait_until("SELECT count(*) FROM hipq.running WHERE id IN ($ids[0], $ids[1])", 2);
	$admin->wait_until("$workers '$db->{database}'", 'hipq executor, hipq executor, hipq scheduler')
	  or die 'the workers did not come';
	return @ids;
}

sub done_in_time
{
	my ($command, $what, $status) = @_;
	HipqCluster::close_looks();
	my $start = time();
	my ($rc, $out, $err) = $hipq->node->psql('postgres', $command);
	my $took = time() - $start;
	is($rc, $status // 0, "$what: " . ($status ? 'fails' : 'works')) or diag($err);
	$hipq->in_time($took, 5, "$what: within 5 s");
	diag(sprintf('%s took %.3f s', $what, $took)) if $ENV{HIPQ_TIMES};
	return $err;
}

sub finished_after
{
	my ($db, $what, @ids) = @_;
	foreach my $id (@ids)
	{
		is($db->outcome($id, 20), 'succeeded', "$what: an interrupted job runs again");
		is($db->sql("SELECT concat_ws(' ', attempt, retry_count) FROM hipq.jobs_detail
				WHERE id = $id"), '2 0', "$what: an interrupted job is not charged");
	}
	return;
}

# ---- DROP DATABASE
{
	my $db = create_database('dropped');
	occupy_asleep($db);
	done_in_time('DROP DATABASE dropped', 'DROP DATABASE');
	$db = create_database('forced');
	occupy_asleep($db);
	done_in_time('DROP DATABASE forced WITH (FORCE)', 'DROP DATABASE WITH (FORCE)');

	# The owner of the database is no superuser, but the scheduler is one.
	$admin->sql('CREATE ROLE landlord LOGIN CREATEDB');
	$db = create_database('owned');
	$admin->sql('ALTER DATABASE owned OWNER TO landlord');
	my @ids = occupy_asleep($db);
	my ($rc, $out, $err) = $hipq->node->psql('postgres', 'DROP DATABASE owned',
		extra_params => [ '-U', 'app' ]);
	like($err, qr/must be owner of database owned/,
		'a role that is not the owner cannot drop the database');
	is($db->sql("SELECT string_agg(attempt::text, ' ') FROM hipq.running
			WHERE id IN ($ids[0], $ids[1])"), '1 1', 'a refused DROP DATABASE interrupts no job');
	# The owner cannot end a superuser's session.
	$admin->wait_until("SELECT count(*) FROM pg_stat_activity WHERE datname = 'owned'
		AND backend_type = 'client backend'", 0);
	($rc, $out, $err) = $hipq->node->psql('postgres', 'DROP DATABASE owned WITH (FORCE)',
		extra_params => [ '-U', 'landlord' ]);
	is($rc, 0, 'the owner can drop the database WITH (FORCE)') or diag($err);

	is($admin->sql(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type IN ('hipq scheduler',
			'hipq executor')}), '0', 'dropped databases leave no worker behind');
	ok($admin->wait_until(q{SELECT pid IS NOT NULL FROM pg_stat_activity
			WHERE backend_type = 'hipq launcher'}),
		'the launcher runs after databases were dropped');
}

# ---- a command that fails
{
	my $db = create_database('stays');
	is($db->sql('SELECT count(*) FROM hipq.executors'), '0',
		'dropped databases leave no slot of an executor behind');
	my ($lock, @ids) = occupy($db);
	# The session that holds the lock blocks the command, as any other session would.
	my ($rc, $out, $err) = $hipq->node->psql('postgres', 'DROP DATABASE stays');
	like($err, qr/is being accessed by other users.*There is 1 other session/s,
		"DROP DATABASE fails because of one session: hipq's workers are not counted");
	ok($admin->wait_until("$workers 'stays'", 'hipq executor, hipq executor, hipq scheduler'),
		'scheduler and executors run after a DROP DATABASE that failed');
	$lock->quit;
	finished_after($db, 'DROP DATABASE that failed', @ids);

	# Commands that cannot run in a transaction block fail before they interrupt a worker.
	@ids = occupy_asleep($db);
	done_in_time('BEGIN; DROP DATABASE stays', 'DROP DATABASE in a transaction block', 3);
	done_in_time('BEGIN; CREATE DATABASE x TEMPLATE stays',
		'CREATE DATABASE in a transaction block', 3);
	done_in_time('CREATE DATABASE template1 TEMPLATE stays',
		'CREATE DATABASE of a name that is taken', 3);
	is($db->sql("SELECT string_agg(attempt::text, ' ') FROM hipq.running
			WHERE id IN ($ids[0], $ids[1])"), '1 1', 'commands that fail at once interrupt no job');

	# ---- ALTER DATABASE RENAME
	done_in_time('BEGIN; ALTER DATABASE stays RENAME TO gone; ROLLBACK',
		'ALTER DATABASE RENAME, rolled back');
	finished_after($db, 'RENAME that was rolled back', @ids);

	@ids = occupy_asleep($db);
	my $session = $hipq->session;
	$session->query_safe('BEGIN');
	$session->query_safe('SAVEPOINT before');
	$session->query_safe('ALTER DATABASE stays RENAME TO gone');
	is($admin->sql("$workers 'gone'") . $admin->sql("$workers 'stays'"), '',
		'no worker runs while the transaction of RENAME is open');
	$session->query_safe('ROLLBACK TO before');
	finished_after($db, 'RENAME in a savepoint that was rolled back', @ids);
	$session->quit;

	@ids = occupy_asleep($db);
	done_in_time('ALTER DATABASE stays RENAME TO renamed', 'ALTER DATABASE RENAME');
	$db = $hipq->in('renamed');
	finished_after($db, 'RENAME', @ids);

	# hipq.databases lists databases by their new names.
	$admin->set('hipq.databases' => 'listed');
	my $id = $db->enqueue('quick', q{queue => 'app.main'});
	like($db->why($id), qr/^enabled:/, 'a database that is not listed runs nothing');
	$admin->sql('ALTER DATABASE renamed RENAME TO listed');
	$db = $hipq->in('listed');
	is($db->outcome($id, 5), 'succeeded', 'a database runs jobs under a listed name');
	$admin->set('hipq.databases' => '*');

	# ---- ALTER DATABASE SET TABLESPACE
	$admin->sql(q{CREATE TABLESPACE other LOCATION ''});
	@ids = occupy_asleep($db);
	done_in_time('ALTER DATABASE listed SET TABLESPACE other', 'ALTER DATABASE SET TABLESPACE');
	finished_after($db, 'SET TABLESPACE', @ids);

	# ---- CREATE DATABASE
	@ids = occupy_asleep($db);
	done_in_time('CREATE DATABASE copy TEMPLATE listed', 'CREATE DATABASE');
	finished_after($db, 'CREATE DATABASE', @ids);
	# A session of the same database runs the command.
	@ids = occupy_asleep($db);
	$db->sql('CREATE DATABASE copy_of_own TEMPLATE listed');
	finished_after($db, 'CREATE DATABASE from within', @ids);

	# ---- connections not allowed: running jobs continue as other sessions do, and no worker tries
	# to connect
	$admin->sql('ALTER DATABASE listed ALLOW_CONNECTIONS false');
	$admin->sql(qq{SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
		WHERE datname = 'listed'});
	my $offset = -s $hipq->node->logfile;
	$hipq->node->restart;
	ok($admin->wait_until(q{SELECT count(*) FROM pg_stat_activity
			WHERE backend_type = 'hipq launcher'}, 1), 'the launcher runs after a restart');
	$admin->sql('SELECT pg_reload_conf()');
	# The launcher has had time to start workers.
	$admin->sql('CREATE DATABASE as_a_sign_of_time');
	unlike(slurp_file($hipq->node->logfile, $offset), qr/not currently accepting connections/,
		'no worker tries to connect to a database that allows no connections');
	$admin->sql('ALTER DATABASE listed ALLOW_CONNECTIONS true');
	$id = $db->sql(q{SELECT max(id) FROM hipq.jobs WHERE job_type = 'nobody'});
	$db->sql(q{SELECT hipq.alter_job_type('app.main', 'nobody', handler => 'public.do_nothing')});
	is($db->outcome($id, 5), 'succeeded', 'jobs run when connections are allowed again');
}

# ---- idle executors
{
	$hipq->set('hipq.executor_idle_timeout' => '10min');
	my $db = create_database('quiet');
	foreach my $command ('ALTER DATABASE quiet RENAME TO silent',
		'CREATE DATABASE copy_of_silent TEMPLATE silent', 'DROP DATABASE silent')
	{
		is($db->outcome($db->enqueue('quick')), 'succeeded', "a job runs before $command");
		ok($admin->wait_until(qq{SELECT count(*) FROM pg_stat_activity
				WHERE backend_type = 'hipq executor' AND datname = '$db->{database}'}, 1),
			"an executor is idle before $command");
		done_in_time($command, "$command with an idle executor");
		$db = $hipq->in('silent');
	}
	$hipq->set('hipq.executor_idle_timeout' => '200ms');
}

# ---- DROP DATABASE without hipq, and before the scheduler of the database would start
{
	$admin->sql('CREATE DATABASE plain');
	done_in_time('DROP DATABASE plain', 'DROP DATABASE without hipq');
	my $offset = -s $hipq->node->logfile;
	my $db = create_database('later');
	$db->sql(q{SELECT hipq.enqueue('quick', queue => 'app.main',
		scheduled_run_time => now() + interval '90 s')});
	ok($admin->wait_until("$workers 'later'", ''), 'the scheduler of a job in the future exits');
	done_in_time('DROP DATABASE later', 'DROP DATABASE of a database with a job in the future');
	$hipq->set('hipq.clock_offset' => 200);    # the scheduler would start now
	$admin->wait_until(
		q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'hipq launcher'}, 1);
	my $other = $hipq->in('listed');
	is($other->outcome($other->enqueue('quick', q{queue => 'app.main'})), 'succeeded',
		'jobs run in other databases');
	unlike(slurp_file($hipq->node->logfile, $offset), qr/FATAL:.*database/,
		'no worker tries to connect to a dropped database');
	$hipq->set('hipq.clock_offset' => 0);
}

# ---- DROP EXTENSION
{
	my $db = create_database('extension');
	my @ids = occupy_asleep($db);
	like($db->error_of('DROP EXTENSION hipq'),
		qr/55006: extension "hipq" cannot be dropped: there are unfinished jobs/,
		'DROP EXTENSION is refused with unfinished jobs');
	is($db->sql("SELECT string_agg(attempt::text, ' ') FROM hipq.running
			WHERE id IN ($ids[0], $ids[1])"), '1 1', 'a refused DROP EXTENSION interrupts no job');

	my $session = $hipq->in('extension')->session;
	$session->query_safe('SET client_min_messages = warning; SET hipq.allow_drop = on; BEGIN');
	my $start = time();
	$session->query_safe('DROP EXTENSION hipq CASCADE');
	$hipq->in_time(time() - $start, 5, 'DROP EXTENSION in a transaction takes less than 5 s');
	is($admin->sql("$workers 'extension'"), '',
		'no worker runs while the transaction of DROP EXTENSION is open');
	$session->query_safe('ROLLBACK');
	finished_after($db, 'DROP EXTENSION that was rolled back', @ids);

	@ids = occupy_asleep($db);
	my $orphan = $ids[0];
	$session->query_safe('SET hipq.allow_drop = on');
	$start = time();
	$session->query_safe('DROP EXTENSION hipq CASCADE');
	$hipq->in_time(time() - $start, 5, 'DROP EXTENSION takes less than 5 s');
	$session->quit;
	ok($admin->wait_until("$workers 'extension'", ''), 'DROP EXTENSION leaves no worker behind');

	# A new extension in its place: orphans of the old one do not affect it.
	install($db);
	is($db->sql('SELECT count(*) FROM hipq.executors'), '0',
		'no slot is left of the old extension');
	is($db->outcome($db->enqueue('quick')), 'succeeded', 'jobs run with a new extension');
	$db->sql(q{SET client_min_messages = warning; SET hipq.allow_drop = on; BEGIN;
		DROP EXTENSION hipq CASCADE; CREATE EXTENSION hipq; COMMIT});
	$db->sql(q{DROP EXTENSION hipq});
	install($db);
	is($db->outcome($db->enqueue('quick')), 'succeeded',
		'jobs run with an extension that was dropped and created again');
}

# ---- one session: its statements use the new extension
{
	my $db = $hipq->in('goes_on');
	$admin->sql('CREATE DATABASE goes_on');
	my $round = q{
		CREATE EXTENSION hipq;
		SELECT hipq.create_queue('app.q', owner => 'app');
		SELECT hipq.register_job_type('app.q', 'again', handler => 'again', max_retries => 0);
		BEGIN;
		SELECT hipq.enqueue('again', '{"next": 1}', queue => 'app.q', job_key => 'own');
		SELECT hipq.enqueue('again', '{"fail": 1}', queue => 'app.q');
		SELECT hipq.run_until_idle('app.q');
		COMMIT;
		SELECT concat_ws(' ', count(*), count(*) FILTER (WHERE outcome = 'succeeded')) AS "jobs"
			FROM hipq.jobs;
		SELECT count(*) FROM hipq.dead_letters;
		DROP EXTENSION hipq CASCADE;};
	my $rounds = q{
		SET client_min_messages = warning; SET hipq.allow_drop = on;
			SET hipq.allow_foreign_handlers = on;
		CREATE OR REPLACE FUNCTION again(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN
			IF data ? 'fail' THEN RAISE 'no'; END IF;
			IF data ? 'next' THEN PERFORM hipq.enqueue('again', '{}', queue => 'app.q',
				job_key => 'own', on_duplicate => 'after'); END IF;
		END $$;} . $round . $round;
	my ($status, $out, $err);
	foreach (1 .. 5)    # the view omits a queue while a scheduler makes its leaves
	{
		($status, $out, $err) = $db->try_sql($rounds);
		last unless HipqCluster::is_incomplete($err);
	}
	is($out, join("\n", ("1\n\n1\n2\n3\n3 2\n1") x 2),
		'one session can drop and create the extension twice') or diag($err);
}

# ---- barriers: DROP DATABASE waits until every process of the server has answered
{
	my $db = create_database('neighbour');
	my ($lock, @ids) = occupy($db);
	$admin->sql('CREATE DATABASE unrelated');
	done_in_time('DROP DATABASE unrelated', 'DROP DATABASE next to busy workers');
	is($db->sql("SELECT string_agg(attempt::text, ' ') FROM hipq.running WHERE id IN ($ids[0],
			$ids[1])"), '1 1', 'DROP DATABASE of another database interrupts no job');
	$lock->quit;
	is($db->outcome($_), 'succeeded', 'a job beside DROP DATABASE of another database succeeds')
		foreach @ids;
}

# ---- repeatedly, under load
{
	my $db = create_database('busy');
	my $total = 0;
	foreach my $round (1 .. 10)
	{
		$db->sql(q{SELECT hipq.enqueue_many('quick', array_agg('{}'::jsonb), queue => 'app.main')
			FROM generate_series(1, 100)});
		$total += 100;
		my ($from, $to) = $round % 2 ? ('busy', 'busier') : ('busier', 'busy');
		done_in_time("ALTER DATABASE $from RENAME TO $to", "RENAME under load, $round");
		$db = $hipq->in($to);
	}
	ok($db->wait_until(q{SELECT count(*) FROM hipq.jobs WHERE outcome = 'succeeded'}, $total),
		'no job is lost by renames under load');
	is($db->sql(q{SELECT count(*) FROM hipq.jobs_detail WHERE retry_count > 0}), '0',
		'no job is charged by renames under load');
	done_in_time('DROP DATABASE busy', 'DROP DATABASE after renames');
}

done_testing();
