"""Computes how long to wait before the next attempt to connect."""

from __future__ import annotations

import random


class Backoff:
    """A delay that doubles from 0.1 s to 5 s, with 25% jitter."""

    def __init__(self) -> None:
        self._next = 0.1

    def next(self) -> float:
        """Returns the seconds to wait now."""
        wait = self._next * random.uniform(0.75, 1.25)
        self._next = min(self._next * 2, 5.0)
        return wait

    def reset(self) -> None:
        """Starts again with the shortest delay, after a success."""
        self._next = 0.1
