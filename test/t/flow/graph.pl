# hipq.enqueue_graph makes jobs that come after each other by name. Handlers see the outcomes and
# results of the jobs before theirs, also when their rows are no longer kept. Views, graph_dot and
# cancel_graph know graphs.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hipq = HipqCluster->new('graph', 'hipq.retry_jitter' => 0, 'hipq.max_retries' => 0);
my $node = $hipq->node;
$hipq->create_queue('shop.orders');
$hipq->create_queue('shop.mail');
$hipq->sql(q{
	GRANT CREATE ON SCHEMA public TO app;
	CREATE TABLE ran (n serial, id bigint, said jsonb); GRANT ALL ON ran, ran_n_seq TO app;
	CREATE FUNCTION work(id bigint, data jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
	DECLARE
		asked jsonb;
	BEGIN
		IF data ? 'ask' THEN
			asked := jsonb_build_object('outcome', hipq.outcome_of(data->>'ask'),
				'result', hipq.result_of(data->>'ask'));
		END IF;
		INSERT INTO ran (id, said) VALUES (work.id, asked);
		IF data ? 'lock' THEN PERFORM pg_advisory_xact_lock_shared((data->>'lock')::int); END IF;
		IF data ? 'fail' THEN RAISE 'no'; END IF;
		RETURN data->'return';
	END $$;
	SELECT hipq.register_job_type(queue, 'work', handler => 'work')
	FROM unnest('{shop.orders, shop.mail}'::text[]) AS queue});

sub graph
{
	my ($json, $rest) = @_;
	my %ids = split /[|\n]/, $hipq->sql("SELECT name, id FROM hipq.enqueue_graph('$json'"
		. ($rest // q{, queue => 'shop.orders'}) . ')');
	return %ids;
}
sub job
{
	my ($name, $after, $data, $more) = @_;
	return sprintf '{"name": "%s", "job_type": "work", "after": [%s], "job_data": {%s}%s}', $name,
		join(', ', map { qq{"$_"} } @{ $after // [] }), $data // '', $more // '';
}
sub outcomes
{
	my ($id) = @_;
	return $hipq->sql("SELECT string_agg(name || ' ' || outcome, ', ' ORDER BY name)
		FROM hipq.graph_jobs WHERE graph_id = $id");
}
sub ended { return $hipq->wait_until("SELECT ended_time IS NOT NULL FROM hipq.graphs_detail
	WHERE graph_id = $_[0]", 't'); }

# ---- a shop's order
my %order = graph('[' . join(', ',
	job('tell', ['ship'], '"ask": "charge"', ', "queue": "shop.mail"'),
	job('ship', [ 'reserve', 'charge' ], '"ask": "reserve"'),
	job('reserve', [], '"return": 17'), job('charge', [], '"return": {"paid": true}')) . ']');
is(join(' ', sort keys %order), 'charge reserve ship tell', 'enqueue_graph returns the names');
my ($id) = sort { $a <=> $b } values %order;
ok(ended($id), 'the graph ends');
is(outcomes($id), 'charge succeeded, reserve succeeded, ship succeeded, tell succeeded',
	'all its jobs succeed');
is($hipq->sql("SELECT string_agg(said::text, ' ' ORDER BY n) FROM ran
	WHERE id IN ($order{ship}, $order{tell})"), '{"result": 17, "outcome": "succeeded"} '
	. '{"result": {"paid": true}, "outcome": "succeeded"}', 'handlers see outcomes and results');
is($hipq->sql("SELECT after::text FROM hipq.graph_jobs WHERE job_id = $order{ship}"),
	'{reserve,charge}', 'view graph_jobs has the names of the jobs before');
is($hipq->sql("SELECT jobs || ' ' || succeeded FROM hipq.graphs WHERE graph_id = $id"), '4 4',
	'view graphs counts');
like($hipq->sql("SELECT hipq.graph_dot($id)"),
	qr/"reserve" \[label="reserve\\nsucceeded", fillcolor=palegreen\];.*"charge" -> "ship";/s,
	'graph_dot draws it');
is($hipq->sql("SELECT hipq.result_of('charge', job => $order{tell})"), '{"paid": true}',
	'result_of knows another job of the graph by its name');
is($hipq->sql("SELECT hipq.result_of('$order{charge}')"), '{"paid": true}',
	'result_of takes an id from a driver that gives its parameters no type');
is($hipq->sql("SELECT hipq.graph_dot($order{tell}) IS NULL"), 't',
	'graph_dot of no graph gives NULL');

# ---- one fails
%order = graph('[' . join(', ', job('reserve', []), job('charge', ['reserve'], '"fail": 1'),
	job('ship', ['charge']), job('tell', ['ship']),
	job('undo', ['charge'], '"ask": "charge"', ', "after_policy": "finished"'),
	job('gift', ['charge'], '', ', "on_failure": "skip"'), job('card', ['gift'])) . ']');
($id) = sort { $a <=> $b } values %order;
ok(ended($id), 'a graph with a failure ends');
is(outcomes($id), 'card skipped, charge failed, gift skipped, reserve succeeded, ship failed, '
	. 'tell failed, undo succeeded', 'each job ends as its policy says');
is($hipq->sql("SELECT said->>'outcome' FROM ran WHERE id = $order{undo}"), 'failed',
	'a handler sees the failure');
is($hipq->sql("SELECT error FROM hipq.graph_jobs_detail WHERE job_id = $order{tell}"),
	"did not start because job $order{charge}, which it came after, did not succeed",
	'the error names the cause');

# ---- redrive, with the jobs that did not start because of it
$hipq->sql("UPDATE hipq.dead_letter SET job = jsonb_set(job, '{job_data}', '{}')
	WHERE job_id = $order{charge}");
my $redriven = $hipq->sql("SELECT hipq.redrive($order{charge}, with_dependents => true)");
ok(ended($id), 'the graph ends again');
is(outcomes($id), 'card succeeded, charge succeeded, gift succeeded, reserve succeeded, '
	. 'ship succeeded, tell succeeded, undo succeeded', 'the jobs that had not started succeed');
is($hipq->sql("SELECT string_agg(count::text, ' ') FROM (SELECT count(*) FROM hipq.graph_jobs
	JOIN hipq.job ON job.id = job_id AND job.retry_of IS NOT NULL WHERE graph_id = $id
	GROUP BY retry_of) AS made"), '1 1 1 1 1', 'each was made once');
is($hipq->sql("SELECT count(*) FROM ran WHERE id IN ($order{undo}, $order{reserve})"), 2,
	'jobs that had run did not run again');
like($hipq->error_of("SELECT hipq.redrive($order{charge}, with_dependents => true)"), qr/55000/,
	'a second time is refused');
%order = graph('[' . join(', ', job('first', [], '"fail": 1'), job('last', ['first'])) . ']');
($id) = sort { $a <=> $b } values %order;
ok(ended($id), 'a graph whose first job fails ends');
$hipq->sql("SELECT hipq.redrive($id, with_dependents => true)");
ok(ended($id), 'its first job is made again, and fails again');
is($hipq->sql("SELECT hipq.outcome_of('last', job => $id)"), 'failed',
	'the graph keeps its number when its first job is made again');
is($hipq->sql("SELECT hipq.cancel_graph($id)"), 0, 'cancel_graph finds it by this number, too');

# ---- a handler that takes batches
$hipq->sql(q{
	CREATE FUNCTION work_all(data jsonb[]) RETURNS void LANGUAGE sql AS $$
		INSERT INTO ran (said) SELECT to_jsonb(hipq.outcome_of((one->>'ask')::bigint))
			FROM unnest(data) AS one $$;
	SELECT hipq.register_job_type('shop.orders', 'work_all', handler => 'work_all')});
my $all = $hipq->sql(qq{SELECT hipq.enqueue('work_all', '{"ask": "$id"}', after => ARRAY[$id],
	after_policy => 'finished')});
is($hipq->outcome($all), 'succeeded', 'a handler that takes batches asks for an outcome');
is($hipq->sql('SELECT said FROM ran ORDER BY n DESC LIMIT 1'), '"failed"', 'and gets it');

# ---- rows of jobs before are no longer kept
my $in_three_days = $hipq->sql(q{SELECT hipq.now() + interval '3 days'});
$hipq->sql(q{SELECT hipq.alter_queue('shop.mail', retention => '1 minute')});
%order = graph('[' . join(', ', job('first', [], '"return": 1', ', "queue": "shop.mail"'),
	job('slow', [], '', qq{, "scheduled_run_time": "$in_three_days"}),
	job('last', [ 'first', 'slow' ], '"ask": "first"')) . ']');
ok($hipq->wait_until("SELECT count(*) FROM hipq.job WHERE id = $order{first}
	AND hipq.result_of($order{first}) IS NOT NULL", 1), 'the first job ends');
$hipq->set('hipq.clock_offset' => '2d');  # the leaf with its row may be a day long
ok($hipq->wait_until("SELECT count(*) FROM hipq.job WHERE id = $order{first}", 0),
	'its row goes while a later job waits');
is($hipq->sql("SELECT outcome || ' ' || result FROM hipq.dependency
	WHERE before_id = $order{first}"), 'succeeded 1', 'its outcome and result are kept');
$hipq->set('hipq.clock_offset' => '4d');
is($hipq->outcome($order{last}), 'succeeded', 'the later job runs');
is($hipq->sql("SELECT said::text FROM ran WHERE id = $order{last}"),
	'{"result": 1, "outcome": "succeeded"}', 'its handler sees the result');

# ---- cancel
my $lock = $hipq->hold_lock;
%order = graph('[' . join(', ', job('a', [], '"lock": 1'), job('b', ['a']), job('c', ['b'])) . ']');
$hipq->pid_of($order{a});
is($hipq->sql("SELECT hipq.cancel_graph($order{b})"), 3, 'cancel_graph cancels all its jobs');
($id) = sort { $a <=> $b } values %order;
ok(ended($id), 'the cancelled graph ends');
is(outcomes($id), 'a cancelled, b cancelled, c cancelled', 'its jobs are cancelled, not failed');
$lock->quit;

# ---- a deadline, and jobs outside the graph
my $gate = $hipq->sql(q{SELECT hipq.enqueue('work', queue => 'shop.orders',
	scheduled_run_time => hipq.now() + interval '1 day')});
%order = graph(qq{[{"name": "late", "job_type": "work", "after": [$gate]}]},
	q{, queue => 'shop.orders', deadline => hipq.now() + interval '1 hour'});
$hipq->set('hipq.clock_offset' => '108h');
is($hipq->outcome($order{late}), 'expired', 'a job that does not start by the deadline expires');

# ---- wrong graphs change nothing
my $jobs = $hipq->sql('SELECT count(*) FROM hipq.job');
my @wrong = (
	[ '{}', qr/22023: a graph is an array of jobs/ ], [ '[1]', qr/22023: a graph is an array/ ],
	[ '[{"job_type": "work"}]', qr/22023: job 1 of the graph has no valid name/ ],
	[ '[{"name": "a"}]', qr/22023: job "a" of the graph has no job_type/ ],
	[ '[{"name": "a", "job_type": "work", "colour": 1}]', qr/22023: .*unknown key "colour"/ ],
	[ '[{"name": "a", "job_type": "work", "after": "b"}]',
		qr/22023: after of job "a".*not an array/ ],
	[ '[{"name": "a", "job_type": "work", "after": [true]}]',
		qr/22023: .*neither a name nor an id/ ],
	[ '[{"name": "a", "job_type": "work", "after": [99999]}]',
		qr/42704: job 99999 does not exist/ ],
	[ '[' . job('a', ['b']) . ']',
		qr/22023: job "a" comes after "b", which the graph does not have/ ],
	[ '[' . join(', ', job('a', ['c']), job('b', ['a']), job('c', ['b'])) . ']',
		qr/22023: jobs of the graph come after each other: a -> b -> c -> a/ ],
	[ '[' . job('17') . ']', qr/22023: job 1 of the graph has no valid name/ ],
	[ '[' . join(', ', job('a'), job('a')) . ']', qr/22023: the graph has two jobs named "a"/ ]);
like($hipq->error_of("SELECT hipq.enqueue_graph('$_->[0]', queue => 'shop.orders')"), $_->[1],
	"refused: $_->[0]") foreach @wrong;
is($hipq->sql('SELECT count(*) FROM hipq.job'), $jobs, 'refused graphs have enqueued nothing');

# ---- what hipq-web and hipq-top ask for
my $all = $hipq->sql('SELECT array_agg(graph_id ORDER BY graph_id DESC) FROM hipq.graphs');
my @graphs = $all =~ /\d+/g;
cmp_ok(scalar @graphs, '>', 2, 'there are some graphs');
is($hipq->sql('SELECT hipq._newest_graphs(NULL, 1000)'), $all,
	'graphs are found, the newest first');
is($hipq->sql("SELECT hipq._newest_graphs($graphs[0], 2)"), "{$graphs[1],$graphs[2]}",
	'... those before a graph, at most as many as asked for');
my $later = $hipq->enqueue('work', q{queue => 'shop.mail', scheduled_run_time => '2100-01-01'});
my $held = q{SELECT hipq._held('shop.mail')};
is($hipq->sql($held), 0, 'no job of the queue is held');
$hipq->sql("SELECT hipq.enqueue_many('work', array_fill('{}'::jsonb, '{7}'),
	queue => 'shop.mail', after => '{$later}')");
is($hipq->sql($held), 7, 'held jobs of the queue are counted');
$hipq->sql("SELECT hipq.enqueue_many('work', array_fill('{}'::jsonb, '{1000}'),
	queue => 'shop.mail', after => '{$later}')");
is($hipq->sql($held), 1000, '... up to 1000');
my $locking = $hipq->session;
$locking->query_safe('BEGIN; LOCK TABLE hipq.shop_mail');
is($hipq->sql($held), '', 'nobody waits for a queue that is locked');
$locking->quit;
done_testing();
