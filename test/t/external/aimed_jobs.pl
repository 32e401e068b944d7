# A job enqueued with worker => 'name' goes to that external worker only, for as long as its
# queue_ttl.
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
sub row
{
	my ($id) = @_;
	return "SELECT concat_ws(' ', job.state, job.attempt, worker.name) FROM hipq.app_out AS job LEFT
		JOIN hipq.worker USING (worker_id) WHERE id = $id";
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

# ---- to the worker that is named, whatever other workers there are
my $one = register('one', capacity => 50);
my $two = register('two', capacity => 2);
my @jobs = map { aimed('two') } 1 .. 3;
is_given($_, 'running 1 two', 'a job goes to the worker that it names') foreach @jobs[0, 1];
is($hipq->sql(row($jobs[2])), 'initial 0',
	'a job waits if its worker has no room, though another worker is idle');
like(condition($jobs[2]),
	qr/^It is for external worker "two", which has as many jobs as it takes at a time\. If it is not given the job by \d{4}-/,
	"why() says that the job's worker has no room");
is($hipq->sql("SELECT string_agg(condition, ' ') FROM hipq.why($jobs[2]) WHERE NOT passed"),
	'worker', 'why() has no other unmet condition');
is($hipq->sql("SELECT worker_id FROM hipq.jobs_detail WHERE id = $jobs[2]"), '',
	'no worker has the waiting job');
my $any = $hipq->enqueue('send');
is_given($any, 'running 1 one', 'jobs for any worker pass a waiting job');
$hipq->sql_as('app', "SELECT hipq.complete(id, attempt) FROM hipq.claim($two, 1)");
is_given($jobs[2], 'running 1 two', 'the waiting job is given when its worker has room');
is($hipq->sql(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'lane lost'}), 0,
	'no lane was lost');
$hipq->sql("SELECT hipq.cancel($_)") foreach @jobs[1, 2], $any;
$hipq->sql_as('app', "SELECT hipq.deregister_worker($two)");

# ---- a job waits for its worker for queue_ttl, then the retry policy decides
my $late = aimed('absent');
like(condition($late),
	qr/^It is for external worker "absent", which does not serve job type "send" now\. If it is not given the job by .* the attempt has failed \(queue_timeout\)\.$/,
	'a job for an absent worker waits, and why() says until when');
my $once = aimed('absent', 'once');
my $soon = aimed('absent', 'send', 'queue_ttl => 10');
my $patient = aimed('absent', 'send', 'queue_ttl => 1000');
my $scheduled = aimed('absent', 'send', q{scheduled_run_time => now() + interval '50 s'});
$hipq->set('hipq.clock_offset' => 11);
is_given($soon, 'running 1 one', "after the job's own queue_ttl another worker has it");
is( $hipq->sql(
		qq{SELECT attempts_detail.reason, error::json->>'error', error::json->>'message',
			death.reason, death.queue,
			death.worker, death.count, death.first_time = death.last_time
		FROM hipq.attempts_detail, json_to_recordset(error::json->'deaths') AS death(
			reason text, queue text, worker text, count integer, first_time text, last_time text)
		WHERE job_id = $soon}),
	'queue_timeout|Worker queue TTL expired|Worker did not process execution within configured TTL|'
	  . 'queue_timeout|app.out|absent|1|t',
	'the history has the attempt as one that the worker has not accepted');
is($hipq->sql("SELECT retry_count FROM hipq.app_out WHERE id = $soon"), 1,
	'a job whose worker did not come is charged a retry');
