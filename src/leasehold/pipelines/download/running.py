"""Running a collection to its end: worker processes, and what a person sees meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from leasehold.pipelines.download import states
from leasehold.pipelines.download.collection import QUEUE, Collection
from leasehold.pipelines.download.places import HOME

LOOK_SECONDS: Final = 0.25
GRACE_SECONDS: Final = 30
SHOWN_MAX: Final = 5


@dataclass(frozen=True, slots=True)
class File:
    """A file that is being fetched."""

    key: str
    done: int
    total: int | None


@dataclass(frozen=True, slots=True)
class Sight:
    """A collection at one moment: jobs by state, and the largest files under way."""

    counts: dict[str, int]
    files: list[File] = field(default_factory=list)

    @property
    def total(self) -> int:
        """How many files were planned."""
        return sum(self.counts.values())

    @property
    def ended(self) -> int:
        """How many have come to an end."""
        return sum(self.counts.get(state, 0) for state in states.ENDS)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do."""
        return self.ended == self.total


def look(collection: Collection) -> Sight:
    """See how far a collection has come."""
    running = collection.app.queues.running(QUEUE, limit=1_000)
    told = [(one.key, one.progress) for one in running if one.progress]
    files = [File(key, int(said["done"]), said.get("total")) for key, said in told]
    files.sort(key=lambda one: -(one.total or one.done))
    return Sight(collection.counts(), files[:SHOWN_MAX])


def run(collection: Collection, workers: int, show: Callable[[Sight], None]) -> Sight:
    """Have worker processes fetch until nothing is left; Ctrl-C lets them finish what they can and stops."""
    with company(collection, workers) as hands:
        while True:
            sight = look(collection)
            show(sight)
            if sight.is_over:
                return sight
            if all(hand.poll() is not None for hand in hands):
                raise RuntimeError(f"every worker has ended; see {log_of(collection)}")
            time.sleep(LOOK_SECONDS)


@contextmanager
def company(collection: Collection, workers: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start worker processes; they are told to leave at the end, and waited for."""
    words = [sys.executable, "-m", "leasehold", "worker", "leasehold.pipelines.download", "--log-level", "warning"]
    environment = {**os.environ, **collection.settings.environment()}
    with log_of(collection).open("ab") as log:
        hands = [
            subprocess.Popen(
                words, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
            for _ in range(workers)
        ]
        try:
            yield hands
        finally:
            for hand in hands:
                hand.send_signal(signal.SIGTERM)
            for hand in hands:
                _part(hand)


def _part(hand: subprocess.Popen[bytes]) -> None:
    try:
        hand.wait(timeout=GRACE_SECONDS + 5)
    except subprocess.TimeoutExpired:
        hand.kill()
        hand.wait()


def log_of(collection: Collection) -> Path:
    """Where workers write what they have to say."""
    folder = collection.settings.root / HOME
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "workers.log"
