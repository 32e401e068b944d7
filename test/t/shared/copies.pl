# A server that starts from a copy of the files, and a copied database, run no job until
# release_hold(). The original runs jobs, also after restarts and crashes. (shared/dump_restore.pl
# tests dumps, server/standby.pl standbys.)
use strict;
use warnings;
use HipqCluster;
use HipqFaults;
use PostgreSQL::Test::RecursiveCopy;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('original', streaming => 1, archiving => 1);
my $original = $hipq->node;
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE FUNCTION run(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run')});
is($hipq->outcome_of('run'), 'succeeded', 'the original runs jobs');
my $workers = q{SELECT count(*) FROM pg_stat_activity
	WHERE backend_type IN ('hipq scheduler', 'hipq executor')};

# Returns a server object for another node.
sub server
{
	my ($node) = @_;
	return bless { %$hipq, node => $node }, 'HipqCluster';
}

sub is_held
{
	my ($copy, $what) = @_;
	my $id = $copy->enqueue('run');
	like($copy->why($id), qr/^hold: The database or its server is a copy/,
		"$what: why() says that the jobs are held");
	ok($copy->wait_until($workers, 0), "$what: no worker runs");
	is($copy->sql("SELECT state FROM hipq.jobs_detail WHERE id = $id"), 'initial',
		"$what: no job runs");
	my $says = qr/hipq holds the jobs of database "postgres"/;
	$copy->node->wait_for_log($says);
	my $lines = () = slurp_file($copy->node->logfile) =~ /$says/g;
	is($lines, 1, "$what: the log reports the hold once");
	$copy->enqueue('run') foreach 1 .. 5;
	ok($copy->wait_until($workers, 0), "$what: new jobs start no worker");
	return $id;
}

sub is_released
{
	my ($copy, $what, $id) = @_;
	$copy->sql('SELECT hipq.release_hold()');
	is($copy->outcome($id), 'succeeded', "$what: the held job runs after release_hold()");
	$copy->node->restart;
	is($copy->outcome_of('run'), 'succeeded', "$what: jobs run after a restart");
	return;
}

# ---- restarts of the original
foreach my $mode ('fast', 'immediate')
{
	$original->restart if $mode eq 'fast';
	if ($mode eq 'immediate') { $original->stop('immediate'); $original->start; }
	is($hipq->outcome_of('run'), 'succeeded', "the original runs jobs after a restart ($mode)");
}
HipqFaults::inject($hipq, 'kill launcher');
ok($hipq->wait_until(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'hipq launcher'},
		1), 'the launcher starts after kill -9');
is($hipq->outcome_of('run'), 'succeeded', 'the original runs jobs after kill -9');
$original->stop;
rename $original->data_dir, $original->data_dir . '.moved' or die $!;
rename $original->data_dir . '.moved', $original->data_dir or die $!;
$original->start;
is($hipq->outcome_of('run'), 'succeeded',
	'the original runs jobs after its directory was renamed');

# ---- a base backup, started as a second server
$original->backup('backup');
{
	my $node = PostgreSQL::Test::Cluster->new('second');
	$node->init_from_backup($original, 'backup');
	$node->start;
	my $second = server($node);
	is($second->sql('SELECT system_identifier FROM pg_control_system()'),
		$hipq->sql('SELECT system_identifier FROM pg_control_system()'),
		'a second server has the same system identifier');
	my $id = is_held($second, 'second server');
	is($hipq->outcome_of('run'), 'succeeded', 'the original runs jobs beside a second server');
	$node->restart;
	like($second->why($id), qr/^hold:/, 'the second server is held after a restart');
	$node->stop('immediate');
	$node->start;
	like($second->why($id), qr/^hold:/, 'the second server is held after a crash');
	is_released($second, 'second server', $id);
	$node->stop;
}

