"""Opening a collection that is there, on the database that it was made with.

A folder remembers that its jobs lie in a database elsewhere, and of what sort; never where, or how to get in: an
address may hold a password.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from leasehold.errors import Misuse
from leasehold.pipelines.download.collection import Collection, Settings
from leasehold.pipelines.download.files.content_store import HOME

MEMORY: Final = "collection.json"
ALIKE: Final = {"postgres": "postgresql"}


class CollectionMissing(Misuse):
    """There is no collection in this folder."""

    code = "COLLECTION_MISSING"


class DatabaseUnnamed(Misuse):
    """The jobs of this collection lie in a database whose address is not kept with it."""

    code = "DATABASE_UNNAMED"


class DatabaseInside(Misuse):
    """The jobs of this collection lie in its folder, and not in a database elsewhere."""

    code = "DATABASE_INSIDE"


@contextmanager
def existing(folder: Path, url: str = "") -> Iterator[Collection]:
    """Open a collection that is there."""
    if not (folder / HOME).is_dir():
        raise CollectionMissing(f"Make one with: leasehold download MANIFEST --out {folder}")
    with _reached(Settings(folder, url)) as collection:
        yield collection


@contextmanager
def opened(settings: Settings) -> Iterator[Collection]:
    """Open a collection, new or not, and have its folder remember what sort of database it has."""
    with _reached(settings) as collection:
        if collection.settings.url:
            _remember(settings.root, _sort(collection.settings.url))
        yield collection


@contextmanager
def _reached(settings: Settings) -> Iterator[Collection]:
    with closing(Collection(addressed(settings))) as collection:
        collection.counts()  # what is wrong with the database is told by the engine, in its own words
        yield collection


def addressed(settings: Settings) -> Settings:
    """Return settings with the address of the database that the folder has."""
    return replace(settings, url=_address(settings))


def _address(settings: Settings) -> str:
    """Return the address of the database elsewhere; empty where it lies in the folder."""
    remembered = _remembered(settings.root)
    url = settings.url or (os.environ.get("LEASEHOLD_URL", "") if remembered else "")
    if settings.url and not remembered and (settings.root / HOME / "download.db").exists():
        raise DatabaseInside(f"Leave --url away, or use another folder; this one is {settings.root}.")
    if remembered and _sort(url) != remembered:
        raise DatabaseUnnamed(f"Pass --url {remembered}://… or set LEASEHOLD_URL; the folder is {settings.root}.")
    return url


def _sort(url: str) -> str:
    scheme = url.partition(":")[0].lower()
    return ALIKE.get(scheme, scheme)


def _remembered(root: Path) -> str:
    try:
        found = json.loads((root / HOME / MEMORY).read_text(encoding="utf-8")).get("database", "")
    except (OSError, ValueError, AttributeError):
        return ""
    return found if isinstance(found, str) else ""


def _remember(root: Path, sort: str) -> None:
    if _remembered(root) == sort:
        return
    (root / HOME).mkdir(parents=True, exist_ok=True)
    unfinished = root / HOME / f"{MEMORY}.{os.getpid()}"
    unfinished.write_text(json.dumps({"database": sort}), encoding="utf-8")
    unfinished.replace(root / HOME / MEMORY)
