"""Shared by the tests: connections, a queue for each class, workers in threads and processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import unittest
from typing import Any, Callable

import psycopg

import hipq

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
LIMIT = 60.0  # seconds, the time limit of each wait


def until(condition: Callable[[], Any], what: str) -> Any:
    """Waits until the condition returns a true value, and returns that value."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        answer = condition()
        if answer:
            return answer
        time.sleep(0.02)
    raise AssertionError(f"waited in vain until {what}")


class Case(unittest.TestCase):
    """A queue of the test class, served by role "worker", which has only the right to work."""

    queue: str
    types: dict[str, str] = {"scan": "max_retries => 3, retry_base => '0 s', "}
    serves = "user=worker"

    @classmethod
    def setUpClass(cls) -> None:
        cls.conn = psycopg.connect("", autocommit=True)
        cls.addClassCleanup(cls.conn.close)
        cls.queue = f"py.{cls.__name__.lower()}"
        cls.sql("SELECT hipq.create_queue(%s, owner => 'app')", cls.queue)
        cls.sql("SELECT hipq.grant_queue(%s, 'worker', 'work')", cls.queue)
        for name, options in cls.types.items():
            cls.sql(
                f"SELECT hipq.register_job_type(%s, %s, {options}handler_kind => 'notify')",
                cls.queue,
                name,
            )

    @classmethod
    def sql(cls, sql: str, *values: Any) -> Any:
        """Returns the first column of the first row."""
        cursor = cls.conn.execute(sql, values)
        row = cursor.fetchone() if cursor.description else None
        return row and row[0]

    def enqueue(self, job_type: str = "scan", data: Any = None, **options: Any) -> int:
        return hipq.enqueue(self.conn, job_type, data, queue=self.queue, **options)

    def outcome(self, job_id: int) -> hipq.Outcome:
        return hipq.wait_for(self.conn, job_id, LIMIT)

    def until_running(self, job_id: int) -> None:
        sql = "SELECT is_accepted FROM hipq.running_detail WHERE id = %s"
        until(lambda: self.sql(sql, job_id), f"job {job_id} runs")

    def until_served(self, name: str) -> None:
        sql = "SELECT status = 'active' FROM hipq.workers WHERE name = %s"
        until(lambda: self.sql(sql, name), f"worker {name} is there")

    def worker(self, **options: Any) -> hipq.Worker:
        options = {"queues": [self.queue], "name": self.id()[-60:], "look": 0.1, **options}
        return hipq.Worker(self.serves, **options)

    def serve(self, worker: hipq.Worker) -> Serving:
        serving = Serving(worker)
        self.addCleanup(serving.end)
        return serving

    def program(self, name: str, **environment: str) -> subprocess.Popen:
        more = {"HIPQ_QUEUE": self.queue, "HIPQ_CONNINFO": self.serves, **environment}
        process = subprocess.Popen(
            [sys.executable, os.path.join(PROGRAMS, name)],
            env={**os.environ, **more},
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.send_signal, signal.SIGKILL)
        return process


class Serving:
    """A worker that runs in a thread of the test."""

    def __init__(self, worker: hipq.Worker) -> None:
        self.worker = worker
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.worker.run()
        except BaseException as error:
            self.error = error

    def end(self) -> None:
        """Stops the worker, and raises its exception."""
        self.worker.stop()
        self.join()
        if self.error is not None:
            raise self.error

    def join(self) -> None:
        self.thread.join(LIMIT)
        assert not self.thread.is_alive(), "the worker does not end"
