"""A partial file and its sidecar, which states what the bytes belong to: a later attempt resumes from both.

The sidecar has the validator and the length of then, and how many bytes were synced. After a crash of the process all
that was written counts, since the kernel has it; after a crash of the machine only what was synced does.
"""

import json
import os
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from leasehold.pipelines.download.http.client import Head

RESUMABLE_BYTES: Final = 64 * 1024  # a smaller file is fetched again from its start


@dataclass(frozen=True, slots=True)
class Sidecar:
    """What the bytes of a part belong to."""

    url: str
    validator: str | None
    length: int | None
    synced: int
    boot: str


class Part:
    """A part and its sidecar."""

    def __init__(self, place: str | Path, boot: str) -> None:
        self._place = place  # of most files nothing but this is ever needed
        self._boot = boot

    @cached_property
    def path(self) -> Path:
        return Path(self._place)

    @cached_property
    def _sidecar(self) -> Path:
        return self.path.with_suffix(".json")

    @property
    def is_there(self) -> bool:
        """Whether an attempt has left one."""
        return os.path.exists(self._place)  # noqa: PTH110

    def resumable_bytes(self, head: Head) -> int:
        """Return how many bytes of the file that a head describes can be resumed from."""
        sidecar, size = self.read(head)
        same = sidecar is not None and (sidecar.validator, sidecar.length) == (head.validator, head.length)
        return size if same else 0

    def read(self, head: Head) -> tuple[Sidecar | None, int]:
        """Return the sidecar, and how many bytes of the part are certain to be there."""
        try:
            size = os.stat(self._place).st_size  # noqa: PTH116 — asked for every file, and most have no part
        except FileNotFoundError:
            return None, 0
        sidecar = self._read()
        if sidecar is None or sidecar.validator is None or not _is_same_place(sidecar.url, head):
            return None, 0
        return sidecar, size if sidecar.boot == self._boot and self._boot else min(size, sidecar.synced)

    def write(self, sidecar: Sidecar) -> None:
        unfinished = self._sidecar.with_suffix(".new")
        unfinished.write_text(json.dumps(asdict(sidecar)), encoding="utf-8")
        unfinished.replace(self._sidecar)

    def sidecar(self, head: Head, synced: int) -> Sidecar:
        return Sidecar(head.url, head.validator, head.length, synced, self._boot)

    def with_synced(self, sidecar: Sidecar, synced: int) -> Sidecar:
        return replace(sidecar, synced=synced, boot=self._boot)

    def begin(self, head: Head) -> None:
        """Write the sidecar, if the file is large enough to be resumed."""
        if head.length is None or head.length >= RESUMABLE_BYTES:
            self.write(self.sidecar(head, 0))
        else:
            self._sidecar.unlink(missing_ok=True)

    def forget(self) -> None:
        """Remove part and sidecar."""
        self.path.unlink(missing_ok=True)
        self._sidecar.unlink(missing_ok=True)

    def _read(self) -> Sidecar | None:
        try:
            fields: dict[str, Any] = json.loads(self._sidecar.read_text(encoding="utf-8"))
            return Sidecar(**fields)
        except (OSError, ValueError, TypeError):
            return None  # none, or torn: the part is of no use


def _is_same_place(url: str, head: Head) -> bool:
    """Whether a file lies where it lay. One signed for each request has another query; then a tag decides."""
    return url == head.url or (head.etag is not None and url.partition("?")[0] == head.url.partition("?")[0])


def is_small(head: Head) -> bool:
    """Whether a file is known to be so small that it is read at once."""
    return head.length is not None and head.length < RESUMABLE_BYTES
