-- Schedules.

CREATE SEQUENCE hipq.schedule_id_seq AS integer;
COMMENT ON SEQUENCE hipq.schedule_id_seq IS 'numbers of schedules';

-- The command of pg_cron has only the number of the schedule; the row says which job to enqueue.
-- Rows that were dumped by 0.2.0 are of pg_cron.
CREATE TABLE hipq.schedule (
    schedule_id     integer     NOT NULL DEFAULT nextval('hipq.schedule_id_seq')
        CONSTRAINT schedule_pkey PRIMARY KEY,
    name            text COLLATE "C" NOT NULL
        CONSTRAINT schedule_name_is_short CHECK (octet_length(name) BETWEEN 1 AND 63),
    cron            text        NOT NULL,
    role            hipq.role   NOT NULL,
    queue_id        integer     NOT NULL,
    job_type        text COLLATE "C" NOT NULL,
    job_key         text COLLATE "C" NOT NULL,
    job_data        jsonb       NOT NULL DEFAULT '{}',
    priority        smallint,
    timeout         integer,
    throttle_factor numeric(9,3),
    throttle_key    text COLLATE "C",
    time_windows    text,
    max_retries     integer,
    expires_after   interval,
    created_time    timestamptz NOT NULL DEFAULT now(),
    last_run_time   timestamptz,
    last_action     text
        CONSTRAINT schedule_last_action_is_known
        CHECK (last_action IN ('enqueued', 'skipped', 'missed', 'failed')),
    last_job_id     bigint,
    told_by         text        NOT NULL DEFAULT 'pg_cron'
        CONSTRAINT schedule_told_by_is_known CHECK (told_by IN ('hipq', 'pg_cron')),
    time_zone       text,
    missed          text        NOT NULL DEFAULT 'once'
        CONSTRAINT schedule_missed_is_known CHECK (missed IN ('once', 'skip', 'all')),
    missed_within   interval    NOT NULL DEFAULT '1 day',
    jitter          interval    NOT NULL DEFAULT '0',
    overlap         text        NOT NULL DEFAULT 'skip'
        CONSTRAINT schedule_overlap_is_known CHECK (overlap IN ('skip', 'after', 'allow')),
    starts          timestamptz,
    ends            timestamptz,
    next_time       timestamptz,
    due_time        timestamptz,
    last_time       timestamptz,
    last_error      text,
    tries           integer     NOT NULL DEFAULT 0,
    CONSTRAINT schedule_name_is_unique_in_queue UNIQUE (queue_id, name)
);
CREATE INDEX schedule_due ON hipq.schedule (due_time) WHERE due_time IS NOT NULL;
COMMENT ON TABLE hipq.schedule IS 'jobs that are enqueued again and again, at given times';
COMMENT ON COLUMN hipq.schedule.schedule_id
    IS 'number of the schedule; pg_cron has it in the name of its job and in the command';
COMMENT ON COLUMN hipq.schedule.name IS 'name, unique in the queue';
COMMENT ON COLUMN hipq.schedule.cron IS 'cron expression, as given';
COMMENT ON COLUMN hipq.schedule.role IS 'role that made it, and that enqueues';
COMMENT ON COLUMN hipq.schedule.queue_id IS 'queue of its jobs';
COMMENT ON COLUMN hipq.schedule.job_type IS 'job type of its jobs';
COMMENT ON COLUMN hipq.schedule.job_key IS 'job key of its jobs; NONE = none';
COMMENT ON COLUMN hipq.schedule.job_data IS 'job data of its jobs';
COMMENT ON COLUMN hipq.schedule.priority
    IS 'priority of its jobs; NULL = the job type''s, as all below';
