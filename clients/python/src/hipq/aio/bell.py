"""Wakes the worker's task: after a signal, at the end of a job, after a call of stop()."""

from __future__ import annotations

import asyncio


class Bell:
    """An event."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def ring(self) -> None:
        """Wakes the waiting task, or the next one that waits."""
        self._event.set()

    async def wait(self, seconds: float) -> bool:
        """Waits until it rings. Returns False if the time is up before."""
        try:
            await asyncio.wait_for(self._event.wait(), seconds)
            return True
        except asyncio.TimeoutError:
            return False
        finally:
            self._event.clear()
