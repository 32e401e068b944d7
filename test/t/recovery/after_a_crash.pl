# After a crash with 100,000 waiting jobs all jobs that ran are back in their lanes, and handlers
# run, within 5 s of the first connection.
use strict;
use warnings;
use HipqCluster;
use HipqWorkload;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep clock_gettime CLOCK_MONOTONIC);

my $waiting = 100_000;
my $limit = 5;
my $executors = 8;

my $hipq = HipqCluster->new('recovery', shared_preload_libraries => 'hipq, hipq_marks_test',
	'hipq.max_executors' => $executors);
my $load = HipqWorkload->new($hipq);
my $queues = @{ $load->{durabilities} };
my $claims = @{ $load->{claims} };

# Long jobs of higher priority run, the others wait behind them in lanes of several types and
# priorities.
foreach my $durability (@{ $load->{durabilities} })
{
	$hipq->sql(qq{
		INSERT INTO hipq.load_$durability (job_type, job_data, priority) SELECT 'work_record',
			'{"op": 0, "sleep": 3600000}', 0 FROM generate_series(1, $executors / $queues)});
}
ok($hipq->wait_until('SELECT count(*) FROM hipq.running', $executors), 'executors are busy');
foreach my $durability (@{ $load->{durabilities} })
{
	my @types = map { ("work_$_", "asked_$_") } @{ $load->{claims} };
	my $types = join ', ', map { "'$_'" } @types;
	$hipq->sql(qq{
		INSERT INTO hipq.load_$durability (job_type, job_data, priority)
		SELECT (ARRAY[$types])[1 + number % @{[ scalar @types ]}], '{"op": 0}', 100 + number % 5
			FROM generate_series(1, $waiting / $queues) AS number});
}
my $ran = $hipq->sql(q{SELECT string_agg(id::text, ',') FROM hipq.running});
my $marks = -s $load->marks_file;
is($hipq->sql(q{SELECT count(*) FROM hipq.job WHERE state <> 'final'}), $waiting + $executors,
	"$waiting jobs wait");

$hipq->node->stop('immediate');
$hipq->node->start;
my $since = time();
my $clock = clock_gettime(CLOCK_MONOTONIC);
# A long job that runs again could hardly be told from one that was not taken back.
my $recovered = $hipq->wait_until("SELECT count(*) FROM hipq.attempts WHERE job_id IN ($ran)
	AND reason = 'server_restart'", $executors, 30) ? time() - $since : 1e9;
my @lines = grep { my ($time, $pid, $what) = split / /; $what eq 'begin' } split /\n/,
	substr(slurp_file($load->marks_file), $marks);
if (!@lines)
{
	usleep(10_000) until time() > $since + 30 || substr(slurp_file($load->marks_file),
		$marks) =~ / begin /;
}
my ($first) = ((map { (split / /)[0] / 1e6 - $clock } grep { / begin / } split /\n/,
		substr(slurp_file($load->marks_file), $marks)), 1e9);
$hipq->in_time($recovered, $limit, "running jobs are back in their lanes within $limit s");
$hipq->in_time($first, $limit, "handlers run within $limit s");
is($hipq->sql('SELECT count(*) FROM hipq.job'), $waiting + $executors, 'no job is lost');
note sprintf '%d jobs in line: what ran was back after %.2f s, the first handler began '
	. 'after %.2f s', $waiting, $recovered, $first;

done_testing();
