# A job enqueued with worker => 'name' goes only to this external worker, until its queue_ttl has
# passed.
use strict;
use warnings;
use HipqCluster;
use HipqFaults;
use HipqPoints;
use Test::More;

my $hipq = HipqCluster->new('aimed', 'hipq.heartbeat_timeout' => '1d', 'hipq.worker_grace' => '1s',
	'hipq.retry_jitter' => 0, max_prepared_transactions => 2);
my $node = $hipq->node;
$hipq->create_queue('app.out');
$hipq->sql(q{
	CREATE FUNCTION fine(data jsonb) RETURNS void LANGUAGE sql AS 'SELECT';
	SELECT hipq.register_job_type('app.out', 'send', handler_kind => 'notify', queue_ttl => 100,
		default_timeout => 600, max_retries => 1, retry_base => '0 s');
	SELECT hipq.register_job_type('app.out', 'once', handler_kind => 'notify', queue_ttl => 100,
		default_timeout => 600, max_retries => 0);
	SELECT hipq.register_job_type('app.out', 'inside', handler => 'fine')});

sub register
{
	my ($name, %more) = @_;
	return $hipq->sql_as('app', "SELECT hipq.register_worker('$name', '{app.out}', '{send, once}'"
		. join('', map { ", $_ => $more{$_}" } sort keys %more) . ')');
}
# A job that a worker has is "offered" or "accepted". Its row does not show an offer.
sub row
{
	my ($id) = @_;
	return "SELECT coalesce((SELECT concat_ws(' ',
			CASE WHEN is_accepted THEN 'accepted' ELSE 'offered' END, attempt, worker)
			FROM hipq.running_detail WHERE id = $id),
		(SELECT concat_ws(' ', job.state, job.attempt, worker.name)
			FROM hipq.app_out AS job LEFT JOIN hipq.worker USING (worker_id) WHERE id = $id))";
}
sub aimed
{
	my ($name, $type, @more) = @_;
	return $hipq->enqueue($type // 'send',
		join(', ', "queue => 'app.out'", "worker => '$name'", @more));
}
sub is_given
{
	my ($id, $expected, $what) = @_;
	ok($hipq->wait_until(row($id), $expected), $what)
		or diag($hipq->sql("SELECT * FROM hipq.why($id)"));
	return;
}
sub condition
{
	my ($id) = @_;
	return $hipq->sql("SELECT explanation FROM hipq.why($id) WHERE condition = 'worker'");
}
sub aims { return $hipq->sql('SELECT count(*) FROM hipq.aimed_job'); }

# ---- a job goes to the worker that it names, whatever other workers there are
my $one = register('one', capacity => 50);
my $two = register('two', capacity => 2);
my @jobs = map { aimed('two') } 1 .. 3;
is_given($_, 'offered 1 two', 'a job goes to the worker that it names') foreach @jobs[0, 1];
is($hipq->sql(row($jobs[2])), 'initial 0',
	'a job waits if its worker has no room, though another worker is idle');
like(condition($jobs[2]),
	qr/^It is for external worker "two", which has as many jobs as it takes at a time\. If it is not given the job by \d{4}-/,
	"why() says that the job's worker has no room");
is($hipq->sql("SELECT string_agg(condition, ' ') FROM hipq.why($jobs[2]) WHERE NOT passed"),
	'worker', 'why() has no other unmet condition');
is($hipq->sql("SELECT worker_id FROM hipq.jobs_detail WHERE id = $jobs[2]"), '',
	'a job that waits for its worker has no worker_id');
my $any = $hipq->enqueue('send');
is_given($any, 'offered 1 one', 'jobs for any worker overtake a job that waits for its worker');
$hipq->sql_as('app', "SELECT hipq.complete(id, attempt) FROM hipq.claim($two, 1)");
is_given($jobs[2], 'offered 1 two',
	'a job that waits for its worker is given when the worker has room');
is($hipq->sql(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'lane lost'}), 0,
	'the scheduler has lost no lane');
$hipq->sql("SELECT hipq.cancel($_)") foreach @jobs[1, 2], $any;
$hipq->sql_as('app', "SELECT hipq.deregister_worker($two)");

