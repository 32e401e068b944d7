# examples/tenants: no tenant has more than its limit, none waits for a greedy one, and none reaches what is another's.
use strict;
use warnings;
use HipqExample;
use Test::More;

my $example = HipqExample->new('tenants');
my $hipq = $example->hipq;

is($hipq->sql(q{SELECT string_agg(concat_ws(' ', tenant, made_by, number), ', ' ORDER BY tenant)
	FROM (SELECT tenant, made_by, count(*) AS number FROM export GROUP BY tenant, made_by) AS export}),
	'acme acme 1, greedy app 60, small app 3, tiny app 3, unpaid app 2', 'each tenant has its exports, made by its role');

# How many attempts for which the condition holds ran at the start of one, at most.
sub at_once
{
	my ($condition) = @_;
	my $attempts = 'SELECT jobs.throttle_key, attempts.queue, attempts.started_time, attempts.ended_time
		FROM hipq.attempts_detail AS attempts JOIN hipq.jobs_detail AS jobs ON jobs.id = attempts.job_id';
	return $hipq->sql("WITH ran AS ($attempts) SELECT max((SELECT count(*) FROM ran AS other
		WHERE $condition AND other.started_time <= one.started_time AND other.ended_time > one.started_time)) FROM ran AS one WHERE one.queue = 'app.export'");
}
is(at_once('other.queue = one.queue AND other.throttle_key = one.throttle_key'), 2, 'two jobs of a tenant ran at once, and no more');
is(at_once('other.queue = one.queue'), 3, 'three of all');
my $end_of = q{SELECT max(made_time) FROM export WHERE tenant};
is($hipq->sql("SELECT ($end_of IN ('small', 'tiny')) < ($end_of = 'greedy')"), 't', 'small tenants did not wait for the greedy one');
is($hipq->sql("SELECT ($end_of = 'greedy') < (SELECT min(made_time) FROM export WHERE tenant = 'unpaid')"), 't', 'who had not paid came after all others');
like($example->said, qr/^ throttle of key \s*\| .*"greedy" is reached: 2 of 2/m, 'why() named the limit');
like($example->said, qr/^ unpaid \| waiting   \|     2$/m, 'and those who were paused waited');
like($example->said, qr/^    queue    \n-+\n acme\.export\n\n/m, 'acme saw its queue alone');
like($example->said, qr/^ERROR:  queue "app\.export" does not exist$/m, 'and could not use the other one');
is($hipq->sql(q{SELECT string_agg(concat_ws(' ', queue, job_key, error), '; ' ORDER BY job_id) FROM hipq.dead_letters_detail}),
	'app.export division by zero; app.export division by zero; acme.export theft new row violates row-level security policy for table "export"',
	'what failed: the broken tenant, and what was not acme\'s');
$example->has_ended;
done_testing();
