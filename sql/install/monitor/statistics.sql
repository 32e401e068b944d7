-- Functions for counters of jobs. The counters are in shared memory: nothing here reads tables of
-- jobs.

CREATE FUNCTION hipq._statistics(
    OUT queue_id integer, OUT job_type text, OUT period text, OUT since timestamptz,
    OUT succeeded bigint, OUT failed bigint, OUT cancelled bigint, OUT expired bigint,
    OUT retried bigint, OUT put_back bigint, OUT recovered bigint, OUT lost bigint,
    OUT retries_used bigint, OUT dead_letters bigint, OUT retry_rate double precision,
    OUT retry_success_rate double precision, OUT failure_rate double precision,
    OUT wait_p50 double precision, OUT wait_p90 double precision, OUT wait_p99 double precision,
    OUT run_p50 double precision, OUT run_p90 double precision, OUT run_p99 double precision
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__statistics';
COMMENT ON FUNCTION hipq._statistics()
    IS 'what is counted of jobs of this database, from shared memory; view hipq.statistics shows '
    'it';

CREATE FUNCTION hipq._histograms(
    OUT queue_id integer, OUT job_type text, OUT measure text, OUT since timestamptz,
    OUT upper_bound double precision, OUT jobs bigint, OUT sum double precision
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__histograms';
COMMENT ON FUNCTION hipq._histograms()
    IS 'how long jobs waited and attempts ran, from shared memory; view hipq.histograms shows it';

CREATE FUNCTION hipq._retry_distribution(
    OUT queue_id integer, OUT job_type text, OUT period text, OUT retries text,
    OUT least_retries integer, OUT jobs bigint
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__retry_distribution';
COMMENT ON FUNCTION hipq._retry_distribution()
    IS 'how many retries jobs took; view hipq.retry_distribution shows it';

CREATE FUNCTION hipq._failure_statistics(
    OUT queue_id integer, OUT job_type text, OUT period text, OUT reason text, OUT failures bigint,
    OUT retries bigint, OUT recoveries bigint
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__failure_statistics';
COMMENT ON FUNCTION hipq._failure_statistics()
    IS 'the same by reason; view hipq.failure_statistics shows it';

CREATE FUNCTION hipq._throughput(
    OUT queue_id integer, OUT minute timestamptz, OUT succeeded bigint, OUT failed bigint,
    OUT cancelled bigint, OUT expired bigint, OUT retried bigint, OUT dead_letters bigint
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__throughput';
COMMENT ON FUNCTION hipq._throughput()
    IS 'the same by minute; view hipq.throughput shows it';

CREATE FUNCTION hipq._finished_lately(
    OUT queue_id integer, OUT since timestamptz, OUT finished bigint
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__finished_lately';
COMMENT ON FUNCTION hipq._finished_lately()
    IS 'jobs that succeeded or failed since the begin of the last whole minute; view hipq.activity '
    'shows it';

CREATE FUNCTION hipq.stat_reset(queue text DEFAULT NULL) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_stat_reset';
COMMENT ON FUNCTION hipq.stat_reset(text)
    IS 'sets statistics to nothing. queue: the queue, NULL = all queues of this database';
