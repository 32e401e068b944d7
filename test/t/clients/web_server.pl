# hipq-web signs roles in, and shows and does what each role may see and do. It searches jobs, sends
# live figures, and rejects requests of other sites.
use strict;
use warnings;
use HipqCluster;
use HipqWeb;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

plan skip_all => 'hipq-web was not built: libcpp-httplib-dev, libssl-dev or nlohmann-json3-dev is '
	. 'missing' unless defined HipqWeb::program();
my $hipq = HipqCluster->new('web_server', 'hipq.worker_grace' => '500ms');
$hipq->sql(<<'END');
CREATE ROLE eyes LOGIN PASSWORD 'eyes';
CREATE ROLE hands LOGIN PASSWORD 'hands';
CREATE ROLE monitor LOGIN PASSWORD 'monitor' IN ROLE pg_monitor;
CREATE ROLE nobody LOGIN PASSWORD 'nobody';
CREATE ROLE asleep NOLOGIN PASSWORD 'asleep';
CREATE FUNCTION work(job hipq.job) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
    RAISE NOTICE 'job % says hello', job.id;
    IF job.job_data ? 'fault' THEN
        RAISE EXCEPTION '%', job.job_data->>'fault' USING ERRCODE = '22023';
    END IF;
    RETURN job.job_data->'n';
END $$;
END
$hipq->create_queue($_) foreach 'app.mail', 'app.other';
$hipq->sql(<<'END');
SELECT hipq.register_job_type('app.mail', 'welcome', handler => 'work', attempt_log => true,
    max_retries => 0, parameters => '{
        "token": {"type": "string", "required": false, "secret": true},
        "n": {"type": "integer"}, "fault": {"type": "string", "required": false}}');
SELECT hipq.register_job_type('app.other', 'thing', handler => 'work');
SELECT hipq.grant_queue('app.mail', 'eyes', 'read');
SELECT hipq.grant_queue('app.mail', 'hands', p) FROM unnest('{read,control}'::text[]) AS p;
INSERT INTO hipq.app_mail (job_type, job_key, job_data)
    SELECT 'welcome', 'key-' || n, jsonb_build_object('n', n, 'token', 'secret')
    FROM generate_series(1, 20) AS n;
INSERT INTO hipq.app_mail (job_type, job_key, job_data)
    SELECT 'welcome', 'bad-' || n, jsonb_build_object('n', n, 'fault', 'No Mailbox')
    FROM generate_series(1, 3) AS n;
INSERT INTO hipq.app_mail (job_type, job_key, job_data, scheduled_run_time)
    SELECT 'welcome', 'late-' || n, jsonb_build_object('n', n), now() + interval '1 day'
    FROM generate_series(1, 60) AS n;
INSERT INTO hipq.app_other (job_type, job_data) VALUES ('thing', '{"n": 1}');
END
$hipq->ask_for_passwords(qw(eyes hands monitor nobody asleep));
ok($hipq->node->poll_query_until('postgres',
		q{SELECT count(*) = 24 FROM hipq.jobs_detail WHERE state = 'final'}), 'the jobs have run');
my $web = HipqWeb->new($hipq);

sub status_is
{
	my ($response, $status, $name) = @_;
	return is($response->{status}, $status, $name) || diag($response->{content});
}
sub problem
{
	my ($response) = @_;
	return $response->{json}{error}{message} // $response->{content};
}
sub ids { return join ' ', map { $_->{id} } @{ $_[0]->{json}{jobs} }; }
sub expected_ids
{
	my ($where) = @_;
	return $hipq->sql(
		"SELECT string_agg(id::text, ' ' ORDER BY id DESC) FROM hipq.jobs_detail WHERE $where");
}

# ---- the page, and its headers

my $stranger = $web->browser;
my $page = $stranger->get('/');
status_is($page, 200, 'the page is served');
like($page->{headers}{'content-security-policy'},
	qr/^default-src 'none'; script-src 'self'; style-src 'self';/,
	'the page has a strict content policy');
is($page->{headers}{'x-content-type-options'}, 'nosniff',
	"browsers must not guess the page's type");
unlike($page->{headers}{'content-security-policy'}, qr/unsafe/,
	'the content policy allows no inline code');
