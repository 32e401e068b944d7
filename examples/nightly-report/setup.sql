-- A report of each day's sales, made by night, and tried again when that fails.

CREATE EXTENSION hipq;
CREATE ROLE reports LOGIN;

CREATE TABLE sale (
    sold_time timestamptz NOT NULL,
    shop      text NOT NULL,
    cents     integer NOT NULL
);
CREATE TABLE closed_day (           -- the shops have sent all their sales of that day
    day date PRIMARY KEY
);
CREATE TABLE daily_report (
    day       date NOT NULL,
    shop      text NOT NULL,
    sales     integer NOT NULL,
    cents     bigint NOT NULL,
    PRIMARY KEY (day, shop)
);
GRANT SELECT ON sale, closed_day TO reports;
GRANT SELECT, INSERT, DELETE ON daily_report TO reports;

-- The handler. The day is that of the job's data, or the one before the job was due; never "yesterday", as seen from a retry on
-- the day after. It replaces what there is, so it may run as often as it likes. While sales are missing it waits, uncharged.
CREATE FUNCTION make_report(job hipq.job) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    report_day date := coalesce((job.job_data->>'day')::date, job.schedule_time::date - 1);
    shops integer;
BEGIN
    IF NOT EXISTS (SELECT FROM closed_day WHERE day = report_day) THEN
        RAISE NOTICE 'the sales of % are not complete yet', report_day;
        PERFORM hipq.snooze('500 ms');          -- in production: '10 min'
        RETURN NULL;
    END IF;
    DELETE FROM daily_report WHERE day = report_day;
    INSERT INTO daily_report (day, shop, sales, cents)
    SELECT report_day, shop, count(*), sum(cents)
    FROM sale
    WHERE sold_time >= report_day AND sold_time < report_day + 1
    GROUP BY shop;
    GET DIAGNOSTICS shops = ROW_COUNT;
    RETURN jsonb_build_object('day', report_day, 'shops', shops);
END $$;

SELECT hipq.create_queue('office.reports', owner => 'reports', history => 'all');
-- One at a time, so that two of one day do not meet.
SELECT hipq.register_job_type('office.reports', 'daily report', handler => 'make_report', default_timeout => '10 min',
                              max_retries => 5, retry_base => '1 min', throttle_limit => 1);

-- Each night at two. The key is the schedule's name: while the report of a night is not made, that of the next one is skipped.
-- One that cannot be made in twenty hours is given up.
SET ROLE reports;
SELECT hipq.schedule('nightly report', '0 2 * * *', 'daily report', queue => 'office.reports',
                     expires_after => '20 hours', time_zone => current_setting('TimeZone'));
RESET ROLE;
