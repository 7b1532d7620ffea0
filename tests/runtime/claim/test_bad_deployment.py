"""A deployment whose workers all die soon after their start, for hours; then a good one. No time passes by itself."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from leasehold import clock
from leasehold.model.failure import loss
from leasehold.model.lease import SUSPECT_LOSSES
from leasehold.model.limits import LOSSES, LOSSES_MAX, SUSPECT_AGE_SECONDS_MAX, SUSPECTS_MAX
from leasehold.runtime.attempt import Attempt
from leasehold.runtime.claim.held import HeldAttempts
from leasehold.store.workers import PulseQuery
from leasehold.testing import Clock
from tests.runtime.claim.test_claimer import claimer_of
from tests.store.work import finish
from tests.support.db import check_journal, check_places, rows
from tests.support.uptime import simulated_uptime


def on_top():
    """At the top of a module, so that another process can load it."""


class Supervisor:
    """Starts workers one after the other. Handlers take `toil` seconds; what runs when a worker dies is lost."""

    def __init__(self, app, toil: float) -> None:
        self._store, self._toil = app.store, toil
        self._clock = Clock(app)
        self._uptime = clock.uptime()
        self.claimed = 0

    @contextmanager
    def simulated(self) -> Iterator["Supervisor"]:
        with simulated_uptime(lambda: self._uptime):
            yield self

    def wait(self, seconds: float) -> None:
        self._uptime += clock.microseconds(seconds)
        self._clock.advance(seconds)
        self._store.stages.make_due()

    def live(self, kind, moments: list[float]) -> None:
        """Run one worker, which looks for work at these moments after its start and dies at the last of them."""
        held = HeldAttempts(50, {})
        claimer = claimer_of(self._store, kind, held)
        began: dict[Attempt, float] = {}
        age = 0.0
        for moment in moments:
            self.wait(moment - age)
            age = moment
            self._end(claimer, held, [one for one in held.all() if age - began[one] >= self._toil])
            if moment == moments[-1]:
                break
            claimer.on_suspects(self._store.workers.pulse(PulseQuery()).suspects)
            self.claimed += claimer.claim_suspects() + claimer.claim(held.capacity.free())
            began.update((one, age) for one in held.all() if one not in began)
        worker = claimer._worker  # noqa: SLF001 — nobody else asks
        lost = self._store.losses.of_worker(worker)
        self._store.leases.reclaim([loss.decide(one, (), lost) for one in lost])
        self._store.workers.deregister([worker])

    def _end(self, claimer, held, attempts) -> None:
        if attempts:
            finish(self._store, [one.lease for one in attempts])
        for attempt in attempts:
            held.drop(attempt)
            held.free_slot(attempt)
            if attempt.lease.is_suspect:
                claimer.suspects.on_end(None)


BAD = {
    "0.7 s": (500, 1.0, [0, 0.7], [1] * 100 + [300] * 30),
    "40 s": (3, 60.0, [0, 1, 2, 4, 8, 16, 32, 40], [60] * 90),
}


@pytest.mark.parametrize(("count", "toil", "moments", "pauses"), BAD.values(), ids=BAD)
def test_s12_hours_of_workers_that_die_after_their_start_bury_nothing_and_a_good_one_does_it_all(
    app, url, count, toil, moments, pauses
):
    kind = app.job(on_top, name="on-top", lease=3600)
    app.submit_many(kind, [{}] * count)
    with Supervisor(app, toil).simulated() as supervisor:
        for pause in pauses:
            supervisor.live(kind, moments)
            supervisor.wait(pause)
        [(losses,)] = rows(url, "SELECT max(losses) FROM ready")
        assert rows(url, "SELECT count(*) FROM outcome") == [(0,)]
        assert loss.required_age(losses - 1) < moments[-1] <= loss.required_age(losses) < 2 * moments[-1]
        before = supervisor.claimed
        supervisor.live(kind, moments)
        assert supervisor.claimed == before, "none is charged any more, however long it goes on"
        supervisor.live(kind, [n * toil for n in range(2 * count // SUSPECTS_MAX + 10)])
    assert rows(url, "SELECT status, count(*) FROM outcome GROUP BY status") == [("DONE", count)]
    check_places(url)
    check_journal(url)


def test_s12_the_age_that_a_worker_needs_doubles_with_each_loss_to_a_quarter_of_an_hour():
    for losses in range(LOSSES + 1):
        age = loss.required_age(losses)
        assert loss.claimable_losses(age) >= losses
        assert age == 0 or loss.claimable_losses(age - 0.01) < losses
    assert [loss.required_age(SUSPECT_LOSSES + more) for more in range(5)] == [0, 1, 2, 4, 8]
    assert loss.required_age(LOSSES_MAX) == SUSPECT_AGE_SECONDS_MAX
    assert loss.claimable_losses(SUSPECT_AGE_SECONDS_MAX) == LOSSES_MAX
