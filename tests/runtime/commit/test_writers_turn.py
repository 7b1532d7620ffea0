"""SQLite has one writer at a time: one that waited for its turn writes what has come meanwhile as well."""

import threading
from contextlib import closing, contextmanager

import apsw
import pytest

from leasehold import Leasehold, Misuse
from leasehold.model.effect import Intent, intend
from leasehold.model.owner import Owner
from leasehold.runtime.attempt import Attempt
from leasehold.runtime.claim.claimer import Claimer
from leasehold.runtime.claim.held import HeldAttempts
from leasehold.runtime.commit.committer import Committer
from leasehold.runtime.observe.events import EventLog
from leasehold.store import open_store
from tests.conftest import sqlite_url
from tests.support.db import rows
from tests.support.processes.local_worker import plan_of
from tests.support.wait import until

NOBODY = Owner("nowhere", "boot", "namespace", 1, 1)


class Kept:
    """Keeps what it is answered."""

    loop = None
    value = None

    def answer(self, value):
        self.value = value


class Desk:
    """A claimer and a committer whose threads are the test's own."""

    def __init__(self, store, places=10):
        self.app = Leasehold(store.url)
        self.kind = self.app.job(name="work")(_work)
        self.store = store
        self.held = HeldAttempts(places, {})
        self.committer = Committer(store, self.held, EventLog(), lambda: None)
        self.attempts: list[Attempt] = []
        worker = store.workers.register(NOBODY)
        handlers = plan_of(self.kind).handlers
        parts = (self.held, self.committer, EventLog(), self.attempts.extend)
        self.claimer = Claimer(store, worker, handlers, ["default"], *parts)

    def hold(self, count):
        self.app.submit_many(self.kind, [{}] * count)
        self.claimer.claim(count)
        for attempt in self.attempts:
            attempt.begin()

    def ask(self, attempt):
        reply = Kept()
        self.committer.commit(attempt, intend(attempt.lease, "ACT", {}, 1), reply)  # type: ignore[arg-type]
        return reply

    def end(self, attempt):
        attempt.end()
        self.committer.settle(attempt, attempt.succeed(None))


def _work(): ...


@pytest.fixture
def desk(tmp_path, sqlite_template):
    (tmp_path / "leasehold.db").write_bytes(sqlite_template.read_bytes())
    with closing(open_store(sqlite_url(tmp_path))) as store:
        made = Desk(store)
        with closing(made.app):
            yield made


@contextmanager
def writing_elsewhere(desk, act):
    """Have `act` wait on a thread for its turn while somebody else writes, and end after the block."""
    path = desk.store.url.removeprefix("sqlite:///")
    tried = threading.Event()

    def try_it():
        tried.set()
        act()

    with closing(apsw.Connection(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        thread = threading.Thread(target=try_it)
        thread.start()
        try:
            assert tried.wait(60)
            yield
        finally:
            other.execute("COMMIT")
            thread.join()


def moments(desk):
    """When anything was written, by the clock of its transaction."""
    intents = [at for (at,) in rows(desk.store.url, "SELECT intended_at FROM effect")]
    ends = [at for (at,) in rows(desk.store.url, "SELECT finished_at FROM outcome")]
    return intents, ends


def test_entries_that_come_while_a_group_waits_for_its_turn_are_committed_with_it(desk):
    desk.hold(4)
    replies = [desk.ask(desk.attempts[0])]
    with writing_elsewhere(desk, desk.committer.write):
        until(lambda: not desk.committer.has_work(), timeout=60)  # the first is on its way
        replies += [desk.ask(attempt) for attempt in desk.attempts[1:]]
    assert [reply.value.verdict for reply in replies] == ["act"] * 4
    intents, _ = moments(desk)
    assert (len(intents), len(set(intents))) == (4, 1)


def test_entries_and_ends_are_one_transaction(desk):
    desk.hold(4)
    asking, ending = desk.attempts[:2], desk.attempts[2:]
    replies = [desk.ask(attempt) for attempt in asking]
    for attempt in ending:
        desk.end(attempt)
    desk.committer.write()
    intents, ends = moments(desk)
    assert (len(intents), len(ends), len({*intents, *ends})) == (2, 2, 1)
    assert [reply.value.verdict for reply in replies] == ["act"] * 2
    assert sorted(desk.held.all(), key=id) == sorted(asking, key=id)


class Refusing:
    """The store's leases, whose ends nobody takes."""

    def __init__(self, leases):
        self._leases = leases

    def settle(self, _):
        raise Misuse("no ends today")

    def __getattr__(self, name):
        return getattr(self._leases, name)


def test_ends_that_are_refused_keep_no_entry_from_being_committed(desk):
    desk.hold(2)
    reply = desk.ask(desk.attempts[0])
    desk.end(desk.attempts[1])
    desk.store.leases = Refusing(desk.store.leases)
    desk.committer.write()
    assert reply.value.verdict == "act"
    assert len(moments(desk)[0]) == 1
    assert desk.held.all() == [desk.attempts[0]]  # its lease runs out by itself


def test_an_entry_that_is_refused_fails_alone_and_keeps_no_end_from_being_written(desk):
    desk.hold(3)
    bad, good = Kept(), desk.ask(desk.attempts[1])
    lease = desk.attempts[0].lease
    wrong = Intent(lease.job_id, None, lease.task_id, lease.fence, 1, 1, "ACT", "{}")  # type: ignore[arg-type]
    desk.committer.commit(desk.attempts[0], wrong, bad)
    desk.end(desk.attempts[2])
    desk.committer.write()
    assert isinstance(bad.value, Exception)
    assert good.value.verdict == "act"
    assert [len(found) for found in moments(desk)] == [1, 1]


def test_places_that_come_free_while_a_claim_waits_for_its_turn_are_filled_by_it(desk):
    desk.app.submit_many(desk.kind, [{}] * 20)
    assert desk.claimer.claim(10) == 10
    first = list(desk.attempts)
    for attempt in first[:3]:
        desk.held.free_slot(attempt)
    with writing_elsewhere(desk, lambda: desk.claimer.claim(3)):
        for attempt in first[3:7]:
            desk.held.free_slot(attempt)
    assert len(desk.attempts) == 10 + 3 + 4
