"""Crashing attempts on purpose, in a user's own tests.

`crash_at` ends an attempt at one point of one of its effects, as if its worker had died there: nothing more is recorded
of it, and its lease is taken back at once. `crash_matrix` runs a job once per point and effect and compares the ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from leasehold.app import Job, Leasehold
from leasehold.model.effect import Intent
from leasehold.model.lease import Vacancy
from leasehold.runtime.points import Point, watch


class Crash(BaseException):
    """The attempt ends here, as by a kill: handlers do not catch it."""


@contextmanager
def crash_at(app: Leasehold, point: str, *, kind: str | None = None, nth: int = 1) -> Iterator[None]:
    """Crash the attempt that is the `nth` to pass a point (of an effect of this kind), once.

    Points: before_intent, after_intent, after_act, after_result.
    """
    wanted = Point(point)
    left = [nth]

    def crash(passed: Point, intent: Intent) -> None:
        if passed is not wanted or kind not in (None, intent.kind):
            return
        left[0] -= 1
        if left[0] == 0:
            app.store.leases.vacate([Vacancy(intent.task_id, intent.fence, "owner gone")])
            raise Crash(f"crashed {point.replace('_', ' ')} of {intent.kind}")

    end = watch(crash)
    try:
        yield
    finally:
        end()


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a job: where it was crashed, how it ended, and how often it acted."""

    point: str
    kind: str
    nth: int
    status: str
    output: Any
    failure: str | None
    acts: int

    @property
    def end(self) -> tuple[str, Any, int]:
        """What must be the same in every run."""
        return self.status, self.output, self.acts

    def __str__(self) -> str:
        """Say it in a line."""
        where = (
            f"crash {self.point.replace('_', ' ')} of {self.kind} (the {self.nth}. effect)" if self.nth else "no crash"
        )
        said = f", {self.failure}" if self.failure else ""
        return f"{where}: {self.status}, {self.acts} acts, output {self.output!r}{said}"


@dataclass(slots=True)
class Matrix:
    """All runs; the first had no crash."""

    runs: list[Run] = field(default_factory=list)

    @property
    def different(self) -> list[Run]:
        """The runs that ended otherwise than the one without a crash."""
        return [run for run in self.runs if run.end != self.runs[0].end]

    def check(self) -> None:
        """Raise unless every run ended alike and acted equally often."""
        if self.different:
            lines = "\n".join(f"  {run}" for run in [self.runs[0], *self.different])
            raise AssertionError(f"A crash changes what happens; give the effect a lookup or idempotent=True:\n{lines}")


def crash_matrix(
    make: Callable[[], Leasehold], submit: Callable[[Leasehold], Job], acts: Callable[[], int], *, timeout: float = 60.0
) -> Matrix:
    """Run a job once without a crash and once per point of each of its effects, and check that all end alike.

    `make` returns a fresh app on a fresh database with the handlers registered, `submit` submits the job (under a key,
    so that effects have the same keys in every run), `acts` counts what the outside world has seen since `make`.
    """
    order: list[str] = []
    matrix = Matrix([_observe(make, submit, acts, order, timeout)])
    for nth, kind in enumerate(order, start=1):
        for point in Point:
            app = make()
            with crash_at(app, point, nth=nth):
                matrix.runs.append(_run(app, submit, acts, (point.value, kind, nth), timeout))
    matrix.check()
    return matrix


def _observe(
    make: Callable[[], Leasehold],
    submit: Callable[[Leasehold], Job],
    acts: Callable[[], int],
    order: list[str],
    timeout: float,
) -> Run:
    end = watch(lambda point, intent: order.append(intent.kind) if point is Point.BEFORE_INTENT else None)
    try:
        return _run(make(), submit, acts, ("", "", 0), timeout)
    finally:
        end()


def _run(
    app: Leasehold,
    submit: Callable[[Leasehold], Job],
    acts: Callable[[], int],
    where: tuple[str, str, int],
    timeout: float,
) -> Run:
    try:
        job = submit(app)
        app.drain(timeout=timeout)
        failure = job.failure
        said = None if failure is None else f"{failure.get('error_class')}: {failure.get('message')}"
        return Run(*where, job.status.value, job.output, said, acts())
    finally:
        app.close()
