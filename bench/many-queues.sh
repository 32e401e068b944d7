# Many queues of one owner, with many jobs that wait until tomorrow: QUEUES=500 JOBS=1000000.
# Sourced, after lib.sh.

queues=${QUEUES:-500} jobs=${JOBS:-1000000}

make_queues_with_jobs() {
    local first last
    say "Making $queues queues with $jobs jobs"
    sql -c "CREATE EXTENSION hipq" -c "CREATE ROLE shop LOGIN PASSWORD 'shop'" -c "CREATE ROLE watch LOGIN PASSWORD 'watch' IN ROLE pg_monitor"
    sql <<'SQL'
        CREATE FUNCTION nothing(data jsonb) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
        CREATE FUNCTION queue_name(n integer) RETURNS text LANGUAGE sql IMMUTABLE AS $$SELECT 'shop.q_' || translate(n::text, '0123456789', 'abcdefghij')$$;
SQL
    for ((first = 1; first <= queues; first += 100)); do
        last=$((first + 99 < queues ? first + 99 : queues))
        sql -o /dev/null <<SQL
            SELECT hipq.create_queue(queue_name(n), owner => 'shop') FROM generate_series($first, $last) AS n;
            SELECT hipq.register_job_type(queue_name(n), 'work', handler => 'nothing(jsonb)') FROM generate_series($first, $last) AS n;
            DO \$\$ BEGIN FOR n IN $first..$last LOOP EXECUTE format(
                'INSERT INTO hipq.%I (job_type, job_key, job_data, scheduled_run_time) SELECT ''work'', ''key-'' || i, jsonb_build_object(''n'', i),
                 now() + ''1 day'' FROM generate_series(1, %s) AS i', replace(queue_name(n), '.', '_'), $((jobs / queues))); END LOOP; END \$\$;
SQL
    done
    sql -c 'VACUUM ANALYZE'
}
