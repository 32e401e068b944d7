# The Containerfile works on the unpacked tarball, tested in bare roots because there need be no
# container engine: each step does what it says, and the resulting server runs README's first
# screen, keeps its jobs over a restart, and asks for passwords. The client of PGXN installs the
# zip. The development container, which is for PostgreSQL 15, can build and test. PG (15) is the
# version of PostgreSQL.
use strict;
use warnings;
use File::Basename qw(basename dirname);
use lib dirname(__FILE__);
use HipqContainerfile;
use HipqRoots;
use JSON::PP qw(decode_json);
use Test::More;

my $version = $ENV{PG} // 15;
plan skip_all => 'the image has pg_cron, which Debian lacks for PostgreSQL 19'
  if $version == 19;
my $dist = "build/dist-$version";
chomped('rm', '-rf', $dist);
my ($tarball, $zip) = grep { m{^/} } split /\n/, chomped('tools/dist', '--zip', $dist);
chomped('tar', '-xf', $tarball, '-C', $dist);
my $context = $tarball =~ s/\.tar\.gz$//r;

my $stage = HipqContainerfile->new("$context/Containerfile", "container-$version",
	PG => $version, SUITE => chomped('tools/clean-root', 'suite', $version));
is($stage->{user}, 'postgres', 'the server runs as user postgres');
is($stage->{EXPOSE}, '5432 8484', 'the server has port 5432, and the web page has 8484');
is($stage->{STOPSIGNAL}, 'SIGINT', 'the container is stopped by a fast shutdown');
my ($entry) = $stage->{ENTRYPOINT} =~ /^\["([\w-]+)"\]$/;
isnt($entry, undef, 'one program starts the server');
like(chomped($stage->in_stage('pwd; ls -A')), qr{^\Q$stage->{VOLUME}\E\s*$},
	'the volume exists and is empty');
my $root = $stage->path;
my $library = "$root/usr/lib/postgresql/$version/lib/hipq.so";
unlike(chomped('readelf', '-W', '-S', $library), qr/\s\.(?:symtab|debug_info)\s/,
	'the library has no symbols');

# ---- the container runs

my ($screen) = slurp("$context/README.md") =~ /^<!-- first-use -->\n```sql\n(.*?)^```$/ms;
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

my ($said, $status) = run($stage->in_stage($entry, '--alone'));
isnt($status, 0, 'without a password no cluster is made');
like($said, qr/POSTGRES_PASSWORD: is needed to make the cluster/,
	'the error names the missing password');

$said = succeeds("README's first screen works",
	$stage->in_stage(serve("POSTGRES_PASSWORD='it is secret' ", <<'END'), '--alone'));
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

$said = succeeds('it starts again', $stage->in_stage(serve('', <<'END'), '--alone'));
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

# ---- PGXN's client installs the zip, where the stage that builds has what it takes

my $pg_config = "/usr/lib/postgresql/$version/bin/pg_config";
my $archive = '/dist/' . basename($zip);
my $final = $stage->{root};
$stage->be_in($stage->stage('build'));
copy_into($stage->{root}, '/dist', $zip);
succeeds('the client of PGXN is installed',
	$stage->in_stage('apt-get install -y -qq --no-install-recommends pgxnclient'));
succeeds('it builds and installs the zip',
	$stage->in_stage("pgxn install --yes --pg_config $pg_config $archive"));
my $same = chomped($stage->in_stage('cd /installed && find usr/lib usr/share/postgresql -type f '
		. '-exec cmp {} /{} \; -exec echo same {} \;'));
is(join("\n", grep { !/^same / } split /\n/, $same), '',
	'it has installed the files that "make install" installs');
like($same, qr{^same usr/lib/postgresql/$version/lib/hipq\.so$}m, '... and so the library');
succeeds('it removes them',
	$stage->in_stage("pgxn uninstall --yes --pg_config $pg_config $archive"));
is(chomped($stage->in_stage(
		"find /usr/lib/postgresql /usr/share/postgresql /usr/local -name 'hipq*'")),
	'', 'nothing is left');

# ---- the development container that .devcontainer/devcontainer.json makes from a stage

SKIP: {
	skip 'editors build it for PostgreSQL 15', 2 if $version != 15;
	my $container = decode_json(slurp('.devcontainer/devcontainer.json'));
	$stage->be_in($stage->stage($container->{build}{target}));
	$stage->{folder} = '/workspaces/hipq';
	my $workspace = $stage->path . $stage->{folder};
	chomped('mkdir', '-p', $workspace);
	chomped('sh', '-c', 'git ls-files -z | tar --null -T - -cf - | tar -C "$1" -xf -', 'sh',
		$workspace);
	succeeds('postCreateCommand installs what is missing',
		$stage->in_stage($container->{postCreateCommand}));
	succeeds('one test builds hipq and passes', $stage->in_stage('test/one published'));
}

$stage->remove;
remove_root($final);
chomped('rm', '-rf', $dist);
done_testing();
