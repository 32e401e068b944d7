# A job that waits for others is started by nothing but their ends: not by a change of its time,
# priority or data, a move to another queue, a pause, lost lanes, or a session that runs jobs.
# Executors and external workers pass it by, with lanes and without.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($hipq, $worker);

sub sql_list { return join ', ', @_; }

# Returns the state of each job, in the order of ids: "initial jobs" if it is held.
sub states_of
{
	my (@ids) = @_;
	return $hipq->sql("SELECT string_agg(state || ' ' || coalesce(waits_for, 'nothing'), ', '
		ORDER BY id) FROM hipq.job WHERE id IN (" . sql_list(@ids) . ')');
}

# Runs a free job of each type, behind all others, so that all lanes have been looked at.
sub let_others_run
{
	my ($name) = @_;
	is($hipq->outcome_of($_, q{queue => 'app.main', priority => 100}), 'succeeded',
		"$name: a free job of type $_ runs") foreach qw(by_lock by_record);
	my $free = $hipq->enqueue('outside', q{queue => 'app.main', priority => 100});
	is($hipq->sql("SELECT string_agg(id::text, ' ') FROM hipq.claim($worker, 10, wait => 20)"),
		$free, "$name: an external worker gets the free job alone");
	$hipq->sql("SELECT hipq.complete($free, 1)");
	return;
}

# Enqueues a job of each type with this key. Returns the ids.
sub duplicates
{
	my ($key, $mode) = @_;
	return $hipq->sql("SELECT string_agg(hipq.enqueue(type, '{\"n\": 2}', queue => 'app.main',
			job_key => '$key', on_duplicate => '$mode', scheduled_run_time => now())::text,
			' ' ORDER BY type)
		FROM unnest('{by_lock, by_record, outside}'::text[]) AS type");
}

sub commit_prepared
{
	$hipq->sql(q{BEGIN; SELECT hipq.enqueue(type, queue => 'app.main')
		FROM unnest('{by_lock, by_record}'::text[]) AS type; PREPARE TRANSACTION 'free'});
	return $hipq->sql(q{COMMIT PREPARED 'free'});
}

