# Each row of the table in docs/clients/poolers.md is right. The test tries it through pgbouncer, in
# transaction mode and in session mode.
use strict;
use warnings;
use HipqCluster;
use HipqPooler;
use HipqProgram;
use HipqRun;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'there is no pgbouncer' if HipqPooler::is_missing();
my $hipq = HipqCluster->new('poolers', 'hipq.worker_grace' => '500ms');
$hipq->create_queue('app.pool');
$hipq->sql(q{
	CREATE FUNCTION work(data jsonb) RETURNS jsonb LANGUAGE sql AS $$ SELECT data $$;
	SELECT hipq.register_job_type('app.pool', 'work', handler => 'work');
	SELECT hipq.register_job_type('app.pool', type, handler_kind => 'notify')
		FROM unnest('{short, long}'::text[]) AS type});
my $traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

# The rows: what to try, the result in transaction mode, the result in session mode.
my @rows = map { [ split /\s*\|\s*/ ] } slurp_file("$ENV{HIPQ_ROOT}/docs/clients/poolers.md")
	=~ /^\| (.* \| (?:yes|no) \| (?:yes|no)) \|/mg;
cmp_ok(scalar @rows, '>=', 15, 'the table of the page has at least 15 rows');

# ---- a pooler with one session for all clients, and one with room for workers

my ($mode, $one, $many);

# Returns the output of psql through the first pooler, stdout and stderr together.
sub say_in
{
	my ($script, %environment) = @_;
	local %ENV = (%ENV, $one->where, PGUSER => 'app', PGDATABASE => 'postgres', %environment);
	my $said = '';
	IPC::Run::run([ 'timeout', '60', 'psql', '-XAtq' ], '<', \$script, '>&', \$said);
	chomp $said;
	return $said;
}

# Returns the number of jobs that a script enqueues.
sub enqueues
{
	my ($script) = @_;
	my $before = $hipq->sql('SELECT count(*) FROM hipq.jobs');
	my $said = say_in($script);
	diag($said) if $said =~ /ERROR/;
	return $hipq->sql('SELECT count(*) FROM hipq.jobs') - $before;
}

# Returns whether a later client gets a value that an earlier client has set.
sub sees_traceparent { return say_in(q{SHOW hipq.traceparent;}) eq $traceparent; }