status_is($stranger->get('/', 'If-None-Match' => $page->{headers}{etag}), 304,
	'an unchanged page is not sent again');
status_is($stranger->get('/nothing.js'), 404, 'a missing file is not found');
status_is($stranger->get("/$_"), 404, "a path out of it is not found: $_") foreach '../README.md',
	'%2e%2e/README.md', '..%2fREADME.md', 'js/../../README.md', 'js';

# ---- signing in

is($stranger->get('/api/session')->{json}{signed_in}, JSON::PP::false,
	'a new browser is not signed in');
status_is($stranger->get("/api/$_"), 401, "$_ is refused without signing in")
	foreach qw(queues jobs/1 events settings alerts);
status_is($stranger->post('/api/jobs/search'), 401, 'a search is refused without signing in');
status_is($stranger->sign_in('eyes', 'wrong'), 401, 'a wrong password is refused');
my $wrong = problem($stranger->sign_in('eyes', 'wrong'));
is(problem($stranger->sign_in($_, 'x')), $wrong,
	"role $_ gets the same answer as a wrong password") foreach qw(unheard_of asleep);
status_is($stranger->sign_in('postgres', 'x'), 403,
	'a role for which the server needs no password is refused');
status_is($stranger->sign_in('eyes', ''), 400, 'an empty password is refused');
status_is($stranger->sign_in("eyes\0x", 'eyes'), 400, 'a role name with a null byte is refused');
{
	local $ENV{PGPASSWORD} = 'eyes';
	my $with = HipqWeb->new($hipq, env => { PGPASSWORD => 'eyes' });
	status_is($with->browser->sign_in('eyes', 'wrong'), 401,
		'hipq-web does not use its own password for another role');
	is($with->stop, 0, 'hipq-web with its own password ends by SIGTERM');
}
my $eyes = $web->browser;
my $session = $eyes->sign_in('eyes');
status_is($session, 200, 'a role signs in with its password');
like($session->{headers}{'set-cookie'},
	qr/^hipq-\d+=[0-9a-f]{64}\.[0-9a-f]{64}; Path=\/; HttpOnly; SameSite=Strict$/,
	'the session has a signed cookie');
is($session->{headers}{'cache-control'}, 'no-store', 'the session must not be cached');
is_deeply({ %{ $session->{json} }{qw(role database may_monitor read_only service)} },
	{ role => 'eyes', database => 'postgres', may_monitor => JSON::PP::false,
			read_only => JSON::PP::false, service => JSON::PP::false },
		'the session has the role and its rights');
is($eyes->get('/api/session')->{json}{role}, 'eyes', 'a session stays signed in');
like($hipq->sql(q{SELECT string_agg(application_name, ' ') FROM pg_stat_activity
		WHERE usename = 'eyes'}), qr/^hipq-web$/,
	'the session has its own connection with an application name');
my $forged = $web->browser;
$forged->{cookie} = $eyes->{cookie} =~ s/.$/$& eq '0' ? '1' : '0'/er;
status_is($forged->get('/api/queues'), 401, 'a cookie with a wrong signature is refused');

# ---- requests of other sites

status_is($eyes->post('/api/jobs/search', {}, 'X-CSRF-Token' => 'x' x 64), 403,
	'a POST needs the token of the session');
status_is($eyes->post('/api/jobs/search', {}, Origin => 'http://evil.example'), 403,
	'a POST needs the origin of the page');
status_is($eyes->post('/api/jobs/search', {}, 'Sec-Fetch-Site' => 'cross-site'), 403,
	'a POST must not be cross-site');
status_is($web->browser(Origin => 'http://evil.example')->sign_in('eyes'), 403,
	'another site cannot sign in');
status_is($eyes->post('/api/jobs/search', '[1]'), 400, 'a body that is not an object is refused');
{
	# A host name of another site that resolves to this machine.
	my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $web->{port}) or die $!;
	print $socket "GET /api/session HTTP/1.1\r\nHost: "
		. "evil.example:$web->{port}\r\nConnection: close\r\n\r\n";
	like(join('', <$socket>), qr/^HTTP\/1.1 421 /,
		'a request with the host name of another site is refused');
}

# ---- each role sees its queues

