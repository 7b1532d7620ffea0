"""One simulated run, from a seed or from a list of choices: a world, a few workers, people, faults, and the oracle."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from leasehold import clock
from leasehold.store import Store
from tests.lab.oracle import Evidence, judge
from tests.simulation.processes import Worker
from tests.simulation.sessions import File
from tests.simulation.workload import Workload
from tests.simulation.world import SECOND, TEMPERS, Choices, Process, Stuck, World

KINDS = ("plain", "flaky", "sure", "blind", "again", "booked", "film", "narrow", "fragile", "doomed", "mail")
NARROW = 1
REST = 6.0
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
    """What came of a run."""

    seed: int
    plan: Plan
    problems: list[str]
    choices: list[int]
    trace: list[tuple[int, str, str]]
    steps: int
    faults: dict[str, int]


def plan_of(seed: int) -> Plan:
    """Draw what a world is like."""
    dice = random.Random(f"plan {seed}")
    jobs = []
    for _ in range(dice.randrange(1, 4)):
        kind = dice.choice(KINDS)
        name = {"sure": "twice", "film": dice.choice(["fine", "broken"]), "doomed": "doomed"}.get(kind, kind)
        jobs.append((kind, dice.choice(["honest", "shaky", "mute", "strict"]) if kind == "mail" else name))
    temper = dice.choice(list(TEMPERS))
    return Plan(
        jobs=jobs,
        workers=dice.randrange(1, 4),
        temper=temper,
        faults=dice.choice([0.01, 0.03, 0.08] if temper == "everything" else [0.03, 0.08, 0.15]),
        storm=dice.choice([10.0, 40.0, 70.0]),
        cancels=dice.randrange(len(jobs)) if dice.random() < 0.15 else None,
        prunes=dice.random() < 0.1,
        from_start=dice.random() < 0.2,
        shares_kernel=dice.random() < 0.4,
    )


def simulate(
    file: File,
    seed: int,
    script: Sequence[int] | None = None,
    plan: Plan | None = None,
    crashes: Collection[int] = (),
) -> Report:
    """Run one world to its end and judge it. `crashes`: steps at which whoever passes a point dies."""
    plan = plan or plan_of(seed)
    choices = Choices(seed) if script is None else Choices(script=script)
    world = World(choices, faults=plan.faults, temper=plan.temper, crashes=crashes)
    file.begin(world)
    random.seed(seed)  # the engine's own pauses are uneven on purpose
    run = _Run(world, file, plan)
    with clock.simulated(lambda: world.now):
        try:
            problems = run.live()
        except Stuck as error:
            problems = [f"L1: {error}", *run.judge(has_settled=False)]
        finally:
            world.stop()
    return Report(seed, plan, problems, choices.taken, world.trace, world.steps, world.counts)


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
        return judge(Evidence(self._file.look, lines, {"narrow": NARROW}, has_settled, self._plan.prunes))

    def _hire(self) -> None:
        self._workers.append(self._work.worker(len(self._workers)))

    def _submitting(self, number: int, kind: str, name: str) -> Callable[[Store], None]:
        def deeds(store: Store) -> None:
            if kind == "narrow":
                store.queues.limit("narrow", NARROW)
            job = self._work.submit(store, kind, name, f"key-{number}")
            if self._plan.cancels == number:
                self._world.sleep(2)
                self._work.cancel(store, job)

        return deeds

    def _fate(self) -> None:
        """Replace who died: workers, and the operator; after the storm nobody dies any more."""
        until = self._world.now + round(self._plan.storm * SECOND)
        operator = Process("nobody", is_dead=True)
        while True:
            self._world.sleep(REST)
            if self._world.now >= until:
                self._world.faults = 0.0
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
        self._file.tell_deaths()
        alive = sum(not worker.process.is_dead for worker in self._workers)
        for _ in range(self._plan.workers - alive):
            self._hire()

    def _is_over(self) -> bool:
        """Whether everybody has gone home and nothing is left to do. It is asked only when nobody can act."""
        if any(person.actors and not person.is_dead for person in self._people):
            return False
        if self._looked_after == self._file.writes:
            return False
        self._looked_after = self._file.writes
        return self._file.look(UNFINISHED) == [(0,)]
