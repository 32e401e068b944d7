# In examples/tenants no tenant exceeds its limit, waits for a greedy tenant, or reaches the data of
# another.
use strict;
use warnings;
use HipqExample;
use Test::More;

my $example = HipqExample->new('tenants');
my $hipq = $example->hipq;

is($hipq->sql(q{SELECT string_agg(concat_ws(' ', tenant, made_by, number), ', ' ORDER BY tenant)
	FROM (SELECT tenant, made_by, count(*) AS number FROM export
		GROUP BY tenant, made_by) AS export}),
	'acme acme 1, greedy app 60, small app 3, tiny app 3, unpaid app 2',
		'the role of each tenant has made its exports');

# Returns the largest number of attempts for which the condition holds at the start of one attempt.
sub at_once
{
	my ($condition) = @_;
	my $attempts =
		'SELECT jobs.throttle_key, attempts.queue, attempts.started_time, attempts.ended_time
		FROM hipq.attempts_detail AS attempts
			JOIN hipq.jobs_detail AS jobs ON jobs.id = attempts.job_id';
	return $hipq->sql("WITH ran AS ($attempts) SELECT max((SELECT count(*) FROM ran AS other
		WHERE $condition AND other.started_time <= one.started_time AND other.ended_time >
			one.started_time)) FROM ran AS one WHERE one.queue = 'app.export'");
}
is(at_once('other.queue = one.queue AND other.throttle_key = one.throttle_key'), 2,
	'at most two jobs of a tenant run at once');
is(at_once('other.queue = one.queue'), 3, 'at most three jobs of all tenants run at once');
my $end_of = q{SELECT max(made_time) FROM export WHERE tenant};
is($hipq->sql("SELECT ($end_of IN ('small', 'tiny')) < ($end_of = 'greedy')"), 't',
	'small tenants do not wait for the greedy one');
is($hipq->sql("SELECT ($end_of = 'greedy') < (SELECT min(made_time) FROM export
		WHERE tenant = 'unpaid')"), 't', "the unpaid tenant's jobs run after those of all others");
like($example->said, qr/^ throttle of key \s*\| .*"greedy" is reached: 2 of 2/m,
	'why() names the limit of the greedy tenant');
like($example->said, qr/^ unpaid \| waiting   \|     2$/m, 'jobs of the paused tenant wait');
like($example->said, qr/^    queue    \n-+\n acme\.export\n\n/m, 'acme sees its own queue only');
like($example->said, qr/^ERROR:  queue "app\.export" does not exist$/m,
	'acme cannot use the other queue');
is($hipq->sql(q{SELECT string_agg(concat_ws(' ', queue, job_key, error), '; ' ORDER BY job_id)
		FROM hipq.dead_letters_detail}),
	'app.export division by zero; app.export division by zero; acme.export theft new row violates '
		. 'row-level security policy for table "export"',
	"only the broken tenant's job and acme's write into the other table fail");
$example->has_ended;
done_testing();
