# What the stories of the examples share. Sourced by a story, after `set -euo pipefail`.
#
# A story is run by a superuser in an empty database; PGHOST, PGPORT, PGUSER and PGDATABASE say where. What its programs write is
# in $files, which goes in the end unless the caller gives it as EXAMPLE_FILES.

examples=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$(dirname "$0")"
export PYTHONPATH=$examples/../clients/python/src PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PGCLIENTENCODING=UTF8
python=/usr/bin/python3
files=${EXAMPLE_FILES:-$(mktemp -d)}
declare -A pid_of

step() { printf '\n== %s\n' "$*"; }

give_up() {
    printf '%s\n' "$*" >&2
    exit 1
}

sql() { psql -X -q -v ON_ERROR_STOP=1 -P pager=off -P footer=off "$@"; }

# The answer to a question, as it is.
ask() { sql -At -c "$1"; }

set_up() { PGOPTIONS='-c client_min_messages=warning' sql -o /dev/null -f setup.sql; }

# Ends with 77, by which a test knows that something is missing.
needs_python() {
    local module
    for module in "$@"; do
        "$python" -c "import $module" 2>/dev/null && continue
        echo "This example needs Python's module $module. README.md names the package." >&2
        exit 77
    done
}

# Waits, a minute at most, until the command succeeds.
wait_for() {
    local end=$((SECONDS + ${seconds:-60}))
    until "$@"; do
        ((SECONDS < end)) || give_up "waited in vain for: $*"
        sleep 0.1
    done
}

is_true() {
    local answer
    answer=$(ask "$1") || exit 1
    [ "$answer" = t ]
}

# Waits until the query says that it is true.
wait_until() { wait_for is_true "$1"; }

# Starts a program under a name; what it says goes to $files/NAME.log.
start() {
    local name=$1
    shift
    "$@" >>"$files/$name.log" 2>&1 &
    pid_of[$name]=$!
}

has_port() {
    kill -0 "${pid_of[$1]}" 2>/dev/null || give_up "$1 has ended: $(cat "$files/$1.log")"
    grep -q '^listens on port' "$files/$1.log"
}

# The port that a server has said that it listens on.
port_of() {
    wait_for has_port "$1"
    sed -n 's/^listens on port //p' "$files/$1.log" | tail -n 1
}

# Ends a program, by -TERM or the signal given, and waits for its end.
end() {
    local name=$1 pid
    pid=${pid_of[$name]}
    unset "pid_of[$name]"
    kill "${2:--TERM}" "$pid"
    wait "$pid" 2>/dev/null || true
}

end_all() {
    local name
    for name in "${!pid_of[@]}"; do end "$name" 2>/dev/null || true; done
    if [ -z "${EXAMPLE_FILES:-}" ]; then rm -rf "$files"; fi
}
trap end_all EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
