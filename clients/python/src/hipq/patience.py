"""Ends connections with overdue answers: a broken network may report no error.

The last quarter of the time limit is counted separately: a program that was stopped (SIGSTOP) for
longer than the limit still has time to read an answer that has arrived meanwhile.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol


class Line(Protocol):
    """An object with a socket: a Connection or an AsyncConnection."""

    def fileno(self) -> int:
        """The descriptor of the socket."""


def cut(line: Line) -> None:
    """Shuts down the socket: the thread or task that waits for it gets psycopg's error."""
    try:
        with socket.socket(fileno=os.dup(line.fileno())) as its_socket:
            its_socket.shutdown(socket.SHUT_RDWR)
    except Exception:  # the connection has already ended
        pass


class Patience:
    """A thread that watches the connections of a worker."""

    def __init__(self, reply_timeout: float) -> None:
        self._reply_timeout = reply_timeout
        self._due: dict[Any, float] = {}
        self._is_last_quarter: set[Any] = set()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="hipq patience", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stops the thread."""
        self._ended.set()

    @contextmanager
    def limits(self, line: Line, wait: float = 0) -> Iterator[None]:
        """Limits the time of the answer in the block. The server itself may wait for `wait`."""
        with self._lock:
            self._due[line] = time.monotonic() + self._reply_timeout * 3 / 4 + wait
        try:
            yield
        finally:
            with self._lock:
                del self._due[line]
                self._is_last_quarter.discard(line)

    def _run(self) -> None:
        while not self._ended.wait(min(1.0, self._reply_timeout / 4)):
            with self._lock:
                self._look(time.monotonic())

    def _look(self, now: float) -> None:
        for line in [line for line, due in self._due.items() if due < now]:
            if line in self._is_last_quarter:
                cut(line)
            self._is_last_quarter.add(line)
            self._due[line] = now + self._reply_timeout / 4
