"""FINALIZE for many at once: parts become whole files with names, and the disk is synced for all of them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Final

from leasehold.batching import Batcher, UncancellableFuture
from leasehold.pipelines.download.fetch import Part
from leasehold.pipelines.download.files.anonymous_file import AnonymousFile
from leasehold.pipelines.download.files.content_store import ContentStore, Kept
from leasehold.pipelines.download.files.part_file import LockedPart
from leasehold.pipelines.download.index.index import Index

GROUP_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class Ready:
    """All bytes of a file, what they hash to, and what people shall find them by.

    They are in a draft, or in memory; without either they should be whole already.
    """

    part: Part
    draft: LockedPart | None
    sha256: str
    key: str
    work_id: str
    wanted: str
    content: bytes | None = None


class Finisher:
    """Makes parts whole."""

    def __init__(self, places: ContentStore, index: Index) -> None:
        self._places = places
        self._index = index
        self._batcher: Batcher[Ready, dict[str, Any]] = Batcher(
            "leasehold-finisher", self._finish, GROUP_MAX, UncancellableFuture
        )

    def finish(self, ready: Ready) -> asyncio.Future[dict[str, Any]]:
        """Make one whole: whether its content is new, and its name; or that somebody took the part away.

        Whoever waits is not cut short before that is done: it has the part in hand.
        """
        return self._batcher.submit(ready)

    def _finish(self, group: list[Ready]) -> list[dict[str, Any] | Exception]:
        sheets = [self._sheet(one) for one in group]
        try:
            pairs = [(sheet, one.sha256) for sheet, one in zip(sheets, group, strict=True) if sheet is not None]
            answers = iter(self._places.keep_all(pairs))
            return [
                self._end(one, None if sheet is None else next(answers))
                for sheet, one in zip(sheets, group, strict=True)
            ]
        finally:
            for sheet in sheets:
                if isinstance(sheet, AnonymousFile):
                    sheet.close()

    def _sheet(self, one: Ready) -> LockedPart | AnonymousFile | None:
        return one.draft if one.content is None else AnonymousFile(one.content, self._places.staging)

    def _end(self, one: Ready, kept: Kept | Exception | None) -> dict[str, Any] | Exception:
        """Give a name. A part that is not there was whole before, if its content is."""
        try:
            if isinstance(kept, Kept):
                is_new = kept.is_new
            elif kept is not None and not isinstance(kept, FileNotFoundError):
                return kept
            elif self._places.has(one.sha256):
                self._places.settle(one.sha256)
                is_new = not self._index.has_content(one.sha256, one.key)
            else:
                return {"gone": True}
            if one.content is None:
                one.part.forget()
            return {"is_new": is_new, "name": self._places.name(one.work_id, one.wanted, one.key, one.sha256)}
        except Exception as error:  # noqa: BLE001 — it is this one's alone
            return error

    def close(self) -> None:
        """Finish what is left."""
        self._batcher.close()
