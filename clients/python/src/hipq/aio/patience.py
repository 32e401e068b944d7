"""Ends connections on which an answer is overdue: see hipq.patience."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from ..patience import Line, cut


class Patience:
    """Watches the connections of a worker."""

    def __init__(self, reply_timeout: float) -> None:
        self._reply_timeout = reply_timeout

    @contextmanager
    def limits(self, line: Line, wait: float = 0) -> Iterator[None]:
        """Limits the time of the answer in the block. The server itself may wait for `wait`."""
        loop = asyncio.get_running_loop()
        quarter = self._reply_timeout / 4
        timers: list[asyncio.TimerHandle] = []

        def count_the_last_quarter() -> None:
            timers.append(loop.call_later(quarter, cut, line))

        timers.append(loop.call_later(3 * quarter + wait, count_the_last_quarter))
        try:
            yield
        finally:
            for timer in timers:
                timer.cancel()
