"""What is read for people: the words for where a task stands, lists, the journal, and what a quiet worker asks."""

import contextlib

import pytest

from leasehold.errors import UrlInvalid
from leasehold.model.owner import Owner
from leasehold.store import open_store
from tests.store import work
from tests.store.work import (
    advance,
    claim,
    claim_one,
    fail,
    finish,
    look,
    pipeline,
    question,
    register,
    retry,
    stage,
    submit,
)


def words(store) -> dict[str, str]:
    return dict(look(store, "SELECT coalesce(stage, key), status FROM task_status"))


def test_the_view_for_people_uses_the_six_words(store, worker, clock):
    submit(store, "done")
    finish(store, [claim_one(store, worker)])
    submit(store, "error")
    fail(store, [claim_one(store, worker)])
    submit(store, "again")
    store.leases.settle([retry(claim_one(store, worker), 5)])
    submit(store, "running")
    claim_one(store, worker)
    (cancelled,) = submit(store, "cancelled")
    store.tasks.cancel(cancelled, work.REASON)
    submit(store, "ready")
    submit(store, "new", delay=5)
    assert words(store) == {
        "done": "DONE",
        "error": "ERROR",
        "again": "NEW",
        "running": "RUNNING",
        "cancelled": "CANCELLED",
        "ready": "READY",
        "new": "NEW",
    }


def test_every_task_is_in_the_view_exactly_once(store, worker):
    pipeline(store, "k", stage("one"), stage("two", "one", each="list"))
    finish(store, claim(store, worker, routes=work.routes_of("one")), {"list": [1, 2]})
    advance(store)
    assert look(store, "SELECT id FROM task_status ORDER BY id") == look(store, "SELECT id FROM task ORDER BY id")


def test_jobs_are_listed_newest_first_by_status_kind_queue_and_page(store, worker):
    submit(store, "a1", "a2", kind="a")
    submit(store, "b1", kind="b", queue="mail")
    pipeline(store, "film", stage("one"))
    claim_one(store, worker)
    keys = lambda **options: [row.key for row in store.reports.jobs(**options)]  # noqa: E731
    assert keys() == ["film", "b1", "a2", "a1"]
    assert keys(kind="a") == ["a2", "a1"]
    assert keys(queue="mail") == ["b1"]
    assert keys(status="RUNNING") == ["a1"]
    assert keys(status="READY", kind="a") == ["a2"]
    assert keys(status="NEW") == ["film"]
    assert keys(most=2) == ["film", "b1"]
    assert keys(before=store.reports.jobs(most=2)[-1].id) == ["a2", "a1"]
    assert [row.has_parts for row in store.reports.jobs(most=2)] == [True, False]


def test_a_job_that_is_not_there_is_nothing(store):
    assert store.reports.job(404) is None
    assert store.reports.tasks(404) == []
    assert store.reports.events(404) == []


def test_a_running_task_is_shown_with_its_lease_and_worker(store, clock):
    worker = store.workers.register(Owner("alpha", "boot", "ns", 4711, 1))
    (task,) = submit(store, "k")
    lease = claim_one(store, worker)
    (row,) = store.reports.tasks(task)
    assert (row.fence, row.attempt, row.host, row.pid) == (lease.fence, 1, "alpha", 4711)
    assert (row.started_at, row.expires_at) == (clock.now, clock.now + 30_000_000)


def test_the_journal_is_read_page_by_page_in_order(store, worker):
    """S7: the numbers of its lines are unique and rise."""
    film = pipeline(store, "k", *[stage(f"s{number}") for number in range(10)])
    finish(store, claim(store, worker, routes=work.routes_of(*[f"s{number}" for number in range(10)])))
    whole = store.reports.events(film.id)
    assert [line.id for line in whole] == sorted({line.id for line in whole})
    pages, after = [], 0
    while page := store.reports.events(film.id, after=after, most=7):
        pages += page
        after = page[-1].id
    assert pages == whole
    assert len(whole) == 31


def test_the_vital_signs_count_what_stands_where(store, worker, clock):
    submit(store, "a", "b", lease_ms=1000)
    submit(store, "later", delay=9)
    claim_one(store, worker)
    clock.advance(2)
    health = store.reports.health()
    assert (health.ready, health.running, health.waiting, health.unsettled) == (1, 1, 1, 0)
    assert (health.expired_at, health.now) == (clock.now - 1_000_000, clock.now)
    assert "SQL" in health.version


def test_what_is_left_is_counted_for_the_routes_asked_for(store, worker):
    submit(store, "a1", "a2", "a3")
    submit(store, "b1", kind="b")
    submit(store, "late", delay=60)
    claim_one(store, worker)
    left = store.reports.remaining(["a"], ["default"])
    assert (left.ready, left.running, left.due, left.unsettled) == (2, 1, 1, 0)
    assert store.reports.remaining(["a"], ["mail"]).ready == 0
    store.queues.pause("default")
    assert store.reports.remaining(["a"], ["default"]).ready == 0


def test_a_quiet_worker_learns_everything_with_one_question(store, worker, clock):
    pulse = store.workers.pulse(question(worker))
    assert (pulse.ready, pulse.unsettled, pulse.due_at, pulse.expired) == (False, False, None, False)
    submit(store, "a", lease_ms=1000)
    submit(store, "b", delay=5)
    pipeline(store, "k", stage("one"))
    finish(store, claim(store, worker, routes=work.routes_of("one")))
    store.queues.pause("mail")
    store.queues.limit("film", 3)
    pulse = store.workers.pulse(question(worker))
    assert (pulse.now, pulse.ready, pulse.unsettled) == (clock.now, True, True)
    assert pulse.due_at == clock.now + 5_000_000
    assert pulse.limited == {"film": 3}
    assert not store.workers.pulse(question(worker, wants_work=False)).ready
    assert not store.workers.pulse(question(worker, routes='["b"]')).ready
    claim_one(store, worker)
    clock.advance(2)
    assert store.workers.pulse(question(worker)).expired
    assert not store.workers.pulse(question(worker, since=clock.now)).expired


def test_a_worker_knows_its_neighbours_of_the_same_kernel(store, worker):
    other = register(store, 2)
    store.workers.register(Owner("host", "another boot", "namespace", 3, 3))
    store.workers.register(Owner("host", "boot", "another namespace", 4, 4))
    (neighbour,) = store.workers.pulse(question(worker)).neighbours
    assert (neighbour.worker, neighbour.pid, neighbour.birth) == (other, 2, 2)
    store.workers.deregister([other])
    assert store.workers.pulse(question(worker)).neighbours == []
    assert store.reports.health().workers == 3


@pytest.mark.parametrize(
    "url", ["", "leasehold.db", "mysql://x/y", "sqlite://", "sqlite:///", "sqlite://x.db", "postgresql", "file:///x"]
)
def test_a_url_that_names_no_database_of_ours_is_refused(url):
    with pytest.raises(UrlInvalid, match="sqlite:///") as refused:
        open_store(url)
    assert refused.value.code == "URL_INVALID"


def test_a_url_with_unknown_options_is_refused():
    with pytest.raises(UrlInvalid):
        open_store("postgresql://x/y?nonsense=1")


def test_a_relative_path_starts_at_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with contextlib.closing(open_store("sqlite:///here.db")) as store:
        store.prepare()
    assert (tmp_path / "here.db").exists()
