"""Wakes the worker's thread: after a signal, at the end of a job, after a call of stop()."""

from __future__ import annotations

import os
import select


class Bell:
    """A pipe that wakes select()."""

    def __init__(self) -> None:
        self._out, self._in = os.pipe()
        os.set_blocking(self._out, False)
        os.set_blocking(self._in, False)

    def ring(self) -> None:
        """Wakes the waiting thread, or the next one that waits. Signal handlers may call this."""
        try:
            os.write(self._in, b"!")
        except BlockingIOError:
            pass  # it is already ringing

    def wait(self, seconds: float) -> bool:
        """Waits until it rings. Returns False if the time is up before."""
        ready, _, _ = select.select([self._out], [], [], seconds)
        if ready:
            os.read(self._out, 4096)
        return bool(ready)

    def close(self) -> None:
        """Closes the pipe."""
        os.close(self._out)
        os.close(self._in)
