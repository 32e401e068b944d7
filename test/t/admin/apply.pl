# hipq.apply() makes each schedule as the role that its jobs are enqueued as. The output of
# hipq.describe() recreates the queues, grants and schedules of one database in another.
use strict;
use warnings;
use HipqCluster;
use Test::More;

my $hipq = HipqCluster->new('apply', shared_preload_libraries => 'hipq, pg_cron',
	'cron.database_name' => 'postgres', 'cron.use_background_workers' => 'on');
$hipq->sql(q{
	CREATE EXTENSION pg_cron;
	CREATE ROLE producer LOGIN; CREATE ROLE reader;
	CREATE FUNCTION run(data jsonb) RETURNS void LANGUAGE sql AS ''});
sub apply
{
	my ($arguments) = @_;
	return $hipq->sql("SET client_min_messages = warning;
		SELECT object, action, property, before, after FROM hipq.apply($arguments)");
}
sub entries
{
	return $hipq->sql(q{SELECT string_agg(concat_ws(' ', schedule, username), ', '
		ORDER BY schedule) FROM cron.job})
}

my $state = q{{
	"queues": [{"queue": "app.mail", "owner": "app", "weight": 7}],
	"job_types": [{"queue": "app.mail", "job_type": "run", "handler": "run", "time_zone": "UTC"}],
	"grants": [{"queue": "app.mail", "role": "producer", "privilege": "enqueue"},
		{"queue": "app.mail", "role": "reader", "privilege": "read"}],
	"schedules": [{"name": "nightly", "cron": "5 3 * * *", "job_type": "run", "role": "producer",
		"expires_after": "1 h", "priority": 3, "by": "pg_cron"},
		{"name": "weekly", "cron": "@weekly", "queue": "app.mail", "job_type": "run",
			"job_data": {"a": [null]}, "job_key": "NONE", "role": "app", "by": "pg_cron"}],
	"pauses": [{"queue": "app.mail", "job_type": "run", "reason": "until monday"}]}};
like(apply("'$state', dry_run => true"),
	qr/^schedule "nightly" of queue "app\.mail"\|create\|\|\|/m, 'a dry run lists the schedules');
is(entries(), '', 'a dry run makes no schedule');
apply("'$state'");
is(entries(), '0 0 * * 0 app, 5 3 * * * producer', 'pg_cron has the schedules with their roles');
is(apply("'$state'"), '', 'applying the same again changes nothing');
is(apply("'$state', drop_others => true"), '',
	'drop_others keeps a schedule without a queue: it is in the queue of its type');
is(apply('hipq.describe(), drop_others => true'), '',
	'applying what describe() says changes nothing');
is(entries(), '0 0 * * 0 app, 5 3 * * * producer',
	'applying the description keeps the entries of pg_cron');

is(apply(q{'{"schedules": [{"name": "nightly", "queue": "app.mail", "cron": "6 3 * * *",
		"job_type": "run", "role": "producer", "by": "pg_cron"}]}'}),
	join("\n", map {
			"schedule \"nightly\" of queue \"app.mail\"|change|$_" } 'cron|"5 3 * * *"|"6 3 * * *"',
		'expires_after|"01:00:00"|null', 'priority|3|null'),
	'apply() reports what it changes in a schedule');
is(entries(), '0 0 * * 0 app, 6 3 * * * producer', 'a changed schedule is changed in pg_cron');
like($hipq->error_of(q{SELECT
		hipq.apply('{"schedules": [{"name": "nightly", "queue": "app.mail", "cron": "61 * * * *",
			"job_type": "run", "role": "producer"}]}')}),
	qr/22023: schedules\[0\]: invalid cron expression "61 \* \* \* \*"/,
		'an error names the schedule by its position');

# ---- a schedule's name belongs to its queue

my $two =
	q{"queues": [{"queue": "app.mail", "owner": "app", "weight": 7}, {"queue": "app.bulk"}],
	"schedules": [
		{"name": "nightly", "cron": "6 3 * * *", "job_type": "run", "role": "producer",
			"by": "pg_cron"},
		{"name": "nightly", "queue": "app.bulk", "cron": "7 3 * * *", "job_type": "scan",
			"by": "pg_cron"},
		{"name": "weekly", "queue": "app.mail", "cron": "@weekly", "job_type": "run",
			"job_data": {"a": [null]}, "job_key": "NONE", "role": "app", "by": "pg_cron"}]};
