-- Jobs that come after other jobs: hipq.enqueue(..., after => ...).

-- The primary key begins with the queue, so that the queues with such jobs, and the jobs of a queue
-- that is dropped, are found by it. The columns outcome and result are filled in only when the row
-- of the job before goes: until then that row has them.
CREATE TABLE hipq.dependency (
    queue_id         integer NOT NULL,
    job_id           bigint  NOT NULL,
    before_id        bigint  NOT NULL,
    before_queue_id  integer NOT NULL,
    after_policy     text    NOT NULL
        CONSTRAINT dependency_after_policy_is_known
        CHECK (after_policy IN ('succeeded', 'finished', 'any', 'failed')),
    on_failure       text    NOT NULL
        CONSTRAINT dependency_on_failure_is_known CHECK (on_failure IN ('fail', 'skip', 'run')),
    outcome          text,
    result           jsonb,
    CONSTRAINT dependency_pkey PRIMARY KEY (queue_id, job_id, before_id)
);
CREATE INDEX dependency_before ON hipq.dependency (before_id, queue_id, job_id);
COMMENT ON TABLE hipq.dependency
    IS 'which jobs come after which: as long as the row of the later one is kept';
COMMENT ON COLUMN hipq.dependency.queue_id IS 'queue of the later job';
COMMENT ON COLUMN hipq.dependency.job_id IS 'id of the later job';
COMMENT ON COLUMN hipq.dependency.before_id IS 'id of a job that it comes after';
COMMENT ON COLUMN hipq.dependency.before_queue_id IS 'queue of that job';
COMMENT ON COLUMN hipq.dependency.after_policy
    IS 'when the later job starts: succeeded = when all jobs before it have; finished = when they '
    'have ended; any = when one of them has succeeded; failed = when one of them has failed';
COMMENT ON COLUMN hipq.dependency.on_failure
    IS 'what becomes of the later job when that cannot be met: fail, skip, or run in any case';
COMMENT ON COLUMN hipq.dependency.outcome
    IS 'how the job before ended, once its own row is no longer kept; NULL = its row says it';
COMMENT ON COLUMN hipq.dependency.result
    IS 'what the job before returned, once its own row is no longer kept';
SELECT pg_extension_config_dump('hipq.dependency', '');

-- A graph is named by the lowest id of its jobs.
CREATE TABLE hipq.graph_job (
    graph_id bigint  NOT NULL,
    name     text    NOT NULL,
    job_id   bigint  NOT NULL CONSTRAINT graph_job_id_is_unique UNIQUE,
    queue_id integer NOT NULL,
    CONSTRAINT graph_job_pkey PRIMARY KEY (graph_id, name)
);
COMMENT ON TABLE hipq.graph_job
    IS 'jobs of hipq.enqueue_graph(), as long as their rows are kept';
COMMENT ON COLUMN hipq.graph_job.graph_id IS 'graph: the lowest id of its jobs';
COMMENT ON COLUMN hipq.graph_job.name IS 'name of the job, unique in the graph';
COMMENT ON COLUMN hipq.graph_job.job_id IS 'id of the job';
COMMENT ON COLUMN hipq.graph_job.queue_id IS 'queue of the job';
SELECT pg_extension_config_dump('hipq.graph_job', '');

-- The id of a batch is of the sequence of jobs, and stands for the batch in hipq.dependency, too.
CREATE TABLE hipq.batch (
    batch_id     bigint      NOT NULL CONSTRAINT batch_pkey PRIMARY KEY,
    queue_id     integer     NOT NULL,
    name         text,
    created_time timestamptz NOT NULL,
    closed_time  timestamptz,
    expires_time timestamptz NOT NULL
);
CREATE INDEX batch_closed ON hipq.batch (queue_id, (least(closed_time, expires_time)));
COMMENT ON TABLE hipq.batch IS 'batches of jobs that hipq.create_batch() made';
COMMENT ON COLUMN hipq.batch.batch_id IS 'id of the batch; no job has it';
COMMENT ON COLUMN hipq.batch.queue_id IS 'queue that decides about rights and retention';
COMMENT ON COLUMN hipq.batch.name IS 'name, for people';
COMMENT ON COLUMN hipq.batch.created_time IS 'when it was made';
COMMENT ON COLUMN hipq.batch.closed_time
    IS 'when hipq.close_batch() was called: it takes no more jobs; NULL = not yet';
