"""Who changed the allow-list, when, and what: one line of JSON for each change, appended and never rewritten.

Each line names the digest of the line before it, so that a line that was changed or taken out later is detected. A line
that was torn by a crash is cut off; the change that it was to record is recorded again at the next start.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from leasehold import clock
from leasehold.errors import Broken, Misuse
from leasehold.pipelines.review.fetch.allow_list import AllowList
from leasehold.shapes import Shape

NO_LINE: Final = "0" * 64


class AllowListAuditDamaged(Broken, code="REVIEW_ALLOW_LIST_AUDIT_DAMAGED"):
    """The record of changes of the allow-list was changed by another program; have a person look at it."""


class WhoMissing(Misuse, code="REVIEW_WHO_MISSING"):
    """A change of the allow-list is recorded with who made it; name the person or the deployment."""


@dataclass(frozen=True, slots=True)
class AllowListChange:
    """One line of the record. `entries` is the whole list after the change."""

    at: str
    who: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    entries: tuple[str, ...]
    previous: str


_change: Final = Shape[AllowListChange](AllowListChange)


class AllowListAudit:
    """The record in one file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self, entries: Iterable[str], who: str) -> AllowList:
        """Validate an allow-list and record it, if it is another one than at the last start. Called at every start."""
        allow_list = AllowList.of(entries)
        if not who.strip():
            raise WhoMissing
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(self._path, flags, 0o600), "r+b", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            whole, _, torn = file.read().rpartition(b"\n")
            if torn:
                file.truncate(len(whole) + 1 if whole else 0)
            lines = whole.split(b"\n") if whole else []
            changes = _checked(lines)
            before = changes[-1].entries if changes else ()
            if before != allow_list.entries:
                file.write(_line(before, allow_list.entries, who.strip(), lines))
                os.fsync(file.fileno())
        return allow_list

    def changes(self) -> tuple[AllowListChange, ...]:
        """Return every recorded change, the oldest first."""
        whole = self._path.read_bytes().rpartition(b"\n")[0] if self._path.exists() else b""
        return _checked(whole.split(b"\n") if whole else [])


def _line(before: tuple[str, ...], after: tuple[str, ...], who: str, lines: list[bytes]) -> bytes:
    added, removed = sorted({*after} - {*before}), sorted({*before} - {*after})
    at = clock.moment(clock.wall()).isoformat()
    change = AllowListChange(at, who, tuple(added), tuple(removed), after, _digest(lines))
    return json.dumps(asdict(change)).encode("ascii") + b"\n"


def _digest(lines: list[bytes]) -> str:
    return hashlib.sha256(lines[-1]).hexdigest() if lines else NO_LINE


def _checked(lines: list[bytes]) -> tuple[AllowListChange, ...]:
    changes = []
    for number, line in enumerate(lines):
        try:
            change = _change.decode(line)
        except ValueError:
            raise AllowListAuditDamaged(f"Line {number + 1} cannot be read.") from None
        if change.previous != _digest(lines[:number]):
            raise AllowListAuditDamaged(f"Line {number + 1} does not follow the line before it.")
        changes.append(change)
    return tuple(changes)
