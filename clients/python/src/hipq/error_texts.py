"""The error of a failed attempt, as a text that every server accepts.

The rule is in docs/reference/external-workers.md#error-texts, and is the same in all clients.
"""

from __future__ import annotations

import json
import re

from .errors import Permanent, RetryAfter

MOST = 10_000  # characters; the server keeps 8 kB
NOT_IN_A_TEXT = re.compile("[\0\ud800-\udfff]")
NOT_ASCII = re.compile("[^\x01-\x7f]")


def error_text(error: BaseException) -> str:
    """Returns type and message; for a deliberate error, the message. Never empty; never raises."""
    name, said = type(error).__name__, text_of(error)
    if isinstance(error, (Permanent, RetryAfter)):
        return said if said.strip() else name
    return f"{name}: {said}"


def text_of(error: BaseException) -> str:
    """Returns the message of an error."""
    try:
        return clean(str(error))
    except BaseException:  # __str__ is user code
        return "its text cannot be read"


def clean(text: str) -> str:
    """Returns the beginning, with U+FFFD for characters that a text of the server cannot hold."""
    return NOT_IN_A_TEXT.sub("\ufffd", text[:MOST])


def in_ascii(text: str) -> str:
    r"""Returns it with \u20ac for the euro sign: for a database whose encoding lacks characters."""
    return NOT_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], text)
