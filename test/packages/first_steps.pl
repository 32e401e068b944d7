# What README.md, the tutorial and the pages of installation and clients tell a newcomer to type,
# typed on a bare Debian 12 by a user with sudo: from apt-get to workers in Python, C++ and Node.js.
# As Debian has it, the server lets in system users over its socket (peer), others by password. Root
# runs it, with prove; see suite_packages in test/run.
use strict;
use warnings;
use File::Basename qw(dirname);
use lib dirname(__FILE__);
use HipqRoots;
use Test::More;

plan skip_all => 'the pages are about Debian 12' if ($ENV{PG} // 15) != 15;
my $root = 'first-steps';
my $version = chomped('sed', '-n', "s/^default_version = '\\(.*\\)'/\\1/p", 'hipq.control');

# ---- the pages

# What a page shows as code, by fences or by four spaces.
sub blocks
{
	my ($text) = @_;
	my @fenced;
	$text =~ s/^```\w*\n(.*?)^```$/push @fenced, $1; ''/gmse;
	return (@fenced, map { s/^    //mgr } $text =~ /(?<=\n\n)((?:(?:    .*)?\n)*    .*\n)/g);
}

# The first one of them that is like this.
sub block
{
	my ($page, $pattern) = @_;
	my ($found) = grep { $_ =~ $pattern } blocks(slurp($page));
	BAIL_OUT("$page shows nothing like $pattern") unless defined $found;
	return $found;
}

# ---- a machine, its user Ann, and her checkout

make_root('bookworm', $root, qw(ca-certificates ccache man-db sudo));
my $path = chomped('tools/clean-root', 'path', $root);
my $cache = chomped('tools/clean-root', 'path', 'ccache');
chomped('mkdir', '-p', $cache, "$path/home/ann/hipq");
chomped('sh', '-c', 'tar --anchored --exclude-from=.dockerignore -c $(ls -A) | tar -C "$1" -x',
	'sh', "$path/home/ann/hipq");
chomped('chmod', '-R', 'a+rwX', $cache);
# It trusts the registry of npm as this machine does, as it has its mirror of Debian.
copy_into($root, '/etc', grep { -e $_ } '/etc/npmrc');
copy_into($root, '/etc/ssl/certs', '/etc/ssl/certs/ca-certificates.crt');
chomped(in_root($root, <<'END'));
echo "127.0.0.1 localhost $(hostname)" >/etc/hosts
useradd --shell /bin/bash ann
chown -R ann:ann /home/ann
chmod 700 /home/ann
echo 'ann ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/ann
echo 'APT::Get::Assume-Yes "true"; APT::Install-Recommends "false";' >/etc/apt/apt.conf.d/91ann
apt-get update -qq
# There is no systemd in a root.
cat >/usr/local/bin/systemctl <<'SCRIPT'
#!/bin/sh
[ "$*" = 'restart postgresql@15-main' ] || exit
exec pg_ctlcluster --skip-systemctl-redirect 15 main restart
SCRIPT
chmod 755 /usr/local/bin/systemctl
END

# Apart from cached objects of earlier compilations the machine is bare. All processes that a
# command has started end with it, so the server is started again before the next command.
sub as_ann
{
	my ($lines) = @_;
	my @run = ('tools/clean-root', 'run', $root, "--bind=$cache:/ccache", 'sh', '-euc');
	return (@run, <<'END', 'sh', $lines);
if [ -e /var/lib/postgresql/15/main/PG_VERSION ]; then
    pg_ctlcluster --skip-systemctl-redirect 15 main start
fi
CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
setpriv --reuid=ann --regid=ann --init-groups -- \
    env -i HOME=/home/ann USER=ann LANG=C.UTF-8 PATH=/usr/local/bin:/usr/bin:/bin \
    CCACHE_DIR=/ccache CCACHE_DEPEND=1 CCACHE_UMASK=000 CCACHE_SLOPPINESS=$CCACHE_SLOPPINESS \
    bash -euc "cd ~/hipq
$1"
END
}

# Tests that it works, and returns what it says.
sub types
{
	my ($what, $lines) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return succeeds($what, as_ann($lines));
}

# The command that writes a file.
sub file
{
	my ($name, $text) = @_;
	return "cat >$name <<'END'\n${text}END\n";
}

# As the superuser of the server.
sub psql
{
	my ($what, $database, $text) = @_;
	my $psql = 'sudo -u postgres psql -X -q -v ON_ERROR_STOP=1';
	return types($what, "$psql $database <<'END'\n${text}END\n");
}

# ---- README.md

my $install = block('README.md', qr/^make -j/m);
is(block('docs/how-to/install.md', qr/^make -j/m),
	$install, 'README.md and the page of installation show the same lines');
unlike(types('README.md: hipq is built and installed', $install),
	qr/is not built/, '... with all programs');
my $settings = block('README.md', qr/^shared_preload_libraries/m);
my ($restart) = slurp('README.md') =~ /Restart the server \(`(.*?)`\)/;
types('the server is restarted with its settings',
	file('~/settings', $settings)
	  . "sudo sh -c 'cat >>/etc/postgresql/15/main/postgresql.conf' <~/settings\n$restart");
psql('the first SQL is typed', 'postgres', block('README.md', qr/send_welcome/));
my $said = types('its job runs', <<'END');
for i in $(seq 300); do
    sent=$(sudo -u postgres psql -Atc "SELECT string_agg(addr, ' ' ORDER BY addr) FROM sent")
    [ "$sent" != 'ann@example.com' ] || break
    sleep 0.2
done
echo "sent: $sent"
END
like($said, qr/^sent: ann\@example.com$/m, '... as it should');

# ---- programs are where one looks for them

foreach my $program (qw(hipq-run hipq-top hipq-web))
{
	$said = types("$program is found", "$program --version; man -w $program");
	like($said, qr/^$program \Q$version\E$/m, '... of this version');
	like($said, qr{^/usr/local/(?:share/)?man/man1/$program\.1$}m, '... and its manual page');
}
like(types('hipq-top as the page says', 'sudo -u postgres hipq-top --once'),
	qr/^app\.mail\b/m, '... shows the queues');

# ---- roles and passwords

my $page = 'docs/how-to/install.md';
psql("$page: a role", 'postgres', block($page, qr/^CREATE ROLE/m));
like(types('... comes in by password', block($page, qr/pgpass/)), qr/^ mailer$/m, '... as itself');
my (undef, $status) = run(as_ann('psql "dbname=postgres user=mailer" -c "SELECT 1"'));
isnt($status, 0, 'and not over the socket');
psql('it may read', 'postgres', "SELECT hipq.grant_queue('app.mail', 'mailer', 'read');\n");
$said = types('hipq-web as the page says', <<'END');
hipq-web --dbname "host=localhost dbname=postgres" 2>/tmp/web.log &
for i in $(seq 100); do grep -q 'serving on' /tmp/web.log && break; sleep 0.1; done
body='{"role": "mailer", "password": "secret"}'
exec 3<>/dev/tcp/127.0.0.1/8484
printf '%s\r\n' >&3 'POST /api/sign-in HTTP/1.1' 'Host: 127.0.0.1:8484' 'Connection: close' \
    'Origin: http://127.0.0.1:8484' 'Content-Type: application/json' "Content-Length: ${#body}" ''
printf '%s' "$body" >&3
cat <&3
kill %1
END
like($said, qr{^HTTP/1\.1 200 }m, '... lets the role sign in');

# ---- the tutorial's worker, and those of the clients

# A database with queue app.mail, which role scanner serves.
sub make_database
{
	my ($database) = @_;
	types("a database for $database", "sudo -u postgres createdb $database");
	return psql('... with a queue', $database, <<'END');
SELECT format('CREATE ROLE %I LOGIN PASSWORD %L', name, 'secret')
FROM unnest('{app,scanner}'::text[]) AS name WHERE to_regrole(name) IS NULL \gexec
CREATE EXTENSION hipq;
SELECT hipq.create_queue('app.mail', owner => 'app');
SELECT hipq.register_job_type('app.mail', 'scan', handler_kind => 'notify', max_retries => 3);
SELECT hipq.grant_queue('app.mail', 'scanner', 'work');
END
}

# Has a job run by a worker that the page shows.
sub serves
{
	my ($shown, $database, $command, $data, $result) = @_;
	my $out = types("$shown: its worker runs a job", <<"END");
export PGHOST=localhost PGUSER=scanner PGPASSWORD=secret PGDATABASE=$database
$command &
sudo -u postgres psql -X -At $database <<'SQL'
SELECT hipq.enqueue('scan', '$data', queue => 'app.mail') AS id \\gset
SELECT 'became: ' || outcome || ' ' || coalesce(result::text, error)
FROM hipq.wait_for(:id, timeout => '60 s');
SQL
kill %1
wait || true
END
	return like($out, qr/^became: succeeded \Q$result\E$/m, '... with its result');
}

$page = 'docs/tutorial.md';
my ($needs) = block($page, qr/^sudo apt-get install/m) =~ /^(sudo .*python3-psycopg2.*\n)/m;
types("$page: what its worker needs", $needs);
make_database('shop');
types('... is saved', file('~/worker.py', block($page, qr/def work\(/)) . 'chmod +x ~/worker.py');
serves($page, 'shop', '~/worker.py scanner-1', '{"text": "hello world"}', '{"words": 2}');

$page = 'docs/clients/python.md';
types("$page: the package is installed", block($page, qr/pip install/));
make_database('app');
types('... its worker is saved', file('~/scan.py', block($page, qr/^worker = hipq\.Worker/m)));
serves($page, 'app', '~/venv/bin/python ~/scan.py', '{"file": "a.pdf"}', '{"pages": 5}');

$page = 'docs/clients/cpp.md';
my ($headers, $compile) = block($page, qr/^c\+\+ /m) =~ /\A(.*\n)(c\+\+ .*\n)\z/s;
types("$page: the headers are installed", $headers);
types('... its worker is compiled',
	file('~/worker.cpp', block($page, qr/int main/)) . "cd ~\n$compile");
make_database('cpp');
serves($page, 'cpp', '~/worker', '{"path": "a.pdf"}', '{"file": "a.pdf", "pages": 3}');

$page = 'docs/clients/node.md';
my ($packs, $installs) = block($page, qr/^npm install/m) =~ /\A(.*\n)(npm install .*\n)\z/s;
types("$page: the package is made", $packs);
types('... and installed', "mkdir ~/node && cd ~/node && $installs");
make_database('node');
my $scan = "const scan = (path) => path.length;\n";
types('... its worker is saved',
	file('~/node/worker.mjs', $scan . block($page, qr/await worker\.run/)));
serves($page, 'node', 'node ~/node/worker.mjs', '{"path": "a.pdf"}', '{"pages": 5}');

remove_root($root);
done_testing();
