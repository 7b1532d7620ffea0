"""The outbox as it is kept: written with the end of a task, claimed by state, marked under a fence."""

import contextlib
import json

import psycopg
import pytest

from leasehold.errors import DeliverySettled, DeliveryUnknown
from leasehold.model import outbox
from leasehold.model.delivery import token_of
from leasehold.model.failure.failure import Failure
from leasehold.model.lease import Settlement
from leasehold.model.retry import Retry
from leasehold.store import open_store
from leasehold.store.db import statements
from leasehold.store.deliveries import DeliveryAnswer
from tests.store.work import at_once, claim_one, look, question, submit
from tests.support.apps.deliveries import PROVIDER, change, post, write

LEASE = 120.0
RELAY = 7  # the number of its worker process
FAILURE = Failure("DELIVERY_NOT_SENT", "the server is away", retryable=True)


def claim(store, most=100, worker=RELAY, **options):
    return store.deliveries.claim(PROVIDER, LEASE, most, worker=worker, **options)


def take(store, most=100, **options):
    """Claim, and begin to send what need not be looked up first, as a relay does."""
    found = claim(store, most, **options)
    begun = {one.id: one for one in store.deliveries.begin([one for one in found if not one.may_be_sent], RELAY)}
    return [begun.get(one.id, one) for one in found]


def take_one(store):
    (taken,) = take(store)
    return taken


def fact(store, delivery_id, name):
    return getattr(store.deliveries.get(delivery_id), name)


def end(store, worker, status, *posts):
    submit(store, f"{status}-{len(posts)}")
    lease = claim_one(store, worker)
    failure = FAILURE.text() if status != "DONE" else None
    settlement = Settlement(lease.task_id, lease.fence, status, "null", failure=failure, deliveries=list(posts))
    return store.leases.settle([settlement])


@pytest.mark.parametrize("status", ["ERROR", "RETRY", "CANCELLED"])
def test_only_a_task_that_is_done_delivers(store, worker, status):
    assert len(end(store, worker, status, post())) == 1
    assert store.deliveries.list() == []


def test_a_recipient_of_a_version_gets_one_row_however_often_it_is_delivered(store):
    (first,) = write(store, post())
    assert write(store, post(), post(version=2)) != [first]
    assert [(one.id, one.version) for one in store.deliveries.list()][-1] == (first, 1)
    assert len(store.deliveries.list()) == 2


def test_a_claim_commits_that_the_delivery_is_being_sent_and_nobody_else_gets_it(store, clock):
    (one,) = write(store, post())
    taken = take_one(store)
    assert (taken.id, taken.was, taken.status, taken.fence, taken.attempts) == (one, "pending", "sending", 1, 1)
    assert not taken.may_be_sent
    assert taken.to_send.token == token_of("change-17", "ada@example.org", 1)
    assert take(store) == []
    assert fact(store, one, "due_at") == clock.now + 120_000_000


def test_s14_what_was_only_claimed_is_taken_again_as_it_was_and_spends_no_attempt(store, clock):
    write(store, post())
    (first,) = claim(store)
    assert (first.status, first.attempts) == ("pending", 1)
    clock.advance(LEASE + 1)
    (second,) = claim(store)
    assert (second.was, second.may_be_sent, second.fence, second.attempts) == ("pending", False, 2, 1)
    assert store.deliveries.begin([first], RELAY) == []
    assert fact(store, first.id, "status") == "pending"
    (begun,) = store.deliveries.begin([second], RELAY)
    assert store.deliveries.begin([second], RELAY) == [begun]  # again: its first answer may have been lost
    assert fact(store, first.id, "status") == begun.status == "sending"


def test_s14_what_a_relay_that_is_gone_had_claimed_is_due_at_once_and_only_what_it_began_is_in_doubt(store, clock):
    write(store, post("ada@example.org"), post("bob@example.org"), post("eve@example.org"))
    (begun,) = take(store, 1)
    (claimed,) = claim(store, 1)
    (others,) = claim(store, 1, worker=RELAY + 1)
    assert store.workers.reclaim_deliveries(RELAY) == 2
    assert store.deliveries.begin([claimed], RELAY) == []
    assert fact(store, others.id, "due_at") == clock.now + 120_000_000
    again = {one.id: (one.was, one.attempts) for one in claim(store)}
    assert again == {begun.id: ("sending", 2), claimed.id: ("pending", 1)}
    assert store.workers.reclaim_deliveries(RELAY + 2) == 0


