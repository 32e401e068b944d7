# Jobs for one external worker: enqueue(..., worker => 'name').
use strict;
use warnings;
use HipqCluster;
use HipqFaults;
use HipqPoints;
use Test::More;

my $hipq = HipqCluster->new('aimed', 'hipq.heartbeat_timeout' => '1d', 'hipq.worker_grace' => '1s', 'hipq.retry_jitter' => 0, max_prepared_transactions => 2);
my $node = $hipq->node;
$hipq->create_queue('app.out');
$hipq->sql(q{
	CREATE FUNCTION fine(data jsonb) RETURNS void LANGUAGE sql AS 'SELECT';
	SELECT hipq.register_job_type('app.out', 'send', handler_kind => 'notify', queue_ttl => 100, default_timeout => 600, max_retries => 1, retry_base => '0 s');
	SELECT hipq.register_job_type('app.out', 'once', handler_kind => 'notify', queue_ttl => 100, default_timeout => 600, max_retries => 0);
	SELECT hipq.register_job_type('app.out', 'inside', handler => 'fine')});

sub register { my ($name, %more) = @_; return $hipq->sql_as('app', "SELECT hipq.register_worker('$name', '{app.out}', '{send, once}'" . join('', map { ", $_ => $more{$_}" } sort keys %more) . ')'); }
sub row { my ($id) = @_; return "SELECT concat_ws(' ', job.state, job.attempt, worker.name) FROM hipq.app_out AS job LEFT JOIN hipq.worker USING (worker_id) WHERE id = $id"; }
sub aimed { my ($name, $type, @more) = @_; return $hipq->enqueue($type // 'send', join(', ', "queue => 'app.out'", "worker => '$name'", @more)); }
sub is_given { my ($id, $expected, $what) = @_; ok($hipq->wait_until(row($id), $expected), $what) or diag($hipq->sql("SELECT * FROM hipq.why($id)")); return; }
sub condition { my ($id) = @_; return $hipq->sql("SELECT explanation FROM hipq.why($id) WHERE condition = 'worker'"); }
sub aims { return $hipq->sql('SELECT count(*) FROM hipq.aimed_job'); }

# ---- to the one that is named, whoever else is there
my $one = register('one', capacity => 50);
my $two = register('two', capacity => 2);
my @jobs = map { aimed('two') } 1 .. 3;
is_given($_, 'running 1 two', 'a job is its worker\'s') foreach @jobs[0, 1];
is($hipq->sql(row($jobs[2])), 'initial 0', 'what it has no room for waits, though another worker is idle');
like(condition($jobs[2]), qr/^It is for external worker "two", which has as many jobs as it takes at a time\. If it is not given the job by \d{4}-/, 'and says so');
is($hipq->sql("SELECT string_agg(condition, ' ') FROM hipq.why($jobs[2]) WHERE NOT passed"), 'worker', 'that keeps it, and nothing else');
is($hipq->sql("SELECT worker_id FROM hipq.jobs_detail WHERE id = $jobs[2]"), '', 'no worker has it');
my $any = $hipq->enqueue('send');
is_given($any, 'running 1 one', 'jobs for any worker pass it by');
$hipq->sql_as('app', "SELECT hipq.complete(id, attempt) FROM hipq.claim($two, 1)");
is_given($jobs[2], 'running 1 two', 'when it has room it gets the next');
is($hipq->sql(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'lane lost'}), 0, 'nothing was found that nobody looked for');
$hipq->sql("SELECT hipq.cancel($_)") foreach @jobs[1, 2], $any;
$hipq->sql_as('app', "SELECT hipq.deregister_worker($two)");

# ---- its time is queue_ttl; then the policy decides
my $late = aimed('absent');
like(condition($late), qr/^It is for external worker "absent", which does not serve job type "send" now\. If it is not given the job by .* the attempt has failed \(queue_timeout\)\.$/, 'one for a worker that is not there waits');
my $once = aimed('absent', 'once');
my $soon = aimed('absent', 'send', 'queue_ttl => 10');
my $patient = aimed('absent', 'send', 'queue_ttl => 1000');
my $scheduled = aimed('absent', 'send', q{scheduled_run_time => now() + interval '50 s'});
$hipq->set('hipq.clock_offset' => 11);
is_given($soon, 'running 1 one', 'its own queue_ttl is over: another worker has it');
is( $hipq->sql(
		qq{SELECT attempts_detail.reason, error::json->>'error', error::json->>'message', death.reason, death.queue,
			death.worker, death.count, death.first_time = death.last_time
		FROM hipq.attempts_detail, json_to_recordset(error::json->'deaths') AS death(
			reason text, queue text, worker text, count integer, first_time text, last_time text)
		WHERE job_id = $soon}),
	'queue_timeout|Worker queue TTL expired|Worker did not process execution within configured TTL|'
	  . 'queue_timeout|app.out|absent|1|t',
	'history tells, as of a job that its worker has not accepted');
is($hipq->sql("SELECT retry_count FROM hipq.app_out WHERE id = $soon"), 1, 'as a retry');
is($hipq->sql(row($late)), 'initial 0', 'the others wait');
$hipq->set('hipq.clock_offset' => 101);
is_given($late, 'running 1 one', 'queue_ttl of the type');
ok($hipq->wait_until("SELECT outcome || ' ' || retry_reason || ' ' || attempt FROM hipq.jobs_detail WHERE id = $once", 'failed queue_timeout 0'), 'without a retry left it is final');
is($hipq->sql("SELECT count(*) FROM hipq.dead_letters WHERE job_id = $once"), 1, 'a dead letter');
is( $hipq->sql(q{SELECT failed_by_ttl FROM hipq.dead_letter_stats_detail WHERE queue = 'app.out'}),
	2, 'which counts as failed by TTL, as does the one that no other worker has accepted');
is($hipq->sql(row($scheduled)), 'initial 0', 'the time counts from when the job is due');
$hipq->set('hipq.clock_offset' => 151);
is_given($scheduled, 'running 1 one', 'and no longer');
my $absent = register('absent');
is_given($patient, 'running 1 absent', 'who comes in time gets its job');
$hipq->set('hipq.clock_offset' => 0);
$hipq->sql("SELECT hipq.cancel($_)") foreach $soon, $late, $scheduled, $patient;
ok($hipq->wait_until('SELECT count(*) FROM hipq.aimed_job', 0), 'what is not aimed any more is forgotten');

# ---- after a failure of its worker it is anybody's
my $failing = aimed('absent');
is_given($failing, 'running 1 absent', 'a job is its worker\'s');
$hipq->sql_as('app', "SELECT hipq.fail(id, attempt, 'no') FROM hipq.claim($absent, 1)");
$hipq->sql_as('app', "SELECT hipq.deregister_worker($absent)");
is_given($failing, 'running 2 one', 'which fails it: the retry is for any worker');
$hipq->sql("SELECT hipq.cancel($failing)");
$hipq->sql_as('app', "SELECT hipq.deregister_worker($one)");

# ---- by its number
my $numbered = register('numbered');
my $by_number = aimed($numbered);
is_given($by_number, 'running 1 numbered', 'a worker is named by its number, too');
my $behind = aimed($numbered);
like(condition($behind), qr/^It is for external worker "numbered", which has as many jobs/,
	'why() has its name');
$hipq->set('hipq.clock_offset' => 101);
ok( $hipq->wait_until(
		qq{SELECT error::json->'deaths'->0->>'worker' FROM hipq.attempts_detail
		WHERE job_id = $behind}, 'numbered'),
	'and so has the error when the time is up');
$hipq->set('hipq.clock_offset' => 0);
$hipq->sql("SELECT hipq.cancel($_)") foreach $by_number, $behind;
$hipq->sql_as('app', "SELECT hipq.deregister_worker($numbered)");

# ---- cancelled, expired, paused, rescheduled, held up by a limit
my $cancelled = aimed('nobody');
is($hipq->sql("SELECT hipq.cancel($cancelled)"), 't', 'one that waits for its worker can be cancelled');
is($hipq->sql("SELECT outcome, worker_id IS NULL FROM hipq.jobs_detail WHERE id = $cancelled"), 'cancelled|t', 'and is final');
is($hipq->sql("SELECT worker_id IS NULL FROM hipq.app_out WHERE id = $cancelled"), 't', 'of no worker');
my $expiring = aimed('nobody', 'send', q{expires_time => now() + interval '5 s'});
$hipq->set('hipq.clock_offset' => 6);
ok($hipq->wait_until("SELECT outcome FROM hipq.jobs WHERE id = $expiring", 'expired'), 'it expires');
$hipq->set('hipq.clock_offset' => 0);
my $third = register('third', capacity => 10);
$hipq->sql(q{SELECT hipq.pause('app.out', 'send')});
my $paused = aimed('third');
$hipq->set('hipq.clock_offset' => 20);
is($hipq->sql(row($paused)), 'initial 0', 'it waits while its type is paused');
$hipq->set('hipq.clock_offset' => 0);
$hipq->sql(q{SELECT hipq.resume('app.out', 'send')});
is_given($paused, 'running 1 third', 'then its worker has it');
my $later = aimed('third', 'send', q{scheduled_run_time => now() + interval '1 day'});
$hipq->sql("SELECT hipq.reschedule($later, now())");
is_given($later, 'running 1 third', 'brought forward it is given at once');
$hipq->sql(q{SELECT hipq.alter_queue('app.out', throttle_limit => 3)});
my @limited = map { aimed('third') } 1, 2;
is_given($limited[0], 'running 1 third', 'limits hold');
is($hipq->sql(row($limited[1])), 'initial 0', 'for these jobs too');
$hipq->sql("SELECT hipq.cancel($paused)");
is_given($limited[1], 'running 1 third', 'room is room');
$hipq->sql(q{SELECT hipq.alter_queue('app.out', throttle_limit => 0)});
$hipq->sql("SELECT hipq.cancel($_)") foreach $later, @limited;

# ---- two roles may have a worker of that name; only those count that serve the type
$hipq->sql_as('app', q{SELECT hipq.register_worker('other', '{app.out}', '{once}')});
my $unserved = aimed('other');
like(condition($unserved), qr/does not serve job type "send" now/, 'a worker of that name that does not serve the type is no help');
$hipq->sql("SELECT hipq.cancel($unserved)");

# ---- alerts
my $waiting = aimed('nobody', 'send', 'queue_ttl => 100000');
$hipq->set('hipq.clock_offset' => 61);
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'jobs wait: worker'}, 1), 'a job that waits for its worker for long has an alert');

