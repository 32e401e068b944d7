# Commands that need a database or the extension to themselves are done within 5 s while jobs run; when they fail or are rolled back,
# hipq's workers come back.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $hipq = HipqCluster->new('commands', extension => 0, 'hipq.max_executors' => 3, 'hipq.retry_jitter' => 0, 'hipq.executor_idle_timeout' => '200ms', 'allow_in_place_tablespaces' => 'on', autovacuum => 'off');
my $admin = $hipq->in('postgres');
my $workers = q{SELECT string_agg(backend_type, ', ' ORDER BY backend_type) FROM pg_stat_activity WHERE backend_type IN ('hipq scheduler', 'hipq executor') AND datname = };

# A database with a queue; jobs of type "wait" wait for advisory lock 1.
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
		CREATE OR REPLACE FUNCTION public.wait_for_lock(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(1); END $$;
		CREATE OR REPLACE FUNCTION public.do_nothing(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
		CREATE OR REPLACE FUNCTION public.sleep(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN IF job.attempt = 1 THEN PERFORM pg_sleep(600); END IF; END $$;
		SELECT hipq.register_job_type('app.main', 'wait', handler => 'public.wait_for_lock');
		SELECT hipq.register_job_type('app.main', 'sleep', handler => 'public.sleep');
		SELECT hipq.register_job_type('app.main', 'quick', handler => 'public.do_nothing')});
	return;
}

# Two executors with a job in flight, and a scheduler that stays for jobs that cannot run. The lock is held from elsewhere in the
# database, so that session has to go before the command.
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

# The same without a session that holds the lock: handlers sleep in their first attempt.
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
		is($db->outcome($id, 20), 'succeeded', "$what: a job that ran runs again");
		is($db->sql("SELECT concat_ws(' ', attempt, retry_count) FROM hipq.jobs_detail WHERE id = $id"), '2 0', "$what: uncharged");
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

	# Its owner is no superuser, the scheduler is one.
	$admin->sql('CREATE ROLE landlord LOGIN CREATEDB');
	$db = create_database('owned');
	$admin->sql('ALTER DATABASE owned OWNER TO landlord');
	my @ids = occupy_asleep($db);
	my ($rc, $out, $err) = $hipq->node->psql('postgres', 'DROP DATABASE owned', extra_params => [ '-U', 'app' ]);
	like($err, qr/must be owner of database owned/, 'somebody else may not drop it');
	is($db->sql("SELECT string_agg(attempt::text, ' ') FROM hipq.running WHERE id IN ($ids[0], $ids[1])"), '1 1', 'and disturbs nobody by trying');
	# He may not end a superuser's session.
	$admin->wait_until("SELECT count(*) FROM pg_stat_activity WHERE datname = 'owned' AND backend_type = 'client backend'", 0);
	($rc, $out, $err) = $hipq->node->psql('postgres', 'DROP DATABASE owned WITH (FORCE)', extra_params => [ '-U', 'landlord' ]);
	is($rc, 0, 'its owner drops it by force') or diag($err);

	is($admin->sql(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type IN ('hipq scheduler', 'hipq executor')}), '0', 'nobody is left behind');
	ok($admin->wait_until(q{SELECT pid IS NOT NULL FROM pg_stat_activity WHERE backend_type = 'hipq launcher'}), 'but for the launcher');
}

