"""Spans of enqueueing and of attempts, with OpenTelemetry's API, which only this module needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Optional, Union

import psycopg
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, StatusCode, TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from . import enqueueing
from .error_texts import error_text
from .errors import AttemptOver, Release
from .fields import JobFields

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .aio.worker import Worker as AsyncWorker
    from .calls import ManyOptions, Options
    from .worker import Worker

__all__ = ["enqueue", "enqueue_many", "instrument"]

_w3c = TraceContextTextMapPropagator()


def instrument(worker: Union[Worker, AsyncWorker], tracer_provider: Optional[TracerProvider] = None) -> None:
    """Makes a worker create a span for each attempt, as a child of the trace of its job.

    worker: a hipq.Worker or a hipq.aio.Worker. Call this before you add other middleware, so that
    the span also covers that middleware.
    tracer_provider: creates the spans; by default the globally registered one.
    """
    name = worker.settings.name

    def middleware(job: Any, call_next: Any) -> Any:
        with attempting(job, name, tracer_provider):
            return call_next(job)

    async def middleware_soon(job: Any, call_next: Any) -> Any:
        with attempting(job, name, tracer_provider):
            return await call_next(job)

    worker.middleware(middleware_soon if worker.is_async else middleware)


@contextmanager
def attempting(
    job: Any, worker: str, tracer_provider: Optional[TracerProvider] = None
) -> Iterator[None]:
    """The span of an attempt, which is the current span inside the block."""
    carrier = {} if job.traceparent is None else {"traceparent": job.traceparent}
    with trace.get_tracer("hipq", tracer_provider=tracer_provider).start_as_current_span(
        f"process {job.queue}",
        context=_w3c.extract(carrier, Context()),
        kind=SpanKind.CONSUMER,
        attributes=_attributes_of(job, worker),
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield
        except BaseException as error:  # sys.exit() in a handler is a failure, too
            _end(span, job, error)
            raise
        _end(span, job, None)


def _attributes_of(job: JobFields, worker: str) -> dict[str, Any]:
    attributes = {
        "messaging.system": "hipq",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": job.queue,
        "messaging.message.id": str(job.id),
        "messaging.client.id": worker,
        "hipq.queue": job.queue,
        "hipq.job.id": job.id,
        "hipq.job.type": job.type,
        "hipq.attempt": job.attempt,
    }
    if job.key is not None:
        attributes["hipq.job.key"] = job.key
    return attributes


def _end(span: Span, job: Any, error: Optional[BaseException]) -> None:
    """Records the outcome. An attempt that is over stays over, whatever its handler returns."""
    if getattr(job, "cancelled", False) and not isinstance(error, AttemptOver):
        error = AttemptOver(job.id, job.attempt)
    if error is None:
        outcome = "succeeded"
    elif isinstance(error, Release):
        outcome = "released"
    else:
        outcome = "lost" if isinstance(error, AttemptOver) else "failed"
        span.record_exception(error)
        span.set_attribute("error.type", type(error).__name__)
        span.set_status(StatusCode.ERROR, error_text(error))
    span.set_attribute("hipq.outcome", outcome)


@contextmanager
def sending(job_type: str, options: dict[str, Any]) -> Iterator[Span]:
    """A span for the enqueueing, which is the current span inside and the parent of the jobs.

    If the caller gave a traceparent, does not change it, and makes no span.
    """
    if options.get("traceparent") is not None:
        yield trace.INVALID_SPAN
        return
    queue = options.get("queue")
    attributes = {
        "messaging.system": "hipq",
        "messaging.operation.name": "enqueue",
        "messaging.operation.type": "send",
        "hipq.job.type": job_type,
    }
    if queue is not None:
        attributes.update({"messaging.destination.name": queue, "hipq.queue": queue})
    name = "enqueue" if queue is None else f"enqueue {queue}"
    tracer = trace.get_tracer("hipq")
    with tracer.start_as_current_span(
        name, kind=SpanKind.PRODUCER, attributes=attributes
    ) as span:
        carrier: dict[str, str] = {}
        _w3c.inject(carrier)
        if "traceparent" in carrier:
            options["traceparent"] = carrier["traceparent"]
        yield span


def tell_id(span: Span, job_id: int) -> None:
    """Records the id of the enqueued job."""
    span.set_attributes({"messaging.message.id": str(job_id), "hipq.job.id": job_id})


def tell_count(span: Span, ids: Sequence[int]) -> None:
    """Records the number of enqueued jobs."""
    span.set_attribute("messaging.batch.message_count", len(ids))


def enqueue(
    conn: psycopg.Connection[Any], job_type: str, data: Any = None, **options: Unpack[Options]
) -> int:
    """Like hipq.enqueue, in its own span, which becomes the parent of the job."""
    traced: dict[str, Any] = {**options}
    with sending(job_type, traced) as span:
        job_id = enqueueing.enqueue(conn, job_type, data, **traced)
        tell_id(span, job_id)
    return job_id


def enqueue_many(
    conn: psycopg.Connection[Any],
    job_type: str,
    items: Sequence[Any],
    *,
    job_keys: Optional[Sequence[Optional[str]]] = None,
    **options: Unpack[ManyOptions],
) -> list[int]:
    """Like hipq.enqueue_many, in one span, which becomes the parent of all the jobs."""
    traced: dict[str, Any] = {**options}
    with sending(job_type, traced) as span:
        ids = enqueueing.enqueue_many(conn, job_type, items, job_keys=job_keys, **traced)
        tell_count(span, ids)
    return ids
