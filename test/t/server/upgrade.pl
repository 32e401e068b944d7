# A new release replaces the last one under load: first its library, then its extension. Jobs in
# every state continue, and none is lost or runs twice. The log, why() and alerts report versions
# that differ. (server/update_script.pl compares the catalogue.)
use strict;
use warnings;
use File::Copy qw(copy);
use HipqChecker;
use HipqCluster;
use HipqScreen;
use HipqWeb;
use HipqWorkload;
use PostgreSQL::Test::Utils;
use Test::More;

# tools/upgrade-server makes both: a server whose hipq can be replaced, and the files of releases.
my ($server, $releases) = map { "$ENV{HIPQ_ROOT}/build/$_" } qw(upgrade releases);
my ($old) = slurp_file("$ENV{HIPQ_ROOT}/test/upgrade/releases") =~ /^(\S+) .*\n\z/m;
plan skip_all => 'needs the release before, from git: tools/upgrade-server'
	unless -e "$releases/$old/hipq.so";
my ($new) = slurp_file("$ENV{HIPQ_ROOT}/hipq.control") =~ /default_version = '(.*)'/;
my ($major, $minor) = split /[.]/, $new;
my ($next, $after_next) = map { join '.', $major, $minor + $_, 0 } 1, 2;
my ($bin) = glob "$server/lib/postgresql/*/bin";
my ($library, $extensions) = ("$bin/../lib", glob "$server/share/postgresql/*/extension");
$ENV{PATH} = "$bin:$ENV{PATH}";

# Installs a file as a package does: an existing file is not overwritten, because processes have it
# mapped.
sub put
{
	my ($file, $folder) = @_;
	my ($name) = $file =~ m{([^/]+)$};
	copy($file, "$folder/$name.new") and rename "$folder/$name.new", "$folder/$name"
		or die "$file: $!";
	return;
}

sub install
{
	my ($release) = @_;
	unlink glob "$extensions/hipq--*.sql";
	put("$releases/$release/hipq.so", $library);
	put($_, $extensions) foreach "$releases/$release/hipq.control",
		glob "$releases/$release/hipq--*.sql";
	return;
}

sub version_of_extension
{
	return $_[0]->sql(q{SELECT extversion FROM pg_extension WHERE extname = 'hipq'});
}

delete $ENV{HIPQ_TEMPLATE};    # it has the extension of this release
install($old);
copy("$ENV{HIPQ_ROOT}/build/pg/lib/postgresql/15/lib/hipq_marks_test.so",
	"$library/hipq_marks_test.so") or die $!;
chmod 0755, "$library/hipq_marks_test.so";
my $hipq = HipqCluster->new('upgrade', HipqWorkload::settings());
my $node = $hipq->node;
is($hipq->sql('SELECT hipq.version()') . ' ' . version_of_extension($hipq), "$old $old",
	'the last release is installed');

