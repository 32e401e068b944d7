# hipq-top in a terminal (tmux): from a queue to a job, sorting, search; what it changes; other roles, a restart, small terminals, pipes.
use strict;
use warnings;
use HipqCluster;
use HipqScreen;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;

my $program = (grep { -x } map { "$_/hipq-top" } split /:/, $ENV{PATH})[0];
plan skip_all => 'hipq-top was not built: nlohmann-json3-dev or libncurses-dev is missing' unless defined $program;
plan skip_all => 'tmux is not installed: tools/setup check installs it' unless defined HipqScreen::tmux();

my $hipq = HipqCluster->new('top_screen', 'hipq.max_executors' => 2, 'hipq.heartbeat_timeout' => '10min', 'hipq.retry_base' => '0s', 'hipq.executor_idle_timeout' => '1h');
$hipq->create_queue("app.$_") foreach qw(mail other);
$hipq->sql(q{
	CREATE FUNCTION send(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		RAISE NOTICE 'sending to %', data->>'to';
		IF data->>'to' = 'nobody' THEN RAISE EXCEPTION 'there is no %', data->>'to'; END IF;
	END $$;
	SELECT hipq.register_job_type('app.mail', 'send', handler => 'send', parameters => '{"token": {"secret": true}}');
	SELECT hipq.register_job_type('app.mail', 'later', handler => 'send');
	SELECT hipq.register_job_type('app.other', 'outside', handler_kind => 'notify');
	CREATE ROLE reader LOGIN; CREATE ROLE watcher LOGIN; GRANT pg_monitor TO watcher; CREATE ROLE nobody LOGIN;
	SELECT hipq.grant_queue('app.mail', 'reader', 'read');
});
my $waiting = $hipq->enqueue('later', q{'{"to": "ann"}', queue => 'app.mail', job_key => 'ann', scheduled_run_time => '2100-01-01'});
my $doomed = $hipq->enqueue('later', q{'{"to": "bob"}', queue => 'app.mail', job_key => 'bob', scheduled_run_time => '2100-01-01'});
my $failed = $hipq->enqueue('send', q{'{"to": "nobody", "token": "open sesame"}', queue => 'app.mail'});
$hipq->outcome($failed);
my $done = $hipq->enqueue('send', q{'{"to": "eve"}', queue => 'app.mail'});
$hipq->outcome($done);

my %connection = (PGHOST => $hipq->node->host, PGPORT => $hipq->node->port, PGDATABASE => 'postgres', PGUSER => 'app', LC_ALL => 'C.UTF-8');
sub screen
{
	my ($arguments, %options) = @_;
	my %env = (%connection, %{ $options{env} // {} });
	return HipqScreen->new([ $program, '--delay', '0.2', @$arguments ], %options, env => \%env);
}
# Runs it without a terminal: exit code, stdout, stderr.
sub answer
{
	my (@arguments) = @_;
	my ($out, $err) = ('', '');
	local @ENV{ keys %connection } = values %connection;
	my $run = IPC::Run::start([ 'timeout', '-k', '5', '60', $program, @arguments ], '<', \'', '>', \$out, '2>', \$err);
	$run->finish;
	return ($run->result(0), $out, $err);
}

# ---- from a queue to a job

my $top = screen([]);
ok($top->shows(qr/^app\.mail\s+\d+ .*^app\.other/ms), 'queues');
like($top->text, qr/^busy \d\/2 .*2 queues$/m, '... and a line for all');
$top->press('Enter');
ok($top->shows(qr/queues > app\.mail.*^later\s.*^send\s.*no throttle limit|no throttle limit.*^later\s.*^send\s/ms), 'a queue with its job types');
$top->press('j');
ok($top->shows(qr/newest.*^ *$done send .*succeeded.*^ *$failed send .*failed.*there is no nobody/ms), 'its jobs, the newest first');
$top->press('2');
ok($top->shows(qr/unfinished.*^ *$waiting later +ann +waiting.*^ *$doomed later +bob/ms), 'unfinished ones');
unlike($top->text, qr/nobody/, '... and no others');
$top->press('4');
ok($top->shows(qr/^failed.*^ *$failed send/ms), 'those that failed');
$top->press('/')->type('ann');
ok($top->shows(qr/id or key ann.*^ *$waiting later +ann/ms), 'a job by its key');
$top->press('Enter');
ok($top->shows(qr/> job $waiting .*^waiting .*key ann.*scheduled time +It waits for its time/ms), 'a job, and why it waits');
like($top->text, qr/^    "to": "ann"$/m, '... with its data');
$top->press('Escape');
ok($top->shows(qr/id or key ann/), 'back');
$top->press('Escape', 'Escape');
ok($top->shows(qr/^app\.other/m), 'and to the first screen');
$top->press('g')->type($failed);
ok($top->shows(qr/> job $failed .*^failed .*^error +there is no nobody.*^dead letter +waiting/ms), 'a job by its id alone');
like($top->text, qr/validation_error|transient_error/, '... with its attempts');
like($top->text, qr/NOTICE +sending to nobody/, '... what its handler said');
like($top->text, qr/secret parameters are \*\*\*.*"token": "\*\*\*"/s, '... and its data, without secrets');
unlike($top->text, qr/sesame/, '... which are nowhere');
$top->press('Escape', '?');
ok($top->shows(qr/On every screen/), 'help');
$top->press('Escape', 'e');
ok($top->shows(qr/^ *pid +.*^ *\d+ .*idle/ms), 'executors');
my $holder = $hipq->session;
$holder->query_safe('SELECT pg_advisory_lock(77)');
$hipq->sql(q{
	CREATE FUNCTION hold(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(77); END $$;
	SELECT hipq.register_job_type('app.mail', 'wait', handler => 'hold')});
my $held = $hipq->enqueue('wait', q{queue => 'app.mail'});
ok($top->shows(qr/ running .* $held .*Lock: advisory +\d+$/m), '... what one waits for in PostgreSQL, and who is in its way');
$top->press('Escape', 'g')->type($held);
ok($top->shows(qr/^process \d+ waits for Lock: advisory, blocked by \d+$/m), '... which its job says, too');
$holder->quit;
is($hipq->outcome($held), 'succeeded', 'then it goes on');
$top->press('Escape', 'w');
ok($top->shows(qr/There are no external workers/), 'workers: none');
my $worker = $hipq->sql_as('app', q{SELECT hipq.register_worker('one', '{app.other}', '{outside}', listen => false)});
ok($top->shows(qr/^one +app +active/m), 'one comes, and is seen');
$top->press('Escape', 'a');
ok($top->shows(qr/members of pg_monitor, and your role is none/s), 'alerts are for others');
$top->press('Escape');

# ---- sorting and filter

$top->shows(qr/^app\.other/m);
$top->press('s');
ok($top->shows(qr/^app\.mail.*^app\.other/ms), 'sorted by name');
$top->press('/')->type('OTHER');
ok($top->shows(qr/only with "OTHER".*^app\.other/ms), 'a filter');
unlike($top->text, qr/^app\.mail/m, '... leaves others out');
$top->press('/')->type('');
ok($top->shows(qr/^app\.mail/m), '... until it is empty');

# ---- what it changes

sub state { return $hipq->sql("SELECT outcome FROM hipq.jobs WHERE id = $_[0]"); }
$top->press('Home', 'p');
ok($top->shows(qr/Pause queue app\.mail\? No more of its jobs start.*y: yes/s), 'pause: it asks');
$top->press('n');
ok($top->shows(qr/nothing is done/), '... and takes no for an answer');
is($hipq->sql('SELECT count(*) FROM hipq.pauses'), '0', '... and does nothing');
$top->press('p', 'y');
ok($top->shows(qr/queue app\.mail is paused.*/), '... or does it');
is($hipq->sql('SELECT queue, reason FROM hipq.pauses'), 'app.mail|by hipq-top', '... in the database');
ok($top->shows(qr/^app\.mail .* paused$/m), '... and shows it');
$top->press('p');
ok($top->shows(qr/Resume queue app\.mail\?/), 'resume: it asks');
$top->press('y');
ok($hipq->wait_until('SELECT count(*) FROM hipq.pauses', '0'), '... and does it');
$top->press('Enter');
$top->shows(qr/no throttle limit/);
$top->press('p', 'y');
ok($hipq->wait_until('SELECT job_type FROM hipq.pauses', 'later'), 'a job type is paused');
ok($top->shows(qr/paused: type later, .*by app: by hipq-top/), '... and it says by whom');
$top->press('p', 'y');
ok($hipq->wait_until('SELECT count(*) FROM hipq.pauses', '0'), '... and resumed');

$top->press('j', '/')->type('bob');
$top->shows(qr/id or key bob.*^ *$doomed /ms);
$top->press('c');
ok($top->shows(qr/Cancel job $doomed for good\?/), 'cancel: it asks');
$top->press('y');
ok($top->shows(qr/job $doomed is cancelled/), '... and does it');
is(state($doomed), 'cancelled', '... in the database');
$top->press('r', 'y');
ok($top->shows(qr/job $doomed runs again as job \d+/), 'run again');
is($hipq->sql("SELECT manual_reason IS NOT NULL FROM hipq.jobs_detail WHERE retry_of = $doomed"), 't', '... in the database');
$top->press('c', 'y');
ok($top->shows(qr/job \d+ is cancelled|has ended otherwise|not done: /), 'what the server answers is shown');
$top->press('Escape', 'd');
ok($top->shows(qr/dead letters.*^ *$failed waiting +send/ms), 'dead letters');
$hipq->sql(q{CREATE OR REPLACE FUNCTION send(data jsonb) RETURNS void LANGUAGE sql AS 'SELECT'});
$top->press('R');
ok($top->shows(qr/Redrive the dead letter of job $failed\?/), 'redrive: it asks');
$top->press('y');
ok($top->shows(qr/dead letter $failed is redriven as job (\d+)/), '... and does it');
is($hipq->sql("SELECT state FROM hipq.dead_letters WHERE job_id = $failed"), 'redriven', '... in the database');
ok($top->shows(qr/No dead letter waits/), '... and it waits no more');

# ---- many at once

$hipq->sql(q{CREATE OR REPLACE FUNCTION send(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$});
$hipq->sql(q{INSERT INTO hipq.app_mail (job_type, job_data) SELECT 'send', '{"to": "x"}' FROM generate_series(1, 450)});
my $letters = q{SELECT count(*) FROM hipq.dead_letters WHERE state = 'waiting'};
ok($hipq->wait_until($letters, '450'), 'many dead letters');
$hipq->sql(q{SELECT hipq.pause('app.mail', 'send')});    # else they would be dead letters again
$top->shows(qr/(?:^ *\d+ waiting +send .*){10}/ms);
$top->press('End', 'T');
ok($top->shows(qr/Redrive all waiting dead letters of queue app\.mail, type send, that are not newer than this/), 'redrive its type: it asks');
$top->press('y');
ok($top->shows(qr/\d+ are done; no dead letter is left/), '... and does it');
my $left = $hipq->sql($letters);
cmp_ok($left, '<', 450, '... in the database');
cmp_ok($left, '>', 0, '... those that came later are left');
$top->press('X');
ok($top->shows(qr/Redrive all waiting dead letters of queue app\.mail\?/), 'redrive all: it asks');
$top->press('y');
ok($top->shows(qr/$left are done; no dead letter is left to redrive/), '... and does it, a slice at a time');
is($hipq->sql($letters), '0', '... in the database');
is($hipq->sql(q{SELECT count(*) FROM hipq.jobs_detail WHERE retry_of IS NOT NULL AND job_type = 'send' AND outcome = 'waiting'}), '450', '... each once');
$hipq->sql(q{SELECT hipq.resume('app.mail', 'send')});

# ---- who fills a queue, how far a job is, and the settings

$hipq->sql(q{INSERT INTO hipq.app_other (job_type, throttle_key, scheduled_run_time)
	SELECT 'outside', CASE WHEN n = 1 THEN 'tenant 8' ELSE 'tenant 7' END, now() + interval '1 day' FROM generate_series(1, 4) AS n});
$hipq->sql(q{CREATE FUNCTION count_up(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM hipq.report_progress(1, 4); PERFORM pg_advisory_xact_lock(7); END $$;
	SELECT hipq.register_job_type('app.mail', 'count', handler => 'count_up')});
$holder = $hipq->session;
$holder->query_safe('SELECT pg_advisory_lock(7)');
my $counts = $hipq->enqueue('count', q{'{}', queue => 'app.mail'});
my $filled = screen([]);
$filled->shows(qr/^app\.other/m);
$filled->press('/')->type('other');
$filled->press('f');
ok($filled->shows(qr/app\.other who fills it.*^outside +tenant 7 +3 +75 .*scheduled time.*^outside +tenant 8 +1 +25 /ms), 'who fills a queue');
$filled->press('p');
ok($filled->shows(qr/Pause throttle key tenant 7 of job type outside of queue app\.other\?/), 'pause a tenant: it asks');
$filled->press('y');
ok($hipq->wait_until('SELECT throttle_key FROM hipq.pauses', 'tenant 7'), '... and does it');
$filled->press('p');
ok($filled->shows(qr/Resume throttle key tenant 7/), '... and knows it is paused');
$filled->press('y');
ok($hipq->wait_until('SELECT count(*) FROM hipq.pauses', '0'), '... and resumes it');
$filled->press('Enter');
ok($filled->shows(qr/> job \d+ .*scheduled time +It waits for its time/s), 'the first job, and why it waits');
$filled->press('Escape', 'Escape', 'e');
ok($filled->shows(qr/^ *\d+ .* $counts +1 +\S+ +25 % +\S*[sm]\S* /m), 'how far a job is, and when it ends');
$filled->press('Escape', 't');
ok($filled->shows(qr/^hipq\.alert_waiting +1min +Alert when jobs have been due/m), 'settings');
$filled->press('/')->type('max_executors');
ok($filled->shows(qr/^hipq\.max_executors +2 /m), '... one of them');
$filled->press('Escape', 'q');
is($filled->exit_code, 0, 'q ends it');
$holder->quit;

# ---- a restart

$hipq->node->stop('fast');
ok($top->shows(qr/No connection, trying again: /), 'without a server it says so');
$hipq->node->start;
ok($top->shows(qr/connected again/), '... and comes back');
unlike($top->text, qr/No connection/, '... and says so');
like($top->text, qr/queues > app\.mail > app\.mail dead letters/, '... where it was');
$top->press('Escape', 'Escape', 'q');
is($top->exit_code, 0, 'q ends it');

# ---- small terminals, and other ones

my $small = screen([], columns => 80, lines => 24);
ok($small->shows(qr/^app\.mail .*(?:idle|waits)$/m), '80 columns and 24 lines');
like($small->text, qr/^queue +backlog running per min failed +p50 +p99 oldest state$/m, '... with all columns');
$small->resize(60, 12);
ok($small->shows(qr/^queue +backlog .* state$/m), '60 columns have what matters');
unlike($small->text, qr/p50/, '... without p50');
$small->resize(30, 5);
ok($small->shows(qr/too small/), '30 are too few, and it says so');
$small->resize(100, 30);
ok($small->shows(qr/p50/), 'it grows again');
kill 'TERM', $small->pid;
is($small->exit_code, 0, 'SIGTERM ends it');
my $coloured = screen([]);
ok($coloured->shows(qr/^app\.mail/m) && $coloured->coloured =~ /\e\[(?:\d+;)*3[1236]m/, 'there are colours');
my $plain = screen([], env => { NO_COLOR => '1' });
ok($plain->shows(qr/^app\.mail/m), 'NO_COLOR');
unlike($plain->coloured, qr/\e\[(?:\d+;)*3[0-7]m/, '... there are none');

# ---- other roles

my $reader = screen([ '-U', 'reader' ]);
ok($reader->shows(qr/^app\.mail/m), 'a reader sees his queue');
unlike($reader->text, qr/app\.other/, '... and no other');
$reader->press('p', 'y');
ok($reader->shows(qr/not done: permission denied/), '... and may not pause it');
is($hipq->sql('SELECT count(*) FROM hipq.pauses'), '0', '... and has not');
my $watcher = screen([ '-U', 'watcher' ]);
ok($watcher->shows(qr/^app\.mail.*^app\.other|^app\.other.*^app\.mail/ms), 'a monitor sees all queues');
$watcher->press('a');
ok($watcher->shows(qr/alerts .*(?:There are no alerts|alarm|information)/s), '... and alerts');
$watcher->press('Escape', 'j');
ok($watcher->shows(qr/Your role may not read this: permission denied/), '... and no jobs: it says so');
my $locked = screen([ '--read-only' ]);
ok($locked->shows(qr/read-only.*^app\.mail/ms), '--read-only');
$locked->press('p');
ok($locked->shows(qr/nothing is changed with --read-only/), '... changes nothing');

# ---- a password

$hipq->sql(q{CREATE ROLE proven LOGIN PASSWORD 'open sesame'; SELECT hipq.grant_queue('app.mail', 'proven', 'read')});
$hipq->ask_for_passwords('proven');
my $proven = screen([ '-U', 'proven' ]);
ok($proven->shows(qr/^Password: *$/m), 'a role that has to prove itself is asked for its password');
$proven->type('open sesame');
ok($proven->shows(qr/^app\.mail/m), '... by which it comes in');
$hipq->node->restart;
ok($proven->shows(qr/connected again/), '... after a restart of the server, too, without being asked again');
$proven->press('q');
is($proven->exit_code, 0, '... until q ends it');
my $mistaken = screen([ '-U', 'proven' ], columns => 250);
$mistaken->shows(qr/^Password:/m);
$mistaken->type('open barley');
is($mistaken->exit_code, 69, 'a wrong password');
like($mistaken->history, qr/^Password: *\nhipq-top: .*password authentication failed for user "proven"$/m, '... is none, and is not shown');
my $reluctant = screen([ '-U', 'proven' ]);
$reluctant->shows(qr/^Password:/m);
$reluctant->press('C-c');
is($reluctant->exit_code, 0, 'who is asked may go');
unlike($reluctant->history, qr/hipq-top:/, '... without being told of passwords');

# ---- without a terminal

my ($code, $out, $err) = answer('--once', '--sort', 'queue');
is($code, 0, '--once');
like($out, qr/^busy .*\nqueue .*\napp\.mail .*\napp\.other /, '... prints the queues');
unlike($out, qr/\e/, '... as plain text');
($code, $out, $err) = answer('--once', '-n', '1', '-s', 'queue');
unlike($out, qr/app\.other/, '... as many as wanted');
($code, $out, $err) = answer('--once', '--sort', 'colour');
is("$code $err", "1 hipq-top: there is no column \"colour\" to sort by\nHINT:  Sort by busy, queue, backlog, running, per_min, failed, p50, p99, oldest or state.\n",
	'a column that is none');
($code, $out, $err) = answer('--once', '-U', 'nobody');
is($code, 1, 'a role without rights');
like($err, qr/permission denied for schema hipq/, '... is told so');
($code, $out, $err) = answer('--once', '-U', 'proven');
is($code, 69, 'a password that nobody can be asked for');
like($err, qr/no password supplied/, '... is said to be missing');
($code, $out, $err) = answer('--once', sprintf('host=%s port=%s user=proven password=%s', $hipq->node->host, $hipq->node->port, q{'open sesame'}));
is($code, 0, '... but one can give it');
($code, $out, $err) = answer('--once', 'nowhere');
is($code, 69, 'no such database');
like($err, qr/database "nowhere" does not exist/, '... in the words of the server');
($code, $out, $err) = answer('--once', 'template1');
like("$code $err", qr/^69 .*hipq is not installed in database "template1".*CREATE EXTENSION/s, 'a database without hipq');
($code, $out, $err) = answer();
is($code, 64, 'no terminal');
like($err, qr/this is no terminal: use --once/, '... what to do');
($code, $out, $err) = answer('--once', sprintf('postgresql://app@/postgres?host=%s&port=%s', $hipq->node->host, $hipq->node->port));
is($code, 0, 'a URI') or diag($err);

# ---- 500 queues

$hipq->sql(q{
	CREATE FUNCTION letters(n integer) RETURNS text LANGUAGE sql AS $$ SELECT translate(to_char(n, 'FM000'), '0123456789', 'abcdefghij') $$;
	CREATE PROCEDURE make_queues(first integer, last integer) LANGUAGE plpgsql AS $$
	BEGIN
		FOR n IN first .. last LOOP
			PERFORM hipq.create_queue('many.queue_' || letters(n), owner => 'app');
			PERFORM hipq.register_job_type('many.queue_' || letters(n), 'work', handler_kind => 'notify');
			EXECUTE format('INSERT INTO hipq.%I (job_type) SELECT %L FROM generate_series(1, 5)', 'many_queue_' || letters(n), 'work');
			COMMIT;
		END LOOP;
	END $$;
	-- Of some times the least, in a session that has asked before, as hipq-top's has: what else the machine does costs nothing then.
	CREATE FUNCTION takes(statement text) RETURNS double precision LANGUAGE plpgsql AS $$
	DECLARE
		took double precision[];
		begin_time timestamptz;
	BEGIN
		FOR n IN 0 .. 20 LOOP
			begin_time := clock_timestamp();
			EXECUTE statement;
			IF n > 0 THEN took := took || extract(epoch FROM clock_timestamp() - begin_time)::double precision; END IF;
			EXIT WHEN n >= 5 AND 0.05 > ANY (took);
		END LOOP;
		RETURN (SELECT min(t) FROM unnest(took) AS t);
	END $$;
});
$hipq->sql('CALL make_queues(1, 500)');
my $many = screen([ '--sort', 'queue' ], columns => 100);
ok($many->shows(qr/^busy .*502 queues.*^app\.mail .*^app\.other .*^many\.queue_aab /ms), '502 queues');
$many->press('End');
ok($many->shows(qr/^many\.queue_faa /m), '... to the last of them');
$many->press('j');
ok($many->shows(qr/newest.*^ *\d+ work +waiting/ms), '... and its jobs');
$many->press('Enter');
ok($many->shows(qr/Why it waits.*^  worker /ms), '... and one of these');
$hipq->in_time($hipq->sql(qq{SELECT takes('$_->[0]')}), 0.05, "$_->[1]: less than 50 ms") foreach
  [ 'SELECT * FROM hipq.top(lines => NULL)', 'all queues' ],
  [ 'SELECT * FROM hipq.activity_detail WHERE queue = $$many.queue_faa$$', 'a queue' ],
  [ 'SELECT * FROM hipq.workers_detail', 'workers' ],
  [ 'SELECT * FROM hipq.executors_detail', 'executors' ],
  [ 'SELECT * FROM hipq.attempts_detail WHERE queue = $$many.queue_faa$$ AND job_id = 1', 'attempts' ],
  [ 'SELECT * FROM hipq.dead_letters_detail WHERE queue = $$app.mail$$ ORDER BY died_time DESC, job_id DESC LIMIT 500', 'dead letters' ];

$hipq->node->stop;
done_testing();
