# Functions and variables for all tools: paths, the user that runs the server, and how a tool exits.
# Sourced, after `set -euo pipefail`.

tools=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$tools")
build=$root/build
PGVERSION=${PGVERSION:-15}
# HIPQ_SERVER selects a server built from source instead of the packaged one: build/asan or
# build/assert (tools/source-server), or build/coverage (tools/coverage).
private=$build/${HIPQ_SERVER:-pg}                              # tools/private-server fills it
bindir=$private/lib/postgresql/$PGVERSION/bin
pgxs_test=$private/lib/postgresql/$PGVERSION/lib/pgxs/src/test

# For a server with sanitizers. Leaks are not checked, because PostgreSQL leaves freeing to the end
# of the process. Locals stay on the stack, because PostgreSQL measures the depth of the stack by
# their addresses. A finding ends the process, and so its test.
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:abort_on_error=1:print_stacktrace=1:disable_coredump=1
export UBSAN_OPTIONS=abort_on_error=1:print_stacktrace=1:disable_coredump=1

# Files that root makes here must be readable for the user that runs the server.
umask 022

say() { printf '%s\n' "$*" >&2; }

die() {
    say "$(basename "$0"): $*"
    exit 1
}

is_root() { [ "$(id -u)" = 0 ]; }

# PostgreSQL refuses to run as root: then the user of its packages runs clusters and their clients.
# (setpriv execs, so that signals and the terminal reach the program itself; su and runuser would
# stay in between.)
server_user=(env)
if is_root; then
    server_user=(setpriv --reuid=postgres --regid=postgres --init-groups -- env HOME=/nonexistent PSQL_HISTORY=/dev/null)
fi

as_server_user() { "${server_user[@]}" "$@"; }

# Makes an empty folder that the server's user may write.
fresh_dir() {
    rm -rf "$1"
    mkdir -p "$1"
    if is_root; then chown postgres: "$1"; fi
}

# Makes the folder a copy of the checkout; the folder may already exist. Its build/ stays, and is
# never the checkout's.
copy_checkout() {
    find "$1" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
    # The library is not copied either: make would take it for the copy's own, but it may be for
    # another version.
    tar -C "$root" --mode=a+rX --exclude=./build --exclude=./.git --exclude='./*.so' -cf - . | tar -C "$1" -xf - --no-same-owner
}

# Continues in a copy of the checkout if the server's user cannot read this one (a checkout under
# /root, for example).
#
# Call it after packages are installed, with the script's arguments: it replaces this script by the
# same script in the copy.
ensure_reachable() {
    if as_server_user test -r "$root/Makefile" -a -x "$root/tools/cluster" 2>/dev/null; then return; fi
    local copy script
    copy=/tmp/hipq-$(printf '%s' "$root" | cksum | cut -d' ' -f1)
    script=$(realpath --relative-to="$root" "$0")
    mkdir -m 755 "$copy" 2>/dev/null || true
    # Another user may have made a folder of that name.
    [ -d "$copy" ] && [ ! -L "$copy" ] && [ -O "$copy" ] || die "$copy is in the way: it belongs to someone else"
    say "The server's user cannot read $root: going on in a copy of it, $copy."
    copy_checkout "$copy"
    exec "$copy/$script" "$@"
}

# Builds and installs hipq for the private server, and the programs of clients/ that are named:
# "web". Their output goes to the log.
build_hipq() {
    local log=$1 programs=${2:-}
    mkdir -p "$build"
    { "$tools/private-server" && make -C "$root" -j2 install "PG_CONFIG=$bindir/pg_config" "PROGRAMS=$programs"; } >"$log" 2>&1 ||
        { tail -n 30 "$log"; die "the build failed; all of its output: $log"; }
}

# Stops the clusters in the given folders when the tool ends, however it ends.
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
