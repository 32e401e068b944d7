# The WAL of hipq, which writes rows without PostgreSQL's executor, can be replayed. A standby
# compares every page with the primary's (wal_consistency_checking), and so does the primary after a
# crash. Both have the same contents at the end.
use strict;
use warnings;
use HipqCluster;
use HipqWorkload;
use PostgreSQL::Test::Utils;
use Test::More;

my $jobs = $ENV{REPLAY_JOBS} || 2_000;
my $seed = $ENV{SEED} || int rand 1e9;
note "seed $seed, $jobs jobs";
my $hipq = HipqCluster->new('checked', HipqWorkload::settings(), streaming => 1,
	'wal_consistency_checking' => 'all', full_page_writes => 'on');
my $primary = $hipq->node;
my $load = HipqWorkload->new($hipq, flows => 1);
$hipq->sql(q{CREATE EXTENSION amcheck;
	SELECT hipq.register_job_type('load.strict', 'outside', handler_kind => 'notify');
	SELECT hipq.register_job_type(queue, 'parked', handler_kind => 'notify')
		FROM unnest('{load.strict,load.group}'::text[]) AS queue});
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('follower');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;

# Makes rows of every kind and their ends, while leaves are made and dropped, and jobs are changed,
# moved and removed.
sub run_load
{
	my ($client_seed) = @_;
	$hipq->sql(q{
		SELECT hipq.enqueue('parked', job_key => 'key ' || n, queue => 'load.strict',
			scheduled_run_time => now() + interval '1 day') FROM generate_series(1, 20) AS n;
		UPDATE hipq.load_strict SET priority = 9, job_data = '{"changed": true}'
			WHERE job_type = 'parked' AND job_key ~ '1$';
		SELECT hipq.enqueue('parked', '{"new": true}', job_key => 'key ' || n,
			on_duplicate => 'replace', queue => 'load.strict') FROM generate_series(3, 5) AS n;
		SELECT hipq.move_jobs('load.strict', 'load.group', 'parked', 10);
		SELECT hipq.cancel_jobs('load.strict', 'parked');
		SELECT hipq.cancel_jobs('load.group', 'parked');
		SELECT hipq.enqueue('outside', queue => 'load.strict') FROM generate_series(1, 20)});
	my $worker = $hipq->sql(
		q{SELECT hipq.register_worker('outside', '{load.strict}', '{outside}', capacity => 10)});
	ok($hipq->wait_until("SELECT count(hipq.complete(claimed.id, claimed.attempt)) > 0
			FROM hipq.claim($worker) AS claimed"), 'a worker completes jobs');
	$hipq->sql("SELECT hipq.deregister_worker($worker);
		SELECT hipq.cancel_jobs('load.strict', 'outside')");
	my @pids = map { $load->start_client(seed => $client_seed, jobs => int($jobs / 4)) } 1 .. 2;
	is($load->wait_for_clients(@pids), 0, 'clients have ended without error');
	return;
}

# Returns a digest of all tables of hipq on a server.
sub contents
{
	my ($node) = @_;
	return $node->safe_psql('postgres', q{
		SELECT 'job', count(*), md5(string_agg(job::text, ',' ORDER BY id, state)) FROM hipq.job
		UNION ALL SELECT 'attempt', count(*), md5(string_agg(attempt::text, ','
			ORDER BY job_id, attempt, ended_time, reason)) FROM hipq.attempt
		UNION ALL SELECT 'dead_letter', count(*), md5(string_agg(letter::text, ',' ORDER BY job_id))
			FROM hipq.dead_letter AS letter
		UNION ALL SELECT 'dependency', count(*), md5(string_agg(dependency::text, ','
			ORDER BY job_id, before_id)) FROM hipq.dependency
		UNION ALL SELECT 'effect', count(*),
			md5(string_agg(effect::text, ',' ORDER BY job_id, attempt)) FROM effect});
}

# Returns whether every index of hipq matches its table.
sub check_indexes
{
	my ($node) = @_;
	return $node->safe_psql('postgres', q{
		SELECT count(checked) > 20 FROM (
			SELECT bt_index_check(index.indexrelid, true)::text AS checked
			FROM pg_index AS index
			JOIN pg_class AS class ON class.oid = index.indexrelid
			WHERE class.relnamespace = 'hipq'::regnamespace AND class.relkind = 'i' AND
				index.indisvalid AND class.relam = (SELECT oid FROM pg_am WHERE amname = 'btree')
		) AS index_check});
}

run_load($seed);
ok($load->drain, 'all jobs of the load end');
$primary->stop('immediate');    # recovery also compares pages
$primary->start;
run_load($seed + 1000);
ok($load->drain, 'all jobs of the load end after a crash');

sub is_followed
{
	my ($what, $wanted) = @_;
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	my $contents = contents($primary);
	like($contents, $wanted, "$what: the primary has the expected contents");
	is(contents($standby), $contents, "$what: the standby has the same contents");
	is(check_indexes($_), 't', "$what: indexes of " . $_->name . ' match their tables')
		foreach $primary, $standby;
	return;
}

is_followed('after the load', qr/^job\|\d{3,}\|.*^attempt\|\d{2,}\|.*^dead_letter\|\d/ms);
$hipq->set('hipq.clock_offset' => '40d');    # makes leaves of other days, and drops today's
ok($hipq->wait_until(q{SELECT count(*) = 0 FROM hipq.job}), 'old jobs are removed 40 days later');
# A leaf holds two days here, and its name has the first one: today or yesterday.
ok($hipq->wait_until(q{SELECT count(*) > 0 FROM pg_class WHERE relnamespace = 'hipq'::regnamespace
		AND relispartition
	AND substring(relname FROM '_p([0-9]{8})') >= to_char(hipq.now() - interval '1 day',
		'YYYYMMDD')}), 'leaves for the moved clock are made');
$hipq->set('hipq.clock_offset' => 0);
$primary->safe_psql('postgres', 'VACUUM');
is_followed('40 days later', qr/^job\|0\|/);
foreach my $node ($primary, $standby)
{
	unlike(slurp_file($node->logfile), qr/inconsistent page found|PANIC|TRAP/,
		$node->name . ' found no inconsistent page');
}

done_testing();