COMMENT ON COLUMN hipq.batch.expires_time IS 'from then on it counts as closed';
SELECT pg_extension_config_dump('hipq.batch', '');

-- Rows are only inserted, so transactions that add jobs to one batch never wait for each other.
CREATE TABLE hipq.batch_join (
    batch_id bigint  NOT NULL,
    queue_id integer NOT NULL,
    jobs     bigint  NOT NULL
);
CREATE INDEX batch_join_batch ON hipq.batch_join (batch_id, queue_id);
ALTER TABLE hipq.batch_join REPLICA IDENTITY FULL;  -- rows of a batch may be alike
COMMENT ON TABLE hipq.batch_join
    IS 'how many jobs each transaction has added to a batch, by queue; 0 = jobs have been moved '
    'there';
COMMENT ON COLUMN hipq.batch_join.batch_id IS 'batch';
COMMENT ON COLUMN hipq.batch_join.queue_id IS 'queue of the jobs';
COMMENT ON COLUMN hipq.batch_join.jobs IS 'number of jobs';
SELECT pg_extension_config_dump('hipq.batch_join', '');

CREATE TABLE hipq.batch_failure (
    batch_id bigint NOT NULL,
    outcome  text   NOT NULL,
    job_id   bigint NOT NULL,
    CONSTRAINT batch_failure_pkey PRIMARY KEY (batch_id, outcome, job_id)
);
COMMENT ON TABLE hipq.batch_failure IS 'jobs of batches that have ended without success';
COMMENT ON COLUMN hipq.batch_failure.batch_id IS 'batch';
COMMENT ON COLUMN hipq.batch_failure.outcome IS 'failed, cancelled, expired or skipped';
COMMENT ON COLUMN hipq.batch_failure.job_id IS 'id of the job';
SELECT pg_extension_config_dump('hipq.batch_failure', '');

