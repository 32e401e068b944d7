-- The type for time windows, and the functions that say what keeps due jobs from starting.

CREATE FUNCTION hipq._are_time_windows(windows text) RETURNS boolean
    LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'hipq__are_time_windows';
COMMENT ON FUNCTION hipq._are_time_windows(text)
    IS 'true; 22023: they are none, with the place where they are not';

CREATE DOMAIN hipq.time_windows AS text COLLATE "C"
    CONSTRAINT time_windows_are_short CHECK (octet_length(VALUE) <= 1000)
    CONSTRAINT time_windows_can_be_read CHECK (hipq._are_time_windows(VALUE));
COMMENT ON DOMAIN hipq.time_windows
    IS 'when jobs may start: windows such as ''mon-fri 09:00-17:00, sat 22:00-06:00'' in '
    'canonical form; ''NONE'' means always';

CREATE FUNCTION hipq._limiters(
    OUT queue_id integer, OUT job_type text, OUT used bigint, OUT jobs integer
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__limiters';
COMMENT ON FUNCTION hipq._limiters()
    IS 'what runs in each queue (job_type NULL) and of each job type in thousandths of '
    'throttle_factor, from shared memory; views hipq.queues and hipq.job_types show it';

CREATE FUNCTION hipq._first_unmet_condition(
    queue_id integer, job_type text, time_windows text, throttle_key text, throttle_factor numeric
) RETURNS text LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'hipq__first_unmet_condition';
COMMENT ON FUNCTION hipq._first_unmet_condition(integer, text, text, text, numeric)
    IS 'what keeps due jobs of that kind from starting: window, hold, pause, handler, throttle or '
    'none; view hipq.queues counts by it';