# ---- restarts, crashes, a scheduler that is killed
$node->stop('immediate');
$node->start;
$hipq->set('hipq.clock_offset' => 0);
is($hipq->sql(row($waiting)), 'initial 0', 'it waits after a crash');
my $nobody = register('nobody');
is_given($waiting, 'running 1 nobody', 'then its worker comes');
$hipq->sql("SELECT hipq.cancel($waiting)");
$hipq->sql_as('app', "SELECT hipq.deregister_worker($nobody)");
my $kept = aimed('nobody', 'send', 'queue_ttl => 100');
ok($hipq->wait_until('SELECT count(*) FROM hipq.aimed_job', 1), 'another one waits');
$hipq->set('hipq.clock_offset' => 101);
$node->restart;
is_given($kept, 'running 1 third', 'whose time is over when the server comes back');
$hipq->set('hipq.clock_offset' => 0);
$hipq->sql("SELECT hipq.cancel($kept)");

# ---- in transactions
my $gone = $hipq->sql(q{BEGIN; SELECT hipq.enqueue('send', queue => 'app.out', worker => 'third'); ROLLBACK});
is($hipq->sql('SELECT count(*) FROM hipq.aimed_job WHERE job_id = ' . $gone), 0, 'rolled back: there was none');
is($hipq->sql("SELECT count(*) FROM hipq.app_out WHERE id = $gone"), 0, 'no job either');

