# examples/saga books a trip completely or not at all. After any failure it undoes the steps of the
# trip in reverse order.
use strict;
use warnings;
use HipqExample;
use Test::More;

my $example = HipqExample->new('saga');
my $hipq = $example->hipq;

sub way_of
{
	my ($trip) = @_;
	return $hipq->sql("SELECT string_agg(job_type, ', ' ORDER BY id) FROM travel.journal
		WHERE trip_id = $trip");
}
sub trip
{
	my ($trip) = @_;
	return $hipq->sql("SELECT concat_ws(' ', state, substring(problem from '\"(\\w+_has_\\w+)\"'))
		FROM travel.trip WHERE id = $trip");
}

# The partners have what they had at first, minus the booked trips.
sub books_balance
{
	my ($name) = @_;
	is($hipq->sql(q{SELECT sum(seats) + (SELECT count(*) FROM travel.trip WHERE state = 'booked')
			FROM travel.flight}), 3, "$name: the seats are those at first minus the booked trips");
	is($hipq->sql(q{SELECT sum(rooms) + (SELECT count(*) FROM travel.trip WHERE state = 'booked')
			FROM travel.hotel}), 4, "$name: the rooms are those at first minus the booked trips");
	is($hipq->sql(q{SELECT sum(credit) + (SELECT sum(price) FROM travel.trip WHERE state = 'booked')
			FROM travel.card}), 2200, "$name: the credit is that at first minus the booked trips");
	return;
}

is(trip(1), 'booked', 'a trip without a failure is booked');
is(way_of(1), 'reserve flight, reserve hotel, charge card',
	'a booked trip has the steps of the plan');
is(trip(2), 'given up hotel_has_a_room', 'a trip to a full hotel is given up');
is(way_of(2), 'reserve flight, cancel flight', 'a trip to a full hotel has its flight cancelled');
is(trip(3), 'given up card_has_credit', 'a trip without credit is given up');
is(way_of(3), 'reserve flight, reserve hotel, cancel hotel, cancel flight',
	'the steps of a trip without credit are undone in reverse order');
is(trip(4), 'given up card_has_credit', 'a trip to a hotel that does not answer is given up');
is(way_of(4), way_of(3), 'the hotel that does not answer is cancelled later, once');
cmp_ok($hipq->sql(q{SELECT count(*) FROM hipq.attempts_detail
		WHERE job_key = 'trip 4' AND job_type = 'cancel hotel' AND error ~ 'does not answer'}),
	'>=', 2, 'the hotel that does not answer is retried');
is($hipq->sql(q{SELECT string_agg(job_key || ' ' || job_type || ' ' || state, ', ' ORDER BY job_id)
		FROM hipq.dead_letters}),
	'trip 2 reserve hotel waiting, trip 3 charge card waiting, trip 4 charge card waiting',
		'a failed trip leaves one dead letter');
books_balance('after the story');

# ---- the executor of a step is terminated
{
	my $bank = $hipq->session;
	$bank->query_safe(q{BEGIN; UPDATE travel.card SET credit = credit WHERE customer = 'ann'});
	is($hipq->sql_as('travel', q{SELECT travel.book('ann', 'LX 38', 'Astoria', 300)}), 5,
		'another trip is booked');
	my $waits = q{SELECT pid FROM hipq.running_detail JOIN pg_stat_activity AS activity USING (pid)
		WHERE job_type = 'charge card' AND activity.wait_event_type = 'Lock'};
	ok($hipq->wait_until("SELECT count(*) FROM ($waits) AS waiting", 1),
		'the card of the trip is being charged');
	is($hipq->sql("SELECT pg_terminate_backend(pid) FROM ($waits) AS waiting"), 't',
		'an executor that charges a card is terminated');
	ok($hipq->wait_until(q{SELECT count(*) > 0 FROM hipq.attempts_detail WHERE job_key = 'trip 5'}),
		'the attempt of the terminated executor has failed');
	$bank->query_safe('COMMIT');
	$bank->quit;
}
ok($hipq->wait_until(q{SELECT count(*) = 0 FROM hipq.jobs_detail WHERE job_key = 'trip 5'
		AND state <> 'final'}),
	'the trip of the terminated executor ends');
is(trip(5), 'booked', 'the trip of the terminated executor is booked');
is(way_of(5), way_of(1), 'the trip of the terminated executor has three steps, each once');
books_balance('after the termination');

# ---- a person must redrive a step that cannot be undone
$hipq->sql(q{SELECT hipq.alter_job_type('travel.booking', 'cancel flight', max_retries => 0);
	ALTER TABLE travel.flight ADD CONSTRAINT flight_takes_nothing_back CHECK
		(seats < 1) NOT VALID});
is($hipq->sql_as('travel', q{SELECT travel.book('bob', 'LX 38', 'Astoria', 300)}), 6,
	'a trip without credit starts');
ok($hipq->wait_until(q{SELECT count(*) FROM hipq.dead_letters WHERE job_key = 'trip 6'
		AND job_type = 'cancel flight'}, 1),
	'the flight of a trip without credit cannot be cancelled');
is(trip(6), 'booking', 'a trip whose flight cannot be cancelled is not given up');
$hipq->sql(q{ALTER TABLE travel.flight DROP CONSTRAINT flight_takes_nothing_back;
	SELECT hipq.redrive(job_id, with_dependents => true) FROM hipq.dead_letters
		WHERE job_key = 'trip 6'
		AND job_type = 'cancel flight'});
ok($hipq->wait_until(q{SELECT state FROM travel.trip WHERE id = 6}, 'given up'),
	'a trip is given up after a redrive');
is(way_of(6), way_of(3), 'each step of a redriven trip is undone once');
books_balance('after the redrive');

# ---- a step is cancelled from outside
{
	my $flights = $hipq->session;
	$flights->query_safe('BEGIN; LOCK travel.flight');
	is($hipq->sql_as('travel', q{SELECT travel.book('eve', 'LX 38', 'Astoria', 300)}), 7,
		'a trip that will be cancelled starts');
	$hipq->sql(q{SELECT hipq.cancel(id) FROM hipq.jobs_detail WHERE job_key = 'trip 7'
		AND job_type = 'reserve hotel'});
	$flights->query_safe('COMMIT');
	$flights->quit;
}
ok($hipq->wait_until(q{SELECT state FROM travel.trip WHERE id = 7}, 'given up'),
	'a trip is given up when a step is cancelled');
is(way_of(7), way_of(2), 'the step before the cancelled one is undone');
books_balance('after the cancelling');
$example->has_ended;
done_testing();