# hipq-web and hipq-top show everything that an extension of the last release has.
sub programs_work
{
	my (@jobs) = @_;
	SKIP:
	{
		skip 'hipq-web was not built', 1 unless defined HipqWeb::program();
		my $web = HipqWeb->new($hipq, arguments => ['--service'], env => { PGUSER => 'postgres' });
		my $browser = $web->browser;
		$browser->get('/api/session');
		my @lists = qw(throughput queues queues/app.main job-types workers executors schedules
			pauses alerts doctor settings dead-letters/groups);
		foreach my $path (@lists, map { "jobs/$_" } @jobs)
		{
			my $answer = $browser->get("/api/$path");
			is($answer->{status}, 200, "hipq-web shows $path with the old extension")
				or diag($answer->{content});
		}
		foreach my $outcome (qw(waiting held running succeeded failed))
		{
			is($browser->post('/api/jobs/search', { outcome => $outcome })->{status}, 200,
				"hipq-web finds $outcome jobs with the old extension");
		}
		like($browser->get('/api/graphs')->{json}{error}{message}, qr/too old for graphs/,
			'hipq-web says that the old extension has no graphs');
		unlike($web->said, qr/could not be read/, 'hipq-web reads live figures');
		$web->stop;
	}
	SKIP:
	{
		skip 'hipq-top was not built, or there is no tmux', 1
			unless defined HipqScreen::tmux() && grep { -x "$_/hipq-top" } split /:/, $ENV{PATH};
		my $top = HipqScreen->new([ 'hipq-top', '--delay', '0.2' ],
			env => { PATH => $ENV{PATH}, PGHOST => $node->host, PGPORT => $node->port,
				PGDATABASE => 'postgres', PGUSER => 'postgres', LC_ALL => 'C.UTF-8' });
		ok($top->shows(qr/^app\.main .*$/m), 'hipq-top lists queues with the old extension');
		$top->press('/')->type('app.main');
		$top->press('Enter');
		ok($top->shows(qr/^doomed .*^nap /ms), 'hipq-top shows a queue with the old extension');
		$top->press('j', '2');
		ok($top->shows(qr/unfinished.* pass +later +waiting/s),
			'hipq-top lists jobs with the old extension');
		$top->press('Enter');
		ok($top->shows(qr/Why it waits/), 'hipq-top shows a job with the old extension');
		$top->press(('Escape') x 3, 'G');
		ok($top->shows(qr/too old for graphs/), 'hipq-top says that the extension has no graphs');
		$top->press('Escape', 'n');
		ok($top->shows(qr/There are no schedules/),
			'hipq-top reads schedules with the old extension');
	}
	return;
}

