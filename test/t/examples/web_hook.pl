# examples/web-hook: a job ends with its web-hook, which may be late, come twice or never; nothing is charged twice.
use strict;
use warnings;
use HipqExample;
use Test::More;

my $example = HipqExample->new('web-hook');
my $hipq = $example->hipq;

sub outcome_of
{
	my ($payment) = @_;
	return $hipq->sql("SELECT outcome || ' ' || payment.state FROM hipq.jobs_detail JOIN payment ON name = job_key
		WHERE job_type = 'charge' AND name = '$payment'");
}

sub reasons_of
{
	my ($payment) = @_;
	return $hipq->sql("SELECT string_agg(reason, ', ' ORDER BY attempt) FROM hipq.attempts_detail
		WHERE job_type = 'charge' AND job_key = '$payment'");
}

is(outcome_of('fine'), 'succeeded paid', 'a payment that goes well');
is($hipq->sql(q{SELECT result FROM hipq.jobs_detail WHERE job_type = 'charge' AND job_key = 'fine'}), '{"status": "paid"}', 'its result is what the hook said');
is(outcome_of('twice'), 'succeeded paid', 'a hook that comes twice');
is(reasons_of('twice'), 'succeeded', 'counts once');
is(outcome_of('declined'), 'failed open', 'a card that is declined');
is(reasons_of('declined'), 'explicit_failure', 'is not tried again');
is(outcome_of('bad'), 'failed open', 'a request that the service refuses');
is($hipq->sql(q{SELECT error FROM hipq.attempts_detail WHERE job_type = 'charge' AND job_key = 'bad'}), '422: no such currency', 'fails the job that waits');
is(outcome_of('late'), 'succeeded paid', 'a receiver that was down is called again');
is(outcome_of('forgotten'), 'succeeded paid', 'a hook that does not come is asked for again');
like(reasons_of('forgotten'), qr/^(?:timeout, )+succeeded$/, 'after the timeout');
is(outcome_of('lost'), 'failed paid', 'one that never comes fails the job; what comes after that counts for the payment');
is(reasons_of('lost'), 'timeout, timeout, timeout', 'after all retries');
is($hipq->sql(q{SELECT string_agg(job_key || ' ' || reason, ', ' ORDER BY job_id) FROM hipq.dead_letters}), 'declined explicit_failure, bad explicit_failure, lost timeout', 'the three that failed are dead letters');

my @charged = sort map { /^charged (\w+)/ ? $1 : () } split /\n/, $example->file('service.log');
is("@charged", 'fine forgotten late lost twice', 'the service has charged each payment once');
is(scalar(() = $example->file('receiver.log') =~ /^twice: paid: 200/mg), 2, 'the receiver was called twice');
like($example->said, qr/^== Somebody else calls the hook\n403$/m, 'a wrong signature is refused');
unlike($example->file('receiver.log'), qr/^declined: paid/m, 'and goes no further');
is($hipq->sql(q{SELECT count(*) FROM hipq.jobs WHERE job_type = 'send request' AND outcome <> 'succeeded'}), 0, 'all requests were sent');
is($hipq->sql(q{SELECT string_agg(job_key, '; ' ORDER BY id) FROM hipq.jobs WHERE job_type = 'send request' AND job_key ~ 'lost'}),
	'lost, attempt 1; lost, attempt 2; lost, attempt 3', 'one for each attempt');
$example->has_ended;
done_testing();
