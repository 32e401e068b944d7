# A session that locks the tables of one queue delays that queue only. The scheduler, executors, and
# functions that look for a job skip the locked queue, and hipq.alerts names the session. An open
# transaction that changes a queue blocks only calls for the same queue.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $hipq = HipqCluster->new('locks', 'hipq.max_executors' => 4, log_lock_waits => 'on');
my $node = $hipq->node;
$hipq->sql('CREATE ROLE other LOGIN; CREATE ROLE stranger; GRANT USAGE ON SCHEMA hipq TO stranger');
$hipq->create_queue('app.main');
$hipq->create_queue('other.main', owner => 'other');
$hipq->sql(q{
	CREATE FUNCTION run(job hipq.job) RETURNS void LANGUAGE sql AS 'SELECT';
	CREATE FUNCTION nap(job hipq.job) RETURNS void LANGUAGE sql AS 'SELECT pg_sleep(1)';
	SELECT hipq.register_job_type('app.main', 'mine', handler => 'run'),
		hipq.register_job_type('app.main', 'nap', handler => 'nap'),
		hipq.register_job_type('other.main', 'other', handler => 'run')});

sub scheduler
{
	return $hipq->sql(q{SELECT string_agg(pid::text, ' ') FROM pg_stat_activity
		WHERE backend_type = 'hipq scheduler'});
}
sub alert
{
	return "SELECT coalesce(string_agg(detail, ' '), '') FROM hipq._alerts()
		WHERE alert = 'locked queue'";
}
sub finished
{
	my ($table, $id) = @_;
	return $hipq->wait_until(
		"SELECT count(*) = 1 FROM hipq.$table WHERE id = $id AND state = 'final'", 't', 20);
}

# Tests what a statement returns or raises, and that it ends within 4 s, or later on a busy machine.
sub quickly
{
	my ($name, $sql, $expected) = @_;
	my $begin = time();
	my $said = $hipq->error_of("SET statement_timeout = '20s'; $sql");
	like($said, $expected, $name);
	$hipq->in_time(time() - $begin, 4, "$name: within 4 s");
	return;
}

my $job = $hipq->enqueue('mine', q{queue => 'app.main'});
my $final = $hipq->enqueue('other', q{queue => 'other.main'});
ok(finished('app_main', $job) && finished('other_main', $final), 'both queues work');

# Returns how many schedulers have ended with an error. A scheduler without work exits without one;
# only the test's pg_terminate_backend() makes it end with one.
sub ends
{
	return scalar(() = slurp_file($node->logfile)
		=~ /"hipq scheduler[^"]*" \(PID \d+\) exited with exit code [^0]/g);
}
my $terminated = 0;

# ---- the scheduler and executors

