# hipq-run loses no job, and each answer counts once, if the server crashes, restarts or fails over,
# if the network freezes or is cut, if hipq-run is frozen or killed, and behind a pooler. Programs
# record each start and end in a ledger.
use strict;
use warnings;
use HipqCluster;
use HipqPooler;
use HipqProxy;
use HipqRun;
use HipqWorkerFaults;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'hipq-run was not built: nlohmann-json3-dev or libcurl4-openssl-dev is missing'
	unless defined HipqRun::program();
my $hipq = HipqCluster->new('run_faults', streaming => 1, 'hipq.worker_grace' => '20s');
HipqRun::create_queue($hipq, qw(short long));
my $there = PostgreSQL::Test::Utils::tempdir_short();

# Each start and each end is a line of the ledger. A long job waits for a file named after its id.
my $program = HipqRun::script(<<"END");
echo "start \$HIPQ_JOB_ID \$HIPQ_ATTEMPT \$\$" >> $there/ledger
while [ \$HIPQ_JOB_TYPE = long ] && [ ! -e $there/\$HIPQ_JOB_ID ] && [ ! -e $there/all ]; do
    sleep 0.05
done
echo "end \$HIPQ_JOB_ID \$HIPQ_ATTEMPT" >> $there/ledger
echo "\$HIPQ_ATTEMPT"
END
append_to_file("$there/ledger", '');
my @worker = ('--queue', 'app.run', '--types', 'short,long', '--jobs', 4, '--kill-after',
	1, '--', $program);

