-- One instance over several servers. Each server, called a node, has all of hipq, and the instance
-- with its queues; node 0, the router, says which node has which slot. Every message from one node
-- to another is a row in hipq.shard_outbox, which PostgreSQL's logical replication delivers.

CREATE FUNCTION hipq._own_timeline() RETURNS text
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__own_timeline';
COMMENT ON FUNCTION hipq._own_timeline()
    IS 'this server and its timeline: another one after a promotion or a restore';

CREATE FUNCTION hipq._is_own_timeline(noted text) RETURNS boolean
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__is_own_timeline';
COMMENT ON FUNCTION hipq._is_own_timeline(text)
    IS 'whether what _own_timeline() has said is still so; true on a standby';

CREATE TABLE hipq.shard_map (
    instance_id integer    NOT NULL CONSTRAINT shard_map_pkey PRIMARY KEY,
    cluster     uuid       NOT NULL,
    own_node    smallint   NOT NULL
        CONSTRAINT shard_map_own_node_is_in_range CHECK (own_node BETWEEN 0 AND 1023),
    generation  bigint     NOT NULL DEFAULT 1,
    nodes       smallint[] NOT NULL
        CONSTRAINT shard_map_has_4096_slots CHECK (cardinality(nodes) = 4096),
    timeline    text       NOT NULL DEFAULT hipq._own_timeline(),
    router_has  jsonb
);
COMMENT ON TABLE hipq.shard_map
    IS 'instances that are spread over several servers: which node has which slot';
COMMENT ON COLUMN hipq.shard_map.instance_id IS 'number of the instance';
COMMENT ON COLUMN hipq.shard_map.cluster IS 'mark of the servers that belong together';
COMMENT ON COLUMN hipq.shard_map.own_node IS 'number of this server among them; 0 = the router';
COMMENT ON COLUMN hipq.shard_map.generation IS 'grows with each change; the router''s is ahead';
COMMENT ON COLUMN hipq.shard_map.nodes
    IS 'node of each slot; the first entry is slot 0, which is always the router''s';
COMMENT ON COLUMN hipq.shard_map.timeline
    IS 'this server and its timeline when it was last in step with the others; or what they know '
    'of it and it has forgotten';
COMMENT ON COLUMN hipq.shard_map.router_has
    IS 'on a shard: queues that the router has, and the job types of each, as it said last; what '
    'it has not may be dropped here';
SELECT pg_extension_config_dump('hipq.shard_map', '');

CREATE FUNCTION hipq._shards_changed() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__shards_changed';
COMMENT ON FUNCTION hipq._shards_changed()
    IS 'trigger: has every process read anew which node has which slot';

CREATE TRIGGER shards_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON hipq.shard_map
    FOR EACH STATEMENT EXECUTE FUNCTION hipq._shards_changed();
ALTER TABLE hipq.shard_map ENABLE ALWAYS TRIGGER shards_changed;

CREATE TABLE hipq.shard (
    instance_id  integer     NOT NULL,
    node         smallint    NOT NULL
        CONSTRAINT shard_node_is_in_range CHECK (node BETWEEN 1 AND 1023),
    conninfo     text        NOT NULL,
    publisher    text        NOT NULL,
    channel      text        NOT NULL,
    state        text        NOT NULL DEFAULT 'joining'
        CONSTRAINT shard_state_is_known
            CHECK (state IN ('joining', 'active', 'draining', 'leaving')),
    weight       integer     NOT NULL DEFAULT 100
        CONSTRAINT shard_weight_is_in_range CHECK (weight BETWEEN 1 AND 1000),
    timeline     integer,
    created_time timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT shard_pkey PRIMARY KEY (instance_id, node)
);
COMMENT ON TABLE hipq.shard IS 'on the router: the other servers of an instance';
COMMENT ON COLUMN hipq.shard.instance_id IS 'number of the instance';
COMMENT ON COLUMN hipq.shard.node IS 'number of the server in the instance, 1 to 1023';
COMMENT ON COLUMN hipq.shard.conninfo IS 'how the router reaches it: a libpq connection string';
COMMENT ON COLUMN hipq.shard.publisher IS 'how it reaches the router';
COMMENT ON COLUMN hipq.shard.channel
    IS 'start of the names of publications, slots and subscriptions between the two: _to_<node>, '
    '_from_<node>';
