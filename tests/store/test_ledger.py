"""The ledger: intents and results of effects, each under its lease (S2), each result once (S4)."""

import contextlib
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from leasehold.errors import EffectSettled, LeaseLost
from leasehold.model import effect
from leasehold.model.failure.loss import Reclaim
from leasehold.store import open_store
from tests.store.deadletters.buried_tasks import bury, only_letter, revive
from tests.store.work import at_once, claim, claim_one, look, pipeline, routes_of, stage, submit
from tests.support.wait import until


@pytest.fixture
def lease(store, worker, clock):
    submit(store, "one")
    return claim_one(store, worker)


def intent(lease, number=1, **fields):
    return effect.intend(lease, "SEND", fields, number)


def enter(store, *items):
    intents = [item for item in items if isinstance(item, effect.Intent)]
    records = [item for item in items if isinstance(item, effect.Record)]
    return [(entry.verdict, entry.result) for entry in store.effects.enter(intents, records)]


def ledger(store):
    return look(store, "SELECT key, result, failure FROM effect ORDER BY number")


def outside(store, statement):
    """Run a statement of the user's own, on the user's own tables."""
    return store.database.transact(
        lambda session: (
            session.raw.execute(statement).fetchall()
            if "SELECT" in statement
            else session.raw.execute(statement) and []
        )
    )


def money(store):
    return outside(store, "SELECT amount FROM money")


def taken_over(store, worker, lease):
    store.leases.reclaim([Reclaim(lease.task_id, lease.fence, "owner gone")])
    return claim_one(store, worker)


def test_an_intent_is_committed_before_anything_is_done(store, lease):
    asked = intent(lease)
    assert enter(store, asked) == [("act", None)]
    assert ledger(store) == [(asked.key, None, None)]


def test_s4_a_result_is_recorded_once_and_its_bytes_never_change(store, lease):
    asked = intent(lease)
    enter(store, asked)
    assert enter(store, effect.done(asked, '{"id":1}')) == [("recorded", None)]
    assert enter(store, effect.done(asked, '{"id":2}')) == []
    assert enter(store, effect.failed(asked, "{}")) == []
    assert enter(store, asked) == [("done", '{"id":1}')]
    assert ledger(store) == [(asked.key, '{"id":1}', None)]


def test_a_record_whose_answer_was_lost_may_be_sent_again(store, lease):
    asked = intent(lease)
    enter(store, asked)
    enter(store, effect.done(asked, "1"))
    assert enter(store, effect.done(asked, "1")) == [("recorded", None)]


def test_an_intent_whose_answer_was_lost_may_be_sent_again_by_the_same_attempt(store, lease):
    asked = intent(lease)
    assert enter(store, asked) == enter(store, asked) == [("act", None)]


def test_a_failure_on_record_is_acted_upon_again_and_never_taken_for_a_success(store, lease):
    asked = intent(lease)
    enter(store, asked)
    enter(store, effect.failed(asked, '{"error_class":"BUG"}'))
    assert enter(store, asked) == [("act", None)]
    assert ledger(store) == [(asked.key, None, None)]


def test_an_intent_of_an_earlier_attempt_without_a_result_is_in_doubt(store, worker, lease):
    enter(store, intent(lease))
    second = taken_over(store, worker, lease)
    assert enter(store, intent(second)) == [("doubt", None)]


def test_s2_a_zombie_can_neither_start_an_effect_nor_record_one(store, worker, lease):
    old = intent(lease, n=1)
    enter(store, old)
    taken_over(store, worker, lease)
    assert enter(store, effect.done(old, "1"), intent(lease, n=2)) == []
    assert ledger(store) == [(old.key, None, None)]


def test_s2_an_attempt_whose_lease_expired_can_neither_start_an_effect_nor_record_one(store, clock, lease):
    old = intent(lease, n=1)
    enter(store, old)
    clock.advance(lease.lease_ms / 1000)
    assert enter(store, effect.done(old, "1"), intent(lease, n=2)) == []
    assert ledger(store) == [(old.key, None, None)]


def test_the_same_key_is_made_on_every_machine_and_others_for_other_fields_or_tasks(store, worker, clock):
    submit(store, "a", "b")
    first, second = claim_one(store, worker), claim_one(store, worker)
    assert intent(first, x=1, y=2).key == intent(first, y=2, x=1, number=9).key
    keys = {intent(first, x=1).key, intent(first, x="1").key, intent(second, x=1).key, intent(first).key}
    assert len(keys) == 4


def test_many_effects_of_many_tasks_are_entered_in_one_go(store, worker, clock):
    submit(store, *(f"job-{number}" for number in range(50)))
    leases = [claim_one(store, worker) for _ in range(50)]
    asked = [intent(lease, n=number) for lease in leases for number in range(4)]
    assert enter(store, *asked) == [("act", None)] * 200
    assert enter(store, *(effect.done(one, "1") for one in asked)) == [("recorded", None)] * 200
    assert look(store, "SELECT count(*) FROM effect WHERE result = '1'") == [(200,)]


def test_rows_and_result_of_a_transaction_commit_together_and_once(store, lease):
    outside(store, "CREATE TABLE money (amount integer)")
    asked = intent(lease)

    def act(connection):
        connection.execute("INSERT INTO money VALUES (5)")
        return effect.done(asked, "5")

    assert store.effects.transact(asked, act).result == "5"
    assert store.effects.transact(asked, act).result == "5"
    assert money(store) == [(5,)]


