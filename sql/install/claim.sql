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

CREATE FUNCTION hipq._is_rate(rate text) RETURNS boolean
    LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'hipq__is_rate';
COMMENT ON FUNCTION hipq._is_rate(text)
    IS 'true; 22023: it is none, with the place where it is not';

CREATE DOMAIN hipq.rate AS text COLLATE "C"
    CONSTRAINT rate_can_be_read CHECK (hipq._is_rate(VALUE));
COMMENT ON DOMAIN hipq.rate
    IS 'how many jobs may start in a time, such as ''100/min'', in canonical form; ''NONE'' means '
    'any number';

CREATE FUNCTION hipq._is_breaker_rule(rule text) RETURNS boolean
    LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'hipq__is_breaker_rule';
COMMENT ON FUNCTION hipq._is_breaker_rule(text)
    IS 'true; 22023: it is none, with the place where it is not';

CREATE DOMAIN hipq.breaker_rule AS text COLLATE "C"
    CONSTRAINT breaker_rule_can_be_read CHECK (hipq._is_breaker_rule(VALUE));
COMMENT ON DOMAIN hipq.breaker_rule
    IS 'when a breaker opens, and for how long, such as ''50% of 20 in 1 min, open 30 s'', in '
    'canonical form; ''NONE'' means never';

CREATE FUNCTION hipq._breaker(
    queue_id integer, job_type text, OUT state text, OUT since timestamptz, OUT until timestamptz,
    OUT cause text
) LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'hipq__breaker';
COMMENT ON FUNCTION hipq._breaker(integer, text)
    IS 'the breaker of a job type now: closed, open or half open; since and until when (NULL = '
    'until close_breaker()), and why. All NULL: the caller may not see it';

CREATE FUNCTION hipq._key_hash(throttle_key text) RETURNS bigint
    LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'hipq__key_hash';
COMMENT ON FUNCTION hipq._key_hash(text)
    IS 'hash of a throttle key, by which the jobs of queues with full keys are indexed; 0 for '
    '''NONE''';

-- Written before jobs start, because shared memory does not survive a crash. The rows of one server
-- are of no use to another, so pg_dump leaves them out.
CREATE TABLE hipq.rate_lease (
    queue_id     integer NOT NULL,
    job_type     text COLLATE "C" NOT NULL,
    throttle_key bigint NOT NULL DEFAULT 0,
    granted_time timestamptz NOT NULL,
    weight       bigint NOT NULL,
    CONSTRAINT rate_lease_pkey PRIMARY KEY (queue_id, job_type, throttle_key, granted_time)
);
COMMENT ON TABLE hipq.rate_lease
    IS 'what rate limits of more than 10 seconds allowed to start lately: after a crash it counts '
    'as started';
COMMENT ON COLUMN hipq.rate_lease.queue_id IS 'queue';
COMMENT ON COLUMN hipq.rate_lease.job_type IS 'job type; empty: the limit is the queue''s';
COMMENT ON COLUMN hipq.rate_lease.throttle_key
    IS 'hash of the throttle key; 0: the limit is the queue''s or the job type''s';
COMMENT ON COLUMN hipq.rate_lease.granted_time IS 'from when on jobs were allowed to start';
COMMENT ON COLUMN hipq.rate_lease.weight
    IS 'what they may weigh together, in thousandths of throttle_factor';

CREATE FUNCTION hipq._rates(
    OUT queue_id integer, OUT job_type text, OUT used bigint, OUT next_turn timestamptz
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__rates';
COMMENT ON FUNCTION hipq._rates()
    IS 'what each rate limit of a queue (job_type NULL) and of each job type counts now, in '
    'thousandths of throttle_factor, and when the next job may start, from shared memory; views '
    'hipq.queues and hipq.job_types show it';

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
    IS 'what keeps due jobs of that kind from starting: window, hold, pause, handler, throttle, '
    'rate or none; view hipq.queues counts by it';
