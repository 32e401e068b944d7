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
        CHECK (after_policy IN ('succeeded', 'finished', 'any')),
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
    'have ended; any = when one of them has succeeded';
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