def test_s14_a_mark_that_comes_after_its_relay_was_found_gone_stands_unless_another_has_claimed_it(store):
    """The server may still do what a process that died had asked for."""
    write(store, post("ada@example.org"), post("bob@example.org"))
    ada, bob = take(store)
    store.workers.reclaim_deliveries(RELAY)
    assert store.deliveries.mark(outbox.sent(ada, "4XyZ"))
    (again,) = claim(store)
    assert again.id == bob.id
    assert not store.deliveries.mark(outbox.sent(bob, "late"))


def test_s14_what_stands_claimed_beyond_its_time_is_taken_as_maybe_sent(store, clock):
    write(store, post())
    first = take_one(store)
    clock.advance(LEASE + 1)
    second = take_one(store)
    assert (second.was, second.may_be_sent, second.fence) == ("sending", True, 2)
    assert not store.deliveries.mark(outbox.sent(first, "late"))
    assert store.deliveries.mark(outbox.sent(second, "4XyZ"))
    found = store.deliveries.get(first.id)
    assert (found.status, found.notification_id, found.due_at) == ("sent", "4XyZ", None)
    assert found.notified_at == clock.now


def test_a_renewed_claim_is_not_taken_by_another_and_a_lost_one_is_not_renewed(store, clock):
    write(store, post())
    first = take_one(store)
    clock.advance(LEASE - 1)
    assert store.deliveries.renew([first], LEASE) == {(first.id, 1)}
    clock.advance(LEASE - 1)
    assert take(store) == []
    clock.advance(2)
    take_one(store)
    assert store.deliveries.renew([first], LEASE) == set()


def test_the_four_cases_of_a_retry_are_distinguished_by_the_row_alone(store):
    """S14: sent is never taken; untouched may be sent; an id without a time is looked up; a time without an id too."""
    sent, fresh, half, marked = write(store, *(post(f"{name}@example.org") for name in "abcd"))
    change(store, sent, "status = 'sent', notification_id = 'x', notified_at = 1")
    change(store, half, "notification_id = 'x'")
    change(store, marked, "notified_at = 1")
    assert {one.id: one.may_be_sent for one in take(store)} == {fresh: False, half: True}
    assert [row.id for row in store.deliveries.suspect([PROVIDER])] == [marked]
    (found,) = take(store)
    assert (found.id, found.status, found.was, found.may_be_sent) == (marked, "reconciling", "reconciling", True)


@pytest.mark.parametrize(
    "odd",
    [
        "status = 'sent', notified_at = 1, due_at = NULL",
        "status = 'sent', notification_id = 'x', due_at = NULL",
        "status = 'sent', due_at = NULL",
        "notified_at = 1",
        "status = 'failed', notified_at = 1, notification_id = 'x', due_at = NULL",
    ],
)
def test_whatever_is_marked_sent_without_evidence_goes_to_reconciliation_once(store, odd):
    (one,) = write(store, post())
    change(store, one, odd)
    assert pulse(store).deliveries_inconsistent
    assert store.deliveries.backlogs()[0].inconsistent == 1
    assert [row.id for row in store.deliveries.suspect([PROVIDER])] == [one]
    assert store.deliveries.suspect([PROVIDER]) == []
    assert fact(store, one, "status") == "reconciling"
    assert not pulse(store).deliveries_inconsistent


def pulse(store, providers=(PROVIDER,)):
    return store.workers.pulse(question(1, providers=json.dumps(providers)))


def test_the_pulse_reports_when_the_next_delivery_of_these_providers_is_due(store, clock):
    assert pulse(store).delivery_due_at is None
    write(store, post(), post("bob@example.org", provider="other"))
    assert pulse(store).delivery_due_at == clock.now
    assert pulse(store, ["third"]).delivery_due_at is None
    assert pulse(store, []).delivery_due_at is None
    taken = take_one(store)
    assert pulse(store).delivery_due_at == clock.now + 120_000_000
    store.deliveries.mark(outbox.sent(taken, "x"))
    assert pulse(store).delivery_due_at is None
    assert store.deliveries.remaining([PROVIDER, "other"]) == (1, 1)


