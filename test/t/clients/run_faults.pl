# hipq-run and what happens around it: the server crashes, restarts and fails over, the network freezes and is cut, it is frozen itself,
# a pooler stands between. A ledger that the programs write shows what has run; no job is lost, and each answer counts once.
use strict;
use warnings;
use HipqCluster;
use HipqPooler;
use HipqProxy;
use HipqRun;
use HipqWorkerFaults;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'hipq-run was not built: nlohmann-json3-dev or libcurl4-openssl-dev is missing' unless defined HipqRun::program();
my $hipq = HipqCluster->new('run_faults', streaming => 1, 'hipq.worker_grace' => '20s');
HipqRun::create_queue($hipq, qw(short long));
my $there = PostgreSQL::Test::Utils::tempdir_short();

# Each start and each end is a line of the ledger. A long one waits for a file of its id.
my $program = HipqRun::script(<<"END");
echo "start \$HIPQ_JOB_ID \$HIPQ_ATTEMPT \$\$" >> $there/ledger
while [ \$HIPQ_JOB_TYPE = long ] && [ ! -e $there/\$HIPQ_JOB_ID ] && [ ! -e $there/all ]; do sleep 0.05; done
echo "end \$HIPQ_JOB_ID \$HIPQ_ATTEMPT" >> $there/ledger
echo "\$HIPQ_ATTEMPT"
END
append_to_file("$there/ledger", '');
my @worker = ('--queue', 'app.run', '--types', 'short,long', '--jobs', 4, '--kill-after', 1, '--', $program);

