-- Views of batches, and of graphs: jobs that hipq.enqueue_graph() made.

CREATE VIEW hipq.batches_detail WITH (security_barrier) AS
SELECT batch.batch_id,
       batch.name,
       queue.name AS queue,
       counts.state,
       counts.jobs,
       counts.unfinished,
       counts.jobs - counts.unfinished - counts.failed - counts.skipped AS succeeded,
       counts.failed,
       counts.skipped,
       (SELECT min(later.job_id)
        FROM hipq.dependency AS later
        WHERE later.before_id = batch.batch_id
       ) AS callback_id,
       batch.created_time,
       batch.closed_time,
       batch.expires_time
FROM hipq.batch
JOIN hipq._readable_queue AS queue ON queue.queue_id = batch.queue_id
CROSS JOIN LATERAL hipq._batch_counts(batch.batch_id) AS counts;
COMMENT ON VIEW hipq.batches_detail
    IS 'batches with the numbers of their jobs, of queues that the current user may read: give '
    'batch_id if batches have very many unfinished jobs, because these are counted';
COMMENT ON COLUMN hipq.batches_detail.batch_id IS 'id of the batch';
COMMENT ON COLUMN hipq.batches_detail.name IS 'name; NULL = none';
COMMENT ON COLUMN hipq.batches_detail.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.batches_detail.state
    IS 'open = it takes jobs; running = it is closed, and some have not ended; finished; abandoned '
    '= all have ended, but nobody has closed it';
COMMENT ON COLUMN hipq.batches_detail.jobs IS 'jobs that were added';
COMMENT ON COLUMN hipq.batches_detail.unfinished IS 'jobs that have not ended';
COMMENT ON COLUMN hipq.batches_detail.succeeded IS 'jobs that succeeded';
COMMENT ON COLUMN hipq.batches_detail.failed IS 'jobs that failed, were cancelled or expired';
COMMENT ON COLUMN hipq.batches_detail.skipped IS 'jobs that were skipped';
COMMENT ON COLUMN hipq.batches_detail.callback_id
    IS 'id of the first job that comes after it, which is its callback if it has one; NULL = none '
    'is kept';
COMMENT ON COLUMN hipq.batches_detail.created_time IS 'when it was made';
COMMENT ON COLUMN hipq.batches_detail.closed_time IS 'when it was closed; NULL = nobody has';
COMMENT ON COLUMN hipq.batches_detail.expires_time IS 'from then on it counts as closed';

CREATE FUNCTION hipq.batch_progress(
    batch bigint, OUT state text, OUT jobs bigint, OUT unfinished bigint, OUT succeeded bigint,
    OUT failed bigint, OUT skipped bigint
) RETURNS SETOF record
    LANGUAGE sql STABLE ROWS 1 SET search_path = pg_catalog, pg_temp
AS $$
    SELECT known.state, known.jobs, known.unfinished, known.succeeded, known.failed, known.skipped
    FROM hipq.batches_detail AS known
    WHERE known.batch_id = batch_progress.batch
$$;
COMMENT ON FUNCTION hipq.batch_progress(bigint)
    IS 'the state of a batch and the numbers of its jobs, as view hipq.batches has them; no row: '
    'there is none, or the current user may not read its queue';

CREATE VIEW hipq.graph_jobs_detail WITH (security_barrier) AS
SELECT member.graph_id,
       member.name,
       job.outcome,
       ARRAY(
           SELECT coalesce(named.name, dependency.before_id::text)
           FROM hipq.dependency
           LEFT JOIN hipq.graph_job AS named
               ON named.job_id = dependency.before_id AND named.graph_id = member.graph_id
           WHERE dependency.queue_id = member.queue_id AND dependency.job_id = member.job_id
           ORDER BY dependency.before_id
       ) AS after,
       member.job_id,
       queue.name AS queue,
       job.job_type,
       job.created_time,
       job.started_time,
       job.ended_time,
       job.error
FROM hipq.graph_job AS member
JOIN hipq._readable_queue AS queue ON queue.queue_id = member.queue_id
CROSS JOIN LATERAL hipq._graph_member(member.queue_id, member.job_id) AS job;
COMMENT ON VIEW hipq.graph_jobs_detail
    IS 'jobs of graphs, of queues that the current user may read: give graph_id, because each job '
    'is looked up';
