# examples/back-fill fills the whole column, and keeps within its limits. A bad row delays only its
# own batch.
use strict;
use warnings;
use HipqExample;
use Test::More;

my $example = HipqExample->new('back-fill');
my $hipq = $example->hipq;

is($hipq->sql(q{SELECT count(*) FROM customer WHERE search IS NULL}), 0, 'every row is filled');
is($hipq->sql(q{SELECT count(*) FROM customer WHERE search @@ to_tsquery('simple', 'customer & ' ||
		id || ' & ' || left(born, 4))}), 40_000, 'every row is filled with the right value');
is($hipq->sql(q{SELECT sum((result->>'filled')::integer) FROM hipq.jobs_detail
		WHERE outcome = 'succeeded'}), 40_000, 'every row is filled once');
like($example->said, qr/^ time window \| It waits for its time windows "22:00-06:00"/m,
	'at noon the batches wait for the night');
like($example->said, qr/^ pause .*\(backup\)/m, 'the batches wait for the end of the pause');
like($example->said, qr/^filled during the pause: 0$/m, 'nothing is filled during the pause');

# The number of other attempts that ran at the start of each attempt. The story allows two at once,
# and later four.
my $most = q{SELECT max((SELECT count(*) FROM hipq.attempts_detail AS other
	WHERE other.started_time <= attempt.started_time AND other.ended_time > attempt.started_time))
	FROM hipq.attempts_detail AS attempt};
cmp_ok($hipq->sql($most), '<=', 4, 'at most four batches run at once');
cmp_ok($hipq->sql($most), '>', 1, 'more than one batch runs at once');
is($hipq->sql(q{SELECT job_key || ' ' || reason || ' ' || state FROM hipq.dead_letters}),
	'from 12001 validation_error redriven', 'the bad row was in one batch, which was redriven');
is($hipq->sql(q{SELECT count(*) FROM hipq.attempts_detail WHERE job_key = 'from 12001'
		AND reason <> 'succeeded'}), 1, 'the batch with the bad row failed once');

# ---- the application and a batch update the same rows
my $application = $hipq->session;
$hipq->sql(q{UPDATE customer SET search = NULL WHERE id <= 500;
	SELECT hipq.alter_job_type('app.migration', 'fill search', time_zone => 'UTC')});
$application->query_safe(q{BEGIN; UPDATE customer SET search = 'own' WHERE id = 7});
my $batch = $hipq->sql_as('app', q{SELECT hipq.enqueue('fill search', '{"from": 1, "to": 500}',
	queue => 'app.migration', time_windows => 'NONE')});
ok($hipq->wait_until("SELECT count(*) FROM hipq.running_detail WHERE id = $batch
		AND wait_event_type = 'Lock'", 1), 'a batch waits for the application');
$application->query_safe('COMMIT');
$application->quit;
is($hipq->outcome($batch), 'succeeded', 'a batch succeeds after the application has committed');
is($hipq->sql(q{SELECT search FROM customer WHERE id = 7}), q{'own'},
	'a batch keeps what the application wrote');
is($hipq->sql("SELECT result FROM hipq.jobs_detail WHERE id = $batch"), '{"filled": 499}',
	'a batch does not fill the row that the application wrote');
$example->has_ended;
done_testing();
