-- What a handler calls while its job runs.

CREATE FUNCTION hipq.fail_retriable(message text) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_fail_retriable';
COMMENT ON FUNCTION hipq.fail_retriable(text)
    IS 'raises SQLSTATE HQ002: in a handler, the attempt fails with reason transient_error';

CREATE FUNCTION hipq.fail_permanently(message text) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_fail_permanently';
COMMENT ON FUNCTION hipq.fail_permanently(text)
    IS 'raises SQLSTATE HQ001: in a handler, the job is final with reason explicit_failure';

CREATE FUNCTION hipq.snooze(delay hipq.duration) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_snooze';
COMMENT ON FUNCTION hipq.snooze(hipq.duration) IS 'in a handler: when it returns, what it wrote is committed and its job waits to be run again after that time, uncharged';

CREATE FUNCTION hipq.complete_later() RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_complete_later';
COMMENT ON FUNCTION hipq.complete_later()
    IS 'in a handler: when it returns, what it wrote is committed and its job stays running, '
    'until somebody completes or fails it or its timeout comes; raises 55000 outside of a '
    'handler, 0A000 in one that takes batches';

CREATE FUNCTION hipq.report_progress(done bigint, total bigint DEFAULT NULL, message text DEFAULT NULL) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_report_own_progress';
COMMENT ON FUNCTION hipq.report_progress(bigint, bigint, text)
    IS 'in a handler: says how far it has come; view hipq.progress shows it at once, whatever '
    'becomes of the transaction, unless the job runs in a client''s session (run_until_idle, '
    'dry_run); raises 22023 if done is negative or more than total';

CREATE FUNCTION hipq.extend(more hipq.duration) RETURNS timestamptz LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_extend_own';
COMMENT ON FUNCTION hipq.extend(hipq.duration) IS 'in a handler: gives its own job, or its batch, more time; returns when it times out now';
