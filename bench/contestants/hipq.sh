# hipq: single-job handlers with strict and with group durability, one job or 50 in a transaction,
# the former also with a throttle limit or a rate limit; batch handlers; batch handlers in a queue that keeps no
# succeeded jobs.

hipq_setup() {
    sql -c "CREATE EXTENSION hipq" -c "DO \$\$ BEGIN CREATE ROLE app LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END \$\$"
    sql >/dev/null <<SQL
        SELECT hipq.create_queue('app.main', owner => 'app', durability => '$1'${4:+, retention => '$4'}, throttle_limit => ${5:-0}${6:+, rate_limit => '$6'});
        CREATE FUNCTION nothing(data jsonb) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
        CREATE FUNCTION nothing(data jsonb[]) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
        SELECT hipq.register_job_type('app.main', 'run', handler => 'nothing($2)', claim => 'lock'${3:+, batch_size => $3});
SQL
}

hipq_strict_setup() { hipq_setup strict jsonb; }
hipq_group_setup() { hipq_setup group jsonb; }
hipq_strict_together_setup() { hipq_setup strict jsonb 50; }
hipq_together_setup() { hipq_setup group jsonb 50; }
hipq_batch_setup() { hipq_setup group 'jsonb[]' 500; }
hipq_limited_setup() { hipq_setup group jsonb '' '' 1000; }  # a limit that the load never reaches
hipq_rated_setup() { hipq_setup group jsonb '' '' '' 900000/s; }  # a rate that the load never reaches
hipq_nothing_kept_setup() { hipq_setup group 'jsonb[]' 500 0; }

# Stops the executors, so that jobs wait.
hipq_hold() {
    sql -c "ALTER SYSTEM SET hipq.enabled = off" -c "SELECT pg_reload_conf()" >/dev/null
    until [ "$(sql -c 'SELECT count(*) FROM hipq.executors')" = 0 ]; do sleep 0.1; done
}

# Inserts $1 jobs with one statement.
hipq_enqueue() {
    sql -c "INSERT INTO hipq.app_main (job_type, job_data) SELECT 'run', jsonb_build_object('n', n, 'text', $text) FROM generate_series(1, $1) AS n"
}

# Measures from the reload of the setting until all executors are idle and no job is left. The loop
# reads the table only when all executors are idle. Sets drained_seconds.
hipq_await() {
    sql -c "ALTER SYSTEM SET hipq.enabled = on"
    drained_seconds=$(sql <<'SQL' | tail -n 1
        SELECT clock_timestamp() AS start, pg_reload_conf() \gset
        SELECT pg_sleep(0.1);
        DO $$
        BEGIN
            WHILE EXISTS (SELECT FROM hipq.executors WHERE status <> 'idle') OR EXISTS (SELECT FROM hipq.app_main_live) LOOP
                COMMIT;
                PERFORM pg_sleep(0.02);
            END LOOP;
        END $$;
        SELECT extract(epoch FROM clock_timestamp() - :'start');
SQL
    )
}

# The same, of $1 jobs that succeed.
hipq_drain() {
    local kept=$1
    [ "$contestant" != hipq_nothing_kept ] || kept=0
    hipq_await
    [ "$(sql -c "SELECT count(*) FROM hipq.jobs_detail WHERE outcome = 'succeeded'")" = "$kept" ] || die "$contestant: not every job succeeded"
    [ "$(sql -c "SELECT count(*) FROM hipq.job WHERE error <> 'NONE'")" = 0 ] || die "$contestant: a job failed"
}

for variant in hipq_strict hipq_strict_together hipq_group hipq_together hipq_limited hipq_rated hipq_batch hipq_nothing_kept; do
    for action in hold enqueue drain; do
        eval "${variant}_$action() { hipq_$action \"\$@\"; }"
    done
done

# ---- shared by the clients of hipq

hipq_client_setup() {
    sql -c "CREATE EXTENSION hipq" -c "SELECT hipq.create_queue('app.main', durability => 'group')" \
        -c "SELECT hipq.register_job_type('app.main', 'run', handler_kind => 'notify')" \
        -c "SELECT hipq.register_job_type('app.main', 'ping', handler_kind => 'notify')" >/dev/null
}

hipq_client_check() {
    until [ "$(sql -c "SELECT count(*) FROM hipq.app_main_live")" = 0 ]; do sleep 0.1; done    # the last answers
    [ "$(sql -c "SELECT count(*) FROM hipq.jobs WHERE outcome = 'succeeded'")" = "$1" ] || die "$contestant: not every job succeeded"
}
