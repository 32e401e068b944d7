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

# A pooler reports a pid that differs from the server's.
SERVER_PROCESS = "SELECT pg_backend_pid()"

# The attempts that are not over; also a heartbeat, which changes nothing.
STILL_RUN = "SELECT hipq.heartbeat_attempts(%s::bigint[], %s::integer[])"

# For a handler, in its own transaction.
COMPLETE = "SELECT hipq.complete(%s::bigint, %s::integer, %s::jsonb)"

# Each takes many attempts, and returns the ids of the attempts that were still running.
COMPLETE_MANY = "SELECT hipq.complete_attempts(%s::bigint[], %s::integer[], %s::jsonb[])"
FAIL_MANY = "SELECT hipq.fail_attempts(%s::bigint[], %s::integer[], %s::text[])"
FAIL_MANY_FOR_GOOD = (
    "SELECT hipq.fail_attempts(%s::bigint[], %s::integer[], %s::text[], retriable => false)"
)
FAIL_MANY_LATER = (
    "SELECT hipq.fail_attempts(%s::bigint[], %s::integer[], %s::text[],"
    " retry_after => %s::text[]::hipq.duration[])"
)
RELEASE = "SELECT hipq.release(%s::bigint, %s::integer, delay => %s::text::hipq.duration)"
RELEASE_MANY = "SELECT hipq.release_attempts(%s::bigint[], %s::integer[])"
PROGRESS = (
    "SELECT hipq.report_progress(%s::bigint, %s::integer, %s::bigint, %s::bigint, %s::text)"
)
EXTEND = "SELECT hipq.extend(%s::bigint, %s::integer, %s::text::hipq.duration)"
