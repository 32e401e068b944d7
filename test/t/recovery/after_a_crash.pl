# After a crash with 100,000 waiting jobs all running jobs are back in their lanes, and handlers
# run, within 5 s after the server has started.
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

# Long jobs of higher priority run. The others wait behind them, in lanes of several types and
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
# The history shows that a job was rescued. The job itself may run again already.
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
$hipq->in_time($recovered, $limit,
	"interrupted jobs are back in their lanes within $limit s after a crash");
$hipq->in_time($first, $limit, "handlers run within $limit s after a crash");
is($hipq->sql('SELECT count(*) FROM hipq.job'), $waiting + $executors, 'no job is lost in a crash');
note sprintf '%d jobs in line: what ran was back after %.2f s, the first handler began '
	. 'after %.2f s', $waiting, $recovered, $first;

done_testing();
