# The points of a test build (src/pg/point.hpp): arms them, and tells who has come by.
package HipqPoints;

use strict;
use warnings;

# new($hipq): declares the functions in the cluster's database.
sub new
{
	my ($class, $hipq) = @_;
	$hipq->sql(q{
		CREATE SCHEMA point;
		CREATE FUNCTION point.arm(name text, action text, pass integer) RETURNS void LANGUAGE c AS 'hipq', 'hipq_test_arm_point';
		CREATE FUNCTION point.reset() RETURNS void LANGUAGE c AS 'hipq', 'hipq_test_reset_points';
		CREATE FUNCTION point.list(OUT name text, OUT reached bigint, OUT fired bigint, OUT armed text, OUT waiting integer) RETURNS SETOF record
			LANGUAGE c AS 'hipq', 'hipq_test_list_points'});
	return bless { hipq => $hipq }, $class;
}

# The names, in the library's order.
sub names
{
	my ($self) = @_;
	return split /\n/, $self->{hipq}->sql('SELECT name FROM point.list()');
}

# The next process that reaches the point (after letting `pass` go by) does the action. Everything armed before is disarmed.
sub arm
{
	my ($self, $point, $action, $pass) = @_;
	$self->{hipq}->sql("SELECT point.reset(); SELECT point.arm('$point', '$action', " . ($pass // 0) . ')');
	return;
}

# Disarms, and lets go whoever waits.
sub reset
{
	my ($self) = @_;
	$self->{hipq}->sql('SELECT point.reset()');
	return;
}

# Waits until the point has fired; the server may be away meanwhile.
sub wait_fired
{
	my ($self, $point, $seconds) = @_;
	return $self->{hipq}->wait_until("SELECT fired > 0 FROM point.list() WHERE name = '$point'", 't', $seconds);
}

# Waits until a process waits at the point; its pid, or nothing.
sub wait_held
{
	my ($self, $point, $seconds) = @_;
	$self->{hipq}->wait_until("SELECT waiting > 0 FROM point.list() WHERE name = '$point'", 't', $seconds) or return;
	return $self->{hipq}->sql("SELECT waiting FROM point.list() WHERE name = '$point'");
}

1;
