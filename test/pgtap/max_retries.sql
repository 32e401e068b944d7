-- The default of max_retries: that of the type, else of its queue, else of its instance, else of
-- the setting (0 here). Views, jobs from all ways in, retry_schedule(), describe() and apply()
-- agree.
BEGIN;
SET LOCAL search_path = pg_catalog, public;
SET LOCAL client_min_messages = warning;
SELECT plan(22);

CREATE ROLE tries_owner LOGIN;
SELECT hipq.create_instance('tries');
SELECT hipq.create_queue('tries.mail', owner => 'tries_owner');
SELECT hipq.register_job_type('tries.mail', 'send', handler_kind => 'notify');

-- The values that the views show for instance, queue and type.
CREATE FUNCTION shown() RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(' ', instance.max_retries, queue.max_retries, type.max_retries)
    FROM hipq.instances_detail AS instance
    JOIN hipq.queues_detail AS queue ON queue.instance = instance.name
    JOIN hipq.job_types_detail AS type ON type.queue = queue.queue
    WHERE queue.queue = 'tries.mail' AND type.job_type = 'send'
$$;

-- The values that jobs get: by enqueue() and INSERT, of a type that is not registered; and the
-- number of retries in the retry schedule.
CREATE FUNCTION given() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    retries integer[];
BEGIN
    PERFORM hipq.enqueue('send', queue => 'tries.mail');
    INSERT INTO hipq.tries_mail (job_type) VALUES ('send');
    PERFORM hipq.enqueue('nobody', queue => 'tries.mail');
    SELECT array_agg(max_retries ORDER BY id) INTO retries FROM hipq.tries_mail;
    DELETE FROM hipq.tries_mail;
    RETURN array_to_string(retries, ' ') || ' '
           || (SELECT count(*) FROM hipq.retry_schedule('tries.mail', 'send'));
END
$$;

-- The set-up in describe(): of instance, queue and type.
CREATE FUNCTION described() RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(' ',
        jsonb_path_query_first(state, '$.instances[*] ? (@.name == "tries").max_retries'),
        jsonb_path_query_first(state, '$.queues[*] ? (@.queue == "tries.mail").max_retries'),
        jsonb_path_query_first(state, '$.job_types[*] ? (@.queue == "tries.mail").max_retries'))
    FROM hipq.describe() AS state
$$;

SELECT is(shown(), '0 0 0', 'nothing says anything: the setting');
SELECT is(given(), '0 0 0 0', '... is what jobs get');
SELECT is(described(), '', '... and is not described');
SELECT hipq.alter_instance('tries', max_retries => 2);
SELECT is(shown(), '2 2 2', 'the instance says it for its queues');
SELECT is(given(), '2 2 2 2', '... and their jobs');
SELECT hipq.alter_queue('tries.mail', max_retries => 3);
SELECT is(shown(), '2 3 3', 'the queue overrides it');
SELECT is(given(), '3 3 3 3', '... for its jobs');
SELECT hipq.alter_job_type('tries.mail', 'send', max_retries => 4);
SELECT is(shown(), '2 3 4', 'the type overrides its queue');
SELECT is(given(), '4 4 3 4', '... for its jobs alone');
SELECT is(described(), '2 3 4', 'each is described where it was said');
SELECT hipq.alter_job_type('tries.mail', 'send', max_retries => 0);
SELECT is(shown() || ', ' || given(), '2 3 0, 0 0 3 0', '0 is said, too');
SELECT hipq.describe() AS described \gset
SELECT hipq.alter_job_type('tries.mail', 'send', reset => '{max_retries}');
SELECT is(shown() || ', ' || given(), '2 3 3, 3 3 3 3', 'a type goes back to its queue');
SELECT hipq.alter_queue('tries.mail', reset => '{max_retries}');
SELECT is(shown() || ', ' || given(), '2 2 2, 2 2 2 2', 'a queue to its instance');
SELECT hipq.alter_instance('tries', reset => '{max_retries}');
SELECT is(shown() || ', ' || given(), '0 0 0, 0 0 0 0', 'and an instance to the setting');

SELECT set_eq(format('SELECT object, property, before, after FROM hipq.apply(%L)', :'described'), $$
    VALUES ('instance "tries"', 'max_retries', 'null'::jsonb, '2'::jsonb),
           ('queue "tries.mail"', 'max_retries', 'null', '3'),
           ('job type "send" of queue "tries.mail"', 'max_retries', 'null', '0')$$,
    'apply() brings all three back');
SELECT is(described(), '2 3 0', '... as they were');
SELECT hipq.create_instance('tries', or_replace => true);
SELECT hipq.create_queue('tries.mail', or_replace => true);
SELECT is(described(), '0', 'what or_replace is not given goes back');
SELECT hipq.create_instance('tries', max_retries => 5, or_replace => true);
SELECT hipq.create_queue('tries.mail', max_retries => 6, or_replace => true);
SELECT is(described(), '5 6 0', '... and what it is given is stored');
SELECT hipq.create_instance('others', max_retries => 7);
SELECT hipq.create_queue('others.mail', owner => 'tries_owner', max_retries => 8);
SELECT results_eq($$
    SELECT instance.max_retries, queue.max_retries
    FROM hipq.instances_detail AS instance
    JOIN hipq.queues_detail AS queue ON queue.instance = instance.name
    WHERE instance.name = 'others'$$, 'VALUES (7, 8)', 'new ones have it from the start');

SELECT throws_ok($$SELECT hipq.alter_instance('tries', max_retries => -1)$$, '22023', NULL,
    'an instance with less than none is refused');
SELECT throws_ok($$SELECT hipq.create_queue('tries.other', max_retries => 1000001)$$, '22023', NULL,
    'a queue with too many, too');
SELECT throws_ok($$SELECT hipq.alter_instance('tries', reset => '{strict}')$$, '22023', NULL,
    'an instance resets nothing else');

SELECT * FROM finish();
ROLLBACK;
