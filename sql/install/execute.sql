-- Functions that a handler calls while its job runs.

CREATE FUNCTION hipq.fail_retriable(message text) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_fail_retriable';
COMMENT ON FUNCTION hipq.fail_retriable(text)
    IS 'fails the attempt of the handler that calls it, with reason transient_error. message: the '
    'error. It raises HQ002';

CREATE FUNCTION hipq.fail_permanently(message text) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_fail_permanently';
COMMENT ON FUNCTION hipq.fail_permanently(text)
    IS 'fails the job of the handler that calls it for good, with reason explicit_failure. '
    'message: the error. It raises HQ001';

CREATE FUNCTION hipq.retry_after(
    delay hipq.duration, message text DEFAULT 'retry asked for'
) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_retry_after';
COMMENT ON FUNCTION hipq.retry_after(hipq.duration, text)
    IS 'fails the attempt of the handler that calls it, with reason transient_error; a retry waits '
    'as long as it says. delay: how long; message: the error. It raises HQ002';

CREATE FUNCTION hipq.rate_limited(
    retry_after hipq.duration, message text DEFAULT 'the service allows no more calls now'
) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_rate_limited';
COMMENT ON FUNCTION hipq.rate_limited(hipq.duration, text)
    IS 'fails the attempt as retry_after() does, because a service allows no more calls now. '
    'retry_after: how long a retry waits; message: the error. It raises HQ002';

CREATE FUNCTION hipq.snooze(delay hipq.duration) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_snooze';
COMMENT ON FUNCTION hipq.snooze(hipq.duration)
    IS 'puts the job of the handler that calls it off, uncharged. delay: how long from now. When '
    'the handler returns, what it wrote is committed';

CREATE FUNCTION hipq.complete_later() RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_complete_later';
COMMENT ON FUNCTION hipq.complete_later()
    IS 'leaves the job of the handler that calls it running when the handler returns, until '
    'complete(), fail() or its timeout. What the handler wrote is committed';

CREATE FUNCTION hipq.report_progress(
    done bigint, total bigint DEFAULT NULL, message text DEFAULT NULL
) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_report_own_progress';
COMMENT ON FUNCTION hipq.report_progress(bigint, bigint, text)
    IS 'tells how far the job of the handler that calls it has come, for view hipq.progress. '
    'done: how much; total: of how much, NULL = not known; message: what it does, 200 bytes are '
    'kept. It shows at once, whatever becomes of the transaction';

CREATE FUNCTION hipq.extend(more hipq.duration) RETURNS timestamptz
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_extend_own';
COMMENT ON FUNCTION hipq.extend(hipq.duration)
    IS 'gives the job of the handler that calls it more time, if less is left, and returns when it '
    'times out. more: how long from now';
