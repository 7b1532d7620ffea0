"""Any operations in any order, found by Hypothesis: both databases answer alike, and as a dictionary would."""

import contextlib
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from leasehold.model.lease import Renewal, Vacancy, done, failed
from leasehold.store import open_store
from tests.conftest import sqlite_url
from tests.store import work
from tests.store.invariants import check_everything
from tests.store.modelled import LEASE_SECONDS, Model

KEYS = [f"k{number}" for number in range(8)]
START = 1_800_000_000_000_000
TABLES = (
    "task",
    "need",
    "waiting",
    "ready",
    "lease",
    "outcome",
    "outcome_past",
    "unsettled",
    "event",
    "dead_letter",
    "slot",
)
PLACES = {"waiting": "NEW", "ready": "READY", "lease": "RUNNING"}


class Side:
    """One database, spoken to by keys."""

    def __init__(self, store) -> None:
        self.store = store

    def begin(self) -> None:
        with work.connect(self.store) as connection:
            prefix = "" if self.store.url.startswith("sqlite") else "leasehold."
            for table in TABLES:
                connection.execute(f"DELETE FROM {prefix}{table}")  # noqa: S608
        self.tell(0)
        self.worker = work.register(self.store)
        self.ids: dict[str, int] = {}
        self.leases: dict[tuple[str, int], object] = {}

    def tell(self, now: float) -> None:
        self.store.database.perform(lambda session: session.set_clock(START + round(now * 1_000_000)))

    def submit(self, key: str, **options) -> bool:
        (one,) = self.store.tasks.submit([work.job(key, **options)])
        self.ids[key] = one.id
        return one.created

    def claim(self, most: int) -> list[tuple[str, int, int]]:
        found = work.claim(self.store, self.worker, most)
        self.leases.update({(lease.key, lease.fence): lease for lease in found})
        return [(lease.key, lease.fence, lease.attempt) for lease in found]

    def settle(self, ends: list[tuple[str, int, str]]) -> set[tuple[str, int]]:
        make = {"DONE": lambda one: done(one, "1"), "ERROR": lambda one: failed(one, work.BROKEN), "RETRY": _retry}
        landed = self.store.leases.settle([make[how](self.leases[key, fence]) for key, fence, how in ends])
        return {(self._key(one.task_id), one.fence) for one in landed}

    def renew(self, leases: list[tuple[str, int]]) -> set[tuple[str, int]]:
        renewed = self.store.leases.renew(
            [Renewal(self.ids[key], fence, LEASE_SECONDS * 1000) for key, fence in leases]
        )
        return {(self._key(one.task_id), one.fence) for one in renewed}

    def vacate(self, leases: list[tuple[str, int]], why: Any) -> set[tuple[str, str]]:
        vacated = self.store.leases.vacate([Vacancy(self.ids[key], fence, why) for key, fence in leases])
        return {(self._key(one.task_id), one.status) for one in vacated}

    def sweep(self) -> set[tuple[str, str]]:
        return {(self._key(one.task_id), one.status) for one in self.store.leases.vacate(self.store.leases.expired())}

    def statuses(self) -> dict[str, str]:
        return {key: work.status(self.store, job) for key, job in self.ids.items()}

    def _key(self, task_id: int) -> str:
        return next(key for key, job in self.ids.items() if job == task_id)


def _retry(lease):
    return work.retry(lease, 3)