COMMENT ON COLUMN hipq.shard.state
    IS 'joining: being set up; active; draining: its slots move away; leaving: being dropped';
COMMENT ON COLUMN hipq.shard.weight IS 'its share of the slots beside those of the others';
COMMENT ON COLUMN hipq.shard.timeline IS 'timeline of the server when it was last looked at';
COMMENT ON COLUMN hipq.shard.created_time
    IS 'since when it is connected: letters from before are not for it';
SELECT pg_extension_config_dump('hipq.shard', '');

CREATE SEQUENCE hipq.shard_outbox_id_seq;
COMMENT ON SEQUENCE hipq.shard_outbox_id_seq IS 'numbers of rows in hipq.shard_outbox';

-- No index: only replication reads the rows.
CREATE TABLE hipq.shard_outbox (
    id        bigint      NOT NULL DEFAULT nextval('hipq.shard_outbox_id_seq'),
    sent_time timestamptz NOT NULL DEFAULT clock_timestamp(),
    instance  text COLLATE "C" NOT NULL,
    sender    smallint    NOT NULL,
    node      smallint    NOT NULL,
    kind      text        NOT NULL,
    queue     text COLLATE "C",
    jobs      jsonb[],
    body      jsonb
) PARTITION BY RANGE (sent_time);
ALTER TABLE hipq.shard_outbox REPLICA IDENTITY FULL;
COMMENT ON TABLE hipq.shard_outbox
    IS 'what this server has sent to others of an instance; kept for hipq.outbox_keep';
COMMENT ON COLUMN hipq.shard_outbox.id IS 'number of the row, of its sender';
COMMENT ON COLUMN hipq.shard_outbox.sent_time IS 'when it was written; its commit may come later';
COMMENT ON COLUMN hipq.shard_outbox.instance IS 'name of the instance';
COMMENT ON COLUMN hipq.shard_outbox.sender IS 'node that sent it';
COMMENT ON COLUMN hipq.shard_outbox.node IS 'node that it is for';
COMMENT ON COLUMN hipq.shard_outbox.kind
    IS 'what it is: jobs; moved = jobs of a slot that has left the sender; returned = no more of '
    'them come; last = no more jobs of a slot come from the router, in strict order; set_up; map; '
    'rejected; stats; permit_ask; permit_answer; taken = ids of jobs of a shard that the router '
    'has taken itself; alive = a sign of life';
COMMENT ON COLUMN hipq.shard_outbox.queue IS 'of jobs: their queue';
COMMENT ON COLUMN hipq.shard_outbox.jobs IS 'at most 1,000 jobs: what of each is not in the body';
COMMENT ON COLUMN hipq.shard_outbox.body
    IS 'of new jobs: what all have that do not say otherwise; all else';

CREATE TABLE hipq.shard_outbox_default PARTITION OF hipq.shard_outbox DEFAULT;
ALTER TABLE hipq.shard_outbox_default REPLICA IDENTITY FULL;
COMMENT ON TABLE hipq.shard_outbox_default
    IS 'rows of hipq.shard_outbox for which there is no leaf yet';

CREATE TABLE hipq.shard_outbox_mark (
    is_only     boolean     NOT NULL DEFAULT true CONSTRAINT shard_outbox_mark_pkey PRIMARY KEY
                            CONSTRAINT shard_outbox_mark_check CHECK (is_only),
    position    pg_lsn      NOT NULL,
    marked_time timestamptz NOT NULL,
    read_time   timestamptz
);
COMMENT ON TABLE hipq.shard_outbox_mark
    IS 'how far other servers have read hipq.shard_outbox: what they may not have read is kept';
COMMENT ON COLUMN hipq.shard_outbox_mark.is_only IS 'there is one row at most';
COMMENT ON COLUMN hipq.shard_outbox_mark.position
    IS 'a position of the WAL that not all have confirmed yet';