COMMENT ON COLUMN hipq.graph_jobs_detail.graph_id IS 'graph: the lowest id of its jobs';
COMMENT ON COLUMN hipq.graph_jobs_detail.name IS 'name of the job in the graph';
COMMENT ON COLUMN hipq.graph_jobs_detail.outcome
    IS 'waiting, running, succeeded, failed, cancelled, expired or skipped';
COMMENT ON COLUMN hipq.graph_jobs_detail.after
    IS 'names of the jobs that it comes after; ids of those outside the graph';
COMMENT ON COLUMN hipq.graph_jobs_detail.job_id IS 'id of the job';
COMMENT ON COLUMN hipq.graph_jobs_detail.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.graph_jobs_detail.job_type IS 'job type';
COMMENT ON COLUMN hipq.graph_jobs_detail.created_time IS 'when it was enqueued';
COMMENT ON COLUMN hipq.graph_jobs_detail.started_time
    IS 'when the present or last attempt started; NULL = none yet';
COMMENT ON COLUMN hipq.graph_jobs_detail.ended_time IS 'when it ended; NULL = it has not';
COMMENT ON COLUMN hipq.graph_jobs_detail.error
    IS 'why it did not succeed; NULL = it did, or has not ended';

CREATE VIEW hipq.graphs_detail WITH (security_barrier) AS
SELECT graph_id,
       count(*) AS jobs,
       count(*) FILTER (WHERE outcome = 'waiting') AS waiting,
       count(*) FILTER (WHERE outcome = 'running') AS running,
       count(*) FILTER (WHERE outcome = 'succeeded') AS succeeded,
       count(*) FILTER (WHERE outcome IN ('failed', 'cancelled', 'expired')) AS failed,
       count(*) FILTER (WHERE outcome = 'skipped') AS skipped,
       min(created_time) AS created_time,
       CASE WHEN bool_and(ended_time IS NOT NULL) THEN max(ended_time) END AS ended_time
FROM hipq.graph_jobs_detail
GROUP BY graph_id;
COMMENT ON VIEW hipq.graphs_detail
    IS 'graphs with the numbers of their jobs, of queues that the current user may read';
COMMENT ON COLUMN hipq.graphs_detail.graph_id IS 'graph: the lowest id of its jobs';
COMMENT ON COLUMN hipq.graphs_detail.jobs IS 'number of its jobs';
COMMENT ON COLUMN hipq.graphs_detail.waiting IS 'jobs that wait, for other jobs or for an executor';
COMMENT ON COLUMN hipq.graphs_detail.running IS 'jobs that run';
COMMENT ON COLUMN hipq.graphs_detail.succeeded IS 'jobs that succeeded';
COMMENT ON COLUMN hipq.graphs_detail.failed IS 'jobs that failed, were cancelled or expired';
COMMENT ON COLUMN hipq.graphs_detail.skipped IS 'jobs that were skipped';
COMMENT ON COLUMN hipq.graphs_detail.created_time IS 'when it was enqueued';
COMMENT ON COLUMN hipq.graphs_detail.ended_time
    IS 'when its last job ended; NULL = it has not ended';

CREATE FUNCTION hipq.graph_dot(id bigint) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
    RETURN (
        SELECT format(
            E'digraph hipq {\n    node [shape=box, style=filled, fillcolor=white];\n%s%s}\n',
            string_agg(
                format(
                    E'    %s [label=%s%s];\n', to_json(member.name),
                    to_json(member.name || E'\n' || member.outcome),
                    CASE member.outcome
                        WHEN 'running' THEN ', fillcolor=lightblue'
                        WHEN 'succeeded' THEN ', fillcolor=palegreen'
                        WHEN 'waiting' THEN ''
                        WHEN 'skipped' THEN ', fillcolor=lightgrey'
                        ELSE ', fillcolor=lightpink'
                    END
                ), '' ORDER BY member.job_id
            ),
            string_agg(
                (SELECT string_agg(
                            format(E'    %s -> %s;\n', to_json(earlier), to_json(member.name)), ''
                        )
                 FROM unnest(member.after) AS earlier), '' ORDER BY member.job_id
            )
        )
        FROM hipq.graph_jobs_detail AS member
        WHERE member.graph_id = graph_dot.id
        HAVING count(*) > 0
    );
COMMENT ON FUNCTION hipq.graph_dot(bigint)
    IS 'a graph in the language of Graphviz, with the outcomes of its jobs; NULL = there is none';
