"""Wakes the worker's task: after a signal, at the end of a job, after a call of stop()."""

from __future__ import annotations

import asyncio
from typing import Optional


class Bell:
    """An event that data on a connection can also set."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def ring(self) -> None:
        """Wakes the waiting task, or the next one that waits."""
        self._event.set()

    async def wait(self, seconds: float, channel: Optional[int] = None) -> bool:
        """Waits until it rings or the channel is readable. Returns False if the time is up before.

        psycopg must not use the channel meanwhile: the loop allows one reader per channel.
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
