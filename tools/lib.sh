# What the tools share: where things are, who runs the server, how a tool ends. Sourced, after `set -euo pipefail`.

tools=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$tools")
build=$root/build
PGVERSION=${PGVERSION:-15}
# HIPQ_SERVER names another server: build/asan or build/assert, built from source (tools/source-server), or build/coverage.
private=$build/${HIPQ_SERVER:-pg}                              # tools/private-server fills it
bindir=$private/lib/postgresql/$PGVERSION/bin
pgxs_test=$private/lib/postgresql/$PGVERSION/lib/pgxs/src/test

# For a server with sanitizers. Leaks are not looked for, as PostgreSQL frees by ending. Locals stay on the stack, whose depth it
# measures by their addresses. A finding ends the process, and so its test.
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:abort_on_error=1:print_stacktrace=1:disable_coredump=1
export UBSAN_OPTIONS=abort_on_error=1:print_stacktrace=1:disable_coredump=1

# Whatever root makes here must be readable for the user that runs the server.
umask 022

say() { printf '%s\n' "$*" >&2; }

die() {
    say "$(basename "$0"): $*"
    exit 1
}

is_root() { [ "$(id -u)" = 0 ]; }

# PostgreSQL refuses to run as root: then its packages' own user runs clusters and whatever talks to them. (setpriv execs, so
# signals and the terminal reach the program itself; su and runuser stand in between.)
server_user=(env)
if is_root; then
    server_user=(setpriv --reuid=postgres --regid=postgres --init-groups -- env HOME=/nonexistent PSQL_HISTORY=/dev/null)
fi

as_server_user() { "${server_user[@]}" "$@"; }

# A folder that the server's user may write, empty.
fresh_dir() {
    rm -rf "$1"
    mkdir -p "$1"
    if is_root; then chown postgres: "$1"; fi
}

# Makes the folder a copy of the checkout, which may be there already: its build/ stays, and is never the checkout's.
copy_checkout() {
    find "$1" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
    # Not the library either: make would take it for that of the copy, which may be for another version.
    tar -C "$root" --mode=a+rX --exclude=./build --exclude=./.git --exclude='./*.so' -cf - . | tar -C "$1" -xf - --no-same-owner
}

# Goes on in a copy of the checkout when the server's user cannot reach this one (a checkout under /root, say).
#
# Call it after packages are installed, with the script's arguments: it starts the same script of the copy in place of this one.
ensure_reachable() {
    if as_server_user test -r "$root/Makefile" -a -x "$root/tools/cluster" 2>/dev/null; then return; fi
    local copy script
    copy=/tmp/hipq-$(printf '%s' "$root" | cksum | cut -d' ' -f1)
    script=$(realpath --relative-to="$root" "$0")
    mkdir -m 755 "$copy" 2>/dev/null || true
    # Anyone may have made a folder of that name.
    [ -d "$copy" ] && [ ! -L "$copy" ] && [ -O "$copy" ] || die "$copy is in the way: it belongs to someone else"
    say "The server's user cannot read $root: going on in a copy of it, $copy."
    copy_checkout "$copy"
    exec "$copy/$script" "$@"
}

# Builds and installs hipq for the private server, and the programs of clients/ that are named: "web". What that says goes to the log.
build_hipq() {
    local log=$1 programs=${2:-}
    mkdir -p "$build"
    { "$tools/private-server" && make -C "$root" -j2 install "PG_CONFIG=$bindir/pg_config" "PROGRAMS=$programs"; } >"$log" 2>&1 ||
        { tail -n 30 "$log"; die "the build failed; all of its output: $log"; }
}

# Ends the clusters in the given folders when the tool ends, however it ends.
stop_at_exit() {
    local stops=
    while [ $# -gt 0 ]; do
        stops+="'$tools/cluster' stop '$1' || true; "
        shift
    done
    trap "$stops" EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
}
