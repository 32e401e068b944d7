-- Types of the columns of a job.
CREATE TYPE hipq.job_state AS ENUM ('initial', 'running', 'error', 'retry', 'final');
COMMENT ON TYPE hipq.job_state IS 'state of a job: initial and retry wait in line, running runs, error awaits the retry decision, final never changes';

CREATE FUNCTION hipq._are_time_windows(windows text) RETURNS boolean LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'hipq__are_time_windows';
COMMENT ON FUNCTION hipq._are_time_windows(text) IS 'true; 22023: they are none, with the place where they are not';

CREATE DOMAIN hipq.time_windows AS text COLLATE "C"
    CONSTRAINT time_windows_are_short CHECK (octet_length(VALUE) <= 1000)
    CONSTRAINT time_windows_can_be_read CHECK (hipq._are_time_windows(VALUE));
COMMENT ON DOMAIN hipq.time_windows IS 'when jobs may start: windows such as ''mon-fri 09:00-17:00, sat 22:00-06:00'' in canonical form; ''NONE'' means always';