COMMENT ON COLUMN hipq.schedule.timeout IS 'timeout of its jobs, in seconds';
COMMENT ON COLUMN hipq.schedule.throttle_factor IS 'throttle_factor of its jobs';
COMMENT ON COLUMN hipq.schedule.throttle_key IS 'throttle_key of its jobs';
COMMENT ON COLUMN hipq.schedule.time_windows IS 'time windows of its jobs';
COMMENT ON COLUMN hipq.schedule.max_retries IS 'max_retries of its jobs';
COMMENT ON COLUMN hipq.schedule.expires_after
    IS 'how long after its run a job may start; NULL = it does not expire';
COMMENT ON COLUMN hipq.schedule.created_time IS 'when the schedule was made';
COMMENT ON COLUMN hipq.schedule.last_run_time IS 'when it ran last; NULL = not yet';
COMMENT ON COLUMN hipq.schedule.last_action
    IS 'what became of it: enqueued; skipped because a job with the key had not finished; missed; '
    'failed';
COMMENT ON COLUMN hipq.schedule.last_job_id IS 'the job that it enqueued, or that had not finished';
COMMENT ON COLUMN hipq.schedule.told_by IS 'who tells the time: hipq or pg_cron';
COMMENT ON COLUMN hipq.schedule.time_zone IS 'zone of the times; NULL = that of pg_cron';
COMMENT ON COLUMN hipq.schedule.missed
    IS 'what becomes of runs whose time has passed: once = the last of them runs, skip = none, all '
    '= each';
COMMENT ON COLUMN hipq.schedule.missed_within IS 'how old a run may be that is made up for';
COMMENT ON COLUMN hipq.schedule.jitter IS 'runs are up to so much later than their times';
COMMENT ON COLUMN hipq.schedule.overlap
    IS 'what a run does if a job with the key has not finished: skip = nothing, after = enqueue '
    'one job for when it has finished, allow = enqueue, as the jobs have no key';
COMMENT ON COLUMN hipq.schedule.starts IS 'no run is before it; NULL = any may be';
COMMENT ON COLUMN hipq.schedule.ends IS 'no run is after it; NULL = any may be';
COMMENT ON COLUMN hipq.schedule.next_time
    IS 'the time of its next run, without jitter; NULL = there is none that hipq tells';
COMMENT ON COLUMN hipq.schedule.due_time IS 'when that run is due, with jitter';
COMMENT ON COLUMN hipq.schedule.last_time IS 'the time that the last run was for';
COMMENT ON COLUMN hipq.schedule.last_error IS 'why it failed, or why runs were left out';
COMMENT ON COLUMN hipq.schedule.tries
    IS 'how often a process of its own has begun the next run, which triggers of users need';
SELECT pg_extension_config_dump('hipq.identity', '');
SELECT pg_extension_config_dump('hipq.instance_id_seq', '');
SELECT pg_extension_config_dump('hipq.instance', '');
SELECT pg_extension_config_dump('hipq.queue_id_seq', '');
SELECT pg_extension_config_dump('hipq.queue', '');
SELECT pg_extension_config_dump('hipq.job_type', '');
SELECT pg_extension_config_dump('hipq.pause', '');
SELECT pg_extension_config_dump('hipq.breaker_state', '');
SELECT pg_extension_config_dump('hipq.schedule_id_seq', '');
SELECT pg_extension_config_dump('hipq.schedule', '');

