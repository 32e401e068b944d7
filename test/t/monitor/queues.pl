# hipq.doctor() finds each fault of queues and job types. The test causes each fault, executes the
# statement of the finding, and checks that the finding disappears.
use strict;
use warnings;
use HipqCluster;
use HipqDoctor;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('doctor_queues', 'hipq.heartbeat_timeout' => '1d');
is(findings($hipq), '', 'a new server has no findings');
$hipq->create_queue('app.mail');
$hipq->sql(q{
	CREATE ROLE reader LOGIN;
	CREATE ROLE stranger LOGIN;
	CREATE ROLE watcher LOGIN IN ROLE pg_monitor;
	CREATE FUNCTION work(data jsonb) RETURNS void LANGUAGE sql AS '';
	CREATE FUNCTION again(job hipq.job) RETURNS interval LANGUAGE sql AS $$
		SELECT interval '1 s' $$;
	CREATE FUNCTION bury(job hipq.job) RETURNS void LANGUAGE sql AS '';
	SELECT hipq.register_job_type('app.mail', 'work', handler => 'work', retry_handler => 'again',
		max_retries => 1);
	SELECT hipq.alter_queue('app.mail', dead_letter_handler => 'bury');
	SELECT hipq.grant_queue('app.mail', 'reader', 'read')});
is($hipq->outcome_of('work'), 'succeeded', 'a job runs before the first fault');
is(findings($hipq), '', 'a server whose jobs run has no findings');

my $queue = 'queue "app.mail"';
my $type = 'job type "work" of queue "app.mail"';

# ---- owners
$hipq->sql('ALTER ROLE app NOLOGIN');
is_mended($hipq, 'error', 'owner without LOGIN', $queue, qr/Its owner "app" may not log in/);
$hipq->sql('REVOKE CONNECT ON DATABASE postgres FROM PUBLIC');
is_mended($hipq, 'error', 'owner without CONNECT', $queue,
	qr/may not connect to database "postgres"/);
