"""How long to wait before the next try to connect."""

from __future__ import annotations

import random


class Backoff:
    """Doubles from 0.1 s to 5 s, with a quarter of jitter."""

    def __init__(self) -> None:
        self._next = 0.1

    def next(self) -> float:
        """Seconds to wait now."""
        wait = self._next * random.uniform(0.75, 1.25)
        self._next = min(self._next * 2, 5.0)
        return wait

    def reset(self) -> None:
        """After a success."""
        self._next = 0.1