CREATE FUNCTION hipq.create_batch(
    name text DEFAULT NULL, callback_type text DEFAULT NULL, callback_data jsonb DEFAULT '{}',
    call_when text DEFAULT 'finished', queue text DEFAULT NULL,
    expires_after hipq.duration DEFAULT '1 day', closed boolean DEFAULT false
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_create_batch';
COMMENT ON FUNCTION hipq.create_batch(
    text, text, jsonb, text, text, hipq.duration, boolean
) IS 'makes a batch, to which enqueue(..., batch => id) adds jobs, and returns its id. name: for '
    'people; callback_type, callback_data: a job that runs after the jobs of the batch; call_when: '
    'finished (all have ended), succeeded (all have; else it is skipped) or first_failure (as soon '
    'as one fails; else it is skipped); queue: of the callback, NULL = the one that has the type; '
    'expires_after: how long it may stay open; closed: only this transaction adds jobs';

CREATE FUNCTION hipq.close_batch(batch bigint) RETURNS boolean LANGUAGE c
    AS 'MODULE_PATHNAME', 'hipq_close_batch';
COMMENT ON FUNCTION hipq.close_batch(bigint)
    IS 'says that no more jobs will be added to a batch, but by its own jobs while they run; '
    'false: it was closed already';

CREATE FUNCTION hipq.current_batch(job bigint DEFAULT NULL) RETURNS bigint LANGUAGE c
    AS 'MODULE_PATHNAME', 'hipq_current_batch';
COMMENT ON FUNCTION hipq.current_batch(bigint)
    IS 'the batch that a job belongs to, or comes after. job: NULL = the job whose handler calls; '
    'NULL: it has none';

CREATE FUNCTION hipq._batch_counts(
    batch bigint, OUT state text, OUT jobs bigint, OUT unfinished bigint, OUT failed bigint,
    OUT skipped bigint
) RETURNS SETOF record LANGUAGE c STABLE ROWS 1 AS 'MODULE_PATHNAME', 'hipq__batch_counts';
COMMENT ON FUNCTION hipq._batch_counts(bigint)
    IS 'numbers of jobs of a batch whose queue the current user may read';

CREATE FUNCTION hipq.enqueue_graph(
    graph jsonb, queue text DEFAULT NULL, deadline timestamptz DEFAULT NULL,
    OUT name text, OUT id bigint
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue_graph';
COMMENT ON FUNCTION hipq.enqueue_graph(jsonb, text, timestamptz)
    IS 'enqueues jobs that come after each other, in the caller''s transaction. graph: an array of '
    'objects with name, job_type, after (names, or ids as numbers), after_policy, on_failure and '
    'arguments of enqueue(); queue: of the jobs that name none; deadline: expires_time of the jobs '
    'that give none. Returns the name and id of each job';

CREATE FUNCTION hipq.outcome_of(id bigint) RETURNS text LANGUAGE c
    AS 'MODULE_PATHNAME', 'hipq_outcome_of';
COMMENT ON FUNCTION hipq.outcome_of(bigint)
    IS 'how a job ended: succeeded, failed, cancelled, expired or skipped; waiting or running: it '
    'has not';

CREATE FUNCTION hipq.outcome_of(name text, job bigint DEFAULT NULL) RETURNS text LANGUAGE c
    AS 'MODULE_PATHNAME', 'hipq_outcome_of_name';
COMMENT ON FUNCTION hipq.outcome_of(text, bigint)
    IS 'how the job of that name in a graph ended. job: the graph, or any of its jobs; NULL = the '
    'job whose handler calls. Without it, a number is the id of a job';

CREATE FUNCTION hipq.result_of(id bigint) RETURNS jsonb LANGUAGE c
    AS 'MODULE_PATHNAME', 'hipq_result_of';
COMMENT ON FUNCTION hipq.result_of(bigint)
    IS 'what the handler or the worker of a job returned; NULL: nothing, or it has not ended';

CREATE FUNCTION hipq.result_of(name text, job bigint DEFAULT NULL) RETURNS jsonb LANGUAGE c
    AS 'MODULE_PATHNAME', 'hipq_result_of_name';
COMMENT ON FUNCTION hipq.result_of(text, bigint)
    IS 'the same of the job of that name in a graph. job: the graph, or any of its jobs; NULL = '
    'the job whose handler calls';

CREATE FUNCTION hipq._graph_member(
    queue_id integer, id bigint,
    OUT job_type text, OUT outcome text, OUT waits_for text, OUT created_time timestamptz,
    OUT started_time timestamptz, OUT ended_time timestamptz, OUT error text
) RETURNS SETOF record LANGUAGE c STABLE ROWS 1 AS 'MODULE_PATHNAME', 'hipq__graph_member';
COMMENT ON FUNCTION hipq._graph_member(integer, bigint)
    IS 'a job of a queue that the current user may read';

CREATE FUNCTION hipq._newest_graphs(before bigint, most integer) RETURNS bigint[]
    LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'hipq__newest_graphs';
COMMENT ON FUNCTION hipq._newest_graphs(bigint, integer)
    IS 'graphs with jobs that the current user may read, the newest first, at most that many. '
    'before: only those that are older than this graph; NULL = all. hipq-web and hipq-top list '
    'them';

CREATE FUNCTION hipq._newest_batches(before bigint, most integer) RETURNS bigint[]
    LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'hipq__newest_batches';
COMMENT ON FUNCTION hipq._newest_batches(bigint, integer)
    IS 'batches of queues that the current user may read, the newest first, at most that many. '
    'before: only those that are older than this batch; NULL = all. hipq-web lists them';
