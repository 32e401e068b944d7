# examples/nightly-report: pg_cron's minute brings a job, which waits for late sales, uncharged, and makes the report once they are there.
use strict;
use warnings;
use HipqExample;
use Test::More;

# The story says yesterday, so it is told where it is about noon; and it is not told while its own night comes, at two in GMT.
sub minutes_of_day { my (undef, $minute, $hour) = gmtime; return 60 * $hour + $minute; }
sleep 1 while minutes_of_day() >= 116 && minutes_of_day() <= 120;
my $zone = sprintf 'Etc/GMT%+d', int(minutes_of_day() / 60) - 12;    # POSIX: west of Greenwich is positive
my $example = HipqExample->new('nightly-report', timezone => $zone);
my $hipq = $example->hipq;

is($hipq->sql(q{SELECT string_agg(concat_ws(' ', current_date - day, shop, sales, cents), ', ' ORDER BY day DESC, shop) FROM daily_report}),
	'1 Basel 1 5000, 1 Bern 2 300, 2 Bern 10 1000', 'the reports, with what came late');
my $scheduled = $hipq->sql(q{SELECT id FROM hipq.jobs WHERE job_key = 'nightly report'});
like($scheduled, qr/^\d+$/, 'one night came by schedule');
is($hipq->sql("SELECT outcome || ' ' || retry_count FROM hipq.jobs_detail WHERE id = $scheduled"), 'succeeded 0', 'and cost no retry');
is($hipq->sql("SELECT string_agg(DISTINCT reason, ', ' ORDER BY reason) FROM hipq.attempts WHERE job_id = $scheduled"), 'snoozed, succeeded', 'it was put off');
is($hipq->sql("SELECT string_agg(DISTINCT message, ', ') ~ '^the sales of \\d{4}-\\d\\d-\\d\\d are not complete yet\$' FROM hipq.attempt_logs WHERE job_id = $scheduled AND level = 'NOTICE'"), 't', 'and said why');
is($hipq->sql(q{SELECT cron || ' ' || is_active || ' ' || last_action || ' ' || last_outcome FROM hipq.schedules_detail}), '0 2 * * * true enqueued succeeded', 'the schedule tells');
is($hipq->sql(q{SELECT extract(hour FROM next_run_time AT TIME ZONE 'GMT') FROM hipq.schedules}), 2, 'and comes next at two');
is($hipq->sql(q{SELECT count(*) FROM hipq.jobs WHERE job_key IS NULL AND outcome = 'succeeded'}), 2, 'the night that was missed was made up for');

# ---- a report that nobody's sales come for
$hipq->sql(q{SELECT hipq.enqueue('daily report', '{"day": "2000-01-01"}', queue => 'office.reports', expires_time => now() + interval '2 s') AS id});
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.jobs WHERE outcome = 'expired'}, 1), 'is given up');
is($hipq->sql(q{SELECT count(*) FROM daily_report WHERE day < '2001-01-01'}), 0, 'without a report');
$example->has_ended;
done_testing();
