# hipq-run doctor prints findings as text or JSON. Its exit code distinguishes findings from
# failures to examine the database.
use strict;
use warnings;
use HipqCluster;
use HipqRun;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'hipq-run was not built: nlohmann-json3-dev or libcurl4-openssl-dev is missing'
	unless defined HipqRun::program();
my $hipq = HipqCluster->new('run_doctor');
sub doctor { my (@arguments) = @_; return HipqRun::answer($hipq, 'doctor', @arguments); }

# ---- databases that cannot be examined
my ($code, $out, $err) = doctor('-d', 'nowhere');
is($code, 2, 'no connection: exit code 2');
like($err, qr/^hipq-run doctor: .*database "nowhere" does not exist$/m,
	'no connection: the message of libpq is printed');
is($out, '', 'no connection: no findings are printed');
$hipq->sql('CREATE DATABASE plain');
($code, undef, $err) = doctor('--dbname=dbname=plain');
is($code, 2, 'no extension: exit code 2');
like($err, qr/^Extension hipq is not installed in this database: CREATE EXTENSION hipq\.$/m,
	'no extension: the error says so');
($code, undef, $err) = doctor();
is($code, 2, 'no right: exit code 2');
like($err, qr/permission denied for schema hipq\nThe role needs to be a member of pg_monitor/,
	'no right: the error names the right');
$hipq->sql('GRANT pg_monitor TO app');

# ---- options
foreach my $case ([ ['--nonsense'], 'there is no option --nonsense' ],
	[ ['--format'], '--format needs a value: text|json' ],
	[ [ '--format', 'xml' ], '--format xml: needs "text" or "json"' ],
	[ ['--fail-on=all'], '--fail-on all: needs "error", "warning" or "never"' ],
		[ ['--help=yes'], '--help takes no value' ], [ ['more'], 'there is no option more' ])
{
	my ($wrong, $message) = @$case;
	($code, $out, $err) = doctor(@$wrong);
	is("$code$out $err", "64 hipq-run: $message\nTry hipq-run doctor --help.\n",
		"@$wrong is refused");
}
like((doctor('--version'))[1], qr/^hipq-run \d+\.\d+\.\d+$/, 'doctor has the version of hipq-run');

# ---- nothing to find
is_deeply([ doctor() ], [ 0, qq{Database "postgres": nothing is wrong.\n}, '' ],
	'a new server has no findings');
is_deeply([ doctor('--format', 'json') ], [ 0, "[]\n", '' ],
	'a new server has no findings in JSON');

# ---- a warning
$hipq->set('hipq.retry_base' => '1h');
($code, $out) = doctor();
is($code, 0, 'a warning has exit code 0');
is($out, <<'END', 'a warning is printed');
warning: setting hipq.retry_base: contradicting settings
    hipq.retry_base (1h) is longer than hipq.retry_max (5min), which cuts every delay.
    Make it shorter, or the other one longer. Then reload: SELECT pg_reload_conf().
    => ALTER SYSTEM SET hipq.retry_base = '5min';

Database "postgres": 0 errors, 1 warning, 0 for information.
END
is((doctor('--fail-on', 'warning'))[0], 1, 'with --fail-on warning a warning has exit code 1');

# ---- an error
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE FUNCTION work(data jsonb) RETURNS void LANGUAGE sql AS '';
	SELECT hipq.register_job_type('app.main', 'work', handler => 'work')});
$hipq->sql('DROP FUNCTION work(jsonb)');
($code, $out) = doctor('--format=json');
is($code, 1, 'an error has exit code 1');
my $found = JSON::PP->new->decode($out);
is(join(', ', map { "$_->{severity} $_->{finding}" } @$found),
	'error missing handler, warning contradicting settings', 'errors come before warnings');
is($found->[0]{statement}, undef, 'a missing statement is null in JSON');
is(join(' ', sort keys %{ $found->[0] }), 'detail finding hint severity statement subject',
	'the members of JSON have the names of the columns');
is((doctor('--fail-on', 'never'))[0], 0, 'with --fail-on never an error has exit code 0');

done_testing();
