"""Worker processes that a command starts: company for as long as it runs, told to leave at its end.

They leave by themselves, too, when the command is gone and their input with it. Ctrl-C and SIGTERM are a wish that is
looked at between two steps; who insists is heard at once.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final, Protocol

from leasehold.errors import Unavailable

GRACE_SECONDS: Final = 5
LOOK_SECONDS: Final = 0.25
LEAVE_SECONDS: Final = 0.005
STOPS_MAX: Final = 2


class WorkersEnded(Unavailable):
    """Every worker process has ended though something is left to do."""

    code = "WORKERS_ENDED"


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
def stop_on_signals() -> Iterator[Stop]:
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


class Hand(Protocol):
    """A worker process."""

    def poll(self) -> int | None:
        """Return how it ended; None while it runs."""

    def terminate(self) -> None:
        """Tell it to leave."""

    def kill(self) -> None:
        """End it."""


@dataclass(frozen=True, slots=True)
class Post:
    """What a worker process is told: the words of its command, its environment, and where it writes."""

    words: Sequence[str]
    environment: Mapping[str, str]
    log: Path


def words_of(module: str, concurrency: int, *more: str) -> tuple[str, ...]:
    """Return the command of a worker that serves a module's app."""
    told = ("--log-level", "warning", "--grace", str(GRACE_SECONDS), "--concurrency", str(concurrency))
    return ("worker", module, *told, *more)


def sleep_unless_stopped(seconds: float, wish: Stop) -> None:
    """Wait, unless somebody wants an end."""
    deadline = time.monotonic() + seconds
    while wish.number is None and (left := deadline - time.monotonic()) > 0:
        time.sleep(min(left, LOOK_SECONDS))


@contextmanager
def company(post: Post, workers: int, wish: Stop) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start worker processes; they are told to leave at the end, and waited for: what they cut short is resumed."""
    words = [sys.executable, "-m", "leasehold.pipelines.hand", *post.words]
    environment = {**os.environ, **post.environment}
    with post.log.open("ab") as log:
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
            dismiss(hands, wish)
            _close(hands)


def _close(hands: Sequence[subprocess.Popen[bytes]]) -> None:
    for hand in hands:
        if hand.stdin is not None:
            hand.stdin.close()


def dismiss(hands: Sequence[Hand], wish: Stop) -> None:
    """Let workers go; one that stays too long is killed, and all are if somebody asks twice."""
    for hand in hands:
        hand.terminate()
    deadline = time.monotonic() + GRACE_SECONDS + 5
    while any(hand.poll() is None for hand in hands):
        if wish.times >= STOPS_MAX or time.monotonic() > deadline:
            for hand in hands:
                hand.kill()
        time.sleep(LEAVE_SECONDS)
