"""Databases that are somewhere else for a while: how tests keep an app's own URL from being used.

The note is in the environment, so that it reaches isolated handlers and other programs that a test starts: they import
the same modules, whose apps name their own URL. It holds a digest of that URL, since a URL may hold a password.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

VARIABLE: Final = "LEASEHOLD_ELSEWHERE"


def moved(url: str) -> str:
    """Return where the database of this URL is now: there, unless `moving` has moved it."""
    table = _table()
    while (to := table.pop(_digest(url), None)) is not None:
        url = to
    return url


@contextmanager
def moving(url: str, to: str) -> Iterator[None]:
    """Have every app that names this URL use another one, in this process and those that it starts."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = json.dumps({**_table(), _digest(url): to})
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def _table() -> dict[str, str]:
    found: dict[str, str] = json.loads(os.environ.get(VARIABLE, "{}"))
    return found


def _digest(url: str) -> str:
    return hashlib.sha256(str(url).encode()).hexdigest()  # what is no URL is refused where it is opened
