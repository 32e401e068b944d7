# Shared by the benchmarks: their server, its clients, and how to measure a run. Sourced, after
# tools/lib.sh.

cluster=$build/bench
benchmarks=$root/bench

# The reference settings of docs/performance.md, and the caller's: SETTINGS="full_page_writes=off
# ...". One cluster serves all contestants, each in a separate database.
read -ra settings <<<"shared_buffers=2GB jit=off max_wal_size=8GB checkpoint_timeout=30min max_worker_processes=40 max_connections=200 ${SETTINGS:-}"

# An SQL expression for the text in the data of job number n.
text="${TEXT:-repeat('x', 80)}"

# Starts a server with a release build, because test builds have additional checks. `programs`: the
# programs to build, too.
start_server() {
    "$tools/setup" bench
    build_hipq "$build/bench-build.log" "${programs:-}"
    stop_at_exit "$cluster"
    "$tools/cluster" init "$cluster" "${settings[@]}" "$@"
    "$tools/cluster" start "$cluster"
    eval "$("$tools/cluster" env "$cluster")"
}

# psql in the database of the current contestant.
sql() { as_server_user psql -XqAt -v ON_ERROR_STOP=1 -d "$contestant" "$@"; }

# A program of the current contestant, which reads where to connect from the environment.
program() { as_server_user env "PGDATABASE=$contestant" "PGHOST=$PGHOST" "PGPORT=$PGPORT" "PGUSER=$PGUSER" "$@"; }

fresh_database() {
    as_server_user psql -Xq -d postgres -v ON_ERROR_STOP=1 -c "DROP DATABASE IF EXISTS $contestant" -c "CREATE DATABASE $contestant" 2>/dev/null
}

# ---- time, WAL and processor time of a command: sets seconds, wal_bytes, cpu_seconds

wal_position() { sql -c "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"; }

# Prints the processor time of all processes of the server, also of ended ones, in clock ticks.
server_ticks() {
    local postmaster pid ticks ended=-1
    postmaster=$(head -n 1 "$cluster/data/postmaster.pid")
    # A process that ends during the count would be missed: then count again.
    until [ "$ended" = "$(ticks_of_ended "$postmaster")" ]; do
        ended=$(ticks_of_ended "$postmaster")
        ticks=$ended
        for pid in $(cat "/proc/$postmaster/task/$postmaster/children"); do
            ticks=$((ticks + $(awk '{ print $14 + $15 }' "/proc/$pid/stat" 2>/dev/null || echo 0)))
        done
    done
    echo "$ticks"
}

ticks_of_ended() { awk '{ print $16 + $17 }' "/proc/$1/stat"; }

measure() {
    local start wal ticks
    wal=$(wal_position)
    ticks=$(server_ticks)
    start=$EPOCHREALTIME
    "$@"
    seconds=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.4f", b - a }')
    cpu_seconds=$(awk -v t="$(($(server_ticks) - ticks))" -v hz="$(getconf CLK_TCK)" 'BEGIN { printf "%.2f", t / hz }')
    wal_bytes=$(($(wal_position) - wal))
}

# Appends a line to the results: what, who, value, unit.
result() { printf '%s\t%s\t%s\t%s\n' "$1" "$contestant" "$2" "$3" >>"$results"; }

per_second() { awk -v n="$1" -v s="$2" 'BEGIN { printf "%.0f", n / s }'; }