# ---- keys
my $keyed = aimed('absent', 'send', q{job_key => 'k'});
is($hipq->sql(q{SELECT hipq.enqueue('send', queue => 'app.out', job_key => 'k', worker => 'third', on_duplicate => 'return')}), $keyed, 'the job that holds the key');
is($hipq->sql("SELECT worker FROM hipq.aimed_job WHERE job_id = $keyed"), 'absent', 'stays for whom it was');
is($hipq->sql(q{SELECT action FROM hipq.enqueue_unique('send', queue => 'app.out', job_key => 'l', worker => 'third')}), 'inserted', 'enqueue_unique aims, too');
ok($hipq->wait_until(q{SELECT job.state || ' ' || worker.name FROM hipq.app_out AS job JOIN hipq.worker USING (worker_id) WHERE job_key = 'l'}, 'running third'), 'at that worker');
$hipq->sql("SELECT hipq.cancel($keyed)");

# ---- moved to another queue
$hipq->create_queue('app.next');
$hipq->sql(q{SELECT hipq.register_job_type('app.next', 'send', handler_kind => 'notify', queue_ttl => 100)});
my $moving = aimed('mover');
$hipq->sql(q{SELECT hipq.move_jobs('app.out', 'app.next', 'send')});
is($hipq->sql("SELECT queue_id, worker FROM hipq.aimed_job WHERE job_id = $moving"), $hipq->sql(q{SELECT queue_id FROM hipq.queue WHERE name = 'next'}) . '|mover', 'it is for its worker there, too');
$hipq->sql_as('app', q{SELECT hipq.register_worker('any', '{app.next}', '{send}')});
my $mover = $hipq->sql_as('app', q{SELECT hipq.register_worker('mover', '{app.next}', '{send}')});
ok($hipq->wait_until("SELECT state || ' ' || worker_id FROM hipq.app_next WHERE id = $moving", "running $mover"), 'which has it');