def test_claims_made_at_once_never_share_a_row(store, url):
    recipients = [f"{number}@example.org" for number in range(200)]
    ids = write(store, *(post(recipient) for recipient in recipients))

    def claim_all(number):
        found = []
        with contextlib.closing(open_store(url, connections=1)) as own:
            while taken := take(own, most=7):
                found += [one.id for one in taken]
        return found

    assert sorted(one for found in at_once(6, claim_all) for one in found) == ids
    assert {one.attempts for one in store.deliveries.list(most=1_000)} == {1}


def test_what_was_certainly_not_sent_waits_longer_each_time_and_fails_when_its_attempts_are_spent(store, clock):
    (one,) = write(store, post())
    policy = Retry(attempts=3, delay_initial=10, multiplier=2)
    for _ in range(2):
        taken = take_one(store)
        mark = outbox.not_sent(taken, FAILURE, policy)
        assert store.deliveries.mark(mark)
        answer = json.loads(fact(store, one, "failure"))
        assert answer["delay_us"] == mark.delay_us
        assert answer["seed"].endswith(f"|attempt|{taken.attempts}")
        assert take(store) == []
        clock.advance(20)
    assert store.deliveries.mark(outbox.not_sent(take_one(store), FAILURE, policy))
    assert (fact(store, one, "status"), fact(store, one, "due_at")) == ("failed", None)


def test_what_was_not_sent_is_taken_again_although_later_ones_have_been_sent(store, clock):
    """L3: what is due is found by its state, not by how far anybody has come."""
    write(store, post("ada@example.org"), post("bob@example.org"))
    away, taken = sorted(take(store), key=lambda one: one.id)
    store.deliveries.mark(outbox.not_sent(away, FAILURE, Retry(attempts=3, delay_initial=10)))
    store.deliveries.mark(outbox.sent(taken, "4XyZ"))
    clock.advance(20)
    assert fact(store, taken.id, "status") == "sent"
    assert [one.id for one in take(store)] == [away.id]


def test_l3_what_has_been_due_for_the_longest_is_taken_first(store, clock):
    """Not what was posted first: an old one that was put off waits behind newer ones that were not."""
    early, late, new = write(store, *(post(f"{name}@example.org") for name in "abc"))
    for seconds, one in ((5, late), (3, early), (4, new)):
        change(store, one, f"due_at = {clock.now + seconds * 1_000_000}")
    clock.advance(10)
    assert [one.id for _ in range(3) for one in take(store, most=1)] == [early, new, late]


def test_s14_what_is_marked_is_marked_once(store):
    """A mark that is repeated, or comes after another of the same claim, changes nothing."""
    (one,) = write(store, post())
    taken = take_one(store)
    assert store.deliveries.mark(outbox.sent(taken, "4XyZ"))
    assert not store.deliveries.mark(outbox.not_sent(taken, FAILURE, Retry(attempts=3)))
    assert not store.deliveries.mark(outbox.sent(taken, "another"))
    assert (fact(store, one, "status"), fact(store, one, "notification_id")) == ("sent", "4XyZ")


def test_look_ups_without_a_clear_answer_are_repeated_and_then_left_to_a_person(store, clock):
    (one,) = write(store, post())
    store.deliveries.mark(outbox.may_be_sent(take_one(store), FAILURE))
    for looks in (1, 2, 3):
        assert fact(store, one, "status") == "sending"
        clock.advance(10)
        taken = take_one(store)
        assert taken.may_be_sent
        store.deliveries.mark(outbox.still_unknown(taken, FAILURE))
        assert fact(store, one, "lookups") == looks
    assert (fact(store, one, "status"), fact(store, one, "due_at")) == ("in_doubt", None)
    assert take(store) == []


def test_a_delivery_that_is_given_back_has_spent_no_attempt_and_is_what_it_was(store, clock):
    (one,) = write(store, post())
    store.deliveries.mark(outbox.released(take_one(store)))
    assert (fact(store, one, "status"), fact(store, one, "attempts")) == ("pending", 0)
    take_one(store)
    clock.advance(LEASE + 1)
    store.deliveries.mark(outbox.released(take_one(store)))
    assert take_one(store).may_be_sent


def doubtful(store, recipient="ada@example.org"):
    (one,) = write(store, post(recipient))
    change(store, one, "status = 'in_doubt', due_at = NULL, lookups = 3, notified_at = 7")
    return one


