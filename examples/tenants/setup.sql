-- Exports for many tenants. Small ones share a queue, with a limit for each; a large one has a queue and a role of its own.

CREATE EXTENSION hipq;
CREATE ROLE app LOGIN;         -- the application, and handlers of the shared queue
CREATE ROLE acme LOGIN;        -- the large tenant's programs and handlers

CREATE TABLE export (
    tenant     text NOT NULL,
    number     integer NOT NULL,
    made_by    text NOT NULL DEFAULT current_user,
    made_time  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, number)
);
GRANT SELECT, INSERT ON export TO app, acme;
-- What acme's role may see and write, whatever its handlers try.
ALTER TABLE export ENABLE ROW LEVEL SECURITY;
CREATE POLICY app_does_all ON export TO app USING (true);
CREATE POLICY acme_has_its_own ON export TO acme USING (tenant = 'acme');

-- Takes 100 ms, as if it were work, and greedy's 300. Tenant "broken" has data that cannot be exported.
CREATE FUNCTION make_export(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_sleep(CASE WHEN data->>'tenant' = 'greedy' THEN 0.3 ELSE 0.1 END);
    INSERT INTO export (tenant, number)
    VALUES (data->>'tenant', (data->>'number')::integer / CASE WHEN data->>'tenant' = 'broken' THEN 0 ELSE 1 END);
END $$;

-- The shared queue: at most three exports at a time, at most two of one tenant. Jobs of a tenant who has two wait, others pass.
SELECT hipq.create_queue('app.export', owner => 'app', history => 'all');
SELECT hipq.register_job_type('app.export', 'export', handler => 'make_export',
                              throttle_limit => 3, throttle_limit_per_key => 2);

-- Acme's queue: its handlers run as acme, its share of the executors is by weight, what it may ask for is capped.
SELECT hipq.create_queue('acme.export', owner => 'acme', weight => 200, throttle_limit => 2,
                         max_timeout => '10 min', highest_priority => 0, allow_free_jobs => false,
                         history => 'all');
SELECT hipq.register_job_type('acme.export', 'export', handler => 'make_export');

-- The application gives the key, from what it knows of its user. A tenant cannot choose another one.
CREATE FUNCTION request_exports(tenant text, how_many integer) RETURNS bigint LANGUAGE sql AS $$
    SELECT count(hipq.enqueue('export', jsonb_build_object('tenant', tenant, 'number', number), queue => 'app.export',
                              throttle_key => tenant))
    FROM generate_series(1, how_many) AS number
$$;
