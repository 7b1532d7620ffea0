"""What is kept of a delivery in doubt, and what a person's look-up touches: the reasons whole, and that one alone."""

import hashlib

import pytest

from leasehold.model.delivery import Absent, Sent, Unknown
from leasehold.model.limits import NOTIFICATION_ID_LENGTH_MAX
from leasehold.testing import Clock, drain
from tests.runtime.test_relay import Scripted, known
from tests.workshop.mailing import PROVIDER, change, let_expire, post, write


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


def test_the_reason_of_the_first_doubt_stays_beside_the_words_of_the_last_look_up(app):
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
    ("assignments", "said"),
    [
        ("status = 'sending', attempts = 1, due_at = 1", "the relay that had claimed it was gone"),
        ("status = 'sent', notified_at = 1, due_at = NULL", "it was marked without evidence"),
    ],
)
def test_a_doubt_that_no_send_told_of_says_where_it_came_from(app, assignments, said):
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
    assert found.failure["first_doubt"]["message"].startswith(said)


def test_a_look_up_of_one_delivery_touches_no_other_and_is_on_the_audit_trail(app):
    """Beside it stand one in doubt, one that is being looked up anyway, and one marked without evidence."""
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
