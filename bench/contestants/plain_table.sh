# One plain table, SKIP LOCKED in batches of 500, two workers: a typical queue without an extension.
# The workers delete rows, or mark them as done.

plain_table_setup() {
    sql <<'SQL'
        CREATE TABLE job (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, run_at timestamptz NOT NULL DEFAULT now(), state text NOT NULL DEFAULT 'new', data jsonb NOT NULL);
        CREATE INDEX ON job (run_at, id) WHERE state = 'new';
        CREATE PROCEDURE work(statement text) LANGUAGE plpgsql AS $$
        DECLARE taken bigint;
        BEGIN
            LOOP
                EXECUTE statement;
                GET DIAGNOSTICS taken = ROW_COUNT;
                COMMIT;
                EXIT WHEN taken = 0;
            END LOOP;
        END $$;
SQL
}

plain_table_hold() { :; }

plain_table_enqueue() {
    sql -c "INSERT INTO job (data) SELECT jsonb_build_object('n', n, 'text', repeat('x', 80)) FROM generate_series(1, $1) AS n"
}

# $1: the statement that takes 500 jobs.
plain_table_work() {
    local start=$EPOCHREALTIME first
    sql -c "CALL work(\$\$ $1 \$\$)" &
    first=$!
    sql -c "CALL work(\$\$ $1 \$\$)"
    wait "$first"
    drained_seconds=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')
}

table_chosen="SELECT id FROM job WHERE state = 'new' AND run_at <= now() ORDER BY run_at, id LIMIT 500 FOR UPDATE SKIP LOCKED"
table_delete_drain() { plain_table_work "DELETE FROM job WHERE id = ANY (ARRAY($table_chosen))"; }
table_keep_drain() { plain_table_work "UPDATE job SET state = 'done' WHERE id = ANY (ARRAY($table_chosen))"; }

for variant in table_delete table_keep; do
    for action in setup hold enqueue; do
        eval "${variant}_$action() { plain_table_$action \"\$@\"; }"
    done
done
