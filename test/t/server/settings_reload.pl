# When hipq.enabled, hipq.databases or hipq.max_executors change by reload, executors exit after
# their job, and start when the settings allow it. There are never too many executors. No job is
# lost or interrupted.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $hipq = HipqCluster->new('settings', extension => 0, 'hipq.max_executors' => 4,
	'hipq.executor_quantum' => '200ms');
my $admin = $hipq->in('postgres');
my @databases;
foreach my $name ('one', 'two')
{
	$admin->sql("CREATE DATABASE $name");
	my $db = $hipq->in($name);
	$db->sql('CREATE EXTENSION hipq');
	$db->create_queue('app.main');
	$db->sql(q{
		CREATE FUNCTION nap(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
			PERFORM pg_sleep(0.02); END $$;
		SELECT hipq.register_job_type('app.main', 'nap', handler => 'nap')});
	push @databases, $db;
}
# Until here CREATE DATABASE can end a scheduler in the database that it copies.
my $set_up = -s $hipq->node->logfile;

# One session runs all queries about processes, so that a query costs little.
my $watch = $hipq->session;
my $executors = q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'hipq executor'};
# An executor that exits has given up its place, and is visible for a moment longer, without a job.
my $watch_places = $databases[0]->session;
my $at_work = q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'hipq executor'
	AND (state = 'active' OR pid IN (SELECT pid FROM hipq._executors()))};
sub watched
{
	my ($query, $session) = @_;
	return ($session // $watch)->query_safe($query) =~ s/\s+$//r;
}
my $ask = sub { return (0, watched($_[0]), '') };    # as poll() expects it

sub wait_watched
{
	my ($query, $expected, $seconds) = @_;
	my ($is_so, $last) = $hipq->poll($query, sub { $_[0] =~ /^($expected)$/ }, $seconds, $ask);
	diag("waited in vain for $expected, last answer $last") unless $is_so;
	return $is_so;
}

# Waits until ten readings in a row find no process. A process that the postmaster was starting
# reads the settings and exits.
sub are_gone
{
	my ($query, $seconds) = @_;
	my $looks = 0;
	my ($are_gone) = $hipq->poll($query,
		sub { $looks = $_[0] eq '0' ? $looks + 1 : 0; return $looks == 10 }, $seconds, $ask);
	return $are_gone;
}

# Returns the most executors that one of so many readings finds.
sub most_executors
{
	my ($looks) = @_;
	my $most = 0;
	foreach (1 .. $looks)
	{
		my $count = watched($at_work, $watch_places);
		$most = $count if $count > $most;
		usleep(10_000);
	}
	return $most;
}

my $enqueued = 0;
sub enqueue_some
{
	my ($count) = @_;
	$_->sql("SELECT count(*) FROM unnest(hipq.enqueue_many('nap', (SELECT array_agg('{}'::jsonb)
		FROM generate_series(1, $count))))") foreach @databases;
	$enqueued += $count;
	return;
}
sub done { my ($db) = @_; return $db->sql(q{SELECT count(*) FROM hipq.job WHERE state = 'final'}); }
sub goes_on
{
	my ($db) = @_;
	my $before = done($db);
	enqueue_some(1);
	return $db->wait_until("SELECT count(*) > $before FROM hipq.job WHERE state = 'final'", 't',
		15);
}

enqueue_some(600);
ok(wait_watched($executors, 4), 'four executors run jobs');

