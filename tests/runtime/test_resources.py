"""What a worker has and when: threads and connections while they are needed, and the connections it must have."""

import contextlib
import threading

import psycopg
import pytest

from leasehold import Leasehold
from leasehold.runtime.attempt import Attempt
from leasehold.runtime.claim.claimer import Claimer
from leasehold.runtime.claim.held import HeldAttempts
from leasehold.runtime.commit.committer import Committer
from leasehold.runtime.observe.events import EventLog
from leasehold.store import open_store
from tests.support.db import connected, rows
from tests.support.manual_leases import enrol
from tests.support.wait import until

NAME = "worker-under-test"
OPEN = (
    f"SELECT count(*) FROM pg_stat_activity WHERE application_name = '{NAME}'"  # noqa: S608
    " OR (application_name LIKE 'leasehold-%' AND datname = current_database())"
)
SOON = {"WORKSHOP_REST": "0.5"}
MANY = 30


def test_a_worker_that_has_nothing_to_do_ends_its_threads_and_works_again_when_there_is_something(app, workers):
    worker = workers.start(environment=SOON, concurrency=MANY)
    jobs = app.submit_many("hold", [{"name": "a"}] * MANY)
    until(lambda: len(workers.journal("start")) == MANY)
    assert worker.system.num_threads() > MANY
    workers.open("a")
    assert {job.wait(timeout=60).status for job in jobs} == {"DONE"}
    until(lambda: worker.system.num_threads() == 4)  # the main one, claimer, upkeep, listener
    again = app.submit_many("hold", [{"name": "b"}] * 3)
    until(lambda: len(workers.journal("start", "b")) == 3)
    workers.open("b")
    assert {job.wait(timeout=60).output["attempt"] for job in again} == {1}


@pytest.mark.parametrize("dialect", ["postgres"])
def test_a_worker_that_has_nothing_to_do_keeps_three_connections_and_opens_others_to_work(app, workers, url):
    workers.start(environment={"LEASEHOLD_URL": f"{url}&application_name={NAME}", "WORKSHOP_REST": "3"})
    until(lambda: rows(url, OPEN) == [(3,)])
    film = app.submit("film", {"scenes": 3})
    until(lambda: rows(url, OPEN)[0][0] > 3)  # one that reads the inputs of its last stage, for one
    assert film.wait(timeout=60).status == "DONE"
    until(lambda: rows(url, OPEN) == [(3,)])
    assert app.submit("quick", {"number": 1}).wait(timeout=60).status == "DONE"


@pytest.fixture
def crowded(private_postgres):
    """A server with few connections, and a way to take all that are left: `take_all(taken)`."""
    server = private_postgres()
    server.settings["max_connections"] = "20"
    url = server.create_database()

    def take_all(taken):
        with contextlib.suppress(psycopg.OperationalError):
            while True:
                taken.enter_context(psycopg.connect(url))

    return url, take_all


def test_a_worker_claims_only_while_there_is_a_connection_for_committer_and_heartbeat(crowded, caplog):
    """Out of connections, the server would let it claim, and then neither renew nor settle."""
    url, take_all = crowded
    with contextlib.ExitStack() as stack:
        store, leases = (stack.enter_context(contextlib.closing(open_store(url))) for _ in range(2))
        store.prepare()
        kind, held = published(store), HeldAttempts(5, {"default": None})
        claimed: list[Attempt] = []
        committer = Committer(leases, held, EventLog(), lambda: None)
        parts = (["default"], held, committer, EventLog(), claimed.extend)
        claimer = Claimer(store, enrol(store), {kind.name: kind.handler}, *parts, reserve=leases.reserve)
        stack.callback(claimer.close)
        with contextlib.ExitStack() as taken:
            take_all(taken)
            claimer.start()
            until(lambda: "database_away" in caplog.text)
            assert (claimed, store.reports.health().ready) == ([], 1)
        until(lambda: len(claimed) == 1)
        assert leases.database.pool.has_open()


def published(store):
    with contextlib.closing(Leasehold(store.url)) as app:
        kind = app.job(name="kept")(lambda: None)
        kind.submit()
    return kind


def test_a_reserved_connection_that_the_server_has_ended_is_opened_again(crowded):
    url, _ = crowded
    with contextlib.closing(open_store(url)) as store, connected(url) as other:
        store.prepare()
        store.reserve()
        assert store.database.pool.has_open()
        other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'leasehold'")
        until(lambda: not store.database.pool.has_open())
        store.reserve()
        assert store.database.pool.has_open()


def test_a_part_that_is_granted_no_connection_takes_the_one_of_another_when_that_is_free(crowded):
    """Committer and heartbeat: with one connection between them, each waits for the other, and none fails."""
    url, take_all = crowded
    inside, over, answers = threading.Event(), threading.Event(), []
    with contextlib.closing(open_store(url)) as store, contextlib.ExitStack() as taken:
        store.prepare()
        impatient = store.sibling(0.1)

        def hold(session):
            inside.set()
            over.wait(60)
            return session.run("reports/health")

        first = threading.Thread(target=lambda: answers.append(store.database.perform(hold)))
        first.start()
        assert inside.wait(60)
        take_all(taken)
        second = threading.Thread(target=lambda: answers.append(impatient.reports.health()))
        second.start()
        until(lambda: store.database.pool.is_awaited)
        over.set()
        first.join()
        second.join()
    assert len(answers) == 2