def test_an_answer_that_it_was_sent_marks_it_with_evidence_and_is_on_the_audit_trail(store, clock):
    one = doubtful(store)
    answer = DeliveryAnswer(sent=True, notification_id="4XyZ", principal="ada", notes="in the mail log")
    found = store.deliveries.answer(one, answer)
    assert (found.status, found.notification_id, found.notified_at, found.due_at) == ("sent", "4XyZ", 7, None)
    (line,) = store.audit.list("delivery", one)
    assert (line.principal, line.action, line.noun_id, line.at) == ("ada", "answer", one, clock.now)
    assert json.loads(line.detail) == {"notes": "in the mail log", "notification_id": "4XyZ", "sent": True}
    with pytest.raises(DeliverySettled):
        store.deliveries.answer(one, answer)
    assert len(store.audit.list("delivery", one)) == 1


def test_an_answer_that_it_was_not_sent_makes_it_like_a_new_one(store):
    one = doubtful(store)
    store.deliveries.answer(one, DeliveryAnswer(sent=False, notification_id=None, principal="ada", notes=""))
    taken = take_one(store)
    assert (taken.attempts, taken.notified_at, taken.may_be_sent) == (1, None, False)
    with pytest.raises(DeliverySettled):
        store.deliveries.answer(one, DeliveryAnswer(sent=True, notification_id="x", principal="ada", notes=""))
    with pytest.raises(DeliveryUnknown):
        store.deliveries.answer(one + 1, DeliveryAnswer(sent=True, notification_id="x", principal="ada", notes=""))


def test_what_is_in_doubt_can_be_looked_up_again_alone_or_together(store):
    first, second = doubtful(store), doubtful(store, "bob@example.org")
    assert [row.id for row in store.deliveries.reconcile([PROVIDER], "ada", second)] == [second]
    assert [row.id for row in store.deliveries.reconcile(["other"], "ada")] == []
    assert sorted(row.id for row in store.deliveries.reconcile([PROVIDER], "bob")) == [first, second]
    lines = {
        one: [(line.principal, line.action) for line in store.audit.list("delivery", one)] for one in (first, second)
    }
    assert lines == {first: [("bob", "reconcile")], second: [("ada", "reconcile"), ("bob", "reconcile")]}
    write(store, post("eve@example.org"))
    taken = take(store, only="reconciling")
    assert sorted(one.id for one in taken) == [first, second]
    for one in taken:
        store.deliveries.mark(outbox.still_unknown(one, FAILURE))
    assert {fact(store, one, "status") for one in (first, second)} == {"in_doubt"}


def test_deliveries_are_listed_and_counted(store):
    first = doubtful(store)
    second, third = write(store, post("bob@example.org"), post(version=2))
    assert [one.id for one in store.deliveries.list()] == [third, second, first]
    assert [one.id for one in store.deliveries.list(status="in_doubt", subject="change-17")] == [first]
    assert [one.id for one in store.deliveries.list(status="pending", before=third)] == [second]
    assert store.deliveries.list(subject="other") == []
    assert store.deliveries.counts("change-17", 1) == {"in_doubt": 1, "pending": 1}
    assert store.deliveries.counts("change-17", 1, ["bob@example.org"]) == {"pending": 1}
    (backlog,) = store.deliveries.backlogs()
    assert (backlog.provider, backlog.late, backlog.in_doubt, backlog.failed) == (PROVIDER, 2, 1, 0)


@pytest.mark.parametrize("dialect", ["postgres"])
def test_a_claim_of_deliveries_reads_only_what_is_due(store):
    write(store, *(post(f"{number}@example.org") for number in range(50)))
    with psycopg.connect(store.url, autocommit=True) as connection:
        connection.execute("ANALYZE leasehold.delivery")
        connection.execute("SET enable_seqscan = off")
        text = f"EXPLAIN (COSTS OFF) {statements.encoded('postgres', 'deliveries/claim').decode()}"
        values = {"provider": PROVIDER, "lease_us": 1, "most": 8, "only": None, "delivery": None, "worker": RELAY}
        plan = "\n".join(row[0] for row in connection.execute(text.encode(), values).fetchall())
    assert "Index Scan using delivery_due" in plan
    assert "Sort" not in plan
    assert look(store, "SELECT count(*) FROM delivery WHERE status = 'pending'") == [(50,)]
