# A row is unreadable if it has NULL in a column that always has a value. It ends no process and
# delays no job. hipq sets it aside, an alert reports it, and an operator can cancel the job.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('unreadable');
$hipq->create_queue('app.main');
$hipq->sql(q{CREATE FUNCTION ok(data jsonb) RETURNS void LANGUAGE sql AS '';
	SELECT hipq.register_job_type('app.main', 'ok', handler => 'ok')});
my $live = q{'hipq.app_main_live'::regclass};

# All columns, except those by which hipq finds the row.
my @columns = split /\n/, $hipq->sql(qq{SELECT attname FROM pg_attribute WHERE attrelid = $live
	AND attnotnull AND attnum > 0 AND attname NOT IN ('id', 'queue_id', 'state') ORDER BY attnum});
cmp_ok(scalar @columns, '>', 15, 'there are columns that are never NULL');
$hipq->switch_off;
my $template = $hipq->enqueue('ok', q{'{}', queue => 'app.main'});
my %broken;
$hipq->sql(qq{UPDATE pg_attribute SET attnotnull = false WHERE attrelid = $live});
foreach my $column (@columns)
{
	$broken{$column} = $hipq->sql(qq{SET session_replication_role = replica;
		INSERT INTO hipq.app_main_live
		SELECT (jsonb_populate_record(job, jsonb_build_object(
			'id', nextval('hipq.job_id_seq'), '$column', NULL))).*
		FROM hipq.app_main_live AS job WHERE id = $template
		RETURNING id});
}
# PostgreSQL 19 reads columns that are NOT NULL without a look at whether they are NULL.
my @restored = $hipq->version < 19 ? @columns : ();
$hipq->sql(qq{UPDATE pg_attribute SET attnotnull = true WHERE attrelid = $live
	AND attname IN ('id', 'queue_id', 'state', '} . join(q{', '}, @restored) . q{')});
$hipq->set('hipq.enabled' => 'on');

is($hipq->outcome($template), 'succeeded', 'a job that can be read runs');
my $keyed = q{'{}', queue => 'app.main', throttle_key => 'k'};
is($hipq->outcome_of('ok', $keyed), 'succeeded', 'a job behind unreadable rows runs');
my $alert = q{SELECT times FROM hipq.alerts WHERE alert = 'job set aside'};
ok($hipq->wait_until($alert, scalar @columns), 'unreadable rows are set aside');
like($hipq->sql(q{SELECT detail FROM hipq.alerts_detail WHERE alert = 'job set aside'}),
	qr/its row cannot be read as a job: it has NULL where each has a value/,
		'an alert reports unreadable rows');
$hipq->sql(q{SELECT hipq.alter_queue('app.main', throttle_limit => 1),
	hipq.alter_job_type('app.main', 'ok', throttle_limit_per_key => 1)});
is($hipq->outcome_of('ok', $keyed), 'succeeded',
	'a job behind unreadable rows runs when there are limits');
foreach my $column (@columns)
{
	like($hipq->sql("SELECT string_agg(explanation, ' ') FROM hipq.why($broken{$column})"),
		qr/cannot be read as a job/, "why() says that $column is NULL");
	next if $column eq 'job_type';
	is($hipq->sql("SELECT hipq.cancel($broken{$column})"), 't',
		"a job with NULL in $column can be cancelled");
}
like($hipq->error_of("SELECT hipq.cancel($broken{job_type})"), qr/23502: a job needs a job_type/,
	'a job without a type cannot be cancelled');
$hipq->sql("SET session_replication_role = replica;
	DELETE FROM hipq.app_main_live WHERE id = $broken{job_type}");
ok($hipq->wait_until('SELECT count(*) FROM hipq.app_main_live', 0),
	'no unreadable row is left in the live leaf');
is(defined eval { $hipq->sql("TABLE hipq.$_") }, 1, "view $_ can be read")
  foreach qw(jobs_detail alerts_detail);
my $log = slurp_file($hipq->node->logfile);
unlike($log, qr/terminated by signal|PANIC|TRAP:/, 'no process has crashed');
unlike($log, qr/hipq (?:launcher|scheduler|executor).*exited with exit code [^0]/,
	'no process of hipq has ended with an error');
done_testing();
