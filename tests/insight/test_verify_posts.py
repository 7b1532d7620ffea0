"""`verify` knows which messages a task posted: a row of the outbox that was edited, added or removed is named."""

# ruff: noqa: S608 — the tests edit tables by name

import contextlib
import json

import pytest

from leasehold import Leasehold, Permanent, Retry
from leasehold.insight.verify.verify import verify_job
from leasehold.model.delivery import make_message
from leasehold.model.task import Terms
from leasehold.runtime.attempt import Attempt
from leasehold.runtime.handlers import Handler
from leasehold.runtime.manual import ManualChannel
from leasehold.runtime.task import Task
from leasehold.testing import Clock, drain
from tests.insight.edited_records import difference, edit, forge, swap
from tests.store.work import claim_one, look, register, submit


@pytest.fixture
def app(url):
    with contextlib.closing(Leasehold(url)) as app:

        @app.job
        def notify(task, recipients: list[str]):
            for recipient in recipients:
                task.deliver("order ☕", recipient, 1, {"text": f"Danke, {recipient}"})

        yield app


@pytest.fixture
def job(app) -> int:
    return notified(app, "ada", "bob")


def notified(app, *recipients: str) -> int:
    made = app.submit("notify", {"recipients": list(recipients)}).id
    app.drain(timeout=60)
    return made


def test_the_end_of_a_task_lists_its_messages(app, job):
    detail = json.loads(look(app.store, f"SELECT detail FROM event WHERE task_id = {job} AND name = 'done'")[0][0])
    assert detail["posts"] == 2
    assert (len(detail["posts_sha256"]), [len(mark) for mark in detail["posts_marks"]]) == (64, [32, 32])
    assert difference(app.store, job) == ""


def test_messages_of_a_task_that_returned_nothing_are_checked_as_well(app):
    (job,) = submit(app.store, "apart")
    lease, handler = claim_one(app.store, register(app.store)), Handler("a", None, print, Terms(), Retry())
    attempt = Attempt(lease, handler, 0)
    attempt.task = Task(lease, ManualChannel(app.store, lease), handler)
    attempt.task.posts.add(make_message("apart", "ada", 1, {"text": "hello"}, "default"))
    app.store.leases.settle([attempt.succeed(None)])
    assert difference(app.store, job) == ""
    edit(app.store, "UPDATE delivery SET recipient = 'eve'")
    assert "its delivery of 'apart' to 'eve', version 1, should be as it was posted" in difference(app.store, job)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            'message = \'{"text":"Danke"}\'',
            "its delivery of 'order ☕' to 'bob', version 1, should be as it was posted",
        ),
        ("message = message || ' '", "a message that it posted should be there and is missing or changed"),
        ("recipient = 'eve'", "its delivery of 'order ☕' to 'eve', version 1, should be as it was posted"),
        ("subject = 'another'", "its delivery of 'another' to 'bob', version 1, should be as it was posted"),
        ("version = 2", "its delivery of 'order ☕' to 'bob', version 2, should be as it was posted"),
        ("provider = 'other'", "its delivery of 'order ☕' to 'bob', version 1, should be as it was posted"),
        ("created_at = created_at - 1", "created_at of its delivery of 'order ☕' to 'bob', version 1 should be"),
    ],
)
@pytest.mark.parametrize("recipients", [["ada", "bob"], ["bob"]])
def test_a_delivery_that_was_edited_is_named(app, recipients, change, expected):
    job = notified(app, *recipients)
    edit(app.store, f"UPDATE delivery SET {change} WHERE recipient = 'bob'")
    assert expected in difference(app.store, job)


def test_a_delivery_that_was_removed_is_missed(app, job):
    edit(app.store, "DELETE FROM delivery WHERE recipient = 'bob'")
    assert "a message that it posted should be there and is missing or changed" in difference(app.store, job)


def test_a_delivery_that_nobody_posted_is_found(app, job):
    columns = "subject, version, message, provider, created_at"
    edit(
        app.store,
        f"INSERT INTO delivery (task_id, recipient, {columns}) SELECT task_id, 'eve', {columns} FROM delivery"
        " WHERE recipient = 'bob'",
    )
    assert "its delivery of 'order ☕' to 'eve', version 1, should be as it was posted" in difference(app.store, job)


def test_a_message_that_another_job_had_posted_is_found_there(app, job):
    second = notified(app, "bob", "cleo")
    assert look(app.store, f"SELECT recipient FROM delivery WHERE task_id = {second}") == [("cleo",)]
    assert [difference(app.store, one) for one in (job, second)] == ["", ""]
    edit(app.store, "UPDATE delivery SET message = '{}' WHERE recipient = 'bob'")
    assert "its delivery of" in difference(app.store, job)
    assert "a message that it posted should be there" in difference(app.store, second)


def test_a_message_among_many_that_another_job_had_posted_is_found_there(app):
    notified(app, *(f"reader {number}" for number in range(120)))
    second = notified(app, "reader 119")
    assert difference(app.store, second) == ""


def test_a_message_that_was_pruned_with_the_job_that_had_posted_it_is_no_difference(app, job):
    clock = Clock(app)
    second = notified(app, "bob")
    edit(app.store, "UPDATE delivery SET status = 'sent', due_at = NULL, notified_at = 1, notification_id = 'x'")
    clock.advance(60)
    app.store.retention.prune([job], "a test")
    found = verify_job(app.store, second)
    assert (found.equal, found.not_compared.partition(";")[0]) == (True, "task 0, event 3: a message that it posted")
    clock.advance(60)
    third = notified(app, "bob", "ada")
    edit(app.store, "DELETE FROM delivery WHERE recipient = 'bob'")
    assert "a message that it posted should be there" in difference(app.store, third)


def test_what_a_relay_writes_is_no_difference(app, job):
    edit(app.store, "UPDATE delivery SET status = 'sent', attempts = 1, notified_at = 1, notification_id = 'x'")
    assert difference(app.store, job) == ""


def test_recreated_segments_that_post_the_same_are_equal(app):
    clock = Clock(app)
    show = app.pipeline("show")
    remedies: list[str] = []

    @show.stage
    def cast():
        return {"actors": ["ada", "bob"]}

    @show.stage(after=cast, each="actors")
    def invite(task):
        task.deliver("invitation", task.segment, 1, {"text": "come"})

    @show.stage(after=invite)
    def play():
        if not remedies:
            raise Permanent("no stage")

    job = app.submit("show").id
    drain(app, clock)
    remedies.append("a stage")
    app.deadletters.evidence(1, "built one")
    app.deadletters.revive(1, from_start=True)
    drain(app, clock)
    assert difference(app.store, job) == ""


def test_a_message_that_was_refused_in_conflict_is_not_missed(app, job):
    @app.job
    def clash(task):
        task.deliver("order ☕", "ada", 1, {"text": "something else"})

    made = app.submit(clash).id
    app.drain(timeout=60)
    assert app.get(made).failure["error_class"] == "DELIVERY_CONFLICT"
    assert [difference(app.store, one) for one in (job, made)] == ["", ""]


@pytest.mark.parametrize("fields", [{"message": {}}, {"recipient": "eve"}, {"subject": "a"}, {"version": 3}])
def test_a_delivery_that_was_edited_in_a_record_is_named(app, job, tmp_path, fields):
    found = forge(app, job, tmp_path, lambda records: swap(records[0].deliveries, 1, **fields))
    assert "should be as it was posted and is another" in found