# ---- a job waits queue_ttl for its worker, and then the retry policy decides
my $late = aimed('absent');
like(condition($late),
	qr/^It is for external worker "absent", which does not serve job type "send" now\. If it is not given the job by .* the attempt has failed \(queue_timeout\)\.$/,
	"why() says that a job's worker is absent, and how long the job waits");
my $once = aimed('absent', 'once');
my $soon = aimed('absent', 'send', 'queue_ttl => 10');
my $patient = aimed('absent', 'send', 'queue_ttl => 1000');
my $scheduled = aimed('absent', 'send', q{scheduled_run_time => now() + interval '50 s'});
$hipq->set('hipq.clock_offset' => 11);
is_given($soon, 'offered 1 one', 'after the queue_ttl of the job another worker gets it');
is( $hipq->sql(
		qq{SELECT attempts_detail.reason, error::json->>'error', error::json->>'message',
			death.reason, death.queue,
			death.worker, death.count, death.first_time = death.last_time
		FROM hipq.attempts_detail, json_to_recordset(error::json->'deaths') AS death(
			reason text, queue text, worker text, count integer, first_time text, last_time text)
		WHERE job_id = $soon}),
	'queue_timeout|Worker queue TTL expired|Worker did not process execution within configured TTL|'
	  . 'queue_timeout|app.out|absent|1|t',
	'the history shows the attempt that no worker accepted');
is($hipq->sql("SELECT retry_count FROM hipq.app_out WHERE id = $soon"), 1,
	'a job whose worker did not come in time is charged a retry');
