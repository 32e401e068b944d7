# The sentences of docs/hosting.md hold: what runs, what it takes, what a customer may do, what is
# held, what is left. The blocks of the page run as a customer who owns the database would run them.
use strict;
use warnings;
use File::Find qw(find);
use HipqCluster;
use HipqPage;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $root = $ENV{HIPQ_ROOT};
my $text = slurp_file("$root/docs/hosting.md");
my $hipq = HipqCluster->new('hosting', extension => 0, streaming => 1, max_worker_processes => 8,
	log_min_messages => 'debug1', 'hipq.executor_idle_timeout' => '200ms');
my $node = $hipq->node;
my $directory = PostgreSQL::Test::Utils::tempdir;

# Returns the processes of hipq.
my $processes = q{SELECT coalesce(string_agg(backend_type || coalesce(' ' || datname, ''), ', '
	ORDER BY backend_type, datname), '') FROM pg_stat_activity WHERE backend_type LIKE 'hipq%'};

# Returns how many schedulers have started since this place of the log.
sub schedulers_since
{
	my ($place) = @_;
	return scalar(() = slurp_file($node->logfile, $place)
			=~ /starting background worker process "hipq scheduler"/g);
}

# Makes a queue with a job type in this database.
sub prepare
{
	my ($db) = @_;
	$db->create_queue('app.main');
	$db->sql(q{
		CREATE FUNCTION run(data jsonb) RETURNS name LANGUAGE sql AS 'SELECT session_user';
		SELECT hipq.register_job_type('app.main', 'run', handler => 'run')});
	return;
}