is($hipq->sql(row($late)), 'initial 0', "a job with the type's queue_ttl waits longer");
$hipq->set('hipq.clock_offset' => 101);
is_given($late, 'running 1 one', "after the type's queue_ttl another worker has the job");
ok($hipq->wait_until("SELECT outcome || ' ' || retry_reason || ' ' || attempt
		FROM hipq.jobs_detail WHERE id = $once", 'failed queue_timeout 0'),
	'a job whose worker did not come is final if no retry is left');
is($hipq->sql("SELECT count(*) FROM hipq.dead_letters WHERE job_id = $once"), 1,
	'a job whose worker did not come is a dead letter');
is( $hipq->sql(q{SELECT failed_by_ttl FROM hipq.dead_letter_stats_detail WHERE queue = 'app.out'}),
	2, 'statistics count jobs that failed by TTL');
is($hipq->sql(row($scheduled)), 'initial 0',
	'a scheduled job waits for its worker from its time on');
$hipq->set('hipq.clock_offset' => 151);
is_given($scheduled, 'running 1 one',
	'after queue_ttl from its time another worker has the scheduled job');
my $absent = register('absent');
is_given($patient, 'running 1 absent', 'a worker that registers in time gets its job');
$hipq->set('hipq.clock_offset' => 0);
$hipq->sql("SELECT hipq.cancel($_)") foreach $soon, $late, $scheduled, $patient;
ok($hipq->wait_until('SELECT count(*) FROM hipq.aimed_job', 0),
	'jobs that have started are not kept in aimed_job');

# ---- after a failure of its worker a job is for any worker
my $failing = aimed('absent');
is_given($failing, 'running 1 absent', 'a job goes to the worker that it names before a failure');
$hipq->sql_as('app', "SELECT hipq.fail(id, attempt, 'no') FROM hipq.claim($absent, 1)");
$hipq->sql_as('app', "SELECT hipq.deregister_worker($absent)");
is_given($failing, 'running 2 one', 'after a failure of its worker any worker gets the retry');
$hipq->sql("SELECT hipq.cancel($failing)");
$hipq->sql_as('app', "SELECT hipq.deregister_worker($one)");

# ---- by the worker's number
my $numbered = register('numbered');
my $by_number = aimed($numbered);
is_given($by_number, 'running 1 numbered', 'a job can name its worker by number');
my $behind = aimed($numbered);
like(condition($behind), qr/^It is for external worker "numbered", which has as many jobs/,
	'why() names the worker of a job that gave its number');
$hipq->set('hipq.clock_offset' => 101);
ok( $hipq->wait_until(
		qq{SELECT error::json->'deaths'->0->>'worker' FROM hipq.attempts_detail
		WHERE job_id = $behind}, 'numbered'),
	'the error names the worker of a job that gave its number');
$hipq->set('hipq.clock_offset' => 0);
$hipq->sql("SELECT hipq.cancel($_)") foreach $by_number, $behind;
$hipq->sql_as('app', "SELECT hipq.deregister_worker($numbered)");

# ---- cancelled, expired, paused, rescheduled, held up by a limit
my $cancelled = aimed('nobody');
is($hipq->sql("SELECT hipq.cancel($cancelled)"), 't',
	'a job that waits for its worker can be cancelled');
is($hipq->sql("SELECT outcome, worker_id IS NULL FROM hipq.jobs_detail WHERE id = $cancelled"),
	'cancelled|t', 'a cancelled job that waited for its worker is final');
is($hipq->sql("SELECT worker_id IS NULL FROM hipq.app_out WHERE id = $cancelled"), 't',
	'a cancelled job that waited for its worker has no worker');
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
is_given($paused, 'running 1 third', "after the pause the job's worker has it");
my $later = aimed('third', 'send', q{scheduled_run_time => now() + interval '1 day'});
$hipq->sql("SELECT hipq.reschedule($later, now())");
is_given($later, 'running 1 third',
	'a job for a worker that is rescheduled to now is given at once');
$hipq->sql(q{SELECT hipq.alter_queue('app.out', throttle_limit => 3)});
my @limited = map { aimed('third') } 1, 2;
is_given($limited[0], 'running 1 third', 'a job for a worker is given within a throttle');
is($hipq->sql(row($limited[1])), 'initial 0', 'a job for a worker waits for a full throttle');
$hipq->sql("SELECT hipq.cancel($paused)");
is_given($limited[1], 'running 1 third', 'a job for a worker is given when the throttle has room');
$hipq->sql(q{SELECT hipq.alter_queue('app.out', throttle_limit => 0)});
$hipq->sql("SELECT hipq.cancel($_)") foreach $later, @limited;

# ---- of workers with that name only those that serve the job type count
$hipq->sql_as('app', q{SELECT hipq.register_worker('other', '{app.out}', '{once}')});
my $unserved = aimed('other');
like(condition($unserved), qr/does not serve job type "send" now/,
	'a worker of that name that does not serve the type does not count');
$hipq->sql("SELECT hipq.cancel($unserved)");

# ---- alerts
my $waiting = aimed('nobody', 'send', 'queue_ttl => 100000');
$hipq->set('hipq.clock_offset' => 61);
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'jobs wait: worker'}, 1),
	'an alert tells of a job that waits long for its worker');

# ---- restarts and crashes
$node->stop('immediate');
$node->start;
$hipq->set('hipq.clock_offset' => 0);
is($hipq->sql(row($waiting)), 'initial 0', 'a job for a worker waits after a crash');
my $nobody = register('nobody');
is_given($waiting, 'running 1 nobody', "after a crash the job's worker gets it");
$hipq->sql("SELECT hipq.cancel($waiting)");
$hipq->sql_as('app', "SELECT hipq.deregister_worker($nobody)");
my $kept = aimed('nobody', 'send', 'queue_ttl => 100');
ok($hipq->wait_until('SELECT count(*) FROM hipq.aimed_job', 1),
	'a job waits for its worker before a restart');
