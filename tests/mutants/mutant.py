"""What a broken build is: a text of one file, what stands there instead, and the tests that should find it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SQLITE: Final = "store/sql/sqlite"
POSTGRES: Final = "store/sql/postgres"


@dataclass(frozen=True)
class Build:
    """One broken build. Its tests are run nearest first: the one that states the promise, then what lies around it."""

    name: str
    file: str
    good: str
    bad: str
    tests: tuple[str, ...]
