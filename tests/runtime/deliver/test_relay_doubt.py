"""What is kept of a delivery in doubt, and what a person's look-up touches: the reasons whole, and that one alone."""

import hashlib
import threading
from typing import Any

import pytest

from leasehold import clock
from leasehold.model.delivery import Absent, Sent, Unknown
from leasehold.model.limits import NOTIFICATION_ID_LENGTH_MAX
from leasehold.runtime.deliver.relay import Relay
from leasehold.runtime.deliver.sender import RegisteredProvider
from leasehold.runtime.observe.events import EventLog
from leasehold.store.db.documents import document
from leasehold.testing import Clock, drain
from tests.runtime.deliver.test_relay import Scripted, known
from tests.runtime.maintain.clocks import Moved, Ticking
from tests.store.work import question, register
from tests.support.apps.deliveries import PROVIDER, change, let_expire, post, write
from tests.support.uptime import simulated_uptime
from tests.support.wait import until


def carried(app, provider, *posts):
    """Have messages sent by this provider and return how they stand."""
    app.deliveries.provider(PROVIDER, provider)
    known(app)
    ids = write(app.store, *(posts or (post(),)))
    drain(app, Clock(app))
    return [app.deliveries.get(one) for one in ids]


@pytest.mark.parametrize("length", [1_001, NOTIFICATION_ID_LENGTH_MAX])
def test_a_providers_id_is_kept_whole_however_long(app, length):
    name = "x" * (length - 1) + "é"
    (found,) = carried(app, Scripted([Sent(name)]))
    assert (found.status, found.notification_id) == ("sent", name)


def test_an_id_that_nothing_can_keep_leaves_its_beginning_its_length_and_a_digest(app):
    name = "abc" * NOTIFICATION_ID_LENGTH_MAX
    (found,) = carried(app, Scripted([Sent(name)]))
    digest = hashlib.sha256(name.encode()).hexdigest()
    assert found.status == "sent"
    assert found.notification_id == f"{name[:1_000]}… ({len(name):,} characters in all), cut: sha256 {digest}"


def test_the_reason_of_the_first_doubt_is_kept_with_the_text_of_the_last_look_up(app):
    finds = [Unknown("one"), OSError("two"), Unknown("three"), Unknown("four")]
    (found,) = carried(app, Scripted([ConnectionResetError("cut off")], finds))
    first = {"error_class": "DELIVERY_MAY_BE_SENT", "message": "ConnectionResetError: cut off"}
    assert (found.status, found.failure["message"]) == ("in_doubt", "three")
    assert found.failure["first_doubt"] == first
    assert "seed" not in found.failure
    (again,) = app.deliveries.reconcile(principal="ada")
    assert (again.status, again.failure["message"]) == ("in_doubt", "four")
    assert again.failure["first_doubt"] == first


@pytest.mark.parametrize(
    ("assignments", "beginning"),
    [
        ("status = 'sending', attempts = 1, due_at = 1", "the relay that had claimed it ended"),
        ("status = 'sent', notified_at = 1, due_at = NULL", "it was marked without evidence"),
    ],
)
def test_a_doubt_that_no_send_reported_names_where_it_came_from(app, assignments, beginning):
    app.deliveries.provider(PROVIDER, Scripted([], [Unknown("?")] * 4))
    known(app)
    (one,) = write(app.store, post())
    change(app.store, one, assignments)
    if "sending" in assignments:
        let_expire(app.store, [one])
        drain(app, Clock(app))
    else:
        app.deliveries.reconcile(one)
    found = app.deliveries.get(one)
    assert (found.status, found.failure["first_doubt"]["error_class"]) == ("in_doubt", "DELIVERY_MAY_BE_SENT")
    assert found.failure["first_doubt"]["message"].startswith(beginning)


def test_a_look_up_of_one_delivery_touches_no_other_and_is_on_the_audit_trail(app):
    """The other rows: one in doubt, one that is being looked up anyway, and one marked without evidence."""
    provider = Scripted([], [Absent()])
    app.deliveries.provider(PROVIDER, provider)
    asked, doubt, looked, odd = write(app.store, *(post(f"{name}@example.org") for name in "abcd"))
    for one in (asked, doubt):
        change(app.store, one, "status = 'in_doubt', due_at = NULL")
    change(app.store, looked, "status = 'reconciling', due_at = 1")
    change(app.store, odd, "status = 'sent', notified_at = 1, due_at = NULL")
    before = [app.store.deliveries.get(one) for one in (doubt, looked, odd)]
    (found,) = app.deliveries.reconcile(asked, principal="ada")
    assert (found.id, found.status) == (asked, "pending")
    assert [app.store.deliveries.get(one) for one in (doubt, looked, odd)] == before
    trail = {one: app.store.audit.list("delivery", one) for one in (asked, doubt, looked, odd)}
    assert [(line.principal, line.action) for line in trail[asked]] == [("ada", "reconcile")]
    assert [trail[one] for one in (doubt, looked, odd)] == [[], [], []]


def test_one_that_is_marked_without_evidence_can_be_named_and_all_can_be_looked_up(app):
    app.deliveries.provider(PROVIDER, Scripted([], [Sent("1"), Sent("2"), Sent("3")]))
    first, second, third = write(app.store, *(post(f"{name}@example.org") for name in "abc"))
    for one in (first, second):
        change(app.store, one, "status = 'sent', notified_at = 1, due_at = NULL")
    change(app.store, third, "status = 'in_doubt', due_at = NULL")
    (found,) = app.deliveries.reconcile(first)
    assert (found.status, found.notification_id) == ("sent", "1")
    assert sorted(one.id for one in app.deliveries.reconcile(principal="bob")) == [second, third]
    assert {app.deliveries.get(one).status.value for one in (first, second, third)} == {"sent"}
    assert [line.principal for line in app.store.audit.list("delivery", third)] == ["bob"]
    assert app.deliveries.reconcile(first) == []
    assert len(app.store.audit.list("delivery", first)) == 1


