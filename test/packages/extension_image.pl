# Containerfile.cnpg makes an image of hipq's files alone, and a server of CloudNativePG, whose own
# folders have no hipq, runs README's first screen with the mounted image. Tested in bare roots, in
# which Debian's packages stand in for CloudNativePG's image. PG is the version of PostgreSQL.
use strict;
use warnings;
use File::Basename qw(dirname);
use lib dirname(__FILE__);
use HipqContainerfile;
use HipqRoots;
use Test::More;

my $version = $ENV{PG} // 15;
plan skip_all => "PostgreSQL $version has no extension_control_path" if $version < 18;
my $suite = chomped('tools/clean-root', 'suite', $version);
my $base = "ghcr.io/cloudnative-pg/postgresql:$version-minimal-$suite";

my $image = HipqContainerfile->new('Containerfile.cnpg', "extension-$version", PG => $version,
	BASE => $base);
my $folder = $image->path;
my $scripts = chomped('make', '-s', '--no-print-directory', 'print-DATA_built');
is(chomped('sh', '-c', 'cd "$1" && find . ! -type d -printf "%P\n" | LC_ALL=C sort', 'sh', $folder),
	join("\n", sort 'lib/hipq.so', 'licenses/hipq/LICENSE', map { "share/extension/$_" }
			'hipq.control', split ' ', $scripts),
	'the image has the files of the extension, and its licence');
unlike(chomped('readelf', '-W', '-S', "$folder/lib/hipq.so"), qr/\s\.(?:symtab|debug_info)\s/,
	'the library has no symbols');
isnt($image->{user}, 'root', 'the image is not for root');

# ---- a server mounts the image where CloudNativePG does

my $server = "server-$version";
make_root($suite, $server, "postgresql-$version");
open my $readme, '<', 'README.md' or die $!;
my ($screen) = do { local $/; <$readme> } =~ /^<!-- first-use -->\n```sql\n(.*?)^```$/ms;
my $tmp = chomped('tools/clean-root', 'path', $server) . '/tmp';
open my $out, '>', "$tmp/screen.sql" or die $!;
print $out $screen;
close $out or die $!;
open my $settings, '>', "$tmp/settings" or die $!;
print $settings <<'END';
extension_control_path = '$system:/extensions/hipq/share'
dynamic_library_path = '$libdir:/extensions/hipq/lib'
shared_preload_libraries = 'hipq'
max_worker_processes = 32
END
close $settings or die $!;
my $said = succeeds("README's first screen works with the mounted image",
	in_root($server, <<"END", '--alone', "--bind=$folder:/extensions/hipq"));
find /usr -name '*hipq*'
cat >/tmp/serve <<'DONE'
set -eu
PATH=/usr/lib/postgresql/$version/bin:\$PATH
initdb -D /tmp/data -A trust --no-instructions >/tmp/initdb.log
cat /tmp/settings >>/tmp/data/postgresql.conf
pg_ctl -D /tmp/data -l /tmp/server.log -w start >/tmp/start.log || { cat /tmp/server.log; exit 1; }
psql -X -q -v ON_ERROR_STOP=1 -h localhost -d postgres -f /tmp/screen.sql
for i in \$(seq 300); do
    [ -n "\$(psql -X -At -h localhost -d postgres -c 'TABLE sent')" ] && break
    sleep 0.2
done
psql -X -At -h localhost -d postgres -c "SELECT 'sent: ' || addr FROM sent"
pg_ctl -D /tmp/data -m fast stop
DONE
setpriv --reuid=postgres --regid=postgres --init-groups -- sh /tmp/serve
END
unlike($said, qr{^/usr/}m, 'the folders of the server have no hipq');
like($said, qr/^sent: ann\@example\.com$/m, 'the job runs');

$image->remove;
remove_root($server);
done_testing();