is($hipq->sql("SET client_min_messages = warning;
		SELECT object, action FROM hipq.apply('{$two}', drop_others => true)"),
	qq{queue "app.bulk"|create\nschedule "nightly" of queue "app.bulk"|create},
	'another queue can have a schedule of the same name');
is(entries(), '0 0 * * 0 app, 6 3 * * * producer, 7 3 * * * postgres',
	'pg_cron has both schedules of the name');
my $again = q{{"name": "nightly", "queue": "app.mail", "cron": "8 3 * * *", "job_type": "run"}};
like($hipq->error_of(qq{SELECT
		hipq.apply('{"schedules": [
			{"name": "nightly", "cron": "6 3 * * *", "job_type": "run"}, $again]}')}),
	qr/22023: schedules\[1\] describes schedule "nightly" of queue "app\.mail" again\nHINT:  It is described by schedules\[0\]\./,
		'a schedule described twice, once without its queue, is refused');
like($hipq->error_of(qq{SELECT hipq.apply('{"schedules": [$again, $again]}')}),
	qr/22023: schedules\[1\] describes schedule "nightly" of queue "app\.mail" again/,
	'a schedule described twice with its queue is refused');
is(entries(), '0 0 * * 0 app, 6 3 * * * producer, 7 3 * * * postgres',
	'a refused description changes nothing');
apply(q{'{"queues": [{"queue": "app.mail", "owner": "app", "weight": 7}]}', drop_others => true});

# ---- a schedule that hipq tells

my $own = q{'{"schedules": [{"name": "own", "queue": "app.mail", "cron": "30 2 * * *",
	"job_type": "run", "role": "producer", "time_zone": "Europe/Berlin", "missed": "all",
	"missed_within": "2 days", "jitter": "10 min", "overlap": "after",
	"starts": "2026-01-01 00:00:00+00", "ends": "2100-01-01 00:00:00+00"}]}'};
like(apply($own), qr/^schedule "own" of queue "app\.mail"\|create\|/, 'apply() makes the schedule');
is(apply($own), '', 'applying it again changes nothing');
is($hipq->sql(q{SELECT told_by, time_zone, missed, missed_within, jitter, overlap
	FROM hipq.schedules_detail WHERE name = 'own'}),
	'hipq|Europe/Berlin|all|2 days|00:10:00|after', 'the schedule is as described');
is(apply('hipq.describe()'), '', 'the description has all of it');
$hipq->sql(q{SELECT hipq.unschedule('own')});

# ---- all is dropped, and made again

my $described = $hipq->sql('SELECT hipq.describe()');
apply(q{'{"queues": [], "instances": []}', drop_others => true});
is(entries(), '', 'schedules are dropped with their queue');
is($hipq->sql(q{SELECT jsonb_path_query_array(hipq.describe(), '$.*[*]')}), '[]',
	'nothing is left after apply() has dropped everything');
apply("'$described'");
is($hipq->sql('SELECT hipq.describe()'), $described,
	'applying the description recreates everything');
is(entries(), '0 0 * * 0 app, 6 3 * * * producer',
	'applying the description recreates the entries of pg_cron');
my $id = $hipq->sql(q{SELECT hipq.resume('app.mail', 'run');
	SELECT hipq.enqueue('run', queue => 'app.mail')}) =~ s/.*\n//r;
is($hipq->outcome($id), 'succeeded', 'jobs run in a recreated queue');

# ---- another database, without pg_cron

$hipq->sql('CREATE DATABASE other');
my $other = $hipq->in('other');
$other->sql(q{CREATE EXTENSION hipq; CREATE FUNCTION run(data jsonb) RETURNS void
	LANGUAGE sql AS ''});
like($other->error_of("SELECT hipq.apply('$described')"),
	qr/55000: schedules\[0\]: schedules need pg_cron in this database/,
	'a description with schedules is refused without pg_cron');
is($other->sql(q{SELECT count(*) FROM hipq.queue}), '0', 'a refused description makes no queue');
my $rest = $other->sql("SELECT '$described'::jsonb - 'schedules'");
$other->sql("SET client_min_messages = warning; SELECT hipq.apply('$rest')");
is($other->sql(q{SELECT hipq.describe() - 'schedules'}), $rest,
	'applying a description makes a new database like the described one');
is($other->sql(q{SELECT hipq.resume('app.mail', 'run')}), 't',
	'applying a description makes the pauses in a new database');
is($other->outcome_of('run', q{queue => 'app.mail'}), 'succeeded', 'jobs run in the new database');

done_testing();