sub enqueue { my ($type, $rest) = @_; return $hipq->enqueue($type, q{'{}', queue => 'app.run'} . ($rest // '')); }
sub ledger { my ($line) = @_; return scalar grep { /^$line\b/ } split /\n/, slurp_file("$there/ledger"); }
sub let_go { append_to_file("$there/$_[0]", ''); return; }
sub starts_in { my ($run, $id, $attempt) = @_; return ok($run->wait_for(sub { ledger("start $id " . ($attempt // 1)) }), "job $id starts"); }
sub succeeds_once
{
	my ($id, $what) = @_;
	is($hipq->outcome($id), 'succeeded', $what);
	return is(ledger("end $id") . $hipq->sql("SELECT result::text FROM hipq.jobs_detail WHERE id = $id"), '11', '... in its first attempt, which ran once');
}

# ---- statements may take less time than it looks for jobs. Others would lose their rights, too.

my $hurried = 'exec hipq-run --name "$HIPQ_NAME" ${HIPQ_POOLER:+--poll} "$@"';
my %faults = (
	hipq => $hipq, folder => $there, environment => {},
	command => [ 'sh', '-c', $hurried, 'hipq-run', @worker ],
);
bless(\%faults, 'HipqWorkerFaults')->under_statement_timeout;

# ---- the server crashes and comes back; answers wait for it

my $bound = HipqRun->new($hipq, arguments => [ '--name', 'bound', @worker ]);
ok($bound->is_ready, 'it registers');
my ($during, $after) = map { enqueue('long') } 1 .. 2;
starts_in($bound, $_) foreach $during, $after;
$hipq->node->stop('immediate');
ok($bound->logs('connection lost'), 'it loses its connection');
let_go($during);
ok($bound->wait_for(sub { ledger("end $during") }), 'a program ends while the server is away');
ok(!ledger("end $after"), '... another one runs on');
$hipq->node->start;
succeeds_once($during, 'what had ended by then is told when the server is back');
let_go($after);
succeeds_once($after, 'what ran on counts, too');
my $registered = $hipq->wait_until("SELECT count(*) FROM hipq.workers_detail WHERE name = 'bound' AND pid IS NOT NULL", 1);
ok($registered && $bound->logs('registered', qr//, 2), 'it is registered again');
succeeds_once(enqueue('short'), '... and works');

# ---- its sessions are ended

$hipq->sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'});
my $next = enqueue('short');    # it may be given to a session that ends, and comes back then
is($hipq->outcome($next), 'succeeded', 'it works on when its sessions were ended');
is(ledger("end $next " . $hipq->result($next)), 1, '... and the attempt that counts ran once');

# ---- it is frozen

my $frozen = enqueue('long', q{, timeout => 2});
starts_in($bound, $frozen);
$bound->signal('STOP');
ok($hipq->wait_until("SELECT count(*) FROM hipq.attempts WHERE job_id = $frozen AND reason = 'timeout'", 1), 'frozen, its job times out');
let_go($frozen);
ok($bound->wait_for(sub { ledger("end $frozen 1") }), 'the program ends');
$bound->signal('CONT');
is($hipq->outcome($frozen), 'succeeded', 'thawed, it gets the job again');
is($hipq->result($frozen), 2, '... whose second attempt counts');
ok($bound->wait_for(sub { grep { $_->{event} =~ /^(?:answer too late|job over)$/ && $_->{job_id} == $frozen } $bound->entries }), 'what it says of the first one does not');
is($bound->stop, 0, 'it stops');

# ---- the network freezes, and is cut

my $proxy = HipqProxy->new($hipq->node);
my $far = HipqRun->new($hipq, arguments => [ '-d', $proxy->connstr('postgres'), '--name', 'far', @worker ]);
ok($far->is_ready, 'one far away registers');
my $cut = enqueue('long');
starts_in($far, $cut);
my $port = $proxy->{port};
$proxy->cut;
ok($far->logs('connection lost'), 'the network is cut');
let_go($cut);
ok($far->wait_for(sub { ledger("end $cut") }), 'its program ends');
my $again = HipqProxy->new($hipq->node, $port);
succeeds_once($cut, 'the answer is given when the network is back');
$again->freeze;
my $stuck = enqueue('short');
$again->thaw;
is($hipq->outcome($stuck), 'succeeded', 'packets that are late do no harm');
is($far->stop, 0, 'it stops');

# ---- unbound: a long job outlives the connection, whatever hipq.worker_grace is

$hipq->set('hipq.worker_grace' => '0.1s');
my $poller = HipqRun->new($hipq, arguments => [ '--poll', '--name', 'poller', @worker ]);
ok($poller->is_ready, 'one that polls registers');
my $long = enqueue('long');
starts_in($poller, $long);
$hipq->node->stop('immediate');
$hipq->node->start;
ok($poller->logs('connection lost'), 'the server crashes');
succeeds_once(enqueue('short'), 'it works on');
let_go($long);
succeeds_once($long, 'a job that ran meanwhile counts');
is($hipq->sql(q{SELECT count(*) FROM hipq.workers WHERE name = 'poller'}), 1, 'it is the same worker');
is($poller->stop, 0, 'it stops');

# ---- behind a pooler

SKIP: {
	my $pooler = HipqPooler->new($hipq, 'app') or skip 'there is no pgbouncer', 5;
	my %through = (PGHOST => $ENV{POOLER_HOST}, PGPORT => $ENV{POOLER_PORT});
	my $refused = HipqRun->new($hipq, arguments => \@worker, env => \%through);
	is($refused->exit_code, 1, 'a bound worker refuses a pooler');
	ok($refused->logs('hint', qr/--poll/), '... and says what to do');
	my $pooled = HipqRun->new($hipq, arguments => [ '--poll', @worker ], env => \%through);
	ok($pooled->is_ready, 'with --poll it registers');
	succeeds_once(enqueue('short'), '... and works');
	is($pooled->stop, 0, '... and stops');
}

# ---- the server fails over to a standby

$hipq->set('hipq.worker_grace' => '20s');
$hipq->node->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('run_standby');
$standby->init_from_backup($hipq->node, 'copy', has_streaming => 1);
$standby->start;
my $both = sprintf 'host=%s,%s port=%d,%d dbname=postgres target_session_attrs=read-write', map({ $_->host } $hipq->node, $standby), map { $_->port } $hipq->node, $standby;
my $moving = HipqRun->new($hipq, arguments => [ '-d', $both, '--name', 'moving', @worker ]);
ok($moving->is_ready, 'one that knows both servers registers');
my $moved = enqueue('long');
starts_in($moving, $moved);
ok($hipq->wait_until("SELECT is_accepted FROM hipq.running_detail WHERE id = $moved"), 'its job is accepted');
$hipq->node->wait_for_catchup($standby);
$hipq->node->stop('immediate');
$standby->promote;
my $new = bless { %$hipq, node => $standby }, 'HipqCluster';
ok($moving->logs('registered', qr//, 2), 'after the failover it registers again');
ok($new->wait_until("SELECT count(*) FROM hipq.workers WHERE name = 'moving' AND status = 'active'", 1), '... with the new server');
let_go($moved);
is($new->outcome($moved), 'succeeded', 'the job that ran meanwhile counts');
is(ledger("end $moved"), 1, '... and ran once');
my $fresh = $new->enqueue('short', q{'{}', queue => 'app.run'});
is($new->outcome($fresh), 'succeeded', 'new jobs are run');

# ---- killed and crashed again and again: each job that was committed ends, each answer counts once

my @runs = ($moving);
$new->sql(q{SELECT hipq.alter_job_type('app.run', 'short', max_retries => 100)});
$new->sql(q{SELECT hipq.enqueue_many('short', array_agg(jsonb_build_object('n', n)), queue => 'app.run') FROM generate_series(1, 300) AS n});
foreach my $round (1 .. 4)
{
	push @runs, HipqRun->new($new, arguments => [ '--name', "round $round", @worker ]);
	ok($runs[-1]->is_ready, "round $round: another one works");
	my $done = $new->sql('SELECT count(*) FROM hipq.jobs_detail WHERE state = $$final$$');
	$new->wait_until("SELECT count(*) > $done + 10 FROM hipq.jobs_detail WHERE state = 'final'", 't', 10);
	if ($round % 2) { $runs[-1]->stop('KILL'); next; }
	$standby->stop('immediate');
	$standby->start;
}
ok($new->wait_until(q{SELECT count(*) FROM hipq.jobs_detail WHERE state <> 'final'}, 0), 'all jobs end');
is($new->sql(q{SELECT count(*) FROM hipq.jobs_detail WHERE outcome = 'succeeded' AND job_data ? 'n'}), 300, 'all have succeeded');
my ($written, %ends) = slurp_file("$there/ledger");
$ends{$1}{$2}++ while $written =~ /^end (\d+) (\d+)$/mg;
my @counted = map { [ split /\|/ ] } split /\n/, $new->sql(q{SELECT id, result FROM hipq.jobs_detail WHERE job_data ? 'n'});
is((grep { ($ends{ $_->[0] }{ $_->[1] } // 0) != 1 } @counted), 0, 'what counts has run to its end, once');
is((grep { my $id = $_; grep { $_ > 1 } values %{ $ends{$id} } } keys %ends), 0, 'no attempt has run twice');
is($_->stop, 0, 'it stops') foreach $moving, @runs[ 2, 4 ];
done_testing();