my %browser = (eyes => $eyes);
foreach my $role (qw(hands monitor))
{
	status_is(($browser{$role} = $web->browser)->sign_in($role), 200, "$role signs in");
}
is($web->browser->sign_in('nobody')->{json}{error}{sqlstate}, '42501',
	'a role without rights on any queue gets an error');
my %queues = (eyes => 'app.mail', hands => 'app.mail', monitor => 'app.mail app.other');
foreach my $role (sort keys %queues)
{
	my $answer = $browser{$role}->get('/api/queues');
	is(join(' ', map { $_->{queue} } @{ $answer->{json}{queues} }), $queues{$role},
		"$role sees its queues");
}
status_is($eyes->get('/api/queues/app.other'), 404,
	'a queue on which the role has no right is not found');
my $mail = $eyes->get('/api/queues/app.mail')->{json};
is_deeply([ map { $_->{job_type} } @{ $mail->{job_types} } ], ['welcome'],
	'a queue is shown with its job types');
is_deeply($mail->{may}, { read => JSON::PP::true, control => JSON::PP::false },
	'a queue is shown with the rights of the role');
is($mail->{queue}{owner}, 'app', 'a queue is shown with its settings');
is((grep { !defined $_->{job_type} && $_->{period} eq 'total' } @{
		$mail->{statistics} })[0]{succeeded}, 20, 'a queue is shown with its statistics');
like(join(' ', map { $_->{kind} } @{ $mail->{sizes} }), qr/^live( final)+$/,
	'a queue is shown with its sizes');
is($eyes->get('/api/alerts')->{json}{error}{sqlstate}, '42501',
	'only members of pg_monitor may see alerts');
status_is($browser{monitor}->get("/api/$_"), 200, "the monitor sees $_") foreach qw(alerts doctor
	job-types workers executors schedules pauses settings throughput dead-letters/groups);
is_deeply([ @{ $browser{monitor}->post('/api/jobs/search')->{json} }{qw(jobs hidden)} ], [ [], 2 ],
	'the monitor gets no jobs, and the number of hidden queues');
is(problem($browser{monitor}->post('/api/jobs/search', { queue => 'app.mail' })),
	'permission denied for table app_mail',
	"the error of a refused search is the server's message");

# ---- searches

my $search = sub { return $eyes->post('/api/jobs/search', $_[0]); };
is(ids($search->({ limit => 10 })), $hipq->sql(q{SELECT string_agg(id::text, ' ')
		FROM (SELECT id FROM hipq.app_mail ORDER BY id DESC LIMIT 10) AS newest}),
	'a search without conditions finds the newest jobs');
my ($pages, $seen, $after) = (0, '');
do { my $part = $search->({ limit => 25, after => $after }); $seen .= ids($part) . ' ';
	$after = $part->{json}{next}; $pages++ } while defined $after && $pages < 20;
is($seen =~ s/ $//r, expected_ids(q{queue = 'app.mail'}),
	"all pages of a search have each job once ($pages pages)");
foreach my $case (
	[ { outcome => 'failed' }, q{outcome = 'failed'} ],
	[ { outcome => 'succeeded' }, q{outcome = 'succeeded' AND queue = 'app.mail'} ],
	[ { outcome => 'waiting', limit => 100 }, q{outcome = 'waiting'} ],
	[ { outcome => 'running' }, 'false' ],
	[ { job_key => 'key-7' }, q{job_key = 'key-7'} ],
	[ { job_type => 'welcome', job_key => 'late-1' }, q{job_key = 'late-1'} ],
	[ { job_type => 'thing' }, 'false' ],
	[ { error => 'no mail' }, q{error ILIKE '%no mail%'} ],
	[ { contains => { n => 2 } }, q{job_data @> '{"n": 2}' AND queue = 'app.mail'} ],
	[ { queue => 'app.mail', outcome => 'failed', contains => { n => 2 } }, q{job_key = 'bad-2'} ],
	[ { from => '2001-01-01T00:00:00Z', to => '2001-01-02T00:00:00Z' }, 'false' ])
{
	my ($conditions, $where) = @$case;
	my $found = $search->({ limit => 100, %$conditions });
	is(ids($found), expected_ids($where) ,
		'a search finds the jobs: ' . JSON::PP->new->canonical->encode($conditions))
			or diag($found->{content});
	is_deeply([ @{ $found->{json} }{qw(next partial)} ], [ undef, JSON::PP::false ],
		'a search with a large limit has one page');
}
status_is($search->($_), 400, 'a wrong search is refused: ' . JSON::PP->new->encode($_))
	foreach { outcome => 'odd' }, { limit => 0 }, { id => 'x' }, { job_key => 7 },
	{ contains => 'x' }, { contains => '"x"' }, { contains => 7 }, { after => 'x' };
