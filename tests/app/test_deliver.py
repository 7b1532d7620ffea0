"""`task.deliver` and `app.deliveries`: what they refuse, before anything is written."""

import pytest

from leasehold.errors import (
    DeliveryConflict,
    DeliverySettled,
    DeliveryUnknown,
    KindTaken,
    NameInvalid,
    OptionInvalid,
    PayloadInvalid,
    PayloadTooLarge,
)
from leasehold.model.delivery import OutgoingMessages, make_message
from leasehold.model.limits import DELIVERIES_MAX
from leasehold.providers import Folder
from tests.support.apps.deliveries import change, post, write
from tests.support.db import rows

GOOD = {
    "subject": "change-17",
    "recipient": "ada@example.org",
    "version": 1,
    "message": {"text": "a"},
    "provider": "mail",
}


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"subject": ""}, OptionInvalid),
        ({"subject": "a" * 513}, OptionInvalid),
        ({"subject": 7}, OptionInvalid),
        ({"recipient": "a" * 321}, OptionInvalid),
        ({"recipient": "a\0"}, OptionInvalid),
        ({"recipient": "\ud800"}, OptionInvalid),
        ({"subject": "\N{PILE OF POO}" * 512}, OptionInvalid),
        ({"version": 0}, OptionInvalid),
        ({"version": 1.5}, OptionInvalid),
        ({"version": True}, OptionInvalid),
        ({"version": 2**31}, OptionInvalid),
        ({"message": ["text"]}, PayloadInvalid),
        ({"message": {"text": float("nan")}}, PayloadInvalid),
        ({"message": {"text": "a" * 1_048_576}}, PayloadTooLarge),
        ({"provider": "Mail Server"}, NameInvalid),
    ],
)
def test_a_delivery_that_could_not_be_kept_is_refused(wrong, error):
    assert make_message(**GOOD).recipient == "ada@example.org"
    with pytest.raises(error):
        make_message(**GOOD | wrong)


def test_the_longest_subject_and_recipient_fit_both_databases(app, url):
    @app.job
    def write(task):
        task.deliver("é" * 512, "é" * 320, 2**31 - 1, {"text": "a"})

    job = write.submit()
    app.drain(timeout=60)
    assert job.status == "DONE"
    assert rows(url, "SELECT length(subject), length(recipient), version FROM delivery") == [(512, 320, 2**31 - 1)]


def test_one_task_delivers_to_a_recipient_once_and_refuses_two_different_messages():
    posts = OutgoingMessages()
    posts.add(make_message(**GOOD))
    posts.add(make_message(**GOOD))
    with pytest.raises(DeliveryConflict):
        posts.add(make_message(**GOOD | {"message": {"text": "b"}}))
    assert posts.all() == [make_message(**GOOD)]
    assert OutgoingMessages().all() is None


def test_one_task_delivers_a_limited_number_of_messages_and_bytes():
    posts = OutgoingMessages()
    for number in range(DELIVERIES_MAX):
        posts.add(make_message(**GOOD | {"recipient": str(number)}))
    with pytest.raises(OptionInvalid, match="fan out"):
        posts.add(make_message(**GOOD))
    assert len(posts.all() or []) == DELIVERIES_MAX
    heavy = OutgoingMessages()
    large = {"message": {"text": "a" * 1_000_000}}
    for number in range(8):
        heavy.add(make_message(**GOOD | large | {"recipient": str(number)}))
    with pytest.raises(OptionInvalid, match="fan out"):
        heavy.add(make_message(**GOOD | large))
    assert len(heavy.all() or []) == 8


def test_a_refused_delivery_fails_the_task_and_nothing_of_it_is_sent(app, url):
    @app.job
    def write(task):
        task.deliver("change-17", "ada@example.org", 1, {"text": "a"})
        task.deliver("change-17", "ada@example.org", 1, {"text": "b"})

    job = write.submit()
    app.drain(timeout=60, wait_for_due=False)
    assert job.status != "DONE"
    assert rows(url, "SELECT count(*) FROM delivery") == [(0,)]


def test_a_provider_has_a_name_of_its_own_and_the_two_methods(app, tmp_path):
    app.deliveries.provider("mail", Folder(tmp_path))
    with pytest.raises(KindTaken):
        app.deliveries.provider("mail", Folder(tmp_path))
    with pytest.raises(OptionInvalid):
        app.deliveries.provider("other", object())
    with pytest.raises(NameInvalid):
        app.deliveries.provider("No Name", Folder(tmp_path))


def test_what_is_asked_of_deliveries_is_checked_at_the_edge(app):
    for ask in (
        lambda: app.deliveries.list(status="SENT"),
        lambda: app.deliveries.list(limit=0),
        lambda: app.deliveries.get(0),
        lambda: app.deliveries.answer(1, sent=True, principal=""),
        lambda: app.deliveries.answer(1, sent=True, principal="ada", notification_id=""),
        lambda: app.deliveries.answer(1, sent=True, notification_id="  "),
        lambda: app.deliveries.answer(1, sent="no"),
        lambda: app.deliveries.answer(1, sent=1),
        lambda: app.deliveries.answer(1, sent=False, notes="  "),
        lambda: app.deliveries.complete("change-17", 0),
        app.deliveries.relay,
    ):
        with pytest.raises(OptionInvalid):
            ask()
    with pytest.raises(DeliveryUnknown):
        app.deliveries.get(1)


def test_a_delivery_that_waits_for_no_answer_cannot_be_answered(app, tmp_path):
    app.deliveries.provider("default", Folder(tmp_path / "letters"))

    @app.job
    def write(task):
        task.deliver("change-17", "ada@example.org", 1, {"text": "a"})

    write.submit()
    app.drain(timeout=60)
    with pytest.raises(DeliverySettled, match="is sent"):
        app.deliveries.answer(1, sent=False, principal="ada")
    change(app.store, 1, "provider = 'other'")
    with pytest.raises(OptionInvalid, match="not known here"):
        app.deliveries.reconcile(1)


def test_s16_a_secret_in_the_notes_of_an_answer_is_not_kept_even_where_they_are_cut(app, url):
    (one,) = write(app.store, post())
    change(app.store, one, "status = 'in_doubt', due_at = NULL")
    secret = "sk-" + "a1B2" * 12
    app.deliveries.answer(one, sent=False, notes=f"{'seen ' * 98}{secret}")
    ((detail,),) = rows(url, "SELECT detail FROM audit WHERE noun = 'delivery'")
    assert "seen seen" in detail
    assert secret[:8] not in detail


def test_a_later_task_with_another_message_ends_in_conflict(app):
    @app.job
    def write(task, text: str):
        task.deliver("change-1", "ada@example.org", 1, {"text": text})

    first = write.submit({"text": "a"})
    app.drain(timeout=60)
    same, other = write.submit({"text": "a"}), write.submit({"text": "b"})
    app.drain(timeout=60)
    assert [job.status for job in (first, same, other)] == ["DONE", "DONE", "ERROR"]
    assert other.failure["error_class"] == "DELIVERY_CONFLICT"
    assert app.deadletters.list()[0].error_class == "DELIVERY_CONFLICT"


def test_two_messages_that_end_in_one_commit_are_compared_too(app):
    @app.job
    async def write(task, text: str):
        task.deliver("change-1", "ada@example.org", 1, {"text": text})

    jobs = app.submit_many(write, [{"text": text} for text in "abab"])
    app.drain(timeout=60)
    failures = [job.failure for job in jobs]
    assert [failure and failure["error_class"] for failure in failures].count("DELIVERY_CONFLICT") == 2
    assert len(app.deliveries.list()) == 1
