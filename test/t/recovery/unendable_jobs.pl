# Whatever a job returns or raises, it ends or is set aside, and other jobs run.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('unendable', 'hipq.max_executors' => 2);
$hipq->create_queue('app.main');
$hipq->sql(q{
	CREATE FUNCTION fine(data jsonb) RETURNS void LANGUAGE sql AS 'SELECT NULL::void';
	CREATE FUNCTION fail(data jsonb) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		RAISE 'fails'; END $$;
	CREATE FUNCTION never(job hipq.job) RETURNS interval LANGUAGE sql AS 'SELECT NULL::interval';
	CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		RAISE 'poisonous row'; END $$;
	SELECT hipq.register_job_type('app.main', 'fine', handler => 'fine');
	SELECT hipq.register_job_type('app.main', 'fail', handler => 'fail')});
my $log_end = -s $hipq->node->logfile;

# Tests that no process has ended because of a job since the last call.
sub nobody_ended
{
	my ($name) = @_;
	unlike(slurp_file($hipq->node->logfile, $log_end),
		qr/"hipq (executor|scheduler)" \(PID \d+\) exited with exit code 1/,
		"$name: no process has ended with an error");
	$log_end = -s $hipq->node->logfile;
	return;
}

# Waits until a job is set aside.
sub is_set_aside
{
	my ($id, $name) = @_;
	ok($hipq->wait_until("SELECT EXISTS (SELECT FROM hipq.set_aside WHERE job_id = $id)"),
		"$name: the job is set aside");
	like($hipq->sql("SELECT explanation FROM hipq.why($id)
			WHERE condition = 'set aside' AND NOT passed"), qr/poisonous row.*hipq.fail_job/,
		"$name: why() says that the job is set aside");
	like($hipq->sql("SELECT detail FROM hipq.alerts_detail WHERE alert = 'job set aside'
			AND detail ~ 'job $id:'"), qr/poisonous row/, "$name: an alert names the job");
	is($hipq->outcome_of('fine'), 'succeeded', "$name: other jobs run");
	return;
}

# ---- texts of failures
{
	$hipq->sql(q{
		CREATE FUNCTION shout(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN RAISE '%', repeat('ä', 2000000) USING DETAIL = repeat('d', 4000000),
			HINT = repeat('h', 4000000); END $$;
		CREATE FUNCTION shout_back(job hipq.job) RETURNS interval LANGUAGE plpgsql AS $$ BEGIN
			RAISE '%', repeat('r', 4000000); END $$;
		SELECT hipq.register_job_type('app.main', 'shout', handler => 'shout', max_retries => 1,
			retry_base => '0');
		SELECT hipq.register_job_type('app.main', 'answered', handler => 'shout',
			retry_handler => 'shout_back')});
	my $id = $hipq->enqueue('shout');
	is($hipq->outcome($id), 'failed', 'a job whose error is very long ends');
	my $error = q{ä+\.\.\. \(cut, 4000000 bytes\)$};
	is($hipq->sql("SELECT octet_length(error) BETWEEN 8000 AND 8192 AND error ~ '$error'
			FROM hipq.jobs_detail WHERE id = $id"), 't',
		'a long error is cut between characters, and has its length');
	is($hipq->sql("SELECT count(*), bool_and(octet_length(error) <= 8192 AND octet_length(detail) <=
			8192 AND octet_length(hint) <= 8192 AND octet_length(context) <= 8192
		AND detail ~ '... .cut, 4000000 bytes.') FROM hipq.attempts_detail WHERE job_id = $id"),
			'2|t', 'long details, hints and contexts of attempts are cut');
	is($hipq->sql("SELECT octet_length(error) <= 8192 AND pg_column_size(history) < 40000
			AND reduced_because IS NULL FROM hipq.dead_letters_detail WHERE job_id = $id"), 't',
		'a job with long texts has a whole dead letter');
	$id = $hipq->enqueue('answered');
	is($hipq->outcome($id), 'failed', 'a job whose retry handler has a long error ends');
	is($hipq->sql("SELECT octet_length(error) <= 8192 FROM hipq.jobs_detail WHERE id = $id"), 't',
		'the long error of a retry handler is cut');
	$id = $hipq->enqueue('fine', q{scheduled_run_time => now() + interval '1 day'});
	$hipq->sql("SELECT hipq.cancel($id, repeat('c', 7000) || repeat('€', 400))");
	is($hipq->sql("SELECT octet_length(error) <= 8192 AND error
			~ '^cancelled: c+€+... .cut, 8211 bytes.' FROM hipq.jobs_detail WHERE id = $id"), 't',
		'a long reason to cancel is cut');
	nobody_ended('long texts');
}

# ---- a long history
{
	$hipq->sql(q{SELECT hipq.register_job_type('app.main', 'stubborn', handler => 'fail',
		max_retries => 69, retry_base => '0')});
	my $id = $hipq->enqueue('stubborn');
	is($hipq->outcome($id), 'failed', 'a job fails 70 times');
	is($hipq->sql(qq{SELECT jsonb_array_length(history), attempts_left_out,
			history -> 9 ->> 'attempt', history -> 10 ->> 'attempt', history -> -1 ->> 'attempt'
		FROM hipq.dead_letters_detail WHERE job_id = $id}), '50|20|10|31|70',
			'the dead letter of a job with 70 attempts has 50, and the number of the others');
}

# ---- a dead letter that cannot be inserted as a whole
{
	$hipq->sql(q{CREATE TRIGGER poison BEFORE INSERT ON hipq.dead_letter FOR EACH ROW
		WHEN (NEW.job ? 'job_data') EXECUTE FUNCTION poison()});
	my $id = $hipq->enqueue('fail', q{'{"a": 1}'});
	is($hipq->outcome($id), 'failed', 'a job whose dead letter cannot be inserted ends');
	is($hipq->sql("SELECT reduced_because, job ->> 'id' = job_id::text, job ? 'job_data', history
			FROM hipq.dead_letters_detail WHERE job_id = $id"), 'poisonous row|t|f|[]',
		'a job whose dead letter cannot be inserted leaves a reduced one');
	like($hipq->error_of("SELECT hipq.redrive($id)"),
		qr/55000: cannot redrive dead letter of job $id: it has no job_data.*Use hipq.retry\(\)/s,
		'a reduced dead letter cannot be redriven');
	is($hipq->sql(q{SELECT redriven FROM hipq.redrive_jobs(queue => 'app.main',
			job_type => 'fail')}), '0', 'a reduced dead letter cannot be redriven by filter');
	nobody_ended('a reduced dead letter');
	$hipq->sql('DROP TRIGGER poison ON hipq.dead_letter');
}

# ---- the end of a job cannot be stored
foreach my $claim ('lock', 'record')
{
	my $name = "no dead letter at all, by $claim";
	$hipq->sql(qq{SELECT hipq.alter_job_type('app.main', 'fail', claim => '$claim');
		CREATE TRIGGER poison BEFORE INSERT ON hipq.dead_letter
			FOR EACH ROW EXECUTE FUNCTION poison()});
	my $id = $hipq->enqueue('fail');
	is_set_aside($id, $name);
	is($hipq->attempts($id), '1 transient_error P0001',
		"$name: the history has one attempt");
	is($hipq->sql("SELECT state, error FROM hipq.jobs_detail WHERE id = $id"),
		'error|its end cannot be written: poisonous row; it had failed: fails',
		"$name: the job's row has both errors");
	like($hipq->error_of("SELECT hipq.fail_job($id, 'enough')"), qr/poisonous row/,
		"$name: an operator cannot end the job while its dead letter cannot be inserted");
	nobody_ended($name);
	if ($claim eq 'record')
	{
		$hipq->node->restart;
		is($hipq->outcome_of('fine'), 'succeeded', "$name: other jobs run after a restart");
		$hipq->wait_until('SELECT hipq._is_running(1, 1) IS NOT NULL');
		is($hipq->sql("SELECT state FROM hipq.jobs_detail WHERE id = $id"), 'error',
			"$name: the job is not tried again after a restart");
		$log_end = -s $hipq->node->logfile;
	}
	$hipq->sql('DROP TRIGGER poison ON hipq.dead_letter');
	is($hipq->sql("SELECT hipq.fail_job($id, 'enough')"), 'final',
		"$name: an operator can end the job when its dead letter can be inserted");
	is($hipq->sql("SELECT count(*) FROM hipq.why($id) WHERE condition = 'set aside'"), 0,
		"$name: an ended job is not set aside");
	is($hipq->sql(q{SELECT count(*) FROM hipq.alerts_detail
			WHERE detail ~ 'cannot be written down'}), 0, "$name: the alert ends");
}

# ---- a final row cannot be inserted
{
	my $name = 'no final row for a success';
	$hipq->sql(q{CREATE TRIGGER poison BEFORE INSERT ON hipq.app_main_final FOR EACH ROW
		WHEN (NEW.job_key = 'poison') EXECUTE FUNCTION poison()});
	my $id = $hipq->enqueue('fine', q{job_key => 'poison'});
	is_set_aside($id, $name);
	$hipq->sql(q{SELECT hipq.register_job_type('app.main', 'asked', handler => 'fail',
		retry_handler => 'never')});
	my $asked = $hipq->enqueue('asked', q{job_key => 'poison'});
	is_set_aside($asked, 'no final row after a retry handler');
	my $expired = $hipq->enqueue('fine', q{job_key => 'expiring', expires_time => now()
		+ interval '1 second', scheduled_run_time => now() + interval '1 second'});
	my $poisonous = $hipq->sql(q{DROP TRIGGER poison ON hipq.app_main_final;
		CREATE TRIGGER poison BEFORE INSERT ON hipq.app_main_final FOR EACH ROW
			WHEN (NEW.job_key ~ 'poison') EXECUTE FUNCTION poison();
		SELECT hipq.enqueue('fine', job_key => 'expiring poison', expires_time => now()
			+ interval '1 second', scheduled_run_time => now() + interval '1 second')});
	is($hipq->outcome($expired), 'expired', 'a job expires beside one that cannot expire');
	is_set_aside($poisonous, 'no final row for an expiry');
	nobody_ended('no final rows');
	$hipq->sql('DROP TRIGGER poison ON hipq.app_main_final');
	is($hipq->sql("SELECT hipq.cancel($_)"), 't', 'an operator can cancel a job that was set aside')
		foreach $id, $asked, $poisonous;
}

# ---- a job that cannot start because its row cannot be changed
foreach my $claim ('lock', 'record')
{
	$hipq->sql(qq{CREATE TRIGGER poison BEFORE UPDATE OR DELETE ON hipq.app_main_live FOR EACH ROW
		WHEN (OLD.job_key = 'poison') EXECUTE FUNCTION poison()});
	my $id = $hipq->enqueue('fail', q{job_key => 'poison'});
	$hipq->node->wait_for_log(qr/WARNING:\s+.*job $id.*poisonous row/, $log_end)
		if $claim eq 'record';
	is($hipq->outcome_of('fine'), 'succeeded',
		"$claim: other jobs run beside a row that cannot be changed") foreach 1 .. 3;
	nobody_ended("$claim: a row that cannot be changed");
	$hipq->sql('DROP TRIGGER poison ON hipq.app_main_live');
	is($hipq->outcome($id), 'failed', "$claim: a job runs when its row can be changed");
	$hipq->sql(q{SELECT hipq.alter_job_type('app.main', 'fail', claim => 'record')});
}

# ---- a job without a worker that cannot fail
{
	$hipq->sql(q{SELECT hipq.register_job_type('app.main', 'outside', handler_kind => 'notify',
		worker_wait_ttl => 1);
		CREATE TRIGGER poison BEFORE INSERT ON hipq.app_main_final FOR EACH ROW
			WHEN (NEW.job_key = 'no end') EXECUTE FUNCTION poison();
		CREATE TRIGGER poison BEFORE UPDATE OR DELETE ON hipq.app_main_live FOR EACH ROW
			WHEN (OLD.job_key = 'no change') EXECUTE FUNCTION poison()});
	$hipq->sql(q{SELECT count(hipq.enqueue('outside', job_key => key, queue => 'app.main'))
		FROM unnest('{NONE, no end, NONE, no change, NONE}'::text[]) AS key});
	my $left = q{SELECT count(*) FROM hipq.jobs_detail WHERE job_type = 'outside'
		AND state <> 'final'};
	ok($hipq->wait_until($left, 2), 'jobs without a worker fail beside two that cannot');
	is($hipq->sql(q{SELECT string_agg(DISTINCT retry_reason, ' ') FROM hipq.jobs_detail
			WHERE job_type = 'outside' AND state = 'final'}), 'worker_unavailable',
		'jobs without a worker fail with reason worker_unavailable');
	my ($one, $other) = split /\n/, $hipq->sql(q{SELECT id FROM hipq.jobs_detail
		WHERE job_type = 'outside' AND state <> 'final' ORDER BY id});
	# The alert names the latest job.
	is_set_aside($other, 'a job without a worker cannot fail');
	like($hipq->why($one), qr/^set aside: .*poisonous row/,
		'why() says that an earlier job is set aside');
	$hipq->sql(q{SELECT hipq.enqueue('outside', queue => 'app.main')});
	ok($hipq->wait_until($left, 2), 'a later job without a worker fails');
	$hipq->sql('DROP TRIGGER poison ON hipq.app_main_final;
		DROP TRIGGER poison ON hipq.app_main_live');
	is($hipq->sql(q{SELECT count(hipq.fail_job(id, 'enough'))
			FROM hipq.jobs_detail WHERE job_type = 'outside' AND state <> 'final'}), 2,
		'an operator can end the jobs that were set aside');
	nobody_ended('jobs without a worker');
}

# ---- a dead letter whose handler's result cannot be stored
{
	$hipq->create_queue('app.dead');
	$hipq->sql(q{CREATE FUNCTION bury(job hipq.job) RETURNS void LANGUAGE sql AS 'SELECT';
		SELECT hipq.register_job_type('app.dead', 'fail', handler => 'fail'),
			hipq.alter_queue('app.dead', dead_letter_handler => 'bury');
		CREATE TRIGGER poison BEFORE UPDATE ON hipq.dead_letter FOR EACH ROW
			WHEN (OLD.job_key = 'poison') EXECUTE FUNCTION poison()});
	my $handled = q{SELECT count(*) FROM hipq.dead_letters WHERE queue = 'app.dead'
		AND state = 'handled'};
	$hipq->outcome_of('fail', "job_key => '$_', queue => 'app.dead'") foreach 'poison', 1 .. 3;
	ok($hipq->wait_until($handled, 3),
		'dead letters are handled behind one that cannot be updated');
	ok($hipq->wait_until(q{SELECT count(*) FROM hipq.alerts_detail WHERE alert = 'job set aside'
			AND detail ~ 'dead letter cannot be handled'}, 1),
		'an alert reports the dead letter that cannot be updated');
	$hipq->set('hipq.clock_offset' => '5 min');
	$hipq->outcome_of('fail', q{queue => 'app.dead'});
	ok($hipq->wait_until($handled, 4), 'later dead letters are handled');
	is(scalar(() = slurp_file($hipq->node->logfile, $log_end)
			=~ /cannot call the handler of dead letters of queue "app.dead": poisonous row/g), 1,
		'the dead letter that cannot be updated is tried once');
	$hipq->sql('DROP TRIGGER poison ON hipq.dead_letter');
	$hipq->set('hipq.clock_offset' => '20 min');
	ok($hipq->wait_until($handled, 5), 'a dead letter is handled when it can be updated');
	$hipq->set('hipq.clock_offset' => 0);
	nobody_ended('a dead letter that cannot be updated');
}

# ---- limits of the depth and size of job_data
{
	my $deep = sub { my ($levels) = @_; return "(repeat('[', $levels) || repeat(']', $levels))" };
	my $too_deep = qr/54000: job_data is nested too deeply.*The limit is 500 arrays and objects/s;
	my $long = q{(SELECT jsonb_agg('1e131071'::jsonb) FROM generate_series(1, 60))};
	my $too_long = q{(SELECT jsonb_agg('1e131071'::jsonb) FROM generate_series(1, 70))};
	foreach my $door (
		sub { "SELECT hipq.enqueue('fine', job_data => $_[0]::text, queue => 'app.main')" },
		sub { "SELECT hipq.enqueue('fine', job_data => $_[0]::jsonb, queue => 'app.main')" },
		sub { "SELECT hipq.enqueue_many('fine', ARRAY['{}', $_[0]::jsonb], queue => 'app.main')" },
		sub { "INSERT INTO hipq.app_main (job_type, job_data) VALUES ('fine', $_[0]::jsonb)" },
		sub
		{
			"COPY (SELECT 'fine', $_[0]::jsonb) TO '$PostgreSQL::Test::Utils::tmp_check/deep'; "
				. "COPY hipq.app_main (job_type, job_data) FROM "
				. "'$PostgreSQL::Test::Utils::tmp_check/deep'"
		}
		,
		sub { "WITH job AS (SELECT hipq.enqueue('fine', queue => 'app.main',
			scheduled_run_time => now() + interval '1 day') AS id) SELECT id FROM job;
			UPDATE hipq.app_main SET job_data = $_[0]::jsonb WHERE state = 'initial'
				AND scheduled_run_time > now() + interval '1 second'" },
		sub { "SELECT hipq.enqueue('fine', job_data => '[]', queue => 'app.main', job_key =>
			'merged', scheduled_run_time => now() + interval '1 day', on_duplicate => 'merge');
			SELECT hipq.enqueue('fine', job_data => $_[0]::jsonb, queue => 'app.main',
				job_key => 'merged', on_duplicate => 'merge')" },
		sub
		{
			"SELECT hipq.retry(min(id), job_data => $_[0]::jsonb) FROM hipq.app_main
				WHERE job_type = 'fine' AND state = 'final' AND job_key = 'NONE'"
		}
		)
	{
		my ($name) = $door->('...')
			=~ /((?:hipq.enqueue|hipq.enqueue_many|INSERT|COPY|UPDATE|hipq.retry)(?: |\().*)/s;
		like($hipq->error_of($door->($deep->(501))), $too_deep, "too deep data are refused: $name");
		unlike($hipq->error_of($door->($deep->(499))), qr/ERROR/,
			"data that are not too deep are accepted: $name");
		like($hipq->error_of($door->($too_long)), qr/54000: job_data is too large as text/,
			"too many digits are refused: $name");
		unlike($hipq->error_of($door->($long)), qr/ERROR/, "many digits are accepted: $name");
	}
	like($hipq->error_of(q{SELECT hipq.enqueue('fine', (repeat('{"a":', 501) || '1' || repeat('}',
			501))::jsonb, queue => 'app.main')}), $too_deep, 'too many nested objects are refused');
	is($hipq->sql(q{SELECT hipq.enqueue('fine',
			(repeat('{"a":', 500) || '1' || repeat('}', 500))::jsonb, queue => 'app.main') > 0}),
		't', 'objects nested up to the limit are accepted');
	is($hipq->sql(q{SELECT hipq.enqueue('fine', jsonb_build_array(repeat('[', 900000)),
			queue => 'app.main') > 0}), 't', 'brackets in a string do not count as nesting');
	my $id = $hipq->enqueue('fail', '(' . $deep->(500) . ")::jsonb, queue => 'app.main'");
	is($hipq->outcome($id), 'failed', 'a job with data at the limit of depth ends');
	is($hipq->sql("SELECT reduced_because IS NULL FROM hipq.dead_letters_detail WHERE job_id =
			$id"), 't', 'a job with data at the limit of depth has a whole dead letter');
	$hipq->sql(q{
		CREATE FUNCTION deep(data jsonb) RETURNS jsonb LANGUAGE sql AS $$
			SELECT (repeat('[', 501) || repeat(']', 501))::jsonb $$;
		CREATE FUNCTION large(data jsonb) RETURNS jsonb LANGUAGE sql AS $$
			SELECT to_jsonb(repeat('x', 2000000)) $$;
		SELECT hipq.register_job_type('app.main', 'deep', handler => 'deep'),
			hipq.register_job_type('app.main', 'large', handler => 'large')});
	$id = $hipq->enqueue('deep');
	is($hipq->outcome($id), 'failed', 'a result that is too deep fails the attempt');
	is($hipq->sql("SELECT error FROM hipq.jobs_detail WHERE id = $id"),
		'result is nested too deeply', 'the error says that the result is too deep');
	$id = $hipq->enqueue('large');
	is($hipq->outcome($id), 'failed', 'a result that is too large fails the attempt');
	like($hipq->sql("SELECT error FROM hipq.jobs_detail WHERE id = $id"),
		qr/^result of \d+ bytes is too large$/, 'the error says that the result is too large');
	nobody_ended('deep and large jobs');
}

# ---- arguments that are too long
{
	my $much = q{repeat('x', 4000000)};
	foreach (
		[ "hipq.register_job_type('app.main', 'much', handler => 'SELECT ''' || $much || '''')",
			'argument "handler" of 4\d+ bytes is too large', 65536 ],
		[ "hipq.register_job_type('app.main', 'much', retry_handler => $much)",
			'argument "retry_handler" of 4000000 bytes', 8192 ],
		[ "hipq.alter_queue('app.main', dead_letter_handler => $much)",
			'argument "dead_letter_handler" of 4000000 bytes', 8192 ],
		[ "hipq.register_job_type('app.main', 'much', default_time_windows => $much)",
			'argument "default_time_windows" of 4000000', 4096 ],
		[ "hipq.register_job_type('app.main', 'much', retry_on => array_fill('40001'::text, "
			. "ARRAY[1001]))", 'argument "retry_on" has too many elements: 1001', 1000 ],
		[ "hipq.register_job_type('app.main', 'much', requires => jsonb_build_object('a', "
			. "repeat('x', 70000)))", 'requires of 7\d+ bytes is too large', 65536 ],
		[ "hipq.enqueue('fine', time_windows => $much, queue => 'app.main')",
			'argument "time_windows" of 4000000', 4096 ],
		[ "hipq.enqueue($much)", 'argument "job_type" of 4000000', 8192 ],
		[ "hipq.enqueue('fine', queue => 'app.main', on_duplicate => $much)",
			'argument "on_duplicate" of 4000000', 8192 ],
		[ "hipq.enqueue_many('fine', array_fill('{}'::jsonb, ARRAY[1000001]), queue => 'app.main')",
			'job_data has too many elements: 1000001', 1000000 ],
		[ "hipq.pause('app.main', reason => $much)", 'argument "reason" of 4000000', 8192 ],
		[ "hipq.create_instance('much', shard_key => $much)",
			'argument "shard_key" of 4000000', 1000 ],
		[ "hipq.create_instance('much', db_config => jsonb_build_object('a', repeat('x', 70000)))",
			'db_config of 7\d+ bytes is too large', 65536 ],
		[ "hipq.create_instance('much', table_naming_strategy => $much)",
			'argument "table_naming_strategy" of 4000000', 8192 ],
		[ "hipq.schedule('much', $much, 'fine')", 'argument "cron" of 4000000', 1000 ])
	{
		my ($call, $message, $limit) = @$_;
		like($hipq->error_of("SELECT $call"), qr/54000: $message.*HINT:\s+The limit is $limit/s,
			"refused: $message");
	}
	like($hipq->error_of("INSERT INTO hipq.app_main (job_type, shard_key)
			SELECT 'fine', repeat('x', 5000)"), qr/54000: shard_key of 5000 bytes is too large/,
		'a shard_key that is too large is refused in an INSERT');
	is($hipq->sql('SELECT count(*) FROM hipq.job_types') > 0, 1,
		'the server runs after arguments that are too long');
}

# ---- a dump of all accepted values can be restored
{
	my $node = $hipq->node;
	$node->safe_psql('postgres', 'CREATE DATABASE source');
	my $source = $hipq->in('source');
	$source->sql('CREATE EXTENSION hipq');
	$source->create_queue('app.main');
	$source->sql(q{
		CREATE FUNCTION echo(data jsonb) RETURNS jsonb LANGUAGE sql AS 'SELECT data';
		CREATE FUNCTION shout(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN RAISE '%', E'\\\\.\\n\\t\\x01' || repeat(E'\\x01\\\\ä', 3000); END $$;
		SELECT hipq.register_job_type('app.main', 'echo', handler => 'echo', claim => 'record');
		SELECT hipq.register_job_type('app.main', 'shout', handler => 'shout');
		SELECT hipq.register_job_type('app.main', 'long', handler => 'SELECT ''' || repeat('x',
			65526) || '''', requires => jsonb_build_object('a', repeat('x', 60000)));
		SELECT hipq.create_instance('strange', shard_key => 'job_data->>''' || repeat(E'\\x02',
			900) || '''', db_config => (repeat('{"a":', 500) || '1' || repeat('}', 500))::jsonb)});
	my @values = (
		q{(repeat('[', 500) || repeat(']', 500))::jsonb},
			q{(repeat('{"a":', 500) || '1' || repeat('}', 500))::jsonb},
		q{(SELECT jsonb_agg('1e131071'::jsonb) FROM generate_series(1, 63))},
			q{to_jsonb(1.5 + 1e-16383)}, q{'-1e131071'::jsonb},
		q{to_jsonb(repeat(E'\\x01', 1000000))},
			q{to_jsonb('NaN'::numeric)}, q{to_jsonb('-Infinity'::float8)}, q{'null'::jsonb},
			q{'"\\u00e4\\ud83d\\ude00\\\\u0000"'::jsonb},
		q{jsonb_build_object('', '', E'\\\\.', E'\\\\.', E'a\\nb', E'\\\\N')});
	my @ids;
	my $number = 0;
	foreach my $type ('echo', 'shout')
	{
		push @ids, map { $number++;
			$source->sql(qq{SELECT hipq.enqueue('$type', $_, job_key => E'\\x01\\\\.\\n\\t$number'
				|| repeat('k', 980), throttle_key => repeat(E'\\x02', 1000),
			time_windows => 'mon-sun 00:00-24:00', max_retries => 0)}) } @values;
	}
	$source->outcome($_) foreach @ids;
	$hipq->set('hipq.enabled' => 'off');
	push @ids, map { $number++; $source->sql(
			qq{SELECT hipq.enqueue('echo', $_, job_key => E'\\x01\\\\.\\n\\t$number')}) } @values;
	push @ids, $source->enqueue('long');
	my %checks = (
		jobs => q{SELECT md5(string_agg(md5(job::text), ' ' ORDER BY id)) || count(*)
			FROM hipq.job},
		attempts => q{SELECT md5(string_agg(attempt::text, ' '
			ORDER BY job_id, attempt, ended_time)) || count(*) FROM hipq.attempt},
		letters => q{SELECT md5(string_agg(md5(dead_letter::text), ' ' ORDER BY job_id)) || count(*)
			FROM hipq.dead_letter},
		types => q{SELECT md5(string_agg(job_type::text, ' ' ORDER BY queue_id, name))
			FROM hipq.job_type},
		instances => q{SELECT md5(string_agg(instance::text, ' ' ORDER BY name))
			FROM hipq.instance});
	my $dir = PostgreSQL::Test::Utils::tempdir();
	my %restores = (
		plain => sub {
			$node->command_ok([ 'pg_dump', '-f', "$dir/plain", 'source' ],
				'pg_dump makes a plain dump');
			$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', 'plain', '-o',
					'/dev/null', '-f', "$dir/plain" ], 'psql restores a plain dump') },
		custom => sub {
			$node->command_ok([ 'pg_dump', '-Fc', '-Z0', '-f', "$dir/custom", 'source' ],
				'pg_dump makes a custom dump');
			$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', 'custom', "$dir/custom" ],
					'pg_restore restores a custom dump') });
	foreach my $format (sort keys %restores)
	{
		$node->safe_psql('postgres', "CREATE DATABASE $format");
		$restores{$format}->();
		my $copy = $hipq->in($format);
		is($copy->sql($checks{$_}), $source->sql($checks{$_}), "$format: $_ are the same")
			foreach sort keys %checks;
	}
	$hipq->set('hipq.enabled' => 'on');
	foreach my $format (sort keys %restores)
	{
		my $copy = $hipq->in($format);
		$copy->sql('SELECT hipq.release_hold()');
		ok($copy->wait_until(q{SELECT count(*) = 0 FROM hipq.jobs_detail WHERE state <> 'final'}),
			"$format: the restored jobs run");
		is($copy->sql(q{SELECT count(*) FROM hipq.jobs WHERE job_type <> 'shout'
				AND outcome <> 'succeeded'}), 0, "$format: the restored jobs succeed");
		is($copy->sql(q{SELECT count(*) FROM hipq.jobs_detail
				WHERE job_type = 'echo' AND coalesce(result, 'null') <> job_data}), 0,
			"$format: the restored jobs have their data");
	}
	nobody_ended('dumps');
}

$hipq->node->stop;
done_testing();