# ---- hipq.max_executors
my %limits = (1 => 'lowered to', 3 => 'raised to', 6 => 'raised to', 2 => 'lowered to');
foreach my $limit (1, 3, 6, 2)
{
	enqueue_some(100);
	$hipq->in('postgres')->set('hipq.max_executors' => $limit);
	ok(wait_watched($executors, join('|', 0 .. $limit), 10),
		"max_executors $limits{$limit} $limit: surplus executors exit");
	cmp_ok(most_executors(60), '<=', $limit,
		"max_executors $limit: at most $limit executors run at any time");
	enqueue_some(150);    # the load may be over by now
	ok(wait_watched($executors, $limit, 15), "max_executors $limit: $limit executors run")
		if $limit > 1;
	ok(goes_on($_), "max_executors $limit: jobs run in database $_->{database}")
		foreach @databases;
}
$admin->set('hipq.max_executors' => 0);
ok(are_gone($executors, 10), 'max_executors 0: all executors exit');
my @before = map { done($_) } @databases;
enqueue_some(10);
is(most_executors(30), 0, 'max_executors 0: no executor starts');
is(join(' ', map { done($_) } @databases), join(' ', @before), 'max_executors 0: no job runs');
$admin->set('hipq.max_executors' => 4);
ok(goes_on($_), "max_executors 4: jobs run in database $_->{database}") foreach @databases;

# ---- hipq.enabled
enqueue_some(100);
$admin->set('hipq.enabled' => 'off');
my $workers = q{SELECT count(*) FROM pg_stat_activity
	WHERE backend_type IN ('hipq executor', 'hipq scheduler')};
ok(are_gone($workers, 10), 'enabled off: executors and schedulers exit');
@before = map { done($_) } @databases;
my $seen = 0;
foreach (1 .. 10)
{
	enqueue_some(1);
	$seen += watched($workers);
}
is($seen, 0, 'enabled off: new jobs start no process');
is(join(' ', map { done($_) } @databases), join(' ', @before), 'enabled off: new jobs do not run');
$admin->set('hipq.enabled' => 'on');
ok(goes_on($_), "enabled on: jobs run in database $_->{database}") foreach @databases;

# ---- hipq.databases
enqueue_some(100);
my ($one, $two) = @databases;
$admin->set('hipq.databases' => 'one');
ok(are_gone(q{SELECT count(*) FROM pg_stat_activity
		WHERE backend_type IN ('hipq executor', 'hipq scheduler') AND datname = 'two'}, 15),
	'executors and schedulers exit in a database that hipq.databases no longer lists');
my $before = done($two);
ok(goes_on($one), 'jobs run in the listed database');
$seen = 0;
foreach (1 .. 10)
{
	enqueue_some(1);
	$seen += watched(q{SELECT count(*) FROM pg_stat_activity
		WHERE backend_type IN ('hipq executor', 'hipq scheduler') AND datname = 'two'});
}
is($seen, 0, 'new jobs in a database that is not listed start no process');
is(done($two), $before, 'new jobs in a database that is not listed do not run');
$admin->set('hipq.databases' => '*');
ok(goes_on($two), 'jobs run in a database that is listed again');

# ---- many reloads in a row, invalid values among them
enqueue_some(300);
foreach my $round (1 .. 40)
{
	my $limit = 1 + $round % 4;
	$watch->query_safe("ALTER SYSTEM SET hipq.max_executors = $limit");
	$watch->query_safe(q{ALTER SYSTEM SET hipq.enabled = } . ($round % 5 ? 'on' : 'off'));
	$watch->query_safe('SELECT pg_reload_conf()');
	append_to_file($hipq->node->data_dir . '/postgresql.conf',
		$round == 20 ? "hipq.max_executors = 'nonsense'\n" : "# $round\n");
}
$hipq->node->adjust_conf('postgresql.conf', 'hipq.max_executors', '4');
$admin->set('hipq.enabled' => 'on', 'hipq.max_executors' => 4);

foreach my $db (@databases)
{
	ok($db->wait_until(q{SELECT count(*) FROM hipq.jobs WHERE outcome = 'succeeded'}, $enqueued,
			120), "every job succeeds in database $db->{database}");
	is($db->sql('SELECT count(*) FROM hipq.attempts'), 0,
		"no attempt was interrupted in database $db->{database}");
	is($db->sql('SELECT count(*) FROM hipq.jobs WHERE attempt <> 1'), 0,
		"each job took one attempt in database $db->{database}");
}
cmp_ok(most_executors(10), '<=', 4, 'the limit of executors holds after many reloads');
$watch->quit;
unlike(slurp_file($hipq->node->logfile, $set_up), qr/FATAL|PANIC|TRAP/,
	'no process ended with FATAL');

done_testing();
