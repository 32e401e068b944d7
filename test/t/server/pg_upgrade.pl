# pg_upgrade from PostgreSQL 15 to 17, and from there to 18 and 19 with --link, keeps the jobs. The
# upgraded server holds them, as any copy does, and runs them after release_hold(). The test needs
# the older servers that tools/older-servers installs.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @versions = (15, 17, 18, 19);
my %path = map { $_ => "/usr/lib/postgresql/$_" } @versions;
$path{19} = undef if ($ENV{PGVERSION} // '') eq '19';    # the version that hipq is tested on
foreach my $version (@versions)
{
	plan skip_all => "needs PostgreSQL $version with hipq: tools/older-servers"
		if defined $path{$version} && !-e "$path{$version}/lib/hipq.so";
}
delete $ENV{INITDB_TEMPLATE};    # a template fits one version only
chdir PostgreSQL::Test::Utils::tempdir() or die $!;

sub cluster
{
	my ($version) = @_;
	my $node = PostgreSQL::Test::Cluster->new("pg$version",
		defined $path{$version} ? (install_path => $path{$version}) : ());
	# The older servers have no checksums.
	$node->init(extra => $version < 18 ? [] : ['--no-data-checksums']);
	$node->append_conf('postgresql.conf',
		"max_worker_processes = 20\nshared_preload_libraries = 'hipq'\n");
	return bless { node => $node, database => 'postgres' }, 'HipqCluster';
}

# Upgrades the stopped cluster $old to $new, which has never run, and starts $new.
sub upgrade
{
	my ($old, $new, @options) = @_;
	my @arguments = ('--no-sync', '-d', $old->node->data_dir, '-D', $new->node->data_dir, '-b',
		$old->node->config_data('--bindir'), '-B', $new->node->config_data('--bindir'),
		'-s', $new->node->host, '-p', $old->node->port, '-P', $new->node->port, @options);
	$new->node->command_ok([ 'pg_upgrade', @arguments ],
		"pg_upgrade @options to " . $new->node->name);
	$new->node->start;
	return;
}

# Minor versions of November 2026 (15.20, 17.12) mark columns whose statistics target was set, and
# pg_dump writes the mark. PostgreSQL 18.6 is older and does not know the mark. This function
# removes the marks.
sub without_marks
{
	my ($hipq) = @_;
	$hipq->sql(q{SET allow_system_table_mods = on;
		UPDATE pg_attribute SET attoptions = NULL WHERE attoptions::text LIKE '{pg_attver=%}'
			AND attoptions::text NOT LIKE '%,%'});
	return;
}

sub states
{
	return $_[0]->sql(q{SELECT string_agg(concat_ws(' ', id, job_key, state, outcome, attempt),
		E'\n' ORDER BY id) FROM hipq.jobs_detail});
}

my $pg15 = cluster(15);
$pg15->node->start;
$pg15->sql('CREATE ROLE app LOGIN; CREATE EXTENSION hipq');
$pg15->create_queue('app.main');
$pg15->sql(q{
	CREATE FUNCTION run(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		IF job.job_data ? 'fails' THEN RAISE 'fails'; END IF;
		IF job.job_data ? 'sleeps' AND current_setting('server_version_num')::integer < 160000 THEN
			PERFORM pg_sleep(600); END IF;
	END $$;
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run', max_retries => 5);
	SELECT hipq.enqueue_many('run', array_agg('{}'::jsonb)) FROM generate_series(1, 100)});
is($pg15->outcome_of('run', q{'{"fails": 1}', max_retries => 0}), 'failed', 'a job has failed');
ok($pg15->wait_until(q{SELECT count(*) FROM hipq.jobs WHERE outcome = 'succeeded'}, 100),
	'a hundred jobs have succeeded');
my $waiting = $pg15->enqueue('run',
	q{job_key => 'later', scheduled_run_time => now() + interval '1 day'});
my $retried = $pg15->enqueue('run', q{'{"fails": 1}', job_key => 'retried'});
$pg15->wait_until("SELECT state FROM hipq.jobs_detail WHERE id = $retried", 'retry');
my $running = $pg15->enqueue('run', q{'{"sleeps": 1}', job_key => 'running'});
$pg15->pid_of($running);
$pg15->node->stop;

my $before = $pg15;
my $succeeded = 100;
foreach my $step ([ 17 ], [ 18, '--link' ], [ 19, '--link' ])
{
	my ($version, @options) = @$step;
	my $after = cluster($version);
	upgrade($before, $after, @options);
	is($after->version, $version, "the upgraded server is PostgreSQL $version");
	my $states = states($after);
	is(scalar(() = $states =~ /succeeded/g), $succeeded,
		"PostgreSQL $version has the final jobs");
	like($states, qr/^$waiting later initial waiting 0$/m,
		"PostgreSQL $version has the waiting job");
	like($states, qr/^$retried retried retry /m,
		"PostgreSQL $version has the job that waits for its retry");
	like($after->error_of(q{INSERT INTO hipq.app_main (job_type, job_key) VALUES ('run', 'later')}),
		qr/23505/, "PostgreSQL $version keeps the key of the waiting job");
	my $due = $after->enqueue('run');
	like($after->why($due), qr/^hold:/, "PostgreSQL $version holds its jobs");
	$after->sql('SELECT hipq.release_hold()');
	is($after->outcome($running), 'succeeded',
		"PostgreSQL $version runs the interrupted job after release_hold()");
	is($after->outcome($due), 'succeeded',
		"PostgreSQL $version runs the held job after release_hold()");
	is($after->sql('SELECT count(*) FROM hipq.attempts WHERE job_id = ' . $retried) > 0, 1,
		"PostgreSQL $version has the history");
	$succeeded += $version == 17 ? 2 : 1;    # the job that was held, and the interrupted one
	$before = $after;
	without_marks($after) if $version == 17;
	$after->node->stop;
}
$before->node->start;
$before->sql("SELECT hipq.reschedule($waiting, now()), hipq.cancel($retried)");
is($before->outcome($waiting), 'succeeded', 'the waiting job runs after three upgrades');
is($before->sql(q{SELECT hipq.create_queue('app.new', owner => 'app') > 0}), 't',
	'a queue can be created in PostgreSQL 19');
is($before->alerts, '', 'PostgreSQL 19 has no alerts')
	or diag($before->sql('SELECT * FROM hipq.alerts'));
$before->node->stop;

done_testing();
