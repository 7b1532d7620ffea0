"""Open a collection on the database that its jobs are in."""

import json
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from leasehold.errors import Misuse
from leasehold.pipelines.download.collection import DATABASE, Collection, Settings
from leasehold.pipelines.shell.locate import HOME, database_kind, database_url

MEMORY: Final = "collection.json"


class CollectionMissing(Misuse, code="COLLECTION_MISSING"):
    """There is no collection in this folder."""


@contextmanager
def open_existing(folder: Path, url: str = "") -> Iterator[Collection]:
    """Open a collection; raise if there is none in this folder."""
    if not (folder / HOME).is_dir():
        raise CollectionMissing(f"Make one with: leasehold download MANIFEST --out {folder}")
    with _open(Settings(folder, url)) as collection:
        yield collection


@contextmanager
def open_collection(settings: Settings) -> Iterator[Collection]:
    """Open a collection, create it if necessary, and have its folder remember the kind of its database."""
    with _open(settings) as collection:
        if collection.settings.url:
            _remember(settings.root, database_kind(collection.settings.url))
        yield collection


@contextmanager
def _open(settings: Settings) -> Iterator[Collection]:
    with closing(Collection(with_database(settings))) as collection:
        collection.counts()  # raises the engine's own error if the database cannot be used
        yield collection


def with_database(settings: Settings) -> Settings:
    root = settings.root
    is_inside = (root / HOME / DATABASE).exists()
    return replace(settings, url=database_url(root, settings.url, _remembered(root), is_inside=is_inside))


def _remembered(root: Path) -> str:
    try:
        found = json.loads((root / HOME / MEMORY).read_text(encoding="utf-8")).get("database", "")
    except (OSError, ValueError, AttributeError):
        return ""
    return found if isinstance(found, str) else ""


def _remember(root: Path, kind: str) -> None:
    if _remembered(root) == kind:
        return
    (root / HOME).mkdir(parents=True, exist_ok=True)
    unfinished = root / HOME / f"{MEMORY}.{os.getpid()}"
    unfinished.write_text(json.dumps({"database": kind}), encoding="utf-8")
    unfinished.replace(root / HOME / MEMORY)
