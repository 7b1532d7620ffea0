"""The witness: what handlers, providers and clients saw with their own eyes, written down as it happened.

It knows nothing of the engine's tables, so the oracle can hold the one against the other. A line is a word and its
fields; in a simulation lines are kept in memory, in a test with real processes each is appended to a file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# word      fields
# acked     job, kind, key                          a submit that was answered
# began     task, fence, queue, live                a handler was called
# returned  task, fence, output                     it returned
# acted     kind, key, task, fence, live, result    an effect's act was done
# looked    key, task, fence, result or None        a look-up was answered
# answered  key, result or None                     a person answered what came of an effect
# posted    task, fence, subject, recipient, version  a handler left a message
# sent      token, delivery fence, live, id         a provider took a message
# traced    token, delivery fence, id or None       a provider was asked for one
# advanced  task, fence, state                      a handler got the answer that it moved
# paid      task, fence, name, amount, left         a handler got the answer that it spent
# called off  job, how many tasks that stopped      a cancel that was answered
# reached   job, the last event then                the same, with its place in the journal
# gave up   task, fence                             a handler ended itself as cancelled
# revived   letter                                  a revival that was answered


@dataclass
class Witness:
    """Lines in memory."""

    lines: list[tuple[Any, ...]] = field(default_factory=list)

    def saw(self, *line: Any) -> None:
        """Write a line."""
        self.lines.append(line)


class Journal:
    """Lines in a file that many processes append to, each line by one write."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def saw(self, *line: Any) -> None:
        """Append a line."""
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, json.dumps(line).encode() + b"\n")
        finally:
            os.close(descriptor)

    @property
    def lines(self) -> list[tuple[Any, ...]]:
        return list(self._read())

    def _read(self) -> Iterator[tuple[Any, ...]]:
        if self.path.exists():
            for text in self.path.read_text(encoding="utf-8").splitlines():
                yield tuple(json.loads(text))
