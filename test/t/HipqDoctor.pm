# Tests what hipq.doctor() reports, and that the statements of its findings fix them.
package HipqDoctor;

use strict;
use warnings;
use Exporter 'import';
use JSON::PP;
use Test::More;

our @EXPORT = qw(findings finding_of is_found is_mended is_gone);

# Returns the findings of the given severities, as lines such as "error queue "app.mail": owner
# gone".
sub findings
{
	my ($hipq, @severities) = @_;
	@severities = qw(error warning information) unless @severities;
	my $list = join ', ', map { "'$_'" } @severities;
	return $hipq->sql("SELECT concat(severity, ' ', subject, ': ', finding) FROM hipq.doctor()
		WHERE severity IN ($list)");
}

# Returns the finding with this name and subject, as a hash of its columns, or undef.
sub finding_of
{
	my ($hipq, $finding, $subject) = @_;
	my $row = $hipq->sql(qq{SELECT row_to_json(doctor) FROM hipq.doctor()
		WHERE finding = \$\$$finding\$\$ AND subject = \$\$$subject\$\$ LIMIT 1});
	return $row eq '' ? undef : JSON::PP->new->decode($row);
}

sub is_found
{
	my ($hipq, $severity, $finding, $subject, $detail) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $found = finding_of($hipq, $finding, $subject);
	is($found->{severity}, $severity, "$subject: $finding") or diag(findings($hipq));
	like($found->{detail} // '', $detail, "$subject: $finding has its detail") if defined $detail;
	return $found;
}

sub is_gone
{
	my ($hipq, $finding, $subject) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $found = finding_of($hipq, $finding, $subject);
	return ok(!defined $found, "$subject: $finding is no longer found") || diag($found->{detail});
}

# Tests that the doctor reports a finding, runs the statement of the finding, and tests that the
# doctor no longer reports it. Reloads the settings before the second test.
sub is_mended
{
	my ($hipq, $severity, $finding, $subject, $detail) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $found = is_found($hipq, $severity, $finding, $subject, $detail);
	my $statement = $found->{statement};
	ok(defined $statement, "$subject: $finding has a statement") or return $found;
	note($statement);
	my $before = $hipq->sql('SELECT pg_conf_load_time()');
	$hipq->sql($statement);
	if ($statement =~ /^ALTER SYSTEM/)
	{
		$hipq->sql('SELECT pg_reload_conf()');
		$hipq->wait_until("SELECT pg_conf_load_time() > '$before'");
	}
	is_gone($hipq, $finding, $subject);
	return $found;
}

1;