COMMENT ON COLUMN hipq.shard_outbox_mark.marked_time IS 'when the WAL was there';
COMMENT ON COLUMN hipq.shard_outbox_mark.read_time
    IS 'what was written until then all have read; NULL = not known yet';

CREATE TABLE hipq.shard_received (
    instance  text COLLATE "C" NOT NULL,
    sender    smallint    NOT NULL,
    id        bigint      NOT NULL,
    sent_time timestamptz NOT NULL,
    CONSTRAINT shard_received_pkey PRIMARY KEY (instance, sender, id, sent_time)
) PARTITION BY RANGE (sent_time);
COMMENT ON TABLE hipq.shard_received
    IS 'rows of other servers'' outboxes that have taken effect here: each does so once';
COMMENT ON COLUMN hipq.shard_received.instance IS 'name of the instance';
COMMENT ON COLUMN hipq.shard_received.sender IS 'node that sent it';
COMMENT ON COLUMN hipq.shard_received.id IS 'number of the row there';
COMMENT ON COLUMN hipq.shard_received.sent_time IS 'when it was written there';

CREATE TABLE hipq.shard_received_default PARTITION OF hipq.shard_received DEFAULT;
ALTER TABLE hipq.shard_received_default REPLICA IDENTITY FULL;
COMMENT ON TABLE hipq.shard_received_default
    IS 'rows of hipq.shard_received for which there is no leaf yet';

-- Heartbeats (kind alive) show a node that it has lost its own latest changes.

CREATE TABLE hipq.shard_neighbour (
    instance_id integer  NOT NULL,
    node        smallint NOT NULL,
    heard_id    bigint   NOT NULL DEFAULT 0,
    heard_time  timestamptz,
    whole_id    bigint   NOT NULL DEFAULT 0,
    signs_from  bigint   NOT NULL DEFAULT 0,
    CONSTRAINT shard_neighbour_pkey PRIMARY KEY (instance_id, node)
);
COMMENT ON TABLE hipq.shard_neighbour
    IS 'the servers of an instance that send signs of life to this one';
COMMENT ON COLUMN hipq.shard_neighbour.instance_id IS 'number of the instance';
COMMENT ON COLUMN hipq.shard_neighbour.node IS 'number of the other server';
COMMENT ON COLUMN hipq.shard_neighbour.heard_id
    IS 'number of its newest sign that has come; 0 = none has';
COMMENT ON COLUMN hipq.shard_neighbour.heard_time IS 'when that was sent';
COMMENT ON COLUMN hipq.shard_neighbour.whole_id
    IS 'number of its sign up to which nothing that it has sent is missing: one before the newest';
COMMENT ON COLUMN hipq.shard_neighbour.signs_from
    IS 'this server knows its own signs with this number and above, of those it has sent there';

CREATE TABLE hipq.shard_sign (
    instance_id integer     NOT NULL,
    node        smallint    NOT NULL,
    id          bigint      NOT NULL,
    sent_time   timestamptz NOT NULL,
    CONSTRAINT shard_sign_pkey PRIMARY KEY (instance_id, node, id, sent_time)
);
COMMENT ON TABLE hipq.shard_sign
    IS 'signs of life that this server has sent: the last one that the other is known to have got, '
    'and those since';
COMMENT ON COLUMN hipq.shard_sign.instance_id IS 'number of the instance';
COMMENT ON COLUMN hipq.shard_sign.node IS 'number of the server that it is for';
COMMENT ON COLUMN hipq.shard_sign.id IS 'number of the row in hipq.shard_outbox';
COMMENT ON COLUMN hipq.shard_sign.sent_time IS 'when it was written';

CREATE TABLE hipq.shard_reject (
    instance      text COLLATE "C" NOT NULL,
    sender        smallint    NOT NULL,
    node          smallint    NOT NULL,
    outbox_id     bigint      NOT NULL,
    rejected_time timestamptz NOT NULL DEFAULT clock_timestamp(),
    queue         text COLLATE "C",
    job_id        bigint,
    sqlstate      text        NOT NULL,
    error         text        NOT NULL,
    job           jsonb       NOT NULL
);
ALTER TABLE hipq.shard_reject REPLICA IDENTITY FULL;
COMMENT ON TABLE hipq.shard_reject
    IS 'jobs and letters that the server that they were for did not take; the same row on both '
    'servers';
