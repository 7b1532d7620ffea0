"""Lines that hold no secret: the sources of the standard library and what is installed here, with their documents."""

from __future__ import annotations

import random
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from leasehold.redact import Redactor

SUFFIXES: Final = frozenset((
    ".py", ".pyi", ".md", ".rst", ".txt", ".json", ".js", ".html", ".toml", ".cfg", ".yaml", ".css", ".c", ".h",
))  # fmt: skip
TESTS: Final = frozenset(("test", "tests", "idle_test"))  # they hold keys that look real
FILES: Final = 600
FILE_LENGTH_MAX: Final = 200_000


def texts(files: int = FILES) -> Iterator[str]:
    """Yield so many of the files, the same ones at each call on one machine."""
    folders = {sysconfig.get_paths()["stdlib"], sysconfig.get_paths()["purelib"]}
    paths = sorted({path for folder in folders for path in Path(folder).rglob("*") if path.suffix in SUFFIXES})
    chosen = [path for path in paths if path.is_file() and TESTS.isdisjoint(path.parts)]
    random.Random(1).shuffle(chosen)
    for path in chosen[:files]:
        yield path.read_text(encoding="utf-8", errors="replace")[:FILE_LENGTH_MAX]


def altered(redactor: Redactor, files: int = FILES) -> tuple[list[str], int]:
    """Return the lines that were changed, and the number of all lines."""
    changed = []
    total = 0
    for text in texts(files):
        before, after = text.split("\n"), redactor.redact(text).text.split("\n")
        changed += [old.strip() for old, new in zip(before, after, strict=True) if old != new]
        total += len(before)
    return changed, total