# ---- a command that fails
{
	my $db = create_database('stays');
	is($db->sql('SELECT count(*) FROM hipq.executors'), '0', 'nothing is left of executors of databases that were dropped');
	my ($lock, @ids) = occupy($db);
	# The session that holds the lock is in the way of the command, as any other would be.
	my ($rc, $out, $err) = $hipq->node->psql('postgres', 'DROP DATABASE stays');
	like($err, qr/is being accessed by other users.*There is 1 other session/s, 'DROP DATABASE fails because of one session: hipq is not counted');
	ok($admin->wait_until("$workers 'stays'", 'hipq executor, hipq executor, hipq scheduler'), 'scheduler and executors are back');
	$lock->quit;
	finished_after($db, 'DROP DATABASE that failed', @ids);

	# No transaction block may hold it: then nobody is disturbed.
	@ids = occupy_asleep($db);
	done_in_time('BEGIN; DROP DATABASE stays', 'DROP DATABASE in a transaction block', 3);
	done_in_time('BEGIN; CREATE DATABASE x TEMPLATE stays', 'CREATE DATABASE in a transaction block', 3);
	done_in_time('CREATE DATABASE template1 TEMPLATE stays', 'CREATE DATABASE of a name that is taken', 3);
	is($db->sql("SELECT string_agg(attempt::text, ' ') FROM hipq.running WHERE id IN ($ids[0], $ids[1])"), '1 1', 'commands that fail at once disturb nobody');

	# ---- ALTER DATABASE RENAME
	done_in_time('BEGIN; ALTER DATABASE stays RENAME TO gone; ROLLBACK', 'ALTER DATABASE RENAME, rolled back');
	finished_after($db, 'RENAME that was rolled back', @ids);

	@ids = occupy_asleep($db);
	my $session = $hipq->session;
	$session->query_safe('BEGIN');
	$session->query_safe('SAVEPOINT before');
	$session->query_safe('ALTER DATABASE stays RENAME TO gone');
	is($admin->sql("$workers 'gone'") . $admin->sql("$workers 'stays'"), '', 'nobody works while the transaction is open');
	$session->query_safe('ROLLBACK TO before');
	finished_after($db, 'RENAME in a savepoint that was rolled back', @ids);
	$session->quit;

	@ids = occupy_asleep($db);
	done_in_time('ALTER DATABASE stays RENAME TO renamed', 'ALTER DATABASE RENAME');
	$db = $hipq->in('renamed');
	finished_after($db, 'RENAME', @ids);

	# hipq.databases goes by the new name.
	$admin->set('hipq.databases' => 'listed');
	my $id = $db->enqueue('quick', q{queue => 'app.main'});
	like($db->why($id), qr/^enabled:/, 'a database that is not listed runs nothing');
	$admin->sql('ALTER DATABASE renamed RENAME TO listed');
	$db = $hipq->in('listed');
	is($db->outcome($id, 5), 'succeeded', 'under a name that is listed it does');
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
	# From the database itself.
	@ids = occupy_asleep($db);
	$db->sql('CREATE DATABASE copy_of_own TEMPLATE listed');
	finished_after($db, 'CREATE DATABASE from within', @ids);

	# ---- connections not allowed: what runs goes on as other sessions do; nobody tries in vain to come
	$admin->sql('ALTER DATABASE listed ALLOW_CONNECTIONS false');
	$admin->sql(qq{SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = 'listed'});
	my $offset = -s $hipq->node->logfile;
	$hipq->node->restart;
	ok($admin->wait_until(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'hipq launcher'}, 1), 'restarted');
	$admin->sql('SELECT pg_reload_conf()');
	$admin->sql('CREATE DATABASE as_a_sign_of_time');    # the launcher has had its time
	unlike(slurp_file($hipq->node->logfile, $offset), qr/not currently accepting connections/, 'nobody tries to connect to a database that takes no connections');
	$admin->sql('ALTER DATABASE listed ALLOW_CONNECTIONS true');
	$id = $db->sql(q{SELECT max(id) FROM hipq.jobs WHERE job_type = 'nobody'});
	$db->sql(q{SELECT hipq.alter_job_type('app.main', 'nobody', handler => 'public.do_nothing')});
	is($db->outcome($id, 5), 'succeeded', 'when it takes them again its jobs run');
}

# ---- a database without hipq, one where a scheduler has been, one whose scheduler is about to return
{
	$admin->sql('CREATE DATABASE plain');
	done_in_time('DROP DATABASE plain', 'DROP DATABASE without hipq');
	my $offset = -s $hipq->node->logfile;
	my $db = create_database('later');
	$db->sql(q{SELECT hipq.enqueue('quick', queue => 'app.main', scheduled_run_time => now() + interval '90 s')});
	ok($admin->wait_until("$workers 'later'", ''), 'a scheduler that is to return later has left');
	done_in_time('DROP DATABASE later', 'DROP DATABASE of a database with a job in the future');
	$hipq->set('hipq.clock_offset' => 200);    # it would return now
	$admin->wait_until(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'hipq launcher'}, 1);
	my $other = $hipq->in('listed');
	is($other->outcome($other->enqueue('quick', q{queue => 'app.main'})), 'succeeded', 'others are served');
	unlike(slurp_file($hipq->node->logfile, $offset), qr/FATAL:.*database/, 'nobody tries to connect to the database that is gone');
	$hipq->set('hipq.clock_offset' => 0);
}

