"""Restore a missing content from a copy on disk, and recreate missing names."""

import os
import shutil
import threading
from contextlib import closing, suppress
from pathlib import Path

from leasehold.pipelines.download.files.content_store import ContentStore, hash_of
from leasehold.pipelines.download.files.part import LockedPart, digest_of
from leasehold.pipelines.download.index.index import Row


def is_in_place(content_store: ContentStore, row: Row) -> bool:
    """Whether the name of a row leads to its content and that is there: so it is with nearly all of them."""
    link = f"{content_store.root}/{row.path}"
    try:
        aim = os.readlink(link)  # noqa: PTH115 — asked for every file at every start
        is_right = row.reason is None and aim.endswith(f"sha256/{row.sha256[:2]}/{row.sha256[2:]}")
        return is_right and os.path.exists(link)  # noqa: PTH110
    except OSError:
        return False


def restore(content_store: ContentStore, row: Row) -> bool:
    """Restore the content of a row from a copy, where its name should be or among the parts; return whether it is.

    The copy is copied, hashed and only then published: a process that still writes to it cannot change the content.
    """
    named = content_store.root / row.path
    copies = [named] if named.is_file() and not named.is_symlink() else []
    copies += sorted(content_store.staging.glob("*.part"))
    return any(_restore_from(path, content_store, row) for path in copies if _has_size(path, row.size))


def _restore_from(path: Path, content_store: ContentStore, row: Row) -> bool:
    unfinished = content_store.staging / f"{row.key}.{_own_suffix()}.copy"
    try:
        shutil.copyfile(path, unfinished)
        with closing(LockedPart(unfinished, make=False)) as part_file:
            if part_file.size != row.size or digest_of(part_file, row.size).hexdigest() != row.sha256:
                return False
            content_store.publish(part_file, row.sha256)
            return True
    except FileNotFoundError:
        return False  # it was taken away meanwhile
    finally:
        unfinished.unlink(missing_ok=True)


def relink(content_store: ContentStore, row: Row) -> bool:
    """Make the name of a row lead to its content where it leads nowhere; return whether it was made."""
    link = content_store.root / row.path
    is_copy = not link.is_symlink() and _has_size(link, row.size) and hash_of(link)[0] == row.sha256
    if link.exists() and not is_copy:
        return False  # a name that leads to something is a person's to judge
    link.parent.mkdir(parents=True, exist_ok=True)
    unfinished = link.with_name(f".{row.key}.{_own_suffix()}")
    with suppress(FileExistsError):
        unfinished.symlink_to(os.path.relpath(content_store.object(row.sha256), link.parent))
    unfinished.replace(link)
    return True


def _own_suffix() -> str:
    """Return what no other process or thread that does the same has in its names."""
    return f"{os.getpid()}-{threading.get_ident()}"


def _has_size(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except FileNotFoundError:
        return False
