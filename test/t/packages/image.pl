# `make extension-image` lays out hipq as CloudNativePG mounts it from an image, and a server whose
# own folders have no hipq runs jobs with it (PostgreSQL 18 and later). Servers of one machine use
# images of different versions. A server changes to the image of the next version: jobs continue,
# and the extension is updated.
use strict;
use warnings;
use File::Copy qw(copy);
use File::Path qw(make_path);
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = $ENV{HIPQ_ROOT};
my ($new) = slurp_file("$root/hipq.control") =~ /^default_version = '(.*)'$/m;
my ($old) = slurp_file("$root/test/upgrade/releases") =~ /^(\S+) .*\n\z/m;
my @make = ('make', '-s', '-C', $root, 'extension-image', 'WERROR=1');
my $there = PostgreSQL::Test::Utils::tempdir();
my %image = map { $_ => "$there/$_" } $old, $new;

# ---- the layout
command_ok([ @make, "DESTDIR=$image{$new}", 'INSTALL_STRIP_FLAG=-s' ], 'make extension-image');
chomp(my @files = `cd '$image{$new}' && find . ! -type d -printf '%P\n' | sort`);
my @scripts = split ' ', `make -s --no-print-directory -C '$root' print-DATA_built`;
is_deeply(\@files, [ sort 'lib/hipq.so', map { "share/extension/$_" } 'hipq.control', @scripts ],
	'the image has the library and all files that CREATE and ALTER EXTENSION read');
command_fails_like([ @make, 'DESTDIR=' ], qr/say where the files are to go: DESTDIR=/,
	'without a folder make does not install into the root of the machine');

# The settings by which CloudNativePG lets a server find an image.
sub finds
{
	my ($folder) = @_;
	return (extension_control_path => "\$system:$folder/share",
		dynamic_library_path => "\$libdir:$folder/lib");
}

# Returns the versions of the loaded library and of the extension.
sub versions
{
	return $_[0]->sql(q{SELECT hipq.version() || ' ' || extversion
		FROM pg_extension WHERE extname = 'hipq'});
}

