# hipq with external workers: two processes of the Node.js client, with handlers for batches and for
# single jobs, with group durability.

# Built in a copy, so that the checkout does not change, and again when the client has changed.
node_client=$build/bench-node-client

hipq_node_program() { program env "NODE_CLIENT=$node_client" node "$benchmarks/node-client/$1.mjs" "${@:2}"; }

hipq_node_setup() {
    local made=$node_client/dist
    if [ ! -d "$made" ] || [ -n "$(find "$root"/clients/node/{src,package-lock.json} -newer "$made")" ]; then
        rm -rf "$node_client"
        cp -r "$root/clients/node" "$node_client"
        (cd "$node_client" && npm ci --silent --no-audit --no-fund >&2 && npm run --silent build >&2)
    fi
    hipq_client_setup
}

# Without workers no job runs.
hipq_node_hold() { :; }

hipq_node_enqueue() { hipq_enqueue "$@"; }

hipq_node_batch_drain() { drained_seconds=$(hipq_node_program drain batch "$1"); hipq_client_check "$1"; }
hipq_node_single_drain() { drained_seconds=$(hipq_node_program drain single "$1"); hipq_client_check "$1"; }

for variant in hipq_node_batch hipq_node_single; do
    for action in setup hold enqueue; do
        eval "${variant}_$action() { hipq_node_$action \"\$@\"; }"
    done
done
