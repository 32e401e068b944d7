# What test/run, test/one and test/steady have in common: hipq as tests want it, a cluster for SQL, and the runner of each kind of
# test. Sourced after tools/lib.sh, by a script that has set `out`, the folder for what tests leave, and `cluster`, that of the cluster.

timeout_default=60
# Seconds that a suite may take before it counts as hanging.
suite_limit=${SUITE_LIMIT:-2700}
# Seconds that a TAP file may take before it counts as hanging.
file_limit=${FILE_LIMIT:-900}

limited() { timeout -k 20 "$suite_limit" "$@"; }

make_list() { make -s -C "$root" --no-print-directory "print-$1"; }

# Builds hipq as tests want it (WERROR=1), and the libraries of tests, and installs both in the private server.
install_for_tests() {
    "$tools/private-server" &&
        make -C "$root" --no-print-directory -j2 install "PG_CONFIG=$bindir/pg_config" WERROR=1 &&
        make -C "$root/test/guard" --no-print-directory install "PG_CONFIG=$bindir/pg_config" &&
        make -C "$root/test/marks" --no-print-directory install "PG_CONFIG=$bindir/pg_config"
}

# CMake, with clang, as PGXS takes gcc. $1: the folder of the build, $2: flags of the compiler.
configure_cmake() {
    cmake -S "$root" -B "$1" -DPG_CONFIG="$bindir/pg_config" -DWERROR=ON -DCMAKE_BUILD_TYPE=Check -DCMAKE_CXX_FLAGS_CHECK="$2" \
        -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache || true)"
}

# Most unit tests run for moments and are not optimized. Their CMakeLists.txt optimizes the long ones.
build_unit() { configure_cmake "$build/unit" -O0 && cmake --build "$build/unit" -j2 --target hipq_unit_tests; }
unit_programs() { echo "$build"/unit/test/unit/hipq_*_tests; }

# $@: goals of make: checks of the source.
lint() { make -C "$root" --no-print-directory -k -j2 "PG_CONFIG=$bindir/pg_config" "$@"; }

# Starts the cluster of the SQL suites, which has to be there no more than once.
start_cluster() {
    "$tools/cluster" stop "$cluster" || true
    rm -rf "$cluster"
    "$tools/cluster" start "$cluster"
}

# $1: a folder for what they leave; then the names. The runner makes a database of its own for each kind.
run_regress() {
    local folder=$1 options
    shift
    read -ra options <<<"$(make_list REGRESS_OPTS)"
    run_pg_regress regress/pg_regress "$folder" hipq_regress --inputdir="$root" "${options[@]}" "$@"
}
run_isolation() {
    local folder=$1 options
    shift
    read -ra options <<<"$(make_list ISOLATION_OPTS)"
    run_pg_regress isolation/pg_isolation_regress "$folder" hipq_isolation "${options[@]}" "$@"
}

# $1: the runner in the tree of PGXS, $2: the folder, $3: the database; then its arguments.
run_pg_regress() {
    local runner=$1 folder=$2 database=$3
    shift 3
    fresh_dir "$folder"
    (cd "$root" && limited "${server_user[@]}" "$pgxs_test/$runner" --bindir="$bindir" --outputdir="$folder" --host="$PGHOST" --port="$PGPORT" \
        --user=postgres --dbname="$database" "$@")
}

# $1: a folder, which it does not need; then names of files.
run_pgtap() {
    shift
    local files=("${@/#/$root/test/pgtap/}")
    psql -X -q -v ON_ERROR_STOP=1 -d postgres -c 'DROP DATABASE IF EXISTS hipq_pgtap' -c 'CREATE DATABASE hipq_pgtap' &&
        psql -X -q -v ON_ERROR_STOP=1 -d hipq_pgtap -c 'CREATE EXTENSION hipq' -c 'CREATE EXTENSION pgtap' &&
        limited "${server_user[@]}" pg_prove --verbose --timer --psql-bin "$bindir/psql" --host "$PGHOST" --port "$PGPORT" --username postgres \
            --dbname hipq_pgtap "${files[@]/%/.sql}"
}

