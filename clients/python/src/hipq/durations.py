"""Durations, in the form that hipq's functions accept."""

from __future__ import annotations

from datetime import timedelta
from typing import Union

Duration = Union[str, int, float, timedelta]
"""'5 min' or another text of an interval, a number of seconds, or a timedelta."""


def duration_text(duration: Duration) -> str:
    """Returns a duration as a text that can be cast to hipq.duration."""
    if isinstance(duration, timedelta):
        return f"{duration.total_seconds():f}"
    return str(duration)
