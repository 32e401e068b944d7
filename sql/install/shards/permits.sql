-- Limits on running jobs that the nodes of a sharded instance share. Each node has a share of a
-- limit and runs no more than its share; the router grants shares. Weights are in thousandths of
-- throttle_factor. Dumps contain none of these rows: another node may have got yesterday's share
-- since.

CREATE TABLE hipq.permit_share (
    queue_id     integer NOT NULL,
    job_type     text COLLATE "C" NOT NULL,
    throttle_key bigint  NOT NULL,
    epoch        bigint  NOT NULL DEFAULT 0,
    serial       bigint  NOT NULL DEFAULT 0,
    is_waiting   boolean NOT NULL DEFAULT false,
    must_ask     boolean NOT NULL DEFAULT false,
    share        bigint  NOT NULL DEFAULT 0
        CONSTRAINT permit_share_is_not_negative CHECK (share >= 0),
    has_all      boolean NOT NULL DEFAULT false,
    target       bigint  NOT NULL DEFAULT 0,
    weight_limit bigint  NOT NULL DEFAULT 0,
    asked_want   bigint  NOT NULL DEFAULT 0,
    asked_unit   bigint  NOT NULL DEFAULT 0,
    timeline     integer NOT NULL DEFAULT 0,
    CONSTRAINT permit_share_pkey PRIMARY KEY (queue_id, job_type, throttle_key)
);
COMMENT ON TABLE hipq.permit_share
    IS 'this node''s shares of limits that all nodes of an instance share: it runs no more';
COMMENT ON COLUMN hipq.permit_share.queue_id IS 'queue that has the limit';
COMMENT ON COLUMN hipq.permit_share.job_type IS 'job type that has it; empty = the whole queue';
COMMENT ON COLUMN hipq.permit_share.throttle_key
    IS 'hash of the throttle key that has it; 0 = the whole job type';
COMMENT ON COLUMN hipq.permit_share.epoch IS 'the router''s records that the share is by';
COMMENT ON COLUMN hipq.permit_share.serial IS 'number of the last request';
COMMENT ON COLUMN hipq.permit_share.is_waiting IS 'whether it has not been answered yet';
COMMENT ON COLUMN hipq.permit_share.must_ask IS 'whether the router needs to hear what runs here';
COMMENT ON COLUMN hipq.permit_share.share IS 'what may run here';
COMMENT ON COLUMN hipq.permit_share.has_all
    IS 'whether it is all of the limit, so that a heavier job may run';
COMMENT ON COLUMN hipq.permit_share.target
    IS 'what the share should be: if it is more, the rest is given up';
COMMENT ON COLUMN hipq.permit_share.weight_limit IS 'the limit; 0 = not known yet';
COMMENT ON COLUMN hipq.permit_share.asked_want IS 'what the last request said is wanted';
COMMENT ON COLUMN hipq.permit_share.asked_unit
    IS 'weight of the next job, by the last request; 0 = none';
COMMENT ON COLUMN hipq.permit_share.timeline
    IS 'of the server when it was written: on another one the share is forgotten';

CREATE TABLE hipq.permit_authority (
    queue_id     integer NOT NULL,
    job_type     text COLLATE "C" NOT NULL,
    throttle_key bigint  NOT NULL,
    epoch        bigint  NOT NULL,
    weight_limit bigint  NOT NULL,
    turn         integer NOT NULL DEFAULT 0,
    timeline     integer NOT NULL DEFAULT 0,
    CONSTRAINT permit_authority_pkey PRIMARY KEY (queue_id, job_type, throttle_key)
);
COMMENT ON TABLE hipq.permit_authority
    IS 'on the router: limits that the nodes of an instance share';
COMMENT ON COLUMN hipq.permit_authority.queue_id IS 'queue that has the limit';
COMMENT ON COLUMN hipq.permit_authority.job_type IS 'job type that has it; empty = the whole queue';
COMMENT ON COLUMN hipq.permit_authority.throttle_key
    IS 'hash of the throttle key that has it; 0 = the whole job type';
COMMENT ON COLUMN hipq.permit_authority.epoch
    IS 'grows when the router begins to ask all nodes anew';
COMMENT ON COLUMN hipq.permit_authority.weight_limit IS 'the limit';
COMMENT ON COLUMN hipq.permit_authority.turn
    IS 'which node comes first when whole jobs do not come out even, in the order of their numbers';
COMMENT ON COLUMN hipq.permit_authority.timeline
    IS 'of the server when it began: on another one it begins anew';

CREATE TABLE hipq.permit_record (
    queue_id     integer  NOT NULL,
    job_type     text COLLATE "C" NOT NULL,
    throttle_key bigint   NOT NULL,
    node         smallint NOT NULL,
    is_heard     boolean  NOT NULL DEFAULT false,
    heard_time   timestamptz NOT NULL DEFAULT clock_timestamp(),
    serial       bigint   NOT NULL DEFAULT 0,
    share        bigint   NOT NULL DEFAULT 0,
    has_all      boolean  NOT NULL DEFAULT false,
    want         bigint   NOT NULL DEFAULT 0,
    unit         bigint   NOT NULL DEFAULT 0,
    told_target  bigint   NOT NULL DEFAULT 0,
    CONSTRAINT permit_record_pkey PRIMARY KEY (queue_id, job_type, throttle_key, node)
);
COMMENT ON TABLE hipq.permit_record
    IS 'on the router: the largest share of a limit that each node may have';
COMMENT ON COLUMN hipq.permit_record.queue_id IS 'queue that has the limit';
COMMENT ON COLUMN hipq.permit_record.job_type IS 'job type that has it; empty = the whole queue';
COMMENT ON COLUMN hipq.permit_record.throttle_key
    IS 'hash of the throttle key that has it; 0 = the whole job type';
COMMENT ON COLUMN hipq.permit_record.node IS 'the node; 0 = the router';
COMMENT ON COLUMN hipq.permit_record.is_heard
    IS 'whether it has said what runs there; until all have, no share grows';
COMMENT ON COLUMN hipq.permit_record.heard_time IS 'when it was heard last';
COMMENT ON COLUMN hipq.permit_record.serial IS 'number of its last request';
COMMENT ON COLUMN hipq.permit_record.share IS 'the largest share that it may have';
COMMENT ON COLUMN hipq.permit_record.has_all
    IS 'whether it may run a job that is heavier than the limit';
COMMENT ON COLUMN hipq.permit_record.want IS 'what it wants to run, with what runs';
COMMENT ON COLUMN hipq.permit_record.unit IS 'weight of the next job that it could start; 0 = none';
COMMENT ON COLUMN hipq.permit_record.told_target IS 'the share that it was told it should have';
