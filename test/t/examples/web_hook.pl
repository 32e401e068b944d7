# In examples/web-hook a job ends when its web-hook arrives, which may be late, come twice or never.
# No payment is charged twice.
use strict;
use warnings;
use HipqExample;
use Test::More;

my $example = HipqExample->new('web-hook');
my $hipq = $example->hipq;

sub outcome_of
{
	my ($payment) = @_;
	return $hipq->sql("SELECT outcome || ' ' || payment.state FROM hipq.jobs_detail
		JOIN payment ON name = job_key
		WHERE job_type = 'charge' AND name = '$payment'");
}

sub reasons_of
{
	my ($payment) = @_;
	return $hipq->sql("SELECT string_agg(reason, ', ' ORDER BY attempt) FROM hipq.attempts_detail
		WHERE job_type = 'charge' AND job_key = '$payment'");
}

is(outcome_of('fine'), 'succeeded paid', 'a payment without a failure succeeds');
is($hipq->sql(q{SELECT result FROM hipq.jobs_detail WHERE job_type = 'charge'
		AND job_key = 'fine'}), '{"status": "paid"}', 'the result is what the hook delivered');
is(outcome_of('twice'), 'succeeded paid', 'a payment whose hook comes twice succeeds');
is(reasons_of('twice'), 'succeeded', 'a hook that comes twice counts once');
is(outcome_of('declined'), 'failed open', 'a payment with a declined card fails');
is(reasons_of('declined'), 'explicit_failure', 'a declined card is not retried');
is(outcome_of('bad'), 'failed open', 'a request that the service refuses fails');
is($hipq->sql(q{SELECT error FROM hipq.attempts_detail WHERE job_type = 'charge'
		AND job_key = 'bad'}), '422: no such currency', 'a refused request fails the waiting job');
is(outcome_of('late'), 'succeeded paid', 'a payment whose receiver was down succeeds');
is(outcome_of('forgotten'), 'succeeded paid', 'a payment whose hook was forgotten succeeds');
like(reasons_of('forgotten'), qr/^(?:timeout, )+succeeded$/,
	'a forgotten hook is requested again after the timeout');
is(outcome_of('lost'), 'failed paid',
	'a hook that never comes fails the job, and a later one counts for the payment');
is(reasons_of('lost'), 'timeout, timeout, timeout', 'a hook that never comes uses all retries');
is($hipq->sql(q{SELECT string_agg(job_key || ' ' || reason, ', ' ORDER BY job_id)
		FROM hipq.dead_letters}), 'declined explicit_failure, bad explicit_failure, lost timeout',
	'the three failed payments are dead letters');

my @charged = sort map { /^charged (\w+)/ ? $1 : () } split /\n/, $example->file('service.log');
is("@charged", 'fine forgotten late lost twice', 'the service has charged each payment once');
is(scalar(() = $example->file('receiver.log') =~ /^twice: paid: 200/mg), 2,
	'the receiver was called twice');
like($example->said, qr/^== Somebody else calls the hook\n403$/m, 'a wrong signature is refused');
unlike($example->file('receiver.log'), qr/^declined: paid/m,
	'a wrong signature does not reach the payment');
is($hipq->sql(q{SELECT count(*) FROM hipq.jobs WHERE job_type = 'send request'
		AND outcome <> 'succeeded'}), 0, 'all requests were sent');
is($hipq->sql(q{SELECT string_agg(job_key, '; ' ORDER BY id) FROM hipq.jobs
		WHERE job_type = 'send request' AND job_key ~ 'lost'}),
	'lost, attempt 1; lost, attempt 2; lost, attempt 3',
	'each attempt of the lost hook sent one request');
$example->has_ended;
done_testing();