is($search->({ from => 'soon' })->{json}{error}{sqlstate}, '22007',
	'the server refuses a wrong time');
status_is($search->({ queue => 'app.other' }), 404,
	'a search of a queue on which the role has no right is refused');

# ---- a job

my ($bad, $late, $other) = split /\|/, $hipq->sql(
	q{SELECT max(id) FILTER (WHERE job_key = 'bad-2'), max(id) FILTER (WHERE job_key = 'late-1'),
	max(id) FILTER (WHERE queue = 'app.other') FROM hipq.jobs});
foreach my $path ("/api/jobs/$bad", "/api/jobs/$bad?queue=app.mail")
{
	my $job = $eyes->get($path)->{json};
	is_deeply({ %{ $job->{job} }{qw(id queue outcome error)} }, { id => $bad, queue => 'app.mail',
			outcome => 'failed', error => 'No Mailbox' }, "a job is shown: $path");
	like($job->{job}{job_data_text}, qr/^    "fault": "No Mailbox"$/m,
		"$path: the data are formatted");
	is_deeply([ map { $_->{sqlstate} } @{ $job->{attempts} } ], ['22023'],
		"$path: the attempts are shown");
	is_deeply([ map { $_->{message} } @{ $job->{log} } ], [ "job $bad says hello", 'No Mailbox' ],
		"$path: the log is shown");
	is_deeply([ map { $_->{job_id} } @{ $job->{chain} } ], [$bad], "$path: the chain is shown");
	is($job->{dead_letter}{state}, 'waiting', "$path: the dead letter is shown");
	is(may($eyes, $bad), '', "$path: a role with read alone gets no actions");
}
like($eyes->get('/api/jobs/' . $hipq->sql(q{SELECT max(id) FROM hipq.jobs
		WHERE job_key = 'key-1'}))->{json}{job}{job_data_text}, qr/"token": "\*\*\*"/,
	'a secret is masked');
is((grep { !$_->{passed} } @{ $eyes->get("/api/jobs/$late")->{json}{why} })[0]{condition},
	'scheduled time', 'the unmet condition of a waiting job is shown');
my $held = $hipq->enqueue('welcome',
	qq{'{"n": 1}', queue => 'app.mail', after => ARRAY[$late], on_failure => 'skip'});
is(ids($search->({ outcome => 'held' })), $held, 'a job that waits for another one is found');
is_deeply([ @{ $eyes->get("/api/jobs/$held")->{json}{job} }{qw(outcome is_held)} ],
	[ 'waiting', JSON::PP::true ], 'a job that waits for another one is held');
my $held_in = sub { return $_[0]->get('/api/queues/app.mail')->{json}{held} };
is_deeply($held_in->($eyes), [ { held => 1 } ], 'the held jobs of a queue are counted');
is_deeply($held_in->($browser{monitor}), [], 'not for a role that may not read them');

# ---- graphs

