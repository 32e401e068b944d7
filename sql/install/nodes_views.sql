-- What is seen of other nodes of a sharded instance.

CREATE FUNCTION hipq.find_job(id bigint, queue text DEFAULT NULL) RETURNS SETOF hipq.jobs_detail
    LANGUAGE c ROWS 1 AS 'MODULE_PATHNAME', 'hipq_find_job';
COMMENT ON FUNCTION hipq.find_job(bigint, text)
    IS 'the row of view hipq.jobs_detail of a job, on whichever server of the instance it is; no row '
    'if there is no such job. id: the job; queue: where to look for it';
