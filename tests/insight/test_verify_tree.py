"""`verify` of budgets, spends and linked jobs: whatever is edited in their rows or events is found."""

import contextlib

import pytest
from msgspec import structs

from leasehold import BudgetExceeded, Leasehold
from leasehold.insight.verify.verify import verify_job
from tests.insight.edited_records import difference, edit, forge


def register(app):
    @app.job
    def leaf(task, n: int):
        return task.spend("tokens", n)

    @app.job
    def root(task):
        task.spend("tokens", 10)
        task.submit(leaf, {"n": 20}, key="leaf")
        with contextlib.suppress(BudgetExceeded):
            task.spend("tokens", 500)


def work(app) -> dict[str, int]:
    """A tree of two jobs that spend from one budget."""
    register(app)
    job = app.submit("root", budget={"calls": 3, "tokens": 100})
    app.drain(timeout=60)
    return {"root": job.id, "leaf": job.children[0].id}


@pytest.fixture
def worked(copied):
    url, jobs = copied(work)
    with contextlib.closing(Leasehold(url)) as app:
        register(app)
        yield app, jobs


def test_a_tree_that_nobody_touched_is_equal(worked):
    app, jobs = worked
    assert [verify_job(app.store, job).difference for job in jobs.values()] == ["", ""]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("UPDATE budget SET spent = 29 WHERE name = 'tokens'", "what was spent of 'tokens' should be 30 and is 29"),
        ("UPDATE budget SET most = 1000 WHERE name = 'tokens'", "its budgets should be"),
        ("DELETE FROM budget WHERE name = 'calls'", "its budgets should be"),
        ("DELETE FROM spend WHERE job_id = {leaf}", "what was spent of 'tokens' should be 10 and is 30"),
        ("UPDATE spend SET amount = 9 WHERE job_id = {root}", "the row of what was spent should be"),
        ("UPDATE spend SET remaining = 9 WHERE job_id = {root}", "the row of what was spent should be"),
        ("UPDATE spend SET fence = 2 WHERE job_id = {root}", "the row of what was spent should be"),
        ("DELETE FROM spend WHERE job_id = {root}", "the row of what was spent should be"),
        ("UPDATE spend SET task_id = 4711 WHERE job_id = {root}", "the row of what was spent should be"),
        ("DELETE FROM event WHERE name = 'spent' AND task_id = {root}", "the event of a row should be"),
        ("DELETE FROM event WHERE name = 'budgeted'", "does not fit the chain"),
        ("DELETE FROM event WHERE name = 'refused'", "does not fit the chain"),
        ("DELETE FROM link", "the row of what was linked should be"),
        ("UPDATE link SET key = 'k'", "the row of what was linked should be"),
        ("DELETE FROM event WHERE name = 'linked'", "the event of a row should be"),
        ("DELETE FROM task WHERE id = {leaf}", "the row of what was linked should be"),
    ],
)
def test_whatever_is_edited_in_a_tree_is_named(worked, statement, expected):
    app, jobs = worked
    edit(app.store, statement.format(**jobs))
    assert expected in difference(app.store, jobs["root"])


def test_a_spend_of_the_leaf_that_was_edited_is_found_in_its_own_journal(worked):
    app, jobs = worked
    edit(app.store, f"UPDATE spend SET amount = 9 WHERE job_id = {jobs['leaf']}")  # noqa: S608
    assert "the row of what was spent should be" in difference(app.store, jobs["leaf"])


@pytest.mark.parametrize(
    ("name", "fields", "expected"),
    [
        ("spent", {"amount": -10}, "'amount' of a spend should be 0 or more and is -10"),
        ("spent", {"left": None}, "'left' of a spend should be 0 or more and is None"),
        ("refused", {"left": 500}, "what was refused should be more than 500 and is 500"),
    ],
)
def test_a_forged_spend_is_found_in_a_file(worked, tmp_path, name, fields, expected):
    app, jobs = worked

    def change(records):
        events = records[0].events
        number = next(number for number, event in enumerate(events) if event.name == name)
        events[number] = structs.replace(events[number], detail=events[number].detail | fields)

    assert expected in forge(app, jobs["root"], tmp_path, change)


def test_a_key_that_is_paid_twice_is_found_in_a_file(worked, tmp_path):
    app, jobs = worked

    def change(records):
        events = records[0].events
        number = next(number for number, event in enumerate(events) if event.name == "spent")
        events.insert(number, events[number])

    assert "the key of a spend should be one that was not paid before" in forge(app, jobs["root"], tmp_path, change)
