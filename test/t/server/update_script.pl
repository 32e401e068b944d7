# The script that tools/update-script makes turns the extension of an older release into that of a
# fresh installation. It keeps the privileges that users granted and revoked on the objects of the
# extension. The test updates from the last release, and from a release that differs in each way in
# which releases can differ. (server/upgrade.pl tests libraries of two releases, and jobs.)
use strict;
use warnings;
use File::Copy qw(copy);
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = $ENV{HIPQ_ROOT};
my ($old) = slurp_file("$root/test/upgrade/releases") =~ /^(\S+) .*\n\z/m;
my ($new) = slurp_file("$root/hipq.control") =~ /default_version = '(.*)'/;
my $old_script = "$root/build/releases/$old/hipq--$old.sql";
plan skip_all => 'needs the release before, from git: tools/upgrade-server scripts'
	unless -e $old_script;

# A private server with this library. The test copies scripts into it.
my $there = PostgreSQL::Test::Utils::tempdir();
chomp(my ($libraries, $share, $says) = map { `pg_config --$_` } qw(pkglibdir sharedir version));
my ($major) = $says =~ /(\d+)/;
system("HIPQ_COPY='$there/server' PGVERSION=$major HIPQ_SERVER= "
		. "'$root/tools/private-server' >/dev/null") == 0 or die 'there is no server';
my ($bin, $extensions) = ("$there/server/lib/postgresql/$major/bin",
	"$there/server/share/postgresql/$major/extension");
copy($_, $extensions) or die "$_: $!" foreach $old_script, "$share/extension/hipq.control",
	map { "$share/extension/hipq--$_.sql" } $new, "$old--$new";
copy("$libraries/hipq.so", "$bin/../lib/hipq.so") && chmod 0755, "$bin/../lib/hipq.so" or die $!;
$ENV{PATH} = "$bin:$ENV{PATH}";

# ---- release "former": this release, changed by each call of differs()
my $former = slurp_file("$share/extension/hipq--$new.sql");
my $changes = <<'SQL';
-- new: hipq.made_by_handler
LOCK TABLE hipq.set_aside IN ACCESS EXCLUSIVE MODE;
ALTER TABLE hipq.set_aside ADD COLUMN error text NOT NULL;
DROP VIEW hipq.running;
SQL
sub differs
{
	my ($name, $pattern, $instead) = @_;
	$former =~ s/$pattern/$instead/ or die "this release has no $name";
	return;
}
differs('new table', qr/CREATE TABLE (hipq\.made_by_handler) .*config_dump\('\1', ''\);\n/s, '');
differs('new column of a table',
	qr/,\n    error +text +NOT NULL\n(?=\);\nCOMMENT ON TABLE hipq\.set_aside\b)/, "\n");
