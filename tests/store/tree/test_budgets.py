"""Budgets: accepted debits never pass a limit (S9), each lands under its lease (S2) and is paid once."""

import contextlib
import json

import pytest

from leasehold.insight.verify.verify import verify_job
from leasehold.model.effect import identity_of
from leasehold.model.failure.loss import Reclaim
from leasehold.model.tree.budget import Budget, make_spend
from leasehold.store import open_store
from tests.store.model.invariants import check_everything
from tests.store.work import at_once, claim, claim_one, job, look, pipeline, register, routes_of, stage, submit
from tests.support.db import connected


def spend(lease, amount, how=1, name="tokens"):
    identity = identity_of(lease.kind, lease.key, lease.stage, lease.segment)
    return make_spend(lease, identity, name, amount, how)


def ask(store, *spends):
    return [(entry.verdict, entry.result) for entry in store.budgets.spend(spends)]


def give(store, *jobs, **limits):
    store.budgets.add(jobs, limits or {"tokens": 100})


def events(store, *names):
    rows = look(store, "SELECT name, fence, detail FROM event ORDER BY id")
    return [(name, fence, json.loads(detail)) for name, fence, detail in rows if name in names]


@pytest.fixture
def lease(store, worker, clock):
    (job_id,) = submit(store, "one")
    give(store, job_id)
    return claim_one(store, worker)


def test_a_new_job_has_its_budgets_and_a_line_of_the_journal(store):
    (job_id,) = submit(store, "one")
    give(store, job_id, calls=3, tokens=100)
    assert store.budgets.of(job_id) == {"calls": Budget(3, 0), "tokens": Budget(100, 0)}
    assert events(store, "budgeted") == [("budgeted", None, {"limits": {"calls": 3, "tokens": 100}})]
    check_everything(store)


def test_a_job_that_waits_has_its_budgets_too(store):
    film = pipeline(store, "k", stage("one"))
    (late,) = submit(store, "late", delay=5)
    give(store, film.id, late)
    assert store.budgets.of(film.id) == store.budgets.of(late) == {"tokens": Budget(100, 0)}
    assert verify_job(store, late).equal
    check_everything(store)


def test_a_debit_is_counted_and_the_answer_is_what_is_left(store, lease):
    assert ask(store, spend(lease, 30)) == [("spent", "70")]
    assert store.budgets.of(lease.job_id)["tokens"].spent == 30
    (line,) = events(store, "spent")
    assert line[:2] == ("spent", lease.fence)
    assert line[2] == {"amount": 30, "key": spend(lease, 30).key, "left": 70, "name": "tokens"}
    check_everything(store)


def test_s9_what_would_pass_the_limit_is_refused_and_what_fits_after_it_is_not(store, lease):
    assert ask(store, spend(lease, 90)) == [("spent", "10")]
    assert ask(store, spend(lease, 11)) == [("refused", "10")]
    assert ask(store, spend(lease, 10)) == [("spent", "0")]
    assert ask(store, spend(lease, 1)) == [("refused", "0")]
    assert store.budgets.of(lease.job_id) == {"tokens": Budget(100, 100)}
    assert [line[0] for line in events(store, "spent", "refused")] == ["spent", "refused", "spent", "refused"]
    assert look(store, "SELECT count(*) FROM spend") == [(2,)]
    check_everything(store)


def test_s9_many_debits_of_one_batch_follow_one_another(store, worker, clock):
    film = pipeline(store, "k", *(stage(f"s{number}") for number in range(6)))
    give(store, film.id)
    leases = claim(store, worker, routes=routes_of(*(f"s{number}" for number in range(6))))
    amounts = [40, 50, 20, 10, 5, 0]
    answers = ask(store, *(spend(lease, amount) for lease, amount in zip(leases, amounts, strict=True)))
    assert answers == [
        ("spent", "60"), ("spent", "10"), ("refused", "10"), ("spent", "0"), ("refused", "0"), ("spent", "0"),
    ]  # fmt: skip
    assert store.budgets.of(film.id) == {"tokens": Budget(100, 100)}
    check_everything(store)


