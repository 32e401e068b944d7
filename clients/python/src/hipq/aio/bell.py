"""Wakes the worker's task: at a signal, at the end of a job, when somebody calls stop()."""

from __future__ import annotations

import asyncio
from typing import Optional


class Bell:
    """An event that can also be rung by what comes over a connection."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def ring(self) -> None:
        """Wakes who waits, or who waits next."""
        self._event.set()

    async def wait(self, seconds: float, channel: Optional[int] = None) -> bool:
        """Waits until it rings, the channel can be read, or the time is up: then it says False.

        psycopg must not use the channel meanwhile: the loop has one reader of each.
        """
        loop = asyncio.get_running_loop()
        if channel is not None:
            loop.add_reader(channel, self._event.set)
        try:
            await asyncio.wait_for(self._event.wait(), seconds)
            return True
        except asyncio.TimeoutError:
            return False
        finally:
            if channel is not None:
                loop.remove_reader(channel)
            self._event.clear()
