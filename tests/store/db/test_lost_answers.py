"""A COMMIT without an answer is neither success nor failure: every write is repeated and finds what it did."""

import contextlib

import pytest

from leasehold.model.failure.loss import Reclaim
from leasehold.model.lease import Renewal, done, failed
from leasehold.store import open_store
from tests.store import work
from tests.store.model.invariants import check_everything, slots_taken
from tests.store.work import claim_limited, finish, job, lane, look, pipeline, register, stage, statuses, submit
from tests.support.databases.cutting_proxy import CuttingProxy, Direction
from tests.support.databases.postgres import database_name
from tests.support.databases.proxy import Proxy


@pytest.fixture
def name(postgres, postgres_template):
    """The name of a database."""
    url = postgres.create_database(postgres_template)
    yield database_name(url)
    postgres.drop_database(url)


@pytest.fixture
def proxied(postgres, name):
    """A store behind a proxy, and one with a line of its own to look with."""
    with contextlib.ExitStack() as stack:
        proxy = stack.enter_context(Proxy(postgres.port))
        url = f"postgresql://postgres@127.0.0.1:{proxy.port}/{name}"
        store = stack.enter_context(contextlib.closing(open_store(url, connections=2)))
        direct = stack.enter_context(contextlib.closing(open_store(postgres.url(name, tcp=True))))
        yield proxy, store, direct


def test_a_submit_whose_answer_was_lost_returns_the_one_job(proxied):
    """S3: it was committed, and repeating it by its key finds it."""
    proxy, store, direct = proxied
    proxy.lose_the_answer_to(b"-- submit_one:")
    (made,) = store.tasks.submit([job("k", payload={"n": 1})])
    assert proxy.cuts == 1
    assert look(direct, "SELECT id, key FROM task") == [(made.id, "k")]
    check_everything(direct)


def test_a_batch_whose_commit_was_not_answered_is_there_once(proxied):
    """S3: all of it, under the numbers that were answered."""
    proxy, store, direct = proxied
    proxy.lose_the_answer_to(b"COMMIT")
    made = store.tasks.submit([job(str(number)) for number in range(50)])
    assert proxy.cuts == 1
    assert look(direct, "SELECT id FROM task ORDER BY id") == [(one.id,) for one in made]


def test_many_new_jobs_whose_commit_was_not_answered_are_there_once(proxied):
    """S3: they were inserted in bulk, and the second try finds them."""
    proxy, store, direct = proxied
    proxy.lose_the_answer_to(b"COMMIT")
    made = store.tasks.submit_new([job(str(number)) for number in range(500)])
    assert proxy.cuts == 1
    assert [(one.id,) for one in made] == look(direct, "SELECT id FROM task ORDER BY id")
    check_everything(direct)


@pytest.mark.parametrize("direction", list(Direction))
def test_many_new_jobs_are_there_once_wherever_their_line_is_cut(postgres, name, direction):
    """S3: at every message of the bulk insert."""
    direct = postgres.url(name, tcp=True)
    with contextlib.closing(open_store(direct)) as look_in, CuttingProxy(postgres.port) as proxy:
        url = f"postgresql://postgres@127.0.0.1:{proxy.port}/{name}?sslmode=disable&gssencmode=disable"
        number, messages, numbers = 0, 1, set()
        while number <= messages:
            proxy.arm(direction, number)
            with contextlib.closing(open_store(url)) as store:
                made = store.tasks.submit_new([job(f"{number} {one}") for one in range(120)])
            numbers |= {one.id for one in made}
            messages = proxy.disarm() if number == 0 else messages
            number += 1
        assert proxy.cuts == messages > 10
        assert sorted(numbers) == [row[0] for row in look(look_in, "SELECT id FROM task ORDER BY id")]
        assert len(numbers) == 120 * number
        check_everything(look_in)


def test_a_pipeline_whose_answer_was_lost_has_its_stages_once(proxied):
    proxy, store, direct = proxied
    proxy.lose_the_answer_to(b"COMMIT")
    film = pipeline(store, "k", stage("one"), stage("two", "one"))
    assert proxy.cuts == 1
    assert len(statuses(direct, film.id)) == 3


