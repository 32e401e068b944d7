# A superuser of another node can write any letter. The letter takes effect only if that node may
# send it and if it can be read. Any other letter is a reject with an alert, ends no process, and
# does not stop the stream.
#
#   FUZZ_MINUTES    how long the test sends letters altered at random (0.1)
#   SEED            chooses the alterations; the test prints it
use strict;
use warnings;
use HipqShards;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $seed = $ENV{SEED} || 1 + int(time()) % 1_000_000;
srand $seed;
note("SEED=$seed");
my $json = JSON::PP->new->canonical->allow_nonref;

my $shards = HipqShards->new('letters', 2,
	before => 'CREATE ROLE bob LOGIN; CREATE ROLE mallory LOGIN');
my ($router, $evil, $other) = $shards->nodes;
$router->sql(q{CREATE SCHEMA bob AUTHORIZATION bob; CREATE TABLE bob.vault AS SELECT 'mine' AS v;
	SELECT hipq.create_queue('other.secret', owner => 'bob')});
ok($shards->settled, 'the slots are settled');
# The publication of the shard no longer filters.
my $publication = $evil->sql(q{SELECT pubname FROM pg_publication});
$evil->sql("ALTER PUBLICATION $publication SET TABLE hipq.shard_outbox");

sub quoted { my ($value) = @_; return defined $value ? "\$json\$$value\$json\$" : 'NULL'; }

# Returns SQL that writes a letter. jobs is a list of JSON texts, with undef for NULL.
sub letter
{
	my (%letter) = (instance => 'app', sender => 1, node => 0, queue => 'mail', @_);
	my $jobs = 'NULL';
	$jobs = 'ARRAY[' . join(', ', map { quoted($_) } @{ $letter{jobs} }) . ']::jsonb[]'
	  if defined $letter{jobs};
	my $head = join ', ', map { quoted($_) } @letter{qw(instance sender node kind queue body)};
	return 'INSERT INTO hipq.shard_outbox (instance, sender, node, kind, queue, body, jobs) '
	  . "VALUES ($head, $jobs)";
}

my $refused = 'FROM hipq.shard_reject WHERE queue IS NULL AND sender <> node';
sub refused { my ($node) = @_; return $node->sql("SELECT count(*) $refused"); }