COMMENT ON COLUMN hipq.shard_reject.instance IS 'name of the instance';
COMMENT ON COLUMN hipq.shard_reject.sender IS 'node that sent the job';
COMMENT ON COLUMN hipq.shard_reject.node IS 'node that did not take it';
COMMENT ON COLUMN hipq.shard_reject.outbox_id IS 'row of the sender''s outbox that it was in';
COMMENT ON COLUMN hipq.shard_reject.rejected_time IS 'when that was';
COMMENT ON COLUMN hipq.shard_reject.queue IS 'its queue; NULL = a letter that was refused whole';
COMMENT ON COLUMN hipq.shard_reject.job_id IS 'its id';
COMMENT ON COLUMN hipq.shard_reject.sqlstate
    IS 'SQLSTATE of the error; 23505: an unfinished job had its key';
COMMENT ON COLUMN hipq.shard_reject.error IS 'the error';
COMMENT ON COLUMN hipq.shard_reject.job
    IS 'the job, as it was sent; of a letter: what it was, {"kind": ..., "jobs": ..., "body": ...}';
CREATE INDEX shard_reject_job ON hipq.shard_reject (job_id);
CREATE INDEX shard_reject_time ON hipq.shard_reject (rejected_time);
SELECT pg_extension_config_dump('hipq.shard_reject', '');

CREATE FUNCTION hipq._receive() RETURNS trigger LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__receive';
COMMENT ON FUNCTION hipq._receive()
    IS 'trigger: has a row that a subscription brings from another server of an instance take '
    'effect, once';

CREATE TRIGGER receive BEFORE INSERT ON hipq.shard_outbox
    FOR EACH ROW EXECUTE FUNCTION hipq._receive();
ALTER TABLE hipq.shard_outbox ENABLE ALWAYS TRIGGER receive;
COMMENT ON TRIGGER receive ON hipq.shard_outbox
    IS 'has a row that a subscription brings from another server of an instance take effect, once';

CREATE FUNCTION hipq.slot_of(key text) RETURNS integer
    LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'hipq_slot_of';
COMMENT ON FUNCTION hipq.slot_of(text)
    IS 'tells the slot, 0 to 4095, of jobs with a shard key. key: the shard key';

-- ---- moves of slots ----

CREATE TABLE hipq.shard_move (
    instance_id  integer     NOT NULL,
    slot         smallint    NOT NULL
        CONSTRAINT shard_move_slot_is_in_range CHECK (slot BETWEEN 1 AND 4095),
    from_node    smallint    NOT NULL,
    to_node      smallint    NOT NULL,
    started_time timestamptz NOT NULL DEFAULT clock_timestamp(),
    busy_keys    jsonb,
    in_order     text[] COLLATE "C" NOT NULL DEFAULT '{}',
    seen_time    timestamptz,
    last_sent    boolean     NOT NULL DEFAULT false,
    CONSTRAINT shard_move_pkey PRIMARY KEY (instance_id, slot)
);
COMMENT ON TABLE hipq.shard_move IS 'on the router: slots on their way from one node to another';
COMMENT ON COLUMN hipq.shard_move.instance_id IS 'number of the instance';
COMMENT ON COLUMN hipq.shard_move.slot IS 'the slot';
COMMENT ON COLUMN hipq.shard_move.from_node IS 'node that had it';
COMMENT ON COLUMN hipq.shard_move.to_node IS 'node that has it now';
COMMENT ON COLUMN hipq.shard_move.started_time IS 'since when';
COMMENT ON COLUMN hipq.shard_move.busy_keys
    IS 'keys of the jobs that still run at the node before, as it said last, and what queues in '
    'strict order wait for there; NULL = it has said nothing';
COMMENT ON COLUMN hipq.shard_move.in_order
    IS 'queues whose jobs stay in order, as it was when the move began (move_order = strict)';