# Runs what could start held jobs. Each has one key, and comes after a running job.
sub try_to_start
{
	my ($lanes) = @_;
	$hipq = HipqCluster->new("held_$lanes", 'hipq.max_lanes' => $lanes, 'hipq.retry_jitter' => 0,
		'max_prepared_transactions' => 5);
	$hipq->create_queue($_) foreach qw(app.main app.other);
	$hipq->sql(q{
		CREATE TABLE ran (n serial, id bigint, attempt integer);
		GRANT ALL ON ran, ran_n_seq TO app;
		CREATE FUNCTION work(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN
			INSERT INTO ran (id, attempt) VALUES (job.id, job.attempt);
			IF job.job_data ? 'lock' THEN PERFORM pg_advisory_xact_lock_shared(1); END IF;
			IF job.job_data ? 'fail' AND job.attempt = 1 THEN RAISE 'no'; END IF;
		END $$;
		SELECT hipq.register_job_type(queue, 'by_lock', handler => 'work', claim => 'lock'),
			hipq.register_job_type(queue, 'by_record', handler => 'work', claim => 'record',
				retry_base => '1 day', retry_max => '1 day'),
			hipq.register_job_type(queue, 'outside', handler_kind => 'notify')
		FROM unnest('{app.main, app.other}'::text[]) AS queue});
	$worker = $hipq->sql(q{SELECT hipq.register_worker('one', '{app.main, app.other}', '{outside}',
		capacity => 10)});

	# ---- the jobs that others wait for
	my $lock = $hipq->hold_lock;
	my @types = qw(by_lock by_record outside);
	my %holders = map { $_ => $hipq->enqueue($_,
			qq{'{"lock": 1}', queue => 'app.main', job_key => 'busy'}) } @types;
	$hipq->pid_of($holders{$_}) foreach qw(by_lock by_record);
	is($hipq->sql("SELECT id FROM hipq.claim($worker, wait => 20)"), $holders{outside},
		'the worker has a job');

	# ---- the held jobs
	my $first = $holders{by_record};
	my %held = map { $_ => $hipq->enqueue($_, qq{'{"n": 1}', queue => 'app.main', job_key => 'held',
			after => ARRAY[$first]}) } @types;
	my @timed = $hipq->enqueue('by_lock', qq{queue => 'app.main', after => ARRAY[$first],
		scheduled_run_time => now() + interval '1 day'});
	my @followers = map { $hipq->enqueue($_, q{queue => 'app.main', job_key => 'busy',
			on_duplicate => 'after'}) } @types;
	my @after = (values %held, @timed);
	my @all = (@after, @followers);
	my $all = sql_list(@all);
	my $expected = join ', ', map { my $id = $_;
		'initial ' . ((grep { $_ == $id } @followers) ? 'key' : 'jobs') } sort { $a <=> $b } @all;
	is(states_of(@all), $expected, 'jobs are held');

	# ---- what does not start them
	my %attempts = (
		'reschedule()' => sub { $hipq->sql("SELECT hipq.reschedule(id, now() - interval '1 hour')
			FROM unnest(ARRAY[$all]) AS id") },
		'UPDATE of time and priority' => sub { $hipq->sql("UPDATE hipq.app_main
			SET priority = -5, scheduled_run_time = now() - interval '1 day'
			WHERE id IN ($all)") },
		(map { my $mode = $_; "on_duplicate => $mode" => sub {
				is(duplicates('held', $mode), join(' ', @held{@types}),
					"$mode changes the held jobs") } } qw(replace merge debounce after return)),
		'on_duplicate => after for a running job' => sub {
			is(duplicates('busy', 'after'), "@followers", 'after changes the followers') },
		'pause() and resume()' => sub { $hipq->sql(q{SELECT hipq.pause('app.main')});
			$hipq->sql(q{SELECT hipq.resume('app.main')});
			$hipq->sql(q{SELECT hipq.pause('app.main', 'by_lock', 'key')});
			$hipq->sql(q{SELECT hipq.resume('app.main', 'by_lock', 'key')}) },
		'COMMIT PREPARED' => \&commit_prepared,
		'run_until_idle()' => sub {
			my $free = $hipq->sql(q{SELECT hipq.pause('app.main') \gset
				SELECT hipq.enqueue('by_lock', queue => 'app.main')});
			is($hipq->sql_as('app', q{BEGIN; SELECT hipq.resume('app.main');
					SELECT hipq.run_until_idle('app.main'); COMMIT}), "t\n1",
				'a session runs the free job alone');
			is($hipq->outcome($free), 'succeeded', 'the free job has run') },
		'alter_job_type()' => sub { $hipq->sql(q{
			SELECT hipq.alter_job_type('app.main', type, default_priority => 3)
			FROM unnest('{by_lock, by_record, outside}'::text[]) AS type}) },
		'claim() of an external worker' => sub {
			is($hipq->sql("SELECT count(*) FROM hipq.claim($worker, 10)"), 0,
				'claim() gets none') },
		'move_jobs()' => sub {
			foreach my $move (q{'app.main', 'app.other'}, q{'app.other', 'app.main'})
			{
				is($hipq->sql("SELECT string_agg(moved || ' ' || key_taken, ', ' ORDER BY type)
						FROM unnest('{by_lock, by_record, outside}'::text[]) AS type,
						hipq.move_jobs($move, type)"), '2 0, 1 0, 1 0',
					"all jobs but the followers move ($move)");
				is(states_of(@all), $expected, "moved jobs are held ($move)");
			} });
	foreach my $name (sort keys %attempts)
	{
		$attempts{$name}->();
		let_others_run($name);
		is(states_of(@all), $expected, "$name: the held jobs wait");
		is($hipq->sql("SELECT count(*) FROM ran WHERE id IN ($all)"), 0,
			"$name: none of them has started");
	}
	is($hipq->sql("SELECT held FROM hipq.queues WHERE queue = 'app.main'"), scalar @all,
		'view queues counts them');

	# ---- the ends start them, also those that have moved
	$hipq->sql(q{SELECT hipq.move_jobs('app.main', 'app.other', 'by_lock')});
	$lock->quit;
	$hipq->sql("SELECT hipq.complete($holders{outside}, 1)");
	my $here = sql_list($held{by_lock}, $held{by_record}, @timed, @followers[0, 1]);
	ok($hipq->wait_until("SELECT count(*) FROM hipq.jobs WHERE id IN ($here)
			AND outcome = 'succeeded'", 5), 'they run when the jobs before them have ended');
	is($hipq->sql("SELECT count(*) || ' ' || count(DISTINCT id) FROM ran
			WHERE id IN ($here)"), '5 5', 'each of them once');
	my $outside = sql_list($held{outside}, $followers[2]);
	is($hipq->sql("SELECT count(*) FROM hipq.jobs WHERE id IN ($outside)
			AND outcome = 'waiting'"), 2, 'jobs for external workers wait for these');
	my $claimed = 0;
	foreach (1 .. 2)
	{
		$claimed += $hipq->sql("SELECT count(hipq.complete(id, attempt))
			FROM hipq.claim($worker, 10, wait => 20)");
		last if $claimed >= 2;
	}
	is($claimed, 2, 'the worker gets them');
	is($hipq->sql("SELECT count(*) FROM hipq.jobs WHERE id IN ($outside)
			AND outcome = 'succeeded'"), 2, 'each of them once');

	# ---- jobs that others wait for move to another queue
	my $before = $hipq->enqueue('by_record',
		q{queue => 'app.main', scheduled_run_time => now() + interval '1 day'});
	my $later = $hipq->enqueue('by_lock', "queue => 'app.main', after => ARRAY[$before]");
	is($hipq->sql(q{SELECT moved FROM hipq.move_jobs('app.main', 'app.other', 'by_record')}), 1,
		'a job that another one comes after moves');
	like($hipq->why($later), qr/^waits for: It comes after jobs that have not ended: $before\./,
		'the other one waits for the moved job');
	$hipq->sql("SELECT hipq.reschedule($before, now())");
	is($hipq->outcome($later), 'succeeded', 'it runs when the moved job has ended');
	is($hipq->sql("SELECT string_agg(id::text, ' ' ORDER BY n) FROM ran
			WHERE id IN ($before, $later)"), "$before $later", 'and not before');

	$lock = $hipq->hold_lock;
	my $holder = $hipq->enqueue('by_record', q{'{"lock": 1, "fail": 1}', queue => 'app.main',
		job_key => 'moves', max_retries => 1});
	$hipq->pid_of($holder);
	my $follower = $hipq->enqueue('by_record',
		q{queue => 'app.main', job_key => 'moves', on_duplicate => 'after'});
	$lock->quit;
	ok($hipq->wait_until("SELECT state FROM hipq.app_main WHERE id = $holder", 'retry'),
		'a job with a follower waits for its retry');
	is($hipq->sql(q{SELECT moved FROM hipq.move_jobs('app.main', 'app.other', 'by_record')}), 1,
		'it moves without its follower');
	is($hipq->outcome($follower), 'succeeded',
		'the follower runs in the queue that the job has left');
	is($hipq->sql('SELECT count(*) FROM hipq.job WHERE waits_for IS NOT NULL'), 0,
		'no job is held at the end');
	$hipq->node->stop;
	return;
}

subtest("with $_ lanes", \&try_to_start, $_) foreach 16384, 1;

done_testing();
