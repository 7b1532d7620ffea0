"""Relays really killed at each place, and many at once: a message goes out once, or a person is asked."""

import random
from collections import Counter

import pytest

from leasehold.model.owner import Owner
from tests.providers.mail_server import MailServer
from tests.support.apps.deliveries import PROVIDER, fields, let_expire, post, write
from tests.support.wait import until

ADA = "ada@example.org"
ELSEWHERE = Owner("another host", "another boot", "pid:[1]", 1, 1)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "letters"


def crashed(workers, place, provider):
    """Run a relay that is killed the moment it comes to `place`."""
    worker = workers.run("tests.crash.killed_relay", place, environment={"MAILING_PROVIDER": provider})
    assert worker.end() == -9


def relay(workers, provider):
    worker = workers.run("tests.support.apps.deliveries", environment={"MAILING_PROVIDER": provider})
    until(lambda: worker.has_logged("relay_started"))
    return worker


def crash_and_heal(app, workers, place, provider):
    """Return the delivery as the relay that died left it, and as another of the same host left it.

    A claim lasts for two minutes, longer than anybody waits here: the other relay gives it back at once.
    """
    (one,) = write(app.store, post())
    crashed(workers, place, provider)
    left = app.deliveries.get(one)
    relay(workers, provider)
    until(lambda: app.deliveries.get(one).status in ("sent", "in_doubt"))
    return left, app.deliveries.get(one)


def mail_url(server):
    return f"smtp://127.0.0.1:{server.port}/?from=robot@example.org"


def test_s14_a_message_that_was_claimed_but_not_begun_is_sent_without_a_look_up(app, workers, folder):
    left, healed = crash_and_heal(app, workers, "claimed but not begun", f"folder:{folder}")
    assert (left.status, left.notified_at, left.attempts) == ("pending", None, 1)
    assert (healed.status, healed.attempts) == ("sent", 1)
    assert workers.journal() == [["send", ADA]]
    assert len(fields(folder)) == 1
    assert workers.started[-1].has_logged("deliveries_reclaimed")


def test_s14_a_message_that_was_claimed_but_not_begun_elsewhere_is_sent_when_the_claim_is_over(app, workers, folder):
    """The process of another host cannot be looked for."""
    (one,) = write(app.store, post())
    assert len(app.store.deliveries.claim(PROVIDER, 600, 1, worker=app.store.workers.register(ELSEWHERE))) == 1
    relay(workers, f"folder:{folder}")
    let_expire(app.store, [one])
    until(lambda: app.deliveries.get(one).status == "sent")
    assert (workers.journal(), app.deliveries.get(one).attempts) == ([["send", ADA]], 1)


def test_s14_a_message_that_was_begun_but_not_sent_is_looked_up_and_sent_once(app, workers, folder):
    left, healed = crash_and_heal(app, workers, "begun but not sent", f"folder:{folder}")
    assert (left.status, left.notified_at, left.attempts) == ("sending", None, 1)
    assert (healed.status, healed.attempts) == ("sent", 2)
    assert workers.journal() == [["find", ADA], ["send", ADA]]
    assert len(fields(folder)) == 1


def test_s14_a_message_that_was_sent_but_not_marked_is_found_and_not_sent_again(app, workers, folder):
    """The first row of the failure matrix: looked up, then backfilled without resending."""
    left, healed = crash_and_heal(app, workers, "sent but not marked", f"folder:{folder}")
    assert (left.status, left.notified_at, left.notification_id) == ("sending", None, None)
    assert (healed.status, healed.notification_id) == ("sent", f"{fields(folder)[0]['token']}.json")
    assert healed.notified_at is not None
    assert workers.journal() == [["send", ADA], ["find", ADA]]
    assert len(fields(folder)) == 1


def test_s14_a_message_that_was_marked_but_not_logged_is_never_touched_again(app, workers, folder):
    left, healed = crash_and_heal(app, workers, "marked but not logged", f"folder:{folder}")
    assert left.status == "sent"
    assert left == healed
    (other,) = write(app.store, post("bob@example.org"))
    until(lambda: app.deliveries.get(other).status == "sent")
    assert workers.journal() == [["send", ADA], ["send", "bob@example.org"]]


def test_s14_a_mail_whose_relay_died_before_it_began_is_sent_although_no_server_can_be_asked(app, workers):
    with MailServer() as server:
        _, healed = crash_and_heal(app, workers, "claimed but not begun", mail_url(server))
        assert (healed.status, len(server.bodies)) == ("sent", 1)


@pytest.mark.parametrize(("place", "mails"), [("begun but not sent", 0), ("sent but not marked", 1)])
def test_s14_a_mail_whose_relay_died_waits_for_a_person_since_no_server_can_be_asked(app, workers, place, mails):
    with MailServer() as server:
        _, healed = crash_and_heal(app, workers, place, mail_url(server))
        assert (healed.status, len(server.bodies)) == ("in_doubt", mails)
        app.deliveries.answer(healed.id, sent=bool(mails), principal="ada")
        until(lambda: app.deliveries.get(healed.id).status == "sent")
        assert len(server.bodies) == 1


def test_s14_two_relay_processes_on_many_rows_send_each_message_once(app, workers, folder):
    recipients = [f"{number}@example.org" for number in range(300)]
    ids = write(app.store, *(post(recipient) for recipient in recipients))
    for _ in range(2):
        workers.run("tests.support.apps.deliveries", environment={"MAILING_PROVIDER": f"folder:{folder}"})
    until(lambda: app.deliveries.counts("change-17", 1) == {"sent": len(ids)})
    sends = Counter(recipient for _, recipient in workers.journal("send"))
    assert sends == Counter(recipients)
    assert len(fields(folder)) == 300
    assert all(worker.has_logged("delivery_sent") for worker in workers.started)


def test_s14_relays_killed_among_many_rows_lose_no_message_and_repeat_none(app, workers, folder):
    """A message may be tried twice only if its first relay died before the folder had it."""
    dice = random.Random(7)
    provider = f"folder:{folder}"
    recipients = [f"{number}@example.org" for number in range(300)]
    ids = write(app.store, *(post(recipient) for recipient in recipients))
    for kill in range(1, 4):
        processes = [relay(workers, provider) for _ in range(2)]
        until(lambda: app.deliveries.counts("change-17", 1).get("sent", 0) >= kill * 60)  # noqa: B023
        dice.choice(processes).kill()
    for worker in workers.started:
        if worker.running:
            worker.kill()
    relay(workers, provider)
    until(lambda: app.deliveries.counts("change-17", 1) == {"sent": len(ids)})
    assert sorted(message["recipient"] for message in fields(folder)) == sorted(recipients)
    repeated = {recipient for _, recipient in workers.journal("find")}
    sends = Counter(recipient for _, recipient in workers.journal("send"))
    assert {recipient for recipient, count in sends.items() if count > 1} <= repeated
