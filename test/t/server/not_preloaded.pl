# Without preload everything works but running jobs. CREATE EXTENSION and why() say how to preload
# hipq.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('not_preloaded', preload => 0, extension => 0);
my ($status, $out, $err) = $hipq->node->psql('postgres', 'CREATE EXTENSION hipq');
is($status, 0, 'CREATE EXTENSION works without preload');
like($err,
	qr/^psql:.*WARNING:  hipq is not preloaded: jobs can be enqueued, but nothing runs them$/m,
	'CREATE EXTENSION warns that hipq is not preloaded');
like($err,
	qr/^HINT:  Add hipq to shared_preload_libraries in postgresql.conf and restart the server\.$/m,
	'CREATE EXTENSION says how to preload hipq');

$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE TABLE ran (what text); GRANT INSERT ON ran TO app;
	CREATE FUNCTION run(data jsonb) RETURNS void LANGUAGE sql AS $$ INSERT INTO ran
		VALUES (data->>'n') $$;
	SELECT hipq.register_job_type('app.main', 'run', handler => 'run')});
my $id = $hipq->enqueue('run', q{'{"n": 1}'});
$hipq->sql(q{INSERT INTO hipq.app_main (job_type, job_data) VALUES ('run', '{"n": 2}')});
$hipq->sql(q{COPY hipq.app_main (job_type, job_data) FROM PROGRAM 'echo "run	{\\"n\\": 3}"'});
is($hipq->why($id),
	'loaded: hipq is not in shared_preload_libraries: add it and restart the server.',
	'why() says that hipq is not preloaded');
is($hipq->sql(q{SELECT string_agg(outcome, ' ') FROM hipq.jobs}), 'waiting waiting waiting',
	'jobs can be enqueued without preload');
is($hipq->sql('SELECT count(*) FROM hipq.executors'), '0', 'view executors works without preload');
is($hipq->sql('SELECT count(*) FROM hipq.running'), '0', 'view running works without preload');
like($hipq->error_of(q{UPDATE hipq.app_main SET state = 'final'}), qr/state/,
	'the state of jobs is guarded without preload');
$hipq->sql("SELECT hipq.cancel($id)");
is($hipq->outcome($id), 'cancelled', 'cancel() works without preload');

$hipq->node->append_conf('postgresql.conf', "shared_preload_libraries = 'hipq'");
$hipq->node->restart;
ok($hipq->wait_until(q{SELECT string_agg(what, ' ' ORDER BY what) FROM ran}, '2 3'),
	'waiting jobs run when hipq is preloaded');

done_testing();