# ---- what runs when nothing is used
{
	my $place = -s $node->logfile;
	$node->restart;
	ok($hipq->wait_until($processes, 'hipq launcher'),
		'without the extension only the launcher runs');
	$hipq->reload;
	ok($hipq->wait_until($processes, 'hipq launcher'), 'only the launcher stays after a reload');
	cmp_ok(schedulers_since($place), '>=', 4,
		'a scheduler looks at both databases after a start and after a reload');
	$place = -s $node->logfile;
	my $pid = $hipq->sql(q{SELECT pid FROM pg_stat_activity
		WHERE backend_type = 'hipq launcher' AND datid IS NULL AND state = 'idle'});
	my $switches = sub {
		return (slurp_file("/proc/$pid/status") =~ /^voluntary_ctxt_switches:\s+(\d+)/m)[0];
	};
	my $before = $switches->();
	usleep(21_000_000);
	cmp_ok($switches->() - $before, '<=', 3, 'the launcher wakes up every 10 s');
	is(schedulers_since($place), 0, 'no scheduler starts');
	my @open = map { readlink($_) // () } glob("/proc/$pid/fd/*");
	is(scalar(grep { /hipq/ && !/hosting.*log/ } map { s/\Q$root\E//r } @open), 0,
		'the launcher holds no file of hipq open');
	is(scalar(my @threads = glob("/proc/$pid/task/*")), 1, 'the launcher has one thread');
}

# ---- shared memory, and the files in the data directory

# Compares what the page computes with what the server has allocated.
sub compare_memory
{
	my ($name) = @_;
	my $bytes = 1_065_000;
	my @rows = $text =~ /^\| `([\w.]+)` \| (\d+) \| (\d+) \|$/mg;
	is(scalar @rows, 24, 'the page names eight settings');
	while (my ($setting, $default, $size) = splice @rows, 0, 3)
	{
		is($hipq->sql("SELECT boot_val FROM pg_settings WHERE name = '$setting'"), $default,
			"the default of $setting") if $name eq 'defaults';
		$bytes += $size * $hipq->sql("SHOW $setting");
	}
	my ($query) = $text =~ /^    (SELECT .* FROM pg_shmem_allocations .*)$/m;
	my $allocated = $hipq->sql($query);
	cmp_ok(abs($allocated - $bytes), '<', 0.02 * $allocated,
		"shared memory is as the page computes it: $name");
	return $allocated;
}
is(sprintf('%.0f', compare_memory('defaults') / 1e6), ($text =~ /That is (\d+) MB/)[0],
	'shared memory with the defaults');
{
	my %least = ('hipq.max_lanes' => 1, 'hipq.max_statistics' => 1, 'hipq.max_running' => 16,
		'hipq.max_workers' => 1, 'hipq.max_rates' => 16, 'hipq.max_breakers' => 16,
		'hipq.max_keys' => 16);
	$hipq->sql("ALTER SYSTEM SET $_ = $least{$_}") foreach sort keys %least;
	$node->restart;
	is(sprintf('%.1f', compare_memory('least') / 1e6), ($text =~ /([\d.]+) MB with the least/)[0],
		'shared memory with the least values');
	$hipq->sql("ALTER SYSTEM RESET $_") foreach sort keys %least;
	$hipq->sql('ALTER SYSTEM SET hipq.max_lanes = 40000');
	$node->restart;
	compare_memory('more lanes');
	$hipq->sql('ALTER SYSTEM RESET hipq.max_lanes');
	$node->restart;
}
my ($table) = $text =~ /^\| file \|.*?\n\|--.*?\n(.*?)\n\n/ms;
my @files = sort $table =~ /^\| `(\S+)`/mg;

# Returns the files of hipq in the data directory.
sub own_files
{
	my $data = $node->data_dir;
	my @found;
	find({ no_chdir => 1, wanted => sub { push @found, s{^\Q$data\E/}{}r if -f } }, $data);
	return sort grep { /hipq/ } @found;
}
$node->stop;
is(join(' ', own_files()), join(' ', @files), 'the page names the files in the data directory');
is(-s $node->data_dir . '/hipq.server', ($table =~ /(\d+) bytes/)[0], 'the size of hipq.server');
{
	my ($once, $each) = $table =~ /(\d+) kB \+ (\d+) kB/;
	my $size = -s $node->data_dir . '/pg_stat_tmp/hipq_flight_recorder';
	cmp_ok(abs($size / 1000 - $once - 8 * $each), '<', 5, 'the size of hipq_flight_recorder');
}
$node->start;
is(join(' ', own_files()), join(' ', grep { !/stat$/ } @files),
	'the file of statistics is there between a shutdown and the next start');

# ---- the library
{
	my $library = (split /\n/, `pg_config --pkglibdir`)[0] . '/hipq.so';
	my @needed = map { /NEEDED\s+(\S+)/ ? $1 : () } `objdump -p $library`;
	cmp_ok(scalar @needed, '>', 0, 'objdump lists the libraries');
	is(join(' ', grep { !/^(?:libstdc\+\+|libgcc_s|libm|libc|ld-linux[\w-]*)\.so/ } @needed), '',
		'the library is linked with the C++ and C libraries alone');
	my @symbols = map { /\bU (\w+)/ ? $1 : () } `nm -D $library`;
	cmp_ok(scalar @symbols, '>', 100, 'nm lists the symbols');
	my $foreign = qr/^(?:socket|connect|bind|listen|accept\d?|send(?:to|msg)?|getaddrinfo|PQ\w+
		|v?fork|exec[lv]\w*|system|popen|posix_spawn\w*|pthread_create|dlopen)$/x;
	is(join(' ', grep { /$foreign/ } @symbols), '',
		'the library opens no socket, starts no program and no thread');
	my %hooks;
	find(sub { if (/\.cpp$/) { $hooks{$_}++ foreach slurp_file($_) =~ /^\s+(\w+_hook) = /mg } },
		"$root/src");
	delete $hooks{$_} foreach grep { /^previous_/ } keys %hooks;
	my @rows = map { /^\| (`\w+_hook`.*?) \|/ ? $1 =~ /`(\w+)`/g : () } split /\n/, $text;
	is(join(' ', sort @rows), join(' ', sort keys %hooks), 'the page names all hooks');
}

# ---- a customer
$hipq->sql('CREATE ROLE customer LOGIN CREATEDB CREATEROLE');
$hipq->sql('CREATE DATABASE shop OWNER customer');
my $shop = $hipq->in('shop');
{
	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	local $ENV{PGDATABASE} = 'shop';
	my $shown = HipqPage->new('docs/hosting.md')->run(
		psql => [ 'env', '-C', $directory, 'psql', '-X', '-q' ],
		shell => [ 'env', '-C', $directory, 'bash' ],
		directory => $directory);
	cmp_ok($shown, '>', 0, 'the page shows a result');
}
my %refused = (
	'DROP EXTENSION hipq' => 'must be owner of extension hipq',
	'ALTER EXTENSION hipq UPDATE' => 'must be owner of extension hipq',
	'DROP SCHEMA hipq CASCADE' => 'must be owner of schema hipq',
	'CREATE TABLE hipq.mine (id integer)' => 'permission denied for schema hipq',
	'SELECT hipq.release_hold()' => 'permission denied for function release_hold',
	q{SELECT hipq.create_queue('shop.super', owner => 'postgres')} => 'must be (?:member|able to)',
	q{CALL hipq.create_shard('shop', 1, 'dbname=x')} => 'permission denied for procedure',
	'ALTER DATABASE shop SET hipq.max_executors = 4' => 'cannot be changed now',
	'ALTER DATABASE shop SET hipq.allow_foreign_handlers = on' => 'invalid value',
	'SET hipq.allow_drop = on' => 'permission denied to set parameter');
foreach my $statement (sort keys %refused)
{
	my $error = $shop->error_of($statement, extra_params => [ '-U', 'customer' ]);
	like($error, qr/$refused{$statement}/, "the customer is refused: $statement");
}
my @settings = $shop->sql(q{SELECT string_agg(name, ' ' ORDER BY name) FROM pg_settings
	WHERE name LIKE 'hipq.%' AND context = 'user'}) =~ /(\S+)/g;
my ($named) = $text =~ /So are all \[settings\].*? but (.*?)\n\n/s;
is(join(' ', sort $named =~ /(hipq\.\w+)/g), join(' ', @settings),
	'the page names the settings of sessions');

# ---- dumps
{
	my @server = ('-h', $node->host, '-p', $node->port);
	my $dump = sub {
		my ($role, @options) = @_;
		my ($out, $err) = ('', '');
		my $ok = IPC::Run::run([ 'pg_dump', @server, '-U', $role, @options, '-d', 'shop' ], '>',
			\$out, '2>', \$err);
		return ($ok, $out, $err);
	};
	my ($ok, $out, $err) = $dump->('customer');
	like($err, qr/permission denied for table/, 'the customer cannot dump the tables of hipq');
	($ok, $out, $err) = $dump->('customer', '-N', 'hipq');
	ok($ok, 'the customer can dump all but schema hipq') or diag($err);
	unlike($out, qr/hipq\.shop_mail/, 'that dump has no queue');
	$hipq->sql('GRANT pg_read_all_data TO customer');
	($ok, $out, $err) = $dump->('customer', '-Fc', '-f', "$directory/dump");
	ok($ok, 'a role that may read all tables can dump them') or diag($err);
	my $restore = sub {
		my ($role, $database) = @_;
		return IPC::Run::run([ 'pg_restore', @server, '-U', $role, '-e', '-d', $database,
			"$directory/dump" ], '2>', \$err);
	};
	$hipq->sql("CREATE DATABASE $_ OWNER customer") foreach qw(refused restored);
	ok(!$restore->('customer', 'refused'), 'the customer cannot restore it');
	like($err, qr/permission denied to create extension/, 'for it takes a superuser');
	ok($restore->('postgres', 'restored'), 'a superuser restores it') or diag($err);
	is($hipq->in('restored')->sql('SELECT queue FROM hipq.queues'), 'shop.mail',
		'the queue is restored');
	$hipq->sql('DROP DATABASE refused; DROP DATABASE restored');
}

# ---- handlers, limits of connections, event triggers
$hipq->sql('CREATE EXTENSION hipq');
$hipq->sql(q{
	CREATE TABLE ddl (backend text, tag text);
	CREATE FUNCTION note_ddl() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO public.ddl SELECT backend_type, tg_tag FROM pg_stat_activity
			WHERE pid = pg_backend_pid(); END $$;
	CREATE EVENT TRIGGER note_ddl ON ddl_command_end EXECUTE FUNCTION note_ddl();});
prepare($hipq);
is($hipq->result($hipq->enqueue('run')), '"app"', 'a handler runs as the queue owner');
ok($hipq->wait_until(q{SELECT count(*) > 0 FROM ddl WHERE backend = 'hipq scheduler'
	AND tag = 'CREATE TABLE'}), 'event triggers fire for tables that the scheduler makes');
$hipq->sql('DROP EVENT TRIGGER note_ddl; ALTER ROLE app CONNECTION LIMIT 0');
my $rules = slurp_file($node->data_dir . '/pg_hba.conf');
unlink $node->data_dir . '/pg_hba.conf' or die $!;
$node->append_conf('pg_hba.conf', "local all app reject\n$rules");
$hipq->reload;
like($hipq->error_of('SELECT 1', extra_params => [ '-U', 'app' ]), qr/pg_hba\.conf rejects/,
	'the queue owner cannot connect');
my $idle = q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'hipq executor'};
ok($hipq->wait_until($idle, 0), 'the executor leaves');
is($hipq->outcome_of('run'), 'succeeded', 'its handlers run all the same');
ok($hipq->wait_until($idle, 0), 'the executor leaves again');
$hipq->sql('ALTER ROLE app NOLOGIN');
my $barred = $hipq->enqueue('run');
like($hipq->why($barred), qr/LOGIN|log in/i, 'NOLOGIN stops them');
$hipq->sql('ALTER ROLE app LOGIN CONNECTION LIMIT -1');
is($hipq->outcome($barred), 'succeeded', 'they go on with LOGIN');

# ---- the library in template1
$hipq->in('template1')->sql('CREATE EXTENSION hipq');
$hipq->sql('CREATE DATABASE later');
prepare($hipq->in('later'));
is($hipq->in('later')->outcome_of('run'), 'succeeded', 'new databases have what template1 has');
$hipq->in('template1')->sql('DROP EXTENSION hipq');

# ---- stop and start
{
	my $far = $hipq->enqueue('run', q{scheduled_run_time => now() + interval '1 hour'});
	ok($hipq->wait_until($processes, 'hipq launcher'), 'a job in an hour keeps no process');
	my ($query) = $text =~ /^(SELECT min\(scheduled_run_time\)[^;]*);/m;
	is($hipq->sql("SELECT ($query) = scheduled_run_time FROM hipq.jobs_detail
			WHERE id = $far"), 't', 'the page finds when the next job is due');
	my $soon = $hipq->enqueue('run', q{scheduled_run_time => now() + interval '3 minutes'});
	my $gone = $hipq->enqueue('run', q{scheduled_run_time => now() + interval '2 minutes',
		expires_time => now() + interval '3 minutes'});
	$node->stop;
	$node->append_conf('postgresql.conf', 'hipq.clock_offset = 240');    # the time until the start
	$node->start;
	is($hipq->outcome($soon), 'succeeded', 'a job that came due meanwhile runs after the start');
	is($hipq->outcome($gone), 'expired', 'a job that expired meanwhile does not run');
	$hipq->sql("SELECT hipq.cancel($far)");
	$hipq->set('hipq.clock_offset' => 0);
}

# ---- a clone of the disk, and a copy made by promoting a standby

# Starts a server whose hipq.server has been deleted.
sub holds_without_mark
{
	my ($server, $what) = @_;
	$server->node->stop if $server->node->{_pid};
	unlink $server->node->data_dir . '/hipq.server' or die $!;
	$server->node->start;
	$server->set('hipq.enabled' => 'on');
	my $id = $server->enqueue('run');
	like($server->why($id), qr/^hold:/, "$what holds its jobs without hipq.server");
	$server->sql('SELECT hipq.release_hold()');
	is($server->outcome($id), 'succeeded', "$what runs them after release_hold()");
	return;
}
$node->backup('standby');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'standby', has_streaming => 1);
$standby->append_conf('postgresql.conf', 'hipq.enabled = off');
$standby->start;
my $promoted = bless { %$hipq, node => $standby }, 'HipqCluster';
$standby->promote;
my $off = $promoted->enqueue('run');
is($promoted->why($off), 'enabled: hipq.enabled is off.',
	'a promoted standby runs nothing while hipq.enabled is off');
holds_without_mark($promoted, 'a copy made by promotion');
$standby->stop;
is($hipq->outcome_of('run'), 'succeeded', 'the original runs jobs');
holds_without_mark($hipq, 'a clone of the disk');

# ---- removal
$shop->sql('DROP EXTENSION hipq CASCADE');
my $waiting = $hipq->enqueue('run', q{scheduled_run_time => now() + interval '1 hour'});
like($hipq->error_of('DROP EXTENSION hipq'), qr/there are unfinished jobs/,
	'DROP EXTENSION refuses while there are unfinished jobs');
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->restart;
is($hipq->sql("SELECT outcome FROM hipq.jobs WHERE id = $waiting"), 'waiting',
	'views answer without the preload');
ok(defined $hipq->enqueue('run'), 'jobs can be enqueued without the preload');
is($hipq->sql($processes), '', 'no process runs without the preload');
$hipq->sql('SET hipq.allow_drop = on; DROP EXTENSION hipq');
$node->stop;
is(join(' ', own_files()), join(' ', @files), 'the files stay');

done_testing();
