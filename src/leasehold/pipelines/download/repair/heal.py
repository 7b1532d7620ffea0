"""Restore a missing content from a copy on disk, and recreate missing names."""

import os
import shutil
import threading
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from leasehold.pipelines.download.files.content_store import ContentStore, hash_of
from leasehold.pipelines.download.files.part import LockedPart
from leasehold.pipelines.download.index.index import Row
from leasehold.pipelines.download.repair.verify import leads_to

COPY: Final = "copy"


class Healer:
    """Looks for copies: where the name for people should be, and among the parts."""

    def __init__(self, content_store: ContentStore) -> None:
        self._content_store = content_store
        self._root = str(content_store.root)

    def is_whole(self, row: Row) -> bool:
        """Whether the name of a row leads to its content and that is there: so it is with nearly all of them."""
        link = f"{self._root}/{row.path}"
        try:
            return row.reason is None and leads_to(os.readlink(link), row.sha256) and os.path.exists(link)  # noqa: PTH110, PTH115 — asked for every file at every start
        except OSError:
            return False

    def heal(self, row: Row) -> bool:
        """Restore the content of a row; return whether a copy was found.

        The copy is copied, hashed and only then published: a process that still writes to it cannot change the content.
        """
        return any(self._heal_from(path, row) for path in self._copies(row))

    def _heal_from(self, path: Path, row: Row) -> bool:
        unfinished = self._content_store.staging / f"{row.key}.{_mine()}.{COPY}"
        try:
            shutil.copyfile(path, unfinished)
            with closing(LockedPart(unfinished, make=False)) as part_file:
                if part_file.size != row.size or part_file.digest(row.size).hexdigest() != row.sha256:
                    return False
                self._content_store.publish(part_file, row.sha256)
                return True
        except FileNotFoundError:
            return False  # it was taken away meanwhile
        finally:
            unfinished.unlink(missing_ok=True)

    def _copies(self, row: Row) -> list[Path]:
        named = self._content_store.root / row.path
        found = [named] if named.is_file() and not named.is_symlink() else []
        return [
            path for path in [*found, *sorted(self._content_store.staging.glob("*.part"))] if _has_size(path, row.size)
        ]

    def link(self, row: Row) -> bool:
        """Make the name of a row lead to its content where it leads nowhere; return whether it was made."""
        link = self._content_store.root / row.path
        if link.exists() and (link.is_symlink() or not self._is_copy(link, row)):
            return False  # a name that leads to something is a person's to judge
        aim = os.path.relpath(self._content_store.object(row.sha256), link.parent)
        link.parent.mkdir(parents=True, exist_ok=True)
        unfinished = link.with_name(f".{row.key}.{_mine()}")
        with suppress(FileExistsError):
            unfinished.symlink_to(aim)
        unfinished.replace(link)
        return True

    def _is_copy(self, path: Path, row: Row) -> bool:
        return _has_size(path, row.size) and hash_of(path)[0] == row.sha256


def _mine() -> str:
    """Return what no other process or thread that does the same has in its names."""
    return f"{os.getpid()}-{threading.get_ident()}"


def _has_size(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except FileNotFoundError:
        return False
