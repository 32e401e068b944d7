# DBD::Pg: values are text, but for booleans and arrays.
use strict;
use warnings;
use DBI;
use Time::Local qw(timegm);

my $connection = DBI->connect('dbi:Pg:dbname=postgres', undef, undef,
	{ RaiseError => 1, PrintError => 0, AutoCommit => 0 });

sub milliseconds
{
	my ($year, $month, $day, $hour, $minute, $second, $fraction, $sign, $offset) =
	  $_[0] =~ /^(\d+)-(\d+)-(\d+) (\d+):(\d+):(\d+)(\.\d+)?([+-])(\d+)$/ or die "no time: $_[0]";
	my $seconds =
	  timegm($second, $minute, $hour, $day, $month - 1, $year) - ($sign . $offset) * 3600;
	return 1000 * $seconds + int(1000 * ($fraction // 0));
}

sub shown
{
	my ($value, $kind) = @_;
	return 'NULL' unless defined $value;
	return join ',', @$value if ref $value;
	return $value ? 'true' : 'false' if $kind eq 'boolean';
	return milliseconds($value) if $kind eq 'time';
	return $value =~ s/ //gr if $kind eq 'json';
	return $value + 0 if $kind eq 'number';
	return $value;
}

sub outcome
{
	my ($statement, @values) = @_;
	my $done = eval { $connection->selectall_arrayref($statement, undef, @values); 1 };
	my $state = $done ? '00000' : $connection->state;
	$connection->rollback;
	return $state;
}

sub example
{
	# manual
	my ($id) = $connection->selectrow_array(
		q{SELECT hipq.enqueue('external', $1, 'app.drivers', timeout => $2, throttle_factor => $3)},
		undef, '{"to": "ann@example.com"}', '5 min', 0.5);
	my ($ids, $attempts) = ([$id], [1]);
	$connection->do(q{SELECT hipq.complete_attempts($1, $2)}, undef, $ids, $attempts);
	# manual
	return $id;
}

open my $list, '<', $ARGV[0] or die $!;
while (my $line = <$list>)
{
	chomp $line;
	my ($kind, $what, @rest) = split /\t/, $line, -1;
	my $said;
	if ($kind eq 'read') { $said = @{ $connection->selectall_arrayref("SELECT * FROM $what") }; }
	elsif ($kind eq 'call') { $said = outcome($what, map { $_ eq '\N' ? undef : $_ } @rest); }
	else { $said = shown($connection->selectrow_array($what), $rest[0]); }
	print join("\t", $kind, $what, $said), "\n";
	$connection->rollback;
}
my @job = $connection->selectrow_array(
	'SELECT timeout, throttle_factor, job_data FROM hipq.jobs_detail WHERE id = $1',
	undef, example());
print join("\t", 'example', $job[0], $job[1] + 0, shown($job[2], 'json')), "\n";
$connection->rollback;
$connection->disconnect;