# Returns whether a worker program through the second pooler runs a job.
sub runs_a_job
{
	my ($name, $start) = @_;
	my $program = $start->($many->where);
	$program->wait_for(sub { $program->has_ended(0.1) || $hipq->sql("SELECT count(*)
			FROM hipq.workers WHERE name = '$name' AND status = 'active'") });
	return 0 if $program->has_ended(0) && $program->exit_code == 1 && $program->said =~ /pooler/;
	my $id = $hipq->enqueue('short', q{'{}', queue => 'app.pool'});
	my $outcome = $hipq->outcome($id);
	return $outcome eq 'succeeded' && $program->stop eq '0';
}

sub hipq_run
{
	my (@options) = @_;
	my @arguments = (@options, '--name', 'run', '--queue', 'app.pool', '--types', 'short',
		'--', '/bin/true');
	return runs_a_job('run', sub { my (%where) = @_; return HipqRun->new($hipq,
			arguments => \@arguments, env => \%where); });
}

sub python
{
	my (%environment) = @_;
	my $folder = PostgreSQL::Test::Utils::tempdir_short();
	%environment = (%environment, PYTHONPATH => "$ENV{HIPQ_ROOT}/clients/python/src",
		PYTHONDONTWRITEBYTECODE => 1, HIPQ_NAME => 'python', HIPQ_QUEUE => 'app.pool',
		HIPQ_LEDGER => $folder);
	my @command = ('/usr/bin/python3', "$ENV{HIPQ_ROOT}/test/clients/worker.py");
	return runs_a_job('python', sub { my (%where) = @_; return HipqProgram->start($hipq, \@command,
			{ %environment, %where }); });
}

my $register = q{SELECT hipq.register_worker('by hand', '{app.pool}', '{short}',
	take_over => true) AS worker \gset};
my $wait = q{wait => '30 s'};

# Runs an attempt with statements. The last statement reports the result. Returns the job.
sub by_hand
{
	my ($answer, $claim) = @_;
	$claim //= $wait;
	my $id = $hipq->enqueue('short', q{'{}', queue => 'app.pool'});
	my $said = say_in(
		"$register\nSELECT id, attempt FROM hipq.claim(:worker, $claim) \\gset\n"
			. "$answer\nSELECT hipq.deregister_worker(:worker);");
	unlike($said, qr/ERROR/, 'the statements of an attempt raise no error');
	return $id;
}

# In session mode the pooler resets the session when its client leaves. In transaction mode the next
# client gets the same session with its state.
my $is_active = q{SELECT count(*) FROM hipq.workers WHERE name = 'bound' AND status = 'active'};

sub bound_worker_ends
{
	say_in(q{SELECT hipq.register_worker('bound', '{app.pool}', '{short}', listen => true,
		take_over => true);});
	say_in('SELECT 1;');
	my $has_ended = $mode eq 'session' ? $hipq->wait_until($is_active, 0) : !$hipq->sql($is_active);
	$hipq->sql(q{SELECT hipq.deregister_worker(worker_id) FROM hipq.workers WHERE name = 'bound'});
	return $has_ended;
}

# One client listens while another one notifies. In transaction mode both use the same session.
sub is_notified
{
	my ($host, $port) = $mode eq 'session' ? ($hipq->node->host,
		$hipq->node->port) : @{$one}{qw(host port)};
	my $looks = "SELECT 1;\n" x 200;
	return say_in(
		"LISTEN hipq_worker_0;\n"
			. "\\! psql -XAtq -h $host -p $port -c 'NOTIFY hipq_worker_0' >/dev/null\n"
			. $looks)
		=~ /Asynchronous notification "hipq_worker_0"/;
}

# ---- a function for each row, which returns whether it works

my $insert = q{INSERT INTO hipq.app_pool (job_type) VALUES ('work');};
my $enqueue = q{SELECT hipq.enqueue('work', '{}', 'app.pool');};
my %tries = (
	'`INSERT`, `COPY`' => sub {
		enqueues("$insert\nCOPY hipq.app_pool (job_type) FROM STDIN;\nwork\nwork\n\\.\n") == 3 },
	'`enqueue`, `enqueue_many`' => sub { enqueues($enqueue
			. q{SELECT hipq.enqueue_many('work', '{"{}","{}"}', queue => 'app.pool');}) == 3 },
	'a transaction with them that rolls back' =>
		sub { enqueues("BEGIN;\n$insert\n$enqueue\nROLLBACK;") == 0
		&& enqueues("BEGIN;\n$insert\nCOMMIT;") == 1 },
	'`wait_for`' => sub { say_in(q{SELECT hipq.enqueue('work', '{"n": 1}', 'app.pool') AS id \gset}
			. "\nSELECT outcome, result FROM hipq.wait_for(:id);") eq 'succeeded|{"n": 1}' },
	'`why`, `cancel` and the like, views' => sub {
		say_in(q{SELECT hipq.enqueue('work', '{}', 'app.pool',
			scheduled_run_time => 'tomorrow') AS id \gset}
		  . "\nSELECT condition FROM hipq.why(:id) WHERE NOT "
		  	. "passed;\nSELECT hipq.cancel(:id);\nSELECT outcome FROM hipq.jobs WHERE id = :id;")
		  	=~ /^scheduled.*cancelled$/s;
	},
	'`run_until_idle`, in a test\'s transaction' => sub { say_in("BEGIN;\nSELECT count(*) >= 0
			FROM (SELECT hipq.enqueue('work', '{}', 'app.pool')) AS one;\nSELECT
			hipq.run_until_idle('app.pool') >= 1;\nROLLBACK;") eq "t\nt" },
	'`SET LOCAL hipq.traceparent`' => sub {
		say_in("BEGIN;\nSET LOCAL hipq.traceparent = '$traceparent';\n"
		  . q{SELECT hipq.enqueue('work', '{}', 'app.pool') AS id \gset} . "\nCOMMIT;\nSELECT "
		  	. "traceparent FROM hipq.jobs_detail WHERE id = :id;") eq $traceparent
		  	&& !sees_traceparent();
	},
	'`SET hipq.traceparent`' => sub { say_in("SET hipq.traceparent = '$traceparent';");
		my $leaks = sees_traceparent(); say_in('RESET hipq.traceparent;'); return !$leaks; },
	'`options=-c hipq.traceparent=...`' => sub { say_in('SHOW hipq.traceparent;',
			PGOPTIONS => "-c hipq.traceparent=$traceparent") eq $traceparent },
	'`PREPARE`' => sub { my $said = join '',
		map { say_in(q{PREPARE one AS SELECT hipq.enqueue('work', '{}', 'app.pool');}) } 1 .. 2;
		say_in('DEALLOCATE ALL;'); return $said !~ /already exists/; },
	'`register_worker`, `claim`, `heartbeat`, `complete`' => sub {
		$hipq->outcome(by_hand(q{SELECT hipq.heartbeat(:worker);
				SELECT hipq.complete(:id, :attempt);})) eq 'succeeded';
	},
	'`claim` with `wait`' => sub {
		my $said = say_in(
			"$register\nSELECT clock_timestamp() AS start \\gset\n"
				. "SELECT count(*), clock_timestamp() - :'start' >= '1 s' "
				. "FROM hipq.claim(:worker, wait => '1 s');\n"
				. 'SELECT hipq.deregister_worker(:worker);');
		return $said =~ /^0\|t$/m
			&& $hipq->outcome(by_hand('SELECT hipq.complete(:id, :attempt);')) eq 'succeeded';
	},
	'`report_progress`, `extend`, `fail`, `release`' => sub {
		my $failed = by_hand(q{SELECT hipq.report_progress(:id, :attempt, 1, 2, 'on the way');
			SELECT hipq.extend(:id, :attempt, '5 min');
			SELECT hipq.fail(:id, :attempt, 'no luck');});
		my $released = by_hand(q{SELECT hipq.release(:id, :attempt, '1 h');});
		return $hipq->outcome($failed) eq 'failed' && $hipq->attempts($released) =~ /^1 released/;
	},
	'`register_worker(listen => true)`' => \&bound_worker_ends,
	'`LISTEN`' => \&is_notified,
	'`hipq-run`' => sub { hipq_run() },
	'`hipq-run --poll`' => sub { hipq_run('--poll') },
	'`Worker(...)` of a client library' => sub { python() },
	'`Worker(pooler=True)`' => sub { python(HIPQ_POOLER => 1) });

my %needs = ('`hipq-run`' => defined HipqRun::program(),
	'`hipq-run --poll`' => defined HipqRun::program());
$needs{$_} = system("/usr/bin/python3 -c 'import psycopg' 2>/dev/null") == 0
	foreach '`Worker(...)` of a client library', '`Worker(pooler=True)`';

foreach my $column (1, 2)
{
	$mode = (undef, 'transaction', 'session')[$column];
	($one, $many) = map { HipqPooler->new($hipq, 'app', pool_mode => $mode,
			default_pool_size => $_) } 1, 10;
	foreach my $row (@rows)
	{
	  SKIP: {
			my $try = $tries{ $row->[0] };
			skip "$row->[0]: its program is not there", 1
				if exists $needs{ $row->[0] } && !$needs{ $row->[0] };
			ok(defined $try, "the test knows how to try: $row->[0]") || next unless defined $try;
			is($try->() ? 'yes' : 'no', $row->[$column], "$mode mode: $row->[0]");
		}
	}
}
# Otherwise the functions would hold the poolers until global destruction, which has no order.
undef $_ foreach $one, $many;
is_deeply([ sort map { $_->[0] } @rows ], [ sort keys %tries ],
	'the test tries each row of the table, and no other');
done_testing();
