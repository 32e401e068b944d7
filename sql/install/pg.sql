-- The types of arguments that are a length of time (text, an interval, or any number of seconds),
-- or a time that may be given by its distance from now.

CREATE TYPE hipq.duration;

CREATE FUNCTION hipq._duration_in(cstring) RETURNS hipq.duration
    LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'hipq__duration_in';
COMMENT ON FUNCTION hipq._duration_in(cstring)
    IS 'reads a duration: what an interval is read from; a number without a unit counts seconds';

CREATE FUNCTION hipq._duration_out(hipq.duration) RETURNS cstring
    LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'hipq__duration_out';
COMMENT ON FUNCTION hipq._duration_out(hipq.duration)
    IS 'writes a duration as an interval is written';

CREATE TYPE hipq.duration (INPUT = hipq._duration_in, OUTPUT = hipq._duration_out, LIKE = bigint);
COMMENT ON TYPE hipq.duration
    IS 'a length of time: ''5 min'', interval ''5 min'', 300 (seconds) and ''300'' are the same; '
    'a month counts as 30 days';

-- A driver may send a parameter with any of these types. Each type needs its own cast, because
-- PostgreSQL does not chain implicit casts.
CREATE FUNCTION hipq._duration(value text) RETURNS hipq.duration
    LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'hipq__duration_of_text';
CREATE FUNCTION hipq._duration(value interval) RETURNS hipq.duration
    LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'hipq__duration_of_interval';
CREATE FUNCTION hipq._duration(value smallint) RETURNS hipq.duration
    LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'hipq__duration_of_smallint';
CREATE FUNCTION hipq._duration(value integer) RETURNS hipq.duration
    LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'hipq__duration_of_integer';
CREATE FUNCTION hipq._duration(value bigint) RETURNS hipq.duration
    LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'hipq__duration_of_bigint';
CREATE FUNCTION hipq._duration(value real) RETURNS hipq.duration
    LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'hipq__duration_of_real';
CREATE FUNCTION hipq._duration(value double precision) RETURNS hipq.duration
    LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'hipq__duration_of_double';
CREATE FUNCTION hipq._duration(value numeric) RETURNS hipq.duration
    LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'hipq__duration_of_numeric';
COMMENT ON FUNCTION hipq._duration(text)
    IS 'the duration that a text says, as _duration_in reads it';
COMMENT ON FUNCTION hipq._duration(interval)
    IS 'the duration of an interval; a month counts as 30 days';
COMMENT ON FUNCTION hipq._duration(smallint) IS 'the duration of so many seconds';
COMMENT ON FUNCTION hipq._duration(integer) IS 'the duration of so many seconds';
COMMENT ON FUNCTION hipq._duration(bigint) IS 'the duration of so many seconds';
COMMENT ON FUNCTION hipq._duration(real) IS 'the duration of so many seconds';
COMMENT ON FUNCTION hipq._duration(double precision) IS 'the duration of so many seconds';
COMMENT ON FUNCTION hipq._duration(numeric) IS 'the duration of so many seconds';

CREATE CAST (text AS hipq.duration) WITH FUNCTION hipq._duration(text) AS IMPLICIT;
COMMENT ON CAST (text AS hipq.duration) IS 'for arguments that are a length of time';
CREATE CAST (varchar AS hipq.duration) WITH FUNCTION hipq._duration(text) AS IMPLICIT;
COMMENT ON CAST (varchar AS hipq.duration) IS 'for arguments that are a length of time';
CREATE CAST (interval AS hipq.duration) WITH FUNCTION hipq._duration(interval) AS IMPLICIT;
COMMENT ON CAST (interval AS hipq.duration) IS 'for arguments that are a length of time';
CREATE CAST (smallint AS hipq.duration) WITH FUNCTION hipq._duration(smallint) AS IMPLICIT;
COMMENT ON CAST (smallint AS hipq.duration) IS 'for arguments that are a length of time';
CREATE CAST (integer AS hipq.duration) WITH FUNCTION hipq._duration(integer) AS IMPLICIT;
COMMENT ON CAST (integer AS hipq.duration) IS 'for arguments that are a length of time';
CREATE CAST (bigint AS hipq.duration) WITH FUNCTION hipq._duration(bigint) AS IMPLICIT;
COMMENT ON CAST (bigint AS hipq.duration) IS 'for arguments that are a length of time';
CREATE CAST (real AS hipq.duration) WITH FUNCTION hipq._duration(real) AS IMPLICIT;
COMMENT ON CAST (real AS hipq.duration) IS 'for arguments that are a length of time';
CREATE CAST (double precision AS hipq.duration)
    WITH FUNCTION hipq._duration(double precision) AS IMPLICIT;