$hipq->sql('GRANT CONNECT ON DATABASE postgres TO PUBLIC;
	REVOKE CONNECT ON DATABASE postgres FROM app');
$hipq->sql(q{CREATE ROLE fleeting NOLOGIN;
	SELECT hipq.create_queue('app.outside', owner => 'fleeting')});
is_mended($hipq, 'information', 'owner without LOGIN', 'queue "app.outside"');
$hipq->sql(q{SET allow_system_table_mods = on; DELETE FROM pg_authid WHERE rolname = 'fleeting'});
is_found($hipq, 'information', 'owner gone', 'queue "app.outside"', qr/OID \d+, does not exist/);
$hipq->sql(q{SELECT hipq.alter_queue('app.outside', owner => 'app')});
is_gone($hipq, 'owner gone', 'queue "app.outside"');

# ---- handlers
$hipq->sql('REVOKE EXECUTE ON FUNCTION work(jsonb) FROM PUBLIC');
is_mended($hipq, 'error', 'missing handler', $type,
	qr/the queue owner may not execute public\.work\(jsonb\)/);
$hipq->sql('ALTER FUNCTION work(jsonb) RENAME TO work_away');
my $found = is_found($hipq, 'error', 'missing handler', $type,
	qr/Its handler cannot run: function public\.work\(jsonb\) does not exist/);
is($found->{statement}, undef, 'the finding of a missing handler has no statement');
$hipq->sql('CREATE FUNCTION work(data jsonb) RETURNS int[] LANGUAGE sql AS $$ SELECT NULL::int[] $$;
	DROP FUNCTION work_away');
is_gone($hipq, 'missing handler', $type);
$hipq->sql('ALTER FUNCTION again(hipq.job) RENAME TO away');
is_found($hipq, 'error', 'missing handler', $type, qr/Its retry handler cannot run/);
$hipq->sql('ALTER FUNCTION away(hipq.job) RENAME TO again');
$hipq->sql('ALTER FUNCTION bury(hipq.job) RENAME TO away');
is_found($hipq, 'error', 'missing handler', $queue, qr/Its handler of dead letters cannot run/);
$hipq->sql('ALTER FUNCTION away(hipq.job) RENAME TO bury');
is_gone($hipq, 'missing handler', $queue);

# ---- types that are not registered, or have no handler
$hipq->enqueue('wrok', q{queue => 'app.mail'});
$hipq->wait_until(q{SELECT count(*) = 1 FROM hipq.job_type WHERE name = 'wrok'});
is_found($hipq, 'warning', 'unregistered type', 'job type "wrok" of queue "app.mail"',
	qr/nobody has registered it/);
$hipq->sql(q{SELECT hipq.cancel_jobs('app.mail', 'wrok')});
$hipq->sql(q{SELECT hipq.drop_job_type('app.mail', 'wrok')});
is_gone($hipq, 'unregistered type', 'job type "wrok" of queue "app.mail"');
$hipq->sql(q{SELECT hipq.register_job_type('app.mail', 'later')});
is_found($hipq, 'warning', 'no handler', 'job type "later" of queue "app.mail"');
$hipq->sql(q{SELECT hipq.register_worker('one', '{app.mail}', '{later}')});
is_gone($hipq, 'no handler', 'job type "later" of queue "app.mail"');
$hipq->sql(q{SELECT hipq.drop_job_type('app.mail', 'later');
	SELECT hipq.register_job_type('app.mail', 'outside', handler_kind => 'notify')});
is_found($hipq, 'information', 'no worker', 'job type "outside" of queue "app.mail"');
$hipq->sql(q{SELECT hipq.register_worker('two', '{app.mail}', '{outside}')});
is_gone($hipq, 'no worker', 'job type "outside" of queue "app.mail"');

# ---- types of external workers without retries, because max_retries was never set
my $outside = 'job type "outside" of queue "app.mail"';
is_mended($hipq, 'information', 'no retries', $outside, qr/max_retries is 0, which is the default/);
$hipq->sql(q{SELECT hipq.alter_job_type('app.mail', 'outside', reset => '{max_retries}')});
foreach my $said (
	[ q{alter_job_type('app.mail', 'outside'}, 'max_retries => 0' ],
	[ q{alter_queue('app.mail'}, 'max_retries => 0' ],
	[ q{alter_queue('app.mail'}, 'retry_enabled => false' ],
	[ q{alter_instance('app'}, 'max_retries => 3' ])
{
	my ($call, $option) = @$said;
	is_found($hipq, 'information', 'no retries', $outside);
	$hipq->sql("SELECT hipq.$call, $option)");
	is_gone($hipq, 'no retries', $outside);
	my ($name) = $option =~ /(\w+)/;
	$hipq->sql("SELECT hipq.$call, reset => '{$name}')");
}
$hipq->sql(q{SELECT hipq.alter_queue('app.mail', max_retries => 2)});
is_gone($hipq, 'no retries', $outside);

# ---- limits
sub alter
{
	my ($options) = @_;
	$hipq->sql("SELECT hipq.alter_job_type('app.mail', 'work', $options)");
	return;
}
alter('throttle_limit => 2, default_throttle_factor => 5');
is_mended($hipq, 'warning', 'heavier than the limit', $type, qr/weighs 5, and the limit is 2/);
alter('throttle_limit => 0.5, default_throttle_factor => 1');
is_mended($hipq, 'warning', 'limit below 1', $type, qr/throttle_limit 0\.5 limits nothing/);
alter('throttle_limit_per_key => 0.25');
is_mended($hipq, 'warning', 'limit below 1', $type,
	qr/throttle_limit_per_key 0\.25 limits nothing/);
alter('throttle_limit => 10, throttle_limit_per_key => 20');
is_mended($hipq, 'information', 'limit never reached', $type,
	qr/per_key 20 is higher than the limit of all its jobs, 10/);
$hipq->sql(q{SELECT hipq.alter_queue('app.mail', throttle_limit => 5)});
alter('throttle_limit_per_key => 0');
is_mended($hipq, 'information', 'limit never reached', $type,
	qr/throttle_limit 10 is higher than that of its queue, 5/);
$hipq->sql(q{SELECT hipq.alter_queue('app.mail', throttle_limit => 0.1)});
is_mended($hipq, 'warning', 'limit below 1', $queue, qr/throttle_limit 0\.1 limits nothing/);
alter('throttle_limit => 0');
$hipq->sql(q{SELECT hipq.alter_queue('app.mail', throttle_limit => 0)});

# ---- rates that do not do what they say
alter(q{rate_limit => '2/min', default_throttle_factor => 5});
is_mended($hipq, 'warning', 'heavier than the rate', $type,
	qr/weighs 5, and rate_limit allows 2 in its period/);
alter(q{rate_mode => 'smooth', default_throttle_factor => 5});
is_gone($hipq, 'heavier than the rate', $type);
alter(q{rate_limit => 'NONE', rate_mode => 'exact'});
$hipq->sql(q{SELECT hipq.alter_queue('app.mail', rate_limit => '4/min')});
is_mended($hipq, 'warning', 'heavier than the rate', $type, qr/allows 4 in its period/);
alter(q{rate_limit => '9/2 min', default_throttle_factor => 1});
is_mended($hipq, 'information', 'rate never reached', $type,
	qr/rate_limit 9\/2 min is higher than that of its queue, 4\/min/);
is($hipq->sql(q{SELECT rate_limit FROM hipq.job_types_detail WHERE job_type = 'work'}), '4/min',
	'the type gets the rate of its queue');
# A period of the type that is not a multiple of the queue's, smooth rates beside exact ones.
foreach my $case ([ q{'8/90 s'}, 'exact', 'exact', 0 ], [ q{'9/90 s'}, 'exact', 'exact', 1 ],
	[ q{'4/s'}, 'exact', 'exact', 0 ], [ q{'5/s'}, 'exact', 'exact', 1 ],
	[ q{'5/s'}, 'smooth', 'exact', 0 ], [ q{'5/min'}, 'smooth', 'smooth', 1 ],
	[ q{'3/min'}, 'smooth', 'smooth', 0 ], [ q{'1/10 s'}, 'exact', 'smooth', 1 ],
	[ q{'1/30 s'}, 'exact', 'smooth', 0 ])
{
	my ($rate, $mode, $mode_of_queue, $is_found) = @$case;
	alter("rate_limit => $rate, rate_mode => '$mode'");
	$hipq->sql("SELECT hipq.alter_queue('app.mail', rate_mode => '$mode_of_queue')");
	is(defined finding_of($hipq, 'rate never reached', $type) ? 1 : 0, $is_found,
		"$rate, $mode, " . ($is_found ? 'is never' : 'can be') . " reached, $mode_of_queue 4/min");
}
alter(q{rate_limit => 'NONE', rate_mode => 'exact'});
$hipq->sql(q{SELECT hipq.alter_queue('app.mail', rate_limit => 'NONE', rate_mode => 'exact')});

# ---- times
alter(q{default_timeout => '2 h'});
$hipq->sql(q{SELECT hipq.alter_queue('app.mail', max_timeout => '1 h')});
is_mended($hipq, 'warning', 'timeout is cut', $type,
	qr/7200 s is longer than its queue allows, 3600 s/);
alter(q{retry_base => '10 min', retry_max => '10 min'});
$hipq->sql(q{UPDATE hipq.job_type SET retry_max = '1 min' WHERE name = 'work'});
is_mended($hipq, 'warning', 'delay is cut', $type,
	qr/retry_base 00:10:00 is longer than its retry_max 00:01:00/);
$hipq->sql(q{SELECT hipq.alter_queue('app.mail', retry_enabled => false)});
is_mended($hipq, 'warning', 'retries are off', $type, qr/max_retries is 1/);
alter(q{retry_on => '{timeout,crashed}', do_not_retry_on => '{crashed}'});
is_mended($hipq, 'warning', 'contradicting rules', $type,
	qr/names in retry_on and in do_not_retry_on: crashed\./);
$hipq->sql(q{SELECT hipq.alter_queue('app.mail', dead_letter_enabled => false)});
is_mended($hipq, 'warning', 'handler never called', $queue, qr/its failed jobs leave none/);

# After an update of its time zone files the server may not know the time zone of a type.
alter(q{default_time_windows => '09:00-17:00', time_zone => 'Europe/Berlin'});
$hipq->sql(q{UPDATE hipq.job_type SET time_zone = 'Atlantis/Capital' WHERE name = 'work'});
is_found($hipq, 'error', 'unclear time windows', $type, qr/"09:00-17:00" are open/);
alter(q{default_time_windows => 'NONE', time_zone => 'UTC'});
is_gone($hipq, 'unclear time windows', $type);

# A worker takes longer than a job may wait to be accepted.
my $slow = $hipq->enqueue('outside', q{queue => 'app.mail'});
$hipq->wait_until("SELECT count(*) = 1 FROM hipq.running WHERE id = $slow");
my $worker = $hipq->sql(q{SELECT worker_id FROM hipq.workers WHERE name = 'two'});
is($hipq->sql("SELECT id FROM hipq.claim($worker)"), $slow,
	'a worker claims a job for which it needs 0.8 s');
$hipq->wait_until("SELECT clock_timestamp() - since > interval '0.8 s' FROM hipq.running
	WHERE id = $slow");
$hipq->sql("SELECT hipq.complete($slow, 1)");
$hipq->sql(q{SELECT hipq.alter_job_type('app.mail', 'outside', queue_ttl => '1 s')});
is_mended($hipq, 'warning', 'short queue_ttl',
	'job type "outside" of queue "app.mail"', qr/within 1 s/);
is(findings($hipq), '', 'no finding is left after all statements');

# ---- the findings that a role sees
$hipq->sql('ALTER ROLE app NOLOGIN');
$hipq->set('hipq.retry_base' => '1h');
my $seen = q{SELECT string_agg(finding, ', ' ORDER BY finding) FROM hipq.doctor()};
is($hipq->sql_as('watcher', $seen),
	'contradicting settings, owner without LOGIN, owner without LOGIN',
	'a member of pg_monitor sees all findings');
is($hipq->sql_as('reader', $seen), 'owner without LOGIN',
	'a role that can read the queue sees its findings');
like((($hipq->node->psql('postgres', $seen, extra_params => [ '-U', 'stranger' ]))[2]),
	qr/permission denied for schema hipq/, 'a role without rights sees no findings');
$hipq->set('hipq.enabled' => 'off');
is($hipq->sql_as('reader', $seen), 'owner without LOGIN, switched off',
	'a role that can read the queue sees findings about the whole server');

done_testing();
