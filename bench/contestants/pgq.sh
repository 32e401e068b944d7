# PgQ (Debian's postgresql-15-pgq3): events in batches, one consumer, no state per event.

pgq_setup() {
    sql -c "CREATE EXTENSION pgq" -c "SELECT pgq.create_queue('q')" -c "SELECT pgq.register_consumer('q', 'c')" >/dev/null || return
    sql -c "SELECT pgq.set_queue_config('q', 'ticker_max_count', '1000')" >/dev/null
    sql <<'SQL'
        CREATE PROCEDURE consume() LANGUAGE plpgsql AS $$
        DECLARE batch bigint;
        BEGIN
            LOOP
                batch := pgq.next_batch('q', 'c');
                EXIT WHEN batch IS NULL;
                PERFORM count(*) FROM pgq.get_batch_events(batch);
                PERFORM pgq.finish_batch(batch);
                COMMIT;
            END LOOP;
        END $$;
SQL
}

pgq_hold() { :; }

# Makes a tick for each 1,000 events, like PgQ's ticker.
pgq_enqueue() {
    sql <<SQL
        DO \$\$
        BEGIN
            FOR tick IN 1 .. $1 / 1000 LOOP
                PERFORM pgq.insert_event('q', 'run', jsonb_build_object('n', n, 'text', repeat('x', 80))::text) FROM generate_series(1, 1000) AS n;
                COMMIT;
                PERFORM pgq.force_tick('q');
                PERFORM pgq.ticker('q');
                COMMIT;
            END LOOP;
        END \$\$;
SQL
}

pgq_drain() {
    local start=$EPOCHREALTIME
    sql -c "CALL consume()"
    drained_seconds=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')
}