my $graph = $hipq->sql(q{SELECT min(id) FROM hipq.enqueue_graph('[
	{"name": "first", "job_type": "welcome", "job_data": {"n": 1}},
	{"name": "last", "job_type": "welcome", "job_data": {"n": 2}, "after": ["first"],
		"scheduled_run_time": "2100-01-01 00:00:00+00"}]', queue => 'app.mail')});
is($hipq->outcome($graph), 'succeeded', 'the first job of the graph has run');
my $listed = $eyes->get('/api/graphs')->{json}{graphs};
is_deeply([ map { @{$_}{qw(graph_id jobs waiting succeeded names queues)} } @$listed ],
	[ $graph, 2, 1, 1, [qw(first last)], ['app.mail'] ], 'a graph is listed with its jobs');
is_deeply($eyes->get("/api/graphs?before=$graph")->{json}{graphs}, [], 'there is no older one');
is_deeply($browser{monitor}->get('/api/graphs')->{json}{graphs}, [],
	'a role that may not read the jobs sees no graph');
my $jobs = $eyes->get("/api/graphs/$graph")->{json}{jobs};
is_deeply([ map { [ @{$_}{qw(name outcome after)} ] } @$jobs ],
	[ [ 'first', 'succeeded', [] ], [ 'last', 'waiting', ['first'] ] ],
	'a graph is shown with its jobs');
is_deeply($eyes->get("/api/jobs/$jobs->[1]{job_id}")->{json}{graph},
	{ graph_id => $graph, name => 'last' }, 'a job is shown with its graph');
status_is($browser{monitor}->get("/api/graphs/$graph"), 404, 'nor does it find its jobs');
$hipq->sql("SELECT hipq.cancel_graph($graph)");
my $numbers = '{"id": 12345678901234567890123, "size": 1e400}';
my $exact = $hipq->sql("INSERT INTO hipq.app_mail (job_type, job_data, scheduled_run_time)
	VALUES ('welcome', '$numbers', now() + interval '1 day') RETURNING id");
like($eyes->get("/api/jobs/$exact")->{json}{job}{job_data_text}, qr/"id": 12345678901234567890123,/,
	'numbers in job_data keep all their digits');
is(ids($search->({ contains => $numbers })), $exact, 'a job is found by a number with many digits');
is(ids($search->({ contains => $numbers =~ s/23,/24,/r })), '',
	'a job is not found by a number that differs in one digit');
status_is($eyes->get("/api/jobs/$other"), 404,
	'a job of a queue that the role cannot read is not found');
status_is($eyes->get('/api/jobs/999999999999'), 404, 'a missing job is not found');

# ---- actions

# Returns the actions that the page of a job offers.
sub may
{
	my ($who, $id) = @_;
	my $may = $who->get("/api/jobs/$id")->{json}{may};
	return join ' ', sort grep { $may->{$_} } keys %$may;
}

my $denied = $eyes->post('/api/jobs/cancel', { ids => [$late] })->{json};
is_deeply([ $denied->{done}, $denied->{refused}[0]{sqlstate} ], [ 0, '42501' ],
	'a role with read alone cannot cancel a job');
is($hipq->sql("SELECT outcome FROM hipq.jobs WHERE id = $late"), 'waiting',
	'a refused cancellation changes nothing');
my $hands = $browser{hands};
is(may($hands, $late), 'cancel reschedule',
	'a role with control may cancel and reschedule a waiting job');
is(may($hands, $bad), 'dead_letter retry',
	'a role with control may retry a final job and manage its dead letter');
$hipq->sql(q{SELECT hipq.grant_queue('app.mail', 'eyes', 'operate')});
is(may($eyes, $late), 'cancel reschedule',
	'a role with operate may cancel and reschedule a waiting job');
is(may($eyes, $bad), 'retry', 'a role with operate may retry a final job only');
$hipq->sql(q{SELECT hipq.revoke_queue('app.mail', 'eyes', 'operate')});
is($hands->post('/api/jobs/reschedule',
		{ id => $late, time => '2030-01-02T03:04:05Z' })->{json}{done}, 1, 'a job is rescheduled');
is($hipq->sql("SELECT scheduled_run_time AT TIME ZONE 'UTC' FROM hipq.jobs WHERE id = $late"),
	'2030-01-02 03:04:05', 'a rescheduled job has its new time in the database');
my $cancelled = $hands->post('/api/jobs/cancel',
	{ ids => [ $late, $bad, '999999999999' ], reason => 'by hand' })->{json};
is_deeply([ $cancelled->{done}, map { $_->{id} } @{ $cancelled->{refused} } ],
	[ 1, $bad, '999999999999' ], 'of several jobs those that can be cancelled are cancelled');
$hipq->outcome($held);
is(ids($search->({ outcome => 'skipped' })), $held, 'a skipped job is found');
is(ids($search->({ outcome => 'failed' })), expected_ids(q{outcome = 'failed'}),
	'a skipped job has not failed');
is($hipq->sql("SELECT error FROM hipq.jobs_detail WHERE id = $late"), 'cancelled: by hand',
	'a job cancelled in hipq-web has its reason');
my $retried = $hands->post('/api/jobs/retry', { ids => [$bad], reason => 'once more' })->{json};
my $again = $hipq->sql("SELECT id FROM hipq.jobs_detail WHERE retry_of = $bad");
is_deeply([ @{$retried}{qw(done new)} ], [ 1, { $bad => $again } ],
	'retrying a job returns the id of the new job');
$hipq->outcome($again);
is_deeply([ map { $_->{job_id} } @{ $hands->get("/api/jobs/$again")->{json}{chain} } ],
	[ $bad, $again ], 'the chain of a retried job has both jobs');
status_is($hands->post('/api/jobs/cancel', { ids => $_ }), 400,
	'wrong ids are refused: ' . JSON::PP->new->encode($_))
		foreach [], ['1; DROP TABLE'], [ ('1') x 501 ];
is($hands->post('/api/pauses', { queue => 'app.mail', job_type => 'welcome',
		reason => 'tea' })->{json}{done}, JSON::PP::true, 'a job type is paused');
is_deeply([ map { "$_->{queue} $_->{job_type} $_->{paused_by} $_->{reason}" } @{ $hands->get(
		'/api/pauses')->{json}{pauses} } ], ['app.mail welcome hands tea'],
	'the pause of a job type is shown');
is($hands->post('/api/pauses/resume', { queue => 'app.mail', job_type => 'welcome' })->{json}{done},
	JSON::PP::true, 'a job type is resumed');
$hands->post('/api/pauses', { queue => 'app.mail', job_type => 'welcome', throttle_key => 'ann' });
is($hipq->sql('SELECT throttle_key FROM hipq.pauses'), 'ann', 'a throttle key is paused');
$hipq->sql(q{SELECT hipq.pause('app.mail', 'welcome', 'ann', until => '2100-01-01 UTC')});
is($hands->get('/api/pauses')->{json}{pauses}[0]{paused_until}, '2100-01-01T00:00:00+00:00',
	'the end of a pause is shown');
is($hands->post('/api/pauses/resume', { queue => 'app.mail', job_type => 'welcome',
		throttle_key => 'ann' })->{json}{done}, JSON::PP::true, 'a throttle key is resumed');
status_is($eyes->post('/api/pauses', { queue => 'app.mail' }), 403,
	'a role without control may not pause a queue');

# ---- dead letters

my $letters = $hands->post('/api/dead-letters/search', { queue => 'app.mail', limit => 2 })->{json};
is(scalar @{ $letters->{dead_letters} }, 2, 'a search of dead letters has pages');
is(scalar @{ $hands->post('/api/dead-letters/search',
		{ queue => 'app.mail', since => '2100-01-01' })->{json}{dead_letters} }, 0,
	'a search of dead letters in the future finds none');
my $rest = $hands->post('/api/dead-letters/search',
	{ queue => 'app.mail', limit => 2, after => $letters->{next} })->{json};
is(join(' ', sort { $a <=> $b } map { $_->{job_id} } @{ $letters->{dead_letters} },
		@{ $rest->{dead_letters} }),
	$hipq->sql(q{SELECT string_agg(job_id::text, ' ' ORDER BY job_id) FROM hipq.dead_letters}),
		'all pages of a search have each dead letter once');
is_deeply([ map { "$_->{job_type} $_->{reason} $_->{dead_letters}" } @{ $hands->get(
		'/api/dead-letters/groups')->{json}{groups} } ], ['welcome invalid_parameters 4'],
	'dead letters are counted by reason');
is($hands->post('/api/dead-letters/dismiss', { ids => [$again] })->{json}{done}, 1,
	'one dead letter is dismissed');
is($hands->post('/api/dead-letters/redrive', { queue => 'app.mail', job_type => 'welcome',
		reason => 'invalid_parameters', limit => 10 })->{json}{done}, 2,
	'redriving by reason redrives the waiting dead letters');
is($eyes->post('/api/dead-letters/redrive', { queue => 'app.mail' })->{json}{error}{sqlstate},
	'42501', 'a role without control cannot redrive');

# ---- live figures

my @events = $eyes->events(sub { @_ >= 2 });
is($events[0]{data}{whole}, JSON::PP::true, 'the first event has all figures');
is_deeply([ map { $_->{queue} } @{ $events[0]{data}{queues} } ], ['app.mail'],
	"the first event has the role's queues");
cmp_ok($events[0]{data}{queues}[0]{total}{succeeded}, '>=', 20, 'the first event has the counters');
is($events[1]{data}{whole}, JSON::PP::false, 'the next event has the changes');
ok(!exists $events[0]{data}{alerts}, 'a role without pg_monitor gets no alerts');
my ($first) = $browser{monitor}->events(sub { @_ >= 1 });
ok(exists $first->{data}{alerts}{alarm}, 'a member of pg_monitor gets alerts');
is(join(' ', sort map { $_->{queue} } @{ $first->{data}{queues} }), 'app.mail app.other',
	'a member of pg_monitor gets all queues');

# ---- sessions that end

my $leaving = $web->browser;
$leaving->sign_in('eyes');
status_is($leaving->post('/api/sign-out'), 200, 'a role signs out');
status_is($leaving->get('/api/queues'), 401, 'a session that signed out is refused');
ok($hipq->node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity
		WHERE usename = 'eyes'}), 'the connection of a role that signed out is closed');
$hipq->sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'hands'});
status_is($hands->get('/api/queues'), 503, 'a request on a lost connection gets status 503');
status_is($hands->get('/api/queues'), 401, 'a lost connection ends the session');