is($hipq->sql(row($late)), 'initial 0', 'a job with the queue_ttl of its type waits longer');
$hipq->set('hipq.clock_offset' => 101);
is_given($late, 'offered 1 one', 'after the queue_ttl of its type another worker gets the job');
ok($hipq->wait_until("SELECT outcome || ' ' || retry_reason || ' ' || attempt
		FROM hipq.jobs_detail WHERE id = $once", 'failed queue_timeout 0'),
	'a job whose worker did not come in time is final if no retry is left');
is($hipq->sql("SELECT count(*) FROM hipq.dead_letters WHERE job_id = $once"), 1,
	'a job whose worker did not come in time has a dead letter');
is( $hipq->sql(q{SELECT failed_by_ttl FROM hipq.dead_letter_stats_detail WHERE queue = 'app.out'}),
	2, 'statistics count jobs that failed by TTL');
is($hipq->sql(row($scheduled)), 'initial 0',
	'the queue_ttl of a scheduled job begins when it is due');
$hipq->set('hipq.clock_offset' => 151);
is_given($scheduled, 'offered 1 one',
	'a scheduled job goes to another worker queue_ttl after it was due');
my $absent = register('absent');
is_given($patient, 'offered 1 absent', 'a worker that registers within queue_ttl gets its job');
is(aims(), 1, 'a job that its worker is offered is still for this worker alone');
is($hipq->sql_as('app', "SELECT id || ' ' || attempt FROM hipq.claim($absent, 1)"), "$patient 1",
	'a worker that registers within queue_ttl accepts its job');
ok($hipq->wait_until('SELECT count(*) FROM hipq.aimed_job', 0),
	'rows in aimed_job are deleted when their jobs start');
$hipq->set('hipq.clock_offset' => 0);
$hipq->sql("SELECT hipq.cancel($_)") foreach $soon, $late, $scheduled, $patient;

# ---- after its first attempt a job is for any worker
my $failing = aimed('absent');
is_given($failing, 'offered 1 absent', 'a job goes to the worker that it names before a failure');
$hipq->sql_as('app', "SELECT hipq.fail(id, attempt, 'no') FROM hipq.claim($absent, 1)");
$hipq->sql_as('app', "SELECT hipq.deregister_worker($absent)");
is_given($failing, 'offered 2 one', 'any worker gets the retry of a job that its worker failed');
$hipq->sql("SELECT hipq.cancel($failing)");

# ---- a job stays for its worker when the worker goes before it has accepted the job
my $leaver = register('leaver');
my $left = aimed('leaver');
is_given($left, 'offered 1 leaver', 'a job goes to a worker that leaves later');
$hipq->sql_as('app', "SELECT hipq.deregister_worker($leaver)");
is_given($left, 'initial 0', 'a job waits when its worker has left without accepting it');
like(condition($left),
	qr/^It is for external worker "leaver", which does not serve job type "send" now\./,
	'why() says that the worker of a job that it had not accepted is absent');
is($hipq->attempts($left), '', 'the offer to a worker that has left was no attempt');
$leaver = register('leaver');
is_given($left, 'offered 1 leaver', 'a job goes again to its worker, which has come back');
$hipq->sql_as('app', "SELECT hipq.deregister_worker($leaver)");
$hipq->set('hipq.clock_offset' => 101);
is_given($left, 'offered 1 one',
	'after queue_ttl another worker gets the job of one that has left');
is($hipq->attempts($left), '0 queue_timeout', 'a worker that has left has not come in time');
$hipq->sql("SELECT hipq.cancel($left)");
$hipq->set('hipq.clock_offset' => 0);
$hipq->sql_as('app', "SELECT hipq.deregister_worker($one)");

# ---- a job can name its worker by worker_id
my $numbered = register('numbered');
my $by_number = aimed($numbered);
is_given($by_number, 'offered 1 numbered', 'a job can name its worker by worker_id');
my $behind = aimed($numbered);
like(condition($behind), qr/^It is for external worker "numbered", which has as many jobs/,
	'why() names the worker of a job that gave its worker_id');
$hipq->set('hipq.clock_offset' => 101);
ok( $hipq->wait_until(
		qq{SELECT error::json->'deaths'->0->>'worker' FROM hipq.attempts_detail
		WHERE job_id = $behind}, 'numbered'),
	'the error names the worker of a job that gave its worker_id');
$hipq->set('hipq.clock_offset' => 0);
$hipq->sql("SELECT hipq.cancel($_)") foreach $by_number, $behind;
$hipq->sql_as('app', "SELECT hipq.deregister_worker($numbered)");

# ---- a job that waits for its worker is cancelled, expires, is paused, rescheduled, or throttled
my $cancelled = aimed('nobody');
is($hipq->sql("SELECT hipq.cancel($cancelled)"), 't',
	'a job that waits for its worker can be cancelled');
is($hipq->sql("SELECT outcome, worker_id IS NULL FROM hipq.jobs_detail WHERE id = $cancelled"),
	'cancelled|t', 'a cancelled job that waited for its worker is final');
is($hipq->sql("SELECT worker_id IS NULL FROM hipq.app_out WHERE id = $cancelled"), 't',
	'a cancelled job that waited for its worker has no worker_id');
my $expiring = aimed('nobody', 'send', q{expires_time => now() + interval '5 s'});
$hipq->set('hipq.clock_offset' => 6);
ok($hipq->wait_until("SELECT outcome FROM hipq.jobs WHERE id = $expiring", 'expired'),
	'a job that waits for its worker expires');
$hipq->set('hipq.clock_offset' => 0);
my $third = register('third', capacity => 10);
$hipq->sql(q{SELECT hipq.pause('app.out', 'send')});
my $paused = aimed('third');
$hipq->set('hipq.clock_offset' => 20);
is($hipq->sql(row($paused)), 'initial 0', 'a job for a worker waits while its type is paused');
$hipq->set('hipq.clock_offset' => 0);
$hipq->sql(q{SELECT hipq.resume('app.out', 'send')});
is_given($paused, 'offered 1 third', 'a job goes to its worker when its type is resumed');
my $later = aimed('third', 'send', q{scheduled_run_time => now() + interval '1 day'});
$hipq->sql("SELECT hipq.reschedule($later, now())");
is_given($later, 'offered 1 third',
	'a job for a worker that is rescheduled to now goes to the worker');
is($hipq->sql_as('app', "SELECT count(*) FROM hipq.claim($third, 2)"), 2,
	'the worker accepts two of its jobs');
$hipq->sql(q{SELECT hipq.alter_queue('app.out', throttle_limit => 3)});
my @limited = map { aimed('third') } 1, 2;
is_given($limited[0], 'offered 1 third', 'a job for a worker is given within the throttle');
is($hipq->sql(row($limited[1])), 'initial 0',
	'a job for a worker waits while the throttle is full');
$hipq->sql("SELECT hipq.cancel($paused)");
is_given($limited[1], 'offered 1 third', 'a job for a worker is given when the throttle has room');
$hipq->sql(q{SELECT hipq.alter_queue('app.out', throttle_limit => 0)});
$hipq->sql("SELECT hipq.cancel($_)") foreach $later, @limited;

# ---- a worker that does not serve the job type does not count, whatever its name
$hipq->sql_as('app', q{SELECT hipq.register_worker('other', '{app.out}', '{once}')});
my $unserved = aimed('other');
like(condition($unserved), qr/does not serve job type "send" now/,
	'a worker that does not serve the type of the job does not get it');
$hipq->sql("SELECT hipq.cancel($unserved)");

# ---- alerts
my $waiting = aimed('nobody', 'send', 'queue_ttl => 100000');
$hipq->set('hipq.clock_offset' => 61);
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'jobs wait: worker'}, 1),
	'an alert reports a job that waits long for its worker');