foreach my $lock ('hipq.app_main IN ACCESS EXCLUSIVE MODE', 'hipq.app_main_live IN SHARE MODE')
{
	my $locker = $hipq->session(extra_params => [ '-d',
			'dbname=postgres application_name=locker' ]);
	my $enqueue = q{SELECT hipq.enqueue('mine', queue => 'app.main',
		scheduled_run_time => hipq.now() + interval '2 s')};
	my $log_before = -s $node->logfile;
	my $ending = $hipq->enqueue('nap', q{queue => 'app.main'});
	$hipq->pid_of($ending);
	my ($locked, $locker_pid) = $locker->query_safe(
		"$enqueue; BEGIN; LOCK TABLE $lock; SELECT pg_backend_pid()") =~ /(\d+)/g;
	my $scheduled = $hipq->enqueue('other',
		q{queue => 'other.main', scheduled_run_time => hipq.now() + interval '2 s'});
	ok(finished('other_main', $scheduled), "under $lock: scheduled jobs of another queue run");
	ok(finished('other_main', $hipq->enqueue('other', q{queue => 'other.main'})),
		"under $lock: jobs of another queue run");
	ok($hipq->wait_until("SELECT detail
			LIKE '%process $locker_pid (role \"postgres\", application \"locker\") holds %' FROM ("
			. alert() . ') AS alert (detail)'),
		"under $lock: an alert names the session that holds the lock");
	is(ends(), $terminated, "under $lock: no scheduler ends with an error");

	if ($lock =~ /ACCESS/)
	{
		quickly('why() of a job in an unlocked queue', "SELECT count(*) FROM hipq.why($scheduled)",
			qr/no error: \d/);
		quickly('why() of a job in the locked queue', "SELECT hipq.why($locked)",
			qr/55P03.*cannot look for job $locked in queue "app\.main".*process $locker_pid/s);
		quickly('why() with the name of the locked queue', "SELECT hipq.why($locked, 'app.main')",
			qr/55P03.*app\.main/s);
		quickly('retry() in an unlocked queue', "SELECT hipq.retry($scheduled) > 0",
			qr/no error: t/);
		quickly('cancel() in the locked queue', "SELECT hipq.cancel($locked)",
			qr/55P03.*app\.main/s);
		quickly('erase() in an unlocked queue', "SELECT hipq.erase($final)", qr/no error: t/);
		quickly('a role without rights reads no queue',
			'SET ROLE stranger; SELECT count(*) FROM hipq.jobs_detail', qr/no error: 0/);
		quickly('a role without rights cannot see the job',
			"SET ROLE other; SELECT hipq.cancel($locked)", qr/42704/);
		my $pid = scheduler();
		quickly('the scheduler is terminated',
			'SELECT pg_terminate_backend(' . $pid . ')', qr/no error: t/);
		ok($hipq->wait_until("SELECT count(*) = 1 FROM pg_stat_activity
				WHERE backend_type = 'hipq scheduler' AND pid <> $pid", 't', 30),
			'a new scheduler starts after the terminated one');
		my $later = $hipq->enqueue('other',
			q{queue => 'other.main', scheduled_run_time => hipq.now() + interval '1 s'});
		ok(finished('other_main', $later),
			"under $lock: the new scheduler runs jobs of another queue");
		$terminated = ends();
	}
	$locker->query_safe('ROLLBACK');
	$locker->quit;
	ok(finished('app_main', $locked), "without $lock: jobs of the queue run");
	ok(finished('app_main', $ending), "without $lock: a job ends that ran before the lock");
	# From PostgreSQL 19 on, log_lock_waits is on by default.
	is(scalar(() = slurp_file($node->logfile, $log_before) =~ /\] LOG:  .* still waiting for/g), 1,
		"$lock: only the job that ends waits for the lock, and logs it once");
	ok($hipq->wait_until(alert(), ''), "without $lock: the alert ends");
}

# ---- rows

$hipq->sql(q{SELECT hipq.grant_queue('app.main', 'other', 'work'),
	hipq.grant_queue('app.main', 'other', 'read')});
$hipq->sql(q{SELECT hipq.pause('app.main')});
my $rows = $hipq->session(role => 'other');
my $expiring = $hipq->enqueue('mine',
	q{queue => 'app.main', expires_time => hipq.now() + interval '4 s'});
$rows->query_safe("BEGIN; SELECT id FROM hipq.app_main WHERE id = $expiring FOR UPDATE");
ok(finished('other_main', $hipq->enqueue('other',
		q{queue => 'other.main', scheduled_run_time => hipq.now() + interval '5 s'})),
	'a locked row does not stop the scheduler');
is(ends(), $terminated, 'a locked row does not end the scheduler with an error');
$rows->query_safe('ROLLBACK');
$rows->quit;
ok(finished('app_main', $expiring), 'a job expires when its row is unlocked');

# ---- open transactions

my $changer = $hipq->session;
$changer->query_safe(q{BEGIN; SELECT hipq.alter_queue('app.main', weight => 50);
	SELECT hipq.grant_queue('app.main', 'app', 'read')});
quickly('alter_queue() beside an open alter_queue()',
	q{SELECT hipq.alter_queue('other.main', weight => 60) IS NOT NULL}, qr/no error: t/);
quickly('register_job_type() beside an open alter_queue()',
	q{SELECT hipq.register_job_type('other.main', 'more') IS NOT NULL},
	qr/no error: t/);
quickly('create_queue() beside an open alter_queue()',
	q{SELECT hipq.create_queue('other.second', owner => 'other') > 0},
	qr/no error: t/);
quickly('drop_queue() beside an open alter_queue()',
	q{SELECT hipq.drop_queue('other.second') IS NOT NULL}, qr/no error: t/);
quickly('grant_queue() to a role with rights beside an open alter_queue()',
	q{SELECT hipq.grant_queue('other.main', 'app', 'read') IS NOT NULL}, qr/no error: t/);
quickly('alter_queue() of the same queue waits',
	q{SET lock_timeout = '200ms'; SELECT hipq.alter_queue('app.main', weight => 70)}, qr/55P03/);
$changer->query_safe('ROLLBACK');
$changer->query_safe(q{BEGIN; SELECT hipq.create_queue('app.open', owner => 'app')});
quickly('alter_queue() beside an open create_queue()',
	q{SELECT hipq.alter_queue('other.main', weight => 80) IS NOT NULL}, qr/no error: t/);
like($hipq->error_of(q{SELECT hipq.create_queue('other.third', owner => 'other')}),
	qr/55P03.*makes a queue.*process \d+ \(role "postgres"/s,
	'a refused create_queue() names the session that makes a queue');
$changer->query_safe('ROLLBACK');
$changer->query_safe(q{SELECT hipq.create_queue('app.gone', owner => 'app'); BEGIN;
	SELECT hipq.drop_queue('app.gone')});
quickly('create_queue() beside an open drop_queue()',
	q{SELECT hipq.create_queue('other.third', owner => 'other') > 0}, qr/no error: t/);
quickly('alter_queue() beside an open drop_queue()',
	q{SELECT hipq.alter_queue('other.third', weight => 90) IS NOT NULL},
	qr/no error: t/);
quickly('drop_queue() beside an open drop_queue()',
	q{SELECT hipq.drop_queue('other.third') IS NOT NULL}, qr/no error: t/);
quickly('drop_queue() of the same queue waits',
	q{SET lock_timeout = '200ms'; SELECT hipq.drop_queue('app.gone')}, qr/55P03/);
ok(finished('other_main', $hipq->enqueue('other',
		q{queue => 'other.main', scheduled_run_time => hipq.now() + interval '1 s'})),
	'scheduled jobs run beside an open drop_queue()');
$changer->query_safe('ROLLBACK');
$hipq->sql(q{CREATE ROLE newcomer; CREATE ROLE latecomer; CREATE ROLE another;
	SELECT hipq.grant_queue('app.main', 'newcomer', 'read')});
foreach my $verb ('grant', 'revoke')
{
	my $role = $verb eq 'grant' ? 'latecomer' : 'newcomer';
	$changer->query_safe("BEGIN; SELECT hipq.${verb}_queue('app.main', '$role', 'read')");
	quickly("create_queue() beside an open $verb of a first or last right",
		qq{SELECT hipq.create_queue('other.$verb', owner => 'other') > 0}, qr/no error: t/);
	quickly("grant_queue() to a role with rights beside an open $verb",
		q{SELECT hipq.grant_queue('other.main', 'app', 'control') IS NOT NULL}, qr/no error: t/);
	like($hipq->error_of(q{SELECT hipq.grant_queue('other.main', 'another', 'read')}),
		qr/55P03.*gives a role its first right or takes its last.*process \d+ \(role "postgres"/s,
		"a refused grant_queue() of a first right names the session, beside an open $verb");
	$changer->query_safe('ROLLBACK');
}
$changer->quit;
done_testing();
