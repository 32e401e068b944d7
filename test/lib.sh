# Functions of test/run, test/one and test/steady: build hipq for tests, start a cluster for SQL,
# and run each kind of test. Sourced after tools/lib.sh, by a script that has set `out`, the folder
# for files of tests, and `cluster`, the folder of the cluster.

timeout_default=60
# Seconds after which a suite counts as hanging.
suite_limit=${SUITE_LIMIT:-2700}
# Seconds after which a TAP file counts as hanging.
file_limit=${FILE_LIMIT:-900}

limited() { timeout -k 20 "$suite_limit" "$@"; }

make_list() { make -s -C "$root" --no-print-directory "print-$1"; }

# Builds hipq for tests (WERROR=1), and the test libraries, and installs both in the private server.
install_for_tests() {
    "$tools/private-server" &&
        make -C "$root" --no-print-directory -j2 install "PG_CONFIG=$bindir/pg_config" WERROR=1 &&
        make -C "$root/test/guard" --no-print-directory install "PG_CONFIG=$bindir/pg_config" &&
        make -C "$root/test/marks" --no-print-directory install "PG_CONFIG=$bindir/pg_config"
}

# Compiles with CMake and clang, because PGXS uses gcc. $1: the build folder, $2: compiler flags.
configure_cmake() {
    cmake -S "$root" -B "$1" -DPG_CONFIG="$bindir/pg_config" -DWERROR=ON \
        -DCMAKE_BUILD_TYPE=Check -DCMAKE_CXX_FLAGS_CHECK="$2" \
        -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
        -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache || true)"
}

# Most unit tests take little time and are not optimized. Their CMakeLists.txt optimizes the long
# ones.
build_unit() {
    "$tools/private-server" && configure_cmake "$build/unit" -O0 &&
        cmake --build "$build/unit" -j2 --target hipq_unit_tests
}
unit_programs() { echo "$build"/unit/test/unit/hipq_*_tests; }

# $@: make goals that check the source.
lint() { make -C "$root" --no-print-directory -k -j2 "PG_CONFIG=$bindir/pg_config" "$@"; }

# Starts the cluster of the SQL suites; only one may exist.
start_cluster() {
    "$tools/cluster" stop "$cluster" || true
    rm -rf "$cluster"
    "$tools/cluster" start "$cluster"
}

# $1: a folder for their output; then the names. The runner makes a separate database for each kind.
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
    (cd "$root" && limited "${server_user[@]}" "$pgxs_test/$runner" --bindir="$bindir" \
        --outputdir="$folder" --host="$PGHOST" --port="$PGPORT" --user=postgres \
        --dbname="$database" "$@")
}

# $1: a folder, which it does not use; then the names of files.
run_pgtap() {
    shift
    local files=("${@/#/$root/test/pgtap/}")
    psql -X -q -v ON_ERROR_STOP=1 -d postgres \
        -c 'DROP DATABASE IF EXISTS hipq_pgtap' -c 'CREATE DATABASE hipq_pgtap' &&
        psql -X -q -v ON_ERROR_STOP=1 -d hipq_pgtap \
            -c 'CREATE EXTENSION hipq' -c 'CREATE EXTENSION pgtap' &&
        limited "${server_user[@]}" pg_prove --verbose --timer --psql-bin "$bindir/psql" \
            --host "$PGHOST" --port "$PGPORT" --username postgres --dbname hipq_pgtap \
            "${files[@]/%/.sql}"
}

# Makes the files of earlier releases that tests need. $@: the tests, as room/name.
make_releases() {
    local kind=scripts
    # The release before does not compile for 19.
    if [[ " $* " == *" packages/image "* ]] && [ "$PGVERSION" = 18 ]; then kind=libraries; fi
    "$tools/upgrade-server" "$kind"
}

# Runs tests that make their own clusters, with PostgreSQL's modules for that. $1: a folder for the
# server logs; then the tests, as room/name. TAP_JOBS: how many run at a time. A file that hangs is
# ended, which stops its servers, and counts as failed.
run_tap() {
    local folder=$1
    shift
    local files=("${@/#/$root/test/t/}")
    make_templates || return 1
    mkdir -p "$folder"
    if is_root; then chown postgres: "$folder"; fi
    # psql must not find the cluster of the other suites by default.
    "${server_user[@]}" env -u PGHOST -u PGPORT -u PGUSER PATH="$bindir:$PATH" \
        PERL5LIB="$pgxs_test/perl:$root/test/t" \
        PG_REGRESS="$pgxs_test/regress/pg_regress" HIPQ_ROOT="$root" \
        TESTDIR="$folder" TESTDATADIR="$folder" TESTLOGDIR="$folder/log" \
        PG_TEST_TIMEOUT_DEFAULT="$timeout_default" \
        prove --verbose --timer --jobs "${TAP_JOBS:-1}" \
        --exec "timeout --foreground -k 30 $file_limit perl" "${files[@]/%/.pl}"
}

