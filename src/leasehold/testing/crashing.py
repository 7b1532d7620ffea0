"""Crashing attempts on purpose, in a user's own tests.

`crash_at` ends an attempt at one point of one of its effects, as if its worker had died there: nothing more is recorded
of it, and its lease is taken back at once. `crash_matrix` runs a job once without a crash, which shows what points its
effects pass, then once with a crash at each of them, and compares the ends. A crash that did not happen proves nothing:
it is an error of the matrix.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from itertools import count
from typing import Any

from leasehold.app.facade import Leasehold
from leasehold.app.job import Job
from leasehold.errors import EffectInDoubt, Misuse
from leasehold.model.effect import Intent
from leasehold.model.failure.loss import Reclaim
from leasehold.runtime.effects.effects import Point, watch
from leasehold.store.db.wake import ATTENTION

Submit = Callable[[Leasehold], Job]


class Crash(BaseException):
    """The attempt ends here, as by a kill: handlers do not catch it."""


@contextmanager
def crash_at(app: Leasehold, point: str, *, kind: str | None = None, nth: int = 1) -> Iterator[list[Crash]]:
    """Crash the attempt that is the `nth` to pass a point (of an effect of this kind), once.

    Points: before_intent, after_intent, after_act, after_result; an effect of `task.transaction` passes the first and
    the last. Effects of an isolated handler pass them in a process of its own, where they are not seen. The list holds
    the crash once it happened.
    """
    wanted, passes = Point(point), count(1)
    crashes: list[Crash] = []

    def crash(passed: Point, intent: Intent) -> None:
        if passed is wanted and kind in (None, intent.kind) and next(passes) == nth:
            app.store.leases.reclaim([Reclaim(intent.task_id, intent.fence, "owner gone")])
            app.store.wake([ATTENTION])
            crashes.append(Crash(f"crashed {_words(wanted)} of {intent.kind}"))
            raise crashes[0]

    with ExitStack() as watching:
        watching.callback(watch(crash))
        yield crashes


@dataclass(frozen=True, slots=True)
class CrashSite:
    """Where a run is crashed: at the `turn`-th passing of a point. `nth`: which effect of the job passes there."""

    point: str = ""
    kind: str = ""
    nth: int = 0
    turn: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(CrashSite):
    """One run of a job: where it was crashed, how it ended, and how often it acted."""

    status: str
    output: Any
    failure: str | None
    acts: int

    @property
    def end(self) -> tuple[str, Any, int]:
        """What must be the same in every run."""
        return self.status, self.output, self.acts

    @property
    def where(self) -> str:
        """Where it was crashed, in words."""
        return f"crash {_words(self.point)} of {self.kind} (the {self.nth}. effect)" if self.nth else "no crash"

    def __str__(self) -> str:
        failure = f", {self.failure}" if self.failure else ""
        return f"{self.where}: {self.status}, {self.acts} acts, output {self.output!r}{failure}"


@dataclass(slots=True)
class Matrix:
    """All runs; the first had no crash."""

    runs: list[Run] = field(default_factory=list)

    @property
    def different(self) -> list[Run]:
        """The runs that ended otherwise than the one without a crash."""
        return [run for run in self.runs if run.end != self.runs[0].end]

    def check(self) -> None:
        """Raise unless there were crashes, and every run ended alike and acted equally often."""
        if len(self.runs) < 2:  # noqa: PLR2004 — the one without a crash, and another
            raise AssertionError("Nothing was crashed: the job has no effects, so that this proves nothing.")
        if self.different:
            lines = "\n".join(f"  {run}" for run in [self.runs[0], *self.different])
            raise AssertionError(f"A crash changes what happens; {self._remedy()}:\n{lines}")

    def _remedy(self) -> str:
        """Return what helps, by what differs: one with idempotent=True needs another."""
        if any(EffectInDoubt.code in (run.failure or "") for run in self.different):
            return "give the effect a lookup or idempotent=True"
        if any(run.acts != self.runs[0].acts for run in self.different):
            return "its act ran again; give the effect a lookup, or count each key once as its receiver does"
        return "have the result depend on the payload and on effects alone"


def crash_matrix(
    make: Callable[[], Leasehold], submit: Submit, acts: Callable[[], int], *, timeout: float = 60.0
) -> Matrix:
    """Run a job once without a crash and once per point that its effects passed, and check that all end alike.

    `make` returns a fresh app on a fresh database with the handlers registered, `submit` submits the job (under a key,
    so that effects have the same keys in every run), `acts` counts what the outside world has seen since `make`.
    """
    places: list[CrashSite] = []
    matrix = Matrix([_observe(make(), submit, acts, places, timeout)])
    for place in places:
        app = make()
        with crash_at(app, place.point, nth=place.turn) as crashes:
            matrix.runs.append(_run(app, submit, acts, place, timeout))
        if not crashes:
            problem = f"The {matrix.runs[-1].where} did not happen"
            raise AssertionError(f"{problem}: the job's effects differ from run to run, so that this proves nothing.")
    matrix.check()
    return matrix


def _observe(app: Leasehold, submit: Submit, acts: Callable[[], int], places: list[CrashSite], timeout: float) -> Run:
    """Run the job undisturbed, and note what points its effects pass, in order."""
    effects: dict[str, int] = {}
    turns: Counter[Point] = Counter()

    def record(point: Point, intent: Intent) -> None:
        number = effects.setdefault(intent.key, len(effects) + 1)
        turns[point] += 1
        places.append(CrashSite(point.value, intent.kind, number, turns[point]))

    with ExitStack() as watching:
        watching.callback(watch(record))
        return _run(app, submit, acts, CrashSite(), timeout)


def _run(app: Leasehold, submit: Submit, acts: Callable[[], int], place: CrashSite, timeout: float) -> Run:
    try:
        job = submit(app)
        app.drain(timeout=timeout)
        _refuse_isolated(app)
        failure = job.failure
        text = None if failure is None else f"{failure.get('error_class')}: {failure.get('message')}"
        return Run(**asdict(place), status=job.status.value, output=job.output, failure=text, acts=acts())
    finally:
        app.close()


def _refuse_isolated(app: Leasehold) -> None:
    """Raise if a job that was run has a handler whose effects cannot be crashed from here."""
    for handler in app._handlers().values():  # noqa: SLF001 — nobody else needs to know
        if handler.isolated and app.jobs(kind=handler.kind, limit=1):
            raise Misuse(
                f"'{handler.route}' is isolated: its effects pass their points in a process of its own, where nothing "
                "crashes them. Have `make` register the same function without isolated=True."
            )


def _words(point: str) -> str:
    return point.replace("_", " ")