COMMENT ON COLUMN hipq.shard_move.seen_time
    IS 'when the scheduler saw it first: transactions from before may still send jobs to the node '
    'before; NULL = not yet, or nothing has to stay in order';
COMMENT ON COLUMN hipq.shard_move.last_sent
    IS 'the node before has been told that these have ended';
SELECT pg_extension_config_dump('hipq.shard_move', '');
CREATE TRIGGER shards_changed AFTER UPDATE OF last_sent OR TRUNCATE ON hipq.shard_move
    FOR EACH STATEMENT EXECUTE FUNCTION hipq._shards_changed();
ALTER TABLE hipq.shard_move ENABLE ALWAYS TRIGGER shards_changed;

CREATE TABLE hipq.shard_leaving (
    instance_id integer     NOT NULL,
    slot        smallint    NOT NULL,
    seen_time   timestamptz,
    busy_keys   jsonb,
    in_order    text[] COLLATE "C" NOT NULL DEFAULT '{}',
    last_came   boolean     NOT NULL DEFAULT false,
    CONSTRAINT shard_leaving_pkey PRIMARY KEY (instance_id, slot)
);
COMMENT ON TABLE hipq.shard_leaving
    IS 'slots that were this node''s: what waits in them goes to the node that has them now';
COMMENT ON COLUMN hipq.shard_leaving.instance_id IS 'number of the instance';
COMMENT ON COLUMN hipq.shard_leaving.slot IS 'the slot';
COMMENT ON COLUMN hipq.shard_leaving.seen_time
    IS 'when the scheduler saw it first: transactions from before may still bring jobs; '
    'NULL = not yet';
COMMENT ON COLUMN hipq.shard_leaving.busy_keys
    IS 'keys of the jobs that still ran when the new node was last told, and what queues in strict '
    'order waited for; NULL = not yet';
COMMENT ON COLUMN hipq.shard_leaving.in_order
    IS 'queues of which no job starts here any more, and none there before all of them have gone';
COMMENT ON COLUMN hipq.shard_leaving.last_came
    IS 'the router has said that none of its transactions may send more jobs; of use to queues in '
    'strict order only';
SELECT pg_extension_config_dump('hipq.shard_leaving', '');
CREATE TRIGGER shards_changed AFTER INSERT OR DELETE OR TRUNCATE ON hipq.shard_leaving
    FOR EACH STATEMENT EXECUTE FUNCTION hipq._shards_changed();
ALTER TABLE hipq.shard_leaving ENABLE ALWAYS TRIGGER shards_changed;

CREATE TABLE hipq.shard_coming (
    instance_id integer  NOT NULL,
    slot        smallint NOT NULL,
    busy_keys   jsonb,
    in_order    text[] COLLATE "C" NOT NULL DEFAULT '{}',
    quiet_time  timestamptz,
    CONSTRAINT shard_coming_pkey PRIMARY KEY (instance_id, slot)
);
COMMENT ON TABLE hipq.shard_coming
    IS 'slots that are this node''s since a short while: jobs may still run at the node before';
COMMENT ON COLUMN hipq.shard_coming.instance_id IS 'number of the instance';
COMMENT ON COLUMN hipq.shard_coming.slot IS 'the slot';
COMMENT ON COLUMN hipq.shard_coming.busy_keys
    IS 'keys of the jobs that run there: [queue, job type, job key], and the '
    'shard key if keys are unique for each; and of queues in strict order, '
    '{"queue": ..., "awaits": "last" or "jobs"}; NULL = any may';
COMMENT ON COLUMN hipq.shard_coming.in_order IS 'queues of which all jobs are held until then';
COMMENT ON COLUMN hipq.shard_coming.quiet_time
    IS 'since when all have come and none was held, of queues in strict order: transactions from '
    'before may still hold one; NULL = not yet';
SELECT pg_extension_config_dump('hipq.shard_coming', '');
CREATE TRIGGER shards_changed
    AFTER INSERT OR UPDATE OF busy_keys OR DELETE OR TRUNCATE ON hipq.shard_coming
    FOR EACH STATEMENT EXECUTE FUNCTION hipq._shards_changed();
