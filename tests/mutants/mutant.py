"""What a mutant is: a text of one source file, the text that replaces it, and the tests that should catch it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SQLITE: Final = "store/sql/sqlite"
POSTGRES: Final = "store/sql/postgres"


@dataclass(frozen=True)
class Mutant:
    """One mutant. Its tests are run nearest first: the one that states the promise, then those around it."""

    name: str
    file: str
    good: str
    bad: str
    tests: tuple[str, ...]
