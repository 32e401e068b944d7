# The server starts, whatever is in the place of the flight recorder's file. hipq finds attempts
# that are in no row. A copy of the server has no record of crashes.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use POSIX ();
use Test::More;

my $hipq = HipqCluster->new('recorder', 'hipq.max_type_crashes' => 0, 'hipq.suspect_pause' => 0,
	max_prepared_transactions => 5, wal_level => 'replica', max_wal_senders => 2);
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE FUNCTION run(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN PERFORM pg_advisory_xact_lock_shared(1); END $$;
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run', claim => 'record')});
my $node = $hipq->node;
my $file = $node->data_dir . '/pg_stat_tmp/hipq_flight_recorder';

sub hold
{
	return $hipq->sql("BEGIN; SELECT pg_advisory_xact_lock($_[0]);
		PREPARE TRANSACTION 'lock $_[0]'");
}
sub release { return $hipq->sql("ROLLBACK PREPARED 'lock $_[0]'"); }
sub postmaster { return (slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/)[0]; }

# Replaces the file of the recorder.
sub replace_file
{
	my ($content) = @_;
	unlink $file or die "cannot remove $file: $!";
	open my $handle, '>:raw', $file or die "cannot write $file: $!";
	print $handle $content;
	close $handle or die "cannot write $file: $!";
	return;
}

is(sprintf('%o', (stat $file)[2] & 07777), '600', 'only the server can read the file');
is((stat $file)[12] * 512 >= -s $file, 1, 'the file has no holes');

# ---- the server is stopped while a job runs, and the file is damaged
my $whole;
{
	hold(1);
	my $id = $hipq->enqueue('run');
	$hipq->pid_of($id);
	$node->stop('immediate');
	$whole = slurp_file($file);
	my $flip = sub { my ($at) = @_; my $copy = $whole; substr($copy, $at,
			1) = chr(ord(substr($copy, $at, 1)) ^ 1); return $copy; };
	my %content = (
		'an empty file' => '', 'garbage' => 'x' x length $whole, 'a short file' => substr($whole, 0,
			1000), 'a file one byte short' => substr($whole, 0, -1),
		'a long file' => $whole . 'x', 'a huge file' => $whole . "\0" x 20_000_000,
			'another magic number' => $flip->(0), 'another version' => $flip->(8),
		'another number of slots' => $flip->(12), 'another system identifier' => $flip->(24),
			'another boot' => $flip->(35), 'another streak' => $flip->(80),
			'another checksum' => $flip->(96));
	my $log_end = -s $node->logfile;
	foreach my $what (sort keys %content)
	{
		replace_file($content{$what});
		$node->start;
		ok($hipq->wait_until("SELECT count(pid) FROM hipq.running WHERE id = $id", 1),
			"with $what for the recorder the server starts, and the job runs again");
		# An empty file is not hipq's, and hipq does not read a file that is too long.
		like(slurp_file($node->logfile, $log_end), qr/hipq ignores flight recorder/,
			"with $what for the recorder the log says that hipq ignores it")
			unless $what =~ /empty|huge/;
		$log_end = -s $node->logfile;
		$node->stop('immediate');
	}
	# A pipe and a folder in the place of the file.
	unlink $file;
	POSIX::mkfifo($file, 0600);
	$node->start;
	ok($hipq->wait_until("SELECT count(pid) FROM hipq.running WHERE id = $id", 1),
		"the server does not wait for a pipe in the recorder's place");
	$node->stop('immediate');
	unlink $file;
	mkdir $file;
	$node->start;
	ok($hipq->wait_until("SELECT count(pid) FROM hipq.running WHERE id = $id", 1),
		'the server runs without a recorder if a folder is in its place');
	like(slurp_file($node->logfile, $log_end),
		qr/hipq could not write flight recorder .*: Is a directory/,
		"the log reports a folder in the recorder's place");
	is($hipq->alerts, 'flight recorder', 'an alert reports a missing recorder');
	my $pid = $hipq->pid_of($id);
	kill 'KILL', $pid;
	ok($hipq->wait_until("SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid"),
		'the server crashes without a recorder');
	ok($hipq->wait_until("SELECT count(pid) FROM hipq.running WHERE id = $id", 1),
		'the job runs again after a crash without a recorder');
	is($hipq->sql("SELECT string_agg(DISTINCT reason, ' ') FROM hipq.attempts WHERE job_id = $id"),
		'server_restart', 'the job is not charged for a crash without a recorder');
	$node->stop('fast');
	rmdir $file;
	$node->start;
	release(1);
	is($hipq->outcome($id), 'succeeded', 'the job succeeds after all damaged recorders');
	ok(-f $file, 'the server writes the recorder');
}

# ---- after a clean stop no job is a suspect
{
	hold(1);
	my $id = $hipq->enqueue('run');
	$hipq->pid_of($id);
	my $log_end = -s $node->logfile;
	$node->restart;
	unlike(slurp_file($node->logfile, $log_end), qr/hipq executors ran jobs when the server ended/,
		'after a fast stop the log reports no running job');
	release(1);
	is($hipq->outcome($id), 'succeeded', 'the job runs again after a clean stop');
	is($hipq->attempts($id), '1 server_restart', 'the job is not charged for a clean stop');
}

# ---- an attempt that is not in its row, because its job was claimed by lock
{
	$hipq->sql(q{SELECT hipq.register_job_type('app.main', 'locked', handler => 'run',
		claim => 'lock')});
	my $attempt_of = sub { return $hipq->sql("SELECT concat_ws(' ', state, attempt, retry_count)
			FROM hipq.jobs_detail WHERE id = $_[0]"); };
	foreach my $case ([ 'ends',
			'worker_lost', sub { $hipq->sql("SELECT pg_terminate_backend($_[0])") } ],
		[ 'crashes', 'crashed', sub { kill 'KILL', $_[0] } ],
		[ 'receives SIGQUIT', '', sub { $node->stop('immediate'); $node->start; } ])
	{
		my ($how, $reason, $end) = @$case;
		hold(1);
		my $id = $hipq->enqueue('locked');
		my $pid = $hipq->pid_of($id);
		is($attempt_of->($id), 'initial 0 0', 'an attempt under a lock is not in its row');
		$end->($pid);
		ok($hipq->wait_until("SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid"),
			"the executor of the attempt under a lock $how");
		ok($hipq->wait_until("SELECT count(*) FROM hipq.attempts WHERE job_id = $id", 1),
			'the attempt under a lock is in the history') if $reason;
		release(1);
		is($hipq->outcome($id), 'succeeded',
			"the job under a lock runs again when its executor $how");
		is($hipq->attempts($id), $reason ? "1 $reason" : '', "the history has reason $reason")
			if $reason;
		is($hipq->attempts($id), '', 'the attempt under a lock is not in the history')
			unless $reason;
		is($attempt_of->($id), $reason ? 'final 2 0' : 'final 1 0',
			'the job under a lock is not charged');
	}
}

# ---- crash cases are removed with their jobs
{
	my $cases = sub { return scalar grep { $_ } unpack '(q x48)*',
		substr(slurp_file($file), -56 * 2048); };
	is($cases->(), 0, 'no case is open when all jobs have ended');
	hold(1);
	my $id = $hipq->enqueue('run');
	$hipq->pid_of($id);
	my $stranger = $hipq->session;
	my $pid = $stranger->query_safe('SELECT pg_backend_pid()');
	kill 'KILL', $pid;
	ok($hipq->wait_until("SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid"),
		'a session that runs no job crashes the server');
	eval { $stranger->quit };
	$hipq->pid_of($id);
	is($cases->(), 1, 'the job that ran in a crash is a case');
	$hipq->sql('SET hipq.allow_drop = on; DROP EXTENSION hipq CASCADE');
	is($cases->(), 0, 'DROP EXTENSION removes the cases');
	release(1);
}

# ---- copies
{
	$node->backup('copy');
	ok(!-e $node->backup_dir . '/copy/pg_stat_tmp/hipq_flight_recorder',
		'a base backup does not contain the recorder');
}

done_testing();
