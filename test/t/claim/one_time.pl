# A scan of a lane ends at the end of the lane, even if all jobs have the same scheduled_run_time,
# like the jobs of one statement.
use strict;
use warnings;
use HipqCluster;
use Test::More;

my $hipq = HipqCluster->new('one_time', 'hipq.audit_rate' => 0);
$hipq->create_queue('app.mail');
$hipq->sql(q{SELECT hipq.register_job_type('app.mail', 'send', handler_kind => 'notify',
	throttle_limit => 2)});
my $session = $hipq->session(role => 'app');
my $worker = $session->query_safe(q{SELECT hipq.register_worker('mailer', '{app.mail}', '{send}',
	capacity => 20, prefetch => 20)});
$hipq->sql(q{SELECT count(*)
	FROM hipq.enqueue_many('send', array_fill('{}'::jsonb, ARRAY[20000]), queue => 'app.mail')});

# Returns the number of blocks and scans of the lane's index. 20,000 rows fill more than 100 pages.
my $of_lane = q{FROM pg_stat_all_indexes AS stat JOIN pg_statio_all_indexes AS io USING (indexrelid)
	WHERE stat.indexrelname = 'app_mail_live_line'};
sub blocks_and_scans
{
	return split /\|/,
		$hipq->sql("SELECT io.idx_blks_hit + io.idx_blks_read, stat.idx_scan $of_lane");
}
ok($hipq->wait_until("SELECT idx_blks_hit > 20000 $of_lane"), 'jobs are enqueued');
my ($blocks_before, $scans_before) = blocks_and_scans();

# A dispatch reads forty jobs. 38 of them do not fit the throttle, and go back one by one.
my $dispatches = 10;
foreach my $done (1 .. $dispatches)
{
	ok($hipq->wait_until('SELECT count(*) FROM hipq.running', 2), "dispatch $done gives two jobs");
	$session->query_safe(qq{SELECT hipq.complete(id, attempt, '1') FROM hipq.claim($worker, 2)});
}

ok($hipq->wait_until("SELECT idx_scan >= $scans_before + 100 $of_lane"),
	'the scheduler has reported its reads');
my ($blocks, $scans) = blocks_and_scans();
my $each = ($blocks - $blocks_before) / ($scans - $scans_before);
note("$each blocks a scan");
cmp_ok($each, '<', 20, 'a scan of the lane ends at the end of the lane');

$session->quit;
done_testing();