COMMENT ON CAST (double precision AS hipq.duration) IS 'for arguments that are a length of time';
CREATE CAST (numeric AS hipq.duration) WITH FUNCTION hipq._duration(numeric) AS IMPLICIT;
COMMENT ON CAST (numeric AS hipq.duration) IS 'for arguments that are a length of time';

CREATE TYPE hipq.time_or_duration;

CREATE FUNCTION hipq._time_or_duration_in(cstring) RETURNS hipq.time_or_duration
    LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'hipq__time_or_duration_in';
COMMENT ON FUNCTION hipq._time_or_duration_in(cstring)
    IS 'reads what a timestamptz is read from; else what an interval is read from, if a unit is '
    'named';

CREATE FUNCTION hipq._time_or_duration_out(hipq.time_or_duration) RETURNS cstring
    LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'hipq__time_or_duration_out';
COMMENT ON FUNCTION hipq._time_or_duration_out(hipq.time_or_duration)
    IS 'writes a time as a timestamptz is written, a duration as an interval';

CREATE TYPE hipq.time_or_duration (
    INPUT = hipq._time_or_duration_in,
    OUTPUT = hipq._time_or_duration_out,
    INTERNALLENGTH = 16,
    ALIGNMENT = double
);
COMMENT ON TYPE hipq.time_or_duration
    IS 'a time, or how long from now: ''2026-12-24 18:00+01'', ''tomorrow 18:00'', a timestamptz, '
    'timestamp or date; ''2 hours'', an interval. A text without a date must name a unit';

CREATE FUNCTION hipq._time_or_duration(value text) RETURNS hipq.time_or_duration
    LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'hipq__time_or_duration_of_text';
CREATE FUNCTION hipq._time_or_duration(value interval) RETURNS hipq.time_or_duration
    LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'hipq__time_or_duration_of_interval';
CREATE FUNCTION hipq._time_or_duration(value timestamptz) RETURNS hipq.time_or_duration
    LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'hipq__time_or_duration_of_timestamptz';
CREATE FUNCTION hipq._time_or_duration(value timestamp) RETURNS hipq.time_or_duration
    LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'hipq__time_or_duration_of_timestamp';
CREATE FUNCTION hipq._time_or_duration(value date) RETURNS hipq.time_or_duration
    LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'hipq__time_or_duration_of_date';
COMMENT ON FUNCTION hipq._time_or_duration(text)
    IS 'the time or duration that a text says, as _time_or_duration_in reads it';
COMMENT ON FUNCTION hipq._time_or_duration(interval)
    IS 'the duration of an interval; a month counts as 30 days';
COMMENT ON FUNCTION hipq._time_or_duration(timestamptz) IS 'that time';
COMMENT ON FUNCTION hipq._time_or_duration(timestamp) IS 'that time in the session''s time zone';
COMMENT ON FUNCTION hipq._time_or_duration(date)
    IS 'the start of that day in the session''s time zone';

CREATE CAST (text AS hipq.time_or_duration)
    WITH FUNCTION hipq._time_or_duration(text) AS IMPLICIT;