# ---- restored to a point in time
{
	$hipq->sql('CREATE TABLE before_the_mistake ()');
	my $target = $hipq->sql(q{SELECT pg_create_restore_point('here')});
	$hipq->sql('SELECT pg_switch_wal()');
	my $node = PostgreSQL::Test::Cluster->new('restored');
	$node->init_from_backup($original, 'backup', has_restoring => 1, standby => 0);
	$node->append_conf('postgresql.conf',
		"recovery_target_name = 'here'\nrecovery_target_action = 'promote'\n");
	$node->start;
	my $restored = server($node);
	ok($restored->wait_until('SELECT NOT pg_is_in_recovery()'),
		'the server is restored to a point in time');
	is_released($restored, 'restored server', is_held($restored, 'restored server'));
	$node->stop;
}

# ---- a promoted standby is not a copy, but its backup is
{
	my $node = PostgreSQL::Test::Cluster->new('standby');
	$node->init_from_backup($original, 'backup', has_streaming => 1);
	$node->start;
	$node->promote;
	my $promoted = server($node);
	is($promoted->outcome_of('run'), 'succeeded', 'jobs run on a promoted standby');
	$node->backup('of_promoted');
	my $copy = PostgreSQL::Test::Cluster->new('third');
	$copy->init_from_backup($node, 'of_promoted');
	$copy->start;
	is_held(server($copy), 'copy of a promoted standby');
	$copy->stop;
	$node->stop;
}

# ---- files copied while the server is down
$original->stop;
{
	my $node = PostgreSQL::Test::Cluster->new('copied');
	PostgreSQL::Test::RecursiveCopy::copypath($original->data_dir, $node->data_dir);
	chmod 0700, $node->data_dir;
	$node->append_conf('postgresql.conf',
		'port = ' . $node->port . "\nunix_socket_directories = '" . $node->host . "'\n");
	$node->start;
	my $id = is_held(server($node), 'copied files');
	$node->stop;

	# If the mark cannot be written, hipq does not know whether the server is a copy, and holds the
	# jobs.
	unlink $node->data_dir . '/hipq.server' or die $!;
	mkdir $node->data_dir . '/hipq.server' or die $!;
	$node->start;
	like(server($node)->why($id), qr/^hold:/, 'jobs are held if the mark cannot be written');
	like(slurp_file($node->logfile), qr/could not .*"hipq\.server/,
		'the log reports that the mark cannot be written');
	$node->stop;
	rmdir $node->data_dir . '/hipq.server' or die $!;
	append_to_file($node->data_dir . '/hipq.server', 'nonsense');
	$node->start;
	like(server($node)->why($id), qr/^hold:/, 'jobs are held if the mark is invalid');
	$node->stop;
}
$original->start;
is($hipq->outcome_of('run'), 'succeeded', 'the original runs jobs beside all copies');

# ---- a database copied within the server
{
	$hipq->in('template1')->sql('CREATE DATABASE clone TEMPLATE postgres');
	my $clone = $hipq->in('clone');
	my $id = $clone->enqueue('run');
	like($clone->why($id), qr/^hold:/, 'a database made from a template holds its jobs');
	is($hipq->outcome_of('run'), 'succeeded', 'the template of a clone runs jobs');
	$clone->sql('SELECT hipq.release_hold()');
	is($clone->outcome($id), 'succeeded', 'the clone runs jobs after release_hold()');
}

# ---- hipq is preloaded after jobs were enqueued
{
	my $late = HipqCluster->new('late', preload => 0);
	$late->create_queue('app.main');
	$late->sql(q{
		CREATE FUNCTION run(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
		SELECT hipq.register_job_type('app.main', 'run', handler => 'run')});
	my $id = $late->enqueue('run');
	is($late->sql('SELECT token IS NULL FROM hipq.identity'), 't',
		'without preload the jobs belong to no server');
	$late->node->append_conf('postgresql.conf', "shared_preload_libraries = 'hipq'\n");
	$late->node->restart;
	is($late->outcome($id), 'succeeded', 'the first server with hipq preloaded runs the jobs');
	is($late->sql('SELECT token IS NOT NULL FROM hipq.identity'), 't',
		'the jobs belong to the first server with hipq preloaded');
	$late->node->stop;
}

done_testing();
