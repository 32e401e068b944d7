# Two processes of Python with psycopg: hipq's client, and a loop by hand over the plain table that
# keeps its rows. Both answer without waiting for the WAL (group durability).

python_program() { program env "PYTHONPATH=$root/clients/python/src" PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$benchmarks/python-client/$1.py" "${@:2}"; }

for variant in batch single; do
    eval "python_loop_${variant}_setup() { plain_table_setup; }"
    eval "python_loop_${variant}_hold() { :; }"
    eval "python_loop_${variant}_enqueue() { plain_table_enqueue \"\$@\"; }"
    eval "python_loop_${variant}_drain() { drained_seconds=\$(python_program drain loop_$variant \"\$1\"); }"
done
for variant in batch single tasks; do
    eval "hipq_python_${variant}_setup() { hipq_client_setup; }"
    eval "hipq_python_${variant}_hold() { :; }"
    eval "hipq_python_${variant}_enqueue() { hipq_enqueue \"\$@\"; }"
    eval "hipq_python_${variant}_drain() { drained_seconds=\$(python_program drain hipq_$variant \"\$1\"); hipq_client_check \"\$1\"; }"
done
