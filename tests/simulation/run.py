"""One simulated run, from a seed or from a script: a world, a few workers, people, faults, and the oracle.

`explain` prints a failing one as shortly as possible: who ran when, what went wrong, and how to keep it.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

from leasehold.store import Store
from tests.simulation.processes import Worker
from tests.simulation.sessions import File
from tests.simulation.shrink import Choices, shrink, weigh
from tests.simulation.workload import Workload, expected
from tests.simulation.world import SECOND, START, TEMPERS, Process, Stuck, World
from tests.support.oracle.oracle import Evidence, judge
from tests.support.uptime import simulated_uptime

KINDS = ("plain", "flaky", "sure", "blind", "again", "booked", "film", "narrow", "fragile", "doomed", "mail")
LATER_SHARE = 0.1
LATER = ("stepped",)  # kinds that were added later: in some seeds one takes the place of another
TREES = ("frugal", "family")  # and later still
NARROW = 1
REST = 6.0
LOOKS = ("begin: a read", "answer: pulse", "answer: expired", "answer: held_by", "->")
LETTERS = "SELECT 1 FROM dead_letter WHERE state = 'open' LIMIT 1"
UNFINISHED = (
    "SELECT (SELECT count(*) FROM waiting) + (SELECT count(*) FROM ready) + (SELECT count(*) FROM lease)"
    " + (SELECT count(*) FROM unsettled) + (SELECT count(*) FROM delivery WHERE status IN ('pending', 'sending'))"
    " + (SELECT count(*) FROM dead_letter WHERE state = 'open' AND (SELECT status FROM outcome WHERE task_id ="
    " (SELECT job_id FROM task WHERE id = dead_letter.task_id)) <> 'CANCELLED')"
)


@dataclass
class Plan:
    """What a world is like: drawn from its seed, and kept as it is while its choices are made simpler."""

    jobs: list[tuple[str, str]]
    workers: int
    temper: str
    faults: float
    storm: float
    cancels: int | None = None
    prunes: bool = False
    shares_kernel: bool = True
    from_start: bool = False


@dataclass
class Report:
    """What came of a run. `trace`: its faults; `story`: all that everybody did, if it was asked for."""

    seed: int
    plan: Plan
    problems: list[str]
    made: Choices
    trace: list[tuple[int, str, str]]
    steps: int
    faults: dict[str, int]
    story: list[tuple[int, str, list[str]]] | None

    @property
    def choices(self) -> list[str]:
        """The unusual choices: a script that repeats the run."""
        return self.made.taken

    @property
    def breaks(self) -> list[str]:
        """The names of the promises that were broken."""
        return list(dict.fromkeys(problem.partition(":")[0] for problem in self.problems))


def plan_of(seed: int) -> Plan:
    """Draw what a world is like."""
    dice = random.Random(f"plan {seed}")
    jobs = []
    for _ in range(dice.randrange(1, 4)):
        kind = dice.choice(KINDS)
        name = {"sure": "twice", "film": dice.choice(["fine", "broken"]), "doomed": "doomed"}.get(kind, kind)
        jobs.append((kind, dice.choice(["honest", "shaky", "mute", "strict"]) if kind == "mail" else name))
    temper = dice.choice(list(TEMPERS))
    later = random.Random(f"later kind {seed}")  # dice of their own, so that the seeds that are kept stay what they are
    trees = random.Random(f"trees {seed}")
    jobs = [(kind, kind) if later.random() < LATER_SHARE else job for job in jobs for kind in [later.choice(LATER)]]
    return Plan(
        jobs=[(kind, kind) if trees.random() < LATER_SHARE else job for job in jobs for kind in [trees.choice(TREES)]],
        workers=dice.randrange(1, 4),
        temper=temper,
        faults=dice.choice([0.01, 0.03, 0.08] if temper == "everything" else [0.03, 0.08, 0.15]),
        storm=dice.choice([40.0, 200.0] if any(kind == "mail" for kind, _ in jobs) else [10.0, 40.0, 70.0]),
        cancels=dice.randrange(len(jobs)) if dice.random() < 0.15 else None,
        prunes=dice.random() < 0.1,
        from_start=dice.random() < 0.2,
        shares_kernel=dice.random() < 0.4,
    )


def simulate(
    file: File,
    seed: int,
    script: Sequence[str] | None = None,
    plan: Plan | None = None,
    crashes: Collection[int] = (),
    *,
    with_story: bool = False,
) -> Report:
    """Run one world to its end and judge it. `crashes`: steps at which the process that passes a point dies."""
    plan = plan or plan_of(seed)
    choices = Choices(seed) if script is None else Choices(script=script)
    world = World(choices, faults=plan.faults, temper=plan.temper, crashes=crashes)
    world.story = [] if with_story else None
    with _tidied_once():
        problems = _judged(file, world, plan)
    return Report(seed, plan, problems, choices, world.trace, world.steps, world.counts, world.story)


def _judged(file: File, world: World, plan: Plan) -> list[str]:
    """Run a world to its end and return what is wrong with it."""
    file.begin(world)
    run = _Run(world, file, plan)
    with simulated_uptime(lambda: world.uptime):
        try:
            problems = run.live()
        except Stuck as error:
            problems = [f"L1: {error}", *run.judge(has_settled=False)]
        finally:
            world.stop()
    return list(dict.fromkeys([*world.wrongs, *problems]))


@contextmanager
def _tidied_once() -> Iterator[None]:
    """Look for circles of garbage when a world has ended, not again and again within it."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.collect(0)
        if was_enabled:
            gc.enable()


