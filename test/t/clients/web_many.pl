# With many queues and jobs hipq-web searches all of them in short statements. All viewers of live
# figures share the same statements.
use strict;
use warnings;
use HipqCluster;
use HipqWeb;
use List::Util qw(max min);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

plan skip_all => 'hipq-web was not built: libcpp-httplib-dev, libssl-dev or nlohmann-json3-dev is '
	. 'missing' unless defined HipqWeb::program();
my ($queues, $jobs) = (45, 2000);
my $hipq = HipqCluster->new('web_many', log_min_duration_statement => 0, autovacuum => 'off');
my $node = $hipq->node;
$hipq->sql(<<"END");
CREATE ROLE many LOGIN PASSWORD 'many';
CREATE FUNCTION queue_name(n integer) RETURNS text LANGUAGE sql AS
    \$\$ SELECT 'app.q_' || translate(n::text, '0123456789', 'abcdefghij') \$\$;
CREATE FUNCTION work(data jsonb) RETURNS void LANGUAGE sql AS 'SELECT';
SELECT hipq.create_queue(queue_name(n), owner => 'many') FROM generate_series(1, $queues) AS n;
SELECT hipq.register_job_type(queue_name(n), 'work', handler => 'work')
    FROM generate_series(1, $queues) AS n;
DO \$\$ BEGIN FOR n IN 1..$queues LOOP
    EXECUTE format('INSERT INTO hipq.%I (job_type, job_key, job_data, scheduled_run_time)
        SELECT ''work'', ''key-'' || i,
            CASE WHEN i = 1000 THEN ''{"rare": true}'' ELSE ''{}'' END::jsonb,
            now() + interval ''1 day'' FROM generate_series(1, $jobs) AS i',
        replace(queue_name(n), '.', '_'));
END LOOP; END \$\$;
VACUUM ANALYZE;
END
$hipq->ask_for_passwords('many');
my $web = HipqWeb->new($hipq);
my $browser = $web->browser;
is($browser->sign_in('many')->{status}, 200, 'a role signs in');

# Returns the ids of all pages of a search, and the number of pages.
sub all_of
{
	my (%conditions) = @_;
	my ($after, $calls, @ids);
	do
	{
		my $part = $browser->post('/api/jobs/search', { %conditions, after => $after })->{json};
		push @ids, map { $_->{id} } @{ $part->{jobs} };
		$after = $part->{next};
		$calls++;
	} while defined $after && $calls < 500;
	return (\@ids, $calls);
}

my @rare = split /\n/,
	$hipq->sql(q{SELECT id FROM hipq.jobs_detail WHERE job_data @> '{"rare": true}' ORDER BY id});
is(scalar @rare, $queues, 'each queue has a rare job');
foreach my $limit (7, 45, 100)
{
	my ($ids, $calls) = all_of(contains => { rare => \1 }, limit => $limit);
	is_deeply([ sort { $a <=> $b } @$ids ], \@rare,
		"a search of all queues, $limit per page, finds each rare job once ($calls pages)");
}
my $first = $browser->post('/api/jobs/search', { contains => { rare => \1 }, limit => 3 })->{json};
ok($first->{by_queue}, 'the answer says that the search goes by queue');
my ($few) = all_of(queue => 'app.q_b', contains => { rare => \1 });
is_deeply($few, [ $hipq->sql(q{SELECT id FROM hipq.app_q_b WHERE job_data @> '{"rare": true}'}) ],
	'a search of one queue finds its rare job');
my ($every, $calls) = all_of(queue => 'app.q_b', limit => 100);
is_deeply($every, [ reverse split /\n/, $hipq->sql('SELECT id FROM hipq.app_q_b ORDER BY id') ],
	"a search lists all jobs of a queue, the newest first ($calls pages)");

# ---- the load of the server

# Returns the time of each statement of hipq-web since an offset in the log, in ms: parse, bind and
# execute together.
sub statements_since
{
	my ($offset) = @_;
	my ($sum, @all) = (0);
	foreach my $line (split /\n/, slurp_file($node->logfile, $offset))
	{
		my ($took, $step) = $line
			=~ /\] hipq-web LOG:  duration: ([\d.]+) ms  (parse|bind|execute) / or next;
		$sum = $took + ($step eq 'parse' ? 0 : $sum);
		push @all, $sum if $step eq 'execute';
	}
	return @all;
}

my @calls = map { [ 'GET', "/api/$_" ] } 'queues', 'queues/app.q_b', "jobs/$rare[0]", 'throughput',
	'workers', 'executors', 'schedules', 'pauses', 'dead-letters/groups';
push @calls, map { [ 'POST', '/api/jobs/search', $_ ] } {}, { queue => 'app.q_b' },
	{ queue => 'app.q_b', outcome => 'failed' }, { job_key => 'key-7' };
$browser->ask(@$_) foreach @calls, @calls;
# The shortest of several times counts, because other load of the machine makes them longer.
my $bound = 50;    # ms
foreach my $call (@calls)
{
	my @slowest;
	foreach my $try (1 .. 20)
	{
		my $offset = -s $node->logfile;
		my $answer = $browser->ask(@$call);
		is($answer->{status}, 200,
			$call->[1] . (defined $call->[2] ? ' ' . join ' ', %{ $call->[2] } : '')) if $try == 1;
		push @slowest, max(0, statements_since($offset));
		last if $try >= 5 && min(@slowest) < $bound;
	}
	cmp_ok(min(@slowest), '>', 0, "$call->[1] sends statements to the server");
	$hipq->in_time(min(@slowest) / 1000, $bound / 1000,
		"$call->[1] has no statement over $bound ms");
}

# ---- viewers of live figures

my @viewers = map { $web->browser } 1 .. 4;
is($_->sign_in('many')->{status}, 200, 'a viewer signs in') foreach @viewers;
my $offset = -s $node->logfile;
my ($start, @pids) = time();
foreach my $viewer (@viewers)
{
	my $pid = fork // die $!;
	if ($pid == 0) { $viewer->events(sub { @_ >= 4 }); require POSIX; POSIX::_exit(0); }
	push @pids, $pid;
}
waitpid $_, 0 foreach @pids;
my $seconds = time() - $start;
my $polls = () = slurp_file($node->logfile, $offset)
	=~ /execute .*: \s*\n?WITH catalogue AS MATERIALIZED/g;
cmp_ok($polls, '>=', 4, 'four viewers of a role get figures each second');
cmp_ok($polls, '<=', $seconds + 3,
	sprintf 'four viewers share one statement a second (%d in %.1f s)', $polls, $seconds);
# hipq-web notices that a viewer has left when it sends the next event.
my $is_quiet = sub {
	my $offset = -s $node->logfile;
	$hipq->sql('SELECT pg_sleep(2.5)');
	return slurp_file($node->logfile, $offset) !~ /WITH catalogue AS MATERIALIZED/;
};
ok($web->wait_for($is_quiet), 'without viewers hipq-web executes no statement for live figures');
is($web->stop, 0, 'hipq-web ends by SIGTERM');
done_testing();
