"""Wakes the worker's thread: at a signal, at the end of a job, when somebody calls stop()."""

from __future__ import annotations

import os
import select
from typing import Any


class Bell:
    """A pipe that rings in select()."""

    def __init__(self) -> None:
        self._out, self._in = os.pipe()
        os.set_blocking(self._out, False)
        os.set_blocking(self._in, False)

    def ring(self) -> None:
        """Wakes who waits, or who waits next. Signal handlers may call it."""
        try:
            os.write(self._in, b"!")
        except BlockingIOError:
            pass  # it rings already

    def wait(self, seconds: float, *channels: Any) -> bool:
        """Waits until it rings, a channel can be read, or the time is up: then it says False."""
        ready, _, _ = select.select([self._out, *channels], [], [], seconds)
        if self._out in ready:
            os.read(self._out, 4096)
        return bool(ready)

    def close(self) -> None:
        """Frees the pipe."""
        os.close(self._out)
        os.close(self._in)