# ---- the limit for wrong passwords

my $thief = $web->browser;
my $tries = 0;
my $limited;
until (($limited = $thief->sign_in('hands', 'wrong'))->{status} == 429 || ++$tries >= 15) { }
status_is($limited, 429, "after $tries wrong passwords further tries are refused");
cmp_ok($limited->{headers}{'retry-after'}, '>=', 1, 'the refusal says when the limit ends');
status_is($thief->sign_in('hands'), 429, 'at the limit the right password is refused');
status_is($thief->get('/metrics'), 404, 'hipq-web without --service serves no metrics');
is($web->stop, 0, 'hipq-web ends by SIGTERM');

# ---- the service

my $service = HipqWeb->new($hipq, arguments => ['--service'],
	env => { PGUSER => 'hands', PGPASSWORD => 'hands' });
my $viewer = $service->browser;
is_deeply({ %{ $viewer->get('/api/session')->{json} }{qw(role read_only service)} },
	{ role => 'hands', read_only => JSON::PP::true, service => JSON::PP::true },
	'a service has the role of its connection, and is read-only');
is(ids($viewer->post('/api/jobs/search', { outcome => 'failed', limit => 100 })),
	expected_ids(q{outcome = 'failed'}), 'the service searches jobs');
is(may($viewer, $bad), '', 'the service offers no actions');
status_is($viewer->post($_, { ids => [$bad], queue => 'app.mail' }), 403, "the service refuses $_")
	foreach qw(/api/jobs/cancel /api/jobs/retry /api/pauses /api/dead-letters/redrive);