$hipq->set('hipq.clock_offset' => 101);
$node->restart;
is_given($kept, 'running 1 third',
	'a job whose queue_ttl ends during a restart goes to another worker');
$hipq->set('hipq.clock_offset' => 0);
$hipq->sql("SELECT hipq.cancel($kept)");

# ---- in transactions
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
	'the job that holds the key keeps its worker');
is($hipq->sql(q{SELECT action FROM hipq.enqueue_unique('send', queue => 'app.out', job_key => 'l',
		worker => 'third')}), 'inserted', 'enqueue_unique() takes a worker');
ok($hipq->wait_until(q{SELECT job.state || ' ' || worker.name FROM hipq.app_out AS job
		JOIN hipq.worker USING (worker_id) WHERE job_key = 'l'}, 'running third'),
	'enqueue_unique() gives the job to that worker');
$hipq->sql("SELECT hipq.cancel($keyed)");

# ---- moved to another queue
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
ok($hipq->wait_until("SELECT state || ' ' || worker_id FROM hipq.app_next WHERE id = $moving",
		"running $mover"), 'its worker has the moved job');

# ---- dumped and restored
my $dumped = aimed('restored');
$node->command_ok([ 'pg_dump', '-Fc', '-f', $node->basedir . '/dump', '-d',
		$node->connstr('postgres') ], 'a dump');
$hipq->sql('CREATE DATABASE copy');
$node->command_ok([ 'pg_restore', '-d', $node->connstr('copy'), $node->basedir . '/dump' ],
	'is restored');
$node->safe_psql('copy', 'SELECT hipq.release_hold()');
$node->safe_psql('copy',
	q{SET SESSION AUTHORIZATION app; SELECT hipq.register_worker('bystander', '{app.out}', '{send}',
	capacity => 10); SELECT hipq.register_worker('restored', '{app.out}', '{send}')});
ok($node->poll_query_until('copy', "SELECT job.state = 'running' AND worker.name = 'restored'
		FROM hipq.app_out AS job JOIN hipq.worker USING (worker_id) WHERE id = $dumped"),
	'a restored job goes to its worker');
$hipq->sql("SELECT hipq.cancel($dumped)");

# ---- a prepared transaction
{
	my $prepared = $hipq->sql(q{BEGIN; SELECT hipq.enqueue('send', queue => 'app.out',
		worker => 'third'); PREPARE TRANSACTION 'aimed'});
	is($hipq->sql("SELECT count(*) FROM hipq.app_out WHERE id = $prepared"), 0,
		'a job of a prepared transaction is not there yet');
	$hipq->sql(q{COMMIT PREPARED 'aimed'});
	is_given($prepared, 'running 1 third', "after COMMIT PREPARED the job's worker has it");
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
	'a type with a handler in the server is refused');
refused(q{'unknown', queue => 'app.out'},
	qr/ERROR:  a job for one worker needs a job type that is registered: "unknown" is not\nHINT:  Use hipq.register_job_type\('app.out', 'unknown', handler_kind => 'notify'\)/,
	'an unregistered type is refused');
refused(q{'send', queue => 'app.out', job_key => 'm', on_duplicate => 'replace'},
	qr/ERROR:  a job for one worker cannot replace or follow another one/,
	'on_duplicate => replace is refused');
like(($hipq->try_sql(q{SELECT hipq.enqueue('send', queue => 'app.out', worker => '')}))[2],
	qr/ERROR:  name must not be empty\nHINT:  A worker's name/, 'an empty name is refused');
is($hipq->sql(q{SELECT count(*) FROM hipq.app_out WHERE job_type IN ('inside', 'unknown')
		OR job_key = 'm'}), 0, 'a refused call enqueues nothing');

# ---- many jobs for absent workers do not hold up others
$hipq->sql(q{SELECT count(hipq.enqueue('send', queue => 'app.out', worker => 'none ' || n % 100))
	FROM generate_series(1, 5000) AS n});
my $start = time;
is_given(aimed('third'), 'running 1 third', 'a job for a present worker is given');
is_given($hipq->enqueue('send', q{queue => 'app.out'}), 'running 1 third',
	'a job for any worker is given');
$hipq->in_time(time - $start, 5, 'both are given soon');

done_testing();
