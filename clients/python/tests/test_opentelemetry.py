import asyncio
import http.server
import os
import re
import subprocess
import sys
import threading
import unittest

import psycopg

import hipq
from support import Case, until

try:
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
        ExportTraceServiceRequest,
    )
    from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    import hipq.aio.opentelemetry
    import hipq.opentelemetry
except ImportError as error:
    missing = f"the SDK of OpenTelemetry and its exporter for OTLP are not installed: {error}"
else:
    missing = None

TRACE = "4bf92f3577b34da6a3ce929d0e0e473"  # plus one digit
PARENT = "00f067aa0ba902b7"


class Collected:
    """A span as the collector received it."""

    def __init__(self, span):
        self.trace_id, self.id, self.parent_id = (
            part.hex() for part in (span.trace_id, span.span_id, span.parent_span_id)
        )
        self.name, self.kind = span.name, span.kind
        self.status = (span.status.code, span.status.message)
        self.attributes = {
            pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in span.attributes
        }
        self.events = [event.name for event in span.events]


class Collector(http.server.ThreadingHTTPServer):
    """Keeps the spans that the exporter of the SDK posts to it."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Requests)
        self.spans = []
        self.paths = set()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def spans_of(self, trace_id, count):
        def found():
            spans = [span for span in list(self.spans) if span.trace_id == trace_id]
            return spans if len(spans) >= count else None

        return until(found, f"trace {trace_id} has {count} spans")


class Requests(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.paths.add((self.path, self.headers["Content-Type"]))
        for of_resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for of_scope in of_resource.scope_spans:
                self.server.spans.extend(map(Collected, of_scope.spans))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class WithoutPeer(unittest.TestCase):
    def test_import(self):
        "the package itself does not need OpenTelemetry"
        program = (
            "import sys; sys.modules['opentelemetry'] = None; import hipq, hipq.aio, hipq.testing"
        )
        source = os.path.dirname(os.path.dirname(os.path.abspath(hipq.__file__)))
        ran = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, cwd=source
        )
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))


@unittest.skipIf(missing, missing)
class OpenTelemetry(Case):
    types = {**Case.types, "next": ""}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.collector = Collector()
        cls.addClassCleanup(cls.collector.server_close)
        cls.addClassCleanup(cls.collector.shutdown)
        provider = TracerProvider()
        url = f"http://127.0.0.1:{cls.collector.server_port}/v1/traces"
        provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=url)))
        cls.addClassCleanup(provider.shutdown)
        trace.set_tracer_provider(provider)
        cls.tracer = trace.get_tracer("test")

    def traced(self):
        worker = self.worker()
        hipq.opentelemetry.instrument(worker)
        return worker

    def test_through(self):
        "the trace goes through the queue: request, enqueueing, attempt, spans of the handler"
        worker = self.traced()

        @worker.job("scan")
        def scan(job):
            with self.tracer.start_as_current_span("inner"), psycopg.connect("") as conn:
                hipq.opentelemetry.enqueue(conn, "next", queue=self.queue)

        worker.job("next")(lambda job: None)
        self.serve(worker)
        with self.tracer.start_as_current_span("request") as request:
            job = hipq.opentelemetry.enqueue(
                self.conn, "scan", {}, queue=self.queue, job_key="k"
            )
        trace_id = f"{request.get_span_context().trace_id:032x}"
        spans = self.collector.spans_of(trace_id, 6)
        root = next(span for span in spans if span.name == "request")

        def below(parent):
            (child,) = [span for span in spans if span.parent_id == parent.id]
            return child

        sent = below(root)
        of_job = {
            "messaging.system": "hipq",
            "messaging.destination.name": self.queue,
            "messaging.message.id": str(job),
            "hipq.queue": self.queue,
            "hipq.job.id": job,
            "hipq.job.type": "scan",
        }
        operation = {"messaging.operation.name": "enqueue", "messaging.operation.type": "send"}
        self.assertEqual(sent.attributes, {**of_job, **operation})
        self.assertEqual((sent.name, sent.kind), (f"enqueue {self.queue}", Span.SPAN_KIND_PRODUCER))
        attempt = below(sent)
        self.assertEqual(
            attempt.attributes,
            {
                **of_job,
                "messaging.operation.name": "process",
                "messaging.operation.type": "process",
                "messaging.client.id": worker.settings.name,
                "hipq.job.key": "k",
                "hipq.attempt": 1,
                "hipq.outcome": "succeeded",
            },
        )
        self.assertEqual(
            (attempt.name, attempt.kind), (f"process {self.queue}", Span.SPAN_KIND_CONSUMER)
        )
        self.assertEqual(attempt.status, (Status.STATUS_CODE_UNSET, ""))
        inner = below(attempt)
        self.assertEqual(inner.name, "inner")
        self.assertEqual(below(below(inner)).attributes["hipq.job.type"], "next")
        traceparent = self.sql("SELECT traceparent FROM hipq.jobs_detail WHERE id = %s", job)
        self.assertRegex(traceparent, f"^00-{trace_id}-{sent.id}-0[13]$")
        paths = {("/v1/traces", "application/x-protobuf")}
        self.assertEqual(self.collector.paths, paths)

    def test_outcomes(self):
        "each attempt is a span, with its outcome"
        worker = self.traced()

        @worker.job("scan")
        def scan(job):
            if job.data == "fail":
                raise ValueError("no luck")
            if job.data == "permanent":
                raise hipq.Permanent("no such address")
            if job.data == "later" and job.attempt == 1:
                raise hipq.RetryAfter(0, "busy")
            if job.data == "release" and job.attempt == 1:
                job.release()
            if job.data == "cancel":
                job.sleep(60)

        self.serve(worker)
        unset, error = Status.STATUS_CODE_UNSET, Status.STATUS_CODE_ERROR
        fails = ("failed", "ValueError", (error, "ValueError: no luck"), ["exception"])
        gives_up = ("failed", "Permanent", (error, "no such address"), ["exception"])
        over = (error, "AttemptOver: attempt 1 of job N is over")
        expected = {
            "fail": [(1, *fails), (2, *fails)],
            "permanent": [(1, *gives_up)],
            "later": [
                (1, "failed", "RetryAfter", (error, "busy"), ["exception"]),
                (2, "succeeded", None, (unset, ""), []),
            ],
            "release": [
                (1, "released", None, (unset, ""), []),
                (2, "succeeded", None, (unset, ""), []),
            ],
            "cancel": [(1, "lost", "AttemptOver", over, ["exception"])],
        }
        for digit, how in enumerate(expected):
            trace_id = f"{TRACE}{digit}"
            job = self.enqueue(
                "scan", how, max_retries=1, traceparent=f"00-{trace_id}-{PARENT}-01"
            )
            if how == "cancel":
                self.until_running(job)
                self.sql("SELECT hipq.cancel(%s)", job)
            spans = self.collector.spans_of(trace_id, len(expected[how]))
            self.assertEqual({span.parent_id for span in spans}, {PARENT})
            seen = [
                (
                    span.attributes["hipq.attempt"],
                    span.attributes["hipq.outcome"],
                    span.attributes.get("error.type"),
                    (span.status[0], re.sub(r"job \d+", "job N", span.status[1])),
                    span.events,
                )
                for span in spans
            ]
            self.assertEqual(seen, expected[how])

    def test_unsampled(self):
        "a trace that is not sampled continues without spans; a job without a trace begins one"
        worker = self.traced()
        seen = []

        @worker.job("scan")
        def scan(job):
            seen.append(trace.get_current_span().get_span_context())

        self.serve(worker)
        self.outcome(self.enqueue(traceparent=f"00-{TRACE}9-{PARENT}-00"))
        self.outcome(self.enqueue())
        self.assertEqual((f"{seen[0].trace_id:032x}", seen[0].trace_flags), (f"{TRACE}9", 0))
        (span,) = self.collector.spans_of(f"{seen[1].trace_id:032x}", 1)
        self.assertEqual(span.parent_id, "")
        self.assertNotIn(f"{TRACE}9", [span.trace_id for span in self.collector.spans])

    def test_enqueueing(self):
        "many jobs have one span; the span has the error; a given trace does not change"
        with self.tracer.start_as_current_span("many") as root:
            ids = hipq.opentelemetry.enqueue_many(self.conn, "next", [1, 2], queue=self.queue)
            with self.assertRaises(psycopg.errors.UndefinedObject):
                hipq.opentelemetry.enqueue(self.conn, "next", queue="no.queue")
            named = f"00-{TRACE}8-{PARENT}-01"
            job = hipq.opentelemetry.enqueue(
                self.conn, "next", queue=self.queue, traceparent=named
            )
        spans = self.collector.spans_of(f"{root.get_span_context().trace_id:032x}", 3)
        many, refused, _ = spans
        self.assertEqual(many.attributes["messaging.batch.message_count"], 2)
        self.assertEqual(refused.status[0], Status.STATUS_CODE_ERROR)
        sql = "SELECT traceparent FROM hipq.jobs_detail WHERE id = %s"
        for one in ids:
            self.assertRegex(self.sql(sql, one), f"^00-{many.trace_id}-{many.id}-0[13]$")
        self.assertEqual(self.sql(sql, job), named)
        self.assertNotIn(f"{TRACE}8", [span.trace_id for span in self.collector.spans])

    def test_aio(self):
        "a worker of asyncio: the span is current in the handler, and ends when a job is cancelled"
        worker = hipq.aio.Worker(self.serves, queues=[self.queue], name="aio", look=0.1)
        hipq.aio.opentelemetry.instrument(worker)

        @worker.job("scan")
        async def scan(job):
            with self.tracer.start_as_current_span("inner"):
                await asyncio.sleep(60 if job.data == "slow" else 0)

        async def main():
            serving = asyncio.ensure_future(worker.run())
            async with await psycopg.AsyncConnection.connect("", autocommit=True) as conn:
                with self.tracer.start_as_current_span("request") as request:
                    jobs = await hipq.aio.opentelemetry.enqueue_many(
                        conn, "scan", ["quick", "slow"], queue=self.queue
                    )
                await hipq.aio.wait_for(conn, jobs[0])
                await asyncio.to_thread(self.until_running, jobs[1])
                await conn.execute("SELECT hipq.cancel(%s)", [jobs[1]])
                trace_id = f"{request.get_span_context().trace_id:032x}"
                spans = await asyncio.to_thread(self.collector.spans_of, trace_id, 6)
            worker.stop()
            await serving
            return jobs, spans

        jobs, spans = asyncio.run(main())
        (sent,) = [span for span in spans if span.name.startswith("enqueue")]
        attempts = {
            span.attributes["hipq.job.id"]: span for span in spans if span.parent_id == sent.id
        }
        outcomes = [attempts[job].attributes["hipq.outcome"] for job in jobs]
        self.assertEqual(outcomes, ["succeeded", "lost"])
        inner = {span.parent_id for span in spans if span.name == "inner"}
        self.assertEqual(inner, {span.id for span in attempts.values()})