# The output of initdb is the same for every cluster, whatever the caller's locale, so clusters are
# copies of one template. CREATE EXTENSION takes as long as a test, so there is another template,
# which has the extension and role "app".
make_templates() {
    export INITDB_TEMPLATE=$out/template HIPQ_TEMPLATE=$out/template-hipq
    local library script
    library=$("$bindir/pg_config" --pkglibdir)/hipq.so
    script=$("$bindir/pg_config" --sharedir)/extension/hipq.control
    if [ "$INITDB_TEMPLATE/postgresql.conf" -ot "$bindir/initdb" ]; then
        fresh_dir "$INITDB_TEMPLATE"
        as_server_user "$bindir/initdb" -D "$INITDB_TEMPLATE" -A trust -N --encoding=UTF8 \
            --locale=C.UTF-8 >"$out/template.log" 2>&1 ||
            { cat "$out/template.log"; return 1; }
    fi
    if [ "$HIPQ_TEMPLATE/made" -ot "$library" ] || [ "$HIPQ_TEMPLATE/made" -ot "$script" ] ||
        [ "$HIPQ_TEMPLATE/made" -ot "$INITDB_TEMPLATE/postgresql.conf" ]; then
        add_extension >>"$out/template.log" 2>&1 || { cat "$out/template.log"; return 1; }
    fi
}

# Without hipq's processes, and without its mark: each copy is a server of its own.
add_extension() {
    fresh_dir "$HIPQ_TEMPLATE"
    as_server_user cp -RPp "$INITDB_TEMPLATE/." "$HIPQ_TEMPLATE"
    echo "shared_preload_libraries = 'hipq'
        hipq.enabled = off
        listen_addresses = ''
        unix_socket_directories = '$HIPQ_TEMPLATE'" |
        as_server_user tee "$HIPQ_TEMPLATE/postgresql.auto.conf"
    as_server_user "$bindir/pg_ctl" -w -D "$HIPQ_TEMPLATE" -l "$HIPQ_TEMPLATE/log" start
    as_server_user "$bindir/psql" -X -v ON_ERROR_STOP=1 -h "$HIPQ_TEMPLATE" -d postgres \
        -c 'CREATE ROLE app LOGIN' -c 'CREATE EXTENSION hipq'
    as_server_user "$bindir/pg_ctl" -w -D "$HIPQ_TEMPLATE" -m fast stop
    as_server_user rm -f "$HIPQ_TEMPLATE/log" "$HIPQ_TEMPLATE/hipq.server"
    as_server_user cp -p "$INITDB_TEMPLATE/postgresql.auto.conf" "$HIPQ_TEMPLATE"
    as_server_user touch "$HIPQ_TEMPLATE/made"
}

# ---- what a log says

# The name that awk gives to a file, from the path that prove prints: room/name, or the name in
# test/pgtap.
name_of='function name_of(path) {
    sub("^" root "(t|pgtap)/", "", path); sub(/[.](pl|sql)$/, "", path); return path }'

# Reads the log of a suite and prints a line for each of its files: its name, and how many of its
# tests passed and failed. A file that dies before a test fails counts as one failure.
counts_in() {
    awk -v root="$root/test/" "$name_of"'
        # prove, with --timer: [12:00:00] /where/room/name.pl .....
        /^\[[0-9:]+\] .*[.](pl|sql) [.]+/ {
            file = name_of($2); passed[file] += 0; failed[file] += 0
        }
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

# Prints each failed test, after its file if it has one: "claim/throttle: not ok 3 - ...".
failures_in() {
    awk -v root="$root/test/" "$name_of"'
        /^\[[0-9:]+\] .*[.](pl|sql) [.]+/ { file = name_of($2) }
        /^not ok [0-9]+ +[-+] [a-z_0-9]+ +[0-9]+ ms/ && file == "" { print $5 ": " $0; next }
        /^not ok [0-9]+/ { print (file == "" ? "" : file ": ") $0 }
        /^(test|    ) [a-z_0-9]+ +[.][.][.] FAILED/ { print ($0 ~ /^test/ ? $2 : $1) ": " $0 }
        /^\[  FAILED  \] .*ms\)$/ { print }
        /[.](pl|sql) +\(Wstat: .*Failed: 0\)$/ { print name_of($1) ": " $0 }' "$1"
}