status_is($viewer->sign_in('eyes'), 403, 'a service refuses to sign in');
status_is($viewer->get('/healthz'), 200, 'a healthy service reports its health');
my $metrics = $viewer->get('/metrics');
like($metrics->{headers}{'content-type'}, qr{^application/openmetrics-text; version=1\.0\.0},
	'the metrics are OpenMetrics');
like($metrics->{content}, qr/^hipq_jobs_failed_total\{.*queue="app\.mail".*\} [1-9].*^# EOF\n\z/ms,
	'the metrics are complete');
$hipq->node->restart;
status_is($viewer->get('/api/queues'), 200, 'a service answers after a restart of the server');
$hipq->node->stop;
status_is($viewer->get($_), 503, "a service answers $_ with 503 without the server")
	foreach qw(/healthz /metrics);
$hipq->node->start;
status_is($viewer->get($_), 200, "a service answers $_ after the server has started")
	foreach qw(/healthz /metrics);
is($service->stop, 0, 'a service ends by SIGTERM');

# ---- behind a proxy

my $port = PostgreSQL::Test::Cluster::get_free_port();
my $name = "jobs.example.com:$port";
my $proxied = HipqWeb->new($hipq, port => $port,
	arguments => [ '--behind-proxy', "https://$name" ]);
my $far = $proxied->browser(url => "http://$name", Origin => "https://$name",
	'X-Forwarded-For' => '1.2.3.4');
