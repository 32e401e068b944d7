# A cluster with hipq preloaded, and the actions of most tests: enqueue, wait for the outcome,
# query.
package HipqCluster;

use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More ();
use Time::HiRes qw(usleep time);

my @clusters;
my %looks;    # sessions, by connection string

# new($name, setting => value ..., database => ..., extension => 0): returns a running cluster with
# the extension in its database, and role "app". preload => 0 leaves hipq out of
# shared_preload_libraries; streaming and archiving make it a primary for others. install_path is
# the path of another version of PostgreSQL.
sub new
{
	my ($class, $name, %settings) = @_;
	my $database = delete $settings{database} // 'postgres';
	my $extension = delete $settings{extension} // 1;
	my $preload = delete $settings{preload} // 1;
	my $streaming = delete $settings{streaming};
	my $archiving = delete $settings{archiving};
	my $path = delete $settings{install_path};
	skip_without_cron() if ($settings{shared_preload_libraries} // '') =~ /pg_cron/;
	my $node = PostgreSQL::Test::Cluster->new($name, defined $path ? (install_path => $path) : ());
	local %ENV = %ENV;
	delete $ENV{INITDB_TEMPLATE} if defined $path;    # the template is for one version only
	my $self = bless { node => $node, database => $database }, $class;
	my $has_extension = $extension && $database eq 'postgres' && !defined $path
	  && defined $ENV{HIPQ_TEMPLATE};
	local $ENV{INITDB_TEMPLATE} = $ENV{HIPQ_TEMPLATE} if $has_extension;
	init($node, allows_streaming => $streaming, has_archiving => $archiving);
	# PostgreSQL 18 writes this setting, and older versions do not know it.
	$node->adjust_conf('postgresql.conf', 'autovacuum_worker_slots', undef) if defined $path;
	$node->append_conf('postgresql.conf', "max_connections = 20\nmax_worker_processes = 20\n"
		. "restart_after_crash = on\nlog_statement = none\n");
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'hipq'\n") if $preload;
	$node->append_conf('postgresql.conf', "$_ = '$settings{$_}'\n") foreach sort keys %settings;
	start_metronome() unless @clusters;
	$node->start;
	unless ($has_extension)
	{
		$self->sql('CREATE ROLE app LOGIN');
		$self->sql('CREATE EXTENSION hipq') if $extension;
	}
	push @clusters, $self;
	return $self;
}

sub skip_without_cron
{
	chomp(my $folder = `pg_config --pkglibdir`);
	Test::More::plan(skip_all => 'there is no pg_cron for this version of PostgreSQL')
	  unless -e "$folder/pg_cron.so";
	return;
}

# initdb and CREATE EXTENSION take longer than the rest of a start, so clusters are copies of a
# template (INITDB_TEMPLATE and HIPQ_TEMPLATE, from test/run), where the latter has role "app" and
# the extension in database "postgres". From PostgreSQL 16 on Cluster.pm itself copies the template.
sub init
{
	my ($node, @options) = @_;
	return $node->init(@options) unless defined $ENV{INITDB_TEMPLATE};
	my $run = \&PostgreSQL::Test::Utils::system_or_bail;
	no warnings 'redefine';
	local *PostgreSQL::Test::Utils::system_or_bail =
	  sub {
		return $run->($_[0] eq 'initdb'
			? ('cp', '-RPp', $ENV{INITDB_TEMPLATE}, $node->data_dir) : @_);
	  };
	return $node->init(@options);
}

# A test calls this if it makes the audit find a job that no claim would find.
sub expect_cursor_miss { $_[0]->{expects_cursor_miss} = 1; return; }

# In all other tests claims must find every job.
END
{
	close_looks();
	foreach my $cluster (grep { !$_->{expects_cursor_miss} } @clusters)
	{
		my ($miss) = slurp_file($cluster->node->logfile)
			=~ /^(.*waited where no executor would have looked.*(?:\n.*DETAIL.*)?)$/m;
		next unless defined $miss;
		Test::More::diag("a cursor miss: $miss");
		$? ||= 1;
	}
}

# test/one keeps the servers of a failed test running. This END runs before that of PostgreSQL's
# module, which would stop them and remove the folders of their sockets.
END
{
	if ($ENV{HIPQ_LEAVE_RUNNING} && ($? || !Test::More->builder->is_passing))
	{
		$File::Temp::KEEP_ALL = 1;
		undef $_->node->{_pid} foreach @clusters;
	}
}

# Returns how many times slower this machine is now than an idle one: measures a session that does
# not use hipq, and takes the median of nine. Time limits grow by this factor, so that they measure
# hipq and not other load.
sub slowness
{
	my ($self) = @_;
	my $usual = 0.05;    # s
	my @took = sort { $a <=> $b } map { my $start = time(); $self->sql('SELECT 1');
		time() - $start } 1 .. 9;
	# a maximum, so that load that hipq itself causes cannot excuse any delay
	my $most = 5;
	my $slowness = $took[4] < $usual ? 1 : $took[4] < $most * $usual ? $took[4] / $usual : $most;
	Test::More::note(sprintf 'slowness %.1f: a session that does nothing takes %d ms',
		$slowness, 1000 * $took[4]);
	return $slowness;
}

# Starts a separate process that wakes up every 20 ms, and records when it was much too late. It is
# not a child of the test, because the test may wait for its children. It ends after the test.
my $stalls;
sub start_metronome
{
	my ($late, $test) = (0.1, $$);    # s
	$stalls = PostgreSQL::Test::Utils::tempdir() . '/stalls';
	open my $file, '>', $stalls or die "$stalls: $!";
	my $child = fork // die "fork: $!";
	if ($child)
	{
		waitpid $child, 0;
		return;
	}
	POSIX::_exit(0) if fork;
	$SIG{$_} = 'DEFAULT' foreach qw(TERM INT);
	# prove waits until no process has the test's output open
	POSIX::close($_) foreach grep { $_ != fileno $file } 0 .. 63;
	while (kill 0, $test)
	{
		my $start = time();
		usleep(20_000);
		my $took = time() - $start;
		syswrite $file, sprintf("%.3f %.3f\n", time(), $took) if $took > $late;
	}
	POSIX::_exit(0);
}

# Returns a time limit from a start, in seconds: the given one, multiplied by the slowness of the
# machine, plus the time for which the machine has stalled since. The server may be down.
sub grown_bound
{
	my ($self, $seconds, $start) = @_;
	return $seconds * (eval { $self->slowness } // 1) + $self->stalled(time() - $start);
}

# Returns for how long this machine stalled in the last seconds, in seconds.
sub stalled
{
	my ($self, $seconds) = @_;
	my $since = time() - $seconds;
	my $stalled = 0;
	foreach my $line (split /\n/, slurp_file($stalls))
	{
		my ($at, $took) = split / /, $line;
		$stalled += $took if $at > $since;
	}
	Test::More::note(sprintf 'the machine stood still for %.1f of %d s', $stalled, $seconds);
	return $stalled;
}

# Tests that something took less than this many seconds. The limit grows if the machine is slower
# than usual, or stalled in the last minute.
sub in_time
{
	my ($self, $took, $bound, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$bound = $bound * $self->slowness + $self->stalled(60) unless $took < $bound;
	return Test::More::cmp_ok($took, '<', $bound, $name);
}

sub node { return $_[0]->{node}; }

# Returns the major version of the server.
sub version
{
	my ($self) = @_;
	return $self->{version} //= int $self->sql('SHOW server_version_num') / 10_000;
}

# A process that a test forks calls this. Signals then end the process without PostgreSQL's handlers
# for tests, which would stop the test's servers. The process also ends after the test, however the
# test ended, because prove waits until no process has the test's output open.
sub end_by_signals
{
	$SIG{$_} = 'DEFAULT' foreach qw(TERM INT);
	my $test = getppid;
	$SIG{ALRM} = sub { POSIX::_exit(1) if getppid != $test; alarm 2; };
	alarm 2;
	return;
}

# Returns the same cluster, for another of its databases.
sub in
{
	my ($self, $database) = @_;
	return bless { %$self, database => $database }, ref $self;
}

# Returns whether a view left a queue out because its table was locked; the view then gives a
# WARNING. The table is locked briefly while hipq makes leaves.
sub is_incomplete
{
	return ($_[0] // '') =~ /WARNING:  queue "[^"]*" is left out because its table is locked/;
}

# Returns whether a call by id had no result, because other servers did not answer within 5 s. A
# call without a result did nothing.
sub is_unknown { return ($_[0] // '') =~ /not all servers that may have it have answered/; }

# Returns whether the statement only reads tables and views of hipq, so that every session gives the
# same answer.
sub is_look
{
	my ($sql) = @_;
	return $sql =~ /^\s*(?:SELECT|WITH)\b/
	  && $sql =~ /\bhipq\.\w/
	  && $sql !~ /;\s*\S|\\|\b(?:INSERT|UPDATE|DELETE)\b|\bpg_|\bhipq\.\w+\(|current_|session_/;
}

# Returns the session for looks, one for each database. A forked process has its own.
sub looks
{
	my ($self) = @_;
	my $connection = $self->node->connstr($self->{database});
	delete $looks{$connection} if $looks{$connection} && !$looks{$connection}->is_ours;
	return $looks{$connection} //= HipqLooks->new($connection);
}

# Ends the sessions for looks. A test calls this before it waits for clients to leave, for example
# before a smart stop.
sub close_looks { %looks = (); return; }

# Ends the sessions for looks before a statement that lists sessions, or that needs a database
# without other sessions.
sub make_way
{
	my ($sql) = @_;
	close_looks() if $sql =~ /\bpg_(?:stat|locks|terminate)|\b(?:DATABASE|EXTENSION|ROLE|USER)\b/i;
	return;
}

# Runs SQL that must succeed, and returns its output. Repeats it for some seconds if it only reads
# and the result is incomplete, or if it is a single call without a result yet. Looks use the
# session for looks, which takes a thirtieth of a psql's processor time. If that fails, a new psql
# runs the statement.
sub sql
{
	my ($self, $sql, @options) = @_;
	if (!@options && is_look($sql))
	{
		my ($status, $out, $err) = $self->looks->ask($sql);
		return $out if $status == 0 && $err eq '';    # otherwise a new psql shows the error
		close_looks() if $status != 0;                # the server may be down
	}
	make_way($sql);
	my $only_reads = $sql =~ /^\s*(?:SET\s[^;]*;\s*)*(?:SELECT|WITH)\b/
		&& $sql !~ /\b(?:INSERT|UPDATE|DELETE|CREATE|ALTER|CALL|DO)\b|\bhipq\.(?!now|why)\w+\(/;
	my $is_single = $sql !~ /;\s*\S/;
	my $end = time() + 15;
	while (1)
	{
		my ($out, $err) = ('', '');
		my $works = eval { $self->node->psql($self->{database}, $sql, stdout => \$out,
				stderr => \$err, on_error_die => 1, @options); 1 };
		if (time() < $end
			&& ($works ? $only_reads && is_incomplete($err) : $is_single && is_unknown($@)))
		{
			usleep(100_000);
			next;
		}
		die $@ unless $works;
		# like safe_psql()
		print "#### Begin standard error\n$err\n#### End standard error\n" if $err ne '';
		return $out;
	}
}

# Runs SQL while the server may be down. Returns the status (0: success), stdout and stderr.
sub try_sql
{
	my ($self, $sql) = @_;
	make_way($sql);
	# IPC::Run dies if psql ends before it has read its input
	my @answer = eval { $self->node->psql($self->{database}, $sql) };
	return @answer ? @answer : (-1, '', $@);
}

# Runs SQL that must fail. Returns psql's stderr, with SQLSTATE, detail and hint.
sub error_of
{
	my ($self, $sql, %options) = @_;
	make_way($sql);
	my ($status, $out, $err) = $self->node->psql($self->{database},
		"\\set VERBOSITY verbose\n$sql", %options);
	return $status == 0 ? "no error: $out" : $err;
}

# Runs SQL as another role.
sub sql_as
{
	my ($self, $role, $sql) = @_;
	return $self->sql($sql, extra_params => [ '-U', $role ]);
}

# Starts a psql in which a test runs one query after another (->query_safe); end it with ->quit.
# role: another role. Further options go to background_psql.
sub session
{
	my ($self, %options) = @_;
	my $role = delete $options{role};
	$options{extra_params} = [ '-U', $role ] if defined $role;
	my $session = bless $self->node->background_psql($self->{database}, %options), 'HipqSession';
	$session->set_query_timer_restart;
	return $session;
}

# Waits until the query returns "t" (or the expected value). Returns whether it did. A given limit
# is for a server with PG_TEST_TIMEOUT_DEFAULT=60, and grows with this variable, because servers
# with sanitizers are slow. It also grows like a limit of in_time().
sub wait_until
{
	my ($self, $query, $expected, $seconds) = @_;
	$expected //= 't';
	my ($is_so, $out, $err) = $self->poll($query, sub { $_[0] eq $expected }, $seconds);
	Test::More::diag("waited in vain for \"$expected\" from: $query\nlast answer: $out\n$err")
		unless $is_so;
	return $is_so;
}

# Repeats a query until it returns the wanted answer. Returns whether it did, the last answer and
# the last error. Looks use the session for looks. The first of other single queries runs in a new
# psql, as a client's would, and the rest run in one session. Several statements run by try_sql(),
# or by the given function.
sub poll
{
	my ($self, $query, $is_wanted, $seconds, $ask) = @_;
	my $is_single = !defined $ask && $query
		=~ /^\s*(?:SELECT|WITH|TABLE)\b/ && $query !~ /;\s*\S|\\/;
	$ask //= sub { $self->try_sql($_[0]) };
	my $default = $PostgreSQL::Test::Utils::timeout_default;
	$seconds *= $default / 60 if defined $seconds && $default > 60;
	my $start = time();
	my $end = $start + ($seconds // $default);
	my $has_bound = defined $seconds;
	my $pause = 10_000;    # us; grows, to save processor time
	my $looks = $is_single && is_look($query) ? $self->looks : undef;
	my ($status, $out, $err) = $looks ? $looks->ask($query) : $ask->($query);
	while (1)
	{
		return (1, $out, $err)
			if $status == 0 && $is_wanted->($out) && !(is_incomplete($err) && time() < $start + 5);
		usleep($pause);
		$pause *= 1.5 if $pause < ($is_single ? 40_000 : 150_000);
		if ($has_bound && time() >= $end)    # like in_time()
		{
			$end = $start + $self->grown_bound($seconds, $start);
			$has_bound = 0;
		}
		last if time() >= $end;
		if ($status != 0)    # the server may be down
		{
			close_looks();
			undef $looks;
		}
		if ($is_single && !$looks)
		{
			$looks = is_look($query) ? $self->looks
				: HipqLooks->new($self->node->connstr($self->{database}));
		}
		($status, $out, $err) = $looks ? $looks->ask($query) : $ask->($query);
	}
	return (0, $out, $err);
}

# Runs SQL that locks tables of other sessions (such as ALTER TABLE hipq.job), moves slots, or
# enqueues several keys on a shard. Repeats it after a deadlock (40P01), or if another session held
# the lock for 5 s (55P03).
sub sql_again
{
	my ($self, $sql) = @_;
	foreach my $try (1 .. 3)
	{
		my ($status, $out, $err) = $self->try_sql("\\set VERBOSITY verbose\n$sql");
		return $out if $status == 0;
		die "$sql fails: $err" if $try == 3 || $err !~ /ERROR:  (?:55P03|40P01)/;
	}
}

# Returns the current alerts: "mute worker, shard". Leaves out alerts about processes that the
# machine did not let run, because most tests do not test them.
sub alerts
{
	my ($self) = @_;
	return $self->sql(q{SELECT coalesce(string_agg(alert, ', ' ORDER BY alert), '') FROM hipq.alerts
		WHERE alert NOT IN ('executors', 'no start', 'scheduler')});
}

# Changes settings by ALTER SYSTEM and waits until new sessions have them.
sub set
{
	my ($self, %settings) = @_;
	$self->sql("ALTER SYSTEM SET $_ = '$settings{$_}'") foreach sort keys %settings;
	return $self->reload;
}

# Sets hipq.enabled = off, and waits until the running jobs have ended, and executors and scheduler
# have exited.
sub switch_off
{
	my ($self) = @_;
	$self->set('hipq.enabled' => 'off');
	$self->wait_until(q{SELECT count(*) FROM pg_stat_activity
		WHERE backend_type IN ('hipq executor', 'hipq scheduler')}, 0);
	return;
}

# Makes the server read its settings and pg_hba.conf again. They apply to later connections.
sub reload
{
	my ($self) = @_;
	my $before = $self->sql('SELECT pg_conf_load_time()');
	$self->sql('SELECT pg_reload_conf()');
	$self->wait_until("SELECT pg_conf_load_time() > '$before'");
	return;
}

# Makes these roles authenticate with passwords. The server still trusts all other roles, such as
# the test's own.
sub ask_for_passwords
{
	my ($self, @roles) = @_;
	my $file = $self->node->data_dir . '/pg_hba.conf';
	my $rules = slurp_file($file);
	unlink $file or die $!;
	$self->node->append_conf('pg_hba.conf',
		'local all ' . join(',', @roles) . " scram-sha-256\n$rules");
	return $self->reload;
}

# Creates a queue that "app", or another role, owns.
sub create_queue
{
	my ($self, $queue, %options) = @_;
	my $arguments = join '', map { ", $_ => '$options{$_}'" } sort keys %options;
	$arguments .= ", owner => 'app'" unless exists $options{owner};
	return $self->sql("SELECT hipq.create_queue('$queue'$arguments)");
}

# Enqueues a job, and returns its id. $rest: the arguments after the type in hipq.enqueue().
sub enqueue
{
	my ($self, $type, $rest) = @_;
	return $self->sql("SELECT hipq.enqueue('$type'" . (defined $rest ? ", $rest" : '') . ')');
}

# Waits until the job is final. Returns its outcome, also if it does not end in time.
sub outcome
{
	my ($self, $id, $seconds) = @_;
	my ($is_final, $outcome) = $self->poll("SELECT outcome FROM hipq.jobs
		WHERE id = $id AND outcome NOT IN ('waiting', 'running')", sub { $_[0] ne '' }, $seconds);
	return $outcome if $is_final;
	Test::More::diag("job $id does not end\n" . $self->look_at($id));
	return $self->sql("SELECT outcome FROM hipq.jobs WHERE id = $id");
}

# Enqueues a job, waits for its end, and returns the outcome.
sub outcome_of
{
	my ($self, $type, $rest) = @_;
	return $self->outcome($self->enqueue($type, $rest));
}

sub result
{
	my ($self, $id) = @_;
	$self->outcome($id);
	return $self->sql("SELECT result FROM hipq.jobs_detail WHERE id = $id");
}

# Returns the attempts of a job: "1 transient_error P0001, 2 ...".
sub attempts
{
	my ($self, $id) = @_;
	return $self->sql("SELECT string_agg(concat_ws(' ', attempt, reason, sqlstate), ', '
		ORDER BY ended_time) FROM hipq.attempts WHERE job_id = $id");
}

# Returns everything about a job, for the log of a failed test.
sub look_at
{
	my ($self, $id) = @_;
	my ($status, $out) = $self->node->psql($self->{database},
		"SELECT row_to_json(job) FROM hipq.jobs_detail AS job WHERE id = $id;
			SELECT * FROM hipq.why($id);"
		  . " SELECT pid, backend_type, datname, usename, state, wait_event, query
		  	FROM pg_stat_activity WHERE backend_type LIKE 'hipq%';"
		  . " SELECT * FROM hipq.attempts WHERE job_id = $id; SELECT * FROM hipq._executors()");
	return $out;
}

# Returns the first unmet condition.
sub why
{
	my ($self, $id) = @_;
	return $self->sql(
		"SELECT condition || ': ' || explanation FROM hipq.why($id) WHERE NOT passed LIMIT 1");
}

# Waits until a process runs the job, and returns the pid.
sub pid_of
{
	my ($self, $id) = @_;
	$self->wait_until("SELECT count(pid) = 1 FROM hipq.running WHERE id = $id");
	return $self->sql("SELECT pid FROM hipq.running WHERE id = $id");
}

# Starts a psql that holds advisory lock 1, for which handlers of tests wait. End it with ->quit.
sub hold_lock
{
	my ($self, $number) = @_;
	my $session = $self->session;
	$session->query_safe('SELECT pg_advisory_lock(' . ($number // 1) . ')');
	return $session;
}

# PostgreSQL's class has one time limit for the whole session. Here each query, and quit(), has its
# own, because a session that holds a lock may stay idle for as long as a slow machine takes for the
# rest of its test.
package HipqSession;

use parent -norequire, 'PostgreSQL::Test::BackgroundPsql';

sub quit
{
	my ($self) = @_;
	$self->{timeout}->start;
	return $self->SUPER::quit;
}

# A psql that runs one query after another.
package HipqLooks;

use IPC::Run ();

sub new
{
	my ($class, $connection) = @_;
	my $self = bless { in => '', out => '', err => '', asked => 0, process => $$ }, $class;
	$self->{run} = IPC::Run::start([ 'psql', '-XAtq', '-d', $connection, '-f', '-' ], '<',
		\$self->{in}, '>', \$self->{out}, '2>', \$self->{err});
	return $self;
}

# Like HipqCluster::try_sql(): returns the status (0: success), stdout and stderr.
sub ask
{
	my ($self, $query) = @_;
	my $end = 'answer ' . ++$self->{asked};
	@{$self}{qw(out err)} = ('', '');
	$self->{in} .= "$query\n;\n\\echo '$end'\n\\warn '$end'\n";
	my $is_there = eval { while ($self->{out} !~ /^$end\n/m
			|| $self->{err} !~ /$end\n/) { $self->{run}->pump } 1 };
	my ($out, $err) = map { s/$end\n//r =~ s/\n\z//r } @{$self}{qw(out err)};
	return (!$is_there || $err =~ /(?:ERROR|FATAL|PANIC):  / ? 3 : 0, $out, $err);
}

sub is_ours { return $_[0]->{process} == $$; }

sub DESTROY
{
	my ($self) = @_;
	# at global destruction IPC::Run may be gone
	return unless $self->is_ours && ${^GLOBAL_PHASE} ne 'DESTRUCT';
	local ($?, $@);
	eval { $self->{in} .= "\\q\n"; $self->{run}->finish };
	return;
}

1;