def shorten(file: File, report: Report) -> Report:
    """Return the run with the fewest faults, then the fewest choices found that breaks the same promise."""

    def run(script: list[str]) -> list[str] | None:
        again = simulate(file, report.seed, script, report.plan)
        return again.choices if report.breaks[0] in again.breaks else None

    return simulate(file, report.seed, shrink(report.choices, run), report.plan, with_story=True)


def explain(file: File, report: Report) -> str:
    """Explain how a run failed, as simply as possible."""
    return explain_by(shorten(file, report), report)


def explain_by(short: Report, report: Report) -> str:
    """Explain how a run failed by a shorter one that breaks the same promise."""
    lines = [
        f"seed {report.seed}: {report.plan}",
        *short.problems,
        f"{_count(short)}, shortened from {_count(report)}. Who did what; '!!' marks a fault, '->' a switch:",
        *_lines(short),
        "To keep it, add this to KEPT in tests/simulation/test_regressions.py, and name the build that it breaks:",
        f'    Kept("{report.breaks[0]}", {report.seed}, "…", (',
        *(f'        "{line}",' for line in short.choices),
        "    )),",
    ]
    return "\n".join(lines)


def _count(report: Report) -> str:
    faults, choices = weigh(report.choices)
    return f"{faults} faults and {choices - faults} other choices"


def _lines(report: Report) -> Iterator[str]:
    """Yield a line for every turn in which something was done, or went wrong; mere looks are left out."""
    looks = 0
    for at, who, points in report.story or ():
        if all(point.startswith(LOOKS) for point in points):
            looks += 1
            continue
        if looks:
            yield f"{'':14}({looks} turns in which nothing was changed)"
        looks = 0
        yield f"{(at - START) / SECOND:10.3f} s  {who}: {', '.join(_shown(points))}"


def _shown(points: list[str]) -> Iterator[str]:
    """Leave out that something began, unless that is where it stayed."""
    for point, following in pairwise([*points, "->"]):
        if not point.startswith("begin: ") or following.startswith(("!!", "->")):
            yield point.replace("answer: ", "done: ")


class _Run:
    def __init__(self, world: World, file: File, plan: Plan) -> None:
        self._world = world
        self._file = file
        self._plan = plan
        tempers = {name for kind, name in plan.jobs if kind == "mail"}
        self._work = Workload(world, file, sorted(tempers), shares_kernel=plan.shares_kernel, prunes=plan.prunes)
        self._workers: list[Worker] = []
        self._people: list[Process] = []
        self._looked_after = -1
        self._calm_at: int | None = None

    def live(self) -> list[str]:
        """Let everything happen, then let it come to rest, then judge."""
        for _ in range(self._plan.workers):
            self._hire()
        for number, (kind, name) in enumerate(self._plan.jobs):
            self._people.append(self._work.person(f"client{number}", self._submitting(number, kind, name)))
        self._world.spawn(Process("fate"), "fate", self._fate)
        self._world.run(self._is_over)
        return self.judge(has_settled=True)

    def judge(self, *, has_settled: bool) -> list[str]:
        lines = self._work.witness.lines
        limits, pruned = {"narrow": NARROW}, self._plan.prunes
        known = Evidence(
            self._file.look, lines, limits, has_settled, pruned, has_audit_triggers=True, calm_at=self._calm_at
        )
        known.expected = expected
        with self._file.standing_still():
            return judge(known)

    def _hire(self) -> None:
        self._workers.append(self._work.worker(len(self._workers)))

    def _submitting(self, number: int, kind: str, name: str) -> Callable[[Store], None]:
        def actions(store: Store) -> None:
            if kind == "narrow":
                store.queues.limit("narrow", NARROW)
            job = self._work.submit(store, kind, name, f"key-{number}")
            if self._plan.cancels == number:
                self._world.sleep(2)
                self._work.cancel(store, job)

        return actions

    def _fate(self) -> None:
        """Replace who died: workers, and the operator; after the storm nobody dies any more."""
        until = self._world.uptime + round(self._plan.storm * SECOND)
        operator = Process("nobody", is_dead=True)
        while True:
            self._world.sleep(REST)
            if self._world.uptime >= until:
                self._world.calm()
                self._calm_at = self._calm_at or self._world.now
            self._replace()
            is_free = operator.is_dead or not operator.actors
            if is_free and (
                self._plan.prunes or self._file.look("SELECT 1 FROM dead_letter WHERE state = 'open' LIMIT 1")
            ):
                operator = self._work.person("operator", self._operate)
                self._people.append(operator)

    def _operate(self, store: Store) -> None:
        self._work.operate(store, from_start=self._plan.from_start)
        if self._plan.prunes:
            self._work.prune(store)

    def _replace(self) -> None:
        self._file.write_deaths()
        alive = sum(not worker.process.is_dead for worker in self._workers)
        for _ in range(self._plan.workers - alive):
            self._hire()

    def _is_over(self) -> bool:
        """Whether everybody has gone home and nothing is left to do. It is asked only when nobody can act."""
        if self._looked_after == self._file.writes:
            return False
        if any(person.actors and not person.is_dead for person in self._people):
            return False
        self._looked_after = self._file.writes
        return self._file.look(UNFINISHED) == [(0,)]
