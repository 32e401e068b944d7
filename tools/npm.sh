# Functions for tools that check files against schemas which packages of npm have as types of
# TypeScript. Sourced, after lib.sh.

# Unpacks packages, once, and again when the list changes. $1: the folder; then NAME@VERSION. The
# file "complete" has the list. Exits with 3 if the packages cannot be had.
unpack_packages() {
    local folder=$1
    shift
    if [ "$(cat "$folder/complete" 2>/dev/null)" = "$*" ]; then return; fi
    command -v npm >/dev/null || { say "npm is not installed"; exit 3; }
    rm -rf "$folder"
    mkdir -p "$folder"
    echo '{"private": true}' >"$folder/package.json"
    # Run in the folder: with --prefix npm ignores the machine's own npmrc, and so the certificates
    # of its registry.
    (cd "$folder" && npm install --ignore-scripts --no-audit --no-fund "$@") >"$folder/npm.log" 2>&1 || { say "npm cannot have $*"; exit 3; }
    echo "$*" >"$folder/complete"
}

# Makes an empty folder that finds the packages, $work, and removes it at exit.
# $1: the folder of the packages.
work_beside() {
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    ln -s "$1/node_modules" "$work/node_modules"
}

# $@: options and files.
check_types() { node "$work/node_modules/typescript/lib/tsc.js" --skipLibCheck --strict --target es2022 --module nodenext --moduleResolution nodenext "$@"; }