differs('... with a comment', qr/COMMENT ON COLUMN hipq\.set_aside\.error[^;]*;\n/, '');
differs('new function, of superusers',
	qr/CREATE FUNCTION hipq\.restore_schedules\(.*?;\nCOMMENT ON FUNCTION[^;]*;\n/s, '');
differs('new function, of all',
	qr/CREATE FUNCTION hipq\.describe\(.*?;\nCOMMENT ON FUNCTION[^;]*;\n/s, '');
differs('new view', qr/CREATE VIEW hipq\.pauses WITH[^;]*;\n/, '');
differs('function with another body', qr/(?<=AS \$\$ SELECT )rtrim(?=\(regexp_replace\(text)/,
	'ltrim');
differs('function with more arguments',
	qr/(?<=CREATE FUNCTION hipq\.stat_reset)\(queue text DEFAULT NULL\)/, '()');
differs('... with a comment', qr/(?<=COMMENT ON FUNCTION hipq\.stat_reset)\(text\)/, '()');
differs('view with one column more', qr/, bytes(?=\nFROM hipq\.sizes_detail)/, '');
differs('view with other columns', qr/SELECT queue, id,(?=[^;]*FROM hipq\.running_detail)/,
	'SELECT id, queue,');
differs('function and view less', qr/(?=DO \$rights\$)/,
	"CREATE FUNCTION hipq.gone() RETURNS integer LANGUAGE sql "
	. "SET search_path = pg_catalog, pg_temp AS 'SELECT 1';\n"
	. "CREATE VIEW hipq.of_gone WITH (security_barrier) AS SELECT hipq.gone();\n");
append_to_file("$extensions/hipq--former.sql", $former);

# tools/update-script runs in a copy of the files that it reads.
system('cp', '-r', "$root/sql", $there) == 0 && mkdir "$there/tools" or die 'no copy';
copy("$root/$_", "$there/$_") or die "$_: $!" foreach 'hipq.control', 'tools/update-script';
append_to_file("$there/sql/update/former--$new.sql", $changes);
chomp(my $parts = `make -s --no-print-directory -C '$root' print-INSTALL_PART_FILES`);
system("sh '$there/tools/update-script' former $parts >'$extensions/hipq--former--$new.sql'") == 0
	or die 'no script';
isnt(system("sh '$there/tools/update-script' 0.0.1 $parts >/dev/null 2>&1"), 0,
	'a release without changes to this one has no script');

# ---- what the test compares

# Returns the definitions of the whole extension, as pg_dump writes them. The objects stop being
# members of the extension: for members pg_dump writes only CREATE EXTENSION.
sub catalogue
{
	my ($hipq) = @_;
	$hipq->sql(q{DELETE FROM pg_depend WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
		AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'hipq');
		UPDATE pg_extension SET extconfig = NULL, extcondition = NULL WHERE extname = 'hipq';
			DELETE FROM pg_init_privs});
	my $dump = dump_of($hipq, '--schema=hipq');
	$dump =~ s/^--.*\n//mg;
	$dump =~ s/^\\(?:un)?restrict .*\n//mg;
	$dump =~ s/\n{2,}/\n/g;
	return join "\n", sort split /;\n/, $dump;
}

sub dump_of
{
	my ($hipq, @options) = @_;
	my $dump = '';
	IPC::Run::run([ 'pg_dump', '--schema-only', @options, '-d',
			$hipq->node->connstr($hipq->{database}) ], '>', \$dump) or die 'pg_dump fails';
	return $dump;
}

# Returns the privileges that differ from those of the installation.
sub rights_of_users
{
	return join "\n", sort grep { /^(?:GRANT|REVOKE) .* hipq\./ } split /\n/, dump_of(@_);
}

sub dumped_tables
{
	return $_[0]->sql(q{SELECT string_agg(name::regclass::text, ' ' ORDER BY name::regclass::text)
		FROM pg_extension, unnest(extconfig) AS name WHERE extname = 'hipq'});
}

my $hipq = HipqCluster->new('update_script', extension => 0);
$hipq->sql('CREATE ROLE reader; CREATE ROLE other');

# Returns a new database with the extension of a release, on which users have changed privileges.
sub with_rights
{
	my ($name, $version) = @_;
	$hipq->sql("CREATE DATABASE $name");
	my $inside = $hipq->in($name);
	$inside->sql('ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC;
		ALTER DEFAULT PRIVILEGES REVOKE ALL ON FUNCTIONS FROM PUBLIC');
	$inside->sql("CREATE EXTENSION hipq VERSION '$version'");
	$inside->sql(q{
		GRANT USAGE ON SCHEMA hipq TO app;
		GRANT EXECUTE ON FUNCTION hipq.drop_queue TO app WITH GRANT OPTION;
		SET ROLE app; GRANT EXECUTE ON FUNCTION hipq.drop_queue TO other; RESET ROLE;
		REVOKE EXECUTE ON FUNCTION hipq.register_job_type, hipq.stat_reset FROM PUBLIC;
		GRANT EXECUTE ON FUNCTION hipq.stat_reset TO app WITH GRANT OPTION;
		REVOKE SELECT ON hipq.running, hipq.sizes, hipq.jobs FROM PUBLIC;
		GRANT SELECT ON hipq.running, hipq.sizes TO reader;
		GRANT SELECT (id, queue) ON hipq.running TO other;
		GRANT SELECT (id) ON hipq.jobs TO other;
		GRANT SELECT ON hipq.shards, hipq.job TO reader});
	return $inside;
}

my $fresh = with_rights('fresh', $new);
my $rights = rights_of_users($fresh);
cmp_ok(scalar split(/\n/, $rights), '>=', 12,
	'a dump has the privileges that users granted and revoked');
my %updated = map { $_ => with_rights('from_' . s/\W/_/gr, $_) } $old, 'former';
foreach my $from ($old, 'former')
{
	my $inside = $updated{$from};
	$inside->sql("SET client_min_messages = warning; ALTER EXTENSION hipq UPDATE TO '$new'");
	is($inside->sql(q{SELECT extversion FROM pg_extension WHERE extname = 'hipq'}), $new,
		"from $from: the extension is updated");
	is(rights_of_users($inside), $rights,
		"from $from: privileges are as users granted and revoked them");
	is($inside->sql(q{SELECT count(*) FROM pg_shdepend WHERE deptype = 'i'
			AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())}), 0,
		"from $from: no privilege of a user is recorded as an initial privilege");
	is(dumped_tables($inside), dumped_tables($fresh),
		"from $from: a dump has the same tables as after a fresh installation");
}

# ---- refused updates
like($updated{$old}->error_of("ALTER EXTENSION hipq UPDATE TO '$old'"),
	qr/0A000: extension "hipq" cannot go back from version \Q$new\E to version \Q$old\E.*backup/s,
	'a downgrade is refused');
copy("$extensions/hipq--$old--$new.sql", "$extensions/hipq--$new--later.sql") or die $!;
like($updated{$old}->error_of(q{ALTER EXTENSION hipq UPDATE TO 'later'}),
	qr/55000: the server still runs the library of hipq \Q$new\E.*Restart the server/s,
	'an update to a release without its library is refused');
is($updated{$old}->sql(q{SELECT extversion FROM pg_extension WHERE extname = 'hipq'}), $new,
	'a refused update leaves the version unchanged');

# ---- the catalogues are equal (last, because catalogue() changes them)
my $catalogue = catalogue($fresh);
cmp_ok(length $catalogue, '>', 100_000, 'the catalogue is in the dump');
is(catalogue($updated{$_}), $catalogue,
	"from $_: an updated database has the catalogue of a fresh installation")
		foreach $old, 'former';
$hipq->node->stop;

done_testing();
