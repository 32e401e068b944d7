# Jobs that are held cost nothing to find a free one: with very many of them in front of it, as many
# index entries and rows are read as without them, also after COMMIT PREPARED and resume().
#
# HELD_JOBS (300000): how many. To enqueue 1,000,000 takes 20 s while another test runs.
use strict;
use warnings;
use HipqCluster;
use Test::More;
use Time::HiRes qw(time);

my $held = $ENV{HELD_JOBS} || 300_000;
my $at_once = 10_000;    # of one call

my $hipq = HipqCluster->new('many_held', 'max_prepared_transactions' => 5,
	'hipq.executor_idle_timeout' => '1h', 'max_wal_size' => '4GB', 'checkpoint_timeout' => '1h',
	'synchronous_commit' => 'off', 'autovacuum' => 'off', 'hipq.audit_rate' => 0);
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE FUNCTION work(data jsonb) RETURNS void LANGUAGE sql AS '';
	SELECT hipq.register_job_type('app.main', 'by_lock', handler => 'work', claim => 'lock'),
		hipq.register_job_type('app.main', 'by_record', handler => 'work', claim => 'record'),
		hipq.register_job_type('app.main', 'outside', handler_kind => 'notify')});
my @types = qw(by_lock by_record outside);
my $worker = $hipq->sql(q{SELECT hipq.register_worker('one', '{app.main}', '{outside}')});

# Runs a job, in the way of its type.
sub run_one
{
	my ($type, $id) = @_;
	if ($type eq 'outside')
	{
		is($hipq->sql("SELECT id FROM hipq.claim($worker, wait => 20)"), $id, 'the worker gets it');
		$hipq->sql("SELECT hipq.complete($id, 1)");
	}
	return $hipq->outcome($id);
}

# What happens to a free job before it can start.
my %ways = (
	enqueue => sub { $hipq->enqueue($_[0], q{queue => 'app.main'}) },
	resume => sub {
		my ($type) = @_;
		$hipq->sql(q{SELECT hipq.pause('app.main')});
		my $id = $hipq->enqueue($type, q{queue => 'app.main'});
		$hipq->sql(q{SELECT hipq.resume('app.main')});
		return $id; },
	'COMMIT PREPARED' => sub {
		my ($id) = split /\n/, $hipq->sql(qq{BEGIN;
			SELECT hipq.enqueue('$_[0]', queue => 'app.main');
			PREPARE TRANSACTION 'free'});
		$hipq->sql(q{COMMIT PREPARED 'free'});
		return $id; });

# Returns how many entries of the index of the lanes, and rows by it, all processes have read. They
# report it when they exit.
sub count_reads
{
	$hipq->switch_off;
	my @counts = split /\|/, $hipq->sql(q{SELECT idx_tup_read, idx_tup_fetch
		FROM pg_stat_all_indexes WHERE indexrelname = 'app_main_live_line'});
	$hipq->set('hipq.enabled' => 'on');
	return @counts;
}

# Returns, for each way and type, how many entries and rows were read for one free job.
sub reads_of_free_jobs
{
	my ($when) = @_;
	my %reads;
	$hipq->sql('VACUUM ANALYZE hipq.app_main_live');    # no entries of rows that are gone
	foreach my $way (sort keys %ways)
	{
		foreach my $type (@types)
		{
			my @before = count_reads();
			my $id = $ways{$way}->($type);
			my $start = time();
			is(run_one($type, $id), 'succeeded', "$when: a free job of type $type runs ($way)");
			$hipq->in_time(time() - $start, 2, "... within 2 s");
			my @after = count_reads();
			$reads{"$type, $way"} = [ map { $after[$_] - $before[$_] } 0, 1 ];
		}
	}
	return \%reads;
}

my $without = reads_of_free_jobs('no held jobs');

# ---- held jobs of each type, due earlier, after a job that does not end
$hipq->sql(q{SELECT hipq.register_job_type('app.main', 'never', handler => 'work')});
my $first = $hipq->enqueue('never',
	q{queue => 'app.main', scheduled_run_time => now() + interval '1 day'});
my $began = time();
$hipq->sql("SELECT count(hipq.enqueue_many(type, array_fill('{}'::jsonb, '{$at_once}'),
		queue => 'app.main', after => ARRAY[$first]))
	FROM unnest('{" . join(',', @types) . "}'::text[]) AS type,
		generate_series(1, $held / 3 / $at_once + 1)");
note sprintf '%d held jobs were enqueued in %.1f s',
	$hipq->sql('SELECT count(*) FROM hipq.job WHERE waits_for IS NOT NULL'), time() - $began;

my $with = reads_of_free_jobs("$held held jobs");
foreach my $case (sort keys %$without)
{
	note sprintf '%s: %d entries and %d rows, without held jobs %d and %d', $case,
		@{ $with->{$case} }, @{ $without->{$case} };
	cmp_ok($with->{$case}[$_], '<=', $without->{$case}[$_] + 60,
		"$case: no more " . ('index entries', 'rows')[$_] . ' are read than without held jobs')
			foreach 0, 1;
}
is($hipq->sql(q{SELECT count(*) >= } . $held . q{ FROM hipq.job WHERE waits_for = 'jobs'}), 't',
	'the held jobs wait');

# ---- the index of the lanes has no entries for them
cmp_ok($hipq->sql(q{SELECT pg_relation_size('hipq.app_main_live_line') / 8192}), '<', 10,
	'the index of the lanes is small');

done_testing();