ALTER TABLE hipq.shard_coming ENABLE ALWAYS TRIGGER shards_changed;

CREATE SEQUENCE hipq.shard_held_job_seq;
COMMENT ON SEQUENCE hipq.shard_held_job_seq IS 'order in which jobs were held';

CREATE TABLE hipq.shard_held_job (
    place       bigint   NOT NULL DEFAULT nextval('hipq.shard_held_job_seq')
        CONSTRAINT shard_held_job_pkey PRIMARY KEY,
    instance_id integer  NOT NULL,
    slot        smallint NOT NULL,
    sender      smallint NOT NULL,
    outbox_id   bigint   NOT NULL,
    queue       text COLLATE "C" NOT NULL,
    job_type    text COLLATE "C" NOT NULL,
    job_key     text COLLATE "C" NOT NULL,
    job         jsonb    NOT NULL,
    was_accepted boolean NOT NULL DEFAULT false,
    shard_key   text COLLATE "C" NOT NULL DEFAULT 'NONE'
);
COMMENT ON TABLE hipq.shard_held_job
    IS 'jobs with a key, of slots that have just come, until no job with their key runs at the '
    'node before; in strict order all jobs of the slot, until none is left there';
COMMENT ON COLUMN hipq.shard_held_job.place IS 'order in which they came';
COMMENT ON COLUMN hipq.shard_held_job.instance_id IS 'number of the instance';
COMMENT ON COLUMN hipq.shard_held_job.slot IS 'their slot';
COMMENT ON COLUMN hipq.shard_held_job.sender IS 'node that sent them';
COMMENT ON COLUMN hipq.shard_held_job.outbox_id
    IS 'row of its outbox that they were in; 0 = they were enqueued here';
COMMENT ON COLUMN hipq.shard_held_job.queue IS 'their queue within the instance';
COMMENT ON COLUMN hipq.shard_held_job.job_type IS 'their job type';
COMMENT ON COLUMN hipq.shard_held_job.job_key IS 'their key';
COMMENT ON COLUMN hipq.shard_held_job.job IS 'the job, as it came';
COMMENT ON COLUMN hipq.shard_held_job.was_accepted
    IS 'it comes from the table of the node before, so it has its key; in strict order only';
COMMENT ON COLUMN hipq.shard_held_job.shard_key
    IS 'shard key that their key is unique within; NONE = none, or the whole queue';
CREATE INDEX shard_held_job_slot ON hipq.shard_held_job (instance_id, slot);
SELECT pg_extension_config_dump('hipq.shard_held_job', '');

-- ---- what all nodes know ----

CREATE FUNCTION hipq._set_up_of(instance_name text) RETURNS jsonb
    LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    SELECT jsonb_build_object(
        'instances',
        jsonb_path_query_array(whole, '$.instances[*] ? (@.name == $name)', named),
        'queues',
        jsonb_path_query_array(whole, '$.queues[*] ? (@.queue starts with $prefix)', named),
        'job_types',
        jsonb_path_query_array(whole, '$.job_types[*] ? (@.queue starts with $prefix)', named),
        'pauses',
        jsonb_path_query_array(
            whole, '$.pauses[*] ? (@.instance == $name || @.queue starts with $prefix)', named
        ))
        #- '{instances,0,db_config}' #- '{instances,0,table_naming_strategy}'
    FROM (
        SELECT hipq.describe() AS whole,
               jsonb_build_object('name', instance_name, 'prefix', instance_name || '.') AS named
    ) AS described
$$;
COMMENT ON FUNCTION hipq._set_up_of(text)
    IS 'queues, job types and pauses of an instance, as describe() has them: '
    'what its shards are to have';

CREATE FUNCTION hipq._send_set_up(instance_name text, to_node integer DEFAULT NULL) RETURNS void
    LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO hipq.shard_outbox (instance, sender, node, kind, body)
    SELECT instance.name, 0, shard.node, letter.kind, letter.body
    FROM hipq.instance
    JOIN hipq.shard_map AS map USING (instance_id)
    JOIN hipq.shard USING (instance_id)
    CROSS JOIN LATERAL (VALUES
        (1, 'set_up', hipq._set_up_of(instance.name)),
        (2, 'map', jsonb_build_object('generation', map.generation, 'nodes', to_jsonb(map.nodes)))
    ) AS letter (place, kind, body)
    WHERE instance.name = instance_name
      AND map.own_node = 0
      AND shard.node = coalesce(to_node::smallint, shard.node)
    ORDER BY shard.node, letter.place
