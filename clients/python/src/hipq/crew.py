"""Threads that run one job after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import Context
from queue import SimpleQueue
from typing import Optional

Function = Callable[[], None]


class Crew:
    """Starts a thread for a call only if none is idle. The threads do not keep a program alive."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Optional[tuple[str, Function]]] = SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0  # threads that wait, or will, and have no call in the queue
        self._threads = 0

    def run(self, name: str, function: Function) -> None:
        """Calls the function in a thread, which has this name meanwhile."""
        with self._lock:
            if self._idle > 0:
                self._idle -= 1
            else:
                self._threads += 1
                threading.Thread(target=self._serve, daemon=True).start()
        self._calls.put((name, function))

    def close(self) -> None:
        """Ends each thread after its call. Does not wait for it."""
        for _ in range(self._threads):
            self._calls.put(None)

    def _serve(self) -> None:
        while (call := self._calls.get()) is not None:
            threading.current_thread().name, function = call
            Context().run(function)  # it finds no variable of the thread's last call
            with self._lock:
                self._idle += 1