class Pensive:
    """A provider that takes its time to look a message up, and then answers that it never had it."""

    def __init__(self):
        self.asked, self.answers = threading.Event(), threading.Event()
        self.sent = []

    def send(self, message):
        self.sent.append(message.recipient)
        return Sent(message.token)

    def find(self, message, notification_id):
        self.asked.set()
        self.answers.wait(60)
        return Absent()


def test_s14_a_relay_that_learns_that_its_claim_is_gone_does_not_begin_to_send(app):
    """It learns it when it would renew the claim, while the look-up goes on and long before its own deadline."""
    manual, uptime, provider = Clock(app), Moved(), Pensive()
    worker = register(app.store)
    relay = Relay(app.store, {PROVIDER: RegisteredProvider(provider)}, EventLog(), worker)

    def pulse():
        relay.on_pulse(app.store.workers.pulse(question(worker, providers=f'["{PROVIDER}"]')))

    (ada,) = write(app.store, post("ada@example.org"))
    change(app.store, ada, "status = 'sending', fence = 1, attempts = 1, due_at = 1")
    with simulated_uptime(uptime):
        relay.start()
        try:
            pulse()
            assert provider.asked.wait(60)
            manual.advance(121)
            (elsewhere,) = app.store.deliveries.claim(PROVIDER, 120, 1)
            write(app.store, post("bob@example.org"))
            uptime.advance(31)
            pulse()
            until(lambda: provider.sent)  # which comes after the renewal
            provider.answers.set()
            until(lambda: relay.busy == 0)
        finally:
            provider.answers.set()
            relay.close(60)
    assert provider.sent == ["bob@example.org"]
    assert (app.deliveries.get(ada).status, elsewhere.fence) == ("sending", app.store.deliveries.get(ada).fence)


class Slow:
    """A relay whose deliveries are carried when the test wants."""

    def __init__(self, app, *names):
        self.app = app
        self.names = names
        self.launched: list[Any] = []
        providers = {name: RegisteredProvider(Pensive()) for name in names}
        self.relay = Relay(
            app.store,
            providers,
            EventLog(),
            register(app.store),
            launch=lambda held, send: self.launched.append((held, send)),
        )

    def pulse(self):
        """Have it hear the pulse."""
        asked = question(register(self.app.store), providers=document(self.names))
        self.relay.on_pulse(self.app.store.workers.pulse(asked))


def test_a_relay_whose_worker_is_stopping_claims_no_more_and_keeps_what_it_sends(app):
    Clock(app)
    uptime, slow = Moved(), Slow(app, "a")
    ada, bob = write(app.store, post("ada@example.org", provider="a"), post("bob@example.org", provider="a"))
    change(app.store, bob, "due_at = due_at + 60000000")
    with simulated_uptime(uptime):
        slow.pulse()
        slow.relay.poll_once()
        [(held, _)] = slow.launched
        before = held.deadline
        slow.relay.stop_claiming()
        change(app.store, bob, "due_at = 1")
        uptime.advance(80)
        slow.pulse()
        slow.relay.poll_once()
    assert held.deadline > before
    assert len(slow.launched) == 1
    assert [app.deliveries.get(one).status for one in (ada, bob)] == ["sending", "pending"]


def test_s14_a_claim_on_a_message_is_counted_from_the_moment_it_was_asked_for(app):
    """Counted from the answer, which may be late, it would be held for ours when another has it."""
    Clock(app)
    write(app.store, post())
    slow, ticking = Slow(app, PROVIDER), Ticking()
    slow.pulse()
    with simulated_uptime(ticking):
        before = len(ticking.looks)
        slow.relay.poll_once()
        [(held, _)] = slow.launched
        assert held.deadline == ticking.looks[before] + 90 * clock.SECOND
        while held.deadline >= clock.uptime() + 60 * clock.SECOND:
            pass
        before = len(ticking.looks)
        slow.relay.poll_once()
        assert held.deadline == ticking.looks[before] + 90 * clock.SECOND


def test_l3_a_relay_that_could_not_take_all_takes_the_rest_as_soon_as_it_has_room(app):
    Clock(app)
    write(app.store, *(post(f"{number}@example.org") for number in range(10)))
    slow = Slow(app, PROVIDER)
    slow.pulse()
    slow.relay.poll_once()
    assert (len(slow.launched), slow.relay._due.is_set()) == (8, False)  # noqa: SLF001
    slow.launched[0][1]()
    assert slow.relay._due.is_set()  # noqa: SLF001
    slow.relay.poll_once()
    assert len(slow.launched) == 9


def test_l3_providers_take_turns_so_that_one_with_many_messages_does_not_starve_another(app):
    Clock(app)
    many = [post(f"{number}@{name}.org", provider=name) for name in (PROVIDER, "other") for number in range(16)]
    write(app.store, *many)
    slow = Slow(app, PROVIDER, "other")
    slow.pulse()
    served = []
    for _ in range(2):
        slow.relay.poll_once()
        served.append({held.taken.provider for held, _ in slow.launched})
        for _, send in slow.launched:
            send()
        slow.launched.clear()
    assert sorted(served, key=str) == [{PROVIDER}, {"other"}]
