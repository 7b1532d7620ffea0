"""Any order of operations, by two workers with good and stale leases, keeps the invariants after every step."""

import random

import pytest

from leasehold.model.failure.loss import Reclaim
from leasehold.model.lease import Lease, Renewal, done, failed
from tests.store import work
from tests.store.model.invariants import check_everything
from tests.store.work import look

STEPS = 70


class Walk:
    """One seeded walk. What the holders remember may be long out of date; that is the point."""

    def __init__(self, store, clock, seed: int) -> None:
        self.store = store
        self.clock = clock
        self.dice = random.Random(seed)
        self.workers = [work.register(store, number) for number in (1, 2)]
        self.held: list[Lease] = []
        self.jobs: list[int] = []

    def step(self) -> None:
        acts = [self._submit, self._submit_film, self._claim, self._claim, self._settle, self._settle, self._renew]
        acts += [self._release, self._sweep, self._cancel, self._advance, self._advance, self._due, self._pass_time]
        self.dice.choice(acts)()

    def _submit(self) -> None:
        key = str(self.dice.randrange(30))
        on_lost = "bury" if int(key) % 3 == 0 else "requeue"
        options = {"priority": int(key) % 3, "delay": int(key) % 2 * 5.0, "attempts_max": 2, "on_lost": on_lost}
        self.jobs += work.submit(self.store, key, **options)

    def _submit_film(self) -> None:
        stages = (work.stage("first"), work.stage("each", "first", each="list"), work.stage("last", "each", "first"))
        self.jobs.append(work.pipeline(self.store, str(self.dice.randrange(5)), *stages).id)

    def _claim(self) -> None:
        routes = ["a", *work.routes_of("first", "each", "last")]
        self.held += work.claim(self.store, self.dice.choice(self.workers), self.dice.randrange(1, 4), routes=routes)

    def _some(self) -> list[Lease]:
        return self.dice.sample(self.held, min(len(self.held), self.dice.randrange(1, 4)))

    def _settle(self) -> None:
        leases = self._some()
        settlements = [
            self.dice.choice([done(lease, '{"list":[1,2]}'), work.retry(lease, 3), failed(lease, work.BROKEN)])
            for lease in leases
        ]
        standing = self._standing()
        landed = {(one.task_id, one.fence) for one in self.store.leases.settle(settlements)}
        assert landed == {(lease.task_id, lease.fence) for lease in leases} & standing, "S2"

    def _renew(self) -> None:
        leases = self._some()
        standing = self._standing()
        renewed = self.store.leases.renew([Renewal(one.task_id, one.fence, 30_000) for one in leases])
        assert {(one.task_id, one.fence) for one in renewed} == {(one.task_id, one.fence) for one in leases} & standing

    def _standing(self) -> set[tuple[int, int]]:
        rows = look(self.store, "SELECT task_id, fence, expires_at FROM lease")
        return {(task, fence) for task, fence, expires_at in rows if expires_at > self.clock.now}

    def _release(self) -> None:
        self.store.leases.reclaim([Reclaim(one.task_id, one.fence, "released") for one in self._some()])

    def _sweep(self) -> None:
        self.store.leases.reclaim(self.store.losses.expired())

    def _cancel(self) -> None:
        if self.jobs and self.dice.random() < 0.3:
            self.store.tasks.cancel(self.dice.choice(self.jobs), work.REASON)

    def _advance(self) -> None:
        work.advance(self.store)

    def _due(self) -> None:
        self.store.stages.make_due()

    def _pass_time(self) -> None:
        self.clock.advance(self.dice.choice([1, 4, 29, 31]))

    def finish(self) -> None:
        """Give everything the time it needs."""
        for _ in range(200):
            for act in (self._pass_time, self._sweep, self._due, self._advance):
                act()
            routes = ["a", *work.routes_of("first", "each", "last")]
            leases = work.claim(self.store, self.workers[0], 100, routes=routes)
            self.store.leases.settle([done(lease, '{"list":[1]}') for lease in leases])
            if look(self.store, "SELECT count(*) FROM outcome") == look(self.store, "SELECT count(*) FROM task"):
                return


def check_walk(store, clock, seed: int) -> None:
    walk = Walk(store, clock, seed)
    outcomes = None
    for _ in range(STEPS):
        walk.step()
        outcomes = check_everything(store, outcomes)
    walk.finish()
    check_everything(store, outcomes)
    assert look(store, "SELECT count(*) FROM outcome") == look(store, "SELECT count(*) FROM task"), "L1"


@pytest.mark.parametrize("seed", range(5))
def test_a_random_walk_keeps_every_task_in_one_place_with_its_journal(store, clock, seed):
    """S1, S2, S3, S5, S6 after every step, and L1: once faults stop, every task settles."""
    check_walk(store, clock, seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 300))
def test_many_random_walks_keep_every_task_in_one_place(store, clock, seed):
    """S1, S2, S3, S5, S6 and L1, at length."""
    check_walk(store, clock, seed)
