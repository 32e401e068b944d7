"""SIGTERM and SIGINT while a worker runs in the loop of the main thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..signals import SIGNALS


@contextmanager
def caught(function: Callable[[], None]) -> Iterator[None]:
    """Calls the function for each of the signals. Does nothing outside of the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, function)
    try:
        yield
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)