CREATE FUNCTION hipq.schedule(
    name text, cron text, job_type text, job_data jsonb DEFAULT '{}', queue text DEFAULT NULL,
    job_key text DEFAULT NULL, priority integer DEFAULT NULL, timeout hipq.duration DEFAULT NULL,
    throttle_factor double precision DEFAULT NULL, time_windows text DEFAULT NULL,
    max_retries integer DEFAULT NULL, expires_after hipq.duration DEFAULT NULL,
    throttle_key text DEFAULT NULL, time_zone text DEFAULT NULL, missed text DEFAULT NULL,
    missed_within hipq.duration DEFAULT NULL, jitter hipq.duration DEFAULT NULL,
    overlap text DEFAULT NULL, starts timestamptz DEFAULT NULL, ends timestamptz DEFAULT NULL,
    by text DEFAULT 'hipq'
) RETURNS timestamptz LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_schedule';
COMMENT ON FUNCTION hipq.schedule(
    text, text, text, jsonb, text, text, integer, hipq.duration, double precision, text, integer,
    hipq.duration, text, text, text, hipq.duration, hipq.duration, text, timestamptz, timestamptz,
    text
) IS 'makes a schedule, or changes the one of that name in that queue, and returns when it comes '
    'first. name: 1 to 63 bytes; cron: a cron expression; job_key: NULL = the name, one job at a '
    'time; expires_after: how long after its run a job may start; time_zone: NULL = UTC; missed: '
    'once, skip or all of the runs whose time has passed; missed_within: NULL = a day; jitter: '
    'runs are up to so much later; overlap: skip, after or allow, if a job with the key has not '
    'finished; starts, ends: the first and the last time; by: hipq or pg_cron; the other arguments '
    'are those of enqueue(). Jobs are enqueued as the caller';

CREATE FUNCTION hipq.unschedule(name text, queue text DEFAULT NULL) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_unschedule';
COMMENT ON FUNCTION hipq.unschedule(text, text)
    IS 'ends a schedule. name: the schedule; queue: its queue, NULL = the one of that name that '
    'the caller may change. Jobs that it has enqueued stay';

CREATE FUNCTION hipq.next_runs(
    schedule text, n integer DEFAULT 10, time_zone text DEFAULT NULL,
    from_time timestamptz DEFAULT NULL, queue text DEFAULT NULL,
    OUT run_time timestamptz, OUT local_time timestamp
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_next_runs';
COMMENT ON FUNCTION hipq.next_runs(text, integer, text, timestamptz, text)
    IS 'the times of the next runs, without jitter, also as clocks show them in the time zone. '
    'schedule: a cron expression, or the name of a schedule; n: how many; time_zone: NULL = that '
    'of the schedule, or UTC; from_time: the runs after it, NULL = now; queue: the queue of the '
    'schedule';

CREATE FUNCTION hipq.schedule_time() RETURNS timestamptz
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_schedule_time';
COMMENT ON FUNCTION hipq.schedule_time()
    IS 'the time for which a schedule planned the job of the handler that calls it; NULL = the job '
    'is not of a schedule';

CREATE FUNCTION hipq._run_schedule(schedule_id integer) RETURNS text
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__run_schedule';
COMMENT ON FUNCTION hipq._run_schedule(integer)
    IS 'a run of a schedule, called by pg_cron; says what it did';

CREATE FUNCTION hipq.restore_schedules() RETURNS bigint
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_restore_schedules';
COMMENT ON FUNCTION hipq.restore_schedules()
    IS 'gives pg_cron the schedules that it has no job for, as after a restore, and returns how '
    'many. release_hold() does so, too';

CREATE FUNCTION hipq._next_run(cron text, last_run_time timestamptz) RETURNS timestamptz
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__next_run';
COMMENT ON FUNCTION hipq._next_run(text, timestamptz)
    IS 'when a cron expression comes next, by pg_cron''s clocks; NULL = never, or it cannot be '
    'read';

CREATE FUNCTION hipq._lost_schedules(OUT schedule_id integer, OUT name text) RETURNS SETOF record
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__lost_schedules';
COMMENT ON FUNCTION hipq._lost_schedules()
    IS 'schedules that pg_cron has no job for; view hipq.alerts shows them';

CREATE FUNCTION hipq._is_cron_stopped() RETURNS boolean
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__is_cron_stopped';
COMMENT ON FUNCTION hipq._is_cron_stopped()
    IS 'whether there are schedules, and pg_cron has no process to run them; '
    'view hipq.alerts says so';

CREATE FUNCTION hipq._has_cron_entry(schedule_id integer) RETURNS boolean
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__has_cron_entry';
COMMENT ON FUNCTION hipq._has_cron_entry(integer)
    IS 'whether pg_cron in this database runs, and has an active job for the schedule';
