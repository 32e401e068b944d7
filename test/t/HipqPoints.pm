# Arms the points of a test build (src/pg/point.hpp), and reports which of them processes have
# reached.
package HipqPoints;

use strict;
use warnings;
use Time::HiRes qw(usleep time);

# new($hipq): declares the functions in the cluster's database.
sub new
{
	my ($class, $hipq) = @_;
	$hipq->sql(q{
		CREATE SCHEMA point;
		CREATE FUNCTION point.arm(name text, action text, pass integer) RETURNS void
			LANGUAGE c AS 'hipq', 'hipq_test_arm_point';
		CREATE FUNCTION point.reset() RETURNS void LANGUAGE c AS 'hipq', 'hipq_test_reset_points';
		CREATE FUNCTION point.list(OUT name text, OUT reached bigint, OUT fired bigint,
			OUT armed text, OUT waiting integer) RETURNS SETOF record
			LANGUAGE c AS 'hipq', 'hipq_test_list_points';
		-- Waits until the point has fired, or until a process is held there. Returns its pid.
		CREATE PROCEDURE point.wait(point text, held boolean, seconds float, INOUT answer text)
			LANGUAGE plpgsql AS $$
		DECLARE
			latest timestamptz := clock_timestamp() + seconds * interval '1 second';
		BEGIN
			LOOP
				SELECT CASE WHEN held THEN nullif(waiting, 0)::text ELSE
					nullif(fired > 0, false)::text END
				INTO answer FROM point.list() WHERE name = point;
				EXIT WHEN answer IS NOT NULL OR clock_timestamp() > latest;
				COMMIT;
				PERFORM pg_sleep(0.005);
			END LOOP;
		END $$});
	return bless { hipq => $hipq }, $class;
}

# Returns the names, in the library's order.
sub names
{
	my ($self) = @_;
	return split /\n/, $self->{hipq}->sql('SELECT name FROM point.list()');
}

# Makes the next process that reaches the point (after `pass` others) do the action. Disarms all
# other points.
sub arm
{
	my ($self, $point, $action, $pass) = @_;
	$self->{hipq}->sql("SELECT point.reset(); SELECT point.arm('$point', '$action', "
		. ($pass // 0) . ')');
	return;
}

# Disarms all points, and releases waiting processes.
sub reset
{
	my ($self) = @_;
	$self->{hipq}->sql('SELECT point.reset()');
	return;
}

# Waits in the server, because a psql for each query would load a busy machine too much. The server
# can be down for a time. Returns the answer, or nothing after this many seconds.
sub wait_for
{
	my ($self, $point, $held, $seconds) = @_;
	my $end = time() + ($seconds // $PostgreSQL::Test::Utils::timeout_default);
	for (;;)
	{
		my $left = $end - time();
		my ($status, $out) = $self->{hipq}->try_sql("CALL point.wait('$point', $held, "
			. ($left > 0 ? $left : 0) . ', NULL)');
		return $out eq '' ? undef : $out if $status == 0;
		return if $left < -$PostgreSQL::Test::Utils::timeout_default;
		usleep(20_000);
	}
}

# Waits until the point has fired. Returns whether it did.
sub wait_fired
{
	my ($self, $point, $seconds) = @_;
	return defined $self->wait_for($point, 'false', $seconds);
}

# Waits until a process waits at the point. Returns its pid, or nothing.
sub wait_held
{
	my ($self, $point, $seconds) = @_;
	return $self->wait_for($point, 'true', $seconds);
}

1;
