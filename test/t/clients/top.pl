# hipq-top in a terminal (tmux) shows queues, their jobs and each job. It sorts, searches, and makes
# the changes that a role may make. It works for other roles, after restarts, in small terminals and
# in pipes.
use strict;
use warnings;
use HipqCluster;
use HipqScreen;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;

my $program = (grep { -x } map { "$_/hipq-top" } split /:/, $ENV{PATH})[0];
plan skip_all => 'hipq-top was not built: nlohmann-json3-dev or libncurses-dev is missing'
	unless defined $program;
plan skip_all => 'tmux is not installed: tools/setup check installs it'
	unless defined HipqScreen::tmux();

my $hipq = HipqCluster->new('top_screen',
	'hipq.max_executors' => 2, 'hipq.heartbeat_timeout' => '10min', 'hipq.retry_base' => '0s',
	'hipq.executor_idle_timeout' => '1h');
$hipq->create_queue("app.$_") foreach qw(mail other);
$hipq->sql(q{
	CREATE FUNCTION send(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		RAISE NOTICE 'sending to %', data->>'to';
		IF data->>'to' = 'nobody' THEN RAISE EXCEPTION 'there is no %', data->>'to'; END IF;
	END $$;
	SELECT hipq.register_job_type('app.mail', 'send', handler => 'send',
		parameters => '{"token": {"secret": true}}');
	SELECT hipq.register_job_type('app.mail', 'later', handler => 'send');
	SELECT hipq.register_job_type('app.other', 'outside', handler_kind => 'notify');
	CREATE ROLE reader LOGIN; CREATE ROLE watcher LOGIN; GRANT pg_monitor TO watcher;
		CREATE ROLE nobody LOGIN;
	SELECT hipq.grant_queue('app.mail', 'reader', 'read');
});
my $waiting = $hipq->enqueue('later',
	q{'{"to": "ann"}', queue => 'app.mail', job_key => 'ann', scheduled_run_time => '2100-01-01'});
my $doomed = $hipq->enqueue('later',
	q{'{"to": "bob"}', queue => 'app.mail', job_key => 'bob', scheduled_run_time => '2100-01-01'});
my $failed = $hipq->enqueue('send',
	q{'{"to": "nobody", "token": "open sesame"}', queue => 'app.mail'});
$hipq->outcome($failed);
my $done = $hipq->enqueue('send', q{'{"to": "eve"}', queue => 'app.mail'});
$hipq->outcome($done);

my %connection = (PGHOST => $hipq->node->host, PGPORT => $hipq->node->port,
	PGDATABASE => 'postgres', PGUSER => 'app', LC_ALL => 'C.UTF-8');
sub screen
{
	my ($arguments, %options) = @_;
	my %env = (%connection, %{ $options{env} // {} });
	return HipqScreen->new([ $program, '--delay', '0.2', @$arguments ], %options, env => \%env);
}
# Runs hipq-top without a terminal. Returns exit code, stdout and stderr.
sub answer
{
	my (@arguments) = @_;
	my ($out, $err) = ('', '');
	local @ENV{ keys %connection } = values %connection;
	my $run = IPC::Run::start([ 'timeout', '-k', '5', '60', $program, @arguments ], '<', \'', '>',
		\$out, '2>', \$err);
	$run->finish;
	return ($run->result(0), $out, $err);
}

# ---- from a graph to a job, and held jobs

my $graph = $hipq->sql(q{SELECT min(id) FROM hipq.enqueue_graph('[
	{"name": "look", "job_type": "send", "job_data": {"to": "ann"}},
	{"name": "wait", "job_type": "later", "after": ["look"],
		"scheduled_run_time": "2100-01-01 00:00:00+00"},
	{"name": "end", "job_type": "later", "after": ["wait", "look"]}]', queue => 'app.mail')});
is($hipq->outcome($graph), 'succeeded', 'the first job of a graph has run');
my $graphs = screen([]);
ok($graphs->shows(qr/oldest state +held *\n.*^app\.mail .* 1$/ms),
	'a queue is shown with its held jobs');
$graphs->press('G');
ok($graphs->shows(qr/^ *$graph running +3 +2 .*look, wait, end/ms), 'graphs are listed');
$graphs->press('Enter');
ok($graphs->shows(
		qr/^ +1 look +succeeded -.*^ +2 wait +waiting +look.*^ +3 end +waiting +look, wait/ms),
	'the jobs of a graph are listed in the order of its layers');
like($graphs->text, qr/^3 jobs +succeeded 1 +waiting 2$/m, 'a graph is shown with counts');
$graphs->press('End', 'Enter');
ok($graphs->shows(qr/^held .*waits for +It comes after jobs/ms), 'a job of the graph is shown');
$graphs->press('G');
ok($graphs->shows(qr/> graph $graph .*^ +1 look/ms), 'a job leads to its graph');
$hipq->sql("SELECT hipq.cancel_graph($graph)");
ok($graphs->shows(qr/^ +2 wait +cancelled.*^ +3 end +cancelled/ms), 'the graph is shown live');
$graphs->press(('Escape') x 4);
ok($graphs->shows(qr/oldest state *\n/), 'without held jobs there is no column for them');

# ---- from a queue to a job

my $top = screen([]);
ok($top->shows(qr/^app\.mail\s+\d+ .*^app\.other/ms), 'the first screen lists the queues');
like($top->text, qr/^busy \d\/2 .*2 queues$/m, 'the first screen has a line for the whole server');
$top->press('Enter');
ok($top->shows(
		qr/queues > app\.mail.*^later\s.*^send\s.*no throttle limit|no throttle limit.*^later\s.*^send\s/ms),
	'a queue is shown with its job types');
$top->press('j');
ok($top->shows(
		qr/newest.*^ *$done send .*succeeded.*^ *$failed send .*failed.*there is no nobody/ms),
	'the jobs of a queue are listed, the newest first');
$top->press('2');
ok($top->shows(qr/unfinished.*^ *$waiting later +ann +waiting.*^ *$doomed later +bob/ms),
	'unfinished jobs are listed');
unlike($top->text, qr/nobody/, 'the list of unfinished jobs has no final jobs');
$top->press('4');
ok($top->shows(qr/^failed.*^ *$failed send/ms), 'failed jobs are listed');
$top->press('/')->type('ann');
ok($top->shows(qr/id or key ann.*^ *$waiting later +ann/ms), 'a search by key finds a job');
$top->press('Enter');
ok($top->shows(qr/> job $waiting .*^waiting .*key ann.*scheduled time +It waits for its time/ms),
	'a job is shown with the reasons why it waits');
like($top->text, qr/^    "to": "ann"$/m, 'a job is shown with its data');
$top->press('Escape');
ok($top->shows(qr/id or key ann/), 'Escape leads back to the search');
$top->press('Escape', 'Escape');
ok($top->shows(qr/^app\.other/m), 'Escape leads back to the first screen');
$top->press('g')->type($failed);
ok($top->shows(qr/> job $failed .*^failed .*^error +there is no nobody.*^dead letter +waiting/ms),
	'a job is found by its id alone');
like($top->text, qr/validation_error|transient_error/, 'a job is shown with its attempts');
like($top->text, qr/NOTICE +sending to nobody/, "a job is shown with its handler's messages");
like($top->text, qr/secret parameters are \*\*\*.*"token": "\*\*\*"/s,
	'secrets in the data are masked');
unlike($top->text, qr/sesame/, 'secrets are not on the screen');
$top->press('Escape', '?');
ok($top->shows(qr/On every screen/), 'help is shown');
$top->press('Escape', 'e');
ok($top->shows(qr/^ *pid +.*^ *\d+ .*idle/ms), 'executors are listed');
my $holder = $hipq->session;
$holder->query_safe('SELECT pg_advisory_lock(77)');
$hipq->sql(q{
	CREATE FUNCTION hold(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		PERFORM pg_advisory_xact_lock(77); END $$;
	SELECT hipq.register_job_type('app.mail', 'wait', handler => 'hold')});
my $held = $hipq->enqueue('wait', q{queue => 'app.mail'});
ok($top->shows(qr/ running .* $held .*Lock: advisory +\d+$/m),
	'an executor is shown with its lock and the blocking process');
$top->press('Escape', 'g')->type($held);
ok($top->shows(qr/^process \d+ waits for Lock: advisory, blocked by \d+$/m),
	'a job is shown with the lock and the blocking process');
$holder->quit;
is($hipq->outcome($held), 'succeeded', 'a job continues when its lock is released');
$top->press('Escape', 'w');
ok($top->shows(qr/There are no external workers/), 'the list of workers is empty');
my $worker = $hipq->sql_as('app',
	q{SELECT hipq.register_worker('one', '{app.other}', '{outside}', listen => false)});
ok($top->shows(qr/^one +app +active/m), 'the list of workers shows a new worker');
$top->press('Escape', 'a');
ok($top->shows(qr/members of pg_monitor, and your role is none/s),
	'only members of pg_monitor may see alerts');
$top->press('Escape');

# ---- a job that waits for another one

my $later = $hipq->enqueue('later',
	qq{queue => 'app.mail', job_key => 'last', after => ARRAY[$waiting]});
my $queues = screen([ '--sort', 'queue' ]);
$queues->shows(qr/^app\.mail/m);
$queues->press('Enter');
ok($queues->shows(qr/> app\.mail .*backlog \d+   held 1   running/s),
	'a queue is shown with the number of its held jobs');
$queues->press('j');
ok($queues->shows(qr/^ *$later later +last +held +0 .*^ *$doomed later +bob +waiting/ms),
	'a held job is listed as held');
$queues->press('Enter');
ok($queues->shows(
		qr/> job $later .*^held .*^  waits for +It comes after jobs .*ended: $waiting\./ms),
	'a held job is shown with the jobs that it waits for');
$hipq->sql("SELECT hipq.cancel($later)");
ok($queues->shows(qr/^cancelled /m), 'the screen shows its end');
$queues->press('Escape', 'Escape', 'Escape', 'q');
is($queues->exit_code, 0, 'q ends hipq-top after several screens');

# ---- sorting and filter

$top->shows(qr/^app\.other/m);
$top->press('s');
ok($top->shows(qr/^app\.mail.*^app\.other/ms), 'queues are sorted by name');
$top->press('/')->type('OTHER');
ok($top->shows(qr/only with "OTHER".*^app\.other/ms), 'a filter selects queues');
unlike($top->text, qr/^app\.mail/m, 'a filter hides other queues');
$top->press('/')->type('');
ok($top->shows(qr/^app\.mail/m), 'an empty filter shows all queues');

# ---- changes

sub state { return $hipq->sql("SELECT outcome FROM hipq.jobs WHERE id = $_[0]"); }
$top->press('Home', 'p');
ok($top->shows(qr/Pause queue app\.mail\? No more of its jobs start.*y: yes/s),
	'pausing a queue needs confirmation');
$top->press('n');
ok($top->shows(qr/nothing is done/), 'answering no shows that nothing is done');
is($hipq->sql('SELECT count(*) FROM hipq.pauses'), '0', 'answering no pauses nothing');
$top->press('p', 'y');
ok($top->shows(qr/queue app\.mail is paused.*/), 'answering yes pauses the queue');
is($hipq->sql('SELECT queue, reason FROM hipq.pauses'), 'app.mail|by hipq-top',
	'the pause is in the database');
ok($top->shows(qr/^app\.mail .* paused$/m), 'the pause is shown');
$top->press('p');
ok($top->shows(qr/Resume queue app\.mail\?/), 'resuming a queue needs confirmation');
$top->press('y');
ok($hipq->wait_until('SELECT count(*) FROM hipq.pauses', '0'), 'answering yes resumes the queue');
$top->press('Enter');
$top->shows(qr/no throttle limit/);
$top->press('p', 'y');
ok($hipq->wait_until('SELECT job_type FROM hipq.pauses', 'later'), 'a job type is paused');
ok($top->shows(qr/paused: type later, .*by app: by hipq-top/),
	'a paused job type is shown with its role and reason');
$top->press('p', 'y');
ok($hipq->wait_until('SELECT count(*) FROM hipq.pauses', '0'), 'a job type is resumed');

$top->press('j', '/')->type('bob');
$top->shows(qr/id or key bob.*^ *$doomed /ms);
$top->press('c');
ok($top->shows(qr/Cancel job $doomed for good\?/), 'cancelling a job needs confirmation');
$top->press('y');
ok($top->shows(qr/job $doomed is cancelled/), 'answering yes cancels the job');
is(state($doomed), 'cancelled', 'the job is cancelled in the database');
$top->press('r', 'y');
ok($top->shows(qr/job $doomed runs again as job \d+/), 'a cancelled job can run again');
is($hipq->sql("SELECT manual_reason IS NOT NULL FROM hipq.jobs_detail WHERE retry_of = $doomed"),
	't', 'the new job is in the database');
$top->press('c', 'y');
ok($top->shows(qr/job \d+ is cancelled|has ended otherwise|not done: /),
	"the server's answer to a second cancellation is shown");
$top->press('Escape', 'd');
ok($top->shows(qr/dead letters.*^ *$failed waiting +send/ms), 'dead letters are listed');
$hipq->sql(q{CREATE OR REPLACE FUNCTION send(data jsonb) RETURNS void LANGUAGE sql AS 'SELECT'});
$top->press('R');
ok($top->shows(qr/Redrive the dead letter of job $failed\?/),
	'redriving a dead letter needs confirmation');
$top->press('y');
ok($top->shows(qr/dead letter $failed is redriven as job (\d+)/),
	'answering yes redrives the dead letter');
is($hipq->sql("SELECT state FROM hipq.dead_letters WHERE job_id = $failed"), 'redriven',
	'the dead letter is redriven in the database');
ok($top->shows(qr/No dead letter waits/), 'no dead letter waits after the redrive');

# ---- many dead letters

$hipq->sql(q{CREATE OR REPLACE FUNCTION send(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
	RAISE EXCEPTION 'no'; END $$});
$hipq->sql(q{INSERT INTO hipq.app_mail (job_type, job_data) SELECT 'send', '{"to": "x"}'
	FROM generate_series(1, 450)});
my $letters = q{SELECT count(*) FROM hipq.dead_letters WHERE state = 'waiting'};
ok($hipq->wait_until($letters, '450'), '450 dead letters wait');
# Otherwise the jobs would become dead letters again.
$hipq->sql(q{SELECT hipq.pause('app.mail', 'send')});
$top->shows(qr/(?:^ *\d+ waiting +send .*){10}/ms);
$top->press('End', 'T');
ok($top->shows(
		qr/Redrive all waiting dead letters of queue app\.mail, type send, that are not newer than this/),
	"redriving a job type's dead letters needs confirmation");
$top->press('y');
ok($top->shows(qr/\d+ are done; no dead letter is left/),
	'answering yes redrives the dead letters of a job type');
my $left = $hipq->sql($letters);
cmp_ok($left, '<', 450, 'fewer dead letters wait after the redrive of a job type');
cmp_ok($left, '>', 0, 'dead letters that are newer than the selected one wait');
$top->press('X');
ok($top->shows(qr/Redrive all waiting dead letters of queue app\.mail\?/),
	'redriving all dead letters needs confirmation');
$top->press('y');
ok($top->shows(qr/$left are done; no dead letter is left to redrive/),
	'answering yes redrives all dead letters, in slices');
is($hipq->sql($letters), '0', 'no dead letter waits in the database');
is($hipq->sql(q{SELECT count(*) FROM hipq.jobs_detail WHERE retry_of IS NOT NULL
		AND job_type = 'send' AND outcome = 'waiting'}), '450', 'each dead letter has one new job');
$hipq->sql(q{SELECT hipq.resume('app.mail', 'send')});

# ---- throttle keys that fill a queue, the progress of a job, and the settings

$hipq->sql(q{INSERT INTO hipq.app_other (job_type, throttle_key, scheduled_run_time)
	SELECT 'outside', CASE WHEN n = 1 THEN 'tenant 8' ELSE 'tenant 7' END, now() + interval '1 day'
		FROM generate_series(1, 4) AS n});
$hipq->sql(q{CREATE FUNCTION count_up(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
	PERFORM hipq.report_progress(1, 4); PERFORM pg_advisory_xact_lock(7); END $$;
	SELECT hipq.register_job_type('app.mail', 'count', handler => 'count_up')});
$holder = $hipq->session;
$holder->query_safe('SELECT pg_advisory_lock(7)');
my $counts = $hipq->enqueue('count', q{'{}', queue => 'app.mail'});
my $filled = screen([]);
$filled->shows(qr/^app\.other/m);
$filled->press('/')->type('other');
$filled->press('f');
ok($filled->shows(
		qr/app\.other who fills it.*^outside +tenant 7 +3 +75 .*scheduled time.*^outside +tenant 8 +1 +25 /ms),
	'the throttle keys that fill a queue are shown');
$filled->press('p');
ok($filled->shows(qr/Pause throttle key tenant 7 of job type outside of queue app\.other\?/),
	'pausing a throttle key needs confirmation');
$filled->press('y');
ok($hipq->wait_until('SELECT throttle_key FROM hipq.pauses', 'tenant 7'),
	'answering yes pauses the throttle key');
$filled->press('p');
ok($filled->shows(qr/Resume throttle key tenant 7/), 'a paused throttle key can be resumed');
$filled->press('y');
ok($hipq->wait_until('SELECT count(*) FROM hipq.pauses', '0'),
	'answering yes resumes the throttle key');
$filled->press('Enter');
ok($filled->shows(qr/> job \d+ .*scheduled time +It waits for its time/s),
	'the first job of a throttle key is shown, with the reason why it waits');
$filled->press('Escape', 'Escape', 'e');
ok($filled->shows(qr/^ *\d+ .* $counts +1 +\S+ +25 % +\S*[sm]\S* /m),
	"an executor is shown with the job's progress and estimated end");
$filled->press('Escape', 't');
ok($filled->shows(qr/^hipq\.alert_waiting +1min +Alert when jobs have been due/m),
	'settings are listed');
$filled->press('/')->type('max_executors');
ok($filled->shows(qr/^hipq\.max_executors +2 /m), 'a filter selects a setting');
$filled->press('Escape', 'q');
is($filled->exit_code, 0, 'q ends hipq-top');
$holder->quit;

# ---- rates, breakers and schedules

$hipq->sql(q{
	SELECT hipq.register_job_type('app.other', 'rated', handler => 'send',
		rate_limit => '1/31 day');
	SELECT hipq.register_job_type('app.other', 'broken', handler => 'send');
	SELECT hipq.open_breaker('app.other', 'broken', '9 h');
	SELECT hipq.schedule('nightly', '30 2 * * *', 'outside', queue => 'app.other',
		time_zone => 'Europe/Berlin', starts => hipq.now() + interval '2 days');
	SELECT hipq.schedule('hourly', '@hourly', 'outside', queue => 'app.other',
		starts => hipq.now() + interval '1 day')});
$hipq->outcome($hipq->enqueue('rated', q{queue => 'app.other'}));
my $limited = screen([]);
$limited->shows(qr/^app\.other/m);
$limited->press('/')->type('other');
$limited->press('Enter');
ok($limited->shows(
		qr/^broken .* breaker open for 8h59m.*^rated .* 1 of 1\/31 day +30d23h/ms),
	'job types are shown with their rates and breakers');
$limited->press('Escape', 'n');
ok($limited->shows(
		qr/> schedules .*^hourly +app\.other .* 1d0[01]h \S+ \d\d:00:00 UTC .*^nightly .* 02:30:00 Europe\/Berlin/ms),
	'schedules are listed by their next runs, with local times');
$limited->press('Escape', 'q');
is($limited->exit_code, 0, 'q ends hipq-top after the schedules');

# ---- a restart

$hipq->node->stop('fast');
ok($top->shows(qr/No connection, trying again: /), 'without a server the screen says so');
$hipq->node->start;
ok($top->shows(qr/connected again/), 'hipq-top connects again after a restart');
unlike($top->text, qr/No connection/, 'the message about the connection vanishes after a restart');
like($top->text, qr/queues > app\.mail > app\.mail dead letters/,
	'the screen is the same after a restart');
$top->press('Escape', 'Escape', 'q');
is($top->exit_code, 0, 'q ends hipq-top after a restart');

# ---- small terminals, and terminals without colours

my $small = screen([], columns => 80, lines => 24);
ok($small->shows(qr/^app\.mail .*(?:idle|waits)$/m), '80 columns and 24 lines show the queues');
like($small->text, qr/^queue +backlog running per min failed +p50 +p99 oldest state$/m,
	'80 columns have all figures');
$small->resize(60, 12);
ok($small->shows(qr/^queue +backlog .* state$/m), '60 columns have the important figures');
unlike($small->text, qr/p50/, '60 columns leave p50 out');
$small->resize(30, 5);
ok($small->shows(qr/too small/), '30 columns are too few, and the screen says so');
$small->resize(100, 30);
ok($small->shows(qr/p50/), 'a terminal that grows shows all figures');
kill 'TERM', $small->pid;
is($small->exit_code, 0, 'SIGTERM ends hipq-top');
my $coloured = screen([]);
ok($coloured->shows(qr/^app\.mail/m) && $coloured->coloured =~ /\e\[(?:\d+;)*3[1236]m/,
	'the screen has colours');
my $plain = screen([], env => { NO_COLOR => '1' });
ok($plain->shows(qr/^app\.mail/m), 'NO_COLOR shows the queues');
unlike($plain->coloured, qr/\e\[(?:\d+;)*3[0-7]m/, 'NO_COLOR switches colours off');

# ---- other roles

my $reader = screen([ '-U', 'reader' ]);
ok($reader->shows(qr/^app\.mail/m), 'a role with read on a queue sees it');
unlike($reader->text, qr/app\.other/, 'a role does not see other queues');
$reader->press('p', 'y');
ok($reader->shows(qr/not done: permission denied/), 'a role without control may not pause a queue');
is($hipq->sql('SELECT count(*) FROM hipq.pauses'), '0', 'a refused pause is not in the database');
my $watcher = screen([ '-U', 'watcher' ]);
ok($watcher->shows(qr/^app\.mail.*^app\.other|^app\.other.*^app\.mail/ms),
	'a member of pg_monitor sees all queues');
$watcher->press('a');
ok($watcher->shows(qr/alerts .*(?:There are no alerts|alarm|information)/s),
	'a member of pg_monitor sees alerts');
$watcher->press('Escape', 'j');
ok($watcher->shows(qr/Your role may not read this: permission denied/),
	'a member of pg_monitor may not see jobs, and the screen says so');
my $locked = screen([ '--read-only' ]);
ok($locked->shows(qr/read-only.*^app\.mail/ms), '--read-only shows the queues');
$locked->press('p');
ok($locked->shows(qr/nothing is changed with --read-only/), '--read-only changes nothing');

# ---- a password

$hipq->sql(q{CREATE ROLE proven LOGIN PASSWORD 'open sesame';
	SELECT hipq.grant_queue('app.mail', 'proven', 'read')});
$hipq->ask_for_passwords('proven');
my $proven = screen([ '-U', 'proven' ]);
ok($proven->shows(qr/^Password: *$/m), 'a role with a password is asked for it');
$proven->type('open sesame');
ok($proven->shows(qr/^app\.mail/m), 'the right password shows the queues');
$hipq->node->restart;
ok($proven->shows(qr/connected again/),
	'after a restart of the server the password is not asked for again');
$proven->press('q');
is($proven->exit_code, 0, 'q ends hipq-top with a password');
my $mistaken = screen([ '-U', 'proven' ], columns => 250);
$mistaken->shows(qr/^Password:/m);
$mistaken->type('open barley');
is($mistaken->exit_code, 69, 'a wrong password ends hipq-top with exit code 69');
like($mistaken->history,
	qr/^Password: *\nhipq-top: .*password authentication failed for user "proven"$/m,
	'a wrong password is reported, and not shown');
my $reluctant = screen([ '-U', 'proven' ]);
$reluctant->shows(qr/^Password:/m);
$reluctant->press('C-c');
is($reluctant->exit_code, 0, 'Ctrl-C at the password ends hipq-top');
unlike($reluctant->history, qr/hipq-top:/, 'Ctrl-C at the password prints no error');

# ---- without a terminal

my ($code, $out, $err) = answer('--once', '--sort', 'queue');
is($code, 0, '--once exits with 0');
like($out, qr/^busy .*\nqueue .*\napp\.mail .*\napp\.other /, '--once prints the queues');
unlike($out, qr/\e/, '--once prints plain text');
($code, $out, $err) = answer('--once', '-n', '1', '-s', 'queue');
unlike($out, qr/app\.other/, '-n limits the lines');
($code, $out, $err) = answer('--once', '--sort', 'colour');
is("$code $err", "1 hipq-top: there is no column \"colour\" to sort by\nHINT:  Sort by busy, "
	. "queue, backlog, running, per_min, failed, p50, p99, oldest or state.\n",
	'an unknown sort column is an error with a hint');
($code, $out, $err) = answer('--once', '-U', 'nobody');
is($code, 1, 'a role without rights: exit code 1');
like($err, qr/permission denied for schema hipq/, 'a role without rights: the error says so');
($code, $out, $err) = answer('--once', '-U', 'proven');
is($code, 69, 'a password without a terminal: exit code 69');
like($err, qr/no password supplied/,
	'a password without a terminal: the error says that it is missing');
($code, $out, $err) = answer('--once', sprintf('host=%s port=%s user=proven password=%s',
		$hipq->node->host, $hipq->node->port, q{'open sesame'}));
is($code, 0, 'a password in the connection string works');
($code, $out, $err) = answer('--once', 'nowhere');
is($code, 69, 'a missing database: exit code 69');
like($err, qr/database "nowhere" does not exist/,
	'a missing database: the message of the server is printed');
($code, $out, $err) = answer('--once', 'template1');
like("$code $err", qr/^69 .*hipq is not installed in database "template1".*CREATE EXTENSION/s,
	'a database without hipq: the error says so');
($code, $out, $err) = answer();
is($code, 64, 'no terminal: exit code 64');
like($err, qr/this is no terminal: use --once/, 'no terminal: the error recommends --once');
($code, $out, $err) = answer('--once',
	sprintf('postgresql://app@/postgres?host=%s&port=%s', $hipq->node->host, $hipq->node->port));
is($code, 0, 'a URI works') or diag($err);

# ---- 500 queues

$hipq->sql(q{
	CREATE FUNCTION letters(n integer) RETURNS text LANGUAGE sql AS $$
		SELECT translate(to_char(n, 'FM000'), '0123456789', 'abcdefghij') $$;
	CREATE PROCEDURE make_queues(first integer, last integer) LANGUAGE plpgsql AS $$
	BEGIN
		FOR n IN first .. last LOOP
			PERFORM hipq.create_queue('many.queue_' || letters(n), owner => 'app');
			PERFORM hipq.register_job_type('many.queue_' || letters(n), 'work',
				handler_kind => 'notify');
			EXECUTE format('INSERT INTO hipq.%I (job_type) SELECT %L FROM generate_series(1, 5)',
				'many_queue_' || letters(n), 'work');
			COMMIT;
		END LOOP;
	END $$;
	-- The shortest of several executions, in a session that has executed the statement before,
	-- like hipq-top's. Other load of the machine has little effect on it.
	CREATE FUNCTION takes(statement text) RETURNS double precision LANGUAGE plpgsql AS $$
	DECLARE
		took double precision[];
		begin_time timestamptz;
	BEGIN
		FOR n IN 0 .. 20 LOOP
			begin_time := clock_timestamp();
			EXECUTE statement;
			IF n > 0 THEN took := took || extract(epoch
				FROM clock_timestamp() - begin_time)::double precision; END IF;
			EXIT WHEN n >= 5 AND 0.05 > ANY (took);
		END LOOP;
		RETURN (SELECT min(t) FROM unnest(took) AS t);
	END $$;
});
$hipq->sql('CALL make_queues(1, 500)');
my $many = screen([ '--sort', 'queue' ], columns => 100);
ok($many->shows(qr/^busy .*502 queues.*^app\.mail .*^app\.other .*^many\.queue_aab /ms),
	'502 queues are listed');
$many->press('End');
ok($many->shows(qr/^many\.queue_faa /m), 'the last of many queues can be reached');
$many->press('j');
ok($many->shows(qr/newest.*^ *\d+ work +waiting/ms), 'the jobs of the last queue are listed');
$many->press('Enter');
ok($many->shows(qr/Why it waits.*^  worker /ms), 'a job of the last queue is shown');
$hipq->in_time($hipq->sql(qq{SELECT takes('$_->[0]')}), 0.05, "$_->[1]: less than 50 ms") foreach
  [ 'SELECT * FROM hipq.top(lines => NULL)', 'all queues' ],
  [ 'SELECT * FROM hipq.activity_detail WHERE queue = $$many.queue_faa$$', 'a queue' ],
  [ 'SELECT * FROM hipq.workers_detail', 'workers' ],
  [ 'SELECT * FROM hipq.executors_detail', 'executors' ],
  [ 'SELECT * FROM hipq.attempts_detail WHERE queue = $$many.queue_faa$$ AND job_id = 1',
  	'attempts' ],
  [ 'SELECT * FROM hipq.dead_letters_detail WHERE queue = $$app.mail$$ ORDER BY died_time DESC,
  	job_id DESC LIMIT 500', 'dead letters' ];

$hipq->node->stop;
done_testing();