COMMENT ON CAST (text AS hipq.time_or_duration) IS 'for arguments that are a time or a duration';
CREATE CAST (varchar AS hipq.time_or_duration)
    WITH FUNCTION hipq._time_or_duration(text) AS IMPLICIT;
COMMENT ON CAST (varchar AS hipq.time_or_duration) IS 'for arguments that are a time or a duration';
CREATE CAST (interval AS hipq.time_or_duration)
    WITH FUNCTION hipq._time_or_duration(interval) AS IMPLICIT;
COMMENT ON CAST (interval AS hipq.time_or_duration)
    IS 'for arguments that are a time or a duration';
CREATE CAST (timestamptz AS hipq.time_or_duration)
    WITH FUNCTION hipq._time_or_duration(timestamptz) AS IMPLICIT;
COMMENT ON CAST (timestamptz AS hipq.time_or_duration)
    IS 'for arguments that are a time or a duration';
CREATE CAST (timestamp AS hipq.time_or_duration)
    WITH FUNCTION hipq._time_or_duration(timestamp) AS IMPLICIT;
COMMENT ON CAST (timestamp AS hipq.time_or_duration)
    IS 'for arguments that are a time or a duration';
CREATE CAST (date AS hipq.time_or_duration)
    WITH FUNCTION hipq._time_or_duration(date) AS IMPLICIT;
COMMENT ON CAST (date AS hipq.time_or_duration) IS 'for arguments that are a time or a duration';

-- A role in a row that dumps contain. If the role does not exist where the rows are restored, the
-- result is a WARNING instead of the loss of all rows of the table.
CREATE TYPE hipq.role;
CREATE FUNCTION hipq._role_in(cstring) RETURNS hipq.role
    LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'hipq__role_in';
COMMENT ON FUNCTION hipq._role_in(cstring)
    IS 'reads a role as regrole does; one that does not exist is role 1, which never exists';
CREATE FUNCTION hipq._role_out(hipq.role) RETURNS cstring
    LANGUAGE internal STABLE STRICT AS 'regroleout';
COMMENT ON FUNCTION hipq._role_out(hipq.role) IS 'writes a role as regrole does';
CREATE FUNCTION hipq._role_recv(internal) RETURNS hipq.role
    LANGUAGE internal STABLE STRICT AS 'regrolerecv';
COMMENT ON FUNCTION hipq._role_recv(internal) IS 'reads a role in binary as regrole does';
CREATE FUNCTION hipq._role_send(hipq.role) RETURNS bytea
    LANGUAGE internal STABLE STRICT AS 'regrolesend';
COMMENT ON FUNCTION hipq._role_send(hipq.role) IS 'writes a role in binary as regrole does';
CREATE TYPE hipq.role (
    INPUT = hipq._role_in,
    OUTPUT = hipq._role_out,
    RECEIVE = hipq._role_recv,
    SEND = hipq._role_send,
    LIKE = regrole,
    CATEGORY = 'N'
);
COMMENT ON TYPE hipq.role IS 'a role as regrole; one that does not exist is read with a warning';
CREATE CAST (hipq.role AS oid) WITHOUT FUNCTION AS IMPLICIT;
COMMENT ON CAST (hipq.role AS oid) IS 'used wherever an OID is expected';
CREATE CAST (hipq.role AS regrole) WITHOUT FUNCTION AS IMPLICIT;
COMMENT ON CAST (hipq.role AS regrole)
    IS 'used wherever a regrole is expected, as in views that show a role';
CREATE CAST (oid AS hipq.role) WITHOUT FUNCTION AS ASSIGNMENT;
COMMENT ON CAST (oid AS hipq.role) IS 'used when an OID is stored as a role';
CREATE CAST (regrole AS hipq.role) WITHOUT FUNCTION AS ASSIGNMENT;
COMMENT ON CAST (regrole AS hipq.role) IS 'used when a regrole is stored as a role';