# ---- DROP EXTENSION
{
	my $db = create_database('extension');
	my @ids = occupy_asleep($db);
	like($db->error_of('DROP EXTENSION hipq'), qr/55006: extension "hipq" cannot be dropped: there are unfinished jobs/, 'DROP EXTENSION is refused');
	is($db->sql("SELECT string_agg(attempt::text, ' ') FROM hipq.running WHERE id IN ($ids[0], $ids[1])"), '1 1', 'and disturbs nobody');

	my $session = $hipq->in('extension')->session;
	$session->query_safe('SET client_min_messages = warning; SET hipq.allow_drop = on; BEGIN');
	my $start = time();
	$session->query_safe('DROP EXTENSION hipq CASCADE');
	$hipq->in_time(time() - $start, 5, 'DROP EXTENSION: within 5 s');
	is($admin->sql("$workers 'extension'"), '', 'nobody works while the transaction is open');
	$session->query_safe('ROLLBACK');
	finished_after($db, 'DROP EXTENSION that was rolled back', @ids);

	@ids = occupy_asleep($db);
	my $orphan = $ids[0];
	$session->query_safe('SET hipq.allow_drop = on');
	$start = time();
	$session->query_safe('DROP EXTENSION hipq CASCADE');
	$hipq->in_time(time() - $start, 5, 'DROP EXTENSION: within 5 s');
	$session->quit;
	ok($admin->wait_until("$workers 'extension'", ''), 'nobody is left');

	# A new one in its place: orphans of the old one have nothing to do with it.
	install($db);
	is($db->sql('SELECT count(*) FROM hipq.executors'), '0', 'no slot is left of the old extension');
	is($db->outcome($db->enqueue('quick')), 'succeeded', 'a new extension works');
	$db->sql(q{SET client_min_messages = warning; SET hipq.allow_drop = on; BEGIN; DROP EXTENSION hipq CASCADE; CREATE EXTENSION hipq; COMMIT});
	$db->sql(q{DROP EXTENSION hipq});
	install($db);
	is($db->outcome($db->enqueue('quick')), 'succeeded', 'and again');
}

# ---- a session that goes on: its statements are those of the new extension
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
		SELECT concat_ws(' ', count(*), count(*) FILTER (WHERE outcome = 'succeeded')) AS "jobs" FROM hipq.jobs;
		SELECT count(*) FROM hipq.dead_letters;
		DROP EXTENSION hipq CASCADE;};
	my $rounds = q{
		SET client_min_messages = warning; SET hipq.allow_drop = on; SET hipq.allow_foreign_handlers = on;
		CREATE OR REPLACE FUNCTION again(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN
			IF data ? 'fail' THEN RAISE 'no'; END IF;
			IF data ? 'next' THEN PERFORM hipq.enqueue('again', '{}', queue => 'app.q', job_key => 'own', on_duplicate => 'after'); END IF;
		END $$;} . $round . $round;
	my ($status, $out, $err);
	foreach (1 .. 5)    # a scheduler that makes leaves just then has the view leave the queue out
	{
		($status, $out, $err) = $db->try_sql($rounds);
		last unless HipqCluster::is_incomplete($err);
	}
	is($out, join("\n", ("1\n\n1\n2\n3\n3 2\n1") x 2), 'DROP EXTENSION and CREATE EXTENSION in one session') or diag($err);
}

# ---- barriers: DROP DATABASE waits until every process of the server has answered
{
	my $db = create_database('neighbour');
	my ($lock, @ids) = occupy($db);
	$admin->sql('CREATE DATABASE unrelated');
	done_in_time('DROP DATABASE unrelated', 'DROP DATABASE next to busy workers');
	is($db->sql("SELECT string_agg(attempt::text, ' ') FROM hipq.running WHERE id IN ($ids[0], $ids[1])"), '1 1', 'whose jobs are not disturbed');
	$lock->quit;
	is($db->outcome($_), 'succeeded', 'and end') foreach @ids;
}

# ---- again and again, under load
{
	my $db = create_database('busy');
	my $total = 0;
	foreach my $round (1 .. 10)
	{
		$db->sql(q{SELECT hipq.enqueue_many('quick', array_agg('{}'::jsonb), queue => 'app.main') FROM generate_series(1, 100)});
		$total += 100;
		my ($from, $to) = $round % 2 ? ('busy', 'busier') : ('busier', 'busy');
		done_in_time("ALTER DATABASE $from RENAME TO $to", "RENAME under load, $round");
		$db = $hipq->in($to);
	}
	ok($db->wait_until(q{SELECT count(*) FROM hipq.jobs WHERE outcome = 'succeeded'}, $total), 'no job is lost');
	is($db->sql(q{SELECT count(*) FROM hipq.jobs_detail WHERE retry_count > 0}), '0', 'none is charged');
	done_in_time('DROP DATABASE busy', 'DROP DATABASE in the end');
}

done_testing();