# Tests that make clusters of their own, with PostgreSQL's modules for that. $1: a folder, in which servers' logs are; then which, as
# room/name. TAP_JOBS: how many at a time. A file that hangs is ended, which stops its servers, and counts as one that died.
run_tap() {
    local folder=$1
    shift
    local files=("${@/#/$root/test/t/}")
    make_template || return 1
    mkdir -p "$folder"
    if is_root; then chown postgres: "$folder"; fi
    # A cluster that the other suites use must not be what psql finds by default.
    "${server_user[@]}" env -u PGHOST -u PGPORT -u PGUSER PATH="$bindir:$PATH" PERL5LIB="$pgxs_test/perl:$root/test/t" \
        PG_REGRESS="$pgxs_test/regress/pg_regress" HIPQ_ROOT="$root" \
        TESTDIR="$folder" TESTDATADIR="$folder" TESTLOGDIR="$folder/log" PG_TEST_TIMEOUT_DEFAULT="$timeout_default" \
        prove --verbose --timer --jobs "${TAP_JOBS:-1}" --exec "timeout --foreground -k 30 $file_limit perl" "${files[@]/%/.pl}"
}

# What initdb makes is the same for every cluster, whatever the locale of who calls: they get a copy.
make_template() {
    export INITDB_TEMPLATE=$out/template
    if [ "$INITDB_TEMPLATE/postgresql.conf" -nt "$bindir/initdb" ]; then return; fi
    fresh_dir "$INITDB_TEMPLATE"
    as_server_user "$bindir/initdb" -D "$INITDB_TEMPLATE" -A trust -N --encoding=UTF8 --locale=C.UTF-8 >"$out/template.log" 2>&1 ||
        { cat "$out/template.log"; return 1; }
}

# ---- what a log says

# What awk calls a file by the path that prove has: room/name, or the name in test/pgtap.
name_of='function name_of(path) { sub("^" root "(t|pgtap)/", "", path); sub(/[.](pl|sql)$/, "", path); return path }'

# Reads the log of a suite and prints a line for each of its files: its name, how many tests of it passed and failed. A file that dies
# before a test fails has failed once.
counts_in() {
    awk -v root="$root/test/" "$name_of"'
        # prove, with --timer: [12:00:00] /where/room/name.pl .....
        /^\[[0-9:]+\] .*[.](pl|sql) [.]+/ { file = name_of($2); passed[file] += 0; failed[file] += 0 }
        /^ok [0-9]+/ && file != "" { ++passed[file] }
        /^not ok [0-9]+/ && file != "" { ++failed[file] }
        /[.](pl|sql) +\(Wstat: / { if (!failed[name_of($1)]) failed[name_of($1)] = 1 }
        # pg_regress of PostgreSQL 15, and from 16 on
        /^(test|    ) [a-z_0-9]+ +[.][.][.] ok/ { ++passed[$0 ~ /^test/ ? $2 : $1] }
        /^(test|    ) [a-z_0-9]+ +[.][.][.] FAILED/ { ++failed[$0 ~ /^test/ ? $2 : $1] }
        /^ok [0-9]+ +[-+] [a-z_0-9]+ +[0-9]+ ms/ && file == "" { ++passed[$4] }
        /^not ok [0-9]+ +[-+] [a-z_0-9]+ +[0-9]+ ms/ && file == "" { ++failed[$5] }
        END {
            for (name in passed) print name, passed[name], failed[name] + 0
            for (name in failed) if (!(name in passed)) print name, 0, failed[name]
        }' "$1"
}

# Prints each test that failed, after its file if it has one: "claim/throttle: not ok 3 - ...".
failures_in() {
    awk -v root="$root/test/" "$name_of"'
        /^\[[0-9:]+\] .*[.](pl|sql) [.]+/ { file = name_of($2) }
        /^not ok [0-9]+ +[-+] [a-z_0-9]+ +[0-9]+ ms/ && file == "" { print $5 ": " $0; next }
        /^not ok [0-9]+/ { print (file == "" ? "" : file ": ") $0 }
        /^(test|    ) [a-z_0-9]+ +[.][.][.] FAILED/ { print ($0 ~ /^test/ ? $2 : $1) ": " $0 }
        /^\[  FAILED  \] .*ms\)$/ { print }
        /[.](pl|sql) +\(Wstat: .*Failed: 0\)$/ { print name_of($1) ": " $0 }' "$1"
}
