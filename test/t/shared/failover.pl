# A failover like that of Patroni or CloudNativePG holds no job and loses no job, and interrupted
# jobs run again. A standby is promoted, the old primary is rewound, follows the new one, and is
# promoted again. A crash by a handler that leads to a failover is not charged.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

# A server that starts with the extension and without a queue says that it holds the jobs.
delete $ENV{HIPQ_TEMPLATE};
my $first = HipqCluster->new('first', streaming => 1, wal_log_hints => 'on',
	'hipq.executor_idle_timeout' => '1s', wal_keep_size => '512MB');
my $a = $first->node;
$first->create_queue('app.main');
$first->sql(q{
	CREATE TABLE ran (id bigint, attempt integer);
	GRANT ALL ON ran TO app;
	CREATE FUNCTION run(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO ran VALUES (job.id, job.attempt);
		IF job.job_data ? 'lock' THEN PERFORM pg_advisory_xact_lock_shared(1); END IF;
	END $$;
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run', claim => 'record')});
is($first->outcome_of('run'), 'succeeded', 'the first server runs jobs');
$a->backup('backup');
my $b = PostgreSQL::Test::Cluster->new('second');
$b->init_from_backup($a, 'backup', has_streaming => 1);
$b->start;
my $second = bless { %$first, node => $b }, 'HipqCluster';

# $ends ends the first server, in which the job runs.
sub fails_over
{
	my ($from, $to, $what, $ends) = @_;
	my $lock = $from->hold_lock;
	my $running = $from->enqueue('run', q{'{"lock": 1}'});
	ok($from->wait_until("SELECT state = 'running' FROM hipq.jobs_detail WHERE id = $running"),
		"$what: a job runs");
	my $later = $from->enqueue('run', q{scheduled_run_time => now() + interval '1 hour'});
	$from->node->wait_for_catchup($to->node, 'replay');
	like($to->why($later), qr/^scheduled time|^loaded: The server is a standby/,
		"$what: the standby runs nothing");
	$ends->($from, $running);
	eval { $lock->quit };
	$to->node->promote;
	is($to->outcome($running), 'succeeded', "$what: the interrupted job runs again");
	is($to->sql("SELECT string_agg(attempt::text, ' ') FROM ran WHERE id = $running"), '2',
		"$what: only the new attempt of the interrupted job has effects");
	is($to->sql("SELECT retry_count FROM hipq.jobs_detail WHERE id = $running"), '0',
		"$what: the interrupted job is not charged");
	is($to->attempts($running), '1 server_restart',
		"$what: the history does not blame the interrupted job");
	$to->sql("SELECT hipq.reschedule($later, now())");
	is($to->outcome($later), 'succeeded', "$what: the waiting job runs");
	is($to->outcome_of('run'), 'succeeded', "$what: new jobs run without release_hold()");
	return;
}

# Makes the old primary follow the new one, after a clean shutdown, which pg_rewind needs.
sub follows
{
	my ($old, $new, $what) = @_;
	$old->node->start;
	# pg_rewind removes this job.
	$old->sql("SELECT hipq.enqueue('run', scheduled_run_time => now() + interval '1 hour',
		job_key => 'lost')");
	$old->node->stop;
	my $dir = $old->node->data_dir;
	my $config = slurp_file("$dir/postgresql.conf");
	$new->sql('CHECKPOINT');
	command_ok([ 'pg_rewind', '-D', $dir, '--source-server', $new->node->connstr('postgres'),
			'--no-sync', '--config-file', "$dir/postgresql.conf" ], "$what: pg_rewind");
	unlink "$dir/postgresql.conf", "$dir/standby.signal", "$dir/recovery.signal";
	append_to_file("$dir/postgresql.conf", $config);
	$old->node->enable_streaming($new->node);
	$old->node->start;
	$new->node->wait_for_catchup($old->node, 'replay');
	is($old->sql(q{SELECT count(*) FROM hipq.jobs WHERE job_key = 'lost'}), 0,
		"$what: the old primary has only the jobs of the new one");
	return;
}

# The executor of the job crashes the server, which does not start again by itself.
sub crash
{
	my ($hipq, $running) = @_;
	$hipq->set(restart_after_crash => 'off');
	kill 'KILL', $hipq->pid_of($running) or die $!;
	my $file = $hipq->node->data_dir . '/postmaster.pid';
	foreach (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		last unless -e $file;
		usleep(100_000);
	}
	ok(!-e $file, 'the crash has ended the server');
	undef $hipq->node->{_pid};    # so that nothing stops it again
	return;
}

fails_over($first, $second, 'to the second', sub { $_[0]->node->stop('immediate') });
follows($first, $second, 'the first follows');
fails_over($second, $first, 'back to the first, after a crash', \&crash);
is($first->sql('SELECT count(*) - count(DISTINCT id) FROM ran'), 0,
	'each job has its effect once after two failovers');
unlike(slurp_file($_->logfile), qr/hipq holds/, 'no server has held its jobs') foreach $a, $b;
done_testing();
