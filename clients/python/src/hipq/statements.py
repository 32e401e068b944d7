"""The statements of a worker. Each is one constant; values are always parameters."""

from __future__ import annotations

from .fields import COLUMNS

REGISTER = (
    "SELECT hipq.register_worker(name => %(name)s::text, queues => %(queues)s::text[],"
    " job_types => %(job_types)s::text[], capacity => %(capacity)s::integer,"
    " prefetch => %(prefetch)s::integer, capabilities => %(capabilities)s::jsonb,"
    " listen => %(listen)s::boolean, take_over => %(take_over)s::boolean)"
)
CLAIM = (
    f"SELECT {COLUMNS} FROM hipq.claim(%s::bigint, max_jobs => %s::integer,"
    " wait => %s::text::hipq.duration)"
)
HEARTBEAT = "SELECT hipq.heartbeat(%s::bigint)"
DRAIN = "SELECT hipq.drain_worker(%s::bigint)"
DEREGISTER = "SELECT hipq.deregister_worker(%s::bigint)"

# False: somebody pools the connection. NULL: the bound session has ended.
IS_BOUND_HERE = "SELECT pid = pg_backend_pid() FROM hipq.workers WHERE worker_id = %s::bigint"

# A role may read this of its own workers; hipq.running needs the right `read`.
RUNNING_JOBS = "SELECT running_jobs FROM hipq.workers WHERE worker_id = %s::bigint"

COMPLETE = "SELECT hipq.complete(%s::bigint, %s::integer, %s::jsonb)"
FAIL = "SELECT hipq.fail(%s::bigint, %s::integer, %s::text, retriable => %s::boolean)"
RELEASE = "SELECT hipq.release(%s::bigint, %s::integer, delay => %s::text::hipq.duration)"
RELEASE_MANY = "SELECT hipq.release(%s::bigint[], %s::integer[])"
PROGRESS = (
    "SELECT hipq.report_progress(%s::bigint, %s::integer, %s::bigint, %s::bigint, %s::text)"
)
EXTEND = "SELECT hipq.extend(%s::bigint, %s::integer, %s::text::hipq.duration)"

# Asks whether an attempt is still the caller's, in a transaction that is rolled back: HQ003 says
# that it is over. It does not wait long for who else has the job's row.
PROBE_LIMIT = "SET LOCAL lock_timeout = '500ms'"
PROBE = "SELECT hipq.extend(%s::bigint, %s::integer, '1 s'::hipq.duration)"
