# hipq-run --batch runs one program for all jobs, with a line of JSON for each. It loses no job if
# the program sends wrong lines, hangs or ends.
use strict;
use warnings;
use HipqCluster;
use HipqRun;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'hipq-run was not built: nlohmann-json3-dev or libcurl4-openssl-dev is missing'
	unless defined HipqRun::program();
my $hipq = HipqCluster->new('run_batch', 'hipq.worker_grace' => '500ms',
	'hipq.health_enabled' => 'off');
HipqRun::create_queue($hipq, 'line');
my $there = PostgreSQL::Test::Utils::tempdir_short();

# Answers a job with the member "say" of its data, in which %d stands for the job's id. Exits for
# "die", and does not answer for "nothing".
append_to_file("$there/program.pl", <<'END');
use strict; use warnings; use JSON::PP; $| = 1;
print STDERR "started $$\n";
while (my $line = <STDIN>)
{
	my $job = decode_json($line);
	if ($job->{over})
	{
		print STDERR "over $job->{id}\n";
		print qq({"id": $job->{id}, "result": "late"}\n) if $ENV{HEEDS};
		next;
	}
	my $say = $job->{data}{say};
	if ($say eq 'die') { print STDERR "no way\n"; exit 7; }
	if ($say eq 'all')
	{
		my %all = map { $_ => $job->{$_} } grep { $_ ne 'deadline' } sort keys %$job;
		print encode_json({ id => $job->{id}, result => \%all }), "\n";
		next;
	}
	next if $say eq 'nothing';
	print $say =~ s/%d/$job->{id}/gr, "\n";
}
print STDERR "stdin has ended\n";
END
my @worker = ('--queue', 'app.run', '--types', 'line', '--batch', '--kill-after', 1);
my @program = ('--', 'perl', "$there/program.pl");
my $run = HipqRun->new($hipq, arguments => [ @worker, '--jobs', 3, @program ],
	env => { HEEDS => 1 });
ok($run->is_ready, 'the worker registers');
sub enqueue
{
	my ($say, $rest) = @_;
	return $hipq->enqueue('line',
		sprintf q{jsonb_build_object('say', $say$%s$say$), queue => 'app.run'%s},
		$say, $rest // '');
}
sub job
{
	my ($id) = @_;
	$hipq->outcome($id);
	return $hipq->sql(
		"SELECT concat_ws(' ', outcome, result, error) FROM hipq.jobs_detail WHERE id = $id");
}
sub starts
{
	return scalar grep { $_->{event} eq 'stderr' && $_->{message} =~ /^started/ } $run->entries;
}

my $id = enqueue('{"id": %d, "result": {"sent": true}}');
is(job($id), 'succeeded {"sent": true}', 'a line is the answer for its job');
my $numbers = '[12345678901234567890123, 1.10]';
is(job(enqueue(qq({"id": %d, "result": $numbers}))), "succeeded $numbers",
	'numbers keep all their digits');
is(job(enqueue('{"id": %d, "result": 1e400}')), 'succeeded 1' . '0' x 400,
	'a number too large for a double keeps its digits');
like(job($id = enqueue('{"id": %d, "result": NaN}')),
	qr/^failed invalid input syntax for type json/,
	'a result that is no JSON fails the job');
is($hipq->attempts($id), '1 explicit_failure', 'a result that is no JSON is not retried');
is(job(enqueue('{"id": %d, "error": "no luck"}')), 'failed no luck',
	'a job with an error fails after its retries');
is(job($id = enqueue('{"id": %d, "error": "no hope", "retriable": false}')), 'failed no hope',
	'an error with "retriable": false fails the job');
is($hipq->attempts($id), '1 explicit_failure', 'an error with "retriable": false is not retried');
$id = enqueue('{"id": %d, "error": "busy", "retry_after": "7 min"}');
ok($hipq->wait_until("SELECT concat_ws(' ', state, retry_count, extract(epoch
		FROM scheduled_run_time - update_time), error) FROM hipq.jobs_detail WHERE id = $id",
	'retry 1 420.000000 busy'), 'an error with "retry_after" is retried after that time');
$hipq->sql("SELECT hipq.cancel($id)");
is(job($id = enqueue('{"id": %d, "error": "busy", "retry_after": ["soon"]}')), 'failed busy',
	'an error with a wrong "retry_after" fails the job');
is($hipq->attempts($id), '1 transient_error, 2 transient_error',
	'an error with a wrong "retry_after" has the usual retries');