# ---- jobs in every state, and a load that lasts
my $load = HipqWorkload->new($hipq);
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE FUNCTION nap(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		IF job.attempt = 1 THEN PERFORM pg_sleep(600); END IF; END $$;
	CREATE FUNCTION hold(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		IF job.attempt = 1 AND job.job_data ? 'lock' THEN
			PERFORM pg_advisory_xact_lock_shared(1);
			RAISE 'again in a day';
		END IF; END $$;
	CREATE FUNCTION fail(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
	CREATE FUNCTION pass(job hipq.job) RETURNS void LANGUAGE sql AS '';
	SELECT hipq.register_job_type('app.main', 'nap', handler => 'nap'),
		hipq.register_job_type('app.main', 'hold', handler => 'hold', claim => 'record',
			retry_base => '1 day', retry_max => '1 day', max_retries => 3),
		hipq.register_job_type('app.main', 'pass', handler => 'pass'),
		hipq.register_job_type('app.main', 'doomed', handler => 'fail', max_retries => 0),
			hipq.register_job_type('app.main', 'stubborn', handler => 'fail', max_retries => 9),
		hipq.register_job_type('app.main', 'outside', handler_kind => 'notify'),
			hipq.register_job_type('app.main', 'paused', handler => 'pass');
	SELECT hipq.pause('app.main', 'paused')});
my $waiting = $hipq->enqueue('pass',
	q{scheduled_run_time => now() + interval '1 day', job_key => 'later'});
my $running = $hipq->enqueue('nap');
my $retrying = $hipq->enqueue('stubborn');
my $paused = $hipq->enqueue('paused');
my $outside = $hipq->enqueue('outside');
is($hipq->outcome_of('pass'), 'succeeded', 'a job has succeeded before the upgrade');
my $doomed = $hipq->enqueue('doomed');
is($hipq->outcome($doomed), 'failed', 'a job has failed before the upgrade');
my $worker = $hipq->sql(
	q{SELECT hipq.register_worker('one', '{app.main}', '{outside}', capacity => 2)});
is($hipq->sql("SELECT id FROM hipq.claim($worker, wait => 20)"), $outside,
	'an external worker has a job before the upgrade');
my $unaccepted = $hipq->enqueue('outside');
ok($hipq->wait_until("SELECT state || ' ' || attempt || ' ' || worker_id
		FROM hipq.app_main WHERE id = $unaccepted", "running 1 $worker"),
	'the last release gives the worker another job, which it does not accept');
$hipq->pid_of($running);
ok($hipq->wait_until("SELECT outcome FROM hipq.jobs WHERE id = $retrying", 'waiting'),
	'a job waits for its retry before the upgrade');
$hipq->sql(q{
	CREATE TABLE handled (job_id bigint);
	GRANT ALL ON handled TO app;
	CREATE FUNCTION handle(job hipq.job) RETURNS void LANGUAGE sql AS
		$$ INSERT INTO handled VALUES (job.id) $$});
$hipq->create_queue('app.letters', dead_letter_handler => 'handle');
$hipq->sql(q{SELECT hipq.register_job_type('app.letters', 'dies', handler => 'fail',
	max_retries => 0),
	hipq.register_job_type('app.letters', 'lives', handler => 'pass')});
my @died = $hipq->enqueue('dies');
sub is_handled
{
	my ($when) = @_;
	my $open = join ', ', @died;
	return ok($hipq->wait_until("SELECT count(*) FROM handled WHERE job_id IN ($open)",
		scalar @died), "dead letters are handled $when");
}
is_handled('by the old release');

# ---- jobs of on_duplicate => 'after', which are in a table of their own before the update. The job
# before the first one ends before the update, that before the second one after it.
my $lock = $hipq->hold_lock;
my @holders = map { $hipq->enqueue('hold', qq{'{"lock": 1}', job_key => '$_'}) } qw(zero one two);
$hipq->pid_of($_) foreach @holders;
my @successors = (
	$hipq->enqueue('hold', q{'{"n": 0}', job_key => 'zero', on_duplicate => 'after'}),
	$hipq->enqueue('hold', q{'{"n": [1, "two"]}', job_key => 'one', on_duplicate => 'after',
		priority => 5, timeout => 77, throttle_factor => 0.25, time_windows => '00:00-24:00',
		max_retries => 4, expires_time => '2100-01-01', throttle_key => 'of one', queue_ttl => 99,
		traceparent => '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'}),
	$hipq->enqueue('hold', q{'null', job_key => 'two', on_duplicate => 'after'}));
my %rows = map { $_ => $hipq->sql("SELECT job - 'update_time' FROM hipq.successor
	WHERE job_id = $_") } @successors;
$lock->quit;
my $waiting_holders = 'id IN (' . join(', ', @holders) . ") AND state = 'retry'";
ok($hipq->wait_until("SELECT count(*) FROM hipq.app_main WHERE $waiting_holders", 3),
	'jobs with successors wait for their retries before the upgrade');
my @clients = map { $load->start_client(seed => 42, seconds => 3600) } 1 .. 2;

# Tests that jobs of the load run: 50 more have effects.
sub load_goes_on
{
	my ($name) = @_;
	my $before = $hipq->sql('SELECT count(*) FROM effect');
	return ok($hipq->wait_until("SELECT count(*) > $before + 50 FROM effect"),
		"$name: jobs are inserted and run");
}
load_goes_on('before the upgrade');

# ---- the new package is installed while the server runs the old library
install($new);
load_goes_on('new package, old library');
like($hipq->error_of('ALTER EXTENSION hipq UPDATE'),
	qr/55000: the server still runs the library of hipq \Q$old\E.*Restart the server/s,
	'the extension cannot be updated before the library');
is(version_of_extension($hipq), $old, 'the refused update leaves the version unchanged');

# ---- the new library with the old extension
my $offset = -s $node->logfile;
$node->restart;
is($hipq->sql('SELECT hipq.version()') . ' ' . version_of_extension($hipq), "$new $old",
	'the library is new, the extension is old');
load_goes_on('new library, old extension');
like(slurp_file($node->logfile, $offset),
	qr/library and extension of hipq are of different versions in database "postgres"/,
	'the log reports the different versions');
like($hipq->sql("SELECT explanation FROM hipq.why($waiting) WHERE condition = 'version'"),
	qr/version \Q$old\E, the library \Q$new\E; jobs go on/,
	'why() reports the different versions');
is($hipq->outcome($running), 'succeeded', 'the interrupted job has run again with the new library');
$hipq->sql("SELECT hipq.reschedule($holders[0], now())");
is($hipq->outcome($holders[0]), 'succeeded',
	'a job with a successor succeeds with the old extension');
is($hipq->sql('SELECT count(*) FROM hipq.successor'), 3,
	'successors wait for the update of the extension');
programs_work($waiting, $running, $doomed);
$lock = $hipq->hold_lock;
my $busy = $hipq->enqueue('hold', q{'{"lock": 1}', job_key => 'busy'});
$hipq->pid_of($busy);
my $jobs = $hipq->sql('SELECT count(*) FROM hipq.app_main');
like($hipq->error_of(
		"SELECT hipq.enqueue('hold', job_key => 'busy', on_duplicate => '$_')"),
	qr/55000: .*The extension is version \Q$old\E, the library \Q$new\E: table "hipq.job" has no column "waits_for"/s,
	"$_: a running job gets no successor with the old extension") foreach 'after', 'after_first';
is($hipq->sql('SELECT count(*) FROM hipq.app_main'), $jobs, 'the refused calls made no job');
is($hipq->sql("SELECT hipq.enqueue('hold', job_key => 'busy', on_duplicate => 'return')"), $busy,
	'on_duplicate => return returns the running job with the old extension');
is($hipq->sql("SELECT id || ' ' || action FROM hipq.enqueue_unique('pass', '{}'::jsonb,
		job_key => 'later', scheduled_run_time => now() + interval '1 day',
		on_duplicate => '$_')"),
	"$waiting " . ($_ eq 'merge' ? 'merged' : 'replaced'),
	"$_: a waiting job is changed with the old extension") foreach qw(after replace merge);
foreach my $mode (qw(after replace merge debounce return error))
{
	is($hipq->outcome_of('pass', "job_key => 'free', on_duplicate => '$mode'"), 'succeeded',
		"$mode: a job with a free key runs with the old extension");
}
$hipq->sql("SELECT hipq.cancel($busy)");
$lock->quit;
is($hipq->outcome($busy), 'cancelled', 'a running job is cancelled with the old extension');
push @died, $hipq->enqueue('dies');
is($hipq->outcome($died[-1]), 'failed', 'a job leaves a dead letter with the old extension');
is($hipq->outcome_of('lives'), 'succeeded', 'other jobs of its queue run with the old extension');
is($hipq->sql(q{SELECT count(*) FROM hipq.alerts WHERE alert LIKE '%duty%'}), 0,
	'no alert reports a duty that fails');
$hipq->sql("SELECT hipq.complete($outside, 1)");
is($hipq->outcome($outside), 'succeeded',
	'the external worker completes its job with the old extension');
is($hipq->sql("SELECT concat_ws(' ', id, attempt, retry_count, retry_reason)
		FROM hipq.claim($worker, wait => 20)"), "$unaccepted 2 0 released",
	'the job that the worker had not accepted is offered again, and is not charged');
$hipq->sql("SELECT hipq.complete($unaccepted, 2)");
is($hipq->outcome($unaccepted), 'succeeded',
	'the external worker completes a job that it accepts with the old extension');

# ---- ALTER EXTENSION UPDATE, under load
$hipq->sql('SET client_min_messages = warning; ALTER EXTENSION hipq UPDATE');
is(version_of_extension($hipq), $new, 'the extension is updated');
load_goes_on('new library, new extension');
is_handled('after the update');
is($hipq->outcome($successors[0]), 'succeeded',
	'a successor runs after the update if the job before it has ended');
is($hipq->sql("SELECT to_jsonb(job) - '{update_time, waits_for, batch_id, schedule_time}'::text[]
		FROM hipq.job WHERE id = $_ AND waits_for = 'key'"), $rows{$_},
	'a successor has become a held job, with all its values') foreach @successors[ 1, 2 ];
is($hipq->sql("SELECT job_data FROM hipq.job WHERE id = $successors[0]"), '{"n": 0}',
	'the successor that has run had its data');
like($hipq->why($successors[1]), qr/^waits for: Job $holders[1] has its key/,
	'the held job waits for the job with its key');
is($hipq->sql("SELECT to_regclass('hipq.successor') IS NULL"), 't',
	'the table of successors is gone');
$hipq->sql("SELECT hipq.reschedule($_, now())") foreach @holders[ 1, 2 ];
is($hipq->outcome($_), 'succeeded', 'they and the jobs before them run after the update')
	foreach @holders[ 1, 2 ], @successors[ 1, 2 ];
is($hipq->sql("SELECT job_key FROM hipq.jobs WHERE id = $waiting"), 'later',
	'the waiting job is there after the update');
like($hipq->why($paused), qr/^pause/, 'the paused job waits for resume() after the update');
$hipq->sql(q{SELECT hipq.resume('app.main', 'paused')});
is($hipq->outcome($paused), 'succeeded', 'the paused job runs when it is resumed');
$hipq->sql("SELECT hipq.cancel($retrying); SELECT hipq.reschedule($waiting, now())");
is($hipq->outcome($retrying), 'cancelled', 'a job from before the update can be cancelled');
is($hipq->outcome($waiting), 'succeeded', 'a job from before the update runs');
$hipq->create_queue('app.after');
$hipq->sql(q{SELECT hipq.register_job_type('app.after', 'after', handler => 'pass')});
is($hipq->outcome_of('after'), 'succeeded', 'jobs of a queue made after the update run');
my ($indexes, $expected) = map { $hipq->sql("SELECT string_agg(replace(indexdef, 'app_$_', 'app'),
		E'\n' ORDER BY replace(indexdef, 'app_$_', 'app'))
	FROM pg_indexes WHERE tablename = 'app_${_}_live'") } qw(main after);
is($indexes, $expected, 'a queue made before the update has the indexes of one made after it');

# ---- a downgrade is refused
like($hipq->error_of("ALTER EXTENSION hipq UPDATE TO '$old'"),
	qr/0A000: extension "hipq" cannot go back from version \Q$new\E to version \Q$old\E.*backup/s,
	'a downgrade is refused');
is(version_of_extension($hipq), $new, 'the refused downgrade leaves the version unchanged');

# ---- the extension is one release ahead of the library, as after a package was downgraded; then
# two
append_to_file("$extensions/hipq--$new--$next.sql", qq{SET LOCAL search_path = pg_catalog, pg_temp;
	ALTER TABLE hipq.queue ADD COLUMN of_a_later_release integer NOT NULL DEFAULT 0;
	ALTER TABLE hipq.job_type ADD COLUMN of_a_later_release integer NOT NULL DEFAULT 0;\n});
$offset = -s $node->logfile;
$hipq->sql(qq{SET client_min_messages = warning; ALTER EXTENSION hipq UPDATE TO '$next'});
load_goes_on('old library, new extension');
like(slurp_file($node->logfile, $offset),
	qr/The extension is version \Q$next\E, the library \Q$new\E; jobs go on/,
	'the log reports an extension that is one release ahead');
kill 'TERM', @clients;
waitpid $_, 0 foreach @clients;
ok($load->drain, 'every job of the load ends');
my $history = $load->history;
my %others = map { $_ => 1 } $doomed, @died;    # not of the load
$history->{letters} = [ grep { !$others{$_} } @{ $history->{letters} } ];
is(HipqChecker::describe(HipqChecker::check($history)),
	'', 'no job was lost, no job ended twice, each effect exists exactly once')
	or diag('the files are in ' . $node->data_dir);
cmp_ok(scalar @{ $history->{jobs} }, '>', 300, 'the load had enough jobs');
append_to_file("$extensions/hipq--$next--$after_next.sql",
	"SET LOCAL search_path = pg_catalog, pg_temp;\n");
$hipq->sql(qq{SET client_min_messages = warning; ALTER EXTENSION hipq UPDATE TO '$after_next'});
my $stopped = $hipq->enqueue('pass');
like($hipq->why($stopped),
	qr/^version: The extension is version \Q$after_next\E, the library \Q$new\E: run ALTER EXTENSION/,
	'why() says that jobs wait when the extension is two releases ahead');
$hipq->set('hipq.alert_waiting' => '100ms');
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.alerts WHERE alert = 'jobs wait: version'}, 1),
	'an alert reports jobs that wait for the version');

$node->stop;

done_testing();