sub enqueue
{
	my ($type, $rest) = @_;
	return $hipq->enqueue($type, q{'{}', queue => 'app.run'} . ($rest // ''));
}
sub ledger
{
	my ($line) = @_;
	return scalar grep { /^$line\b/ } split /\n/, slurp_file("$there/ledger");
}
sub let_go { append_to_file("$there/$_[0]", ''); return; }
sub starts_in
{
	my ($run, $id, $attempt) = @_;
	return ok($run->wait_for(sub { ledger("start $id " . ($attempt // 1)) }), "job $id starts");
}
sub succeeds_once
{
	my ($id, $what) = @_;
	is($hipq->outcome($id), 'succeeded', $what);
	return is(ledger("end $id") . $hipq->sql("SELECT result::text FROM hipq.jobs_detail
			WHERE id = $id"), '11', "job $id ran once, and its first attempt counts");
}

# ---- statement_timeout is shorter than the interval in which hipq-run polls. Roles without special
# privileges would fail, too

my $hurried = 'exec hipq-run --name "$HIPQ_NAME" ${HIPQ_POOLER:+--poll} "$@"';
my %faults = (
	hipq => $hipq, folder => $there, environment => {},
	command => [ 'sh', '-c', $hurried, 'hipq-run', @worker ],
);
bless(\%faults, 'HipqWorkerFaults')->under_statement_timeout;

# ---- the server crashes and starts again, and answers wait for it

my $bound = HipqRun->new($hipq, arguments => [ '--name', 'bound', @worker ]);
ok($bound->is_ready, 'the bound worker registers');
my ($during, $after) = map { enqueue('long') } 1 .. 2;
starts_in($bound, $_) foreach $during, $after;
$hipq->node->stop('immediate');
ok($bound->logs('connection lost'), 'the worker loses its connection');
let_go($during);
ok($bound->wait_for(sub { ledger("end $during") }), 'a program ends while the server is down');
ok(!ledger("end $after"), 'another program runs while the server is down');
$hipq->node->start;
succeeds_once($during, 'the answer of a program that ended while the server was down counts');
let_go($after);
succeeds_once($after, 'the answer of a program that ran while the server was down counts');
my $registered = $hipq->wait_until(
	"SELECT count(*) FROM hipq.workers_detail WHERE name = 'bound' AND pid IS NOT NULL", 1);
ok($registered && $bound->logs('registered', qr//, 2),
	'the worker registers again after the crash');
succeeds_once(enqueue('short'), 'a worker that registered again runs new jobs');

# ---- the sessions of hipq-run are terminated

$hipq->sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'});
# A session that is being terminated may get the job, and give it back.
my $next = enqueue('short');
is($hipq->outcome($next), 'succeeded', 'the worker continues after its sessions were terminated');
is(ledger("end $next " . $hipq->result($next)), 1,
	'the attempt that counts ran once after the termination');

# ---- hipq-run is frozen

my $frozen = enqueue('long', q{, timeout => 2});
starts_in($bound, $frozen);
$bound->signal('STOP');
ok($hipq->wait_until("SELECT count(*) FROM hipq.attempts WHERE job_id = $frozen
		AND reason = 'timeout'", 1), 'the job of a frozen worker times out');
let_go($frozen);
ok($bound->wait_for(sub { ledger("end $frozen 1") }), 'the program of a frozen worker ends');
$bound->signal('CONT');
is($hipq->outcome($frozen), 'succeeded', 'a worker that continues gets its job again');
is($hipq->result($frozen), 2, "the second attempt of a frozen worker's job counts");
ok($bound->wait_for(sub { grep { $_->{event} =~ /^(?:answer too late|job over)$/ && $_->{job_id}
		== $frozen } $bound->entries }), 'the late answer of a frozen worker does not count');
is($bound->stop, 0, 'the bound worker stops');

# ---- the network freezes, and is cut

my $proxy = HipqProxy->new($hipq->node);
my $far = HipqRun->new($hipq,
	arguments => [ '-d', $proxy->connstr('postgres'), '--name', 'far', @worker ]);
ok($far->is_ready, 'a worker behind a proxy registers');
my $cut = enqueue('long');
starts_in($far, $cut);
my $port = $proxy->{port};
$proxy->cut;
ok($far->logs('connection lost'), 'the worker notices that the network is cut');
let_go($cut);
ok($far->wait_for(sub { ledger("end $cut") }), 'a program ends while the network is cut');
my $again = HipqProxy->new($hipq->node, $port);
succeeds_once($cut, 'an answer during the cut counts when the network is back');
$again->freeze;
my $stuck = enqueue('short');
$again->thaw;
is($hipq->outcome($stuck), 'succeeded', 'a job succeeds although packets arrive late');
is($far->stop, 0, 'the worker behind a proxy stops');

# ---- without a bound session, a long job survives a lost connection, whatever hipq.worker_grace

$hipq->set('hipq.worker_grace' => '0.1s');
my $poller = HipqRun->new($hipq, arguments => [ '--poll', '--name', 'poller', @worker ]);
ok($poller->is_ready, 'a polling worker registers');
my $long = enqueue('long');
starts_in($poller, $long);
$hipq->node->stop('immediate');
$hipq->node->start;
ok($poller->logs('connection lost'), 'the polling worker loses its connection');
succeeds_once(enqueue('short'), 'the polling worker runs jobs after the crash');
let_go($long);
succeeds_once($long, 'the answer of a job that ran during the crash counts');
is($hipq->sql(q{SELECT count(*) FROM hipq.workers WHERE name = 'poller'}), 1,
	'the polling worker has not registered again after the crash');
is($poller->stop, 0, 'the polling worker stops');

# ---- behind a pooler

SKIP: {
	my $pooler = HipqPooler->new($hipq, 'app') or skip 'there is no pgbouncer', 5;
	my %through = (PGHOST => $ENV{POOLER_HOST}, PGPORT => $ENV{POOLER_PORT});
	my $refused = HipqRun->new($hipq, arguments => \@worker, env => \%through);
	is($refused->exit_code, 1, 'a bound worker refuses a pooler');
	ok($refused->logs('hint', qr/--poll/), 'the error recommends --poll');
	my $pooled = HipqRun->new($hipq, arguments => [ '--poll', @worker ], env => \%through);
	ok($pooled->is_ready, 'with --poll a worker registers through a pooler');
	succeeds_once(enqueue('short'), 'a worker behind a pooler runs jobs');
	is($pooled->stop, 0, 'a worker behind a pooler stops');
}

# ---- the server fails over to a standby

$hipq->set('hipq.worker_grace' => '20s');
$hipq->node->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('run_standby');
$standby->init_from_backup($hipq->node, 'copy', has_streaming => 1);
$standby->start;
my $both = sprintf 'host=%s,%s port=%d,%d dbname=postgres target_session_attrs=read-write',
	map({ $_->host } $hipq->node, $standby), map { $_->port } $hipq->node, $standby;
my $moving = HipqRun->new($hipq, arguments => [ '-d', $both, '--name', 'moving', @worker ]);
ok($moving->is_ready, 'a worker that knows both servers registers');
my $moved = enqueue('long');
starts_in($moving, $moved);
ok($hipq->wait_until("SELECT is_accepted FROM hipq.running_detail WHERE id = $moved"),
	'a job is accepted before the failover');
$hipq->node->wait_for_catchup($standby);
$hipq->node->stop('immediate');
$standby->promote;
my $new = bless { %$hipq, node => $standby }, 'HipqCluster';
ok($moving->logs('registered', qr//, 2), 'the worker registers again after the failover');
ok($new->wait_until("SELECT count(*) FROM hipq.workers WHERE name = 'moving' AND status = 'active'",
		1), 'the new server has the worker');
let_go($moved);
is($new->outcome($moved), 'succeeded', 'a job that ran during the failover succeeds');
is(ledger("end $moved"), 1, 'a job that ran during the failover ran once');
my $fresh = $new->enqueue('short', q{'{}', queue => 'app.run'});
is($new->outcome($fresh), 'succeeded', 'new jobs run after the failover');

# ---- repeated kills and crashes: each committed job ends, and each answer counts once

my @runs = ($moving);
$new->sql(q{SELECT hipq.alter_job_type('app.run', 'short', max_retries => 100)});
$new->sql(q{SELECT hipq.enqueue_many('short', array_agg(jsonb_build_object('n', n)),
	queue => 'app.run') FROM generate_series(1, 300) AS n});
foreach my $round (1 .. 4)
{
	push @runs, HipqRun->new($new, arguments => [ '--name', "round $round", @worker ]);
	ok($runs[-1]->is_ready, "round $round: another worker registers");
	my $done = $new->sql('SELECT count(*) FROM hipq.jobs_detail WHERE state = $$final$$');
	$new->wait_until("SELECT count(*) > $done + 10 FROM hipq.jobs_detail WHERE state = 'final'",
		't', 10);
	if ($round % 2) { $runs[-1]->stop('KILL'); next; }
	$standby->stop('immediate');
	$standby->start;
}
ok($new->wait_until(q{SELECT count(*) FROM hipq.jobs_detail WHERE state <> 'final'}, 0),
	'all jobs end after repeated kills and crashes');
is($new->sql(q{SELECT count(*) FROM hipq.jobs_detail WHERE outcome = 'succeeded'
		AND job_data ? 'n'}), 300, 'all jobs succeed after repeated kills and crashes');
my ($written, %ends) = slurp_file("$there/ledger");
$ends{$1}{$2}++ while $written =~ /^end (\d+) (\d+)$/mg;
my @counted = map { [ split /\|/ ] } split /\n/,
	$new->sql(q{SELECT id, result FROM hipq.jobs_detail WHERE job_data ? 'n'});
is((grep { ($ends{ $_->[0] }{ $_->[1] } // 0) != 1 } @counted), 0,
	'each attempt that counts ran to its end once');
is((grep { my $id = $_; grep { $_ > 1 } values %{ $ends{$id} } } keys %ends), 0,
	'no attempt ran twice');
is($_->stop, 0, 'a worker that was not killed stops') foreach $moving, @runs[ 2, 4 ];
done_testing();
