# The Containerfile works, tested in bare roots because there need be no container engine: each step
# does what it says, and the resulting server runs README's first screen, keeps its jobs over a
# restart, and asks for passwords. The development container can build and test. PG (15) is the
# version of PostgreSQL.
use strict;
use warnings;
use File::Basename qw(dirname);
use lib dirname(__FILE__);
use HipqRoots;
use JSON::PP qw(decode_json);
use Test::More;

my $version = $ENV{PG} // 15;
my %arguments = (PG => $version, SUITE => chomped('tools/clean-root', 'suite', $version));

# ---- the steps, as an engine would take them

# The instructions, each as [ word, rest ].
sub instructions
{
	my ($path) = @_;
	open my $in, '<', $path or die "$path: $!\n";
	my $text = do { local $/; <$in> };
	$text =~ s/^#.*\n//mg;
	$text =~ s/\\\n/ /g;
	return map { [ split ' ', $_, 2 ] } grep { /\S/ } split /\n/, $text;
}

# Names of roots by names of stages; the stage that is being made; what was said of how to run it.
my (%stages, $stage, %defaults);

sub bare_stage
{
	my ($root) = @_;
	return { root => $root, user => 'root', folder => '/', arguments => {},
		env => { PATH => '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' } };
}

sub expanded
{
	my ($text, $variables) = @_;
	return $text
		=~ s/\$(?:\{(\w+)\}|(\w+))/$variables->{ $1 \/\/ $2 } \/\/ die "\$$+ is not set\n"/ger;
}

