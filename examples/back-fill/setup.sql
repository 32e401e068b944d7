-- A migration: column "search" of a large table is filled, while the application works with it.

CREATE EXTENSION hipq;
CREATE ROLE app LOGIN;

CREATE TABLE customer (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name    text NOT NULL,
    born    text NOT NULL,         -- in many forms, alas
    search  tsvector               -- new: what the migration fills
);
INSERT INTO customer (name, born)
SELECT 'customer ' || number, (date '1950-01-01' + number % 20000)::text FROM generate_series(1, 40000) AS number;
UPDATE customer SET born = '31 of June' WHERE id = 12345;
GRANT SELECT, UPDATE ON customer TO app;

-- One batch: rows from..to that are not filled yet. So a batch that runs again goes on where it was, and the application's own
-- writes are not done twice. Rows are taken in the order of their key, so that batches and the application do not deadlock.
CREATE FUNCTION fill_search(data jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    filled integer;
BEGIN
    PERFORM FROM customer
    WHERE id BETWEEN (data->>'from')::bigint AND (data->>'to')::bigint AND search IS NULL
    ORDER BY id FOR UPDATE;

    UPDATE customer SET search = to_tsvector('simple', name || ' ' || extract(year FROM born::date))
    WHERE id BETWEEN (data->>'from')::bigint AND (data->>'to')::bigint AND search IS NULL;
    GET DIAGNOSTICS filled = ROW_COUNT;
    PERFORM pg_sleep(0.3);        -- this example's table is small; so that you see it work
    RETURN jsonb_build_object('filled', filled);
END $$;

-- The load limit: two batches at a time, at low priority, by night only.
SELECT hipq.create_queue('app.migration', owner => 'app', history => 'all');
SELECT hipq.register_job_type('app.migration', 'fill search', handler => 'fill_search',
                              throttle_limit => 2, default_priority => 100,
                              default_time_windows => '22:00-06:00', time_zone => 'UTC',
                              default_timeout => '5 min');

-- Enqueues all batches of 500 rows, one job for each. Because of the key, a second call does not
-- enqueue batches that still wait.
CREATE FUNCTION enqueue_batches() RETURNS bigint LANGUAGE sql AS $$
    SELECT count(hipq.enqueue('fill search', jsonb_build_object('from', low, 'to', low + 499), queue => 'app.migration',
                              job_key => 'from ' || low, on_duplicate => 'return'))
    FROM generate_series(1, (SELECT max(id) FROM customer), 500) AS low
$$;
