-- Registered external workers: the part that outlives the server.

CREATE SEQUENCE hipq.worker_id_seq;
COMMENT ON SEQUENCE hipq.worker_id_seq IS 'numbers of external workers';

CREATE TABLE hipq.worker (
    worker_id       bigint      NOT NULL DEFAULT nextval('hipq.worker_id_seq')
        CONSTRAINT worker_pkey PRIMARY KEY,
    name            text COLLATE "C" NOT NULL,
    role            regrole     NOT NULL,
    queues          text[]      NOT NULL DEFAULT '{}',
    job_types       text[]      NOT NULL DEFAULT '{}',
    capacity        integer     NOT NULL DEFAULT 1
        CONSTRAINT worker_capacity_is_positive CHECK (capacity > 0),
    prefetch        integer     NOT NULL DEFAULT 0
        CONSTRAINT worker_prefetch_is_not_negative CHECK (prefetch >= 0),
    capabilities    jsonb       NOT NULL DEFAULT '{}'
        CONSTRAINT worker_capabilities_are_an_object CHECK (jsonb_typeof(capabilities) = 'object'),
    is_bound        boolean     NOT NULL DEFAULT false,
    is_draining     boolean     NOT NULL DEFAULT false,
    registered_time timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT worker_name_is_unique_in_its_role UNIQUE (role, name)
);
COMMENT ON TABLE hipq.worker
    IS 'external workers; when they were heard of and how they do is in shared memory alone, view '
    'hipq.workers shows it';
COMMENT ON COLUMN hipq.worker.worker_id
    IS 'number of the worker, hipq.job.worker_id of the jobs it has';
COMMENT ON COLUMN hipq.worker.name
    IS 'name the worker gave itself; other roles'' workers may have the same';
COMMENT ON COLUMN hipq.worker.role IS 'role that registered it';
COMMENT ON COLUMN hipq.worker.queues IS 'queues it serves';
COMMENT ON COLUMN hipq.worker.job_types IS 'job types it serves';
COMMENT ON COLUMN hipq.worker.capacity IS 'jobs it runs at a time';
COMMENT ON COLUMN hipq.worker.prefetch IS 'jobs it may be offered beyond those it runs';
COMMENT ON COLUMN hipq.worker.capabilities IS 'what it says about itself';
COMMENT ON COLUMN hipq.worker.is_bound
    IS 'it is the session that registered it: when that ends it is gone';
COMMENT ON COLUMN hipq.worker.is_draining IS 'it is offered no more jobs';
COMMENT ON COLUMN hipq.worker.registered_time IS 'when it registered';

CREATE TRIGGER catalogue_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON hipq.worker
    FOR EACH STATEMENT EXECUTE FUNCTION hipq._catalogue_changed();
ALTER TABLE hipq.worker ENABLE ALWAYS TRIGGER catalogue_changed;