# What compiles uses what was compiled before; but for that it starts as bare as the other.
sub begin_stage
{
	my ($image, $name) = @_;
	my ($suite) = $image =~ /^debian:(\w+)-slim$/
		or die "FROM $image: the test knows Debian alone\n";
	my $root = "container-$version-" . ($name // 'final');
	make_root($suite, $root, defined $name ? 'ccache' : ());
	$stages{$name} = $root if defined $name;
	$stage = bare_stage($root);
	return 1;
}

# The command that runs lines of shell where the stage has come to.
sub in_stage
{
	my ($script, @options) = @_;
	my %environment = (%{ $stage->{env} }, %{ $stage->{arguments} });
	$environment{PATH} = "/usr/lib/ccache:$environment{PATH}";
	my $exports = join '', map { "export $_='$environment{$_}'\n" } sort keys %environment;
	my $inner = $stage->{user} eq 'root' ? "sh -euc \"\$1\""
		: "setpriv --reuid=$stage->{user} --regid=$stage->{user} --init-groups -- sh -euc \"\$1\"";
	return ('tools/clean-root', 'run', $stage->{root}, @options, with_ccache(), 'sh', '-euc',
		"${exports}cd '$stage->{folder}'\n$inner", 'sh', $script);
}

sub with_ccache
{
	my $cache = chomped('tools/clean-root', 'path', 'ccache');
	chomped('mkdir', '-p', $cache);
	return ("--bind=$cache:/ccache", 'env', 'CCACHE_DIR=/ccache', 'CCACHE_DEPEND=1',
		'CCACHE_NOHASHDIR=1',
		'CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime');
}

# Of the checkout only what .dockerignore leaves is there to be copied.
sub copy
{
	my ($from, $to, @paths) = @_;
	my $target = chomped('tools/clean-root', 'path', $stage->{root}) . $to;
	my $source = defined $from ? chomped('tools/clean-root', 'path',
		$stages{$from} // die "COPY: no stage $from\n") : '.';
	foreach my $path (@paths)
	{
		chomped('mkdir', '-p', $target);
		if (!-d "$source/$path") { chomped('cp', "$source/$path", "$target/"); next; }
		chomped('sh', '-c', 'tar -C "$1" ${3:+--anchored --exclude-from="$3"} -cf - $(ls -A "$1") '
			. '| tar -C "$2" --keep-directory-symlink -xf -',
			'sh', "$source/$path", $target, defined $from ? '' : '.dockerignore');
	}
	return 1;
}

my %steps = (
	ARG => sub {
		my ($name, $default) = $_[0] =~ /^(\w+)(?:=(.*))?$/ or die "ARG $_[0]\n";
		($stage ? $stage->{arguments} : \%defaults)->{$name} = $arguments{$name} // $default
			// $defaults{$name};
	},
	FROM => sub { my ($image, $name) = $_[0] =~ /^(\S+)(?: AS (\w+))?$/
		or die "FROM $_[0]\n"; begin_stage(expanded($image, \%defaults), $name) },
	RUN => sub { succeeds("RUN $_[0]", in_stage($_[0])) },
	COPY => sub {
		my ($from, $paths) = $_[0] =~ /^(?:--from=(\w+) )?(.*)$/;
		my @paths = split ' ', $paths;
		copy($from, pop @paths, @paths);
	},
	ENV => sub {
		my %new = map { split /=/, $_, 2 } split ' ', $_[0];
		my %known = (%{ $stage->{env} }, %{ $stage->{arguments} });
		$stage->{env}{$_} = expanded($new{$_}, \%known) foreach keys %new;
	},
	WORKDIR => sub { $stage->{folder} = $_[0];
		chomped(in_root($stage->{root}, "mkdir -p '$_[0]'")) },
	USER => sub { $stage->{user} = $_[0] },
	map { my $word = $_; $word => sub { $stage->{$word} = $_[0] } } qw(VOLUME EXPOSE
		STOPSIGNAL ENTRYPOINT),
);

foreach my $instruction (instructions('Containerfile'))
{
	my ($word, $rest) = @$instruction;
	my $step = $steps{$word} // die "the test does not know the instruction $word\n";
	$step->($rest =~ s/\s+$//r);
}
is($stage->{user}, 'postgres', 'the server runs as user postgres');
is($stage->{EXPOSE}, '5432 8484', 'the server has port 5432, and the web page has 8484');
is($stage->{STOPSIGNAL}, 'SIGINT', 'the container is stopped by a fast shutdown');
my ($entry) = $stage->{ENTRYPOINT} =~ /^\["([\w-]+)"\]$/;
isnt($entry, undef, 'one program starts the server');
like(chomped(in_stage('pwd; ls -A')), qr{^\Q$stage->{VOLUME}\E\s*$},
	'the volume exists and is empty');
my $library = chomped('tools/clean-root', 'path',
	$stage->{root}) . "/usr/lib/postgresql/$version/lib/hipq.so";
unlike(chomped('readelf', '-W', '-S', $library), qr/\s\.(?:symtab|debug_info)\s/,
	'the library has no symbols');

# ---- the container runs

$stage->{arguments} = {};    # they are there while the image is made, no longer
open my $readme, '<', 'README.md' or die $!;
my ($screen) = do { local $/; <$readme> } =~ /^<!-- first-use -->\n```sql\n(.*?)^```$/ms;
my $root = chomped('tools/clean-root', 'path', $stage->{root});
open my $out, '>', "$root/tmp/screen.sql" or die $!;
print $out $screen;
close $out or die $!;

# What a script does to a server, from its start to its end.
sub serve
{
	my ($password, $script) = @_;
	return <<"END";
$password$entry >/tmp/server.log 2>&1 &
server=\$!
for i in \$(seq 300); do
    pg_isready -q -h localhost && break
    kill -0 \$server 2>/dev/null || break
    sleep 0.2
done
pg_isready -h localhost || { cat /tmp/server.log; exit 1; }
ask() { psql -X -v ON_ERROR_STOP=1 -d postgres "\$@"; }
$script
kill -INT \$server
wait \$server
echo stopped: \$?
END
}

my ($said, $status) = run(in_stage($entry, '--alone'));
isnt($status, 0, 'without a password no cluster is made');
like($said, qr/POSTGRES_PASSWORD: is needed to make the cluster/,
	'the error names the missing password');

$said = succeeds("README's first screen works",
	in_stage(serve("POSTGRES_PASSWORD='it is secret' ", <<'END'), '--alone'));
ask -f /tmp/screen.sql
for i in $(seq 300); do
    case $(ask -At -c "SELECT string_agg(addr, ' ' ORDER BY addr) FROM sent") in
    'ann@example.com') break ;;
    esac
    sleep 0.2
done
ask -At -c "SELECT 'sent: ' || string_agg(addr, ' ' ORDER BY addr) FROM sent"
PGPASSWORD='it is secret' psql -X -h localhost -d postgres -At \
    -c "SELECT 'with the password: ' || inet_server_port()"
PGPASSWORD=guessed psql -X -h localhost -d postgres -At -c "SELECT 'without it'" 2>&1 || true
tr '\0' '\n' </proc/$(head -n 1 $PGDATA/postmaster.pid)/environ | grep -c POSTGRES_PASSWORD= || true
END
like($said, qr/^sent: ann\@example.com$/m, 'the job runs');
like($said, qr/^with the password: 5432$/m,
	'over the network a role with the right password gets in');
like($said, qr/password authentication failed/,
	'over the network a role with a wrong password does not get in');
like($said, qr/^0$/m, 'the server does not keep the password in its environment');
like($said, qr/^stopped: 0$/m, 'it stops cleanly');

$said = succeeds('it starts again', in_stage(serve('', <<'END'), '--alone'));
ask -At -c "SELECT 'jobs: ' || count(*) FROM hipq.jobs"
hipq-top --once
container-web 2>/tmp/web.log &
web=$!
for i in $(seq 100); do grep -q 'serving on' /tmp/web.log && break; sleep 0.1; done
bash -c 'exec 3<>/dev/tcp/127.0.0.1/8484
    printf "GET / HTTP/1.1\r\nHost: 127.0.0.1:8484\r\nConnection: close\r\n\r\n" >&3
    cat <&3' | tr -d '\r'
ask -c 'CREATE EXTENSION pg_cron' -c "SELECT hipq.schedule('each minute', '* * * * *', 'welcome',
    '{\"to\": \"zoe@example.com\"}')"
for i in $(seq 500); do
    [ "$(ask -At -c "SELECT count(*) FROM sent WHERE addr = 'zoe@example.com'")" -gt 0 ] && break
    sleep 0.2
done
ask -At -c "SELECT 'scheduled: ' || last_action FROM hipq.schedules_detail"
kill $web
END
like($said, qr/^jobs: 1$/m, 'the server has its job after a restart');
like($said, qr/^app\.mail\b/m, 'hipq-top shows the queue');
like($said, qr{^HTTP/1\.1 200 OK\n.*<title>hipq</title>}ms, 'hipq-web serves its page');
like($said, qr/^scheduled: enqueued$/m, 'a schedule enqueues a job');

# ---- the development container that .devcontainer/devcontainer.json makes from a stage

open my $described, '<', '.devcontainer/devcontainer.json' or die $!;
my $container = decode_json(do { local $/; <$described> });
$stage = bare_stage($stages{ $container->{build}{target} });
$stage->{folder} = '/workspaces/hipq';
my $workspace = chomped('tools/clean-root', 'path', $stage->{root}) . $stage->{folder};
chomped('mkdir', '-p', $workspace);
chomped('sh', '-c', 'git ls-files -z | tar --null -T - -cf - | tar -C "$1" -xf -', 'sh',
	$workspace);
succeeds('postCreateCommand installs what is missing', in_stage($container->{postCreateCommand}));
succeeds('one test builds hipq and passes', in_stage('test/one published'));

remove_root($_) foreach values %stages, $stage->{root};
done_testing();
