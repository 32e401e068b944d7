-- Functions for operators: why a job waits, how it ended, and the contents of shared memory.

CREATE FUNCTION hipq.why(
    id bigint, queue text DEFAULT NULL, OUT condition text, OUT passed boolean, OUT explanation text
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_why';
COMMENT ON FUNCTION hipq.why(bigint, text)
    IS 'tells what a job waits for: every condition between it and its start, in the order of the '
    'scheduler. id: the job; queue: where to look for it';

CREATE FUNCTION hipq.wait_for(
    id bigint, timeout hipq.duration DEFAULT '1 minute', queue text DEFAULT NULL,
    OUT outcome text, OUT result jsonb, OUT error text
) RETURNS record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_wait_for';
COMMENT ON FUNCTION hipq.wait_for(bigint, hipq.duration, text)
    IS 'waits until a job is final, and returns its outcome, result and error. id: the job; '
    'timeout: how long, NULL = as long as it takes; queue: where to look for the job';

CREATE FUNCTION hipq._executors(
    OUT pid integer, OUT database oid, OUT role oid, OUT status text, OUT started_time timestamptz,
    OUT queue_id integer, OUT job_id bigint, OUT attempt integer, OUT job_type text,
    OUT job_started_time timestamptz, OUT jobs_done bigint
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__executors';
COMMENT ON FUNCTION hipq._executors()
    IS 'executors of the server from shared memory; view hipq.executors shows them';

CREATE FUNCTION hipq._running_jobs(
    OUT pid integer, OUT queue_id integer, OUT job_id bigint, OUT attempt integer,
    OUT job_type text, OUT started_time timestamptz, OUT is_locked boolean,
    OUT deadline timestamptz, OUT worker_id bigint, OUT is_accepted boolean
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__running_jobs';
COMMENT ON FUNCTION hipq._running_jobs()
    IS 'jobs of this database that executors run, that external workers have, or that are '
    'offered to them, from shared memory; view hipq.running shows them';

CREATE FUNCTION hipq._jobs_by_id(ids bigint[]) RETURNS SETOF hipq.job
    LANGUAGE c STRICT STABLE ROWS 1 AS 'MODULE_PATHNAME', 'hipq__jobs_by_id';
COMMENT ON FUNCTION hipq._jobs_by_id(bigint[])
    IS 'jobs with these ids, in all queues that the current user may read';

CREATE FUNCTION hipq._jobs_queue_by_queue() RETURNS SETOF hipq.job
    LANGUAGE c STABLE ROWS 100000 AS 'MODULE_PATHNAME', 'hipq__jobs_queue_by_queue';
COMMENT ON FUNCTION hipq._jobs_queue_by_queue()
    IS 'jobs of all queues that the current user may read; the planner puts a scan in its place';

CREATE FUNCTION hipq._unfinished_queue_by_queue(
    OUT queue_id integer, OUT id bigint, OUT state hipq.job_state, OUT job_type text,
    OUT job_key text, OUT throttle_key text, OUT throttle_factor numeric, OUT time_windows text,
    OUT attempt integer, OUT worker_id bigint, OUT timeout integer,
    OUT scheduled_run_time timestamptz, OUT update_time timestamptz, OUT accepted_time timestamptz,
    OUT deadline timestamptz, OUT waits_for text
) RETURNS SETOF record LANGUAGE c STABLE ROWS 100000
    AS 'MODULE_PATHNAME', 'hipq__unfinished_queue_by_queue';
COMMENT ON FUNCTION hipq._unfinished_queue_by_queue()
    IS 'the same for jobs that are not final, of all queues that the current user may look at; '
    'job_key: NULL if he may not read the queue';

CREATE FUNCTION hipq._unfinished_job(
    queue_id integer, id bigint,
    OUT state text, OUT job_type text, OUT job_key text, OUT throttle_key text,
    OUT throttle_factor numeric, OUT timeout integer, OUT accepted_time timestamptz
) RETURNS SETOF record LANGUAGE c STRICT STABLE ROWS 1 AS 'MODULE_PATHNAME', 'hipq__unfinished_job';
COMMENT ON FUNCTION hipq._unfinished_job(integer, bigint)
    IS 'a job that is not final, of a queue that the current user may look at; job_key: NULL if he '
    'may not read it';

CREATE FUNCTION hipq._progress(
    OUT queue_id integer, OUT job_id bigint, OUT attempt integer, OUT done bigint, OUT total bigint,
    OUT message text, OUT reported_time timestamptz, OUT pid integer, OUT worker_id bigint
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__progress';
COMMENT ON FUNCTION hipq._progress()
    IS 'how far the jobs of this database that run have come, from shared memory; view '
    'hipq.progress shows it';

CREATE FUNCTION hipq._lanes(
    OUT queue_id integer, OUT job_type text, OUT priority integer, OUT due_time timestamptz,
    OUT frontier_time timestamptz, OUT frontier_id bigint, OUT pockets integer, OUT notes integer,
    OUT is_read boolean
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__lanes';
COMMENT ON FUNCTION hipq._lanes()
    IS 'lanes of this database from shared memory; view hipq.lanes shows them';

CREATE FUNCTION hipq._backlog(
    queue_id integer, OUT jobs bigint, OUT is_exact boolean
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__backlog';
COMMENT ON FUNCTION hipq._backlog(integer)
    IS 'counts the unfinished jobs of a queue; view hipq.backlog shows them';

CREATE FUNCTION hipq._depth(
    queue_id integer, OUT jobs bigint, OUT is_exact boolean, OUT oldest_due_time timestamptz
) RETURNS record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__depth';
COMMENT ON FUNCTION hipq._depth(integer)
    IS 'unfinished jobs of a queue, of a large one about, and when the first of those that are due '
    'was due, from its table; views hipq.activity and hipq.top() show it';

CREATE FUNCTION hipq._held(queue text) RETURNS bigint
    LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'hipq__held';
COMMENT ON FUNCTION hipq._held(text)
    IS 'jobs of a queue that wait for other jobs, counted up to 1000; NULL: the current user may '
    'not look at the queue, or somebody has locked it. hipq-web and hipq-top show it';

CREATE FUNCTION hipq._workers(
    OUT worker_id bigint, OUT place integer, OUT is_active boolean, OUT health text,
    OUT last_check timestamptz, OUT consecutive_failures integer, OUT total_executions bigint,
    OUT failed_executions bigint, OUT average_execution_time_ms double precision,
    OUT queue_depth integer, OUT failure_rate double precision, OUT running_jobs integer,
    OUT last_heartbeat timestamptz, OUT pid integer
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__workers';
COMMENT ON FUNCTION hipq._workers()
    IS 'external workers of this database from shared memory; view hipq.workers shows them';

CREATE FUNCTION hipq._worker_services(
    OUT queue_id integer, OUT job_type text, OUT workers integer, OUT best_worker bigint
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__worker_services';
COMMENT ON FUNCTION hipq._worker_services()
    IS 'job types that external workers serve, how many of them are there, and which is the next '
    'to be given a job; view hipq.job_types shows it';

CREATE FUNCTION hipq._alerts(
    OUT alert text, OUT times bigint, OUT first_time timestamptz, OUT last_time timestamptz,
    OUT detail text, OUT hint text
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__alerts';
COMMENT ON FUNCTION hipq._alerts()
    IS 'what shared memory has to tell an operator; view hipq.alerts shows it';

CREATE FUNCTION hipq._overdue(
    OUT alert text, OUT severity text, OUT jobs bigint, OUT first_time timestamptz,
    OUT last_time timestamptz, OUT detail text, OUT hint text
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__overdue';
COMMENT ON FUNCTION hipq._overdue()
    IS 'jobs of this database that should have started long ago, a row for each thing that keeps '
    'them; view hipq.alerts shows it';

CREATE FUNCTION hipq._is_running(queue_id integer, id bigint) RETURNS boolean
    LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'hipq__is_running';
COMMENT ON FUNCTION hipq._is_running(integer, bigint)
    IS 'whether an executor runs the job: one claimed by a lock, whose row still says that it '
    'waits; false for who may not read the queue';

CREATE FUNCTION hipq._sort_of_top(sort text) RETURNS text
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__sort_of_top';
COMMENT ON FUNCTION hipq._sort_of_top(text)
    IS 'the argument of hipq.top(), which has to be one of its columns, or busy';

CREATE FUNCTION hipq.who_fills(
    queue text, lines integer DEFAULT 20,
    OUT job_type text, OUT throttle_key text, OUT jobs bigint, OUT percent double precision,
    OUT last_minute bigint, OUT oldest_due_time timestamptz, OUT waits_for text,
    OUT first_job bigint
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_who_fills';
COMMENT ON FUNCTION hipq.who_fills(text, integer)
    IS 'tells whose unfinished jobs fill a queue: by job type and throttle key, the most first, '
    'and what the first of them waits for. A look at part of a large queue. lines: how many, '
    'NULL = all';