# Returns the paths of the libraries of hipq that the server has loaded.
sub loaded
{
	my ($pid) = slurp_file($_[0]->node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	my %paths = map { $_ => 1 } slurp_file("/proc/$pid/maps") =~ m{ (/\S*/hipq[^/]*\.so\b.*)}g;
	return join ' ', sort keys %paths;
}

sub set_up
{
	my ($hipq) = @_;
	$hipq->create_queue('app.main');
	$hipq->sql(q{
		CREATE TABLE ran (id bigint, library text);
		GRANT ALL ON ran TO app;
		CREATE FUNCTION run(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN
			INSERT INTO ran VALUES (job.id, hipq.version());
			IF job.job_data ? 'lock' THEN PERFORM pg_advisory_xact_lock_shared(1); END IF;
		END $$;
		SELECT hipq.register_job_type('app.main', 'run', handler => 'run')});
	return;
}

sub libraries_of { return $_[0]->sql("SELECT string_agg(library, ' ') FROM ran WHERE id = $_[1]"); }

subtest 'servers' => sub {
	chomp(my $says = `pg_config --version`);
	my ($major) = $says =~ /(\d+)/;
	plan skip_all => "PostgreSQL $major has no extension_control_path" if $major < 18;
	plan skip_all => 'needs the release before, from git: tools/upgrade-server libraries'
		unless -e "$root/build/releases/$old/hipq.so";

	# A server without hipq.
	system("HIPQ_COPY='$there/server' PGVERSION=$major HIPQ_SERVER= "
			. "'$root/tools/private-server' >/dev/null") == 0 or die 'there is no server';
	my $bin = "$there/server/lib/postgresql/$major/bin";
	local $ENV{PATH} = "$bin:$ENV{PATH}";

	# The image of the release before, which has no goal to make one.
	make_path(map { "$image{$old}/$_" } qw(lib share/extension));
	copy("$root/build/releases/$old/hipq.so", "$image{$old}/lib") or die $!;
	copy("$root/build/releases/$old/$_", "$image{$old}/share/extension") or die "$_: $!"
		foreach 'hipq.control', "hipq--$old.sql";

	# ---- two servers, two versions
	my $first = HipqCluster->new('first', finds($image{$old}));
	my $second = HipqCluster->new('second', finds($image{$new}));
	set_up($_) foreach $first, $second;
	is(versions($first), "$old $old", 'the first server has the old version');
	is(versions($second), "$new $new", 'the second server has the new version');
	is(loaded($first), "$image{$old}/lib/hipq.so", 'the first server has loaded the old image');
	is(loaded($second), "$image{$new}/lib/hipq.so", 'the second server has loaded the new image');
	my $ended = $first->enqueue('run');
	is($first->outcome($ended), 'succeeded', 'the first server runs a job');
	is($second->outcome_of('run'), 'succeeded', 'the second server runs a job');

	# ---- the first server gets the new image
	my $lock = $first->hold_lock;
	my $running = $first->enqueue('run', q{'{"lock": 1}'});
	$first->pid_of($running);
	my $waiting = $first->enqueue('run', q{scheduled_run_time => now() + interval '1 day'});
	like($first->error_of("ALTER EXTENSION hipq UPDATE TO '$new'"),
		qr/extension "hipq" has no update path from version "\Q$old\E" to version "\Q$new\E"/,
		'the old image has no script to the new version');
	my %settings = finds($image{$new});
	$first->node->append_conf('postgresql.conf', "$_ = '$settings{$_}'\n")
		foreach sort keys %settings;
	$first->reload;
	like($first->error_of('ALTER EXTENSION hipq UPDATE'),
		qr/55000: another file of the library of hipq is loaded.*\Q$new\E.*Restart the server/s,
		'before the restart no session uses the new library beside the old one');
	$first->node->restart;
	eval { $lock->quit };
	is(loaded($first), "$image{$new}/lib/hipq.so", 'the restarted server has loaded the new image');
	is(versions($first), "$new $old", 'the new library runs with the old extension');
	is($first->outcome($running), 'succeeded', 'the interrupted job runs again');
	is(libraries_of($first, $running), $new, 'the new library has run the interrupted job');
	$first->sql('ALTER EXTENSION hipq UPDATE');
	is(versions($first), "$new $new", 'the extension is updated');
	is($first->outcome($ended), 'succeeded', 'the ended job has its outcome after the update');
	is(libraries_of($first, $ended), $old, 'the ended job has run once, with the old library');
	$first->sql("SELECT hipq.reschedule($waiting, now())");
	is($first->outcome($waiting), 'succeeded', 'the waiting job runs after the update');

	# ---- pg_upgrade looks for the library by the settings of the new server
	my $upgraded = bless { node => PostgreSQL::Test::Cluster->new('upgraded'),
		database => 'postgres' }, 'HipqCluster';
	my $node = $upgraded->node;
	$node->init;
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'hipq'\n"
		. join '', map { "$_ = '$settings{$_}'\n" } sort keys %settings);
	$first->node->stop;
	chdir $there or die $!;    # pg_upgrade writes there
	command_ok([ 'pg_upgrade', '--no-sync', '-b', $bin, '-B', $bin, '-d', $first->node->data_dir,
			'-D', $node->data_dir, '-s', $node->host, '-p', $first->node->port, '-P', $node->port ],
		'pg_upgrade finds the library in the image');
	$node->start;
	my $held = $upgraded->enqueue('run');
	$upgraded->sql('SELECT hipq.release_hold()');
	is($upgraded->outcome($held), 'succeeded',
		'the upgraded server runs jobs after release_hold()');
	$node->stop;

	# ---- only the settings find hipq
	$second->sql('CREATE DATABASE other');
	like($second->in('other')->error_of(q{SET extension_control_path = '$system';
				CREATE EXTENSION hipq}),
		qr/extension "hipq" is not available/, 'the folders of the server have no extension');
	my $log_end = -s $second->node->logfile;
	$second->node->stop;
	$second->node->append_conf('postgresql.conf', "dynamic_library_path = '\$libdir'\n");
	is($second->node->start(fail_ok => 1), 0, 'without the path the server does not start');
	like(slurp_file($second->node->logfile, $log_end), qr/could not access file "hipq"/,
		'the folders of the server have no library');
};

done_testing();