def test_several_debits_of_one_task_are_chained_one_after_the_other(store, lease):
    assert [one for one, _ in ask(store, *(spend(lease, 10, number) for number in (1, 2, 3)))] == ["spent"] * 3
    assert [line[2]["left"] for line in events(store, "spent")] == [90, 80, 70]
    assert verify_job(store, lease.job_id).equal


def test_a_debit_that_was_paid_before_is_answered_from_the_ledger(store, worker, lease):
    ask(store, spend(lease, 30), spend(lease, 20))
    store.leases.reclaim([Reclaim(lease.task_id, lease.fence, "owner gone")])
    second = claim_one(store, worker)
    assert ask(store, spend(second, 30), spend(second, 20)) == [("again", "70"), ("again", "50")]
    assert ask(store, spend(second, 20, 2)) == [("spent", "30")]
    assert store.budgets.of(lease.job_id) == {"tokens": Budget(100, 70)}


def test_a_debit_whose_answer_was_lost_may_be_asked_for_again(store, lease):
    assert ask(store, spend(lease, 30)) == [("spent", "70")]
    assert ask(store, spend(lease, 30)) == [("again", "70")]
    assert len(events(store, "spent")) == 1


def test_a_key_that_was_spent_with_another_amount_is_a_conflict(store, lease):
    assert ask(store, spend(lease, 30, "call 1")) == [("spent", "70")]
    assert ask(store, spend(lease, 31, "call 1")) == [("conflict", "30")]
    assert ask(store, spend(lease, 30, "call 1")) == [("again", "70")]
    assert store.budgets.of(lease.job_id) == {"tokens": Budget(100, 30)}


def test_what_has_no_budget_is_not_spent(store, lease):
    assert ask(store, spend(lease, 1, name="calls")) == [("unknown", None)]
    assert events(store, "spent", "refused") == []


def test_s2_a_zombie_spends_nothing(store, worker, lease):
    store.leases.reclaim([Reclaim(lease.task_id, lease.fence, "owner gone")])
    claim_one(store, worker)
    assert ask(store, spend(lease, 30)) == []
    assert store.budgets.of(lease.job_id) == {"tokens": Budget(100, 0)}
    assert events(store, "spent", "refused") == []


def test_s2_an_attempt_whose_lease_expired_spends_nothing(store, clock, lease):
    clock.advance(lease.lease_ms / 1000)
    assert ask(store, spend(lease, 30)) == []
    assert store.budgets.of(lease.job_id) == {"tokens": Budget(100, 0)}


def test_the_database_itself_refuses_a_budget_that_is_passed(store, lease):
    with connected(store.url) as connection, pytest.raises(Exception, match=r"(?i)check|constraint"):
        connection.execute("UPDATE budget SET spent = 101")


def test_entries_moves_and_debits_of_one_batch_are_answered_together(store, lease):
    found = store.effects.enter([], [], spends=[spend(lease, 5)])
    assert [(entry.verdict, entry.result) for entry in found] == [("spent", "95")]


def test_s9_debits_from_many_connections_at_once_never_pass_the_limit(url, store):
    """Each connection debits one budget; those that come late are refused."""
    count, limit = 8, 50
    film = pipeline(store, "k", *(stage(f"s{number}") for number in range(count)))
    give(store, film.id, tokens=limit)
    leases = claim(store, register(store), routes=routes_of(*(f"s{number}" for number in range(count))))

    def debit(number):
        with contextlib.closing(open_store(url)) as own:
            asked = [spend(leases[number], 1, turn) for turn in range(1, 21)]
            return [verdict for one in asked for verdict, _ in ask(own, one)]

    verdicts = [one for many in at_once(count, debit) for one in many]
    assert (verdicts.count("spent"), verdicts.count("refused")) == (limit, count * 20 - limit)
    assert store.budgets.of(film.id) == {"tokens": Budget(limit, limit)}
    left = [line[2]["left"] for line in events(store, "spent")]
    assert left == sorted(range(limit), reverse=True)
    assert verify_job(store, film.id).equal
    check_everything(store)


def test_a_job_submitted_again_keeps_its_budget(store):
    first = store.tasks.submit([job("one")])[0]
    give(store, first.id)
    again = store.tasks.submit([job("one")])[0]
    assert (again.id, again.created) == (first.id, False)
    assert store.budgets.of(first.id) == {"tokens": Budget(100, 0)}
