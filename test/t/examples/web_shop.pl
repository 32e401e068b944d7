# In examples/web-shop an order and its e-mail are committed together. A mail server that is down
# only delays the e-mail.
use strict;
use warnings;
use HipqExample;
use JSON::PP qw(decode_json);
use Test::More;

my $example = HipqExample->new('web-shop');
my $hipq = $example->hipq;

my @mail = map { decode_json($_) } split /\n/, $example->file('mail');
is(join(', ', sort map { "$_->{To} $_->{Subject}" } @mail),
	'ann@example.com Your order 1, bob@example.com Your order 2, busy@example.com Your order 4, '
		. 'eve@example.com Your order 3',
	'each customer with a known address has one e-mail');
like((grep { $_->{To} =~ /^bob/ } @mail)[0]{text}, qr/^Thank you! 2 book /,
	'the e-mail says what was ordered');
is($hipq->sql(q{SELECT string_agg(split_part(customer, '@', 1), ' ' ORDER BY id)
		FROM customer_order}), 'ann bob eve busy nobody',
	'each customer who got the product has an order');
is($hipq->sql(q{SELECT string_agg(name || ' ' || stock, ', ' ORDER BY name) FROM product}),
	'book 5, lamp 0', 'the stock is reduced by the orders');
like($example->said, qr/^no order: there is not enough of lamp for joe/m,
	'a customer who came too late gets an error');
is($hipq->sql('SELECT count(*) FROM hipq.jobs'), $hipq->sql('SELECT count(*) FROM customer_order'),
	'there are as many jobs as orders');
is($hipq->sql(q{SELECT string_agg(DISTINCT job_key, ', ') FROM hipq.attempts_detail
	WHERE reason = 'transient_error' AND error ~ 'refused'}), 'order 2, order 3',
		'the mail server was down for two orders');
is($hipq->sql(q{SELECT job_key || ' ' || reason || ' ' || error FROM hipq.dead_letters_detail}),
	'order 5 explicit_failure 550 no such user',
	'an e-mail that cannot be delivered is a dead letter');
is($hipq->sql(q{SELECT attempt FROM hipq.jobs WHERE job_key = 'order 5'}), 1,
	'an e-mail that cannot be delivered is not retried');
cmp_ok($hipq->sql(q{SELECT attempt FROM hipq.jobs WHERE job_key = 'order 4'}), '>', 1,
	'an e-mail that the mail server defers is retried');
$example->has_ended;
done_testing();
