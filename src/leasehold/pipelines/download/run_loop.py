"""Running a collection to its end: worker processes, and what a person sees meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from leasehold.errors import Unavailable
from leasehold.pipelines.crew import (
    LOOK_SECONDS,
    Hand,
    Post,
    Stop,
    WorkersEnded,
    company,
    dismiss,
    sleep_unless_stopped,
    words_of,
)
from leasehold.pipelines.download.collection import QUEUE, Collection
from leasehold.pipelines.download.files.content_store import HOME
from leasehold.pipelines.download.http.urls import name_of
from leasehold.pipelines.download.process.forked_workers import Child
from leasehold.pipelines.download.status import standing

LOOK_FIRST: Final = 0.02
PATIENCE_SECONDS: Final = 60
LOOK_SHARE: Final = 5  # of the time at most a sixth goes into looking
CONCURRENCY: Final = 100
FILES_MAX: Final = 1_000
SHOWN_MAX: Final = 5
WORDS: Final = words_of("leasehold.pipelines.download", CONCURRENCY)


@dataclass(frozen=True, slots=True)
class File:
    """A file that is being fetched; those that are shown have a name."""

    job_id: int
    done: int
    total: int | None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A collection at one moment: artifacts by state, how many are left, bytes so far, the largest files under way."""

    counts: dict[str, int]
    left: int
    bytes: int = 0
    files: list[File] = field(default_factory=list)

    @property
    def total(self) -> int:
        """How many files were planned."""
        return sum(self.counts.values())

    @property
    def ended(self) -> int:
        """How many have come to an end."""
        return max(0, self.total - self.left)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do."""
        return self.left == 0


def look(collection: Collection) -> Snapshot:
    """See how far a collection has come."""
    now = standing(collection)
    running = collection.app.queues.running(QUEUE, limit=FILES_MAX) if now.left else []
    told = [(one.job_id, one.progress) for one in running if one.progress]
    files = [File(job_id, int(said["done"]), said.get("total")) for job_id, said in told]
    files.sort(key=lambda one: -(one.total or one.done))
    named = [replace(one, name=_name(collection, one.job_id)) for one in files[:SHOWN_MAX]]
    return Snapshot(now.counts, now.left, now.bytes + sum(one.done for one in files), named + files[SHOWN_MAX:])


def _name(collection: Collection, job_id: int) -> str:
    wanted = collection.app.get(job_id).payload
    return str(wanted.get("filename") or name_of(wanted["url"]) or wanted["url"])


def run(collection: Collection, workers: int, show: Callable[[Snapshot], None], stop: Stop | None = None) -> Snapshot:
    """Have worker processes fetch until nothing is left, or until somebody wants an end."""
    wish = stop or Stop()
    with company(post_of(collection), workers, wish) as hands:
        sight = see(collection, hands, show, wish)
    return _last(collection, sight, wish)


def run_forked(
    collection: Collection, hands: Sequence[Child], show: Callable[[Snapshot], None], wish: Stop
) -> Snapshot:
    """Likewise, with processes that were told to begin."""
    try:
        sight = see(collection, hands, show, wish)
    finally:
        dismiss(hands, wish)
    return _last(collection, sight, wish)


def _last(collection: Collection, sight: Snapshot, wish: Stop) -> Snapshot:
    """Look once more after a stop: workers that leave end what they can."""
    with suppress(Unavailable):
        return look(collection) if wish.number is not None else sight
    return sight


def see(collection: Collection, hands: Sequence[Hand], show: Callable[[Snapshot], None], wish: Stop) -> Snapshot:
    """Look until there is nothing left to see; often at first, since a small collection is soon here."""
    pause, sight, seen_at = LOOK_FIRST, None, time.monotonic()
    while True:
        began = time.monotonic()
        try:
            sight = look(collection)
            seen_at = began
        except Unavailable:  # the workers are patient as well
            if sight is None or began - seen_at > PATIENCE_SECONDS:
                raise
        show(sight)
        if sight.is_over or wish.number is not None:
            return sight
        if all(hand.poll() is not None for hand in hands):
            raise WorkersEnded(f"See {log_of(collection.settings.root)}, and run the same again.")
        sleep_unless_stopped(max(pause, LOOK_SHARE * (time.monotonic() - began)), wish)
        pause = min(pause * 1.3, LOOK_SECONDS)


def post_of(collection: Collection) -> Post:
    """What a worker process of a collection is told."""
    return Post(WORDS, collection.settings.environment(), log_of(collection.settings.root))


def log_of(root: Path) -> Path:
    """Where workers write what they have to say."""
    folder = root / HOME
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "workers.log"