$$;
COMMENT ON FUNCTION hipq._send_set_up(text, integer)
    IS 'sends queues, job types, pauses and the map of an instance to a shard; NULL = to all';

CREATE FUNCTION hipq._tell_shards() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__tell_shards';
COMMENT ON FUNCTION hipq._tell_shards()
    IS 'trigger: sends what is set up anew to the shards, before any job that needs it';

-- PostgreSQL allows one event only for a trigger with transition tables.
DO $triggers$
DECLARE
    told record;
BEGIN
    FOR told IN
        SELECT name, event,
               concat_ws(' ', CASE WHEN event <> 'insert' THEN 'OLD TABLE AS old_rows' END,
                         CASE WHEN event <> 'delete' THEN 'NEW TABLE AS new_rows' END) AS rows
        FROM unnest('{instance,queue,job_type,pause}'::text[]) AS name,
             unnest('{insert,update,delete}'::text[]) AS event
        WHERE name <> 'instance' OR event <> 'insert'
    LOOP
        EXECUTE format(
            'CREATE OR REPLACE TRIGGER tell_shards_of_%1$s AFTER %1$s ON hipq.%2$s '
            'REFERENCING %3$s FOR EACH STATEMENT EXECUTE FUNCTION hipq._tell_shards()',
            told.event, told.name, told.rows
        );
        EXECUTE format(
            'ALTER TABLE hipq.%s ENABLE ALWAYS TRIGGER tell_shards_of_%s', told.name, told.event
        );
    END LOOP;
END $triggers$;

-- ---- set-up ----

CREATE PROCEDURE hipq.create_shard(
    instance text, shard integer, conninfo text, publisher text DEFAULT NULL,
    weight integer DEFAULT 100
) LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_create_shard';
COMMENT ON PROCEDURE hipq.create_shard(text, integer, text, text, integer)
    IS 'makes another server a shard of an instance, step by step, and commits each; after a '
    'failure, call it again. instance: the instance, which is there; shard: its number, 1 to 1023; '
    'conninfo: how this server reaches it; publisher: how it reaches this server, NULL = db_config '
    'of the instance says; weight: its share of the slots beside those of the others';

CREATE FUNCTION hipq._unfit_for_shards() RETURNS text
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__unfit_for_shards';
COMMENT ON FUNCTION hipq._unfit_for_shards()
    IS 'why this server cannot be a shard, and what to do, with | between them; its router asks';

CREATE FUNCTION hipq._join_shards(instance_name text, cluster text, node integer) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__join_shards';
COMMENT ON FUNCTION hipq._join_shards(text, text, integer)
    IS 'makes this database a node of an instance; its router calls it';

CREATE FUNCTION hipq._publish_outbox(
    publication text, instance_name text, node integer
) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__publish_outbox';
COMMENT ON FUNCTION hipq._publish_outbox(text, text, integer)
    IS 'publishes the rows of the outbox that are for a node; the router calls it';

CREATE FUNCTION hipq._keep_outbox(slot text) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__keep_outbox';
COMMENT ON FUNCTION hipq._keep_outbox(text)
    IS 'makes the replication slot of a publication of the outbox; the router calls it';

CREATE FUNCTION hipq._subscribe_to_outbox(
    publication text, publisher text, publisher_version integer
) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__subscribe_to_outbox';
COMMENT ON FUNCTION hipq._subscribe_to_outbox(text, text, integer)
    IS 'subscribes to a publication of another node''s outbox; the router calls it. '
    'publisher_version: server_version_num there';

CREATE FUNCTION hipq._leave_shards(instance_name text) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__leave_shards';
COMMENT ON FUNCTION hipq._leave_shards(text)
    IS 'has this database be a node of an instance no more; its router calls it';

