# Tests that a worker program, with a client library of any language, loses no job, and that each
# accepted answer is from an attempt that ran to its end once. Faults: bad input, crashes and
# failover of the server, ended sessions, a network that freezes, vanishes and is cut, SIGSTOP, kill
# -9. The programs (test/clients) write a ledger of the handlers that ran.
package HipqWorkerFaults;

use strict;
use warnings;
use HipqCluster;
use HipqPooler;
use HipqProgram;
use HipqProxy;
use PostgreSQL::Test::Utils;
use Test::More;

# new($client, [command], environment => { VARIABLE => value }): a cluster, and the command of the
# program. keeps_trying: the program does not end if it cannot connect, because libpq does not tell
# whether the error is permanent.
sub new
{
	my ($class, $client, $command, %options) = @_;
	my $hipq = HipqCluster->new("faults_$client", streaming => 1, 'hipq.worker_grace' => '20s',
		'hipq.unhealthy_failures' => 1000);
	my $folder = PostgreSQL::Test::Utils::tempdir_short();
	append_to_file("$folder/ledger", '');
	$hipq->create_queue('app.run');
	$hipq->sql("SELECT hipq.register_job_type('app.run', '$_', handler_kind => 'notify',
		max_retries => 1, retry_base => '0 s')") foreach qw(short long);
	my %environment = (%{ $options{environment} // {} }, HIPQ_LEDGER => $folder);
	return bless { %options, hipq => $hipq, command => $command, environment => \%environment,
		folder => $folder }, $class;
}

# Runs all tests.
sub prove
{
	my ($self) = @_;
	my $worker = $self->starts('bound');
	$self->bad_input;
	$self->crash_of_the_server($worker);
	$self->ended_sessions($worker);
	$self->answer_refused_for_now;
	$self->frozen_program($worker);
	$self->network;
	$self->unbound;
	$self->under_statement_timeout;
	$self->no_server;
	my $moved = $self->failover;
	return $self->killed_again_and_again($moved);
}

# ---- common to all faults

sub hipq { return $_[0]->{hipq}; }

sub program
{
	my ($self, $name, %environment) = @_;
	return HipqProgram->start($self->hipq, $self->{command},
		{ %{ $self->{environment} }, HIPQ_NAME => $name, %environment });
}

# Starts a program, and tests that it registers.
sub starts
{
	my ($self, $name, %environment) = @_;
	my $program = $self->program($name, %environment);
	ok($self->is_there($name), "worker \"$name\" registers") or diag($program->said);
	return $program;
}

sub is_there
{
	my ($self, $name) = @_;
	return $self->hipq->wait_until(
		"SELECT count(*) FROM hipq.workers WHERE name = '$name' AND status = 'active'", 1);
}
sub ends_well
{
	my ($self, $program, $what) = @_;
	return is($program->stop, 0, $what // 'the worker exits with 0') || diag($program->said);
}

sub enqueue
{
	my ($self, $type, $rest) = @_;
	return $self->hipq->enqueue($type, q{'{}', queue => 'app.run'} . ($rest // ''));
}
sub let_go { my ($self, $id) = @_; append_to_file("$self->{folder}/$id", ''); return; }
sub written
{
	my ($self, $line) = @_;
	return scalar grep { /^$line$/ } split /\n/, slurp_file("$self->{folder}/ledger");
}
sub writes { my ($self, $line) = @_; return HipqProgram->wait_for(sub { $self->written($line) }); }

# Enqueues a long job, and waits until it runs. Returns its id.
sub begun
{
	my ($self, $rest) = @_;
	my $id = $self->enqueue('long', $rest);
	ok($self->writes("start $id 1"), "job $id runs");
	return $id;
}

# Tests that the job has the answer of this attempt, and that its handler ran to its end once.
sub succeeds
{
	my ($self, $id, $what, $attempt) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($outcome, $counted) = ($self->hipq->outcome($id),
		$self->hipq->sql("SELECT result FROM hipq.jobs_detail WHERE id = $id"));
	$attempt //= 1;
	return is(join(' ', $outcome, $counted, $self->written("end $id $attempt")),
		"succeeded $attempt 1", $what);
}

# Tests that a later attempt than the first one succeeded.
sub succeeds_later
{
	my ($self, $id, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $attempt = $self->hipq->result($id);
	return $self->succeeds($id, $what, $attempt) && isnt($attempt, 1,
		'a later attempt than the first one counts');
}

# Tests that the worker runs a job. This may take a second attempt if the server gave the job to a
# session that had ended.
sub works
{
	my ($self, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $id = $self->enqueue('short');
	return $self->succeeds($id, $what, $self->hipq->result($id));
}

sub crash { my ($self) = @_; $self->hipq->node->stop('immediate'); return; }

# ---- the faults

# Needs a worker "bound".
sub bad_input
{
	my ($self) = @_;
	my $second = $self->program('bound');
	is($second->exit_code, 1, 'a second program of the same name ends');
	like($second->said, qr/"?bound"? is (?:there already|already there)/,
		'the second program says why it ends');
	my $astray = $self->program('astray', HIPQ_QUEUE => 'app.nowhere');
	is($astray->exit_code, 1, 'a program for a missing queue ends');
	like($astray->said, qr/queue "app\.nowhere" does not exist/,
		'the program names the missing queue');
	my $nobody = $self->program('nobody', PGUSER => 'nobody_at_all');
	ok($nobody->wait_for(sub { $nobody->said =~ /role "nobody_at_all" does not exist/ }),
		'a program reports that its role does not exist') or diag($nobody->said);
	is($self->{keeps_trying} ? $nobody->stop : $nobody->exit_code, $self->{keeps_trying} ? 0 : 1,
		'a program with a missing role ends, or can be stopped');
	return $self->works('the registered worker runs jobs after programs with bad input');
}

sub crash_of_the_server
{
	my ($self, $worker) = @_;
	my ($during, $after) = map { $self->begun } 1 .. 2;
	$self->crash;
	$self->let_go($during);
	ok($self->writes("end $during 1"), 'a job ends while the server is down');
	is($self->written("end $after 1"), 0, 'another job runs while the server is down');
	$self->hipq->node->start;
	$self->succeeds($during, 'a job that ended while the server was down counts');
	$self->let_go($after);
	$self->succeeds($after, 'a job that continued while the server was down counts');
	ok($self->is_there('bound'), 'the worker registers again after the crash');
	return $self->works('the worker runs a new job after the crash of the server');
}

sub ended_sessions
{
	my ($self, $worker) = @_;
	my $id = $self->begun;
	$self->hipq->sql(
		q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'});
	$self->let_go($id);
	$self->succeeds($id, 'a job succeeds after the sessions of its worker ended');
	return $self->works('the worker runs jobs after its sessions ended');
}

# Another session locks the table of the queue; sessions of the worker's role have a lock timeout.
sub answer_refused_for_now
{
	my ($self) = @_;
	my $hipq = $self->hipq;
	$hipq->sql(q{ALTER ROLE app SET lock_timeout = '200ms'});
	$hipq->sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'});
	$self->works('the worker runs jobs with a lock timeout');
	my $id = $self->begun;
	my $session = $hipq->session;
	my $log = -s $hipq->node->logfile;
	$session->query_safe('BEGIN; LOCK TABLE hipq.app_run_live');
	$self->let_go($id);
	ok($self->writes("end $id 1"), 'a job ends while the table is locked');
	ok(HipqProgram->wait_for(sub { slurp_file($hipq->node->logfile, $log) =~ /lock timeout/ }),
		'the answer is refused while the table is locked');
	$session->query_safe('ROLLBACK');
	$session->quit;
	$self->succeeds($id, 'the job with the refused answer succeeds when the table is unlocked');
	return $hipq->sql(q{ALTER ROLE app RESET lock_timeout});
}

# One of two jobs can end when the program continues. While the program is stopped, the server may
# give it more attempts, which time out.
sub frozen_program
{
	my ($self, $worker) = @_;
	my ($late, $stays) = map { $self->begun(', timeout => 2, max_retries => 100') } 1 .. 2;
	$worker->signal('STOP');
	ok($self->hipq->wait_until("SELECT count(DISTINCT job_id) FROM hipq.attempts WHERE job_id
			IN ($late, $stays) AND reason = 'timeout'", 2), 'the jobs of a frozen worker time out');
	$self->let_go($late);
	$worker->signal('CONT');
	$self->succeeds_later($late,
		'a worker that continues runs its job again, and the first attempt does not count');
	ok($self->writes("over $stays 1"),
		'a running handler learns that its attempt is over');
	$self->let_go($stays);
	$self->succeeds_later($stays, "a later attempt of a running handler's job counts");
	return $self->ends_well($worker);
}

sub network
{
	my ($self) = @_;
	my $proxy = HipqProxy->new($self->hipq->node);
	my $far = $self->starts('far', PGHOST => '127.0.0.1', PGPORT => $proxy->{port});
	my $id = $self->begun;
	$proxy->cut;
	$self->let_go($id);
	ok($self->writes("end $id 1"), 'a job ends while the network is cut');
	$proxy = HipqProxy->new($self->hipq->node, $proxy->{port});
	$self->succeeds($id, 'an answer during the cut counts when the network is back');
	$self->works('the worker runs jobs after the cut');
	$proxy->freeze;
	my $stuck = $self->enqueue('short');
	$proxy->thaw;
	$self->succeeds($stuck, 'a job succeeds after the network was frozen');
	$id = $self->begun;
	$proxy->strand;
	$self->let_go($id);
	$self->succeeds($id, 'a job succeeds after the worker gave up silent connections');
	$self->works('both workers run jobs after silent connections');
	return $self->ends_well($far);
}

# The first one of two servers does not answer.
sub silent_server
{
	my ($self) = @_;
	my $proxy = HipqProxy->new($self->hipq->node);
	$proxy->freeze;
	my %both = (PGHOST => '127.0.0.1,' . $self->hipq->node->host,
		PGPORT => "$proxy->{port}," . $self->hipq->node->port);
	my $worker = $self->starts('patient', %both, PGTARGETSESSIONATTRS => 'read-write');
	$self->works('the worker uses the next server if one does not answer');
	return $self->ends_well($worker);
}

# Uses a pooler, if it is installed: a long job outlives the sessions, whatever the value of
# hipq.worker_grace.
sub unbound
{
	my ($self) = @_;
	my $pooler = HipqPooler->new($self->hipq, 'app');
	my %through = defined $pooler ? (PGHOST => $ENV{POOLER_HOST}, PGPORT => $ENV{POOLER_PORT}) : ();
	$self->hipq->set('hipq.worker_grace' => '0.1s');
	my $worker = $self->starts('unbound', HIPQ_POOLER => 1, %through);
	my $id = $self->begun;
	$self->crash;
	$self->hipq->node->start;
	$self->works('an unbound worker runs jobs after a crash of the server');
	$self->let_go($id);
	$self->succeeds($id, 'a job that ran during the crash counts');
	is($self->hipq->sql(q{SELECT count(*) FROM hipq.workers WHERE name = 'unbound'}), 1,
		'the unbound worker is registered once');
	return $self->ends_well($worker);
}

# The statement_timeout is shorter than the claims of an unbound worker. When the worker has
# stopped, it must be deregistered in spite of all errors, so that its name is free.
sub under_statement_timeout
{
	my ($self) = @_;
	my $hipq = $self->hipq;
	$hipq->sql(q{ALTER ROLE app SET statement_timeout = '1s'});
	my $looks = q{FROM pg_stat_activity WHERE usename = 'app' AND query LIKE '%hipq.claim(%'};
	my $worker = $self->starts('hurried', HIPQ_POOLER => 1);
	my %begun;
	my $has_looked = sub { $begun{ $hipq->sql("SELECT query_start $looks") }++; keys %begun > 4 };
	ok($worker->wait_for($has_looked), 'an unbound worker checks for jobs repeatedly');
	unlike($worker->said, qr/lost|cancel|timeout/,
		'an unbound worker reports no fault without faults');
	$self->works('an unbound worker runs a job with a statement timeout');

	my $ends = sub {
		my ($when) = @_;
		ok($worker->has_ended(20), "the unbound worker ends $when");
		my $those = q{SELECT count(*) FROM hipq.workers WHERE name = 'hurried'};
		return is($hipq->sql($those), 0, 'the unbound worker is no longer registered');
	};
	$hipq->sql("ALTER ROLE app NOLOGIN; SELECT pg_terminate_backend(pid) $looks");
	$worker->signal('TERM');
	$ends->('when it cannot check for jobs');
	$hipq->sql('ALTER ROLE app LOGIN');
	$worker = $self->starts('hurried', HIPQ_POOLER => 1);
	my $claim = 'EXECUTE ON FUNCTION hipq.claim(bigint, integer, hipq.duration)';
	$hipq->sql("REVOKE $claim FROM PUBLIC");
	$ends->('when it must not check for jobs');
	return $hipq->sql("GRANT $claim TO PUBLIC; ALTER ROLE app RESET statement_timeout");
}

sub no_server
{
	my ($self) = @_;
	my $worker = $self->starts('left alone');
	$self->begun;
	$self->crash;
	ok($worker->wait_for(sub { $worker->signal('TERM'); $worker->has_ended(0.5) }),
		'more than one signal ends a program without a server');
	$self->hipq->node->start;
	return $self->hipq->sql(q{SELECT hipq.cancel_jobs('app.run')});
}

# Fails over to the standby. Returns the program that has moved to it.
sub failover
{
	my ($self) = @_;
	my $hipq = $self->hipq;
	$hipq->set('hipq.worker_grace' => '20s');
	$hipq->node->backup('copy');
	my $standby = PostgreSQL::Test::Cluster->new($hipq->node->name . '_standby');
	$standby->init_from_backup($hipq->node, 'copy', has_streaming => 1);
	$standby->start;
	my %both = (PGHOST => join(',', map { $_->host } $hipq->node, $standby),
		PGPORT => join(',', map { $_->port } $hipq->node, $standby));
	my $worker = $self->starts('moving', %both, PGTARGETSESSIONATTRS => 'read-write');
	my $id = $self->begun;
	ok($hipq->wait_until("SELECT is_accepted FROM hipq.running_detail WHERE id = $id"),
		'the job of the moving worker is accepted');
	$hipq->node->wait_for_catchup($standby);
	$self->crash;
	$standby->promote;
	$self->{hipq} = bless { %$hipq, node => $standby }, ref $hipq;
	ok($self->is_there('moving'), 'the worker registers with the new server after the failover')
		or diag($worker->said);
	$self->let_go($id);
	$self->succeeds($id, 'a job that ran during the failover counts');
	$self->works('the moved worker runs a new job');
	return $worker;
}

sub killed_again_and_again
{
	my ($self, $last) = @_;
	my $hipq = $self->hipq;
	$hipq->set('hipq.worker_grace' => '500ms');
	$hipq->sql(q{SELECT hipq.alter_job_type('app.run', 'short', max_retries => 100)});
	$hipq->sql(q{SELECT hipq.enqueue_many('short', array_agg(jsonb_build_object('n', n)),
		queue => 'app.run') FROM generate_series(1, 300) AS n});
	foreach my $round (1 .. 4)
	{
		my $next = $self->starts("round $round");
		my $done = $hipq->sql(q{SELECT count(*) FROM hipq.jobs_detail WHERE state = 'final'});
		$hipq->wait_until("SELECT count(*) > $done + 10 OR NOT EXISTS (SELECT FROM hipq.jobs_detail
			WHERE state <> 'final') FROM hipq.jobs_detail WHERE state = 'final'");
		$last->stop('KILL');
		$last = $next;
		next if $round % 2;
		$self->crash;
		$hipq->node->start;
	}
	ok($hipq->wait_until(q{SELECT count(*) FROM hipq.jobs_detail WHERE state <> 'final'}, 0),
		'all jobs end after the kills');
	is($hipq->sql(q{SELECT count(*) FROM hipq.jobs_detail WHERE outcome = 'succeeded'
			AND job_data ? 'n'}), 300, 'all jobs have succeeded after the kills');
	$self->compare_ledger;
	return $self->ends_well($last);
}

sub compare_ledger
{
	my ($self) = @_;
	my %ends;
	$ends{$_}++ foreach slurp_file("$self->{folder}/ledger") =~ /^end (\d+ \d+)$/mg;
	my @counted = split /\n/, $self->hipq->sql(
		q{SELECT id || ' ' || result FROM hipq.jobs_detail WHERE outcome = 'succeeded'});
	cmp_ok(scalar @counted, '>=', 300, 'the ledger has at least 300 jobs');
	is((grep { ($ends{$_} // 0) != 1 } @counted), 0,
		'each attempt that counts ran to its end once');
	return is((grep { $_ > 1 } values %ends), 0, 'no attempt ran twice');
}

1;
