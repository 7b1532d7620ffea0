"""What a simulated world works on: kinds of jobs, and people who submit, cancel, answer, revive and prune.

Handlers are plain functions of the payload and the attempt, so that the oracle knows what they must return.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from leasehold import canonical
from leasehold.app.journal import prune
from leasehold.errors import BudgetExceeded, JobUnfinished, LeaseholdError, LetterRevived, Permanent, Transient
from leasehold.model.failure.failure import Failure
from leasehold.model.graph import Definition, Stage
from leasehold.model.machine import make_machine
from leasehold.model.retry import Retry
from leasehold.model.task import Submission, Submitted, Terms
from leasehold.runtime.attempt import Attempt
from leasehold.runtime.deliver.sender import RegisteredProvider
from leasehold.runtime.handlers import Handler, make_handler
from leasehold.runtime.task import Task
from leasehold.store import Store
from leasehold.store.deadletters import LetterFilter
from tests.simulation.outside import OutgoingMessage, Outside
from tests.simulation.processes import OWNER, Worker
from tests.simulation.sessions import File
from tests.simulation.world import SECOND, Process, World
from tests.support.oracle.evidence import Evidence, Facts
from tests.support.oracle.witness import Witness

RETRY = Retry(attempts=3, delay_initial=1, delay_max=4, delay_ceiling=30)
LEASE = Terms(attempts_max=8)
NARROW = Terms(queue="narrow", attempts_max=8)
BURIED = Terms(attempts_max=8, on_lost="bury")
REASON = Failure("CANCELLED", "called off").text()
TOIL_SECONDS = 9.0
BUDGETS = {"frugal": {"tokens": 12}, "family": {"tokens": 40}}
SHAPES: dict[str, Handler] = {}

STEPS = make_machine("steps", {"new": "made", "made": "seen", "seen": ["weak", "good"], "weak": "made"}, initial="new")

FILM = Definition(
    "film",
    Terms(),
    (Stage("script", LEASE, ()), Stage("audio", LEASE, ("script",), "scenes"), Stage("render", LEASE, ("audio",))),
)


class Workload:
    """The handlers of one world, and what its people do."""

    def __init__(self, world: World, file: File, tempers: Sequence[str], *, shares_kernel: bool, prunes: bool) -> None:
        self.world = world
        self.file = file
        self.witness = Witness()
        self.outside = Outside(world, file, self.witness)
        self.handlers = self._make_handlers()
        self.providers = {
            name: RegisteredProvider(OutgoingMessage(world, file, self.witness, name)) for name in tempers
        }
        self.shares_kernel = shares_kernel
        self.prunes = prunes
        self.fixed: set[str] = set()

    def _make_handlers(self) -> dict[str, Handler]:
        """Look at each handler once, not in every world."""
        if not SHAPES:
            SHAPES.update((handler.route, handler) for handler in self._shape_handlers())
        functions = {route: getattr(self, shape.function.__name__) for route, shape in SHAPES.items()}
        return {route: replace(shape, function=functions[route]) for route, shape in SHAPES.items()}

    def _shape_handlers(self) -> list[Handler]:
        plain: Mapping[str, tuple[Callable[..., Any], Terms]] = {
            "plain": (self._plain, LEASE),
            "narrow": (self._plain, NARROW),
            "fragile": (self._plain, BURIED),
            "flaky": (self._flaky, LEASE),
            "doomed": (self._doomed, LEASE),
            "sure": (self._sure, LEASE),
            "blind": (self._blind, LEASE),
            "again": (self._again, LEASE),
            "booked": (self._booked, LEASE),
            "mail": (self._mail, LEASE),
            "stepped": (self._stepped, LEASE),
            "frugal": (self._frugal, LEASE),
            "family": (self._family, LEASE),
            "heir": (self._heir, LEASE),
        }
        machines = {"stepped": STEPS}
        found = [
            make_handler(kind, None, fn, terms, RETRY, isolated=False, machine=machines.get(kind))
            for kind, (fn, terms) in plain.items()
        ]
        stages = {"script": self._script, "audio": self._audio, "render": self._render}
        return found + [make_handler("film", name, fn, LEASE, RETRY, isolated=False) for name, fn in stages.items()]

    # Handlers.

    def _toil(self) -> None:
        """Take a while, so that much can happen meanwhile."""
        for _ in range(2):
            self.world.at("act", "work")
            self.world.sleep(TOIL_SECONDS)

    def _plain(self, task: Task, name: str) -> Any:
        self._toil()
        return {"by": task.lease.fence, "name": name}

    def _flaky(self, task: Task, name: str) -> Any:
        if task.attempt < 3:
            raise Transient("not yet")
        return {"by": task.lease.fence, "name": name}

    def _doomed(self, task: Task, name: str) -> Any:
        if name not in self.fixed:
            raise Permanent("never", error_class="AUTH_DENIED")
        return {"name": name}

    def _sure(self, task: Task, name: str) -> Any:
        """Two effects that can be looked up; every other task goes ahead of their records."""
        self._toil()
        ahead = task.lease.task_id % 2 == 0
        found = [
            task.effect(kind, self.outside.act(task, kind), lookup=self.outside.lookup(task), ahead=ahead)
            for kind in ("ONE", "TWO")
        ]
        if task.attempt == 1 and name == "twice":
            raise Transient("after both")
        return found

    def _blind(self, task: Task, name: str) -> Any:
        self._toil()
        return task.effect("BLIND", self.outside.act(task, "BLIND"))

    def _again(self, task: Task, name: str) -> Any:
        return task.effect("AGAIN", self.outside.act(task, "AGAIN"), idempotent=True)

    def _booked(self, task: Task, name: str) -> Any:
        """Rows of its own and the result in one commit."""

        def act(connection: Any) -> Any:
            connection.execute("INSERT INTO booked (task) VALUES (?)", (task.lease.task_id,))
            return {"rows": 1}

        return task.transaction("BOOK", act, name=name)

    def _mail(self, task: Task, name: str) -> Any:
        self._toil()
        subject = task.lease.key if self.prunes else "shared"  # pruning forgets what was sent to whom
        task.deliver(f"about {name}, {subject}", "ada@example.org", 1, {"text": name}, provider=name)
        self.witness.saw(
            "posted", task.lease.task_id, task.lease.fence, f"about {name}, {subject}", "ada@example.org", 1
        )
        return None

    def _stepped(self, task: Task, name: str) -> Any:
        """Go through its states, from the top in every attempt; a circle among them."""
        for state in ("made", "seen", "weak", "made", "seen", "good"):
            task.advance(state)
            self.witness.saw("advanced", task.lease.task_id, task.lease.fence, state)
            self.world.at("act", "step")
            if state == "weak" and task.attempt == 1:
                raise Transient("once more")
        return {"name": name}

    def _frugal(self, task: Task, name: str) -> Any:
        """Spend more than there is, from the top in every attempt."""
        paid = 0
        for number in range(4):
            paid += self._pay(task, 5)
            if number == 1 and task.attempt == 1:
                raise Transient("once more")
        return {"paid": paid}

    def _family(self, task: Task, name: str) -> Any:
        """Submit two jobs that spend from the same budget."""
        for number in range(2):
            task.submit("heir", {"name": str(number)}, key=f"heir {number}")
            self._pay(task, 10)
            self.world.at("act", "family")
        return {"name": name}

    def _heir(self, task: Task, name: str) -> Any:
        self._toil()
        return {"paid": self._pay(task, 15)}

    def _pay(self, task: Task, amount: int) -> bool:
        try:
            left = task.spend("tokens", amount)
        except BudgetExceeded:
            return False
        self.witness.saw("paid", task.lease.task_id, task.lease.fence, "tokens", amount, left)
        return True

    def _script(self, task: Task, name: str) -> Any:
        return {"scenes": [1, 2]}

    def _audio(self, task: Task, name: str) -> Any:
        if name == "broken" and task.lease.item == "2" and name not in self.fixed:
            raise Permanent("no voice", error_class="AUTH_DENIED")
        return task.effect("SPEAK", self.outside.act(task, "SPEAK"), lookup=self.outside.lookup(task))["receipt"]

    def _render(self, task: Task, name: str) -> Any:
        return {"film": task.inputs["audio"]}

    # People.

    def worker(self, number: int) -> Worker:
        """Start a worker process."""
        owner = OWNER if self.shares_kernel else replace(OWNER, boot=f"boot {number}")
        queues = ["default", "narrow"]
        return Worker(self.world, self.file, number, owner, self.handlers, queues, self.providers, self._see)

    def _see(self, word: str, attempt: Attempt, result: object) -> None:
        lease = attempt.lease
        if word == "began":
            live = self.outside.is_live(lease.task_id, lease.fence)
            self.witness.saw(word, lease.task_id, lease.fence, lease.queue, live)
        else:
            self.witness.saw(word, lease.task_id, lease.fence, result)

    def person(self, name: str, actions: Callable[[Store], None]) -> Process:
        """Start a process in which somebody does something, again and again until it is answered."""
        process = Process(name)
        store = self.file.store(process)
        process.on_death = store.close

        def live() -> None:
            while True:
                try:
                    actions(store)
                except LeaseholdError:
                    self.world.sleep(1)
                else:
                    store.close()
                    return

        self.world.spawn(process, "person", live)
        return process

    def submit(self, store: Store, kind: str, name: str, key: str) -> int:
        """Submit a job; the witness hears of it only when it is answered."""
        payload = canonical.encode({"name": name})
        if kind == "stepped":
            store.machines.publish(STEPS)
        if kind in BUDGETS:
            one = self._submit_with_budget(store, Submission(kind, key, payload, LEASE), BUDGETS[kind])
        elif kind == "film":
            one = store.tasks.submit_pipelines([Submission(kind, key, payload, Terms(), unmet=3)], FILM)[0]
        else:
            terms = self.handlers[kind].terms
            (one,) = store.tasks.submit([Submission(kind, key, payload, terms)])
        self.witness.saw("acked", one.id, kind, key)
        return one.id

    def _submit_with_budget(self, store: Store, job: Submission, limits: dict[str, int]) -> Submitted:
        """Submit as the façade does: the job and its budget in one transaction."""
        store.tasks.publish(Definition("heir", LEASE))

        def work() -> Submitted:
            (one,) = store.tasks.submit([job])
            if one.created:
                store.budgets.add([one.id], limits)
            return one

        return store.database.in_one_transaction(work)

    def operate(self, store: Store, *, from_start: bool) -> None:
        """Do what an operator does with every open letter: fix, answer, write it down, revive."""
        letters = [
            one for one in store.deadletters.list(LetterFilter(state="open"), 50) if one.job_status != "CANCELLED"
        ]
        for letter in letters:
            self.fixed.update(("broken", "doomed"))
            for row in store.effects.of(letter.job_id):
                own = (row.stage, row.segment) == (letter.stage, letter.segment)
                if own and row.result is None and row.failure is None:
                    known = self.outside.booked.get(row.key)
                    result = None if known is None else canonical.encode(known)
                    store.deadletters.answer(letter.id, row.key, "ada", result)
                    self.witness.saw("answered", row.key, result)
            store.deadletters.evidence(letter.id, "ada", {"text": "mended"})
            with suppress(JobUnfinished, LetterRevived):  # from the start only when all of it has ended
                store.deadletters.revive(letter.id, "ada", from_start=from_start)
                self.witness.saw("revived", letter.id)

    def cancel(self, store: Store, job_id: int) -> None:
        """Call off a job; the witness hears how many tasks it stopped."""
        count = store.tasks.cancel(job_id, REASON)
        self.witness.saw("called off", job_id, count.ended + count.asked)
        self.witness.saw("reached", job_id, self.file.look("SELECT coalesce(max(id), 0) FROM event")[0][0])

    def prune(self, store: Store) -> None:
        """Remove what is long over."""
        prune(store, SECOND, "ada", lambda _: None)


def expected(evidence: Evidence, facts: Facts, fence: int) -> Any:
    """Return what a task that is DONE must have returned: a function of its payload, its effects and its inputs."""
    name = evidence.payload(facts).get("name")
    results = evidence.results[facts.job, facts.stage, facts.segment]
    match facts.stage or facts.kind:
        case "plain" | "narrow" | "fragile" | "flaky" | "doomed" | "stepped" | "family" as kind:
            return {"name": name} if kind in ("doomed", "stepped", "family") else {"by": fence, "name": name}
        case "frugal" | "heir":
            return _expected_paid(evidence, facts)
        case "sure":
            return results
        case "blind" | "again" | "booked":
            return results[0] if results else "nothing on record"
        case "script":
            return {"scenes": [1, 2]}
        case "audio":
            return results[0]["receipt"] if results else "nothing on record"
        case "render":
            return {"film": evidence.parts(facts.job, "audio")}
    return None


def _expected_paid(evidence: Evidence, facts: Facts) -> Any:
    """How often a job was paid for what its budget allows, or whether there was enough left for one of a family."""
    paid = sum(event.name == "spent" for event in evidence.events[facts.id])
    return {"paid": 2 if facts.kind == "frugal" else bool(paid)}
