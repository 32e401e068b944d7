# hipq-run --batch: one program for all jobs, a line of JSON for each; what becomes of them when it is wrong, hangs or dies.
use strict;
use warnings;
use HipqCluster;
use HipqRun;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'hipq-run was not built: nlohmann-json3-dev or libcurl4-openssl-dev is missing' unless defined HipqRun::program();
my $hipq = HipqCluster->new('run_batch', 'hipq.worker_grace' => '500ms', 'hipq.health_enabled' => 'off');
HipqRun::create_queue($hipq, 'line');
my $there = PostgreSQL::Test::Utils::tempdir_short();

# Answers a job with the member "say" of its data, %d being its id; dies for "die", and says nothing for "nothing".
append_to_file("$there/program.pl", <<'END');
use strict; use warnings; use JSON::PP; $| = 1;
print STDERR "started $$\n";
while (my $line = <STDIN>)
{
	my $job = decode_json($line);
	if ($job->{over}) { print STDERR "over $job->{id}\n"; print qq({"id": $job->{id}, "result": "late"}\n) if $ENV{HEEDS}; next; }
	my $say = $job->{data}{say};
	if ($say eq 'die') { print STDERR "no way\n"; exit 7; }
	if ($say eq 'all') { print encode_json({ id => $job->{id}, result => { map { $_ => $job->{$_} } grep { $_ ne 'deadline' } sort keys %$job } }), "\n"; next; }
	next if $say eq 'nothing';
	print $say =~ s/%d/$job->{id}/gr, "\n";
}
print STDERR "stdin has ended\n";
END
my @worker = ('--queue', 'app.run', '--types', 'line', '--batch', '--kill-after', 1);
my @program = ('--', 'perl', "$there/program.pl");
my $run = HipqRun->new($hipq, arguments => [ @worker, '--jobs', 3, @program ], env => { HEEDS => 1 });
ok($run->is_ready, 'it registers');
sub enqueue { my ($say, $rest) = @_; return $hipq->enqueue('line', sprintf q{jsonb_build_object('say', $say$%s$say$), queue => 'app.run'%s}, $say, $rest // ''); }
sub job { my ($id) = @_; $hipq->outcome($id); return $hipq->sql("SELECT concat_ws(' ', outcome, result, error) FROM hipq.jobs_detail WHERE id = $id"); }
sub starts { return scalar grep { $_->{event} eq 'stderr' && $_->{message} =~ /^started/ } $run->entries; }

my $id = enqueue('{"id": %d, "result": {"sent": true}}');
is(job($id), 'succeeded {"sent": true}', 'an answer is a line');
my $numbers = '[12345678901234567890123, 1.10]';
is(job(enqueue(qq({"id": %d, "result": $numbers}))), "succeeded $numbers",
	'numbers keep all their digits');
is(job(enqueue('{"id": %d, "result": 1e400}')), 'succeeded 1' . '0' x 400,
	'... those that no double holds');
like(job($id = enqueue('{"id": %d, "result": NaN}')), qr/^failed invalid input syntax for type json/,
	'what is no JSON fails the job');
is($hipq->attempts($id), '1 explicit_failure', '... for good');
is(job(enqueue('{"id": %d, "error": "no luck"}')), 'failed no luck', 'an error is tried again');
is(job($id = enqueue('{"id": %d, "error": "no hope", "retriable": false}')), 'failed no hope', '... or not');
is($hipq->attempts($id), '1 explicit_failure', '... for good');
$id = enqueue('{"id": %d, "error": "busy", "retry_after": "7 min"}');
ok($hipq->wait_until("SELECT concat_ws(' ', state, retry_count, extract(epoch FROM scheduled_run_time - update_time), error) FROM hipq.jobs_detail WHERE id = $id",
	'retry 1 420.000000 busy'), '... or later');
$hipq->sql("SELECT hipq.cancel($id)");
is(job($id = enqueue('{"id": %d, "error": "busy", "retry_after": ["soon"]}')), 'failed busy', '... as usual if that is no delay');
is($hipq->attempts($id), '1 transient_error, 2 transient_error', '... which is tried again');
ok($run->logs('answer refused', qr/soon/), '... and logged');
$id = enqueue('all', q{, job_key => 'the key'});
is($hipq->result($id), qq({"id": $id, "key": "the key", "data": {"say": "all"}, "type": "line", "queue": "app.run", "attempt": 1, "max_retries": 1, "retry_count": 0}),
	'the job is in its line');
ok($run->wait_for(sub { starts() == 1 }), 'all of that is one program');

$id = enqueue("not JSON\n{\"id\": %d}\n{\"id\": 0, \"result\": 1}\n{\"id\": %d, \"progress\": 3, \"total\": 10, \"message\": \"on\"}\n{\"id\": %d, \"extend\": \"1 h\"}");
ok($hipq->wait_until("SELECT percent || ' ' || message FROM hipq.progress WHERE id = $id", '30.0 on'), 'progress is seen');
ok($hipq->wait_until("SELECT deadline > now() + '50 min' FROM hipq.running_detail WHERE id = $id"), 'more time is given');
ok($run->logs('answer not understood', $_), "a wrong line is logged: $_") foreach qr/^not a JSON object: not JSON/, qr/^no member "result"/, qr/^job 0 does not run/;
$hipq->sql("SELECT hipq.cancel($id)");
ok($run->logs('stderr', qr/^over $id$/), 'the program is told of a cancelled job');
is(job(enqueue('{"id": %d, "result": 1}')), 'succeeded 1', 'and works on, if it heeds that');
ok($run->wait_for(sub { starts() == 1 }), '... the same one');

$id = enqueue('nothing');
ok($hipq->wait_until("SELECT is_accepted FROM hipq.running_detail WHERE id = $id"), 'a job waits for its answer');
like(job(enqueue('die', q{, max_retries => 0})), qr/^failed the program ended with this job: exit code 7: started.*\nno way$/s, 'the program dies with its jobs');
ok($hipq->wait_until("SELECT concat(state, attempt) FROM hipq.jobs_detail WHERE id = $id", 'running2'), 'the others are tried again');
ok($run->wait_for(sub { starts() == 2 }), '... in a new one');
$hipq->sql("SELECT hipq.cancel($id)");
ok($run->logs('stderr', qr/^over $id$/), 'it is cancelled');
is($run->stop, 0, 'SIGTERM ends it');
ok($run->logs('stderr', qr/^stdin has ended$/), '... by the end of its stdin');

# ---- a program that goes on with what is over

$run = HipqRun->new($hipq, arguments => [ @worker, '--jobs', 3, @program ]);
my @jobs = map { enqueue('nothing') } 1 .. 2;
ok($hipq->wait_until('SELECT count(*) FROM hipq.running_detail WHERE is_accepted', 2), 'two jobs wait for their answers');
$hipq->sql("SELECT hipq.cancel($jobs[0])");
ok($run->logs('program ended', qr/went on with job $jobs[0]/), 'a program that heeds no end is ended itself');
ok($hipq->wait_until("SELECT concat(state, attempt, retry_count) FROM hipq.jobs_detail WHERE id = $jobs[1]", 'running20'), 'the other job is given back, and comes again');
$run->signal('TERM');
ok($run->logs('draining'), 'SIGTERM drains it');
$run->signal('TERM');
is($run->exit_code, 0, 'a second one ends it');
is($hipq->sql("SELECT concat(state, retry_count) FROM hipq.jobs_detail WHERE id = $jobs[1]"), 'retry0', 'what it had is given back, uncharged');
$hipq->sql("SELECT hipq.cancel($jobs[1])");

# ---- a program that dies at once

$run = HipqRun->new($hipq, arguments => [ @worker, '--jobs', 3, '--', 'sh', '-c', 'exit 1' ]);
is(job($id = enqueue('nothing')), 'failed the program ended with this job: exit code 1', 'a program that dies at once fails the job');
is($run->stop, 0, '... and no more');

# ---- bytes that are no text, in a database that takes any

$hipq->sql(q{CREATE DATABASE ascii ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0});
my $ascii = $hipq->in('ascii');
$ascii->sql('CREATE EXTENSION hipq');
HipqRun::create_queue($ascii, 'line');
my $good = q{'{"say": "{\\"id\\": %d, \\"result\\": \\"good\\"}"}', queue => 'app.run'};
my @bad = ($ascii->enqueue('line', q{('{"say": "' || E'\xff' || '"}')::jsonb, queue => 'app.run'}),
	$ascii->enqueue('line', qq{$good, job_key => E'\\xff'}));
my $readable = $ascii->enqueue('line', $good);
$run = HipqRun->new($hipq, arguments => [ @worker, '--jobs', 3, '--drain', '--idle', 1, @program ],
	env => { PGDATABASE => 'ascii' });
is($run->exit_code, 0, 'hipq-run goes on');
is($ascii->outcome($readable), 'succeeded', 'with the jobs that can be read');
is($ascii->attempts($_), '1 invalid_parameters 22021', 'one that cannot has failed for good') foreach @bad;

# ---- many

$hipq->sql(q{SELECT hipq.enqueue_many('line', array_agg(jsonb_build_object('say', '{"id": %d, "result": "many"}')), queue => 'app.run') FROM generate_series(1, 5000)});
$run = HipqRun->new($hipq, arguments => [ @worker, '--jobs', 100, '--prefetch', 100, '--drain', '--idle', 8, @program ]);
is($run->exit_code, 0, 'it ends when there are no more');
is($hipq->sql(q{SELECT count(*) FROM hipq.jobs_detail WHERE result = '"many"'}), 5000, 'many jobs are answered, without a pause as long as that');
ok($run->wait_for(sub { starts() == 1 }), '... by one program');
is($hipq->sql('SELECT count(*) FROM hipq.running'), 0, 'no job runs any more');
done_testing();