class Queue(RuleBasedStateMachine):
    """Two databases and a dictionary, side by side."""

    def __init__(self, sides: list[Side]) -> None:
        super().__init__()
        self.sides = sides

    @initialize()
    def begin(self) -> None:
        self.model = Model()
        self.held: list[tuple[str, int]] = []
        for side in self.sides:
            side.begin()

    def _both(self, act):
        """Ask both databases; they must answer alike."""
        first, second = (act(side) for side in self.sides)
        assert first == second
        return first

    @rule(
        key=st.sampled_from(KEYS),
        priority=st.integers(-1, 1),
        delay=st.sampled_from([0, 0, 0, 5]),
        attempts_max=st.integers(1, 3),
        on_lost=st.sampled_from(["requeue", "bury"]),
    )
    def submit(self, key, priority, delay, attempts_max, on_lost):
        terms = {"priority": priority, "delay": delay, "attempts_max": attempts_max, "on_lost": on_lost}
        made = self._both(lambda side: side.submit(key, **terms))
        assert made == self.model.submit(key, priority, delay, attempts_max, on_lost)

    @rule(most=st.integers(1, 4))
    def claim(self, most):
        ready = self.model.claimable()
        first, second = (side.claim(most) for side in self.sides)
        assert sorted(first) == sorted(second)
        urgent = [one.priority for one in ready[:most]]
        assert sorted(urgent) == sorted(self.model.jobs[key].priority for key, _, _ in first)
        assert {key for key, _, _ in first} <= {one.key for one in ready}
        self.model.claim([key for key, _, _ in first])
        for key, fence, attempt in first:
            assert (fence, attempt) == (self.model.jobs[key].fence, self.model.jobs[key].attempt)
            self.held.append((key, fence))

    @precondition(lambda self: self.held)
    @rule(data=st.data(), how=st.sampled_from(["DONE", "DONE", "ERROR", "RETRY"]))
    def settle(self, data, how):
        chosen = self._some(data)
        landed = self._both(lambda side: side.settle([(key, fence, how) for key, fence in chosen]))
        assert landed == {(key, fence) for key, fence in chosen if self.model.stands(key, fence)}, "S2"
        for key, _ in landed:
            self.model.settle(key, how)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def renew(self, data):
        chosen = self._some(data)
        renewed = self._both(lambda side: side.renew(chosen))
        assert renewed == {(key, fence) for key, fence in chosen if self.model.stands(key, fence)}, "S2"
        for key, _ in renewed:
            self.model.jobs[key].expires = self.model.now + LEASE_SECONDS

    @precondition(lambda self: self.held)
    @rule(data=st.data(), why=st.sampled_from(["released", "owner gone"]))
    def give_back(self, data, why):
        chosen = self._some(data)
        vacated = {key for key, _ in self._both(lambda side: side.vacate(chosen, why))}
        leased = {key for key, fence in chosen if self._holds(key, fence)}
        assert vacated == leased
        for key in vacated:
            self.model.vacate(key, why)

    @rule()
    def sweep(self):
        swept = self._both(lambda side: side.sweep())
        assert {key for key, _ in swept} == self.model.expired()
        for key, _ in swept:
            self.model.vacate(key, "expired")

    @rule(seconds=st.sampled_from([1, 4, 29, 31]))
    def pass_time(self, seconds):
        self.model.now += seconds
        for side in self.sides:
            side.tell(self.model.now)

    @rule()
    def make_due(self):
        self._both(lambda side: side.store.stages.make_due().seen)
        self.model.make_due()

    @precondition(lambda self: self.model.jobs)
    @rule(data=st.data())
    def cancel(self, data):
        key = data.draw(st.sampled_from(sorted(self.model.jobs)))
        self._both(lambda side: side.store.tasks.cancel(side.ids[key], work.REASON))
        self.model.cancel(key)

    @invariant()
    def agree(self):
        if hasattr(self, "model"):
            expected = {key: PLACES.get(one.place, one.place) for key, one in self.model.jobs.items()}
            assert self._both(lambda side: side.statuses()) == expected

    def teardown(self):
        for side in self.sides:
            check_everything(side.store)

    def _some(self, data) -> list[tuple[str, int]]:
        return data.draw(st.lists(st.sampled_from(sorted(set(self.held))), min_size=1, max_size=4, unique=True))

    def _holds(self, key: str, fence: int) -> bool:
        found = self.model.jobs[key]
        return found.place == "lease" and found.fence == fence


@pytest.fixture
def sides(tmp_path, postgres, postgres_template):
    urls = [sqlite_url(tmp_path), postgres.create_database(template=postgres_template)]
    with contextlib.ExitStack() as stack:
        stores = [stack.enter_context(contextlib.closing(open_store(url))) for url in urls]
        stores[0].migrate()
        yield [Side(store) for store in stores]
    postgres.drop_database(urls[1])


def check_machine(sides, examples: int) -> None:
    options = settings(
        max_examples=examples,
        stateful_step_count=30,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    run_state_machine_as_test(lambda: Queue(sides), settings=options)  # type: ignore[arg-type]


def test_both_databases_do_what_a_dictionary_would(sides):
    """S1, S2, S3, S5, S6, S10, S12, whatever is asked of them in whatever order."""
    check_machine(sides, 20)


@pytest.mark.soak
def test_both_databases_do_what_a_dictionary_would_at_length(sides):
    check_machine(sides, 2_000)