def test_a_transaction_that_fails_leaves_neither_rows_nor_an_intent(store, lease):
    outside(store, "CREATE TABLE money (amount integer)")

    def act(connection):
        connection.execute("INSERT INTO money VALUES (5)")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        store.effects.transact(intent(lease), act)
    assert money(store) == []
    assert ledger(store) == []


def test_s2_a_zombies_transaction_leaves_no_rows(store, worker, lease):
    outside(store, "CREATE TABLE money (amount integer)")
    taken_over(store, worker, lease)

    def act(connection):
        connection.execute("INSERT INTO money VALUES (5)")
        return effect.done(intent(lease), "5")

    with pytest.raises(LeaseLost):
        store.effects.transact(intent(lease), act)
    assert money(store) == []


def test_a_person_answers_an_effect_in_doubt_once_and_only_while_its_task_does_not_run(store, worker, lease):
    asked = intent(lease)
    enter(store, asked)
    bury(store, [lease])
    first = only_letter(store)
    revive(store, first)
    with pytest.raises(EffectSettled, match="is revived"):
        store.deadletters.answer(first.id, asked.key, "ada", "1")
    bury(store, [claim_one(store, worker)])
    second = only_letter(store, state="open")
    store.deadletters.answer(second.id, asked.key, "ada", "1")
    with pytest.raises(EffectSettled, match="is open"):
        store.deadletters.answer(second.id, asked.key, "ada", "2")
    revive(store, second)
    assert enter(store, intent(claim_one(store, worker))) == [("done", "1")]


def test_an_effect_of_another_task_is_not_answered_under_this_ones_letter(store, worker):
    """S14: the task it belongs to may be running, and about to learn for itself what came of it."""
    pipeline(store, "k", stage("one"), stage("two"))
    one, two = claim(store, worker, routes=routes_of("one", "two"))
    asked = intent(two)
    enter(store, asked)
    bury(store, [one])
    with pytest.raises(EffectSettled):
        store.deadletters.answer(only_letter(store).id, asked.key, "ada", "1")
    assert store.effects.of(two.job_id)[0].result is None


def test_effects_are_listed_task_by_task_in_the_order_they_were_intended(store, lease):
    asked = [intent(lease, number, n=number) for number in (1, 2, 3)]
    enter(store, *reversed(asked))
    assert [row.number for row in store.effects.of(lease.job_id)] == [1, 2, 3]
    first = store.effects.of(lease.job_id, most=1)
    assert [row.number for row in store.effects.of(lease.job_id, after=first[0])] == [2, 3]


def test_a_lease_that_ends_while_its_effect_is_entered_takes_the_effect_or_refuses_it(store, worker, clock):
    submit(store, *(f"job-{number}" for number in range(40)))
    leases = [claim_one(store, worker) for _ in range(40)]

    def enter_all():
        return len(store.effects.enter([intent(lease) for lease in leases], []))

    def vacate_all():
        """One that is being entered is passed over; a sweep comes again."""
        while held := store.leases.held_by(worker):
            store.leases.reclaim([Reclaim(task, fence, "owner gone") for task, fence in held])

    entered, _ = at_once(2, lambda number: (enter_all, vacate_all)[number]())
    assert look(store, "SELECT count(*) FROM effect") == [(entered,)]
    assert look(store, "SELECT count(*) FROM ready") == [(40,)]


@pytest.mark.parametrize("dialect", ["postgres"])
def test_l1_a_holder_that_is_frozen_inside_its_transaction_keeps_only_its_own_task(store, worker):
    """The server ends it when it has been silent for the limit; a single SQLite file has one writer, frozen or not."""
    submit(store, "frozen", "neighbour")
    frozen, neighbour = claim(store, worker)
    vacancies = [Reclaim(one.task_id, one.fence, "owner gone") for one in (frozen, neighbour)]
    limits = []

    def act(connection):
        limits.append(connection.execute("SHOW idle_in_transaction_session_timeout").fetchone()[0])
        with contextlib.closing(open_store(store.url)) as other, ThreadPoolExecutor(1) as thread:
            vacated = thread.submit(other.leases.reclaim, vacancies).result()
        assert [one.task_id for one in vacated] == [neighbour.task_id]
        return effect.done(intent(frozen), "5")

    store.effects.transact(intent(frozen), act)
    assert limits == ["2min"]
    assert store.leases.held_by(worker) == [(frozen.task_id, frozen.fence)]
    assert len(store.leases.reclaim(vacancies)) == 1


@pytest.mark.parametrize("dialect", ["postgres"])
def test_a_transaction_that_is_silent_too_long_is_ended_by_the_server_and_leaves_nothing(store, lease):
    outside(store, "CREATE TABLE money (amount integer)")
    acts = []

    def act(connection):
        acts.append(connection.execute("INSERT INTO money VALUES (5)"))
        connection.execute("SET LOCAL idle_in_transaction_session_timeout = '10ms'")
        until(lambda: not backend(store, connection.info.backend_pid))
        connection.execute("SELECT 1")

    with pytest.raises(psycopg.errors.IdleInTransactionSessionTimeout):
        store.effects.transact(intent(lease), act)
    assert len(acts) == 1
    assert (money(store), ledger(store)) == ([], [])


def backend(store, pid):
    with contextlib.closing(open_store(store.url)) as other:
        return outside(other, f"SELECT 1 FROM pg_stat_activity WHERE pid = {int(pid)}")  # noqa: S608