# ---- dumped and restored
my $dumped = aimed('restored');
$node->command_ok([ 'pg_dump', '-Fc', '-f', $node->basedir . '/dump', '-d', $node->connstr('postgres') ], 'a dump');
$hipq->sql('CREATE DATABASE copy');
$node->command_ok([ 'pg_restore', '-d', $node->connstr('copy'), $node->basedir . '/dump' ], 'is restored');
$node->safe_psql('copy', 'SELECT hipq.release_hold()');
$node->safe_psql('copy', q{SET SESSION AUTHORIZATION app; SELECT hipq.register_worker('bystander', '{app.out}', '{send}', capacity => 10); SELECT hipq.register_worker('restored', '{app.out}', '{send}')});
ok($node->poll_query_until('copy', "SELECT job.state = 'running' AND worker.name = 'restored' FROM hipq.app_out AS job JOIN hipq.worker USING (worker_id) WHERE id = $dumped"), 'there it is for its worker');
$hipq->sql("SELECT hipq.cancel($dumped)");

# ---- prepared
{
	my $prepared = $hipq->sql(q{BEGIN; SELECT hipq.enqueue('send', queue => 'app.out', worker => 'third'); PREPARE TRANSACTION 'aimed'});
	is($hipq->sql("SELECT count(*) FROM hipq.app_out WHERE id = $prepared"), 0, 'a prepared one is not there yet');
	$hipq->sql(q{COMMIT PREPARED 'aimed'});
	is_given($prepared, 'running 1 third', 'once it is committed its worker has it');
	$hipq->sql("SELECT hipq.cancel($prepared)");
}

# ---- what is refused
sub refused { my ($more, $error, $what) = @_; like(($hipq->try_sql("SELECT hipq.enqueue($more, worker => 'third')"))[2], $error, $what); return; }
refused(q{'inside', queue => 'app.out'}, qr/ERROR:  jobs of type "inside" are not for external workers\nDETAIL:  Their handler runs in the server/, 'a job type with a handler in the server');
refused(q{'unknown', queue => 'app.out'}, qr/ERROR:  a job for one worker needs a job type that is registered: "unknown" is not\nHINT:  Use hipq.register_job_type\('app.out', 'unknown', handler_kind => 'notify'\)/, 'a type that nobody has registered');
refused(q{'send', queue => 'app.out', job_key => 'm', on_duplicate => 'replace'}, qr/ERROR:  a job for one worker cannot replace or follow another one/, 'on_duplicate replace');
like(($hipq->try_sql(q{SELECT hipq.enqueue('send', queue => 'app.out', worker => '')}))[2], qr/ERROR:  name must not be empty\nHINT:  A worker's name/, 'no name');
is($hipq->sql(q{SELECT count(*) FROM hipq.app_out WHERE job_type IN ('inside', 'unknown') OR job_key = 'm'}), 0, 'nothing was enqueued');

# ---- many of them for workers that do not come hold up nobody
$hipq->sql(q{SELECT count(hipq.enqueue('send', queue => 'app.out', worker => 'none ' || n % 100)) FROM generate_series(1, 5000) AS n});
my $start = time;
is_given(aimed('third'), 'running 1 third', 'one for a worker that is there');
is_given($hipq->enqueue('send', q{queue => 'app.out'}), 'running 1 third', 'one for any worker');
$hipq->in_time(time - $start, 5, 'soon');

done_testing();