ok($run->logs('answer refused', qr/soon/), 'a wrong "retry_after" is logged');
$id = enqueue('all', q{, job_key => 'the key'});
is($hipq->result($id),
	qq({"id": $id, "key": "the key", "data": {"say": "all"}, "type": "line", "queue": "app.run", )
		. '"attempt": 1, "max_retries": 1, "retry_count": 0}',
	'the line of a job has the whole job');
ok($run->wait_for(sub { starts() == 1 }), 'all jobs ran in the same program');

$id = enqueue("not JSON\n{\"id\": %d}\n{\"id\": 0, \"result\": 1}\n{\"id\": %d, \"progress\": 3, "
	. "\"total\": 10, \"message\": \"on\"}\n{\"id\": %d, \"extend\": \"1 h\"}");
ok($hipq->wait_until("SELECT percent || ' ' || message FROM hipq.progress WHERE id = $id",
		'30.0 on'), 'view progress shows the progress in a line');
ok($hipq->wait_until("SELECT deadline > now() + '50 min' FROM hipq.running_detail WHERE id = $id"),
	'a line can extend its job');
ok($run->logs('answer not understood', $_), "a wrong line is logged: $_")
	foreach qr/^not a JSON object: not JSON/, qr/^no member "result"/, qr/^job 0 does not run/;
$hipq->sql("SELECT hipq.cancel($id)");
ok($run->logs('stderr', qr/^over $id$/), 'a line tells the program that a job is cancelled');
is(job(enqueue('{"id": %d, "result": 1}')), 'succeeded 1',
	'a program that stops a cancelled job keeps running');
ok($run->wait_for(sub { starts() == 1 }), 'a program that stops a cancelled job has not restarted');

$id = enqueue('nothing');
ok($hipq->wait_until("SELECT is_accepted FROM hipq.running_detail WHERE id = $id"),
	'a job runs until the program answers');
like(job(enqueue('die', q{, max_retries => 0})),
	qr/^failed the program ended with this job: exit code 7: started.*\nno way$/s,
	'a job whose program exits fails');
ok($hipq->wait_until("SELECT concat(state, attempt) FROM hipq.jobs_detail WHERE id = $id",
		'running2'), 'another job of a program that exited is retried');
ok($run->wait_for(sub { starts() == 2 }), 'a new program has the retried jobs');
$hipq->sql("SELECT hipq.cancel($id)");
ok($run->logs('stderr', qr/^over $id$/),
	'a line reports to the new program that the retried job is cancelled');
is($run->stop, 0, 'SIGTERM ends hipq-run');
ok($run->logs('stderr', qr/^stdin has ended$/), 'hipq-run ends the program by closing its stdin');

# ---- a program that does not stop a cancelled job

$run = HipqRun->new($hipq, arguments => [ @worker, '--jobs', 3, @program ]);
my @jobs = map { enqueue('nothing') } 1 .. 2;
ok($hipq->wait_until('SELECT count(*) FROM hipq.running_detail WHERE is_accepted', 2),
	'two jobs run in a program that does not answer');
$hipq->sql("SELECT hipq.cancel($jobs[0])");
ok($run->logs('program ended', qr/went on with job $jobs[0]/),
	'hipq-run ends a program that does not stop a cancelled job');
ok($hipq->wait_until("SELECT concat(state, attempt, retry_count) FROM hipq.jobs_detail
		WHERE id = $jobs[1]", 'running20'),
	'another job of an ended program is released, and runs again');
$run->signal('TERM');
ok($run->logs('draining'), 'SIGTERM drains hipq-run');
$run->signal('TERM');
is($run->exit_code, 0, 'a second SIGTERM ends hipq-run');
is($hipq->sql("SELECT concat(state, retry_count) FROM hipq.jobs_detail WHERE id = $jobs[1]"),
	'retry0', 'a second SIGTERM releases the running job, uncharged');
$hipq->sql("SELECT hipq.cancel($jobs[1])");

# ---- a program that exits at once

$run = HipqRun->new($hipq, arguments => [ @worker, '--jobs', 3, '--', 'sh', '-c', 'exit 1' ]);
is(job($id = enqueue('nothing')), 'failed the program ended with this job: exit code 1',
	'a program that exits at once fails the job');
is($run->stop, 0, 'hipq-run with a program that exits at once stops');

# ---- bytes that are not text, in a database that accepts any bytes

$hipq->sql(
	q{CREATE DATABASE ascii ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0});
my $ascii = $hipq->in('ascii');
$ascii->sql('CREATE EXTENSION hipq');
HipqRun::create_queue($ascii, 'line');
my $good = q{'{"say": "{\\"id\\": %d, \\"result\\": \\"good\\"}"}', queue => 'app.run'};
my @bad = ($ascii->enqueue('line', q{('{"say": "' || E'\xff' || '"}')::jsonb, queue => 'app.run'}),
	$ascii->enqueue('line', qq{$good, job_key => E'\\xff'}));
my $readable = $ascii->enqueue('line', $good);
$run = HipqRun->new($hipq, arguments => [ @worker, '--jobs', 3, '--drain', '--idle', 1, @program ],
	env => { PGDATABASE => 'ascii' });
is($run->exit_code, 0, 'hipq-run exits with 0 after unreadable jobs');
is($ascii->outcome($readable), 'succeeded', 'a readable job beside unreadable ones succeeds');
is($ascii->attempts($_), '1 invalid_parameters 22021', 'an unreadable job fails without a retry')
	foreach @bad;

# ---- many jobs

$hipq->sql(q{SELECT hipq.enqueue_many('line', array_agg(jsonb_build_object('say',
	'{"id": %d, "result": "many"}')), queue => 'app.run') FROM generate_series(1, 5000)});
$run = HipqRun->new($hipq,
	arguments => [ @worker, '--jobs', 100, '--prefetch', 100, '--drain', '--idle', 8, @program ]);
is($run->exit_code, 0, 'hipq-run ends when there are no more jobs');
is($hipq->sql(q{SELECT count(*) FROM hipq.jobs_detail WHERE result = '"many"'}), 5000,
	'5000 jobs are answered without waiting in between');
ok($run->wait_for(sub { starts() == 1 }), 'one program answers 5000 jobs');
is($hipq->sql('SELECT count(*) FROM hipq.running'), 0, 'no job runs after all runs');
done_testing();
