# pg-boss from npm: two processes that fetch and complete batches, and two that use its work().

pg_boss_node() { program node "$benchmarks/pg-boss/$1.mjs" "${@:2}"; }

pg_boss_setup() {
    [ -d "$benchmarks/pg-boss/node_modules" ] || (cd "$benchmarks/pg-boss" && npm ci --silent --no-audit --no-fund >&2)
    pg_boss_node enqueue
}

pg_boss_hold() { :; }
pg_boss_enqueue() { pg_boss_node enqueue "$1"; }

pg_boss_check() {
    [ "$(sql -c "SELECT count(*) FROM pgboss.job WHERE state = 'completed'")" = "$1" ] || die "$contestant: not every job succeeded"
}

pg_boss_best_drain() { drained_seconds=$(pg_boss_node drain best "$1"); pg_boss_check "$1"; }
pg_boss_work_drain() { drained_seconds=$(pg_boss_node drain work "$1"); pg_boss_check "$1"; }

for variant in pg_boss_best pg_boss_work; do
    for action in setup hold enqueue; do
        eval "${variant}_$action() { pg_boss_$action \"\$@\"; }"
    done
done