def test_a_settlement_whose_answer_was_lost_is_reported_as_landed(proxied):
    """S2 and S5: the lease is gone because this very settlement ended it."""
    proxy, store, direct = proxied
    worker = register(store)
    submit(store, "good", "late", "again", "bad")
    good, late, again, bad = work.claim(store, worker)
    direct.leases.reclaim([Reclaim(late.task_id, late.fence, "owner gone")])
    proxy.lose_the_answer_to(b"-- settle:")
    settlements = [done(good, "1"), done(late, "2"), work.retry(again, 5), failed(bad, work.BROKEN)]
    landed = store.leases.settle(settlements)
    assert proxy.cuts == 1
    assert {(one.task_id, one.status) for one in landed} == {
        (good.task_id, "DONE"),
        (again.task_id, "RETRY"),
        (bad.task_id, "ERROR"),
    }
    check_everything(direct)


def test_a_claim_whose_answer_was_lost_reports_that_it_may_hold_more(proxied):
    """S1: what it leased without getting the answer can be found and released, without an attempt being spent."""
    proxy, store, direct = proxied
    worker = register(store)
    submit(store, *"abcd")
    proxy.lose_the_answer_to(b"-- claim:")
    claimed = store.leases.claim(worker, [lane()], '["a"]', 2)
    assert proxy.cuts == 1
    assert claimed.in_doubt
    assert [lease.key for lease in claimed.leases] == ["c", "d"]
    known = {(lease.task_id, lease.fence) for lease in claimed.leases}
    unknown = [one for one in store.leases.held_by(worker) if one not in known]
    assert len(unknown) == 2
    store.leases.reclaim([Reclaim(task, fence, "released") for task, fence in unknown])
    assert [lease.attempt for lease in work.claim(store, worker)] == [1, 1]
    assert not store.leases.claim(worker, [lane()], '["a"]', 2).in_doubt
    check_everything(direct)


def test_a_limited_claim_whose_answer_was_lost_reports_that_and_keeps_the_limit(proxied):
    """S11: the slots it took without getting the answer stay taken."""
    proxy, store, direct = proxied
    worker = register(store)
    submit(store, *"abcdef")
    store.queues.limit("default", 3)
    proxy.lose_the_answer_to(b"COMMIT")
    claimed = store.leases.claim_limited(worker, "default", '["a"]', 2)
    assert claimed.in_doubt
    assert len(claimed.leases) == 1
    assert slots_taken(direct, "default") == 3
    assert claim_limited(store, worker, "default") == []


@pytest.mark.parametrize("needle", [b"COMMIT", b"-- take_unsettled:", b"-- make_ready:"])
def test_an_advance_whose_answer_was_lost_is_done_once(proxied, needle):
    proxy, store, direct = proxied
    worker = register(store)
    film = pipeline(store, "k", stage("one"), stage("two", "one"))
    finish(store, work.claim(store, worker, routes=work.routes_of("one")))
    proxy.lose_the_answer_to(needle)
    work.advance(store)
    assert proxy.cuts == 1
    assert statuses(direct, film.id)["two", None] == "READY"
    check_everything(direct)


def test_a_reclaim_and_a_renewal_whose_answers_were_lost_are_done_once(proxied):
    proxy, store, direct = proxied
    worker = register(store)
    submit(store, "a", "b")
    first, second = work.claim(store, worker)
    proxy.lose_the_answer_to(b"-- renew:")
    assert len(store.leases.renew([Renewal(first.task_id, first.fence, 60_000)])) == 1
    proxy.lose_the_answer_to(b"-- reclaim:")
    store.leases.reclaim([Reclaim(second.task_id, second.fence, "owner gone")])
    assert proxy.cuts == 2
    assert look(direct, "SELECT count(*) FROM event WHERE name = 'reclaimed'") == [(1,)]
    check_everything(direct)


def test_a_cancel_whose_answer_was_lost_holds(proxied):
    proxy, store, direct = proxied
    (task,) = submit(store, "k")
    proxy.lose_the_answer_to(b"-- cancel:")
    store.tasks.cancel(task, work.REASON)
    assert proxy.cuts == 1
    assert work.status(direct, task) == "CANCELLED"
    check_everything(direct)
