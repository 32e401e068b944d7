# hipq-run rejects wrong options with exit code 64, and then takes no jobs. Its manual page, its
# completion and the manual name all options. clients/run/test/options_test.cpp tests the messages
# for wrong values.
use strict;
use warnings;
use HipqRun;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'hipq-run was not built: nlohmann-json3-dev or libcurl4-openssl-dev is missing'
	unless defined HipqRun::program();
# hipq-run must not connect to a server, and these variables lead to none.
local @ENV{qw(PGHOST PGPORT PGUSER PGDATABASE)} = (PostgreSQL::Test::Utils::tempdir_short(), 1,
	'nobody', 'none');
my @right = ('--queue', 'app.mail', '--types', 'welcome');
my @program = ('--', 'true');

my ($code, $help, $err) = HipqRun::answer(undef, '--help');
is($code . $err, '0', 'hipq-run has --help');
like((HipqRun::answer(undef, '--version'))[1], qr/^hipq-run \d+\.\d+\.\d+$/,
	'hipq-run has --version');
my @options = $help =~ /^ +(?:-\w, )?--([\w-]+)/mg;
cmp_ok(scalar @options, '>', 20, '--help lists more than 20 options');
my %takes_value = map { $_ => 1 } $help =~ /^ +(?:-\w, )?--([\w-]+) [A-Za-z]/mg;

foreach my $option (grep { $takes_value{$_} } @options)
{
	my ($status, undef, $said) = HipqRun::answer(undef, @right, "--$option");
	is($status, 64, "--$option without its value is refused");
	is($said, "hipq-run: --$option needs a value: " . ($help =~ /^ +(?:-\w, )?--$option (\S+)/m)[0]
		. "\nTry hipq-run --help.\n", "the error names the missing value of --$option");
}
foreach my $option (grep { !$takes_value{$_} } @options)
{
	is((HipqRun::answer(undef, @right, "--$option=yes", @program))[0], 64,
		"--$option with a value is refused");
}
my $folder = PostgreSQL::Test::Utils::tempdir_short();
append_to_file("$folder/wrong.json", '{"jobs": "many"}');
foreach my $case (
	[ [], 'no queue is named: --queue app.mail' ],
	[ ['--nonsense'], 'there is no option --nonsense' ],
	[ [@right], 'no program is named: it comes last, after --' ],
	[ [ @right, '--', 'no-such-program' ], 'there is no program "no-such-program"' ],
	[ [ @right, '--', $folder ], qq{there is no program "$folder"} ],
	[ [ @right, '--jobs', 'many', @program ], '--jobs many: needs a whole number from 1 to 10000' ],
	[ [ @right, '--config', "$folder/none.json", @program ],
		"--config $folder/none.json: cannot be read" ],
	[ [ @right, '--config', "$folder/wrong.json", @program ],
		qq{--config $folder/wrong.json: "jobs": needs a whole number from 1 to 10000} ],
	[ [ @right, '-d', 'postgresql://%zz', @program ],
		'--dbname: invalid percent-encoded token: "%zz"' ],
	[ [ @right, '-d', 'nonsense=1', @program ], '--dbname: invalid connection option "nonsense"' ],
	[ [ @right, '--traces', 'localhost:4318', @program ],
		'--traces localhost:4318: needs a URL such as http://localhost:4318/v1/traces' ],
	[ [ @right, '--metrics', '203.0.113.1:9188', @program ],
			'--metrics 203.0.113.1:9188: Cannot assign requested address' ])
{
	my ($arguments, $expected) = @$case;
	my ($status, $out, $said) = HipqRun::answer(undef, @$arguments);
	is("$status $out$said", "64 hipq-run: $expected\nTry hipq-run --help.\n", $expected);
}
my ($status, undef, $said) = HipqRun::answer(undef, @right, '-d', 'service=nowhere', @program);
is($status, 64, 'a missing service is refused');
like($said, qr/definition of service "nowhere" not found/, 'the error names the missing service');
is((HipqRun::answer(undef, @right, $_, @program))[0], 69,
	"$_: without a server hipq-run ends with exit code 69") foreach qw(--once --drain);

# ---- other texts that name the options

my $root = $ENV{HIPQ_ROOT};
my %texts = map { $_ => slurp_file("$root/$_")
	=~ s/\\-/-/gr } qw(clients/run/hipq-run.1 clients/run/hipq-run.bash docs/hipq-run.md);
my @of_doctor = (HipqRun::answer(undef, 'doctor', '--help'))[1] =~ /^ +(?:-\w, )?--([\w-]+)/mg;
cmp_ok(scalar @of_doctor, '>=', 5, 'hipq-run doctor has options');
foreach my $text (sort keys %texts)
{
	is(join(' ', grep { $texts{$text} !~ /--$_\b/ } @options, @of_doctor), '',
		"$text names all options");
	my %known = map { $_ => 1 } @options, @of_doctor;
	my %others = map { $_ => 1 } qw(now sharedir);    # of other programs
	is(join(' ', grep { !$known{$_} && !$others{$_} } $texts{$text}
			=~ /(?<![\w-])--([a-z][\w-]*)/g), '', "$text names no other options");
}

# ---- completion

sub completed
{
	my (@words) = @_;
	my ($out, $error) = ('', '');
	my $script =
		"source $root/clients/run/hipq-run.bash; COMP_WORDS=(\"\$@\"); "
		. "COMP_CWORD=\$((\$# - 1)); _hipq_run; printf '%s\\n' \"\${COMPREPLY[@]}\"";
	IPC::Run::run([ 'bash', '-c', $script, 'hipq-run', 'hipq-run', @words ], '>',
		\$out, '2>', \$error);
	return $error eq '' ? join ' ', split /\n/, $out : $error;
}
is(completed('--po'), '--poll', 'an option is completed');
is(completed('--on-failure', ''), 'retry final', 'the values of an option are completed');
is(completed('--log', 'j'), 'json', 'a partial value is completed');
like(completed('-q', 'app.mail', 'tru'), qr/\btrue\b/, 'the program is completed');
like(completed('-q', 'app.mail', '--', 'tru'), qr/\btrue\b/, 'the program is completed after --');
is(completed('-q', 'app'), '', 'the name of a queue is not completed');
like(completed('doct'), qr{(?:^| )doctor$}, 'doctor is completed');
is(completed('doctor', '--fa'), '--fail-on', 'the options of doctor are completed');
is(completed('doctor', '--format', ''), 'text json',
	"the values of doctor's options are completed");
done_testing();
