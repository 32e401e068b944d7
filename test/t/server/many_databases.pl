# With more databases than shared memory has room for, each database is looked at once after a start
# of the server. Then no process starts until there is work, and jobs run in each database.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $hipq = HipqCluster->new('many_databases', extension => 0, 'hipq.max_databases' => 3,
	'hipq.executor_idle_timeout' => '100ms', log_min_messages => 'debug1');
my @plain = map { "plain_$_" } 1 .. 4;
my @others = map { "other_$_" } 1 .. 4;
foreach my $name (@plain, @others) { $hipq->sql("CREATE DATABASE $name") }
foreach my $name (@others)
{
	my $db = $hipq->in($name);
	$db->sql('CREATE EXTENSION hipq');
	$db->create_queue('app.main');
	$db->sql(q{
		CREATE FUNCTION nothing(data jsonb) RETURNS void LANGUAGE sql AS '';
		SELECT hipq.register_job_type('app.main', 'run', handler => 'nothing')});
}

# Returns how many schedulers have started since this place of the log.
sub starts
{
	my ($place) = @_;
	return scalar(() = slurp_file($hipq->node->logfile, $place)
			=~ /starting background worker process "hipq scheduler"/g);
}

# Waits until no scheduler has started for 4 s. Returns how many have started.
sub quiet_after
{
	my ($place) = @_;
	my ($before, $now, $end) = (-1, 0, time() + $PostgreSQL::Test::Utils::timeout_default);
	while ($before != $now && time() < $end)
	{
		$before = $now;
		usleep(4_000_000);
		$now = starts($place);
	}
	is($now, $before, 'schedulers stop starting');
	return $now;
}

my $place = -s $hipq->node->logfile;
$hipq->node->restart;
my $databases = @plain + @others + 2;    # postgres, template1
my $started = quiet_after($place);
cmp_ok($started, '>=', $databases, 'each database is looked at after a start of the server');
cmp_ok($started, '<', 2 * $databases, 'few databases are looked at twice');
is($hipq->in('other_1')->sql('SELECT string_agg(alert, $$ $$) FROM hipq.alerts'), 'databases',
	'an alert reports that there are more databases with hipq than room');

$hipq->in($_)->sql(q{SELECT hipq.enqueue('run');
	SELECT hipq.enqueue('run', scheduled_run_time => now() + interval '2 seconds')})
	foreach @others;
ok($hipq->in($_)->wait_until(q{SELECT string_agg(outcome, ' ') FROM hipq.jobs},
	'succeeded succeeded'), "jobs run in database $_") foreach @others;

# ---- a database that had no hipq when it was looked at
my $late = $hipq->in($plain[0]);
$late->sql('CREATE EXTENSION hipq');
$late->create_queue('app.main');
$late->sql(q{
	CREATE FUNCTION nothing(data jsonb) RETURNS void LANGUAGE sql AS '';
	SELECT hipq.register_job_type('app.main', 'run', handler => 'nothing')});
is($late->outcome_of('run'), 'succeeded', 'jobs run in a database that gets hipq later');
$hipq->in($_)->sql(q{SELECT hipq.enqueue('run')}) foreach @others;
ok($hipq->in($_)->wait_until(q{SELECT count(*) FROM hipq.jobs WHERE outcome = 'succeeded'}, 3),
	"jobs run again in database $_") foreach @others;

done_testing();