CREATE FUNCTION hipq._position_after_all_sent(since timestamptz) RETURNS text
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__position_after_all_sent';
COMMENT ON FUNCTION hipq._position_after_all_sent(timestamptz)
    IS 'where the WAL is, behind all that was sent by maps from before; empty = somebody may still '
    'send';

CREATE FUNCTION hipq._unsubscribe_from_outbox(publication text) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__unsubscribe_from_outbox';
COMMENT ON FUNCTION hipq._unsubscribe_from_outbox(text)
    IS 'ends what _subscribe_to_outbox() has begun; the router calls it';

CREATE FUNCTION hipq._unpublish_outbox(publication text) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__unpublish_outbox';
COMMENT ON FUNCTION hipq._unpublish_outbox(text)
    IS 'ends what _publish_outbox() and _keep_outbox() have begun; the router calls it';

CREATE PROCEDURE hipq.drop_shard(instance text, shard integer, force boolean DEFAULT false)
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_drop_shard';
COMMENT ON PROCEDURE hipq.drop_shard(text, integer, boolean)
    IS 'takes a shard without slots out of its instance, step by step, and commits each; after a '
    'failure, call it again. instance: the instance; shard: its number; force: it is dead, and '
    'will never come back: it is not asked';

CREATE FUNCTION hipq._receive_again(letter jsonb, after_loss boolean) RETURNS boolean
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__receive_again';
COMMENT ON FUNCTION hipq._receive_again(jsonb, boolean)
    IS 'has a kept row of another node''s outbox take effect, unless it has already. after_loss: '
    'this node has forgotten what it did last';

CREATE FUNCTION hipq._begin_resync(instance_name text, truth jsonb) RETURNS text
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__begin_resync';
COMMENT ON FUNCTION hipq._begin_resync(text, jsonb)
    IS 'has this node, which was promoted or restored, be what its router says; the router calls '
    'it, and sends again what is missing, in one transaction';

CREATE PROCEDURE hipq.resync_shard(instance text, shard integer, force boolean DEFAULT false)
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_resync_shard';
COMMENT ON PROCEDURE hipq.resync_shard(text, integer, boolean)
    IS 'brings a shard back into step after its standby was promoted, it was restored, or a '
    'replication slot was lost, step by step, and commits each; after a failure, call it again. '
    'instance: the instance; shard: its number; force: go on with what is kept, though some of '
    'what was sent is not';

CREATE FUNCTION hipq.drain_shard(instance text, shard integer) RETURNS integer
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_drain_shard';
COMMENT ON FUNCTION hipq.drain_shard(text, integer)
    IS 'moves all slots of a shard to the others, and returns how many; jobs follow them by and '
    'by, see view hipq.shards. instance: the instance; shard: its number';

CREATE FUNCTION hipq.rebalance(instance text) RETURNS integer
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_rebalance';
COMMENT ON FUNCTION hipq.rebalance(text)
    IS 'moves slots so that each node of an instance has its part by weight, with the fewest '
    'moves, and returns how many; jobs follow them by and by, see view hipq.shards. instance: '
    'the instance';

CREATE FUNCTION hipq.resend_rejects(
    queue text, sqlstate text DEFAULT NULL, ids bigint[] DEFAULT NULL,
    max_jobs integer DEFAULT 10000
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_resend_rejects';
COMMENT ON FUNCTION hipq.resend_rejects(text, text, bigint[], integer)
    IS 'on the router: sends jobs that a node could not take again, with their ids, and returns '
    'how many. queue: their queue; sqlstate: only those with that error, NULL = all but '
    'duplicates; ids: only these jobs, duplicates too, or none if one of them cannot be sent; '
    'max_jobs: without ids, 1 to 1000000';

CREATE FUNCTION hipq.move_slots(instance text, slots integer[], shard integer) RETURNS integer
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_move_slots';
COMMENT ON FUNCTION hipq.move_slots(text, integer[], integer)
    IS 'moves slots of an instance to a node, and returns how many; jobs follow them by and by, '
    'see view hipq.shards. instance: the instance; slots: their numbers; shard: the node, '
    '0 = the router';