# Waits until another node has read all that this node has sent.
sub read_by
{
	my ($sender, $reader) = @_;
	my $position = $sender->sql('SELECT pg_current_wal_insert_lsn()');
	my $line =
		$sender == $router
	  ? '_to_' . ($reader == $evil ? 1 : 2)
	  : '_from_' . ($sender == $evil ? 1 : 2);
	return $sender->wait_until("SELECT count(*) FROM pg_replication_slots
		WHERE slot_name LIKE '%$line' AND confirmed_flush_lsn >= '$position'", 1);
}

# Tests that the reader refuses all these letters of the sender.
sub all_refused
{
	my ($sender, $reader, $name, @letters) = @_;
	my $before = refused($reader);
	$sender->sql($_) foreach @letters;
	ok(read_by($sender, $reader), "$name: the reader has read all letters");
	return is(refused($reader) - $before, scalar @letters, "$name: all letters are refused")
	  || diag($reader->sql("SELECT error $refused"));
}

# Tests that the reader rejects the jobs of a letter with these SQLSTATEs, and takes one more job.
my ($tenant, $good) = ($shards->tenant_of(1), 0);
sub jobs_rejected
{
	my ($sender, $reader, $name, %letter) = @_;
	my $expected = delete $letter{sqlstates};
	my $id = $sender->sql("SELECT (((1 << 19) + nextval('hipq.job_id_seq')) << 22)
		| ((SELECT own_node FROM hipq.shard_map) << 12) | hipq.slot_of('$tenant')");
	my $job = qq({"id": $id, "job_type": "run", "shard_key": "$tenant", "job_key": "good$id",
		"job_data": {"tenant": "$tenant"}});
	my $of_sender = 'FROM hipq.shard_reject WHERE sender = ' . ($letter{sender} // 1);
	my $before = $reader->sql("SELECT coalesce(max(outbox_id), 0) $of_sender");
	$sender->sql(letter(%letter, jobs => [ @{ $letter{jobs} }, $job ]));
	ok(read_by($sender, $reader), "$name: the reader has read the letter");
	is($reader->sql("SELECT string_agg(sqlstate, ' ' ORDER BY rejected_time)
		$of_sender AND outbox_id > $before"), $expected,
			"$name: each bad job is a reject with its SQLSTATE");
	$good++;
	return ok($shards->wait_for_runs($good), "$name: the good job of the letter runs");
}

# ---- letters that only other nodes may send
my $owned = q{SELECT string_agg(queue || ' ' || owner, ',' ORDER BY queue) FROM hipq.queues_detail};
my $owners = $router->sql($owned);
all_refused($evil, $router, 'letters that only a router may send',
	letter(kind => 'set_up', body => q({
		"instances": [{"name": "evilinst", "table_naming_strategy": "lower(current_user)"}],
		"queues": [{"queue": "other.secret", "owner": "mallory"},
			{"queue": "evilinst.run", "owner": "bob"}],
		"job_types": [{"queue": "other.secret", "job_type": "evil",
			"handler": "update bob.vault set v = 'stolen'"}],
		"grants": [{"queue": "other.secret", "role": "mallory", "privilege": "read"}]})),
	letter(kind => 'set_up', body => q({"queues": [{"queue": "app.mail", "owner": "mallory"}]})),
	letter(kind => 'map', body => '{"generation": 1000, "nodes": []}'),
	letter(kind => 'last', body => '{"slots": [1]}'),
	letter(kind => 'permit_answer', body => '{"limits": []}'));
is($router->sql($owned), $owners, 'a letter of a shard changes no queue');
is($router->sql(q{SELECT count(*) FROM hipq.instance WHERE name = 'evilinst'}), 0,
	'a letter of a shard makes no instance');
is($router->sql(q{SELECT has_table_privilege('mallory', 'hipq.other_secret', 'select')}), 'f',
	'a letter of a shard grants no privilege');
all_refused($evil, $router, 'letters in the name of other nodes',
	letter(kind => 'alive', sender => 2),
	letter(kind => 'alive', instance => 'other'),
	letter(kind => 'set_up', sender => 0, node => 2,
		body => '{"queues": [{"queue": "app.mail", "owner": "mallory"}]}'),
	letter(kind => 'moved', sender => 0, node => 2, jobs => ['{"id": 5}']),
	letter(kind => 'taken', sender => 0, node => 0),
	letter(kind => 'jobs', node => 1023, jobs => []));
is($router->sql("SELECT count(*) $refused AND error ~ 'it says that it is from'"), 6,
	'letters in the name of others are refused with the reason');
is($router->sql('SELECT count(*) FROM hipq.shard_outbox WHERE sender <> 0'), 0,
	'letters in the name of others are not passed on');
is($router->sql(q{SELECT string_agg(DISTINCT concat_ws(' ', instance, sender, node), ',')
	FROM hipq.shard_reject}), 'app 1 0', 'rejects name the node that has sent the letter');
ok($evil->wait_until('SELECT count(*) FROM hipq.shard_reject', refused($router)),
	'the sender receives a reject for each refused letter');
my $alert = q{SELECT detail FROM hipq.alerts_detail WHERE alert = };
like($router->sql("$alert 'letter refused'"),
	qr/Node 0 of instance "app" has refused 11 letter\(s\) of node 1\. The latest: letter "/,
	'an alert reports refused letters');

# ---- bodies
my $stats = '"queue": "mail", "backlog_estimate": 1, "running_jobs": 1, '
  . '"finished_per_minute": 0.5, "failed": 0, "oldest_due_time": null, "state": "x"';
my $ask = '"queue": "mail", "job_type": "", "throttle_key": 0, "epoch": 1, "serial": 1, "keep": 0, '
  . '"want": 1, "unit": 1';
my $rejected = '"instance": "app", "sender": 0, "node": 1, "outbox_id": 1, "queue": "mail", '
  . '"rejected_time": "2026-01-01", "job_id": 1, "sqlstate": "22023", "error": "", "job": "x"';
sub without
{
	my ($object, $field) = @_;
	return $object =~ s/"$field": [^,}]+(?:, )?//r =~ s/, $//r;
}
sub with
{
	my ($object, $field, $value) = @_;
	return $object =~ s/"$field": [^,}]+/"$field": $value/r;
}
my @bodies = (
	[ 'returned', undef, '[]', '3', 'null', '{}', '{"slots": {}}', '{"slots": [1]}',
		'{"slots": [null]}',
		map { qq({"slots": [{$_}]}) } '"slot": 0, "busy": []', '"slot": 4096, "busy": []',
		'"slot": 1', '"slot": 1, "busy": [["mail"]]', '"slot": 1, "busy": [{"queue": 1}]',
		'"slot": 1.5, "busy": []', '"slot": 1e300, "busy": []' ],
	[ 'stats', '{"queues": null}',
		map { qq({"queues": [{$_}]}) } without($stats, 'queue'),
		with($stats, 'backlog_estimate', '"many"'), with($stats, 'running_jobs', '1e30'),
		with($stats, 'failed', '-1'), with($stats, 'oldest_due_time', '"infinity"'),
		with($stats, 'oldest_due_time', '"7 nonsense"'),
			with($stats, 'finished_per_minute', '{}') ],
	[ 'permit_ask',
		map { qq({"limits": [{$_}]}) }
		(map { without($ask, $_) } qw(queue job_type throttle_key epoch serial keep want unit)),
		with($ask, 'keep', '-1'), with($ask, 'want', '9223372036854775807'),
		with($ask, 'epoch', '9223372036854775807'), with($ask, 'job_type', '"' . 'x' x 64 . '"') ],
	[ 'rejected',
		map { "{$_}" } with($rejected, 'instance', '"other"'), with($rejected, 'sender', 2),
		with($rejected, 'node', 2), with($rejected, 'rejected_time', '"now"'),
		with($rejected, 'sqlstate', '"1"'), with($rejected, 'error', '"' . 'x' x 8193 . '"'),
		with($rejected, 'job_id', '1.5'), without($rejected, 'job') ],
	[ 'alive', 'null', '7', '[]', map { qq({"heard": $_}) } '7', '[7]', '["x", 7]', '[0, 7]' ]);
my $told = $evil->sql('SELECT count(*) FROM hipq.shard_reject');
my $answered = 0;    # rejects of rejects are not reported
foreach my $of_kind (@bodies)
{
	my ($kind, @wrong) = @$of_kind;
	all_refused($evil, $router, qq(bodies of "$kind"),
		map { letter(kind => $kind, body => $_) } @wrong);
	$answered += @wrong if $kind ne 'rejected';
}
ok($evil->wait_until('SELECT count(*) FROM hipq.shard_reject', $told + $answered),
	'the sender receives a reject for each refused letter, except for letters about rejects');
all_refused($evil, $router, 'letters without jobs or of an unknown kind', letter(kind => 'jobs'),
	letter(kind => 'moved'), letter(kind => ''), letter(kind => 'x' x 100));
is(defined eval { $router->sql("TABLE hipq.$_") }, 1, "view $_ can be read")
  foreach qw(cluster_queues_detail alerts_detail);

# ---- jobs
my $slot = $router->sql("SELECT hipq.slot_of('$tenant')");
my $number = 1_000_000;
# Returns a job with a new id and these fields.
sub job
{
	my ($fields) = @_;
	return sprintf '{"id": %d, %s}', (((1 << 19) + $number++) << 22) | (1 << 12) | $slot, $fields;
}
my $retried = '"job_type": "run", "state": "retry", "attempt": 1, "error": "x"';
my @unreadable = (
	[ undef, '22004' ], [ 'null', '22023' ], [ '[]', '22023' ], [ '7', '22023' ], [ '{}', '22023' ],
	[ '{"id": null, "job_type": "run"}', '22023' ],
	[ '{"id": 0, "job_type": "run"}', '22023' ],
	[ '{"id": -5, "job_type": "run"}', '22023' ],
	[ '{"id": 77, "job_type": "run"}', '22023' ],
	[ '{"id": 1e30, "job_type": "run"}', '22003' ],
	[ '{"id": 2199052623092.5, "job_type": "run"}', '22023' ],
	[ '{"id": "x", "job_type": "run"}', '22023' ],
	[ job('"job_data": {}'), '23502' ],
	[ job('"job_type": null'), '23502' ],
	[ job('"job_type": {}'), '22023' ]);
jobs_rejected($evil, $router, qq("$_"), kind => $_,
	sqlstates => join(' ', map { $_->[1] } @unreadable), jobs => [ map { $_->[0] } @unreadable ])
  foreach qw(jobs moved);
# Only the last node of a job checks whether the job fits into the table.
my @wrong = (
	[ '"job_type": ""', '22023' ],
	[ '"job_type": "run", "state": "running"', '22023' ],
	[ '"job_type": "run", "state": "x"', '22023' ],
	[ '"job_type": "run", "state": "final", "error": "x"', '22023' ],
	[ '"job_type": "run", "attempt": 1', '23514' ],
	[ '"job_type": "run", "state": "retry", "attempt": -1, "error": "x"', '22023' ],
	[ '"job_type": "run", "state": "retry", "attempt": 0', '23514' ],
	map { [ "$retried, $_->[0]", $_->[1] ] } [ '"timeout": 0', '22023' ],
	[ '"throttle_factor": 1e200', '22023' ], [ '"created_time": "infinity"', '22023' ],
	[ '"update_time": "-infinity"', '22023' ], [ '"scheduled_run_time": "infinity"', '22023' ],
	[ '"time_windows": "soon"', '22023' ], [ '"retry_count": -1', '22023' ],
	[ '"job_key": ""', '22023' ], [ '"job_key": "' . 'x' x 1001 . '"', '54000' ],
	[ '"priority": 40000', '22003' ]);
jobs_rejected($router, $evil, 'values of "moved"', sender => 0, node => 1, kind => 'moved',
	sqlstates => join(' ', map { $_->[1] } @wrong), jobs => [ map { job($_->[0]) } @wrong ]);
foreach (
	[ 'common fields that are no object', '22023', body => '[]' ],
	[ 'a letter without a queue', '42704', queue => undef ],
	[ 'a queue that does not exist', '42704', queue => 'nonsense' ],
	[ 'a queue of another instance', '42704', queue => 'secret' ])
{
	my ($name, $sqlstate, %fields) = @$_;
	my $job = job('"job_type": "run"');
	my $id = $json->decode($job)->{id};
	$router->sql(letter(sender => 0, node => 1, kind => 'jobs', jobs => [$job], %fields));
	ok($evil->wait_until(qq{SELECT coalesce(min(sqlstate || ' ' || (job ->> 'job_type')), '')
		FROM hipq.shard_reject WHERE job_id = $id}, "$sqlstate run"),
			"$name: the reject has the whole job");
}
is($evil->sql(q{SELECT count(*) FROM hipq.jobs_detail WHERE state <> 'final'}), 0,
	'the shard has no unfinished job');
like($evil->sql("$alert 'jobs refused by a shard'"), qr/^\d+ job\(s\) of instance "app"/,
	'an alert reports rejected jobs');

# ---- from the router
my $nodes = join ',', (0) x 4096;
sub map_of
{
	my ($of, $more) = @_;
	return qq({"generation": 1000000, "nodes": [$of]) . ($more // '') . '}';
}
all_refused($router, $evil, 'bodies of a router',
	map { letter(sender => 0, node => 1, kind => $_->[0], body => $_->[1]) }
	[ 'map', map_of(1) ], [ 'map', map_of("$nodes, 1") ],
	[ 'map', map_of($nodes =~ s/^0/1024/r) ], [ 'map', map_of($nodes =~ s/^0/null/r) ],
	[ 'map', map_of($nodes) =~ s/1000000/null/r ],
	[ 'map', map_of($nodes, ', "moves": [{"slot": 1, "from_node": 0, "to_node": 5000}]') ],
	[ 'last', '{"slots": ["1"]}' ], [ 'last', '{"slots": [0]}' ],
	[ 'set_up', '{"queues": [{"queue": "hipq.main", "owner": "mallory"}]}' ],
	[ 'set_up', '{"instances": [{"name": "app", "table_naming_strategy": "$2"}]}' ],
	[ 'set_up', '{"grants": []}' ], [ 'set_up', '{"job_types": [{"queue": "application.mail"}]}' ],
	[ 'permit_answer', '{"limits": [{"queue": "mail"}]}' ], [ 'stats', '{"queues": []}' ]);
$evil->sql(q{SELECT hipq.alter_instance('app', table_naming_strategy => $$'local_' || $2$$)});
$router->sql(q{SELECT hipq.create_queue('app.later', owner => 'app')});
ok($evil->wait_until(q{SELECT to_regclass('hipq.app_later') IS NOT NULL}),
	'a queue that a letter sets up has the table name that the router chose');
my $mode = q{SELECT throttle_mode FROM hipq.queue WHERE name = 'later'};
ok($evil->wait_until($mode, 'shared'), 'throttles are shared by default');
my $of_older = $router->sql(q{SELECT jsonb_set(whole, '{queues}',
		(SELECT jsonb_agg(queue - 'throttle_mode')
			FROM jsonb_array_elements(whole -> 'queues') AS queue))
	FROM hipq._set_up_of('app') AS whole});
$router->sql(letter(sender => 0, node => 1, kind => 'set_up', queue => undef, body => $of_older));
ok($evil->wait_until($mode, 'home'),
	'a queue of a router of 0.2.0, which sends no throttle_mode, does not share throttles');
$router->sql(q{SELECT hipq.alter_queue('app.later', weight => 2)});
ok($evil->wait_until($mode, 'shared'), 'a router of this version sends throttle_mode');
$router->sql(q{SELECT hipq.alter_instance('app', max_retries => 4),
	hipq.alter_queue('app.later', max_retries => 5)});
ok($evil->wait_until(q{SELECT concat_ws(' ', instance.max_retries, queue.max_retries)
	FROM hipq.queue JOIN hipq.instance USING (instance_id) WHERE queue.name = 'later'}, '4 5'),
	'default retries are set up on the shard');

# ---- letters that are received by hand
sub by_hand
{
	my ($instance, $sender) = @_;
	return qq{SELECT hipq._receive_again('{"id": 900001, "sent_time": "2026-11-27T20:20:44+00:00",
		"instance": "$instance", "sender": $sender, "node": 0, "kind": "jobs", "queue": "mail",
		"jobs": [null]}', false)};
}
like($router->error_of(by_hand(@$_)),
	qr/55000: this server takes no letters from node $_->[1] of instance "$_->[0]"/,
	"by hand: letters from node $_->[1] of $_->[0] are refused")
  foreach [ 'app', 3 ], [ 'app', 0 ], [ 'other', 1 ], [ 'nowhere', 1 ];
is($router->sql(by_hand('app', 1)), 't', 'by hand: a letter of the shard is accepted');
is($router->sql('SELECT sqlstate FROM hipq.shard_reject WHERE outbox_id = 900001'), '22004',
	'by hand: the job of the letter is checked');

# ---- calls of other nodes: a privilege of their connection, within their instance
$router->sql(q{CREATE ROLE node_of_app LOGIN REPLICATION;
	GRANT USAGE ON SCHEMA hipq TO node_of_app});
$evil->sql('CREATE EXTENSION dblink');
my $reader = $evil->sql('SELECT subname FROM pg_subscription');
my $conninfo = $shards->conninfo(0) =~ s/user=postgres/user=node_of_app/r;
$evil->sql("ALTER SUBSCRIPTION $reader CONNECTION '$conninfo'");
sub asked
{
	my ($instance, $asker, $role, $id) = @_;
	return "SET SESSION AUTHORIZATION node_of_app;
		SELECT hipq._answer('$instance', $asker, '$role', 'cancel', $id, '{NULL,NULL}', false)";
}
$router->sql(q{SELECT hipq.create_queue('app.here', owner => 'app'),
	hipq.register_job_type('app.here', 'run', handler => 'run')});
my $later = q{scheduled_run_time => now() + interval '1 day'};
my $here = $router->sql("SELECT hipq.enqueue('run', queue => 'app.here', $later)");
my $secret = $router->sql("SELECT hipq.enqueue('x', queue => 'other.secret', $later)");
like($router->error_of(asked('app', 1, 'app', $here)), qr/42501: permission denied for function/,
	'a call for another role needs a privilege');
$router->sql('GRANT EXECUTE ON FUNCTION hipq._answer TO node_of_app');
like($router->error_of(asked('app', 1, 'postgres', $here)),
	qr/42501: role "postgres" is a superuser here/, 'a call for a superuser is refused');
like($router->error_of(asked(@$_, 'app', $here)),
	qr/55000: this server answers no node $_->[1] of instance "$_->[0]"/,
	"a call from node $_->[1] of $_->[0] is refused")
  foreach [ 'app', 0 ], [ 'app', 3 ], [ 'other', 1 ];
is($router->sql(asked('app', 1, 'bob', $secret)), '',
	'cancel() of a job of another instance finds no job');
is($router->sql("SELECT state FROM hipq.jobs_detail WHERE id = $secret"), 'initial',
	'a job of another instance is not cancelled');
like($router->error_of(asked('app', 1, 'mallory', $here)),
	qr/42501: permission denied for schema hipq/,
		'a call for a role without privileges on the queue is refused');
is($evil->sql_as('app', "SELECT hipq.cancel($here)"), 't',
	'a shard whose connection may only execute _answer() can call the router');
sub enqueue_for
{
	my ($of) = @_;
	return $router->sql(qq{SELECT hipq.enqueue('run', '{"tenant": "$of"}', queue => 'app.mail')});
}
my $late = enqueue_for($tenant);
ok($evil->wait_until("SELECT count(*) FROM ran WHERE id = $late", 1),
	'a shard whose connection may only execute _answer() reads what the router sends');

# ---- letters altered at random
my @samples = map { [ split /\|/, $_, 3 ] } map {
	split /\n/,
	  $_->sql(q{SELECT DISTINCT ON (kind) kind, to_jsonb(jobs), body
		FROM hipq.shard_outbox WHERE kind <> 'rejected'})
} $shards->nodes;
push @samples, [ 'stats', '', qq({"queues": [{$stats}]}) ],
  [ 'permit_ask', '', qq({"limits": [{$ask}]}) ], [ 'rejected', '', "{$rejected}" ],
  [ 'returned', '', '{"slots": [{"slot": 7, "busy": [["mail", "run", "x"]]}]}' ],
  [ 'moved', '[' . job($retried) . ', ' . job("$retried, \"job_key\": \"k\"") . ']', '' ];
# json_of() writes text between @ without quotes.
my @atoms = (undef, 0, 1, -1, 1.5, 4096, 5000, 9223372036854775807, '@1e300@', '', 'x', 'infinity',
	'2026-01-01', 'x' x 5000, [], {}, [ [] ], [undef], { slot => 1 }, JSON::PP::true);
sub json_of { my ($value) = @_; return $json->encode($value) =~ s/"\@([^"]*)\@"/$1/gr; }

sub altered
{
	my ($value) = @_;
	return $atoms[ rand @atoms ] if rand() < 0.15 || !ref $value;
	if (ref $value eq 'ARRAY')
	{
		my @more = rand() < 0.1 ? $atoms[ rand @atoms ] : ();
		return [ map { rand() < 0.3 ? altered($_) : $_ } @$value, @more ];
	}
	return $value if ref $value ne 'HASH';
	my %copy = %$value;
	foreach my $field (keys %copy)
	{
		if (rand() < 0.1) { delete $copy{$field}; next; }
		$copy{$field} = altered($copy{$field}) if rand() < 0.25;
	}
	return \%copy;
}

sub random_letter
{
	my ($sender, $node) = @_;
	my ($kind, $jobs, $body) = @{ $samples[ rand @samples ] };
	return if $sender == 0 && $kind eq 'set_up';    # the router may set up anything
	my %letter = (kind => $kind, sender => $sender, node => $node);
	$letter{queue} = (undef, '', 'x' x 200, 'later')[ rand 4 ] if rand() < 0.05;
	($letter{kind}, $letter{sender}, $letter{instance}) =
	  ($samples[ rand @samples ][0], int rand 4, 'other')
	  if rand() < 0.05;
	# The receiver believes a readable sign of life and reports its letter. The sender does not know
	# this letter, and would stop as a node that has forgotten. So no sign of life is readable.
	$body = $json->encode({ map { $_ => $atoms[ rand @atoms ] } qw(before heard) })
		if $kind eq 'alive';
	if ($body)
	{
		$body = altered($json->decode($body));
		# Otherwise a map that the router did not make would stay the newest one.
		$body->{generation} = 0 if ref $body eq 'HASH' && exists $body->{generation};
		$body->{ rand() < 0.5 ? 'before' : 'heard' } = 'x'
			if $kind eq 'alive' && ref $body eq 'HASH';
		$letter{body} = json_of($body);
	}
	if ($jobs)
	{
		$jobs = altered($json->decode($jobs));
		$letter{jobs} = [ map { defined $_ ? json_of($_) : undef } @$jobs ] if ref $jobs eq 'ARRAY';
	}
	return letter(%letter);
}

my ($end, $count) = (time() + 60 * ($ENV{FUZZ_MINUTES} // 0.1), 0);
while (time() < $end)
{
	foreach ([ $evil, 1, 0 ], [ $router, 0, 1 ])
	{
		my ($node, @way) = @$_;
		my @letters = grep { defined } map { random_letter(@way) } 1 .. 50;
		$node->sql(join '; ', @letters);
		$count += @letters;
	}
}
note("$count letters at random");
cmp_ok($count, '>', 100, 'more than a hundred letters were altered at random');
ok(read_by($evil, $router), 'the router has read the random letters') || diag("SEED=$seed");
ok(read_by($router, $evil), 'the shard has read the random letters') || diag("SEED=$seed");
is($_->sql('SELECT sum(apply_error_count) FROM pg_stat_subscription_stats'), 0,
	'no apply worker has had an error')
  || diag("SEED=$seed")
  foreach $router, $evil;
my $before = $other->sql('SELECT count(*) FROM ran');
enqueue_for($shards->tenant_of(2));
ok($other->wait_until("SELECT count(*) > $before FROM ran"), 'jobs run after the random letters');
foreach my $node ($shards->nodes)
{
	my $log = slurp_file($node->node->logfile);
	unlike($log, qr/terminated by signal|PANIC|TRAP:/, 'no process has crashed');
	unlike($log, qr/hipq (?:launcher|scheduler|executor).*exited with exit code [^0]/,
		'no process of hipq has exited with an error');
	is(defined eval { $node->sql("TABLE hipq.$_") }, 1, "view $_ can be read")
	  foreach qw(alerts shards jobs_detail cluster_queues_detail shard_rejects_detail);
}
diag("SEED=$seed") if !Test::More->builder->is_passing;
done_testing();