like($far->sign_in('eyes')->{headers}{'set-cookie'}, qr/^__Host-hipq=.*; Secure$/,
	'behind a proxy with TLS the cookie is for TLS only');
like($far->get('/api/session')->{headers}{'strict-transport-security'}, qr/max-age/,
	'behind a proxy with TLS the session tells browsers to use only TLS');
status_is($proxied->browser(%$_)->get('/api/session'),
	421, 'a request without the host name of the proxy is refused')
	foreach {}, { 'X-Forwarded-Host' => $name };
is($proxied->stop('INT'), 0, 'hipq-web behind a proxy ends by SIGINT');

# ---- a socket that accepts no more connections

# Gets the listening socket of a process as a descriptor of this process, by pidfd_open() and
# pidfd_getfd(), which have these numbers on every machine. Returns nothing if the kernel does not
# allow it.
sub listener_of
{
	my ($pid, $on) = @_;
	my ($inode) = slurp_file('/proc/net/tcp')
		=~ /^ *\d+: \w+:@{[ sprintf '%04X', $on ]} \w+:\w+ 0A (?:\S+ +){5}(\d+) /m or return;
	my ($theirs) = map { m{/(\d+)$} } grep {
		(readlink($_) // '') eq "socket:[$inode]" } glob "/proc/$pid/fd/*" or return;
	my $process = syscall(434, $pid, 0);
	my $descriptor = $process < 0 ? -1 : syscall(438, $process, 0 + $theirs, 0);
	return if $descriptor < 0;
	open my $socket, '+<&=', $descriptor or return;
	return $socket;
}

SKIP: {
	my $deaf = HipqWeb->new($hipq, arguments => ['--service'],
		env => { PGUSER => 'hands', PGPASSWORD => 'hands' });
	my $socket = listener_of($deaf->pid, $deaf->{port})
		or skip 'the kernel lends no descriptors of other processes', 3;
	my $last = $deaf->browser;
	$last->get('/api/session');
	my $seen = 0;
	my @last = $last->events(sub { shutdown($socket, 2)
			if @_ && !$seen++; return @_ >= 20 || grep { $_->{name} eq 'bye' } @_ });
	is((map { $_->{name} } @last)[-1], 'bye',
		'viewers get an end event if no more connections are accepted');
	is($deaf->exit_code, 1,
		'hipq-web whose socket accepts no connections exits with 1, to be restarted');
	like($deaf->said, qr/^hipq-web: no more connections can be taken$/m,
		'the log says that hipq-web accepts no more connections');
}

# ---- options

foreach my $case (
	[ qr/others could read passwords/, '--listen', '0.0.0.0:8484' ], [ qr/needs HOST:PORT/,
		'--listen', '::1:8484' ], [ qr/there is no option --nope/, '--nope' ],
	[ qr/needs a value/, '--listen' ], [ qr/without a path/, '--behind-proxy', 'https://a/b' ],
		[ qr/--dbname: missing "="/, '--dbname', 'host=a b' ],
	[ qr/takes no value/, '--service=1' ], [ qr/there is no page in/, '--page', '/nonexistent' ],
		[ qr/whole number from 1/, '--idle', '0' ])
{
	my ($expected, @arguments) = @$case;
	my ($code, undef, $err) = HipqWeb::answer(@arguments);
	is($code, 64, 'refused: @arguments');
	like($err, $expected, 'the error says why: @arguments');
}
my ($code, $out) = HipqWeb::answer('--help');
is($code, 0, '--help exits with 0');
foreach my $option ($out =~ /^ +(?:-\w, )?--([\w-]+)/mg)
{
	like(slurp_file("$ENV{HIPQ_ROOT}/clients/web/hipq-web.1"),
		qr/\\-\\-\Q@{[ $option =~ s{-}{\\-}gr ]}\E\b/, "the manual page has --$option");
}
like((HipqWeb::answer('--version'))[1], qr/^hipq-web \d+\.\d+\.\d+$/,
	'--version prints the version');
done_testing();