# ---- restarts and crashes
$node->stop('immediate');
$node->start;
$hipq->set('hipq.clock_offset' => 0);
is($hipq->sql(row($waiting)), 'initial 0', 'a job for a worker waits after a crash');
my $nobody = register('nobody');
is_given($waiting, 'offered 1 nobody', 'a job goes to its worker after a crash');
$hipq->sql("SELECT hipq.cancel($waiting)");
$hipq->sql_as('app', "SELECT hipq.deregister_worker($nobody)");
my $kept = aimed('nobody', 'send', 'queue_ttl => 100');
ok($hipq->wait_until('SELECT count(*) FROM hipq.aimed_job', 1),
	'a job waits for its worker before a restart');
$hipq->set('hipq.clock_offset' => 101);
$node->restart;
is_given($kept, 'offered 1 third',
	'a job whose queue_ttl ends during a restart goes to another worker');
$hipq->set('hipq.clock_offset' => 0);
$hipq->sql("SELECT hipq.cancel($kept)");

# ---- transactions that are rolled back
my $gone = $hipq->sql(q{BEGIN; SELECT hipq.enqueue('send', queue => 'app.out', worker => 'third');
	ROLLBACK});
is($hipq->sql('SELECT count(*) FROM hipq.aimed_job WHERE job_id = ' . $gone), 0,
	'a rolled back transaction leaves no aimed job');
is($hipq->sql("SELECT count(*) FROM hipq.app_out WHERE id = $gone"), 0,
	'a rolled back transaction leaves no job');

# ---- keys
my $keyed = aimed('absent', 'send', q{job_key => 'k'});
is($hipq->sql(q{SELECT hipq.enqueue('send',
		queue => 'app.out', job_key => 'k', worker => 'third', on_duplicate => 'return')}), $keyed,
	'on_duplicate => return gives the job that holds the key');
is($hipq->sql("SELECT worker FROM hipq.aimed_job WHERE job_id = $keyed"), 'absent',
	'on_duplicate => return does not change the worker of the job that holds the key');
is($hipq->sql(q{SELECT action FROM hipq.enqueue_unique('send', queue => 'app.out', job_key => 'l',
		worker => 'third')}), 'inserted', 'enqueue_unique() has a parameter for the worker');
ok($hipq->wait_until(q{SELECT is_accepted, attempt, worker FROM hipq.running_detail
		WHERE job_key = 'l'}, 'f|1|third'),
	'a job of enqueue_unique() goes to its worker');
$hipq->sql("SELECT hipq.cancel($keyed)");

# ---- jobs that move to another queue
$hipq->create_queue('app.next');
$hipq->sql(q{SELECT hipq.register_job_type('app.next', 'send', handler_kind => 'notify',
	queue_ttl => 100)});
my $moving = aimed('mover');
$hipq->sql(q{SELECT hipq.move_jobs('app.out', 'app.next', 'send')});
is($hipq->sql("SELECT queue_id, worker FROM hipq.aimed_job WHERE job_id = $moving"),
	$hipq->sql(q{SELECT queue_id FROM hipq.queue WHERE name = 'next'}) . '|mover',
	'a job that moves to another queue keeps its worker');
