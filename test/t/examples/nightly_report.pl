# In examples/nightly-report a schedule enqueues a job, which snoozes until late sales have arrived,
# uncharged, and then makes the report.
use strict;
use warnings;
use HipqExample;
use Test::More;

# The story makes reports of yesterday, so it runs in a time zone in which it is about noon.
sub minutes_of_day { my (undef, $minute, $hour) = gmtime; return 60 * $hour + $minute; }
# POSIX: west of Greenwich is positive
my $zone = sprintf 'Etc/GMT%+d', int(minutes_of_day() / 60) - 12;
my $example = HipqExample->new('nightly-report', timezone => $zone);
my $hipq = $example->hipq;

is($hipq->sql(q{SELECT string_agg(concat_ws(' ', current_date - day, shop, sales, cents), ', '
		ORDER BY day DESC, shop) FROM daily_report}),
	'1 Basel 1 5000, 1 Bern 2 300, 2 Bern 10 1000', 'the reports have the late sales');
my $scheduled = $hipq->sql(q{SELECT id FROM hipq.jobs WHERE job_key = 'nightly report'});
like($scheduled, qr/^\d+$/, 'one night was enqueued by schedule');
is($hipq->sql("SELECT outcome || ' ' || retry_count FROM hipq.jobs_detail WHERE id = $scheduled"),
	'succeeded 0', 'the scheduled job used no retry');
is($hipq->sql("SELECT string_agg(DISTINCT reason, ', ' ORDER BY reason)
		FROM hipq.attempts WHERE job_id = $scheduled"), 'snoozed, succeeded',
	'the scheduled job snoozed before it succeeded');
is($hipq->sql("SELECT string_agg(DISTINCT message,
		', ') ~ '^the sales of \\d{4}-\\d\\d-\\d\\d are not complete yet\$'
		FROM hipq.attempt_logs WHERE job_id = $scheduled AND level = 'NOTICE'"), 't',
	'the scheduled job said why it snoozed');
is($hipq->sql(q{SELECT cron || ' ' || is_active || ' ' || last_action || ' ' || last_outcome
		FROM hipq.schedules_detail}), '0 2 * * * true enqueued succeeded',
	'view schedules shows the last run');
is($hipq->sql(q{SELECT extract(hour FROM next_run_time AT TIME ZONE time_zone)
		FROM hipq.schedules_detail}), 2,
	'the schedule runs next at two');
is($hipq->sql(q{SELECT count(*) FROM hipq.jobs WHERE job_key IS NULL AND outcome = 'succeeded'}), 2,
	'the jobs for the missed nights have succeeded');

# ---- a report without sales
$hipq->sql(q{SELECT hipq.enqueue('daily report', '{"day": "2000-01-01"}', queue => 'office.reports',
	expires_time => now() + interval '2 s') AS id});
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.jobs WHERE outcome = 'expired'}, 1),
	'a report without sales expires');
is($hipq->sql(q{SELECT count(*) FROM daily_report WHERE day < '2001-01-01'}), 0,
	'an expired report is not made');
$example->has_ended;
done_testing();
