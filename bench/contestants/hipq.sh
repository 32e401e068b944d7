# hipq: single-job handlers under strict and group durability, batch handlers.

hipq_setup() {
    sql -c "CREATE EXTENSION hipq" -c "DO \$\$ BEGIN CREATE ROLE app LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END \$\$"
    sql >/dev/null <<SQL
        SELECT hipq.create_queue('app.main', owner => 'app', durability => '$1');
        CREATE FUNCTION nothing(data jsonb) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
        CREATE FUNCTION nothing(data jsonb[]) RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
        SELECT hipq.register_job_type('app.main', 'run', handler => 'nothing($2)', claim => 'lock'${3:+, batch_size => $3});
SQL
}

hipq_strict_setup() { hipq_setup strict jsonb; }
hipq_group_setup() { hipq_setup group jsonb; }
hipq_batch_setup() { hipq_setup group 'jsonb[]' 500; }

# Jobs may be enqueued without being run.
hipq_hold() {
    sql -c "ALTER SYSTEM SET hipq.enabled = off" -c "SELECT pg_reload_conf()" >/dev/null
    until [ "$(sql -c 'SELECT count(*) FROM hipq.executors')" = 0 ]; do sleep 0.1; done
}

# One bulk insert through the guard; $1 jobs.
hipq_enqueue() {
    sql -c "INSERT INTO hipq.app_main (job_type, job_data) SELECT 'run', jsonb_build_object('n', n, 'text', repeat('x', 80)) FROM generate_series(1, $1) AS n"
}

# By the rows: from the reload of the setting to the last finish, so that nobody has to look on meanwhile. Sets seconds.
hipq_drain() {
    local start
    start=$(sql -c "ALTER SYSTEM SET hipq.enabled = on" -c "SELECT pg_reload_conf()" -c "SELECT extract(epoch FROM clock_timestamp())" | tail -n 1)
    sleep 0.5
    # Looks at the table only when nobody works.
    until [ "$(sql -c "SELECT NOT EXISTS (SELECT FROM hipq.executors WHERE status <> 'idle') AND NOT EXISTS (SELECT FROM hipq.app_main_live)")" = t ]; do sleep 0.2; done
    [ "$(sql -c "SELECT count(*) FROM hipq.jobs WHERE outcome = 'succeeded'")" = "$1" ] || die "$contestant: not every job succeeded"
    drained_seconds=$(sql -c "SELECT extract(epoch FROM max(update_time)) - $start FROM hipq.job")
}

for variant in hipq_strict hipq_group hipq_batch; do
    for action in hold enqueue drain; do
        eval "${variant}_$action() { hipq_$action \"\$@\"; }"
    done
done