$hipq->sql_as('app', q{SELECT hipq.register_worker('any', '{app.next}', '{send}')});
my $mover = $hipq->sql_as('app', q{SELECT hipq.register_worker('mover', '{app.next}', '{send}')});
ok($hipq->wait_until("SELECT is_accepted, attempt, worker_id FROM hipq.running_detail
		WHERE id = $moving", "f|1|$mover"), 'a moved job goes to its worker');

# ---- a restored dump
my $dumped = aimed('restored');
$node->command_ok([ 'pg_dump', '-Fc', '-f', $node->basedir . '/dump', '-d',
		$node->connstr('postgres') ], 'a dump');
$hipq->sql('CREATE DATABASE copy');
$node->command_ok([ 'pg_restore', '-d', $node->connstr('copy'), $node->basedir . '/dump' ],
	'pg_restore restores a dump with an aimed job');
$node->safe_psql('copy', 'SELECT hipq.release_hold()');
$node->safe_psql('copy',
	q{SET SESSION AUTHORIZATION app; SELECT hipq.register_worker('bystander', '{app.out}', '{send}',
	capacity => 10); SELECT hipq.register_worker('restored', '{app.out}', '{send}')});
ok($node->poll_query_until('copy', "SELECT NOT is_accepted AND worker = 'restored'
		FROM hipq.running_detail WHERE id = $dumped"),
	'a restored aimed job goes to its worker');
$hipq->sql("SELECT hipq.cancel($dumped)");

# ---- a prepared transaction
{
	my $prepared = $hipq->sql(q{BEGIN; SELECT hipq.enqueue('send', queue => 'app.out',
		worker => 'third'); PREPARE TRANSACTION 'aimed'});
	is($hipq->sql("SELECT count(*) FROM hipq.app_out WHERE id = $prepared"), 0,
		'a job of a prepared transaction is invisible');
	$hipq->sql(q{COMMIT PREPARED 'aimed'});
	is_given($prepared, 'offered 1 third',
		'a job of a prepared transaction goes to its worker after COMMIT PREPARED');
	$hipq->sql("SELECT hipq.cancel($prepared)");
}

# ---- refused calls
sub refused
{
	my ($more, $error, $what) = @_;
	like(($hipq->try_sql("SELECT hipq.enqueue($more, worker => 'third')"))[2], $error, $what);
	return;
}
refused(q{'inside', queue => 'app.out'},
	qr/ERROR:  jobs of type "inside" are not for external workers\nDETAIL:  Their handler runs in the server/,
	'a worker cannot be given for a type with a handler in the server');
refused(q{'unknown', queue => 'app.out'},
	qr/ERROR:  a job for one worker needs a job type that is registered: "unknown" is not\nHINT:  Use hipq.register_job_type\('app.out', 'unknown', handler_kind => 'notify'\)/,
	'a worker cannot be given for an unregistered type');
refused(q{'send', queue => 'app.out', job_key => 'm', on_duplicate => 'replace'},
	qr/ERROR:  a job for one worker cannot replace or follow another one/,
	'a worker cannot be given with on_duplicate => replace');
like(($hipq->try_sql(q{SELECT hipq.enqueue('send', queue => 'app.out', worker => '')}))[2],
	qr/ERROR:  name must not be empty\nHINT:  A worker's name/,
	'an empty name of a worker is refused');
is($hipq->sql(q{SELECT count(*) FROM hipq.app_out WHERE job_type IN ('inside', 'unknown')
		OR job_key = 'm'}), 0, 'a refused call enqueues no job');

# ---- many jobs for absent workers do not delay others
$hipq->sql(q{SELECT count(hipq.enqueue('send', queue => 'app.out', worker => 'none ' || n % 100))
	FROM generate_series(1, 5000) AS n});
my $start = time;
is_given(aimed('third'), 'offered 1 third',
	'a job for a present worker is given beside 5,000 for absent ones');
is_given($hipq->enqueue('send', q{queue => 'app.out'}), 'offered 1 third',
	'a job for any worker is given beside 5,000 for absent ones');
$hipq->in_time(time - $start, 5, 'jobs are given within 5 s beside 5,000 for absent workers');

done_testing();
