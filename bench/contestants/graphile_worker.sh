# graphile-worker from npm: one process with default settings, and two processes with the settings
# that its own documents call fastest.

graphile_worker_node() { program node "$benchmarks/graphile-worker/$1.mjs" "${@:2}"; }

graphile_worker_setup() {
    [ -d "$benchmarks/graphile-worker/node_modules" ] || (cd "$benchmarks/graphile-worker" && npm ci --silent --no-audit --no-fund >&2)
    graphile_worker_node migrate
}

graphile_worker_hold() { :; }

graphile_worker_enqueue() {
    sql -c "SELECT count(*) FROM graphile_worker.add_jobs(ARRAY(SELECT json_populate_record(NULL::graphile_worker.job_spec, json_build_object('identifier', 'run',
            'payload', json_build_object('n', n, 'text', repeat('x', 80)))) FROM generate_series(1, $1) AS n))" >/dev/null
}

graphile_default_drain() { drained_seconds=$(graphile_worker_node drain default "$1"); }
graphile_best_drain() { drained_seconds=$(graphile_worker_node drain best "$1"); }

for variant in graphile_default graphile_best; do
    for action in setup hold enqueue; do
        eval "${variant}_$action() { graphile_worker_$action \"\$@\"; }"
    done
done
