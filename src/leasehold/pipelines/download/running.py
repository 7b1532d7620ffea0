"""Running a collection to its end: worker processes, and what a person sees meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Any, Final, Protocol

from leasehold.errors import Unavailable
from leasehold.pipelines.download.collection import QUEUE, Collection
from leasehold.pipelines.download.forking import Child
from leasehold.pipelines.download.places import HOME
from leasehold.pipelines.download.standing import standing
from leasehold.pipelines.download.urls import name_of

LOOK_FIRST: Final = 0.02
LOOK_SECONDS: Final = 0.25
LEAVE_SECONDS: Final = 0.005
PATIENCE_SECONDS: Final = 60
LOOK_SHARE: Final = 5  # of the time at most a sixth goes into looking
GRACE_SECONDS: Final = 5
CONCURRENCY: Final = 100
FILES_MAX: Final = 1_000
SHOWN_MAX: Final = 5
STOPS_MAX: Final = 2
WORDS: Final = (
    "worker",
    "leasehold.pipelines.download",
    "--log-level",
    "warning",
    "--grace",
    str(GRACE_SECONDS),
    "--concurrency",
    str(CONCURRENCY),
)


class WorkersEnded(Unavailable):
    """Every worker process has ended though files are left."""

    code = "WORKERS_ENDED"


@dataclass(frozen=True, slots=True)
class File:
    """A file that is being fetched; those that are shown have a name."""

    job_id: int
    done: int
    total: int | None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Sight:
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


class Stop:
    """Whether somebody wants an end: the number of the signal that said so, and how often it was said."""

    def __init__(self) -> None:
        self.number: int | None = None
        self.times = 0

    def __call__(self, number: int, _: FrameType | None) -> None:
        """Hear a signal; who insists is heard at once."""
        self.number = number
        self.times += 1
        if self.times > STOPS_MAX:
            raise KeyboardInterrupt


@contextmanager
def heeding() -> Iterator[Stop]:
    """Turn SIGINT and SIGTERM into a wish that is looked at between two steps; in the main thread alone."""
    stop = Stop()
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def look(collection: Collection) -> Sight:
    """See how far a collection has come."""
    now = standing(collection)
    running = collection.app.queues.running(QUEUE, limit=FILES_MAX) if now.left else []
    told = [(one.job_id, one.progress) for one in running if one.progress]
    files = [File(job_id, int(said["done"]), said.get("total")) for job_id, said in told]
    files.sort(key=lambda one: -(one.total or one.done))
    named = [replace(one, name=_name(collection, one.job_id)) for one in files[:SHOWN_MAX]]
    return Sight(now.counts, now.left, now.bytes + sum(one.done for one in files), named + files[SHOWN_MAX:])


def _name(collection: Collection, job_id: int) -> str:
    wanted = collection.app.get(job_id).payload
    return str(wanted.get("filename") or name_of(wanted["url"]) or wanted["url"])


class Hand(Protocol):
    """A worker process."""

    def poll(self) -> int | None:
        """Return how it ended; None while it runs."""

    def terminate(self) -> None:
        """Tell it to leave."""

    def kill(self) -> None:
        """End it."""


def run(collection: Collection, workers: int, show: Callable[[Sight], None], stop: Stop | None = None) -> Sight:
    """Have worker processes fetch until nothing is left, or until somebody wants an end."""
    wish = stop or Stop()
    with company(collection, workers, wish) as hands:
        sight = see(collection, hands, show, wish)
    return _last(collection, sight, wish)


def run_forked(collection: Collection, hands: Sequence[Child], show: Callable[[Sight], None], wish: Stop) -> Sight:
    """Likewise, with processes that wait for a word."""
    try:
        for hand in hands if wish.number is None else ():
            hand.go()
        sight = see(collection, hands, show, wish)
    finally:
        _dismiss(hands, wish)
    return _last(collection, sight, wish)


def _last(collection: Collection, sight: Sight, wish: Stop) -> Sight:
    """Look once more after a stop: workers that leave end what they can."""
    with suppress(Unavailable):
        return look(collection) if wish.number is not None else sight
    return sight


def see(collection: Collection, hands: Sequence[Hand], show: Callable[[Sight], None], wish: Stop) -> Sight:
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
        _pause(max(pause, LOOK_SHARE * (time.monotonic() - began)), wish)
        pause = min(pause * 1.3, LOOK_SECONDS)


def _pause(seconds: float, wish: Stop) -> None:
    deadline = time.monotonic() + seconds
    while wish.number is None and (left := deadline - time.monotonic()) > 0:
        time.sleep(min(left, LOOK_SECONDS))


@contextmanager
def company(collection: Collection, workers: int, wish: Stop) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start worker processes; they are told to leave at the end, and waited for: what they cut short is resumed.

    They leave by themselves, too, when this process is gone and their input with it.
    """
    words = [sys.executable, "-m", "leasehold.pipelines.download.hand", *WORDS]
    environment = {**os.environ, **collection.settings.environment()}
    with log_of(collection.settings.root).open("ab") as log:
        hands: list[subprocess.Popen[bytes]] = []
        try:
            for _ in range(workers if wish.number is None else 0):
                hands.append(  # noqa: PERF401 — those that were started are told to leave, whatever comes after
                    subprocess.Popen(
                        words, env=environment, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
                    )
                )
            yield hands
        finally:
            _dismiss(hands, wish)
            _close(hands)


def _close(hands: Sequence[subprocess.Popen[bytes]]) -> None:
    for hand in hands:
        if hand.stdin is not None:
            hand.stdin.close()


def _dismiss(hands: Sequence[Hand], wish: Stop) -> None:
    """Let workers go; one that stays too long is killed, and all are if somebody asks twice."""
    for hand in hands:
        hand.terminate()
    deadline = time.monotonic() + GRACE_SECONDS + 5
    while any(hand.poll() is None for hand in hands):
        if wish.times >= STOPS_MAX or time.monotonic() > deadline:
            for hand in hands:
                hand.kill()
        time.sleep(LEAVE_SECONDS)


def log_of(root: Path) -> Path:
    """Where workers write what they have to say."""
    folder = root / HOME
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "workers.log"
