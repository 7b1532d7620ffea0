"""Run worker processes until a pipeline has nothing left to do, and show how far it is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

import click

from leasehold.errors import Unavailable
from leasehold.pipelines.shell.limits import POLL_SECONDS, POLL_SECONDS_MAX, UNAVAILABLE_SECONDS
from leasehold.processes import Stop, WorkerProcesses

if TYPE_CHECKING:
    from rich.console import RenderableType

POLL_GROWTH: Final = 1.3
POLL_SHARE: Final = 5  # at most a sixth of the time goes into polling


class RunState(Protocol):
    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do."""


S = TypeVar("S", bound=RunState)


@dataclass(frozen=True, slots=True)
class RunObserver(Generic[S]):
    """Follows a run: gets every snapshot, may request a stop, and may refuse the next step by raising in `check`."""

    show: Callable[[S], None] = lambda _: None
    stop: Stop = field(default_factory=Stop)
    check: Callable[[], None] = lambda: None


def run_until_over(snapshot: S, read: Callable[[], S], workers: WorkerProcesses, observer: RunObserver[S]) -> S:
    """Poll with `read` until the run is over or a stop is requested; return the last snapshot. The workers end."""
    workers.start()
    snapshot = _poll(snapshot, read, workers, observer)
    workers.stop_all()
    if workers.stop.number is not None:
        with suppress(Unavailable):  # workers that stop finish what they can
            return read()
    return snapshot


def _poll(snapshot: S, read: Callable[[], S], workers: WorkerProcesses, observer: RunObserver[S]) -> S:
    pause, read_at = POLL_SECONDS, time.monotonic()
    while workers.stop.number is None:
        began = time.monotonic()
        observer.check()
        try:
            snapshot = read()
        except Unavailable:
            if began - read_at > UNAVAILABLE_SECONDS:
                raise
        else:
            read_at = began
            observer.show(snapshot)
            if snapshot.is_over:
                break
        workers.check()
        workers.stop.wait(max(pause, POLL_SHARE * (time.monotonic() - began)))
        pause = min(pause * POLL_GROWTH, POLL_SECONDS_MAX)
    return snapshot


def no_lines() -> Callable[[object], Iterable[str]]:
    return lambda _: ()


@contextmanager
def live_display(
    make_renderer: Callable[[], Callable[[S], RenderableType]],
    make_lines: Callable[[], Callable[[S], Iterable[str]]] = no_lines,
) -> Iterator[Callable[[S], None]]:
    """Yield a function that draws snapshots on standard error, on a terminal; rich is imported there only.

    Where there is no terminal, it prints the lines that each snapshot adds.
    """
    if not sys.stderr.isatty():
        lines_of = make_lines()
        yield lambda snapshot: print_lines(lines_of(snapshot))
        return
    from rich.console import Console
    from rich.live import Live

    render = make_renderer()
    live = Live(console=Console(stderr=True), refresh_per_second=4, transient=True)

    def show(snapshot: S) -> None:
        live.update(render(snapshot))
        live.start()  # with the first snapshot; without effect afterwards

    try:
        yield show
    finally:
        live.stop()


def print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line, err=True)
